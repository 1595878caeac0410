"""LLVM IR of reductions and scans: how states are kept, joined and handed on.

To accept a change of the generated source, run with UPDATE_GOLDEN=1 and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import execspace as es
from execspace.contract.argtypes import ViewType
from execspace.contract.launch_spec import LaunchSpec, policy_spec
from execspace.reducers.base import as_reducer, reducer_captures
from execspace_compiler import lower_kernel
from execspace_compiler.host.launch_source import launch_module
from execspace_compiler.host.launcher import Launcher

GOLDEN = Path(__file__).parents[1] / "golden"


class Affine(es.Reducer):
    """A join of pairs, with a last step."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    def final(f):
        return f[1] / f[0]


def inclusive(i, prefix, final, x):
    v = x[i]
    if final:
        x[i] = prefix + v
    return v


def located(i, x):
    return x[i], i


def powers(i, a, x):
    for j in range(3):
        a[j] += x[i] ** j


def value(i, x):
    return x[i]


CASES = {
    "scan": ("scan", inclusive, es.Sum),
    "minloc": ("reduce", located, es.MinLoc),
    "array_sum": ("reduce", powers, es.Sum(shape=3)),
    "accuracy_high": ("reduce", value, es.Sum(accuracy="high")),
    "affine": ("reduce", lambda i, x: (2, x[i]), Affine),
}


@pytest.mark.parametrize("case", CASES)
def test_llvm_text(case):
    pattern, kernel, given = CASES[case]
    reducer = as_reducer(given)
    x = ViewType("int64" if case == "affine" else "float64", 1, "right", 0, False, "host")
    captures = reducer_captures(reducer)
    policy = policy_spec("range", 1)
    spec = LaunchSpec(pattern, policy, (x,), reducer=reducer, captures=captures)
    lowered = lower_kernel(es.Kernel(kernel), spec)
    launcher = Launcher("libgomp" if case == "scan" else "serial", 4)
    text = launch_module(lowered, (0,), launcher).text
    llvm.parse_assembly(text).verify()
    path = GOLDEN / f"{case}.{launcher.name}.ll.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{case} changed; see the docstring above"


def test_only_the_innermost_loop_of_a_search_is_unrolled():
    """Four rounds of each of six loops would be thousands of copies of the kernel."""

    def least(i, j, k, x):
        return x[i, j, k], i

    x = ViewType("float64", 3, "right", 0, False, "host")
    reducer = as_reducer(es.MinLoc)
    spec = LaunchSpec(
        "reduce", policy_spec("mdrange", 3), (x,), reducer=reducer,
        captures=reducer_captures(reducer),
    )  # fmt: skip
    lowered = lower_kernel(es.Kernel(least), spec)
    text = launch_module(lowered, (0, 1, 2), Launcher("serial", 4)).text
    # The innermost loop of the walk, and the one that joins what threads have found.
    assert text.count(", !llvm.loop ") == 2
    assert '!"llvm.loop.unroll.count", i32 4' in text
