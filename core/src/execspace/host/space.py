"""What execution spaces on host memory have in common: their memory, a fence, and sorting.

Under EXECSPACE_CHECK=portable they are, to a program, as devices are: memory of their own, layout
"left", and instances that nothing orders.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..base import config
from ..base.waiting import waits_for_nothing
from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..events.launches import queue_number
from ..views.view import View
from .memory import ApartMemory, SharedMemory

__all__ = [
    "HostExecutionSpace",
    "UnsortedHostExecutionSpace",
]


class UnsortedHostExecutionSpace(ExecutionSpace):
    """A `HostExecutionSpace` without NumPy's sort: `es.sort` and its siblings launch kernels."""

    @cached_property
    def _is_apart(self) -> bool:
        # One with memory of its own has said where its Views are.
        own = type(self).memory_space is not UnsortedHostExecutionSpace.memory_space
        return not own and config.is_portable(self.name)

    @cached_property
    def default_layout(self) -> str:  # type: ignore[override]  # which instances may assign
        """Of Views that name none: "right", or under EXECSPACE_CHECK=portable "left"."""
        return "left" if self._is_apart else "right"

    @property
    def memory_space(self) -> MemorySpace:
        """That of the host, `HOST`, so kernels take NumPy arrays in place.

        Under EXECSPACE_CHECK=portable memory of its own, which the host does not reach.
        """
        return self._memories[0]

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        """Its memory; under EXECSPACE_CHECK=portable also one that it shares with the host."""
        return self._memories if self._is_apart else super().memory_spaces

    @cached_property
    def _memories(self) -> tuple[MemorySpace, ...]:
        if not self._is_apart:
            return (HOST,)
        return ApartMemory(self.name), SharedMemory(f"{self.name} shared")

    def instance(self) -> Self:
        """Itself, for its launches are in order.

        Under EXECSPACE_CHECK=portable another object, and nothing but fences orders the two.
        """
        return self._copied() if self._is_apart else self

    def _copied(self, **changed: Any) -> Self:
        """Another object of the space with the same memory, and these attributes of its own."""
        queue_number(self)  # it comes before its instances
        shared = self._memories
        other: Self = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memories=shared, **changed)
        return other

    @waits_for_nothing
    def synchronize(self, label: str = "") -> None:
        """Nothing is ever under way."""


class HostExecutionSpace(UnsortedHostExecutionSpace):
    """An execution space on host memory whose launches are done when they return; derive from it.

    Its `synchronize` has nothing to wait for; one of which launches return early must override it.
    Its `SupportsSort` is NumPy's: that works on the calling thread and returns when it is done,
    after a fence of the space.

    Notes
    -----
    https://numpy.org/doc/stable/reference/generated/numpy.sort.html. In descending order a
    reversed array is sorted, so NaN comes first, and equal keys keep their order in `argsort`.
    """

    def sort(self, view: View, descending: bool) -> None:
        """Sort a View of rank 1 in place with `numpy.ndarray.sort`; not stable."""
        (array,) = self._arrays("sort", view)
        (array[::-1] if descending else array).sort()

    def argsort(self, keys: View, descending: bool, out: View) -> None:
        """Permutation that sorts, with ``numpy.argsort(kind="stable")``; allocates another."""
        array, order = self._arrays("argsort", keys, out)
        if descending:
            back = np.argsort(array[::-1], kind="stable")[::-1]
            np.subtract(len(array) - 1, back, out=order)
        else:
            order[...] = np.argsort(array, kind="stable")

    def permute(self, view: View, order: View) -> None:
        """Row `i` becomes what row ``order[i]`` was; allocates a copy of the rows."""
        array, rows = self._arrays("permute", view, order)
        array[...] = array[rows]

    def _arrays(self, what: str, *views: View) -> list[npt.NDArray[Any]]:
        """Arrays over the memory of Views, once nothing is under way on it.

        Without a fence where the space stands for a device, which sorts in order and waits for
        nothing.
        """
        if self._is_apart:
            self.synchronize(what)
        else:
            self.fence(what)
        return [view.memory_space.host_array(view) for view in views]
