"""Where cases run: a space, its Views, and kernels written by hand on the memory of those Views.

Views are filled with the numbers of a small table over and over, in the order of memory, and
results are compared with such a table: by NumPy on the host, by a kernel of its own on a device.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Compiler, Function
from benchmarks.common.paired import OURS, Contestant, python_contestant
from benchmarks.mdrange.cases import FLAT_SUM, OUTSIDE, PERIOD, TABLES, Case, S, Table
from benchmarks.mdrange.kokkos import TILES
from benchmarks.mdrange.peers import (
    CHECK_THREADS,
    SUM_BLOCK,
    SUM_GROUPS_PER_UNIT,
    Sizes3,
    Variant,
    c_functions,
    device_text,
    variants,
)
from execspace.views.interop import view_over

HAND, FLAT = "hand-written", "flat range"
Call = Callable[[], Any]


class Place(ABC):
    """A space that is measured.

    Attributes
    ----------
    name : str
        Of the space.
    device : str
        Of the hardware; spaces on the same device take turns.
    is_host : bool
        The device is the host's processor, so sizes are those of hosts.
    """

    def __init__(self, space: Any) -> None:
        self.space, self.name = space, str(space.name)
        self.is_host = space.memory_space is es.HOST
        self.device = self.name

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Facts about the device."""

    @abstractmethod
    def fill(self, view: es.View, table: Table) -> None:
        """Repeat a table over the memory of a contiguous View; blocks."""

    @abstractmethod
    def wrong(self, view: es.View, case: Case) -> int:
        """How many elements of the output are not what they should be; blocks."""

    @abstractmethod
    def hand(self, case: Case, views: Sequence[es.View]) -> dict[str, Contestant]:
        """Kernels written by hand, by the name of the variant."""

    # -- Views -------------------------------------------------------------------------------------

    def view(self, label: str, shape: tuple[int, ...], layout: str = "right") -> es.View:
        """A View of float64 whose elements are not set."""
        memory = None if self.space.memory_spaces[0] is es.HOST else "device"
        return es.View(
            shape, es.float64, label=label, space=self.space, memory=memory, layout=layout,
            initialize=False,
        )  # fmt: skip

    def views(self, cases: Sequence[Case]) -> list[es.View]:
        """Inputs with their numbers, then the output, for cases of one shape and layout."""
        inputs = max(case.inputs for case in cases)
        shape, layout = cases[0].shape, cases[0].layout
        made = [self.view(label, shape, layout) for label in "ab"[:inputs]]
        for view, table in zip(made, TABLES, strict=False):
            self.fill(view, table)
        if cases[0].group == "sum":
            return [*made, self.view("out", ())]
        return [*made, self.view("c", shape, layout)]

    def reset(self, case: Case, out: es.View) -> None:
        """Leave no right element in the output."""
        if case.starts_with is not None:
            self.fill(out, case.starts_with)
        else:
            es.deep_copy(out, np.nan if case.group == "sum" else OUTSIDE)

    def free(self) -> None:  # noqa: B027 - most spaces keep nothing
        """Give back memory that no View uses any more."""

    # -- execspace ---------------------------------------------------------------------------------

    def ours(self, case: Case, views: Sequence[es.View]) -> dict[str, Callable[[], Contestant]]:
        """Makers of execspace's contestants: its own mapping, and where asked for Kokkos' tiles."""
        found: dict[str, Callable[[], Contestant]] = {OURS: partial(self._ours, case, views)}
        if case.group == "sum":
            found[FLAT] = partial(self._flat_sum, case, views)
        if isinstance(self, DevicePlace) and case.operation in ("triad", "stencil"):
            for name in TILES:
                found[name] = partial(self._ours, case, views, tile=name, iterate=case.layout)
        return found

    def _ours(self, case: Case, views: Sequence[es.View], **options: Any) -> Contestant:
        policy = es.MDRangePolicy(*case.bounds, space=self.space, **options)
        out, inputs = views[-1], views[: case.inputs]
        if case.group == "sum":
            call: Call = partial(es.parallel_reduce, policy, case.kernel, *inputs, out=out)
            return self.reading(python_contestant(OURS, call, fence=self.space.fence), out)
        scalar = (S,) if case.scalar else ()
        call = partial(es.parallel_for, policy, case.kernel, *scalar, *inputs, out)
        return python_contestant(OURS, call, fence=self.space.fence)

    def _flat_sum(self, case: Case, views: Sequence[es.View]) -> Contestant:
        x, out = views
        flat = view_over(
            "flat", x.data_ptr, x.dtype, (x.size,), (x.dtype.itemsize,), True, x.memory_space,
            x.allocation.owner, x.space,
        )  # fmt: skip
        policy = es.RangePolicy(0, x.size, space=self.space)
        call = partial(es.parallel_reduce, policy, FLAT_SUM, flat, out=out)
        return self.reading(python_contestant(FLAT, call, fence=self.space.fence), out)

    def reading(self, contestant: Contestant, out: es.View) -> Contestant:
        """The contestant of a sum, whose `run` then returns what is in `out`."""

        def run() -> float:
            contestant.run()
            host = np.zeros(())
            es.deep_copy(host, out)
            return float(host)

        return replace(contestant, run=run)


