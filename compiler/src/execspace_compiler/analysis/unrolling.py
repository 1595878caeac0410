"""Loops to unroll so that private arrays are registers.

A compiler keeps a private array in registers only if all its subscripts are constants, which they
become when the loops are unrolled whose variables they are made of, also in functions that get the
array. Compilers of GPUs do so by themselves for small bodies only; with a larger one the array goes
to memory, and a kernel that has its numbers there takes several times as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import ir
from ..ir import Expr, Stmt
from ..ir.ops import PYTHON_OPERATORS
from ..ir.rewriting import names_set, names_set_in, renamed
from ..ir.types import Scalar, ViewTy

_MOST = 16384  # statements that a kernel has in all when its loops are unrolled
_MEANINGS = PYTHON_OPERATORS | {
    "min": min, "max": max, "truncdiv": lambda a, b: a // b, "truncmod": lambda a, b: a % b,
    "cast": lambda a: a, "not": lambda a: not a, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}  # fmt: skip


def loops_of_registers(functions: Sequence[ir.Function]) -> frozenset[int]:
    """The ids of loops of a module's functions whose variables are subscripts of such arrays."""
    types = [t for f in functions for t in (*f.locals.values(), *(p.type for p in f.parameters))]
    if not any(map(_is_array, types)):
        return frozenset()
    made = [_with_own_variables(f) for f in functions]
    pairs = zip(_loops_of(functions), _loops_of(made), strict=True)
    originals = {id(copy): id(loop) for loop, copy in pairs}
    return frozenset(originals[loop] for loop in _Constants(made).loops())


def trips(s: ir.For) -> int | None:
    """How often a loop runs, if that is a constant."""
    found = _range(s, {})
    return None if found is None else len(found)


def _loops_of(functions: Sequence[ir.Function]) -> list[ir.For]:
    """All loops, in one order."""
    return [s for f in functions for s in ir.walk_statements(f.body) if isinstance(s, ir.For)]


def _with_own_variables(f: ir.Function) -> ir.Function:
    """A function whose loops have variables of their own where others set them, too, but not
    within the loop: a name that is used twice says nothing of what it is there."""
    often = {name for name, n in Counter(names_set(f)).items() if n > 1}
    locals_ = dict(f.locals)

    def of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(own, body))

    def own(s: Stmt) -> Stmt:
        if isinstance(s, ir.For) and s.name in often and s.name not in names_set_in(s.body):
            name = f"{s.name}.{len(locals_)}"
            locals_[name] = f.locals[s.name]
            variable = ir.Var(name, f.locals[s.name])
            s = replace(s, name=name, body=renamed(s.body, {s.name: variable}))
        return ir.with_bodies(s, tuple(map(of, ir.bodies(s))))

    body = of(f.body)
    return replace(f, body=body, locals=locals_)


def _is_array(type: object) -> bool:
    return isinstance(type, ViewTy) and type.shape is not None


