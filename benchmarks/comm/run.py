"""Messages between ranks, halos, a stencil and joins, beside NCCL's and MPI's own calls.

    mpiexec -n 2 python -m benchmarks.comm.run [--size N] [--json FILE]
    EXECSPACE_DEFAULT=cuda mpiexec -n 2 python -m benchmarks.comm.run --json two.json

Every rank has a cube of so many cells a side of its own, so the time of a step on one rank and on
several is that of weak scaling. The link is what the engine itself moves at once in both
directions, in messages as large as a face. Medians of seven turns, in which contestants alternate.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
import execspace_comm as escomm

TURNS = 7


@es.kernel
def heat(i, j, k, u, v, c):
    around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k]
    around += u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
    v[i, j, k] = u[i, j, k] + c * (around - 6.0 * u[i, j, k])


class Clock:
    """Times calls on all ranks: the slowest rank counts."""

    def __init__(self, comm: escomm.Comm, space: es.ExecutionSpace) -> None:
        self.comm, self.space = comm, space

    def once(self, call: Callable[[], Any], times: int) -> float:
        self.space.fence()
        self.comm.barrier()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        self.space.fence()
        mine = (time.perf_counter() - begin) / times * 1e6
        return max(self.comm.mpi.allgather(mine))

    def paired(self, calls: dict[str, Callable[[], Any]], times: int) -> dict[str, float]:
        """Median microseconds of each."""
        for call in calls.values():
            for _ in range(max(20, times // 5)):
                call()
        turns = [
            {name: self.once(call, times) for name, call in calls.items()} for _ in range(TURNS)
        ]
        return {name: round(float(np.median([t[name] for t in turns])), 2) for name in calls}


def link(clock: Clock, space: Any, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Both directions at once between neighbours in a ring."""
    comm = clock.comm
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    found = []
    for size in sizes:
        a, b = (es.View(size, np.uint8, space=space) for _ in range(2))
        if nccl_of(comm, space) is not None:
            from cupy.cuda import nccl as library

            raw = nccl_of(comm, space)._nccl

            def call(a: Any = a, b: Any = b, size: int = size) -> None:
                library.groupStart()
                raw.send(a.data_ptr, size, library.NCCL_UINT8, after, space.stream)
                raw.recv(b.data_ptr, size, library.NCCL_UINT8, before, space.stream)
                library.groupEnd()

            name = "nccl"
        elif a.memory_space.host_accessible:
            x, y = np.asarray(a), np.asarray(b)

            def call(x: Any = x, y: Any = y) -> None:
                comm.mpi.Sendrecv(x, after, 0, y, before, 0)

            name = "mpi"
        else:
            return []
        us = clock.paired({name: call}, 20 if size > 1 << 26 else 100)[name]
        found.append({"bytes": size, "by": name, "us": us, "GB/s": round(size / us / 1e3, 2)})
    return found


def nccl_of(comm: escomm.Comm, space: Any) -> Any:
    """NCCL's communicator, where there is one."""
    from execspace_comm.engines import nccl_reason

    key = "_benchmark"
    if not hasattr(space, key):
        reason = nccl_reason(comm, space)
        setattr(space, key, None if reason else comm.nccl(space))
    return getattr(space, key)


def halos(clock: Clock, space: Any, n: int, layout: str) -> dict[str, Any]:
    """An exchange, a step, and a step without ranks, of a cube for each rank."""
    comm = clock.comm
    grid = (comm.size, 1, 1) if layout == "right" else (1, 1, comm.size)
    d = escomm.Decomposition([n * g for g in grid], comm, ranks=grid)
    u, v = (d.field(halo=1, space=space, label=name, layout=layout) for name in "uv")
    u.view.fill(1.0)
    v.view.fill(1.0)
    halo = d.halo(u, reach="faces")
    policy = u.range()
    times = 30 if n > 100 else 100
    exchanges = {"exchange": halo.exchange, "start, finish": lambda: (halo.start(), halo.finish())}
    if halo.engine == "nccl" and comm.size > 1:
        by_mpi = d.halo(u, reach="faces", engine="mpi")
        exchanges["exchange by mpi"] = by_mpi.exchange
    steps = {
        "kernel": lambda: es.parallel_for(policy, heat, u.view, v.view, 0.1),
        "step": lambda: halo.parallel_for(heat, u.view, v.view, 0.1),
    }
    return {
        "layout": layout, "cells a side": n, "halo": repr(halo), "bytes": halo.nbytes,
        "us": clock.paired(exchanges, 100) | clock.paired(steps, times),
    }  # fmt: skip


