"""What subclasses of tuples and numbers compute in a way of their own.

Kernels see the number, or the items, and not the class: where its Python code would decide what
an operator or an attribute means, a kernel would mean something else.
"""

from __future__ import annotations

from collections import namedtuple
from enum import Enum
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

_SIGNS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and",
    "or", "xor", "matmul",
)  # fmt: skip
# What an operator, a conversion or a function such as len or abs calls.
_OPERATORS = (
    *(f"__{side}{name}__" for name in _SIGNS for side in ("", "r")),
    *(f"__{name}__" for name in (
        "eq", "ne", "lt", "le", "gt", "ge", "bool", "neg", "pos", "invert", "abs", "round",
        "trunc", "floor", "ceil", "int", "float", "complex", "index", "contains", "reversed",
    )),
)  # fmt: skip
# What reading the items or the attributes calls.
_READING = (
    "__getitem__", "__len__", "__iter__", "__getattribute__", "__getattr__", "real", "imag",
    "conjugate",
)  # fmt: skip
_MAKING = ("__new__", "__init__")
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_FIELD: Any = type(vars(namedtuple("_One", "a"))["a"])  # what reads a field of a NamedTuple
_known: WeakKeyDictionary[type, str | None] = WeakKeyDictionary()


def fields_of(value: Any) -> tuple[str, ...]:
    """Names of the fields of a NamedTuple or of its class; nothing for all else."""
    kind = value if isinstance(value, type) else type(value)
    if not issubclass(kind, tuple):
        return ()
    fields = _found(kind, "_fields")
    if not isinstance(fields, tuple) or not all(isinstance(f, str) for f in fields):
        return ()
    return fields


def own_operator(kind: type) -> str | None:
    """An operator, or way to read items, that a class of tuples or numbers defines itself."""
    if kind not in _known:
        _known[kind] = own_reading(kind) or _own(kind, _OPERATORS)
    return _known[kind]


def own_reading(kind: type) -> str | None:
    """A way to read items or fields that a class of tuples or numbers defines itself."""
    for n, field in enumerate(fields_of(kind)):
        found = _found(kind, field)
        if type(found) is not _FIELD or found.__reduce__()[1][0] != n:
            return field
    return _own(kind, _READING)


def own_making(kind: type) -> str | None:
    """`__new__` or `__init__` of a class of tuples, unless `namedtuple` made it."""
    found = _own(kind, _MAKING)
    if found != "__new__":
        return found
    made = _found(kind, found)
    made = made.__func__ if isinstance(made, staticmethod) else made
    module = made.__globals__.get("__name__") if isinstance(made, FunctionType) else None
    generated = isinstance(module, str) and module.startswith("namedtuple_")
    return _own(kind, ("__init__",)) if generated else found


def _own(kind: type, names: tuple[str, ...]) -> str | None:
    bases = (c for c in kind.__mro__ if c is tuple or c in _NUMBERS or c.__module__ == "numpy")
    base = next(bases, None)
    if base is None or base is kind:
        return None
    for name in names:
        found = _found(kind, name)
        if found is None or found is _found(base, name):
            continue
        if issubclass(kind, Enum) and _of_enum(found):
            continue
        return name
    return None


def _of_enum(found: Any) -> bool:
    """Whether it is what the module enum gives all enumerations."""
    found = getattr(found, "__func__", found)
    return getattr(found, "__module__", None) == "enum"


def _found(kind: type, name: str) -> Any:
    """What an attribute of a class is, without calling its code."""
    return next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)
