"""Straight-line code in steps, for compilers that move all loads of a block to its start.

LLVM's compilers for AMD's GPUs do so also where registers do not suffice for what is loaded: then
most of it goes to memory and comes back. After every few loads, the private arrays that have been
computed from them are "kept", which is done before the loads of the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import prod

from .. import ir
from ..analysis.unrolling import trips
from ..ir import Expr, Stmt
from ..ir.types import Scalar, ViewTy

_MOST = 256  # words of 4 bytes that a block may load in any order: the registers of a work-item
_STEP = 64  # words that are loaded in a step, at least
_ARRAY = 64  # elements, at most, of an array that is kept


def words_loaded(functions: Iterable[ir.Function]) -> int:
    """Words that a call of the last of these functions loads in blocks of one piece."""
    loaded: dict[str, int] = {}
    words = 0
    for f in functions:
        words = loaded[f.name] = _Steps(loaded).words(f.body)
    return words


def in_steps(functions: Iterable[ir.Function]) -> tuple[ir.Function, ...]:
    """The functions, callees first, those in steps whose blocks load too much."""
    loaded: dict[str, int] = {}
    found = []
    for f in functions:
        steps = _Steps(loaded)
        loaded[f.name] = steps.words(f.body)
        found.append(replace(f, body=steps.of(f.body)) if loaded[f.name] > _MOST else f)
    return tuple(found)


class _Steps:
    """Steps of one function."""

    def __init__(self, loaded: dict[str, int]) -> None:
        self.loaded = loaded  # words that a call of a function loads

    def words(self, body: Iterable[Stmt]) -> int:
        """Words that a body loads in blocks of one piece: loops that stay loops end such blocks."""
        return sum(map(self._words, body))

    def _words(self, s: Stmt) -> int:
        if isinstance(s, ir.While):
            return 0
        if isinstance(s, ir.For):
            return (trips(s) or 0) * self.words(s.body)
        if isinstance(s, ir.If):
            return self.words(s.body) + self.words(s.orelse)
        return sum(map(self._read, ir.walk_expressions((s,))))

    def _read(self, e: Expr) -> int:
        if isinstance(e, ir.Load) and isinstance(e.view.type, ViewTy):
            return 0 if e.view.type.shape is not None else -(-e.type.itemsize // 4)
        return self.loaded.get(e.function, 0) if isinstance(e, ir.Call) else 0

    def of(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body with what is kept between its steps."""
        return self._of(body, 0)[0]

    def _of(self, body: tuple[Stmt, ...], words: int) -> tuple[tuple[Stmt, ...], int]:
        """The same after so many words that the step has loaded, and how many it has at the end."""
        found: list[Stmt] = []
        for s in body:
            own = self._words(s)
            if isinstance(s, ir.While) or (isinstance(s, ir.For) and trips(s) is None):
                s, words = replace(s, body=self.of(s.body)), 0
            elif isinstance(s, ir.For | ir.If):
                parts = [self._of(part, words) for part in ir.bodies(s)]
                inside = ir.with_bodies(s, tuple(part for part, _ in parts))
                words = max(left for _, left in parts) if inside != s else words + own
                s = inside
            else:
                words += own
            found.append(s)
            if words >= _STEP and own:
                kept = [k for array in sorted(_changed(s), key=str) for k in _kept(array)]
                found += kept
                words = 0 if kept else words
        return tuple(found), words


def _changed(s: Stmt) -> set[ir.Var]:
    """Small private arrays that a statement may change, by itself or in a call."""
    found: set[ir.Var] = set()
    for inner in ir.walk_statements((s,)):
        if isinstance(inner, ir.Store):
            found.add(inner.view)
    for e in ir.walk_expressions((s,)):
        if isinstance(e, ir.Call):
            found |= {a for a in e.args if isinstance(a, ir.Var) and isinstance(a.type, ViewTy)}
    return {a for a in found if _is_small(a)}


def _is_small(array: ir.Var) -> bool:
    t = array.type
    assert isinstance(t, ViewTy)
    is_number = isinstance(t.element, Scalar) and (t.element.is_float or t.element.kind == "c")
    return is_number and t.shape is not None and prod(t.shape) <= _ARRAY


def _kept(array: ir.Var) -> Iterator[Stmt]:
    """Statements that store the elements of an array as they are."""
    t = array.type
    assert isinstance(t, ViewTy) and isinstance(t.element, Scalar)
    for place in product(*map(range, t.shape or ())):
        indices = tuple(map(ir.integer, place))
        value: Expr = ir.Load(array, indices, t.element)
        if t.element.kind == "c":
            part = Scalar("float32" if t.element.name == "complex64" else "float64")
            parts = (ir.Op("kept", (ir.Op(n, (value,), part),), part) for n in ("real", "imag"))
            value = ir.Op("complex", tuple(parts), t.element)
        else:
            value = ir.Op("kept", (value,), t.element)
        yield ir.Store(array, indices, value)
