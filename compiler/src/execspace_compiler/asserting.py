"""The innermost loop of a host's walk around a body with assertions.

Either the body is left out of the row where an assertion fails, by a mask, or the assertions are
tested before it, or beside it. In each way the loop has one end, so that it is vectorised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import ir
from .ir import Assign, Expr, For, If, Stmt, Var, integer, op, var
from .masking import Masked
from .prechecks import Prechecks
from .types import BOOL, INT64

if TYPE_CHECKING:
    from .mapping import Chunk

STRIP = 1024  # iterations: what a few Views have of them stays in the first cache
_FAR = 1 << 29  # iterations that `first_failure` of the host's runtime looks at together
_SHORT = 16  # a row of fewer calls is tested as it runs

_FAILED = Var("_failed", BOOL)
_NONE_FAILED = ir.Op("not", (_FAILED,), BOOL)


def masked_loop(chunk: Chunk, d: int, first: Expr, last: Expr, masked: Masked) -> Stmt:
    """The innermost loop, and behind it the report of the first call that has failed.

    Which assertion failed is asked again of the call, if it has stored nothing.
    """
    strip, end, where, code = map(var, ("_strip", "_end", "_where", "_code"))
    chunk.locals |= {v.name: INT64 for v in (strip, end, where, code)}
    call = ir.Call(masked.body.name, chunk.passed(), INT64)
    count = 0 if masked.clean else masked.assertions
    rows = chunk.policy.rank > 1
    report = [chunk.set(f"_i{d}", where)]
    if masked.clean:
        report += chunk.call()
    else:
        report.append(ir.Fail(code, tuple(var(f"_i{n}") for n in range(chunk.policy.rank))))
    body = (
        chunk.set(end.name, op("min", op("add", strip, integer(_FAR)), last)),
        ir.Failures((where.name, code.name), f"_i{d}", strip, end, call, count, rows),
        If(op("lt", where, end), tuple(report)),
    )
    return For(strip.name, first, last, integer(_FAR), body)


def tested_loop(chunk: Chunk, d: int, first: Expr, last: Expr, prechecks: Prechecks) -> Stmt:
    """The innermost loop: tests at the ends of the row, then of its calls and the sound body.

    Where they fail, and in short rows, the body as it is written.
    """
    chunk.locals["_failed"] = BOOL
    index = f"_i{d}"

    def each(lo: Expr, hi: Expr, body: list[Stmt], free: bool = False) -> Stmt:
        return For(index, lo, hi, integer(1), tuple(body), free and chunk.reduction is None)

    def looked(function: ir.Function) -> Stmt:
        found = ir.Call(function.name, chunk.passed(), BOOL)
        return Assign("_failed", ir.Op("bitor", (_FAILED, found), BOOL))

    # Copies, as the body of a loop over rows may see its bounds change.
    row = [chunk.set("_first", first), chunk.set("_last", last)]
    lo, hi = var("_first"), var("_last")
    rows = chunk.policy.rank > 1
    begin: Expr = ir.Const(False, BOOL)
    if rows and prechecks.tests and not prechecks.fused:
        begin = is_short(lo, hi, prechecks.masks)
    row.append(Assign("_failed", begin))
    for function in prechecks.ends:
        ends: list[Stmt] = []
        for at in (lo, op("sub", hi, integer(1))):
            ends += [chunk.set(index, at), looked(function)]
        row.append(If(_NONE_FAILED, tuple(ends)))
    sound = chunk.call(prechecks.sound)
    careful = chunk.call()
    if prechecks.tests and not prechecks.fused:
        strip, end = var("_strip"), var("_end")
        tests = [
            ir.Failures(
                ("_failed",),
                index,
                strip,
                end,
                ir.Call(f.name, chunk.passed(), BOOL),
                rows=rows,
                masks=prechecks.masks,
            )
            for f in prechecks.tests
        ]
        strips = [
            chunk.set("_end", op("min", op("add", strip, integer(STRIP)), hi)),
            *in_turn(_FAILED, [[t] for t in tests]),
            If(_FAILED, (each(strip, end, careful),), (each(strip, end, sound, free=True),)),
            Assign("_failed", Var("_bad", BOOL)),
        ]
        chunk.locals |= {"_strip": INT64, "_bad": BOOL}
        row += [Assign("_bad", _FAILED), For("_strip", lo, hi, integer(STRIP), tuple(strips))]
    else:
        whole: list[Stmt] = []
        if prechecks.tests:
            (test,) = prechecks.tests
            assert chunk.reduction is not None
            kept = [(s.var, Var(f"{s.name}_kept", s.type)) for s in chunk.reduction.states]
            chunk.locals |= {
                k.name: s.type
                for s, k in zip(chunk.reduction.states, (k for _, k in kept), strict=True)
            }
            whole += [Assign(k.name, s) for s, k in kept]
            # AVX-512 compares and combines with what held before in one step, so not the failures.
            held = Var("_held", BOOL)
            chunk.locals[held.name] = BOOL
            passes = ir.Op("not", (ir.Call(test.name, chunk.passed(), BOOL),), BOOL)
            look = Assign(held.name, ir.Op("bitand", (held, passes), BOOL))
            whole.append(Assign(held.name, ir.Const(True, BOOL)))
            whole.append(each(lo, hi, [look, *sound]))
            whole.append(Assign("_failed", ir.Op("not", (held,), BOOL)))
            whole.append(If(_FAILED, tuple(Assign(s.name, k) for s, k in kept)))
        else:
            whole.append(each(lo, hi, sound, free=True))
        row += [If(_NONE_FAILED, tuple(whole)), If(_FAILED, (each(lo, hi, careful),))]
    return If(op("lt", first, last), tuple(row))


def is_short(first: Expr, last: Expr, masks: bool) -> Expr:
    """Whether a row has so few calls that tests beforehand do not pay. `masks`: they are cheap."""
    if masks:
        return ir.Const(False, BOOL)
    return op("lt", op("sub", last, first), integer(_SHORT))


def in_turn(failed: Var, tests: Sequence[Sequence[Stmt]]) -> list[Stmt]:
    """Tests that each run if nothing has failed so far."""
    return [If(ir.Op("not", (failed,), BOOL), tuple(test)) for test in tests]