class HostPlace(Place):
    """A space on memory of the host, against C with OpenMP on as many threads."""

    def __init__(self, space: Any, compiler: Compiler | None) -> None:
        super().__init__(space)
        self.compiler = compiler
        self._libraries: dict[tuple[Function, ...], CDLL] = {}

    def record(self) -> dict[str, Any]:
        return {"threads": self.space.concurrency}

    def fill(self, view: es.View, table: Table) -> None:
        flat = _in_memory_order(view)
        flat[...] = np.resize(table, flat.size)

    def wrong(self, view: es.View, case: Case) -> int:
        expected = np.resize(case.expected.table, view.size).reshape(case.extents[::-1])
        if case.expected.transposed:
            expected = expected.T
        if case.border:
            inner = expected[(slice(1, -1),) * case.rank].copy()
            expected[...] = OUTSIDE
            expected[(slice(1, -1),) * case.rank] = inner
        found = _in_memory_order(view).reshape(expected.shape)
        right = abs(found - expected) <= case.expected.rtol * abs(expected)
        return int(right.size - np.count_nonzero(right))

    def hand(self, case: Case, views: Sequence[es.View]) -> dict[str, Contestant]:
        if self.compiler is None:
            return {}
        functions = c_functions(case, self.space.concurrency)
        texts = tuple(function for _, function in functions)
        library = self._libraries.get(texts)  # texts are the same for all extents
        if library is None:
            library = self._libraries[texts] = self.compiler.build(texts)
        inputs = [np.asarray(view) for view in views[: case.inputs]]
        arrays = inputs if case.group == "sum" else [np.asarray(views[-1]), *inputs]
        return {
            text: self.compiler.contestant(library, function, arrays, S, case.shape, text)
            for text, function in functions
        }


