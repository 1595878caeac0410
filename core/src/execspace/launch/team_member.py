"""The handle of a team, and the joins of kernels of teams that plain Python runs.

A kernel that is called directly is run by a team of one thread, with a `TeamMember` for its
handle. What its threads and nested ranges (nested.py) contribute is joined here in the types, and
with the meaning, that compiled joins have.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError, PolicyError
from ..base.storage_types import format_of
from ..contract.dtypes import as_dtype
from ..contract.memory import HOST
from ..policies.range import MAX_RANK
from ..reducers.builtin import Sum
from ..reducers.python_joins import total_of
from ..views.view import View

__all__ = [
    "TeamMember",
]


@dataclass(frozen=True)
class TeamMember:
    """The handle of a team: what a kernel launched with a TeamPolicy gets in place of an index.

    Compiled, it is that of one of many threads. Made by hand, to call a kernel directly, it is the
    only thread of its team.

    Parameters
    ----------
    league_rank : int, default 0
        Which team this is.
    league_size : int, default 1
        Number of teams.

    Raises
    ------
    LaunchError
        If `league_rank` is none of ``range(league_size)``.

    Notes
    -----
    All threads of a team must reach its `barrier`, `broadcast`, `reduce` and `scan`. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/TeamHandleConcept.html

    Examples
    --------
    >>> import execspace as es
    >>> def sum_row(team, A, sums):
    ...     row = team.league_rank
    ...     columns = es.TeamVectorRange(team, A.shape[1])
    ...     total = es.parallel_reduce(columns, lambda j: A[row, j])
    ...     if es.single(es.PerTeam(team)):
    ...         sums[row] = total
    >>> A, sums = es.View((2, 3), memory=es.HOST), es.View(2, memory=es.HOST)
    >>> A[1, 0] = A[1, 2] = 4.5
    >>> sum_row(es.TeamMember(1, 2), A, sums)
    >>> float(sums[1])
    9.0
    """

    league_rank: int = 0
    league_size: int = 1

    def __post_init__(self) -> None:
        rank = _integer(self.league_rank, "TeamMember: league_rank")
        size = _integer(self.league_size, "TeamMember: league_size")
        if not 0 <= rank < size:
            raise LaunchError(
                f"TeamMember: league_rank={rank} and league_size={size}; expected a rank of at "
                f"least 0 and less than the size."
            )

    @property
    def team_rank(self) -> int:
        """Which thread of its team this is; here 0."""
        return 0

    @property
    def team_size(self) -> int:
        """Number of threads of the team; here 1."""
        return 1

    def barrier(self) -> None:
        """Wait until all threads of the team are here; each then sees what the others stored."""

    def broadcast(self, value: Any, rank: int) -> Any:
        """The value that the thread `rank` of the team gives, for all of its threads.

        Raises
        ------
        LaunchError
            If there is no such thread.
        """
        if _integer(rank, "team.broadcast: rank") != 0:
            raise LaunchError(
                f"team.broadcast: rank={rank}; expected 0: a kernel that is called directly has a "
                f"team of one thread."
            )
        return value

    def reduce(self, value: Any, reducer: Any = Sum) -> Any:
        """What the values of all threads of the team join to, for all of them.

        Parameters
        ----------
        value : number, or what the reducer joins
        reducer : Reducer, class, name, or tuple of them, default Sum
            As for `parallel_reduce`, but no array reduction.

        Raises
        ------
        LaunchError
            If it is not a reducer, or does not join such values.
        """
        total = total_of("team.reduce", reducer)
        total.add(value)
        return total.result()

    def scan(self, value: Any, reducer: Any = Sum) -> Any:
        """What the values of the threads before this one in the team join to.

        The first thread gets the reducer's identity. Parameters and errors as those of `reduce`.
        """
        total = total_of("team.scan", reducer)
        total.expect(value)
        return total.value()

    def scratch(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64, level: int = 0
    ) -> Any:
        """An array that the threads of the team share; it lives as long as the team.

        Parameters
        ----------
        shape : int or tuple of int
        dtype : dtype-like, default float64
        level : {0, 1}
            Memory that is small and fast (0), or large (1); see `TeamPolicy.scratch_size_max`.

        Returns
        -------
        numpy.ndarray
            In a compiled kernel what behaves as a View. It holds anything at first; here floats
            are NaN, which shows what is read too early.

        Raises
        ------
        LaunchError, DTypeError
        """
        return _scratch("team.scratch", shape, dtype, level)

    def thread_scratch(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64, level: int = 0
    ) -> Any:
        """An array of this thread alone, which its lanes share; otherwise as `scratch`."""
        return _scratch("team.thread_scratch", shape, dtype, level)


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise LaunchError(f"{what} must be an integer, got {brief(value)}.") from None


def _scratch(what: str, shape: Any, dtype: npt.DTypeLike, level: Any) -> Any:
    extents = shape if isinstance(shape, tuple) else (shape,)
    sizes = tuple(_integer(n, f"{what}: an extent") for n in extents)
    if not 1 <= len(sizes) <= MAX_RANK or min(sizes) < 0:
        raise LaunchError(
            f"{what}: shape {brief(shape)}; expected 1 to {MAX_RANK} extents of at least 0."
        )
    if level not in (0, 1):
        raise LaunchError(f"{what}: level={brief(level)}; expected 0 or 1.")
    kind = as_dtype(dtype)
    if format_of(kind) is not None:  # whose elements are float32 when they are read from a View
        view = View(sizes, kind, memory=HOST)
        view.fill(np.nan)
        return view
    made = np.zeros(sizes, kind)
    if made.dtype.kind in "fc":
        made.fill(np.nan)
    return made


def checked_team(word: str, team: Any) -> TeamMember:
    """The handle of a team that a word of kernels was given; PolicyError if it is none."""
    if isinstance(team, TeamMember):
        return team
    raise PolicyError(
        f"{word}: expected the handle of a team, got {brief(team)}; kernels that are launched with "
        f"es.TeamPolicy have it as their first parameter."
    )
