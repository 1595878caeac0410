"""What the algorithms of C++'s library have in common: ranges, functions, overlap, early exits.

A range is a View of rank 1 and a position an integer, its extent the end. What a kernel calls, a
predicate or an operator, is an argument of the launch, so it is a constant of the compiled kernel.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import partial
from types import (
    BuiltinFunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError, ViewError, ViewIndexError
from ..base.storage_types import kind_of
from ..contract.memory import MemorySpace
from ..contract.space import ExecutionSpace
from ..host.space import HostExecutionSpace
from ..kernels.captures import defaults, keyword_only, parameters, scope_of
from ..kernels.language import function
from ..kernels.refusals import refuse
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..reducers.builtin import FirstLoc, LastLoc, LOr
from ..views.deep_copy import check_kind, share_elements
from ..views.view import View
from .arguments import argument, choose_space

Space = str | ExecutionSpace | None


def ranges(
    what: str, space: Space, *sources: tuple[Any, str], records: bool | tuple[str, ...] = False
) -> tuple[ExecutionSpace, list[View]]:
    """The space of an algorithm and its Views, of which each comes with its name for messages.

    The name of one that is written to ends with an asterisk. `records` says whether elements may be
    records, of all of them or of those with these names.
    """
    views = []
    for source, role in sources:
        held = records if isinstance(records, bool) else role in records
        writable = role.endswith("*")
        views.append(row(source, what, role.rstrip("*"), writable=writable, records=held))
    return choose_space(space, views, what), views


def row(
    source: Any, what: str, role: str, *, writable: bool = False, records: bool = False
) -> View:
    """An argument as a View of rank 1: of numbers of any type, or also of records."""
    view = argument(source, what, role, writable=writable, numbers=False)
    if view.rank != 1:
        raise ViewError(
            f"{what}: View '{view.label}' has rank {view.rank}; expected rank 1. Take one row or "
            f"column of it, such as A[:, 0]."
        )
    if view.dtype.fields is not None and not records:
        raise DTypeError(
            f"{what}: View '{view.label}' holds records, dtype {view.dtype}; expected numbers or "
            f"bools. Pass a View of one field, give a function of elements, such as a predicate or "
            f"less=, where one is taken, or write a kernel."
        )
    return view


def position(value: Any, n: int, what: str, role: str) -> int:
    """An argument as an integer from 0 to `n`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ViewError(
            f"{what}: {role}={brief(value)}; expected an integer, 0 <= {role} <= {n}."
        ) from None
    if not 0 <= number <= n:
        raise ViewIndexError(f"{what}: {role}={number}; expected 0 <= {role} <= {n}.")
    return number


