"""Fusion: neighbouring launches as one, where that computes the same to the bit.

Chains of launches are drawn at random from kernels that address their Views in all sorts of ways.
Each chain is run launch by launch and fused, and every View must come out the same.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es

from ...drawn import drawn
from ...staged import view_on

N = 193  # no multiple of anything


def copy(i, a, c):
    c[i] = a[i]


def scale(i, s, b, c):
    b[i] = s * c[i]


def add(i, a, b, c):
    c[i] = a[i] + b[i]


def triad(i, s, a, b, c):
    a[i] = b[i] + s * c[i]


def axpy(i, s, x, y):
    y[i] += s * x[i]


def product_of_sums(i, a, b, c):
    """A product, which compilers would like to contract with a sum that comes after it."""
    c[i] = (a[i] + 1) * (b[i] - 2)


def twice(i, a, b):
    """One thing in two Views."""
    t = a[i] * a[i]
    a[i] = t + 1
    b[i] = t - 1


def clipped(i, s, a):
    if a[i] > s:
        a[i] = s
        return
    if a[i] < -s:
        a[i] = -s


def root(x):
    if x < 0:
        return -math.sqrt(-x)
    return math.sqrt(x)


def roots(i, a, b):
    b[i] = root(a[i])


def looped(i, a, b):
    t = b[i] * 0
    for k in range(3):
        t += a[i] * (k + 1)
        if t > 50:
            break
    b[i] = t


def stencil(i, a, b):
    """Reads its neighbours, which another kernel may have stored."""
    left = a[i - 1] if i > 0 else a[i]
    b[i] = a[i] + left


def mirrored(i, a, b):
    b[i] = a[a.shape[0] - 1 - i]


def shifted_store(i, a, b):
    if i + 1 < b.shape[0]:
        b[i + 1] = a[i]


def first(i, a, b):
    """Reads one element in all calls."""
    b[i] = b[i] + a[0]


def counted(i, a, b):
    es.atomic_add(b, 0, a[i])


def dot(i, a, b):
    return a[i] * b[i]


def total(i, a):
    return a[i]


# Kernel, number of Views, whether it takes a number first.
CHAINED = [
    (copy, 2, False), (scale, 2, True), (add, 3, False), (triad, 3, True), (axpy, 2, True),
    (product_of_sums, 3, False), (twice, 2, False), (clipped, 1, True), (roots, 2, False),
    (looped, 2, False), (stencil, 2, False), (mirrored, 2, False), (shifted_store, 2, False),
    (first, 2, False),
]  # fmt: skip
VIEWS = 4


@st.composite
def chains(draw):
    """Launches as (number of the kernel, numbers of its Views, number)."""
    length = draw(st.integers(2, 6))
    chain = []
    for _ in range(length):
        k = draw(st.integers(0, len(CHAINED) - 1))
        count = CHAINED[k][1]
        # Views of one launch are different ones: what a launch does to itself is not meant here.
        views = draw(st.permutations(range(VIEWS)))[:count]
        chain.append((k, tuple(views), draw(st.sampled_from([0.3, -1.7, 2.0]))))
    end = draw(st.sampled_from([None, "dot", "max"]))
    overlap = draw(st.booleans())
    if overlap:  # what calls of one launch do to each other is nobody's to say
        chain = [one for one in chain if not {0, 1} <= set(one[1])]
    return chain, end, overlap


def run(space, dtype, chain, end, overlap, fuse, kernels=None):
    """Elements after a chain of launches, submitted twice; and the graph."""
    rng = np.random.default_rng(7)
    base = [(rng.random(N + 5) * 6 - 3).astype(dtype) for _ in range(VIEWS)]
    views = [view_on(space, b) for b in base]
    if overlap:  # two of them are parts of one
        whole = views[0]
        views = [es.subview(whole, slice(0, N)), es.subview(whole, slice(5, N + 5)), *views[2:]]
    result = es.View((), dtype, space=space)
    number = float if np.dtype(dtype).kind == "f" else int
    with es.Graph(space) as graph:
        for k, which, s in chain:
            kernel, _, takes = CHAINED[k]
            kernel = kernels[kernel] if kernels else kernel
            given_ = [views[n] for n in which]
            es.parallel_for(N, kernel, *([number(s)] if takes else []), *given_)
        if end == "dot":
            es.parallel_reduce(N, dot, views[0], views[2], out=result)
        elif end == "max":
            es.parallel_reduce(N, total, views[3], reducer=es.Max, out=result)
    ready = graph.instantiate(fuse=fuse)
    for _ in range(2):
        ready.submit()
    return [v.to_numpy() for v in (*views, result)], ready


def check(space, dtype, chain, end, overlap, kernels=None):
    expected, _ = run(space, dtype, chain, end, overlap, False, kernels)
    got, ready = run(space, dtype, chain, end, overlap, True, kernels)
    for n, (a, b) in enumerate(zip(expected, got, strict=True)):
        same = a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
        assert same, f"View {n} differs\n{ready.explain()}"


@drawn(60)
@given(chains())
def test_random_chains(space, chain):
    check(space, np.float64, *chain)


@drawn(25)
@given(chains())
def test_random_chains_of_narrow_numbers(space, chain):
    check(space, np.float32, *chain)


@drawn(15)
@given(chains())
def test_random_chains_of_integers(space, chain):
    launches, end, overlap = chain
    launches = [one for one in launches if CHAINED[one[0]][0] not in (roots, looped)]
    check(space, np.int64, launches, end, overlap)


@drawn(10)
@given(chains())
def test_random_chains_without_contraction(space, chain):
    kernels = {k: es.kernel(fma=False)(k) for k, _, _ in CHAINED}
    check(space, np.float64, *chain, kernels)


def fused_names(ready):
    return [line.removeprefix("fused: ") for line in ready.fusion if line.startswith("fused")]


def chain_of(space, *launches, temporary=(), n=100):
    """A graph of launches (kernel, arguments), fused."""
    with es.Graph(space) as graph:
        for kernel, *args in launches:
            es.parallel_for(n, kernel, *args)
    return graph.instantiate(fuse=True, temporary=temporary)


def views_of(space):
    return [view_on(space, np.arange(100.0) + k) for k in range(4)]


def fuses(space):
    """Whether a space fuses at all; one of a third party need not."""
    a, b, *_ = views_of(space)
    return bool(fused_names(chain_of(space, (copy, a, b), (copy, a, b))))


def test_what_is_fused(space):
    if not fuses(space):
        pytest.skip(f"space '{space.name}' does not fuse launches")
    a, b, c, d = views_of(space)
    chain = chain_of(space, (copy, a, c), (scale, 0.5, b, c), (add, a, b, c), (triad, 2.0, a, b, c))
    assert fused_names(chain) == ["copy + scale + add + triad"]
    assert chain.explain().startswith(f"graph: 1 launches on '{space.name}'")
    chain.submit()
    assert np.array_equal(b.to_numpy(), 0.5 * np.arange(100.0))
    assert np.array_equal(c.to_numpy(), 1.5 * np.arange(100.0))
    assert np.array_equal(a.to_numpy(), 3.5 * np.arange(100.0))
    # Independent launches are, too.
    assert fused_names(chain_of(space, (copy, a, b), (copy, c, d))) == ["copy + copy"]


def test_what_stands_in_the_way(space):
    if not fuses(space):
        pytest.skip(f"space '{space.name}' does not fuse launches")
    a, b, c, _ = views_of(space)

    def why(*launches):
        chain = chain_of(space, *launches)
        assert fused_names(chain) == []
        return "; ".join(chain.fusion)

    assert "'stencil' uses" in why((copy, a, b), (stencil, b, c))
    assert "at other places" in why((stencil, a, b), (copy, c, a))
    assert "'shifted_store' uses" in why((shifted_store, a, b), (copy, b, c))
    assert "at other places" in why((copy, a, b), (first, b, c))
    half = es.subview(a, slice(0, 100)), es.subview(a, slice(0, 99))
    with es.Graph(space) as graph:
        es.parallel_for(99, copy, b, half[1])
        es.parallel_for(99, copy, half[0], c)
        es.parallel_for(98, copy, half[0], c)
    lines = "; ".join(graph.instantiate(fuse=True).fusion)
    assert "overlap without being the same" in lines
    assert "the ranges differ" in lines

    def asserting(i, a):
        assert a[i] < 1e9

    assert "'asserting' asserts" in why((copy, a, b), (asserting, b))
    strict = es.kernel(fma=False)(copy)
    assert "other options fma=" in why((copy, a, b), (strict, a, b))


def test_reductions_end_a_chain(space):
    a, b, c, _ = views_of(space)
    result, other = es.View((), space=space), es.View((), space=space)
    with es.Graph(space) as graph:
        es.parallel_for(100, axpy, 2.0, a, b)
        es.parallel_reduce(100, dot, b, b, out=result)
        es.parallel_for(100, copy, b, c)
        es.parallel_reduce(100, total, c, reducer=es.Max, out=other)
    ready = graph.instantiate(fuse=True)
    ready.submit()
    assert len(fused_names(ready)) in (0, 1, 2)
    expected = 3 * np.arange(100.0) + 1
    assert result.to_numpy() == (expected * expected).sum()
    assert other.to_numpy() == expected.max()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float16, np.int32, np.uint8])
def test_other_types(space, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers")
    if dtype is np.float16 and not space.capabilities.float16:
        pytest.skip("no float16")

    def square(i, a, b):
        b[i] = a[i] * a[i]

    def sums(i, a, b, c):
        c[i] = a[i] + b[i]

    given_ = (np.arange(100) % 11).astype(dtype)
    if np.dtype(dtype).kind == "c":
        given_ = given_ * dtype(0.3 + 0.7j)
    results = []
    for fuse in (False, True):
        a, b, c = (view_on(space, given_ + k) for k in (0, 1, 2))
        with es.Graph(space) as graph:
            es.parallel_for(100, square, a, b)
            es.parallel_for(100, sums, a, b, c)
            es.parallel_for(100, square, c, a)
        graph.instantiate(fuse=fuse).submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, c)])
    assert results[0] == results[1]


def test_ranges_of_several_dimensions(space):
    def step(i, j, a, b):
        b[i, j] = a[i, j] * 2

    def more(i, j, a, b):
        a[i, j] += b[i, j]

    def transposed(i, j, a, b):
        a[i, j] += b[j, i]

    def largest(i, j, a):
        return a[i, j]

    results = []
    for fuse in (False, True):
        a, b = (view_on(space, np.arange(400.0).reshape(20, 20) + k) for k in (0, 1))
        result = es.View((), space=space)
        policy = es.MDRangePolicy((20, 20))
        with es.Graph(space) as graph:
            es.parallel_for(policy, step, a, b)
            es.parallel_for(policy, more, a, b)
            es.parallel_for(policy, transposed, a, b)
            es.parallel_for(policy, step, a, b)
            es.parallel_reduce(policy, largest, b, reducer=es.Max, out=result)
        ready = graph.instantiate(fuse=fuse)
        ready.submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, result)])
    assert results[0] == results[1]
    assert all("transposed" not in name for name in fused_names(ready))


def test_rows_of_a_view(space):
    """Each call has a row to itself."""

    def normalise(i, a):
        norm = 0.0
        for k in range(3):
            norm += a[i, k] * a[i, k]
        for k in range(3):
            a[i, k] /= math.sqrt(norm)

    def move(i, x, v, dt):
        for k in range(3):
            x[i, k] += dt * v[i, k]

    results = []
    for fuse in (False, True):
        x, v = (view_on(space, np.arange(300.0).reshape(100, 3) + k) for k in (1, 2))
        with es.Graph(space) as graph:
            es.parallel_for(100, normalise, v)
            es.parallel_for(100, move, x, v, 0.1)
            es.parallel_for(100, normalise, x)
        graph.instantiate(fuse=fuse).submit()
        results.append([x.to_numpy().tobytes(), v.to_numpy().tobytes()])
    assert results[0] == results[1]


def test_temporaries_are_not_stored(space):
    if not fuses(space):
        pytest.skip(f"space '{space.name}' does not fuse launches")
    a, b, c, _ = views_of(space)
    before = b.to_numpy()
    launches = (scale, 0.5, b, a), (add, a, b, c), (copy, c, a)
    chain_of(space, *launches, temporary=[b]).submit()
    assert np.array_equal(b.to_numpy(), before)
    assert np.array_equal(a.to_numpy(), 1.5 * np.arange(100.0))
    assert np.array_equal(c.to_numpy(), 1.5 * np.arange(100.0))


def test_temporaries_that_are_read_first_are_stored(space):
    a, b, c, _ = views_of(space)
    chain_of(space, (axpy, 2.0, a, b), (copy, b, c), temporary=[b]).submit()
    assert np.array_equal(b.to_numpy(), 3 * np.arange(100.0) + 1)
    assert np.array_equal(c.to_numpy(), b.to_numpy())


def test_temporaries_that_others_read_are_stored(space):
    """The stencil is a launch of its own, and reads what the first one stores."""
    a, b, c, d = views_of(space)
    chain_of(space, (scale, 2.0, b, a), (copy, b, d), (stencil, b, c), temporary=[b]).submit()
    expected = 2 * np.arange(100.0)
    assert np.array_equal(d.to_numpy(), expected)
    assert np.array_equal(c.to_numpy(), expected + np.r_[expected[0], expected[:-1]])


def test_exchanged_arguments_are_looked_at_again(space):
    a, b, c, d = views_of(space)
    with es.Graph(space) as graph:
        es.parallel_for(100, copy, a, b, label="first")
        es.parallel_for(100, stencil, c, d)
    ready = graph.instantiate(fuse=True)
    ready.submit()
    graph["first"].exchange(c=c)  # which the stencil reads
    ready.submit()
    expected = np.arange(100.0)
    assert np.array_equal(c.to_numpy(), expected)
    assert np.array_equal(d.to_numpy(), expected + np.r_[expected[0], expected[:-1]])
    assert fused_names(ready) == []


def test_captured_views_and_values(space):
    a, b, c, _ = views_of(space)
    factor = 3.0

    def first_(i):
        b[i] = factor * a[i]

    def second(i, c):
        c[i] = b[i] + factor

    chain_of(space, (first_,), (second, c)).submit()
    assert np.array_equal(c.to_numpy(), 3 * np.arange(100.0) + 3)


def test_a_view_for_two_parameters(space):
    """The same numbers under two names, and contraction chooses as for the launch alone."""

    def poly(i, x, y, z):
        z[i] = x[i] * y[i] + x[i] * 0.3

    values = np.random.default_rng(3).random(2000)
    results = []
    for fuse in (False, True):
        a, b, c = (view_on(space, values + k) for k in range(3))
        with es.Graph(space) as graph:
            es.parallel_for(2000, copy, a, c)
            es.parallel_for(2000, poly, a, a, b)
            es.parallel_for(2000, poly, b, b, c)
        graph.instantiate(fuse=fuse).submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, c)])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_value_that_is_loaded_twice_is_one(space, dtype):
    """Compilers choose what to contract by how often a value is used."""

    def first(i, x, y, z):
        z[i] = x[i] * y[i] + x[i] * 0.3

    def product(x, y):
        return x * y + x - 0.3 * y

    def branches(i, x, y, z):
        if i % 2 == 0:
            z[i] = x[i] * 0.7 - y[i] * x[i] + product(x[i], y[0])
        else:
            z[i] = y[i] * y[i] + x[i] * y[i]
        z[i] = z[i] * z[i] + x[i] * z[i]

    rng = np.random.default_rng(5)
    values = [rng.random(2000).astype(dtype) for _ in range(4)]
    if dtype == "complex128":
        values = [v + 1j * rng.random(2000) for v in values]
    results = []
    for fuse in (False, True):
        a, b, c, d = (view_on(space, v) for v in values)
        with es.Graph(space) as graph:
            es.parallel_for(2000, copy, a, c)
            es.parallel_for(2000, first, a, b, d)
            es.parallel_for(2000, branches, d, b, c)
            es.parallel_for(2000, first, c, a, b)
        graph.instantiate(fuse=fuse).submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, c, d)])
    assert results[0] == results[1]


@pytest.mark.parametrize("seed", range(6))
def test_what_does_not_depend_on_the_index_is_contracted_alike(space, seed):
    """Compilers compute it before the loop, and then it depends on where what they see together."""

    def ka(i, b, u, s, t):
        b[i] = s * t + u[0]

    def kc(i, b, u, s, t):
        b[i] = u[1] - s * t * i

    def kb(i, z):
        z[i] += 1

    rng = np.random.default_rng(seed)
    s, t = rng.random(2)
    results = []
    for fuse in (False, True):
        b, c, z, u = (view_on(space, np.full(3000, k + 0.3)) for k in range(4))
        es.deep_copy(u, rng.random(3000) if not results else results[0][-1])
        kept = u.to_numpy()
        with es.Graph(space) as graph:
            es.parallel_for(3000, ka, b, u, float(s), float(t))
            es.parallel_for(3000, kb, z)
            es.parallel_for(3000, kc, c, u, float(s), float(t))
        graph.instantiate(fuse=fuse).submit()
        results.append([*(v.to_numpy().tobytes() for v in (b, c, z)), kept])
    assert results[0][:3] == results[1][:3]


def test_helpers_functions_and_reducers_of_ones_own(space):
    def put(a, i, x):
        a[i] = x
        return x

    def with_helper(i, a, b):
        b[i] = put(a, i, a[i] * a[i] + 1)

    def grow(i, a):
        n = 0.0
        while n < a[i]:
            n += 1.5
        a[i] = n + math.exp(-n)

    class Largest(es.Reducer):
        commutative = True

        def identity(self, dtype):
            return -1.0

        def join(self, a, b):
            return a if a > b else b

    results = []
    for fuse in (False, True):
        a, b, c = (view_on(space, np.arange(700.0) % 13 + k) for k in range(3))
        out = es.View((), space=space)
        with es.Graph(space) as graph:
            es.parallel_for(700, with_helper, a, b)
            es.parallel_for(700, grow, c)
            es.parallel_for(700, add, a, b, c)
            es.parallel_reduce(700, total, c, reducer=Largest(), out=out)
        graph.instantiate(fuse=fuse).submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, c, out)])
    assert results[0] == results[1]


@pytest.mark.parametrize("order", [(20, 300), (3, 5000), (900, 3), (1, 1), (40, 512)])
def test_rows_longer_and_shorter_than_a_strip(space, order):
    def step(i, j, s, a, b):
        b[i, j] = a[i, j] * s + b[i, j] * a[i, j]

    def square(i, j, a):
        return a[i, j] * a[i, j]

    results = []
    for fuse in (False, True):
        a, b = (view_on(space, np.random.default_rng(k).random(order)) for k in (1, 2))
        out = es.View((), space=space)
        policy = es.MDRangePolicy(order)
        with es.Graph(space) as graph:
            es.parallel_for(policy, step, 0.3, a, b)
            es.parallel_for(policy, step, 0.7, b, a)
            es.parallel_reduce(policy, square, a, out=out)
        graph.instantiate(fuse=fuse).submit()
        results.append([v.to_numpy().tobytes() for v in (a, b, out)])
    assert results[0] == results[1]


def test_temporaries_that_sorting_reads_are_stored(space):
    keys, values, other = (view_on(space, np.arange(100.0)[::-1] + k) for k in range(3))
    with es.Graph(space) as graph:
        es.parallel_for(100, scale, 2.0, keys, values)
        es.parallel_for(100, copy, keys, other)
        es.sort(keys)
    graph.instantiate(fuse=True, temporary=[keys]).submit()
    assert np.array_equal(keys.to_numpy(), 2 * (np.arange(100.0) + 1))


def test_temporaries_at_places_that_change(space):
    def moving(i, v, b):
        k = 2 * i
        v[k] = 5.0
        k = 2 * i + 1
        b[i] = v[k]

    v, b, c, _ = (view_on(space, np.arange(200.0) + k) for k in range(4))
    before = v.to_numpy()
    with es.Graph(space) as graph:
        es.parallel_for(100, moving, v, b)
        es.parallel_for(100, copy, b, c)
    graph.instantiate(fuse=True, temporary=[v]).submit()
    assert np.array_equal(b.to_numpy()[:100], before[1::2])


def test_weak_numbers_stay_weak(space):
    a = view_on(space, np.arange(100, dtype=np.float32))
    b = es.View(100, np.float32, space=space)
    chain_of(space, (scale, 0.1, b, a), (scale, 0.3, a, b)).submit()
    x = np.float32(0.3) * (np.float32(0.1) * np.arange(100, dtype=np.float32))
    assert np.array_equal(a.to_numpy(), x)


def test_fuse_makes_one_launch(space):
    if not fuses(space):
        pytest.skip(f"space '{space.name}' does not fuse launches")
    a, b, c, _ = views_of(space)
    policy = es.RangePolicy(100, space=space)
    step = es.fuse(
        es.bind(policy, axpy, 1.0, a, b),
        es.bind(policy, total, b, reducer=es.Max),
    )
    assert step() == 199.0
    step.exchange(s=2.0)
    assert step() == 199.0 + 198.0
    step.exchange(x=c)
    assert step() == 199.0 + 198.0 + 2 * 101
    with pytest.raises(es.LaunchError, match="no argument 'q' can be exchanged"):
        step.exchange(q=1)
    with pytest.raises(es.LaunchError, match=r"cannot be one .*'stencil' uses"):
        es.fuse(es.bind(policy, copy, a, b), es.bind(policy, stencil, b, c))
    with pytest.raises(es.LaunchError, match="argument 0 is 3; expected a bound launch"):
        es.fuse(3)
    with pytest.raises(es.LaunchError, match="got none"):
        es.fuse()
    with pytest.raises(es.LaunchError, match="expected a sequence of Views"):
        es.fuse(es.bind(policy, copy, a, b), temporary=b)
    assert "axpy + total" in repr(step)


def test_fused_launches_share_views_and_read_only_ones(space):
    a, b, c, _ = views_of(space)
    chain_of(space, (copy, a.readonly(), b), (add, a, b, c), (copy, c.readonly(), a)).submit()
    assert np.array_equal(a.to_numpy(), 2 * np.arange(100.0))
