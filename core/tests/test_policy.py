"""Policies: bounds, options, and what they refuse."""

import copy
import weakref

import numpy as np
import pytest

import execspace as es
from execspace.contract.launch_spec import policy_spec, with_options


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


def test_there_is_one_spec_of_the_same_values_however_they_are_given():
    """Plans are found by the identity of a spec, so a second one would be compiled for again."""
    spec = policy_spec("range", 1)
    assert policy_spec("range", 1, "auto", nonnegative=True) is spec
    assert policy_spec(kind="range", rank=1, launch_bounds=0) is spec
    assert es.RangePolicy(3).key[0] is spec
    assert with_options(policy_spec("range", 1, launch_bounds=64), launch_bounds=0) is spec
    assert es.MDRangePolicy((2, 3)).key[0] is policy_spec("mdrange", 2)


def test_the_sign_of_a_lower_bound_does():
    assert es.RangePolicy(-1, 3).key != es.RangePolicy(0, 3).key
    assert es.MDRangePolicy((-1, 0), (3, 3)).key != es.MDRangePolicy((0, 0), (3, 3)).key


def test_a_space_that_is_none():
    for space in (3, object()):
        with pytest.raises(es.UnknownSpaceError, match="is not a space; expected a name such as"):
            es.RangePolicy(3, space=space)


# -- tiles, calls per thread, launch bounds -------------------------------------------------------


def test_a_tile_is_what_was_given():
    assert es.MDRangePolicy((8, 8)).tile is None
    assert es.MDRangePolicy((8, 8), tile=[2, 4]).tile == (2, 4)


def test_a_tile_may_have_the_name_of_a_table():
    assert es.MDRangePolicy((99, 99), tile="kokkos", iterate="left").tile == (16, 2)
    assert es.MDRangePolicy((99, 99), tile="kokkos-2026", iterate="right").tile == (4, 64)
    assert es.MDRangePolicy((99, 70), tile="kokkos-host", iterate="right").tile == (2, 70)


def test_a_named_tile_needs_an_order():
    with pytest.raises(es.PolicyError, match="say which it is: iterate='left' or iterate='right'"):
        es.MDRangePolicy((8, 8), tile="kokkos")


def test_an_unknown_table_lists_those_that_there_are():
    with pytest.raises(es.PolicyError, match="named 'kokos'; there are: kokkos, kokkos-2026"):
        es.MDRangePolicy((8, 8), tile="kokos", iterate="left")
    with pytest.raises(
        es.PolicyError, match="'kokkos' has none for stencils of rank 1; give extents"
    ):
        es.MDRangePolicy((8,), tile="kokkos", iterate="left")


def test_calls_per_thread_are_a_number_or_one_for_each_dimension():
    assert es.MDRangePolicy((8, 8), items_per_thread=2).items_per_thread == (2,)
    assert es.MDRangePolicy((8, 8), items_per_thread=(1, 4)).items_per_thread == (1, 4)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (0, "0 is less than 1 call"), ((1, 2, 3), "expected 2 numbers, got 3"),
        ((0, 1), "0 is less than 1 call"), ((4, 8), "32 calls of a thread are more than 16"),
        (17, "17 calls of a thread are more than 16"),
        (np.array([50]), "expected 2 numbers, got 1"), ((), "expected 2 numbers, got 0"),
    ],
)  # fmt: skip
def test_calls_per_thread_are_few(value, wrong):
    with pytest.raises(es.PolicyError) as caught:
        es.MDRangePolicy((8, 8), items_per_thread=value)
    assert str(caught.value) == (
        f"MDRangePolicy: items_per_thread={value!r}: {wrong}; expected a number, or one for each "
        f"of 2 dimensions, of at least 1 and at most 16 together."
    )