def _in_memory_order(view: es.View) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The memory of a contiguous View of the host."""
    array = np.asarray(view)
    flat = (array if view.layout == "right" else array.T).reshape(-1)
    assert np.shares_memory(flat, array), f"View '{view.label}' is not contiguous"
    return flat


class DevicePlace(Place):
    """A space on a device, against kernels of one text for all devices."""

    @abstractmethod
    def call(self, kernel: str, items: Sizes3, block: Sizes3, arguments: Sequence[Any]) -> Call:
        """Launch a kernel by hand; ValueError if the device has no blocks as large."""

    @abstractmethod
    def array(self, view: es.View) -> Any:
        """The memory of a View, as an argument of a kernel by hand."""

    @abstractmethod
    def table(self, table: Table) -> Any:
        """A table in memory of the device."""

    @abstractmethod
    def counter(self) -> tuple[Any, Callable[[], int]]:
        """A zero on the device, as an argument, and how to read it."""

    @abstractmethod
    def hand_sums(self, case: Case, x: es.View) -> dict[str, Contestant]:
        """Sums of a View by hand."""

    def fill(self, view: es.View, table: Table) -> None:
        values = self.table(table)
        arguments = (self.array(view), values, np.uint32(view.size), np.uint32(PERIOD))
        self.call("fill", CHECK_THREADS, (256, 1, 1), arguments)()
        self.space.fence()

    def wrong(self, view: es.View, case: Case) -> int:
        counter, read = self.counter()
        expected = case.expected
        table = self.table(expected.table)
        extents = (*case.extents, 1, 1, 1)[:4]  # of more than four dimensions none has a rim
        arguments = (
            self.array(view), table, counter, *map(np.uint32, (view.size, PERIOD, *extents)),
            *map(np.int32, (case.border, case.rank, expected.transposed)),
            np.float64(OUTSIDE), np.float64(expected.rtol),
        )  # fmt: skip
        self.call("count_wrong", CHECK_THREADS, (256, 1, 1), arguments)()
        self.space.fence()
        return read()

    def hand(self, case: Case, views: Sequence[es.View]) -> dict[str, Contestant]:
        if case.group == "sum":
            return self.hand_sums(case, views[0])
        found = {}
        for variant in variants(case):
            try:
                call = self._variant(variant, case, views)
            except ValueError:  # the device has no blocks of this size
                continue
            found[variant.name] = python_contestant(
                HAND, call, variant.name, fence=self.space.fence
            )
        return found

    def _variant(self, variant: Variant, case: Case, views: Sequence[es.View]) -> Call:
        scalar = (np.float64(S),) if case.scalar else ()
        arrays = [self.array(view) for view in (*views[: case.inputs], views[-1])]
        arguments = (*scalar, *arrays, *map(np.int32, variant.integers))
        return self.call(variant.kernel, variant.items, variant.block, arguments)


def _groups(items: Sizes3, block: Sizes3) -> Sizes3:
    x, y, z = (-(-n // b) for n, b in zip(items, block, strict=True))
    return x, y, z


class CudaPlace(DevicePlace):
    """The space cuda, against CUDA C++ through CuPy on the same stream."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        import cupy

        from benchmarks.cuda.peers import Peers

        self.cupy: Any = cupy
        cupy.cuda.Device(space.number).use()
        properties = cupy.cuda.runtime.getDeviceProperties(space.number)
        self.device = properties["name"].decode()
        self.module: Any = cupy.RawModule(code=device_text("cuda"), options=("-std=c++17",))
        self.module.compile()
        self.peers = Peers()

    def record(self) -> dict[str, Any]:
        from benchmarks.cuda.run import device_record

        return device_record(self.cupy)

    def free(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()

    def call(self, kernel: str, items: Sizes3, block: Sizes3, arguments: Sequence[Any]) -> Call:
        function = self.module.get_function(kernel)
        if int(np.prod(block)) > function.max_threads_per_block:
            raise ValueError(f"{kernel} cannot have blocks of {block}")
        return partial(function, _groups(items, block), block, tuple(arguments))

    def array(self, view: es.View) -> Any:
        array = self.cupy.asarray(view)
        assert array.data.ptr == view.data_ptr, "the array is a copy of the View"
        return array

    def table(self, table: Table) -> Any:
        return self.cupy.asarray(table)

    def counter(self) -> tuple[Any, Callable[[], int]]:
        array = self.cupy.zeros(1, np.uint32)
        return array, lambda: int(array.get()[0])

    def hand_sums(self, case: Case, x: es.View) -> dict[str, Contestant]:
        memory = self.array(x).data
        flat = self.cupy.ndarray((x.size,), np.float64, memptr=memory)
        out = self.cupy.zeros(())
        return {
            name: replace(
                python_contestant(HAND, call, name, fence=self.space.fence),
                run=partial(self._sum, call, out),
            )
            for name, call in self.peers.reduction("sum", flat, flat, out).items()
        }

    def _sum(self, call: Call, out: Any) -> float:
        out.fill(np.nan)
        call()
        return float(out.get())


class OpenCLPlace(DevicePlace):
    """A space of OpenCL, against OpenCL C on the same buffers and the same queue."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        import pyopencl

        self.cl: Any = pyopencl
        self.device = str(space.device.handle.name).strip()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what compilers say to a text that they accept
            self.program: Any = pyopencl.Program(
                space.device.context, device_text("opencl")
            ).build()

    def record(self) -> dict[str, Any]:
        device = self.space.device.handle
        return {
            "name": self.device, "platform": str(device.platform.name).strip(),
            "driver": device.driver_version, "compute_units": device.max_compute_units,
            "memory": device.global_mem_size, "memory_of_host": self.is_host,
        }  # fmt: skip

    def call(self, kernel: str, items: Sizes3, block: Sizes3, arguments: Sequence[Any]) -> Call:
        space = self.space
        cl, device, queue = self.cl, space.device.handle, space.queue.handle
        made = cl.Kernel(self.program, kernel)
        most = made.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device)
        sizes = zip(block, device.max_work_item_sizes, strict=False)
        if int(np.prod(block)) > most or any(n > limit for n, limit in sizes):
            raise ValueError(f"{kernel} cannot have groups of {block}")
        made.set_args(*arguments)
        whole = tuple(n * b for n, b in zip(_groups(items, block), block, strict=True))
        kept = tuple(arguments)  # the driver's kernel does not keep buffers alive

        def enqueue(kept: Any = kept) -> None:
            cl.enqueue_nd_range_kernel(queue, made, whole, block)

        return enqueue

    def array(self, view: es.View) -> Any:
        return view.allocation.owner

    def _buffer(self, nbytes: int) -> Any:
        return self.cl.Buffer(self.space.device.context, self.cl.mem_flags.READ_WRITE, nbytes)

    def table(self, table: Table) -> Any:
        buffer = self._buffer(table.nbytes)
        self.cl.enqueue_copy(self.space.queue.handle, buffer, table, is_blocking=True)
        return buffer

    def counter(self) -> tuple[Any, Callable[[], int]]:
        host = np.zeros(1, np.uint32)
        buffer = self._buffer(host.nbytes)
        self.cl.enqueue_copy(self.space.queue.handle, buffer, host, is_blocking=True)

        def read() -> int:
            self.cl.enqueue_copy(self.space.queue.handle, host, buffer, is_blocking=True)
            return int(host[0])

        return buffer, read

    def hand_sums(self, case: Case, x: es.View) -> dict[str, Contestant]:
        found = {}
        for per_unit in SUM_GROUPS_PER_UNIT:
            groups = per_unit * self.space.units
            parts, out = self._buffer(8 * groups), self.view("sum by hand", ())
            es.deep_copy(out, np.nan)
            block = (SUM_BLOCK, 1, 1)
            first = (self.array(x), parts, np.uint32(x.size))
            second = (parts, self.array(out), np.uint32(groups))
            try:
                calls = (
                    self.call("sum_parts", (groups * SUM_BLOCK, 1, 1), block, first),
                    self.call("sum_parts", block, block, second),
                )
            except ValueError:  # the device has no groups of this size
                continue

            def call(calls: Any = calls) -> None:
                for enqueue in calls:
                    enqueue()

            name = f"{per_unit} groups per unit"
            contestant = python_contestant(HAND, call, name, fence=self.space.fence)
            found[name] = self.reading(contestant, out)
        return found


def place_of(name: str, compiler: Callable[[], Compiler | None]) -> Place:
    """The place of a space; raises what es.space does, and what its libraries do.

    Raises
    ------
    ValueError
        If nobody has written kernels by hand for such a space.
    """
    space: Any = es.space(name)
    base = name.partition(":")[0]
    if base == "cuda":
        return CudaPlace(space)
    if base == "opencl":
        return OpenCLPlace(space)
    if space.memory_space is es.HOST:
        return HostPlace(space, compiler())
    raise ValueError(
        f"Space '{name}': expected cuda, opencl or a space on memory of the host; there are no "
        f"kernels written by hand for others."
    )