class _Constants:
    """What is a constant wherever it is read, once loops are unrolled and calls are inlined."""

    def __init__(self, functions: Sequence[ir.Function]) -> None:
        self.functions = {f.name: f for f in functions}
        self.calls = {f.name: _calls(f.body) for f in functions}
        called = {c.function for own in self.calls.values() for c in own}
        self.roots = [f for f in functions if f.name not in called]
        # Parameters, until a call is found that gives them something else.
        self.given = {
            f.name: {p.name for p in f.parameters if isinstance(p.type, Scalar)}
            if f.name in called
            else set()
            for f in functions
        }
        self.names: dict[str, dict[str, frozenset[str]]] = {}
        while self._narrowed():
            pass
        self.other: dict[str, set[str]] = {}
        for f in functions:  # callees first
            self.other[f.name] = self._other_arrays(f)

    def _narrowed(self) -> bool:
        """Find constants by what is given; whether a call gives a parameter what is none."""
        self.names = {name: self._constants(f) for name, f in self.functions.items()}
        before = {name: len(given) for name, given in self.given.items()}
        for name, own in self.calls.items():
            for call in own:
                for p, e in self._arguments(call):
                    if isinstance(p.type, Scalar) and self._sources(name, e) is None:
                        self.given[call.function].discard(p.name)
        return any(len(self.given[name]) < n for name, n in before.items())

    def _arguments(self, call: ir.Call) -> Iterator[tuple[ir.Var, Expr]]:
        f = self.functions.get(call.function)
        return iter(()) if f is None else zip(f.parameters, call.args, strict=True)

    def _constants(self, f: ir.Function) -> dict[str, frozenset[str]]:
        """Variables of a function that are constants, with the loops that they go by."""
        setters: dict[str, list[Stmt]] = defaultdict(list)
        for s in ir.walk_statements(f.body):
            for name in ir.names_set(s):
                setters[name].append(s)
        found = {name: frozenset({name}) for name in self.given[f.name]}
        found = {name: own for name, own in found.items() if name not in setters}
        self.names[f.name] = found
        left = {name for name, own in setters.items() if self._may_be(own)}
        before = -1
        while before != len(found):
            before = len(found)
            for name in sorted(left - found.keys()):
                parts = [self._settings(f.name, s) for s in setters[name]]
                if all(p is not None for p in parts):
                    found[name] = frozenset().union(*(p for p in parts if p is not None))
        return found

    @staticmethod
    def _may_be(own: list[Stmt]) -> bool:
        if all(isinstance(s, ir.For) and not s.rare for s in own):
            return True
        return len(own) == 1 and isinstance(own[0], ir.Assign)

    def _settings(self, function: str, s: Stmt) -> frozenset[str] | None:
        """The loops that a variable goes by which this sets; None if it is no constant."""
        if isinstance(s, ir.Assign):
            return self._sources(function, s.value)
        assert isinstance(s, ir.For)
        bounds = [self._sources(function, e) for e in (s.start, s.stop, s.step)]
        if any(b is None for b in bounds):
            return None
        return frozenset({s.name}).union(*(b for b in bounds if b is not None))

    def _sources(self, function: str, e: Expr) -> frozenset[str] | None:
        """The loops and parameters that an expression goes by; None if it is no constant."""
        found: set[str] = set()
        for part in ir.subexpressions(e):
            if isinstance(part, ir.Var):
                own = self.names[function].get(part.name)
                if own is None:
                    return None
                found |= own
            elif not isinstance(part, ir.Const | ir.Op | ir.Select):
                return None
        return frozenset(found)

    def _other_arrays(self, f: ir.Function) -> set[str]:
        """Private arrays, those of callers included, of which some subscript is no constant."""
        found = {
            array
            for array, indices in _subscripts(f.body)
            if any(self._sources(f.name, e) is None for e in indices)
        }
        for call in self.calls[f.name]:
            for p, e in self._arguments(call):
                if isinstance(e, ir.Var) and p.name in self.other[call.function]:
                    found.add(e.name)
        return found

    # -- which loops --------------------------------------------------------------------------

    def loops(self) -> frozenset[int]:
        chosen: set[int] = set()
        for f in self.functions.values():
            chosen |= self._chosen(f)
        for root in self.roots:
            try:
                _Weight(self.functions, chosen).of(root, {})
            except _TooMuch:
                chosen -= {id(s) for s in self._loops_below(root)}
        return frozenset(chosen)

    def _chosen(self, f: ir.Function) -> set[int]:
        """Loops by which subscripts, or bounds of such loops, go."""
        other = self.other[f.name]
        found: set[int] = set()

        def look(body: tuple[Stmt, ...]) -> set[str]:
            """What subscripts within go by."""
            needed: set[str] = set()
            for s in body:
                if isinstance(s, ir.For):
                    within = look(s.body)
                    own = self.names[f.name].get(s.name)
                    if own is not None and s.name in within:
                        found.add(id(s))
                        within |= own
                    needed |= within
                    continue
                needed |= needed_by(s)
                for inner in ir.bodies(s):
                    needed |= look(inner)
            return needed

        def needed_by(s: Stmt) -> set[str]:
            own = ir.expressions(s)
            indices = [e for array, es in _subscripts_of(s, own) if array not in other for e in es]
            for call in _calls_of(own):
                given = [e for e in call.args if isinstance(e, ir.Var) and _is_array(e.type)]
                if any(e.name not in other for e in given):
                    indices += [
                        e for p, e in self._arguments(call) if p.name in self.given[call.function]
                    ]
            return set().union(*(self._sources(f.name, e) or () for e in indices))

        look(f.body)
        return found

    def _loops_below(self, root: ir.Function) -> Iterator[ir.For]:
        seen, left = set(), [root.name]
        while left:
            name = left.pop()
            if name in seen or name not in self.functions:
                continue
            seen.add(name)
            left += [c.function for c in self.calls[name]]
            for s in ir.walk_statements(self.functions[name].body):
                if isinstance(s, ir.For):
                    yield s


