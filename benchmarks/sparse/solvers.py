"""An iteration of conjugate gradients, beside SciPy's on hosts and CuPy's on CUDA.

    python -m benchmarks.sparse.solvers [--space NAME ...] [--extent N] [--json FILE]

The matrix is the 27-point stencil of a cube, 26 on the diagonal and -1 beside it. "over bytes" is
the time over what the bytes of an iteration take at the rate of a triad of the same run, whose
vectors are as large as the matrix.
"""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.machine import describe, device_of
from benchmarks.common.optional import cupy_on_device, library
from benchmarks.common.turns import Contestant, Maker, over, peers_of, take_turns
from execspace_kernels import solvers, sparse

from .matrices import Arrays, of_cupy, of_scipy, stencil
from .run import DEVICES

ITERATIONS = 40
TRIAD = "triad"


@es.kernel
def triad(i, s, a, b, c):
    a[i] = b[i] + s * c[i]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--extent", type=int, default=128, help="points along an edge of the cube (128)")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--quick", action="store_true", help="a small cube, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    extent = 6 if options.quick else options.extent
    arrays = laplacian(extent)
    results = {}
    for name in options.space or usable:
        found = results[name] = measure(es.space(name), arrays, options.rounds)
        Console().print(_table(f"{name}: CG, 27 points, {extent}^3", found))
    if options.json is not None:
        record = {
            "format": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(", ".join(results), 0, None),
            "devices": {name: device_of(es.space(name)) for name in results},
            "extent": extent,
            "results": results,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    wrong = [
        f"{name}, {who}: {found['error']}"
        for name, outcome in results.items()
        for who, found in outcome.items()
        if "error" in found and not found["peer"]
    ]
    for line in wrong:
        print(line)
    return int(bool(wrong))


def laplacian(extent: int) -> Arrays:
    """The matrix, by rows."""
    row_map, entries, values, shape = stencil((extent,) * 3, 27)
    values[:] = -1.0
    values[entries == np.repeat(np.arange(shape[0]), np.diff(row_map))] = 26.0
    return row_map, entries, values, shape


def measure(space: es.ExecutionSpace, arrays: Arrays, rounds: int) -> dict[str, Any]:
    """Times of an iteration of all who take part, and what they are over."""
    b = np.random.default_rng(1).random(arrays[3][0])
    makers: dict[str, Maker] = {
        TRIAD: partial(_triad, space, arrays),
        "execspace": partial(_ours, space, arrays, b, "auto"),
        "execspace, apply": partial(_ours, space, arrays, b, "apply"),
        "execspace, fused": partial(_ours, space, arrays, b, "fused"),
    }
    if space.name.partition(":")[0] == "cuda":
        makers["CuPy"] = partial(_cupy, arrays, b)
    elif space.name.partition(":")[0] not in DEVICES:
        makers["SciPy"] = partial(_scipy, arrays, b)
    peers = [who for who in makers if not who.startswith(("execspace", TRIAD))]
    found = take_turns(makers, rounds, calls=1, peers=peers)
    rate = found[TRIAD].get("bytes", 0) / found[TRIAD].get("ms", np.nan)
    for own in found.values():
        if "ms" in own and "bytes" in own:
            own["GB/s"] = own["bytes"] / own["ms"] / 1e6
            own["over_bytes"] = own["ms"] * rate / own["bytes"]
    return found


def _triad(space: es.ExecutionSpace, arrays: Arrays) -> Contestant:
    n = max(arrays[2].size // 2, 1)
    a, b, c = (es.ones(n, space=space) for _ in range(3))
    every = es.RangePolicy(n, space=space)

    def call() -> None:
        for _ in range(10):
            es.parallel_for(every, triad, 1e-3, a, b, c)

    return Contestant(TRIAD, call, space.fence, lambda: None, each=10, about={"bytes": 24 * n})


def _ours(space: es.ExecutionSpace, arrays: Arrays, b: Any, algorithm: str) -> Contestant:
    A = sparse.CrsMatrix(*arrays, check=False, space=space)
    right, x = es.array(b, space=space), es.zeros(b.size, space=space)
    handle = solvers.prepare("cg", A, right, algorithm=algorithm, space=space)

    def call() -> Any:
        return handle.solve(right, out=x, rtol=0, max_iterations=ITERATIONS, check_every=ITERATIONS)

    def check() -> dict[str, Any]:
        history = call().history
        size = _residual(arrays, b, x.to_numpy())
        assert np.isclose(size, history[-1] / history[0], rtol=1e-6), "r is not b - A x"
        return {"residual": size, "algorithm": handle.algorithm}

    name = "execspace" if algorithm == "auto" else f"execspace, {algorithm}"
    about = {"bytes": handle.bytes_per_iteration}
    return Contestant(name, call, space.fence, check, each=ITERATIONS, about=about)


def _residual(arrays: Arrays, b: Any, x: Any) -> float:
    """||b - A x|| / ||b||, by NumPy. It may grow before it falls."""
    row_map, entries, values, shape = arrays
    rows = np.repeat(np.arange(shape[0]), np.diff(row_map))
    left = b - np.bincount(rows, values * x[entries], minlength=shape[0])
    return float(np.linalg.norm(left) / np.linalg.norm(b))


def _scipy(arrays: Arrays, b: Any) -> Contestant:
    linalg, A = library("scipy.sparse.linalg"), of_scipy(arrays)

    def call() -> Any:
        return linalg.cg(A, b, rtol=0.0, maxiter=ITERATIONS)[0]

    def check() -> dict[str, Any]:
        return {"residual": _residual(arrays, b, call())}

    return Contestant("SciPy", call, lambda: None, check, each=ITERATIONS)


def _cupy(arrays: Arrays, b: Any) -> Contestant:
    cupy, A = cupy_on_device(), of_cupy(arrays)
    linalg = library("cupyx.scipy.sparse.linalg")
    right = cupy.asarray(b)
    known = inspect.signature(linalg.cg).parameters
    relative = "rtol" if "rtol" in known else "tol"  # as CuPy 13 calls it

    def call() -> Any:
        return linalg.cg(A, right, **{relative: 0.0}, atol=0.0, maxiter=ITERATIONS)[0]

    return Contestant(
        "CuPy", call, cupy.cuda.Device().synchronize,
        lambda: {"residual": _residual(arrays, b, call().get())}, each=ITERATIONS,
    )  # fmt: skip


def _table(title: str, outcome: dict[str, dict[str, Any]]) -> Table:
    table = Table("who", "ms an iteration", "GB/s", "over bytes", "over the peer", title=title)
    peer = next(iter(peers_of(outcome)), None)
    for who, found in outcome.items():
        what = found.get("error") or found.get("not_there")
        ratio = over(outcome, who, peer) if peer and who != TRIAD else None
        numbers = (found.get("GB/s"), found.get("over_bytes"), ratio)
        shown = ["" if x is None else f"{x:.2f}" for x in numbers]
        table.add_row(who, what or f"{found['ms']:.4f}", *shown)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
