"""Which device a name means, and what CUDA's errors mean to a program.

The devices are pretended, so that none of this needs a GPU.
"""

from __future__ import annotations

import os

import pytest

import execspace as es

pytest.importorskip("cupy_backends.cuda.api.runtime", reason="CuPy is not installed")

from cupy_backends.cuda.api import runtime

from execspace_gpu import devices

OUT_OF_MEMORY, INVALID_VALUE, ILLEGAL_ADDRESS, TRAP = 2, 1, 700, 719


class DriverError(Exception):
    """As CuPy's CUDADriverError, which itself needs a driver."""

    def __init__(self, status):
        super().__init__(f"CUDA_ERROR {status}")
        self.status = status


def error(status):
    """As the runtime raises it."""
    return runtime.CUDARuntimeError(status)


@pytest.fixture
def machine(monkeypatch):
    """``machine(name, ...)``: only these devices are there."""

    def use(*names):
        monkeypatch.setattr(runtime, "getDeviceCount", lambda: len(names))
        monkeypatch.setattr(runtime, "getDeviceProperties", lambda n: {"name": names[n].encode()})

    return use


def number_of(name):
    return devices.number_of(name, "cuda", "CUDA")


# -- names ----------------------------------------------------------------------------------------


def test_a_name_is_a_number_and_none_means_the_first(machine):
    machine("A100", "L4")
    assert [number_of(name) for name in (None, "0", "1")] == [0, 0, 1]


@pytest.mark.parametrize("name", ["2", "-1", "1.0", "gpu", "", "²"])
def test_an_unknown_device_is_an_error_that_lists_those_there_are(machine, name):
    machine("A100", "L4")
    expected = rf"Space 'cuda': there is no device '{name}'; there are 0 \(A100\), 1 \(L4\)\."
    with pytest.raises(es.SpaceError, match=expected):
        number_of(name)


def test_where_cuda_does_not_start_the_error_says_so(monkeypatch):
    def none():
        raise error(100)

    monkeypatch.setattr(runtime, "getDeviceCount", none)
    with pytest.raises(es.SpaceUnavailableError, match=r"CUDA does not start \(cudaErrorNoDevice"):
        number_of(None)


# -- faults ---------------------------------------------------------------------------------------


@pytest.fixture
def faults(machine):
    """Of device 1."""
    machine("A100", "L4")
    return devices.Faults(1, "cuda", "CUDA")


LOST = (
    "an access to an illegal address (cudaErrorIllegalAddress: an illegal memory access was "
    "encountered). The context of device cuda:1 (L4) is lost, and with it all Views in its memory "
    "and all work that was under way. Start the program again."
)


BLOCKING = " EXECSPACE_CUDA_BLOCKING=1 reports a fault at the launch that it stems from."


@pytest.mark.parametrize(
    ("launches", "culprit", "more"),
    [
        (["'axpy'"], "A fault of kernel 'axpy': ", ""),
        (["'axpy'"] * 3, "A fault of kernel 'axpy': ", BLOCKING),  # of one of its launches
        ([], "A fault of work that execspace did not launch: ", ""),
    ],
)
def test_an_illegal_address_names_the_one_kernel(faults, launches, culprit, more):
    found = faults.exception("A fence", error(ILLEGAL_ADDRESS), launches)
    assert type(found) is es.ContextLostError
    assert str(found) == culprit + LOST + more


def test_of_several_kernels_it_names_all_and_says_how_to_find_the_one(faults):
    launches = ["'fill'", "'axpy'", "'fill'", "'norm'"]
    found = faults.exception("A fence", error(ILLEGAL_ADDRESS), launches)
    culprits = "A fault of one of the kernels 'fill', 'axpy' and 'norm': "
    assert str(found) == culprits + LOST + BLOCKING


def test_after_a_loss_every_message_repeats_it(faults):
    faults.exception("A fence", error(ILLEGAL_ADDRESS), ["'axpy'"])
    for what, status in (("View 'x'", OUT_OF_MEMORY), ("deep_copy", INVALID_VALUE), ("A", TRAP)):
        found = faults.exception(what, error(status), ["'later'", "'latest'"])
        assert type(found) is es.ContextLostError
        assert str(found) == f"{what}: A fault of kernel 'axpy': {LOST}"


@pytest.mark.parametrize("status", sorted(devices._FATAL))
def test_errors_of_the_driver_take_the_context_too(faults, status):
    found = faults.exception("Kernel 'k'", DriverError(status), ["'k'"])
    assert isinstance(found, es.ContextLostError)
    assert f"A fault of kernel 'k': {devices._FATAL[status]} (CUDA_ERROR {status})" in str(found)


def test_want_of_memory_is_a_memory_error_and_takes_nothing_with_it(faults):
    found = faults.exception("Kernel 'axpy'", error(OUT_OF_MEMORY), ["'axpy'"])
    assert type(found) is MemoryError
    assert str(found).startswith("Kernel 'axpy': device cuda:1 (L4) has not enough memory (")
    assert "Drop Views that are no longer needed, or make the launch smaller." in str(found)
    assert faults.lost is None


def test_any_other_error_is_shown_as_it_is(faults):
    found = faults.exception("deep_copy", error(INVALID_VALUE), [])
    assert type(found) is es.SpaceError
    assert str(found) == (
        "deep_copy: CUDA reports an error on device cuda:1 (L4) (cudaErrorInvalidValue: invalid "
        "argument)."
    )
    assert faults.lost is None


def test_a_forked_process_is_told_to_spawn(faults, monkeypatch):
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    for status in (3, ILLEGAL_ADDRESS):
        found = faults.exception("Kernel 'axpy'", error(status), ["'axpy'"])
        assert type(found) is es.SpaceError
        assert "device cuda:1 (L4) was used before this process was forked" in str(found)
        assert "multiprocessing's 'spawn'" in str(found)
    assert faults.lost is None


def test_a_device_that_does_not_answer_needs_no_name(faults, monkeypatch):
    def lost(number):
        raise error(ILLEGAL_ADDRESS)

    monkeypatch.setattr(runtime, "getDeviceProperties", lost)
    found = faults.exception("A fence", error(ILLEGAL_ADDRESS), [])
    assert "The context of device cuda:1 (lost) is lost" in str(found)