class _TooMuch(Exception):
    """There are more statements than it makes sense to have."""


class _Weight:
    """Counts statements as a compiler has them when loops are unrolled and calls are inlined."""

    def __init__(self, functions: dict[str, ir.Function], chosen: set[int]) -> None:
        self.functions, self.chosen = functions, chosen
        self.known: dict[tuple[str, tuple[tuple[str, int], ...]], int] = {}

    def of(self, f: ir.Function, given: dict[str, int]) -> int:
        key = f.name, tuple(sorted(given.items()))
        if key not in self.known:
            self.known[key] = self.body(f.body, dict(given))
        return self.known[key]

    def body(self, body: tuple[Stmt, ...], now: dict[str, int]) -> int:
        total = 0
        for s in body:
            if not isinstance(s, ir.Return):  # no instruction is left of it
                total += 1
            total += sum(self.call(c, now) for c in _calls_of(ir.expressions(s)))
            values = _range(s, now) if isinstance(s, ir.For) and id(s) in self.chosen else None
            if isinstance(s, ir.For) and values is not None:
                for value in values:
                    total += self.body(s.body, now | {s.name: value})
                    self.check(total)
            elif isinstance(s, ir.If) and (test := _value(s.test, now)) is not None:
                total += self.body(s.body if test else s.orelse, now)
            elif isinstance(s, ir.Assign) and (known := _value(s.value, now)) is not None:
                now[s.name] = known
            else:
                for name in [n for t in ir.walk_statements((s,)) for n in ir.names_set(t)]:
                    now.pop(name, None)
                total += sum(self.body(b, dict(now)) for b in ir.bodies(s))
            self.check(total)
        return total

    def call(self, call: ir.Call, now: dict[str, int]) -> int:
        f = self.functions.get(call.function)
        if f is None:
            return 0
        values = {p.name: _value(e, now) for p, e in zip(f.parameters, call.args, strict=True)}
        return self.of(f, {name: v for name, v in values.items() if v is not None})

    @staticmethod
    def check(total: int) -> None:
        if total > _MOST:
            raise _TooMuch


def _range(s: ir.For, now: dict[str, int]) -> range | None:
    """The numbers that a loop goes through, if its bounds are known."""
    bounds = [_value(e, now) for e in (s.start, s.stop, s.step)]
    if any(b is None for b in bounds) or not bounds[2]:
        return None
    return range(*(int(b) for b in bounds if b is not None))


def _value(e: Expr, now: dict[str, int]) -> int | None:
    """An integer, if the variables are known that it is made of."""
    match e:
        case ir.Const():
            return e.value if isinstance(e.value, int) else None
        case ir.Var():
            return now.get(e.name)
        case ir.Select():
            test = _value(e.test, now)
            return None if test is None else _value(e.then if test else e.orelse, now)
        case ir.Op() if e.op in _MEANINGS:
            parts = [_value(a, now) for a in e.args]
            if any(p is None for p in parts):
                return None
            try:
                found = _MEANINGS[e.op](*parts)
            except (ZeroDivisionError, ValueError):
                return None
            return int(found) if isinstance(found, int) else None
    return None


def _calls(body: tuple[Stmt, ...]) -> list[ir.Call]:
    return [e for e in ir.walk_expressions(body) if isinstance(e, ir.Call)]


def _calls_of(own: tuple[Expr, ...]) -> list[ir.Call]:
    return [e for e in ir.subexpressions(*own) if isinstance(e, ir.Call)]


def _subscripts(body: tuple[Stmt, ...]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """Private arrays with what they are subscripted by."""
    for s in ir.walk_statements(body):
        yield from _subscripts_of(s, ir.expressions(s))


def _subscripts_of(s: Stmt, own: tuple[Expr, ...]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    places: list[ir.Store | ir.Load] = [s] if isinstance(s, ir.Store) else []
    places += [e for e in ir.subexpressions(*own) if isinstance(e, ir.Load)]
    for place in places:
        if _is_array(place.view.type):
            yield place.view.name, (*place.indices, *(() if place.byte is None else (place.byte,)))
