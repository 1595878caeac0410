"""Solvers of execspace_kernels on Poisson's equation in a cube, with and without preconditioners.

    python examples/poisson_solvers.py
    python examples/poisson_solvers.py --extent 64 --space cuda --output poisson.png

The equation is -div(k grad u) = 1 with u = 0 on the boundary, and a k that jumps by `--contrast`
from cell to cell. Jacobi's preconditioner is written here; the other one is a polynomial of
Chebyshev's. The picture has the residuals of all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

import execspace as es
from execspace_kernels import solvers, sparse

SOLVERS = ("cg", "bicgstab", "gmres", "chebyshev")
PRECONDITIONERS = ("none", "jacobi", "polynomial")
Report = Callable[[str, int, float], None]


@es.kernel
def divide(i, weights, r, z):
    """Jacobi's preconditioner."""
    z[i] = weights[i] * r[i]


@es.kernel
def inverse(i, values, weights):
    """What it divides by, once."""
    weights[i] = 1.0 / values[i]


class Jacobi:
    """z = r / diagonal of A."""

    def __init__(self, A: sparse.CrsMatrix) -> None:
        diagonal = sparse.diagonal(A)
        self.weights = es.zeros_like(diagonal)
        es.parallel_for(diagonal.shape[0], inverse, diagonal, self.weights)

    def apply(self, r: es.View, *, out: es.View) -> es.View:
        """What solvers call; it launches, so it can be recorded."""
        es.parallel_for(r.shape[0], divide, self.weights, r, out)
        return out


def poisson(extent: int, contrast: float, space: es.ExecutionSpace) -> sparse.CrsMatrix:
    """The 7-point stencil of a cube of so many points along an edge."""
    n = extent**3
    k = np.where(np.random.default_rng(1).random((extent + 2,) * 3) < 0.5, 1.0, contrast)
    inner = (slice(1, -1),) * 3
    number = np.full((extent + 2,) * 3, -1)
    number[inner] = np.arange(n).reshape((extent,) * 3)
    rows, columns, values = [number[inner].ravel()], [number[inner].ravel()], [np.zeros(n)]
    for axis in range(3):
        for step in (-1, 1):
            other = np.roll(number, -step, axis)[inner].ravel()
            mean = 2 * k * np.roll(k, -step, axis) / (k + np.roll(k, -step, axis))
            weight = mean[inner].ravel()
            values[0] += weight  # of the diagonal
            there = other >= 0
            rows.append(rows[0][there])
            columns.append(other[there])
            values.append(-weight[there])
    parts = (np.concatenate(part) for part in (rows, columns, values))
    row, column, value = (es.array(part, space=space) for part in parts)
    return sparse.CooMatrix(row, column, value, (n, n)).to_crs()


@dataclass(frozen=True)
class Outcome:
    """What a solver did with a preconditioner."""

    name: str
    solution: solvers.Solution
    seconds: float


def solve_all(
    A: sparse.CrsMatrix, rtol: float, most: int, chosen: Sequence[str], report: Report
) -> list[Outcome]:
    """Each solver with each preconditioner that it takes."""
    b = es.ones(A.shape[0])
    made: dict[str, Any] = {
        "none": None, "jacobi": Jacobi(A), "polynomial": solvers.Chebyshev(A, degree=4),
    }  # fmt: skip
    found = []
    for method in chosen:
        for preconditioner in PRECONDITIONERS:
            if method == "chebyshev" and preconditioner == "polynomial":
                continue  # a polynomial of a polynomial of the same kind
            name = method if preconditioner == "none" else f"{method}, {preconditioner}"

            def tell(iteration: int, norm: float, name: str = name) -> None:
                report(name, iteration, norm)

            M = made[preconditioner]
            started = perf_counter()
            solution = getattr(solvers, method)(
                A, b, M=M, rtol=rtol, max_iterations=most, callback=tell, check_every=10
            )
            found.append(Outcome(name, solution, perf_counter() - started))
    return found


def draw(outcomes: Sequence[Outcome], title: str, path: Path) -> None:
    """Write the residuals of all, as a PNG."""
    figure = Figure(figsize=(9, 5.5), layout="constrained")  # needs no display
    axes = figure.subplots()
    for outcome in outcomes:
        outcome.solution.plot(axes, outcome.name)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, format="png", dpi=150)


def table(outcomes: Sequence[Outcome], title: str) -> Table:
    """Iterations and times, compilers and all that is done once included."""
    made = Table("solver", "iterations", "seconds", "||r|| / ||b||", "ended", title=title)
    for outcome in outcomes:
        solution = outcome.solution
        made.add_row(
            outcome.name, str(solution.iterations), f"{outcome.seconds:.3f}",
            f"{solution.history[-1] / solution.history[0]:.1e}", solution.reason,
        )  # fmt: skip
    return made


@contextmanager
def reporting(console: Console, most: int) -> Iterator[Report]:
    """A progress bar on a terminal, nothing elsewhere."""
    if not console.is_terminal:
        yield lambda name, iteration, norm: None
        return
    columns = BarColumn(30), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=most)
        yield lambda name, iteration, norm: bar.update(
            task, completed=iteration, description=f"{name}: {iteration}, ||r|| = {norm:.1e}"
        )


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="poisson_solvers.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--extent", type=int, default=16, metavar="N", help="points along an edge (16)")
    add("--contrast", type=float, default=100.0, help="by how much k jumps (100)")
    add("--rtol", type=float, default=1e-8, help="of the residual (1e-8)")
    add("--most", type=int, default=2000, metavar="N", help="iterations at most (2000)")
    add("--solver", action="append", choices=SOLVERS, help="one of them; all if not given")
    add("--space", metavar="NAME", help="execution space (the best usable one)")
    add("--output", type=Path, default=Path("poisson.png"), metavar="PNG",
        help="picture to write (poisson.png)")  # fmt: skip
    options = parser.parse_args(argv)
    for name in ("extent", "contrast", "rtol", "most"):
        if not getattr(options, name) > 0:
            parser.error(f"--{name}: expected a number above 0, got {getattr(options, name)}")
    if not options.output.absolute().parent.is_dir():
        parser.error(f"--output '{options.output}': its folder does not exist")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Solve, tell, draw; 1 if one has not converged."""
    options = parse_arguments(argv)
    console = Console(markup=False, highlight=False)
    try:
        space = es.space(options.space) if options.space else es.default_space()
    except es.SpaceError as error:
        print(f"poisson_solvers.py: error: {error}", file=sys.stderr)
        return 2
    with es.use_space(space):
        A = poisson(options.extent, options.contrast, space)
        with reporting(console, options.most) as report:
            outcomes = solve_all(A, options.rtol, options.most, options.solver or SOLVERS, report)
    title = f"Poisson's equation, {options.extent}^3 points, contrast {options.contrast:g}"
    console.print(table(outcomes, f"{title}, on '{space.name}'"))
    draw(outcomes, title, options.output)
    console.print(f"wrote {options.output}")
    return int(not all(outcome.solution.converged for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
