"""Joins of few numbers over ranks, in the order of ranks: what solvers do to their sums.

On GPUs of NCCL the numbers of all ranks are gathered and joined on the GPU, in the same order as
`Comm.allreduce` does on the host, which then waits for nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import execspace as es

from ..packing import flat
from .exchange import Plan

__all__ = ["Joiner"]


class Joiner:
    """Joins for the ranks of a communicator, on a space."""

    def __init__(self, plan: Plan, space: es.ExecutionSpace) -> None:
        self._comm, self._space, self._engine = plan.comm, space, plan.engine
        self._apart = plan.messages  # which no messages of the program meet
        self._parts: dict[Any, es.View] = {}  # of all ranks, by dtype and number

    def join(self, view: es.View, reducer: Any) -> None:
        """Make the elements of a View what those of all ranks join to; in order with the space. In
        a recording each submission does so."""
        comm = self._comm
        if comm.size == 1:
            return
        on_device = not view.memory_space.host_accessible and view.span_is_contiguous
        if self._engine != "nccl" or not on_device or reducer not in _KERNELS:
            join = partial(self._apart.allreduce, view, view, reducer=reducer, space=self._space)
            es.library_call("join over ranks", join, space=self._space)
            return
        numbers = flat(view)
        key = view.dtype, view.size
        if key not in self._parts:
            self._parts[key] = es.View(
                (comm.size, view.size), view.dtype, label="ranks", space=self._space,
                layout="right", initialize=False,
            )  # fmt: skip
        parts = self._parts[key]
        comm.nccl(self._space).allgather(numbers, parts, space=self._space)
        every = es.RangePolicy(view.size, space=self._space)
        es.parallel_for(every, _KERNELS[reducer], comm.size, parts, numbers, label="join ranks")


# -- kernels --------------------------------------------------------------------------------------


def _sum(j: int, ranks: Any, parts: Any, numbers: Any) -> None:
    total = parts[0, j]
    for rank in range(1, ranks):
        total += parts[rank, j]
    numbers[j] = total


def _greatest(j: int, ranks: Any, parts: Any, numbers: Any) -> None:
    found = parts[0, j]
    for rank in range(1, ranks):
        found = np.maximum(found, parts[rank, j])
    numbers[j] = found


_KERNELS: dict[Any, Any] = {es.Sum: _sum, es.Max: _greatest}
