"""What Views do not do in Python, and what to write instead: arithmetic, comparisons, truth.

Python code on elements would run on the host, one element at a time, whatever the space; so each
operator says where arithmetic belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..base.errors import SpaceAccessError, ViewError, ViewTypeError
from ..contract.dtypes import name_of
from .view_keys import example_name

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
    "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = {"neg": "-", "pos": "+", "abs": "abs", "invert": "~"}


def _refusal(view: Any, operator: str, instead: str) -> ViewTypeError:
    return ViewTypeError(
        f"View '{view.label}': {operator!r} computes nothing on Views. Write a kernel, which runs "
        f"on any space: es.parallel_for({_policy(view)}, lambda {_indices(view)}: ...); or compute "
        f"with NumPy on a copy: {instead}."
    )


def _policy(view: Any) -> str:
    name = example_name(view)
    if len(view.shape) == 1:
        return f"{name}.size"
    return f"es.MDRangePolicy({name}.shape)" if view.shape else "1"


def _indices(view: Any) -> str:
    return ", ".join("ijklmnop"[: max(len(view.shape), 1)])


def _binary(name: str, operator: str) -> Callable[[Any, Any], Any]:
    def refuse(self: Any, other: Any) -> NoReturn:
        raise _refusal(self, operator, f"{example_name(self)}.to_numpy() {operator} ...")

    def refuse_reflected(self: Any, other: Any) -> NoReturn:
        raise _refusal(self, operator, f"... {operator} {example_name(self)}.to_numpy()")

    return refuse_reflected if name.startswith("r") and name[1:] in _BINARY else refuse


def _in_place(operator: str) -> Callable[[Any, Any], Any]:
    def refuse(self: Any, other: Any) -> NoReturn:
        raise _refusal(
            self, f"{operator}=",
            f"{example_name(self)}[...] = {example_name(self)}.to_numpy() {operator} ...",
        )  # fmt: skip

    return refuse


def _unary(operator: str) -> Callable[[Any], Any]:
    def refuse(self: Any) -> NoReturn:
        name = f"{example_name(self)}.to_numpy()"
        raise _refusal(self, operator, f"abs({name})" if operator == "abs" else operator + name)

    return refuse


class NoArithmetic:
    """Operators that raise; `View` derives from it."""

    __slots__ = ()

    # NumPy's arrays leave ``array + view`` to the View, which refuses it.
    __array_priority__ = 1000.0

    for _n, _o in _BINARY.items():
        locals()[f"__{_n}__"] = _binary(_n, _o)
        locals()[f"__r{_n}__"] = _binary(f"r{_n}", _o)
        locals()[f"__i{_n}__"] = _in_place(_o)
    for _n, _o in _COMPARISONS.items():
        locals()[f"__{_n}__"] = _binary(_n, _o)
    for _n, _o in _UNARY.items():
        locals()[f"__{_n}__"] = _unary(_o)
    del _n, _o

    def __bool__(self) -> bool:
        view: Any = self
        name = example_name(view)
        raise ViewTypeError(
            f"View '{view.label}': a View is neither true nor false. Ask for {name}.size, for "
            f"{name} is not None, or for the value of one element with {name}.item()."
        )

    def __float__(self) -> float:
        raise _no_number(self, "float")

    def __int__(self) -> int:
        raise _no_number(self, "int")

    def __complex__(self) -> complex:
        raise _no_number(self, "complex")


def _no_number(view: Any, kind: str) -> ViewTypeError:
    return ViewTypeError(
        f"View '{view.label}': {kind}() of a View would copy in secret where it is on a device. "
        f"Write {kind}({example_name(view)}.item()), which copies the one element."
    )


def check_comparable(view: Any, other: Any) -> None:
    """Raise ViewTypeError for ``view == other`` that asks for a comparison of elements."""
    if isinstance(other, int | float | complex | np.generic | np.ndarray | list | tuple):
        name = example_name(view)
        raise ViewTypeError(
            f"View '{view.label}': '==' compares no elements; two Views are equal if they are the "
            f"same part of the same memory. Compare values with NumPy on a copy: "
            f"np.array_equal({name}.to_numpy(), ...), or ({name}.to_numpy() == ...).all(); or in a "
            f"kernel: es.parallel_reduce({_policy(view)}, lambda {_indices(view)}: "
            f"{name}[{_indices(view)}] == ..., reducer=es.LAnd)."
        )


def out_of_reach(view: Any, stores: bool) -> SpaceAccessError:
    """The error for elements that the host cannot read, or with `stores` write, and what to do."""
    name = example_name(view)
    if stores:
        part = ", ".join(["i:i+1", *"jklmnop"][: view.rank]) or "..."
        cannot = (
            f"write element by element; store into a part, {name}[{part}] = value, or make a View "
            f"of an array that is ready: es.array(a)."
        )
    else:
        cannot = (
            f"read; copy it first: {name}.to_numpy(), or {name}.to(es.HOST) for a View that is a "
            f"copy only where it must be one."
        )
    return SpaceAccessError(
        f"View '{view.label}' is in memory space '{view.memory_space.name}', which the host cannot "
        f"{cannot}"
    )


def cannot_store(view: Any, value: Any, error: Exception) -> ViewError:
    """The error for a value that NumPy does not store into elements of a View."""
    kind = ViewTypeError if isinstance(error, TypeError) else ViewError
    return kind(
        f"View '{view.label}' of dtype {name_of(view.dtype)} cannot store "
        f"{type(value).__name__} there: {error}."
    )
