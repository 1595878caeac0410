"""OffsetView: a View whose indices begin elsewhere than at 0, as those of a grid with a halo do."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import ViewError, ViewIndexError
from ..base.readonly import ReadOnly
from ..contract.dtypes import int64
from ..contract.space import ExecutionSpace
from ..kernels.refusals import holding, refuse
from ..views.view import View
from .arguments import given_view

if TYPE_CHECKING:
    from typing import Any as static  # the host passes an int
else:
    from ..views.static import static

__all__ = [
    "OffsetView",
]


@dataclass(eq=False)
class OffsetView(ReadOnly):
    """A View whose indices of each dimension begin at an integer of one's own, maybe negative.

    It is a dataclass of a View and numbers, so launches take it as an argument. Kernels and the
    host write ``a[i, j]``; kernels give atomic functions ``a.view`` and ``a.place(i, j)``.

    Parameters
    ----------
    begins : int or sequence of int
        The first index of each dimension, of 1 to 8.
    ends : int or sequence of int, optional
        The index behind the last one of each dimension.
    dtype : dtype-like, default float64
    shape : int or sequence of int, optional
        The extents, in place of `ends`.
    label : str
    space : str or ExecutionSpace, optional
    memory : str or MemorySpace, optional
    layout : optional
        As for `View`.

    Attributes
    ----------
    view : View
        The elements, from index 0 on.
    begins : tuple of int

    Raises
    ------
    ViewError
        If `begins` and the other bounds have not as many integers, an end comes before its begin,
        or not one of `ends` and `shape` is given.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/Offset-View.html. There bounds in
    braces are the first and the last index, here the first and the one behind the last.

    ``es.deep_copy(a.view, b.view)`` copies elements, wherever their indices begin.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> a = es.OffsetView((-1, 10), (3, 12), es.int64, space="serial")
    >>> @es.kernel
    ... def fill(i, j, a):
    ...     a[i, j] = 10 * i + j
    >>> es.parallel_for(es.MDRangePolicy(a.begins, a.ends, space="serial"), fill, a)
    >>> int(a[-1, 11]), np.asarray(a.view).tolist()
    (1, [[0, 1], [10, 11], [20, 21], [30, 31]])
    """

    view: View
    begins: tuple[int, ...]

    _fixed = frozenset(("begins", "view"))
    _instead = "Make a new OffsetView, or OffsetView.of(view, begins)"
    _for_kernels = (
        "view", "place", "begins", "begin", "end", "extent", "rank", "size", "shape", "dtype",
    )  # fmt: skip

    def __init__(
        self,
        begins: int | Sequence[int],
        ends: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike = np.float64,
        *,
        shape: int | Sequence[int] | None = None,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        memory: Any = None,
        layout: Any = None,
    ) -> None:
        first = _indices("begins", begins)
        if (ends is None) == (shape is None):
            raise ViewError(
                "OffsetView: ends and shape are both given, or neither; expected one of them: the "
                "index behind the last one of each dimension, or the extents."
            )
        if shape is None:
            last = _indices("ends", ends, len(first))
            extents = tuple(e - b for b, e in zip(first, last, strict=True))
        else:
            extents = _indices("shape", shape, len(first))
        for d, extent in enumerate(extents):
            if extent < 0:
                raise ViewError(
                    f"OffsetView: dimension {d} begins at {first[d]} and would end at "
                    f"{first[d] + extent}; expected an end that is no less."
                )
        self.view = View(extents, dtype, label=label, space=space, memory=memory, layout=layout)
        self.begins = first

    @classmethod
    def of(cls, view: View | Any, begins: int | Sequence[int]) -> OffsetView:
        """The elements of a View or an array, with indices that begin elsewhere. Copies nothing.

        Raises
        ------
        ViewError, ViewTypeError
            If there is not one begin for each dimension, or it is no View.
        """
        whole = given_view("OffsetView.of", "view", view, None)
        if not 1 <= whole.rank <= 8:
            raise ViewError(
                f"OffsetView.of: View '{whole.label}' has rank {whole.rank}; expected 1 to 8."
            )
        made = cls.__new__(cls)
        made.view = whole
        made.begins = _indices("begins", begins, whole.rank)
        return made

    def __repr__(self) -> str:
        bounds = ", ".join(f"{b}:{e}" for b, e in zip(self.begins, self.ends, strict=True))
        return f"<OffsetView '{self.label}' {self.dtype.name} [{bounds}]>"

    # -- for kernels ------------------------------------------------------------------------------

    def place(
        self,
        i: Any,
        j: Any = None,
        k: Any = None,
        m: Any = None,
        n: Any = None,
        o: Any = None,
        p: Any = None,
        q: Any = None,
    ) -> Any:
        """The index within `view`, as a tuple, which atomic functions take; for kernels."""
        b = self.begins
        if j is None:
            return (i - b[0],)
        if k is None:
            return i - b[0], j - b[1]
        if m is None:
            return i - b[0], j - b[1], k - b[2]
        if n is None:
            return i - b[0], j - b[1], k - b[2], m - b[3]
        if o is None:
            return i - b[0], j - b[1], k - b[2], m - b[3], n - b[4]
        if p is None:
            return i - b[0], j - b[1], k - b[2], m - b[3], n - b[4], o - b[5]
        if q is None:
            return i - b[0], j - b[1], k - b[2], m - b[3], n - b[4], o - b[5], p - b[6]
        return i - b[0], j - b[1], k - b[2], m - b[3], n - b[4], o - b[5], p - b[6], q - b[7]

    def kernel_getitem(self, at: Any) -> Any:
        """The element at an index, an integer or a tuple: what ``a[i, j]`` is in kernels."""
        return self.view[self._within(at)]

    def kernel_setitem(self, at: Any, value: Any) -> None:
        """Store a value at an index: what ``a[i, j] = value`` does in kernels."""
        self.view[self._within(at)] = value

    def _within(self, at: Any) -> Any:
        """The index within `view`; an object of kernels has a constant rank."""
        if self.view.rank == 1:
            if holding(int64, at) == "none":
                refuse("this OffsetView of rank 1 is indexed by {}; expected an integer",
                       "write a[i]", at,
                )  # fmt: skip
            return self.place(at)
        if holding(int64, at) != "none":
            refuse("this OffsetView of rank {} is indexed by one integer; expected one for each "
                   "dimension", "write a[i, j, ...]", self.view.rank,
            )  # fmt: skip
        elif len(at) != self.view.rank:
            refuse("this OffsetView of rank {} is indexed by {} integers; expected one for each "
                   "dimension", "write a[i, j, ...]", self.view.rank, len(at),
            )  # fmt: skip
        else:
            return self._place_of(at)

    def _place_of(self, at: Any) -> Any:
        """The same of a tuple."""
        if self.view.rank == 2:
            i, j = at
            return self.place(i, j)
        if self.view.rank == 3:
            i, j, k = at
            return self.place(i, j, k)
        if self.view.rank == 4:
            i, j, k, m = at
            return self.place(i, j, k, m)
        if self.view.rank == 5:
            i, j, k, m, n = at
            return self.place(i, j, k, m, n)
        if self.view.rank == 6:
            i, j, k, m, n, o = at
            return self.place(i, j, k, m, n, o)
        if self.view.rank == 7:
            i, j, k, m, n, o, p = at
            return self.place(i, j, k, m, n, o, p)
        i, j, k, m, n, o, p, q = at
        return self.place(i, j, k, m, n, o, p, q)

    def begin(self, d: static) -> Any:
        """The first index of dimension `d`, which is a constant in kernels."""
        return self.begins[d]

    def end(self, d: static) -> Any:
        """The index behind the last one of dimension `d`, which is a constant in kernels."""
        return self.begins[d] + self.view.extent(d)

    def extent(self, d: static) -> Any:
        """Number of indices of dimension `d`."""
        return self.view.extent(d)

    # -- on the host ------------------------------------------------------------------------------

    @property
    def ends(self) -> tuple[int, ...]:
        """The index behind the last one of each dimension."""
        return tuple(b + n for b, n in zip(self.begins, self.view.shape, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of all dimensions."""
        return self.view.shape

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return self.view.rank

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.view.size

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.view.dtype

    @property
    def label(self) -> str:
        """Name in messages and profiles."""
        return self.view.label

    def __len__(self) -> int:
        """Extent of the first dimension."""
        return self.view.extent(0)

    def __iter__(self) -> Iterator[Any]:
        """The elements, or rows, that the host can read, from the first index on."""
        return iter(self.view)

    def __getitem__(self, index: Any) -> Any:
        """An element that the host can read, or a part of it.

        A part is an OffsetView. As in Kokkos a dimension that stays whole keeps its begin, and one
        that is cut by a slice begins at 0.
        """
        parts = self._shifted(index)
        found = self.view[parts]
        kept = [
            self.begins[d] if part == slice(None) else 0
            for d, part in enumerate(parts)
            if isinstance(part, slice)
        ]
        return OffsetView.of(found, kept) if kept else found

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store into an element or a part, as into those of a View."""
        self.view[self._shifted(index)] = value

    def _shifted(self, index: Any) -> tuple[Any, ...]:
        """An index of the View, for each dimension; ViewIndexError beyond the bounds."""
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != self.rank:
            raise ViewIndexError(
                f"{self!r}: {len(given)} indices are given; expected {self.rank}, one for each "
                f"dimension."
            )
        return tuple(self._shifted_part(d, part) for d, part in enumerate(given))

    def _shifted_part(self, d: int, part: Any) -> Any:
        begin, end = self.begins[d], self.ends[d]
        if isinstance(part, slice):
            first = begin if part.start is None else _index(self, d, part.start)
            last = end if part.stop is None else _index(self, d, part.stop)
            if part.step not in (None, 1) or not begin <= first <= last <= end:
                raise ViewIndexError(
                    f"{self!r}: {brief(part)} is no range of dimension {d}; expected a slice "
                    f"within {begin}:{end}, without a step."
                )
            is_whole = (first, last) == (begin, end)
            return slice(None) if is_whole else slice(first - begin, last - begin)
        at = _index(self, d, part)
        if not begin <= at < end:
            raise ViewIndexError(
                f"{self!r}: index {at} is out of bounds for dimension {d}; expected {begin} to "
                f"{end - 1}."
            )
        return at - begin


def _index(view: OffsetView, d: int, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ViewIndexError(
            f"{view!r}: index {brief(value)} of dimension {d} is no integer; expected integers and "
            f"slices of them."
        ) from None


def _indices(name: str, values: Any, rank: int | None = None) -> tuple[int, ...]:
    """Integers for each dimension, one alone included."""
    given = tuple(values) if isinstance(values, Sequence | np.ndarray) else (values,)
    try:
        found = tuple(operator.index(v) for v in given)
    except TypeError:
        found = ()
    if not 1 <= len(found) <= 8 or rank not in (None, len(found)):
        expected = "1 to 8 integers" if rank is None else f"{rank} integers"
        raise ViewError(f"OffsetView: {name} is {brief(values)}; expected {expected}.")
    return found
