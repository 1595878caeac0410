"""What constants that are no numbers mean in and, or, not and conditions."""

# Python would leave out what these kernels decide.
# ruff: noqa: SIM222

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


def fast(v):
    return v + 1.0


def slow(v):
    return v + 2.0


def which(name):
    return 1.0 if name == "fast" else 2.0 if name == "slow" else 3.0


def result(kernel, *args):
    x = np.zeros(2)
    with es.use_space("oracle"):
        es.parallel_for(2, kernel, x, *args)
    return x[1]


@pytest.mark.parametrize("mode", ["slow", "fast", "", None])
def test_the_deciding_string_of_or_and_and_is_their_value(mode):
    def either(i, x, mode):
        x[i] = which(mode or "fast")

    def both(i, x, mode):
        x[i] = which(mode and "slow")

    def of_three(i, x, mode):
        name = mode or None or "slow"
        x[i] = which(name)

    assert result(either, mode) == which(mode or "fast")
    assert result(both, mode) == which(mode and "slow")
    assert result(of_three, mode) == which(mode or None or "slow")


@pytest.mark.parametrize(
    "given", [None, slow, np.sqrt, np.float32], ids=["None", "slow", "sqrt", "float32"]
)
def test_a_function_or_a_type_may_have_a_default(given):
    def kernel(i, x, given):
        x[i] = (given or fast)(4.5)

    def guarded(i, x, given):
        x[i] = ((given and slow) or fast)(4.5)

    assert result(kernel, given) == (given or fast)(4.5)
    assert result(guarded, given) == ((given and slow) or fast)(4.5)


def test_a_captured_view_or_tuple_may_be_a_default():
    def kernel(i, x, other):
        pair = other or (1.0, 2.0)
        values = other or x
        values[i] = pair[0] + len(pair)

    assert result(kernel, None) == 3.0


@pytest.mark.parametrize("mode", ["slow", "", None, 0, 0.0, 5, 2.5])
def test_a_number_after_a_string_decides_where_python_says(mode):
    def kernel(i, x, mode: es.static):
        x[i] = -1.0 if mode == "slow" else mode or 7.5

    def negated(i, x, mode: es.static):
        x[i] = 1.0 if not (mode or 0) else 2.0

    def guard(i, x, mode: es.static):
        if i > 0 and mode:
            x[i] = 3.0
        if not mode:
            x[i] += 4.0
        while mode and x[i] < 10.0:
            x[i] += 10.0

    assert result(kernel, mode) == (-1.0 if mode == "slow" else mode or 7.5)
    assert result(negated, mode) == (1.0 if not (mode or 0) else 2.0)
    assert result(guard, mode) == (13.0 if mode else 4.0)


def test_what_decides_is_evaluated_once_and_the_rest_not_at_all():
    counted = np.zeros(2, np.int64)

    def touch(n, i, v):
        n[i] += 1
        return v

    def kernel(i, x, n, mode):
        a = mode or touch(n, i, 5.0)
        x[i] = which(a)
        b = (touch(n, i, 1.0) > 0.0) and mode == "slow"
        x[i] += 10.0 if b else 0.0

    x = np.zeros(2)
    with es.use_space("oracle"):
        es.parallel_for(2, kernel, x, counted, "slow")
    assert x.tolist() == [12.0, 12.0]
    assert counted.tolist() == [1, 1]


@pytest.mark.parametrize("mode", ["slow", ""])
def test_a_string_does_not_stand_for_a_number(mode):
    def stored(i, x, mode):
        x[i] = mode or "fast"

    def of_numbers(i, x, mode):
        x[i] = x[i] and mode

    for kernel in (stored, of_numbers):
        with pytest.raises(es.KernelTypeError, match="a string"):
            result(kernel, mode)


def test_the_truth_of_what_may_change_unnoticed_is_refused():
    class Sized:
        def __len__(self):
            return 0

    for held in ([], {}, {1}, Sized()):

        def kernel(i, x, held=held):
            if held:
                x[i] = 1.0

        with pytest.raises(es.KernelTypeError, match="no launch would notice"):
            result(kernel)
