"""Iteration mappings for CPU-like targets: loops around a kernel's body, as IR.

A chunk function runs the units f0 <= u < f1 of a range; launchers divide the units among threads or
work-items. Without tiles, a unit is an index of the slowest dimensions (up to three, collapsed),
walked row by row with one division for a whole chunk; the faster dimensions are plain loops inside,
so that the contiguous one is vectorised over its whole extent. With tiles, a unit is one tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from execspace import LaunchSpec, PolicySpec
from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.access import unit_stride_votes
from ..ir import Assign, Expr, For, If, Op, Stmt, Var, While, integer, op, var
from ..ir.types import BOOL, INDEX, INT64, Scalar, ViewTy
from ..reductions.joins import Plain
from ..reductions.partials import counters, load_state, reset_state, rows, store_state
from ..reductions.reduction import ARRAY, Reduction
from ..reductions.running import Running, in_order
from ..typing.lowered import JOINED, STRIP

if TYPE_CHECKING:
    from ..passes.masking import Masked
    from ..passes.prechecks import Prechecks
    from ..spmd.form import LaneForm


def index_order(body: ir.Function, spec: LaunchSpec) -> tuple[int, ...]:
    """Dimensions of the policy from the slowest to the fastest.

    With "auto" the kernel's accesses decide: the last index runs fastest unless more accesses have
    the first index in the dimension of stride one. For a scan, whose result depends on the order,
    the last one always runs fastest.
    """
    policy = spec.policy
    forward = tuple(range(policy.rank))
    if policy.iterate == "right" or policy.rank == 1:
        return forward
    if policy.iterate == "auto" and spec.pattern == "scan":
        return forward
    if policy.iterate == "left":
        return forward[::-1]
    votes = unit_stride_votes(body, policy.rank)
    return forward if votes[-1] >= votes[0] else forward[::-1]


def tile_order(policy: PolicySpec, order: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions from the slowest to the fastest from tile to tile; `order` is that of indices."""
    if not policy.outer:
        return order
    forward = tuple(range(policy.rank))
    return forward if policy.outer == "right" else forward[::-1]


def bounds_of(policy: PolicySpec) -> list[Var]:
    """Parameters for the bounds of a range, and for its tile."""
    names = [f"_lo{d}" for d in range(policy.rank)] + [f"_hi{d}" for d in range(policy.rank)]
    if policy.tiled:
        names += [f"_tile{d}" for d in range(policy.rank)]
    return [var(name) for name in names]


def scales_of(order: tuple[int, ...]) -> list[tuple[int, tuple[str, str]]]:
    """Dimensions by whose extents indices are divided, and names of the factors and shifts.

    Division by multiplication: twice a number below 2^31 is multiplied by a factor of 32 bits, and
    the upper half is shifted: T. Granlund and P. L. Montgomery, "Division by Invariant Integers
    using Multiplication", PLDI 1994. `scale` computes factor and shift.
    """
    return [(d, (f"_scale{d}", f"_shift{d}")) for d in order[1:]]


