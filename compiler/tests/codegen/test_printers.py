"""Generated source: goldens of LLVM IR for hosts and of the oracle's Python.

To accept a change of the generated source, run with UPDATE_GOLDEN=1 and read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import execspace as es
from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import lower_kernel
from execspace_compiler.codegen.python.oracle import OraclePrinter
from execspace_compiler.host.fork import Fork
from execspace_compiler.host.launch_source import launch_module
from execspace_compiler.host.launcher import Launcher
from execspace_compiler.mapping.loops import index_order

GOLDEN = Path(__file__).parents[1] / "golden"


def axpy(i, a, x, y):
    y[i] += a * x[i]


def stencil(i, j, A, B):
    A[i, j] = 0.25 * (B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1])


def clamp(x, low, high):
    if x < low:
        return low
    return high if x > high else x


def mixed(i, n, k8, u, flags):
    s = 0
    for q in range(A_FEW):
        if flags[i] and q % 2 == 0:
            continue
        s += k8[i] // -3 + clamp(q, 1, 2)
    n[i] = s << 2
    u[i] = ~u[i] ^ 1


def norm(i, j, A):
    return A[i, j] ** 2 if A[i, j] == A[i, j] else 0.0


A_FEW = 5
CASES = {
    "axpy": (axpy, (float, "float32[1]", "float32[1]"), {}),
    "stencil_left": (stencil, ("float64[2,left]", "float64[2,left]"), {"rank": 2}),
    "mixed": (mixed, ("int64[1]", "int8[1]", "uint8[1]", "bool[1]"), {}),
    "norm": (norm, ("float64[2]",), {"rank": 2, "reduce": True}),
}


def check(name, text):
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; see the docstring above"


def launch(lower, case, launcher):
    """The module of a launch, which LLVM accepts."""
    kernel, arguments, options = CASES[case]
    lowered = lower(kernel, *arguments, **options)
    order = index_order(lowered.body, lowered.spec)
    threads = Launcher(launcher, 4, Fork(map) if launcher == "fork" else None)
    text = launch_module(lowered, order, threads, disjoint=case != "norm").text
    llvm.parse_assembly(text).verify()
    return text


@pytest.mark.parametrize("case", CASES)
def test_llvm_text(lower, case):
    check(f"{case}.serial.ll.txt", launch(lower, case, "serial"))


@pytest.mark.parametrize("launcher", ["pool", "libgomp", "prange", "fork"])
def test_llvm_text_of_launches_on_several_threads(lower, launcher):
    check(f"axpy.{launcher}.ll.txt", launch(lower, "axpy", launcher))
    for case in CASES.keys() - {"axpy"}:
        kernel, serial = (
            launch(lower, case, n).partition("define internal void @part1")
            for n in (launcher, "serial")
        )
        functions = kernel[0][kernel[0].index("define") :]
        assert functions == serial[0][serial[0].index("define") :]  # the kernel and its loops


@pytest.mark.parametrize("case", CASES)
def test_oracle_text(lower, case):
    kernel, arguments, options = CASES[case]
    text = OraclePrinter(lower(kernel, *arguments, **options).module()).source()
    compile(text, case, "exec")
    check(f"{case}.oracle.py.txt", text)


def test_names_of_the_oracles_text_are_kept_apart_from_the_users(lower):
    def kernel(i, np, zip_, int):
        np[i] = zip_[i] + int

    text = OraclePrinter(lower(kernel, "float64[1]", "float64[1]", float).module()).source()
    assert "def _f_kernel(i, _np, zip_, _int):" in text


def test_variables_of_the_oracle_may_have_the_names_of_its_functions():
    def kernel(i, x, int, complex, zip):
        assert i < zip
        z = complex * 2j
        x[i] += int + z.imag

    x = np.ones(3)
    es.parallel_for(es.RangePolicy(3, space="oracle"), kernel, x, 1, 2 + 1j, 3)
    assert x.tolist() == [6, 6, 6]


def view_type():
    return ViewType("float64", 1, "right", 0, False, "host")


def launch_text(fn, *types):
    spec = LaunchSpec("for", policy_spec("range", 1), types)
    lowered = lower_kernel(Kernel(fn), spec)
    text = launch_module(lowered, (0,), Launcher("serial"), disjoint=True).text
    llvm.parse_assembly(text).verify()
    return text


def test_a_restricted_view_is_not_checked_for_overlap():
    def kernel(i, x, y, z):
        z[i] = x[i] + y[i]

    def compared(*types):
        text = launch_text(kernel, *types)
        assert "!alias.scope" in text  # the promise is what the compiler uses
        return text.count("= or i1 ")  # of pairs of Views that overlap

    plain = view_type()
    promised = ViewType("float64", 1, "right", 0, False, "host", (), ("restrict",))
    assert compared(plain, plain, plain) == 2
    assert compared(promised, plain, plain) == 1
    assert compared(plain, plain, promised) == 0


def test_static_extents_are_constants():
    def kernel(i, x):
        for j in range(x.extent(1)):
            x[i, j] = j

    fixed = ViewType("float64", 2, "right", 1, False, "host", (None, 3))
    text = launch_text(kernel, fixed)
    assert re.search(r"icmp slt i64 %k\d+, 3\n", text)
    assert "mul nsw i64 %v.i, 3\n" in text
