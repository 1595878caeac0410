"""What spaces and plans say of themselves: abilities, limits, effects, and sizes of teams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from ..base.dataclass import dataclass

__all__ = [
    "Capabilities",
    "Effects",
    "ReductionResult",
    "TeamLimits",
    "TeamSizes",
]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a launch does beside computing; positions are those of arguments, then of ``out=``.

    Attributes
    ----------
    written, read : frozenset of int
        Views that it may write, and Views that it may read. An atomic operation does both.
    prints : bool
        It calls `printf`.
    team_sized : bool
        Which places of Views it touches depends on the size of its teams, which tuning then leaves
        as it is.
    """

    written: frozenset[int]
    read: frozenset[int]
    prints: bool = False
    team_sized: bool = False


@dataclass(frozen=True, slots=True)
class TeamSizes:
    """What a plan of a TeamPolicy chose.

    Attributes
    ----------
    team_size, vector_length, chunk_size : int
        As in `PolicySpec`, but none is 0.
    team_size_max : int
        Threads of the largest team that this kernel could have on this space with this vector
        length.
    """

    team_size: int
    vector_length: int
    chunk_size: int
    team_size_max: int


@dataclass(frozen=True, slots=True)
class TeamLimits:
    """How large teams can be on a space, whatever the kernel.

    Attributes
    ----------
    team_size_max : int
        Threads of a team.
    vector_length_max : int
        Lanes of a thread.
    threads_max : int
        Lanes of a whole team: ``team_size * vector_length``.
    scratch : (int, int)
        Bytes that a team may have at level 0 (small and fast) and at level 1.
    """

    team_size_max: int
    vector_length_max: int
    threads_max: int
    scratch: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a space can do beyond the must-haves; tests that need more skip with the reason.

    Attributes
    ----------
    asynchronous : bool
        Launches return before they are done.
    float64, float16, complex : bool
        Kernels compute in these types.
    atomic_bytes : int
        Size of the largest number that changes atomically as a whole.
    ordered_reductions : bool
        `parallel_reduce` joins contributions in the order of the indices. Where it does not,
        joins must be commutative. Scans are always in order.
    dynamic_schedules : bool
        Threads take parts of a range one after another where its policy has
        ``schedule="dynamic"``. A space without it compiles such a policy as a static one.
    vector_bytes : int
        Of vectors of ``es.simd(dtype)``, whose width is the space's.
    hints : tuple of str
        Options "occupancy" and "work_items" of policies that it heeds. No other one is given them.
    """

    asynchronous: bool = False
    float64: bool = True
    float16: bool = False
    complex: bool = True
    atomic_bytes: int = 16
    ordered_reductions: bool = True
    dynamic_schedules: bool = False
    vector_bytes: int = 8
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReductionResult:
    """What a reduction or scan gives, as a number or numbers that Views of `out` hold exactly.

    Attributes
    ----------
    memory : MemorySpace
        Of the space, for such Views: where an allocation waits for no work.
    dtypes : tuple of numpy.dtype
        Of its numbers, in the order in which `out` takes them.
    shape : tuple of int or None
        Of an array reduction, of which `dtypes` has one; else None.
    make : callable
        From a tuple of Python numbers to the value that a launch without `out` returns; not called
        for array reductions.
    """

    memory: Any
    dtypes: tuple[np.dtype[Any], ...]
    shape: tuple[int, ...] | None
    make: Callable[[tuple[Any, ...]], Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """Values for options of a policy; empty or 0: as the space decides.

    Attributes
    ----------
    tile, items_per_thread : tuple of int
        By dimension.
    launch_bounds, team_size, vector_length, chunk_size : int
    """

    tile: tuple[int, ...] = ()
    items_per_thread: tuple[int, ...] = ()
    launch_bounds: int = 0
    team_size: int = 0
    vector_length: int = 0
    chunk_size: int = 0

    def options(self) -> dict[str, Any]:
        """The values that are given, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.options().items()) or "default"
