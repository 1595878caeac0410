"""Arrays of a launch that share elements, and stores that would overtake or overlap."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import execspace as es


def nothing(i, x, y):
    return 0.0


def launch(space, *args, **options):
    es.parallel_reduce(es.RangePolicy(3, space=space), nothing, *args, **options)


def test_an_array_that_is_stored_into_shares_nothing_with_the_rest_of_a_launch(plain, device):
    w = es.array(np.arange(3.0), memory=es.HOST, label="w")
    a = np.asarray(w)
    for space in (plain, device):
        for x, y in [(es.In(a), es.Out(a)), (es.InOut(a[:2]), es.In(a[1:])), (es.In(w), es.Out(a))]:
            with pytest.raises(es.LaunchError, match=r"argument 0 and argument 1 share elements"):
                launch(space, x, y)
        for wrapped in (es.In(a), es.Out(a), es.InOut(a)):
            with pytest.raises(es.LaunchError, match=r"argument 0 and out= share elements"):
                launch(space, wrapped, 1.0, out=a[:1].reshape(()))
    for x, y in [(w, es.Out(a)), (es.InOut(a), w)]:
        with pytest.raises(es.LaunchError, match="and View 'w' share elements"):
            launch(plain, x, y)
    assert a.tolist() == [0, 1, 2]
    launch(plain, es.In(a), es.In(a))


@pytest.mark.parametrize("wrapper", [es.Out, es.InOut])
def test_an_array_of_which_elements_share_memory_is_not_stored_into(plain, device, wrapper):
    once, window = np.zeros(1), np.zeros(5)
    for array in (as_strided(once, (3,), (0,)), sliding_window_view(window, 3, writeable=True)):
        for space in (plain, device):
            with pytest.raises(es.LaunchError, match=r"elements share memory .* Pass a copy"):
                launch(space, wrapper(array), 1.0)
    launch(plain, wrapper(np.zeros((2, 3))[:, ::-2]), 1.0)


def test_overlapping_parts_are_read_before_they_are_stored(device):
    for space in (None, device):
        A = es.array(np.arange(6.0), space=space)
        A[1:] = A[:-1]
        assert A.to_numpy().tolist() == [0, 0, 1, 2, 3, 4]
        A[:] = A[::-1]
        assert A.to_numpy().tolist() == [4, 3, 2, 1, 0, 0]
        A[:] = A[2:3]
        assert A.to_numpy().tolist() == [2.0] * 6
        A[:] = np.ones((1, 6))
        A[...] = [[3.0]]
        assert A.to_numpy().tolist() == [3.0] * 6


def test_an_ellipsis_makes_it_a_part_which_any_memory_takes(device):
    A, scalar = es.zeros(3, space=device, label="A"), es.zeros((), space=device, label="s")
    A[1, ...] = 5
    scalar[...] = 4
    assert (A.to_numpy().tolist(), scalar.item()) == ([0, 5, 0], 4)
    with pytest.raises(
        es.SpaceAccessError, match=r"cannot write element by element; .*A\[i:i\+1\]"
    ):
        A[1] = 5
    with pytest.raises(es.SpaceAccessError, match=r"cannot write .* s\[\.\.\.\] = value"):
        scalar[()] = 5


def test_arrays_in_any_byte_order_and_alignment_can_be_copied():
    big = np.arange(3, dtype=">i4")
    packed = np.zeros(3, [("a", "i1"), ("b", "f8")])["b"]
    packed[:] = [1, 2, 3]
    assert es.array(big).to_numpy().tolist() == [0, 1, 2]
    assert es.array(packed).to_numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "make",
    [lambda: es.arange(0, 5, 0), lambda: es.arange(0, np.inf), lambda: es.arange("a"),
     lambda: es.linspace(0, 1, -1), lambda: es.linspace(0, 1, 2.5)],
)  # fmt: skip
def test_numbers_that_numpy_does_not_make(make):
    with pytest.raises(es.ViewError, match=r"^(arange|linspace): no "):
        make()


def test_memories_of_two_devices_are_copied_through_the_host(device, other_device):
    A = es.array([1.0, 2.0], space=device, label="A")
    assert A.to(other_device).memory_space is other_device.memory_space
    B = es.zeros(2, space=other_device, label="B")
    B[:] = A
    assert B.to_numpy().tolist() == [1, 2]
