"""Launches of teams of sizes "auto": each in teams that fit the lengths of its nested ranges.

A pair of sizes is compiled at its first launch. What decides is known on the host before each
launch, and nothing else counts: the same launch has the same sizes, and so the same sums, always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..teams.scratch_sizes import Launch, Sizes
from .device_teams import Room, WorkItemTeams

Counts = tuple[int, int, int, int]  # iterations of threads and of lanes, league size, scratch bytes
_KEPT = 64  # launches whose sizes are remembered


class FittingTeams:
    """The sizes of teams in launches of a kernel whose policy leaves some to the space.

    Parameters
    ----------
    teams : WorkItemTeams
        With usual sizes; they have `ranges`.
    check : Sizes, optional
        That of their scratch memory.
    units, shared, most : int
        Multiprocessors, bytes of the memory of a group, and most work-items of a group.
    """

    def __init__(
        self, teams: WorkItemTeams, check: Sizes | None, units: int, shared: int, most: int
    ) -> None:
        assert teams.ranges is not None
        self.teams, self.lengths, self.check = teams, teams.ranges.found, check
        self.units, self.shared, self.most = units, shared, most

    def counts(self, league: int, args: tuple[Any, ...]) -> Counts:
        """What decides in a launch."""
        scratch = 0 if self.check is None else self.check.found(league, args)[0]
        return *self.lengths(league, args), league, scratch

    def room(self, counts: Counts) -> Room:
        """Limits with the sizes of teams for such a launch."""
        threads, lanes, league, scratch = counts
        resident = -(-league // self.units)
        if scratch > 0:
            resident = min(resident, self.shared // scratch)
        return self.teams.room_for((threads, lanes), resident, self.most)

    def caller(self, usual: Launch, make: Callable[[Room], Launch]) -> Launch:
        """A launch in teams that fit; `make` compiles one of other sizes than those of `usual`."""
        made = {(self.teams.size, self.teams.lanes): usual}
        launches: dict[Counts, Launch] = {}

        def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            counts = self.counts(bounds[1], args)
            found = launches.get(counts)
            if found is None:
                room = self.room(counts)
                assert room.sizes is not None
                found = made.get(room.sizes)
                if found is None:
                    found = made[room.sizes] = make(room)
                if len(launches) == _KEPT:
                    launches.clear()
                launches[counts] = found
            return found(bounds, args)

        return launch
