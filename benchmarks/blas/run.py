"""BLAS 1 and 2 and dot_gemm, beside NumPy and SciPy on hosts, and CuPy and PyTorch on CUDA.

    python -m benchmarks.blas.run [--space NAME ...] [--only SECTION ...] [--json FILE]

Results are compared before anything is timed; contestants take turns, medians are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import execspace as es
from benchmarks.blas.contestants import contestant, filled, kind_of, ours_of, table, with_peers
from benchmarks.common.optional import library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Maker, take_turns
from execspace_kernels import blas

SECTIONS = ("nrm2", "dot", "sum", "axpby", "columns", "gemv", "ger", "trsv", "dot_gemm")
LENGTH = {"device": 1 << 26, "host": 1 << 24, "quick": 1000}
SQUARE = {"device": 16384, "host": 4096, "quick": 100}
TRIANGLE = {"device": 8192, "host": 2000, "quick": 70}
TALL = {"device": (10**7, 32), "host": (10**6, 32), "quick": (1000, 5)}
COLUMNS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--rounds", type=int, default=15, help="turns of each (15)")
    add("--quick", action="store_true", help="small sizes, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        for case, size, makers in cases(es.space(name), options):
            peers = [who for who in makers if not who.startswith("execspace")]
            found = take_turns(makers, options.rounds, peers=peers)
            for one in found.values():
                if "ms" in one:
                    one["GB/s"] = round(size / one["ms"] / 1e6, 1)
            results.setdefault(name, {})[case] = found
            Console().print(table(f"{name}: {case}", found, "GB/s"))
    return report(results, options.json)


def cases(
    space: es.ExecutionSpace, options: argparse.Namespace
) -> Iterator[tuple[str, int, Mapping[str, Maker]]]:
    """Each case with the bytes that it must move at least, and who takes part in it."""
    kind = "quick" if options.quick else kind_of(space)
    sections = options.only or SECTIONS
    n, m = LENGTH[kind], SQUARE[kind]
    for what in ("nrm2", "dot", "sum", "axpby"):
        if what in sections:
            moved = {"dot": 16, "axpby": 24}.get(what, 8) * n
            yield f"{what}, {n} doubles", moved, _vectors(space, what, n)
    if "columns" in sections:
        for layout in ("left", "right"):
            rows = n // COLUMNS
            yield (f"nrm2 of {COLUMNS} columns, layout {layout}", 8 * rows * COLUMNS,
                   _columns(space, rows, layout))  # fmt: skip
    if "gemv" in sections:
        for layout in ("right", "left"):
            for mode in "NT":
                yield (f"gemv {mode}, {m}^2, layout {layout}", 8 * m * m,
                       _products(space, m, layout, mode))  # fmt: skip
    if "ger" in sections:
        yield f"ger, {m}^2", 16 * m * m, _outer(space, m)
    if "trsv" in sections:
        size = TRIANGLE[kind]
        for layout in ("right", "left"):
            yield (f"trsv, {size}^2, layout {layout}", 4 * size * size,
                   _solves(space, size, layout))  # fmt: skip
    if "dot_gemm" in sections:
        rows, k = TALL[kind]
        for layout in ("right", "left"):
            yield (
                f"dot_gemm, {rows} x {k}, A^T A, layout {layout}",
                8 * rows * k,
                _tall(space, rows, k, layout),
            )


def _vectors(space: es.ExecutionSpace, what: str, n: int) -> dict[str, Maker]:
    x, y, out = filled((n,), None, space), filled((n,), None, space), es.zeros((), space=space)
    known = (np.arange(n) * 7919 % 10007) / 10007
    if what == "axpby":
        # y = 0.5 y + 0.5 x, which y stays.
        ours = ours_of(space, lambda _: blas.axpby(0.5, x, 0.5, y, space=space), y.to_numpy, known,
                     False)  # fmt: skip
        return with_peers(space, ours, (x, y), known, {
            "NumPy": _axpby_of_numpy, "CuPy": _axpby_of_cupy, "PyTorch": _axpby_of_torch,
        })  # fmt: skip
    expected = {
        "nrm2": lambda: np.sqrt(known @ known), "dot": lambda: known @ known,
        "sum": lambda: known.sum(),
    }[what]()  # fmt: skip

    def call(vendor: bool | None) -> Any:
        if what == "nrm2":
            return blas.nrm2(x, out=out, vendor=vendor, space=space)
        if what == "dot":
            return blas.dot(x, y, out=out, vendor=vendor, space=space)
        return blas.sum(x, out=out, space=space)

    ours = ours_of(space, call, out.item, expected, what != "sum")
    if what == "nrm2":
        number = lambda: blas.nrm2(x, vendor=False, space=space)  # noqa: E731
        ours["execspace, a number"] = partial(
            contestant, "execspace, a number", number, space.fence, number, expected
        )
    calls = {
        "nrm2": lambda lib, x, y: lib.linalg.norm(x), "dot": lambda lib, x, y: lib.dot(x, y),
        "sum": lambda lib, x, y: lib.sum(x),
    }  # fmt: skip
    return with_peers(space, ours, (x, y), expected, {"": calls[what]})


def _axpby_of_numpy(lib: Any, x: Any, y: Any) -> None:
    scipy = library("scipy.linalg.blas")
    scipy.dscal(0.5, y)
    scipy.daxpy(x, y, a=0.5)


def _axpby_of_cupy(lib: Any, x: Any, y: Any) -> None:
    fused = _FUSED.setdefault("axpby", lib.ElementwiseKernel(
        "float64 x", "float64 y", "y = 0.5 * y + 0.5 * x", "axpby"
    ))  # fmt: skip
    fused(x, y)


_FUSED: dict[str, Any] = {}


def _axpby_of_torch(lib: Any, x: Any, y: Any) -> None:
    y.mul_(0.5).add_(x, alpha=0.5)


def _columns(space: es.ExecutionSpace, rows: int, layout: str) -> dict[str, Maker]:
    X = filled((rows, COLUMNS), layout, space)
    out = es.zeros(COLUMNS, space=space)
    i, j = np.arange(rows)[:, None], np.arange(COLUMNS)
    expected = np.sqrt(((((i * 31 + j * 7919) % 10007) / 10007) ** 2).sum(axis=0))
    ours = ours_of(space, lambda vendor: blas.nrm2(X, out=out, space=space), out.to_numpy, expected,
                 False)  # fmt: skip
    return with_peers(space, ours, (X,), expected,
                       {"": lambda lib, X: lib.linalg.norm(X, axis=0)})  # fmt: skip


def _square(m: int) -> Any:
    i = np.arange(m)
    return ((i[:, None] * 31 + i * 7919) % 10007) / 10007


def _products(space: es.ExecutionSpace, m: int, layout: str, mode: str) -> dict[str, Maker]:
    A, x, y = filled((m, m), layout, space), filled((m,), None, space), es.zeros(m, space=space)
    known = _square(m)
    expected = (known if mode == "N" else known.T) @ x.to_numpy()

    def call(vendor: bool | None) -> Any:
        return blas.gemv(A, x, out=y, mode=mode, vendor=vendor, space=space)

    def theirs(lib: Any, A: Any, x: Any) -> Any:
        return (A if mode == "N" else A.T) @ x

    ours = ours_of(space, call, y.to_numpy, expected, True)
    return with_peers(space, ours, (A, x), expected, {"": theirs})


def _outer(space: es.ExecutionSpace, m: int) -> dict[str, Maker]:
    A, x = filled((m, m), "left", space), filled((m,), None, space)
    expected = _square(m)  # alpha is so small that it stays

    def call(vendor: bool | None) -> Any:
        return blas.ger(1e-30, x, x, A, vendor=vendor, space=space)

    def of_scipy(lib: Any, x: Any, A: Any) -> None:
        library("scipy.linalg.blas").dger(1e-30, x, x, a=A, overwrite_a=1)

    ours = ours_of(space, call, A.to_numpy, expected, True)
    return with_peers(space, ours, (x, A), expected, {
        "NumPy": of_scipy,
        "CuPy": lambda lib, x, A: library("cupy.cublas").ger(1e-30, x, x, A),
        "PyTorch": lambda lib, x, A: A.T.addr_(x, x, alpha=1e-30) is None or None,
    })  # fmt: skip


def _solves(space: es.ExecutionSpace, m: int, layout: str) -> dict[str, Maker]:
    A, b, x = filled((m, m), layout, space), filled((m,), None, space), es.zeros(m, space=space)
    es.parallel_for(es.RangePolicy(m, space=space), _dominant, A)
    known = np.tril(_square(m)) + m * np.eye(m)
    expected = library("scipy.linalg").solve_triangular(known, b.to_numpy(), lower=True)

    def call(vendor: bool | None) -> Any:
        return blas.trsv(A, b, out=x, vendor=vendor, space=space)

    def of_torch(lib: Any, A: Any, b: Any) -> Any:
        return lib.linalg.solve_triangular(A, b[:, None], upper=False)[:, 0]

    def of_cupy(lib: Any, A: Any, b: Any) -> Any:
        return library("cupyx.scipy.linalg").solve_triangular(A, b, lower=True, check_finite=False)

    def of_scipy(lib: Any, A: Any, b: Any) -> Any:
        solve = library("scipy.linalg").solve_triangular
        return solve(A, b, lower=True, check_finite=False)

    ours = ours_of(space, call, x.to_numpy, expected, True)
    return with_peers(space, ours, (A, b), expected, {
        "NumPy": of_scipy, "CuPy": of_cupy, "PyTorch": of_torch,
    })  # fmt: skip


def _dominant(i: int, A: Any) -> None:
    A[i, i] += A.extent(0)


def _tall(space: es.ExecutionSpace, rows: int, k: int, layout: str) -> dict[str, Maker]:
    A, C = filled((rows, k), layout, space), es.zeros((k, k), space=space)
    i, j = np.arange(rows)[:, None], np.arange(k)
    known = ((i * 31 + j * 7919) % 10007) / 10007
    expected = known.T @ known

    def call(vendor: bool | None) -> Any:
        return blas.dot_gemm(A, A, out=C, vendor=vendor, space=space)

    ours = ours_of(space, call, C.to_numpy, expected, True)
    return with_peers(space, ours, (A,), expected, {"": lambda lib, A: A.T @ A})


if __name__ == "__main__":
    raise SystemExit(main())
