"""Blocks of pageable memory through pinned buffers, on streams that are as late as they may be.

The runtime is pretended: what is queued on a stream happens when somebody waits for it, and not
before. So a buffer that is filled or read too early gives wrong bytes. No GPU is needed.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from execspace_gpu import ferry, workers

PIECE = 4096
LEAST = 8192
SIZES = [
    LEAST, LEAST + 1, 3 * PIECE - 1, 3 * PIECE, 3 * PIECE + 1, 20 * PIECE - 7, 20 * PIECE, 123_457,
]  # fmt: skip
MY, OTHER = 11, 12  # streams
KEPT = []


class PlatformError(Exception):
    status = 999


class Runtime:
    """As CuPy's; also the part of `cupy` that has pinned memory and events."""

    CUDARuntimeError = PlatformError

    def __init__(self):
        self.lock = threading.RLock()
        self.streams = defaultdict(list)
        self.records = {}  # event -> stream, and what must be done there before it
        self.known = []  # ranges of memory that the runtime knows
        self.allocated, self.copies, self.devices = [], [], set()
        self.fail_at, self.synchronized = None, 0
        self.handles = itertools.count(1)
        self.cuda = SimpleNamespace(PinnedMemory=self.pinned, Event=self.event)

    def pinned(self, size):
        found = np.zeros(size, np.uint8)
        self.known.append((found.ctypes.data, size))
        self.allocated.append(found)
        return SimpleNamespace(ptr=found.ctypes.data)

    def event(self, disable_timing):
        handle = next(self.handles)
        runtime = self

        class Event:
            ptr = handle

            @property
            def done(self):
                return runtime.is_done(handle)

        return Event()

    def pointerGetAttributes(self, address):
        known = any(first <= address < first + size for first, size in self.known)
        return SimpleNamespace(type=int(known))

    def setDevice(self, number):
        self.devices.add(number)

    def memcpyAsync(self, to, source, size, kind, stream):
        with self.lock:
            if self.fail_at is not None and len(self.copies) >= self.fail_at:
                raise PlatformError("the copy fails")
            self.copies.append((to, source, size))
            self.streams[stream].append((to, source, size))

    def eventRecord(self, event, stream):
        with self.lock:
            self.streams[stream].append(event)
            self.records[event] = stream

    def is_done(self, event):
        with self.lock:
            stream = self.records.get(event)
            return stream is None or event not in self.streams[stream]

    def eventSynchronize(self, event):
        with self.lock:
            while not self.is_done(event):
                self.advance(self.records[event])

    def advance(self, stream):
        step = self.streams[stream].pop(0)
        if isinstance(step, tuple):
            ctypes.memmove(*step)

    def deviceSynchronize(self):
        with self.lock:
            self.synchronized += 1
            for stream, steps in self.streams.items():
                while steps:
                    self.advance(stream)


@pytest.fixture
def runtime(monkeypatch):
    found = Runtime()
    monkeypatch.setattr(ferry, "runtime", found)
    monkeypatch.setattr(ferry, "cupy", found)
    monkeypatch.setattr(ferry, "PIECE", PIECE)
    monkeypatch.setattr(ferry, "LEAST", LEAST)
    monkeypatch.setattr(ferry, "_SLOW", 0.0)  # nothing is too slow
    yield found
    KEPT.clear()


@pytest.fixture(params=[1, 2, 5])
def threads(request, monkeypatch):
    monkeypatch.setattr(workers, "usable_cores", lambda: request.param)
    return request.param


@pytest.fixture
def four(monkeypatch):
    monkeypatch.setattr(workers, "usable_cores", lambda: 4)


def numbers(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)


def sent(own, device, host, stream=MY):
    KEPT.append(device)  # what is queued may be done later
    return own.carry(stream, device.ctypes.data, host.ctypes.data, host.size, True)


def fetched(own, host, device, stream=MY):
    return own.carry(stream, device.ctypes.data, host.ctypes.data, host.size, False)


@pytest.mark.parametrize("size", SIZES)
def test_to_the_device(runtime, threads, size):
    """The source may be changed as soon as the call comes back."""
    own = ferry.Ferry(0)
    for offset in (0, 1, 63):
        whole, device = numbers(size + 100, offset), np.zeros(size + 100, np.uint8)
        host, expected = whole[offset : offset + size], whole[offset : offset + size].copy()
        assert sent(own, device[offset : offset + size], host)
        whole[...] = 0
        runtime.deviceSynchronize()
        assert (device[offset : offset + size] == expected).all()
        assert not device[:offset].any() and not device[offset + size :].any()
    assert len(runtime.allocated) == threads + ferry.SPARE


