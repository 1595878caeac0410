"""C++'s algorithms of execspace beside Thrust, CuPy and NumPy.

    python -m benchmarks.library.algorithms [--space NAME] [--size N] [--only NAME ...] [--turns N]
                                            [--json FILE]

Elements are float64: half of them are above 0.5, none above 2. Thrust is compiled by nvcc, which
has to be on the PATH; it and CuPy take part on NVIDIA's GPUs, NumPy on hosts. All work on Views and
arrays of the same size in turns, and results are compared with NumPy's before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.optional import NotThere, cupy_on_device
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, take_turns

OURS, THRUST = "execspace", "Thrust"
SOURCE = Path(__file__).with_name("algorithms.cu")


def large(x: float) -> bool:
    """Half of the elements."""
    return x > 0.5


def huge(x: float) -> bool:
    """No element."""
    return x > 2.0


def no_huge(x: float) -> bool:
    """All elements."""
    return x <= 2.0


def twice(x: float) -> float:
    """What `transform` computes."""
    return 2.0 * x + 1.0


# What x, y and z are given to: by execspace, and by NumPy or CuPy (`m`). x is random, y receives, z
# is another array: of equal elements for `equal`, ascending for `is_sorted`.
A = es.algorithms
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "count_if": (lambda x, y, z: A.count_if(x, large), lambda m, x, y, z: m.count_nonzero(x > 0.5)),
    "all_of": (lambda x, y, z: A.all_of(x, no_huge), lambda m, x, y, z: (x <= 2.0).all()),
    "find_if": (lambda x, y, z: A.find_if(x, huge), lambda m, x, y, z: (x > 2.0).argmax()),
    "equal": (lambda x, y, z: A.equal(x, z), lambda m, x, y, z: m.array_equal(x, z)),
    "reduce": (lambda x, y, z: A.reduce(x, 0.0), lambda m, x, y, z: m.sum(x)),
    "transform_reduce": (
        lambda x, y, z: A.transform_reduce(x, z, 0.0), lambda m, x, y, z: m.dot(x, z),
    ),
    "max_element": (lambda x, y, z: A.max_element(x), lambda m, x, y, z: m.argmax(x)),
    "is_sorted": (lambda x, y, z: A.is_sorted(z), lambda m, x, y, z: (z[1:] >= z[:-1]).all()),
    "fill": (lambda x, y, z: A.fill(y, 3.0), lambda m, x, y, z: y.fill(3.0)),
    "copy": (lambda x, y, z: A.copy(x, y), lambda m, x, y, z: m.copyto(y, x)),
    "transform": (
        lambda x, y, z: A.transform(x, y, twice),
        lambda m, x, y, z: m.add(m.multiply(x, 2.0, out=y), 1.0, out=y),
    ),
    "replace_if": (
        lambda x, y, z: A.replace_if(y, huge, 0.25), lambda m, x, y, z: m.putmask(y, y > 2.0, 0.25),
    ),
    "reverse_copy": (
        lambda x, y, z: A.reverse_copy(x, y), lambda m, x, y, z: m.copyto(y, x[::-1]),
    ),
    "copy_if": (lambda x, y, z: A.copy_if(x, y, large), lambda m, x, y, z: x[x > 0.5]),
    "remove_copy_if": (
        lambda x, y, z: A.remove_copy_if(x, y, large), lambda m, x, y, z: x[x <= 0.5],
    ),
    "unique_copy": (
        lambda x, y, z: A.unique_copy(x, y), lambda m, x, y, z: x[1:][x[1:] != x[:-1]],
    ),
    "inclusive_scan": (
        lambda x, y, z: A.inclusive_scan(x, y), lambda m, x, y, z: m.cumsum(x, out=y),
    ),
    "exclusive_scan": (lambda x, y, z: A.exclusive_scan(x, y, 0.0), None),
    "adjacent_difference": (
        lambda x, y, z: A.adjacent_difference(x, y),
        lambda m, x, y, z: m.subtract(x[1:], x[:-1], out=y[1:]),
    ),
}  # fmt: skip
NUMBERS = {  # what an algorithm returns, of arrays of NumPy
    "count_if": lambda x, z: np.count_nonzero(x > 0.5), "all_of": lambda x, z: True,
    "find_if": lambda x, z: len(x), "equal": lambda x, z: True, "reduce": lambda x, z: x.sum(),
    "transform_reduce": lambda x, z: x @ z, "max_element": lambda x, z: x.argmax(),
    "is_sorted": lambda x, z: True, "copy_if": lambda x, z: np.count_nonzero(x > 0.5),
    "remove_copy_if": lambda x, z: np.count_nonzero(x <= 0.5), "unique_copy": lambda x, z: len(x),
}  # fmt: skip
WRITTEN = {  # what is in y afterwards
    "fill": lambda x: np.full_like(x, 3.0), "copy": lambda x: x, "transform": lambda x: 2 * x + 1,
    "reverse_copy": lambda x: x[::-1], "copy_if": lambda x: x[x > 0.5],
    "remove_copy_if": lambda x: x[x <= 0.5], "unique_copy": lambda x: x,
    "inclusive_scan": np.cumsum, "exclusive_scan": lambda x: np.cumsum(x) - x,
    "adjacent_difference": lambda x: np.diff(x, prepend=0.0),
}  # fmt: skip


def arrays(name: str, size: int) -> tuple[Any, Any, Any]:
    """x, y and z."""
    x = np.random.default_rng(5).uniform(0.0, 1.0, size)
    z = np.sort(x) if name == "is_sorted" else x.copy()
    return x, x.copy(), z


def check(name: str, x: Any, y: Any, z: Any, number: Any) -> None:
    """Compare with NumPy."""
    if name in NUMBERS:
        right = NUMBERS[name](x, z)
        assert np.isclose(float(number), float(right), rtol=1e-10), f"{number}, not {right}"
    if name in WRITTEN:
        right = WRITTEN[name](x)
        np.testing.assert_allclose(y[: len(right)], right, rtol=1e-9, atol=1e-9)


def ours(space: es.ExecutionSpace, name: str, size: int) -> Contestant:
    """The algorithm of execspace."""
    host = arrays(name, size)
    x, y, z = (es.create_mirror_view_and_copy(space, a) for a in host)
    call = partial(CASES[name][0], x, y, z)

    def checked() -> None:
        number = call()
        space.fence()
        check(
            name, host[0], np.asarray(es.create_mirror_view_and_copy(es.HOST, y)), host[2], number
        )

    return Contestant(OURS, call, space.fence, checked)


@cache
def thrust() -> Any:
    """Thrust's algorithms, compiled."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "algorithms.so"
        flags = [
            "-O3",
            "-std=c++17",
            "-arch=native",
            "-shared",
            "-Xcompiler",
            "-fPIC",
            "-o",
            str(made),
        ]
        try:
            subprocess.run(["nvcc", *flags, str(SOURCE)], check=True, capture_output=True)
        except FileNotFoundError:
            raise NotThere("nvcc is not there") from None
        return ctypes.CDLL(str(made))


