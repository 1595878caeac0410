"""What a plan is compiled for: the pattern, the policy without its bounds, types, and captures."""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import cache
from typing import Any

from ..base.dataclass import dataclass
from .argtypes import ArgType, ViewType
from .forward import Reducer, StructType

__all__ = [
    "Capture",
    "LaunchSpec",
    "PolicySpec",
]


@dataclass(frozen=True, eq=False)  # interned by policy_spec(): identity is equality
class PolicySpec:
    """What a plan must know of a policy: its kind and options, not its bounds.

    Attributes
    ----------
    kind : str
        ``"range"``, ``"mdrange"`` or ``"team"``.
    rank : int
        Number of indices that the kernel receives (1 for a range). For teams 1: the handle.
    iterate : str
        ``"auto"``, ``"left"`` (first index fastest) or ``"right"`` (last index fastest).
    outer : str
        The order of tiles, or of blocks of a device, where it is another: "left" or "right".
    tiled : bool
        The user gave a tile; its extents follow the bounds at each launch.
    nonnegative : bool
        No lower bound is below zero.
    items_per_thread : tuple of int
        Calls of one thread of a device: by dimension; or one number, for the dimension next to
        the fastest (of rank 1: for that one). Empty: the space decides. Hosts take no notice.
    launch_bounds : int
        No block of threads is larger; 0: the space decides. Hosts take no notice.
    team_size, vector_length : int
        Of teams: threads of a team, lanes of a thread; 0: the space decides.
    chunk_size : int
        Of teams: how many one unit (a block of threads of a device, a thread of a host) gets
        together. Of a dynamic range: indices that a thread takes at a time. 0: the space decides.
    dynamic : bool
        Of ranges: threads take parts of it one after another, until none is left. Only spaces
        with `Capabilities.dynamic_schedules` are given it.
    lanes : int
        Neighbouring calls that hosts run in the lanes of a vector; 0: the space decides.
    occupancy : int
        Percent of the threads that a unit of a device keeps; 0: as many as fit.
    work_items : str
        "light" or "heavy": what a call costs; else empty. Only spaces with such
        `Capabilities.hints` are given these two.
    """

    kind: str
    rank: int
    iterate: str = "auto"
    tiled: bool = False
    nonnegative: bool = True
    items_per_thread: tuple[int, ...] = ()
    launch_bounds: int = 0
    team_size: int = 0
    vector_length: int = 0
    chunk_size: int = 0
    dynamic: bool = False
    lanes: int = 0
    outer: str = ""
    occupancy: int = 0
    work_items: str = ""


def policy_spec(
    kind: str, rank: int, iterate: str = "auto", tiled: bool = False, nonnegative: bool = True,
    items_per_thread: tuple[int, ...] = (), launch_bounds: int = 0, team_size: int = 0,
    vector_length: int = 0, chunk_size: int = 0, dynamic: bool = False, lanes: int = 0,
    outer: str = "", occupancy: int = 0, work_items: str = "",
) -> PolicySpec:  # fmt: skip
    """The one PolicySpec of these values."""
    return _one_spec(
        kind, rank, iterate, tiled, nonnegative, items_per_thread, launch_bounds, team_size,
        vector_length, chunk_size, dynamic, lanes, outer, occupancy, work_items,
    )  # fmt: skip


# By position, for a cache takes the same values by name for others.
_one_spec = cache(PolicySpec)


def with_options(spec: PolicySpec, **options: Any) -> PolicySpec:
    """The one PolicySpec that differs from another in these values."""
    changed = replace(spec, **options)
    return policy_spec(*(getattr(changed, f.name) for f in fields(changed)))


@dataclass(frozen=True, slots=True)
class Capture:
    """A name that the kernel takes from an enclosing scope.

    `argument` is the position of the hidden argument that carries a View, or None for a
    constant, whose value is in `value`.
    """

    name: str
    value: Any = field(compare=False)
    tag: object
    argument: int | None = None


@dataclass(frozen=True)
class LaunchSpec:
    """All that a compiled plan depends on; hashable, the key of every plan cache.

    Attributes
    ----------
    pattern : str
        ``"for"``, ``"reduce"`` or ``"scan"``.
    policy : PolicySpec
    arguments : tuple of ArgType
        Explicit arguments first, then hidden ones (captured Views).
    captures : tuple of Capture
        Functions of a user's own reducers are among them, see `reducers.base.reducer_captures`.
    reducer : Reducer, tuple of Reducer, or None
    out : tuple of ViewType
        Types of the Views that receive the result; they are then the last arguments.
    bound : tuple of str
        Parameters of the kernel that neither an index nor an argument fills: their values, or
        those of their attributes, are among the captures.
    structs : tuple of StructType or None
        For each parameter that an explicit argument fills, how arguments are put together for it;
        None where it is the argument itself, and nothing at all if all are.
    team_array : tuple of int
        Shape of the array that a kernel of teams joins into; `reducer` has one for each element.
    """

    pattern: str
    policy: PolicySpec
    arguments: tuple[ArgType, ...]
    captures: tuple[Capture, ...] = ()
    reducer: Reducer | tuple[Reducer, ...] | None = None
    out: tuple[ViewType, ...] = ()
    bound: tuple[str, ...] = ()
    structs: tuple[StructType | None, ...] = ()
    team_array: tuple[int, ...] = ()

    @property
    def array_shape(self) -> tuple[int, ...] | None:
        """Shape of what an array reduction joins; None for everything else."""
        return None if isinstance(self.reducer, tuple | None) else self.reducer.array_shape

    @property
    def leading(self) -> int:
        """Number of parameters that the kernel has before those of the arguments."""
        return leading_parameters(self.pattern, self.policy, self.array_shape or self.team_array)


def leading_parameters(
    pattern: str, policy: PolicySpec, array_shape: tuple[int, ...] | None
) -> int:
    """Number of parameters that a kernel has before those of the arguments.

    Its indices, or the handle of its team; then the array of an array reduction; or the prefix
    and whether this is the final pass of a scan.
    """
    more = 2 if pattern == "scan" else 1 if array_shape else 0
    return policy.rank + more
