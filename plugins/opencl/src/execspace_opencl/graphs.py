"""Graphs of OpenCL: kernels that have their arguments already, enqueued one after the other.

A kernel object of its own for each launch keeps the arguments, so a replay sets none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyopencl as cl

from execspace import GraphLaunch
from execspace_compiler.backend import Call, CapturedLaunch, DeviceLaunch, Frame, Grid

from .call_builder import size_of
from .device import DeviceSpace
from .devices import driver_error
from .launch import OpenCLLaunch, OpenCLPlan
from .program import Program


class OpenCLGraph:
    """Launches that are replayed by calling it; see `execspace.SupportsGraphs.instantiate`."""

    def __init__(self, space: DeviceSpace, launches: Sequence[GraphLaunch]) -> None:
        self._space = space
        self._commands: list[Callable[[Any], object]] = []
        self._kept: list[Any] = [tuple(launches)]  # Views, and the memory of launches
        captured: dict[int, tuple[_Captured, Call]] = {}
        for one in launches:
            plan = cast(OpenCLPlan, one.plan)
            known = captured.get(id(plan))
            if known is None:
                launch = _Captured.of(plan.device_launch)
                known = captured[id(plan)] = launch, launch.caller()
            launch, call = known
            launch.commands = self._commands
            call(one.bounds, one.args)
            self._kept.append(launch.used)

    def __call__(self) -> None:
        """Replay."""
        queue = self._space.queue
        try:
            with queue.turn:
                handle = queue.handle
                for command in self._commands:
                    command(handle)
        except cl.Error as error:
            raise driver_error("A graph", self._space.device.found, error) from error


class _Captured(CapturedLaunch[Program], OpenCLLaunch):
    """A launch that makes commands, and enqueues nothing.

    Attributes
    ----------
    commands : list of callable
        Each enqueues something on a queue.
    """

    commands: list[Callable[[Any], object]]
    inlines = False

    def taken_over(self, launch: DeviceLaunch[Program]) -> None:
        self.commands = getattr(launch, "commands", [])

    def enqueue(self, program: Program, number: int, grid: Grid, frame: Frame) -> None:
        self.check_group(program, grid)
        arguments = self.arguments(program, number, frame)
        size, group = size_of(grid)
        kernel = cl.Kernel(program.compiled.loaded, program.code.entry.kernels[number])
        kernel._set_arg_buf(0, frame.record)
        for position, value in enumerate(arguments):
            kernel.set_arg(position + 1, value)

        def command(queue: Any, kept: object = arguments) -> None:
            cl.enqueue_nd_range_kernel(queue, kernel, size, group)

        self.commands.append(command)

    def room(self, frame: Frame, units: int) -> tuple[int, int]:
        """As for a first launch: each replay finds the status of tiles cleared."""
        nbytes, zero = self.room_bytes(units), np.uint8(0)
        buffer = self.allocate(nbytes, 0)
        frame.give("scratch", buffer)
        self.commands.append(lambda queue: cl.enqueue_fill_buffer(queue, buffer, zero, 0, nbytes))
        return self.groups(units), 1
