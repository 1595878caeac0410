"""Heat in a box that ranks share: du/dt = laplacian(u), with two hot balls in a cold room.

Each rank has a part of the box, in the memory of a space of its own, and a halo of its neighbours'
cells. While halos are under way, a kernel goes through the cells that need none. Try:

    python examples/distributed/heat3d.py
    mpirun -n 4 python examples/distributed/heat3d.py --size 96 --steps 400
    EXECSPACE_DEFAULT=cuda mpirun -n 2 python examples/distributed/heat3d.py --size 512

The first rank shows progress and draws the middle of the box. With --check it repeats everything
alone and compares: the answer is the same to the bit, however many ranks there are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
import execspace_comm as escomm

SHARE = 0.9  # of the largest stable time step
PARTS = 20  # reports of a run


@es.kernel
def warm(i, j, k, u, oi, oj, ok, n):
    """Two balls of temperature 1 in a box of n cells a side."""
    x = (i + oi + 0.5) / n
    y = (j + oj + 0.5) / n
    z = (k + ok + 0.5) / n
    near = (x - 0.3) ** 2 + (y - 0.35) ** 2 + (z - 0.5) ** 2 < 0.03
    far = (x - 0.7) ** 2 + (y - 0.6) ** 2 + (z - 0.5) ** 2 < 0.015
    u[i, j, k] = 1.0 if near or far else 0.0


@es.kernel
def diffuse(i, j, k, u, v, c):
    """A step of the explicit method of Euler; the walls, which are of the halo, stay cold."""
    around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k]
    around += u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
    v[i, j, k] = u[i, j, k] + c * (around - 6.0 * u[i, j, k])


@es.kernel
def heat(i, j, k, u):
    """Contribution of a cell to the heat that is left."""
    return u[i, j, k]


@es.kernel
def temperature(i, j, k, u):
    """Of a cell."""
    return u[i, j, k]


def simulate(
    comm: escomm.Comm,
    size: int,
    steps: int,
    space: es.ExecutionSpace,
    report: Any = None,
    engine: str = "auto",
) -> tuple[escomm.Field, float]:
    """The box after some steps, and seconds for a step."""
    d = escomm.Decomposition((size, size, size), comm)
    u, v = (d.field(np.float64, halo=1, label=name, space=space) for name in ("u", "v"))
    es.parallel_for(u.range(), warm, u.view, *u.origin, size, label="warm")
    halos = [d.halo(field, reach="faces", engine=engine) for field in (u, v)]
    c = SHARE / 6
    begin = time.perf_counter()
    for step in range(steps):
        if step == 1:  # kernels are compiled
            space.fence()
            comm.barrier()
            begin = time.perf_counter()
        halos[0].parallel_for(diffuse, u.view, v.view, c, label="diffuse")
        u, v = v, u
        halos.reverse()
        if report is not None and ((step + 1) % max(1, steps // PARTS) == 0 or step + 1 == steps):
            total = comm.parallel_reduce(u.range(), heat, u.view, label="heat")
            peak = comm.parallel_reduce(u.range(), temperature, u.view, reducer=es.Max)
            report(step + 1, total / size**3, peak)
    space.fence()
    comm.barrier()
    return u, (time.perf_counter() - begin) / max(1, steps - 1)


def draw(path: Path, plane: npt.NDArray[Any], owners: npt.NDArray[Any], title: str) -> None:
    """Temperatures of a plane, and the borders between ranks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(plane.T, origin="lower", cmap="inferno", vmin=0)
    if owners.min() != owners.max():
        axes.contour(owners.T, levels=np.unique(owners)[:-1] + 0.5, colors="w", linewidths=0.8)
    axes.set(title=title, xlabel="x (cells)", ylabel="y (cells)")
    figure.colorbar(image, label="temperature")
    figure.savefig(path, dpi=120)


def owners_of(d: escomm.Decomposition) -> npt.NDArray[Any]:
    """Which rank has each cell of the plane that is drawn."""
    n = d.extents[0]
    found = np.zeros((n, n))
    for rank in range(d.comm.size):
        (x, y, z), (right, top, end) = d.box(rank)
        if z <= n // 2 < end:
            found[x:right, y:top] = rank
    return found


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=48, help="cells a side (48)")
    parser.add_argument("--steps", type=int, default=200, help="time steps (200)")
    parser.add_argument("--space", help="execution space of this program (EXECSPACE_DEFAULT)")
    parser.add_argument("--engine", choices=("auto", "mpi", "nccl"), default="auto")
    parser.add_argument("--picture", type=Path, default=Path("heat3d.png"))
    parser.add_argument("--check", action="store_true", help="compare with one rank")
    found = parser.parse_args(given)
    if found.size < 2 or found.steps < 1:
        parser.error("--size must be 2 or more, --steps 1 or more")
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Run, report and draw; 1 if the check fails."""
    asked = arguments(given)
    comm = escomm.world()
    first = comm.rank == 0
    space = es.space(asked.space) if asked.space else es.default_space()
    spaces = comm.mpi.gather(space.name)
    begin = time.perf_counter()

    def report(step: int, mean: float, peak: float) -> None:
        if first:
            seconds = time.perf_counter() - begin
            end = "\n" if step == asked.steps or not sys.stdout.isatty() else "\r"
            print(
                f"step {step:>6} of {asked.steps}: mean {mean:.6f}, peak {peak:.6f}, "
                f"{seconds:6.1f} s",
                end=end, flush=True,
            )  # fmt: skip

    u, seconds = simulate(comm, asked.size, asked.steps, space, report, asked.engine)
    d = u.decomposition
    middle = escomm.gather_field(u, (slice(None), slice(None), asked.size // 2))
    if first:
        cells = asked.size**3 / seconds / 1e6
        listed = ", ".join(dict.fromkeys(spaces or ()))
        print(f"{comm.size} ranks as {' x '.join(map(str, d.ranks))} on {listed}")
        print(f"{seconds * 1e3:.3f} ms a step, {cells:,.1f} million cells a second")
        assert middle is not None
        draw(
            asked.picture, middle, owners_of(d),
            f"{asked.size}³ cells, {asked.steps} steps, {comm.size} ranks",
        )  # fmt: skip
        print(f"picture: {asked.picture}")
    return check(comm, u, asked, space) if asked.check else 0


def check(
    comm: escomm.Comm, u: escomm.Field, asked: argparse.Namespace, space: es.ExecutionSpace
) -> int:
    """Compare with the answer of one rank, which the first one computes."""
    whole = escomm.gather_field(u)
    alone = comm.split(0 if comm.rank == 0 else None)
    same = True
    if alone is not None:
        one, _ = simulate(alone, asked.size, asked.steps, space)
        same = bool((one.own.to_numpy() == whole).all())
        print("the same as one rank, to the bit" if same else "not the same as one rank")
    return int(not comm.mpi.bcast(same))


if __name__ == "__main__":
    sys.exit(main())
