"""Descriptions of mappings for `execspace.explain`, in lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from execspace import PolicySpec, TeamSizes
from execspace.contract.tiles import TileTable

from .. import ir
from ..analysis.access import access_of, unit_stride_votes
from ..analysis.row_accesses import element_of
from ..mapping.block_geometry import Geometry, Limits
from ..mapping.loops import flattened, index_order, tile_order
from ..mapping.thread_blocks import Blocks
from ..passes.contiguous import ContiguousBody
from ..passes.packing import Packing
from ..passes.private_sums import CALLS, EACH, elements
from ..teams.device import DeviceTeam
from ..typing.lowered import Lowered

_SHAPES = (
    "extents are arguments, and what divides by them is prepared by the host once for each shape: "
    "a new shape compiles nothing"
)


def describe_threads(
    lowered: Lowered,
    bounds: tuple[int, ...],
    *,
    group: int,
    blocks: Blocks | None,
    shapes: Geometry | None,
    contiguous: ContiguousBody | None,
    packing: Packing | None,
    private: tuple[int, ...],
    table: TileTable,
    limits: Limits,
) -> list[str]:
    """For a device with a thread for each call, or for a few.

    Parameters
    ----------
    lowered : Lowered
    bounds : tuple of int
        As a plan's `launch` gets them.
    group : int
        Threads of a block, if it is flat; else the most threads in the usual source.
    blocks, shapes
        The mapping to thread blocks, if any.
    contiguous : ContiguousBody, optional
        The body for Views that are contiguous in the order of calls.
    packing : Packing, optional
        The body for packs of neighbouring calls.
    private : tuple of int
        Arguments that are Views to which groups add in memory of their own.
    table : TileTable
        The space's table.
    limits : Limits
        Those of the device, whatever the kernel.
    """
    policy, order = lowered.spec.policy, index_order(lowered.body, lowered.spec)
    access = access_of(lowered.body, order)
    fastest = [f"dimension {order[-1]} is the fastest: {_why_fastest(lowered, order)}"]
    seen = f"{access.pattern}: {access.reason}"
    if blocks is None or shapes is None:
        calls = "one call" if packing is None else f"{packing.count} calls"
        if lowered.reduction is not None:
            calls = "many calls"
        bounded = ", as launch_bounds has it" if policy.launch_bounds == group else ""
        lines = [f"flat: {calls} a thread, {group} threads a block{bounded} ({seen})"]
        if policy.rank > 1:
            lines = [*lines, *fastest, _SHAPES]
        if contiguous is not None:
            lines.append(
                "the number of a call is the place of its elements (the text shown), if the range "
                "begins at zeros and contiguous Views have its extents; else indices are computed"
            )
        if packing is not None:
            lines.append(_packs(packing, lowered.reduction is not None))
        if private:
            lines.append(_private(lowered, private))
        if policy.tiled:
            lines.append("the tile orders the calls; blocks of threads do not have its shape")
            lines += _order_of_tiles(lowered, order, "from tile to tile")
        else:
            lines += _no_order_of_tiles(policy)
        return [*lines, *_weight(policy, group), *_no_lanes(policy)]
    rank, dims = policy.rank, blocks.dims
    key = shapes.key_of(bounds)
    form, gx, gy, gz, bx, by, bz, *_ = shapes[key]
    axes = ", ".join(
        f"{axis}: dimension{'s' if len(along) > 1 else ''} {' '.join(map(str, along))}"
        for axis, along in zip("xyz", (dims[:1], dims[1:2], dims[2:]), strict=True)
        if along
    )
    own = table.find(blocks.pattern, rank) is not None
    whose = (
        "the policy's" if blocks.tiled else f"from table '{table.name}'" if own else "by default"
    )
    lines = [
        f"blocks of {bx} x {by} x {bz} threads ({axes}), tile {shapes.tile(key)} {whose}; grid of "
        f"{gx} x {gy} x {gz} blocks",
        *_in_parts(shapes, key, limits),
        f"calls of a thread: {blocks.calls}, by dimension {blocks.items_per_thread}"
        f"{', items_per_thread of the policy' if policy.items_per_thread else ''} ({seen})",
        *(fastest if rank > 1 else []),
        *_order_of_tiles(lowered, order, "from block to block"),
        *_weight(policy, bx * by * bz),
        *_no_lanes(policy),
        _SHAPES,
    ]
    if packing is not None:
        lines.append(_packs_of_rows(packing))
    if form & 2:
        lines.append(
            f"more than {group} threads a block: another text than the one shown, for more"
        )
    if form & 1:
        lines.append("places of 64 bits, with the stride of the grid: the range exceeds its limits")
    return lines


def _no_lanes(policy: PolicySpec) -> list[str]:
    """A line on lanes of a vector, which a device has not."""
    return without_effect(policy, ("lanes",), "each call has a thread of its own")


def _weight(policy: PolicySpec, threads: int) -> list[str]:
    """A line on what the policy says of calls."""
    if not policy.work_items:
        return []
    size = "larger" if policy.work_items == "light" else "smaller"
    what = f"asks for {size} blocks; they have {threads} threads"
    if policy.tiled:
        what = "no effect, for the tile of the policy is the shape of a block"
    return [f"work_items='{policy.work_items}': {what}"]


def _views(packing: Packing) -> str:
    names = list(dict.fromkeys(p.view.name for p in packing.packs))
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _packs_of_rows(packing: Packing) -> str:
    """A line on packs in blocks."""
    return (
        f"packs: calls of a thread along x are neighbours, and one access of up to "
        f"{packing.widest * packing.count} bytes moves their elements of {_views(packing)}, where "
        f"all rows begin at multiples of it; else calls are a block apart"
    )


def _private(lowered: Lowered, numbers: tuple[int, ...]) -> str:
    """A line on sums in the memory of groups."""
    arguments = lowered.body.parameters[lowered.leading :]
    views = " and ".join(arguments[n].name for n in numbers)
    most = [elements(element_of(arguments[n]), len(numbers)) for n in numbers]
    return (
        f"sums: calls only add to {views}, so blocks add to copies, and at the end the copies to "
        f"the View, if it has at most {' and '.join(map(str, most))} elements and the launch "
        f"{CALLS} calls, {EACH} for each element"
    )


def _packs(packing: Packing, reduces: bool) -> str:
    """A line on packs of calls."""
    views, widest = _views(packing), packing.widest
    where = "where their addresses are multiples of its size, as a new View's is"
    if not reduces:
        where = "where all of them begin at the same place of a pack, as new Views do"
    return (
        f"packs: the {packing.count} calls of a thread are neighbours, and one access of up to "
        f"{widest * packing.count} bytes moves the elements of {views}, {where}; else one by one"
    )


def _in_parts(shapes: Geometry, key: tuple[int, ...], limits: Limits) -> list[str]:
    """A line on a tile that no block can hold."""
    tile = shapes.tile(key)
    exceeded = shapes.exceeded(tile)
    if not exceeded:
        return []
    told = []
    for where, most in exceeded.items():
        if where != "all" and most >= shapes.limits.threads:
            continue
        why = "limit of the device"
        if where == "all" and most < limits.threads:  # no tile exceeds launch_bounds
            why = f"this kernel needs many registers; the device has up to {limits.threads}"
        told.append(f"{most} threads{'' if where == 'all' else f' along {where}'} ({why})")
    _, _, _, _, bx, by, bz, *_ = shapes[key]
    count = shapes.parts(key)
    parts = f"in {count} parts, by blocks" if count > 1 else "as far as the range goes, by a block"
    return [
        f"tile {tile} has {prod(tile)} elements, one for each thread of a block, and a block here "
        f"has at most {' and '.join(told)}: it is done {parts} of "
        f"{bx} x {by} x {bz} threads"
    ]


def _order_of_tiles(lowered: Lowered, order: tuple[int, ...], what: str) -> list[str]:
    """A line on tiles that come in another order than the indices in one."""
    policy = lowered.spec.policy
    if not policy.outer:
        return []
    fastest = tile_order(policy, order)[-1]
    return [f"{what}: dimension {fastest} is the fastest, iterate={_both(policy)} of the policy"]


def _both(policy: PolicySpec) -> tuple[str, str]:
    return policy.outer, policy.iterate


def _no_order_of_tiles(policy: PolicySpec) -> list[str]:
    """A line where the order of tiles means nothing."""
    if not policy.outer:
        return []
    return [f"iterate={_both(policy)}: nothing is tiled, so only '{policy.iterate}' has an effect"]


def _why_fastest(lowered: Lowered, order: tuple[int, ...]) -> str:
    """Why the last dimension of an order is the fastest."""
    policy = lowered.spec.policy
    if policy.iterate != "auto":
        within = f"{_both(policy)}" if policy.outer else f"'{policy.iterate}'"
        return f"iterate={within} of the policy"
    if lowered.spec.pattern == "scan":
        return "a scan goes in the order of the indices"
    votes = unit_stride_votes(lowered.body, policy.rank)
    if votes[0] == votes[-1]:
        return "the last one, since the first finds contiguous elements no more often"
    return "most accesses find contiguous elements along it"


def describe_rows(lowered: Lowered, in_lanes: bool = True) -> list[str]:
    """For a host whose threads run contiguous parts of the range; whether it may do so in lanes."""
    policy, order = lowered.spec.policy, index_order(lowered.body, lowered.spec)
    if policy.tiled:
        lines = ["tiles: each thread does whole ones, in plain loops"]
        lines += _order_of_tiles(lowered, order, "from tile to tile")
    elif policy.rank == 1:
        lines = [f"one loop, in {'chunks' if policy.dynamic else 'a part for each thread'}"]
    else:
        split = ", ".join(map(str, flattened(policy, order)))
        lines = [
            f"rows: dimensions {split} (from the slowest) are collapsed and split between threads; "
            f"inside plain loops, that of dimension {order[-1]} innermost: "
            f"{_why_fastest(lowered, order)}",
            *_no_order_of_tiles(policy),
        ]
    if policy.dynamic:
        parts = f"chunks of {policy.chunk_size}" if policy.chunk_size else "parts"
        lines.append(
            f"schedule='dynamic': threads take {parts} one after another, until none is left"
        )
    lines.append("extents are arguments: a new shape compiles nothing")
    ignored = ("items_per_thread", "launch_bounds", *(() if in_lanes else ("lanes",)))
    return [*lines, *without_effect(policy, ignored, "a thread does whole rows")]


def without_effect(policy: PolicySpec, names: Sequence[str], why: str) -> list[str]:
    """A line on the options, by their names in `PolicySpec`, that a policy has in vain."""
    ignored = ["tile" if n == "tiled" else n for n in names if getattr(policy, n)]
    if not ignored:
        return []
    named = " and ".join(part for part in (", ".join(ignored[:-1]), ignored[-1]) if part)
    return [f"{named}: without effect here, where {why}"]


def describe_calls(lowered: Lowered) -> list[str]:
    """For a space that runs one call after the other."""
    policy, joins = lowered.spec.policy, lowered.spec.pattern != "for"
    fastest = "first" if joins and policy.iterate == "left" else "last"
    lines = [f"one call after the other, interpreted, the {fastest} index fastest"]
    if joins:
        lines += _no_order_of_tiles(policy)
    elif policy.outer or policy.iterate != "auto":
        order = _both(policy) if policy.outer else policy.iterate
        lines.append(f"iterate={order!r}: without effect here, where only joins have an order")
    ignored = ("tiled", "items_per_thread", "launch_bounds", "lanes")
    return [*lines, *without_effect(policy, ignored, "calls run one by one")]


def describe_host_teams(lowered: Lowered, sizes: TeamSizes) -> list[str]:
    """For a host whose threads run whole teams."""
    lines = ["teams: a contiguous part of the league for each thread"]
    if sizes.chunk_size > 1:
        lines = [f"teams: chunks of {sizes.chunk_size} for each thread"]
    if lowered.spec.policy.dynamic:
        lines = [f"teams: threads take {sizes.chunk_size} or more at a time, until none is left"]
    if sizes.team_size == 1:
        lines.append("team size 1: nested ranges are plain loops, a barrier is nothing")
    else:
        lines.append(
            f"team size {sizes.team_size}: one thread does all members, in a loop between each two "
            f"places where they wait for each other"
        )
    lines.append(
        "vector_length changes which iterations of es.TeamVectorRange a member has; loops over "
        "lanes are plain ones, which the compiler vectorises as it can"
    )
    if any(isinstance(s, ir.Scratch | ir.Carve) for s in ir.walk_statements(lowered.body.body)):
        lines.append("scratch memory is taken once for each part of the league")
    ignored = without_effect(lowered.spec.policy, ("launch_bounds",), "no team is a block")
    return [*lines, *ignored]


def describe_device_teams(team: DeviceTeam, fits: bool = False) -> list[str]:
    """For a device on which the members of teams are work-items; whether launches may choose other
    sizes, that fit their nested ranges."""
    shape = team.shape
    lines = [f"teams of {shape.size} threads of {shape.lanes} lanes, a work-item for each lane"]
    if shape.serial_lanes > 1:
        lines = [
            f"teams of {shape.size} threads, a work-item for each: it does its "
            f"{shape.serial_lanes} lanes one after the other, for the device has none"
        ]
    if shape.stride:
        lines.append(
            f"{shape.chunk} teams side by side in a block of {shape.group} threads, {shape.stride} "
            f"from one to the next"
        )
    elif shape.chunk > 1:
        lines.append(f"a block of {shape.group} threads does {shape.chunk} teams in a row")
    else:
        lines.append(f"a team is a block of {shape.group} threads")
    if team.grid_stride:
        lines.append("a limited number of blocks, which go on with the next teams")
    if shape.lanes > 1:
        lines.append("outside of ranges over lanes the first lane of a thread stores for all")
    policy = team.lowered.spec.policy
    if not policy.vector_length:
        which = "a" if shape.lanes > 1 else "no"
        lines.append(
            f"vector_length was left open: {which} range over lanes goes along contiguous elements"
        )
    if not policy.team_size:
        why = "none would have work of its own" if shape.size == 1 else "what a block has room for"
        lines.append(f"team_size was left open: {why}")
    if fits:
        lines.append("a launch takes sizes that fit the lengths of its nested ranges instead")
    return lines
