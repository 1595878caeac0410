"""Compiles generated OpenCL C with the device's driver and makes the plan that launches it."""

from __future__ import annotations

import re
import struct
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl
from execspace_compiler import cache, ir
from execspace_compiler.assertions import failure
from execspace_compiler.devices import DeviceText, device_text
from execspace_compiler.diagnostics import Diagnostic
from execspace_compiler.pipeline import check_limits
from execspace_compiler.printers.cfamily.collectives import ROWS, SLOT
from execspace_compiler.printers.cfamily.dialects import OPENCL
from execspace_compiler.printers.cfamily.entries import Field
from execspace_compiler.results import result_maker
from execspace_compiler.types import Scalar, ViewTy

from execspace import (
    HOST,
    BackendCompileError,
    Kernel,
    KernelTypeError,
    LaunchSpec,
    View,
    ViewType,
    profiling,
)

from .memory import host_buffer, place_of
from .space import OpenCLSpace

_GROUP = 128  # work-items of a group of a parallel_for on a GPU
_GROUPS_PER_UNIT = 8  # of reductions and scans
_MOST_ITEMS = 1 << 30


@dataclass
class OpenCLPlan:
    """A compiled launch; see `execspace.Plan`."""

    space: OpenCLSpace
    kernel: Kernel
    spec: LaunchSpec
    text: DeviceText
    program: Any
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]

    @property
    def source(self) -> str:
        """The generated text."""
        return self.text.source


def compile_plan(space: OpenCLSpace, kernel: Kernel, spec: LaunchSpec) -> OpenCLPlan:
    """Compile `kernel` for the device.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    BackendCompileError
        If the driver refuses the generated text: a defect of execspace or of the driver.
    """
    started = time.perf_counter()
    text = device_text(kernel, spec, OPENCL, flat=space.flat, group=space.group)
    _refuse(text, space)
    program = _build(space, text)
    launch = _Launch(space, kernel, spec, text, program)
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, False)
    return OpenCLPlan(space, kernel, spec, text, program, launch)


def _refuse(text: DeviceText, space: OpenCLSpace) -> None:
    """A KernelTypeError for what this device cannot do."""
    for function in text.lowered.functions:
        for e in [*function.parameters, *ir.walk_expressions(function.body)]:
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if "float16" in str(type) and not space.capabilities.float16:
                loc = e.loc if e.loc.line else function.loc
                message = f"device {space.found} cannot compute with float16"
                raise _type_error(text, Diagnostic(loc, message, "use float32"))
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Atomic) and s.whole and s.type.itemsize == 16:
                message = f"OpenCL has no atomic step on a whole {s.type}"
                hint = "use complex64, or atomic_add and atomic_sub, which need no whole number"
                raise _type_error(text, Diagnostic(s.loc, message, hint))


def _type_error(text: DeviceText, found: Diagnostic) -> KernelTypeError:
    return KernelTypeError(f"in kernel '{text.lowered.kernel.name}'\n\n{found}")


def _options(space: OpenCLSpace, kernel: Kernel) -> list[str]:
    options = ["-cl-std=CL1.2"]
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if space.device.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    if kernel.fastmath:
        options.append("-cl-fast-relaxed-math")
    return options


