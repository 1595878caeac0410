"""functools.partial of functions that kernels know by identity: of NumPy, math and Python's own.

They have no body whose parameters could be bound, so a function that is written here, of the same
arguments, calls them. A call gives up to three arguments more than are bound.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from ..base.brief import brief
from ..base.errors import LaunchError
from .marks import FMA


def _with_0(f: Any, a: Any = None, b: Any = None, c: Any = None) -> Any:
    if a is None:
        return f()
    if b is None:
        return f(a)
    if c is None:
        return f(a, b)
    return f(a, b, c)


def _with_1(f: Any, p: Any, a: Any = None, b: Any = None, c: Any = None) -> Any:
    if a is None:
        return f(p)
    if b is None:
        return f(p, a)
    if c is None:
        return f(p, a, b)
    return f(p, a, b, c)


def _with_2(f: Any, p: Any, q: Any, a: Any = None, b: Any = None, c: Any = None) -> Any:
    if a is None:
        return f(p, q)
    if b is None:
        return f(p, q, a)
    if c is None:
        return f(p, q, a, b)
    return f(p, q, a, b, c)


def _with_3(f: Any, p: Any, q: Any, r: Any, a: Any = None, b: Any = None, c: Any = None) -> Any:
    if a is None:
        return f(p, q, r)
    if b is None:
        return f(p, q, r, a)
    if c is None:
        return f(p, q, r, a, b)
    return f(p, q, r, a, b, c)


_CALLERS: tuple[Any, ...] = (_with_0, _with_1, _with_2, _with_3)
for _caller in _CALLERS:
    _caller.__dict__[FMA] = True
_BOUND = ("p", "q", "r")


def library_partial(value: partial[Any]) -> tuple[FunctionType, dict[str, Any]]:
    """What calls such a function, and its parameters that are bound.

    Raises
    ------
    LaunchError
        If keywords bind others than its first parameters, or more than three are bound.
    """
    args = value.args
    if value.keywords:
        args = _by_position(value.func, value)
    if len(args) > len(_BOUND):
        raise LaunchError(
            f"functools.partial: {len(args)} arguments of {brief(value.func)} are bound; expected "
            f"{len(_BOUND)} at most. Write a function that calls it."
        )
    found: FunctionType = _CALLERS[len(args)]
    return found, {"f": value.func, **dict(zip(_BOUND, args, strict=False))}


def _by_position(f: Callable[..., Any], value: partial[Any]) -> tuple[Any, ...]:
    """The arguments that are bound, if they are the first ones."""
    try:
        bound = inspect.signature(f).bind_partial(*value.args, **value.keywords)
        names = list(bound.signature.parameters)[: len(bound.arguments)]
    except (TypeError, ValueError):
        bound, names = None, []
    if bound is None or list(bound.arguments) != names or bound.kwargs:
        raise LaunchError(
            f"functools.partial: keywords bind {', '.join(value.keywords)} of {brief(f)}; expected "
            f"its first arguments, by position. Write a function that calls it, such as a lambda."
        )
    return bound.args
