"""The work of a work-item of a device, as IR: its units of a range, without thread blocks."""

from __future__ import annotations

from .. import ir
from ..ir import If, Var, op, var
from ..ir.types import INDEX, UINT32, Scalar, TupleTy, ViewTy
from ..passes.packing import Packing
from ..reductions.reduction import ARRAY
from .loops import Calls, Chunk, bounds_of, scales_of
from .packs import pack_walk


def work_function(
    calls: Calls,
    name: str,
    *,
    flat: bool,
    narrow: bool = False,
    scaled: bool = False,
    small: bool = False,
    packing: Packing | None = None,
    single: bool = False,
) -> ir.Function:
    """The work of one work-item of a device: the units `_f0`, `_f0 + _step` ... below `_f1`.

    `flat`: a unit is one call of the kernel, whose indices are computed by division; otherwise
    units are those of `chunk_function`, and `_step` is one. `narrow`: 32 bits number all flat
    units. For a reduction, the state is a parameter and the result; for an array reduction the
    array is a parameter. `scaled` and `small` as in `Chunk`; `packing`: pack by pack. `single`: one
    unit, or pack, `_f0`.
    """
    policy, reduction = calls.policy, calls.reduction
    chunk = Chunk(calls, scaled=scaled, small=small)
    types: dict[str, Scalar | ViewTy] = {}
    head = [var("_f0"), var("_f1")]
    if flat:
        kind = UINT32 if narrow else INDEX
        packs = None if packing is None else pack_walk(chunk, kind, packing, single)
        walk = chunk.flat(kind, packs, single)
        head.append(var("_step"))
    else:
        inner = chunk.tiles() if policy.tiled else chunk.rows()
        walk = [If(op("lt", var("_f0"), var("_f1")), tuple(inner))]
    types |= chunk.locals
    result: Scalar | TupleTy | None = None
    states: tuple[Var, ...] = ()
    if reduction is not None and reduction.array is not None:
        states = (Var(ARRAY, reduction.array),)
    elif reduction is not None:
        states = tuple(s.var for s in reduction.states)
        named = {s.name for s in states}
        types |= {n: t for n, t in reduction.locals().items() if n not in named}
        kinds = tuple(s.type for s in reduction.states)
        result = kinds[0] if len(kinds) == 1 else TupleTy(kinds)
        walk.append(ir.Return(states[0] if len(states) == 1 else states))
    given = () if calls.own is None else (calls.own,)
    scales = [Var(n, UINT32) for _, ns in scales_of(calls.order) for n in ns] if scaled else []
    bounds = bounds_of(policy)
    parameters = (*head, *states, *given, *bounds, *scales, *calls.pools, *chunk.arguments)
    return ir.Function(name, parameters, result, types, tuple(walk))
