"""What tests of tools share: a way to tell a tool of launches whose times are known exactly."""

from __future__ import annotations

import pytest

import execspace as es
from execspace import profiling
from execspace.plugins import selection
from execspace_tools import tables


@pytest.fixture(autouse=True)
def on_serial():
    """Programs of these tests name no space, and expect Views in memory of the host."""
    with es.use_space("serial"):
        yield


class Launches:
    """Emits events as core does, with times that a test chooses."""

    def begin(self, label, pattern="parallel_for", space="far", queue=0):
        id = profiling.new_id()
        profiling.emit(
            "on_kernel_begin", pattern, label, label, space, queue, None, id, lambda: None
        )
        return id

    def end(self, id):
        profiling.emit("on_kernel_end", id)

    def time(self, id, start, end):
        profiling.emit("on_device_time", id, start, end)

    def kernel(self, label, seconds, start=0.0, **where):
        """A launch on a space that is not asynchronous: its time is known before its end."""
        id = self.begin(label, **where)
        self.time(id, start, start + seconds)
        self.end(id)

    def copy(self, source, destination, nbytes, seconds, space="", queue=0):
        id = profiling.new_id()
        profiling.emit("on_copy_begin", destination, source, nbytes, space, queue, id)
        self.time(id, 0.0, seconds)
        profiling.emit("on_copy_end", id)

    def allocate(self, label, nbytes, space="far"):
        id = profiling.new_id()
        profiling.emit("on_allocate", space, label, nbytes, id)
        return id

    def free(self, id, label, nbytes, space="far"):
        profiling.emit("on_free", space, label, nbytes, id)


@pytest.fixture
def launches():
    """Events without anything that runs."""
    return Launches()


class Clock:
    """`time.perf_counter` that goes on only when the test says so."""

    now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of the tools, turned by hand."""
    found = Clock()
    for module in ("kernel_timer", "sections", "space_time_stack", "memory_events", "logger"):
        monkeypatch.setattr(f"execspace_tools.{module}.time", found)
    return found


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Reports are 100 columns wide, with lines and ellipses, wherever tests run."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(tables, "_unicode", lambda: True)


@pytest.fixture(autouse=True)
def only_chosen_tools(monkeypatch):
    """No tool of the user's environment listens."""
    monkeypatch.delenv("EXECSPACE_TOOLS", raising=False)
    selection.forget()
    yield
    assert not profiling.TOOLS
