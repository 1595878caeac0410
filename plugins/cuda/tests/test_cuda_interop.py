"""Arrays of CuPy, PyTorch, Numba and JAX in kernels, and Views in those libraries: no copy.

In which order the streams of both sides work is in test_cuda_streams.py.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@es.kernel
def add(i, x, a):
    x[i] += a


@es.kernel
def add2(i, j, x, a):
    x[i, j] += a


@es.kernel
def element(i, x):
    return x[i]


def on(space, n):
    return es.RangePolicy(n, space=space)


PARTS = {
    "whole": np.s_[:, :],
    "every other": np.s_[::2, 1::2],
    "backwards": np.s_[::-1, ::-2],
    "one row": np.s_[2:3, :],
    "empty": np.s_[2:2, :],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_cupy_arrays_are_used_in_place(cuda, cupy, part, order):
    values = np.asarray(np.arange(24.0).reshape(4, 6), order=order)
    whole = cupy.asarray(values, order=order)
    array = whole[PARTS[part]]
    view = es.view_of(array, label="array")
    assert view.shape == array.shape
    if array.size:  # strides of an empty array are never walked, and libraries disagree on them
        assert view.strides == tuple(s // 8 for s in array.strides)
    assert view.dtype == np.float64
    assert view.data_ptr == array.data.ptr or not array.size
    assert not view.is_managed
    assert not view.is_readonly
    assert view.memory_space.reachable_from(cuda)
    assert not view.memory_space.host_accessible
    es.parallel_for(es.MDRangePolicy((0, 0), array.shape, space=cuda), add2, array, 100.0)
    es.parallel_for(es.MDRangePolicy((0, 0), view.shape, space=cuda), add2, view, 1000.0)
    values[PARTS[part]] += 1100.0
    np.testing.assert_array_equal(whole.get(), values)


def test_layouts_of_arrays_are_those_of_their_strides(cuda, cupy):
    array = cupy.zeros((3, 4, 5))
    assert es.view_of(array).layout == "right"
    assert es.view_of(array.T).layout == "left"
    assert es.view_of(array[:, ::2]).layout == "stride"


def test_arrays_of_rank_0_and_without_elements(cuda, cupy):
    total = cupy.zeros(())
    es.deep_copy(total, 2.5)
    assert total.get() == 2.5
    es.parallel_reduce(on(cuda, 5), lambda i: i * 1.0, out=es.view_of(total))
    assert total.get() == 10.0
    for shape in (0, (0, 3), (3, 0)):
        nothing = cupy.zeros(shape)
        assert es.view_of(nothing).shape == nothing.shape
        es.deep_copy(nothing, 1.0)
        es.deep_copy(np.zeros(nothing.shape), nothing)
    es.parallel_for(on(cuda, 0), add, cupy.zeros(0), 1.0)
    assert es.parallel_reduce(on(cuda, 0), element, cupy.zeros(0)) == 0.0


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
     "float32", "float64", "complex64", "complex128"],
)  # fmt: skip
def test_every_dtype_of_cupy(cuda, cupy, dtype):
    values = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 100, (4, 6))
    values = values.astype(dtype)
    array, view = cupy.zeros((4, 6), dtype), es.View((4, 6), dtype, space=cuda)
    assert es.view_of(array).dtype == np.dtype(dtype)
    es.deep_copy(array, values)  # from the host
    np.testing.assert_array_equal(array.get(), values)
    es.deep_copy(view, array)  # from the array
    np.testing.assert_array_equal(staged.fetch(view), values)
    es.deep_copy(array[::-1, ::2], view[:, 3:])  # to a part of it
    values[::-1, ::2] = values[:, 3:].copy()
    back = np.zeros((4, 6), dtype)
    es.deep_copy(back, array)  # to the host
    np.testing.assert_array_equal(back, values)
    es.deep_copy(array, np.ones((), dtype)[()])
    assert (array.get() == 1).all()


def test_arrays_are_captured_by_kernels(cuda, cupy):
    x, y = cupy.asarray(np.arange(10.0)), cupy.zeros(10)

    @es.kernel
    def copy_doubled(i):
        y[i] = 2.0 * x[i]

    es.parallel_for(on(cuda, 10), copy_doubled)
    assert y.get().tolist() == (2 * np.arange(10.0)).tolist()
    assert es.parallel_reduce(on(cuda, 10), lambda i: x[i] * y[i]) == 2 * (np.arange(10) ** 2).sum()
    x = cupy.ones(10)  # the name means another array: so does the kernel
    es.parallel_for(on(cuda, 10), copy_doubled)
    assert (y.get() == 2.0).all()


def test_arrays_choose_their_gpu_if_nobody_names_a_space(cuda, cupy):
    x = cupy.ones(10)
    es.parallel_for(10, add, x, 1.0)
    assert (x.get() == 2.0).all()
    assert es.parallel_reduce(10, element, x) == 20.0


def test_arrays_are_sorted_and_scanned(cuda, cupy):
    values = np.random.default_rng(1).permutation(1000).astype(np.float64)
    x, y = cupy.asarray(values), cupy.zeros(500)
    es.sort(es.view_of(x[::2]))
    values[::2] = np.sort(values[::2])
    np.testing.assert_array_equal(x.get(), values)

    def running(i, prefix, final, x, y):
        if final:
            y[i] = prefix
        return x[i]

    total = es.parallel_scan(on(cuda, 500), running, x[1::2], y)
    assert total == values[1::2].sum()
    np.testing.assert_array_equal(y.get(), np.cumsum(values[1::2]) - values[1::2])


def test_arrays_and_views_that_overlap(cuda, cupy):
    """The usual program takes arguments for disjoint ones; it must not be used here."""

    @es.kernel
    def twice(i, x, y):
        x[i] = x[i] + 1.0
        y[i] = y[i] + x[i]

    block = cupy.zeros(10)
    es.parallel_for(on(cuda, 10), twice, block, block)
    assert (block.get() == 2.0).all()
    view = es.View(10, space=cuda)
    es.parallel_for(on(cuda, 10), twice, view, cupy.asarray(view))
    assert (staged.fetch(view) == 2.0).all()
    with pytest.raises(es.ViewError, match="overlap"):
        es.deep_copy(block[1:], block[:-1])


# -- PyTorch ------------------------------------------------------------------------------------


def test_tensors_are_used_in_place(cuda, torch):
    whole = torch.arange(24.0, dtype=torch.float64, device="cuda").reshape(4, 6)
    values = np.arange(24.0).reshape(4, 6)
    for array, part in ((whole, np.s_[:, :]), (whole[1:, ::2], np.s_[1:, ::2])):
        view = es.view_of(array)
        assert view.data_ptr == array.data_ptr()
        assert view.strides == array.stride()
        es.parallel_for(es.MDRangePolicy((0, 0), view.shape, space=cuda), add2, array, 10.0)
        values[part] += 10.0
        np.testing.assert_array_equal(whole.cpu().numpy(), values)
    es.deep_copy(whole.T, np.ones((6, 4)))
    assert (whole == 1.0).all()
    row = whole[0]
    assert es.parallel_reduce(on(cuda, 6), lambda i: row[i]) == 6.0


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float16", "float32", "complex64"])
def test_dtypes_of_tensors(cuda, torch, dtype):
    tensor = torch.ones(5, dtype=getattr(torch, dtype), device="cuda")
    back = np.zeros(5, dtype)
    es.deep_copy(back, tensor)
    assert back.tolist() == np.ones(5, dtype).tolist()


REFUSED = {
    "requires_grad": lambda torch: torch.ones(4, device="cuda", requires_grad=True),
    "bfloat16": lambda torch: torch.ones(4, device="cuda", dtype=torch.bfloat16),
    "float8": lambda torch: torch.zeros(4, device="cuda").to(torch.float8_e4m3fn),
    "conjugated": lambda torch: torch.ones(4, device="cuda", dtype=torch.complex64).conj(),
    "negated": lambda torch: torch.ones(4, device="cuda", dtype=torch.complex64).conj().imag,
    "sparse": lambda torch: torch.ones(4, device="cuda").to_sparse(),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # sparse tensors are said to be new
@pytest.mark.parametrize("which", REFUSED)
def test_tensors_that_cannot_be_views(cuda, torch, which):
    """A flag that says "the conjugate of this memory" must not be lost in silence."""
    tensor = REFUSED[which](torch)
    with pytest.raises(TypeError):
        es.view_of(tensor)
    with pytest.raises(TypeError):
        es.parallel_reduce(on(cuda, 4), element, tensor)


# -- Numba and JAX ------------------------------------------------------------------------------


def test_device_arrays_of_numba(cuda, numba_cuda):
    array = numba_cuda.to_device(np.arange(12.0).reshape(3, 4))
    view = es.view_of(array)
    assert view.shape == (3, 4)
    assert view.data_ptr == array.__cuda_array_interface__["data"][0]
    es.parallel_for(es.MDRangePolicy((0, 0), (3, 4), space=cuda), add2, array, 1.0)
    es.fence()
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(12.0).reshape(3, 4) + 1)
    assert es.parallel_reduce(on(cuda, 4), element, array[1]) == 5 + 6 + 7 + 8
    again = numba_cuda.as_cuda_array(es.View(5, space=cuda))
    assert (again.copy_to_host() == 0.0).all()


def test_arrays_of_jax_are_read_in_place_and_not_changed(cuda, jax):
    array = jax.numpy.arange(8, dtype="float32") * 2
    view = es.view_of(array, label="jax")
    assert view.data_ptr == array.unsafe_buffer_pointer()
    assert (view.shape, view.dtype) == ((8,), np.float32)
    assert es.parallel_reduce(on(cuda, 8), element, array) == 56.0
    assert es.parallel_reduce(on(cuda, 8), lambda i: array[i]) == 56.0
    found = np.zeros(8, np.float32)
    es.deep_copy(found, array)
    assert found.tolist() == np.asarray(array).tolist()
    assert view.is_readonly  # arrays of JAX never change
    with pytest.raises(es.ViewError, match="read-only"):
        es.deep_copy(array, 1.0)


def test_views_become_arrays_of_jax(cuda, jax):
    view = es.View(6, es.float32, space=cuda)
    es.deep_copy(view, np.arange(6, dtype=np.float32))
    assert np.asarray(jax.numpy.from_dlpack(view)).tolist() == [0, 1, 2, 3, 4, 5]


# -- objects that say wrong things of their memory ----------------------------------------------

WRONG = {
    "shape": {"shape": ("a",)},
    "no such dtype": {"typestr": "<q99"},
    "typestr of another kind": {"typestr": 3},
    "strides": {"strides": 8},
    "mask": {"mask": np.ones(3, bool)},
}


@pytest.mark.parametrize("which", WRONG)
def test_an_object_that_cannot_say_what_its_memory_is(cuda, which):
    view = es.View(3, space=cuda)

    class Claims:
        __cuda_array_interface__ = view.__cuda_array_interface__ | WRONG[which]

    of = r"Cannot make a View of [\w.]+\.Claims"
    with pytest.raises(es.ViewTypeError, match=of):
        es.view_of(Claims())
    with pytest.raises(es.LaunchError, match=rf"^Kernel 'add': {of} \(argument 0"):
        es.parallel_for(on(cuda, 3), add, Claims(), 1.0)


# -- Views in other libraries -------------------------------------------------------------------


def exports(cupy, torch):
    """Ways to make an array of a View, and how to get its address and its values."""
    by_cupy = lambda array: (array.data.ptr, array.get())  # noqa: E731
    by_torch = lambda array: (array.data_ptr(), array.cpu().numpy())  # noqa: E731
    return {
        "cupy.asarray": (cupy.asarray, by_cupy),
        "cupy.from_dlpack": (cupy.from_dlpack, by_cupy),
        "torch.as_tensor": (lambda view: torch.as_tensor(view, device="cuda"), by_torch),
        "torch.from_dlpack": (torch.from_dlpack, by_torch),
    }


EXPORTS = ["cupy.asarray", "cupy.from_dlpack", "torch.as_tensor", "torch.from_dlpack"]


@pytest.mark.parametrize("way", EXPORTS)
@pytest.mark.parametrize("layout", ["left", "right"])
def test_views_become_arrays_without_a_copy(cuda, cupy, torch, way, layout):
    make, look = exports(cupy, torch)[way]
    view = es.View((4, 6), layout=layout, space=cuda)
    values = np.arange(24.0).reshape(4, 6)
    es.deep_copy(view, values)
    for part in (view, view[1:, 2:4]):
        array = make(part)
        assert tuple(array.shape) == part.shape
        assert look(array)[0] == part.data_ptr
    array = make(view)
    np.testing.assert_array_equal(look(array)[1], values)
    es.parallel_for(es.MDRangePolicy((0, 0), (4, 6), space=cuda), add2, view, 1.0)
    es.fence()
    np.testing.assert_array_equal(look(array)[1], values + 1)
    array[1] = 7.0  # the library writes, execspace reads
    values[:] += 1
    values[1] = 7.0
    np.testing.assert_array_equal(staged.fetch(view), values)


@pytest.mark.parametrize("way", EXPORTS)
def test_arrays_keep_the_memory_of_their_view(cuda, cupy, torch, way):
    make, look = exports(cupy, torch)[way]
    view = es.View(1000, label="exported", space=cuda)
    es.deep_copy(view, 3.0)
    array, address = make(view[10:]), view.data_ptr + 80
    del view
    gc.collect()
    assert "exported" in [label for _, _, label in es.live_allocations()]
    others = [es.View(1000, space=cuda) for _ in range(5)]
    for other in others:
        es.deep_copy(other, -1.0)
    found, values = look(array)
    assert found == address
    assert (values == 3.0).all()
    del array, values
    gc.collect()
    assert "exported" not in [label for _, _, label in es.live_allocations()]


@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "complex128"])
def test_dtypes_of_exported_views(cuda, cupy, torch, dtype):
    view = es.View(3, dtype, space=cuda)
    es.deep_copy(view, np.ones((), dtype)[()])
    for make, look in exports(cupy, torch).values():
        assert look(make(view))[1].tolist() == np.ones(3, dtype).tolist()


def test_views_that_nobody_may_change_stay_so(cuda, cupy, torch):
    """A library that has no arrays that cannot be written must not get a writable one."""
    view = es.View(5, label="constant", space=cuda).readonly()
    assert view.__cuda_array_interface__["data"][1] is True
    for library in (cupy, torch):
        with pytest.raises((BufferError, TypeError, RuntimeError, ValueError)):
            library.from_dlpack(view)


def test_views_that_no_library_has_arrays_for(cuda, cupy):
    class Backwards(es.Layout):
        def span(self, n):
            return n

        def offset(self, i, n):
            return n - 1 - i

    mapped = es.View(5, layout=Backwards(), label="mapped", space=cuda)
    records = es.View(5, np.dtype([("x", "f8"), ("n", "i4")]), label="records", space=cuda)
    for view in (mapped, records):
        with pytest.raises(BufferError, match=view.label):
            cupy.from_dlpack(view)


def test_memory_that_the_host_reaches_too(cuda, cupy, torch):
    for kind in ("shared", "pinned"):
        view = es.View(6, space=cuda, memory=kind)
        array = cupy.asarray(view)
        assert array.data.ptr == view.data_ptr
        array[...] = 5.0
        cupy.cuda.Device().synchronize()
        assert np.asarray(view).tolist() == [5.0] * 6
        assert es.parallel_reduce(on(cuda, 6), element, array) == 30.0
    pinned = es.View(6, space=cuda, memory="pinned")
    tensor = torch.from_dlpack(pinned)  # on the host
    assert (tensor.device.type, tensor.data_ptr()) == ("cpu", pinned.data_ptr)
    assert np.from_dlpack(pinned).ctypes.data == pinned.data_ptr
