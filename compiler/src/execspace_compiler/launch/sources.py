"""The variants of a launch's source, and their mappings.

They depend on a kind of device but not on a driver: `explain` can describe absent devices.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from execspace import ExecutionSpace, Kernel, LaunchError, LaunchSpec, TeamLimits, ViewType
from execspace.base.dataclass import dataclass
from execspace.contract.tiles import table_of

from ..analysis.cost import little_moved
from ..analysis.overlap import reads_after_writing, written_pairs
from ..codegen.cfamily.device_kernel import DeviceKernel
from ..codegen.cfamily.dialect import Dialect
from ..mapping.block_geometry import DEFAULT_THREADS, Geometry, Limits, tile_chooser
from ..mapping.loops import index_order
from ..mapping.thread_blocks import blocks_of
from ..mapping.variant import Variant
from ..passes.contiguous import contiguous_body
from ..passes.packing import Packings, packings_of
from ..passes.pipeline import lower_kernel, refuse_16_byte_atomics, refuse_float16
from ..passes.private_sums import FEW_THREADS, GROUP, private_sums
from ..passes.scan_packing import scan_packings
from ..reductions.results import check_out
from ..teams.device import DeviceTeam
from ..teams.host_limits import HOST_TEAMS, most_threads
from ..teams.scratch_sizes import Sizes
from ..teams.sizes import ScratchBySize, with_team_size
from ..typing.lowered import Lowered
from .describe import describe_device_teams, describe_host_teams, describe_rows, describe_threads
from .device_code import DeviceCode, device_code
from .device_teams import Room, Teams, WholeTeams, WorkItemTeams, device_team_limits
from .variables import variables_of

if TYPE_CHECKING:
    from ..spmd.choice import Choice

NO_LIMITS = Limits(1, (1, 1, 1), (1, 1, 1))  # for a device without groups
THREADS_PER_UNIT = 2048  # resident, if the number of groups is limited
_REDUCE_GROUP = 256  # most threads of a group in reductions and scans
# An H200 starts some 1.65e9 groups a second: at 4.6 TB/s each has to move so many bytes.
_BYTES_OF_GROUP = 3072
_MOST_OF_LITTLE = 512
# Most threads of a block whose shape the space chooses, by what the policy says of calls.
_BY_WEIGHT = {"light": 2 * DEFAULT_THREADS, "": DEFAULT_THREADS, "heavy": DEFAULT_THREADS // 2}
_PACK = 16  # bytes that a thread moves at a time where it does several indices


@dataclass(frozen=True)
class Traits:
    """Properties of a device on which the source of kernels depends.

    Attributes
    ----------
    title : str
        The platform or compiler, for messages: "CUDA".
    dialect : Dialect
        The language.
    flat : bool
        One call of a kernel per work-item, for GPUs; otherwise each work-item runs a contiguous
        part of the range.
    limits : Limits
        Largest groups and grids.
    group : int
        Work-items of a group, if each runs one call of a kernel.
    shared : int
        Bytes of shared (local) memory that a group may request.
    shared_always : int
        Bytes available without a request.
    vectors : frozenset of str, optional
        If the device is a host on which kernels may run in lanes: features of its processor, as
        LLVM names them, of which "avx2", "avx512f" and "avx512vl" matter. The dialect must have
        `vector_extensions`.
    """

    title: str
    dialect: Dialect
    flat: bool = True
    limits: Limits = NO_LIMITS
    group: int = 128
    shared: int = 0
    shared_always: int = 0
    vectors: frozenset[str] | None = None

    def team_limits(self) -> TeamLimits:
        """Largest teams, and their scratch memory."""
        if not self.flat:
            return HOST_TEAMS
        return device_team_limits(self.dialect, self.limits.threads, self.shared)

    @property
    def bounds_groups(self) -> bool:
        """Whether the language has launch bounds, so that registers suffice for all groups."""
        return "{group}" in self.dialect.syntax.kernel


class Sources:
    """The sources of a launch.

    Parameters
    ----------
    space : ExecutionSpace
        Its name and default tiles are used.
    traits : Traits
    original : Lowered
        The kernel as the user wrote it.
    room : Room, optional
        Limits of groups, if they are below the device's limits.

    Attributes
    ----------
    lowered : Lowered
        The input of the printer: for a TeamPolicy the code of a member, or of a thread that runs
        whole teams.
    teams : WorkItemTeams or WholeTeams or None
    kernel : DeviceKernel
    most : int
        Threads of the largest group.
    group : int
        Threads of a group, in the usual source.
    choices : tuple of Choice
        Whether calls run in lanes; of a fused kernel those of each part.
    disjoint : bool
        The usual source assumes that Views are disjoint.
    shapes : Geometry or None
        Grids and blocks of a mapping to thread blocks.
    usual : Variant
    """

    def __init__(
        self, space: ExecutionSpace, traits: Traits, original: Lowered, room: Room | None = None
    ) -> None:
        self.space, self.traits, self.original = space, traits, original
        self.spec, policy = original.spec, original.spec.policy
        room = room or Room(traits.limits.threads)
        self.teams: Teams | None = None
        lowered = original
        if policy.kind == "team":
            self.teams = self._teams(room)
            lowered = self.teams.lowered
        self.lowered = lowered
        flat = traits.flat and self.teams is None
        blocks = blocks_of(lowered, table_of(space)) if flat else None
        flat = flat and blocks is None
        contiguous = contiguous_body(lowered) if flat else None
        order = index_order(lowered.body, self.spec)
        self.choices: tuple[Choice, ...] = ()
        if traits.vectors is not None and traits.dialect.vector_extensions and not traits.flat:
            from .device_lanes import device_choices  # loaded by hosts

            self.choices = device_choices(original, order[-1], traits.vectors)
        packings = packings_of(lowered, order[-1], contiguous) if flat else None
        if blocks is not None and blocks.packing is not None:
            packings = Packings(blocks.packing)
        if flat and self.spec.pattern == "scan" and traits.dialect.scans_in_one_pass:
            packings = scan_packings(lowered)
        self.kernel = DeviceKernel(
            lowered, traits.dialect, traits.flat, blocks, contiguous, packings,
            None if self.teams is None else self.teams.device,
            () if self.teams is None else self.teams.pools,
            private_sums(lowered, traits.shared_always) if flat else (),
            tuple(c.form for c in self.choices),
        )  # fmt: skip
        self.most = min(policy.launch_bounds or room.threads, room.threads)
        self.group = self._threads()
        self.disjoint = self._assumes_disjoint()
        self.shapes: Geometry | None = None
        if blocks is not None:
            most = min(_BY_WEIGHT[policy.work_items], self.most)
            usual = replace(traits.limits, threads=most)
            largest = replace(traits.limits, threads=self.most)
            chooser = tile_chooser(blocks, space, usual, policy.work_items == "light")
            self.shapes = Geometry(blocks, chooser, largest, self.group)
        self.usual = self.usual_if(contiguous is not None)

    @classmethod
    def of(
        cls, space: ExecutionSpace, traits: Traits, kernel: Kernel, spec: LaunchSpec, device: str
    ) -> Sources:
        """The sources of a kernel, if a device can run it.

        Parameters
        ----------
        device : str
            Description of the device, for messages.

        Raises
        ------
        KernelSyntaxError, KernelTypeError
            For faults in the kernel, and for operations that the device does not support.
        LaunchError
            If Views of `out` cannot take the result.
        """
        lowered = lower_kernel(kernel, spec, vector_bytes=space.capabilities.vector_bytes)
        if not space.capabilities.float16:
            refuse_float16(lowered, device)
        refuse_16_byte_atomics(lowered, traits.title)
        if lowered.reduction is not None:
            check_out(kernel.name, spec, lowered.reduction.result)
        return cls(space, traits, lowered)

    def _teams(self, room: Room) -> Teams:
        traits, space = self.traits, self.space.name
        if not traits.flat:
            return WholeTeams(self.original, space)
        return WorkItemTeams(self.original, traits.dialect, traits.team_limits(), space, room)

    def _assumes_disjoint(self) -> bool:
        found = bool(written_pairs(self.lowered, self.disjoint_patterns))
        if not self.traits.flat:
            return found
        # With one call per thread, overlap matters only if it reads after it has stored.
        scan = self.spec.pattern == "scan"
        blocks = self.kernel.blocks
        several = scan or self.teams is not None or (blocks is not None and blocks.calls > 1)
        packings = self.kernel.packings
        several = several or (packings is not None and packings.reorder_stores)
        several = several or self.kernel.reads_nontemporal  # by loads that the compiler may move
        return found and (several or reads_after_writing(self.lowered))

    def _threads(self) -> int:
        traits = self.traits
        if self.teams is not None:
            return self.teams.group
        if not traits.flat:
            return 1
        reduction = self.lowered.reduction
        weight, blocks = self.spec.policy.work_items, self.kernel.blocks
        if reduction is None and blocks is None:
            group = self._enough_for_memory(traits.group)
            if weight:
                group = max(group, _MOST_OF_LITTLE) if weight == "light" else traits.group // 2
            return min(group, self.most)
        if reduction is None:
            usual = _BY_WEIGHT[weight if blocks is not None and not blocks.tiled else ""]
            return min(usual, self.most) if traits.bounds_groups else self.most
        state = sum(max(s.type.itemsize, 8) for s in reduction.states)
        items_per_thread = state * (5 if self.spec.pattern == "scan" else 1)
        of_array = self.spec.array_shape is not None
        fitting = _REDUCE_GROUP if of_array else traits.shared_always // items_per_thread
        fitting = min(_REDUCE_GROUP, fitting, self.most)
        least = 32 if traits.dialect.lanes.count > 1 else 1
        return max(least, 1 << max(0, fitting.bit_length() - 1))

    def _enough_for_memory(self, group: int) -> int:
        """Threads of a group of a kernel that moves little for each index: small groups would move
        less than memory can, for a device starts so many groups in a time and no more."""
        moved = little_moved(self.lowered)
        if moved is None:
            return group
        moved = max(moved, _PACK) if self.kernel.packings is not None else max(moved, 1)
        while group * moved < _BYTES_OF_GROUP and group < _MOST_OF_LITTLE:
            group *= 2
        return group

    @property
    def disjoint_patterns(self) -> tuple[str, ...]:
        """The patterns that are compiled for disjoint Views; a scan, if it is one pass."""
        if not self.traits.flat:
            return ("for",)
        one_pass = self.traits.dialect.scans_in_one_pass
        return ("for", "reduce", "scan") if one_pass else ("for", "reduce")

    @property
    def team(self) -> DeviceTeam | None:
        """Teams whose members are work-items."""
        return self.kernel.team

    def within(self, threads: int) -> Sources:
        """The sources for groups of at most `threads` threads."""
        single = isinstance(self.teams, WorkItemTeams) and self.teams.room.single
        return self.with_room(Room(threads, single))

    def with_room(self, room: Room) -> Sources:
        """The sources for groups of other limits."""
        return Sources(self.space, self.traits, self.original, room)

    def usual_if(self, contiguous: bool) -> Variant:
        """The variant for a usual launch, whose Views are contiguous or not."""
        flat = self.traits.flat
        found = Variant(flat, self.disjoint, flat, contiguous, True, self.group)
        return replace(found, packed=self.kernel.packing(found) is not None)

    def other(self, narrow: bool, overlap: bool, large: bool, roomy: bool) -> Variant:
        """The variant for an unusual launch.

        Parameters
        ----------
        narrow : bool
            As in `Variant`.
        overlap, large : bool
            Views overlap; numbers do not fit in 32 bits.
        roomy : bool
            Groups have more threads than usual.
        """
        group = self.most if roomy else self.group
        small = self.traits.flat and not large
        return Variant(narrow, self.disjoint and not overlap, small, group=group)

    @property
    def private(self) -> Variant:
        """The variant for a usual launch whose groups add to copies of small Views."""
        group, _ = self.private_groups
        return Variant(True, self.disjoint, True, group=group, private=True)

    @cached_property
    def private_groups(self) -> tuple[int, int]:
        """Threads of a group in that variant, and groups on a processor."""
        types = (self.spec.arguments[n] for n in self.kernel.private)
        known = self.traits.dialect.atomics
        loops = any(
            isinstance(t, ViewType) and not known.keys() & {("add", t.dtype), ("sum add", t.dtype)}
            for t in types
        )
        group = min(FEW_THREADS if loops else GROUP, self.most)
        return group, max(1, (FEW_THREADS if loops else THREADS_PER_UNIT) // group)

    def code(self, variant: Variant) -> DeviceCode:
        """The source of a variant."""
        return device_code(self.kernel, variant)

    def threads_of(self, bounds: tuple[int, ...]) -> int:
        """Threads of a block in a usual launch with such bounds."""
        if self.shapes is None:
            return self.group
        _, _, _, _, *block = self.shapes[self.shapes.key_of(bounds)][:7]
        return prod(block)

    # -- teams ------------------------------------------------------------------------------------

    def team_size_of(self, bounds: tuple[int, ...], args: tuple[object, ...]) -> int:
        """Threads of a team in a launch: fewer than usual if scratch memory does not suffice.

        Raises
        ------
        LaunchError
            If it does not suffice for any size that the policy allows.
        """
        sources = self
        while True:
            teams = sources.teams
            assert teams is not None
            most = self.traits.shared_always
            needed = sources.code(sources.usual).entry.group_memory if teams.device else 0
            if needed > most:
                raise LaunchError(
                    f"Kernel '{self.original.kernel.name}': teams of {teams.size} threads join "
                    f"values in {needed} bytes of shared memory; a block on space "
                    f"'{self.space.name}' has at most {most}. Use fewer threads."
                )
            check, smaller = teams.scratch(needed), teams.with_smaller_teams
            if isinstance(check, Sizes) and smaller is not None:
                if check.found(bounds[1], args)[0] > check.limits[0]:
                    sources = sources.with_room(smaller)
                    continue
            if check is not None:
                check(bounds[1], args)
            return teams.size

    def scratch_by_size(self) -> ScratchBySize:
        """The scratch memory of teams of any size."""
        return ScratchBySize(self.original, self.space.name, self.traits.team_limits().scratch)

    def most_threads(self) -> int:
        """Threads of the largest team, for any kernel."""
        assert self.teams is not None
        limits = self.traits.team_limits()
        lanes = self.spec.policy.vector_length or 1  # open ones shrink
        return most_threads(self.spec, lanes, limits.threads_max, limits.team_size_max)

    def with_team_size(self, size: int) -> Lowered:
        """The kernel for the same policy with a team size."""
        return with_team_size(self.original, size)

    # -- descriptions -----------------------------------------------------------------------------

    def vectorisation(self) -> tuple[str, ...]:
        """Whether calls run in lanes, of what is a host."""
        if not self.choices:
            return ()
        from ..spmd.describe import describe_lanes

        fastest = self.kernel.order[-1]
        return tuple(line for c in self.choices for line in describe_lanes(c, fastest))

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        return variables_of(self.original)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """Description of the mapping of a range."""
        if self.team is not None:
            fits = self.teams is not None and self.teams.ranges is not None
            return describe_device_teams(self.team, fits)
        if self.teams is not None:
            return describe_host_teams(self.original, self.teams.sizes(self.most))
        if not self.traits.flat:
            return describe_rows(self.original, bool(self.choices))
        return describe_threads(
            self.original, bounds, group=self.group, blocks=self.kernel.blocks, shapes=self.shapes,
            contiguous=self.kernel.contiguous, packing=self.kernel.packing(self.usual),
            private=self.kernel.private,
            table=table_of(self.space), limits=self.traits.limits,
        )  # fmt: skip
