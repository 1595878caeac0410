"""Assertions behind which all runs under a mask: of which kernels, and what a failure does."""

import re

import llvmlite.binding
import numpy as np
import pytest

import execspace as es
from execspace_compiler.host import machine
from execspace_compiler.host.machine import has_cheap_masks

N = 300
BAD = (40, 41, 170)


@pytest.fixture
def masks(monkeypatch):
    """``masks(True)`` compiles as for a processor whose masked stores cost what others do."""

    def choose(cheap):
        monkeypatch.setattr("execspace_compiler.host.machine.has_cheap_masks", lambda: cheap)

    return choose


@pytest.fixture
def functions(host_functions):
    def run(kernel, *args, rank=1):
        policy = es.MDRangePolicy((9,) * rank, space="serial")
        if rank == 1:
            policy = es.RangePolicy(9, space="serial")
        return host_functions(policy, kernel, *args)

    return run


@es.function
def positive(v):
    assert v > 0
    return v


def test_the_body_returns_the_number_of_what_failed_and_stores_behind_it(functions, masks):
    def kernel(i, x, y):
        assert x[i] > 0
        y[i] = positive(x[i])

    masks(True)
    found = functions(kernel, np.ones(9), np.ones(9))
    assert found.keys() == {"positive", "kernel", "kernel__masked", "_chunk"}
    body = found["kernel__masked"]
    assert " fail " not in body
    assert body.index("return 1:") < body.index("y[i] = ") < body.index("return 0:")
    before, _, after = found["_chunk"].partition("_where, _code = failures of kernel__masked(")
    assert " kernel(" not in before and " kernel(_i0" in after  # which tells what failed
    assert " fail " not in after


def test_rows_tell_whether_a_call_failed_if_it_can_be_asked_again_which_one(functions, masks):
    """Nothing that is tested may have been changed by the calls that did not fail."""

    def apart(i, j, x, y):
        assert x[i, j] > 0
        y[i, j] = positive(x[i, j])

    def in_place(i, j, x, y):
        assert x[i, j] > 0
        x[i, j] = -x[i, j]

    masks(True)
    args = np.ones((9, 9)), np.ones((9, 9))
    chunk = functions(apart, *args, rank=2)["_chunk"]
    assert "_where" not in chunk
    before, _, after = chunk.partition("_failed = failures of apart__masked(")
    assert "apart__fails1(" not in before and "apart__fails1(" in after
    assert "_where, _code = failures of" in functions(in_place, *args, rank=2)["_chunk"]


def test_after_a_store_the_loop_counts_which_assertion_failed(functions, masks):
    def kernel(i, x, y):
        y[i] = x[i]
        assert x[i] > 0
        assert x[i] < 9

    masks(True)
    chunk = functions(kernel, np.ones(9), np.ones(9))["_chunk"]
    _, _, after = chunk.partition("_where, _code = failures of kernel__masked(")
    assert " fail _code at _i0" in after


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
def test_where_masked_loads_cost_more_assertions_are_tested_beforehand(functions, masks, kernel):
    masks(True)
    found = functions(kernel, np.ones(9), np.ones(9), np.ones(20))
    name = kernel.__name__
    assert f"{name}__masked" not in found and f"{name}__fails1" in found


def test_the_dimension_of_the_innermost_loop_must_be_contiguous(functions, masks):
    def kernel(i, j, x, y):
        assert x[i, j] > 0
        y[i, j] = x[i, j]

    masks(True)
    assert "kernel__masked" in functions(kernel, np.ones((9, 9)), np.ones((9, 9)), rank=2)
    across = np.ones((9, 9)).T
    assert "kernel__masked" not in functions(kernel, across, np.ones((9, 9)), rank=2)


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


@pytest.fixture
def compiled_for(monkeypatch):
    """``compiled_for(text)`` sets EXECSPACE_CPU, or unsets it."""

    def choose(text):
        if text is None:
            monkeypatch.delenv("EXECSPACE_CPU", raising=False)
        else:
            monkeypatch.setenv("EXECSPACE_CPU", text)
        machine.processor.cache_clear()

    yield choose
    machine.processor.cache_clear()


def test_the_features_that_llvm_compiles_for_decide(compiled_for):
    compiled_for("generic,+avx,+avx2,+avx512f")
    assert not has_cheap_masks()
    features = "+avx512f,+avx512bw,+avx512dq,+avx512vl"
    compiled_for(f"generic,{features}")
    assert has_cheap_masks()
    compiled_for("generic")
    assert not has_cheap_masks()
    compiled_for(None)
    host = llvmlite.binding.get_host_cpu_features()
    assert has_cheap_masks() == all(host.get(f[1:], False) for f in features.split(","))
