"""A plugin with a pretend device: all that is hard about a real one, on any machine.

Its memory is host memory that says the host cannot reach it. Its launches run on a thread of their
own, one after the other, so they are really asynchronous: whoever forgets to wait reads old data,
and whoever frees memory too early is found out.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter

import execspace as es
from execspace import profiling


class FakeMemory(es.MemorySpace):
    """Memory of the device. `reaches` and `copy` are the parts that a real one has to write."""

    def __init__(self, name, kind):
        self.name = name
        self.kinds = frozenset((kind,))
        self.host_accessible = kind == "shared"

    def allocate(self, nbytes, label, initialize):
        block = es.HOST.allocate(nbytes, label, initialize)
        return es.Allocation(block.pointer, nbytes, label, self, block.owner)

    def reaches(self, other):
        return other is es.HOST or isinstance(other, FakeMemory)

    def copy(self, dst, src, instance):
        def move():
            crosses = es.HOST in (dst.memory_space, src.memory_space)
            plain = dst.span_is_contiguous and src.span_is_contiguous
            if crosses and not (plain and (dst.strides, dst.dtype) == (src.strides, src.dtype)):
                # A transfer moves a block of bytes, so elements are put in order elsewhere first.
                profiling.emit("on_staging", self.name, src.nbytes)
            es.HOST.copy(dst, src, None)

        move() if instance is None else instance.submit(move)

    def fill(self, dst, value, instance):
        def store():
            es.HOST.fill(dst, value, None)

        store() if instance is None else instance.submit(store)

    def host_array(self, view):
        return es.HOST.host_array(view)


MEMORY, SHARED = FakeMemory("fake", "device"), FakeMemory("fake_shared", "shared")


def _of_inner(name):
    return property(lambda self: getattr(self.inner, name))


class FakePlan(es.Plan):
    """Compiled for the host, launched on the queue."""

    def __init__(self, space, inner, blocks):
        self.space, self.spec, self.inner, self.blocks = space, inner.spec, inner, blocks

    effects, order, work = map(_of_inner, ("effects", "order", "work"))
    team_sizes, team_size_max = map(_of_inner, ("team_sizes", "team_size_max"))
    team_size_recommended, scratch_size = map(_of_inner, ("team_size_recommended", "scratch_size"))
    source, mapping, variables = map(_of_inner, ("source", "mapping", "variables"))
    vectorisation, cache = map(_of_inner, ("vectorisation", "cache"))
    subscripts, joining, kernel = map(_of_inner, ("subscripts", "joining", "kernel"))

    def launch(self, bounds, args):
        # The queue holds `args`, and so the Views, until the launch is done.
        done = self.space.submit(self.inner.launch, bounds, args, blocks=self.blocks)
        return done.result() if self.blocks else None


class FakeDevice(es.ExecutionSpace):
    """An asynchronous space with an in-order queue; `instance` makes further queues."""

    default_layout = "left"
    capabilities = es.Capabilities(asynchronous=True)
    memory_space = MEMORY
    memory_spaces = (MEMORY, SHARED)

    def __init__(self, name="fake"):
        self.name = name
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._under_way: list[Future] = []
        self._instances: weakref.WeakSet[FakeDevice] = weakref.WeakSet()
        self.compiled = self.launched = 0

    def submit(self, work, *args, blocks=False):
        """Run work after all that was submitted before; errors are kept for the next fence."""
        self.launched += 1
        done = self._thread.submit(work, *args)
        if not blocks:  # else its error goes to whoever waits for the result
            self._under_way.append(done)
        return done

    def compile(self, kernel, spec):
        from execspace_compiler.host.jit import compile_plan
        from execspace_compiler.host.launcher import Launcher

        self.compiled += 1
        inner = compile_plan(self, kernel, spec, Launcher("serial"))
        return FakePlan(self, inner, spec.pattern != "for" and not spec.out)

    def team_limits(self):
        from execspace_compiler.teams.host_limits import HOST_TEAMS

        return HOST_TEAMS

    def synchronize(self, label=""):
        for queue in list(self._instances):
            queue.synchronize(label)
        if threading.current_thread() in self._thread._threads:
            return  # work that is under way need not wait for itself
        futures, self._under_way = self._under_way, []
        for done in futures:
            done.exception()  # wait for all of them before one may raise
        for done in futures:
            done.result()

    def mark(self):
        """A place in the queue; `time_of` it is when all before it was done."""
        place = self._thread.submit(perf_counter)
        self._under_way.append(place)
        return place

    def time_of(self, mark):
        return mark.result() if mark.done() else None

    def instance(self):
        queue = FakeDevice(self.name)
        self._instances.add(queue)
        return queue

    @contextmanager
    def held(self):
        """Nothing that is submitted within the block starts before its end."""
        gate = threading.Event()
        self._thread.submit(gate.wait)
        try:
            yield gate
        finally:
            gate.set()

    @property
    def waiting(self):
        """Number of submissions that are not done."""
        return sum(not done.done() for done in self._under_way)

    def close(self):
        """Stop the threads."""
        for queue in list(self._instances):
            queue.close()
        self._thread.shutdown()


@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry(
        "fake", lambda device: FakeDevice(), es.API_VERSION, priority=-1, summary="pretends"
    )
