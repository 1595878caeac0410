"""Values of vector types in plain Python: the lanes are an array of NumPy.

What a kernel with vectors computes when it is called as the Python function that it is. Operators
and functions of NumPy act lane by lane, with NumPy's rules, as kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..base.brief import brief

__all__ = ["Simd"]

_FUNCTIONS = (np.where, np.clip, np.round, np.real, np.imag)
_OF_MASKS = frozenset(
    ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "logical_not", "equal", "not_equal")
)


class Simd(NDArrayOperatorsMixin):
    """A vector, or a mask (a vector of bools); made by types of vectors and by operators.

    Attributes
    ----------
    numbers : numpy.ndarray
        The lanes.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: np.ndarray[Any, Any]) -> None:
        self.numbers = numbers

    @property
    def size(self) -> int:
        """Number of lanes."""
        return len(self.numbers)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the lanes."""
        found: np.dtype[Any] = self.numbers.dtype
        return found

    def __getitem__(self, lane: int) -> Any:
        return self.numbers[lane]

    def __setitem__(self, lane: int, value: Any) -> NoReturn:
        raise TypeError("lanes cannot be assigned; choose them by a mask: np.where(mask, a, v)")

    def __iter__(self) -> NoReturn:
        raise TypeError("a vector is no sequence; read its lanes: v[0], v[1]")

    def __bool__(self) -> bool:
        raise TypeError("the lanes of a mask may differ; write mask.any() or mask.all()")

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self.numbers.tolist()))}: {self.dtype.name}>"

    # -- operators and functions, lane by lane -----------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        if method != "__call__" or ufunc.signature is not None or options:
            return NotImplemented
        rows = _rows(inputs)
        if rows is None:
            return NotImplemented
        if ufunc.__name__ not in _OF_MASKS and any(_is_mask(x) for x in inputs):
            raise TypeError(
                f"a mask has no {ufunc.__name__}; make numbers of it: T(mask), or choose by it: "
                f"np.where(mask, a, b)"
            )
        with np.errstate(all="ignore"):
            return Simd(ufunc(*rows))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        rows = _rows(args) if func in _FUNCTIONS and not kwargs else None
        return NotImplemented if rows is None else Simd(func(*rows))

    # -- memory ---------------------------------------------------------------------------------

    def store(self, view: Any, index: Any, mask: Any = None) -> None:
        """Store the lanes in a View of rank 1, from an index on; of a mask's lanes only."""
        _put(self, view, index, mask)

    def scatter(self, view: Any, indices: Any, mask: Any = None) -> None:
        """Store the lanes at the indices of an integer vector; if two are equal, the last lane
        stays."""
        _put(self, view, indices, mask)

    # -- reductions -----------------------------------------------------------------------------

    def sum(self, mask: Any = None) -> Any:
        """Sum of the lanes, of a mask's only if there is one; see `docs/simd.md` for the order."""
        return _halved(np.add, self, mask, 0)

    def prod(self, mask: Any = None) -> Any:
        """Product of the lanes."""
        return _halved(np.multiply, self, mask, 1)

    def min(self, mask: Any = None) -> Any:
        """The least lane, NaN if any is."""
        return _halved(np.minimum, self, mask, limits(self.dtype)[1])

    def max(self, mask: Any = None) -> Any:
        """The greatest lane, NaN if any is."""
        return _halved(np.maximum, self, mask, limits(self.dtype)[0])

    def any(self) -> Any:
        """Whether a mask holds for some lane."""
        return np.bool_(_mask(self).any())

    def all(self) -> Any:
        """Whether a mask holds for all lanes."""
        return np.bool_(_mask(self).all())

    def none(self) -> Any:
        """Whether a mask holds for no lane."""
        return np.bool_(not _mask(self).any())

    def count(self) -> Any:
        """For how many lanes a mask holds."""
        return np.int64(np.count_nonzero(_mask(self)))


def limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the greatest number of a type, infinities included."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def converted(dtype: np.dtype[Any], width: int, value: Any) -> Simd:
    """A number in all lanes, or the lanes of a vector, in the type of a vector."""
    numbers = value.numbers if isinstance(value, Simd) else np.asarray(value)
    if numbers.shape != ((width,) if isinstance(value, Simd) else ()):
        raise TypeError(
            f"a vector of {dtype.name} with {width} lanes is made of a number or of as many lanes, "
            f"got {brief(value)}"
        )
    with np.errstate(all="ignore"):
        return Simd(np.full(width, numbers.astype(dtype)))


def of_lanes(dtype: np.dtype[Any], width: int, lanes: tuple[Any, ...]) -> Simd:
    """A vector of one number for each lane."""
    if len(lanes) != width:
        raise TypeError(
            f"a vector of {dtype.name} with {width} lanes is made of as many numbers, got "
            f"{len(lanes)}"
        )
    with np.errstate(all="ignore"):
        return Simd(np.array([np.asarray(x).astype(dtype) for x in lanes], dtype))


def first_lanes(width: int, n: Any) -> Simd:
    """A mask of the first lanes."""
    return Simd(np.arange(width) < n)


def loaded(
    dtype: np.dtype[Any], width: int, view: Any, indices: Any, mask: Any, other: Any
) -> Simd:
    """Elements of a View, converted; `indices`: that of the first one, or those of all lanes."""
    chosen = _chosen(width, mask)
    rest = converted(dtype, width, other).numbers
    pairs = zip(_indices(width, indices), chosen, rest, strict=True)
    return of_lanes(dtype, width, tuple(view[i] if yes else x for i, yes, x in pairs))


def _put(v: Simd, view: Any, indices: Any, mask: Any) -> None:
    chosen = _chosen(v.size, mask)
    for i, x, yes in zip(_indices(v.size, indices), v.numbers, chosen, strict=True):
        if yes:
            view[i] = x


def _indices(width: int, indices: Any) -> Iterable[int]:
    if not isinstance(indices, Simd):
        return range(int(indices), int(indices) + width)
    found: list[int] = indices.numbers.tolist()
    if len(found) != width:
        raise TypeError(f"{width} lanes need as many indices, got {len(found)}")
    return found


def _chosen(width: int, mask: Any) -> np.ndarray[Any, Any]:
    if mask is None:
        return np.ones(width, bool)
    found = _mask(mask)
    if len(found) != width:
        raise TypeError(f"{width} lanes need a mask of as many, got one of {len(found)}")
    return found


def _is_mask(value: Any) -> bool:
    return isinstance(value, Simd) and value.dtype == bool


def _mask(value: Any) -> np.ndarray[Any, Any]:
    if not _is_mask(value):
        raise TypeError(f"expected a mask, which comparisons give, got {brief(value)}")
    found: np.ndarray[Any, Any] = value.numbers
    return found


def _rows(values: Iterable[Any]) -> list[Any] | None:
    """Arrays of lanes and numbers; None if there is something else."""
    rows = [x.numbers if isinstance(x, Simd) else x for x in values]
    widths = {len(x) for x in rows if isinstance(x, np.ndarray)}
    if len(widths) > 1:
        raise TypeError(f"vectors of {' and '.join(map(str, sorted(widths)))} lanes do not mix")
    plain = (bool, int, float, complex, np.generic, np.ndarray)
    return rows if all(isinstance(x, plain) for x in rows) else None


def _halved(function: Any, v: Simd, mask: Any, identity: Any) -> Any:
    """The lanes joined: the first half with the second one, until one is left."""
    lanes = v.numbers
    if lanes.dtype == bool:
        raise TypeError("a mask has any, all, none and count; T(mask) makes numbers of it")
    if mask is not None:
        lanes = np.where(_chosen(v.size, mask), lanes, lanes.dtype.type(identity))
    with np.errstate(all="ignore"):
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = function(lanes[:half], lanes[half:])
    return lanes[0]
