"""A space of a GPU as memory, copies and launches see it: a device, and one of its streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, ClassVar

import cupy

from execspace import MemorySpace, SpaceError
from execspace.base import config
from execspace_compiler.backend import Limits

from .claiming import Protocols
from .device import GpuDevice
from .devices import ERRORS, name_of
from .forks import remember_space
from .kind import GpuKind
from .occupancy import Residency
from .program import Program
from .queue import Queue

_POOLS = ("cupy", "async")


class DeviceSpace(GpuKind):
    """A stream of a GPU; `GpuExecutionSpace` adds the memories, and what core asks for.

    must: `protocols`, and what a `GpuKind` must. should: `units`, `threads_per_unit`, `limits` and
    `shared` where CuPy has other attributes of a device than for CUDA. may: `has_async_pool`,
    `all_shared`, `resource_usage`, `residency`, `description`.

    Attributes
    ----------
    has_async_pool : bool
        CuPy has the driver's stream-ordered pool. The plugin then declares EXECSPACE_<SHORT>_POOL;
        it always declares EXECSPACE_<SHORT>_BLOCKING.
    number : int
        Of the device, as the platform counts.
    parent : DeviceSpace or None
        The space that this is an instance of.
    device : GpuDevice
        What instances share.
    queue : Queue
        Its stream; `stream` is the driver's handle, 0 the legacy default stream.
    memory, foreign, managed, pinned, staging : MemorySpace
        Of the device; those of `execspace_gpu.memory`.
    """

    has_async_pool: ClassVar[bool] = False
    memory: MemorySpace
    foreign: MemorySpace
    managed: MemorySpace
    pinned: MemorySpace
    staging: MemorySpace

    def __init__(self, number: int, parent: DeviceSpace | None = None) -> None:
        remember_space(self)
        self.number = number
        self.parent = parent
        self.name = self.short if number == 0 else f"{self.short}:{number}"
        if parent is None:
            self.device = GpuDevice(number, self.short, self.title, self._pool())
            self._take(self.device.default)
        else:
            self.device = parent.device
            self._take(self.device.new_queue())
        self.fills: dict[Any, Any] = {}  # type of a View -> plan that fills it
        self.blocking = bool(config.get_bool(self.variable("BLOCKING")))

    def _take(self, queue: Queue) -> None:
        """Work on a queue from now on."""
        self.queue, self.stream, self.stream_object = queue, queue.stream, queue.stream_object

    def _pool(self) -> Callable[[int], Any]:
        """Where memory of the device is from: CuPy's allocator, or the driver's pool."""
        if self.has_async_pool:
            name = self.variable("POOL")
            chosen = config.get(name) or _POOLS[0]
            if chosen not in _POOLS:
                raise SpaceError(
                    f"EXECSPACE_{name}={chosen!r} is not a pool; expected {' or '.join(_POOLS)}."
                )
            if chosen == "async":
                own: Callable[[int], Any] = cupy.cuda.MemoryAsyncPool().malloc
                return own
        return cupy.cuda.alloc  # type: ignore[no-any-return]

    # -- what a platform gives --------------------------------------------------------------------

    @property
    @abstractmethod
    def protocols(self) -> Protocols:
        """How arrays of other libraries on the platform tell of themselves; must."""

    def resource_usage(self, program: Program, group: int) -> dict[str, dict[str, int]]:
        """What is known of each kernel of a program, launched in blocks of `group` threads, for
        `explain`; may. The device is current."""
        return program.resource_usage(group, self.threads_per_unit)

    def residency(self, program: Program, function: int, threads: int) -> Residency:
        """How many blocks of one of its functions run at once; may. The device is current."""
        most = self.shared - program.own_shared(function)
        at_once = program.blocks_at_once(function, threads)
        return Residency(at_once, threads, self.threads_per_unit, most)

    # From the names that CuPy for CUDA has for attributes of a device; all of them should.

    @cached_property
    def units(self) -> int:
        """Multiprocessors of the device."""
        return self.device.attribute("MultiProcessorCount")

    @property
    def threads_per_unit(self) -> int:
        """Threads that a multiprocessor runs at once."""
        return self.device.attribute("MaxThreadsPerMultiProcessor")

    @cached_property
    def shared(self) -> int:
        """Bytes of shared memory that a block may ask for."""
        return self.device.attribute("MaxSharedMemoryPerBlockOptin")

    @cached_property
    def all_shared(self) -> int:
        """Bytes of shared memory of a multiprocessor, if kernels may have the rest for its cache;
        0 where they have no choice."""
        return self.device.attribute("MaxSharedMemoryPerMultiprocessor")

    @cached_property
    def limits(self) -> Limits:
        """Largest blocks and grids."""
        block, grid = (
            tuple(self.device.attribute(f"Max{what}Dim{axis}") for axis in "XYZ")
            for what in ("Block", "Grid")
        )
        return Limits(self.device.attribute("MaxThreadsPerBlock"), block, grid)  # type: ignore[arg-type]

    @cached_property
    def description(self) -> str:
        """The device in words; may."""
        return name_of(self.number)

    # -- for the parts of this package ------------------------------------------------------------

    @property
    def root(self) -> DeviceSpace:
        """The space that this is an instance of, or itself."""
        return self.parent or self

    def variable(self, what: str) -> str:
        """Name of an environment variable of the platform, without the prefix."""
        return f"{self.short.upper()}_{what}"

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return self.device.current()

    def fault(self, what: str, error: Any) -> Exception:
        """The exception for an error of the platform."""
        return self.device.fault(what, error)

    def synchronize_stream(self, what: str) -> None:
        """Wait for this stream; blocks."""
        try:
            with self.current():
                self.queue.synchronize()
        except ERRORS as error:
            raise self.fault(what, error) from error
