"""Loops around bodies that assert: what a failure leaves behind wherever it comes, and the text.

Hosts run other loops where masks are cheap, as with AVX-512, than elsewhere. Both are tested here
on any processor: of what must come out, Python itself decides, which runs the kernel as a function.
"""

import numpy as np
import pytest

import execspace as es

N = 2600  # more than two strips
PLACES = (
    (0,), (1,), (15, 16), (1023,), (1024,), (1025, 7), (2047, 2048), (N - 2,), (N - 1,),
    (3, 1500, N - 1), tuple(range(N)),
)  # fmt: skip


@pytest.fixture(params=[True, False], ids=["masks", "no masks"])
def masks(request, monkeypatch):
    """Compiles as for a processor whose masked stores cost what others do, or that has none."""
    monkeypatch.setattr("execspace_compiler.host.machine.has_cheap_masks", lambda: request.param)
    return request.param


def policy(n=N):
    return es.RangePolicy(n, space="serial")


@pytest.fixture
def functions(host_functions):
    def run(kernel, *args, **options):
        one_by_one = es.RangePolicy(9, space="serial", lanes=1)
        return host_functions(one_by_one, kernel, *args, **options)

    return run


# -- reductions -----------------------------------------------------------------------------------


def of_a_value(i, x, y):
    assert x[i] > 0
    return x[i] * y[i]


def of_two_values(i, x, y):
    assert x[i] > 0, "x"
    assert y[i] > 0, "y"
    return x[i] * y[i]


def in_a_branch(i, x, y):
    if i % 2 == 0:
        assert x[i] > 0
    elif i > 3:
        assert y[i] > 0
    return x[i]


def in_an_unrolled_loop(i, x, y):
    s = y[i]
    for k in range(3):
        assert x[i] > k - 2
        s += x[i] * k
    return s


@es.function
def positive(v):
    assert v > 0
    return v


def in_a_helper(i, x, y):
    return positive(x[i]) + y[i]


class Added(es.Reducer):
    identity = 0

    @staticmethod
    def join(a, b):
        return a + b


def data(dtype, bad=()):
    x = (np.arange(N) % 5 + 1).astype(dtype)
    x[list(bad)] = -1
    return x, np.ones(N, dtype)


REDUCTIONS = [
    (of_a_value, "float64", es.Sum), (of_two_values, "float32", es.Sum),
    (of_two_values, "int8", es.Max), (of_a_value, "int64", es.MinMax),
    (in_a_branch, "int32", es.Sum), (in_an_unrolled_loop, "float32", Added()),
    (in_a_helper, "complex128", es.Sum),
]  # fmt: skip


# Other types and bodies in the same loops: left to `make test-all`.
@pytest.mark.parametrize(
    ("kernel", "dtype", "reducer"),
    [*REDUCTIONS[:3], *(pytest.param(*r, marks=pytest.mark.exhaustive) for r in REDUCTIONS[3:])],
)
def test_a_reduction_tells_its_first_failure_wherever_it_is(masks, kernel, dtype, reducer):
    if dtype.startswith("complex"):

        def kernel(i, x, y):
            assert x[i].real > 0 and y[i] != 0
            return x[i] + y[i]

    def joined(x, y):
        return es.parallel_reduce(policy(), kernel, x, y, reducer=reducer)

    x, y = data(dtype)
    values = np.array([kernel(i, x, y) for i in range(N)])
    exact = {es.Max: values.max(), es.MinMax: (values.min(), values.max())}
    wanted = exact.get(reducer, values.astype(np.result_type(values, "i8")).sum())
    assert joined(x, y) == wanted
    for bad in PLACES:
        x, y = data(dtype, bad)
        failed = []
        for i in range(N):
            try:
                kernel(i, x, y)
            except AssertionError:
                failed.append(i)
        if failed:  # `in_a_branch` does not look everywhere
            with pytest.raises(es.KernelAssertionError, match=rf"at index {failed[0]}\b"):
                joined(x, y)
    assert joined(*data(dtype)) == wanted


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_assertions_that_hold_change_no_bit_of_a_sum(masks, dtype):
    def plain(i, x, y):
        return x[i] * y[i]

    x, y = np.random.default_rng(1).random((2, 100_003)).astype(dtype)
    one = es.parallel_reduce(policy(len(x)), plain, x, y)
    for kernel in (of_a_value, of_two_values):
        assert es.parallel_reduce(policy(len(x)), kernel, x, y) == one


def test_what_an_assertion_guards_is_loaded_early_only_if_it_is_there(functions, masks):
    def kernel(i, x, y):
        assert x[i] > 0
        return y[2 * i + 1]

    x, y = np.ones(N), np.ones(2 * N)
    found = functions(kernel, x, y, reducer=es.Sum)
    outside = found["kernel__outside"]
    assert "extent(y, 0)" in outside and "extent(x, 0)" not in outside
    assert "kernel__fails" in found
    assert es.parallel_reduce(policy(), kernel, x, y) == N
    x[100:] = 0
    with pytest.raises(es.KernelAssertionError, match="at index 100"):
        es.parallel_reduce(policy(), kernel, x, y[:200])
    assert es.parallel_reduce(policy(100), kernel, x, y[:200]) == 100


