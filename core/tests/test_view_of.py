"""view_of: arrays of other libraries as Views, without a copy."""

import gc
import weakref
from array import array

import numpy as np
import pytest

import execspace as es


class DLPackOnly:
    """A CPU tensor that speaks DLPack and nothing else."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.device != (1, 0):
            raise BufferError("the tensor is on another device")
        return self.values.__dlpack__(**options)


def test_a_view_is_itself():
    A = es.View(2)
    assert es.view_of(A) is A


def test_an_array_is_shared_both_ways():
    values = np.arange(6.0).reshape(2, 3)
    A = es.view_of(values, label="A")
    assert (A.shape, A.layout, A.label, A.data_ptr) == ((2, 3), "right", "A", values.ctypes.data)
    A[0, 1] = -1
    values[1, 1] = -2
    assert values[0, 1] == -1
    assert A[1, 1] == -2


def test_layouts_of_arrays():
    values = np.zeros((4, 6))
    assert es.view_of(values.T).layout == "left"
    assert es.view_of(values[:, ::2]).layout == "stride"
    assert es.view_of(values[:, ::2]).strides == (6, 2)
    assert es.view_of(values[::-1]).strides == (-6, 1)
    assert es.view_of(np.zeros(3)).layout == "right"


def test_the_array_lives_as_long_as_the_view():
    class Array(np.ndarray):
        pass  # a subclass can be referenced weakly

    values = np.zeros(4).view(Array)
    gone = weakref.ref(values)
    A = es.view_of(values)
    part = A[1:]
    del values, A
    gc.collect()
    assert gone() is not None
    del part
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (array("d", [1, 2, 3]), "float64"),
        (array("i", [1, 2, 3]), "int32"),
        (memoryview(array("f", [1, 2, 3])), "float32"),
        (bytearray([1, 2, 3]), "uint8"),
        (DLPackOnly(np.array([1, 2, 3], np.int16)), "int16"),
    ],
)
def test_buffers_and_dlpack(source, dtype):
    A = es.view_of(source)
    assert A.dtype.name == dtype
    assert list(A) == [1, 2, 3]
    A[0] = 9
    assert es.view_of(source)[0] == 9


def test_read_only_sources_make_read_only_views():
    assert es.view_of(b"abc").is_readonly
    assert es.view_of(np.broadcast_to(np.float64(1), (3, 3))).is_readonly
    assert es.view_of(np.broadcast_to(np.float64(1), (3, 3))).strides == (0, 0)


def test_numbers_of_numpy_are_copies_in_which_nothing_is_stored():
    assert es.view_of(np.float64(1)).is_readonly
    with pytest.raises(es.ViewError, match=r"the destination is np\.float64.*expected a View"):
        es.deep_copy(np.float64(1), 2.0)


def test_complex_needs_only_the_alignment_that_numpy_asks_for():
    block = np.zeros(64, np.uint8)
    start = (-block.ctypes.data) % 16 + 8
    values = block[start : start + 32].view(np.complex128)
    assert values.flags.aligned
    assert es.view_of(values).data_ptr % 16 == 8


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(17, np.uint8)[1:].view(np.float64),
        np.zeros(2, ">f8"),
        np.zeros(2, np.dtype([("a", "i4"), ("x", "f8")]))["x"],
    ],
    ids=["unaligned", "big-endian", "stride of 12 bytes"],
)
def test_elements_that_no_kernel_could_load(values):
    with pytest.raises(es.ViewError, match=r"must be aligned and in native byte order\. Copy it"):
        es.view_of(values)


def test_rank_above_8():
    with pytest.raises(es.ViewError, match="rank 9 exceeds 8"):
        es.view_of(np.zeros((1,) * 9))


def test_unsupported_dtype():
    with pytest.raises(es.DTypeError, match="cannot be an element of a View"):
        es.view_of(np.array(["a"]))


@pytest.mark.parametrize("source", [None, 3, 2.5, [1.0, 2.0], "text", object()])
def test_what_is_no_array(source):
    with pytest.raises(TypeError, match=f"Cannot make a View of {type(source).__name__!r}"):
        es.view_of(source)


def test_a_tensor_on_another_device():
    with pytest.raises(TypeError, match=r"Cannot make a View of 'DLPackOnly'.*need the plugin"):
        es.view_of(DLPackOnly(np.zeros(2), device=(2, 0)))


# -- objects that say wrong things of their memory ----------------------------------------------


class Claims:
    """Has an `__array_interface__` as given; a callable one is a property's code."""

    def __init__(self, interface):
        self.interface = interface

    @property
    def __array_interface__(self):
        return self.interface() if callable(self.interface) else self.interface


class Capsule:
    """Has a `__dlpack__` that returns what no consumer can use, or raises."""

    def __init__(self, give):
        self.give = give

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.give()


BACKING = np.arange(3.0)
RIGHT = {**BACKING.__array_interface__}
WRONG = {
    "null": Claims(RIGHT | {"data": (0, False)}),
    "negative": Claims(RIGHT | {"shape": (-3,)}),
    "larger than memory": Claims(RIGHT | {"shape": (2**62, 2**10)}),
    "beyond int64": Claims(RIGHT | {"shape": (2**70,)}),
    "no such dtype": Claims(RIGHT | {"typestr": "<q99"}),
    "strides of another rank": Claims(RIGHT | {"strides": (8, 8)}),
    "strides of text": Claims(RIGHT | {"strides": ("a",)}),
    "empty": Claims({}),
    "list": Claims([1]),
    "None": Claims(None),
    "raises": Claims(lambda: {}["data"]),
    "no capsule": Capsule(lambda: 3),
    "capsule raises": Capsule(lambda: 1 // 0),
}


@es.kernel
def set_to_one(i, x):
    x[i] = 1.0


@pytest.mark.parametrize("which", WRONG)
def test_an_object_that_cannot_say_where_its_memory_is(which, plain):
    """Whatever its class, or NumPy over what it says, raises: the exception names the object."""
    source = WRONG[which]
    of = f"Cannot make a View of '{type(source).__name__}'"
    why = r"its __(array_interface|dlpack)__ cannot be used \(\w+: .*\)\. Expected one that"
    with pytest.raises(es.ViewTypeError, match=f"^{of}: {why}") as caught:
        es.view_of(source)
    assert caught.value.__cause__ is not None
    with pytest.raises(
        es.LaunchError, match=rf"^Kernel 'set_to_one': {of} \(argument 0.*\): {why}"
    ):
        es.parallel_for(es.RangePolicy(3, space=plain), set_to_one, source)
    with pytest.raises(es.ViewTypeError, match=rf"^{of} \(source of deep_copy\): {why}"):
        es.deep_copy(np.zeros(3), source)
    with pytest.raises(es.ViewTypeError, match=rf"^{of} \(destination of deep_copy\): {why}"):
        es.deep_copy(source, 0.0)
    assert BACKING.tolist() == [0.0, 1.0, 2.0]


def test_a_mask_in_the_interface_is_not_lost():
    masked = Claims(RIGHT | {"mask": np.ones(3, bool)})
    with pytest.raises(es.ViewTypeError, match=r"it has a mask, which a View would lose\. Pass"):
        es.view_of(masked)
    assert es.view_of(Claims(RIGHT | {"mask": None})).data_ptr == BACKING.ctypes.data
