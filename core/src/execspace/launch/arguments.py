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
from .structs import StructConstant, StructType, is_struct, struct_fields, taken_apart
from .transfers import Transfer

Structs = tuple[StructType | None, ...]  # for each argument that is not bound; () if none is one
# What is launched, or refused by a message of its own, and no constant.
_LAUNCHED = View | bool | int | float | complex | np.generic | Record | Transfer


def as_arguments(
    kernel: Kernel, scope: Scope, leading: int, args: tuple[Any, ...]
) -> tuple[Scope, list[Any], Structs, bool]:
    """Sort out what is neither a View nor a number.

    The kernel has `leading` parameters before those of the arguments. Arrays are wrapped as
    Views, and structs are taken apart, see `StructType`; `es.In` and its siblings stay, and the
    last of what is returned says that there are such. Functions, strings, dtypes, None and whatever
    the kernel marks with es.static become parameters that are bound beforehand.
    """
    names = [n for n in parameters(scope.fn) if n not in scope.bound][leading:]
    bound = dict(scope.bound)
    converted: list[Any] = []
    structs: list[StructType | None] = []

    def field(value: Any, what: str, is_static: bool) -> Any:
        return _field(kernel, value, what, is_static)

    for position, a in enumerate(args):
        name = names[position] if position < len(names) else None
        what = f"argument {position}"
        if name in kernel.statics:
            bound[name] = _static_value(kernel, name, a)
        elif name is not None and not isinstance(a, _LAUNCHED) and _is_constant(a):
            bound[name] = a
        elif is_struct(a) and not is_array(a):
            structs.append(taken_apart(kernel.name, a, what, field, converted))
        else:
            structs.append(None)
            converted.append(_converted(kernel, what, a))
    known = defaults(scope.fn)
    for name in kernel.statics:
        if name not in bound:
            if name not in known:
                raise LaunchError(
                    f"Kernel '{kernel.name}': the static parameter '{name}' gets no value; pass "
                    f"one argument for each parameter after the indices."
                )
            bound[name] = known[name]
    moves = any(isinstance(a, Transfer) for a in converted)
    found = tuple(structs) if any(structs) else ()
    return Scope(scope.fn, bound, scope.kernel), converted, found, moves


def _converted(kernel: Kernel, what: str, a: Any) -> Any:
    """What is launched of an argument, or of a field of one, that is neither constant nor struct:
    a View, a number or a `Transfer`."""
    if type(a) is View or type(a) in SCALAR_TYPES or isinstance(a, Transfer):
        return a
    if isinstance(a, View):
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is of {type(a).__name__!r}, a subclass of View; pass "
            f"a View."
        )
    if isinstance(a, bool | int | float | complex) and not isinstance(a, np.generic):
        if (own := own_operator(type(a))) is not None:
            raise LaunchError(
                f"Kernel '{kernel.name}': {what} is of type {type(a).__name__!r}, which has its "
                f"own '{own}'; kernels compute with plain numbers. Pass "
                f"{type(plain_number(a)).__name__}(...) of it."
            )
        return plain_number(a)
    if isinstance(a, Record):
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is a record {type(a).__name__}; expected a View, a "
            f"number or a function. Capture it, annotate its parameter with es.static, or pass "
            f"es.full((), record) and read d[()]."
        )
    if isinstance(a, np.generic) and (form := format_of(a.dtype)) is not None:
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is a number of type {form.name}, in which nothing is "
            f"computed. Pass it as the float32 that it is: np.float32(...)."
        )
    try:
        return view_of(a, label=f"{what} of {kernel.name}")
    except DTypeError as error:
        raise DTypeError(f"Kernel '{kernel.name}': {what}: {error}") from None
    except TypeError as error:
        if is_array(a) or has_protocol(a, "__array_interface__"):
            text = str(error).replace(f" of {kernel.name}: ", ": ", 1)
            raise LaunchError(f"Kernel '{kernel.name}': {text}") from error
        more = f" {text}" if (text := advice(a)) else ""
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is of type {type(a).__name__!r}; expected a View, an "
            f"array, a number or a function.{more}"
        ) from None


def _field(kernel: Kernel, value: Any, what: str, is_static: bool) -> Any:
    """A field of a struct: a `StructConstant`, a struct, or what is launched of it."""
    if not isinstance(value, _LAUNCHED) and scope_of(value) is not None:
        raise LaunchError(
            f"Kernel '{kernel.name}': {what} is a function, which no object that is launched may "
            f"hold. Pass it as an argument of its own, or define it as a method of the dataclass."
        )
    if is_static:
        if _can_be_static(value):
            return StructConstant.of(value)
        raise LaunchError(
            f"Kernel '{kernel.name}': {what}, which is static, is of type "
            f"{type(value).__name__!r}; expected a number, a string, a tuple of them, a dtype or "
            f"None."
        )
    if isinstance(value, _LAUNCHED) or is_array(value):
        return _converted(kernel, what, value)
    if _is_constant(value):
        return StructConstant.of(value)
    return value if is_struct(value) else _converted(kernel, what, value)


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
        _check_sizes(kernel, f"argument {position}", a)


def _check_sizes(kernel: Kernel, what: str, value: Any) -> None:
    """The same for an argument and all that it holds."""
    if not is_struct(value) or is_array(value):
        check_size(kernel, what, value)
        return
    names, items, _ = struct_fields(value, what)
    for n, item in enumerate(items):
        _check_sizes(kernel, f"{what}.{names[n]}" if names else f"{what}[{n}]", item)


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
