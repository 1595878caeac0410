"""Structures of values that reductions join: numbers and tuples of them, nested or not.

Contributions, identities and results are compared by these types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from execspace.base.subclasses import fields_of
from execspace.contract.dtypes import record_class

from .types import Scalar, TupleTy, Type, python_type


def strong(type: Type) -> Type:
    """The type with its numbers strong."""
    if isinstance(type, TupleTy):
        return type.of(tuple(map(strong, type.items)))
    assert isinstance(type, Scalar)
    return type.strong


def same_structure(a: Type, b: Type) -> bool:
    """Whether two types nest tuples alike, whatever the types of their numbers."""
    if isinstance(a, TupleTy) and isinstance(b, TupleTy):
        return len(a.items) == len(b.items) and all(map(same_structure, a.items, b.items))
    return isinstance(a, Scalar) and isinstance(b, Scalar)


def described(type: Type) -> str:
    """The type for messages."""
    return f"a {type}" if isinstance(type, TupleTy) else str(type)


def dtype_names(type: Type) -> Any:
    """Names of the dtypes, nested as the type is."""
    if isinstance(type, TupleTy):
        return tuple(map(dtype_names, type.items))
    assert isinstance(type, Scalar)
    return type.name


def structure(value: Any) -> tuple[Type, list[Any], bool]:
    """Type of an identity, its numbers, and whether its dtype is settled.

    Raises
    ------
    TypeError
        If the value cannot be an identity.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return structure(value[()])
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            raise TypeError("is an array of records")
        if not value.size:
            raise TypeError("is an empty array")
        found, numbers = _joined([structure(v) for v in value])
        return found, numbers, True
    if isinstance(value, np.void) and value.dtype.names is not None:
        names = value.dtype.names
        own = record_class(value.dtype)
        found, numbers = _joined([structure(value[n]) for n in names], names, own)
        return found, numbers, True
    if isinstance(value, tuple) and value:
        fields = fields_of(value)
        parts: Iterator[tuple[Type, list[Any], bool]] = (structure(v) for v in value)
        found, numbers = _joined(list(parts), fields)
        return found, numbers, False
    if isinstance(value, bool | int | float | complex | np.number | np.bool_):
        return python_type(value), [value], False
    raise TypeError(f"is of type {type(value).__name__!r}")


def _joined(
    parts: list[tuple[Type, list[Any], bool]],
    names: tuple[str, ...] = (),
    own: type | None = None,
) -> tuple[Type, list[Any]]:
    items = tuple(t for t, _, _ in parts)
    return TupleTy(items, names, own), [v for _, numbers, _ in parts for v in numbers]
