"""A chunk of a host in strips: what is joined strip by strip, and parts of fused kernels in turn.

The walk of a strip is a function of its own, which LLVM compiles by itself. So a sum adds in the
same order, and products are contracted with the same sums, whatever else a chunk does.
"""

from __future__ import annotations

from collections.abc import Callable

from execspace import PolicySpec

from .. import ir
from ..ir import Assign, Expr, If, Stmt, Var, While, integer, op, var
from ..ir.types import INT64, Scalar, TupleTy, ViewTy
from ..passes.masking import Masked
from ..passes.prechecks import Prechecks
from ..reductions.joins import assigned
from ..reductions.partials import reset_state, rows, store_state
from ..typing.lowered import JOINED, STRIP
from .loops import Calls, Chunk, bounds_of, flattened

_FEW = 8  # units of a strip, if each is a row or more


def has_strips(calls: Calls) -> bool:
    """Whether a reduction is joined in strips."""
    reduction = calls.reduction
    plain = reduction is not None and reduction.array is None and calls.final is None
    return plain and calls.policy.kind != "team"


def walk_function(calls: Calls, name: str) -> ir.Function:
    """Calls of a kernel that returns nothing, for the units of a strip."""
    chunk = Chunk(calls)
    head = (var("_f0"), var("_f1"))
    parameters = (*head, *bounds_of(calls.policy), *chunk.arguments)
    return ir.Function(name, parameters, None, *_walked(chunk))


def joined_function(
    calls: Calls, name: str, prechecks: Prechecks | None = None, masked: Masked | None = None
) -> ir.Function:
    """The walk of a strip of a reduction: its state is a parameter, and the result."""
    reduction = calls.reduction
    assert reduction is not None
    chunk = Chunk(calls, prechecks=prechecks, masked=masked)
    states = tuple(s.var for s in reduction.states)
    named = {s.name for s in states}
    locals_, body = _walked(chunk)
    running = calls.running
    if running is not None:
        locals_ |= running.locals()
        body = (*running.reset(), *body, *running.fold())
    locals_ |= {n: t for n, t in reduction.locals().items() if n not in named}
    kinds = tuple(s.type for s in reduction.states)
    result: Scalar | TupleTy = kinds[0] if len(kinds) == 1 else TupleTy(kinds)
    end = ir.Return(states[0] if len(states) == 1 else states)
    parameters = (
        var("_f0"), var("_f1"), *states, *bounds_of(calls.policy), *chunk.arguments,
    )  # fmt: skip
    return ir.Function(name, parameters, result, locals_, (*body, end))


def _walked(chunk: Chunk) -> tuple[dict[str, Scalar | ViewTy], tuple[Stmt, ...]]:
    walk = chunk.tiles() if chunk.policy.tiled else chunk.rows()
    body = (If(op("lt", var("_f0"), var("_f1")), tuple(walk)),)
    return {**chunk.locals}, body


def chunk_in_strips(
    calls: Calls,
    name: str,
    parts: tuple[ir.Function, ...],
    joined: ir.Function | None,
    buffers: tuple[Var, ...] = (),
    repeated: tuple[tuple[Var, ...], ...] = (),
) -> ir.Function:
    """The function of a chunk; parameters are those of `loops.chunk_function`.

    `parts` are walks, one after the other in each strip; then comes the reduction, if there is one,
    in longer strips. `repeated` as in `Lowered`.
    """
    policy, order, reduction = calls.policy, calls.order, calls.reduction
    arguments = calls.body.parameters[calls.leading :]
    bounds = bounds_of(policy)
    locals_: dict[str, Scalar | ViewTy] = {
        b.name: b.type for b in buffers if isinstance(b.type, ViewTy)
    }

    def strips(name: str, first: Expr, last: Expr, size: int,
               body: Callable[[Expr, Expr], list[Stmt]]) -> list[Stmt]:  # fmt: skip
        at, end = f"_at{name}", f"_end{name}"
        locals_.update({at: INT64, end: INT64})
        walk = [
            Assign(end, op("add", var(at), op("min", _size(policy, order, var(at), size),
                                              op("sub", last, var(at))))),
            *body(var(at), var(end)),
            Assign(at, var(end)),
        ]  # fmt: skip
        return [Assign(at, first), While(op("lt", var(at), last), tuple(walk))]

    def in_turn(first: Expr, last: Expr) -> list[Stmt]:
        start = op("add", var("_lo0"), first)
        more = (*buffers, start) if buffers else ()
        return [
            ir.Evaluate(ir.Call(p.name, (first, last, *bounds, *more, *arguments, *again), INT64))
            for p, again in zip(parts, repeated, strict=False)
        ]

    def joins(first: Expr, last: Expr) -> list[Stmt]:
        assert reduction is not None and joined is not None
        names = tuple(s.name for s in reduction.states)
        states = tuple(s.var for s in reduction.states)
        again = repeated[-1] if repeated else ()
        given = (first, last, *states, *bounds, *arguments, *again)
        join = assigned(names, ir.Call(joined.name, given, reduction.states[0].type))
        before = strips("_part", first, last, STRIP, in_turn) if parts else []
        return [*before, join]

    head = [var("_f0"), var("_f1")]
    if reduction is None:
        statements = strips("", head[0], head[1], STRIP, in_turn)
    else:
        head += [var("_part"), *rows(reduction)]
        walk = strips("", var("_f0"), var("_f1"), JOINED, joins)
        statements = [*reset_state(reduction), *walk, *store_state(reduction)]
        locals_ |= {s.name: s.type for s in reduction.states}
    return ir.Function(
        name, (*head, *bounds, *arguments), None, locals_, tuple(statements), entry=True
    )


def _size(policy: PolicySpec, order: tuple[int, ...], at: Expr, size: int) -> Expr:
    """Units of a strip that begins at a unit. It ends with a row, or is a part of one: within a
    row it makes no difference then to which vectors of LLVM's an element belongs."""
    if policy.tiled:
        return integer(1)
    if policy.rank == 1:
        return integer(size)
    last = order[-1]
    if last not in flattened(policy, order):
        return integer(_FEW)
    row = op("max", op("sub", var(f"_hi{last}"), var(f"_lo{last}")), integer(1))
    left = op("sub", row, op("truncmod", at, row))
    more = op("mul", op("truncdiv", op("sub", integer(size), left), row), row)
    return ir.Select(op("ge", left, integer(size)), integer(size), op("add", left, more), INT64)
