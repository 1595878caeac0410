"""Messages and bytes on up to 100,000 ranks, and what they cost: a model, and its check by counts.

    mpiexec -n 7 python -m benchmarks.comm.model --check
    python -m benchmarks.comm.model --svg docs/comm-model.svg --json FILE

Each GPU has 512^3 cells. Counts are exact: they come from the arithmetic that makes the messages,
and `--check` compares them with what is counted on the ranks that there are. Times are a model:
measured times of one GPU, and a latency and a bandwidth for each message, which are assumptions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
import execspace_comm as escomm
from execspace_comm.folding import GROUP

CELLS = 512
KERNEL = 615e-6  # seconds of a step of the stencil on an H200, measured: results/h200x2-comm.json
CG_PASSES = (
    4.7  # an iteration of CG moves so many times the bytes of a step: matrix-free, 10 vectors
)
LATENCY = 5e-6  # of a message between hosts with InfiniBand, assumed
BANDWIDTH = 45e9  # bytes a second of a GPU's adapter in each direction, NDR, assumed
LAUNCH = 12e-6  # of an operation of NCCL, measured
RANKS = [1, 8, 64, 512, 4096, 32768, 97336]  # cubes, so that boxes are cubes


def largest(size: int) -> escomm.HaloTraffic:
    """What the busiest of so many ranks sends in an exchange of the stencil."""
    side = round(size ** (1 / 3))
    extents, grid = (CELLS * side,) * 3, (side,) * 3
    middle = side // 2
    rank = (middle * side + middle) * side + middle
    return escomm.halo_traffic(extents, size, rank=rank, ranks=grid, reach="faces")


def gathered(size: int) -> tuple[int, int]:
    """Steps and bytes of a join of one number over so many ranks, by groups."""
    steps, nbytes = 0, 0
    while size > 1:
        group = min(size, GROUP)
        steps += ceil(log2(group)) * (2 if size > GROUP else 1)  # and back, where there are groups
        nbytes += 16 * group
        size = ceil(size / GROUP) if size > GROUP else 1
    return steps, nbytes


def row(size: int) -> dict[str, Any]:
    """Counts and times of a step and of an iteration on so many ranks."""
    halo = largest(size)
    messages = LAUNCH * (size > 1) + LATENCY * (size > 1) + halo.nbytes / BANDWIDTH
    steps, nbytes = gathered(size)
    join = steps * LATENCY + nbytes / BANDWIDTH
    return {
        "ranks": size, "messages": halo.messages, "bytes": halo.nbytes,
        "stencil": KERNEL, "halo": messages, "step, overlapped": max(KERNEL, messages),
        "cg kernels": CG_PASSES * KERNEL, "joins": 2 * join,
        "iteration": max(CG_PASSES * KERNEL, messages) + 2 * join,
    }  # fmt: skip


def checked(comm: escomm.Comm) -> int:
    """Compare counts of exchanges with the arithmetic, for several shapes; 1 if they differ."""
    cases: list[tuple[tuple[int, ...], Any, str, int]] = [
        ((40, 30, 20), False, "faces", 1), ((13, 11), True, "corners", 2),
        ((17,), True, "faces", 1), ((6, 5, 4, 3), (True, False, True, False), "edges", 1),
    ]  # fmt: skip
    same = True
    for extents, periodic, reach, width in cases:
        d = escomm.Decomposition(extents, comm, periodic=periodic)
        u = d.field(halo=width, space="serial")
        halo = d.halo(u, reach=reach)
        with comm.counting() as traffic:
            halo.exchange()
        told = escomm.halo_traffic(
            extents, comm.size, rank=comm.rank, halo=width, periodic=periodic, reach=reach
        )
        counted = traffic.total_messages, traffic.total_bytes
        same = same and counted == (told.messages, told.nbytes)
        everyone = comm.mpi.gather((counted, (told.messages, told.nbytes)))
        if comm.rank == 0:
            print(f"{extents} {reach}: counted and computed, for each rank: {everyone}")
    with comm.counting() as traffic:
        comm.parallel_reduce(es.RangePolicy(3, space="serial"), lambda i: 1.0)
    same = same and dict(traffic.collectives) == {"parallel_reduce": 1}
    same = all(comm.mpi.allgather(same))
    if comm.rank == 0:
        print("all counts are as computed" if same else "counts differ")
    return int(not same)


def draw(path: Path, rows: list[dict[str, Any]]) -> None:
    """Times by number of ranks."""
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "execspace"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    ranks = [r["ranks"] for r in rows]
    lines = {
        "iteration": ("CG, an iteration", "C3-o"), "cg kernels": ("its kernels", "C3:"),
        "joins": ("its two joins", "C1-s"), "step, overlapped": ("stencil, a step", "C0-o"),
        "halo": ("its halo, in 6 messages", "C2-^"),
    }  # fmt: skip
    for key, (label, style) in lines.items():
        axes.plot(ranks, np.array([r[key] for r in rows]) * 1e6, style, label=label, markersize=4)
    axes.set(
        xscale="log", yscale="log", xlabel="GPUs, 512³ cells each", ylabel="µs (model)",
        title="What limits: joins of CG, from some 10⁴ GPUs on",
    )  # fmt: skip
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main(given: Sequence[str] | None = None) -> int:
    """Print the table; or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="count on the ranks of this program")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(given)
    if asked.check:
        return checked(escomm.Comm(checked=False))
    rows = [row(size) for size in RANKS]
    for r in rows:
        print(
            f"{r['ranks']:>6} ranks: {r['messages']} messages, {r['bytes'] / 1e6:5.1f} MB; stencil "
            f"{r['step, overlapped'] * 1e6:7.1f} us, halo {r['halo'] * 1e6:6.1f} us; CG "
            f"{r['iteration'] * 1e6:7.1f} us, of which joins {r['joins'] * 1e6:6.1f} us"
        )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    if asked.svg:
        draw(asked.svg, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
