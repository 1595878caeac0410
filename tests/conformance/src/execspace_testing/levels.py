"""The levels of the suite: what a backend author gets to work first, and what builds on it.

Each level is a folder of the suite. A space passes level N if all levels up to N pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path


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
    "atomics": "atomic operations, ScatterView, UniqueToken",
    "scan": "parallel_scan",
    "instances": "independent queues",
    "language": "the kernel language",
    "teams": "nested ranges, scratch, barriers, collectives",
    "library": "algorithms, containers, random numbers, special functions",
    "graphs": "graphs of launches and copies",
    "programs": "published algorithms with published answers",
    "differential": "random programs against the oracle, bit by bit",
    "comm": "messages and fields over ranks, of MPI",
}

LEVELS = tuple(Level(n, folder, title) for n, (folder, title) in enumerate(_TITLES.items(), 1))


SUITE = Path(__file__).parent / "suite"


@cache
def place_in_suite(path: Path) -> str | None:
    """A test file's path below the suite, with slashes; None for files that are not of it."""
    try:
        return path.resolve().relative_to(SUITE.resolve()).as_posix()
    except ValueError:
        return None


def level_of(path: Path) -> Level | None:
    """The level of a test by its file; None for tests that are not of the suite."""
    folder = (place_in_suite(path) or "").partition("/")[0]
    return next((level for level in LEVELS if level.folder == folder), None)


def level_of_name(nodeid: str) -> Level | None:
    """The level of a test of which only the name is known."""
    return _level_of_file(nodeid.partition("::")[0].replace("\\", "/"))


@cache
def _level_of_file(name: str) -> Level | None:
    *folders, file = name.split("/")
    found = [p for p in SUITE.rglob(file) if not folders or p.parent.name == folders[-1]]
    return level_of(found[0]) if len(found) == 1 else None
