"""Products and sums of sparse matrices, beside SciPy on hosts, and CuPy and PyTorch on CUDA.

    python -m benchmarks.sparse.run [--space NAME ...] [--only SECTION ...] [--json FILE]

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
from rich.table import Table

import execspace as es
from benchmarks.common.optional import cupy_on_device, library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, peers_of, take_turns
from execspace_kernels import sparse

from . import superlu
from .matrices import Arrays, of_cupy, of_scipy, rmat, stencil

SECTIONS = ("spmv", "spmm", "spadd", "structured", "sptrsv", "superlu", "spgemm")
DEVICES = ("cuda", "hip", "opencl")
VECTORS = 8
FULL = {
    "5 points, 2048^2": lambda: stencil((2048, 2048), 5),
    "9 points, 2048^2": lambda: stencil((2048, 2048), 9),
    "7 points, 160^3": lambda: stencil((160, 160, 160), 7),
    "27 points, 128^3": lambda: stencil((128, 128, 128), 27),
    "RMAT 2^20 x 16": lambda: rmat(20, 16),
}
GRIDS = {
    "device": {
        "3 points, 2^24": ((1 << 24,), 3),
        "5 points, 2048^2": ((2048, 2048), 5),
        "9 points, 2048^2": ((2048, 2048), 9),
        "7 points, 160^3": ((160, 160, 160), 7),
        "27 points, 128^3": ((128, 128, 128), 27),
    },
    "host": {"5 points, 1024^2": ((1024, 1024), 5), "27 points, 96^3": ((96, 96, 96), 27)},
}
TRIANGLES = {
    "device": {"27 points, 64^3": ((64, 64, 64), 27), "5 points, 512^2": ((512, 512), 5)},
    "host": {"27 points, 32^3": ((32, 32, 32), 27), "5 points, 256^2": ((256, 256), 5)},
}
FACTORED = {"5 points, 300^2": ((300, 300), 5), "27 points, 24^3": ((24, 24, 24), 27)}
QUICK_TRIANGLES = {"5 points, 20^2": ((20, 20), 5)}
QUICK_GRIDS = {"5 points, 30^2": ((30, 30), 5), "27 points, 8^3": ((8, 8, 8), 27)}
SQUARED = {
    "device": {
        "5 points, 2048^2": lambda: stencil((2048, 2048), 5),
        "27 points, 96^3": lambda: stencil((96, 96, 96), 27),
        "RMAT 2^16 x 8": lambda: rmat(16, 8),
    },
    "host": {
        "5 points, 1024^2": lambda: stencil((1024, 1024), 5),
        "27 points, 48^3": lambda: stencil((48, 48, 48), 27),
        "RMAT 2^14 x 8": lambda: rmat(14, 8),
    },
}
QUICK = {
    "5 points, 30^2": lambda: stencil((30, 30), 5),
    "9 points, 30^2": lambda: stencil((30, 30), 9),
    "RMAT 2^8 x 8": lambda: rmat(8, 8),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--rounds", type=int, default=15, help="turns of each (15)")
    add("--quick", action="store_true", help="small matrices, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        for case, makers in cases(es.space(name), options):
            peers = [who for who in makers if not who.startswith("execspace")]
            found = take_turns(makers, options.rounds, peers=peers)
            results.setdefault(name, {})[case] = found
            Console().print(_table(f"{name}: {case}", found))
    return report(results, options.json)


def cases(
    space: es.ExecutionSpace, options: argparse.Namespace
) -> Iterator[tuple[str, Mapping[str, Maker]]]:
    """Each case with who takes part in it."""
    made = {name: make() for name, make in (QUICK if options.quick else FULL).items()}
    sections = options.only or SECTIONS
    for name, arrays in made.items():
        if "spmv" in sections:
            yield f"SpMV, {name}", _products(space, arrays, ())
        if "spmm" in sections:
            yield f"SpMV, {VECTORS} vectors, {name}", _products(space, arrays, (VECTORS,))
    if "spadd" in sections:
        five, nine = list(made.values())[:2]
        yield "SpAdd, 5 points + 9 points", _sums(space, five, nine)
    if "structured" in sections:
        for name, (extents, points) in (
            QUICK_GRIDS if options.quick else GRIDS[_kind(space)]
        ).items():
            yield f"SpMV of a stencil, {name}", _stencils(space, extents, points)
    if "sptrsv" in sections:
        chosen = QUICK_TRIANGLES if options.quick else TRIANGLES[_kind(space)]
        for name, (extents, points) in chosen.items():
            yield f"SpTRSV, lower, {name}", _solves(space, extents, points)
    if "superlu" in sections:
        for name, (extents, points) in (QUICK_TRIANGLES if options.quick else FACTORED).items():
            makers = superlu.solves(space, extents, points, _kind(space) == "host")
            yield f"SuperLU, {name}", makers
    if "spgemm" in sections:
        for name, make in (QUICK if options.quick else SQUARED[_kind(space)]).items():
            yield f"SpGEMM, {name}", _squares(space, make())


def _products(
    space: es.ExecutionSpace, arrays: Arrays, columns: tuple[int, ...]
) -> dict[str, Maker]:
    row_map, entries, values, shape = arrays
    x = np.random.default_rng(3).random((shape[1], *columns))
    rows = np.repeat(np.arange(shape[0]), np.diff(row_map))
    expected = np.stack(
        [
            np.bincount(rows, values * one[entries], minlength=shape[0])
            for one in x.reshape(shape[1], -1).T
        ],
        axis=-1,
    ).reshape(shape[0], *columns)

    def ours(vendor: bool | None) -> Contestant:
        A = sparse.CrsMatrix(row_map, entries, values, shape, check=False, space=space)
        source, y = es.array(x, space=space), es.zeros(expected.shape, space=space)

        def call() -> None:
            sparse.spmv(A, source, out=y, vendor=vendor, space=space)

        name = "execspace" if vendor is False else "execspace, auto"
        return Contestant(name, call, space.fence, lambda: _checked(call, y, expected))

    # With vendors' routines where they were measured to be faster, and without.
    found: dict[str, Maker] = {
        "execspace": partial(ours, False),
        "execspace, auto": partial(ours, None),
    }
    return found | {
        who: partial(make, arrays, x, expected, space) for who, make in _peers(space).items()
    }


def _stencils(space: es.ExecutionSpace, extents: tuple[int, ...], points: int) -> dict[str, Maker]:
    """A StencilMatrix beside the same matrix by rows."""
    arrays = stencil(extents, points)
    by_rows = _products(space, arrays, ())

    def ours(algorithm: str) -> Contestant:
        *parts, shape = arrays
        A = sparse.CrsMatrix(*parts, shape, check=False, space=space)
        S = sparse.StencilMatrix.from_crs(A, extents, space=space)
        x = es.array(np.random.default_rng(3).random(shape[1]), space=space)
        y, expected = es.zeros(shape[0], space=space), sparse.spmv(A, x, space=space).to_numpy()

        def call() -> None:
            sparse.spmv(S, x, out=y, algorithm=algorithm, space=space)

        name = f"execspace, StencilMatrix, {algorithm}"
        return Contestant(name, call, space.fence, lambda: _checked(call, y, expected))

    n = (arrays[2].size + 2 * arrays[3][0]) // 3  # so that both move the same bytes

    def triad() -> Contestant:
        a, b, c = (es.ones(n, space=space) for _ in "abc")
        every = es.RangePolicy(n, space=space)
        return Contestant(
            "execspace, triad of as many bytes", lambda: es.parallel_for(every, _triad, a, b, c),
            space.fence, lambda: None,
        )  # fmt: skip

    names = ("grid",) if _kind(space) == "device" else ("grid", "edges")
    return by_rows | {
        **{f"execspace, StencilMatrix, {name}": partial(ours, name) for name in names},
        "execspace, triad of as many bytes": triad,
    }


def _triad(i: int, a: Any, b: Any, c: Any) -> None:
    a[i] = b[i] + 3.0 * c[i]


def _solves(space: es.ExecutionSpace, extents: tuple[int, ...], points: int) -> dict[str, Maker]:
    """The lower triangle of a stencil: solves with what is known of it, and with analysis."""
    row_map, entries, values, shape = stencil(extents, points)
    rows = np.repeat(np.arange(shape[0]), np.diff(row_map))
    kept = entries <= rows
    lower = np.searchsorted(rows[kept], np.arange(shape[0] + 1)).astype(np.int32)
    values = np.where(entries == rows, float(points), -values)[kept]
    L: Arrays = (lower, entries[kept], values, shape)
    b = np.random.default_rng(3).random(shape[0])
    expected = library("scipy.sparse.linalg").spsolve_triangular(of_scipy(L), b)

    def ours(with_analysis: bool) -> Contestant:
        A = sparse.CrsMatrix(*L[:3], shape, check=False, space=space)
        right, x = es.array(b, space=space), es.zeros(shape[0], space=space)
        handle = sparse.sptrsv_symbolic(A, space=space)

        def solve() -> None:
            sparse.sptrsv_solve(handle, A, right, out=x)

        def whole() -> None:
            new = sparse.CrsMatrix(A.row_map, A.entries, A.values, shape, check=False)
            sparse.sptrsv_solve(sparse.sptrsv_symbolic(new, space=space), new, right, out=x)

        return Contestant(
            "execspace, with analysis" if with_analysis else "execspace",
            whole if with_analysis else solve, space.fence, lambda: _checked(solve, x, expected),
        )  # fmt: skip

    found: dict[str, Maker] = {
        "execspace": partial(ours, False),
        "execspace, with analysis": partial(ours, True),
    }
    if space.name.partition(":")[0] == "cuda":
        found["CuPy, with analysis"] = partial(_cupy_solve, L, b)
    elif _kind(space) == "host":
        found["SciPy"] = partial(_scipy_solve, L, b)
    return found


def _scipy_solve(L: Arrays, b: Any) -> Contestant:
    linalg, A = library("scipy.sparse.linalg"), of_scipy(L)
    return Contestant("SciPy", lambda: linalg.spsolve_triangular(A, b), lambda: None, lambda: None)


def _cupy_solve(L: Arrays, b: Any) -> Contestant:
    cupy, A = cupy_on_device(), of_cupy(L)
    linalg = library("cupyx.scipy.sparse.linalg")
    right = cupy.asarray(b)
    return Contestant(
        "CuPy, with analysis", lambda: linalg.spsolve_triangular(A, right),
        cupy.cuda.Device().synchronize, lambda: None,
    )  # fmt: skip


def _checked(call: Any, y: Any, expected: Any) -> dict[str, Any]:
    call()
    found = y.to_numpy() if isinstance(y, es.View) else y()
    assert np.allclose(found, expected, rtol=1e-10), "the product is wrong"
    return {}


def _peers(space: es.ExecutionSpace) -> dict[str, Any]:
    if space.name.partition(":")[0] == "cuda":
        return {"CuPy": _cupy, "PyTorch": _torch}
    return {} if space.name.partition(":")[0] in DEVICES else {"SciPy": _scipy}


def _scipy(arrays: Arrays, x: Any, expected: Any, space: Any) -> Contestant:
    A = of_scipy(arrays)
    return Contestant("SciPy", lambda: A @ x, lambda: None,
                      lambda: _checked(lambda: None, lambda: A @ x, expected))  # fmt: skip


def _cupy(arrays: Arrays, x: Any, expected: Any, space: Any) -> Contestant:
    cupy, A = cupy_on_device(), of_cupy(arrays)
    on_device = cupy.asfortranarray(cupy.asarray(x))
    return Contestant(
        "CuPy", lambda: A @ on_device, cupy.cuda.Device().synchronize,
        lambda: _checked(lambda: None, lambda: (A @ on_device).get(), expected),
    )  # fmt: skip


def _torch(arrays: Arrays, x: Any, expected: Any, space: Any) -> Contestant:
    torch = library("torch")
    row_map, entries, values, shape = arrays
    parts = (torch.as_tensor(a).cuda() for a in (row_map, entries, values))
    A, on_device = torch.sparse_csr_tensor(*parts, size=shape), torch.as_tensor(x).cuda()
    return Contestant(
        "PyTorch", lambda: A @ on_device, torch.cuda.synchronize,
        lambda: _checked(lambda: None, lambda: (A @ on_device).cpu().numpy(), expected),
    )  # fmt: skip


def _sums(space: es.ExecutionSpace, five: Arrays, nine: Arrays) -> dict[str, Maker]:
    def ours(reuse: bool) -> Contestant:
        A, B = (
            sparse.CrsMatrix(*parts, shape, check=False, space=space)
            for *parts, shape in (five, nine)
        )
        handle = sparse.spadd_symbolic(A, B)
        C = sparse.spadd_numeric(handle, A, B)
        whole = float(five[2].sum() + nine[2].sum())

        def check() -> None:
            assert np.isclose(C.values.to_numpy().sum(), whole), "the sum is wrong"

        if reuse:
            return Contestant(
                "execspace, numeric", lambda: sparse.spadd_numeric(handle, A, B, C), space.fence,
                check,
            )  # fmt: skip
        return Contestant("execspace", lambda: sparse.spadd(A, B), space.fence, check)

    found: dict[str, Maker] = {
        "execspace": partial(ours, False),
        "execspace, numeric": partial(ours, True),
    }
    if space.name.partition(":")[0] == "cuda":
        found["CuPy"] = partial(_cupy_sum, five, nine)
    elif space.name.partition(":")[0] not in DEVICES:
        found["SciPy"] = partial(_scipy_sum, five, nine)
    return found


def _kind(space: es.ExecutionSpace) -> str:
    return "device" if space.name.partition(":")[0] in DEVICES else "host"


def _squares(space: es.ExecutionSpace, arrays: Arrays) -> dict[str, Maker]:
    """A A; with what is known of its entries; and with a step of Jacobi's, in one pass and two."""
    *parts, shape = arrays

    def ours(how: str) -> Contestant:
        A = sparse.CrsMatrix(*parts, shape, check=False, space=space)
        handle = sparse.spgemm_symbolic(A, A)
        C = sparse.spgemm_numeric(handle, A, A)
        added = sparse.spadd_symbolic(A, C)
        D = sparse.spadd_numeric(added, A, C)
        sums = np.bincount(parts[1], parts[2], minlength=shape[0])  # of the columns of A

        def check() -> None:
            by_rows = np.zeros(shape[0])
            np.add.at(by_rows, np.repeat(np.arange(shape[0]), np.diff(parts[0])), parts[2])
            assert np.isclose(C.values.to_numpy().sum(), float(sums @ by_rows)), "A A is wrong"

        steps = es.array(
            -0.5 / np.maximum(parts[2][np.minimum(parts[0][:-1], parts[2].size - 1)], 0.1),
            space=space,
        )
        rows = es.RangePolicy(C.nnz, space=space)
        row_of = es.array(np.repeat(np.arange(shape[0]), np.diff(C.row_map.to_numpy())),
                          space=space)  # fmt: skip

        def unfused() -> None:
            sparse.spgemm_numeric(handle, A, A, C)
            es.parallel_for(rows, _scaled, C.values, row_of, steps)
            sparse.spadd_numeric(added, A, C, D)

        return Contestant(
            f"execspace{how}",
            {
                "": lambda: sparse.spgemm(A, A, vendor=False),
                ", numeric": lambda: sparse.spgemm_numeric(handle, A, A, C),
                ", Jacobi in one pass": lambda: sparse.spgemm_jacobi(
                    A, A, 0.5, handle=handle, C=C, check=False
                ),
                ", Jacobi in two": unfused,
            }[how], space.fence, check if how in ("", ", numeric") else lambda: None,
        )  # fmt: skip

    hows = ["", ", numeric"]
    if np.all(parts[0][1:] > parts[0][:-1]) and _has_diagonal(arrays):
        hows += [", Jacobi in one pass", ", Jacobi in two"]
    found: dict[str, Maker] = {f"execspace{how}": partial(ours, how) for how in hows}
    if space.name.partition(":")[0] == "cuda":
        found["CuPy"] = partial(_cupy_square, arrays)
    elif _kind(space) == "host":
        found["SciPy"] = partial(_scipy_square, arrays)
    return found


