"""The policy of teams: the league of teams that a kernel is launched with."""

from __future__ import annotations

from typing import Any, Self

from ..base import ports
from ..base.brief import brief
from ..base.errors import PolicyError
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
        "bounds", "chunk_size", "key", "launch_bounds", "league_size", "space", "team_size",
        "vector_length",
    )  # fmt: skip

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
    space : str or ExecutionSpace, optional
        Where to run; the default space if not given.

    Raises
    ------
    PolicyError
        If a number is not an integer, `league_size` is negative, another number is less than 1,
        `vector_length` is not a power of two, or a team exceeds `launch_bounds`. At the launch: if
        the space has no teams, or none so large.

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

    def __new__(
        cls,
        league_size: int,
        team_size: int | str = "auto",
        vector_length: int | str = "auto",
        *,
        chunk_size: int | str = "auto",
        launch_bounds: int | None = None,
        space: str | ExecutionSpace | None = None,
    ) -> Self:
        plain = chunk_size is _AUTO and launch_bounds is None and cls is TeamPolicy
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
        spec = policy_spec("team", 1, "auto", False, True, (), most, threads, lanes, chunk)
        self: Any = object.__new__(_TeamParts)
        self.league_size = teams
        self.team_size = threads or "auto"
        self.vector_length = lanes or "auto"
        self.chunk_size = chunk or "auto"
        self.launch_bounds = launch_bounds
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
            "space": self.space,
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
        made = self._planned(kernel, args, pattern, reducer)
        return int(made.plan.team_size_max(made.bounds, made.arguments))

    def team_size_recommended(
        self, kernel: Any, /, *args: Any, pattern: str = "for", reducer: Any = None
    ) -> int:
        """Threads of a team that "auto" chooses for a kernel; otherwise as `team_size_max`."""
        made = self._planned(kernel, args, pattern, reducer)
        return int(made.plan.team_size_recommended(made.bounds, made.arguments))

    def _planned(self, kernel: Any, args: tuple[Any, ...], pattern: str, reducer: Any) -> Any:
        free = TeamPolicy(
            self.league_size, "auto", self.vector_length, chunk_size=self.chunk_size,
            launch_bounds=self.launch_bounds, space=self.space,
        )  # fmt: skip
        return ports.planned(free, kernel, args, pattern, reducer)

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
        if not isinstance(level, int) or level not in (0, 1):
            raise PolicyError(f"scratch_size_max: level={brief(level)}; expected 0 or 1.")
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
        return f"TeamPolicy({', '.join(map(repr, sizes))}{chunk}{bounds}{on_space(self.space)})"


def _size(what: str, value: Any) -> int:
    """As in `PolicySpec`: 0 for "auto"."""
    if type(value) is int and 0 < value <= MOST:
        return value
    if isinstance(value, str):
        if value == "auto":
            return 0
        raise PolicyError(f"TeamPolicy: {what}={brief(value)}; expected an integer or 'auto'.")
    size = as_integer(value, f"TeamPolicy: {what}")
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
    if spec.array_shape is not None:
        raise PolicyError(
            f"Kernel '{kernel}': an array reduction, reducer={spec.reducer!r}, cannot have a "
            f"TeamPolicy; return a tuple and give a tuple of reducers."
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
