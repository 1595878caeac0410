"""The oracle for teams: the threads of a team run in turn, each up to the next collective.

The kernel is a generator, see `codegen.python.oracle.TeamPrinter`. At each barrier or collective it
yields the number of the statement and the thread's operands, and receives its results. Accesses to
elements of scratch memory and of Views between barriers are tracked (races.py), so that a missing
barrier is an error and not a wrong number. A scan synchronises between the two passes of each of
its tiles, but not before the first and not after the last pass.
"""

from __future__ import annotations

import inspect
import linecache
import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from execspace import (
    ExecutionSpace,
    KernelError,
    ViewIndexError,
)
from execspace.base.dataclass import dataclass

from .. import ir
from ..codegen.python.oracle import TeamPrinter, function_name
from ..ir.diagnostics import Loc
from ..ir.types import Record, Scalar, ViewTy
from ..teams.host_limits import HostTeamSizes
from ..typing.lowered import Lowered
from .plan import Call, OraclePlan, loaded, names_of, number, python_number, row
from .races import AccessTracker, TrackedView
from .runtime import Checked

TEAM_SIZE = 4  # for "auto": a team of one thread would hide missing barriers


# -- the team ---------------------------------------------------------------------------------


class Tile(NamedTuple):
    """Iterations of a thread in a tile of a scan, one for each lane."""

    bounds: tuple[int, int]
    indices: tuple[np.int64, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.indices)


class Arrival(NamedTuple):
    """A waiting thread: the statement at which it waits, and its operands."""

    site: int
    brought: tuple[Any, ...]


Body = Callable[..., Generator[tuple[Any, ...], Any, Any]]