def amount(value: Any, what: str, role: str) -> int:
    """An argument as an integer that is not negative."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ViewError(f"{what}: {role}={brief(value)}; expected an integer, 0 or more.") from None
    if number < 0:
        raise ViewError(f"{what}: {role}={number}; expected 0 or more.")
    return number


def check_room(view: View, n: int, what: str) -> None:
    """Raise ViewError if a destination has fewer than `n` elements."""
    if view.shape[0] < n:
        raise ViewError(
            f"{what}: View '{view.label}' has extent {view.shape[0]}; expected {n} or more, room "
            f"for all that is stored."
        )


def check_same_kind(source: View, destination: View, what: str) -> None:
    """Raise DTypeError if elements would lose their kind, as a float does in an integer."""
    check_kind(source.dtype, destination, f"{what}: elements of View '{source.label}'")


def check_number(value: Any, what: str, role: str) -> None:
    """Raise LaunchError if a value is no number."""
    if not isinstance(value, int | float | complex | np.number | np.bool_):
        raise LaunchError(f"{what}: {role}={brief(value)}; expected a number.")


def stored(value: Any, view: View, what: str, role: str) -> Any:
    """A value as it is passed to be stored in a View.

    Raises LaunchError for what is no number, and for a number that elements do not hold, of
    Python's and NumPy's classes alike; DTypeError for one that would lose its kind.
    """
    check_number(value, what, role)
    kind = value.dtype if isinstance(value, np.generic) else type(value)
    check_kind(kind, view, f"{what}: {role}")
    goal = np.dtype(view.dtype)
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        return value
    try:
        return goal.type(int(value)) if goal.kind in "iu" else float(value)
    except OverflowError:
        bounds = ""
        if goal.kind in "iu":
            bounds = f", {np.iinfo(goal).min} to {np.iinfo(goal).max}"
        raise LaunchError(
            f"{what}: {role}={brief(value)} does not fit into View '{view.label}' of dtype "
            f"{goal.name}; expected a number that its elements hold{bounds}."
        ) from None


def compared(value: Any, view: View, what: str, role: str) -> Any:
    """A value as it is passed to be compared with elements of a View by ``==``.

    Integers of more bits than those of kernels become what equals the same elements: a number of
    the element type, or NaN, which equals none.
    """
    check_number(value, what, role)
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    goal = np.dtype(view.dtype)
    with np.errstate(over="ignore"), suppress(OverflowError):
        element = goal.type(value)
        if int(element.real) == value:
            return element
    return math.nan


def check_in_place_or_apart(source: View, destination: View, what: str) -> None:
    """Raise ViewError if two Views overlap, unless they begin at the same element, step by step."""
    if share(source, destination) and not in_place(source, destination):
        raise ViewError(
            f"{what}: View '{source.label}' and View '{destination.label}' overlap in memory; "
            f"expected the same elements or none in common. Copy one of them first with "
            f"es.deep_copy."
        )


def share(a: View, b: View) -> bool:
    """Whether two Views have elements in common."""
    same_memory = a.memory_space is b.memory_space and a.size and b.size
    return bool(same_memory and share_elements(a, b))


def in_place(a: View, b: View) -> bool:
    """Whether element `i` of the one View is element `i` of the other."""
    return (
        a.data_ptr == b.data_ptr
        and a.strides == b.strides
        and a.dtype == b.dtype
        and a.mapping == b.mapping
    )


def room_for(view: View, n: int, what: str) -> View:
    """Memory for `n` elements of a View for the time, where the View has its own."""
    memory: MemorySpace = view.memory_space
    return View(
        n, view.dtype, label=f"copy for {what}", memory=memory, layout="right", initialize=False
    )


# Of a host a call of a kernel joins so many elements by a function, in rows of which each has a
# value of its own, for a processor does several operations at once that do not wait for each other.
# On a device threads side by side read elements side by side, so there it is one element.
CHUNK = 8192
_MANY = 1024  # threads that run at once: those of a device


def on_device(where: ExecutionSpace) -> bool:
    """Whether a space runs many threads at once."""
    return where.concurrency >= _MANY


def chunks(where: ExecutionSpace, n: int) -> tuple[RangePolicy, int]:
    """A policy over parts of `n` elements, and how many elements a part has, or 1."""
    if on_device(where):
        return RangePolicy(n, space=where), 1
    return RangePolicy(-(-n // CHUNK), space=where), CHUNK


_PARTS = 8  # of a View on a device: each has several launches, and may be waited for
_CACHED = 1 << 16  # elements that a core keeps in its cache


def part_size(where: ExecutionSpace, n: int) -> int:
    """How many of `n` elements an algorithm in place moves at a time by way of other memory."""
    size = -(-n // _PARTS) if on_device(where) else where.concurrency * _CACHED
    return min(max(size, _CACHED), n)


# -- functions ------------------------------------------------------------------------------------

# Kernels do not call functions of the module `operator`, nor all of Python's own.
_WRITTEN: dict[Any, Callable[..., Any]] = {
    operator.add: function(lambda a, b: a + b),
    operator.sub: function(lambda a, b: a - b),
    operator.mul: function(lambda a, b: a * b),
    operator.truediv: function(lambda a, b: a / b),
    operator.floordiv: function(lambda a, b: a // b),
    operator.mod: function(lambda a, b: a % b),
    operator.and_: function(lambda a, b: a & b),
    operator.or_: function(lambda a, b: a | b),
    operator.xor: function(lambda a, b: a ^ b),
    operator.lt: function(lambda a, b: a < b),
    operator.le: function(lambda a, b: a <= b),
    operator.gt: function(lambda a, b: a > b),
    operator.ge: function(lambda a, b: a >= b),
    operator.eq: function(lambda a, b: a == b),
    operator.ne: function(lambda a, b: a != b),
    operator.neg: function(lambda a: -a),
    operator.pos: function(lambda a: +a),
    operator.not_: function(lambda a: not a),
    operator.invert: function(lambda a: ~a),
    operator.truth: function(lambda a: bool(a)),
    operator.abs: function(lambda a: abs(a)),
    operator.pow: function(lambda a, b: a**b),
    operator.lshift: function(lambda a, b: a << b),
    operator.rshift: function(lambda a, b: a >> b),
    abs: function(lambda a: abs(a)),
    min: function(lambda a, b: min(a, b)),
    max: function(lambda a, b: max(a, b)),
    pow: function(lambda a, b: a**b),
}
# Classes that are functions of one number; types of elements are such, too.
_CONVERSIONS: dict[Any, Callable[..., Any]] = {
    bool: function(lambda a: bool(a)),
    int: function(lambda a: int(a)),
    float: function(lambda a: float(a)),
    complex: function(lambda a: complex(a)),
}
_COUNTS = {"an element": 1, "two elements": 2, "two values": 2}
_IN_KERNELS = (*_WRITTEN, round, divmod)  # functions of Python itself
_OF_OBJECTS = (MethodWrapperType, MethodDescriptorType, WrapperDescriptorType)


def function_of(f: Any, what: str, role: str, of: str) -> Any:
    """A function that kernels call, from an argument; `of` says what it is called with."""
    if of == "an element" and (converts := _conversion(f)) is not None:
        return converts
    if not callable(f) or isinstance(f, type):
        raise LaunchError(
            f"{what}: {role}={brief(f)}; expected a function of {of}, in the language of kernels."
        )
    known = _WRITTEN.get(f) if isinstance(f, Hashable) else None
    inner = f.func if type(f) is partial else None
    if isinstance(inner, Hashable) and inner in _WRITTEN and inner not in (min, max):
        known = partial(_WRITTEN[inner], *f.args, **f.keywords)
    if known is None and not _may_be_called(f):
        raise LaunchError(
            f"{what}: {role}={brief(f)}; expected a function of {of}, in the language of kernels, "
            f"such as a lambda."
        )
    _check_count(known or f, f, what, role, of)
    return known or f


def _conversion(f: Any) -> Any:
    """What converts a number, if it is a class or an element type that does."""
    if isinstance(f, np.dtype):
        f = f.type
    if not isinstance(f, type):
        return None
    if issubclass(f, np.generic) and kind_of(np.dtype(f)) in "biufc":
        return f
    return _CONVERSIONS.get(f)


def _may_be_called(f: Any) -> bool:
    """Whether kernels may call a function, as far as its kind tells."""
    if type(f) is partial:
        return _may_be_called(f.func) or type(f.func) is type(np.where) or isinstance(f.func, type)
    if isinstance(f, np.ufunc):
        return True
    if isinstance(f, BuiltinFunctionType):
        home = f.__module__
        return f in _IN_KERNELS if home in ("builtins", "_operator") else home in ("math", "cmath")
    if isinstance(f, _OF_OBJECTS) or type(f).__module__ in ("operator", "_operator"):
        return False
    scope = scope_of(f)
    return scope is not None and not (scope.fn.__module__ or "").startswith("numpy")


def _check_count(known: Any, f: Any, what: str, role: str, of: str) -> None:
    """Raise LaunchError for a function that does not take so many arguments."""
    count = _COUNTS.get(of)
    try:
        takes = _counts(known)
    except LaunchError as error:
        raise LaunchError(f"{what}: {role}: {error}") from None
    if count is not None and takes is not None and not takes[0] <= count <= takes[1]:
        least, most = takes
        number = f"{least}" if least == most else f"{least} to {most}"
        plural = "" if least == most == 1 else "s"
        raise LaunchError(
            f"{what}: {role}={brief(f)} takes {number} argument{plural}; expected a function of "
            f"{of}."
        )


def _counts(f: Any) -> tuple[int, int] | None:
    """How many arguments a function takes, at least and at most; None if that is not known."""
    if isinstance(f, np.ufunc):
        return f.nin, f.nin
    if type(f) is partial and isinstance(f.func, np.ufunc):
        return f.func.nin - len(f.args), f.func.nin - len(f.args)
    scope = scope_of(f)
    if scope is None or scope.fn.__code__.co_flags & _VARIADIC:
        return None
    free = [n for n in parameters(scope.fn) if n not in scope.bound]
    known = defaults(scope.fn)
    if any(n not in known and n not in scope.bound for n in keyword_only(scope.fn)):
        return None
    return len([n for n in free if n not in known]), len(free)


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


# -- the first and the last one -------------------------------------------------------------------

# The first blocks are short, so that what is at the front is found soon; they grow, so that the
# launches cost little against reading all of a long View. A device reads more in the time that
# a launch and the way of its result take.
_BLOCK = 1 << 17
_BLOCK_OF_DEVICE = 1 << 25
_GROWTH = 8


def _first_block(where: ExecutionSpace) -> int:
    return _BLOCK if isinstance(where, HostExecutionSpace) else _BLOCK_OF_DEVICE


def _blocks(where: ExecutionSpace, n: int, backward: bool = False) -> Iterator[tuple[int, int]]:
    """Where blocks of growing size begin and end, from the first index on, or from the last."""
    done, width = 0, _first_block(where)
    while done < n:
        size = min(width, n - done)
        yield (n - done - size, n - done) if backward else (done, done + size)
        done, width = done + size, width * _GROWTH


def first_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> int:
    """The first index below `n` for which a kernel returns (true, index), or `n`. Blocks."""
    for begin, end in _blocks(where, n):
        policy = RangePolicy(begin, end, space=where)
        found: int = parallel_reduce(policy, kernel, *args, reducer=FirstLoc, label=label)
        if found < end:
            return found
    return n


def last_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> int:
    """The last index below `n` for which a kernel returns (true, index), or -1. Blocks."""
    for begin, end in _blocks(where, n, backward=True):
        policy = RangePolicy(begin, end, space=where)
        found: int = parallel_reduce(policy, kernel, *args, reducer=LastLoc, label=label)
        if found >= begin:
            return found
    return -1


def some_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> bool:
    """Whether a kernel returns something true for an index below `n`. Blocks."""
    return any(
        parallel_reduce(
            RangePolicy(begin, end, space=where), kernel, *args, reducer=LOr, label=label
        )
        for begin, end in _blocks(where, n)
    )


# -- rules for elements, which kernels are given --------------------------------------------------


@function
def answer(found: Any) -> Any:
    """What a predicate returns; costs nothing in kernels."""
    if found is None:
        refuse("the predicate returns None; expected a bool", "return what is true or false")
    else:
        return found


@function
def is_value(view: Any, i: Any, value: Any) -> Any:
    """Whether an element equals a value."""
    return view[i] == value


@function
def is_true(view: Any, i: Any, predicate: Any) -> Any:
    """Whether a predicate holds for an element."""
    return bool(answer(predicate(view[i])))


@function
def is_false(view: Any, i: Any, predicate: Any) -> Any:
    """Whether a predicate does not hold for an element."""
    return not answer(predicate(view[i]))


def located(i: Any, view: Any, rule: Any, given: Any) -> Any:
    """Kernel for `first_true`: whether a rule holds for an element, and where that is."""
    return rule(view, i, given), i


def whether(i: Any, view: Any, rule: Any, given: Any) -> Any:
    """Kernel for `some_true`."""
    return rule(view, i, given)


@function
def same(a: Any, b: Any) -> Any:
    """What two elements are compared with where no predicate is given."""
    return a == b
