"""The innermost loop of a host's walk around a body with assertions.

Either calls whose assertion fails are masked, or the assertions are tested before the body or
together with it. In each case the loop has a single exit, so that it is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from execspace import PolicySpec

from .. import ir
from ..ir import Assign, Expr, For, If, Stmt, Var, integer, op, var
from ..ir.types import BOOL, INT64, Scalar, ViewTy
from ..reductions.reduction import Reduction
from .masking import Masked
from .prechecks import Prechecks

STRIP = 1024  # iterations, such that their elements of a few Views fit in the L1 cache
_FAR = 1 << 29  # iterations that `first_failure` of the host's runtime handles together
_SHORT = 16  # shorter rows are not tested beforehand

_FAILED = Var("_failed", BOOL)
_NONE_FAILED = ir.Op("not", (_FAILED,), BOOL)


class Chunk(Protocol):
    """The enclosing walk, as far as it is needed here; see mapping/loops.py."""

    locals: dict[str, Scalar | ViewTy]

    @property
    def policy(self) -> PolicySpec: ...

    @property
    def reduction(self) -> Reduction | None: ...

    def passed(self) -> tuple[Expr, ...]:
        """Arguments of a call of the body at the current indices."""

    def set(self, name: str, value: Expr) -> Stmt:
        """Set a variable of the walk."""

    def is_little(self, body: ir.Function) -> bool:
        """Whether a body of a reduction does no more than compute a number or two."""

    def call(self, body: ir.Function | None = None) -> list[Stmt]:
        """Call the body at the current indices, and join its result."""


def masked_loop(chunk: Chunk, d: int, first: Expr, last: Expr, masked: Masked) -> Stmt:
    """The innermost loop, followed by the report of the first call that failed.

    If that call has stored nothing, it is repeated to find which assertion failed.
    """
    if masked.tests:
        return _report_of_rows(chunk, d, first, last, masked)
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
        chunk.set(end.name, end_of_strip(strip, _FAR, last)),
        ir.Failures((where.name, code.name), f"_i{d}", strip, end, call, count, rows),
        If(op("lt", where, end), tuple(report)),
    )
    return For(strip.name, first, last, integer(_FAR), body)


def _report_of_rows(chunk: Chunk, d: int, first: Expr, last: Expr, masked: Masked) -> Stmt:
    """The same for one of many rows: if a call has failed, the whole row is repeated."""
    index = f"_i{d}"
    chunk.locals |= {"_failed": BOOL, "_first": INT64, "_last": INT64}
    asked: list[Stmt] = []
    for n, test in enumerate(masked.tests):
        found = Assign("_failed", ir.Call(test.name, chunk.passed(), BOOL))
        asked.append(If(_NONE_FAILED, (found,)) if n else found)
    asked.append(If(_FAILED, tuple(chunk.call())))
    lo, hi = var("_first"), var("_last")
    call = ir.Call(masked.body.name, chunk.passed(), BOOL)
    row = (
        chunk.set("_first", first),
        chunk.set("_last", last),
        ir.Failures(("_failed",), index, lo, hi, call, rows=True),
        If(_FAILED, (For(index, lo, hi, integer(1), tuple(asked)),)),
    )
    return If(op("lt", first, last), row)


def tested_loop(chunk: Chunk, d: int, first: Expr, last: Expr, prechecks: Prechecks) -> Stmt:
    """The innermost loop: tests at the ends of the row, then of its calls, then the sound body.

    If tests fail, and in short rows, it runs the original body.
    """
    chunk.locals["_failed"] = BOOL
    index = f"_i{d}"

    little = chunk.is_little(prechecks.sound)

    def each(lo: Expr, hi: Expr, body: list[Stmt], free: bool = False) -> Stmt:
        free = free and chunk.reduction is None
        return For(index, lo, hi, integer(1), tuple(body), free, interleaved=little)

    def check(function: ir.Function) -> Stmt:
        found = ir.Call(function.name, chunk.passed(), BOOL)
        return Assign("_failed", ir.Op("bitor", (_FAILED, found), BOOL))

    # Copies, since the bounds may change in the body of a loop over rows.
    row = [chunk.set("_first", first), chunk.set("_last", last)]
    lo, hi = var("_first"), var("_last")
    rows = chunk.policy.rank > 1
    begin: Expr = ir.Const(False, BOOL)
    if rows and prechecks.tests and not prechecks.fused:
        begin = is_short(lo, hi, prechecks.bits)
    row.append(Assign("_failed", begin))
    for function in prechecks.ends:
        ends: list[Stmt] = []
        for at in (lo, op("sub", hi, integer(1))):
            ends += [chunk.set(index, at), check(function)]
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
                bits=prechecks.bits,
            )
            for f in prechecks.tests
        ]
        strips = [
            chunk.set("_end", end_of_strip(strip, STRIP, hi)),
            *in_turn(_FAILED, [[t] for t in tests]),
            If(_FAILED, (each(strip, end, careful),), (each(strip, end, sound, free=True),)),
            Assign("_failed", Var("_bad", BOOL)),
        ]
        chunk.locals |= {"_strip": INT64, "_bad": BOOL}
        row += [Assign("_bad", _FAILED), For("_strip", lo, hi, integer(STRIP), tuple(strips))]
    elif prechecks.tests:
        row += _fused(chunk, each, lo, hi, prechecks, rows)
    else:
        whole = each(lo, hi, sound, free=True)
        row.append(If(_FAILED, (each(lo, hi, careful),), (whole,)))
    return If(op("lt", first, last), tuple(row))


def _fused(
    chunk: Chunk, each: Callable[..., Stmt], lo: Expr, hi: Expr, prechecks: Prechecks, rows: bool
) -> list[Stmt]:
    """Strips whose tests run together with the sound body; after a failure its result is dropped.

    Each of many rows is one strip, and is not tested beforehand if it is longer.
    """
    assert chunk.reduction is not None
    (test,) = prechecks.tests
    strip, end = var("_strip"), var("_end")
    fails: Expr = ir.Call(test.name, chunk.passed(), BOOL)
    noted: Expr
    if prechecks.bits == 1:
        # AVX-512 ands a comparison with an earlier mask in one instruction, so keep what holds.
        kind, start = BOOL, ir.Const(True, BOOL)
        found = Var("_found", kind)
        noted = ir.Op("bitand", (found, ir.Op("not", (fails,), BOOL)), BOOL)
    else:
        kind = Scalar(f"int{max(32, prechecks.bits)}")
        start, found = ir.Const(0, kind), Var("_found", kind)
        noted = op("add", found, ir.Op("cast", (fails,), kind))
    kept = [Assign(f"{s.name}_kept", s.var) for s in chunk.reduction.states]
    back = [Assign(s.name, Var(f"{s.name}_kept", s.type)) for s in chunk.reduction.states]
    chunk.locals |= {f"{s.name}_kept": s.type for s in chunk.reduction.states}
    chunk.locals |= {"_strip": INT64, "_bad": BOOL, found.name: kind}
    beside: list[Stmt] = [
        *kept,
        Assign(found.name, start),
        each(strip, end, [Assign(found.name, noted), *chunk.call(prechecks.sound)]),
        Assign("_failed", op("ne", found, start)),
        If(_FAILED, tuple(back)),
    ]
    strips: list[Stmt] = [
        If(_NONE_FAILED, tuple(beside)),
        If(_FAILED, (each(strip, end, chunk.call()),)),
    ]
    if rows:
        far = op("ge", op("sub", hi, lo), integer(_FAR))
        failed = Assign("_failed", ir.Op("bitor", (_FAILED, far), BOOL))
        return [chunk.set(strip.name, lo), chunk.set(end.name, hi), failed, *strips]
    strips.insert(0, chunk.set(end.name, end_of_strip(strip, _FAR, hi)))
    strips.append(Assign("_failed", Var("_bad", BOOL)))
    return [Assign("_bad", _FAILED), For(strip.name, lo, hi, integer(_FAR), tuple(strips))]


def end_of_strip(strip: Expr, length: int, last: Expr) -> Expr:
    """Where a strip ends that begins at an index; no sum leaves 64 bits, whatever the bounds."""
    begin = op("min", strip, integer(2**63 - 1 - length))
    return op("min", op("add", begin, integer(length)), last)


def is_short(first: Expr, last: Expr, bits: int) -> Expr:
    """Whether a row is too short for tests beforehand to pay off. `bits`: see `Prechecks`."""
    if bits == 1:
        return ir.Const(False, BOOL)
    return op("lt", op("sub", last, first), integer(_SHORT))


def in_turn(failed: Var, tests: Sequence[Sequence[Stmt]]) -> list[Stmt]:
    """Tests in sequence, each of which runs only if nothing has failed so far."""
    return [If(ir.Op("not", (failed,), BOOL), tuple(test)) for test in tests]
