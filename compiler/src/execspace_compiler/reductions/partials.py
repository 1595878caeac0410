"""Partial results of reductions and scans in IR: a row with an entry for each part of a range.

Each part stores its state in its entry. They are joined in the order of the parts, which is fixed,
so that results are bitwise reproducible.
"""

from __future__ import annotations

import math

from .. import ir
from ..ir import Assign, Expr, For, Stmt, Var, integer, op, var
from ..ir.types import INT64, Pointer, Scalar, ViewTy
from .reduction import ARRAY, Reduction, returned, returned_type

PART_STRIDE = 8  # entries between the partial results of two parts: no shared cache line


def rows(reduction: Reduction) -> list[Var]:
    """Addresses of the rows of partial results, one for each number of the state."""
    return [Var(f"_p{n}", Pointer(s.type)) for n, s in enumerate(reduction.states)]


def entries(reduction: Reduction) -> int:
    """Entries of a row for each part; no two parts share a cache line."""
    if reduction.array is None:
        return PART_STRIDE
    size = math.prod(reduction.array.shape or ())
    return -(-size // PART_STRIDE) * PART_STRIDE + PART_STRIDE


def _at(reduction: Reduction) -> Expr:
    return op("mul", var("_part"), integer(entries(reduction)))


def reset_state(reduction: Reduction) -> list[Stmt]:
    """Set the state to the identity."""
    if reduction.array is None:
        return reduction.reset()
    array = Var(ARRAY, reduction.array)
    store = ir.Store(array, _element(reduction), reduction.states[0].identity)
    return _each_element(reduction, [store])


def load_state(reduction: Reduction) -> list[Stmt]:
    """Load the state from the entry of a part."""
    pairs = zip(reduction.states, rows(reduction), strict=True)
    return [Assign(s.name, ir.LoadAt(p, _at(reduction), s.type)) for s, p in pairs]


def store_state(reduction: Reduction) -> list[Stmt]:
    """Store the state in the entry of a part."""
    pointers, at = rows(reduction), _at(reduction)
    if reduction.array is None:
        pairs = zip(pointers, reduction.states, strict=True)
        return [ir.StoreAt(p, at, s.var) for p, s in pairs]
    type = reduction.states[0].type
    value = ir.Load(Var(ARRAY, reduction.array), _element(reduction), type)
    store = ir.StoreAt(pointers[0], op("add", at, _flat_index(reduction)), value)
    return _each_element(reduction, [store])


def _shape(reduction: Reduction) -> tuple[int, ...]:
    assert reduction.array is not None and reduction.array.shape is not None
    return reduction.array.shape


def _element(reduction: Reduction) -> tuple[Expr, ...]:
    return tuple(var(f"_e{d}") for d in range(len(_shape(reduction))))


def _flat_index(reduction: Reduction) -> Expr:
    place: Expr = var("_e0")
    for d, n in enumerate(_shape(reduction)[1:], 1):
        place = op("add", op("mul", place, integer(n)), var(f"_e{d}"))
    return place


def _each_element(reduction: Reduction, body: list[Stmt]) -> list[Stmt]:
    for d, n in reversed(list(enumerate(_shape(reduction)))):
        body = [For(f"_e{d}", integer(0), integer(n), integer(1), tuple(body))]
    return body


def counters(reduction: Reduction) -> dict[str, Scalar | ViewTy]:
    """Types of the variables that count the elements of an array."""
    return {f"_e{d}": INT64 for d in range(len(_shape(reduction)))}


def _merge_parts(reduction: Reduction, offset: Expr | None = None) -> list[Stmt]:
    """Join the partial results of all parts, in their order."""
    at = _at(reduction) if offset is None else op("add", _at(reduction), offset)
    pairs = zip(rows(reduction), reduction.states, strict=True)
    others: tuple[Expr, ...] = tuple(ir.LoadAt(p, at, s.type) for p, s in pairs)
    loop = For("_part", integer(0), var("_parts"), integer(1), tuple(reduction.merge(others)))
    return [*reduction.reset(), loop]


def finish_function(reduction: Reduction, name: str) -> ir.Function:
    """Join the partial results of all parts, in their order, and compute the result.

    The result of an array reduction is stored at the address `_out`.
    """
    types: dict[str, Scalar | ViewTy] = {**reduction.locals(), "_part": INT64}
    more, numbers = reduction.finish()
    parameters = (var("_parts"), *rows(reduction))
    if reduction.array is None:
        statements = [*_merge_parts(reduction), *more, returned(numbers)]
        return ir.Function(
            name, parameters, returned_type(numbers), types, tuple(statements), entry=True
        )
    out = Var("_out", Pointer(numbers[0].type))  # type: ignore[arg-type]
    place = _flat_index(reduction)
    store = ir.StoreAt(out, place, numbers[0])
    loops = _each_element(reduction, [*_merge_parts(reduction, place), *more, store])
    types |= counters(reduction)
    return ir.Function(name, (*parameters, out), None, types, tuple(loops), entry=True)


def prefix_function(reduction: Reduction, name: str) -> ir.Function:
    """An exclusive scan over the entries of `_parts` parts.

    The entry of one more part, which contributes nothing, receives the total.
    """
    kept = [Var(f"_kept{n}", s.type) for n, s in enumerate(reduction.states)]
    pointers, at = rows(reduction), _at(reduction)
    body: list[Stmt] = [
        Assign(k.name, ir.LoadAt(p, at, s.type))
        for k, p, s in zip(kept, pointers, reduction.states, strict=True)
    ]
    body += [*store_state(reduction), *reduction.merge(tuple(kept))]
    loop = For("_part", integer(0), var("_parts"), integer(1), tuple(body))
    end = [Assign("_part", var("_parts")), *store_state(reduction)]
    types: dict[str, Scalar | ViewTy] = {**reduction.locals(), "_part": INT64}
    types |= {f"_kept{n}": s.type for n, s in enumerate(reduction.states)}
    parameters = (var("_parts"), *pointers)
    statements = (*reduction.reset(), loop, *end)
    return ir.Function(name, parameters, None, types, statements, entry=True)


def last_function(reduction: Reduction, name: str) -> ir.Function:
    """The result of a scan, from the entry of its last part."""
    more, numbers = reduction.finish()
    parameters = (var("_part"), *rows(reduction))
    statements = (*load_state(reduction), *more, returned(numbers))
    types: dict[str, Scalar | ViewTy] = {**reduction.locals()}
    return ir.Function(name, parameters, returned_type(numbers), types, statements, entry=True)


def seed_function(reduction: Reduction, name: str) -> ir.Function:
    """Set the entry of the first part to the identity."""
    statements = (*reduction.reset(), *store_state(reduction))
    types: dict[str, Scalar | ViewTy] = {**reduction.locals()}
    return ir.Function(name, (var("_part"), *rows(reduction)), None, types, statements, entry=True)
