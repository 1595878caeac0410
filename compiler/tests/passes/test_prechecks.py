"""Which assertions are tested before a strip runs, and by how many loops."""

import re

import numpy as np
import pytest

import execspace as es

x, y = np.ones(9), np.ones(9)
at = np.zeros(9, int)
RANGE = es.RangePolicy(9, space="serial", lanes=1)


@es.function
def positive(v):
    assert v > 0
    return v


@es.function
def put(view, i, v):
    assert v > 0
    view[i] = v


@pytest.fixture(autouse=True)
def without_cheap_masks(monkeypatch):
    """What is told here is of processors without AVX-512; for the others see test_masking."""
    monkeypatch.setattr("execspace_compiler.host.machine.has_cheap_masks", lambda: False)


@pytest.fixture
def functions(host_functions):
    def run(kernel, *args, policy=RANGE):
        return host_functions(policy, kernel, *args)

    return run


def loops_of(functions):
    found = (re.fullmatch(r"\w+__fails(\d)", name) for name in functions)
    return sorted(name[1] for name in found if name)


def test_the_loop_that_stores_has_no_assertion_and_nothing_to_leave_for(functions):
    def kernel(i, x, y):
        assert x[i] > 0
        y[i] = positive(x[i])

    found = functions(kernel, x, y)
    sound = found["kernel__sound"]
    assert "y[i] = " in sound and "fail" not in sound and "if" not in sound
    assert "if" not in found["positive__sound"]
    assert re.search(r"independent for .*\n *do kernel__sound\(", found["_chunk"])


def two_of_one(i, x, y):
    assert x[i] > 0
    assert x[i] < 9
    y[i] = x[i]


def guarded(i, x, y, at):
    assert 0 <= at[i] < 9
    assert x[at[i]] > 0
    y[i] = x[at[i]]


def of_what_was_stored(i, x, y):
    y[i] = 2 * x[i]
    y[i] += 1
    assert y[i] > 0


def of_a_copy(i, x, y):
    t = x[i]
    x[i] = 0
    assert t > 0


@pytest.mark.parametrize(
    ("kernel", "args", "expected"),
    [(two_of_one, (x, y), ["1"]), (guarded, (x, y, at), ["1", "2"]),
     (of_what_was_stored, (x, y), ["1"]), (of_a_copy, (x, y), ["1"])],
)  # fmt: skip
def test_a_test_loads_nothing_that_an_assertion_guards(functions, kernel, args, expected):
    assert loops_of(functions(kernel, *args)) == expected


def test_what_is_stored_is_not_loaded_by_the_test(functions):
    text = functions(of_what_was_stored, x, y)["of_what_was_stored__fails1"]
    assert "x[i]" in text and "y[i]" not in text


def test_an_index_is_tested_at_the_ends_of_a_strip(functions):
    def steady(i, x, y):
        k = 2 * i + 1
        assert 0 <= k < 2 * x.extent(0)
        y[i] = 1

    def bent(i, x, y):
        assert i != 5
        y[i] = 1

    chunk = functions(steady, x, y)["_chunk"]
    assert "_failed = bitor:bool(_failed, steady__fails1(_i0" in chunk
    assert "failures of" not in chunk
    assert "_failed = failures of bent__fails1(_i0" in functions(bent, x, y)["_chunk"]


def elsewhere(i, x, y):
    y[8 - i] = x[i]
    assert y[i] > 0


def through_a_helper(i, x, y):
    put(y, i, x[i])


def heavy(i, x, y):
    assert x[i] > 0
    y[i] = np.exp(x[i])


def long(i, x, y):
    for k in range(y.extent(0)):
        assert y[k] > 0
        y[i] += x[k]


def counted(i, x, y):
    n = es.atomic_fetch_add(y, 0, 1.0)
    assert n < 5


@pytest.mark.parametrize("kernel", [elsewhere, through_a_helper, heavy, long, counted])
def test_what_depends_on_effects_or_gains_nothing_is_asserted_as_it_stands(functions, kernel):
    found = functions(kernel, x, y)
    assert not loops_of(found) and " fail " in found[kernel.__name__]


def test_views_that_overlap_are_stored_in_the_order_of_the_kernel(functions):
    def kernel(i, x, y):
        y[i] = 0
        assert x[i] > 0

    data = np.ones(9)
    with pytest.raises(es.KernelAssertionError, match="at index 0"):
        es.parallel_for(RANGE, kernel, data, data)
    assert loops_of(functions(kernel, data, np.ones(9))) == ["1"]


def test_a_team_reports_at_its_end(functions):
    def kernel(team, x, y):
        for k in es.TeamThreadRange(team, 9):
            assert x[k] > 0
            y[k] = x[k]

    text = functions(kernel, x, y, policy=es.TeamPolicy(1, space="serial"))["kernel"]
    loop, _, end = text.partition("for _t1 in range")[2].partition("\n  if _failed0\n")
    assert " fail " not in loop and end.lstrip().startswith("fail 1:")
