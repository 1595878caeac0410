"""Factors, eigenvalues and singular values, beside SciPy on hosts, and CuPy and PyTorch on CUDA.

    python -m benchmarks.lapack.run [--space NAME ...] [--only SECTION ...] [--json FILE]

Ours are in place, so a copy of the matrix is made in each turn, as libraries make one. What is
computed is checked before anything is timed; contestants take turns, medians are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import execspace as es
from benchmarks.blas.contestants import peers, table
from benchmarks.common.optional import library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, take_turns
from execspace_kernels import lapack

SECTIONS = ("getrf", "potrf", "geqrf", "gesv", "trtri", "eigh", "svd")
SIZES = (8, 32, 64, 512, 2048)
SLOW = 64  # rows, from which on the rotations of ours are not timed


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--sizes", type=int, nargs="+", default=SIZES, help=f"rows of matrices {SIZES}")
    add("--layout", choices=("right", "left"), default="left", help="(left)")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--quick", action="store_true", help="small sizes, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        for case, makers in cases(es.space(name), options):
            known = [who for who in makers if not who.startswith("execspace")]
            found = take_turns(makers, options.rounds, calls=1, peers=known)
            results.setdefault(name, {})[case] = found
            Console().print(table(f"{name}: {case}", found))
    return report(results, options.json, layout=options.layout)


def cases(
    space: es.ExecutionSpace, options: argparse.Namespace
) -> Iterator[tuple[str, Mapping[str, Maker]]]:
    """Each case with who takes part in it."""
    for section in options.only or SECTIONS:
        for n in (20,) if options.quick else options.sizes:
            yield f"{section}, {n}^2", _Case(space, section, n, options.layout).makers()


class _Case:
    """A matrix, and what is computed of it."""

    def __init__(self, space: es.ExecutionSpace, section: str, n: int, layout: str) -> None:
        rng = np.random.default_rng(1)
        values = rng.standard_normal((n, n))
        if section in ("potrf", "eigh"):
            values = values + values.T + (3 * n * np.eye(n) if section == "potrf" else 0)
        elif section == "trtri":
            values = np.tril(values) / n + 2 * np.eye(n)
        self.space, self.section, self.n, self.values = space, section, n, values
        self.A = es.View((n, n), layout=layout, space=space)
        es.deep_copy(self.A, values)
        self.work = es.View((n, n), layout=layout, space=space)
        self.b = es.array(rng.standard_normal(n), space=space)
        self.x = es.zeros(n, space=space)

    def makers(self) -> dict[str, Maker]:
        """Ours, ours or a library's, and libraries."""
        found: dict[str, Maker] = {}
        if self.section not in ("eigh", "svd") or self.n <= SLOW:
            found["execspace"] = partial(self.ours, "execspace", False)
        found["execspace, auto"] = partial(self.ours, "execspace, auto", None)
        names = {"NumPy": _SCIPY, "CuPy": _CUPY, "PyTorch": _TORCH}
        for who, make in peers(self.space).items():
            call = names[who].get(self.section)
            if call is not None:
                found[who] = partial(self.theirs, who, make, call)
        return found

    def ours(self, name: str, vendor: bool | None) -> Contestant:
        """A copy, and the function in place."""

        def call() -> Any:
            if self.section in ("eigh", "svd"):
                return getattr(lapack, self.section)(self.A, vendor=vendor, space=self.space)
            es.deep_copy(self.work, self.A, instance=self.space)
            if self.section == "gesv":
                es.deep_copy(self.x, self.b, instance=self.space)
                return lapack.gesv(self.work, self.x, vendor=vendor, space=self.space)
            return getattr(lapack, self.section)(self.work, vendor=vendor, space=self.space)

        return Contestant(name, call, self.space.fence, partial(self.check, call))

    def check(self, call: Callable[[], Any]) -> None:
        """What was computed gives the matrix again."""
        found = call()
        if self.section == "eigh":
            w, V = (view.to_numpy() for view in found)
            back = (V * w) @ V.T
        elif self.section == "svd":
            back = (found.U.to_numpy() * found.s.to_numpy()) @ found.Vh.to_numpy()
        elif self.section == "trtri":
            back = np.linalg.inv(np.tril(self.work.to_numpy()))
        elif self.section == "potrf":
            L = np.tril(self.work.to_numpy())
            back = L @ L.T
        elif self.section == "geqrf":
            Q = lapack.orgqr(self.work, found, space=self.space).to_numpy()
            back = Q @ np.triu(self.work.to_numpy())
        elif self.section == "gesv":
            residual = self.values @ self.x.to_numpy() - self.b.to_numpy()
            assert np.abs(residual).max() < 1e-8 * self.n, "the result is wrong"
            return
        else:
            F = self.work.to_numpy()
            back = (np.tril(F, -1) + np.eye(self.n)) @ np.triu(F)
            for k, other in reversed(list(enumerate(found[0].to_numpy()))):
                back[[k, other]] = back[[other, k]]
        assert np.allclose(back, self.values, atol=1e-9 * self.n), "the result is wrong"

    def theirs(self, who: str, make: Any, call: Callable[..., Any]) -> Contestant:
        """A function of a library."""
        lib, arrays, wait = make(self.A, self.b)
        return Contestant(who, partial(call, lib, *arrays), wait, lambda: None)


def _scipy(name: str, *options: Any, **more: Any) -> Callable[..., Any]:
    def call(lib: Any, A: Any, b: Any) -> Any:
        given = (A, b) if name == "solve" else (A,)
        return getattr(library("scipy.linalg"), name)(*given, *options, check_finite=False, **more)

    return call


_SCIPY = {
    "getrf": _scipy("lu_factor"), "potrf": _scipy("cholesky", True), "gesv": _scipy("solve"),
    "geqrf": _scipy("qr", mode="raw"), "eigh": _scipy("eigh"), "svd": _scipy("svd"),
    "trtri": lambda lib, A, b: library("scipy.linalg.lapack").dtrtri(A, lower=1),
}  # fmt: skip
_CUPY = {
    "getrf": lambda lib, A, b: library("cupyx.scipy.linalg").lu_factor(A),
    "potrf": lambda lib, A, b: lib.linalg.cholesky(A),
    "gesv": lambda lib, A, b: lib.linalg.solve(A, b),
    "eigh": lambda lib, A, b: lib.linalg.eigh(A),
    "svd": lambda lib, A, b: lib.linalg.svd(A),
}
_TORCH = {
    "getrf": lambda lib, A, b: lib.linalg.lu_factor(A),
    "potrf": lambda lib, A, b: lib.linalg.cholesky_ex(A),
    "gesv": lambda lib, A, b: lib.linalg.solve_ex(A, b),
    "geqrf": lambda lib, A, b: lib.geqrf(A),
    "eigh": lambda lib, A, b: lib.linalg.eigh(A),
    "svd": lambda lib, A, b: lib.linalg.svd(A),
}


if __name__ == "__main__":
    raise SystemExit(main())
