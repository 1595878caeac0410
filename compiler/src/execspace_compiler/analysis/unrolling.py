"""Loops to unroll so that private arrays are registers.

A compiler keeps a private array in registers only if all its subscripts are constants, which they
become when the loops are unrolled whose variables they are made of. Compilers of GPUs do so by
themselves for small bodies only; with a larger one the array goes to memory, and a kernel that has
its numbers there takes several times as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from .. import ir
from ..ir import Expr, Stmt
from ..ir.rewriting import names_set_in
from ..ir.types import ViewTy

_MOST = 2048  # statements that the unrolled loops of a function have in all


def loops_of_registers(function: ir.Function) -> frozenset[int]:
    """The ids of loops of a function whose variables are subscripts of such arrays."""
    loops = _counted(function.body)
    arrays = _in_registers(function.body, frozenset(loops))
    chosen = {
        id(s)
        for name, own in loops.items()
        for s in own
        if any(name in names for array, names in _subscripts(s.body) if array in arrays)
    }
    fits = _weight(function.body, chosen) <= _MOST
    return frozenset(chosen) if fits else frozenset()


def trips(s: ir.For) -> int | None:
    """How often a loop runs, if that is a constant."""
    bounds = [e.value for e in (s.start, s.stop, s.step) if isinstance(e, ir.Const)]
    if len(bounds) < 3 or not bounds[2]:
        return None
    return len(range(*map(int, bounds)))


def _counted(body: tuple[Stmt, ...]) -> dict[str, list[ir.For]]:
    """Loops by their variable, if nothing else sets it: a constant once all are unrolled."""
    found: dict[str, list[ir.For]] = defaultdict(list)
    for s in ir.walk_statements(body):
        if isinstance(s, ir.For) and trips(s) and not s.rare:
            found[s.name].append(s)
    times = Counter(names_set_in(body))
    return {name: own for name, own in found.items() if times[name] == len(own)}


def _in_registers(body: tuple[Stmt, ...], loops: frozenset[str]) -> set[str]:
    """Arrays all of whose subscripts are made of constants and variables of loops."""
    known, other = set(), set()
    for array, names in _subscripts(body):
        known.add(array)
        if not names <= loops:
            other.add(array)
    for e in ir.walk_expressions(body):
        if isinstance(e, ir.Call):
            other |= {a.name for a in e.args if isinstance(a, ir.Var)}
    return known - other


def _subscripts(body: tuple[Stmt, ...]) -> Iterator[tuple[str, frozenset[str]]]:
    """Private arrays with variables of a subscript; with one that no loop has for anything else."""

    def look(
        view: ir.Var, indices: tuple[Expr, ...], byte: Expr | None
    ) -> Iterator[tuple[str, frozenset[str]]]:
        if isinstance(view.type, ViewTy) and view.type.shape is not None:
            parts = ir.subexpressions(*indices, *(() if byte is None else (byte,)))
            names = {e.name for e in parts if isinstance(e, ir.Var)}
            if any(not isinstance(e, ir.Const | ir.Op | ir.Var) for e in parts):
                names.add("")
            yield view.name, frozenset(names)

    for s in ir.walk_statements(body):
        if isinstance(s, ir.Store):
            yield from look(s.view, s.indices, s.byte)
    for e in ir.walk_expressions(body):
        if isinstance(e, ir.Load):
            yield from look(e.view, e.indices, e.byte)


def _weight(body: tuple[Stmt, ...], chosen: set[int]) -> int:
    """Statements of a body when loops are unrolled."""
    total = 0
    for s in body:
        inner = 1 + sum(_weight(b, chosen) for b in ir.bodies(s))
        times = trips(s) if isinstance(s, ir.For) and id(s) in chosen else 1
        total += inner * (times or 1)
    return total
