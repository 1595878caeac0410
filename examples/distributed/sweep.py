"""One simulation for each of many parameters, on ranks that wait for calls: mpi4py.futures.

The first rank has the program, and gives each parameter to whichever rank is free; the others run
kernels on spaces of their own. There are no messages to write. Try:

    mpirun -n 4 python -m mpi4py.futures examples/distributed/sweep.py
    EXECSPACE_DEFAULT=cuda mpirun -n 3 python -m mpi4py.futures examples/distributed/sweep.py

Without `mpirun` it runs in this process alone. A notebook has such ranks if it is started by them:
`mpirun -n 4 python -m mpi4py.futures -m jupyter lab`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import execspace as es


class Cooled(NamedTuple):
    """What became of a bar: how fast heat flowed, steps until half of it was gone, and where."""

    diffusivity: float
    steps: int
    space: str


@es.kernel
def flow(i, u, v, share):
    """A step of the explicit method of Euler; the ends of the bar are kept at 0."""
    v[i] = u[i] + share * (u[i - 1] - 2 * u[i] + u[i + 1])


@es.kernel
def heat(i, u):
    """Of a cell."""
    return u[i]


def cool(diffusivity: float, cells: int = 200) -> Cooled:
    """A bar of length 1 and temperature 1, until half of its heat is gone. Runs on a worker:
    numbers, arrays of NumPy and kernels travel between ranks, Views stay where they are."""
    u, v = es.zeros(cells + 2), es.zeros(cells + 2)
    inside = es.RangePolicy(1, cells + 1)
    es.subview(u, slice(1, cells + 1)).fill(1.0)
    share = diffusivity * 2e-5 * cells**2
    if not share < 0.5:
        raise ValueError(f"diffusivity {diffusivity}: expected less than {0.5 / 2e-5 / cells**2}")
    steps = 0
    while steps % 20 or es.parallel_reduce(inside, heat, u) > cells / 2:
        es.parallel_for(inside, flow, u, v, share)
        u, v = v, u
        steps += 1
    return Cooled(diffusivity, steps, es.default_space().name)


def sweep(diffusivities: Sequence[float]) -> list[Cooled]:
    """Bars of these, by ranks that wait for calls, or by this one where it is alone."""
    from mpi4py import MPI

    if MPI.COMM_WORLD.size == 1:
        return [cool(each) for each in diffusivities]
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        return list(pool.map(cool, diffusivities))


def main(given: Sequence[str] | None = None) -> int:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=8, help="of parameters (8)")
    asked = parser.parse_args(given)
    if asked.count < 1:
        parser.error("--count must be 1 or more")
    print(f"{'diffusivity':>12} {'time until half is gone':>24}  space")
    for bar in sweep([float(d) for d in np.linspace(0.1, 0.5, asked.count)]):
        print(f"{bar.diffusivity:>12.3f} {bar.steps * 2e-5:>24.4f}  {bar.space}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
