"""Ranges within a kernel for teams, and what is done once for a team or a thread.

They are words of kernels, which plain Python understands, too: a kernel that is called directly
with a `TeamMember` loops over them. Compilers know them by identity.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError, PolicyError
from ..policies.checks import LEFT_OUT, as_integer
from ..reducers.python_joins import total_of
from .nested_policy import Nested
from .team_member import TeamMember, checked_team

__all__ = [
    "PerTeam",
    "PerThread",
    "TeamThreadMDRange",
    "TeamThreadRange",
    "TeamVectorMDRange",
    "TeamVectorRange",
    "ThreadVectorMDRange",
    "ThreadVectorRange",
    "single",
]


_MAX_RANK = 8


class _Nested(Nested):
    """A range of one or several dimensions.

    Loops go over it (``for i in ...``), and `parallel_for`, `parallel_reduce` and `parallel_scan`
    take it for a policy.
    """

    __slots__ = ("team",)

    def __init__(self, team: TeamMember) -> None:
        self.team = checked_team(type(self).__name__, team)

    @abstractmethod
    def _indices(self) -> Iterator[tuple[int, ...]]:
        """All indices, in order, as tuples."""

    def _run(
        self, pattern: str, body: Any, args: tuple[Any, ...], reducer: Any = None, out: Any = None
    ) -> Any:
        """A parallel_for, parallel_reduce or parallel_scan over it, in plain Python.

        Results are NumPy scalars of the type in which contributions are joined. Before there are
        any (an empty range, the first prefix of a scan) it is not known, as it is to a compiler: it
        is float64 for extremes and int64 for others, unless they say it.

        Raises
        ------
        LaunchError
            For `out`, for a scan over several dimensions, and for what the reducer cannot join.
        """
        who = f"parallel_{pattern} over {self!r}"
        if out is not None:
            raise LaunchError(f"{who}: out= is an option of launches; take what is returned.")
        if pattern == "scan" and not isinstance(self, _Range):
            raise LaunchError(
                f"{who}: expected a range of one dimension, such as es.TeamThreadRange."
            )
        if pattern == "for":
            for index in self._indices():
                body(*index, *args)
            return None
        total = total_of(who, reducer)
        for index in self._indices():
            if pattern == "scan":
                total.add(body(*index, total.value(), True, *args))
            else:
                total.add(body(*index, *args))
        return total.result()


class _Range(_Nested):
    __slots__ = ("begin", "end")

    def __init__(self, team: TeamMember, begin: int, end: int = LEFT_OUT, /) -> None:
        super().__init__(team)
        if end is LEFT_OUT:
            begin, end = 0, begin
        self.begin = as_integer(begin, f"{type(self).__name__}: begin")
        self.end = as_integer(end, f"{type(self).__name__}: end")

    def _indices(self) -> Iterator[tuple[int, ...]]:
        return zip(range(self.begin, self.end))

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.begin, self.end))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(team, {self.begin}, {self.end})"


class TeamThreadRange(_Range):
    """Indices ``begin <= i < end`` that the threads of a team share; begin is 0 if not given.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    begin, end : int
        One argument alone is the end, as in Python's range.

    Raises
    ------
    PolicyError
        If `team` is not a handle, or a bound no integer.

    Notes
    -----
    Usable in kernels that run on teams. No thread waits after a loop or a `parallel_for`: that is
    what ``team.barrier()`` is for. `parallel_reduce` gives all threads the result. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamThreadRange.html

    Examples
    --------
    >>> import execspace as es
    >>> team = es.TeamMember()
    >>> list(es.TeamThreadRange(team, 1, 4))
    [1, 2, 3]
    >>> int(es.parallel_reduce(es.TeamThreadRange(team, 4), lambda i: i * i, reducer=es.Max))
    9
    """

    __slots__ = ()


class ThreadVectorRange(_Range):
    """Indices that the lanes of one thread share; may stand within a TeamThreadRange.

    See `TeamThreadRange`. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/ThreadVectorRange.html
    """

    __slots__ = ()


class TeamVectorRange(_Range):
    """Indices that all lanes of all threads of a team share; nothing may be nested within.

    See `TeamThreadRange`. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamVectorRange.html
    """

    __slots__ = ()


class _MDRange(_Nested):
    __slots__ = ("extents",)

    def __init__(self, team: TeamMember, /, *extents: int) -> None:
        super().__init__(team)
        word = type(self).__name__
        if len(extents) == 1 and isinstance(extents[0], tuple | list):
            raise PolicyError(
                f"{word}: got {brief(extents[0])}; expected 2 to {_MAX_RANK} extents, each an "
                f"argument: es.{word}(team, n0, n1)."
            )
        self.extents = tuple(as_integer(n, f"{word}: an extent") for n in extents)
        if not 2 <= len(extents) <= _MAX_RANK:
            count = "1 extent" if len(extents) == 1 else f"{len(extents)} extents"
            one = f" For one there is es.{word.replace('MD', '')}." if len(extents) < 2 else ""
            raise PolicyError(f"{word}: got {count}; expected 2 to {_MAX_RANK}.{one}")

    def _indices(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.extents))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return self._indices()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(team, {', '.join(map(str, self.extents))})"


class TeamThreadMDRange(_MDRange):
    """Index tuples, ``0 <= i < n0``, ``0 <= j < n1`` and so on, that the threads of a team share.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    *extents : int
        Two to eight.

    Raises
    ------
    PolicyError
        If `team` is not a handle, an extent no integer, or their number another.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamThreadMDRange.html

    Examples
    --------
    >>> import execspace as es
    >>> list(es.TeamThreadMDRange(es.TeamMember(), 2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """

    __slots__ = ()


class ThreadVectorMDRange(_MDRange):
    """Index tuples that the lanes of one thread share; see `TeamThreadMDRange`.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/ThreadVectorMDRange.html
    """

    __slots__ = ()


class TeamVectorMDRange(_MDRange):
    """Index tuples that all lanes of all threads of a team share; see `TeamThreadMDRange`.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamVectorMDRange.html
    """

    __slots__ = ()


# -- once for a team or a thread --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PerTeam:
    """Once for each team; see `single`."""

    team: TeamMember

    def __post_init__(self) -> None:
        checked_team("PerTeam", self.team)


@dataclass(frozen=True, slots=True)
class PerThread:
    """Once for each thread, by one of its lanes; see `single`."""

    team: TeamMember

    def __post_init__(self) -> None:
        checked_team("PerThread", self.team)


def single(which: PerTeam | PerThread) -> bool:
    """Whether this thread, or lane, is the one that does what is done only once.

    Parameters
    ----------
    which : PerTeam or PerThread
        True for one lane of the team, or for one lane of each thread.

    Raises
    ------
    LaunchError
        For anything else.

    Notes
    -----
    Nobody waits for it; ``team.barrier()`` does. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/NestedPolicies.html

    Examples
    --------
    >>> import execspace as es
    >>> es.single(es.PerTeam(es.TeamMember()))
    True
    """
    if not isinstance(which, PerTeam | PerThread):
        raise LaunchError(
            f"single: got {brief(which)}; expected es.PerTeam(team) or es.PerThread(team)."
        )
    return True
