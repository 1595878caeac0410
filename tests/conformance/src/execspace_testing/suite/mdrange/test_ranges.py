"""parallel_for and parallel_reduce over ranges of every rank, layout, tile and order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged

LETTERS = "ijklmn"


def _source(rank):
    index = ", ".join(LETTERS[:rank])
    position = " + ".join(f"{10**d} * {letter}" for d, letter in enumerate(LETTERS[:rank]))
    return f"def mark(o, {index}):\n    pass\n", index, position


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """For each rank a kernel that adds its indices, weighted, to an element."""
    lines = ["import execspace as es", ""]
    for rank in range(1, 7):
        _, index, position = _source(rank)
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


@pytest.mark.parametrize("rank", range(1, 7))
@pytest.mark.parametrize("layout", ["left", "right"])
def test_every_index_is_visited_once(space, kernels, rank, layout):
    shape = SHAPE[:rank]
    lower, upper = (1,) * rank, tuple(n - (n > 3) for n in shape)
    for options in ({}, {"iterate": "left"}, {"iterate": "right"}, {"tile": (2, 3, 1, 2, 2, 3)}):
        if "tile" in options:
            options = {"tile": options["tile"][:rank]}
        with es.use_space(space):
            o = es.View(shape, layout=layout, label="o")
            policy = es.MDRangePolicy(lower, upper, **options)
            staged.parallel_for(policy, kernels[f"mark{rank}"], o)
            total = staged.parallel_reduce(policy, kernels[f"pick{rank}"], o)
        np.testing.assert_array_equal(np.asarray(o), marked(lower, upper, shape))
        assert total == np.asarray(o).sum()


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
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
    np.testing.assert_array_equal(np.asarray(whole), expected)
    assert total == expected.sum()


def test_large_ranges_are_split_between_threads(space, kernels):
    """Enough work that a host-parallel space forks, with rows that parts cut in the middle."""
    if space.name == "oracle":
        shape = (3, 50)
    else:
        shape = (3, 40_001)
    with es.use_space(space):
        o = es.View(shape, label="o")
        staged.parallel_for(es.MDRangePolicy(shape), kernels["mark2"], o)
    np.testing.assert_array_equal(np.asarray(o), marked((0, 0), shape, shape))


@pytest.mark.parametrize("reducer", [es.Sum, es.Prod, es.Min, es.Max])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bool"])
def test_reductions_agree_with_numpy(space, reducer, dtype):
    x = np.random.default_rng(3).normal(size=1001) * 3
    if reducer is es.Prod:
        x = 1 + x / 1000
    x = x.astype(dtype)
    numpy = {es.Sum: np.sum, es.Prod: np.prod, es.Min: np.min, es.Max: np.max}[reducer]
    for n in (1, 7, 1001):
        wide = x[:n].astype(np.float64) if dtype == "float32" else x[:n]
        with es.use_space(space):
            value = staged.parallel_reduce(n, lambda i: x[i], reducer=reducer)
        assert type(value) in (int, float, bool)
        assert math.isclose(value, numpy(wide), rel_tol=1e-12)


@pytest.mark.parametrize("reducer", [es.Min, es.Max])
@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_nan_makes_an_extreme_nan(space, reducer, size, dtype):
    size = min(size, 200) if space.name == "oracle" else size
    x = np.arange(float(size)).astype(dtype)
    with es.use_space(space):
        for at in (0, size // 2, size - 1):
            y = x.copy()
            y[at] = np.nan
            assert math.isnan(staged.parallel_reduce(size, lambda i: y[i], reducer=reducer))  # noqa: B023


def test_negative_lower_bounds(space):
    o = np.zeros(7, np.int64)
    with es.use_space(space):
        staged.parallel_for(es.RangePolicy(-3, 4), es.kernel(_shifted), o)
    assert o.tolist() == [i // 2 * 10 + i % 2 for i in range(-3, 4)]


def _shifted(i, o):
    o[i + 3] = i // 2 * 10 + i % 2


def test_numpy_arrays_are_used_in_place(space):
    """Also as captures, in any layout, and read-only ones as inputs."""
    x = np.arange(12.0).reshape(3, 4).T
    x.flags.writeable = False
    y = np.zeros((4, 3))
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy(y.shape), es.kernel(_copy2), y, x)
    np.testing.assert_array_equal(y, x)


def _copy2(i, j, y, x):
    y[i, j] = x[i, j]


def test_second_launch_compiles_nothing():
    """Same types: one plan. Other dtype, layout or policy kind: another one."""

    @es.kernel
    def fill(i, o):
        o[i] = 1

    with es.use_space("serial"):
        a, b = es.View(3), es.View(5)
        for view in (a, b, a):
            staged.parallel_for(view.size, fill, view)
        assert len(fill.plans) == 1
        staged.parallel_for(3, fill, es.View(3, es.int32))
        staged.parallel_for(es.MDRangePolicy((3,)), fill, a)
        assert len(fill.plans) == 3
    with es.use_space("oracle"):
        staged.parallel_for(3, fill, a)
    assert len(fill.plans) == 4
