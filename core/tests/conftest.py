"""Core alone: these tests load no backend, and none of them may leave a View behind."""

from __future__ import annotations

import gc
import itertools
from collections import Counter

import numpy as np
import pytest

import execspace as es
from execspace.contract.memory import ArrayInterface
from execspace.plugins import selection


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.failed = getattr(item, "failed", False) or report.failed
    return report


@pytest.fixture(autouse=True)
def core_only(monkeypatch):
    """No plugin is loaded and no EXECSPACE_ variable of the user counts."""
    for name in ("DEFAULT", "STRICT", "TOOLS"):
        monkeypatch.delenv(f"EXECSPACE_{name}", raising=False)
    monkeypatch.setenv("EXECSPACE_PLUGINS", "")
    selection.forget()
    yield
    selection.forget()


@pytest.fixture(autouse=True)
def no_leaks(request, core_only):
    """A test that passes leaves no allocation that was not there before."""
    before = Counter(es.live_allocations())
    yield
    leaked = Counter(es.live_allocations()) - before
    if leaked and not request.node.failed:  # a traceback keeps the Views of a failed test alive
        gc.collect()
        leaked = Counter(es.live_allocations()) - before
        assert not leaked, f"leaked: {', '.join(label or 'unnamed' for _, _, label in leaked)}"


class PlainPlan(es.Plan):
    """Calls the kernel's function once for each index."""

    def __init__(self, space, fn, spec):
        self.space, self.fn, self.spec = space, fn, spec

    def launch(self, bounds, args):
        rank, kind = self.spec.policy.rank, self.spec.reducer and self.spec.reducer.kind
        ranges = map(range, bounds[:rank], bounds[rank : 2 * rank])
        inputs = args if not self.spec.out else args[:-1]
        values = [self.fn(*index, *inputs) for index in itertools.product(*ranges)]
        if kind is None:
            return None
        result = {"sum": sum, "max": max}[kind](values)
        if not self.spec.out:
            return result
        args[-1].memory_space.fill(args[-1], result, None)
        return None


class PlainSpace(es.ExecutionSpace):
    """The least that a space must have; remembers what core asked of it."""

    def __init__(self, name="plain", memory=es.HOST):
        self.name, self.memory = name, memory
        self.compiled = []
        self.fences = []

    @property
    def memory_space(self):
        return self.memory

    def compile(self, kernel, spec):
        self.compiled.append((kernel, spec))
        return PlainPlan(self, kernel.fn, spec)

    def synchronize(self, label=""):
        self.fences.append(label)


class DeviceMemory(es.MemorySpace):
    """Host memory that pretends to be out of the host's reach."""

    def __init__(self, name="device"):
        self.name = name

    def allocate(self, nbytes, label, initialize):
        block = es.HOST.allocate(nbytes, label, initialize)
        return es.Allocation(block.pointer, nbytes, label, self, block.owner)

    def _array(self, view):
        return np.asarray(ArrayInterface(view, view.allocation.owner))

    def copy(self, dst, src, instance):
        np.copyto(self._array(dst), self._array(src), casting="unsafe")

    def fill(self, dst, value, instance):
        self._array(dst)[...] = value


@pytest.fixture
def plain():
    """A space that runs kernels as plain Python on host memory."""
    return PlainSpace()


@pytest.fixture
def device():
    """A space whose memory the host cannot reach."""
    return PlainSpace("device", DeviceMemory())


@pytest.fixture
def other_device():
    """A second space whose memory the host cannot reach."""
    return PlainSpace("other", DeviceMemory("other"))


@pytest.fixture
def events():
    """Every profiling event, in order, as (name, arguments without numbers that only count)."""
    seen = []

    class Recorder(es.profiling.Tool):
        def on_any(self, event, arguments):
            told = (v for name, v in arguments.items() if name not in ("id", "policy", "work"))
            seen.append((event, tuple(told)))

    tool = es.profiling.attach(Recorder())
    yield seen
    es.profiling.detach(tool)
