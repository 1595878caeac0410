"""The built-in reducers, which are Kokkos', and the records that some of them give.

Compilers know their joins by `kind`. Identities are those of IEEE arithmetic: the minimum of
nothing is +inf. Of equal values that have a location, the first location is kept, so results
are the same on every space.

Source: https://kokkos.org/kokkos-core-wiki/API/core/builtin_reducers.html
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import DTypeError, LaunchError
from ..base.storage_types import format_of
from ..contract.dtypes import as_dtype
from .base import Reducer, checked_shape

__all__ = [
    "BAnd",
    "BOr",
    "FirstLoc",
    "LAnd",
    "LOr",
    "LastLoc",
    "Max",
    "MaxFirstLoc",
    "MaxLoc",
    "Min",
    "MinFirstLoc",
    "MinLoc",
    "MinMax",
    "MinMaxFirstLastLoc",
    "MinMaxLoc",
    "MinMaxLocScalar",
    "MinMaxScalar",
    "Prod",
    "StdIsPartScalar",
    "StdIsPartitioned",
    "StdPartitionPoint",
    "Sum",
    "ValLocScalar",
]


class ValLocScalar(NamedTuple):
    """A value and where it was found."""

    val: Any
    loc: Any


class MinMaxScalar(NamedTuple):
    """Least and greatest value."""

    min_val: Any
    max_val: Any


class MinMaxLocScalar(NamedTuple):
    """Least and greatest value, and where they were found."""

    min_val: Any
    max_val: Any
    min_loc: Any
    max_loc: Any


class StdIsPartScalar(NamedTuple):
    """Last location of a true contribution and first location of a false one."""

    max_loc_true: Any
    min_loc_false: Any


@dataclass(frozen=True)
class BuiltIn(Reducer):
    """Base of the built-in reducers.

    Parameters
    ----------
    dtype : dtype-like, optional
        Type in which contributions are joined, and of the result.
    """

    dtype: npt.DTypeLike | None = None

    def __post_init__(self) -> None:
        if self.dtype is not None:
            dtype = as_dtype(self.dtype)
            if format_of(dtype) is not None:
                raise DTypeError(
                    f"reducer {self.name} of dtype {dtype.name}: elements of that type only store "
                    f"numbers, and nothing is joined in it; expected float32 or another type that "
                    f"kernels compute in."
                )
            object.__setattr__(self, "dtype", dtype.name)

    def accumulator(self, contribution: str) -> str:
        """Name of the dtype in which contributions of that dtype are joined."""
        return str(self.dtype) if self.dtype is not None else contribution

    def as_result(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class _Joining(BuiltIn):
    """Base of those that join numbers one by one, and so the elements of arrays, too.

    Parameters
    ----------
    dtype : dtype-like, optional
        Type in which contributions are joined, and of the result.
    shape : int or tuple of int, optional
        Makes it the reduction of a small array: the kernel gets an array of that shape after
        its indices, joins into it and returns nothing; the result is a NumPy array. Its dtype
        is float64 unless `dtype` says else.
    """

    shape: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape is None:
            return
        object.__setattr__(self, "shape", checked_shape(f"es.{self.name}", self.shape))


class _Accumulates(_Joining):
    def accumulator(self, contribution: str) -> str:
        """Integers and bools join in 64 bits and floats in float64, unless `dtype` says else.

        Narrow sums overflow or lose digits silently; the memory traffic is the same.
        """
        if self.dtype is not None:
            return str(self.dtype)
        kind = np.dtype(contribution).kind
        return {"b": "int64", "i": "int64", "u": "uint64", "f": "float64"}.get(kind, "complex128")


@dataclass(frozen=True)
class Sum(_Accumulates):
    """Sum of the contributions; 0 for an empty range.

    Parameters
    ----------
    dtype : dtype-like, optional
        As for all reducers; without it integers are added in 64 bits and floats in float64.
    shape : int or tuple of int, optional
        Makes it the sum of small arrays: the kernel gets an array after its indices, adds into
        it and returns nothing.
    accuracy : {"normal", "high"}, default "normal"
        "high" carries the rounding error of each addition along (Neumaier's compensated sum,
        ZAMM 54, 1974; two numbers a thread): the error is that of one rounding of the result,
        and besides at most (n * 2.3e-16)**2 times the sum of the magnitudes.
    """

    kind = "sum"
    accuracy: str = "normal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.accuracy, str) or self.accuracy not in ("normal", "high"):
            raise LaunchError(
                f"es.Sum(accuracy={brief(self.accuracy)}): expected 'normal' or 'high'."
            )
        if self.accuracy == "high" and self.shape is not None:
            raise LaunchError("es.Sum: an array reduction cannot have accuracy='high'.")

    def identity(self, dtype: str) -> Any:
        return np.dtype(dtype).type(0)


class Prod(_Accumulates):
    """Product of the contributions; 1 for an empty range."""

    kind = "prod"

    def identity(self, dtype: str) -> Any:
        return np.dtype(dtype).type(1)


def extreme(name: str, dtype: str, sign: int) -> Any:
    """The greatest number of a dtype (`sign` 1) or the least (-1); infinite for floats."""
    kind = np.dtype(dtype)
    if kind.kind == "c":
        raise DTypeError(f"{name} cannot order complex numbers; reduce abs(z) instead.")
    if kind.kind == "f":
        return kind.type(sign * np.inf)
    if kind.kind == "b":
        return np.bool_(sign > 0)
    limits = np.iinfo(kind)
    return kind.type(limits.max if sign > 0 else limits.min)


class Min(_Joining):
    """Least contribution; +inf (or the greatest integer) for an empty range.

    A NaN contribution makes the result NaN, as `numpy.min` does.
    """

    kind = "min"

    def identity(self, dtype: str) -> Any:
        return extreme(self.name, dtype, 1)


class Max(_Joining):
    """Greatest contribution; -inf (or the least integer) for an empty range.

    A NaN contribution makes the result NaN, as `numpy.max` does.
    """

    kind = "max"

    def identity(self, dtype: str) -> Any:
        return extreme(self.name, dtype, -1)


class _Logical(_Joining):
    def accumulator(self, contribution: str) -> str:
        """Contributions of any type count as true if they are not zero."""
        return "bool"


class LAnd(_Logical):
    """Whether all contributions are true (not zero; a NaN is true); true for an empty range."""

    kind = "land"

    def identity(self, dtype: str) -> Any:
        return np.bool_(True)


class LOr(_Logical):
    """Whether any contribution is true (not zero; a NaN is true); false for an empty range."""

    kind = "lor"

    def identity(self, dtype: str) -> Any:
        return np.bool_(False)


class _Bitwise(_Joining):
    def accumulator(self, contribution: str) -> str:
        """The type of the contributions, which must be integers or bools."""
        name = super().accumulator(contribution)
        if np.dtype(name).kind not in "biu" or np.dtype(contribution).kind not in "biu":
            raise DTypeError(f"{self.name} joins bits of integers, not {contribution}.")
        return name


class BAnd(_Bitwise):
    """Bits that all contributions have; all bits for an empty range. Integers and bools."""

    kind = "band"

    def identity(self, dtype: str) -> Any:
        return ~np.dtype(dtype).type(0)


class BOr(_Bitwise):
    """Bits that any contribution has; none for an empty range. Integers and bools."""

    kind = "bor"

    def identity(self, dtype: str) -> Any:
        return np.dtype(dtype).type(0)


class Kept(NamedTuple):
    """Which of all pairs a reducer keeps.

    `greatest`: that of the greatest value, or of a condition that is true; else that of the least,
    or of one that is false. `last`: of several such pairs the one with the last location.
    """

    greatest: bool
    last: bool = False


class Locating(BuiltIn):
    """Base of those that join pairs: a value, or a condition, with its location.

    Attributes
    ----------
    keeps : tuple of Kept
        The pairs that the result has.
    conditions : bool
        The kernel returns conditions; the result has the locations only.
    """

    keeps: ClassVar[tuple[Kept, ...]]
    conditions: ClassVar[bool] = False


class MinLoc(Locating):
    """Least value and its location; the kernel returns ``(value, location)``.

    The location is a number or a tuple of numbers. Of equal values the least location is kept
    (of tuples, the first in lexicographic order). A NaN value wins, as in `numpy.argmin`. An
    empty range gives the identity of `Min` and the greatest location that its type has.
    The result is a `ValLocScalar`.
    """

    kind = "minloc"
    keeps = (Kept(greatest=False),)

    def as_result(self, value: Any) -> Any:
        return ValLocScalar(*value)


class MaxLoc(MinLoc):
    """Greatest value and its location; see `MinLoc`, but -inf for an empty range."""

    kind = "maxloc"
    keeps = (Kept(greatest=True),)


class MinFirstLoc(MinLoc):
    """The same as `MinLoc`, which keeps the first location here; for code from Kokkos."""

    kind = "minloc"


class MaxFirstLoc(MaxLoc):
    """The same as `MaxLoc`, which keeps the first location here; for code from Kokkos."""

    kind = "maxloc"


class MinMax(BuiltIn):
    """Least and greatest contribution, as a `MinMaxScalar`; see `Min` and `Max`."""

    kind = "minmax"

    def as_result(self, value: Any) -> Any:
        return MinMaxScalar(*value)


class MinMaxLoc(Locating):
    """Least and greatest value with their first locations, as a `MinMaxLocScalar`.

    The kernel returns ``(value, location)``; see `MinLoc` and `MaxLoc`.
    """

    kind = "minmaxloc"
    keeps = (Kept(greatest=False), Kept(greatest=True))

    def as_result(self, value: Any) -> Any:
        return MinMaxLocScalar(*value)


class MinMaxFirstLastLoc(MinMaxLoc):
    """As `MinMaxLoc`, but of equal greatest values the last location is kept.

    An empty range gives the least location that its type has for the greatest value.
    """

    kind = "minmaxfirstlastloc"
    keeps = (Kept(greatest=False), Kept(greatest=True, last=True))


class FirstLoc(Locating):
    """First location of a true contribution; the kernel returns ``(condition, location)``.

    The greatest location that its type has if no contribution is true.
    """

    kind = "firstloc"
    keeps = (Kept(greatest=True),)
    conditions = True


class LastLoc(Locating):
    """Last location of a true contribution; the kernel returns ``(condition, location)``.

    The least location that its type has if no contribution is true.
    """

    kind = "lastloc"
    keeps = (Kept(greatest=True, last=True),)
    conditions = True


class StdIsPartitioned(Locating):
    """Last location of a true contribution and first one of a false, as a `StdIsPartScalar`.

    The kernel returns ``(condition, location)``. A row is partitioned, true ones first, exactly
    if the former is less than the latter.
    """

    kind = "stdispartitioned"
    keeps = (Kept(greatest=True, last=True), Kept(greatest=False))
    conditions = True

    def as_result(self, value: Any) -> Any:
        return StdIsPartScalar(*value)


class StdPartitionPoint(Locating):
    """First location of a false contribution; the kernel returns ``(condition, location)``."""

    kind = "stdpartitionpoint"
    keeps = (Kept(greatest=False),)
    conditions = True
