"""Arguments of a launch: what becomes a View, a number or a constant, and Views of ``out=``."""

from __future__ import annotations

from enum import Enum
from types import BuiltinFunctionType
from typing import Any, NoReturn

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError, shown
from ..base.storage_types import format_of
from ..base.subclasses import own_operator
from ..contract.argtypes import SCALAR_TYPES, plain_number
from ..kernels.captures import Scope, defaults, is_array, parameters, scope_of
from ..kernels.kernel import Kernel
from ..kernels.simd import SimdType
from ..reducers.base import Reducer
from ..views.arrays import advice, has_protocol
from ..views.interop import view_of
from ..views.record import Record
from ..views.view import View
from .transfers import Transfer


def as_arguments(
    kernel: Kernel, scope: Scope, leading: int, args: tuple[Any, ...]
) -> tuple[Scope, list[Any], bool]:
    """Sort out what is neither a View nor a number.

    The kernel has `leading` parameters before those of the arguments. Arrays are wrapped as
    Views; `es.In` and its siblings stay, and the last of what is returned says that there are
    such. Functions, strings, dtypes, None and whatever the kernel marks with es.static become
    parameters that are bound beforehand.
    """
    names = [n for n in parameters(scope.fn) if n not in scope.bound][leading:]
    bound = dict(scope.bound)
    converted = []
    moves = False
    for position, a in enumerate(args):
        name = names[position] if position < len(names) else None
        if name in kernel.statics:
            bound[name] = _static_value(kernel, name, a)
        elif type(a) is View or type(a) in SCALAR_TYPES:
            converted.append(a)
        elif isinstance(a, View):
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is of {type(a).__name__!r}, a "
                f"subclass of View; pass a View."
            )
        elif isinstance(a, bool | int | float | complex) and not isinstance(a, np.generic):
            if (own := own_operator(type(a))) is not None:
                raise LaunchError(
                    f"Kernel '{kernel.name}': argument {position} is of type "
                    f"{type(a).__name__!r}, which has its own '{own}'; kernels compute with plain "
                    f"numbers. Pass {type(plain_number(a)).__name__}(...) of it."
                )
            converted.append(plain_number(a))
        elif isinstance(a, Record):
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is a record {type(a).__name__}; "
                f"expected a View, a number or a function. Capture it, annotate its parameter with "
                f"es.static, or pass es.full((), record) and read d[()]."
            )
        elif isinstance(a, Transfer):
            converted.append(a)
            moves = True
        elif isinstance(a, np.generic) and (form := format_of(a.dtype)) is not None:
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is a number of type {form.name}, in "
                f"which nothing is computed. Pass it as the float32 that it is: np.float32(...)."
            )
        elif name is not None and _is_constant(a):
            bound[name] = a
        else:
            try:
                converted.append(view_of(a, label=f"argument {position} of {kernel.name}"))
            except DTypeError as error:
                raise DTypeError(f"Kernel '{kernel.name}': argument {position}: {error}") from None
            except TypeError as error:
                if is_array(a) or has_protocol(a, "__array_interface__"):
                    text = str(error).replace(f" of {kernel.name}: ", ": ", 1)
                    raise LaunchError(f"Kernel '{kernel.name}': {text}") from error
                more = f" {text}" if (text := advice(a)) else ""
                if isinstance(a, tuple) and not any(type(v) is View or is_array(v) for v in a):
                    more = (
                        " Make it an array: np.asarray(...), or annotate its parameter with "
                        "es.static."
                    )
                raise LaunchError(
                    f"Kernel '{kernel.name}': argument {position} is of type "
                    f"{type(a).__name__!r}; expected a View, an array, a number or a "
                    f"function.{more}"
                ) from None
    known = defaults(scope.fn)
    for name in kernel.statics:
        if name not in bound:
            if name not in known:
                raise LaunchError(
                    f"Kernel '{kernel.name}': the static parameter '{name}' gets no value; pass "
                    f"one argument for each parameter after the indices."
                )
            bound[name] = known[name]
    return Scope(scope.fn, bound, scope.kernel), converted, moves


