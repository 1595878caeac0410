"""Atomic steps of any function of an element and a value, for kernels and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import ViewTypeError
from .atomic_records import record_step
from .atomics import element_of, stored_in

__all__ = ["atomic_fetch_oper", "atomic_oper_fetch"]


def _oper(operation: Any, view: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Set an element to `operation` of it and a value."""
    if not callable(operation):
        raise ViewTypeError(
            f"an atomic step by an object of type {type(operation).__name__!r}; expected a "
            f"function of the element and the value."
        )
    old, kind = element_of(view, index)
    if isinstance(old, np.void):
        return record_step(view, index, operation, value)
    new = stored_in(view, kind, operation(kind(old), value))
    view[index] = new
    return old, new


def atomic_fetch_oper(operation: Callable[..., Any], view: Any, index: Any, value: Any) -> Any:
    """Atomically set the element to ``operation(element, value)``; returns the value before it.

    The general form of the functions above, for any type of elements: numbers, which are changed
    by compare-and-swap, and records of a class, see `es.Record`, which are changed under locks
    that execspace keeps.

    Parameters
    ----------
    operation : function of two
        Pure: it may be called several times, with values that others change meanwhile. Its result
        is of the element's type; a wider one is refused.
    view : View or array
        Of numbers or of records of a class.
    index : int or tuple of int
    value : number or record
        What `operation` gets beside the element.

    Returns
    -------
    number or record
        Of the element's type. Does not block, but on records waits for others that change it.

    Raises
    ------
    DTypeError
        In a kernel a KernelTypeError: a result of another type, or records without a class.

    Notes
    -----
    All atomic operations on whole records exclude each other, on all spaces that share the memory.
    Those on fields of records, by the atomic trait, take no lock. Kokkos has no such function;
    that of desul, its library of atomic operations, is ``atomic_fetch_oper``.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> @es.function
    ... def saturated(a, b):
    ...     return min(a + b, 10)
    >>> def kernel(i, x):
    ...     es.atomic_fetch_oper(saturated, x, 0, 3)
    >>> x = np.zeros(1, np.int64)
    >>> es.parallel_for(es.RangePolicy(9, space="serial"), kernel, x)
    >>> x
    array([10])
    """
    return _oper(operation, view, index, value)[0]


def atomic_oper_fetch(operation: Callable[..., Any], view: Any, index: Any, value: Any) -> Any:
    """`atomic_fetch_oper` that returns the value that it stored.

    Parameters and exceptions are the same.
    """
    return _oper(operation, view, index, value)[1]
