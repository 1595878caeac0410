"""A space of one GPU: its default stream, and streams of their own as instances.

A plugin makes its space of `GpuExecutionSpace`; what it must tell of its platform is in
`device_space.py` and `kind.py`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from execspace import (
    EnqueuedWork,
    GraphLaunch,
    Kernel,
    LaunchSpec,
    MemorySpace,
    Plan,
    ReductionResult,
    View,
)
from execspace_compiler.backend import device_candidates, result_of

from .device_space import DeviceSpace
from .devices import ERRORS, number_of
from .graph_functions import graph_functions
from .interop import wrap
from .launch import GpuPlan, compile_plan
from .memory import DeviceMemory, ForeignMemory, ManagedMemory, PinnedMemory, StagingMemory
from .ordering import Orders
from .sorting import Sorts
from .timing import Mark

if TYPE_CHECKING:
    from execspace.contract.space import CandidateGenerator


class GpuExecutionSpace(Sorts, Orders, DeviceSpace):
    """Runs kernels on a GPU, through CuPy.

    Launches are asynchronous. The space itself works on the legacy default stream, as CuPy,
    PyTorch and Numba do unless told otherwise, so work on shared arrays is in order. `instance`
    makes a stream that waits for no other one.

    A platform is a subclass, which is made of nothing but the number of a device and, for an
    instance, the space that it is an instance of. It gives:

    must: what a `DeviceSpace` must. should: `tiles`. may: what a `DeviceSpace` may.
    """

    def __init__(self, number: int, parent: DeviceSpace | None = None) -> None:
        super().__init__(number, parent)
        if parent is None:
            self.memory = DeviceMemory(self)
            self.foreign = ForeignMemory(self)
            self.managed = ManagedMemory(self)
            self.pinned = PinnedMemory(self)
            self.staging = StagingMemory(self)
        else:
            self.memory, self.foreign = parent.memory, parent.foreign
            self.managed, self.pinned = parent.managed, parent.pinned
            self.staging = parent.staging

    # -- what core asks for -----------------------------------------------------------------------

    @property
    def memory_space(self) -> MemorySpace:
        return self.memory

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        return (self.memory, self.managed, self.pinned)

    @property
    def concurrency(self) -> int:
        return self.units * self.threads_per_unit

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        return compile_plan(self, kernel, spec)

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        return result_of(kernel, spec, self.memory)

    def view_of(self, source: Any, label: str) -> View:
        return wrap(self, source, label)

    def synchronize(self, label: str = "") -> None:
        device, queue = self.device, self.queue
        try:
            if device.alone and not queue.holds and (self.parent or not device.has_queues):
                queue.synchronize()  # as most often; in a fourth of the time
                return
            device.synchronize(device.working() if self.parent is None else [queue])
        except ERRORS as error:
            raise self.fault("A fence", error) from error

    def instance(self) -> GpuExecutionSpace:
        """A stream of its own on the same device; Views of the device are shared."""
        try:
            return type(self)(self.number, self.root)
        except ERRORS as error:
            raise self.fault("A new instance", error) from error

    def urgent_instance(self) -> GpuExecutionSpace:
        """An instance whose launches get free multiprocessors before those of others.

        For short work, such as messages, that runs beside long launches: a stream of the highest
        priority. Otherwise as `instance`.
        """
        made = self.instance()
        try:
            made._take(self.device.new_queue(urgent=True))
        except ERRORS as error:
            raise self.fault("A new instance", error) from error
        return made

    # -- graphs -----------------------------------------------------------------------------------

    def can_replay(self, plan: Plan) -> bool:
        if self.graph_names is None or plan.space is not self:
            return False
        if isinstance(plan, EnqueuedWork):
            return True
        return isinstance(plan, GpuPlan) and not plan.device_launch.watched

    def instantiate(
        self, launches: Sequence[GraphLaunch], earlier: Callable[[], None] | None
    ) -> Callable[[], None]:
        from .graphs import instantiate

        assert self.graph_names is not None
        return instantiate(self, graph_functions(self.graph_names), launches, earlier)

    def tuning_candidates(self, plan: Any, bounds: tuple[int, ...]) -> list[CandidateGenerator]:
        return device_candidates(plan, bounds)

    def mark(self) -> Mark:
        if self.device.alone:
            return self.device.clock.mark(self.stream_object)
        with self.current():
            return self.device.clock.mark(self.stream_object)

    def time_of(self, mark: Mark) -> float | None:
        return self.device.clock.time_of(mark)


_made: weakref.WeakValueDictionary[tuple[type, int], GpuExecutionSpace] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def space_of(kind: type[GpuExecutionSpace], name: str | None) -> GpuExecutionSpace:
    """The space of a platform's device, made once: "cuda" and "cuda:0" are the same one."""
    number = number_of(name, kind.short, kind.title)
    with _lock:
        found = _made.get((kind, number))
        if found is None:
            found = _made[kind, number] = kind(number)
        return found
