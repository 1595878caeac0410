"""What the source of kernels depends on of a kind of GPU, present or not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from execspace import Capabilities, ExecutionSpace, TeamLimits
from execspace.contract.tiles import fitted_tile, table_of
from execspace_compiler.backend import Dialect, Limits, Traits

from .compiling import Compiler
from .graph_functions import GraphNames


class GpuKind(ExecutionSpace):
    """A space as far as the source of kernels depends on it.

    must: `short`, `title`, `dialect`, `compiler`, `arch`, `limits`, `shared`. should: `tiles`.
    may: `shared_always`, `flat_block`, `graph_names`.

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
    graph_names : GraphNames or None
        Where the driver has its functions for graphs; None: it has none.
    """

    short: ClassVar[str]
    title: ClassVar[str]
    shared_always: ClassVar[int] = 48 * 1024
    flat_block: ClassVar[int] = 128
    graph_names: ClassVar[GraphNames | None] = None

    default_layout = "left"
    capabilities = Capabilities(
        asynchronous=True, float16=True, atomic_bytes=8, ordered_reductions=False,
        hints=("occupancy", "work_items"),
    )  # fmt: skip

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

    @cached_property
    def traits(self) -> Traits:
        """All of it together."""
        return Traits(
            self.title, self.dialect, True, self.limits, self.flat_block, self.shared,
            self.shared_always,
        )  # fmt: skip

    @property
    def max_total_tile_size(self) -> int:
        return self.limits.threads

    def team_limits(self) -> TeamLimits:
        return self.traits.team_limits()

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        return fitted_tile(table_of(self), rank, iterate, extents, access)