def by_thrust(name: str, size: int) -> Contestant:
    """Thrust's, called through ctypes."""
    cupy = cupy_on_device()
    function = getattr(thrust(), name)
    function.restype = ctypes.c_double
    host = arrays(name, size)
    on_device = [cupy.asarray(a) for a in host]
    pointers = [ctypes.c_void_p(a.data.ptr) for a in on_device]
    call = partial(function, *pointers, ctypes.c_long(size))
    wait = cupy.cuda.runtime.deviceSynchronize

    def checked() -> None:
        number = call()
        wait()
        check(name, host[0], on_device[1].get(), host[2], number)

    return Contestant(THRUST, call, wait, checked)  # `checked` keeps the arrays


def by_module(module: Any, title: str, name: str, size: int) -> Contestant:
    """NumPy or CuPy."""
    x, y, z = (module.asarray(a) for a in arrays(name, size))
    function = CASES[name][1]
    if function is None:
        raise NotThere(f"{title} has no such function")
    call = partial(function, module, x, y, z)

    def waited() -> None:
        if title == "CuPy":
            module.cuda.runtime.deviceSynchronize()

    def read() -> None:
        found = call()
        if name in NUMBERS and title == "CuPy" and found.ndim == 0:
            found.item()

    return Contestant(title, read, waited, lambda: None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--space", default="serial", help="(serial)")
    parser.add_argument("--size", type=int, default=10_000_000, help="elements (10000000)")
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME")
    parser.add_argument("--turns", type=int, default=9, help="(9)")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args(arguments)
    space = es.space(options.space)
    results: Results = {options.space: {}}
    for name in options.only or CASES:
        makers: dict[str, Maker] = {OURS: partial(ours, space, name, options.size)}
        if options.space.startswith("cuda"):
            makers[THRUST] = partial(by_thrust, name, options.size)
            makers["CuPy"] = lambda name=name: by_module(
                cupy_on_device(), "CuPy", name, options.size
            )
        else:
            makers["NumPy"] = partial(by_module, np, "NumPy", name, options.size)
        found = take_turns(makers, options.turns, None, [n for n in makers if n != OURS])
        results[options.space][name] = found
        shown = [(n, round(f["ms"], 4) if "ms" in f else f) for n, f in found.items()]
        print(f"{name}: {shown}", file=sys.stderr, flush=True)
    table = Table(
        title=f"{options.size:,} elements, {options.space}: ms, and execspace over others"
    )
    names = list(dict.fromkeys(n for found in results[options.space].values() for n in found))
    for heading in ("", *names):
        table.add_column(heading, justify="right")
    for name, found in results[options.space].items():
        cells = []
        for who in names:
            ratio = over(found, OURS, who)
            each = f"{found[who]['ms']:.4g}" if "ms" in found.get(who, {}) else "-"
            cells.append(each if who == OURS or ratio is None else f"{each} ({ratio:.2f})")
        table.add_row(name, *cells)
    Console(width=max(120, Console().width)).print(table)
    return report(results, options.json, size=options.size, turns=options.turns)


if __name__ == "__main__":
    sys.exit(main())
