"""Random launches of every pattern over ranges: `case(rng, pattern)`.

A kernel calls a few *programs*, functions of its index that share its Views, so that one
compilation tests several. Everything is drawn from one `random.Random`: the same seed gives the
same source.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, ClassVar, TypeVar

from execspace_compiler.ir.types import PY_FLOAT, Scalar

from . import data_statements as data
from .cases import Case
from .contributions import Contribution, array_reducer, contribution
from .expressions import Construct, Expressions, Typed
from .generate import (
    _CONSTANTS,
    _PRELUDE,
    _TRIPLE,
    STATEMENTS,
    Builder,
    Statement,
    early_return,
    output,
    output_update,
)
from .helpers import HELPERS
from .values import COMPLEX, COUNT, FLOATS, INTEGERS

PATTERNS = ("for", "reduce", "scan", "array")

_IMPORTS = """from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

"""
_STORING = {output, output_update, *(s.make for s in data.STORES)}


class PatternBuilder(Builder):
    """Draws the statements of a program, and knows where its results may be stored."""

    constructs: ClassVar[list[Construct]] = [*Expressions.constructs, *data.CONSTRUCTS]
    table: ClassVar[list[Statement]] = [*STATEMENTS, *data.COMPUTING, *data.STORES]
    pattern = "for"
    contributes: Contribution | None = None
    prefix = ""

    def begin(self, pattern: str) -> None:
        """The next program, with variables of its own."""
        rows, names = self.rows, self.names
        self.start()
        self.rows, self.names = rows, names
        self.variables = {}
        self.pattern = pattern

    def statement(self) -> None:
        """A statement; in a scan what stores stands under `if final`."""
        table = [s for s in self.table if s.plain and not (s.nests and self.depth > 3)]
        if self.depth > 3:
            table = [s for s in table if s.make is not data.nested_function]
        chosen = self.rng.choices(table, [s.weight for s in table])[0]
        if chosen.make is early_return:
            self.early()
        elif self.pattern == "scan" and chosen.make in _STORING:
            self.finally_(chosen.make)
        else:
            chosen.make(self)

    def finally_(self, make: Callable[[Builder], None]) -> None:
        """A statement that stores, in the final pass of a scan; it may use the prefix."""
        before = dict(self.variables)
        self.emit("if final:")
        self.depth += 1
        assert self.contributes is not None
        for text, type in self.contributes.prefix.items():
            data.place(self, f"{self.prefix}{text}", Scalar(type))
        make(self)
        self.depth -= 1
        self.variables = before

    def early(self) -> None:
        """Perhaps a return before the end."""
        if self.depth > 2 or not self.chance(50):
            return
        self.emit(f"if {self.of('b', 2).text}:")
        self.emit(f"    return {self.returned()}".rstrip())

    def returned(self) -> str:
        """What the program returns."""
        return "" if self.contributes is None else self.contributes.make(self)


def _elements(rng: Random, has_complex: bool, has_float16: bool) -> tuple[str, ...]:
    chosen = ["bool", *rng.sample(INTEGERS, 2 + rng.randrange(2))]
    chosen += rng.sample(FLOATS, 1 + rng.randrange(2))
    if has_float16 and rng.random() < 0.15:
        chosen.append("float16")
    if has_complex and rng.random() < 0.35:
        chosen.append(rng.choice(COMPLEX))
    return tuple(chosen)


_Kind = TypeVar("_Kind", bound="PatternBuilder")


def begun(kind: type[_Kind], rng: Random, has_complex: bool, has_float16: bool) -> _Kind:
    """A builder of programs that share Views of some element types."""
    b = kind(rng, True, _elements(rng, has_complex, has_float16))
    b.start()
    for name, (_, type) in _CONSTANTS.items():
        b.constants[name] = Typed(name, type, const=True)
    return b


def module(b: PatternBuilder, definitions: list[str], text: list[str]) -> str:
    """A module of what programs use, reducers of one's own, and the programs."""
    lines = [_IMPORTS + _PRELUDE, data.MODULE, f"RECORD = np.dtype({data.RECORD})", _TRIPLE]
    lines += [f"{name} = {value}" for name, (value, _) in _CONSTANTS.items() if value]
    lines += ["", *(HELPERS[name].source for name in HELPERS if name in b.helpers)]
    return "\n".join([*lines, *definitions, "", *text]) + "\n"


def case(
    rng: Random, pattern: str, programs: int = 1, *, statements: int = 5, most: int = 12,
    has_complex: bool = True, has_float16: bool = False, refused: tuple[str, str] | None = None,
) -> Case:  # fmt: skip
    """A random launch of some programs over at most `most` indices.

    `refused` is the name and the text of a statement that kernels do not have, which is put
    somewhere into the first program.
    """
    b = begun(PatternBuilder, rng, has_complex, has_float16)
    functor = pattern in ("for", "reduce") and b.chance(20)
    this = "self, " if functor else ""
    if functor:
        b.constants["self.factor"] = Typed("self.factor", PY_FLOAT, const=True)
        b.constants["self.count"] = Typed("self.count", Scalar("int8"), const=True)
    array = array_reducer(b) if pattern == "array" else None
    direct = programs == 1 and b.chance(
        80 if refused else 60
    )  # the kernel is the program, and calls none
    several = programs > 1 or (not direct and b.chance(15))
    functions: list[str] = []
    contributions: list[Contribution] = []
    for n in range(programs):
        b.begin(pattern)
        if pattern in ("reduce", "scan"):
            b.contributes = contribution(b, pattern)
            contributions.append(b.contributes)
            b.prefix = "prefix"
        count = 1 + rng.randrange(statements * 2 - 1)
        at = rng.randrange(count) if refused and n == 0 else -1
        for k in range(count):
            if k == at and refused:
                for line in refused[1].splitlines():
                    b.emit(line)
            b.statement()
        if array is not None:
            for _ in range(1 + rng.randrange(3)):
                b.emit(array.joining(b))
        _end(b)
        if direct:
            functions = b.lines
        else:
            functions += [f"def program_{n}({this}{{leading}}{{parameters}}):", *b.lines, ""]
    return _finished(b, pattern, functions, contributions, array, several, functor, direct, most,
                     refused)  # fmt: skip