class Team(AccessTracker):
    """The current team; teams run sequentially.

    Parameters
    ----------
    plan : TeamPlan
    league : int
        Number of teams.
    size : int
        Threads of a team.
    """

    def __init__(self, plan: TeamPlan, league: int, size: int) -> None:
        super().__init__(plan.lowered.kernel.name)
        self.sites, self.merges, body = plan.sites, plan.merges, plan.functions["body"]
        self.body: Body = body if inspect.isgeneratorfunction(body) else _without_collectives(body)
        self.size, self.league = size, league
        self.lanes = plan.team_sizes().vector_length
        self.arrays: dict[tuple[Any, ...], TrackedView] = {}

    def run(self, rank: int, leading: tuple[Any, ...], values: Sequence[Any]) -> Any:
        """Run all threads of a team to their end; returns the result of the first one."""
        self.rank = rank
        self.arrays.clear()
        head, size = (np.int64(rank), np.int64(self.league)), np.int64(self.size)
        threads = [
            self.body(self, *head, np.int64(r), size, *leading, *values) for r in range(self.size)
        ]
        answers: list[Any] = [None] * self.size
        while True:
            arrivals: dict[int, Arrival] = {}
            results: dict[int, Any] = {}
            for r, thread in enumerate(threads):
                self.thread = r
                try:
                    site, *brought = thread.send(answers[r])
                    arrivals[r] = Arrival(site, tuple(brought))
                except StopIteration as end:
                    results[r] = end.value
                except ViewIndexError as error:
                    error.args = (f"{self.where()}, team_rank {r}: {error}",)
                    raise
            self.accesses.clear()
            if not arrivals:
                return self._result(results)
            self._check_together(arrivals)
            answers = self._together(self.sites[arrivals[0].site], list(arrivals.values()))

    # -- called by the kernel ---------------------------------------------------------------------

    def share(self, level: str, starts: tuple[Any, ...], stops: tuple[Any, ...]) -> Iterator[Any]:
        """The current thread's indices of a nested range."""
        extents = [max(int(b) - int(a), 0) for a, b in zip(starts, stops, strict=True)]
        total, lanes = math.prod(extents), self._lanes(level)
        step = self.size * lanes
        for block in range(self.thread * lanes, total, step):
            for rest in range(block, min(block + lanes, total)):
                index = []
                for start, n in zip(reversed(starts), reversed(extents), strict=True):
                    rest, at = divmod(rest, n)
                    index.append(start + np.int64(at))
                yield tuple(reversed(index)) if len(index) > 1 else index[0]

    def tiles(self, level: str, start: Any, stop: Any) -> Iterator[Tile]:
        """Tiles of a nested scan, each with the current thread's indices."""
        bounds, lanes = (int(start), int(stop)), self._lanes(level)
        own = self.thread * lanes
        for first in range(*bounds, self.size * lanes):
            mine = range(first + own, min(first + own + lanes, bounds[1]))
            yield Tile(bounds, tuple(map(np.int64, mine)))

    def _lanes(self, level: str) -> int:
        return self.lanes if level == "team" else 1

    def scratch(self, site: int, shape: tuple[Any, ...]) -> TrackedView:
        """Scratch memory of the team, or of the current thread."""
        s = self.sites[site]
        assert isinstance(s, ir.Scratch) and isinstance(s.view.type, ViewTy)
        key = (s.view.name, shape, self.thread if s.owner == "thread" else -1)
        known = self.arrays.get(key)
        if known is None:
            rest = iter(shape)
            static = s.view.type.static or (None,) * s.view.type.rank
            whole = tuple(int(next(rest)) if n is None else n for n in static)
            array = _filled(whole, s.view.type.element)
            name = _scratch_name(s.loc)
            known = TrackedView(self, Checked(array, name), f"scratch {name!r}", scratch=True)
            self.arrays[key] = known
        return known

    def agree(self, site: int, index: Any, probed: tuple[Any, ...], own: tuple[Any, ...]) -> None:
        """Raise KernelError if a scan's iteration contributed another value in its first pass."""
        if not _same(probed, own):
            raise self.fault(
                self.sites[site].loc,
                f"the scan's function contributes {_shown(probed)} for index {index} where final "
                f"is false, and {_shown(own)} where it is true",
                "return the same in both passes: read what it depends on before storing",
            )

    # -- collectives ------------------------------------------------------------------------------

    def _check_together(self, arrivals: dict[int, Arrival]) -> None:
        """Raise KernelError if not all threads wait at the same statement."""
        at: dict[int, list[int]] = {}
        for thread, arrival in arrivals.items():
            at.setdefault(arrival.site, []).append(thread)
        gone = [r for r in range(self.size) if r not in arrivals]
        if len(at) == 1 and not gone:
            return
        lines = [f"{self.where()}\n", "not all threads of the team wait at the same place:"]
        for site, threads in at.items():
            loc = self.sites[site].loc
            verb = "waits" if len(threads) == 1 else "wait"
            lines += [f"{_threads(threads)} {verb} at {loc}", loc.excerpt()]
        if gone:
            lines.append(f"{_threads(gone)} {'has' if len(gone) == 1 else 'have'} returned")
        hint = "let all threads come to the same barriers and collectives, in the same order"
        raise KernelError("\n".join([*(line for line in lines if line), f"hint: {hint}"]))

    def _result(self, results: dict[int, Any]) -> Any:
        """The contribution of a team."""
        other = _different(row(v) for v in results.values())
        if other:
            raise KernelError(
                f"{self.where()}\n\nthread 0 of the team returns {_shown(row(results[0]))} and "
                f"thread {other} returns {_shown(row(results[other]))}, but a team contributes "
                f"once\nhint: join what they have, and return that: return team.reduce(value)"
            )
        return results[0]

    def _together(self, s: ir.TeamStmt, arrivals: list[Arrival]) -> list[Any]:
        """Results of a collective for all threads, which have arrived at it."""
        brought = [a.brought for a in arrivals]
        first = [b[0] for b in brought]
        match s:
            case ir.Combine():
                state = first[0]
                for other in first[1:]:
                    state = self._merged(s.merge, state, other)
                return [state] * self.size
            case ir.Prefix():
                before = tuple(number(c.value, c.type) for c in s.identity)
                found = []
                for own in first:
                    found.append(before)
                    before = self._merged(s.merge, before, own)
                return [(*own, *before) for own in found]
            case ir.Broadcast():
                return [first[self._broadcasting(s, [b[1] for b in brought])]] * self.size
            case ir.ScanRange():
                return self._scanned(s, brought)
        return [None] * self.size

    def _merged(self, name: str, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return row(self.merges[name](*a, *b))

    def _broadcasting(self, s: ir.Broadcast, ranks: list[Any]) -> int:
        other = _different((r,) for r in ranks)
        if other:
            raise self.fault(
                s.loc,
                f"the rank of a broadcast is {ranks[0]} in thread 0 of the team and "
                f"{ranks[other]} in thread {other}",
                "give all threads the team_rank of the same one",
            )
        return int(ranks[0])  # the kernel checks that it is less than the size

    def _scanned(self, s: ir.ScanRange, brought: list[tuple[Any, ...]]) -> list[Any]:
        """Prefixes of the iterations of a tile, and the state after it."""
        bounds = [b[1].bounds for b in brought]
        other = _different(bounds)
        if other:
            raise self.fault(
                s.loc,
                f"thread 0 of the team scans from {bounds[0][0]} to {bounds[0][1]} and thread "
                f"{other} from {bounds[other][0]} to {bounds[other][1]}",
                "give all threads the same range",
            )
        state = brought[0][0]
        found = []
        for _, _, contributions in brought:
            before = []
            for own in contributions:
                before.append(state)
                state = self._merged(s.merge, state, own)
            found.append(before)
        return [(before, state) for before in found]


def _without_collectives(function: Callable[..., Any]) -> Body:
    """Wrap a kernel without collectives as a generator."""

    def run(*args: Any) -> Generator[tuple[Any, ...], Any, Any]:
        return function(*args)
        yield

    return run


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether numbers are bitwise equal, including NaNs."""
    return all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(a, b, strict=True)
    )


def _different(values: Iterable[tuple[Any, ...]]) -> int:
    """The first thread whose values differ from those of thread 0; 0 if there is none."""
    first, *others = values
    return next((r for r, v in enumerate(others, 1) if not _same(first, v)), 0)


def _shown(values: tuple[Any, ...]) -> str:
    items = [python_number(v) for v in values]
    return str(items[0] if len(items) == 1 else tuple(items))


def _threads(ranks: Sequence[int]) -> str:
    """Thread numbers, with consecutive ones as ranges."""
    runs: list[list[int]] = []
    for r in ranks:
        if runs and runs[-1][-1] == r - 1:
            runs[-1].append(r)
        else:
            runs.append([r])
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"thread{'s' if len(ranks) > 1 else ''} {', '.join(texts)}"


def _scratch_name(loc: Loc) -> str:
    """Name of scratch memory in the source: the variable that it is assigned to."""
    before = linecache.getline(loc.file, loc.line).encode()[: loc.column].decode(errors="replace")
    found = re.search(r"(\w+)\s*=\s*$", before)
    return found[1] if found else loc.text()


def _filled(shape: tuple[int, ...], element: Scalar | Record) -> Any:
    """Memory filled with a pattern that shows, in a debugger, that it is uninitialised."""
    if isinstance(element, Record):
        array = np.empty(shape, np.dtype((np.void, element.itemsize)))
    elif element.kind in "fc":
        return np.full(shape, np.nan, element.name)
    else:
        array = np.empty(shape, element.name)
    array.view(np.dtype((np.void, array.itemsize)))[...] = b"\xa5" * array.itemsize
    return array


# -- plans ------------------------------------------------------------------------------------


@dataclass
class TeamPlan(HostTeamSizes, OraclePlan):
    """An interpreted launch of teams.

    Attributes
    ----------
    sites : tuple of TeamStmt
        Statements to which the kernel's source refers by number.
    merges : dict
        Functions that join the states of two threads, by name.
    """

    sites: tuple[ir.TeamStmt, ...]
    merges: dict[str, Any]

    _usual_size = TEAM_SIZE

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team in a launch: fewer than usual if scratch memory does not suffice."""
        size, scratch = self.team_sizes().team_size, self._scratch
        while size > 1 and not self.spec.policy.team_size:
            if scratch.fits(size, bounds[1], args):
                break
            size //= 2
        scratch.check(size, bounds[1], args)
        return size

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of the league."""
        from ..launch.describe import without_effect

        sizes = self.team_sizes()
        return [
            "teams: one after the other, interpreted",
            f"team size {sizes.team_size}: threads take turns, each up to the next place where "
            f"all of them do something together; races between two such places are errors",
            f"vector length {sizes.vector_length}: a thread does what its lanes do, in order",
            *without_effect(
                self.lowered.spec.policy, ("chunk_size", "launch_bounds"), "teams run one by one"
            ),
        ]

    def caller(self, bounds: tuple[int, ...], inputs: tuple[Any, ...]) -> Call:
        team = Team(self, bounds[1], self.team_size_recommended(bounds, inputs))
        values = self.values(inputs)
        parameters = self.lowered.body.parameters[self.lowered.leading :]
        written = self.lowered.written
        views = {n: v for n, v in enumerate(values) if isinstance(v, Checked)}
        changed = [v.array for n, v in views.items() if parameters[n].name in written]
        names = names_of(self.lowered)
        for n, view in views.items():  # read-only data cannot race
            if any(np.may_share_memory(view.array, a) for a in changed):
                values[n] = TrackedView(team, view, f"View '{names[n]}'")
        return lambda index, leading: team.run(index[0], leading, values)


def team_plan(space: ExecutionSpace, lowered: Lowered, made: Sequence[ir.Function]) -> TeamPlan:
    """A plan that runs a team kernel; `made` are the functions of its reduction."""
    printer = TeamPrinter(lowered.module(*made), lowered.body)
    functions, scope = loaded(lowered, made, printer)
    sites = tuple(printer.sites)
    joins = (s.merge for s in sites if isinstance(s, ir.Combine | ir.Prefix | ir.ScanRange))
    merges = {name: scope[function_name(name)] for name in joins}
    return TeamPlan(space, lowered, functions, printer.source(), sites, merges)