def _is_constant(value: Any) -> bool:
    """Whether an argument can only be a compile-time constant."""
    plain = str | np.dtype | type | np.ufunc | BuiltinFunctionType | Enum | SimdType
    if value is None or isinstance(value, plain):
        return True
    return scope_of(value) is not None


def _can_be_static(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_can_be_static, value))
    return isinstance(value, bool | int | float | complex | np.generic) or _is_constant(value)


def _static_value(kernel: Kernel, name: str, value: Any) -> Any:
    if _can_be_static(value):
        return value
    raise LaunchError(
        f"Kernel '{kernel.name}': the static parameter '{name}' is of type "
        f"{type(value).__name__!r}; expected a number, a string, a tuple of them, a dtype, a "
        f"function or None."
    )


def explain_overflow(kernel: Kernel, args: tuple[Any, ...], error: OverflowError) -> NoReturn:
    """Say which number does not fit, if that is what the error is about."""
    explain_large(kernel, args)
    raise error


def explain_large(kernel: Kernel, args: tuple[Any, ...]) -> None:
    """Raise LaunchError for a Python integer that no argument of a kernel holds."""
    for position, a in enumerate(args):
        check_size(kernel, f"argument {position}", a)


def check_size(kernel: Kernel, what: str, value: Any) -> None:
    """The same for one argument."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is {shown(value)}, which does not fit into a signed "
            f"64-bit integer; pass es.uint64(...) or a float."
        ) from None


# -- results --------------------------------------------------------------------------------------


def views_of_out(out: Any) -> tuple[View, ...]:
    """The Views of ``out=``, arrays in place; LaunchError for what cannot receive a result."""
    views = out if isinstance(out, tuple) else (out,)
    if not views:
        raise _no_out(out)
    for v in views:
        if not isinstance(v, View):
            wrapped = (w if isinstance(w, View) else _view_of_out(w, out) for w in views)
            return views_of_out(tuple(wrapped))
        if v.is_readonly:
            raise _no_out(out)
    return views


def _view_of_out(one: Any, out: Any) -> View:
    of_memory = is_array(one) or has_protocol(one, "__array_interface__")
    if isinstance(one, np.generic) or not of_memory:
        raise _no_out(out)
    return view_of(one, label="out=")


def _no_out(out: Any) -> LaunchError:
    given = out if isinstance(out, tuple) else (out,)
    fixed = any(isinstance(v, View) and v.is_readonly for v in given)
    number = any(isinstance(v, np.generic) for v in given)
    more = " A[i] is a copy of an element; the element as a View is es.subview(A, i)."
    return LaunchError(
        f"out={brief(out)}{' (read-only)' if fixed else ''}; expected a writable View or array of "
        f"rank 0, as es.View((), dtype) or np.zeros(()), or a tuple of them, or for an array "
        f"reduction one of its shape.{more if number else ''}"
    )


def check_shapes(
    kernel: str, reducer: Reducer | tuple[Reducer, ...], views: tuple[View, ...]
) -> None:
    """Raise LaunchError for Views of ``out=`` that the results of reducers do not fit."""
    shape = reducer.result_shape if isinstance(reducer, Reducer) else None
    if shape is not None and len(views) == 1 and views[0].rank:
        check_shape(kernel, views[0], shape)
    if isinstance(reducer, Reducer) and reducer.gives_array:
        return
    for v in views:
        if v.rank:
            raise LaunchError(
                f"out=View '{v.label}' has rank {v.rank}; expected a writable View of rank 0: "
                f"es.View((), dtype)."
            )


def check_shape(kernel: str, view: View, shape: tuple[int, ...]) -> None:
    """Raise LaunchError for a View of `out=` that has not the shape of the result."""
    if view.shape != shape:
        raise LaunchError(
            f"Kernel '{kernel}': the View '{view.label}' of out= has shape {view.shape}; expected "
            f"{shape}, the shape of the result."
        )


def refuse_arrays(kernel: str, reducer: Any, found: Reducer | tuple[Reducer, ...]) -> None:
    """Raise LaunchError for an array reduction as a scan; `reducer` is as the user gave it."""
    if isinstance(found, Reducer) and found.shape is not None:
        raise LaunchError(
            f"Kernel '{kernel}': an array reduction, reducer={brief(reducer)}, cannot be scanned; "
            f"return a tuple and give a reducer for each item."
        )
