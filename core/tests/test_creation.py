"""Lists that become elements of Views: their integers fit, as NumPy asks of its arrays."""

import re

import numpy as np
import pytest

import execspace as es


@pytest.mark.parametrize("number", [300, -129, 40_000])
@pytest.mark.parametrize("source", [lambda n: [1, n], lambda n: ((n,), (1,)), lambda n: n])
def test_integers_of_a_list_that_do_not_fit_are_refused(source, number):
    message = re.escape(f"array: {number} does not fit int8, which holds -128 to 127.")
    with pytest.raises(es.ViewError, match=message):
        es.array(source(number), es.int8, memory=es.HOST)
    with pytest.raises(OverflowError):  # as it is with NumPy
        np.array(source(number), np.int8)


def test_ranges_are_lists():
    with pytest.raises(es.ViewError, match="array: 299 does not fit int8"):
        es.array(range(300), es.int8, memory=es.HOST)


def test_integers_of_a_list_that_are_stored_fit():
    A = es.zeros(3, es.uint8, label="A", memory=es.HOST)
    with pytest.raises(es.ViewError, match="View 'A': -1 does not fit uint8, which holds 0 to 255"):
        A[:2] = [7, -1]
    A[:2] = [7, 255]
    assert A.to_numpy().tolist() == [7, 255, 0]


def test_integers_of_an_array_wrap_as_in_numpy():
    wide = np.array([300, -129])
    assert es.array(wide, es.int8, memory=es.HOST).to_numpy().tolist() == [44, 127]
    assert wide.astype(np.int8).tolist() == [44, 127]


def test_large_and_empty_lists_are_taken():
    assert es.array([2**63], es.uint64, memory=es.HOST).item() == 2**63
    assert es.array([300], es.float32, memory=es.HOST).item() == 300
    assert es.array([], es.int8, memory=es.HOST).shape == (0,)


@pytest.mark.parametrize("numbers", [[2**63 + 1, 1], [[2**64 - 1], [2**53 + 1]], 2**63 + 1])
def test_integers_of_64_bits_are_exact_though_numpy_makes_them_floats(numbers):
    found = es.array(numbers, es.uint64, memory=es.HOST).to_numpy()
    assert found.tolist() == numbers


def test_integers_of_more_than_64_bits():
    assert es.array([2**70, 1], es.float64, memory=es.HOST).to_numpy().tolist() == [2.0**70, 1.0]
    with pytest.raises(es.ViewError, match=f"array: {2**64} does not fit uint64"):
        es.array([1, 2**64], es.uint64, memory=es.HOST)
    with pytest.raises(es.ViewError, match="array: -1 does not fit uint64"):
        es.array([-1, 2**63], es.uint64, memory=es.HOST)
