"""`es.simd`: types of vectors of a fixed width, for kernels.

A kernel that is called as a Python function gets values of `simd_values.py`, which are arrays of
NumPy. Compilers know types of vectors by their class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import DTypeError
from ..contract.dtypes import as_dtype
from ..contract.space import ExecutionSpace

if TYPE_CHECKING:
    from .simd_values import Simd

__all__ = ["SimdType", "simd"]

WIDEST = 64
_NAMES = ("float32", "float64", "int32", "int64", "uint32", "uint64")


@dataclass(frozen=True, slots=True)
class SimdType:
    """The type of vectors of `width` numbers of one dtype; made by `simd`.

    In a kernel it is called to make vectors: ``T(value)`` has the value in all lanes, or the lanes
    of another vector or mask, converted. Outside of kernels it does the same with NumPy.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the lanes.
    lanes : int
        How many there are; 0: each space has a width of its own.
    """

    dtype: np.dtype[Any]
    lanes: int

    @property
    def width(self) -> int:
        """Number of lanes; of a native type in a kernel that of its space, elsewhere that of the
        default space."""
        from ..plugins.selection import default_space

        return self.lanes or self.width_in(default_space().capabilities.vector_bytes)

    def width_in(self, nbytes: int) -> int:
        """Number of lanes where a vector has so many bytes."""
        return self.lanes or max(1, nbytes // self.dtype.itemsize)

    def on(self, space: ExecutionSpace | str) -> SimdType:
        """The type of the same vectors with the width that a space has, for code around launches.

        Parameters
        ----------
        space : ExecutionSpace or str

        Examples
        --------
        >>> import execspace as es
        >>> es.simd("float32").on("oracle").width
        4
        """
        from ..plugins.selection import resolve

        where = resolve(space)
        return _made(self.dtype, self.width_in(where.capabilities.vector_bytes))

    def __repr__(self) -> str:
        return f"es.simd({self.dtype.name!r}, {self.lanes or 'native'!r})"

    # -- in plain Python --------------------------------------------------------------------------

    def __call__(self, value: Any) -> Simd:
        """A vector of one number, or of the lanes of another vector, converted."""
        from .simd_values import converted

        return converted(self.dtype, self.width, value)

    def of(self, *lanes: Any) -> Simd:
        """A vector of one number for each lane."""
        from .simd_values import of_lanes

        return of_lanes(self.dtype, self.width, lanes)

    def generate(self, function: Callable[[int], Any]) -> Simd:
        """A vector of what a function gives for the number of each lane."""
        return self.of(*map(function, range(self.width)))

    def iota(self) -> Simd:
        """The numbers of the lanes: 0, 1, 2 and so on."""
        return self.generate(int)

    def first(self, n: Any) -> Simd:
        """A mask of the first `n` lanes: of all if `n` is not less than the width, of none if it
        is negative."""
        from .simd_values import first_lanes

        return first_lanes(self.width, n)

    def load(self, view: Any, index: Any, mask: Any = None, other: Any = 0) -> Simd:
        """The elements of a View of rank 1 from an index on, converted.

        Parameters
        ----------
        view : View
            Of rank 1, or a part of one that has rank 1, with any stride.
        index : int
            Of the first element; there is no alignment to heed.
        mask : mask of as many lanes, optional
            Elements of other lanes are not read, and need not exist.
        other : number or vector, optional
            What these lanes have then.
        """
        from .simd_values import loaded

        return loaded(self.dtype, self.width, view, index, mask, other)

    def gather(self, view: Any, indices: Any, mask: Any = None, other: Any = 0) -> Simd:
        """The elements of a View of rank 1 at the indices of an integer vector; otherwise as
        `load`."""
        from .simd_values import loaded

        return loaded(self.dtype, self.width, view, indices, mask, other)


_made = cache(SimdType)  # equal types are one object: launches compare them by identity


def simd(dtype: Any, width: int | str = "native") -> SimdType:
    """The type of vectors of a fixed number of lanes, as Kokkos' simd.

    Parameters
    ----------
    dtype : dtype
        float32, float64, int32, int64, uint32 or uint64.
    width : int or str, optional
        Number of lanes, a power of two up to 64, or ``"native"``: as many as the widest vector
        register of the host's processor holds, 8 bytes on GPUs, 16 bytes on the oracle; see
        `SimdType.on`.

    Raises
    ------
    DTypeError
        For another dtype or width.

    Examples
    --------
    >>> import execspace as es
    >>> import numpy as np
    >>> T = es.simd("float64", 4)
    >>> def half(i, x):
    ...     v = T.load(x, i * T.width)
    ...     np.where(v > 1.0, v * 0.5, v).store(x, i * T.width)
    >>> x = np.array([0.0, 1.0, 2.0, 4.0])
    >>> es.parallel_for(es.RangePolicy(1, space="oracle"), half, x)
    >>> x
    array([0., 1., 1., 2.])
    """
    kind = as_dtype(dtype)
    if kind.name not in _NAMES or kind.fields is not None:
        raise DTypeError(
            f"Vectors have no lanes of {kind}; expected one of {', '.join(_NAMES)}."
        )  # fmt: skip
    if isinstance(width, str) and width == "native":
        return _made(kind, 0)
    whole = isinstance(width, int | np.integer) and not isinstance(width, bool)
    if not whole or not 1 <= int(width) <= WIDEST or int(width) & (int(width) - 1):
        raise DTypeError(
            f"A vector cannot have {brief(width)} lanes; expected a power of two up to {WIDEST}, "
            f"or 'native'."
        )
    return _made(kind, int(width))
