"""A kernel for a kind of device: what all variants of its source share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from execspace.base.dataclass import dataclass

from ... import ir
from ...mapping.loops import index_order, scales_of
from ...mapping.thread_blocks import Blocks
from ...mapping.variant import Variant
from ...passes.contiguous import ContiguousBody
from ...passes.packing import Packing, Packings, is_plain
from ...passes.register_steps import words_loaded
from ...teams.device import DeviceTeam
from ...typing.lowered import Lowered
from .accesses import is_nontemporal
from .dialect import Dialect

if TYPE_CHECKING:
    from ...spmd.form import LaneForm

_FEW_REGISTERS, _FEW_CALLS = 26, 4  # for packs, of 32; and of a thread
_FEW_READ = 8  # for packs of a reduction
_FEW_BYTES = 8  # of a contribution to scans without packs
_ALL, _OF_SCAN = 2048, 1280  # work-items of a processor
_MUCH = 128  # words of 4 bytes


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
    lanes : tuple of LaneForm or None
        The kernel in lanes of a vector, or the parts of a fused one, for mappings that are not
        flat.
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
    lanes: tuple[LaneForm | None, ...] = ()
    scaled: bool = True

    def packing(self, variant: Variant) -> Packing | None:
        """The packs of a variant."""
        if not variant.packed or self.packings is None:
            return None
        return self.packings.contiguous if variant.contiguous else self.packings.rows

    def is_single(self, variant: Variant) -> bool:
        """Whether a work-item runs one call, or pack, at a time, so that its walk needs no loop:
        one would only take time, to compile and to run."""
        pattern = self.lowered.spec.pattern
        if not self.flat or self.team is not None or variant.private:
            return False
        if pattern == "scan":
            return self.dialect.scans_in_one_pass
        return pattern == "for" and variant.narrow

    def resident(self, variant: Variant) -> int:
        """Work-items that a processor should have under way, for which the compiler is to save
        registers; 0: it decides.

        Many of plain kernels in packs, which wait for memory most of the time, and of plain scans:
        with fewer, stencils lose an eighth of the bandwidth, sums 3 %, and scans up to a sixth. One
        group of kernels that load much in one piece: NVIDIA's compilers would save registers for
        more, and loads wait for one another then, which costs a lattice's Dslash 10 to 25 %.
        """
        packing, reduction = self.packing(variant), self.lowered.reduction
        scan = self.lowered.spec.pattern == "scan"
        if self.lowered.spec.policy.launch_bounds:
            return 0
        if packing is None:
            if self._loads_much:
                return variant.group
            return _OF_SCAN if scan and self._is_light_scan() else 0
        if not is_plain(packing.body):
            return 0
        if reduction is None:
            few = packing.registers <= _FEW_REGISTERS and packing.count <= _FEW_CALLS
            return _ALL if self.blocks is not None and few else 0
        if packing.registers > _FEW_READ or len(reduction.states) > 1:
            return 0
        if scan and packing.widest > 2:
            return _OF_SCAN  # the memory of the group has no room for more
        return _ALL

    @cached_property
    def _loads_much(self) -> bool:
        """Whether a call of a plain parallel_for loads more than a few registers in one piece."""
        if self.lowered.spec.pattern != "for" or not self.flat:
            return False
        alone = self.team is None and self.blocks is None and not self.pools
        return alone and words_loaded(self.lowered.functions) > _MUCH

    def _is_light_scan(self) -> bool:
        """Whether a scan of single calls needs few registers: those that keep contributions of 16
        bytes would have some of them in memory, and lose a sixth."""
        reduction, one_pass = self.lowered.reduction, self.dialect.scans_in_one_pass
        if reduction is None or len(reduction.states) > 1 or self.team or not one_pass:
            return False
        widest = max(c.itemsize for c in reduction.contributions)
        return widest <= _FEW_BYTES and is_plain(self.lowered.body)

    @cached_property
    def reads_nontemporal(self) -> bool:
        """Whether Views have the trait "nontemporal", which the kernel only reads."""
        functions = self.lowered.functions
        if not self.dialect.memory.nontemporal_number:
            return False
        statements = (s for f in functions for s in ir.walk_statements(f.body))
        stored = (s.view for s in statements if isinstance(s, ir.Store | ir.Atomic))
        given = self.lowered.body.parameters
        return any(map(is_nontemporal, given)) and not any(map(is_nontemporal, stored))

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
