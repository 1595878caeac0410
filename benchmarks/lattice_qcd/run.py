"""Wilson's Dslash of `examples/lattice_qcd`: each layout, beside C by hand and a triad.

    python -m benchmarks.lattice_qcd.run [--space NAME ...] [--extent N] [--json FILE]

Sites of one parity of an N^4 lattice. 1320 operations a site. Bytes are those that must move if
each is moved once: a spinor read, one written, and eight links, 192 real numbers a site; 144 with
two rows of links, 48 and a K-th of the links of K right-hand sides. The bandwidth to compare with
is that of a triad in the same run. And an iteration of conjugate gradients for the even-odd
preconditioned normal equations, four products with D in it, by launches and as a graph.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.blas.contestants import kind_of
from benchmarks.common.optional import NotThere
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, take_turns
from execspace_kernels import solvers

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "lattice_qcd"
EXTENT = {"device": 32, "host": 16}
FLOPS, NUMBERS = 1320, 192  # of a site
SIDES = 8  # right-hand sides
_WARM = 300  # calls; one kernel is launched in many forms, each of which is to be known again
_MOST = 200_000  # iterations, whose residuals are noted
TRIAD = "execspace, a triad of as many bytes"
C = "C by hand"
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fopenmp", "-shared", "-fPIC")


@cache
def example(name: str) -> Any:
    """A module of the example."""
    if str(EXAMPLE) not in sys.path:
        sys.path.insert(0, str(EXAMPLE))
    return importlib.import_module(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--extent", type=int, help="of the lattice in each direction (32 on devices, 16 on hosts)")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        space = es.space(name)
        n = options.extent or EXTENT[kind_of(space)]
        for dtype in (np.complex64, np.complex128):
            found = take_turns(_makers(space, n, np.dtype(dtype)), options.rounds, peers=[C])
            triad = found[TRIAD]
            rate = triad["numbers"] / triad["ms"] if "ms" in triad else None
            size = n**4 // 2 * np.dtype(dtype).itemsize // 2
            for outcome in found.values():
                if "ms" not in outcome:
                    continue
                outcome["gbytes_s"] = outcome["numbers"] * size / outcome["ms"] / 1e6
                if rate is not None:
                    outcome["of_triad"] = outcome["numbers"] / outcome["ms"] / rate
                if outcome is not triad:
                    outcome["gflop_s"] = (
                        FLOPS * outcome["products"] * n**4 / 2 / outcome["ms"] / 1e6
                    )
            case = f"{np.dtype(dtype)}, {n}^4"
            results.setdefault(name, {})[case] = found
            Console().print(_table(f"{name}: {case}", found))
    return report(results, options.json)


def _makers(space: es.ExecutionSpace, n: int, dtype: np.dtype[Any]) -> Mapping[str, Maker]:
    lattice = example("lattice").Lattice(n, n, n, n)
    rng = np.random.default_rng(1)
    links = [_special_unitary(rng, (lattice.sites, 4)).astype(dtype) for _ in range(2)]
    real = np.dtype(dtype.char.lower())
    psi = (rng.random((lattice.sites, 4, 3, 2)) - 0.5).astype(real).view(dtype)[..., 0]
    expected = _expected(lattice, links, psi)
    makers: dict[str, Maker] = {}
    sites = partial(_sites, space, lattice, links, psi, expected)
    forms: dict[str, dict[str, Any]] = {
        "layout left": {},
        "layout right": {"layout": "right"},
        "table of neighbours": {"table": True},
        "two rows of links": {"rows": 2},
        f"{SIDES} right-hand sides": {"sides": SIDES},
    }
    for form, how in forms.items():
        name = f"execspace, {form}"
        makers[name] = partial(sites, name, **how)
    if kind_of(space) == "host":
        for width in (8, 4):
            if n % (2 * width) == 0:
                make = partial(_lanes, space, lattice, links, psi, width, expected)
                makers[f"execspace, {width} lanes"] = make
        makers[C] = partial(_by_hand, lattice, links, psi, expected)
    for as_graph in (False, True):
        name = f"execspace, CG, {'a graph' if as_graph else 'launches'}"
        makers[name] = partial(_iteration, name, space, lattice, links, psi, as_graph)
    makers[TRIAD] = partial(_triad, space, NUMBERS * lattice.sites * real.itemsize)
    return makers


def _special_unitary(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random matrices of SU(3): two rows made orthonormal, and what follows from them."""
    rows = rng.normal(size=(*shape, 2, 3)) + 1j * rng.normal(size=(*shape, 2, 3))
    a, b = rows[..., 0, :], rows[..., 1, :]
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b - (a.conj() * b).sum(-1, keepdims=True) * a
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return np.stack([a, b, np.cross(a, b).conj()], -2)


