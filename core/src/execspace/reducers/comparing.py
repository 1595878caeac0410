"""Kokkos' reducers that find extremes by a comparator of the user's.

They are reducers as a user writes them: pairs of a value and its location are joined by a function
in the language of kernels. Of equal values the location decides, so all spaces find the same.

Source: https://kokkos.org/kokkos-core-wiki/API/core/builtin_reducers.html
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError
from ..kernels.captures import parameters, scope_of
from ..kernels.language import function
from .base import Reducer
from .builtin import MinMaxLocScalar, ValLocScalar

__all__ = [
    "MaxFirstLocCustomComparator",
    "MinFirstLocCustomComparator",
    "MinMaxFirstLastLocCustomComparator",
]


def _of_nothing(name: Any) -> Any:
    """What stands for a value before there is one: zeros of its dtypes."""
    if isinstance(name, tuple):
        return tuple(map(_of_nothing, name))
    return np.dtype(name).type(0)


def _shown(names: Any) -> str:
    return str(names) if isinstance(names, str) else f"({', '.join(map(_shown, names))})"


@function
def _first(before: Any, a: Any, b: Any) -> Any:
    """Of two pairs the one whose value is before the other's, else that of the first location."""
    nothing = np.iinfo(a[1]).max
    if a[1] == nothing:
        return b
    if b[1] == nothing:
        return a
    if before(b[0], a[0]):
        return b
    if before(a[0], b[0]):
        return a
    return b if b[1] < a[1] else a


class _Comparing(Reducer):
    """Base of these: the function, and what stands for a pair before there is one."""

    def __init__(self, less: Callable[[Any, Any], Any]) -> None:
        scope = scope_of(less)
        known = isinstance(less, BuiltinFunctionType | np.ufunc)  # operator.lt, numpy.less
        free = () if scope is None else [n for n in parameters(scope.fn) if n not in scope.bound]
        if not known and len(free) != 2:
            got = "" if scope is None else f" of {len(free)} parameters"
            raise LaunchError(
                f"{type(self).__name__}(less={brief(less)}){got}: expected a function of two "
                f"values that says whether the first is less than the second."
            )
        self.less = less

    def identity(self, names: Any) -> Any:
        """Zeros, and the greatest location that its type has, which says that there is none."""
        if not (isinstance(names, tuple) and len(names) == 2 and np.dtype(names[1]).kind in "iu"):
            raise LaunchError(
                f"reducer {self.name} takes a value and its location, an integer: (v, i); this "
                f"kernel returns {_shown(names)}."
            )
        return _of_nothing(names[0]), np.iinfo(names[1]).max


class MinFirstLocCustomComparator(_Comparing):
    """The first of all pairs whose value no other value is less than, by a comparator.

    The kernel returns ``(value, location)``: the value is a number or a tuple of numbers, the
    location an integer, less than the greatest that its type has. The result is a `ValLocScalar`;
    of an empty range its value is 0 and its location that greatest integer.

    Parameters
    ----------
    less : function of two values
        Whether the first is less than the second: a strict weak order, as for `es.sort`.

    Raises
    ------
    LaunchError
        `less` is no function, or the kernel returns something else.

    Examples
    --------
    >>> import execspace as es
    >>> @es.function
    ... def nearer(a, b):
    ...     return abs(a) < abs(b)
    >>> nearest = es.MinFirstLocCustomComparator(nearer)
    >>> policy = es.RangePolicy(9, space="serial")
    >>> es.parallel_reduce(policy, lambda i: (i - 5.5, i), reducer=nearest)
    ValLocScalar(val=-0.5, loc=5)
    """

    def join(self, a: Any, b: Any) -> Any:
        return _first(self.less, a, b)

    def as_result(self, value: Any) -> Any:
        """As a `ValLocScalar`."""
        return ValLocScalar(*value)


class MaxFirstLocCustomComparator(_Comparing):
    """The first of all pairs whose value is less than no other, by a comparator.

    Otherwise as `MinFirstLocCustomComparator`.
    """

    def join(self, a: Any, b: Any) -> Any:
        return _first(lambda v, w: self.less(w, v), a, b)

    def as_result(self, value: Any) -> Any:
        """As a `ValLocScalar`."""
        return ValLocScalar(*value)


class MinMaxFirstLastLocCustomComparator(_Comparing):
    """Both: of equal least values the first location, of equal greatest values the last.

    The kernel returns ``(value, value, location, location)``, the same twice, as the state is: what
    Kokkos' functors store. The result is a `MinMaxLocScalar`; otherwise as
    `MinFirstLocCustomComparator`.
    """

    def identity(self, names: Any) -> Any:
        """Zeros, and the locations that say that there is none."""
        if not (isinstance(names, tuple) and len(names) == 4):
            raise LaunchError(
                f"reducer {self.name} takes a value twice and its location twice, (v, v, i, i); "
                f"this kernel returns {_shown(names)}."
            )
        low, first = _Comparing.identity(self, names[0::2])
        high, last = _Comparing.identity(self, names[1::2])
        return low, high, first, last

    def join(self, a: Any, b: Any) -> Any:
        nothing = np.iinfo(a[2]).max
        if a[2] == nothing:
            return b
        if b[2] == nothing:
            return a
        low_is_b = self.less(b[0], a[0]) or (not self.less(a[0], b[0]) and b[2] < a[2])
        high_is_b = self.less(a[1], b[1]) or (not self.less(b[1], a[1]) and b[3] > a[3])
        return (
            b[0] if low_is_b else a[0],
            b[1] if high_is_b else a[1],
            b[2] if low_is_b else a[2],
            b[3] if high_is_b else a[3],
        )

    def as_result(self, value: Any) -> Any:
        """As a `MinMaxLocScalar`."""
        return MinMaxLocScalar(*value)
