"""Views in kernels, after the Kokkos lectures: questions answered, exercises ported.

Exercises 02 to 04, subview and dualview have answers that Kokkos publishes: y^T A x = N * M for
ones, and p = 300, e = 300, h = 600 for the ideal gas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_atomic

N, M = 40, 12


@es.kernel
def y_a_x(i, y, A, x):
    row = 0.0
    for j in range(A.extent(1)):
        row += A[i, j] * x[j]
    return y[i] * row


@es.kernel
def ones(i, x):
    x[i] = 1.0


@es.kernel
def table(i, j, A):
    A[i, j] = 100 * i + j


def padded(space):
    return es.View((N, M), padding=True, space=space)


@dataclass(frozen=True)
class Tiled(es.Layout):
    """Square tiles, one after the other."""

    tile: int

    def span(self, n, m):
        t = self.tile
        return -(-n // t) * -(-m // t) * t * t

    def offset(self, i, j, n, m):
        t = self.tile
        return ((i // t) * ((m + t - 1) // t) + j // t) * t * t + i % t * t + j % t


@dataclass(frozen=True)
class Snake(es.Layout):
    """Every second row runs backwards: a layout with a branch."""

    def span(self, n, m):
        return n * m

    def offset(self, i, j, n, m):
        if i % 2 == 1:
            return i * m + m - 1 - j
        return i * m + j


# -- exercise 02: Views in place of arrays ------------------------------------------------------


def test_exercise_02_inner_product_with_views(space):
    with es.use_space(space):
        y, x, A = es.View(N, label="y"), es.View(M, label="x"), es.View((N, M), label="A")
        staged.parallel_for(N, ones, y)
        staged.parallel_for(M, ones, x)
        es.deep_copy(A, 1.0)
        for _ in range(3):
            assert staged.parallel_reduce(N, y_a_x, y, A, x) == N * M


# -- exercise 03: mirrors -----------------------------------------------------------------------


def test_exercise_03_inner_product_with_mirrors(space):
    """The host fills mirrors; the program does not ask whether they are the Views themselves."""
    y, x, A = (es.View(shape, label=label, space=space)
               for shape, label in ((N, "y"), (M, "x"), ((N, M), "A")))  # fmt: skip
    mirrors = [es.create_mirror_view(v) for v in (y, x, A)]
    for mirror in mirrors:
        np.asarray(mirror)[...] = 1
    for view, mirror in zip((y, x, A), mirrors, strict=True):
        es.deep_copy(view, mirror)
    policy = es.RangePolicy(N, space=space)
    assert staged.parallel_reduce(policy, y_a_x, y, A, x) == N * M
    assert (
        all(m is v for m, v in zip(mirrors, (y, x, A), strict=True))
        == space.memory_space.host_accessible
    )


# -- exercise 04: spaces and layouts ------------------------------------------------------------

LAYOUTS = {
    "right": lambda space: es.View((N, M), layout="right", space=space),
    "left": lambda space: es.View((N, M), layout="left", space=space),
    "given strides": lambda space: es.View((N, M), layout=(3, 3 * N + 1), space=space),
    "padded": padded,
    "tiled": lambda space: es.View((N, M), layout=Tiled(5), space=space),
    "snake": lambda space: es.View((N, M), layout=Snake(), space=space),
    "turned": lambda space: es.View((N, M), space=space)[::-1, ::-1],
    "static": lambda space: es.View((N, es.static(M)), space=space),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_exercise_04_every_layout_gives_the_same_answer(space, layout):
    A = LAYOUTS[layout](space)
    y, x = es.View(N, space=space), es.View(M, space=space)
    staged.parallel_for(es.MDRangePolicy((N, M), space=space), table, A)
    plain = np.zeros((N, M))
    es.deep_copy(plain, A)
    np.testing.assert_array_equal(plain, 100 * np.arange(N)[:, None] + np.arange(M))
    es.deep_copy(y, np.arange(1.0, N + 1))
    es.deep_copy(x, np.arange(1.0, M + 1))
    expected = np.arange(1.0, N + 1) @ plain @ np.arange(1.0, M + 1)  # exact: small integers
    assert staged.parallel_reduce(es.RangePolicy(N, space=space), y_a_x, y, A, x) == expected


@es.function
def weighted(row):
    total = 0.0
    for k in range(row.extent(0)):
        total += (k + 1) * row[k]
    return total


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_within_a_kernel_of_every_layout(space, layout):
    def kernel(i, A, out):
        row = A[i, :]
        row[0] = -1.0
        row[-1] += 1.0
        out[i, 0] = weighted(row)
        out[i, 1] = weighted(A[i, 1 : A.extent(1) - 1])
        out[i, 2] = weighted(es.subview(A, i, (2, A.extent(1)))[::-2])

    A, out = LAYOUTS[layout](space), es.View((N, 3), space=space)
    staged.parallel_for(es.MDRangePolicy((N, M), space=space), table, A)
    staged.parallel_for(es.RangePolicy(N, space=space), kernel, A, out)
    want = 100.0 * np.arange(N)[:, None] + np.arange(M)
    want[:, 0] = -1
    want[:, -1] += 1
    parts = want, want[:, 1:-1], want[:, 2:][:, ::-2]
    sums = [(p * np.arange(1, p.shape[1] + 1)).sum(axis=1) for p in parts]
    np.testing.assert_array_equal(staged.fetch(out), np.stack(sums, axis=1))
    got = np.zeros((N, M))
    es.deep_copy(got, A)
    np.testing.assert_array_equal(got, want)


def test_exercise_04_the_memory_must_match_the_space(space):
    class Elsewhere(es.MemorySpace):
        name = "elsewhere"

        def allocate(self, nbytes, label, initialize):
            return es.Allocation(4096, nbytes, label, self, None)

        def copy(self, dst, src, instance): ...

        def fill(self, dst, value, instance): ...

    x = es.View(M, label="x", memory=Elsewhere())
    with pytest.raises(es.SpaceAccessError) as error:
        staged.parallel_for(es.RangePolicy(M, space=space), ones, x)
    assert str(error.value) == (
        f"Kernel 'ones': argument 0, View 'x', is in memory space 'elsewhere', which space "
        f"'{space.name}' cannot reach. Copy it first: x.to('{space.name}')."
    )


# -- the subview exercise -----------------------------------------------------------------------


def dot(a, b):
    total = 0.0
    for j in range(a.extent(0)):
        total += a[j] * b[j]
    return total


def test_subview_exercise(space):
    """Each row as a subview: made on the host for one row, and in the kernel for every row."""
    A, x, y = es.View((N, M), space=space), es.View(M, space=space), es.View(N, space=space)
    for v in (A, x, y):
        es.deep_copy(v, 1.0)

    def rows(i, y, A, x):
        return y[i] * dot(es.subview(A, i, es.ALL), x)

    def one_row(j, row, x):
        return row[j] * x[j]

    assert staged.parallel_reduce(es.RangePolicy(N, space=space), rows, y, A, x) == N * M
    row = es.subview(A, 3, es.ALL)
    assert staged.parallel_reduce(es.RangePolicy(M, space=space), one_row, row, x) == M
    assert A.use_count == 2


def test_subviews_of_every_form_as_arguments(space):
    A = es.View((6, 8), label="A", space=space)
    values = np.arange(48.0).reshape(6, 8)
    parts = [
        A[2, :], A[:, 3], es.subview(A, (1, 4), 5), A[::2, 1], A[1, ::-3], A[-1, 2:-1],
        es.subview(A, es.ALL, -2),
    ]  # fmt: skip

    def negate(i, x):
        x[i] = -x[i]

    for part in parts:
        es.deep_copy(A, values)
        staged.parallel_for(es.RangePolicy(part.extent(0), space=space), negate, part)
        got = np.zeros((6, 8))
        es.deep_copy(got, A)
        assert (got < 0).sum() == part.size - (0 in np.abs(staged.fetch(part)))
        assert np.array_equal(np.abs(got), values)
        assert (staged.fetch(part) <= 0).all()


# -- the dualview exercise ----------------------------------------------------------------------


def pressure(i, p, density, temperature):
    p[i] = density[i] * 1.0 * temperature[i]


def energy(i, e, temperature):
    e[i] = 1.0 * temperature[i]


def enthalpy(i, h, e, p, density):
    h[i] = e[i] + p[i] / density[i]


def test_dualview_exercise_ideal_gas(space):
    """Where each quantity is computed is free to change: modify and sync keep it right.

    On the host it is Python that computes.
    """
    n = 50
    density, temperature, p, e, h = (
        es.DualView(n, label=label, space=space) for label in ("rho", "T", "p", "e", "h")
    )
    es.deep_copy(density.h_view, 1.0)
    density.modify("host")
    es.deep_copy(temperature.h_view, 300.0)
    temperature.modify("host")

    def run(where, kernel, out, *inputs):
        for v in inputs:
            v.sync(where)
        views = [v.view(where) for v in (out, *inputs)]
        if where == "device":
            es.parallel_for(es.RangePolicy(n, space=space), kernel, *views)
        else:
            for i in range(n):
                kernel(i, *views)
        out.modify(where)

    run("device", pressure, p, density, temperature)
    run("host", energy, e, temperature)
    run("device", enthalpy, h, e, p, density)
    for v, answer in ((p, 300), (e, 300), (h, 600)):
        v.sync("host")
        assert np.asarray(v.h_view).tolist() == [answer] * n


# -- questions of the lecture -------------------------------------------------------------------


def test_a_view_as_an_argument_is_shallow(space):
    x = es.View(3, space=space)
    staged.parallel_for(es.RangePolicy(3, space=space), ones, x[:])
    assert staged.fetch(x).tolist() == [1, 1, 1]


def test_the_default_layout_makes_the_index_of_the_host_contiguous(space):
    assert es.View((N, M), space=space).layout == space.default_layout


def test_kernels_take_arrays_of_the_host_where_they_are_or_refuse_them(space):
    """Nothing is copied unasked."""
    array = np.zeros(3)
    policy = es.RangePolicy(3, space=space)

    def count(i, x):
        x[i] += i + 1

    if staged.reaches_host(space):
        es.parallel_for(policy, count, array)
        space.fence()
        assert array.tolist() == [1, 2, 3]
    else:
        with pytest.raises(es.SpaceAccessError, match=f"which space '{space.name}' cannot reach"):
            es.parallel_for(policy, count, array)
        assert not array.any()


# -- what kernels make of the properties of Views -----------------------------------------------


def test_layouts_with_other_parameters_are_other_kernels(space):
    """Equal class, other tile: an offset compiled for one must not be used for the other."""
    policy = es.MDRangePolicy((N, M), space=space)
    rows = []
    for layout in (Tiled(4), Tiled(7), Tiled(4)):
        A = es.View((N, M), layout=layout, space=space)
        staged.parallel_for(policy, table, A)
        mirror = es.create_mirror(A)
        es.deep_copy(mirror, A)
        rows.append(es.HOST.host_array(mirror))  # the elements as they lie in memory
        for i, j in ((0, 0), (N - 1, M - 1), (5, 11), (17, 3)):
            assert mirror[i, j] == rows[-1][layout.offset(i, j, N, M)] == 100 * i + j
    assert np.array_equal(rows[0], rows[2])
    assert rows[0].shape != rows[1].shape


def test_a_mapped_view_beside_a_plain_one(space):
    A, B = es.View((N, M), layout=Snake(), space=space), es.View((N, M), space=space)
    es.deep_copy(A, np.arange(N * M, dtype=float).reshape(N, M))

    def shift(i, j, B, A):
        B[i, j] = A[i, (j + 1) % A.extent(1)] + A.shape[0]

    staged.parallel_for(es.MDRangePolicy((N, M), space=space), shift, B, A)
    want = np.roll(np.arange(N * M, dtype=float).reshape(N, M), -1, axis=1) + N
    assert np.array_equal(staged.fetch(B), want)


def test_a_read_only_view_is_no_output(space):
    x = es.View(3, label="x", space=space)
    policy = es.RangePolicy(3, space=space)
    with pytest.raises(es.KernelTypeError, match="View 'x' is read-only"):
        staged.parallel_for(policy, ones, x.readonly())
    with pytest.raises(es.KernelTypeError, match="View 'x' is read-only"):
        staged.parallel_for(policy, ones, x.readonly()[1:])
    out = es.View((), space=space).readonly()
    with pytest.raises(es.LaunchError, match="expected a writable View"):
        staged.parallel_reduce(policy, lambda i, x: x[i], x.readonly(), out=out)
    es.deep_copy(x, 2.0)
    assert staged.parallel_reduce(policy, lambda i, x: x[i], x.readonly()) == 6


def test_atomic_views_make_a_histogram(space):
    """Many indices add to few elements. Through the View with the trait none gets lost."""
    needs_atomic(space, 8)
    n = fitting(space, 20_000, 200)
    data = np.random.default_rng(1).integers(0, 7, n)
    counts = es.View(7, es.int64, label="counts", space=space)
    sums = es.View(7, es.float64, label="sums", space=space)

    def count(i, counts, sums, data):
        counts[data[i]] += 1
        sums[data[i]] += 0.5

    staged.parallel_for(
        es.RangePolicy(n, space=space), count, counts.with_traits("atomic"),
        sums.with_traits("atomic"), data,
    )  # fmt: skip
    assert np.array_equal(staged.fetch(counts), np.bincount(data, minlength=7))
    assert np.array_equal(staged.fetch(sums), 0.5 * np.bincount(data, minlength=7))


def test_the_atomic_trait_covers_subviews_and_other_steps(space):
    needs_atomic(space, 8)
    n = fitting(space, 5_000, 50)
    A = es.View((2, 3), es.int64, label="A", space=space)
    es.deep_copy(A, 10**6)

    def step(i, low, bits):
        low[0] -= 1
        bits[1] |= 1 << (i % 8)

    staged.parallel_for(
        es.RangePolicy(n, space=space), step, *(A.with_traits("atomic")[k, :] for k in (0, 1))
    )
    found = staged.fetch(A)
    assert found[0, 0] == 10**6 - n
    assert found[1, 1] == 10**6 | 255


@pytest.mark.parametrize("layout", ["left", "right"])
def test_a_scatter_view_adds_every_contribution_to_its_element(space, layout):
    needs_atomic(space, 8)
    A = es.View((3, 4), es.int64, label="A", layout=layout, space=space)
    es.deep_copy(A, 1)
    scatter = es.ScatterView(A, space=space)
    n = fitting(space, 1200, 24)

    def count(k, a):
        a[k % 3, k % 4] += 1

    with es.use_space(space):
        staged.parallel_for(n, count, scatter.access())
        assert (staged.fetch(A) == 1).all()  # until they are contributed
        scatter.contribute(A)
        assert (staged.fetch(A) == 1 + n // 12).all()
        staged.parallel_for(es.MDRangePolicy((3, 4)), table, scatter.access())
        other = es.View((3, 4), es.int64, label="other", layout=layout)
        scatter.contribute(other)
        assert staged.fetch(other).tolist() == [[100 * i + j for j in range(4)] for i in range(3)]
        turned = es.View((3, 4), es.int64, layout="left" if layout == "right" else "right")
        with pytest.raises(es.ViewError, match=f"expected {layout}"):
            scatter.contribute(turned)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64", "complex64"])
def test_promises_of_traits_change_no_result(space, dtype):
    """Kept, they change speed only."""
    n = 100
    x, y = es.View(n, dtype, space=space), es.View(n, dtype, space=space)
    order = np.random.default_rng(2).permutation(n)
    es.deep_copy(x, np.arange(n).astype(dtype))

    def gather(i, y, x, order):
        y[i] += x[order[i]] + taken(x, i)

    @es.function
    def taken(x, i):
        return x[i]

    for traits in [("restrict", "random_access"), ("nontemporal",)]:
        y.fill(0)
        staged.parallel_for(
            es.RangePolicy(n, space=space), gather, y.with_traits("restrict"),
            x.with_traits(*traits).readonly(), order,
        )  # fmt: skip
        expected = (order + np.arange(n)).astype(dtype)
        assert np.array_equal(staged.fetch(y), expected)


def test_a_nontemporal_view_that_a_kernel_changes(space):
    """It sees what it has written itself, also through another View of the same elements."""
    n = 64
    x, y = (es.View(n, space=space).with_traits("nontemporal") for _ in range(2))

    def change(i, x, y, other):
        for k in range(3):
            x[i] = x[i] + k
            other[i] = 2 * y[i] + 1
            y[i] = y[i] + other[i]

    staged.parallel_for(es.RangePolicy(n, space=space), change, x, y, y)
    assert np.array_equal(staged.fetch(x), np.full(n, 3.0))
    value = 0.0
    for _ in range(3):
        value = 2 * (2 * value + 1)
    assert np.array_equal(staged.fetch(y), np.full(n, value))


PARTICLE = np.dtype([("kind", "i1"), ("x", "f8"), ("v", "f4", (3,))], align=True)


@pytest.mark.parametrize("layout", ["left", "right", (3, 100)])
def test_records_in_views_of_every_layout(space, layout):
    p = es.View((3, 4), PARTICLE, label="p", layout=layout, space=space)

    def move(i, j, p):
        p[i, j].x = i + 10 * j
        p[i, j].v[2] = p[i, j].x / 2
        p[i, j].kind += 1

    staged.parallel_for(es.MDRangePolicy((3, 4), space=space), move, p)
    x = np.arange(3)[:, None] + 10.0 * np.arange(4)
    a = staged.fetch(p)
    assert a.dtype == PARTICLE
    assert np.array_equal(a["x"], x)
    assert np.array_equal(a["v"][..., 2], x / 2)
    assert (a["v"][..., :2] == 0).all()
    assert (a["kind"] == 1).all()


def test_views_of_every_rank(space):
    """Rank 0 to 6 is what a policy covers; a View of rank 8 is walked by loops in the kernel."""
    deep = es.View((2,) * 8, es.int32, label="deep", space=space, layout="left")

    def write(i, A):
        for j in range(2):
            for k in range(2):
                A[i, j, k, i, j, k, i, j] = 100 * i + 10 * j + k + 1

    staged.parallel_for(es.RangePolicy(2, space=space), write, deep)
    want = np.zeros((2,) * 8, int)
    for i, j, k in np.ndindex(2, 2, 2):
        want[i, j, k, i, j, k, i, j] = 100 * i + 10 * j + k + 1
    assert np.array_equal(staged.fetch(deep), want)


def test_empty_views(space):
    A = es.View((0, 3), space=space)
    staged.parallel_for(es.MDRangePolicy((0, 3), space=space), table, A)
    assert staged.parallel_reduce(es.RangePolicy(0, space=space), y_a_x, A[:, 0], A, A[:, 0]) == 0


def test_a_resized_view_is_launched_with_its_new_extents(space):
    x = es.View(3, label="x", space=space)
    staged.parallel_for(es.RangePolicy(3, space=space), ones, x)
    es.resize(x, 6)
    staged.parallel_for(es.RangePolicy(4, 6, space=space), ones, x)
    assert staged.fetch(x).tolist() == [1, 1, 1, 0, 1, 1]
