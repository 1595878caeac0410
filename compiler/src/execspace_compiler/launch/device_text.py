"""From a kernel and a LaunchSpec to the text of a device of the C family: a pure function.

What the host must know to launch it comes with the text. No device, driver or package is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import ir
from ..codegen.cfamily.dialect import Dialect
from ..codegen.cfamily.entries import Entries, Entry
from ..codegen.cfamily.expressions import has_long_offset
from ..codegen.cfamily.printer import CPrinter
from ..ir.diagnostics import Loc
from ..ir.types import ViewTy
from ..mapping.loops import index_order, scales_of, work_function
from ..mapping.thread_blocks import Blocks, block_function
from ..passes.contiguous import Linear
from ..passes.narrowing import LIMIT, gains, narrowed
from ..passes.pipeline import argument_type
from ..passes.scan_contributions import given_contribution
from ..passes.thresholds import with_thresholds
from ..teams.device import LANE, RANK, SLOT, DeviceTeam, team_work
from ..typing.lowered import Lowered


@dataclass(frozen=True)
class DeviceText:
    """A launch as text.

    Attributes
    ----------
    lines : tuple of str
    locs : tuple of Loc or None
        Place in the user's source that each line comes from.
    entry : Entry
    lowered : Lowered
    order : tuple of int
        Dimensions from the slowest to the fastest.
    """

    lines: tuple[str, ...]
    locs: tuple[Loc | None, ...]
    entry: Entry
    lowered: Lowered
    order: tuple[int, ...]

    @property
    def source(self) -> str:
        """The text."""
        return "\n".join(self.lines) + "\n"

    @property
    def strict(self) -> bool:
        """Whether a function in it must not be contracted, nor be compiled with fast-math."""
        reduction = self.lowered.reduction
        joins = () if reduction is None else reduction.functions
        return any(f.strict for f in (*self.lowered.functions, *joins))

    def complaint(self, faults: Sequence[tuple[int, str]], log: str, who: str) -> str:
        """What to tell of a compiler that refused the text.

        Parameters
        ----------
        faults : sequence of (int, str)
            Number of a line of the text, from 1, and what the compiler says of it. They are shown
            with the line of the user's source that it stems from.
        log : str
            All that it said, for faults without a place.
        who : str
            The compiler in words.
        """
        parts = [f"in kernel '{self.lowered.kernel.name}'"]
        for line, message in faults:
            if not 1 <= line <= len(self.lines):
                continue
            parts.append(f"{message}\n    {self.lines[line - 1].strip()}")
            loc = self.locs[line - 1]
            if loc is not None and loc.line:
                parts.append(f"{loc}\n{loc.excerpt()}")
        if len(parts) == 1:
            parts.append(log)
        parts.append(
            f"{who} refused generated code. This is a defect of execspace or of the driver; please "
            f"report it."
        )
        return "\n".join(parts)

    @property
    def result(self) -> Any:
        """Names of the dtypes of a reduction's result, nested as it is."""
        return None if self.lowered.reduction is None else self.lowered.reduction.result


def long_offsets(lowered: Lowered) -> list[int]:
    """Arguments that are Views whose places are sums of products, those of `out` last.

    They gain if the products are of 32 bits.
    """
    types = [argument_type(t) for t in (*lowered.spec.arguments, *lowered.spec.out)]
    return [n for n, t in enumerate(types) if isinstance(t, ViewTy) and has_long_offset(t)]


