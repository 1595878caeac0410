"""Random typed kernels as source text: statements, one function per construct, and programs.

`programs()` is the Hypothesis strategy. The types of variables are decided when they are made,
and every later assignment is one that the compiler's rules let the type survive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from execspace_compiler.ir.types import INDEX, PY_FLOAT, PY_INT, Scalar, arithmetic, promote

from .constructs import Construct, Expressions, Typed, join
from .expressions import Types
from .helpers import HELPERS
from .values import COMPLEX, COUNT, FLOATS, INTEGERS

_PRELUDE = """import math

import numpy as np

import execspace as es


class Settings:
    scale = 2.5
    count = np.int8(3)

"""
_CONSTANTS = {  # captured names: text and type; weak integers are small, so that they fit all
    "THREE": ("3", PY_INT),
    "TENTH": ("0.1", PY_FLOAT),
    "SINGLE": ("np.float32(0.1)", Scalar("float32")),
    "SHORT": ("np.int16(1000)", Scalar("int16")),
    "TRIPLE[1]": ("", Scalar("int8")),
    "Settings.scale": ("", PY_FLOAT),
    "Settings.count": ("", Scalar("int8")),
}
_TRIPLE = "TRIPLE = (1.5, np.int8(-5), 7)"


@dataclass(frozen=True)
class Program:
    """A kernel's source and what to launch it with.

    Attributes
    ----------
    source : str
        A module that defines the kernel `program`.
    inputs : tuple of str
        Its input Views, see values.py.
    outputs : dict of str to int
        Element type of each output View, and its number of rows.
    plain : bool
        Whether CPython with NumPy scalars computes the same.
    """

    source: str
    inputs: tuple[str, ...]
    outputs: dict[str, int]
    plain: bool


class Builder(Expressions):
    """Draws statements and collects their lines."""

    def start(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.loops = 0  # how deep the current statement stands in loops
        self.names = 0
        self.rows: dict[str, int] = {}
        self.fixed: set[str] = set()  # counters of loops, which nothing else may change

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, letter: str = "v") -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def size(self) -> int:
        """Depth of the expressions of a statement: shallower in loops, which multiply cost."""
        return 2 if self.loops else 3

    def scalars(self, kinds: str = "bifc") -> list[tuple[str, Scalar]]:
        """Variables of some kinds that may be assigned to."""
        return [
            (name, type) for name, type in self.variables.items()
            if isinstance(type, Scalar) and name not in self.fixed
            and Typed(name, type).kind in kinds
        ]  # fmt: skip

    def slot(self, type: Scalar) -> str:
        """A place for results that no other statement writes."""
        row = self.rows.get(type.name, 0)
        self.rows[type.name] = row + 1
        return f"o_{type.name}[{row}, i]"

    def block(self, statements: int) -> None:
        """Statements of a branch; what they define is not visible after it."""
        before = dict(self.variables)
        self.depth += 1
        start = len(self.lines)
        for _ in range(statements):
            self.statement()
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1
        self.variables = before

    def statement(self) -> None:
        """One statement."""
        table = [s for s in STATEMENTS if s.plain or not self.plain]
        if self.depth > 3:
            table = [s for s in table if not s.nests]
        table = [s for s in table for _ in range(s.weight)]
        table[self.rng.randrange(len(table))].make(self)


# -- statements -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of the table: how often, whether it has a block, and whether in plain programs."""

    make: Callable[[Builder], None]
    weight: int = 1
    nests: bool = False
    plain: bool = True


def define(b: Builder) -> None:
    e = b.any(b.size())
    name = b.fresh()
    annotation = ": float" if b.chance(5) else ""
    b.emit(f"{name}{annotation} = {e.text}")
    b.variables[name] = e.type


def assign(b: Builder) -> None:
    mine = b.scalars()
    if not mine:
        return define(b)
    name, type = mine[b.rng.randrange(len(mine))]
    e = b.any(b.size()) if b.chance(30) else b.of(Typed(name, type).kind, b.size())
    b.emit(f"{name} = {b.fitted(e, type).text}")
    return None