@pytest.mark.parametrize("size", SIZES)
def test_to_the_host(runtime, threads, size):
    """All is there when the call comes back, with what was queued before it."""
    own, device = ferry.Ferry(0), np.zeros(size, np.uint8)
    for offset in (0, 1, 63):
        made, host = numbers(size, offset), np.zeros(size + 100, np.uint8)
        runtime.memcpyAsync(device.ctypes.data, made.ctypes.data, size, 4, MY)
        assert fetched(own, host[offset : offset + size], device)
        assert (host[offset : offset + size] == made).all()
        assert not host[:offset].any() and not host[offset + size :].any()
    assert len(runtime.allocated) == threads + ferry.SPARE


def test_many_in_a_row_in_both_directions(runtime, threads):
    own = ferry.Ferry(0)
    device, back = np.zeros(50 * PIECE, np.uint8), np.zeros(50 * PIECE, np.uint8)
    for k in range(20):
        size = (k * 7919) % (40 * PIECE) + LEAST
        host = numbers(size, k)
        expected = host.copy()
        assert sent(own, device[:size], host)
        host[...] = 0
        assert fetched(own, back[:size], device[:size])
        assert (back[:size] == expected).all()
    assert len(runtime.allocated) == threads + ferry.SPARE


def test_helpers_work_on_the_device(runtime, four):
    own, host = ferry.Ferry(3), numbers(200 * PIECE)
    for _ in range(20):
        assert sent(own, np.zeros_like(host), host)
    assert runtime.devices == {3}


# -- what the driver does -------------------------------------------------------------------------


def test_small_blocks_are_left_to_the_driver(runtime, four):
    host = numbers(LEAST - 1)
    assert not sent(ferry.Ferry(0), np.zeros_like(host), host)
    assert not runtime.allocated


@pytest.mark.parametrize("place", [0, 20 * PIECE - 1])
def test_memory_that_the_runtime_knows_is_left_to_the_driver(runtime, four, place):
    host = numbers(20 * PIECE)
    runtime.known.append((host.ctypes.data + place, 1))
    for go in (sent, fetched):
        assert not go(ferry.Ferry(0), host, host)
    assert not runtime.copies


def test_runtimes_may_refuse_memory_that_they_do_not_know(runtime, four, monkeypatch):
    def refusing(address):
        raise error

    monkeypatch.setattr(runtime, "pointerGetAttributes", refusing)
    host, device = numbers(LEAST), np.zeros(LEAST, np.uint8)
    error = PlatformError()
    assert not sent(ferry.Ferry(0), device, host)  # some other error: the driver will tell
    error.status = 1
    assert sent(ferry.Ferry(0), device, host)


def test_without_pinned_memory_the_driver_does_it(runtime, four, monkeypatch):
    own, host = ferry.Ferry(0), numbers(LEAST)

    def full(size):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(runtime.cuda, "PinnedMemory", full)
        assert not sent(own, np.zeros_like(host), host)
    assert sent(own, np.zeros_like(host), host)


def test_no_stream_waits_for_another(runtime, four):
    own, host = ferry.Ferry(0), numbers(LEAST)
    device = np.zeros((3, LEAST), np.uint8)
    assert sent(own, device[0], host)
    assert not sent(own, device[1], host, OTHER)
    assert sent(own, device[2], host)
    runtime.deviceSynchronize()
    assert sent(own, device[1], host, OTHER)
    runtime.deviceSynchronize()
    assert (device == host).all()


def test_copies_at_once(runtime, four):
    """Each is right, whether it had the buffers or not."""
    own, errors, carried = ferry.Ferry(0), [], []

    def work(k):
        device, back = np.zeros(30 * PIECE, np.uint8), np.zeros(30 * PIECE, np.uint8)
        for n in range(10):
            host = numbers(30 * PIECE - k, 100 * k + n)
            size, stream = host.size, 100 + k
            if sent(own, device[:size], host, stream):
                carried.append(k)
            else:
                runtime.memcpyAsync(device.ctypes.data, host.ctypes.data, size, 4, stream)
            if not fetched(own, back[:size], device[:size], stream):
                runtime.memcpyAsync(back.ctypes.data, device.ctypes.data, size, 4, stream)
                with runtime.lock:
                    while runtime.streams[stream]:
                        runtime.advance(stream)
            if not (back[:size] == host).all():
                errors.append((k, n))

    runners = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for r in runners:
        r.start()
    for r in runners:
        r.join()
    assert errors == [] and carried
    assert len(runtime.allocated) == 4 + ferry.SPARE


@pytest.mark.parametrize("to_device", [True, False])
def test_what_goes_too_slowly_is_left_to_the_driver(runtime, four, monkeypatch, to_device):
    main = threading.get_ident()

    def memmove(to, from_, size):
        if threading.get_ident() != main:
            time.sleep(0.01)
        ctypes.memmove(to, from_, size)

    monkeypatch.setattr(ferry, "_SLOW", 1e30)
    monkeypatch.setattr(ferry, "ctypes", SimpleNamespace(memmove=memmove))
    source, target = numbers(500 * PIECE), np.zeros(500 * PIECE, np.uint8)
    own = ferry.Ferry(0)
    assert (sent if to_device else fetched)(own, target, source)
    runtime.deviceSynchronize()
    assert (target == source).all()
    buffers = {b.ctypes.data for b in runtime.allocated}
    direct = [c for c in runtime.copies if not buffers & set(c[:2])]
    assert direct and len(runtime.copies) == 500