def scale(n: int) -> tuple[int, int]:
    """Factor and shift for a divisor from 1 to 2^31 - 1."""
    shift = (n - 1).bit_length()
    return -(-(1 << (31 + shift)) // n), shift


def _depth(policy: PolicySpec) -> int:
    """Number of the slowest dimensions that are collapsed before the one that is split."""
    return min(policy.rank - 1, 2)


def flattened(policy: PolicySpec, order: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions that hosts collapse and divide among threads, from the slowest."""
    return order[: _depth(policy) + 1]


def _count(policy: PolicySpec, d: int) -> Expr:
    extent = op("sub", var(f"_hi{d}"), var(f"_lo{d}"))
    if not policy.tiled:
        return extent
    rounded = op("sub", op("add", extent, var(f"_tile{d}")), integer(1))
    return op("truncdiv", rounded, var(f"_tile{d}"))


def units_count(policy: PolicySpec, order: tuple[int, ...]) -> Expr:
    """Number of units of a range, from its bounds; for teams, a chunk of them is one unit."""
    if policy.kind == "team" and policy.chunk_size > 1:
        rounded = op("add", var("_hi0"), integer(policy.chunk_size - 1))
        return op("truncdiv", rounded, integer(policy.chunk_size))
    split = order if policy.tiled else flattened(policy, order)
    total: Expr = _count(policy, split[0])
    for d in split[1:]:
        total = op("mul", total, _count(policy, d))
    return total


def items_count(policy: PolicySpec) -> Expr:
    """Number of kernel calls of a range, from its bounds."""
    total: Expr = op("sub", var("_hi0"), var("_lo0"))
    for d in range(1, policy.rank):
        total = op("mul", total, op("sub", var(f"_hi{d}"), var(f"_lo{d}")))
    return total


@dataclass(frozen=True)
class Calls:
    """Calls of a kernel's body over a range, around which loops are built.

    Attributes
    ----------
    body : ir.Function
    leading : int
        Number of the body's parameters before those for the arguments.
    policy : PolicySpec
    order : tuple of int
        Dimensions from the slowest to the fastest.
    reduction : Reduction, optional
    pools : tuple of Var
        Pointers to the scratch memory of a team.
    final : bool, optional
        For a scan: whether this is the final pass, which the kernel receives.
    own : Var, optional
        The contribution of a call to a scan, if the body takes it.
    numbered : bool
        The body takes the number of the call; see `contiguous.contiguous_body`.
    parts, buffers, repeated : tuple
        As in `Lowered`.
    in_strips : bool
        Sums of floats are joined in strips of `JOINED` here; else who calls does so.
    running : Running, optional
        The running values that contributions are joined to, if the order of joins is to be known.
    in_turn : bool
        Contributions are joined one after the other.
    lanes : LaneForm, optional
        The kernel over neighbouring indices of the fastest dimension.
    part_lanes : tuple of LaneForm or None
        The same of each part.
    """

    body: ir.Function
    leading: int
    policy: PolicySpec
    order: tuple[int, ...]
    reduction: Reduction | None = None
    pools: tuple[Var, ...] = ()
    final: bool | None = None
    own: Var | None = None
    numbered: bool = False
    parts: tuple[ir.Function, ...] = ()
    buffers: tuple[Var, ...] = ()
    repeated: tuple[tuple[Var, ...], ...] = ()
    in_strips: bool = False
    lanes: LaneForm | None = None
    part_lanes: tuple[LaneForm | None, ...] = ()
    running: Running | None = None
    in_turn: bool = False


_LITTLE, _FEW = 16, 2  # expressions, and numbers that are joined


class Chunk:
    """Builds the loops of one chunk or work-item, around calls of the body.

    `scaled`: divisions by multiplication, see `scales_of`. `small`: indices have 32 bits.
    `prechecks` test the assertions of the body beforehand, `masked` is the body for a loop that
    reports them at its end.
    """

    def __init__(
        self,
        calls: Calls,
        *,
        scaled: bool = False,
        small: bool = False,
        prechecks: Prechecks | None = None,
        masked: Masked | None = None,
    ) -> None:
        self.calls = calls
        self.masked = masked
        self.prechecks = prechecks
        self.small = small
        self.scaled = scaled
        self.body = calls.body
        self.arguments = calls.body.parameters[calls.leading :]
        self.policy = calls.policy
        self.order = calls.order
        self.reduction = calls.reduction
        self.locals: dict[str, Scalar | ViewTy] = {}

    def set(self, name: str, value: Expr) -> Stmt:
        self.locals[name] = INT64
        return Assign(name, value)

    def call(
        self,
        version: ir.Function | None = None,
        more: tuple[Expr, ...] = (),
        again: tuple[Expr, ...] = (),
    ) -> list[Stmt]:
        """The body, or another version of it, for the current indices; `more` leading arguments,
        and some `again` at the end."""
        body = version or self.body
        result = body.result if isinstance(body.result, Scalar) else INT64
        value = ir.Call(body.name, (*self.passed(more), *again), result)
        if self.reduction is None or self.reduction.array is not None:
            return [ir.Evaluate(value)]
        joins = self.reduction.accumulate(value)
        if self.calls.running is None:
            return in_order(joins) if self.calls.in_turn else joins
        d = self.order[-1]
        return self.calls.running.joined(self.calls.running.place(f"_i{d}", f"_begin{d}"), joins)

    @property
    def indices(self) -> list[str]:
        """Names of the current indices."""
        return [f"_i{d}" for d in range(self.policy.rank)]

    def passed(self, more: tuple[Expr, ...] = ()) -> tuple[Expr, ...]:
        """Arguments of the body, for the current indices."""
        leading: list[Expr] = [*map(var, self.indices)]
        if self.policy.kind == "team":
            leading += [var("_hi0"), *self.calls.pools]
        if self.reduction is not None and self.reduction.array is not None:
            leading.append(Var(ARRAY, self.reduction.array))
        elif self.reduction is not None and self.calls.final is not None:
            leading += [*self.reduction.prefix(), ir.Const(self.calls.final, BOOL)]
            leading += [] if self.calls.own is None else [self.calls.own]
        leading += [var("_u")] if self.calls.numbered else []
        return (*leading, *more, *(Var(p.name, p.type) for p in self.arguments))

    def nest(self, dims: tuple[int, ...], lo: str = "_lo", hi: str = "_hi") -> list[Stmt]:
        """Plain loops over some dimensions, the last one innermost, around the body."""
        inner = self.call()
        for d in reversed(dims):
            inner = [self.loop(d, var(f"{lo}{d}"), var(f"{hi}{d}"), inner)]
        return inner

    def loop(self, d: int, first: Expr, last: Expr, body: list[Stmt]) -> Stmt:
        """A loop over a dimension; the innermost one of a parallel_for is independent."""
        self.locals[f"_i{d}"] = INT64
        innermost = d == self.order[-1]
        if innermost and self.calls.running is not None and self.calls.lanes is None:
            begin, end = self.set(f"_begin{d}", first), self.set(f"_end{d}", last)
            row = (begin, end, self.whole(d, var(f"_begin{d}"), var(f"_end{d}"), body))
            return If(Op("lt", (first, last), BOOL), row)
        if innermost and self.calls.parts:
            return self.parts(d, first, last)
        if innermost and self.joins_floats:
            return self.strip(
                d, "", first, last, JOINED, lambda lo, hi: [self.whole(d, lo, hi, body)]
            )
        return self.whole(d, first, last, body)

    def whole(self, d: int, first: Expr, last: Expr, body: list[Stmt]) -> Stmt:
        """A loop over all of a dimension, or of a strip."""
        innermost = d == self.order[-1]
        if innermost and self.calls.lanes is not None:
            from .lanes import Turns, loop_in_lanes  # loaded by kernels in lanes

            form, joins = self.calls.lanes, self.calls.running or self.reduction
            if form.after is not None:
                from .scan_lanes import scan_in_lanes

                assert self.reduction is not None
                given = (*map(var, self.indices), *(Var(p.name, p.type) for p in self.arguments))
                prefix, turns = self.reduction.prefix(), Turns.of(self.reduction)
                return scan_in_lanes(self.locals, given, d, first, last, form, prefix, turns)
            return loop_in_lanes(self.locals, self.passed(), d, first, last, form, joins)
        if innermost and self.masked is not None:
            from ..passes.assertion_loops import masked_loop  # loaded by kernels that assert

            return masked_loop(self, d, first, last, self.masked)
        if innermost and self.prechecks is not None:
            from ..passes.assertion_loops import tested_loop

            return tested_loop(self, d, first, last, self.prechecks)
        free = innermost and self.reduction is None and self.policy.kind != "team"
        many = innermost and self.is_little(self.body)
        return For(
            f"_i{d}", first, last, integer(1), tuple(body), independent=free, interleaved=many,
            sequential=innermost and self.is_short_prefix(self.body),
        )  # fmt: skip

    @property
    def joins_floats(self) -> bool:
        """Whether compilers join floats in an order of theirs."""
        if self.reduction is None or self.reduction.array is not None:
            return False
        if not self.calls.in_strips or self.calls.final is not None or self.policy.kind == "team":
            return False
        return any(
            isinstance(j, Plain) and j.kind in ("sum", "prod") and j.type.kind in "fc"
            for j in self.reduction.joins
        )

    def parts(self, d: int, first: Expr, last: Expr) -> Stmt:
        """The innermost loop of a fused kernel, in strips in which one part follows the other.

        A sum of floats is joined in strips of `JOINED`, as it is by itself.
        """
        if self.reduction is None:
            return self.strip(d, "", first, last, STRIP, lambda lo, hi: self.in_turn(d, lo, hi))
        body = self.calls.parts[-1]

        def joined(lo: Expr, hi: Expr) -> list[Stmt]:
            before = self.strip(d, "_", lo, hi, STRIP, lambda a, b: self.in_turn(d, a, b))
            join = For(
                f"_i{d}", lo, hi, integer(1), tuple(self.call(body, again=self.calls.repeated[-1])),
                interleaved=self.is_little(body),
            )  # fmt: skip
            return [before, join]

        return self.strip(d, "", first, last, JOINED, joined)

    def strip(
        self, d: int, name: str, first: Expr, last: Expr, size: int,
        body: Callable[[Expr, Expr], list[Stmt]],
    ) -> Stmt:  # fmt: skip
        """A loop over strips of a dimension; `body` gets the ends of one."""
        start, end = f"_s{name}{d}", f"_e{name}{d}"
        self.locals |= {start: INT64, end: INT64}
        count = op(
            "min", integer(size), op("sub", last, var(start))
        )  # the last index may be 2^63 - 1
        walk = (Assign(end, op("add", var(start), count)), *body(var(start), var(end)))
        return For(start, first, last, integer(size), walk)

    def in_turn(self, d: int, first: Expr, last: Expr) -> list[Stmt]:
        """Loops over a strip, one for each part but that of a reduction."""
        buffers, walk = self.calls.buffers, list[Stmt]()
        self.locals |= {b.name: b.type for b in buffers if isinstance(b.type, ViewTy)}
        sum = first
        for other in self.order[:-1]:
            sum = op("add", sum, var(f"_i{other}"))
        more = (*buffers, sum) if buffers else ()
        parts = self.calls.parts
        used = parts if self.reduction is None else parts[:-1]
        forms = self.calls.part_lanes or (None,) * len(used)
        for part, again, form in zip(used, self.calls.repeated, forms, strict=False):
            passed = (*self.passed(more), *again)
            if form is not None:
                from .lanes import loop_in_lanes

                walk.append(loop_in_lanes(self.locals, passed, d, first, last, form))
                continue
            call = ir.Evaluate(ir.Call(part.name, passed, INT64))
            walk.append(For(f"_i{d}", first, last, integer(1), (call,), independent=True))
        return walk

    def is_little(self, body: ir.Function) -> bool:
        """Whether a body of a reduction does no more than compute a number or two."""
        if self.reduction is None or self.reduction.array is not None:
            return False
        joins = self.reduction.joins  # each of which takes registers
        plain = len(joins) <= _FEW and all(isinstance(j, Plain) for j in joins)
        straight = all(isinstance(s, Assign | ir.Return) for s in ir.walk_statements(body.body))
        return plain and straight and len(ir.walk_expressions(body.body)) <= _LITTLE

    def is_short_prefix(self, body: ir.Function) -> bool:
        """Whether calls take prefixes, one from the other, and do little else."""
        short = len(ir.walk_expressions(body.body)) <= 2 * _LITTLE
        return short and self.calls.final is True

    def rows(self) -> list[Stmt]:
        """The untiled walk."""
        depth = _depth(self.policy)
        outer, split, inner = (
            self.order[:depth], self.order[depth], self.order[depth + 1 :],
        )  # fmt: skip
        start = var(f"_lo{split}")
        if not outer:
            first, last = op("add", start, var("_f0")), op("add", start, var("_f1"))
            if self.policy.kind == "team" and self.policy.chunk_size > 1:
                size = integer(self.policy.chunk_size)
                first, last = op("mul", var("_f0"), size), op("mul", var("_f1"), size)
                last = op("min", last, var("_hi0"))
            return [self.loop(split, first, last, self.nest(inner))]
        out = [self.set(f"_n{d}", _count(self.policy, d)) for d in (*outer[1:], split)]
        out.append(self.set("_rest", var("_f0")))
        for d, faster in zip(outer, (*outer[1:], split), strict=True):
            step: Expr = var(f"_n{faster}")
            for e in (*outer, split)[(*outer, split).index(faster) + 1 :]:
                step = op("mul", step, var(f"_n{e}"))
            place = op("add", var(f"_lo{d}"), op("truncdiv", var("_rest"), step))
            out.append(self.set(self.counter(d, outer), place))
            out.append(self.set("_rest", op("truncmod", var("_rest"), step)))
        out.append(self.set("_at", var("_f0")))
        out.append(While(op("lt", var("_at"), var("_f1")), tuple(self.row_block(outer, split))))
        return out

    def counter(self, d: int, outer: tuple[int, ...]) -> str:
        """Name of an outer dimension's counter: the last one has its own loop."""
        return f"_row{d}" if d == outer[-1] else f"_i{d}"

    def row_block(self, outer: tuple[int, ...], split: int) -> list[Stmt]:
        """As many rows as a plain loop can walk: whole ones up to the end of the second slowest
        dimension, or a partial one at the start or end of the part. In a plain loop compilers
        increment addresses from row to row instead of computing each anew."""
        last = outer[-1]
        left = op("sub", var("_f1"), var("_at"))
        whole = op(
            "min",
            op("truncdiv", left, var(f"_n{split}")),
            op("sub", var(f"_hi{last}"), var(f"_row{last}")),
        )
        is_integral = op("eq", var("_run"), var(f"_n{split}"))
        inner = self.nest(self.order[len(outer) + 1 :])
        end = op("add", var("_from"), var("_run"))
        row = self.loop(split, var("_from"), end, inner)
        after = op("add", var(f"_row{last}"), var("_rows"))
        return [
            self.set("_run", op("min", left, op("sub", var(f"_n{split}"), var("_rest")))),
            self.set("_rows", ir.Select(is_integral, whole, integer(1), INT64)),
            self.set("_from", op("add", var(f"_lo{split}"), var("_rest"))),
            self.loop(last, var(f"_row{last}"), after, [row]),
            self.set("_at", op("add", var("_at"), op("mul", var("_rows"), var("_run")))),
            self.set("_rest", integer(0)),
            self.set(f"_row{last}", after),
            *self._wrap(outer),
        ]

    def _wrap(self, outer: tuple[int, ...]) -> list[Stmt]:
        """Carry from a dimension that reached its end to the next slower one."""
        if len(outer) == 1:
            return []
        last, slower = outer[-1], outer[-2]
        carry = self.set(f"_i{slower}", op("add", var(f"_i{slower}"), integer(1)))
        wrapped: list[Stmt] = [self.set(f"_row{last}", var(f"_lo{last}")), carry]
        return [If(op("eq", var(f"_row{last}"), var(f"_hi{last}")), tuple(wrapped))]

    def tiles(self) -> list[Stmt]:
        """The walk tile by tile."""
        out = [self.set(f"_n{d}", _count(self.policy, d)) for d in self.order]
        walk: list[Stmt] = [self.set("_rest", var("_u"))]
        for d in reversed(tile_order(self.policy, self.order)):
            tile = op("mul", op("truncmod", var("_rest"), var(f"_n{d}")), var(f"_tile{d}"))
            walk.append(self.set(f"_from{d}", op("add", var(f"_lo{d}"), tile)))
            end = op("add", var(f"_from{d}"), var(f"_tile{d}"))
            walk.append(self.set(f"_to{d}", op("min", end, var(f"_hi{d}"))))
            walk.append(self.set("_rest", op("truncdiv", var("_rest"), var(f"_n{d}"))))
        walk += self.nest(self.order, "_from", "_to")
        self.locals["_u"] = INT64
        out.append(For("_u", var("_f0"), var("_f1"), integer(1), tuple(walk)))
        return out

    def index(self, d: int, place: Expr, kind: Scalar) -> Expr:
        """An index of the kernel, from its offset to the lower bound."""
        if self.small and kind != INDEX:
            # All operands have 32 bits, or compilers would compute all offsets in 64.
            low = ir.Op("cast", (var(f"_lo{d}"),), kind)
            sum = ir.Op("add", (low, place), kind)
            return ir.Op("cast", (ir.Op("cast", (sum,), Scalar("int32")),), INDEX)
        wide = place if kind == INDEX else ir.Op("cast", (place,), INDEX)
        return op("add", var(f"_lo{d}"), wide)

    def flat(
        self, kind: Scalar, packs: list[Stmt] | None = None, single: bool = False
    ) -> list[Stmt]:
        """The walk call by call, or another one; indices are computed by division in a type.

        With `single` there is one call, the first one, unless there are packs.
        """
        walk = self.at(kind, self.call())
        counts: list[Stmt] = []
        divided = (tile_order(self.policy, self.order) if self.policy.tiled else self.order)[1:]
        for d in divided:
            n = _count(self.policy, d)
            counts.append(Assign(f"_n{d}", n if kind == INDEX else ir.Op("cast", (n,), kind)))
        self.locals |= {f"_n{d}": kind.strong for d in divided}
        self.locals["_u"] = INT64
        if single and packs is None:
            return [*counts, self.set("_u", var("_f0")), *walk]
        alone = For("_u", var("_f0"), var("_f1"), var("_step"), tuple(walk))
        return [*counts, *(packs or [alone])]

    def at(self, kind: Scalar, call: list[Stmt]) -> list[Stmt]:
        """A call with number `_u`, and its indices before it."""
        walk: list[Stmt] = []

        def number(e: Expr) -> Expr:
            return e if kind == INDEX else ir.Op("cast", (e,), kind)

        def held(name: str, value: Expr) -> Expr:
            self.locals[name] = kind.strong
            walk.append(Assign(name, value))
            return Var(name, kind)

        rest = number(var("_u"))
        inside: Expr | None = None
        fast_first = self.order[::-1]
        slowest = self.order[0]
        places: dict[int, Expr] = {}
        tiled = self.policy.tiled
        tiles: dict[int, Expr] = {}
        if tiled:  # first the index in the tile, then the tile
            for d in fast_first:
                tile = number(var(f"_tile{d}"))
                tiles[d] = tile
                places[d] = held(f"_in{d}", op("truncmod", rest, tile))
                rest = held(f"_rest{d}", op("truncdiv", rest, tile))
            fast_first = tile_order(self.policy, self.order)[::-1]
            slowest = fast_first[-1]
        for d in fast_first:
            count = Var(f"_n{d}", kind)
            last = d == slowest
            after = rest
            if self.scaled and not last:
                factor, shift = (Var(f"_{w}{d}", kind) for w in ("scale", "shift"))
                after = held(f"_after{d}", ir.Op("scaled", (rest, factor, shift), kind))
                place: Expr = op("sub", rest, op("mul", after, count))
            else:
                place = rest if last else op("truncmod", rest, count)
            if tiled:
                place = op("add", op("mul", place, tiles[d]), places[d])
            walk.append(self.set(f"_i{d}", self.index(d, place, kind)))
            if not last:
                rest = after if self.scaled else held(f"_after{d}", op("truncdiv", rest, count))
            if tiled:
                test = op("lt", var(f"_i{d}"), var(f"_hi{d}"))
                inside = test if inside is None else ir.Op("and", (inside, test), BOOL)
        return [*walk, *(call if inside is None else [If(inside, tuple(call))])]


def chunk_function(
    calls: Calls,
    name: str,
    pool: tuple[Var, Expr] | None = None,
    prechecks: Prechecks | None = None,
    masked: Masked | None = None,
) -> ir.Function:
    """The loops around a body.

    `pool` is the pointer to the scratch memory of a team, and its size in bytes: each part
    allocates its own once. `prechecks` and `masked` as in `Chunk`.

    Its parameters are the first and last unit, for a reduction the number of the part and
    the rows of partial results, then bounds, then the arguments of the kernel. In the final
    pass of a scan, the part's entry in those rows holds the prefix at its start.
    """
    calls = replace(calls, pools=() if pool is None else (pool[0],))
    policy, reduction = calls.policy, calls.reduction
    chunk = Chunk(calls, prechecks=prechecks, masked=masked)
    walk = chunk.tiles() if policy.tiled else chunk.rows()
    if pool is not None:
        walk = [ir.Pool(*pool, tuple(walk))]
    statements: list[Stmt] = [If(op("lt", var("_f0"), var("_f1")), tuple(walk))]
    head = [var("_f0"), var("_f1")]
    types: dict[str, Scalar | ViewTy] = {**chunk.locals}
    if reduction is not None:
        head += [var("_part"), *rows(reduction)]
        before = load_state(reduction) if calls.final else reset_state(reduction)
        statements = [*before, *statements, *store_state(reduction)]
        types |= reduction.locals()
        if reduction.array is not None:
            types = {**chunk.locals, ARRAY: reduction.array, **counters(reduction)}
    parameters = (*head, *bounds_of(policy), *chunk.arguments)
    return ir.Function(name, parameters, None, types, tuple(statements), entry=True)
