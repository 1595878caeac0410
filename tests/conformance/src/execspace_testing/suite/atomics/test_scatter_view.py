"""ScatterView: every op by every strategy, and the exercise of Kokkos' tutorial."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted, needs_threads


def strategies(space):
    one_buffer = "plain" if space.concurrency == 1 else "atomic"
    return dict.fromkeys((one_buffer, "atomic", "duplicated"))


class Scatter:
    """One kernel for all strategies: the first index of the copies is the one acquired."""

    def __init__(self, view, **options):
        self.scatter = es.ScatterView(view, **options)
        self.copies = self.scatter.copies()

    def count(self, i, bins):
        mine = self.scatter.acquire(i)
        for k in range(3):
            self.copies[mine, (i + k) % bins] += 1
        self.scatter.release(mine)


def test_exercise_every_element_gets_every_contribution(space):
    """N elements get M contributions each, from indices that are next to each other in time."""
    n, m = (1000, 300) if not interpreted(space) else (10, 30)
    for strategy in strategies(space):
        A = es.View(n, es.float64, label="A", space=space)
        work = Scatter(A, strategy=strategy, space=space)
        staged.parallel_for(es.RangePolicy(n * m // 3, space=space), work.count, n)
        assert not staged.fetch(A).any()  # until they are contributed
        work.scatter.contribute(A)
        assert staged.fetch(A).sum() == n * m
        assert (staged.fetch(A) == m).all()


def products(i, a, x):
    a[i % 2, i % 3] *= x[i]


def lesser(i, a, x):
    es.atomic_min(a, (i % 2, i % 3), x[i])


def greater(i, a, x):
    es.atomic_max(a, (i % 2, i % 3), x[i])


@pytest.mark.parametrize(
    ("op", "kernel", "join", "layout"),
    [
        ("prod", products, np.multiply, "right"),
        ("min", lesser, np.minimum, "left"),
        ("max", greater, np.maximum, "right"),
    ],
)
def test_products_minima_and_maxima(space, op, kernel, join, layout):
    x = np.random.default_rng(5).permutation(60) - 30.0
    if op == "prod":
        x = np.where(x > 0, 2.0, 0.5)  # every product of these is exact
    A = es.View((2, 3), es.float64, label="A", layout=layout, space=space)
    es.deep_copy(A, 4.0)
    expected = np.full((2, 3), 4.0)
    for i, value in enumerate(x):
        expected[i % 2, i % 3] = join(expected[i % 2, i % 3], value)
    scatter = es.ScatterView(A, op=op, space=space)
    staged.parallel_for(es.RangePolicy(60, space=space), kernel, scatter.access(), x)
    scatter.contribute(A)
    np.testing.assert_array_equal(staged.fetch(A), expected)


@pytest.mark.parametrize("layout", ["right", "left"])
def test_copies_of_two_dimensions(space, layout):
    A = es.View((3, 5), es.int64, label="A", layout=layout, space=space)
    scatter = es.ScatterView(A, strategy="duplicated", space=space)
    copies = scatter.copies()
    assert copies.shape == (space.concurrency, 3, 5)

    def kernel(i, j, copies, scatter=scatter):
        mine = scatter.acquire(i + j)
        copies[mine, i % 3, j % 5] += i
        scatter.release(mine)

    staged.parallel_for(es.MDRangePolicy((30, 20), space=space), kernel, copies)
    scatter.contribute(A)
    scatter.contribute(A)  # contributions are kept, until they are reset
    es.fence()
    expected = [[2 * 4 * sum(range(i, 30, 3))] * 5 for i in range(3)]
    assert staged.fetch(A).tolist() == expected
    scatter.reset()
    scatter.contribute(A)
    assert staged.fetch(A).tolist() == expected


def test_plain_steps_are_refused_where_threads_would_lose_them(space):
    needs_threads(space)
    A = es.View(4, label="A", space=space)
    with pytest.raises(es.ViewError, match="strategy 'plain' loses contributions on space"):
        es.ScatterView(A, strategy="plain", space=space)


def test_contributions_of_a_higher_kind_and_read_only_views_are_refused(space):
    scatter = es.ScatterView(es.View(2, es.float64, label="A", space=space), space=space)
    with pytest.raises(es.ViewError, match="is of int32; sums of float64 do not go into it"):
        scatter.contribute(es.View(2, es.int32, label="B", space=space))
    scatter.contribute(es.View(2, es.float32, label="C", space=space))
    with pytest.raises(es.ViewError, match="'A' is read-only; contribute to another one"):
        scatter.contribute(es.View(2, es.float64, label="A", space=space).readonly())


def test_objects_that_launches_do_not_take_say_what_they_take_instead(space):
    view = es.View(3, es.float32, space=space)
    for made, said in (
        (es.ScatterView(view, space=space), r"Pass its View, access\(\) or copies\(\)"),
        (es.UniqueToken(space), "Name it in the kernel, which captures it"),
        (es.DualView(3, es.float32, space=space), "Pass one of its Views, d_view or h_view"),
    ):
        with pytest.raises(es.LaunchError, match=f"is of type '{type(made).__name__}'; .*{said}"):
            es.parallel_for(es.RangePolicy(3, space=space), lambda i, x: None, made)