def define_narrow(b: Builder) -> None:
    """A variable that a later assignment widens: its type is the wider one from the start."""
    e = b.of(b.pick("if"), b.size())
    starts = [("0", PY_INT), ("1.5", PY_FLOAT), ("i", INDEX), ("x_uint8[i]", Scalar("uint8"))]
    fitting = [(t, s) for t, s in starts if join(s, e.type) == e.type]
    if not fitting:
        return define(b)
    text, _ = fitting[b.rng.randrange(len(fitting))]
    if text.startswith("x_"):
        b.inputs.add("x_uint8")
    name = b.fresh()
    b.emit(f"{name} = {text}")
    b.variables[name] = e.type
    b.emit(f"if {b.of('b', 1).text}:")
    b.emit(f"    {name} = {e.text}")
    return None


def define_weak(b: Builder) -> None:
    name = b.fresh()
    text, type = (("5", PY_INT), ("-0.0", PY_FLOAT), ("i - 7", INDEX))[b.rng.randrange(3)]
    b.emit(f"{name} = {text}")
    b.variables[name] = type


def chain(b: Builder) -> None:
    e = b.any(b.size())
    first, second = b.fresh(), b.fresh()
    b.emit(f"{first} = {second} = {e.text}")
    b.variables[first] = b.variables[second] = e.type


def update(b: Builder) -> None:
    mine = b.scalars("ifc")
    if not mine:
        return define(b)
    name, type = mine[b.rng.randrange(len(mine))]
    kind = Typed(name, type).kind
    signs = {"i": ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"),
             "f": ("+", "-", "*", "/", "//", "%"), "c": ("+", "-", "*")}[kind]  # fmt: skip
    sign = b.pick(signs)
    e = b.literal(type, nonzero=True) if b.chance(25) else b.number(b.of(kind, b.size() - 1))
    common = join(type, e.type)
    if common is None or promote(type, arithmetic(type, e.type)) != type:
        e = b.convert(e, type)
    if promote(type, arithmetic(type, e.type)) == type:
        b.emit(f"{name} {sign}= {e.text}")
    return None


def output(b: Builder) -> None:
    e = b.any(b.size())
    if b.chance(70) or e.kind in "bc":
        b.emit(f"{b.slot(e.type)} = {e.text}")
        return
    target = Scalar(b.pick([e for e in b.elements if not e.startswith("bool")]))
    if b.plain:  # NumPy raises where a scalar does not fit
        e = b.convert(e, target)
    elif e.kind == "f" and target.is_integer:
        e = b.within(e, target)
    b.emit(f"{b.slot(target)} = {e.text}")


def output_update(b: Builder) -> None:
    e = b.of(b.pick("if"), b.size() - 1)
    place = b.slot(e.type)
    b.emit(f"{place} = {e.text}")
    other = b.convert(b.any(1), e.type)
    b.emit(f"{place} {b.pick('+-*')}= {other.text}")


def branch(b: Builder) -> None:
    b.emit(f"if {b.of(b.pick('bbbif'), b.size() - 1).text}:")
    b.block(1 + b.rng.randrange(2))
    if b.chance(30):
        b.emit(f"elif {b.of('b', 1).text}:")
        b.block(1)
    if b.chance(50):
        b.emit("else:")
        b.block(1)


def _bound(b: Builder) -> str:
    if b.chance(50):
        return b.pick(("0", "1", "4", "7", "-2", "-5", "6"))
    e = b.of("i", 1)
    if e.type.kind == "u":
        e = Typed(f"es.int64({e.text})", Scalar("int64"))
    return b.pick(("({} & 7)", "({} % 6)", "({} % -5)")).format(e.text)


def _jump(b: Builder) -> None:
    """Perhaps a break or continue under a condition."""
    if b.chance(50):
        b.depth += 1
        b.emit(f"if {b.of('b', 1).text}:")
        b.emit(f"    {b.pick(('break', 'continue'))}")
        b.depth -= 1


def _loop_else(b: Builder) -> None:
    if b.chance(30):
        b.emit("else:")
        b.block(1)


