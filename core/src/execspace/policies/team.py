"""The policy of teams: the league of teams that a kernel is launched with."""

from __future__ import annotations

from typing import Any, Self

from ..base import ports
from ..base.brief import brief
from ..base.errors import KernelTypeError, LaunchError, PolicyError
from ..base.free_threading import getter
from ..base.readonly import MAY_CHANGE_CLASS, ReadOnly, with_class
from ..contract.launch_spec import LaunchSpec, PolicySpec, policy_spec
from ..contract.records import TeamLimits
from ..contract.space import ExecutionSpace, SupportsTeams
from ..plugins.selection import default_space, resolve
from .checks import (
    MOST,
    as_integer,
    checked_count,
    checked_launch_bounds,
    on_space,
)
from .hints import Hints, WorkItems, as_hints, as_occupancy
from .usual import Value, keep

__all__ = [
    "TeamPolicy",
]


_AUTO = "auto"
_teams: dict[tuple[Any, ...], TeamPolicy] = {}  # by sizes and space
_known_team = getter(_teams)


class _TeamParts:
    """Attributes of a TeamPolicy; assigned here, and then nowhere."""

    __slots__ = (
        "_hints", "bounds", "chunk_size", "key", "launch_bounds", "league_size", "space",
        "team_size", "vector_length",
    )  # fmt: skip

    _hints: Hints
    bounds: tuple[int, ...]
    chunk_size: int | str
    key: tuple[PolicySpec, ExecutionSpace | None]
    launch_bounds: int | None
    league_size: int
    space: ExecutionSpace | None
    team_size: int | str
    vector_length: int | str


