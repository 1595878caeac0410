"""How special functions are called: in kernels as they are written, on the host with any number.

A kernel sees the Python function behind a `SpecialFunction`. On the host, Python's floats raise
where a kernel gives an infinity or NaN, so numbers become NumPy's first, and floating-point
warnings are off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError
from ..kernels.language import function
from ..kernels.refusals import check_number

F = TypeVar("F", bound=Callable[..., Any])
_COMPUTED = ("float16", "float32", "float64", "complex64", "complex128")


class SpecialFunction:
    """A function of numbers for kernels and for the host; not made by users.

    Attributes
    ----------
    py_func : function
        What kernels compile.
    """

    py_func: Callable[..., Any]

    def __init__(
        self, fn: Callable[..., Any], takes_complex: bool = False, order: str = ""
    ) -> None:
        update_wrapper(self, fn)
        self.py_func = function(fn)
        self._takes_complex = takes_complex
        self._order = order  # the parameter whose type does not count

    def __call__(self, *args: Any, **options: Any) -> Any:
        own = signature(self.py_func)
        try:
            bound = own.bind(*args, **options).arguments
        except TypeError as error:
            raise TypeError(f"es.special.{self.__name__}{own}: {error}") from None
        numbers = {name: self._number(name, value) for name, value in bound.items()}
        kinds = [
            n.dtype
            for name, n in numbers.items()
            if isinstance(n, np.generic) and name != self._order
        ]
        given = np.result_type(np.float16, *kinds) if kinds else np.dtype(np.float64)
        real = np.result_type(np.float32, np.empty(0, given).real.dtype).type
        wide = np.result_type(real, np.complex64).type
        with np.errstate(all="ignore"):
            found = self.py_func(
                **{n: wide(x) if np.iscomplexobj(x) else real(x) for n, x in numbers.items()}
            )
            if not kinds:
                return found.item() if isinstance(found, np.generic) else found
            if np.iscomplexobj(found):
                return wide(found)
            return np.empty(0, given).real.dtype.type(found)

    def _number(self, name: str, value: Any) -> Any:
        """A number as NumPy's; Python's floats stay Python's, which are weak."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, np.generic) and value.dtype.name in _COMPUTED:
            number: Any = value
        elif isinstance(value, np.bool | np.integer):
            number = np.float64(value)
        elif isinstance(value, int | float | complex) and not isinstance(value, np.generic):
            number = value if isinstance(value, complex) else self._float(name, value)
        else:
            args = ", ".join(
                f"{'x' if p == 'z' else p}[i]" if p == name else p
                for p in signature(self.py_func).parameters
            )
            raise DTypeError(
                f"es.special.{self.__name__}: {name} is {brief(value)}, which is no number that it "
                f"takes; expected one integer, float or complex number. For the elements of an "
                f"array call it in a kernel: y[i] = es.special.{self.__name__}({args})."
            )
        if isinstance(number, complex | np.complexfloating) and not self._takes_complex:
            raise DTypeError(
                f"es.special.{self.__name__}: {name} is {brief(value)}; expected a real number. "
                f"Take its .real, or abs(...)."
            )
        return number

    def _float(self, name: str, value: float) -> float:
        try:
            return float(value)
        except OverflowError:
            raise DTypeError(
                f"es.special.{self.__name__}: {name} is {brief(value)}; expected a number of the "
                f"range of float64."
            ) from None

    def __repr__(self) -> str:
        return f"<execspace.special.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    __name__: str


def special(fn: F) -> F:
    """Make a function of the kernel language one of real numbers."""
    return cast(F, SpecialFunction(fn))


def special_of_order(fn: F) -> F:
    """Make a function of the kernel language one of real numbers and of an integer, the first."""
    return cast(F, SpecialFunction(fn, order=next(iter(signature(fn).parameters))))


def special_of_complex(fn: F) -> F:
    """Make a function of the kernel language one of real and of complex numbers."""
    return cast(F, SpecialFunction(fn, takes_complex=True))


class _OnHost:
    """A function that is one thing in kernels and another on the host."""

    def __init__(self, in_kernels: Callable[..., Any], on_host: Callable[..., Any]) -> None:
        self.py_func = in_kernels
        self._on_host = on_host

    def __call__(self, *args: Any) -> Any:
        return self._on_host(*args)


def _is_real_in_kernels(x: Any) -> Any:
    # The imaginary part of a real number is a constant there, and so is all that is computed of
    # it: 2 ** -1 of constants is 0.5, and 0 of other integers.
    return 2 ** -(not x.imag) == 0.5


# Whether a number is of a real type: a constant in kernels, which leave out what it rules out.
is_real = _OnHost(_is_real_in_kernels, lambda x: not np.iscomplexobj(x))


@function
def evaluated(of_real: Any, of_complex: Any, x: Any) -> Any:
    """One of two functions, by the type of the number; integers count as floats."""
    check_number(x)
    z = x - 0.0  # unlike 1.0 * x it keeps the sign of a zero and infinite complex numbers
    if is_real(z):
        if np.finfo(z.real).bits == 16:  # too few digits for polynomials
            return np.float16(of_real(np.float32(z.real)))
        else:
            return of_real(z.real)
    else:
        return of_complex(z)


@function
def evaluated_real(of_real: Any, x: Any) -> Any:
    """A function of a real number."""
    check_number(x, True)
    z = x - 0.0
    if np.finfo(z).bits == 16:
        return np.float16(of_real(np.float32(z)))
    else:
        return of_real(z)


@function
def evaluated_pair(of_real: Any, x: Any, y: Any) -> Any:
    """A function of two real numbers, in their common type."""
    check_number(x, True)
    check_number(y, True)
    s, t = x - 0.0, y - 0.0
    if np.finfo(s + t).bits == 16:
        return np.float16(of_real(np.float32(s), np.float32(t)))
    elif np.finfo(s).bits == 16:
        return of_real(np.float32(s), t)
    elif np.finfo(t).bits == 16:
        return of_real(s, np.float32(t))
    else:
        return of_real(s, t)
