"""Team sizes for which a launch works; scratch memory may grow with them.

The kernel's scratch memory is known for each size before anything is compiled. A device may need
shared memory for itself as well, so there a size must be tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from execspace import LaunchError, PolicyError

from ..typing.lowered import Lowered
from ..typing.values import TEAM_PARTS
from .scratch import scratch_layout, scratch_sizes

Arguments = tuple[Any, ...]


def with_team_size(lowered: Lowered, size: int) -> Lowered:
    """A kernel for the same policy with a team size."""
    policy = replace(lowered.spec.policy, team_size=size)
    return replace(lowered, spec=replace(lowered.spec, policy=policy))


class ScratchBySize:
    """The scratch memory of a launch, for teams of any size.

    Parameters
    ----------
    lowered : Lowered
    space : str
        Name of the space, for messages.
    limits : tuple of int
        Most bytes of a team at each level.
    """

    def __init__(self, lowered: Lowered, space: str, limits: tuple[int, int]) -> None:
        body = lowered.body
        league, size = (body.parameters[TEAM_PARTS.index(w)] for w in ("league_size", "team_size"))
        parameters = (size, *body.parameters[lowered.leading :])
        layout = scratch_layout(body, (league, *parameters), size)
        self.name = lowered.kernel.name
        self.sizes = scratch_sizes(self.name, layout, parameters, league.name, limits, space)

    def check(self, size: int, league: int, args: Arguments) -> None:
        """Raise LaunchError if teams of this size have too little memory."""
        self.sizes(league, (size, *args))

    def found(self, size: int, league: int, args: Arguments) -> tuple[int, int]:
        """Bytes that the kernel asks for, of a team of this size; raises as `check`."""
        self.check(size, league, args)
        return self.sizes.found(league, (size, *args))

    def fits(self, size: int, league: int, args: Arguments) -> bool:
        """Whether teams of this size have enough memory."""
        return _works(lambda n: self.check(n, league, args), size)

    def largest(
        self,
        most: int,
        league: int,
        args: Arguments,
        attempt: Callable[[int], None] = lambda size: None,
    ) -> int:
        """Threads of the largest team, at most `most`, for which a launch works.

        Parameters
        ----------
        attempt : callable
            Raises LaunchError or PolicyError for a size that the device cannot launch although
            there is enough scratch memory for the kernel.

        Raises
        ------
        LaunchError, PolicyError
            If there is no such size.
        """
        sizes = [n for n in range(most, 0, -1) if self.fits(n, league, args)]
        if not sizes:
            self.check(1, league, args)
        if _works(attempt, sizes[0]):
            return sizes[0]
        below, above = len(sizes) - 1, 0  # a size that works, and one that does not
        attempt(sizes[below])
        while below - above > 1:
            middle = (below + above) // 2
            if _works(attempt, sizes[middle]):
                below = middle
            else:
                above = middle
        return sizes[below]


def _works(attempt: Callable[[int], None], size: int) -> bool:
    try:
        attempt(size)
    except (LaunchError, PolicyError):
        return False
    return True