@pytest.mark.parametrize("what", ["of memory", "of a condition", "of a store"])
def test_what_may_not_be_there_is_not_loaded_beside_a_test(functions, masks, what):
    at, x = np.arange(9), np.ones(9)
    if what == "of memory":

        def kernel(i, at, x):
            assert 0 <= at[i] < len(x)
            return x[at[i]]
    elif what == "of a condition":

        def kernel(i, at, x):
            assert at[i] >= 0
            return x[i - 1] if i > 0 else x[i]
    else:

        def kernel(i, at, x):
            assert at[i] >= 0
            x[i] += 1
            return x[i]

    found = functions(kernel, at, x, reducer=es.Sum)
    assert "kernel__outside" not in found
    assert "failures of" in found["_joined"] and "_kept" not in found["_joined"]


def test_a_join_that_may_not_end_gets_no_number_that_failed(functions, masks):
    class Divisor(es.Reducer):
        identity = 0

        @staticmethod
        def join(a, b):
            while b:
                a, b = b, a % b
            return a

    def kernel(i, x):
        assert x[i] > 0
        return x[i]

    assert "_kept" not in functions(kernel, np.ones(9, int), reducer=Divisor())["_chunk"]
    assert es.parallel_reduce(policy(9), kernel, np.full(9, 6), reducer=Divisor()) == 6


# -- scans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_prefix", [False, True])
def test_a_scan_stores_up_to_where_calls_fail(masks, of_prefix):
    def on_a_value(i, before, final, x, y):
        assert x[i] > 0
        if final:
            y[i] = before
        return x[i]

    def on_the_prefix(i, before, final, x, y):
        assert before < 10**6
        if final:
            y[i] = before
        return x[i]

    kernel = on_the_prefix if of_prefix else on_a_value
    x, y = np.ones(N, np.int32), np.zeros(N, np.int32)
    assert es.parallel_scan(policy(), kernel, x, y) == N
    assert y.tolist() == list(range(N))
    if not of_prefix:
        for bad in PLACES:
            x[:], y[:] = 1, -7
            x[list(bad)] = 0
            with pytest.raises(es.KernelAssertionError, match=rf"at index {min(bad)}\b"):
                es.parallel_scan(policy(), kernel, x, y)
            assert (y[list(bad)] == -7).all() and (y == -7).sum() == len(bad)


# -- loops within a call --------------------------------------------------------------------------


def stores_of_rows(i, x, y, n):
    for k in range(n):
        assert x[i, k] > 0, "in a row"
        y[i, k] = 2 * x[i, k]
    y[i, 0] += 1


def a_sum_of_rows(i, x, y, n):
    s = x[i, 0]
    for k in range(1, n):
        if k == 5:
            continue
        v = positive(x[i, k])
        assert v < 100
        s += v
    y[i, 0] = s


def a_sum_in_order(i, x, y, n):
    s = 0.0
    for k in range(n):
        assert x[i, k] > 0
        s += x[i, k]
    y[i, 0] = s


def with_an_index(i, x, y, n):
    for k in range(n):
        assert k < x.shape[1], "beyond"
        y[i, k] = x[i, k]


def what_was_stored(i, x, y, n):
    for k in range(1, n):
        y[i, k] = x[i, k] + y[i, k - 1]
        assert y[i, k] > 0
        y[i, k] += 1


def what_a_round_before_has_set(i, x, y, n):
    last = x[i, 0]
    for k in range(1, n):
        assert x[i, k] * last > 0
        last = x[i, k]
        y[i, k] = last


INNER = (
    stores_of_rows, a_sum_of_rows, a_sum_in_order, with_an_index, what_was_stored,
    what_a_round_before_has_set,
)  # fmt: skip


@pytest.mark.parametrize(
    "kernel", [*INNER[:4], *(pytest.param(k, marks=pytest.mark.exhaustive) for k in INNER[4:])]
)
def test_a_call_ends_at_the_round_that_fails(functions, masks, kernel):
    def data(bad=()):
        x = np.arange(1.0, 3 * 1100 + 1).reshape(3, 1100) % 50 + 1
        for k in bad:
            x[1, k] = -1e6
        return x, np.zeros_like(x)

    # A sum of floats goes on in order: a branch beside it is cheaper than a test without masks.
    ahead = kernel in (with_an_index, stores_of_rows) or (masks and kernel is a_sum_in_order)
    rounds = {name.partition("__")[2] for name in functions(kernel, *data(), 9)}
    assert ("round1__fails1" in rounds) == ahead
    # What a round reads need not be there if one before it fails.
    looked_up = ahead and kernel is not with_an_index
    assert ("round1__outside" in rounds) == looked_up
    for n, bad in [
        (1100, ()), (7, ()), (0, ()), (1, ()), (1100, (1,)), (1100, (1023,)), (1100, (1024, 1099)),
        (7, (3,)), (40, (39,)), (40, (40,)),
    ]:  # fmt: skip
        found, expected = data(bad), data(bad)
        failed = []
        for i in range(3):
            try:
                kernel(i, *expected, n)
            except AssertionError:
                failed.append(i)
        if failed:
            with pytest.raises(es.KernelAssertionError, match=f"at index {failed[0]}"):
                es.parallel_for(policy(3), kernel, *found, n)
        else:
            es.parallel_for(policy(3), kernel, *found, n)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