def _build(space: OpenCLSpace, text: DeviceText) -> Any:
    """The program, from the cache on disk if it was built before."""
    folder = cache.folder("opencl")
    program = cl.Program(space.context, text.source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what compilers say to a text that they accept
            built = program.build(_options(space, text.lowered.kernel), cache_dir=str(folder))
    except cl.RuntimeError as error:
        raise BackendCompileError(_build_error(space, text, str(error))) from error
    cache.limit_size(folder)
    return built


_PLACE = re.compile(r"(?:<source>|<program source>|\S*?):(\d+):(\d+): (?:fatal )?error: (.*)")


def _build_error(space: OpenCLSpace, text: DeviceText, log: str) -> str:
    """The driver's complaints, each with the line of the user's source that it stems from."""
    parts = [f"in kernel '{text.lowered.kernel.name}'"]
    for line, _, message in _PLACE.findall(log):
        number = int(line) - 1
        if not 0 <= number < len(text.lines):
            continue
        parts.append(f"{message}\n    {text.lines[number].strip()}")
        loc = text.locs[number]
        if loc is not None and loc.line:
            parts.append(f"{loc}\n{loc.excerpt()}")
    if len(parts) == 1:
        parts.append(log)
    parts.append(
        f"The driver of device {space.found} refused generated code. This is a defect of execspace "
        f"or of the driver; please report it."
    )
    return "\n".join(parts)


class _Launch:
    """The hot path: pack the numbers, set what changed, enqueue."""

    def __init__(
        self, space: OpenCLSpace, kernel: Kernel, spec: LaunchSpec, text: DeviceText, program: Any
    ) -> None:
        entry = text.entry
        self.space, self.kernel, self.spec, self.entry = space, kernel, spec, entry
        self.lowered, self.text = text.lowered, text
        self.queue = space.queue
        self.kernels = [getattr(program, name) for name in entry.kernels]
        self.pack = struct.Struct(entry.format).pack
        self.values = [_getter(f, spec) for f in entry.fields]
        self.count = _units(text, space.flat)
        self.outs = len(spec.out)
        self.reduces = spec.reducer is not None
        self.last: list[list[Any]] = [[] for _ in self.kernels]
        self.scratch: Any = None
        self.result: Any = None
        self.status = None
        if entry.status:
            self.status = np.zeros(2 + spec.policy.rank, np.int64)
        self.blocking = bool(text.lowered.prints or text.lowered.assertions)
        self.make = None
        if self.reduces and spec.array_shape is None:
            self.make = result_maker(spec, text.result)
        names = [n for n in _flat_names(text.result)] if self.reduces else []
        self.dtypes = [np.dtype(n) for n in names]

    def __call__(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        check_limits(self.kernel.name, self.lowered.limits, args)
        space, entry = self.space, self.entry
        units = self.count(bounds)
        total, group, items = self._grid(units)
        buffers, places, on_host = [], {}, self.blocking
        for n in entry.buffers:
            view = args[n]
            if view.memory_space is HOST:
                if view.size:
                    buffer, first = host_buffer(space.context, view)
                else:
                    buffer, first = self._nothing(), 0
                on_host = True
            else:
                buffer, first = view.allocation.owner, place_of(view)
            buffers.append(buffer)
            places[n] = first if view.dtype.fields is not None else first // view.dtype.itemsize
        numbers: list[Any] = []
        for get in self.values:
            value = get(bounds, args, units, items, places)
            if type(value) is complex:
                numbers += (value.real, value.imag)
            else:
                numbers.append(value)
        record = np.frombuffer(self.pack(*numbers), np.uint8)
        status = self._status_buffer()
        common = [record, *buffers, *([] if status is None else [status])]
        if not self.reduces:
            if total:
                self._enqueue(0, common, total, group)
        else:
            self._reduce(common, total, group, items, on_host)
        if on_host:
            self._finish(status)
        if self.reduces and not self.outs:
            return self._read_result()
        return None

    def _grid(self, units: int) -> tuple[int, int, int]:
        """Work-items, work-items of a group, and work-items again for the record."""
        space = self.space
        if self.reduces:
            group = space.group
            most = space.units * (_GROUPS_PER_UNIT if space.flat else 1)
            groups = max(1, min(-(-units // group), most))
            if self.spec.array_shape is not None:
                groups = max(1, min(groups, space.units))
            return groups * group, group, groups * group
        if space.flat:
            total = min(-(-units // _GROUP) * _GROUP, _MOST_ITEMS)
            return total, _GROUP, total
        total = min(units, space.units)
        return total, 1, total

    def _enqueue(self, n: int, arguments: list[Any], total: int, group: int) -> None:
        kernel, last = self.kernels[n], self.last[n]
        if not last:
            last += [None] * len(arguments)
        for position, value in enumerate(arguments):
            if last[position] is not value:
                kernel.set_arg(position, value)
                last[position] = value
        cl.enqueue_nd_range_kernel(self.queue, kernel, (total,), (group,))

    def _reduce(
        self, common: list[Any], total: int, group: int, items: int, on_host: bool
    ) -> None:
        if self.scratch is None:
            self._make_scratch()
        more = [self.scratch] if self.outs else [self.scratch, self.result]
        if len(self.kernels) == 1:
            self._enqueue(0, [*common, *more], total, group)
            return
        self._enqueue(0, [*common, self.scratch], total, group)
        if self.entry.array:
            size = self.space.group * -(-self.entry.array // self.space.group)
            self._enqueue(1, [*common, *more], min(size, 65536), self.space.group)
        else:
            self._enqueue(1, [*common, *more], total, group)

    def _make_scratch(self) -> None:
        most = self.space.units * (_GROUPS_PER_UNIT if self.space.flat else 1)
        size = ROWS + most * max(self.entry.states, 1) * SLOT
        if self.entry.array:
            size = ROWS + self.space.units * self.space.group * self.entry.array * SLOT
        context, flags = self.space.context, cl.mem_flags.READ_WRITE
        self.scratch = cl.Buffer(context, flags, size)
        cl.enqueue_fill_buffer(self.queue, self.scratch, np.uint8(0), 0, ROWS)
        if not self.outs:
            self.result = cl.Buffer(context, flags, max(self.entry.results, 1) * SLOT)

    def _read_result(self) -> Any:
        if self.spec.array_shape is not None:
            array = np.empty(self.spec.array_shape, self.dtypes[0])
            cl.enqueue_copy(self.queue, array, self.result, is_blocking=True)
            return array
        slots = np.empty(self.entry.results * SLOT, np.uint8)
        cl.enqueue_copy(self.queue, slots, self.result, is_blocking=True)
        numbers = tuple(
            slots[n * SLOT : n * SLOT + t.itemsize].view(t)[0].item()
            for n, t in enumerate(self.dtypes)
        )
        found = numbers[0] if len(numbers) == 1 else numbers
        return found if self.make is None else self.make(found)

    def _status_buffer(self) -> Any:
        if self.status is None:
            return None
        self.status[:] = 0
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.space.context, flags, hostbuf=self.status)

    def _nothing(self) -> Any:
        return cl.Buffer(self.space.context, cl.mem_flags.READ_WRITE, 16)

    def _finish(self, status: Any) -> None:
        if self.lowered.prints:
            sys.stdout.flush()
        self.queue.finish()
        if status is not None:
            assert self.status is not None
            cl.enqueue_copy(self.queue, self.status, status, is_blocking=True)
            if self.status[0]:
                code, *indices = self.status[1:].tolist()
                raise failure(self.kernel.name, self.lowered.assertions, code, indices)


def _flat_names(names: Any) -> list[str]:
    if isinstance(names, tuple):
        return [n for item in names for n in _flat_names(item)]
    return [names]


def _units(text: DeviceText, flat: bool) -> Callable[[tuple[int, ...]], int]:
    """Number of units of a launch from its bounds."""
    policy = text.lowered.spec.policy
    rank = policy.rank
    dims = text.order if flat or policy.tiled else text.order[: min(rank - 1, 2) + 1]

    def count(bounds: tuple[int, ...]) -> int:
        extents = [max(bounds[rank + d] - bounds[d], 0) for d in range(rank)]
        if not all(extents):
            return 0
        if policy.tiled:
            tiles = bounds[2 * rank :]
            numbers = [-(-extents[d] // tiles[d]) for d in range(rank)]
            return prod(numbers) * (prod(tiles) if flat else 1)
        return prod(extents[d] for d in dims)

    return count


def _getter(field: Field, spec: LaunchSpec) -> Callable[..., Any]:
    """A function of (bounds, args, units, items, places) that gives a number of the record."""
    n, d = field.argument, field.dimension
    match field.what:
        case "bound":
            return lambda bounds, args, units, items, places: bounds[n]
        case "units":
            return lambda bounds, args, units, items, places: units
        case "items":
            return lambda bounds, args, units, items, places: items
        case "first":
            return lambda bounds, args, units, items, places: places[n]
        case "stride":
            return lambda bounds, args, units, items, places: args[n].strides[d]
        case "extent":
            return lambda bounds, args, units, items, places: args[n].shape[d]
    return _scalar(n, field.type)


def _scalar(n: int, type: Scalar) -> Callable[..., Any]:
    if type.kind == "c":
        return lambda bounds, args, units, items, places: complex(args[n])
    if type.kind == "f":
        return lambda bounds, args, units, items, places: float(args[n])
    return lambda bounds, args, units, items, places: int(args[n])


__all__ = ["OpenCLPlan", "View", "ViewType", "compile_plan"]