def test_integers_of_numpy_become_pythons():
    bounds, calls = np.array(10), np.array(2)
    box = es.MDRangePolicy((bounds, 3), items_per_thread=calls, launch_bounds=np.array(64))
    assert box == es.MDRangePolicy((10, 3), items_per_thread=2, launch_bounds=64)
    line = es.RangePolicy(bounds, launch_bounds=np.int64(64))
    teams = es.TeamPolicy(bounds, launch_bounds=np.array(64))
    for policy in (box, line, teams):
        assert type(policy.launch_bounds) is int
        assert "launch_bounds=64" in repr(policy) and hash(policy) == hash(policy.with_options())
    bounds[...] = calls[...] = 1
    assert (box.upper, box.items_per_thread, line.end) == ((10, 3), (2,), 10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: es.RangePolicy(0, True),
        lambda: es.RangePolicy(9, launch_bounds=True),
        lambda: es.RangePolicy(9, schedule="dynamic", chunk_size=True),
        lambda: es.MDRangePolicy((9, True)),
        lambda: es.MDRangePolicy((9, 9), tile=(True, 2)),
        lambda: es.MDRangePolicy((9, 9), items_per_thread=True),
        lambda: es.MDRangePolicy((9, 9), items_per_thread=(True, 2)),
        lambda: es.MDRangePolicy((9, 9), launch_bounds=True),
        lambda: es.TeamPolicy(True),
        lambda: es.TeamPolicy(9, True),
        lambda: es.TeamPolicy(9, 1, True),
        lambda: es.TeamPolicy(9, chunk_size=True),
        lambda: es.TeamPolicy(9, launch_bounds=True),
        lambda: es.TeamPolicy(9).scratch_size_max(True),
        lambda: es.TeamPolicy(9).scratch_size(lambda team: None, level=True),
        lambda: es.default_tile(True),
        lambda: es.parallel_for(True, lambda i: None),
    ],
)
def test_bools_are_no_integers(make):
    with pytest.raises(
        es.PolicyError, match=r"must be .*, got True\.|^True is not a policy; |=True; expected 0"
    ):
        make()


def test_a_bound_is_left_out_and_not_none():
    with pytest.raises(es.PolicyError, match=r"^RangePolicy: end must be an integer, got None"):
        es.RangePolicy(5, None)
    with pytest.raises(es.PolicyError, match=r"^RangePolicy: end must be an integer, got None"):
        es.RangePolicy(5).with_options(end=None)
    with pytest.raises(es.PolicyError, match=r"^MDRangePolicy: upper=None; expected an integer"):
        es.MDRangePolicy((1, 2), None)


def test_a_repr_makes_the_same_policy():
    for options in ({"items_per_thread": 1}, {"items_per_thread": (1, 2)}, {}):
        policy = es.MDRangePolicy((4, 5), **options)
        assert eval(repr(policy), {"MDRangePolicy": es.MDRangePolicy}) == policy


def test_a_tile_beyond_the_launch_bounds():
    with pytest.raises(es.PolicyError, match=r"tile \(32, 32\) has 1024 elements.*allows 256"):
        es.MDRangePolicy((99, 99), tile=(32, 32), launch_bounds=256)
    assert es.MDRangePolicy((99, 99), tile=(8, 32), launch_bounds=256).launch_bounds == 256


@pytest.mark.parametrize("make", [es.RangePolicy, lambda n, **o: es.MDRangePolicy((n,), **o)])
def test_launch_bounds_are_positive(make):
    with pytest.raises(es.PolicyError, match="launch_bounds=0; expected at least one thread"):
        make(8, launch_bounds=0)
    with pytest.raises(es.PolicyError, match="launch_bounds must be an integer"):
        make(8, launch_bounds="many")


def test_options_are_shown():
    policy = es.MDRangePolicy((8, 8), tile=(2, 2), items_per_thread=2, launch_bounds=64)
    assert str(policy) == (
        "MDRangePolicy((0, 0), (8, 8), tile=(2, 2), items_per_thread=2, launch_bounds=64)"
    )
    assert str(es.RangePolicy(8, launch_bounds=64)) == "RangePolicy(0, 8, launch_bounds=64)"


# -- default tiles --------------------------------------------------------------------------------


def test_tables_are_data_that_can_be_asked():
    assert es.default_tile(4, table="kokkos-2026", iterate="left") == (16, 2, 2, 4)
    assert es.default_tile(4, table="kokkos-2026", iterate="right") == (4, 2, 2, 16)
    assert es.default_tile(1, table="kokkos") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 7}, "rank 7; expected 1 to 6"),
        ({"rank": 2, "iterate": "auto"}, "iterate='auto'; expected 'left' or 'right'"),
        ({"rank": 2, "access": "scatter"}, "access='scatter'; expected one of"),
        ({"rank": 2, "extents": (1, 2, 3)}, r"extents \(1, 2, 3\); expected 2 integers"),
        ({"rank": 2, "extents": 5}, "extents 5; expected 2 integers"),
        ({"rank": 2, "extents": (-4, 2.5)}, r"extents \(-4, 2.5\); expected 2 integers"),
        ({"rank": 2, "table": "none of these"}, "No table of tiles is named"),
    ],
)
def test_questions_that_have_no_answer(options, message):
    with pytest.raises(es.PolicyError, match=message):
        es.default_tile(**options)


