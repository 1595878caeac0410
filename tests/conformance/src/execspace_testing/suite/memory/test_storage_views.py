"""Views of storage types: made, filled, copied and shown, in any memory, without any kernel."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.nearest import NAMES, element_type, every, nearest, same

pytest.importorskip("ml_dtypes", reason="the dtypes are those of ml_dtypes")

TWICE = 1 + 2.0**-8 + 2.0**-40  # as bfloat16 more than 1; by way of float32 it would be 1


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_the_dtype(space, name):
    made = [
        es.View(3, spec, space=space)
        for spec in (name, getattr(es, name), element_type(name), f"{name}")
    ]
    for view in made:
        assert view.dtype == element_type(name)
        assert view.dtype.type is getattr(es, name)
        assert view.type.dtype == name
        assert view.nbytes == 3 * view.dtype.itemsize
        assert not view.to_numpy().astype(np.float32).any()


def test_every_element_is_copied(space, name):
    """Whatever its bits, there and back."""
    elements = every(name)
    view = staged.view_on(space, elements)
    assert view.to_numpy().tobytes() == elements.tobytes()
    assert view.copy().to_numpy().tobytes() == elements.tobytes()
    here = es.create_mirror_view_and_copy(es.HOST, view)
    assert np.asarray(here).tobytes() == elements.tobytes()
    other = es.View(view.size, name, space=space)
    es.deep_copy(other, view)
    assert other.to_numpy().tobytes() == elements.tobytes()


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint64", "bool"])
def test_numbers_are_rounded_once_on_the_way(space, name, kind):
    rng = np.random.default_rng(1)
    source = (rng.normal(0, 100, (4, 6)) * 10).astype(kind)
    if kind == "float64":
        source[0, :2] = TWICE, -TWICE
    if kind == "int64":
        source[0, 0] = 2**60 + 2**52 + 1
    expected = nearest(name, source.ravel()).reshape(source.shape)
    for layout in ("right", "left"):
        view = es.View((4, 6), name, space=space, layout=layout)
        es.deep_copy(view, source)
        same(name, view.to_numpy(), expected)
        view[1:3, ::2] = source[1:3, ::2]
        same(name, view.to_numpy(), expected)
    here = np.zeros((4, 6), element_type(name))
    es.deep_copy(here, source)
    same(name, here, expected)


def test_wider_elements_are_exact(space, name):
    elements = np.random.default_rng(2).normal(0, 3, 40).astype(element_type(name))
    view = staged.view_on(space, elements)
    wide = np.zeros(40)
    es.deep_copy(wide, view)
    np.testing.assert_array_equal(wide, elements.astype(np.float64))
    there = es.View(40, es.float32, space=space)
    es.deep_copy(there, view)
    np.testing.assert_array_equal(there.to_numpy(), elements.astype(np.float32))


@pytest.mark.parametrize("number", [0, 3, -1.5, 0.1, TWICE, np.inf, np.float32(0.1), True, 10**6])
def test_fill(space, name, number):
    expected = nearest(name, [number] * 12).reshape(3, 4)
    view = es.View((3, 4), name, space=space)
    view.fill(number)
    same(name, view.to_numpy(), expected)
    part = es.View((3, 8), name, space=space)
    part[:, ::2] = number
    same(name, part.to_numpy()[:, ::2].copy(), expected)
    assert not part.to_numpy()[:, 1::2].astype(np.float32).any()
    same(name, es.full((3, 4), number, name, space=space).to_numpy(), expected)


def test_a_fill_with_a_number_of_the_type(space, name):
    number = np.array([0.1], element_type(name))[0]
    view = es.full(5, number, space=space)
    assert view.dtype == element_type(name)
    same(name, view.to_numpy(), np.full(5, number))


def test_functions_that_make_views(space, name):
    same(name, es.ones(3, name, space=space).to_numpy(), nearest(name, [1, 1, 1]))
    found = es.array([0.1, TWICE, 2], name, space=space)
    same(name, found.to_numpy(), nearest(name, [0.1, TWICE, 2]))
    found = es.arange(0, 1, 0.1, name, space=space)
    same(name, found.to_numpy(), nearest(name, np.arange(0, 1, 0.1)))
    found = es.linspace(0, 1, 7, dtype=name, space=space)
    same(name, found.to_numpy(), nearest(name, np.linspace(0, 1, 7)))
    assert es.zeros_like(found).dtype == element_type(name)
    assert es.asarray(found, name, space=space) is found


def test_kinds_are_kept(space, name):
    view = es.View(3, name, space=space, label="x")
    whole = es.View(3, es.int32, space=space)
    with pytest.raises(es.DTypeError, match=f"{name}.*cannot be stored in View"):
        es.deep_copy(whole, view)
    with pytest.raises(es.DTypeError, match=f"cannot be stored in View 'x' of dtype {name}"):
        es.deep_copy(view, np.zeros(3, np.complex64))
    with pytest.raises(es.DTypeError, match=f"cannot be stored in View 'x' of dtype {name}"):
        view.fill(1j)


def test_parts_and_shapes(space, name):
    elements = np.arange(24).reshape(4, 6).astype(element_type(name))
    view = staged.view_on(space, elements)
    for part, expected in (
        (view[1, :], elements[1]), (view[:, 2], elements[:, 2]), (view[::2, 1:5:3],
        elements[::2, 1:5:3]), (view.T, elements.T), (view[::-1, :], elements[::-1]),
    ):  # fmt: skip
        same(name, part.to_numpy(), np.ascontiguousarray(expected))
    target = es.View((4, 6), name, space=space)
    target[1:3, :] = view[2:, :]
    same(name, target.to_numpy()[1:3], elements[2:])
    assert view[1, :] == view[1, :]
    assert view[1, :] != view[2, :]


def test_resize_and_dual_views(space, name):
    view = es.ones(4, name, space=space)
    es.resize(view, 6)
    same(name, view.to_numpy(), nearest(name, [1, 1, 1, 1, 0, 0]))
    dual = es.DualView(2, name, space=space)
    dual.h_view[1] = TWICE
    dual.modify("host")
    dual.sync("device")
    same(name, dual.d_view.to_numpy(), nearest(name, [0, TWICE]))


def test_one_element(space, name):
    view = es.full((), 2.5, name, space=space)
    assert view.item() == 2.5
    assert isinstance(view.item(), float)


def test_a_static_extent(space, name):
    view = es.View((2, es.static(3)), name, space=space)
    assert view.static_extent(1) == 3
    assert name in str(view.type)
