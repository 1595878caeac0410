"""The functions of a single-pass scan that run the calls of a pack; see passes/scan_packing.py.

One gives the contributions of a pack, one runs the calls with prefixes, from the prefix of the
first one on, and one tells whether the addresses of all Views allow packs.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from .. import ir
from ..ir import Assign, Expr, Stmt, Var, integer, op, var
from ..ir.types import BOOL, Scalar, TupleTy, ViewTy
from ..passes.packing import Pack, Packing, with_variables
from .loops import Calls, Chunk, bounds_of

TOTALS, WORK, ALIGNED = "_totals_pack", "_work_pack", "_packs_aligned"
ALIKE = ("_work", "_totals", TOTALS, WORK, ALIGNED)  # take the same Views and numbers
_FIRST = var("_f0")


def pack_functions(
    first: Calls,
    last: Calls,
    totals: Packing,
    final: Packing,
    kind: Scalar,
    small: bool,
    nontemporal: bool,
) -> list[ir.Function]:
    """The functions TOTALS, WORK and ALIGNED.

    Parameters
    ----------
    first, last : Calls
        Of the pass for contributions, and of that with prefixes.
    totals, final : Packing
        Their bodies.
    kind : Scalar
        Type in which indices are computed.
    small : bool
        As in `Chunk`.
    nontemporal : bool
        Caches need not keep what is accessed once.
    """
    # Of contributions that the pass with prefixes is given, nothing is read a second time.
    again = {p.view for p in final.packs if p.loaded}
    return [
        _totals(first, totals, again, kind, small, nontemporal),
        _work(last, final, kind, small, nontemporal),
        _aligned(last, (*totals.packs, *final.packs), totals),
    ]


def _totals(
    calls: Calls, packing: Packing, again: set[Var], kind: Scalar, small: bool, nontemporal: bool
) -> ir.Function:
    """A function of the number of the first call, and of a state, that returns contributions.

    `again`: Views that the other pass reads, too.
    """
    chunk = Chunk(calls, small=small)
    assert calls.reduction is not None and isinstance(calls.body.result, Scalar)
    type = calls.body.result
    body = _loads(packing, nontemporal, again)
    arrays = _arrays(chunk, packing)
    found = [Var(f"_c{n}", type) for n in range(packing.count)]
    for n, contribution in enumerate(found):
        chunk.locals[contribution.name] = type
        value = ir.Call(packing.body.name, chunk.passed((integer(n), *arrays)), type)
        body += _at(chunk, n, kind, [Assign(contribution.name, value)])
    result = TupleTy(tuple(c.type for c in found))
    body.append(ir.Return(tuple(found)))
    states = tuple(s.var for s in calls.reduction.states)
    parameters = (_FIRST, *states, *bounds_of(calls.policy), *chunk.arguments)
    return ir.Function(TOTALS, parameters, result, {**chunk.locals}, tuple(body))


def _work(
    calls: Calls, packing: Packing, kind: Scalar, small: bool, nontemporal: bool
) -> ir.Function:
    """A function of the number of the first call, the prefix there, and maybe contributions."""
    chunk = Chunk(calls, small=small)
    reduction = calls.reduction
    assert reduction is not None
    owns: list[Var] = []
    body = _loads(packing, nontemporal)
    arrays = _arrays(chunk, packing)
    for n in range(packing.count):
        if calls.own is not None:
            own = Var(f"_own{n}", calls.own.type)
            owns.append(own)
            chunk.calls = replace(calls, own=own)
        body += _at(chunk, n, kind, chunk.call(packing.body, (integer(n), *arrays)))
    body += [
        ir.Packed(p.array, p.view, _place(p, packing), True, nontemporal)
        for p in packing.packs
        if p.stored
    ]
    states = tuple(s.var for s in reduction.states)
    named = {s.name for s in states}
    types = {**chunk.locals, **{n: t for n, t in reduction.locals().items() if n not in named}}
    parameters = (_FIRST, *states, *owns, *bounds_of(calls.policy), *chunk.arguments)
    return ir.Function(WORK, parameters, None, types, tuple(body))


def _aligned(calls: Calls, packs: tuple[Pack, ...], packing: Packing) -> ir.Function:
    """A function of the number of the first call."""
    even: Expr = ir.Const(True, BOOL)
    for p in dict.fromkeys(packs):
        beyond = ir.Beyond(p.view, _place(p, packing), packing.count)
        even = ir.Op("and", (even, ir.Op("eq", (beyond, integer(0)), BOOL)), BOOL)
    arguments = calls.body.parameters[calls.leading :]
    parameters = (_FIRST, *bounds_of(calls.policy), *arguments)
    return ir.Function(ALIGNED, parameters, BOOL, {}, (ir.Return(even),))


def _arrays(chunk: Chunk, packing: Packing) -> tuple[Var, ...]:
    """Arrays of the packs, as local variables."""
    for p in packing.packs:
        assert isinstance(p.array.type, ViewTy)
        chunk.locals[p.array.name] = p.array.type
    return tuple(p.array for p in packing.packs)


def _place(pack: Pack, packing: Packing) -> tuple[Expr, ...]:
    """Subscripts of the first element of a pack."""
    at = op("add", var("_lo0"), _FIRST)

    def variable(name: str) -> Expr | None:
        return at if name == packing.index else None

    return tuple(with_variables(e, variable) for e in pack.indices)


def _loads(packing: Packing, nontemporal: bool, again: Set[Var] = frozenset()) -> list[Stmt]:
    """Statements that load the packs, of which caches should keep those of the Views `again`."""
    return [
        ir.Packed(p.array, p.view, _place(p, packing), False, nontemporal and p.view not in again)
        for p in packing.packs
        if p.loaded
    ]


def _at(chunk: Chunk, n: int, kind: Scalar, call: list[Stmt]) -> list[Stmt]:
    """A call of the pack, and its index before it."""
    return [chunk.set("_u", op("add", _FIRST, integer(n))), *chunk.at(kind, call)]
