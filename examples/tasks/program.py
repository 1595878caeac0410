"""What the three programs have in common: options, settings of workers, the check, the picture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from gray_scott import FEED, KILL, Array, by_numpy

import execspace as es

# Workers import this module as well. What draws and reports is imported where that is done.

Report = Callable[[int], None]  # how much of the whole is done


class CannotRun(Exception):
    """A library is missing, or what the user asked for cannot be done; one sentence."""


class WrongResult(Exception):
    """The tasks do not give what NumPy gives."""


def parser(name: str, text: str | None, size: int, steps: int) -> argparse.ArgumentParser:
    """The options that all programs have."""
    made = argparse.ArgumentParser(
        prog=name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("--size", type=int, default=size, metavar="N", help=f"rows and columns ({size})")
    add("--steps", type=int, default=steps, metavar="N", help=f"steps in time ({steps})")
    add("--workers", type=int, default=2, metavar="N", help="processes (2)")
    add("--threads", type=int, default=1, metavar="N", help="threads of openmp in each (1)")
    add("--space", metavar="NAME", help="space of the workers (the best usable one)")
    return made


def read(made: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Add what comes last, read the command line, and refuse what makes no sense."""
    path = Path(made.prog).with_suffix(".png")
    made.add_argument(
        "--output", type=Path, default=path, metavar="PNG", help=f"picture to write ({path})"
    )
    options = made.parse_args(argv)
    for name, value in vars(options).items():
        least = 1 if isinstance(value, int) and name != "gpus" else 0
        if isinstance(value, int | float) and not value >= least:
            made.error(f"--{name}: expected a number of at least {least}, got {value}")
    for part, (most, several) in limits(options).items():
        if options.rim > most:
            made.error(
                f"--rim {options.rim}: the smallest {part} has {most} rows; take a smaller rim, or "
                f"fewer {several}"
            )
    if not options.output.absolute().parent.is_dir():
        made.error(f"--output '{options.output}': its folder does not exist")
    return options


def limits(options: argparse.Namespace) -> dict[str, tuple[int, str]]:
    """The rows of the smallest part of a field that is cut, and which option says how many."""
    if "blocks" in options:
        side = -(-options.size // options.blocks)
        return {"block": (options.size - side * (-(-options.size // side) - 1), "blocks")}
    return {"strip": (options.size // options.workers, "workers")} if "rim" in options else {}


def cut_options(made: argparse.ArgumentParser, cut: str) -> None:
    """Options of programs whose field is cut into parts."""
    add = made.add_argument
    add("--rim", type=int, default=50, metavar="N",
        help=f"cells around each {cut}, and steps between exchanges (50)")  # fmt: skip
    add("--feed", type=float, default=FEED, help=f"how fast U is fed ({FEED})")
    add("--kill", type=float, default=KILL, help=f"how fast V decays ({KILL})")


def settings(options: argparse.Namespace) -> dict[str, str]:
    """The environment of a worker: its threads, so that workers share the cores, and its space."""
    found = {"EXECSPACE_NUM_THREADS": str(options.threads)}
    if options.space:
        found["EXECSPACE_DEFAULT"] = options.space
    return found


def space_of_worker() -> str:
    """A task: where kernels run in its process."""
    space = es.default_space()
    return f"'{space.name}', concurrency {space.concurrency}"


def check(found: Array, cells: Array, steps: int, feed: float = FEED, kill: float = KILL) -> None:
    """Compare with NumPy, to the last bit."""
    expected = by_numpy(cells, steps, feed, kill)
    if found.shape != expected.shape:
        raise WrongResult(f"a field of shape {found.shape}; expected {expected.shape}")
    if not np.array_equal(found, expected):
        most = np.abs(found - expected).max()
        raise WrongResult(f"after {steps} steps the field is off by {most:.3g}")


def draw(path: Path, cells: Array, title: str, cuts: Sequence[Sequence[int]]) -> None:
    """V as a picture, with the places where the field was cut: rows, columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8), layout="constrained")  # needs no display
    axes = figure.subplots()
    show(axes, cells)
    for line, places in zip((axes.axhline, axes.axvline), cuts, strict=True):
        for place in places:
            line(place - 0.5, color="white", linewidth=0.8, linestyle="--")
    axes.set_title(title)
    figure.savefig(path, format="png", dpi=120)


def show(axes: Any, cells: Array) -> None:
    """The substance V of a field, without ticks."""
    axes.imshow(cells[1], cmap="magma", vmin=0.0, vmax=0.4, interpolation="bilinear")
    axes.set_xticks([])
    axes.set_yticks([])


@contextmanager
def reporting(total: int, what: str) -> Iterator[Report]:
    """A progress line on a terminal, nothing elsewhere."""
    from rich import progress
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        yield lambda done: None
        return
    columns = (
        progress.TextColumn(what), progress.BarColumn(40), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def run(name: str, work: Callable[[], None]) -> int:
    """Do the work; the exit status of a program, and a sentence if it went wrong."""
    try:
        work()
    except CannotRun as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except es.SpaceError as error:  # also from a worker: it arrives as it was raised there
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except WrongResult as error:
        print(f"{name}: WRONG RESULT: {error}", file=sys.stderr)
        return 1
    return 0