def for_loop(b: Builder) -> None:
    name, before = b.fresh("k"), dict(b.variables)
    step = b.pick(("", "", "", "1", "2", "-1", "-2", "3", "-3"))
    if not step:
        arguments = b.pick(("{}", "{}, {}"))
    else:
        arguments = "{}, {}, " + step
    if not b.plain and b.chance(15):
        e = b.of("i", 1)
        step = e.text if e.type.name != "uint64" else f"es.int64({e.text})"
        arguments = "{}, {}, " + f"({step} & 3) - 1"
    bounds = [_bound(b) for _ in range(arguments.count("{}"))]
    b.emit(f"for {name} in range({arguments.format(*bounds)}):")
    b.loops += 1
    if not b.plain:
        b.variables[name] = INDEX
        b.fixed.add(name)
        if b.chance(10):
            b.emit(f"    {name} = {name} * 3 - 1")
    else:
        strong = b.fresh()
        b.emit(f"    {strong} = es.int64({name})")
        b.variables[strong] = Scalar("int64")
    _jump(b)
    b.block(1 + b.rng.randrange(2))
    b.loops -= 1
    b.variables = before
    _loop_else(b)


def while_loop(b: Builder) -> None:
    name, before = b.fresh("w"), dict(b.variables)
    b.emit(f"{name} = es.int32({b.pick(('0', '3', 'i % 7'))})")
    b.variables[name] = Scalar("int32")
    b.fixed.add(name)
    extra = f" and {b.of('b', 1).text}" if b.chance(40) else ""
    b.emit(f"while {name} < 6{extra}:")
    b.emit(f"    {name} += {b.pick('123')}")
    b.loops += 1
    _jump(b)
    b.block(1 + b.rng.randrange(2))
    b.loops -= 1
    b.variables = before
    _loop_else(b)


def early_return(b: Builder) -> None:
    if b.depth > 2 or not b.chance(40):
        return output(b)
    b.emit(f"if {b.of('b', 2).text} and i % 3 == 0:")
    b.emit("    return")
    return None


def define_tuple(b: Builder) -> None:
    items = [b.any(b.size() - 1) for _ in range(2 + b.rng.randrange(2))]
    text = ", ".join(e.text for e in items)
    types = tuple(e.type for e in items)
    if b.chance(40):
        others = [b.of(e.kind, 1) for e in items]
        if all(join(e.type, o.type) == e.type for e, o in zip(items, others, strict=True)):
            if b.plain:
                others = [b.convert(o, e.type) for e, o in zip(items, others, strict=True)]
            second = ", ".join(e.text for e in others)
            text = f"({text}) if {b.of('b', 1).text} else ({second})"
    name = b.fresh("t")
    b.emit(f"{name} = {text}")
    b.variables[name] = types


def unpack(b: Builder) -> None:
    mine = [(n, t) for n, t in b.variables.items() if isinstance(t, tuple)]
    if mine and b.chance(50):
        name, types = mine[b.rng.randrange(len(mine))]
        targets = [b.fresh() for _ in types]
        b.emit(f"{', '.join(targets)} = {name}")
        b.variables |= dict(zip(targets, types, strict=True))
        return
    x, y, z = (b.any(1) for _ in range(3))
    names = [b.fresh() for _ in range(3)]
    b.emit(f"{names[0]}, ({names[1]}, {names[2]}) = {x.text}, ({y.text}, {z.text})")
    b.variables |= {n: e.type for n, e in zip(names, (x, y, z), strict=True)}


def swap(b: Builder) -> None:
    mine = b.scalars()
    pairs = [(p, q) for p, s in mine for q, t in mine if p < q and s == t]
    if not pairs:
        return unpack(b)
    p, q = pairs[b.rng.randrange(len(pairs))]
    b.emit(f"{p}, {q} = {q}, {p}")
    return None


def quotient_and_rest(b: Builder) -> None:
    x, y = b.pair(b.pick("if"), 1, literals=False)
    type = arithmetic(x.type, y.type)
    if b.plain and type.weak:
        return define(b)
    first, second = b.fresh(), b.fresh()
    b.emit(f"{first}, {second} = divmod({x.text}, {y.text})")
    b.variables |= {first: type, second: type}
    return None


