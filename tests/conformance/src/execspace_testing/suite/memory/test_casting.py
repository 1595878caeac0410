"""deep_copy with `casting="unsafe"`: numbers that lose their kind, converted as kernels store."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

REAL = ["?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
VALUES = np.array([[0.0, 1.0, 2.75], [100.5, 3.99, 0.25]])  # which all of these hold, truncated


@pytest.fixture(autouse=True)
def in_use(space):
    """The space under test is the default one, so that no call names it."""
    with es.use_space(space):
        yield


def loses(source, goal):
    """Whether numbers lose their kind."""
    order = "biufc"
    a, b = np.dtype(source).kind, np.dtype(goal).kind
    return order.index(a) > order.index(b) and not (a in "iu" and b in "iu")


@pytest.mark.parametrize("goal", REAL)
@pytest.mark.parametrize("source", REAL)
def test_any_real_number_becomes_any_other(space, source, goal):
    given = VALUES.astype(source)
    expected = given.astype(goal)
    for layout in ("left", "right"):
        x, y = es.zeros((2, 3), source, layout=layout), es.zeros((2, 3), goal)
        es.deep_copy(x, given)
        es.deep_copy(y, x, casting="unsafe")
        np.testing.assert_array_equal(staged.fetch(y), expected)
        z, back = es.zeros((2, 3), goal, layout=layout), np.zeros((2, 3), goal)
        es.deep_copy(z, given, casting="unsafe")  # from the host
        np.testing.assert_array_equal(staged.fetch(z), expected)
        es.deep_copy(back, x, casting="unsafe")  # and to it
        np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize("goal", REAL)
def test_they_are_what_a_kernel_stores(space, goal):
    given = np.concatenate([VALUES.ravel(), -VALUES.ravel() if np.dtype(goal).kind in "if" else []])
    x, y, stored = es.array(given), es.zeros(given.shape, goal), es.zeros(given.shape, goal)
    if goal == "?":

        def store(i, stored, x):
            stored[i] = x[i] != 0
    else:

        def store(i, stored, x):
            stored[i] = x[i]

    es.parallel_for(given.size, store, stored, x)
    es.deep_copy(y, x, casting="unsafe", instance=space.instance())
    es.fence()
    np.testing.assert_array_equal(staged.fetch(y), staged.fetch(stored))


@pytest.mark.parametrize("goal", REAL)
@pytest.mark.parametrize("value", [0, 1, 3.7, -0.0, True, np.float32(2.5), np.int16(7)])
def test_fills(space, goal, value):
    x = es.ones((3, 4), goal)
    es.deep_copy(x, value, casting="unsafe")
    np.testing.assert_array_equal(staged.fetch(x), np.full((3, 4), value).astype(goal))


def test_parts_with_steps(space):
    x, n = es.array(np.arange(24.0).reshape(4, 6) + 0.75), es.zeros((4, 6), es.int32)
    es.deep_copy(n[::2, 1::2], x[1::2, ::2], casting="unsafe")
    expected = np.zeros((4, 6), np.int32)
    expected[::2, 1::2] = np.arange(24).reshape(4, 6)[1::2, ::2]
    np.testing.assert_array_equal(staged.fetch(n), expected)


def test_what_is_out_of_range_raises_nothing(space):
    """What comes of it is not specified."""
    x, n = es.array(np.array([np.nan, 1e300, -np.inf, 5.5])), es.zeros(4, es.int16)
    with np.errstate(all="raise"):
        es.deep_copy(n, x, casting="unsafe")
    assert staged.fetch(n)[3] == 5


def test_in_a_graph(space):
    x, n = es.array(np.array([1.5, 2.5, 3.5])), es.zeros(3, es.int64)

    def add(i, x):
        x[i] += 10

    m, filled = es.zeros(3, es.int32), es.zeros(3, es.int32)
    with es.Graph(space) as graph:
        es.deep_copy(n, x, casting="unsafe", instance=space)
        es.parallel_for(es.RangePolicy(3, space=space), add, x)
    ready = graph.instantiate()
    for last in (1, 11):
        ready.submit()
        space.fence()
        assert staged.fetch(n).tolist() == [last, last + 1, last + 2]
    other = es.Graph(space)
    other.then_copy(m, x, casting="unsafe").then_copy(filled, 2.5, casting="unsafe")
    other.submit()
    space.fence()
    assert staged.fetch(m).tolist() == [21, 22, 23]
    assert staged.fetch(filled).tolist() == [2, 2, 2]
    with pytest.raises(es.DTypeError, match=r"or give casting='unsafe'"):
        other.then_copy(m, x)
    with pytest.raises(es.DTypeError, match=r"casting='safe'; expected one of"):
        other.then_copy(m, x, casting="safe")


def test_by_default_it_is_refused_and_the_message_names_the_option(space):
    n = es.zeros(3, es.int64, label="n")
    for source in (np.ones(3), es.ones(3), 2.5):
        for options in ({}, {"casting": "same_kind"}):
            with pytest.raises(es.DTypeError, match=r"or give casting='unsafe'\.$"):
                es.deep_copy(n, source, **options)
    assert not staged.fetch(n).any()


def test_complex_numbers_are_refused_still(space):
    """A kernel cannot store them either."""
    x = es.zeros(3, label="x")
    for source in (np.ones(3, complex), 1j):
        with pytest.raises(es.DTypeError, match=r"without loss of kind; convert it first.*'\)\.$"):
            es.deep_copy(x, source, casting="unsafe")


@pytest.mark.parametrize("casting", ["safe", "no", "", None, 1, True])
def test_other_words_are_refused(space, casting):
    x = es.zeros(3)
    for source in (es.ones(3), np.ones(3), 1.0):
        with pytest.raises(es.DTypeError, match=r"casting=.*; expected one of \('same_kind', 'uns"):
            es.deep_copy(x, source, casting=casting)


@pytest.mark.parametrize(
    ("goal", "number", "expected"),
    [
        ("i1", np.int64(300), 44), ("i1", 300, 44), ("u1", -1, 255), ("u1", 300, 44),
        ("i8", np.uint64(2**63), -(2**63)), ("i4", 2**70 + 5, 5), ("?", 256, True),
    ],
)  # fmt: skip
def test_integers_out_of_range_wrap_as_those_of_arrays(space, goal, number, expected):
    x = es.zeros(3, goal)
    with pytest.raises((es.ViewError, es.DTypeError)):
        es.deep_copy(x, number)
    es.deep_copy(x, number, casting="unsafe")
    assert staged.fetch(x).tolist() == [expected] * 3
    es.deep_copy(x, False)
    es.deep_copy(x, number, casting="unsafe", instance=space.instance())
    assert staged.fetch(x).tolist() == [expected] * 3


@pytest.mark.parametrize("goal", ["f2", "f4", "c8"])
def test_numbers_beyond_the_range_become_infinities_without_a_warning(space, goal):
    wide = np.full((2, 3), 1e300)
    x = es.zeros((2, 3), goal)
    for store in (
        lambda: es.deep_copy(x, wide),
        lambda: es.deep_copy(x, es.array(wide)),
        lambda: es.deep_copy(x, 1e300),
        lambda: es.deep_copy(x, np.float64(1e300)),
        lambda: es.deep_copy(x, 1e300, casting="unsafe"),
        lambda: x.fill(1e300),
        lambda: x.fill(10**300),
        lambda: x.__setitem__(..., 1e300),
        lambda: x.__setitem__(..., wide),
    ):
        x.fill(0)
        store()
        assert np.isinf(staged.fetch(x).real).all()
    assert np.isinf(staged.fetch(es.array([1e300], goal)).real).all()
    assert np.isinf(staged.fetch(es.full(3, 1e300, goal)).real).all()
    on_host = es.View((2, 3), goal, space="serial")
    on_host[0, 0] = 1e300
    on_host[1] = -1e300
    assert np.isinf(np.asarray(on_host)[[0, 1], 0].real).all()


def test_what_is_no_array_is_named(space):
    x = es.zeros(3)
    with pytest.raises(es.ViewTypeError, match=r"the source is None, .* a View, an array or a num"):
        es.deep_copy(x, None)
    with pytest.raises(es.ViewTypeError, match="the source is 'x', of type 'str'"):
        es.deep_copy(x, "x")
    with pytest.raises(es.ViewTypeError, match=r"the destination is 1\.0, .* a View or an array"):
        es.deep_copy(1.0, x)
    with pytest.raises(es.DTypeError, match="expected the same fields at the same places"):
        es.deep_copy(np.zeros(2, [("a", "f8")]), np.zeros(2, [("b", "f8")]))