class TeamPolicy(Value, ReadOnly, _TeamParts):
    """A league of teams of threads; the kernel is called by each thread of each team.

    Parameters
    ----------
    league_size : int
        Number of teams.
    team_size : int or "auto"
        Threads of a team. "auto": the space chooses by what the kernel does.
    vector_length : int or "auto"
        Lanes of a thread, a power of two. Devices split ranges over them, such as
        ThreadVectorRange. On hosts a thread joins so many numbers at once, at most 8, in the lanes
        of vectors.
    chunk_size : int or "auto"
        So many teams are put onto one unit: into one block of threads of a device; on hosts a
        thread is handed so many together.
    launch_bounds : int, optional
        No block of threads of a device is larger, so that its compiler may give each thread more
        registers. A team, ``team_size * vector_length``, must fit. Host spaces take no notice
        beyond that.
    occupancy : int, optional
        As of `RangePolicy`.
    work_items : {"light", "heavy", "regular", "irregular"}, or a pair of two, optional
        "irregular": the work of teams differs, so that threads of a host take them one after
        another, or `chunk_size` at a time. No space takes notice of the others.
    space : str or ExecutionSpace, optional
        Where to run; the default space if not given.

    Raises
    ------
    PolicyError
        If a number is not an integer, `league_size` is negative, another number is less than 1,
        `vector_length` is not a power of two, a team exceeds `launch_bounds`, `occupancy` is no
        percentage, or `work_items` is not known. At the launch: if the space has no teams, or none
        so large.

    Notes
    -----
    The kernel gets the handle of its team in place of an index, see `TeamMember`. Scratch memory
    has no size here: the compiler finds it in the kernel. Kokkos rounds a vector length that is
    no power of two down without a word. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamPolicy.html

    Examples
    --------
    >>> import execspace as es
    >>> es.TeamPolicy(1000, 128)
    TeamPolicy(1000, 128)
    >>> es.TeamPolicy(1000, vector_length=8, launch_bounds=256)
    TeamPolicy(1000, 'auto', 8, launch_bounds=256)
    """

    __slots__ = ()
    _fixed = frozenset(_TeamParts.__slots__)
    _positional = ("league_size", "team_size", "vector_length")

    def __new__(
        cls,
        league_size: int,
        team_size: int | str = "auto",
        vector_length: int | str = "auto",
        *,
        chunk_size: int | str = "auto",
        launch_bounds: int | None = None,
        occupancy: int | None = None,
        work_items: WorkItems = None,
        space: str | ExecutionSpace | None = None,
    ) -> Self:
        plain = chunk_size is _AUTO and launch_bounds is occupancy is None
        plain = plain and work_items is None and cls is TeamPolicy
        plain = plain and type(league_size) is int  # True equals 1, and so does 1.0
        plain = plain and (team_size is _AUTO or type(team_size) is int)
        plain = plain and (vector_length is _AUTO or type(vector_length) is int)
        if plain:
            try:
                known = _known_team((league_size, team_size, vector_length, space))
            except TypeError:  # a space that has no hash
                known = None
            if known is not None:
                return known  # type: ignore[no-any-return]
        teams = as_integer(league_size, "TeamPolicy: league_size")
        if teams < 0:
            raise PolicyError(f"TeamPolicy: league_size={teams}; expected 0 or more.")
        threads = _size("team_size", team_size)
        lanes = _size("vector_length", vector_length)
        chunk = _size("chunk_size", chunk_size)
        if lanes & (lanes - 1):
            below = 1 << (lanes.bit_length() - 1)
            raise PolicyError(
                f"TeamPolicy: vector_length={lanes}; expected a power of two, such as {below} or "
                f"{2 * below}."
            )
        most = 0
        if launch_bounds is not None:
            most = checked_launch_bounds(launch_bounds, "TeamPolicy")
        least = (threads or 1) * (lanes or 1)
        if most and least > most:
            raise PolicyError(
                f"TeamPolicy: a team of {threads or 1} x {lanes or 1} lanes has {least}, and "
                f"launch_bounds={most} allows {most}; give a smaller team_size or vector_length."
            )
        if teams * (threads or 1) * (lanes or 1) > MOST or teams + chunk > MOST:
            checked_count("TeamPolicy", (teams, threads or 1, lanes or 1))
            checked_count("TeamPolicy with its last chunk", (teams + chunk,))
        where = None if space is None else resolve(space)
        hints = as_hints(work_items, None, "TeamPolicy")
        spec = policy_spec(
            "team", 1, "auto", False, True, (), most, threads, lanes, chunk, hints.dynamic,
            occupancy=as_occupancy(occupancy, "TeamPolicy"), work_items=hints.spec,
        )  # fmt: skip
        self: Any = object.__new__(_TeamParts)
        self._hints = hints
        self.league_size = teams
        self.team_size = threads or "auto"
        self.vector_length = lanes or "auto"
        self.chunk_size = chunk or "auto"
        self.launch_bounds = most or None
        self.space = where
        self.bounds = (0, teams)
        self.key = (spec, where)
        if not MAY_CHANGE_CLASS or cls is not TeamPolicy:
            self = with_class(self, cls)
        else:
            self.__class__ = cls
        if plain:
            keep(_teams, (league_size, team_size, vector_length, space), self)
        return self  # type: ignore[no-any-return]

    def _arguments(self) -> tuple[Any, ...]:
        sizes = (self.league_size, self.team_size, self.vector_length)
        options = {
            "chunk_size": self.chunk_size, "launch_bounds": self.launch_bounds,
            "occupancy": self.occupancy, "work_items": self.work_items, "space": self.space,
        }  # fmt: skip
        return sizes, options

    def team_size_max(
        self, kernel: Any, /, *args: Any, pattern: str = "for", reducer: Any = None
    ) -> int:
        """Threads of the largest team that a launch of a kernel could have, by its resources.

        Parameters
        ----------
        kernel, *args
            As for `parallel_for`. The kernel is compiled, but not launched.
        pattern : {"for", "reduce", "scan"}, default "for"
            The launch that is meant. A kernel that returns a value has "reduce" or "scan".
        reducer
            As for `parallel_reduce`; given one, the pattern "for" means "reduce".

        Returns
        -------
        int
            With the policy's vector length; its own team size has no influence. A launch with the
            same arguments works with teams of this size, also if scratch memory grows with them.

        Raises
        ------
        KernelSyntaxError, KernelTypeError, LaunchError, SpaceAccessError, PolicyError
            As the launch would.
        """
        made = _planned(self.with_options(team_size="auto"), kernel, args, pattern, reducer)
        return int(made.plan.team_size_max(made.bounds, made.arguments))

    def team_size_recommended(
        self, kernel: Any, /, *args: Any, pattern: str = "for", reducer: Any = None
    ) -> int:
        """Threads of a team that "auto" chooses for a kernel; otherwise as `team_size_max`."""
        made = _planned(self.with_options(team_size="auto"), kernel, args, pattern, reducer)
        return int(made.plan.team_size_recommended(made.bounds, made.arguments))

    def scratch_size(
        self,
        kernel: Any,
        /,
        *args: Any,
        level: int = 0,
        pattern: str = "for",
        reducer: Any = None,
    ) -> int:
        """Bytes of scratch memory of a team in a launch of a kernel.

        Each piece is rounded up to a multiple of 16 bytes: one of 72 bytes takes 80.

        Parameters
        ----------
        kernel, *args
            As for `parallel_for`. The kernel is compiled, but not launched.
        level : {0, 1}, default 0
            As of `team.scratch`: small and fast (0), or large (1).
        pattern, reducer
            As for `team_size_max`.

        Returns
        -------
        int
            At the policy's team size; of "auto", at the size that the launch would have. 0 if the
            kernel asks for none. What a space needs for itself, such as for joining values, does
            not count.

        Raises
        ------
        PolicyError
            If there is no such level, and as the launch would.
        KernelSyntaxError, KernelTypeError, LaunchError, SpaceAccessError
            As the launch would.

        Notes
        -----
        Kokkos' ``scratch_size`` says what a program has asked for in `set_scratch_size`; here the
        compiler finds it in the kernel.
        """
        level = _checked_level("scratch_size", level)
        made = _planned(self, kernel, args, pattern, reducer)
        plan, bounds, _ = made.plan.chosen(made.bounds, made.arguments)
        return int(plan.scratch_size(bounds, made.arguments)[level])

    def vector_length_max(self) -> int:
        """Most lanes of a thread on the policy's space, or on the default space.

        Raises
        ------
        PolicyError
            If the space has no teams.
        """
        return self._limits().vector_length_max

    def scratch_size_max(self, level: int) -> int:
        """Most bytes of scratch memory of a team, on the policy's space or on the default space.

        Parameters
        ----------
        level : {0, 1}
            Memory that is small and fast (0), or large (1).

        Raises
        ------
        PolicyError
            If the space has no teams, or there is no such level.
        """
        level = _checked_level("scratch_size_max", level)
        return self._limits().scratch[level]

    def _limits(self) -> TeamLimits:
        space = default_space() if self.space is None else self.space
        if isinstance(space, SupportsTeams):
            return space.team_limits()
        raise PolicyError(f"Space '{space.name}' has no teams; name another with space=.")

    def __repr__(self) -> str:
        sizes = [self.league_size, self.team_size, self.vector_length]
        while sizes[-1] == "auto":
            sizes.pop()
        chunk = "" if self.chunk_size == "auto" else f", chunk_size={self.chunk_size}"
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        options = f"{chunk}{bounds}{self._hints_shown()}{on_space(self.space)}"
        return f"TeamPolicy({', '.join(map(repr, sizes))}{options})"


