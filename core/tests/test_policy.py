"""Policies: bounds, options, and what they refuse."""

import numpy as np
import pytest

import execspace as es


def test_range_policy_bounds():
    assert es.RangePolicy(5).bounds == (0, 5)
    policy = es.RangePolicy(2, 7)
    assert (policy.begin, policy.end, policy.bounds) == (2, 7, (2, 7))
    assert es.RangePolicy(-3, -1).bounds == (-3, -1)
    assert es.RangePolicy(np.int32(2), np.uint8(4)).bounds == (2, 4)


def test_an_empty_range_is_a_range():
    assert es.RangePolicy(4, 4).bounds == (4, 4)
    assert es.MDRangePolicy((0, 2), (3, 2)).bounds == (0, 2, 3, 2)


@pytest.mark.parametrize("bounds", [(5, 4), (-1,), (0, -2)])
def test_a_range_does_not_run_backwards(bounds):
    with pytest.raises(es.PolicyError, match="for an empty range give two equal bounds"):
        es.RangePolicy(*bounds)


@pytest.mark.parametrize("bounds", [(2.0,), ("3",), (0, 2.5), (None,), (0, "x")])
def test_range_bounds_are_integers(bounds):
    with pytest.raises(es.PolicyError, match="must be an integer, got"):
        es.RangePolicy(*bounds)


def test_mdrange_policy_bounds():
    policy = es.MDRangePolicy((1, 2), (4, 6))
    assert (policy.rank, policy.lower, policy.upper) == (2, (1, 2), (4, 6))
    assert es.MDRangePolicy((3, 4)).bounds == (0, 0, 3, 4)
    assert es.MDRangePolicy([0, 0], np.array([3, 4])).bounds == (0, 0, 3, 4)
    assert es.MDRangePolicy((-1, 0), (1, 1)).bounds == (-1, 0, 1, 1)


@pytest.mark.parametrize("rank", range(1, 7))
def test_mdrange_policy_has_rank_1_to_6(rank):
    assert es.MDRangePolicy((2,) * rank).rank == rank


@pytest.mark.parametrize("rank", [0, 7])
def test_mdrange_policy_of_another_rank(rank):
    with pytest.raises(es.PolicyError, match=f"rank {rank} is outside 1 to 6"):
        es.MDRangePolicy((2,) * rank)


def test_lower_and_upper_have_one_length():
    with pytest.raises(es.PolicyError, match="lower has 2 entries and upper has 3"):
        es.MDRangePolicy((0, 0), (1, 1, 1))


def test_upper_below_lower_names_the_dimension():
    with pytest.raises(es.PolicyError, match="upper bound 1 of dimension 1 is less than its lower"):
        es.MDRangePolicy((0, 2), (3, 1))


@pytest.mark.parametrize("arguments", [(5,), (0, 5), ((0, 0), 5), ((0.5, 1),), (None,)])
def test_mdrange_bounds_are_sequences_of_integers(arguments):
    with pytest.raises(es.PolicyError, match=r"MDRangePolicy: .* integer"):
        es.MDRangePolicy(*arguments)


def test_tiles():
    policy = es.MDRangePolicy((8, 8), tile=(4, 2))
    assert policy.tile == (4, 2)
    assert policy.bounds == (0, 0, 8, 8, 4, 2)
    assert es.MDRangePolicy((8, 8)).tile is None


@pytest.mark.parametrize("tile", [(4,), (4, 0), (4, -1), (1, 1, 1), (), 4, (4, 2.0)])
def test_a_tile_is_one_positive_extent_for_each_dimension(tile):
    with pytest.raises(es.PolicyError, match="tile"):
        es.MDRangePolicy((8, 8), tile=tile)


def test_iterate():
    assert es.MDRangePolicy((2, 2)).iterate == "auto"
    assert es.MDRangePolicy((2, 2), iterate="left").iterate == "left"
    with pytest.raises(es.PolicyError, match="iterate='up'; expected one of"):
        es.MDRangePolicy((2, 2), iterate="up")


def test_repr_shows_what_was_asked_for(plain):
    assert repr(es.RangePolicy(3)) == "RangePolicy(0, 3)"
    assert repr(es.RangePolicy(1, 3, space=plain)) == "RangePolicy(1, 3, space='plain')"
    assert repr(es.MDRangePolicy((2, 3))) == "MDRangePolicy((0, 0), (2, 3))"
    full = es.MDRangePolicy((1, 1), (2, 3), tile=(1, 2), iterate="left", space=plain)
    assert repr(full) == (
        "MDRangePolicy((1, 1), (2, 3), tile=(1, 2), iterate='left', space='plain')"
    )


def test_bounds_do_not_belong_to_the_key_of_a_plan():
    assert es.RangePolicy(3).key == es.RangePolicy(1, 9).key
    assert es.MDRangePolicy((3, 3), tile=(1, 1)).key == es.MDRangePolicy((9, 9), tile=(2, 4)).key


def test_the_sign_of_a_lower_bound_does():
    assert es.RangePolicy(-1, 3).key != es.RangePolicy(0, 3).key
    assert es.MDRangePolicy((-1, 0), (3, 3)).key != es.MDRangePolicy((0, 0), (3, 3)).key


def test_a_space_that_is_none():
    for space in (3, object()):
        with pytest.raises(es.UnknownSpaceError, match="is no space; expected a name such as"):
            es.RangePolicy(3, space=space)