def _intervals(lowered: Lowered, team: DeviceTeam | None) -> dict[str, tuple[int, int]]:
    """Intervals of parameters of a kernel that a launch looks at."""
    parameters = lowered.body.parameters
    names = [p.name for p in parameters[: lowered.leading]]
    found = {p.name: (-LIMIT, LIMIT) for p in parameters[lowered.leading :]}
    if team is None:
        least = 0 if lowered.spec.policy.nonnegative else -LIMIT
        return found | dict.fromkeys(names[: lowered.spec.policy.rank], (least, LIMIT))
    found |= dict.fromkeys(names[:2], (0, LIMIT // team.shape.size))
    found[RANK.name] = 0, team.shape.size - 1
    found[LANE.name] = 0, team.shape.lanes - 1
    found[SLOT.name] = 0, team.shape.chunk - 1
    return found


def device_text(
    lowered: Lowered,
    dialect: Dialect,
    *,
    flat: bool,
    group: int,
    narrow: bool = False,
    disjoint: bool = False,
    small: bool = False,
    scaled: bool = False,
    blocks: Blocks | None = None,
    linear: Linear | None = None,
    team: DeviceTeam | None = None,
    pools: tuple[ir.Var, ...] = (),
) -> DeviceText:
    """The text of a lowered kernel in a dialect.

    Parameters
    ----------
    lowered : Lowered
    dialect : Dialect
    flat : bool
        One call of the kernel for a work-item, as GPUs want it; otherwise each work-item does
        a contiguous part of the range in plain loops, as CPUs do.
    group : int
        Work-items of a group in reductions and scans: a power of two. Of a group elsewhere, most.
    narrow : bool
        There are less than 2^32 units, so that 32 bits number them: several times as fast a
        division on GPUs. A flat parallel_for then has a work-item for each unit. Of use where
        the mapping is flat. With `blocks` the grid has a group for each block, and extents are
        below 2^31.
    disjoint : bool
        No two Views of which one is written overlap in memory; see `overlap.pairs_to_check`.
    small : bool
        The places of elements in all Views of `long_offsets` fit into 31 bits, and so do the bounds
        of a range of rank above 1, so that places are computed in 32. Where it `gains`, integer
        arguments, extents and bounds are within `narrowing.LIMIT`.
    scaled : bool
        There are less than 2^31 units, and the host gives what replaces divisions by extents, see
        `mapping.scales_of`. Of use where the mapping is flat and `narrow`, and nothing is tiled.
    blocks : Blocks, optional
        Go through the range in blocks. There are no units then, and `scaled` has no meaning.
    linear : Linear, optional
        Run this body in place of the kernel's own. Of use where the mapping is flat.
    team : DeviceTeam, optional
        Teams are groups of work-items, or parts of such; `lowered` is the one in it.
    pools : tuple of ir.Var
        Each work-item does whole teams, which have scratch memory; see `fission.host_team`.
    """
    spec = lowered.spec
    if small and gains(lowered.functions):
        lowered = replace(lowered, functions=narrowed(lowered.functions, _intervals(lowered, team)))
        team = team and replace(team, lowered=lowered)
    given_scales = scaled and flat and not spec.policy.tiled and blocks is None
    scaled = given_scales and narrow
    reduction = lowered.reduction
    order = index_order(lowered.body, spec)
    scan = spec.pattern == "scan"
    flags: dict[str, Any] = {
        "flat": flat, "narrow": narrow, "scaled": scaled,
        "small": small and spec.policy.rank > 1, "pools": pools,
    }  # fmt: skip

    def work(name: str, body: ir.Function, leading: int, **more: Any) -> ir.Function:
        return work_function(body, leading, spec.policy, order, reduction, name, **flags, **more)

    own = (lowered.body, lowered.leading)
    told = scan and dialect.lane_barrier and team is None
    given = given_contribution(lowered, disjoint) if told else None
    if team is not None:
        functions = [team_work(team, "_work", True if scan else None)]
    elif blocks is not None:
        wide = not narrow
        functions = [block_function(lowered, "_work", blocks, wide=wide, small=flags["small"])]
    elif linear is not None:
        again = work("_work", linear.body, lowered.leading + 1, numbered=True)
        functions = [linear.body, again]
    elif given is None:
        functions = [work("_work", *own, final=True if scan else None)]
    else:
        value = given.parameters[lowered.leading]
        again = work("_work", given, lowered.leading + 1, final=True, own=value)
        functions = [given, again]
    if reduction is not None:
        functions.append(reduction.merge_function("_merge"))
        functions.append(reduction.result_function("_result"))
    if scan and team is not None:
        functions.append(team_work(team, "_totals", False))
    elif scan:
        functions.append(work("_totals", *own, final=False))
    outs = tuple(argument_type(t) for t in spec.out)
    views = tuple(t for t in outs if isinstance(t, ViewTy))
    scales = scales_of(order) if given_scales else []
    entries = Entries(
        lowered,
        views,
        flat,
        group,
        once=narrow,
        given=given is not None,
        scales=scales,
        uses_scales=scaled,
        blocks=blocks,
        team=team,
        pool=bool(pools),
    )
    shape = None if team is None else team.shape
    module = with_thresholds(lowered.module(*functions, disjoint=disjoint))
    printer = CPrinter(module, dialect, small, shape)
    lines = tuple(printer.text(entries.print))
    locs = tuple(getattr(line, "loc", None) for line in lines)
    return DeviceText(lines, locs, entries.entry(), lowered, order)