def _expected(lattice: Any, links: list[np.ndarray], psi: np.ndarray) -> np.ndarray:
    """By the definition, in NumPy, of which a few sites are enough."""
    some = np.random.default_rng(2).choice(lattice.sites, 50, replace=False)
    gamma = np.zeros((4, 4, 4), np.complex128)
    gamma[0, [0, 1, 2, 3], [3, 2, 1, 0]] = [1j, 1j, -1j, -1j]
    gamma[1, [0, 1, 2, 3], [3, 2, 1, 0]] = [-1, 1, 1, -1]
    gamma[2, [0, 1, 2, 3], [2, 3, 0, 1]] = [1j, -1j, -1j, 1j]
    gamma[3, [0, 1, 2, 3], [2, 3, 0, 1]] = 1
    numbers, parities = lattice.numbers(), lattice.parities()
    place = np.argsort(numbers[parities == 0])
    where = np.argwhere(parities == 0)[place][some]
    found = []
    for at, site in zip(where, some, strict=True):
        total = np.zeros((4, 3), np.complex128)
        for mu in range(4):
            ahead, back = at.copy(), at.copy()
            n = numbers.shape[3 - mu]
            ahead[3 - mu], back[3 - mu] = (at[3 - mu] + 1) % n, (at[3 - mu] - 1) % n
            f, b = numbers[tuple(ahead)], numbers[tuple(back)]
            total += (np.eye(4) - gamma[mu]) @ psi[f] @ links[0][site, mu].T
            total += (np.eye(4) + gamma[mu]) @ psi[b] @ links[1][b, mu].conj()
        found.append(total)
    return np.concatenate([some[:, None, None] + 0j * np.zeros((1, 4, 3)), np.array(found)])


