"""BLAS 3, beside NumPy and SciPy on hosts, and CuPy and PyTorch on CUDA.

    python -m benchmarks.blas.matrices [--space NAME ...] [--only SECTION ...] [--json FILE]

Results are compared before anything is timed; contestants take turns, medians are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import execspace as es
from benchmarks.blas.contestants import filled, kind_of, ours_of, table, with_peers
from benchmarks.common.optional import library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Maker, take_turns
from execspace_kernels import blas

SECTIONS = ("gemm", "syrk", "trmm", "trsm")
SIZE = {"device": 8192, "host": 2048, "quick": 70}
LAYOUTS = ("right", "left")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--size", type=int, nargs="+", help=f"rows and columns {SIZE}")
    add("--dtype", nargs="+", default=["float64", "float32"], help="(float64 float32)")
    add("--layout", nargs="+", default=LAYOUTS, choices=LAYOUTS, help="(both)")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--quick", action="store_true", help="small sizes, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        for case, operations, makers in cases(es.space(name), options):
            peers = [who for who in makers if not who.startswith("execspace")]
            found = take_turns(makers, options.rounds, calls=1, peers=peers)
            for one in found.values():
                if "ms" in one:
                    one["Gflop/s"] = round(operations / one["ms"] / 1e6, 1)
            results.setdefault(name, {})[case] = found
            Console().print(table(f"{name}: {case}", found, "Gflop/s"))
    return report(results, options.json)


def cases(
    space: es.ExecutionSpace, options: argparse.Namespace
) -> Iterator[tuple[str, int, Mapping[str, Maker]]]:
    """Each case with its operations, and who takes part in it."""
    kind = "quick" if options.quick else kind_of(space)
    for n in options.size or [SIZE[kind]]:
        for section in options.only or SECTIONS:
            for dtype in options.dtype:
                for layout in options.layout:
                    operations = 2 * n**3 if section == "gemm" else n**3
                    yield (f"{section}, {n}^2, {dtype}, layout {layout}", operations,
                           _case(space, section, n, np.dtype(dtype), layout))  # fmt: skip


def _case(
    space: es.ExecutionSpace, section: str, n: int, dtype: np.dtype[Any], layout: str
) -> dict[str, Maker]:
    A, B = (filled((n, n), layout, space, dtype) for _ in "AB")
    C = es.View((n, n), dtype, layout=layout, space=space)
    if section == "trsm":
        es.parallel_for(es.RangePolicy(n, space=space), _dominant, A)
    known, other = A.to_numpy(), B.to_numpy()
    if section == "gemm":
        expected = known @ other
    elif section == "syrk":
        expected = np.tril(known @ known.T)
    elif section == "trmm":
        expected = np.tril(known) @ other
    else:
        expected = library("scipy.linalg").solve_triangular(known, other, lower=True)

    def call(vendor: bool | None) -> Any:
        if section == "gemm":
            return blas.gemm(A, B, out=C, vendor=vendor, space=space)
        if section == "syrk":
            return blas.syrk(A, out=C, vendor=vendor, space=space)
        function = blas.trmm if section == "trmm" else blas.trsm
        return function(A, B, out=C, vendor=vendor, space=space)

    calls = {
        "gemm": {
            "NumPy": lambda lib, A, B, C: lib.matmul(A, B, out=C),
            "CuPy": lambda lib, A, B, C: lib.matmul(A, B, out=C),
            "PyTorch": lambda lib, A, B, C: lib.matmul(A, B, out=C),
        },
        "syrk": {"NumPy": _syrk_of_scipy, "CuPy": _syrk_of_cupy},
        "trmm": {"NumPy": _trmm_of_scipy},
        "trsm": {
            "NumPy": lambda lib, A, B, C: _solved(library("scipy.linalg"), A, B),
            "CuPy": lambda lib, A, B, C: _solved(library("cupyx.scipy.linalg"), A, B),
            "PyTorch": lambda lib, A, B, C: lib.linalg.solve_triangular(A, B, upper=False),
        },
    }[section]
    ours = ours_of(space, call, C.to_numpy, expected, True)
    return with_peers(space, ours, (A, B, C), expected, calls)


def _solved(lib: Any, A: Any, B: Any) -> Any:
    return lib.solve_triangular(A, B, lower=True, check_finite=False)


def _syrk_of_scipy(lib: Any, A: Any, B: Any, C: Any) -> Any:
    routine = library("scipy.linalg.blas").get_blas_funcs("syrk", (A,))
    if A.flags.f_contiguous:
        return routine(1.0, A, lower=1)
    return routine(1.0, A.T, trans=1, lower=1)


def _syrk_of_cupy(lib: Any, A: Any, B: Any, C: Any) -> Any:
    C[...] = 0
    return library("cupy.cublas").syrk("N", A, out=C, lower=True)


def _trmm_of_scipy(lib: Any, A: Any, B: Any, C: Any) -> Any:
    routine = library("scipy.linalg.blas").get_blas_funcs("trmm", (A,))
    if A.flags.f_contiguous:
        return routine(1.0, A, B, lower=1)
    return routine(1.0, A.T, B.T, side=1, lower=0).T


def _dominant(i: int, A: Any) -> None:
    A[i, i] += A.extent(0)


if __name__ == "__main__":
    raise SystemExit(main())
