"""Elements of storage types wherever elements are: layouts, parts, arrays, scratch, records, teams.

Kernels compute in float32; what they must not do with such elements is refused with a message.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.nearest import NAMES, element_type, same, word
from execspace_testing.sizes import fitting, needs_dtype, needs_teams

pytest.importorskip("ml_dtypes", reason="the dtypes are those of ml_dtypes")


def numbers(name, shape, seed=0):
    """Elements of ordinary size."""
    return (
        np.random.default_rng(seed)
        .normal(0, 4, shape)
        .astype(np.float32)
        .astype(element_type(name))
    )


def single(elements):
    return elements.astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("shape", [(67,), (7, 9), (3, 5, 7)])
def test_ranks_and_layouts(space, name, layout, shape):
    def kernel1(i, x, y):
        x[i] = y[i] / 2 + i

    def kernel2(i, j, x, y):
        x[i, j] = y[i, j] / 2 + i

    def kernel3(i, j, k, x, y):
        x[i, j, k] = y[i, j, k] / 2 + i

    kernel = (kernel1, kernel2, kernel3)[len(shape) - 1]
    x = es.View(shape, name, layout=layout, space=space, label="x")
    y = es.View(shape, name, layout=layout, space=space, label="y")
    given = numbers(name, shape)
    es.deep_copy(y, given)
    es.parallel_for(es.MDRangePolicy(shape, space=space), kernel, x, y)
    first = np.arange(shape[0], dtype=np.float32).reshape(-1, *[1] * (len(shape) - 1))
    expected = (single(given) / 2 + first).astype(given.dtype)
    same(name, x.to_numpy(), expected)
    same(name, y.to_numpy(), given)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("offset", range(5))
@pytest.mark.parametrize("step", [1, 2, -1])
def test_parts_at_odd_places(space, name, offset, step):
    """What lies beside the elements of a part stays as it is."""

    def kernel(i, x):
        x[i] = x[i] * 2

    whole = es.View(101, name, space=space)
    given = numbers(name, 101)
    es.deep_copy(whole, given)
    part = whole[offset:-3][::step]
    es.parallel_for(es.RangePolicy(part.size, space=space), kernel, part)
    expected = given.copy()
    chosen = expected[offset:-3][::step]
    chosen[...] = (single(chosen) * 2).astype(given.dtype)
    same(name, whole.to_numpy(), expected)


def test_elements_of_several_widths_in_a_kernel(space):
    """Neighbours in packs of one size: bytes, halves and words at once."""

    def kernel(i, a, b, c, d, n):
        d[i] = a[i] + b[i] * c[i]
        a[i] = d[i]
        n[i] += 1
        b[i] = n[i] + d[i]

    count = fitting(space, 1003)
    a, b, c = (numbers(name, count, seed) for seed, name in enumerate(NAMES))
    d, n = np.zeros(count, np.float32), np.arange(count).astype(np.uint8)
    plain = es.kernel(fma=False)(kernel)
    total = single(a) + single(b) * single(c)
    n_after = n + np.uint8(1)
    after = [total.astype(a.dtype), (n_after.astype(np.float32) + total).astype(b.dtype), c.copy()]
    staged.parallel_for(es.RangePolicy(count, space=space), plain, a, b, c, d, n)
    np.testing.assert_array_equal(d, total)
    np.testing.assert_array_equal(n, n_after)
    for name, found, expected in zip(NAMES, (a, b, c), after, strict=True):
        same(name, found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_neighbours(space, name):
    def kernel(i, o, x):
        left = x[i - 1] if i > 0 else 0.0
        o[i] = left + x[i] + x[i + 1]

    n = fitting(space, 2000)
    x = numbers(name, n + 1)
    o = np.zeros(n, x.dtype)
    staged.parallel_for(es.RangePolicy(n, space=space), kernel, o, x)
    s = single(x)
    left = np.append(np.float32(0), s[: n - 1])
    same(name, o, ((left + s[:n]) + s[1:]).astype(x.dtype))


@pytest.mark.parametrize("name", NAMES)
def test_helpers_and_captured_views(space, name):
    def scaled(v, i):
        v[i] = v[i] * factor[0]
        return v[i]

    def kernel(i, x, o):
        row = x[i, :]
        o[i] = scaled(row, 1) + scaled(row, 2)

    factor = staged.view_on(space, np.array([1.25]).astype(element_type(name)))
    given = numbers(name, (30, 4))
    x, o = staged.view_on(space, given), es.View(30, es.float32, space=space)
    es.parallel_for(es.RangePolicy(30, space=space), kernel, x, o)
    expected = given.copy()
    expected[:, 1:3] = (single(given[:, 1:3]) * np.float32(1.25)).astype(given.dtype)
    same(name, x.to_numpy(), expected)
    sums = single(expected[:, 1]) + single(expected[:, 2])
    np.testing.assert_array_equal(o.to_numpy(), sums)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_their_own(space, name):
    kind = getattr(es, name)

    def kernel(i, o, x):
        held = es.local(3, kind)
        more = es.local((2, 2), x.dtype)
        for k in range(3):
            held[k] = x[i] / (k + 1)
        more[1, 0] = held[1]
        o[i] = held[0] + more[1, 0] + held[2] + more[0, 1]

    x = numbers(name, 60)
    o = np.zeros(60, np.float32)
    staged.parallel_for(es.RangePolicy(60, space=space), kernel, o, x)
    parts = [single((single(x) / np.float32(k)).astype(x.dtype)) for k in (1, 2, 3)]
    np.testing.assert_array_equal(o, (parts[0] + parts[1]) + parts[2])


@pytest.mark.parametrize("name", NAMES)
def test_scratch_of_teams(space, name):
    needs_teams(space)
    kind = getattr(es, name)

    def kernel(team, x):
        r, n = team.league_rank, x.extent(1)
        held = team.scratch(n, kind)
        for i in es.TeamVectorRange(team, n):
            held[i] = x[r, i] * 3
        team.barrier()
        for i in es.TeamVectorRange(team, n):
            x[r, i] = held[n - 1 - i]

    x = numbers(name, (5, 37))
    expected = (single(x) * np.float32(3)).astype(x.dtype)[:, ::-1].copy()
    staged.parallel_for(es.TeamPolicy(5, space=space), kernel, x)
    same(name, x, expected)


@pytest.mark.parametrize("name", NAMES)
def test_records(space, name):
    element = element_type(name)
    record = np.dtype([("n", "u1"), ("h", element), ("v", element, (3,)), ("f", "f4")])

    def kernel(i, p, q):
        p[i].v[i % 3] = p[i].h + p[i].f
        p[i].h = p[i].f * 2
        q[i] = p[i]

    p, q = np.zeros(9, record), np.zeros(9, record)
    p["h"], p["v"] = numbers(name, 9), numbers(name, (9, 3))
    p["f"] = np.linspace(-3, 3, 9, dtype=np.float32) / 7
    expected = p.copy()
    for i in range(9):
        total = np.float32(expected[i]["h"]) + expected[i]["f"]
        expected[i]["v"][i % 3] = total.astype(element)
        expected[i]["h"] = (expected[i]["f"] * np.float32(2)).astype(element)
    staged.parallel_for(es.RangePolicy(9, space=space), kernel, p, q)
    assert p.tobytes() == expected.tobytes()
    assert q.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_reductions_join_float32(space, name):
    def value(i, x):
        return x[i]

    n = fitting(space, 5000)
    x = numbers(name, n)
    policy = es.RangePolicy(n, space=space)
    for reducer in (es.Max, es.Min):
        found = staged.parallel_reduce(policy, value, x, reducer=reducer)
        assert found == (np.max if reducer is es.Max else np.min)(single(x))
    found = staged.parallel_reduce(policy, value, x)
    np.testing.assert_allclose(found, single(x).astype(np.float64).sum(), rtol=1e-4, atol=1e-3)
    where = staged.parallel_reduce(policy, lambda i, x: (x[i], i), x, reducer=es.MaxLoc)
    assert tuple(where) == (single(x).max(), int(np.argmax(single(x))))


@pytest.mark.parametrize("name", NAMES)
def test_scans(space, name):
    def greatest(i, prefix, final, x, o):
        if final:
            o[i] = prefix
        return x[i]

    n = fitting(space, 3000)
    x, o = numbers(name, n), np.zeros(n, element_type(name))
    policy = es.RangePolicy(n, space=space)
    last = staged.parallel_scan(policy, greatest, x, o, reducer=es.Max)
    running = np.maximum.accumulate(single(x))
    assert last == running[-1]
    same(name, o[1:], running[:-1].astype(x.dtype))


def test_text_and_assertions(space, capfd):
    def shown(i, x):
        es.printf("%.4f\n", x[i])

    def positive(i, x):
        assert x[i] > 0, "not positive"
        x[i] = -x[i]

    x = np.array([0.1], element_type("bfloat16"))
    staged.parallel_for(es.RangePolicy(1, space=space), shown, x)
    assert capfd.readouterr().out == "0.1001\n"
    x = np.full(50, 2, element_type("bfloat16"))
    staged.parallel_for(es.RangePolicy(50, space=space), positive, x)
    assert (single(x) == -2).all()
    with pytest.raises(AssertionError, match="not positive"):
        staged.parallel_for(es.RangePolicy(50, space=space), positive, x)


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_of_ones_own(space, name):
    class Backwards(es.Layout):
        def span(self, n):
            return n

        def offset(self, i, n):
            return n - 1 - i

        def __eq__(self, other):
            return type(other) is type(self)

        def __hash__(self):
            return 7

    def kernel(i, x, y):
        x[i] = y[i] + 1

    x = es.View(20, name, layout=Backwards(), space=space)
    given = numbers(name, 20)
    es.parallel_for(es.RangePolicy(20, space=space), kernel, x, staged.view_on(space, given))
    same(name, x.to_numpy(), (single(given) + 1).astype(given.dtype))


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_as_a_function(space, name):
    """Called by CPython, it reads float32 from Views and rounds what it stores."""

    def kernel(i, x, y):
        held = es.local(1, y.dtype)
        held[0] = x[i] * 3
        y[i] = held[0] + x[i]
        x[i] += 0.3

    given = numbers(name, 40)
    here = [es.array(given, memory=es.HOST), es.View(40, name, memory=es.HOST)]
    there = [es.array(given, space=space), es.View(40, name, space=space)]
    for i in range(40):
        kernel(i, *here)
    es.parallel_for(es.RangePolicy(40, space=space), es.kernel(fma=False)(kernel), *there)
    for a, b in zip(here, there, strict=True):
        same(name, b.to_numpy(), a.to_numpy())


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_atomic_operations_are_refused(space, name):
    def step(i, x):
        es.atomic_add(x, 0, 1.0)

    def plain(i, x):
        x[0] += 1.0

    def read(i, x, o):
        o[i] = x[0]

    x = es.View(4, name, space=space, label="x")
    policy = es.RangePolicy(4, space=space)
    with pytest.raises(es.KernelTypeError, match=f"no atomic operations on elements of .*{name}"):
        es.parallel_for(policy, step, x)
    for kernel, more in ((plain, ()), (read, (es.View(4, space=space, dtype=es.float32),))):
        with pytest.raises(es.KernelTypeError, match="no atomic operations on elements"):
            es.parallel_for(policy, kernel, x.with_traits("atomic"), *more)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_float32(space, name):
    def value(i, x):
        return x[i]

    x = es.View(4, name, space=space)
    policy = es.RangePolicy(4, space=space)
    out = es.View((), name, space=space)
    with pytest.raises(es.LaunchError, match=f"out= takes {name}, but the result is float32"):
        es.parallel_reduce(policy, value, x, reducer=es.Max, out=out)
    with pytest.raises(es.DTypeError, match=f"of dtype {name}: elements .* only store"):
        es.parallel_reduce(policy, value, x, reducer=es.Max(dtype=name))


def test_complex_numbers_are_refused(space):
    def kernel(i, x):
        x[i] = 1j

    with pytest.raises(es.KernelTypeError, match=r"cannot store .* into View 'x' of bfloat16"):
        es.parallel_for(es.RangePolicy(1, space=space), kernel, es.View(1, "bfloat16", space=space))


def test_an_element_as_an_argument_is_refused(space):
    needs_dtype(space, np.float32)

    def kernel(i, x, a):
        x[i] = a

    number = np.array([1], element_type("bfloat16"))[0]
    x = es.View(1, es.float32, space=space)
    with pytest.raises(
        es.LaunchError, match=r"argument 1 is a number of type bfloat16.*np.float32"
    ):
        es.parallel_for(es.RangePolicy(1, space=space), kernel, x, number)


@pytest.mark.parametrize("name", NAMES)
def test_algorithms_refuse_them(space, name):
    x = es.View(8, name, space=space, label="x")
    number = es.View(8, es.float32, space=space)
    for call in (
        lambda: es.sort(x, space=space), lambda: es.argsort(x, space=space),
        lambda: es.histogram(x, 4, space=space), lambda: es.searchsorted(number, x, space=space),
    ):  # fmt: skip
        with pytest.raises(es.DTypeError, match=f"View 'x' is of {name}, whose elements only"):
            call()
    with pytest.raises(es.DTypeError, match=f"View 'x' is of {name}, to which a random number"):
        es.fill_random(x, 1, space=space)
    with pytest.raises(es.ViewError, match=f"View 'x' is of {name}, of which there are no sums"):
        es.ScatterView(x, space=space)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_sorted_by_their_keys(space, name):
    keys = np.array([3, 1, 2, 0], np.int32)
    values = numbers(name, 4)
    expected = values[[3, 1, 2, 0]]
    staged.sort_by_key(keys, values, space=space)
    same(name, values, expected)
    assert values.view(word(name)).any()