def test_a_table_has_as_many_extents_as_the_rank():
    with pytest.raises(es.PolicyError, match=r"tile \(64, 4\) of rank 3; expected a tuple"):
        es.TileTable("mine", {"stencil": {3: (64, 4)}})
    for wrong in ({2: (32.5, "a")}, {0: ()}, {7: (1,) * 7}, {2: 64}):
        with pytest.raises(es.PolicyError, match="expected a tuple of as many integers"):
            es.TileTable("mine", {"stencil": wrong})
    with pytest.raises(es.PolicyError, match="expected a mapping of patterns"):
        es.TileTable("mine", {"stream": (32, 4)})
    with pytest.raises(es.PolicyError, match="access pattern 'random'; expected one of"):
        es.TileTable("mine", {"random": {3: (64, 4, 1)}})
    with pytest.raises(es.PolicyError, match=r"items_per_thread \(0, 1\) of rank 2"):
        es.TileTable("mine", {}, {"stencil": {2: (0, 1)}})
    with pytest.raises(es.PolicyError, match="gives a thread 64 calls; expected at most 16"):
        es.TileTable("mine", {"stencil": {2: (64, 4)}}, {"stencil": {2: (8, 8)}})
    with pytest.raises(es.PolicyError, match="entry for 'stencil' of rank 2, and tiles has none"):
        es.TileTable("mine", {}, {"stencil": {2: (1, 2)}})


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: es.RangePolicy(3, **o),
        lambda **o: es.RangePolicy(1, 3, schedule="dynamic", **o),
        lambda **o: es.MDRangePolicy((1, 2), (3, 4), **o),
        lambda **o: es.MDRangePolicy((3, 4), tile=(1, 2), **o),
        lambda **o: es.TeamPolicy(3, 4, **o),
        lambda **o: es.TeamPolicy(3, launch_bounds=64, **o),
    ],
)
def test_policies_are_values(make, plain):
    policy = make()
    for again in (*(make() for _ in range(40)), copy.deepcopy(policy)):
        assert again == policy and hash(again) == hash(policy) and repr(again) == repr(policy)
    assert make(space=plain) == make(space=plain) != policy
    assert policy != es.RangePolicy(4) and policy != 3


def test_numbers_of_other_types_are_looked_at_whatever_was_made_before():
    for _ in range(40):
        es.RangePolicy(1), es.MDRangePolicy((0, 0), (1, 1)), es.TeamPolicy(1, 1)
    for make in (
        lambda: es.RangePolicy(1.0),
        lambda: es.RangePolicy(0, 1.0),
        lambda: es.MDRangePolicy((0, 0), (1.0, 1)),
        lambda: es.MDRangePolicy((0.0, 0), (1, 1)),
        lambda: es.TeamPolicy(1.0, 1),
        lambda: es.TeamPolicy(1, 1.0),
        lambda: es.RangePolicy(True),
        lambda: es.MDRangePolicy((False, 0), (1, 1)),
        lambda: es.TeamPolicy(1, True),
    ):
        with pytest.raises(es.PolicyError, match="integer"):
            make()
    assert type(es.MDRangePolicy((0, 0), (1, np.int64(1))).upper[1]) is int


def test_a_policy_that_was_made_keeps_no_space(plain):
    """Instances go with their last reference, and nothing says which policies were made for one."""
    space = type(plain)()
    gone = weakref.ref(space)
    for _ in range(40):
        es.RangePolicy(3, space=space), es.TeamPolicy(3, space=space)
        es.MDRangePolicy((3, 3), space=space)
    del space
    assert gone() is None


def test_classes_of_ones_own():
    class Mine(es.RangePolicy):
        def half(self):
            return self.end // 2

    class Box(es.MDRangePolicy):
        pass

    assert Mine(6).half() == 3 and type(Mine(6)) is Mine
    assert Box((2, 3)).upper == (2, 3) and Box((2, 3)) != es.MDRangePolicy((2, 3))