def _check(
    fetch: Callable[[], np.ndarray], call: Callable[[], Any], expected: np.ndarray,
    numbers: float = NUMBERS, products: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Run it and compare; real numbers that must move a site, and products with D."""
    for _ in range(_WARM):
        call()
    half = len(expected) // 2
    some, values = expected[:half, 0, 0].real.astype(int), expected[half:]
    found = fetch()
    for one in found if found.ndim == 4 else [found]:
        rtol = 1e-5 if found.dtype.itemsize <= 8 else 1e-13
        assert np.abs(one[some] - values).max() <= 10 * rtol * np.abs(values).max(), "wrong"
    return {"numbers": numbers, "products": products}


def _sites(
    space: es.ExecutionSpace, lattice: Any, links: list[np.ndarray], psi: np.ndarray,
    expected: np.ndarray, name: str, *, layout: str = "left", rows: int = 3, sides: int = 0,
    table: bool = False,
) -> Contestant:  # fmt: skip
    dslash = example("dslash")

    def view(values: np.ndarray, *first: es.static) -> es.View:
        *_, sites = values.shape[: 1 + len(first)]
        shape = (*first, sites, *map(es.static, values.shape[1 + len(first) :]))
        made = es.View(shape, values.dtype, layout=layout, space=space)
        es.deep_copy(made, np.ascontiguousarray(values))
        return made

    if table:
        lattice = example("lattice").tabled(lattice, space)
    gauge = dslash.Gauge(*(view(u[:, :, :rows]).with_traits("nontemporal") for u in links))
    first = (es.static(sides),) if sides else ()
    values = np.broadcast_to(psi, (sides, *psi.shape)) if sides else psi
    source, result = (dslash.Spinor(view(values, *first), lattice, p) for p in (1, 0))
    call = partial(dslash.apply, gauge, source, result, space=space)
    many = max(sides, 1)
    numbers = many * 48 + 8 * 6 * rows
    check = partial(_check, lambda: result.data.to_numpy(), call, expected, numbers, many)
    return Contestant(name, call, space.fence, check)


def _iteration(
    name: str, space: es.ExecutionSpace, lattice: Any, links: list[np.ndarray], psi: np.ndarray,
    as_graph: bool,
) -> Contestant:  # fmt: skip
    """An iteration of conjugate gradients, whose vectors are 10 reads and writes beside D's."""
    dslash, wilson = example("dslash"), example("wilson")
    whole = dslash.joined(lattice, *links)
    lanes = 4 if kind_of(space) == "host" and lattice.nt % 8 == 0 else 0
    matrix = wilson.Wilson(
        lattice, whole, 0.12, dtype=psi.dtype.char.lower(), space=space, width=lanes
    )
    solver = solvers.prepare("cg", matrix.normal, matrix.vector(psi), space=space)
    method = solver._solver  # whose iteration is that of `solve`
    method.state.clear(_MOST)
    method.begin(matrix.vector(psi), None, 0.0, 0.0)
    call = method.advance if as_graph else method.step

    def check() -> dict[str, Any]:
        before = float(method.rr.to_numpy()[0])
        for _ in range(_WARM):
            call()
        assert 0 <= float(method.rr.to_numpy()[0]) < before, "wrong"
        return {"numbers": 4 * NUMBERS + 2 * 24 + 10 * 24, "products": 4}

    return Contestant(name, call, space.fence, check)


def _lanes(
    space: es.ExecutionSpace, lattice: Any, links: list[np.ndarray], psi: np.ndarray, width: int,
    expected: np.ndarray,
) -> Contestant:  # fmt: skip
    dslash, lanes = example("dslash"), example("lanes")
    real = np.dtype(psi.dtype.char.lower())
    view = partial(lanes.view_of_lanes, width=width, dtype=real, space=space)
    part = lanes.lanes_of(lattice, width)
    gauge = dslash.Gauge(*map(view, links))
    source, result = (dslash.Spinor(view(psi), part, parity) for parity in (1, 0))
    call = partial(lanes.apply, gauge, source, result, space=space)
    fetch = partial(lambda: lanes.ungrouped(result.data.to_numpy()))
    check = partial(_check, fetch, call, expected)
    return Contestant(f"execspace, {width} lanes", call, space.fence, check)


def _by_hand(
    lattice: Any, links: list[np.ndarray], psi: np.ndarray, expected: np.ndarray
) -> Contestant:
    real = "float" if psi.dtype == np.complex64 else "double"
    function = _built(real)
    result = np.zeros_like(psi)
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (*links, psi, result)]
    call = partial(function, *arrays, *lattice.shape, 0, 1)
    check = partial(_check, lambda: result, call, expected)
    return Contestant(C, call, lambda: None, check)


@cache
def _built(real: str) -> Any:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise NotThere("no C compiler was found")
    folder = Path(tempfile.mkdtemp(prefix="execspace-bench-"))
    target = folder / f"dslash_{real}.so"
    command = [compiler, *FLAGS, f"-DREAL={real}", str(HERE / "dslash.c"), "-o", str(target)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise NotThere(f"{compiler} cannot build dslash.c: {built.stderr}")
    function = ctypes.CDLL(str(target)).dslash
    function.restype = None
    return function


@es.kernel
def _add(i: int, a: Any, b: Any, c: Any) -> None:
    a[i] = b[i] + 2.0 * c[i]


def _triad(space: es.ExecutionSpace, nbytes: int) -> Contestant:
    a, b, c = (es.ones(nbytes // 24, space=space) for _ in range(3))
    policy = es.RangePolicy(a.size, space=space)
    call = partial(es.parallel_for, policy, _add, a, b, c)

    def check() -> dict[str, Any]:
        call()
        assert (a.to_numpy() == 3).all(), "wrong"
        return {"numbers": NUMBERS}

    return Contestant(TRIAD, call, space.fence, check)


def _table(title: str, outcome: dict[str, dict[str, Any]]) -> Table:
    table = Table("who", "ms", "GB/s", "Gflop/s", "of the triad", "of C", title=title)
    of_c = outcome.get(C, {}).get("ms")
    for who, found in outcome.items():
        if "ms" not in found:
            table.add_row(who, found.get("error") or found.get("not_there"), *[""] * 4)
            continue
        flops = f"{found['gflop_s']:.0f}" if "gflop_s" in found else ""
        share = f"{found['of_triad']:.2f}" if "of_triad" in found else ""
        times = f"{found['ms'] / of_c:.2f}" if of_c and found.get("products") == 1 else ""
        table.add_row(who, f"{found['ms']:.4f}", f"{found['gbytes_s']:.0f}", flops, share, times)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
