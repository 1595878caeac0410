"""Arrays of other libraries: whose they are, and which stream their library works on.

The arrays and libraries are pretended; none of this needs a GPU or the libraries.
"""

from __future__ import annotations

import sys
from array import array
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cupy_backends.cuda.api.runtime", reason="CuPy is not installed")

from cupy_backends.cuda.api import runtime

from execspace_cuda.plugin import PROTOCOLS, execspace_register_spaces
from execspace_gpu import claiming

(ENTRY,) = execspace_register_spaces()
claims = ENTRY.claims


class DLPackDeviceType(IntEnum):
    CUDA = 2


class Tensor:
    """Speaks DLPack."""

    def __init__(self, kind, number=0):
        self.device = (kind, number)
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)


class Interface:
    """Has `__cuda_array_interface__`, and nothing else."""

    def __init__(self, address=0x7F0000000000, version=3, **more):
        self.__cuda_array_interface__ = {
            "shape": (4,), "typestr": "<f8", "data": (address, False), "version": version, **more,
        }  # fmt: skip


# -- whose it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (Tensor(2, 0), "cuda"),
        (Tensor(2, 1), "cuda:1"),
        (Tensor(13, 0), "cuda"),  # managed
        (Tensor(13, 3), "cuda:3"),
        (Tensor(DLPackDeviceType.CUDA, np.int64(1)), "cuda:1"),
        (Tensor(1), None),  # of the host
        (Tensor(3), None),  # pinned, of the host
        (Tensor(10), None),  # of ROCm
        (Tensor(14), None),  # of oneAPI
        (np.zeros(3), None),
        (array("d", [1.0]), None),
        ([1.0, 2.0], None),
        (3.5, None),
        (None, None),
    ],
)
def test_claims_of_arrays_that_speak_dlpack(source, name):
    assert claims(source) == name


@pytest.fixture
def pointers(monkeypatch):
    """``pointers(address=(type, device))``: what the runtime knows of addresses."""
    known = {}

    def attributes(address):
        kind, device = known[address]
        return SimpleNamespace(type=kind, device=device)

    monkeypatch.setattr(runtime, "pointerGetAttributes", attributes)
    monkeypatch.setattr(runtime, "getDevice", lambda: 5)
    return known


@pytest.mark.parametrize(
    ("kind", "device", "name"),
    [
        (2, 0, "cuda"),
        (2, 1, "cuda:1"),
        (3, 1, "cuda:1"),  # managed
        (1, 0, None),  # pinned
        (0, 0, None),  # not known to CUDA
    ],
)
def test_claims_of_arrays_with_an_interface_ask_the_runtime(pointers, kind, device, name):
    pointers[4096] = (kind, device)
    assert claims(Interface(4096)) == name


def test_an_array_without_elements_is_on_the_current_device(pointers):
    assert claims(Interface(0)) == "cuda:5"


def test_with_cupy_for_rocm_nothing_is_claimed(pointers, monkeypatch):
    monkeypatch.setattr(runtime, "is_hip", True)
    assert claims(Interface(4096)) is None


def test_dlpack_goes_before_the_interface(pointers):
    class Both(Interface, Tensor):
        def __init__(self):
            Interface.__init__(self, 4096)
            Tensor.__init__(self, 2, 1)

    assert claims(Both()) == "cuda:1"  # the runtime, which knows no address, is not asked


# -- streams --------------------------------------------------------------------------------------


def stream_of(source, device):
    return claiming.stream_of(source, device, PROTOCOLS)


@pytest.fixture
def library(monkeypatch):
    """``library(name, cuda)``: a class of arrays of a library that has a module `cuda`."""

    def make(name, cuda=None):
        module = ModuleType(name)
        if cuda is not None:
            module.cuda = cuda
        monkeypatch.setitem(sys.modules, name, module)
        return type("Array", (Interface,), {"__module__": f"{name}.core"})

    return make


def test_cupy_is_asked_for_its_current_stream(library):
    streams = {0: SimpleNamespace(ptr=0), 1: SimpleNamespace(ptr=77)}
    make = library("cupy", SimpleNamespace(get_current_stream=streams.get))
    assert stream_of(make(stream=1), 0) == 0  # not what the array says
    assert stream_of(make(), 1) == 77


def test_pytorch_is_asked_for_its_current_stream(library):
    cuda = SimpleNamespace(current_stream=lambda n: SimpleNamespace(cuda_stream=100 + n))
    make = library("torch", cuda)
    assert stream_of(make(version=2), 1) == 101  # its interface has no stream


@pytest.mark.parametrize(
    ("fields", "stream"),
    [
        ({"stream": None}, claiming.LEGACY),
        ({}, claiming.LEGACY),
        ({"stream": 1}, claiming.LEGACY),
        ({"stream": 2}, claiming.PER_THREAD),
        ({"stream": 0x5566}, 0x5566),
        ({"version": 2}, None),  # there was no such field
        ({"version": 2, "stream": 7}, None),
    ],
)
def test_other_libraries_name_it_in_the_interface(library, fields, stream):
    make = library("othertensors")
    assert stream_of(make(**fields), 0) == stream


def test_of_a_tensor_without_an_interface_it_is_not_known(library):
    assert stream_of(Tensor(2), 0) is None


def test_a_library_that_is_not_imported_is_not_imported_for_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    lookalike = type("Tensor", (Interface,), {"__module__": "torch"})
    assert stream_of(lookalike(stream=9), 0) == 9
    assert "torch" not in sys.modules


def test_the_driver_calls_the_legacy_stream_0():
    interop = pytest.importorskip("execspace_gpu.interop", reason="CuPy cannot be imported")
    assert interop.ForeignArray(Interface(stream=None), 0, PROTOCOLS).stream() == 0
    assert interop.ForeignArray(Interface(stream=2), 0, PROTOCOLS).stream() == 2
    assert interop.ForeignArray(Tensor(2), 0, PROTOCOLS).stream() is None


def test_a_library_whose_stream_is_not_known_is_asked_to_be_ready():
    """The protocol calls the legacy stream 1: 0 has no meaning there."""
    interop = pytest.importorskip("execspace_gpu.interop", reason="CuPy cannot be imported")
    tensor = Tensor(2)
    for stream in (0, 0x77):
        interop.ForeignArray(tensor, 0, PROTOCOLS).make_ready(stream)
    assert tensor.asked == [{"stream": 1}, {"stream": 0x77}]


def test_an_array_without_dlpack_is_waited_for(monkeypatch):
    interop = pytest.importorskip("execspace_gpu.interop", reason="CuPy cannot be imported")
    waited = []
    monkeypatch.setattr(runtime, "deviceSynchronize", lambda: waited.append(True))
    interop.ForeignArray(Interface(version=2), 0, PROTOCOLS).make_ready(0)
    assert waited == [True]