def _planned(
    policy: TeamPolicy, kernel: Any, args: tuple[Any, ...], pattern: str, reducer: Any
) -> Any:
    """The plan of a launch, for what a policy tells of it."""
    try:
        return ports.planned(policy, kernel, args, pattern, reducer)
    except (KernelTypeError, LaunchError) as error:
        if pattern == "for" and reducer is None:
            error.args = (
                f"{error}\nhint: this was looked at as a parallel_for; of a reduction or scan say "
                f"so, with pattern='reduce' or pattern='scan'",
            )
        raise


def _checked_level(who: str, level: Any) -> int:
    """A level of scratch memory; PolicyError for one that there is not."""
    try:
        number = as_integer(level, who)
    except PolicyError:
        number = -1
    if number not in (0, 1):
        raise PolicyError(f"{who}: level={brief(level)}; expected 0 or 1.")
    return number


def _size(what: str, value: Any) -> int:
    """As in `PolicySpec`: 0 for "auto"."""
    if type(value) is int and 0 < value <= MOST:
        return value
    if isinstance(value, str):
        if value == "auto":
            return 0
        raise PolicyError(f"TeamPolicy: {what}={brief(value)}; expected an integer or 'auto'.")
    size = as_integer(value, f"TeamPolicy: {what}", "an integer or 'auto'")
    if size < 1:
        raise PolicyError(f"TeamPolicy: {what}={size}; expected at least 1, or 'auto'.")
    return size


def check_teams(kernel: str, spec: LaunchSpec, space: ExecutionSpace) -> None:
    """Raise PolicyError for a launch of teams that the space cannot have, whatever the kernel."""
    if not isinstance(space, SupportsTeams):
        raise PolicyError(
            f"Kernel '{kernel}': space '{space.name}' has no teams, which a TeamPolicy needs; "
            f"launch it on another space, with space=."
        )
    limits, wanted = space.team_limits(), spec.policy
    if wanted.team_size > limits.team_size_max:
        raise PolicyError(
            f"Kernel '{kernel}': team_size={wanted.team_size}, and a team on space '{space.name}' "
            f"has at most {limits.team_size_max} threads; give less, or 'auto'."
        )
    if wanted.vector_length > limits.vector_length_max:
        raise PolicyError(
            f"Kernel '{kernel}': vector_length={wanted.vector_length}, and a thread on space "
            f"'{space.name}' has at most {limits.vector_length_max} lanes; give less, or 'auto'."
        )
    lanes = wanted.team_size * wanted.vector_length
    if lanes > limits.threads_max:
        raise PolicyError(
            f"Kernel '{kernel}': team_size={wanted.team_size} and vector_length="
            f"{wanted.vector_length} make {lanes} lanes, and a team on space '{space.name}' has at "
            f"most {limits.threads_max}; make one of them less, or 'auto'."
        )
