"""Work: bytes and operations of a launch, counted from its kernel, are those of a run."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from counted_runs import on, same, view, work_and_run
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.analysis.work import work_of

extents = st.integers(0, 6)
inner = st.integers(3, 7)


# -- streams and stencils --------------------------------------------------------------------------


def triad1(i, A, B, C, s):
    A[i] = B[i] + s * C[i]


def triad2(i, j, A, B, C, s):
    A[i, j] = B[i, j] + s * C[i, j]


def triad3(i, j, k, A, B, C, s):
    A[i, j, k] = B[i, j, k] + s * C[i, j, k]


def triad4(i, j, k, m, A, B, C, s):
    A[i, j, k, m] = B[i, j, k, m] + s * C[i, j, k, m]


def triad5(i, j, k, m, n, A, B, C, s):
    A[i, j, k, m, n] = B[i, j, k, m, n] + s * C[i, j, k, m, n]


def triad6(i, j, k, m, n, o, A, B, C, s):
    A[i, j, k, m, n, o] = B[i, j, k, m, n, o] + s * C[i, j, k, m, n, o]


@pytest.mark.parametrize("kernel", [triad1, triad2, triad3, triad4, triad5, triad6])
def test_a_triad_has_two_operations_and_three_numbers_for_each_index(kernel):
    shape = (2, 3, 2, 1, 2, 3)[: int(kernel.__name__[-1])]
    A, B, C = view(*shape), view(*shape), view(*shape)
    work, run = work_and_run(on(*shape), kernel, A, B, C, 2.0)
    same(work, run)
    n = A.size
    assert (work.calls, work.flops, work.loaded, work.stored) == (
        n, {"float64": 2.0 * n}, 16 * n, 8 * n,
    )  # fmt: skip
    assert work.moved == 24 * n and work.intensity == pytest.approx(1 / 12)


def heat3(i, j, k, A, B):
    B[i, j, k] = (
        A[i - 1, j, k] + A[i + 1, j, k] + A[i, j - 1, k] + A[i, j + 1, k] + A[i, j, k - 1]
        + A[i, j, k + 1] - 6.0 * A[i, j, k]
    )  # fmt: skip


def heat4(i, j, k, m, A, B):
    B[i, j, k, m] = (
        A[i - 1, j, k, m] + A[i + 1, j, k, m] + A[i, j, k, m - 1] - A[i, j + 1, k - 1, m]
    )


@given(st.tuples(inner, inner, inner))
def test_neighbours_of_a_stencil_come_from_memory_once(shape):
    A, B = view(*shape), view(*shape)
    policy = on(*(n - 1 for n in shape), begin=(1, 1, 1))
    work, run = work_and_run(policy, heat3, A, B)
    same(work, run)
    cells, faces = work.calls, [(n - 2) * (m - 2) for n, m in itertools.combinations(shape, 2)]
    assert work.moved == 8 * (cells + 2 * sum(faces) + cells)


@given(st.tuples(inner, inner, inner, inner).map(lambda t: tuple(min(n, 5) for n in t)))
def test_a_stencil_of_rank_4(shape):
    A, B = view(*shape), view(*shape)
    same(*work_and_run(on(*(n - 1 for n in shape), begin=(1,) * 4), heat4, A, B))


def diffuse(i, j, z, out, rx):
    here = z[i, j]
    north = z[i - 1, j] if i > 0 else here
    south = z[i + 1, j] if i < z.extent(0) - 1 else here
    west = z[i, j - 1] if j > 0 else here
    east = z[i, j + 1] if j < z.extent(1) - 1 else here
    out[i, j] = here + rx * (west - 2 * here + east) + rx * (north - 2 * here + south)


@given(st.tuples(extents, extents))
def test_a_side_of_a_condition_on_indices_counts_where_it_is_chosen(shape):
    work, run = work_and_run(on(*shape), diffuse, view(*shape), view(*shape), 0.5)
    same(work, run)


def mirrored(i, j, A, B):
    if i == j or i + j == A.extent(0) - 1:
        B[i, j] = A[i, j] * 3
    elif i > j:
        B[i, j] = A[i, j] + A[j, i]
    if (i + 2 * j) % 3 == 1 and not i < 2:
        B[i, j] /= 2.0


@given(st.integers(0, 7))
def test_conditions_on_several_indices(n):
    same(*work_and_run(on(n, n), mirrored, view(n, n), view(n, n)), moved=False)


def guarded(i, A, n):
    if i >= n:
        return
    if i == 0 or i == n - 1:
        A[i] = 1.0
        return
    A[i] = A[i - 1] + A[i + 1]


@given(st.integers(2, 8), st.integers(0, 4))
def test_what_follows_a_return_counts_where_it_is_reached(n, more):
    same(*work_and_run(on(n + more), guarded, view(n), n))


def strided(i, A, B):
    B[i] = A[2 * i] * A[2 * i + 1] + A[2 * i]


@given(extents)
def test_steps_between_places(n):
    same(*work_and_run(on(n), strided, view(2 * n), view(n)))


def flat(i, j, A, n):
    A[i * n + j] += 1.0


@given(extents, extents)
def test_places_that_are_computed_of_several_indices(n, m):
    same(*work_and_run(on(n, m), flat, view(n * m), m))


def diagonal(i, A):
    A[i, i] = 2 * A[i, i]


def test_a_diagonal_has_as_many_places_as_indices():
    same(*work_and_run(on(5), diagonal, view(5, 6)))


def shifted(i, A, B, by):
    B[i] = A[i + by]


def test_the_same_view_given_twice_is_one():
    A = view(8)
    work, run = work_and_run(on(6), shifted, A, A, 2)
    same(work, run)
    assert work.moved == 2 * 6 * 8


# -- loops -----------------------------------------------------------------------------------------


def matmul(i, j, A, B, C):
    total = 0.0
    for k in range(A.extent(1)):
        total += A[i, k] * B[k, j]
    C[i, j] = total


@given(extents, extents, extents)
def test_a_product_of_matrices(n, m, k):
    work, run = work_and_run(on(n, m), matmul, view(n, k), view(k, m), view(n, m))
    same(work, run)
    assert work.total_flops == 2 * n * m * k


def triangular(i, A, x, y):
    total = 0.0
    for j in range(i + 1):
        total += A[i, j] * x[j]
    y[i] = total / A[i, i]


@given(extents)
def test_a_loop_that_ends_at_an_index(n):
    work, run = work_and_run(on(n), triangular, view(n, n), view(n), view(n))
    same(work, run, moved=False)


def window(i, A, B, n, r):
    total = 0.0
    for k in range(max(0, i - r), min(n, i + r + 1)):
        total += A[k]
    for k in range(n - 1, i, -2):
        total *= A[k]
    for k in range(i, n, 3):
        for m in range(k):
            if m != i:
                total -= A[m]
    B[i] = total


@given(st.integers(0, 8), st.integers(0, 3))
def test_bounds_and_steps_of_loops(n, r):
    same(*work_and_run(on(n), window, view(n), view(n), n, r), moved=False)


def alternating(i, A, n):
    at = i
    if i % 2 == 1:
        at = n - 1 - i
    for k in range(i // 2):
        if k == 2:
            continue
        A[at] += 1.0


@given(st.integers(0, 9))
def test_integers_that_are_no_sums_of_indices(n):
    same(*work_and_run(on(n), alternating, view(n), n), moved=False)


def weight(x, k):
    if k > 1:
        return x * x
    return x


def with_helper(i, A, B):
    B[i] = weight(A[i], i) + weight(A[i], 0)


@given(extents)
def test_helpers_count_where_they_are_called(n):
    same(*work_and_run(on(n), with_helper, view(n), view(n)))


# -- operations ------------------------------------------------------------------------------------


def operations(i, A, F, Z):
    A[i] = abs(-A[i]) / np.sqrt(A[i] + 1.0) + max(A[i], 2.0)
    A[i] = np.exp(A[i]) * np.hypot(A[i], 1.0) - np.floor(A[i]) ** 2.5
    F[i] = F[i] * es.float32(2) + i
    Z[i] = Z[i] * Z[i] + abs(Z[i]) / (Z[i] + 2)


def test_operations_by_dtype_and_functions_apart():
    args = view(5), view(5, dtype="float32"), view(5, dtype="complex64")
    work, run = work_and_run(on(5), operations, *args)
    same(work, run)
    assert work.functions == {"abs": 5, "exp": 5, "floor": 5, "hypot": 5, "pow": 5}
    assert set(work.flops) == {"float32", "float64"}


def integers(i, A, B):
    B[i] = (A[i] * 3 + i) // 2


def test_integers_have_no_floating_point_operations():
    work, run = work_and_run(on(4), integers, view(4, dtype="int32"), view(4, dtype="int64"))
    same(work, run)
    assert work.flops == {} and work.moved == 4 * (4 + 8)


def counters(i, A, B):
    es.atomic_add(A, i % 2, B[i])
    A[i] = es.atomic_fetch_max(B, i, 1.0)


def test_an_atomic_step_is_a_load_and_a_store():
    same(*work_and_run(on(4), counters, view(4), view(4)), moved=False)


particle = np.dtype([("x", "f8"), ("v", "f4", (3,)), ("kind", "i2")])


def move(i, P, dt):
    P[i].x += dt * P[i].v[1]
    for d in range(3):
        P[i].v[d] *= 0.5


def test_of_records_the_fields_that_are_touched_count():
    work, run = work_and_run(on(6), move, view(6, dtype=particle), 0.5)
    same(work, run)
    assert work.moved == 6 * 2 * (8 + 3 * 4)


# -- reductions ------------------------------------------------------------------------------------


def dot(i, x, y):
    return x[i] * y[i]


@given(extents)
def test_a_reduction_joins_once_for_each_index(n):
    work, run = work_and_run(on(n), dot, view(n), view(n), reducer=es.Sum)
    same(work, run)
    assert work.total_flops == 2 * n


def own_square(i, x):
    return x[i] * x[i]


def test_no_place_counts_twice():
    work, run = work_and_run(on(9), own_square, view(9), reducer=es.Max)
    same(work, run)
    assert (work.loaded, work.moved, work.total_flops) == (144, 72, 9)


class Norm(es.Reducer):
    """The scaled sum of squares."""

    identity = 0.0

    def join(a, b):
        return a + b * 0.5 if a > b else b + a * 0.5


def test_a_join_of_ones_own_counts_by_its_operations():
    def term(i, x):
        return x[i]

    found = planned(on(8), term, (view(8),), "reduce", Norm())
    work = work_of(found.plan.lowered, found.bounds, (view(8),))
    assert work.total_flops == 16
    assert "both arms of a condition on data count half" in str(work.notes)


def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix * 0.5
    return x[i]


def test_a_scan_counts_its_final_pass():
    x, y = view(6), view(6)
    found = planned(on(6), running, (x, y), "scan", None)
    work = work_of(found.plan.lowered, found.bounds, (x, y))
    assert (work.loaded, work.stored, work.flops) == (48, 48, {"float64": 12.0})
