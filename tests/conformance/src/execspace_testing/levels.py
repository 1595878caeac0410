"""The levels of the suite: what a backend author gets to work first, and what builds on it.

Each level is a folder of the suite. A space passes level N if all levels up to N pass.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """A step of the suite.

    Attributes
    ----------
    number : int
        From 1 on, without gaps; later versions of the kit may put further levels in between.
    folder : str
        Where its tests are, below the suite.
    title : str
    """

    number: int
    folder: str
    title: str


_TITLES = {
    "memory": "allocate, fill and copy Views",
    "range_for": "parallel_for over ranges",
    "reduce": "parallel_reduce, built-in reducers and a user's own",
    "mdrange": "MDRangePolicy: ranks, layouts, tiles, orders",
    "atomics": "atomic steps, ScatterView, UniqueToken",
    "scan": "parallel_scan",
    "instances": "independent queues",
    "language": "the kernel language",
    "library": "sorting, searching, histograms, random numbers",
    "programs": "published algorithms with published answers",
    "differential": "random programs against the oracle, bit by bit",
}

LEVELS = tuple(Level(n, folder, title) for n, (folder, title) in enumerate(_TITLES.items(), 1))


def level_of(nodeid: str) -> Level | None:
    """The level of a test by its node id; None for tests that are not of the suite."""
    folders = nodeid.partition("::")[0].replace("\\", "/").split("/")
    if "suite" not in folders:
        return None
    after = folders[len(folders) - folders[::-1].index("suite") :]
    return next((level for level in LEVELS if after and level.folder == after[0]), None)
