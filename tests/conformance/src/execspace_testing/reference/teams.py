"""Teams, as CPython runs them: members are threads of which one runs at a time, in turn.

A member runs until it meets the others: at a barrier or a collective. When all have come there,
what they brought is joined and they go on, in the order of their ranks. Members that end up at
different places are an error. Kernels find the words below in the place of those of `es`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

from .joins import Types, join_of, types_of


class Team:
    """What the members of a team share, and whose turn it is."""

    def __init__(self, size: int, lanes: int) -> None:
        self.size, self.lanes = size, lanes
        self.turn = threading.Condition()
        self.running = 0  # whose turn it is
        self.places: list[str | None] = [None] * size  # where each one waits; "end" if it is done
        self.brought: list[Any] = [None] * size
        self.met: list[Any] = []
        self.round = 0
        self.error: BaseException | None = None

    def meet(self, rank: int, place: str, value: Any) -> list[Any]:
        """Wait until all members are at this place; what all of them brought."""
        if self.size == 1:
            return [value]
        with self.turn:
            seen = self.round
            self.places[rank], self.brought[rank] = place, value
            self._pass_on()
            self.turn.wait_for(
                lambda: (self.round > seen and self.running == rank) or self.error is not None
            )
            if self.error is not None:
                raise SystemExit  # this member's thread; the error is raised by `run`
            return self.met

    def end(self, rank: int) -> None:
        """This member is done."""
        with self.turn:
            self.places[rank] = "end"
            self._pass_on()

    def fail(self, error: BaseException) -> None:
        """A member raised."""
        with self.turn:
            self.error = self.error or error
            self.turn.notify_all()

    def _pass_on(self) -> None:
        self.running += 1
        if self.running == self.size:
            if len(set(self.places)) > 1:
                self.error = RuntimeError(f"members wait at different places: {self.places}")
            self.met, self.brought = self.brought, [None] * self.size
            self.places = [None] * self.size
            self.running, self.round = 0, self.round + 1
        self.turn.notify_all()

    def run(self, member: Callable[[int], None]) -> None:
        """Call a function for each member, in threads that take turns."""
        if self.size == 1:
            member(0)
            return

        def thread(rank: int) -> None:
            with self.turn:
                self.turn.wait_for(
                    lambda: (self.running == rank and self.round == 0) or self.error is not None
                )
            try:
                with np.errstate(all="ignore"):
                    member(rank)
                self.end(rank)
            except SystemExit:
                pass
            except BaseException as error:
                self.fail(error)

        threads = [threading.Thread(target=thread, args=(rank,)) for rank in range(self.size)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.error is not None:
            raise self.error


@dataclass(eq=False)
class Member:
    """The handle of a team that a kernel gets."""

    team: Team
    team_rank: int
    league_rank: int
    league_size: int
    shared: dict[int, Any]
    made: int = 0  # how many arrays of scratch memory it has asked for

    @property
    def team_size(self) -> int:
        return self.team.size

    def meet(self, place: str, value: Any = None) -> list[Any]:
        return self.team.meet(self.team_rank, place, value)

    def barrier(self) -> None:
        self.meet("barrier")

    def broadcast(self, value: Any, rank: int) -> Any:
        return self.meet("broadcast", value)[rank]

    def reduce(self, value: Any, reducer: Any = es.Sum) -> Any:
        return _joined(self.meet("reduce", value), reducer)

    def scan(self, value: Any, reducer: Any = es.Sum) -> Any:
        met = self.meet("scan", value)
        join = join_of(reducer, types_of(value))
        for item in met[: self.team_rank]:
            join.add(item)
        return join.value

    def scratch(self, shape: Any, dtype: Any = np.float64, level: int = 0) -> Any:
        """The n-th array of each member is the same one."""
        self.made += 1
        return self.shared.setdefault(self.made, np.zeros(shape, dtype))

    def thread_scratch(self, shape: Any, dtype: Any = np.float64, level: int = 0) -> Any:
        return np.zeros(shape, dtype)


def _joined(items: list[Any], reducer: Any, types: Types = None) -> Any:
    join = join_of(reducer, types_of(items[0]) if types is None else types)
    for item in items:
        join.add(item)
    return join.result()


class _Range:
    """A nested range: all indices, and those of this member."""

    def __init__(self, member: Member, *bounds: int) -> None:
        self.member = member
        self.bounds = bounds

    def all(self) -> Iterator[tuple[int, ...]]:
        begin, end = self.bounds if len(self.bounds) == 2 else (0, self.bounds[0])
        return zip(range(begin, end))

    def owner(self, number: int) -> int:
        """Which member does the iteration with this number."""
        return number % self.member.team.size

    def mine(self) -> list[tuple[int, tuple[int, ...]]]:
        rank = self.member.team_rank
        return [(n, index) for n, index in enumerate(self.all()) if self.owner(n) == rank]

    def __iter__(self) -> Iterator[Any]:
        return (index[0] if len(index) == 1 else index for _, index in self.mine())

    def meet(self, place: str, value: Any) -> list[Any]:
        """What all who share the range brought."""
        return self.member.meet(place, value)


class _OverLanes(_Range):
    """A range of one thread: reference members have no lanes, so it does all of it."""

    def owner(self, number: int) -> int:
        return self.member.team_rank

    def meet(self, place: str, value: Any) -> list[Any]:
        return [value]


class _OverAll(_Range):
    def owner(self, number: int) -> int:
        team = self.member.team
        return number % (team.size * team.lanes) // team.lanes


class _Dimensions(_Range):
    def all(self) -> Iterator[tuple[int, ...]]:
        return iter(np.ndindex(*self.bounds))


class _DimensionsOverLanes(_OverLanes):
    all = _Dimensions.all


class _DimensionsOverAll(_OverAll):
    all = _Dimensions.all


class Words:
    """Stands in the place of `es` in a kernel's module: the words of teams, and all else of es."""

    TeamThreadRange, ThreadVectorRange, TeamVectorRange = _Range, _OverLanes, _OverAll
    TeamThreadMDRange = _Dimensions
    ThreadVectorMDRange, TeamVectorMDRange = _DimensionsOverLanes, _DimensionsOverAll

    def __getattr__(self, name: str) -> Any:
        return getattr(es, name)

    @staticmethod
    def PerTeam(member: Member) -> tuple[Member, bool]:
        return member, True

    @staticmethod
    def PerThread(member: Member) -> tuple[Member, bool]:
        return member, False

    @staticmethod
    def single(which: tuple[Member, bool], function: Callable[[], Any] | None = None) -> Any:
        member, per_team = which
        chosen = member.team_rank == 0 or not per_team
        if function is None:
            return chosen
        value = function() if chosen else None
        return member.meet("single", value)[0] if per_team else value

    @staticmethod
    def parallel_for(shared: _Range, body: Callable[..., Any]) -> None:
        for _, index in shared.mine():
            body(*index)

    @staticmethod
    def parallel_reduce(shared: _Range, body: Callable[..., Any], reducer: Any = es.Sum) -> Any:
        mine = [(n, body(*index)) for n, index in shared.mine()]
        met = [pair for part in shared.meet("parallel_reduce", mine) for pair in part]
        return _joined([c for _, c in sorted(met, key=lambda pair: pair[0])], reducer)

    @staticmethod
    def parallel_scan(shared: _Range, body: Callable[..., Any], reducer: Any = es.Sum) -> Any:
        def first(index: tuple[int, ...]) -> Any:
            """What an index contributes: a prefix that is not final says nothing."""
            guess = body(*index, np.int64(0), False)
            return body(*index, join_of(reducer, types_of(guess)).value, False)

        mine = [(n, first(index)) for n, index in shared.mine()]
        met = [pair for part in shared.meet("parallel_scan", mine) for pair in part]
        met.sort(key=lambda pair: pair[0])
        join, prefixes = join_of(reducer, types_of(met[0][1])), {}
        for n, contribution in met:
            prefixes[n] = join.value
            join.add(contribution)
        for n, index in shared.mine():
            body(*index, prefixes[n], True)
        return join.result()


WORDS = Words()


def run_league(
    kernel: Callable[..., Any], league: int, size: int, lanes: int, args: tuple[Any, ...]
) -> list[Any]:
    """Run a kernel on a league of teams, one after the other; what the teams returned."""
    contributions = []
    for league_rank in range(league):
        team, shared = Team(size, lanes), {}
        returned: list[Any] = [None] * size

        def member(
            rank: int, team: Team = team, shared: Any = shared, number: int = league_rank,
            returned: list[Any] = returned,
        ) -> None:  # fmt: skip
            returned[rank] = kernel(Member(team, rank, number, league, shared), *args)

        with np.errstate(all="ignore"):
            team.run(member)
        contributions.append(returned[0])
    return contributions


def team_reduce(
    kernel: Callable[..., Any], sizes: tuple[int, int, int], args: tuple[Any, ...], reducer: Any,
    types: Types,
) -> Any:  # fmt: skip
    """Join what the teams return, each of them once."""
    contributions = run_league(kernel, *sizes, args)
    with np.errstate(all="ignore"):
        return _joined(contributions, reducer, types)
