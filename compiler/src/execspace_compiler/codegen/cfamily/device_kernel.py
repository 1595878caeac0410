"""A kernel as a kind of device runs it: what all variants of its source share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ... import ir
from ...mapping.loops import index_order, scales_of
from ...mapping.thread_blocks import Blocks
from ...passes.contiguous import ContiguousBody
from ...teams.device import DeviceTeam
from ...typing.lowered import Lowered
from .dialect import Dialect


@dataclass(frozen=True)
class DeviceKernel:
    """A lowered kernel, the language of a device, and how work-items go through the range.

    Attributes
    ----------
    lowered : Lowered
        Of teams the part of a member, or of a thread that does whole teams.
    dialect : Dialect
    flat : bool
        One call of the kernel for a work-item, as GPUs want it; otherwise each work-item does
        a contiguous part of the range in plain loops, as CPUs do.
    blocks : Blocks, optional
        It goes through the range in blocks. There are no units then.
    contiguous : ContiguousBody, optional
        Of variants that take Views for contiguous; of use where the mapping is flat.
    team : DeviceTeam, optional
        Teams are groups of work-items, or parts of such; `lowered` is the one in it.
    pools : tuple of ir.Var
        Each work-item does whole teams, which have scratch memory; see `host_teams.host_team`.
    scaled : bool
        The host gives what replaces divisions by extents, where the mapping is flat and nothing is
        tiled; see `loops.scales_of`. Variants that are `narrow` use it.
    """

    lowered: Lowered
    dialect: Dialect
    flat: bool = True
    blocks: Blocks | None = None
    contiguous: ContiguousBody | None = None
    team: DeviceTeam | None = None
    pools: tuple[ir.Var, ...] = ()
    scaled: bool = True

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest."""
        return index_order(self.lowered.body, self.lowered.spec)

    @cached_property
    def scales(self) -> list[tuple[int, tuple[str, str]]]:
        """Dimensions, and the names of what the host gives to divide by their extents."""
        tiled = self.lowered.spec.policy.tiled
        given = self.scaled and self.flat and not tiled and self.blocks is None
        return scales_of(self.order) if given else []