def a_sum_of_what_is_looked_up(i, x, y, n):
    s = 0.0
    for k in range(n):
        j = n - 1 - int(y[i, k])
        assert x[i, k] >= 0
        s += x[i, j]
    y[i, 0] = s


def test_a_sum_in_order_that_waits_for_memory_is_not_tested_beforehand(functions, masks):
    """Its rounds take longer than a branch beside them."""
    x, y = np.arange(300.0).reshape(3, 100), np.zeros((3, 100))
    names = functions(a_sum_of_what_is_looked_up, x, y, 100)
    assert not [name for name in names if "fails1" in name]
    es.parallel_for(policy(3), a_sum_of_what_is_looked_up, x, y, 100)
    np.testing.assert_array_equal(y[:, 0], 100 * x[:, 99])


def test_a_loop_whose_views_may_overlap_is_not_tested_beforehand(masks):
    data = np.ones((2, 40))
    flat = data.reshape(-1)

    def kernel(i, x, y, n):
        for k in range(n):
            assert x[k] > 0
            y[k + 1] = x[k] - 0.25

    with pytest.raises(es.KernelAssertionError):
        es.parallel_for(policy(1), kernel, flat, flat, 40)
    assert flat[:6].tolist() == [1, 0.75, 0.5, 0.25, 0, 1]


# -- rows and teams -------------------------------------------------------------------------------


def test_rows_of_any_width(masks):
    def kernel(i, j, x, y):
        assert x[i, j] > 0, "first"
        assert y[i, j] < 5, "second"
        y[i, j] = x[i, j]

    for width in (1, 3, 16, 63, 64, 65, 200):
        shape = (9, width)
        rows = es.MDRangePolicy(shape, space="serial")
        for bad in ((0, 0), (4, width // 2), (8, width - 1)):
            for view, message in ((0, "first"), (1, "second")):
                given = [np.ones(shape, np.float32), np.zeros(shape, np.float32)]
                given[view][bad] = (-1, 7)[view]
                with pytest.raises(es.KernelAssertionError) as caught:
                    es.parallel_for(rows, kernel, *given)
                assert f"at indices {bad}" in str(caught.value) and message in str(caught.value)
                expected = np.ones(shape)
                expected[bad] = (0, 7)[view]
                np.testing.assert_array_equal(given[1], expected)


def test_iterations_of_a_team_that_fail_end_alone(masks):
    def kernel(team, x, y):
        for k in es.TeamThreadRange(team, 1300):
            assert x[k] > 0
            y[k] = 2 * x[k]

    teams = es.TeamPolicy(1, space="serial")
    for bad in ((), (0,), (1023, 1024), (1299,)):
        x, y = np.ones(1300), np.zeros(1300)
        x[list(bad)] = 0
        if bad:
            with pytest.raises(es.KernelAssertionError, match="at index 0"):
                es.parallel_for(teams, kernel, x, y)
        else:
            es.parallel_for(teams, kernel, x, y)
        np.testing.assert_array_equal(y, 2 * x)


def test_launches_that_fail_say_nothing_of_those_after():
    def kernel(i, x):
        assert x[i] > 0
        x[i] += 1

    x = np.ones(9)
    for _ in range(3):
        x[:] = 1
        es.parallel_for(policy(9), kernel, x)
        x[4] = 0
        with pytest.raises(es.KernelAssertionError, match="at index 4"):
            es.parallel_for(policy(9), kernel, x)


# -- the last indices that 64 bits count ----------------------------------------------------------


@pytest.mark.parametrize("length", [8, 1023, 3000])
def test_strips_at_the_end_of_64_bits(masks, length):
    """The end of a strip, begin + 1024, is beyond them."""
    begin, end = 2**63 - 1 - length, 2**63 - 1
    indices = es.RangePolicy(begin, end, space="serial")
    x, out = np.ones(length), np.zeros(length)

    @es.kernel
    def store(i, begin, x, out):
        assert x[i - begin] > 0
        out[i - begin] += 1

    @es.kernel
    def read(i, begin, x):
        assert x[i - begin] > 0
        return x[i - begin]

    @es.kernel
    def loop(i, begin, end, x, out):
        for k in range(begin, end):
            assert x[k - begin] > 0
            out[k - begin] += 1

    es.parallel_for(indices, store, begin, x, out)
    assert (out == 1).all()
    assert es.parallel_reduce(indices, read, begin, x) == length
    es.parallel_for(es.RangePolicy(1, space="serial"), loop, begin, end, x, out)
    assert (out == 2).all()
    x[length - 1] = 0
    with pytest.raises(es.KernelAssertionError, match=f"at index {end - 1}\n"):
        es.parallel_for(indices, store, begin, x, out)
    assert (out[:-1] == 3).all()
    assert out[-1] == 2
