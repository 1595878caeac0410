"""How copies on a device are arranged: in few dimensions, in words, in squares of small elements.

The kernels run on the oracle, over memory of the host; none of this needs a GPU.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_gpu.arrangement import (
    Arrangement,
    Axis,
    arranged,
    dense_parts,
    is_dense,
    simplified,
)

DTYPES = ["u1", "i2", "f4", "f8", "c16", [("a", "f8"), ("b", "i4"), ("c", "i4")]]


@st.composite
def part_of_array(draw, shape, dtype):
    """An array of a shape: a part, backwards or in another order, of one that has gaps."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -3])) for _ in shape]
    more = [draw(st.integers(0, 2)) for _ in shape]
    whole = [shape[d] * abs(steps[d]) + more[d] for d in order]
    nbytes = math.prod(whole) * np.dtype(dtype).itemsize
    array = (np.arange(nbytes) % 251).astype(np.uint8).view(dtype).reshape(whole)
    array = array.transpose(np.argsort(order))
    cut = tuple(
        slice(None, n * s, s) if s > 0 else slice(n * -s - 1, None, s)
        for n, s in zip(shape, steps, strict=True)
    )
    found = array[cut] if shape else array
    assert found.shape == tuple(shape), (found.shape, shape)
    return found


@st.composite
def pairs(draw, most=6):
    """Destination and source of a copy."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(1, most), min_size=0, max_size=5).map(tuple))
    return draw(part_of_array(shape, dtype)), draw(part_of_array(shape, dtype))


def blocks(found: Arrangement):
    """Addresses of all blocks, at the destination and at the source."""
    to, source = np.array([found.to]), np.array([found.source])
    for extent, step, from_step in found.axes:
        places = np.arange(extent)[:, None]
        to, source = (to + places * step).ravel(), (source + places * from_step).ravel()
    return to, source


def carry_out(found: Arrangement) -> None:
    for to, source in zip(*blocks(found), strict=True):
        ctypes.memmove(int(to), int(source), found.block)


@settings(max_examples=200, deadline=None)
@given(pairs(), st.sampled_from([None, 8, 16]))
def test_blocks_are_the_elements(pair, word):
    """Also in words; and nothing but the elements is written."""
    target, source = pair
    base = target
    while base.base is not None:
        base = base.base
    expected = base.copy()
    place = (target.ctypes.data - base.ctypes.data, target.shape, target.strides)
    np.ndarray(place[1], target.dtype, expected.data, place[0], place[2])[...] = source
    found = arranged(es.view_of(target), es.view_of(source))
    assert all(a.to > 0 for a in found.axes)
    carry_out(found if word is None else found.in_words(word))
    np.testing.assert_array_equal(base, expected)


@settings(max_examples=50, deadline=None)
@given(pairs(), st.data())
def test_parts_make_up_the_whole(pair, data):
    found = arranged(*map(es.view_of, pair))
    if not found.axes:
        return
    axis = data.draw(st.integers(0, len(found.axes) - 1))
    n = found.axes[axis].extent
    cut = data.draw(st.integers(0, n))
    whole = sorted(zip(*blocks(found), strict=True))
    parts = [found.part(axis, 0, cut), found.part(axis, cut, n)]
    assert sorted(b for p in parts for b in zip(*blocks(p), strict=True)) == whole
    singles = [found.without(axis, k) for k in range(n)]
    assert sorted(b for p in singles for b in zip(*blocks(p), strict=True)) == whole


def test_few_dimensions_remain():
    def of(dst, src):
        found = arranged(es.view_of(dst), es.view_of(src))
        return found.block, [a.extent for a in found.axes], found.unit_axes

    x, y = np.zeros((4, 6, 10)), np.zeros((4, 6, 10))
    assert of(x, y) == (8 * 240, [], None)
    assert of(x[::-1], y[::-1]) == (8 * 240, [], None)
    assert of(x[::-1, ::-1, ::-1], y[::-1, ::-1, ::-1]) == (8 * 240, [], None)
    assert of(x[:, 1:3], y[:, 2:4]) == (8 * 20, [4], None)
    assert of(x[:, :, :7], y[:, :, 3:]) == (8 * 7, [24], None)
    assert of(x[..., ::2], y[..., ::2]) == (8, [120], None)
    assert of(x[::2], y[1::2]) == (8 * 60, [2], None)
    other = np.zeros((10, 6, 4)).T
    assert of(x, other) == (8, [10, 6, 4], (0, 2))
    assert of(np.zeros((24, 10)), np.zeros((10, 24)).T) == (8, [10, 24], (0, 1))
    assert of(x, np.broadcast_to(1.0, (4, 6, 10))) == (8, [240], None)
    assert of(np.zeros(()), np.zeros(())) == (8, [], None)


def test_words_are_as_large_as_addresses_and_steps_allow():
    row = [Axis(5, 1000, 3000)]
    for to, source, block, word in (
        (4096, 8192, 80, 8), (4100, 8192, 80, 4), (4096, 8193, 80, 1), (4096, 8192, 12, 4),
        (4098, 8194, 80, 2),
    ):  # fmt: skip
        found = simplified(block, to, source, row).in_words()
        assert (found.block, found.axes[0]) == (word, Axis(block // word, word, word))
    assert simplified(8, 4096, 8192, row).in_words() == simplified(8, 4096, 8192, row)


def test_what_is_no_arrangement():
    class Diagonals(es.Layout):
        def span(self, n):
            return n

        def offset(self, i, n):
            return n - 1 - i

    x = es.View(5, space="serial")
    assert arranged(x, es.View(5, space="serial", layout=Diagonals())) is None
    assert arranged(x, es.View(5, es.float32, space="serial")) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(1, 400), st.data())
def test_parts_of_a_block_are_blocks(shape, most, data):
    order = data.draw(st.permutations(range(len(shape))))
    array = np.arange(math.prod(shape), dtype=np.int32).reshape([shape[d] for d in order])
    view = es.view_of(array.transpose(np.argsort(order)))
    assert is_dense(view)
    place = view.data_ptr
    for ranges in dense_parts(view, most):
        part = es.subview(view, *ranges)
        assert is_dense(part) and part.data_ptr == place
        assert part.nbytes <= most or part.size == 1
        place += part.nbytes
    assert place == view.data_ptr + view.nbytes


def test_what_is_no_block():
    x = np.zeros((4, 6))
    for array in (x[::-1], x[:, :5], x[::2], np.broadcast_to(1.0, (3, 4))):
        assert not is_dense(es.view_of(array))
    for array in (x, x.T, x[:2], x[:1, :3], x[1:2]):
        assert is_dense(es.view_of(array))


# -- kernels --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moving():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from execspace_gpu import moving

    def copied(to, source, nbytes, kind, stream):
        ctypes.memmove(to, source, nbytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving, "LEAST", 0)
        patch.setattr(moving, "runtime", type("Runtime", (), {"memcpyAsync": copied}))
        yield moving


@pytest.fixture(scope="module")
def host():
    space = es.space("oracle")
    space.stream = 0
    yield space
    del space.stream


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pair=pairs(4))
def test_kernels_move_the_elements(moving, host, pair):
    target, source = pair
    moving.move(host, es.view_of(target), es.view_of(source))
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("more", [0, 1, 3])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_small_elements_change_their_order_in_squares(moving, host, monkeypatch, size, more, batch):
    """Rows and columns beyond the last square, and rows that are apart."""
    used = []
    launch = moving._launch

    def noted(space, shape, kernel, *views, **options):
        used.append(kernel.__name__)
        launch(space, shape, kernel, *views, **options)

    monkeypatch.setattr(moving, "_launch", noted)
    side = max(1, 8 // size)
    n, m = 4 * side + more, 5 * side + more
    dtype = np.dtype({16: "c16"}.get(size, f"u{size}"))
    pitch = n + 2 * side + (-n) % side
    values = (np.arange(math.prod(batch) * m * pitch * size) * 7 % 251).astype(np.uint8)
    source = values.view(dtype).reshape(*batch, m, pitch)[..., :n]
    target = np.zeros((*batch, n, m + (-m) % side), dtype)[..., :m]
    turned = np.swapaxes(source, -1, -2)
    moving.move(host, es.view_of(target), es.view_of(turned))
    np.testing.assert_array_equal(target, turned)
    kernel = f"_turn{size}" + ("_each" if batch else "")
    plain = f"_move{2 + len(batch)}"
    # Wide elements are assigned as by any kernel.
    assert used == ([kernel] + [plain] * (2 if more else 0) if size < 8 else [])


def test_small_elements_that_lie_in_no_words(moving, host):
    for offset in (1, 2, 4):
        source = np.arange(1, 41 * 48 + 1).astype(np.uint8).reshape(41, 48)[:, offset : offset + 35]
        target = np.zeros((35, 41), np.uint8)
        moving.move(host, es.view_of(target), es.view_of(source.T))
        np.testing.assert_array_equal(target, source.T)


@pytest.mark.parametrize(("every", "each"), [(2, 1), (1, 2), (2, 2)])
def test_small_elements_with_gaps(moving, host, every, each):
    """Rows begin at words, but elements are no neighbours on one side, or on both."""
    source = np.arange(48 * 96).astype(np.uint8).reshape(48, 96)[:, : 40 * each : each]
    target = np.zeros((40, 96), np.uint8)[:, : 48 * every : every]
    moving.move(host, es.view_of(target), es.view_of(source.T))
    np.testing.assert_array_equal(target, source.T)
    assert every == 1 or not target.base[:, 1::2].any()


def test_tiles_are_of_short_blocks(moving, host, monkeypatch):
    """Rows that come in another order are moved along, and elements in tiles."""
    used = []
    launch = moving._launch

    def noted(space, shape, kernel, *views, **options):
        used.append((shape, options.get("tile"), options.get("items_per_thread")))
        launch(space, shape, kernel, *views, **options)

    monkeypatch.setattr(moving, "_launch", noted)
    for inner, expected in (
        (8, [((4, 6, 5), None, None)]),
        (4, [((2, 6, 5), None, None)]),
        (2, [((6, 5), (8, 32), (1, 2))]),
        (1, []),
    ):
        used.clear()
        source = np.arange(6 * 5 * inner, dtype=np.float32).reshape(6, 5, inner)
        target = np.zeros((5, 6, inner), np.float32)
        assert source.ctypes.data % 8 == target.ctypes.data % 8 == 0
        moving.move(host, es.view_of(target), es.view_of(source.transpose(1, 0, 2)))
        np.testing.assert_array_equal(target, source.transpose(1, 0, 2))
        assert used == expected, inner


def test_fills_repeat_one_element(moving, host):
    target = np.zeros((3, 4, 5), np.float32)[:, ::2]
    moving.move(host, es.view_of(target), es.view_of(np.broadcast_to(np.float32(2), (3, 2, 5))))
    assert (target == 2).all()
