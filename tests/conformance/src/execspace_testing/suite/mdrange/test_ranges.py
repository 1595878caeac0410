"""parallel_for and parallel_reduce over ranges of every rank, layout, tile and order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

LETTERS = "ijklmn"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """For each rank a kernel that adds its indices, weighted, to an element."""
    lines = ["import execspace as es", ""]
    for rank in range(1, 7):
        index = ", ".join(LETTERS[:rank])
        position = " + ".join(f"{10**d} * {letter}" for d, letter in enumerate(LETTERS[:rank]))
        lines += ["@es.kernel", f"def mark{rank}({index}, o):", f"    o[{index}] += {position}"]
        lines += ["@es.kernel", f"def pick{rank}({index}, o):", f"    return o[{index}]", ""]
    path = tmp_path_factory.mktemp("kernels") / "ranks.py"
    path.write_text("\n".join(lines))
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope


def marked(lower, upper, shape):
    """What `mark` leaves in an array of zeros."""
    expected = np.zeros(shape)
    grids = np.meshgrid(
        *(np.arange(a, b) for a, b in zip(lower, upper, strict=True)), indexing="ij"
    )
    block = tuple(slice(a, b) for a, b in zip(lower, upper, strict=True))
    expected[block] = sum(10**d * g for d, g in enumerate(grids))
    return expected


SHAPE = (5, 4, 3, 4, 3, 5)


def visited(space, kernels, shape, layout, **options):
    """Each index of a block within a View is visited once, and no other."""
    rank = len(shape)
    lower, upper = (1,) * rank, tuple(n - (n > 3) for n in shape)
    with es.use_space(space):
        o = es.View(shape, layout=layout, label="o")
        policy = es.MDRangePolicy(lower, upper, **options)
        staged.parallel_for(policy, kernels[f"mark{rank}"], o)
        if rank in (1, 2, 3, 6):  # each kernel of each rank is compiled once more for it
            total = staged.parallel_reduce(policy, kernels[f"pick{rank}"], o)
            assert total == staged.fetch(o).sum()
    np.testing.assert_array_equal(staged.fetch(o), marked(lower, upper, shape))


@pytest.mark.parametrize("rank", range(1, 7))
@pytest.mark.parametrize("layout", ["left", "right"])
def test_every_index_is_visited_once(space, kernels, rank, layout):
    visited(space, kernels, SHAPE[:rank], layout)
    visited(space, kernels, SHAPE[:rank], layout, tile=(2, 3, 1, 2, 2, 3)[:rank])


@pytest.mark.parametrize("rank", [2, 3, 6])
@pytest.mark.parametrize("iterate", ["left", "right"])
def test_any_order_of_the_dimensions(space, kernels, rank, iterate):
    """Also against the layout of the View."""
    against = "right" if iterate == "left" else "left"
    visited(space, kernels, SHAPE[:rank], against, iterate=iterate)


@drawn(60, HealthCheck.filter_too_much)
@given(data=st.data())
def test_any_bounds_tile_and_strides(space, kernels, data):
    """Ranges with random bounds over random subviews, checked against NumPy."""
    rank = data.draw(st.sampled_from([1, 3]))
    outer = [data.draw(st.integers(1, 9)) for _ in range(rank)]
    layout = data.draw(st.sampled_from(["left", "right"]))
    # Steps of two or more make strided subviews: one type of View, so few kernels to compile.
    key = tuple(slice(data.draw(st.integers(0, 2)), None, data.draw(st.integers(2, 3)))
                for _ in range(rank))  # fmt: skip
    with es.use_space(space):
        whole = es.View(tuple(outer), layout=layout, label="whole")
        part = whole[key]
        assume(part.layout == "stride")
        upper = [data.draw(st.integers(0, n)) for n in part.shape]
        lower = [data.draw(st.integers(0, n)) for n in upper]
        tile = data.draw(st.one_of(st.none(), st.tuples(*[st.integers(1, 4)] * rank)))
        policy = es.MDRangePolicy(lower, upper, tile=tile)
        staged.parallel_for(policy, kernels[f"mark{rank}"], part)
        total = staged.parallel_reduce(policy, kernels[f"pick{rank}"], part)
    expected = np.zeros(outer)
    expected[key] = marked(lower, upper, part.shape)
    np.testing.assert_array_equal(staged.fetch(whole), expected)
    assert total == expected.sum()


def test_large_ranges_are_split_between_threads(space, kernels):
    """Enough work that a host-parallel space forks, with rows that parts cut in the middle."""
    shape = (3, fitting(space, 40_001, 50))
    with es.use_space(space):
        o = es.View(shape, label="o")
        staged.parallel_for(es.MDRangePolicy(shape), kernels["mark2"], o)
    np.testing.assert_array_equal(staged.fetch(o), marked((0, 0), shape, shape))
