"""Kernels' access to elements of vectors and multi-vectors by the same indices, and to factors."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..sparse.elements import value_of


@es.function
def at(x: Any, i: Any, j: Any) -> Any:
    """Element (i, j) by its value; element i of a vector, and 0 of what is not there."""
    if x is None:
        return 0
    elif x.rank == 1:
        return value_of(x[i])
    else:
        return value_of(x[i, j])


@es.function
def put(r: Any, i: Any, j: Any, value: Any) -> None:
    """Store element (i, j), or element i of a vector."""
    if r.rank == 1:
        r[i] = value
    else:
        r[i, j] = value


@es.function
def coefficient(a: Any, kind: Any, j: Any) -> Any:
    """A factor by the kind of `operands.Factor`."""
    if kind == "number":
        return a
    elif kind == "one":
        return a[()]
    else:
        return a[j]


@es.function
def widened(value: Any, kind: Any) -> Any:
    """An element in the type of a sum; "own" of records, which have but one."""
    if kind == "own":
        return value
    return kind(value)


@es.function
def conjugate(value: Any, conj: Any) -> Any:
    """A number, or its conjugate; of records what their class says."""
    if conj == "yes":
        if isinstance(value, es.Record):
            return value.conjugate()
        return np.conjugate(value)
    return value
