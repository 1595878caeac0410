"""Atomic steps on whole records in plain Python, and what compilers need of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import DTypeError
from ..views.record import Record


def same_bits(a: Any, b: Any) -> bool:
    """Whether two numbers or records of one type have the same bits, padding apart."""
    if isinstance(a, np.void):
        return all(same_bits(a[n], b[n]) for n in a.dtype.names or ())
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def set_record(element: Any, value: Any) -> None:
    """Set all fields of an element that is a record."""
    for name in element.dtype.names or ():
        element[name] = value[name]


# What a step on numbers is of records, which have Python's operators only.
_OF_RECORDS: dict[Any, Callable[[Any, Any], Any]] = {
    np.minimum: lambda a, b: b if b < a else a,
    np.maximum: lambda a, b: b if a < b else a,
    np.remainder: operator.mod,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
}


def check_record(element: Any) -> None:
    """Raise DTypeError for a record that has no class, for kernels have no values of such."""
    if not isinstance(element, Record):
        raise DTypeError(
            f"an atomic operation on elements of {element.dtype}; expected numbers, or records of "
            f"a class. Make the dtype a class of es.Record, or change fields one by one."
        )


def record_step(
    view: Any, index: Any, operation: Callable[[Any, Any], Any], value: Any
) -> tuple[Any, Any]:
    """Change a record; its value before and after."""
    old = view[index]
    check_record(old)
    old = old.copy()
    new = _OF_RECORDS.get(operation, operation)(old.copy(), value)
    if type(new) is not type(old):
        raise DTypeError(
            f"an atomic operation on elements of record {type(old).__name__} gives an object of "
            f"type {type(new).__name__!r}; expected a {type(old).__name__}."
        )
    view[index] = new
    return old, new
