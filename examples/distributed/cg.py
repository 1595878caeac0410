"""Conjugate gradients for a matrix of which each rank has some rows.

The matrix is that of Poisson's equation in a cube, by 7 or 27 points, or one of a file of the
Matrix Market. Each rank makes or reads its rows, in memory of a space of its own; elements of
vectors that it needs of others are under way while it multiplies with those that it has. Try:

    python examples/distributed/cg.py
    mpirun -n 4 python examples/distributed/cg.py --size 48 --preconditioner polynomial
    mpirun -n 4 python examples/distributed/cg.py --matrix bcsstk16.mtx --preconditioner jacobi
    EXECSPACE_DEFAULT=cuda mpirun -n 2 python examples/distributed/cg.py --size 256

The right-hand side is that of a solution which is known, and the program fails if it finds another
one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
import execspace_comm as escomm
import execspace_kernels as kernels
from execspace_comm import sparse

PRECONDITIONERS = ("none", "jacobi", "ilu", "polynomial")
EVERY = 10  # iterations between two lines of progress


@es.kernel
def known(i, x, first):
    """A solution that is no eigenvector: element i + first of a wave with some drift."""
    at = i + first
    x[i] = np.sin(0.37 * at) + 0.001 * (at % 1000) + 1.0


@es.kernel
def distance(i, x, y):
    """How far two vectors are apart, and how large the second one is."""
    return abs(x[i] - y[i]), abs(y[i])


def stencil(
    size: int, points: int
) -> Callable[[int, int], tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]:
    """What makes rows of the Laplacian of a cube of so many points a side."""
    steps = [
        (i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)
        if points == 27 or abs(i) + abs(j) + abs(k) <= 1
    ]  # fmt: skip

    def rows(begin: int, end: int) -> Any:
        here = np.arange(begin, end)
        at = np.stack(np.unravel_index(here, (size,) * 3), axis=1)
        near = at[:, None, :] + np.array(steps)
        inside = ((near >= 0) & (near < size)).all(axis=2)
        columns = (near[..., 0] * size + near[..., 1]) * size + near[..., 2]
        values = np.broadcast_to(
            [points - 1.0 if step == (0, 0, 0) else -1.0 for step in steps], inside.shape
        )
        row_map = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        return row_map.astype(np.int64), columns[inside], values[inside]

    return rows


def preconditioner(name: str, A: sparse.DistributedCrsMatrix) -> Any:
    """The one that is asked for: of the rows of a rank alone, but for the polynomial."""
    if name == "jacobi":
        return kernels.sparse.Jacobi(A.own, space=A.space)
    if name == "ilu":
        return kernels.sparse.Ilu(A.own, space=A.space)
    if name == "polynomial":
        return kernels.solvers.Chebyshev(A, degree=4, space=A.space)
    return None


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=24, help="points of an edge (24)")
    parser.add_argument("--points", type=int, choices=(7, 27), default=27, help="of the stencil")
    parser.add_argument("--matrix", type=Path, help="a file of the Matrix Market in its place")
    parser.add_argument("--preconditioner", choices=PRECONDITIONERS, default="none")
    parser.add_argument("--rtol", type=float, default=1e-10, help="of the residual (1e-10)")
    parser.add_argument("--most", type=int, help="iterations (10 for each row, at most 10000)")
    parser.add_argument(
        "--in-order", action="store_true", help="sum rows as one rank does, without overlap"
    )
    parser.add_argument("--space", help="execution space of this program (EXECSPACE_DEFAULT)")
    parser.add_argument("--engine", choices=("auto", "mpi", "nccl"), default="auto")
    found = parser.parse_args(given)
    if found.size < 1 or not 0 < found.rtol < 1:
        parser.error("--size must be 1 or more, --rtol between 0 and 1")
    return found


def made(asked: argparse.Namespace, space: es.ExecutionSpace) -> sparse.DistributedCrsMatrix:
    """The matrix."""
    options: dict[str, Any] = {
        "space": space, "engine": asked.engine, "overlap": not asked.in_order,
    }  # fmt: skip
    if asked.matrix is not None:
        return sparse.from_matrix_market(asked.matrix, **options)
    return sparse.from_function(stencil(asked.size, asked.points), asked.size**3, **options)


def main(given: Sequence[str] | None = None) -> int:
    """Solve and report; 1 if the solution is not the known one."""
    asked = arguments(given)
    comm = escomm.world()
    first = comm.rank == 0
    space = es.space(asked.space) if asked.space else es.default_space()
    spaces = comm.mpi.gather(space.name)
    with es.use_space(space):
        A = made(asked, space)
        exact = es.zeros(A.rows.size)
        es.parallel_for(A.rows.size, known, exact, A.rows.lower)
        b = A @ exact
        M = preconditioner(asked.preconditioner, A)
        entries, sent = comm.mpi.allreduce(A.nnz), comm.mpi.allreduce(A.sends)
        if first:
            assert spaces is not None
            listed = ", ".join(dict.fromkeys(spaces))
            print(f"{comm.size} ranks on {listed}, messages by {A.engine}")
            print(f"{A.shape[0]} rows, {entries} entries, {sent} elements sent for a product")
        solver = kernels.solvers.prepare("cg", A, b, M=M, space=A.space)
        # Kernels are compiled, and an iteration is recorded, before time is taken.
        solver.solve(b, rtol=0.5, max_iterations=asked.most)
        begin = time.perf_counter()

        def progress(iteration: int, norm: float) -> None:
            if iteration % EVERY == 0 and sys.stdout.isatty():
                print(f"iteration {iteration:>5}: residual {norm:.3e}", end="\r", flush=True)

        solution = solver.solve(
            b, rtol=asked.rtol, max_iterations=asked.most, callback=progress if first else None
        )
        seconds = time.perf_counter() - begin
        apart, most = comm.parallel_reduce(
            es.RangePolicy(A.rows.size), distance, solution.x, exact, reducer=(es.Max, es.Max)
        )
    if first:
        if sys.stdout.isatty():
            print(" " * 60, end="\r")  # where progress was
        print(
            f"{solution.iterations} iterations, residual {solution.history[-1]:.3e} of "
            f"{solution.history[0]:.3e}: {solution.reason}"
        )
        print(f"{seconds:.3f} s, {seconds / max(1, solution.iterations) * 1e3:.3f} ms an iteration")
        print(f"farthest from the solution: {apart:.3e} of {most:.3e}")
    # What rtol allows grows by the condition number, which is some size**2 for the cube.
    allowed = 1e-3 if asked.matrix is not None else asked.rtol * 10 * asked.size**2
    good = bool(solution.converged and apart <= max(allowed, 1e-12) * most)
    if first and not good:
        print(f"this is not the solution: {solution.reason}, and {allowed:.1e} was wanted")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
