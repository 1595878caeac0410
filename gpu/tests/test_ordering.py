"""Waits between streams, on a pretended runtime that writes down what it is asked for.

That streams really wait is told on a GPU: plugins/cuda/tests/test_cuda_streams.py.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es

pytest.importorskip("cupy", reason="CuPy is not installed")

from execspace_gpu import interop, ordering
from execspace_gpu.ordering import Orders, handle_of


class Pretended(Orders, es.ExecutionSpace):
    """A stream of a device; what an `Orders` needs of a `DeviceSpace`."""

    memory_space = es.HOST

    def __init__(self, stream, number=0, short="cuda"):
        self.name, self.short, self.number, self.stream = short, short, number, stream
        self.stream_object = SimpleNamespace(ptr=stream)

    def current(self):
        return nullcontext()

    def fault(self, what, error):
        return es.SpaceError(f"{what}: {error}")

    def compile(self, kernel, spec):
        raise NotImplementedError

    def synchronize(self, label=""):
        raise AssertionError("nobody shall fence")


@pytest.fixture
def asked(monkeypatch):
    """What the runtime is asked for, in order."""
    found = []

    class Event:
        made = 0
        done = False

        def __init__(self, disable_timing):
            assert disable_timing  # such as are cheap
            Event.made += 1
            self.ptr = Event.made

        def record(self, stream):
            found.append(("record", self.ptr, stream.ptr))

        def synchronize(self):
            found.append(("wait", self.ptr))

    @contextmanager
    def on_device(number):
        found.append(("device", number))
        yield

    def wait(stream, event):
        if stream == 0xBAD:
            raise ArithmeticError("invalid handle")
        found.append(("stream waits", stream, event))

    runtime = SimpleNamespace(
        streamWaitEvent=wait,
        eventRecord=lambda event, stream: found.append(("record", event, stream)),
    )
    cupy = SimpleNamespace(cuda=SimpleNamespace(Event=Event))
    for module in (interop, ordering):
        monkeypatch.setattr(module, "cupy", cupy)
        monkeypatch.setattr(module, "runtime", runtime)
    monkeypatch.setattr(interop, "on_device", on_device)
    monkeypatch.setattr(ordering, "DeviceSpace", Pretended)
    monkeypatch.setattr(ordering, "ERRORS", ArithmeticError)
    return found


def test_gpu_spaces_have_events_and_streams():
    from execspace_gpu.space import GpuExecutionSpace

    assert issubclass(GpuExecutionSpace, es.SupportsEvents)
    assert issubclass(GpuExecutionSpace, es.SupportsStreams)


def test_an_event_is_recorded_asked_and_waited_for(asked):
    event = Pretended(0x10).record()
    assert asked == [("record", 1, 0x10)]
    assert not event.done
    event.handle.done = True
    assert event.done
    assert asked == [("record", 1, 0x10)]  # nobody has waited
    again = Pretended(0x10).record()
    again.wait()
    assert asked[1:] == [("record", 2, 0x10), ("wait", 2)]
    again.wait()
    assert len(asked) == 3


@pytest.mark.parametrize("number", [0, 1])
def test_streams_of_a_platform_wait_for_each_other_without_the_host(asked, number):
    first, second = Pretended(0x10), Pretended(0x20, number)
    second.wait_for(first)
    assert asked == [("record", 1, 0x10), ("stream waits", 0x20, 1)]
    asked.clear()
    event = first.record()
    second.wait_for(event)
    first.order_before(second)
    assert asked == [
        ("record", 2, 0x10), ("stream waits", 0x20, 2), ("record", 3, 0x10),
        ("stream waits", 0x20, 3),
    ]  # fmt: skip


def test_for_another_platform_the_host_waits(asked):
    Pretended(0x20, short="hip").wait_for(Pretended(0x10))
    assert asked == [("record", 1, 0x10), ("wait", 1)]
    asked.clear()
    es.space("serial").wait_for(Pretended(0x10))
    assert asked == [("record", 2, 0x10), ("wait", 2)]
    asked.clear()
    Pretended(0x10).wait_for(es.space("serial"))  # which has always finished
    assert asked == []


class CuPyStream:
    """As `cupy.cuda.Stream`, which tells its device, -1 where it is of any."""

    def __init__(self, ptr, device_id=-1):
        self.ptr, self.device_id = ptr, device_id


class TorchStream:
    """As `torch.cuda.Stream`."""

    def __init__(self, handle, device_index=0):
        self.cuda_stream, self.device_index = handle, device_index


class NamedStream:
    """With the protocol, as a method."""

    def __init__(self, handle, version=0):
        self._told = version, handle

    def __cuda_stream__(self):
        return self._told


STREAMS = [
    (CuPyStream(0x30), (0x30, 0)),
    (CuPyStream(0x30, 1), (0x30, 1)),
    (CuPyStream(np.intp(0x30)), (0x30, 0)),
    (TorchStream(0x30), (0x30, 0)),
    (TorchStream(0x30, 2), (0x30, 2)),
    (TorchStream(0), (0, 0)),
    (NamedStream(0x30), (0x30, 0)),
    (NamedStream(1), (0, 0)),  # the legacy default stream, by its other name
    (NamedStream(2), (2, 0)),  # that of a thread
    (SimpleNamespace(__cuda_stream__=(0, 0x30)), (0x30, 0)),
    (SimpleNamespace(__cuda_stream__=lambda: (0, 0x30), ptr=0x40), (0x30, 0)),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
def test_streams_of_libraries_have_handles(stream, expected):
    assert handle_of(stream, Pretended(0x10), "wait_for") == expected


@pytest.mark.parametrize(("stream", "there"), STREAMS)
def test_a_space_and_a_stream_wait_for_each_other(asked, stream, there):
    space = Pretended(0x10)
    space.wait_for(stream)
    assert asked == [
        ("device", there[1]), ("record", 1, there[0]), ("device", 0), ("stream waits", 0x10, 1),
    ]  # fmt: skip
    asked.clear()
    space.order_before(stream)
    assert asked == [
        ("device", 0), ("record", 2, 0x10), ("device", there[1]), ("stream waits", there[0], 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (NamedStream(0x30, version=7), "version 7 of __cuda_stream__ is not known, expected 0"),
        (CuPyStream(None), "the stream has no handle"),
        (SimpleNamespace(ptr="x"), "the stream has no handle"),
        (SimpleNamespace(__cuda_stream__=3), "the stream has no handle"),
    ],
)
def test_streams_without_a_handle_are_refused(asked, stream, text):
    for give, what in ((Pretended(1).wait_for, "wait_for"), (Pretended(1).order_before, "order")):
        with pytest.raises(es.SpaceError, match=text) as refused:
            give(stream)
        assert str(refused.value).startswith(f"Space 'cuda': {what}")
    assert asked == []


@pytest.mark.parametrize("wrong", [None, 0x30, "0x30", np.zeros(2)])
def test_what_is_no_stream(asked, wrong):
    with pytest.raises(
        es.SpaceError, match=r"expected an ExecutionSpace, an es\.Event or a stream"
    ):
        Pretended(0x10).wait_for(wrong)
    assert asked == []


def test_errors_of_the_platform_are_told(asked):
    with pytest.raises(es.SpaceError, match="wait_for: invalid handle"):
        Pretended(0xBAD).wait_for(Pretended(0x10))
    with pytest.raises(es.SpaceError, match="wait_for: invalid handle"):
        Pretended(0xBAD).wait_for(CuPyStream(0x30))
    with pytest.raises(es.SpaceError, match="order_before: invalid handle"):
        Pretended(0x10).order_before(CuPyStream(0xBAD))
