"""Reducers: how the contributions of a parallel_reduce are joined into one value.

The kernel returns its contribution and the reducer joins, so the two cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .dtypes import as_dtype
from .errors import DTypeError, LaunchError


@dataclass(frozen=True)
class Reducer:
    """Base of the built-in reducers.

    Parameters
    ----------
    dtype : dtype-like, optional
        Type in which contributions are joined, and of the result.

    Attributes
    ----------
    kind : str
        Name by which backends know the join: "sum", "prod", "min" or "max".
    """

    dtype: npt.DTypeLike | None = None

    kind = ""

    def __post_init__(self) -> None:
        if self.dtype is not None:
            object.__setattr__(self, "dtype", as_dtype(self.dtype).name)

    def accumulator(self, contribution: str) -> str:
        """Name of the dtype in which contributions of that dtype are joined."""
        return str(self.dtype) if self.dtype is not None else contribution

    def identity(self, dtype: str) -> Any:
        """Value that joins without effect: the result of an empty range."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Name for messages."""
        return type(self).__name__


class _Accumulates(Reducer):
    def accumulator(self, contribution: str) -> str:
        """Integers and bools join in 64 bits and floats in float64, unless `dtype` says else.

        Narrow sums overflow or lose digits silently; the memory traffic is the same.
        """
        if self.dtype is not None:
            return str(self.dtype)
        kind = np.dtype(contribution).kind
        return {"b": "int64", "i": "int64", "u": "uint64", "f": "float64"}.get(kind, "complex128")


class Sum(_Accumulates):
    """Sum of the contributions; 0 for an empty range."""

    kind = "sum"

    def identity(self, dtype: str) -> Any:
        return np.dtype(dtype).type(0)


class Prod(_Accumulates):
    """Product of the contributions; 1 for an empty range."""

    kind = "prod"

    def identity(self, dtype: str) -> Any:
        return np.dtype(dtype).type(1)


class _Ordered(Reducer):
    _sign = 1

    def identity(self, dtype: str) -> Any:
        kind = np.dtype(dtype)
        if kind.kind == "c":
            raise DTypeError(f"{self.name} cannot order complex numbers; reduce abs(z) instead.")
        if kind.kind == "f":
            return kind.type(self._sign * np.inf)
        if kind.kind == "b":
            return np.bool_(self._sign > 0)
        limits = np.iinfo(kind)
        return kind.type(limits.max if self._sign > 0 else limits.min)


class Min(_Ordered):
    """Least contribution; +inf (or the greatest integer) for an empty range.

    A NaN contribution makes the result NaN, as `numpy.min` does.
    """

    kind = "min"


class Max(_Ordered):
    """Greatest contribution; -inf (or the least integer) for an empty range.

    A NaN contribution makes the result NaN, as `numpy.max` does.
    """

    kind = "max"
    _sign = -1


def as_reducer(spec: Any) -> Reducer:
    """Turn `reducer=` into a reducer: an instance, a class, or the name a plugin gave it."""
    if isinstance(spec, Reducer):
        return spec
    if isinstance(spec, type) and issubclass(spec, Reducer):
        return spec()
    if isinstance(spec, str):
        from .plugins import registry

        entry = registry().reducers.get(spec)
        if entry is not None:
            return entry.reducer
        known = ", ".join(sorted(registry().reducers)) or "none"
        raise LaunchError(f"No plugin registers a reducer named {spec!r}; registered: {known}.")
    raise LaunchError(
        f"reducer={spec!r} is no reducer; expected es.Sum, es.Prod, es.Min, es.Max or an "
        f"instance of one."
    )
