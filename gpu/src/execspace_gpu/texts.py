"""Which texts a launch has, and how they go through its range: of a kind of GPU, not of a device.

Nothing here needs a device, a driver or CuPy.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from execspace import (
    Capabilities,
    ExecutionSpace,
    Kernel,
    LaunchError,
    LaunchSpec,
    TeamLimits,
)
from execspace.contract.tiles import fitted_tile, table_of
from execspace_compiler.analysis.overlap import reads_after_writing, written_pairs
from execspace_compiler.codegen.cfamily.dialect import Dialect
from execspace_compiler.launch.describe import tell_device_teams, tell_threads
from execspace_compiler.launch.device_text import DeviceText, device_text
from execspace_compiler.mapping.thread_blocks import (
    USUAL_THREADS,
    Geometry,
    Limits,
    blocks_of,
    tile_chooser,
)
from execspace_compiler.passes.contiguous import linear_body
from execspace_compiler.passes.pipeline import lower_kernel, refuse_whole_steps
from execspace_compiler.reductions.results import check_out
from execspace_compiler.teams.device import DeviceTeam
from execspace_compiler.teams.sizes import ScratchBySize, most_threads, with_team_size
from execspace_compiler.typing.lowered import Lowered

from .compiling import Compiler
from .teams import Teams

_GROUP = 256  # threads of a block of reductions and scans
_POOL = 1 << 26  # bytes of scratch memory of a team at level 1

TextKey = tuple[bool, bool, bool, int, bool]


class TextSpace(ExecutionSpace):
    """A space as far as the text of kernels depends on it.

    must: `short`, `title`, `dialect`, `compiler`, `arch`, `limits`, `shared`. should: `tiles`.
    may: `shared_always`, `flat_block`.

    Attributes
    ----------
    short : str
        Name of the platform in names of spaces and memories, of environment variables and of the
        folder in the cache: "cuda".
    title : str
        Its name in messages: "CUDA".
    shared_always : int
        Bytes of shared memory that every device has for a block, without asking for more.
    flat_block : int
        Threads of a block where each does one call of a kernel.
    """

    short: ClassVar[str]
    title: ClassVar[str]
    shared_always: ClassVar[int] = 48 * 1024
    flat_block: ClassVar[int] = 128

    default_layout = "left"
    capabilities = Capabilities(
        asynchronous=True, float16=True, atomic_bytes=8, ordered_reductions=False
    )

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """The language that kernels are printed in; must. It has `addresses`."""

    @property
    @abstractmethod
    def compiler(self) -> Compiler:
        """What compiles them; must."""

    @property
    @abstractmethod
    def arch(self) -> str:
        """The architecture, as `compiler` takes it; must."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """Largest blocks and grids; must."""

    @property
    @abstractmethod
    def shared(self) -> int:
        """Bytes of shared memory that a block may ask for; must."""

    def team_limits(self) -> TeamLimits:
        most = self.limits.threads
        return TeamLimits(most, self.dialect.lanes, most, (self.shared, _POOL))

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        return fitted_tile(table_of(self), rank, iterate, extents, access)


def lowered_for(space: TextSpace, kernel: Kernel, spec: LaunchSpec) -> Lowered:
    """A kernel as a launch on a GPU needs it.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    """
    lowered = lower_kernel(kernel, spec)
    refuse_whole_steps(lowered, space.title)
    if lowered.reduction is not None:
        check_out(kernel.name, spec, lowered.reduction.result)
    return lowered


class Texts:
    """The texts of a launch.

    Attributes
    ----------
    source, lowered : Lowered
        The kernel, and what is printed: of a TeamPolicy the members' part.
    teams : Teams or None
    blocks : Blocks or None
        How it goes through its range, if not flat.
    group : int
        Threads of a block, in the usual text; `most` in the largest.
    disjoint : bool
        The usual text is for Views that do not overlap.
    linear : Linear or None
        There is a text for Views that lie in memory as the calls are numbered.
    shapes : Geometry or None
        The grids of a walk in blocks.
    """

    def __init__(
        self, space: TextSpace, lowered: Lowered, room: tuple[int, bool] | None = None
    ) -> None:
        self.source = lowered
        self.teams: Teams | None = None
        self.most = space.limits.threads
        if lowered.spec.policy.kind == "team":
            limits = space.team_limits()
            self.teams = Teams(
                lowered, space.dialect, space.name, limits.scratch, *(room or (self.most, False))
            )
            lowered = self.teams.lowered
        self.space, self.lowered, self.spec = space, lowered, lowered.spec
        self.blocks = blocks_of(lowered, table_of(space))
        self.most = min(lowered.spec.policy.launch_bounds or self.most, self.most)
        self.group = self._threads()
        # Views that overlap make a difference only where a thread reads after it has stored.
        several = self.spec.pattern == "scan" or reads_after_writing(lowered)
        several = several or (self.blocks is not None and self.blocks.calls > 1)
        several = several or self.teams is not None
        self.disjoint = bool(written_pairs(lowered, scans=True)) and several
        self.linear = None if self.blocks is not None else linear_body(lowered)
        self.shapes: Geometry | None = None
        if self.blocks is not None:
            usual, largest = (replace(space.limits, threads=n) for n in (self.group, self.most))
            chooser = tile_chooser(self.blocks, space, usual)
            self.shapes = Geometry(self.blocks, chooser, largest, self.group, lowered.kernel.name)

    def _threads(self) -> int:
        if self.teams is not None:
            return self.teams.device.shape.group
        reduction = self.lowered.reduction
        if reduction is None:
            usual = self.space.flat_block if self.blocks is None else USUAL_THREADS
            return min(usual, self.most)
        state = sum(max(s.type.itemsize, 8) for s in reduction.states)
        per_thread = state * (5 if self.spec.pattern == "scan" else 1)
        of_array = self.spec.array_shape is not None
        fitting = min(_GROUP if of_array else self.space.shared_always // per_thread, self.most)
        return min(_GROUP, 1 << max(5, fitting.bit_length() - 1))

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of the largest team for which a launch with these arguments works."""
        assert self.teams is not None
        limits = self.space.team_limits()
        scratch = ScratchBySize(self.source, self.space.name, limits.scratch)
        lanes = self.teams.lanes
        most = most_threads(self.spec, lanes, limits.threads_max, limits.team_size_max)

        def attempt(size: int) -> None:
            Texts(self.space, with_team_size(self.source, size)).team_size_of(bounds, args)

        return scratch.largest(most, bounds[1], args, attempt)

    def team_size_of(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team of a launch: where scratch memory does not suffice, fewer than usual.

        Raises
        ------
        LaunchError
            Where it does not suffice for any that the policy leaves open.
        """
        texts = self
        while True:
            assert texts.teams is not None
            needed = texts.text(texts.usual_key).entry.group_memory
            if needed > self.space.shared_always:
                raise LaunchError(
                    f"Kernel '{self.source.kernel.name}': teams of {texts.teams.size} threads join "
                    f"values in {needed} bytes of shared memory; a block on space "
                    f"'{self.space.name}' has at most {self.space.shared_always}. Use "
                    f"fewer threads."
                )
            check, room = texts.teams.check(needed), texts.teams.roomier
            if check is None:
                return texts.teams.size
            if room is None or check.found(bounds[1], args)[0] <= check.limits[0]:
                check(bounds[1], args)
                return texts.teams.size
            texts = Texts(self.space, self.source, room)

    @property
    def device_team(self) -> DeviceTeam | None:
        """The teams of a TeamPolicy."""
        return None if self.teams is None else self.teams.device

    @property
    def usual_key(self) -> TextKey:
        """The usual text, as `text` takes it."""
        return True, self.disjoint, True, self.group, self.linear is not None

    def text(self, key: TextKey) -> DeviceText:
        """A text, by what `device_text` calls narrow, disjoint, small and group, and whether it is
        the `linear` one."""
        narrow, disjoint, small, group, in_line = key
        return device_text(
            self.lowered, self.space.dialect, flat=True, group=group, narrow=narrow,
            disjoint=disjoint, small=small, scaled=True, blocks=self.blocks,
            linear=self.linear if in_line else None, team=self.device_team,
        )  # fmt: skip

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range, in words."""
        if self.teams is not None:
            return tell_device_teams(self.teams.device)
        return tell_threads(
            self.source, bounds, group=self.group, blocks=self.blocks, shapes=self.shapes,
            linear=self.linear, table=table_of(self.space),
        )  # fmt: skip