STATEMENTS: list[Statement] = [
    Statement(define, 6),
    Statement(assign, 4),
    Statement(define_narrow, 1, plain=False),
    Statement(define_weak, 1, plain=False),
    Statement(chain),
    Statement(update, 4),
    Statement(output, 6),
    Statement(output_update),
    Statement(branch, 3, nests=True),
    Statement(for_loop, 2, nests=True),
    Statement(while_loop, 1, nests=True),
    Statement(early_return),
    Statement(define_tuple),
    Statement(unpack),
    Statement(swap),
    Statement(quotient_and_rest),
]


def helper_call(x: Expressions, kind: str, depth: int) -> Typed:
    """Call of a helper of helpers.py with arguments of types that its body allows."""
    numeric = [n for n in HELPERS if n != "all_positive"]
    real = [n for n in numeric if n not in ("digits", "find")]
    name = x.pick({"b": ["all_positive"], "i": numeric, "f": real}[kind])
    helper = HELPERS[name]
    args: list[Typed] = []
    texts: list[str] = []
    common: Scalar | None = None
    for k in helper.kinds:
        if k == "V":
            element = x.pick([e for e in x.elements if e[0] in "iuf" and e != "uint64"])
            x.inputs.add(f"y_{element}")
            texts.append(f"y_{element}")
            continue
        e = x.of({"n": kind if kind != "b" else x.pick("if")}.get(k, k), min(depth, 1))
        if k == "n" and common is not None and x.chance(25):
            e = x.literal(common)
        if k == "n" and common is not None and x.plain:
            e = x.convert(e, common)
        if k in "ni" and (e.type.name == "uint64" or (e.const and common is None)):
            e = Typed(f"es.int64({e.text})", Scalar("int64"))
        common = e.type if k == "n" and common is None else common
        args.append(e)
        texts.append(e.text)
    x.helpers.update((*helper.needs, name))
    if name == "find" and args[0].type.name == "uint64":
        args[0] = Typed("3", PY_INT)
    result = helper.result(*(e.type for e in args)).strong
    return x.pinned(Typed(f"{name}({', '.join(texts)})", result))


Expressions.constructs.append(Construct(helper_call, "bif"))


def build(rng: Random, plain: bool, statements: int = 14, has_complex: bool = True) -> Program:
    """A random program."""
    pool = [list(INTEGERS), list(FLOATS), list(COMPLEX)]
    chosen = ["bool"]
    counts = (3, 1 + rng.randrange(2), rng.randrange(2) if has_complex else 0)
    for group, count in zip(pool, counts, strict=True):
        for _ in range(count):
            chosen.append(group.pop(rng.randrange(len(group))))
    b = Builder(rng, plain, tuple(chosen))
    b.start()
    for name, (_, type) in _CONSTANTS.items():
        b.constants[name] = Typed(name, type, const=True)
    for _ in range(statements):
        b.statement()
    for name, type in b.variables.items():
        items = [(name, type)] if isinstance(type, Scalar) else [
            (f"{name}[{n}]", item) for n, item in enumerate(type)
        ]  # fmt: skip
        for text, item in items:
            b.emit(f"{b.slot(item)} = {text}")
    return _finished(b)


def _finished(b: Builder) -> Program:
    inputs = tuple(sorted(b.inputs))
    parameters = ["i", "n", *inputs, *(f"o_{name}" for name in b.rows)]
    lines = [_PRELUDE, _TRIPLE]
    lines += [f"{name} = {text}" for name, (text, _) in _CONSTANTS.items() if text]
    lines += ["", *(HELPERS[name].source for name in HELPERS if name in b.helpers)]
    lines += ["", f"def program({', '.join(parameters)}):", *b.lines, ""]
    return Program("\n".join(lines), inputs, dict(b.rows), b.plain)


@st.composite
def programs(draw: st.DrawFn, plain: bool | None = None, has_complex: bool = True) -> Program:
    """Programs; plain ones, others, or (None) both; without complex numbers if asked."""
    rng = draw(st.randoms(note_method_calls=False, use_true_random=False))
    draws_plain = draw(st.booleans()) if plain is None else plain
    return build(rng, draws_plain, has_complex=has_complex)


__all__ = ["COUNT", "Program", "Types", "build", "programs"]