# -- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("to_device", [True, False])
@pytest.mark.parametrize("at", [0, 1, 7])
def test_errors_of_the_platform(runtime, threads, to_device, at):
    own, source, target = ferry.Ferry(0), numbers(20 * PIECE), np.zeros(20 * PIECE, np.uint8)
    go = sent if to_device else fetched
    runtime.fail_at = at
    with pytest.raises(PlatformError, match="the copy fails"):
        go(own, target, source)
    runtime.fail_at = None
    for _ in range(3):
        target[...] = 0
        assert go(own, target, source)
        assert runtime.synchronized  # what was under way with the buffers is over
        runtime.deviceSynchronize()
        assert (target == source).all()
    assert len(runtime.allocated) == threads + ferry.SPARE


@pytest.mark.parametrize("to_device", [True, False])
def test_ctrl_c(runtime, four, monkeypatch, to_device):
    """The call comes back when no thread is at the memory any more, and the next copy is right."""
    own, source, target = ferry.Ferry(0), numbers(100 * PIECE), np.zeros(100 * PIECE, np.uint8)
    main, helping, copying = threading.get_ident(), threading.Event(), []

    def memmove(to, from_, size):
        if threading.get_ident() == main:
            assert helping.wait(10)
            raise KeyboardInterrupt
        helping.set()
        copying.append(1)
        time.sleep(0.05)
        ctypes.memmove(to, from_, size)
        copying.pop()

    go = sent if to_device else fetched
    with monkeypatch.context() as patch:
        patch.setattr(ferry, "ctypes", SimpleNamespace(memmove=memmove))
        with pytest.raises(KeyboardInterrupt):
            go(own, target, source)
        assert copying == []
    target[...] = 0
    assert go(own, target, source)
    runtime.deviceSynchronize()
    assert (target == source).all()


# -- threads --------------------------------------------------------------------------------------


def test_pieces_are_done_once():
    for helpers in (0, 1, 6):
        done = []
        workers.Job(range(1000), done.append).run(helpers)
        assert sorted(done) == list(range(1000))


def test_errors_of_helpers_are_raised_in_the_thread_that_asks():
    def work(piece):
        if threading.get_ident() != main:
            raise ValueError("of a helper")
        time.sleep(0.01)

    main = threading.get_ident()
    with pytest.raises(ValueError, match="of a helper"):
        workers.Job(range(100), work).run(2)


def test_arrays_are_copied_by_several_threads(four, monkeypatch):
    monkeypatch.setattr(workers, "_LEAST", 100)
    monkeypatch.setattr(workers, "_SLICE", 64)
    for shape in ((13,), (5, 101), (101, 5), (3, 4, 50), (1, 1, 1, 200)):
        source = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        for order in ("C", "F"):
            target = np.zeros(shape, order=order)
            workers.copy_array(target, source)
            np.testing.assert_array_equal(target, source)
        whole = np.zeros((*shape, 2))
        workers.copy_array(whole[::-1, ..., 1], source)
        np.testing.assert_array_equal(whole[::-1, ..., 1], source)
        assert not whole[..., 0].any()


@pytest.mark.filterwarnings("error")
def test_warnings_are_those_of_the_thread_that_asks(four):
    source, target = np.full(1 << 22, 1e300), np.zeros(1 << 22, np.float32)
    with np.errstate(over="ignore"):
        workers.copy_array(target, source)
    assert np.isinf(target).all()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        workers.copy_array(target, source)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads
def test_a_child_has_no_threads_and_needs_none():
    workers.Job(range(10), lambda _: time.sleep(0.001)).run(3)
    with workers.WORKERS._lock:  # as if another thread were just starting some
        child = os.fork()
    if not child:
        done = []
        signal.alarm(10)
        workers.Job(range(100), done.append).run(8)
        os._exit(0 if len(done) == 100 and threading.active_count() == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


PROGRAM = """
import atexit, sys, threading
from execspace_gpu import workers

def at_the_end():  # after the exit function of the threads, which was registered later
    done = []
    workers.Job(range(1000), done.append).run(3)
    print(len(done), [t.name for t in threading.enumerate() if t.name.startswith("execspace")])

atexit.register(at_the_end)
done = []
workers.Job(range(1000), done.append).run(3)
print(len(done), sorted(t.name for t in threading.enumerate() if t.name.startswith("execspace")))
"""


def test_threads_end_with_the_program():
    names = [f"execspace copies {n}" for n in range(3)]
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"1000 {names}\n1000 []\n", "")