def joins(clock: Clock, space: Any) -> dict[str, float]:
    """One double joined over ranks."""
    comm = clock.comm
    x, y = es.ones(1, space=space), es.ones(1, space=space)
    calls: dict[str, Callable[[], Any]] = {"Comm.allreduce": lambda: comm.allreduce(x, y)}
    found = nccl_of(comm, space)
    if found is not None:
        from cupy.cuda import nccl as library

        raw = found._nccl
        arguments = x.data_ptr, y.data_ptr, 1, library.NCCL_FLOAT64, library.NCCL_SUM, space.stream
        calls["NCCL's own"] = lambda: raw.allReduce(*arguments)
        calls["NcclComm.allreduce"] = lambda: found.allreduce(x, y)
        calls["NCCL's own, waited for"] = lambda: (raw.allReduce(*arguments), space.fence())
        calls["NcclComm.allreduce, waited for"] = lambda: (found.allreduce(x, y), space.fence())
    else:
        one, two = np.ones(1), np.ones(1)
        calls["MPI's own"] = lambda: comm.mpi.Allreduce(one, two)
    return clock.paired(calls, 200)


def solver(clock: Clock, space: Any, n: int) -> dict[str, Any]:
    """An iteration of CG for the seven-point Laplacian, with n^3 rows on each rank: of a system of
    all ranks, and of one of each rank, in turns.

    "submitted" is the time that the host takes for an iteration, of ten that it does not wait for.
    """
    from mpi4py import MPI

    from execspace_comm import sparse
    from execspace_kernels import solvers

    from .poisson import rows_of

    comm, own = clock.comm, n**3
    b = es.ones(own, space=space)
    handles = {}
    for name, ranks in (("alone", escomm.Comm(MPI.COMM_SELF)), ("together", comm)):
        extents = (n * ranks.size, n, n)
        arrays = rows_of(extents, own * ranks.rank, own * (ranks.rank + 1))
        A = sparse.DistributedCrsMatrix(*arrays, comm=ranks, space=space)
        handles[name] = solvers.prepare("cg", A, b, space=space)
    turns: dict[str, list[float]] = {name: [] for name in handles}
    for turn in range(TURNS + 1):
        for name, handle in handles.items():
            few, many = (
                clock.once(lambda k=k, h=handle: h.solve(b, rtol=0.0, max_iterations=k), 1)
                for k in (20, 120)
            )
            if turn:
                turns[name].append((many - few) / 100)
    medians = {name: float(np.median(each)) for name, each in turns.items()}
    submitted = {name: _submitted(clock, handle, b) for name, handle in handles.items()}
    return {
        "rows of a rank": own, "engine": A.engine,
        "us of an iteration": {name: round(us, 1) for name, us in medians.items()},
        "alone / together": round(medians["alone"] / medians["together"], 3),
        "us, submitted": submitted,
    }  # fmt: skip


def _submitted(clock: Clock, handle: Any, b: es.View) -> float:
    solver, found = handle._solver, []
    for _ in range(TURNS):
        solver.state.clear(10)
        solver.begin(b, None, 0.0, 0.0)
        clock.space.fence()
        clock.comm.barrier()
        begin = time.perf_counter()
        for _ in range(10):
            solver.advance()
        found.append((time.perf_counter() - begin) / 10 * 1e6)
        clock.space.fence()
    return round(max(clock.comm.mpi.allgather(float(np.median(found)))), 1)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, help="cells a side: 512 on devices, 64 on hosts")
    parser.add_argument(
        "--rows", type=int, nargs="+", help="of CG, a side: 128 to 320 on devices, 32 on hosts"
    )
    parser.add_argument("--only", nargs="*", default=["link", "halos", "joins", "solver"])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(given)
    comm, space = escomm.world(), es.default_space()
    clock = Clock(comm, space)
    device = not space.memory_space.host_accessible
    n = asked.size or (512 if device else 64)
    found: dict[str, Any] = {
        "ranks": comm.size, "space": space.name,
        "device": getattr(space, "description", platform.processor()),
        "mpi": comm.mpi.Get_name() and _library(),
    }  # fmt: skip
    if "link" in asked.only and comm.size > 1:
        face = (n + 2) ** 2 * 8
        large = (1 << 26, 1 << 30) if device else (1 << 22,)
        found["link"] = link(clock, space, (8, face, 2 * face, 4 * face, *large))
    if "halos" in asked.only:
        found["halos"] = [halos(clock, space, n, layout) for layout in ("right", "left")]
    if "joins" in asked.only:
        found["one double joined, us"] = joins(clock, space)
    if "solver" in asked.only:
        sides = asked.rows or ((128, 192, 256, 320) if device else (32,))
        found["cg"] = [solver(clock, space, n) for n in sides]
    if comm.rank == 0:
        text = json.dumps(found, indent=1)
        print(text)
        if asked.json:
            asked.json.write_text(text + "\n")
    return 0


def _library() -> str:
    from mpi4py import MPI

    return " ".join(MPI.Get_library_version().partition("\n")[0].split(",")[0].split()).strip("\0")


if __name__ == "__main__":
    sys.exit(main())