def _scaled(k: int, values: Any, row_of: Any, steps: Any) -> None:
    values[k] *= steps[row_of[k]]


def _has_diagonal(arrays: Arrays) -> bool:
    row_map, entries, _, shape = arrays
    rows = np.repeat(np.arange(shape[0]), np.diff(row_map))
    return int(np.count_nonzero(rows == entries)) == shape[0]


def _scipy_square(arrays: Arrays) -> Contestant:
    A = of_scipy(arrays)
    return Contestant("SciPy", lambda: A @ A, lambda: None, lambda: None)


def _cupy_square(arrays: Arrays) -> Contestant:
    cupy, A = cupy_on_device(), of_cupy(arrays)
    return Contestant("CuPy", lambda: A @ A, cupy.cuda.Device().synchronize, lambda: None)


def _scipy_sum(five: Arrays, nine: Arrays) -> Contestant:
    A, B = map(of_scipy, (five, nine))
    return Contestant("SciPy", lambda: A + B, lambda: None, lambda: None)


def _cupy_sum(five: Arrays, nine: Arrays) -> Contestant:
    cupy, (A, B) = cupy_on_device(), map(of_cupy, (five, nine))
    return Contestant("CuPy", lambda: A + B, cupy.cuda.Device().synchronize, lambda: None)


def _table(title: str, outcome: dict[str, dict[str, Any]]) -> Table:
    table = Table("who", "ms", "of the fastest peer", title=title)
    fastest = min(peers_of(outcome), key=lambda who: outcome[who]["ms"], default=None)
    for who, found in outcome.items():
        ratio = over(outcome, who, fastest) if fastest else None
        shown = "" if ratio is None else f"{ratio:.2f}"
        what = found.get("error") or found.get("not_there")
        table.add_row(who, what or f"{found['ms']:.4f}", shown)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
