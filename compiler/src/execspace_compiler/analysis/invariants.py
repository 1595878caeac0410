"""Loops with invariants on which LLVM's vectoriser takes exponential time.

LLVM 20 to 22 check each operand of a value for uniformity, without memoisation: time grows with the
number of paths through an expression, so it doubles with each `v ^= v << 13`
(vputils::isUniformAcrossVFsAndUFs). This concerns loop invariants that were not hoisted: values
computed from loads of Views that may alias others for all that LLVM knows. Loops with many paths
are not vectorised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import ir
from ..ir import Expr, Stmt
from ..ir.rewriting import names_set_in

MANY = 20_000
"""Paths that LLVM follows in a fraction of a second."""

_UNROLLED = 256
"""Trip count up to which LLVM may unroll an inner loop completely."""

_MOST_VISITED = 50_000

_Paths = dict[str, int | None]


class _TooManyPaths(Exception):
    """There are too many paths."""


class _TooLarge(Exception):
    """The code is too large to follow."""


def deep_loops(
    functions: Sequence[ir.Function], body: ir.Function, marked: frozenset[str]
) -> frozenset[int]:
    """The ids of such loops: For, While and Failures.

    Views of `body` in `marked` are known not to overlap others there.
    """
    named = {f.name: f for f in functions}
    return frozenset(
        id(s)
        for f in functions
        for s in ir.walk_statements(f.body)
        if isinstance(s, ir.For | ir.While | ir.Failures)
        and _Iterations(named, f.name, body.name, marked).deep(s)
    )


class _Iterations:
    """Counts paths from a value back to values known before the loop.

    None: the value may differ between iterations. One path: it is known before the loop.
    """

    def __init__(
        self, functions: Mapping[str, ir.Function], name: str, body: str, marked: frozenset[str]
    ) -> None:
        self.functions, self.body, self.marked = functions, body, marked
        self.within = name
        self.visited = 0
        self.calls: dict[tuple[str, tuple[int | None, ...]], int | None] = {}
        self.results: list[int | None] = []

    def deep(self, loop: ir.For | ir.While | ir.Failures) -> bool:
        """Whether there are too many paths."""
        paths: _Paths = dict.fromkeys(_changed((loop,)))
        try:
            if isinstance(loop, ir.Failures):
                self.value(loop.call, {**paths, loop.name: None})
            else:
                self.walk(loop.body, paths)
        except _TooManyPaths:
            return True
        except _TooLarge:
            return False
        return False

    def walk(self, body: tuple[Stmt, ...], paths: _Paths) -> None:
        """Follow what statements set."""
        for s in body:
            self.visited += 1
            if self.visited > _MOST_VISITED:
                raise _TooLarge
            values = [self.value(e, paths) for e in ir.expressions(s)]
            match s:
                case ir.Assign() | ir.Unpack():
                    paths |= dict.fromkeys(ir.names_set(s), values[0])
                case ir.Return():
                    self.results.append(_sum(values))
                case ir.Store():
                    paths[s.view.name] = _sum([paths.get(s.view.name, 1), *values])
                case ir.Clear():
                    paths[s.array.name] = 1
                case ir.If():
                    self.branch(s, values[0], paths)
                case ir.For() if (count := _trip_count(s)) is not None:
                    for _ in range(count):
                        before = {**paths, s.name: 1}
                        paths[s.name] = 1
                        self.walk(s.body, paths)
                        if paths == before:
                            break
                case _:
                    inner = ir.bodies(s)
                    changed = dict.fromkeys([*ir.names_set(s), *_changed(*inner)])
                    for one in inner:
                        self.walk(one, paths | changed)
                    paths |= changed

    def branch(self, s: ir.If, test: int | None, paths: _Paths) -> None:
        """Merge the two branches of an if: values then also depend on the condition."""
        before = dict(paths)
        ends = []
        for inner in (s.body, s.orelse):
            end = dict(before)
            self.walk(inner, end)
            ends.append(end)
        for name in {n for end in ends for n in end}:
            arms = [end.get(name, 1) for end in ends]
            same = all(end.get(name) == before.get(name) for end in ends)
            paths[name] = arms[0] if same else self.all(test, *arms)

    def value(self, e: Expr, paths: _Paths) -> int | None:
        """Paths from a value."""
        self.visited += 1
        match e:
            case ir.Const() | ir.Extent():
                return 1
            case ir.Var():
                return paths.get(e.name, 1)
            case ir.Call() if e.function in self.functions:
                return self.called(e, paths)
        found = self.all(*(self.value(a, paths) for a in ir.operands(e)))
        if isinstance(e, ir.Load | ir.LoadAt) and found is not None:
            source = e.view if isinstance(e, ir.Load) else e.pointer
            known = self.within == self.body and source.name in self.marked
            return self.all(found + (not known), paths.get(source.name, 1))
        return found

    def called(self, e: ir.Call, paths: _Paths) -> int | None:
        """Paths from the result of a function."""
        args = tuple(self.value(a, paths) for a in e.args)
        key = (e.function, args)
        if key not in self.calls:
            f = self.functions[e.function]
            outer = self.within, self.results
            self.within, self.results = f.name, []
            own = dict(zip((p.name for p in f.parameters), args, strict=True))
            self.walk(f.body, own)
            self.calls[key] = _sum(self.results or [1])
            self.within, self.results = outer
        return self.calls[key]

    def all(self, *values: int | None) -> int | None:
        """Paths from a value computed from others."""
        found = _sum(values)
        if found is not None and found > MANY:
            raise _TooManyPaths
        return found


def _sum(values: Sequence[int | None]) -> int | None:
    """Sum of paths; operations on values that are known before the loop are, too."""
    if None in values:
        return None
    known = [v for v in values if v is not None]
    return sum(known) if any(v > 1 for v in known) else 1


def _trip_count(s: ir.For) -> int | None:
    """Trip count of a short loop, if it is known and the loop is not left early."""
    bounds = [e.value for e in (s.start, s.stop, s.step) if isinstance(e, ir.Const)]
    if len(bounds) < 3:
        return None
    count = len(range(*map(int, bounds)))
    ends = any(isinstance(i, ir.Break | ir.Continue) for i in ir.walk_statements(s.body))
    return count if count <= _UNROLLED and not ends else None


def _changed(*bodies: tuple[Stmt, ...]) -> set[str]:
    """Names that statements set, nested ones included, and Views that they store to."""
    found = set(names_set_in(*bodies))
    for s in (s for body in bodies for s in ir.walk_statements(body)):
        if isinstance(s, ir.Store | ir.Atomic):
            found.add(s.view.name)
        elif isinstance(s, ir.StoreAt):
            found.add(s.pointer.name)
    return found
