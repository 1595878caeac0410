"""ScatterView with a number of copies: atomic ones that several share, and few to wait for."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting


class Scatter:
    """One kernel for all strategies."""

    def __init__(self, view, **options):
        self.scatter = es.ScatterView(view, **options)
        self.copies = self.scatter.copies()

    def add(self, i, bins, values):
        mine = self.scatter.acquire(i)
        self.copies[mine, bins[i], 0] += values[i]
        self.copies[mine, bins[i], 1] += 1
        self.scatter.release(mine)

    def least(self, i, bins, values):
        mine = self.scatter.acquire(i)
        es.atomic_min(self.copies, (mine, bins[i], 0), values[i])
        self.scatter.release(mine)


@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize(("strategy", "copies"), [("atomic", 1), ("atomic", 7), ("duplicated", 2)])
def test_contributions_go_to_copies(space, strategy, copies, layout):
    n = fitting(space, 20_000)
    rng = np.random.default_rng(1)
    bins, values = rng.integers(0, 5, n), rng.integers(-9, 9, n)
    A = es.View((5, 2), es.int64, layout=layout, space=space)
    work = Scatter(A, strategy=strategy, copies=copies, space=space)
    assert work.copies.shape == (copies, 5, 2)
    policy = es.RangePolicy(n, space=space)
    views = staged.view_on(space, bins), staged.view_on(space, values)
    expected = np.stack([np.bincount(bins, values, 5), np.bincount(bins, minlength=5)], axis=1)
    for times in (1, 2):
        es.parallel_for(policy, work.add, *views)
        work.scatter.contribute(A)
        work.scatter.reset()
        assert staged.fetch(A).tolist() == (times * expected).tolist()


def test_minima_of_copies(space):
    n = fitting(space, 5000)
    values = np.random.default_rng(2).integers(-1000, 1000, n, np.int32)
    A = es.View((3, 1), es.int32, space=space)
    work = Scatter(A, op="min", strategy="atomic", copies=4, space=space)
    bins = staged.view_on(space, np.arange(n) % 3)
    es.parallel_for(es.RangePolicy(n, space=space), work.least, bins, staged.view_on(space, values))
    work.scatter.contribute(A)
    assert staged.fetch(A)[:, 0].tolist() == [min(0, values[k::3].min()) for k in range(3)]


def test_other_extents_keep_the_copies(space):
    A = es.View((2, 2), es.int64, space=space)
    work = Scatter(A, strategy="atomic", copies=3, space=space)
    one = staged.view_on(space, np.ones(6, int))
    es.parallel_for(es.RangePolicy(6, space=space), work.add, one, one)
    work.scatter.resize((4, 2))
    assert work.scatter.copies().shape == (3, 4, 2)
    B = es.View((4, 2), es.int64, space=space)
    work.scatter.contribute(B)
    assert staged.fetch(B).tolist() == [[0, 0], [6, 6], [0, 0], [0, 0]]


def test_what_is_refused(space):
    A = es.View(3, space=space)
    for copies in (0, -1, 1.5, True):
        with pytest.raises(
            es.ViewError, match=r"ScatterView: copies is .*; expected an integer from 1"
        ):
            es.ScatterView(A, strategy="atomic", copies=copies, space=space)
    if space.concurrency == 1:
        with pytest.raises(es.ViewError, match="copies is 2; expected an integer from 1 to 1"):
            es.ScatterView(A, strategy="plain", copies=2, space=space)
    with pytest.raises(es.ViewError, match=r"access\(\) of 4 copies has no one View"):
        es.ScatterView(A, strategy="atomic", copies=4, space=space).access()
