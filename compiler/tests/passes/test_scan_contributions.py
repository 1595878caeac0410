"""Which kernels of scans are given their contribution in the final pass, and which compute it."""

from __future__ import annotations

import numpy as np
import pytest
from cfamily_cases import text

import execspace as es
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_compiler.passes.scan_contributions import OWN


def inclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix + x[i]
    return x[i]


def variable(i, prefix, final, x, y):
    v = np.sqrt(x[i])
    if final:
        y[i] = prefix + v
    return v


def in_place(i, prefix, final, x, y):
    if final:
        x[i] = prefix + x[i]
    return x[i]


def exclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def changed(i, prefix, final, x, y):
    v = x[i]
    if v > 3:
        v = 0.0
    if final:
        y[i] = prefix + v
    return v


def two_ways(i, prefix, final, x, y):
    if final:
        y[i] = prefix + x[i]
        return x[i]
    return x[i]


def moving(i, prefix, final, x, y):
    k = i
    if final:
        k = i + 1
        y[i] = prefix + x[k]
    return x[k]


def given(kernel, reducer=es.Sum, disjoint=True, dtype="float64", **options):
    """Whether the text hands the contribution on."""
    source = text(
        kernel, f"{dtype}[1]", f"{dtype}[1]", pattern="scan", reducer=reducer, disjoint=disjoint,
        dialect=CUDA, **options,
    ).source  # fmt: skip
    return OWN in source


def test_what_is_read_again_is_given():
    assert given(inclusive)
    assert given(variable)
    assert not given(exclusive)  # nothing to gain


def test_views_that_may_overlap_are_read_again():
    assert not given(inclusive, disjoint=False)
    assert given(variable, disjoint=False)  # read once, before anything is stored


@pytest.mark.parametrize("kernel", [in_place, changed, two_ways, moving])
def test_a_contribution_that_may_differ_is_computed(kernel):
    assert not given(kernel)


def test_only_states_that_hold_the_contribution_to_the_bit():
    assert given(inclusive, es.Max)
    assert given(inclusive, es.Sum(dtype=es.float64), dtype="float32")
    assert not given(inclusive, es.Sum(accuracy="high"))
    assert not given(inclusive, es.Sum(dtype=es.float32))
    assert not given(inclusive, dtype="complex128")


def test_a_sum_of_floats_begins_with_the_zero_that_changes_nothing():
    source = text(
        inclusive, "float64[1]", "float64[1]", pattern="scan", reducer=es.Sum, disjoint=True,
        dialect=CUDA,
    ).source  # fmt: skip
    assert "_none = 0.0;\n    _none = (-0.0);" in source
