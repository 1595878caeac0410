"""Numbers that no kernel could count with, and things that are no numbers, in all of the interface.

Whatever is given, what is raised is an error of execspace, which names the thing and says what was
expected; never an OverflowError or an error of NumPy from deep within.
"""

import numpy as np
import pytest

import execspace as es

WIDE = [2**62, 2**63 - 1, 2**63, 2**64 + 3, 10**400, -(2**63) - 1, -(10**400), np.uint64(2**63)]
WRONG = [1.5, float("nan"), "x", 1j, np.array([1, 2]), np.float64(2), b"1"]


def A():
    return es.View((4, 5), label="A")


TAKES_NUMBERS = {
    "end of a range": lambda n: es.RangePolicy(n),
    "begin of a range": lambda n: es.RangePolicy(n, 2**62),
    "launch_bounds": lambda n: es.RangePolicy(3, launch_bounds=n),
    "chunk_size of a range": lambda n: es.RangePolicy(3, schedule="dynamic", chunk_size=n),
    "schedule": lambda n: es.RangePolicy(3, schedule=n),
    "upper bound": lambda n: es.MDRangePolicy((3, n)),
    "lower bound": lambda n: es.MDRangePolicy((n, 0), (3, 3)),
    "tile": lambda n: es.MDRangePolicy((3, 3), tile=(2, n)),
    "items_per_thread": lambda n: es.MDRangePolicy((3, 3), items_per_thread=n),
    "launch_bounds of tiles": lambda n: es.MDRangePolicy((3, 3), launch_bounds=n),
    "league_size": lambda n: es.TeamPolicy(n),
    "team_size": lambda n: es.TeamPolicy(2, n),
    "vector_length": lambda n: es.TeamPolicy(2, 2, n),
    "chunk_size": lambda n: es.TeamPolicy(2, 2, chunk_size=n),
    "launch_bounds of teams": lambda n: es.TeamPolicy(2, 2, launch_bounds=n),
    "level of scratch memory": lambda n: es.TeamPolicy(2).scratch_size_max(n),
    "range of a team": lambda n: es.TeamThreadRange(es.TeamMember(), n),
    "extent": lambda n: es.View(n),
    "second extent": lambda n: es.View((2, n), layout="left"),
    "static extent": lambda n: es.View((2, es.static(n))),
    "stride that is given": lambda n: es.View((2, 3), layout=(n, 1)),
    "padding": lambda n: es.View((2, n), padding=True),
    "index": lambda n: A()[n, 0],
    "begin of a slice": lambda n: A()[n:, 0],
    "end of a slice": lambda n: A()[:n, 0],
    "step of a slice": lambda n: A()[::n, :],
    "begin of a pair": lambda n: es.subview(A(), (n, 3), 0),
    "end of a pair": lambda n: es.subview(A(), (0, n), 0),
    "index of a store": lambda n: A().__setitem__((n, 0), 1.0),
    "slice of a store": lambda n: A().__setitem__((slice(n, None), 0), 1.0),
    "step of a store": lambda n: A().__setitem__((slice(None, None, n), 0), 1.0),
    "number that is stored": lambda n: es.View(3, es.int8).__setitem__(0, n),
    "number that fills": lambda n: es.deep_copy(es.View(3, es.int8), n),
    "number that fills floats": lambda n: es.deep_copy(es.View(3), n),
    "extent of a dimension": lambda n: A().extent(n),
    "stride of a dimension": lambda n: A().stride(n),
    "static extent of a dimension": lambda n: A().static_extent(n),
    "resize": lambda n: es.resize(es.View(3), n),
    "realloc": lambda n: es.realloc(es.View(3), n),
    "DualView": lambda n: es.DualView(n),
    "resize of a DualView": lambda n: es.DualView(3).resize(n),
    "shape of a reduction": lambda n: es.Sum(shape=n),
    "rank of a tile": lambda n: es.default_tile(n, table="kokkos"),
    "extent of a tile": lambda n: es.default_tile(2, extents=(3, n), table="kokkos"),
    "local array": lambda n: es.local(n),
    "memory trait": lambda n: A().with_traits(n),
    "layout": lambda n: es.View(3, layout=n),
    "iterate": lambda n: es.MDRangePolicy((3, 3), iterate=n),
    "side": lambda n: es.DualView(3).modify(n),
    "pattern": lambda n: es.explain(3, lambda i: None, pattern=n),
}


@pytest.mark.parametrize("what", TAKES_NUMBERS)
def test_whatever_is_given_no_error_but_our_own_comes_out(what):
    said = []
    for value in (*WIDE, *WRONG):
        try:
            TAKES_NUMBERS[what](value)
        except (es.ExecspaceError, MemoryError) as error:
            said.append(str(error))
    assert max(map(len, said), default=0) < 600  # a number of 400 digits is told by its size


@pytest.mark.parametrize("what", sorted(TAKES_NUMBERS))
def test_what_is_no_number_is_refused(what):
    takes_floats = {"number that is stored", "number that fills floats"}
    if what in takes_floats:
        pytest.skip("a float is a number to store")
    for value in ("x", 1j):
        with pytest.raises(es.ExecspaceError):
            TAKES_NUMBERS[what](value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: es.RangePolicy(-(2**62), 2**62),
        lambda: es.MDRangePolicy((2**32, 2**32)),
        lambda: es.MDRangePolicy((2**20,) * 4),
        lambda: es.TeamPolicy(2**40, 2**20, 2**10),
    ],
)
def test_a_range_of_more_indices_than_64_bits_count_is_refused(make):
    with pytest.raises(es.PolicyError, match=r"indices, and kernels count in 64 bits"):
        make()


def test_a_tile_whose_end_64_bits_cannot_hold_is_refused():
    """Rounding a range up to whole tiles would overflow, and silently do nothing."""
    for upper, tile in [((4, 5), (2**63 - 1, 1)), ((2**63 - 2, 1), (2, 1)), ((4, 5), (2**40,) * 2)]:
        with pytest.raises(es.PolicyError, match="reaches beyond 9223372036854775807"):
            es.MDRangePolicy(upper, tile=tile)
    with pytest.raises(es.PolicyError, match="last chunk"):
        es.TeamPolicy(4, chunk_size=2**63 - 2)
    es.MDRangePolicy((4, 5), tile=(2**40, 1))


def test_empty_ranges_are_allowed_whatever_the_other_bounds():
    es.MDRangePolicy((2**62, 0, 2**62))
    es.RangePolicy(2**63 - 1, 2**63 - 1)


def test_a_slice_with_a_long_step_has_one_element():
    for step in (100, 2**62, 2**70, -(2**70)):
        part = A()[::step, 1]
        assert part.shape == (1,)
        assert np.array_equal(np.asarray(part), [0.0])


def test_a_message_has_no_number_of_a_thousand_digits():
    with pytest.raises(es.PolicyError, match="RangePolicy: end is an integer of 3322 bits"):
        es.RangePolicy(10**1000 - 1)
