"""What execution spaces on host memory have in common: their memory, a fence, and sorting."""

from __future__ import annotations

import numpy as np

from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..views.view import View

__all__ = [
    "HostExecutionSpace",
]


class HostExecutionSpace(ExecutionSpace):
    """An execution space on host memory whose launches are done when they return; derive from it.

    Its `synchronize` has nothing to wait for; one of which launches return early must override it.
    Its `SupportsSort` is NumPy's: that works on the calling thread and returns when it is done,
    after a fence of the space.

    Notes
    -----
    https://numpy.org/doc/stable/reference/generated/numpy.sort.html. In descending order a
    reversed array is sorted, so NaN comes first, and equal keys keep their order in `argsort`.
    """

    @property
    def memory_space(self) -> MemorySpace:
        """That of the host, `HOST`, so kernels take NumPy arrays in place."""
        return HOST

    def synchronize(self, label: str = "") -> None:
        """Nothing is ever under way."""

    def sort(self, view: View, descending: bool) -> None:
        """Sort a View of rank 1 in place with `numpy.ndarray.sort`; not stable."""
        self.fence("sort")
        array = np.asarray(view)
        (array[::-1] if descending else array).sort()

    def argsort(self, keys: View, descending: bool, out: View) -> None:
        """Permutation that sorts, with ``numpy.argsort(kind="stable")``; allocates another."""
        self.fence("argsort")
        array, order = np.asarray(keys), np.asarray(out)
        if descending:
            back = np.argsort(array[::-1], kind="stable")[::-1]
            np.subtract(len(array) - 1, back, out=order)
        else:
            order[...] = np.argsort(array, kind="stable")

    def permute(self, view: View, order: View) -> None:
        """Row `i` becomes what row ``order[i]`` was; allocates a copy of the rows."""
        self.fence("permute")
        array = np.asarray(view)
        array[...] = array[np.asarray(order)]
