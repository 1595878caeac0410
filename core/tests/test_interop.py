"""Arrays of other libraries: one memory, seen from both sides, for as long as either side lives."""

import copy
import ctypes
import gc
import pickle
import re
import sys
import weakref
from array import array
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es
from execspace.views.interop import view_over

NUMBERS = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "bool",
]  # fmt: skip
PARTICLE = np.dtype([("n", "i1"), ("x", "f8"), ("v", "f4", (2, 3))], align=True)


class Tensor:
    """What speaks DLPack and nothing else, as tensors of other libraries do."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Interface:
    """What speaks `__array_interface__` and nothing else."""

    def __init__(self, values):
        self.values = values

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


def labels():
    return [label for _, _, label in es.live_allocations()]


# -- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", ["left", "right", (10, 2)])
def test_numpy_sees_the_same_elements(dtype, layout):
    A = es.View((2, 3), dtype, layout=layout)
    a = np.asarray(A)
    assert (a.dtype, a.shape, a.ctypes.data) == (A.dtype, (2, 3), A.data_ptr)
    assert [s // a.itemsize for s in a.strides] == list(A.strides)
    a[1, 2] = 1
    assert A[1, 2] == 1
    A[0, 1] = 1
    assert (a == [[0, 1, 0], [0, 0, 1]]).all()


def test_there_and_back_is_the_same_view():
    A = es.View((4, 6), es.int32)
    for part in (A, A[1:, ::2], A[::-1, 3], es.subview(A, 1, 2), A[0:0, :]):
        back = es.view_of(np.asarray(part))
        assert (back.shape, back.data_ptr, back.type.layout) == (
            part.shape, part.data_ptr, part.type.layout,
        )  # fmt: skip
        assert part.size == 0 or part.rank == 0 or back.strides == part.strides


def test_an_array_keeps_the_memory_of_a_dropped_view():
    A = es.View(1000, label="A")
    A[:] = 3
    a = np.asarray(A)[::2]
    del A
    gc.collect()
    assert labels() == ["A"]
    assert a.sum() == 1500
    del a
    assert labels() == []


def test_a_view_keeps_the_array_that_it_wraps():
    class Array(np.ndarray):
        """Can be watched, unlike its base."""

    values = np.arange(4.0).view(Array)
    gone = weakref.ref(values)
    row = es.view_of(values)[1:]
    del values
    gc.collect()
    assert gone() is not None
    assert list(row) == [1, 2, 3]
    del row
    assert gone() is None


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_layouts_of_arrays(order):
    values = np.arange(24.0).reshape(4, 6)
    values = {"C": values, "F": np.asfortranarray(values), "A": values[::-1, ::2]}[order]
    A = es.view_of(values)
    assert A.layout == {"C": "right", "F": "left", "A": "stride"}[order]
    assert A.data_ptr == values.ctypes.data
    assert A[1, 2] == values[1, 2]


def test_an_object_with_array_interface_is_wrapped_and_kept_alive():
    source = Interface(np.arange(3.0))
    gone = weakref.ref(source)
    A = es.view_of(source)
    assert A.data_ptr == source.values.ctypes.data
    del source
    gc.collect()
    assert gone() is not None
    del A
    assert gone() is None


# -- DLPack -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", ["left", "right"])
def test_dlpack_from_a_view(dtype, layout):
    A = es.View((2, 3), dtype, layout=layout)
    a = np.from_dlpack(A)
    assert (a.dtype, a.shape, a.ctypes.data) == (A.dtype, (2, 3), A.data_ptr)
    A[1, 2] = 1
    assert a[1, 2] == 1


def test_dlpack_of_subviews():
    A = es.View((4, 6), es.int64)
    es.deep_copy(A, np.arange(24).reshape(4, 6))
    for part in (A[1:, ::2], A[::-1, 3], es.subview(A, 1, 2), A[2:3, :]):
        assert np.array_equal(np.from_dlpack(part), np.asarray(part))
        assert np.shares_memory(np.from_dlpack(part), np.asarray(part))


def test_a_dlpack_capsule_keeps_the_memory_alive():
    A = es.View(1000, label="A")
    A[:] = 3
    a = np.from_dlpack(A)
    del A
    gc.collect()
    assert labels() == ["A"]
    assert a.sum() == 3000
    del a
    gc.collect()
    assert labels() == []


def test_a_capsule_that_nobody_takes_is_given_back():
    A = es.View(3, label="A")
    capsule = A.__dlpack__()
    del A
    gc.collect()
    assert labels() == ["A"]
    del capsule
    assert labels() == []


def test_dlpack_to_a_view():
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    A = es.view_of(Tensor(values), label="A")
    assert (A.shape, A.dtype, A.label) == ((2, 3), np.int16, "A")
    assert A.data_ptr == values.ctypes.data
    A[0, 1] = -1
    assert values[0, 1] == -1
    assert not A.is_managed


def test_a_view_of_a_tensor_keeps_its_memory_alive():
    class Array(np.ndarray):
        """Can be watched, unlike its base."""

    values = np.arange(4.0).view(Array)
    gone = weakref.ref(values)
    row = es.view_of(Tensor(values))[1:]
    del values
    gc.collect()
    assert gone() is not None
    assert list(row) == [1, 2, 3]
    del row
    gc.collect()
    assert gone() is None


def test_dlpack_both_ways_is_one_memory():
    A = es.View(3, es.float32, label="A")
    B = es.view_of(Tensor(np.from_dlpack(A)))
    assert B == A
    assert B.allocation is not A.allocation
    del A
    gc.collect()
    assert labels() == ["A"]
    B[1] = 2
    assert list(B) == [0, 2, 0]


def test_dlpack_says_where_the_memory_is():
    assert es.View(3).__dlpack_device__() == (1, 0)


def test_dlpack_options_are_passed_on():
    A = es.View(3, es.float64)
    assert np.from_dlpack(A, copy=False).ctypes.data == A.data_ptr
    assert np.from_dlpack(A, copy=True).ctypes.data != A.data_ptr
    assert np.from_dlpack(A, device="cpu").ctypes.data == A.data_ptr


def test_records_have_no_dlpack():
    with pytest.raises(BufferError, match="DLPack only supports"):
        np.from_dlpack(es.View(2, PARTICLE))


# -- the buffer protocol ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (array("h", [1, 2, 3]), "int16"),
        (memoryview(array("d", [1, 2, 3])), "float64"),
        (bytearray([1, 2, 3]), "uint8"),
        ((ctypes.c_int32 * 3)(1, 2, 3), "int32"),
    ],
)
def test_buffers_are_wrapped(source, dtype):
    A = es.view_of(source)
    assert (A.dtype.name, list(A)) == (dtype, [1, 2, 3])
    A[1] = 7
    assert list(source) == [1, 7, 3]


def test_a_buffer_is_held_as_long_as_the_view():
    source = bytearray(8)
    A = es.view_of(source)
    with pytest.raises(BufferError, match="exports"):
        source.append(1)  # would move it
    del A
    source.append(1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brings __buffer__")
def test_a_view_is_a_buffer():
    A = es.View((2, 3), es.int32, label="A")
    with memoryview(A) as buffer:
        assert (buffer.shape, buffer.format, buffer.readonly) == ((2, 3), "i", False)
        buffer[1, 2] = 5
        assert A[1, 2] == 5
    assert memoryview(A.readonly()).readonly


def test_arrays_of_a_view_are_buffers_everywhere():
    A = es.View((2, 3), es.int32)
    buffer = memoryview(np.asarray(A))
    buffer[1, 2] = 5
    assert A[1, 2] == 5


def test_device_memory_is_no_buffer_of_the_host(device):
    A = es.View(3, label="A", space=device)
    for read in (np.asarray, list, np.sum):
        with pytest.raises(
            es.SpaceAccessError, match="View 'A' is in memory space 'device', which"
        ):
            read(A)
    with pytest.raises(BufferError, match="memory space 'device' does not export DLPack"):
        np.from_dlpack(A)


# -- CUDA ---------------------------------------------------------------------------------------


def test_host_memory_has_no_cuda_array_interface():
    """Libraries ask with hasattr; a View that said yes would be read by a GPU."""
    A = es.View(3, label="A")
    assert not hasattr(A, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="memory space 'host', which CUDA cannot address"):
        A.__cuda_array_interface__


def test_a_memory_space_may_offer_it(device):
    A = es.View((2, 3), es.float32, space=device)
    description = {"shape": A.shape, "data": (A.data_ptr, False), "typestr": "<f4", "version": 3}
    type(A.memory_space).cuda_array_interface = lambda self, view: description
    try:
        assert A.__cuda_array_interface__ is description
    finally:
        del type(A.memory_space).cuda_array_interface


# -- what may be written ------------------------------------------------------------------------


def test_read_only_arrays_make_read_only_views_and_back():
    values = np.arange(3.0)
    values.flags.writeable = False
    A = es.view_of(values)
    assert A.is_readonly
    assert not np.asarray(A).flags.writeable
    assert es.view_of(b"abc").is_readonly
    assert es.view_of(Interface(values)).is_readonly
    assert not es.view_of(np.arange(3.0)).is_readonly


def test_a_read_only_view_makes_read_only_arrays():
    A = es.View(3, label="A")
    C = A.readonly()
    assert not np.asarray(C).flags.writeable
    assert not np.from_dlpack(C).flags.writeable
    assert es.view_of(np.asarray(C)).is_readonly
    assert np.asarray(A).flags.writeable


def test_a_read_only_tensor_makes_a_read_only_view():
    values = np.arange(3.0)
    values.flags.writeable = False
    assert es.view_of(Tensor(values)).is_readonly


# -- records ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        PARTICLE,
        np.dtype([("a", "u1"), ("b", "f8")]),  # packed, so b is not aligned
        np.dtype({"names": ["b", "a"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
        np.dtype({"names": ["a"], "formats": ["i2"], "offsets": [6], "itemsize": 24}),
        np.dtype([("inner", [("x", "c16"), ("y", "?")], (2,))], align=True),
    ],
    ids=["aligned", "packed", "out of order", "with gaps", "nested"],
)
def test_records_keep_their_dtype(dtype):
    A = es.View((2, 3), dtype, label="A", layout="left")
    a = np.asarray(A)
    assert (A.dtype, a.dtype) == (dtype, dtype)
    raw = np.random.default_rng(1).integers(0, 2, (2, 3, dtype.itemsize), np.uint8)
    values = raw.view(dtype)[..., 0]
    es.deep_copy(A, values)
    assert np.array_equal(a, values)
    assert es.view_of(a) == A
    B = es.View((2, 3), dtype, layout="right")
    es.deep_copy(B, A)
    es.deep_copy(A, values[1, 2])  # a record fills, as a number does
    assert np.array_equal(np.asarray(B), values)
    assert (a == values[1, 2]).all()


def test_fields_are_attributes_and_items():
    A = es.View(3, PARTICLE, label="A")
    A[1].x = 2.5
    A[1].v[1, 2] = 4
    A[2] = A[1]
    assert (A[2].x, A[2]["v"][1, 2], A[2].n) == (2.5, 4, 0)
    assert np.asarray(A)["x"].tolist() == [0, 2.5, 2.5]
    assert A[::2][1].x == 2.5


def test_a_record_that_is_read_refers_to_the_view_and_keeps_its_memory():
    A = es.View(3, PARTICLE, label="A")
    p = A[1]
    A[1].x = 2.5
    assert p.x == 2.5
    p.x = 3
    assert A[1].x == 3
    del A
    gc.collect()
    assert p.x == 3


# -- copies of the Python object ----------------------------------------------------------------


def test_copy_copy_shares_like_assignment_in_kokkos():
    A = es.View((2, 3), es.int32, label="A").with_traits("restrict")
    B = copy.copy(A)
    assert B is not A
    assert (B == A, B.type is A.type, A.use_count) == (True, True, 2)
    B[0, 1] = 3
    assert A[0, 1] == 3
    es.resize(B, (3, 3))
    assert A.shape == (2, 3)


@pytest.mark.parametrize("what", [pickle.dumps, copy.deepcopy])
def test_nothing_copies_elements_behind_ones_back(what):
    A = es.View(3, label="A")
    for thing in (A, [A], {"a": A[1:]}):
        with pytest.raises(TypeError) as error:
            what(thing)
        assert str(error.value) == (
            "View 'A' cannot be pickled or deep-copied: it shares memory. Pickle a NumPy array "
            "with its values: np.asarray(A), or of memory that the host cannot read "
            "es.deep_copy(array, A). Where it arrives, es.deep_copy it into a View made there."
        )
    assert pickle.loads(pickle.dumps(np.asarray(A))).tolist() == [0, 0, 0]


# -- PyTorch ------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_tensors_are_wrapped_without_a_copy(torch):
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    A = es.view_of(t, label="t")
    assert (A.shape, A.dtype, A.layout, A.data_ptr) == ((2, 3), np.float32, "right", t.data_ptr())
    assert es.view_of(t.T).layout == "left"
    assert es.view_of(t[:, ::2]).strides == (3, 2)
    A[1, 2] = -1
    assert t[1, 2] == -1
    t[0, 0] = 7
    del t
    gc.collect()
    assert A[0, 0] == 7


def test_tensors_of_views_share_memory(torch):
    A = es.View((2, 3), es.float32, label="A", layout="left")
    t = torch.from_dlpack(A)
    assert (tuple(t.shape), t.stride(), t.data_ptr()) == ((2, 3), (1, 2), A.data_ptr)
    t += 1
    assert (np.asarray(A) == 1).all()
    del A
    gc.collect()
    assert labels() == ["A"]
    assert t.sum() == 6
    del t
    gc.collect()
    assert labels() == []


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64",
              "complex64", "complex128", "bool"],
)  # fmt: skip
def test_element_types_of_tensors(torch, dtype):
    A = es.View(3, dtype)
    t = torch.from_dlpack(A)
    assert str(t.dtype) == f"torch.{dtype}"
    assert es.view_of(t) == A


def test_tensors_that_are_no_plain_memory(torch):
    with pytest.raises(TypeError, match=r"Cannot make a View of 'Tensor': .*grad"):
        es.view_of(torch.zeros(3, requires_grad=True))
    with pytest.raises(TypeError, match=r"Cannot make a View of 'Tensor'"):
        es.view_of(torch.zeros(3, dtype=torch.uint8).view(torch.float8_e8m0fnu))


@pytest.mark.parametrize(("made", "written"), [
    (lambda z: z.conj().imag, "x.resolve_neg()"),  # DLPack hands out the memory, without the sign
    (lambda z: z.conj().imag[1:], "x.resolve_neg()"),
    (lambda z: z.conj(), "x.resolve_conj()"),
])  # fmt: skip
def test_tensors_that_are_computed_when_they_are_read(torch, plain, made, written):
    t = made(torch.tensor([1j, 2j, 3j]))
    A = es.View(t.shape, str(t.dtype).removeprefix("torch."), memory=es.HOST)
    takers = [
        lambda: es.view_of(t),
        lambda: es.deep_copy(A, t),
        lambda: A.__setitem__(slice(None), t),
        lambda: es.parallel_for(es.RangePolicy(2, space=plain), lambda i, x: None, t),
        lambda: es.sort(t),
    ]
    for take in takers:
        with pytest.raises(es.ExecspaceError, match=re.escape(f"Compute them first: {written}.")):
            take()
    resolved = t.resolve_neg().resolve_conj()
    assert np.asarray(es.view_of(resolved)).tolist() == resolved.tolist()


def test_kernels_and_copies_take_tensors(torch, plain):
    t, values = torch.zeros(3, dtype=torch.float64), np.arange(3.0)
    es.deep_copy(t, values)
    es.parallel_for(es.RangePolicy(3, space=plain), lambda i, x: x.__setitem__(i, x[i] * 2), t)
    assert t.tolist() == [0, 2, 4]


def test_equal_dtypes_that_are_not_the_same():
    """Records may be aligned or not, and dtypes may have metadata; equality sees neither."""
    aligned = np.dtype([("a", "i4"), ("b", "f8")], align=True)
    packed = np.dtype({
        "names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16,
    })  # fmt: skip
    assert aligned == packed and aligned.alignment != packed.alignment
    memory = np.zeros(100, np.uint8)
    for _ in range(2):
        at = -memory.ctypes.data % 8
        assert es.view_of(memory[at + 4 : at + 52].view(packed)).shape == (3,)
        assert es.view_of(memory[at : at + 48].view(aligned)).shape == (3,)
        with pytest.raises(es.ViewError, match="must be aligned"):
            es.view_of(memory[at + 4 : at + 52].view(aligned))
        assert es.View(3, aligned).dtype.isalignedstruct
        assert not es.View(3, packed).dtype.isalignedstruct
    for made in (lambda d: es.View(77, d), lambda d: es.view_of(np.zeros(77, d))):
        assert made(np.dtype("f8", metadata={"unit": "m"})).dtype.metadata is not None
        assert made(np.dtype("f8")).dtype.metadata is None


def test_a_dtype_may_change():
    class Kind:
        dtype = np.dtype("f4")

    given = Kind()
    assert es.View(3, given).dtype == np.float32
    Kind.dtype = np.dtype("i8")
    assert es.View(3, given).dtype == np.int64


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_complex_numbers_of_devices_are_aligned_as_a_whole(kind):
    """There both parts go by one access; on hosts the alignment of a part will do."""
    memory = SimpleNamespace(name="elsewhere")
    owner = np.zeros(256, np.uint8)
    size = np.dtype(kind).itemsize
    start = owner.ctypes.data + -owner.ctypes.data % 16
    make = partial(view_over, "z", dtype=np.dtype(kind), shape=(4,), strides=(size,),
                   readonly=False, owner=owner, space=None)  # fmt: skip
    assert make(address=start + size, memory=memory).size == 4
    assert make(address=start + size // 2, memory=es.HOST).size == 4
    with pytest.raises(es.ViewError, match="elements must be aligned"):
        make(address=start + size // 2, memory=memory)
