"""What reducers join, as functions that kernels call: for what comes before a rank's part.

`joins.py` has the same for arrays of the host. The two agree to the bit.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import numpy as np

import execspace as es
from execspace.reducers.base import as_reducer

from .errors import CommError

__all__ = ["accumulator", "join_in_kernels", "reducer_of"]


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _least(a: Any, b: Any) -> Any:
    return np.minimum(a, b)  # NaN if one of them is, as the join of es.Min


def _greatest(a: Any, b: Any) -> Any:
    return np.maximum(a, b)


def _all(a: Any, b: Any) -> Any:
    return a != 0 and b != 0


def _any(a: Any, b: Any) -> Any:
    return a != 0 or b != 0


def _bits_of_all(a: Any, b: Any) -> Any:
    return a & b


def _bits_of_any(a: Any, b: Any) -> Any:
    return a | b


_JOINS: dict[str, Any] = {
    "sum": _sum, "prod": _product, "min": _least, "max": _greatest, "land": _all, "lor": _any,
    "band": _bits_of_all, "bor": _bits_of_any,
}  # fmt: skip


def reducer_of(reducer: Any, what: str) -> es.Reducer:
    """The reducer that is meant, if a scan over ranks has it.

    Raises
    ------
    CommError
        If it is none, a tuple of them, or one of arrays, of records or with locations.
    """
    try:
        found = as_reducer(reducer)
    except es.LaunchError as error:
        raise CommError(f"{what}: {error}") from None
    if isinstance(found, tuple):
        raise CommError(
            f"{what}: reducer={reducer!r}; expected one reducer. One of your own joins several "
            f"values at once: its identity is a tuple."
        )
    name = f"reducer {found.name}"
    if found.shape is not None:
        raise CommError(f"{what}: {name} has a shape; expected one of numbers, without it.")
    if found.kind == "custom":
        like = found.identity
        if isinstance(like, np.void):
            raise CommError(
                f"{what}: {name} joins records; expected numbers, tuples or small arrays. Make "
                f"its identity a NamedTuple of the same fields."
            )
    elif found.kind not in _JOINS:
        raise CommError(
            f"{what}: {name} is not for scans over ranks; expected es.Sum, es.Prod, es.Min, "
            f"es.Max, es.LAnd, es.LOr, es.BAnd, es.BOr, or one of your own."
        )
    return found


def join_in_kernels(reducer: es.Reducer) -> Any:
    """Its join, as an argument of a launch."""
    if reducer.kind != "custom":
        return _JOINS[reducer.kind]
    scope = reducer.scope("join")
    return MethodType(scope.fn, reducer) if scope.bound else scope.fn


def accumulator(reducer: es.Reducer, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which elements of a dtype are joined, as by `execspace.parallel_scan`."""
    found: np.dtype[Any]
    if reducer.kind != "custom":
        found = np.dtype(reducer.accumulator(dtype.name))  # type: ignore[attr-defined]
    elif reducer.dtype is not None:
        found = np.dtype(reducer.dtype)
    else:
        found = np.result_type(dtype, reducer.identity_for(dtype.name))
    return found
