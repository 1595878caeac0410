"""DynamicView: a View of rank 1 that the host lets grow, up to an extent that it says at first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..base.dataclass import dataclass
from ..base.errors import ViewError
from ..base.readonly import ReadOnly
from ..contract.memory import HOST
from ..contract.space import ExecutionSpace
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import chosen_space, whole

__all__ = [
    "DynamicView",
]


@dataclass(eq=False)
class DynamicView(ReadOnly):
    """Elements whose number the host changes with `resize_serial`; those that stay keep values.

    It is a dataclass of a View, so launches take it as an argument; kernels write ``d.data[i]`` and
    ``len(d.data)``. ``d.data`` is a View like any other, and may be passed itself.

    Parameters
    ----------
    chunk_size : int
        Memory grows by multiples of so many elements.
    max_extent : int
        The most elements there may be.
    dtype : dtype-like, default float64
    label : str
    space : str or ExecutionSpace, optional
        The default space if not given.
    reserve : bool, optional
        Allocate memory for `max_extent` elements at once. Not given: where it is memory of the
        host.

    Attributes
    ----------
    data : View
        The elements there are. `resize_serial` gives it anew.
    chunk_size, max_extent : int
    reserved : bool
        What became of `reserve`.
    space : ExecutionSpace

    Raises
    ------
    ViewError
        If a number is no integer, `chunk_size` is not above zero, or `max_extent` negative.
    DTypeError
        If there are no elements of this type.
    SpaceError
        If there is no such space.

    Notes
    -----
    Kernels have no tables of pointers, so the chunks are no allocations of their own, as they are
    in Kokkos; they lie one behind the other.

    With `reserve` no element ever moves, and growing costs nothing. Of the host's memory operating
    systems give pages only when they are first touched, so that what is not used costs addresses
    alone; the whole counts in `es.live_allocations`. A device gives all of it at once.

    Otherwise memory grows to twice of what it was, or what is asked for if that is more, and
    elements are copied, on average less than two for each that is added. For the time of the copy
    the old memory is there as well. A View that was ``d.data`` before keeps the old memory, and
    sees no later changes. When it shrinks, memory stays.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/DynamicView.html

    Examples
    --------
    >>> import execspace as es
    >>> d = es.DynamicView(4, 100, es.int64, space="serial")
    >>> d.resize_serial(3)
    >>> es.parallel_for(es.RangePolicy(3, space="serial"), es.kernel(lambda i, d: None), d)
    >>> d.data.fill(7)
    >>> d.resize_serial(5)
    >>> d.data.to_numpy(), d.size, d.allocation_extent
    (array([7, 7, 7, 0, 0]), 5, 100)
    """

    data: View

    _fixed = frozenset(("chunk_size", "max_extent", "reserved", "space"))
    _instead = "resize_serial gives it another extent; else make a new DynamicView"
    _for_kernels = ("data", "size")

    def __init__(
        self,
        chunk_size: int,
        max_extent: int,
        dtype: npt.DTypeLike = np.float64,
        *,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        reserve: bool | None = None,
    ) -> None:
        self.chunk_size = whole("DynamicView", "chunk_size", chunk_size, 1)
        self.max_extent = whole("DynamicView", "max_extent", max_extent)
        if not isinstance(reserve, bool | None):
            raise ViewError(f"DynamicView: reserve is {reserve!r}; expected True, False or None.")
        self.space = chosen_space(space)
        self.reserved = self.space.memory_space is HOST if reserve is None else reserve
        self._whole = View(
            self.max_extent if self.reserved else 0, dtype, label=label, space=self.space
        )
        self._touched = 0  # elements before this may be other than zero
        self.data = self._whole[:0]

    def __repr__(self) -> str:
        return (
            f"<DynamicView '{self._whole.label}' {self._whole.dtype.name} of {self.size} elements, "
            f"at most {self.max_extent}>"
        )

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.data.size

    @property
    def allocation_extent(self) -> int:
        """For how many elements there is memory."""
        return self._whole.size

    def resize_serial(self, extent: int) -> None:
        """Give it another number of elements; for the host. New ones are zero.

        Kernels that are launched afterwards see it. Blocks where elements are copied; otherwise it
        is in order with launches on the space.

        Raises
        ------
        ViewError
            If `extent` is no integer, negative, or greater than `max_extent`.
        """
        label = f"DynamicView '{self._whole.label}'"
        number = whole(label, "extent", extent, 0, self.max_extent)
        if number > self._whole.size:
            self._grow(number)
        elif number > self.size:
            stale = self._whole[self.size : min(number, self._touched)]
            if stale.size:
                deep_copy(stale, 0, instance=self.space)
        self._touched = max(self._touched, number)
        self.data = self._whole[:number]

    def _grow(self, extent: int) -> None:
        room = max(extent, 2 * self._whole.size)
        room = min(-(-room // self.chunk_size) * self.chunk_size, self.max_extent)
        old = self.data
        self._whole = View(room, old.dtype, label=self._whole.label, space=self.space)
        deep_copy(self._whole[: old.size], old)
        self._touched = old.size
