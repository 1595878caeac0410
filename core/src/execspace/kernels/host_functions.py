"""Functions that are compiled outside execspace, for kernels on host spaces to call."""

from __future__ import annotations

from typing import Any

from ..base.brief import brief
from ..base.errors import LaunchError

__all__ = ["host_function"]

_NEEDS_GIL = 0x4  # FUNCFLAG_PYTHONAPI of ctypes


class HostFunction:
    """A function of the host; see `host_function`.

    Attributes
    ----------
    function : callable
    from_c : bool
        It is a function of C that ctypes has loaded.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.from_c = any(c.__module__ == "_ctypes" for c in type(function).__mro__)
        self.__name__ = str(getattr(function, "__name__", type(function).__name__))
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<host function '{self.__name__}'>"


def host_function(function: Any, /) -> HostFunction:
    """Let kernels on host spaces call a function that somebody else compiled.

    Kernels call their helpers as plain Python functions, which are compiled for every space. This
    is for code that there is in another form: a library in C, or a function that Numba compiles.
    Only host spaces and the oracle can run such kernels; others raise KernelTypeError.

    Parameters
    ----------
    function : numba dispatcher, numba CFunc or ctypes function
        What ``numba.njit`` or ``numba.cfunc`` gives, or a function of a library that ctypes has
        loaded, with `argtypes` and `restype` set. Its arguments and its result are real numbers;
        those of a dispatcher follow from the call.

    Returns
    -------
    HostFunction
        To be called in kernels. Calling it elsewhere calls `function`.

    Raises
    ------
    LaunchError
        If `function` is a plain Python function, which kernels call as it is, cannot be called,
        or needs the GIL, as those of `ctypes.pythonapi` do.

    Notes
    -----
    Calls are not inlined and keep the loop around them from being vectorised; each takes a few
    nanoseconds. They happen without the GIL and on several threads at once, so the function must
    allow that. Exceptions in a function that Numba has compiled are printed and lost, and the
    result is 0.

    Examples
    --------
    >>> import ctypes, ctypes.util
    >>> import numpy as np
    >>> import execspace as es
    >>> libm = ctypes.CDLL(ctypes.util.find_library("m"))
    >>> libm.j0.argtypes, libm.j0.restype = [ctypes.c_double], ctypes.c_double
    >>> j0 = es.host_function(libm.j0)
    >>> def bessel(i, x, y):
    ...     y[i] = j0(x[i])
    >>> x, y = np.array([0.0, 1.0]), np.zeros(2)
    >>> es.parallel_for(es.RangePolicy(2, space="serial"), bessel, x, y)
    >>> y
    array([1.        , 0.76519769])
    """
    if isinstance(function, HostFunction):
        return function
    kind = type(function).__module__.partition(".")[0]
    if kind not in ("numba", "ctypes", "_ctypes") or not callable(function):
        hint = (
            "kernels call plain Python functions as they are"
            if kind in ("builtins", "functools")
            else "wrap its code with numba.njit, or load it with ctypes"
        )
        raise LaunchError(
            f"host_function({brief(function)}): expected what numba.njit or numba.cfunc gives, or "
            f"a function that ctypes has loaded; {hint}."
        )
    made = HostFunction(function)
    if made.from_c and getattr(function, "_flags_", 0) & _NEEDS_GIL:
        raise LaunchError(
            f"host_function({brief(function)}): the function needs the GIL, as those of "
            f"ctypes.pythonapi and ctypes.PyDLL do, and kernels run without it; load it with "
            f"ctypes.CDLL if it can do without."
        )
    return made
