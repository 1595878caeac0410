"""A kernel for a kind of device: what all variants of its source share."""

from __future__ import annotations

from functools import cached_property

from execspace.base.dataclass import dataclass

from ... import ir
from ...mapping.loops import index_order, scales_of
from ...mapping.thread_blocks import Blocks
from ...mapping.variant import Variant
from ...passes.contiguous import ContiguousBody
from ...passes.packing import Packing, Packings, is_plain
from ...teams.device import DeviceTeam
from ...typing.lowered import Lowered
from .dialect import Dialect

_FEW_REGISTERS, _FEW_CALLS = 26, 4  # for packs, of 32; and of a thread


@dataclass(frozen=True)
class DeviceKernel:
    """A lowered kernel, the language of a device, and the mapping of the range to work-items.

    Attributes
    ----------
    lowered : Lowered
        For teams, the code of a member, or of a thread that runs whole teams.
    dialect : Dialect
    flat : bool
        One call of the kernel per work-item, for GPUs; otherwise each work-item runs a contiguous
        part of the range in plain loops, for CPUs.
    blocks : Blocks, optional
        The range is mapped to thread blocks; there are no units then.
    contiguous : ContiguousBody, optional
        For variants that assume contiguous Views, with flat mappings.
    packings : Packings, optional
        For variants with packs, with flat mappings.
    team : DeviceTeam, optional
        Teams are groups of work-items, or parts of groups; `lowered` is the one in it.
    pools : tuple of ir.Var
        Each work-item runs whole teams, with scratch memory; see `host_teams.host_team`.
    private : tuple of int
        Arguments that are Views to which groups may add in memory of their own.
    scaled : bool
        The host passes factors and shifts for divisions by extents, for flat mappings without
        tiles; see `loops.scales_of`. Variants that are `narrow` use them.
    """

    lowered: Lowered
    dialect: Dialect
    flat: bool = True
    blocks: Blocks | None = None
    contiguous: ContiguousBody | None = None
    packings: Packings | None = None
    team: DeviceTeam | None = None
    pools: tuple[ir.Var, ...] = ()
    private: tuple[int, ...] = ()
    scaled: bool = True

    def packing(self, variant: Variant) -> Packing | None:
        """The packs of a variant."""
        if not variant.packed or self.packings is None:
            return None
        return self.packings.contiguous if variant.contiguous else self.packings.rows

    def is_single(self, variant: Variant) -> bool:
        """Whether a work-item runs one call at a time, so that its walk needs no loop: one would
        only take time to compile."""
        pattern = self.lowered.spec.pattern
        if not self.flat or self.team is not None or variant.private:
            return False
        if pattern == "scan":
            return self.dialect.scans_in_one_pass
        return pattern == "for" and variant.narrow and self.packing(variant) is None

    def is_light(self, variant: Variant) -> bool:
        """Whether a work-item in a block needs few registers, so that as many as possible should
        be under way: with fewer, stencils in packs lose an eighth of the bandwidth."""
        packing = self.packing(variant)
        if self.blocks is None or packing is None or self.lowered.spec.policy.launch_bounds:
            return False
        few = packing.registers <= _FEW_REGISTERS and packing.count <= _FEW_CALLS
        return few and is_plain(packing.body)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest."""
        return index_order(self.lowered.body, self.lowered.spec)

    @cached_property
    def scales(self) -> list[tuple[int, tuple[str, str]]]:
        """Dimensions, and the names of factors and shifts for divisions by their extents."""
        tiled = self.lowered.spec.policy.tiled
        given = self.scaled and self.flat and not tiled and self.blocks is None
        return scales_of(self.order) if given else []
