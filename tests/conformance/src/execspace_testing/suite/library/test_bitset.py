"""Bitset and ConstBitset: bits that kernels change at once, against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

some = drawn(20)
SIZES = [0, 1, 31, 32, 33, 64, 100, 1000]


def bits_of(bits):
    return staged.fetch(bits.to_bools())


@pytest.mark.parametrize("size", SIZES)
def test_all_bits_at_once(space, size):
    bits = es.Bitset(size, space=space)
    assert (bits.size, bits.is_allocated, bits.count()) == (size, size > 0, 0)
    assert bits.max_hint == -(-size // 32)
    bits.set_all()
    assert bits.count() == size
    assert bits_of(bits).all()
    bits.flip_all()
    assert bits.count() == 0
    (~bits).copy_from(bits)
    assert (~bits).count() == size
    bits.set_all()
    bits.reset_all()
    assert not bits_of(bits).any()


def change(i, bits, which, what, told):
    if what == 0:
        told[i] = bits.set(which[i])
    elif what == 1:
        told[i] = bits.reset(which[i])
    elif what == 2:
        told[i] = bits.flip(which[i])
    else:
        told[i] = bits.test(which[i])


def test_one_work_item_is_told_that_it_changed_a_bit(space):
    n, size = fitting(space, 20_000), 77
    which = np.random.default_rng(1).integers(0, size, n)
    bits = es.Bitset(size, space=space)
    policy = es.RangePolicy(n, space=space)
    view, told = staged.view_on(space, which), es.View(n, es.bool_, space=space)
    present = np.isin(np.arange(size), which)
    for what, then in ((0, present), (3, present), (1, present & False), (3, present & False)):
        es.parallel_for(policy, change, bits, view, what, told)
        np.testing.assert_array_equal(bits_of(bits), then)
        found = staged.fetch(told)
        if what == 3:
            assert (found == then[which]).all()
        else:
            assert found.sum() == present.sum()
            assert sorted(which[found]) == np.flatnonzero(present).tolist()
    es.parallel_for(policy, change, bits, view, 2, told)
    odd = np.bincount(which, minlength=size) % 2 == 1
    np.testing.assert_array_equal(bits_of(bits), odd)
    rounds = np.bincount(which[staged.fetch(told)], minlength=size)
    np.testing.assert_array_equal(rounds, (np.bincount(which, minlength=size) + 1) // 2)


def test_indices_beyond_the_size_change_nothing(space):
    bits = es.Bitset(40, space=space)
    which = staged.view_on(space, np.array([-1, 40, 41, 63, 64, 10**12, -(10**12), 39]))
    told = es.View(8, es.bool_, space=space)
    for what in (0, 3, 2, 1):
        es.parallel_for(es.RangePolicy(8, space=space), change, bits, which, what, told)
        assert not staged.fetch(told)[:7].any()
        assert np.flatnonzero(bits_of(bits)).tolist() == ([39] if what in (0, 3) else [])


def search(i, bits, hints, out, wanted: es.static):
    if wanted:
        found, index = bits.find_any_set_near(hints[i])
    else:
        found, index = bits.find_any_unset_near(hints[i])
    out[i, 0] = found
    out[i, 1] = index


@pytest.mark.parametrize("wanted", [True, False])
def test_search_near_a_hint(space, wanted):
    """Each hint against a plain search: the word of the hint, from the hint on and around."""
    rng = np.random.default_rng(2)
    for size in (1, 32, 45, 200):
        for share in (0.0, 0.05, 0.5, 1.0):
            values = rng.random(size) < share
            bits = es.Bitset.from_bools(staged.view_on(space, values))
            hints = np.array([*range(size), size, size + 100, -1])
            out = es.View((len(hints), 2), es.int64, space=space)
            es.parallel_for(
                es.RangePolicy(len(hints), space=space), search, bits,
                staged.view_on(space, hints), out, wanted,
            )  # fmt: skip
            for hint, (found, index) in zip(hints, staged.fetch(out), strict=True):
                at = hint if 0 <= hint < size else 0
                first = at // 32 * 32
                near = [first + (at + k) % 32 for k in range(32)]
                good = [k for k in near if k < size and values[k] == wanted]
                assert found == bool(good)
                assert index == (good[0] if good else (at // 32 + 1) % -(-size // 32) * 32)


def search_back(i, bits, hints, out, wanted: es.static):
    if wanted:
        found, index = bits.find_any_set_near(hints[i], "backward")
    else:
        found, index = bits.find_any_unset_near(hints[i], direction="backward")
    out[i, 0] = found
    out[i, 1] = index


@pytest.mark.parametrize("wanted", [True, False])
def test_search_backward(space, wanted):
    """From the hint down and around in its word; else the last bit of the word before it."""
    rng = np.random.default_rng(3)
    for size in (1, 32, 45, 200):
        for share in (0.0, 0.05, 0.5, 1.0):
            values = rng.random(size) < share
            bits = es.Bitset.from_bools(staged.view_on(space, values))
            hints = np.array([*range(size), size, size + 100, -1])
            out = es.View((len(hints), 2), es.int64, space=space)
            policy = es.RangePolicy(len(hints), space=space)
            view = staged.view_on(space, hints)
            es.parallel_for(policy, search_back, bits, view, out, wanted)
            for hint, (found, index) in zip(
                hints.tolist(), staged.fetch(out).tolist(), strict=True
            ):
                near = hint if 0 <= hint < size else 0
                first = near // 32 * 32
                places = [first + (near - k) % 32 for k in range(32)]
                there = [p for p in places if p < size and values[p] == wanted]
                before = first - 1 if first else size - 1
                assert (found, index) == ((1, there[0]) if there else (0, before))


def test_a_direction_that_does_not_exist(space):
    bits = es.Bitset(40, space=space)
    with pytest.raises(es.KernelTypeError, match="direction is 'down'; expected \"forward\""):
        es.parallel_reduce(
            es.RangePolicy(1, space=space), lambda i, b: b.find_any_set_near(i, "down")[1], bits
        )


def claim(i, bits, mine):
    hint = 7 * i
    mine[i] = -1
    for _ in range(100 * bits.max_hint):
        found, hint = bits.find_any_unset_near(hint)
        if found and bits.set(hint):
            mine[i] = hint
            break


def test_bits_that_are_claimed_at_once_have_one_owner(space):
    n = fitting(space, 2000)
    bits = es.Bitset(n, space=space)
    mine = es.View(n, es.int64, space=space)
    es.parallel_for(es.RangePolicy(n, space=space), claim, bits, mine)
    owned = staged.fetch(mine)
    owned = owned[owned >= 0]
    assert len(set(owned.tolist())) == len(owned) == bits.count()
    assert len(owned) > 0.9 * n


def test_operators(space):
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 133)) < 0.4
    A, B = (es.Bitset.from_bools(staged.view_on(space, x)) for x in (a, b))
    for made, expected in ((A & B, a & b), (A | B, a | b), (A ^ B, a ^ b), (~A, ~a)):
        np.testing.assert_array_equal(bits_of(made), expected)
        assert made.count() == expected.sum()
    kept = A
    A |= B.readonly()
    assert A is kept
    np.testing.assert_array_equal(bits_of(A), a | b)
    A &= B
    A ^= A.copy()
    assert A.count() == 0
    A.copy_from(B.readonly())
    np.testing.assert_array_equal(bits_of(A), b)


def test_readonly_bits_are_those_of_the_bitset(space):
    bits = es.Bitset(70, space=space)
    fixed = bits.readonly()
    assert isinstance(fixed, es.ConstBitset)
    assert not isinstance(fixed, es.Bitset)
    bits.set_all()
    assert (fixed.size, fixed.count(), (fixed & ~bits).count()) == (70, 70, 0)
    policy = es.RangePolicy(70, space=space)
    assert es.parallel_reduce(policy, lambda i, bits: bits.test(i), fixed) == 70
    assert es.parallel_reduce(policy, lambda i, bits: bits.find_any_set_near(i)[1], fixed) == 2415
    with pytest.raises(es.KernelTypeError, match="has no attribute 'set'"):
        es.parallel_for(policy, mark, fixed)


def mark(i, bits):
    bits.set(i)


def test_a_kernel_may_capture_it(space):
    bits = es.Bitset(50, space=space)

    def even(i, bits=bits):
        bits.set(2 * i)

    staged.parallel_for(es.RangePolicy(25, space=space), even)
    assert np.flatnonzero(bits_of(bits)).tolist() == list(range(0, 50, 2))


def test_between_spaces(space):
    values = np.random.default_rng(4).random(90) < 0.5
    there = es.Bitset.from_bools(staged.view_on(space, values))
    here = es.Bitset.from_bools(staged.view_on(es.space("oracle"), values))
    other = es.Bitset(90, space="oracle")
    other.copy_from(there)
    assert (other ^ here).count() == 0
    there.reset_all()
    there.copy_from(here)
    assert there.count() == values.sum()


def do(i, bits, which, what, told):
    for k in range(len(which)):
        if what[k] == 0:
            told[k] = bits.set(which[k])
        elif what[k] == 1:
            told[k] = bits.reset(which[k])
        elif what[k] == 2:
            told[k] = bits.flip(which[k])
        else:
            told[k] = bits.test(which[k])


@some
@given(steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 39)), min_size=1, max_size=60))
def test_a_sequence_of_changes_against_a_set(space, steps):
    bits, model, expected = es.Bitset(40, space=space), set(), []
    for what, k in steps:
        there = k in model
        expected.append((not there, there, not there, there)[what])
        if what == 0 or (what == 2 and not there):
            model.add(k)
        elif what != 3:
            model.discard(k)
    what, which = (staged.view_on(space, list(x), dtype=np.int64) for x in zip(*steps, strict=True))
    told = es.View(len(steps), es.bool_, space=space)
    es.parallel_for(es.RangePolicy(1, space=space), do, bits, which, what, told)
    assert staged.fetch(told).tolist() == expected
    assert set(np.flatnonzero(bits_of(bits)).tolist()) == model
    assert bits.count() == len(model)


def test_what_is_refused(space):
    for size in (-1, 2.5, "3", None, True):
        with pytest.raises(es.ViewError, match=r"Bitset: size is .*; expected an integer from 0"):
            es.Bitset(size, space=space)
    bits = es.Bitset(8, space=space)
    with pytest.raises(es.ViewError, match="of 8 bits takes as many, got a Bitset of 9"):
        bits &= es.Bitset(9, space=space)
    with pytest.raises(es.ViewTypeError, match="takes a Bitset, got 'int'"):
        bits |= 1
    with pytest.raises(es.ViewTypeError, match="expected a Bitset, got 'int'"):
        es.ConstBitset(3)
    with pytest.raises(es.ViewError, match="is of int64; expected bool"):
        es.Bitset.from_bools(staged.view_on(space, np.arange(3)))
    with pytest.raises(es.ViewError, match="has rank 2; expected rank 1"):
        es.Bitset.from_bools(staged.view_on(space, np.zeros((2, 2), bool)))
    with pytest.raises(es.ViewTypeError, match="is of type 'int'; expected a View or an array"):
        es.Bitset.from_bools(7)
    with pytest.raises(es.ReadOnlyError, match="attribute 'size' is read-only"):
        bits.size = 9
