"""Words that kernels use and that plain Python understands as well.

A kernel called directly, for debugging, runs them as they stand here; compilers know their
meaning by identity.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import LaunchError
from ..base.flags import flag
from ..contract.dtypes import as_dtype
from ..contract.memory import HOST
from ..views.view import View
from .marks import FMA, TEXT
from .pickling import SourceText

__all__ = [
    "function",
    "local",
    "printf",
]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def function(fn: F, /) -> F: ...
@overload
def function(*, fma: bool = ...) -> Callable[[F], F]: ...
def function(fn: Any = None, /, *, fma: bool = True) -> Any:
    """Mark a helper that kernels call. It stays the Python function that it is.

    Helpers are typed anew for each combination of argument types, take and return numbers and
    tuples, take Views and functions, and may not recurse. The mark is optional: kernels call
    any plain function.

    Parameters
    ----------
    fma : bool, default True
        With ``fma=False`` the arithmetic of this helper is done as it is written, whatever the
        options of the kernel that calls it: nothing is contracted or reassociated, so that IEEE
        basic operations agree bit for bit between spaces.

    Raises
    ------
    LaunchError
        If `fn` is not a Python function.

    Examples
    --------
    >>> import execspace as es
    >>> @es.function
    ... def square(x):
    ...     return x * x
    """
    if fn is None:
        return partial(_marked, fma=fma)
    return _marked(fn, fma=fma)


def _marked(fn: F, *, fma: bool) -> F:
    if not isinstance(fn, FunctionType):
        raise LaunchError(f"{brief(fn)} is not a helper; expected a Python function or a lambda.")
    fn.__dict__[FMA] = flag(fma, "fma", f"es.function of '{fn.__name__}'", LaunchError)
    fn.__dict__[TEXT] = SourceText((fn,))  # travels with it
    return fn


def local(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Any:
    """A zeroed array that is private to one call of a kernel or helper.

    Parameters
    ----------
    shape : int or tuple of int
        Compile-time constants.
    dtype : dtype-like, default float64

    Notes
    -----
    It lives in registers or on the stack, so keep it small. It cannot be returned.
    """
    return View(shape, as_dtype(dtype), label="es.local", memory=HOST)


def printf(format: str, *args: Any) -> None:
    """Print from within a kernel, in C's notation.

    Parameters
    ----------
    format : str
        A constant with %d, %i, %u, %x, %o, %c, %e, %f, %g or %%, flags, width and precision;
        sizes of integers are found by the compiler. No newline is added.
    *args : number

    Raises
    ------
    LaunchError
        On the host, where format and values do not fit; in a kernel it is a KernelTypeError.

    Notes
    -----
    Compiled spaces write to the C library's standard output, from all threads, in any order.
    """
    try:
        text = format % args
    except (TypeError, ValueError) as error:
        raise LaunchError(
            f"es.printf({brief(format)}) with {len(args)} value{'s' * (len(args) != 1)}: {error}. "
            f'Write one number for each conversion, es.printf("%d: %f\\n", i, x[i]).'
        ) from None
    if not isinstance(text, str):
        raise LaunchError(f"es.printf({brief(format)}): the format is not a string.")
    if sys.stdout is not None:  # where it is closed, print() prints nowhere, too
        sys.stdout.write(text)
