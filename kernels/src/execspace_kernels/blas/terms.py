"""What elements contribute to reductions, and how contributions are joined and results finished.

By names, which are compile-time constants: launches that are given functions take longer to begin.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import execspace as es

from .elements import at, conjugate, widened


@es.function
def term(name: Any, x: Any, y: Any, i: Any, j: Any, kind: Any) -> Any:
    """The contribution of element (i, j) of x, and y, in the type of the sum."""
    if name == "dot":
        return conjugate(widened(at(x, i, j), kind), "yes") * widened(at(y, i, j), kind)
    elif name == "dotu":
        return widened(at(x, i, j), kind) * widened(at(y, i, j), kind)
    elif name == "value":
        return widened(at(x, i, j), kind)
    elif name == "modulus":
        return modulus(x, i, j, kind)
    elif name == "parts":
        value = at(x, i, j)
        return kind(np.absolute(value.real)) + kind(np.absolute(value.imag))
    elif name == "square":
        return _square(x, i, j, kind)
    else:
        return _place_of(x, y, i, j, kind)


@es.function
def modulus(x: Any, i: Any, j: Any, kind: Any) -> Any:
    """|x|."""
    if x.dtype == np.complex64 or x.dtype == np.complex128:
        return kind(np.absolute(at(x, i, j)))
    else:
        return np.absolute(kind(at(x, i, j)))


@es.function
def _square(x: Any, i: Any, j: Any, kind: Any) -> Any:
    value = at(x, i, j)
    if x.dtype == np.complex64 or x.dtype == np.complex128:
        re = kind(value.real)
        im = kind(value.imag)
        return re * re + im * im
    else:
        size = kind(value)
        return size * size


@es.function
def _place_of(x: Any, largest: Any, i: Any, j: Any, kind: Any) -> Any:
    """The row, if the element is the greatest one of the column; else the number of rows."""
    most = largest[j]
    size = np.absolute(at(x, i, j))
    is_it = size != size if most != most else size == most
    return kind(i) if is_it else kind(x.extent(0))


@es.function
def joined(a: Any, b: Any, join: Any) -> Any:
    """Two contributions as one, by "sum", "max" or "min"."""
    if join == "sum":
        return a + b
    elif join == "max":
        return np.maximum(a, b)
    else:
        return np.minimum(a, b)


@es.function
def finished(value: Any, rows: Any, finish: Any) -> Any:
    """The result for a column: the "value", its "root", or as a "place" -1 for none."""
    if finish == "value":
        return value
    elif finish == "root":
        return math.sqrt(value)
    else:
        return value if value < rows else -1


@cache
def sum_of_numbers(dtype: np.dtype[Any]) -> Any:
    """The reducer of sums in a dtype; one object for all launches, which begin sooner so."""
    return es.Sum(dtype=dtype)


@cache
def sum_of_records(dtype: np.dtype[Any]) -> Any:
    """The reducer that adds records of a class."""

    class SumOf(es.Reducer):
        identity = dtype.type(0)

        @staticmethod
        def join(a: Any, b: Any) -> Any:
            return a + b

    return SumOf()
