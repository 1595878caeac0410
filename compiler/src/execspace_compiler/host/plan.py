"""The plan of a host space: what it launches, and what it says of it when it is asked.

Launches need neither the kernel in IR nor the compiler, so these are loaded when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execspace import ExecutionSpace, Kernel, LaunchSpec
from execspace.base.dataclass import dataclass

from ..launch.plan import DescribedPlan
from ..teams.host_limits import HostTeamSizes
from .launcher import Launcher

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

    from ..typing.lowered import Lowered
    from .launch_source import Source


@dataclass
class HostPlan(HostTeamSizes, DescribedPlan):
    """A compiled launch.

    Attributes
    ----------
    launch : callable
        ``launch(bounds, args)``; see `execspace.Plan`.
    launcher : Launcher
    disjoint : bool
        It is for Views that do not overlap.
    path : Path
        Its entry in the cache.
    from_disk : bool
        Machine code came from the cache.
    loaded : bool
        It was loaded in this process before.
    reads_views : bool
        What is done around the entry reads attributes of Views, or replaces its result.
    """

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    launcher: Launcher
    disjoint: bool
    path: Path
    from_disk: bool
    loaded: bool
    reads_views: bool

    def launch_of_arrays(self, classes: tuple[type | None, ...]) -> Callable[..., Any] | None:
        """A launch that takes NumPy's arrays in place of these Views, and others of which NumPy's
        are made for less, without making any Views."""
        if self.reads_views:
            return None
        from .arrays import launch_of_arrays, with_numpy

        arrays = tuple(kind is not None for kind in classes)
        launch = launch_of_arrays(self.launch, self.spec.arguments, arrays)
        return None if launch is None else with_numpy(launch, classes)

    @property
    def source(self) -> str:
        """The generated LLVM IR."""
        return self._source.text

    @property
    def _source(self) -> Source:
        from .building import HostKernel

        return HostKernel(self.lowered, self.spec).source(self.launcher, self.disjoint)

    @property
    def optimised(self) -> str:
        """The LLVM IR after LLVM's passes."""
        return str(self._module())

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        from .machine import assembly

        return assembly(self._module())

    @property
    def vectorisation(self) -> tuple[str, ...]:
        """Whether the kernel runs in lanes; otherwise, what LLVM made of its loops."""
        from ..spmd.describe import describe_lanes
        from .building import HostKernel

        kernel = HostKernel(self.lowered, self.spec)
        lines: list[str] = []
        for choice in kernel.choices:
            lines += describe_lanes(choice, kernel.order[-1])
        for line, choice in kernel.ranges:
            told = describe_lanes(choice, 0, "iterations")
            lines += (f"range in line {line}: {text}" for text in told)
        if all(c.form is not None for c in kernel.choices):
            return tuple(lines)
        from .vectorising import describe_vectors

        return (*describe_vectors(self.optimised), *lines)

    @property
    def subscripts(self) -> Mapping[int, tuple[int | None, ...]] | None:
        """How its calls address Views; None also where it calls functions of which there are vector
        versions: which of the two it calls, LLVM decides for a module as a whole."""
        return None if self._source.linked else super().subscripts

    @property
    def joining(self) -> str:
        """The order of indices; what is joined in each strip is compiled alike."""
        return f"{self.order}{self.spec.policy.outer}"

    def _module(self) -> ModuleRef:
        from .machine import optimised

        source = self._source
        return optimised(source.text, source.linked, source.lanes)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        from ..cache.history import describe_entry

        hit = "in this process" if self.loaded else "on disk" if self.from_disk else ""
        return describe_entry(self.path.parent, self.path.stem, self.kernel, hit)

    @property
    def kept(self) -> bool:
        """Whether a later process finds it on disk."""
        from ..cache.disk import is_kept

        return is_kept(self.path)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of a range."""
        from ..launch.describe import describe_host_teams, describe_rows

        if self.spec.policy.kind == "team":
            return describe_host_teams(self.lowered, self.team_sizes())
        return describe_rows(self.lowered)

    @cached_property
    def lowered(self) -> Lowered:  # type: ignore[override]  # computed on first use
        """The kernel in typed IR; lowered again if the plan came from the cache."""
        from ..launch.host_functions import resolve
        from ..passes.pipeline import lower_kernel
        from .machine import vector_bytes

        return lower_kernel(self.kernel, self.spec, resolve, vector_bytes(), vectors=True)

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest."""
        from ..mapping.loops import index_order

        return index_order(self.lowered.body, self.spec)
