"""Assertions behind which all runs under a mask: of which kernels, and what a failure does."""

import re

import llvmlite.binding
import numba
import numpy as np
import pytest

import execspace as es
from execspace_compiler.host.wide import has_cheap_masks

N = 300
BAD = (40, 41, 170)


@pytest.fixture
def masks(monkeypatch):
    """``masks(True)`` compiles as for a processor whose masked stores cost what others do."""

    def choose(cheap):
        monkeypatch.setattr("execspace_compiler.host.jit.has_cheap_masks", lambda: cheap)

    return choose


def source(kernel, *args, rank=1):
    policy = es.MDRangePolicy((9,) * rank, space="serial")
    if rank == 1:
        policy = es.RangePolicy(9, space="serial")
    return es.explain(policy, kernel, *args).source


@es.function
def positive(v):
    assert v > 0
    return v


def test_the_body_returns_the_number_of_what_failed_and_stores_behind_it(masks):
    def kernel(i, x, y):
        assert x[i] > 0
        y[i] = positive(x[i])

    masks(True)
    text = source(kernel, np.ones(9), np.ones(9))
    body = text.partition("def _f_kernel__masked")[2].partition("\n\n")[0]
    assert "_r.fail(" not in body and "__fails" not in text and "__sound" not in text
    assert body.index("return 1") < body.index("_r.store_disjoint(") < body.index("return 0")
    chunk = text.partition("def _f__chunk")[2].partition("\n\n")[0]
    before, _, after = chunk.partition("_r.first_failure(False, 0, _f_kernel__masked")
    assert "_r.fail(" not in text.partition("def _f_kernel__masked")[2].partition("def _f__chu")[0]
    assert "_f_kernel(" not in before and "_f_kernel(_i0" in after  # which tells what failed


def test_rows_tell_whether_a_call_failed_if_it_can_be_asked_again_which_one(masks):
    """Nothing that is tested may have been changed by the calls that did not fail."""

    def apart(i, j, x, y):
        assert x[i, j] > 0
        y[i, j] = positive(x[i, j])

    def in_place(i, j, x, y):
        assert x[i, j] > 0
        x[i, j] = -x[i, j]

    masks(True)
    args = np.ones((9, 9)), np.ones((9, 9))
    text = source(apart, *args, rank=2)
    chunk = text.partition("def _f__chunk")[2]
    assert "_r.first_failure(" not in text
    before, _, after = chunk.partition("_failed = _r.any_failure(True, 1, _f_apart__masked")
    assert "_f_apart__fails1(" not in before and "_f_apart__fails1(" in after
    assert "_r.any_failure(" not in source(in_place, *args, rank=2)


def test_after_a_store_the_loop_counts_which_assertion_failed(masks):
    def kernel(i, x, y):
        y[i] = x[i]
        assert x[i] > 0
        assert x[i] < 9

    masks(True)
    text = source(kernel, np.ones(9), np.ones(9))
    assert "_r.first_failure(False, 2, _f_kernel__masked" in text
    assert "_r.fail(__status_d, _code" in text


def of_a_stride(i, x, y, table):
    assert x[i] > 0
    y[i] = table[2 * i]


def of_the_same_place(i, x, y, table):
    assert x[i] > 0
    y[i] = x[i] * table[3]


def of_places_from_memory(i, x, y, table):
    assert x[i] >= 0
    y[i] = table[int(x[i])]


@pytest.mark.parametrize("kernel", [of_a_stride, of_the_same_place, of_places_from_memory])
def test_where_masked_loads_cost_more_assertions_are_tested_beforehand(masks, kernel):
    masks(True)
    text = source(kernel, np.ones(9), np.ones(9), np.ones(20))
    assert "__masked" not in text and "__fails1" in text


def test_the_dimension_of_the_innermost_loop_must_be_contiguous(masks):
    def kernel(i, j, x, y):
        assert x[i, j] > 0
        y[i, j] = x[i, j]

    masks(True)
    assert "__masked" in source(kernel, np.ones((9, 9)), np.ones((9, 9)), rank=2)
    across = np.ones((9, 9)).T
    assert "__masked" not in source(kernel, across, np.ones((9, 9)), rank=2)


def several(i, x, y):
    y[i] = 1
    assert x[i] > -9, "first"
    if x[i] < 0:
        y[i] += 1
        assert y[i] != 2, "second"
        y[i] += 2
    y[i] += positive(x[i])


def changed(i, x, y):
    x[i] = y[i] - x[i]
    assert x[i] < 5, "changed"
    y[i] = x[i]


def of_itself(i, x, y):
    y[i] = x[i] * 2
    assert x[i] > -5, "of itself"
    y[i] += 1


@pytest.mark.parametrize("cheap", [True, False])
@pytest.mark.parametrize(
    ("kernel", "dtype", "same"),
    [(several, "float64", False), (several, "int16", False), (changed, "float32", False),
     (of_itself, "int32", False), (of_itself, "float32", True)],
)  # fmt: skip
def test_a_call_ends_where_it_failed_and_the_first_failure_is_told(
    masks, cheap, kernel, dtype, same
):
    def data():
        x = np.ones(N, dtype)
        x[list(BAD)] = -3, -10, 0  # of `several` the second assertion fails first
        return x, x if same else np.ones(N, dtype)

    masks(cheap)
    policy = es.RangePolicy(5, N - 3, space="serial")
    expected, failures = data(), []
    for i in range(5, N - 3):
        try:
            kernel(i, *expected)
        except AssertionError as error:
            failures.append((i, str(error).splitlines()[0]))
    found = data()
    with pytest.raises(es.KernelAssertionError) as caught:
        es.parallel_for(policy, kernel, *found)
    first, message = failures[0]
    assert re.search(rf"at index {first}\b", str(caught.value)) and message in str(caught.value)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_features_that_numba_compiles_for_decide(monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "+avx,+avx2,+avx512f")
    assert not has_cheap_masks()
    features = "+avx512f,+avx512bw,+avx512dq,+avx512vl"
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    assert has_cheap_masks()
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
    assert not has_cheap_masks()
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    host = llvmlite.binding.get_host_cpu_features()
    assert has_cheap_masks() == all(host.get(f[1:], False) for f in features.split(","))
