"""Kernels of BLAS 1 whose results depend on elements at the same place, for `elementwise`.

What is to be stored, the term, is a function of elements of x and y and of their factors a and c;
b is the factor of what is there. `how` is "set", "add", "more" without a factor, or "look".
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..sparse.elements import scaled, value_of
from .elements import at, coefficient, put

__all__ = ["stored", "stored_in_columns", "swapped", "swapped_columns"]


def stored(
    i: int, name: Any, how: Any, scaling: Any, a: Any, ak: Any, b: Any, bk: Any, c: Any, ck: Any,
    x: Any, y: Any, r: Any,
) -> None:  # fmt: skip
    """An element of a vector."""
    _store(i, 0, name, how, scaling, a, ak, b, bk, c, ck, x, y, r)


def stored_in_columns(
    i: int, j: int, name: Any, how: Any, scaling: Any, a: Any, ak: Any, b: Any, bk: Any, c: Any,
    ck: Any, x: Any, y: Any, r: Any,
) -> None:  # fmt: skip
    """An element of a multi-vector."""
    _store(i, j, name, how, scaling, a, ak, b, bk, c, ck, x, y, r)


@es.function
def _store(
    i: Any, j: Any, name: Any, how: Any, scaling: Any, a: Any, ak: Any, b: Any, bk: Any, c: Any,
    ck: Any, x: Any, y: Any, r: Any,
) -> None:  # fmt: skip
    value = _term(
        name, coefficient(a, ak, j), at(x, i, j), coefficient(c, ck, j), at(y, i, j), scaling
    )
    if how == "set":
        put(r, i, j, value)
    elif how == "more":
        put(r, i, j, value + at(r, i, j))
    elif how == "add":
        put(r, i, j, value + coefficient(b, bk, j) * at(r, i, j))
    else:
        beta = coefficient(b, bk, j)
        if beta == 0:
            put(r, i, j, value)
        else:
            put(r, i, j, value + beta * at(r, i, j))


@es.function
def _term(name: Any, a: Any, x: Any, c: Any, y: Any, scaling: Any) -> Any:
    if name == "multiple":
        return scaled(a, x, scaling)
    elif name == "multiples":
        return scaled(a, x, scaling) + scaled(c, y, scaling)
    elif name == "product":
        return scaled(a, x * y, scaling)
    elif name == "factor":
        return a
    elif name == "modulus":
        return np.absolute(x)
    else:
        return 1 / x


def swapped(i: int, x: Any, y: Any) -> None:
    """Exchange two elements of vectors."""
    before = value_of(x[i])
    x[i] = y[i]
    y[i] = before


def swapped_columns(i: int, j: int, x: Any, y: Any) -> None:
    """Exchange two elements of multi-vectors."""
    before = value_of(x[i, j])
    x[i, j] = y[i, j]
    y[i, j] = before
