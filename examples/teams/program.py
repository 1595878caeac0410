"""What the programs of this folder share: their command line, checks, and the time of a launch.

What is worth reading is in the programs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

Array = np.ndarray[Any, np.dtype[Any]]


class InputError(Exception):
    """What the user gave cannot be used; the message says why."""


class WrongResult(Exception):
    """A kernel has not computed what it should."""


@dataclass(frozen=True)
class Run:
    """One run of a program: the space, the sizes, and the teams that were asked for."""

    space: es.ExecutionSpace
    sizes: Mapping[str, int]
    team_size: int | str
    vector_length: int | str

    @property
    def on_host(self) -> bool:
        """Whether the kernels run on memory of the host, where examples are smaller."""
        return self.space.memory_space is es.HOST

    def teams(self, league_size: int) -> es.TeamPolicy:
        """A league of such teams."""
        return es.TeamPolicy(league_size, self.team_size, self.vector_length, space=self.space)

    def view(self, shape: int | tuple[int, ...], dtype: Any = es.float64) -> es.View:
        """A View of zeros, rows contiguous, so that lanes of a thread read neighbours."""
        return es.View(shape, dtype, space=self.space, layout="right")

    def copied(self, array: Array) -> es.View:
        """A View with the elements of an array."""
        view = self.view(array.shape, array.dtype)
        es.deep_copy(view, array)
        return view

    def milliseconds(self, launch: Callable[[], Any], times: int = 10) -> float:
        """The least that a launch has taken, and what waits for its end; the first compiles."""
        found = []
        for _ in range(times + 1):
            self.space.fence()
            started = time.perf_counter()
            launch()
            self.space.fence()
            found.append(time.perf_counter() - started)
        return 1e3 * min(found[1:])


def host(view: es.View) -> Array:
    """The elements of a View, copied to the host."""
    array = np.empty(view.shape, view.dtype)
    es.deep_copy(array, view)
    return array


def agree(what: str, found: Any, expected: Any, rtol: float = 0.0) -> None:
    """Raise WrongResult if something differs by more than a fraction of what is greatest in it."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise WrongResult(f"{what}: shape {found.shape}, expected {expected.shape}")
    apart = np.abs(found - expected).max(initial=0)
    if not apart <= rtol * np.abs(expected).max(initial=0):  # NaN is not, either
        raise WrongResult(f"{what}: off by {apart}, got {found}, expected {expected}")


def main(
    description: str | None,
    sizes: Mapping[str, tuple[int | None, str]],
    compute: Callable[[Run], None],
    argv: Sequence[str] | None = None,
) -> int:
    """Read the command line, run a program; return its exit status: 1 for a wrong result.

    `sizes` has defaults and texts of the options; without a default it may stay out.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--space", metavar="NAME", help="execution space, e.g. cuda (default: the best usable one)"
    )
    for name, (default, text) in sizes.items():
        if default is not None:
            text += " (default: %(default)s)"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=text)
    for name, text in (("team-size", "threads of a team"), ("vector-length", "lanes of a thread")):
        parser.add_argument(
            f"--{name}", type=_size, default="auto", metavar="N", help=f"{text} (default: auto)"
        )
    args = parser.parse_args(argv)
    given = {name: getattr(args, name) for name in sizes if getattr(args, name) is not None}
    for name, value in given.items():
        if value < 1:
            parser.error(f"--{name}: expected a number above 0, got {value}")
    try:
        space = es.default_space() if args.space is None else es.space(args.space)
        print(f"space '{space.name}'")
        compute(Run(space, given, args.team_size, args.vector_length))
    except WrongResult as error:
        print(f"{parser.prog}: WRONG RESULT: {error}", file=sys.stderr)
        return 1
    except (InputError, es.SpaceError, es.PolicyError, es.LaunchError, MemoryError) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 2
    return 0


def _size(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or auto, got {text!r}") from None
