"""How functions of this library that kernels call refuse what they are called with.

A compiler knows these words by identity: what they say depends on types, which it knows, and is
told of the line of the user's kernel. Called as plain Python they look at values.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError

__all__ = [
    "check_function",
    "check_integer",
    "check_number",
    "holding",
    "holding_of",
    "refuse",
]


def check_integer(name: str, value: Any) -> None:
    """Refuse what is no integer, by the name of a parameter; costs nothing in kernels."""
    if holding(np.int64, value) == "none" and holding(np.uint64, value) == "none":
        refuse(INTEGER, INTEGER_HINT, name, value)


def check_number(value: Any, real: bool = False) -> None:
    """Refuse what is no number, or no real one; costs nothing in kernels."""
    if not isinstance(value, int | float | complex | np.number | np.bool):
        refuse(NUMBER, NUMBER_HINT, value)
    if real and isinstance(value, complex | np.complexfloating):
        refuse(REAL, REAL_HINT, value)


def check_function(name: str, value: Any) -> None:
    """Refuse what is no function, nor None; costs nothing in kernels."""
    if value is not None and not callable(value):
        refuse(FUNCTION, FUNCTION_HINT, name, value)


INTEGER, INTEGER_HINT = "{} is {}; expected an integer", "convert it with int(...)"
FUNCTION, FUNCTION_HINT = "{} is {}; expected a function", "write a lambda, or name a function"
NUMBER, NUMBER_HINT = "this function takes numbers, got {}", "of a View take elements: x[i]"
REAL, REAL_HINT = "this function takes real numbers, got {}", "take its .real, or abs(...)"


def refuse(message: str, hint: str, *values: Any) -> NoReturn:
    """Refuse the call: a KernelTypeError where a kernel is compiled, at the line of its caller.

    Parameters
    ----------
    message, hint : str
        What is wrong, and what to write instead. Constants, in which ``{}`` stands for values.
    *values
        Said by their types when a kernel is compiled.
    """
    numbers = [v.item() if isinstance(v, np.number) else v for v in values]
    shown = [v.__name__ if isinstance(v, type) else brief(v) for v in numbers]
    raise LaunchError(f"{message}; {hint}.".format(*shown))


def holding(kind: Any, value: Any) -> str:
    """Whether a type has the number that another one becomes in it: "all" or "none".

    In kernels it is a constant that depends on the type of `value`: whether `kind` has all numbers
    of it, some, so that they must be compared, or is no type for them. It is "weak" of an integer
    of a weak type, an index or a Python number, that is to be compared: comparing would convert it.
    """
    try:
        number = isinstance(value, int | float | complex | np.number | np.bool)
        same = number and bool(kind(value) == value)
    except (OverflowError, ValueError, TypeError):
        same = False
    return "all" if same or value != value else "none"


def holding_of(goal: np.dtype[Any], given: np.dtype[Any]) -> str:
    """The same of two types of numbers: "none" if numbers lose their kind."""
    kinds = "biufc"
    if given.kind not in kinds or (
        kinds.index(given.kind) > kinds.index(goal.kind) and given.kind != "u"
    ):
        return "none"
    if not np.can_cast(given, goal, "safe"):
        return "some"
    exact = goal.kind in "biu" or given.kind in "bfc" or np.iinfo(given).bits <= _digits(goal)
    return "all" if exact else "some"


def _digits(dtype: np.dtype[Any]) -> int:
    return int(np.finfo(dtype).nmant) + 1
