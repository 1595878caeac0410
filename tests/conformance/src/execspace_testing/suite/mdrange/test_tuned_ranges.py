"""Tuning launches a kernel many times, and nobody can tell: Views are what they were."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned
from execspace_testing import staged

pytestmark = pytest.mark.usefixtures("tuning_folder")


@es.kernel
def visit(i, j, x, y, count):
    """Depends on what it changed itself: a second launch would show."""
    x[i, j] = 2.0 * x[i, j] + 1.0
    y[i, j] = x[i, j] + 1.0
    es.atomic_add(count, 0, 1)


def test_views_of_all_kinds_are_what_they_were(space):
    start = np.arange(600.0).reshape(20, 30)
    x = staged.view_on(space, start, "x")
    y = es.View((20, 30), label="y", space=space)
    strided = y[:, ::2]
    count = es.View(1, es.int64, label="count", space=space)
    policy = es.MDRangePolicy((20, 15), space=space)
    found = es.tune(policy, visit, x, strided, count, seconds=1)
    assert found.candidates[0].choice == es.tuning.DEFAULT
    np.testing.assert_array_equal(staged.fetch(x), start)
    assert not staged.fetch(y).any()
    assert not staged.fetch(count).any()
    es.parallel_for(found.policy, visit, x, strided, count)
    space.fence()
    expected = start.copy()
    expected[:, :15] = 2 * start[:, :15] + 1
    np.testing.assert_array_equal(staged.fetch(x), expected)
    np.testing.assert_array_equal(staged.fetch(y)[:, ::2], expected[:, :15] + 1)
    assert staged.fetch(count).tolist() == [300]


def test_kernels_that_print_are_not_launched_again_and_again(space, monkeypatch, capfd):
    @es.kernel
    def speak(i, j):
        es.printf("%d\n", i)

    plan = planned(es.RangePolicy(1, space=space), lambda i: None, (), "for", None).plan
    if plan.effects is None:
        pytest.skip("plans of this space do not say what a kernel does")
    with pytest.raises(es.LaunchError, match="'speak' prints, which each of many launches would"):
        es.tune(es.MDRangePolicy((2, 1), space=space), speak)
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    es.parallel_for(es.MDRangePolicy((1, 1), space=space), speak)
    space.fence()
    assert capfd.readouterr().out.split() == ["0"]
