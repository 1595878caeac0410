"""Operators of reductions and scans: a reducer that is built in, or one of a function's own.

A function has no identity that is known, so `Joined` counts what has been joined along.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Any, cast

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError
from ..kernels.language import function
from ..reducers.base import Reducer, as_reducer
from ..reducers.builtin import BAnd, BOr, Max, Min, Prod, Sum
from .std_arguments import function_of

# What a reducer joins two numbers with, in kernels.
_FUNCTIONS: dict[type[Reducer], Any] = {
    Sum: function(lambda a, b: a + b),
    Prod: function(lambda a, b: a * b),
    Min: function(lambda a, b: np.minimum(a, b)),
    Max: function(lambda a, b: np.maximum(a, b)),
    BAnd: function(lambda a, b: a & b),
    BOr: function(lambda a, b: a | b),
}
_REDUCERS: dict[Any, type[Reducer]] = {
    operator.add: Sum,
    operator.mul: Prod,
    operator.and_: BAnd,
    operator.or_: BOr,
    np.add: Sum,
    np.multiply: Prod,
    np.minimum: Min,
    np.maximum: Max,
    np.bitwise_and: BAnd,
    np.bitwise_or: BOr,
}


class Joined(Reducer):
    """Joins numbers by a function; the value is whether there are any, and what they joined to.

    `total` says whether the result is that, or whether there were any.
    """

    identity = (False, 0)

    def __init__(self, function: Any, total: bool = True) -> None:
        self.function = function
        self.total = total

    def join(self, a: Any, b: Any) -> Any:
        value = a[1]
        if not a[0]:
            value = b[1]
        elif b[0]:
            value = self.function(a[1], b[1])
        return a[0] or b[0], value

    def final(self, a: Any) -> Any:
        if self.total:
            result = a[1]
        else:
            result = a[0]
        return result


def operator_of(op: Any, what: str) -> tuple[Reducer | None, Any]:
    """A built-in reducer, or None, and the function that joins two numbers in kernels.

    Raises
    ------
    LaunchError
        If it is neither a function nor a reducer that is built in and joins numbers.
    """
    if op is None:
        op = Sum
    with suppress(TypeError):  # of an object that has no hash
        op = _REDUCERS.get(op, op)
    kind = op if isinstance(op, type) else type(op)
    if issubclass(kind, Reducer):
        if kind not in _FUNCTIONS:
            names = ", ".join(f"es.{known.__name__}" for known in _FUNCTIONS)
            raise LaunchError(
                f"{what}: op={brief(op)}; expected a function of two values, or one of {names}. "
                f"Reducers of other kinds are for es.parallel_reduce and es.parallel_scan."
            )
        reducer = cast("Reducer", as_reducer(op))  # of a class its one instance
        if reducer.shape is not None:
            raise LaunchError(
                f"{what}: op={brief(op)} joins arrays; expected a reducer without shape=."
            )
        return reducer, _FUNCTIONS[kind]
    return None, function_of(op, what, "op", "two values")