def _end(b: PatternBuilder) -> None:
    """Store what the variables are, and return."""
    dump = [(text, type) for text, type in b.variables.items() if text not in b.fixed]
    chosen = b.rng.sample(dump, min(len(dump), 3))
    if b.pattern == "scan":
        assert b.contributes is not None
        b.emit("if final:")
        b.depth += 1
        for text, name in b.contributes.prefix.items():
            b.emit(f"{b.slot(Scalar(name))} = {b.prefix}{text}")
        b.depth -= 1
    for text, type in chosen:
        items = [(text, type)] if isinstance(type, Scalar) else [
            (f"{text}[{n}]", item) for n, item in enumerate(type)
        ]  # fmt: skip
        for inner, item in items:
            final = "if final: " if b.pattern == "scan" else ""
            b.emit(f"{final}{b.slot(item)} = {inner}")
    if b.contributes is not None:
        b.emit(f"return {b.returned()}")
    elif not b.lines:
        b.emit("pass")


def _range(rng: Random, pattern: str, most: int, has_array: bool) -> dict[str, Any]:
    """Bounds, order and tile of the launch, and how the kernel's linear index is computed."""
    if rng.random() < 0.7:
        size = rng.choice((0, 1, 2, most // 2, most, most, most, most, most))
        begin = rng.randrange(COUNT - size)
        return {"bounds": ((begin, begin + size),)}
    side = max(2, int(most**0.5))
    bounds = tuple((k, k + 1 + rng.randrange(side)) for k in rng.choices(range(5), k=2))
    if rng.random() < 0.3:  # with l - 1 in {0, 1} and k < 7, j * 14 + k * 2 + l - 1 tells all apart
        first, (begin, end) = bounds
        bounds = (first, (begin, min(end, 7)), (1, 3))
    tile = tuple(rng.choice((1, 2, 4)) for _ in bounds)
    tiled = pattern == "for" and rng.random() < 0.3
    order = "left" if rng.random() < 0.3 and not has_array else "right"
    return {"bounds": bounds, "iterate": order, "tile": tile if tiled else ()}


def _finished(
    b: PatternBuilder, pattern: str, functions: list[str], contributions: list[Contribution],
    array: Any, several: bool, functor: bool, direct: bool, most: int,
    refused: tuple[str, str] | None,
) -> Case:  # fmt: skip
    where = _range(b.rng, pattern, most, array is not None)
    inputs = sorted(b.inputs)
    outputs = [
        f"o_{name}:{rows}{b.pick(('', '', '', ':F', ':S'))}" for name, rows in b.rows.items()
    ]
    given = [*inputs, *(text.partition(":")[0] for text in outputs)]
    parameters = ", ".join(("n", *given, "mode"))
    leading = {"scan": "i, prefix, final, ", "array": "i, s, "}.get(pattern, "i, ")
    this = "self, " if functor else ""
    programs = sum(line.startswith("def ") for line in functions) or 1
    text = [f.replace("{leading}", leading).replace("{parameters}", parameters) for f in functions]
    rank = len(where["bounds"])
    indices = "i" if rank == 1 else ", ".join("jkl"[:rank])
    typed = parameters.replace("mode", "mode: es.static")
    kernel = [f"def kernel({this}{leading.replace('i, ', indices + ', ', 1)}{typed}):"]
    if rank > 1:
        kernel.append(f"    i = j * 14 + k{' * 2 + l - 1' if rank == 3 else ''}")
    calls: list[str] = []
    for n in range(0 if direct else programs):
        passed = leading
        if pattern == "scan" and several:
            passed = f"i, prefix[{n}], final, "
        calls.append(f"{'self.' if functor else ''}program_{n}({passed}{parameters})")
    if direct:
        kernel += text
        text = []
    elif contributions:
        joined = ", ".join(calls) + ("," if several and len(calls) == 1 else "")
        kernel.append(f"    return {joined}")
    else:
        kernel += [f"    {call}" for call in calls]
    definitions = [c.definition for c in contributions if c.definition]
    if functor:
        lines = ["@dataclass", "class Functor:", "    factor: float", "    count: object", ""]
        lines += [f"    {line}" for line in (*text, "@es.kernel(fma=False)", *kernel)]
        lines.append("\n\nkernel = Functor(1.5, np.int8(-3)).kernel")
    else:
        lines = [*text, *kernel]
    types: Any = None
    if contributions:
        reducers = [c.reducer for c in contributions]
        types = tuple(c.types for c in contributions) if several else contributions[0].types
        made = ", ".join(reducers) + ("," if several and len(reducers) == 1 else "")
        lines += ["", f"reducer = {made}"]
    elif array is not None:
        lines += [array.definition, f"reducer = {array.reducer}"]
    return Case(
        pattern, module(b, definitions, lines), where["bounds"],
        ("n", *inputs, *outputs, b.pick(("0", "1", "2"))), types, where.get("iterate", "right"),
        where.get("tile", ()), (), programs, refused[0] if refused else "",
    )  # fmt: skip


__all__ = ["PATTERNS", "PatternBuilder", "begun", "case", "module"]
