"""What the algorithms of C++'s library have in common: ranges, functions, overlap, early exits.

A range is a View of rank 1 and a position an integer, its extent the end. What a kernel calls, a
predicate or an operator, is an argument of the launch, so it is a constant of the compiled kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError, ViewError, ViewIndexError
from ..contract.memory import MemorySpace
from ..contract.space import ExecutionSpace
from ..host.space import HostExecutionSpace
from ..kernels.language import function
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
            f"bools. Write a kernel for records, or pass a View of one field."
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


def check_value(value: Any, view: View, what: str, role: str) -> None:
    """Raise if a value that is to be stored is no number, or would lose its kind."""
    check_number(value, what, role)
    kind = value.dtype if isinstance(value, np.generic) else type(value)
    check_kind(kind, view, f"{what}: {role}")


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

# Kernels do not call functions of the module `operator`.
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
    operator.not_: function(lambda a: not a),
}


def function_of(f: Any, what: str, role: str, of: str) -> Any:
    """A function that kernels call, from an argument; `of` says what it is called with."""
    if not callable(f) or isinstance(f, type):
        raise LaunchError(
            f"{what}: {role}={brief(f)}; expected a function of {of}, in the language of kernels."
        )
    try:
        return _WRITTEN.get(f, f)
    except TypeError:  # an object that has no hash
        return f


# -- the first and the last one -------------------------------------------------------------------

# The first blocks are short, so that what is at the front is found soon; they grow, so that the
# launches cost little against reading all of a long View. A device reads more in the time that
# a launch and the way of its result take.
_BLOCK = 1 << 17
_BLOCK_OF_DEVICE = 1 << 25
_GROWTH = 8


def _first_block(where: ExecutionSpace) -> int:
    return _BLOCK if isinstance(where, HostExecutionSpace) else _BLOCK_OF_DEVICE


def first_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> int:
    """The first index below `n` for which a kernel returns (true, index), or `n`. Blocks."""
    begin, width = 0, _first_block(where)
    while begin < n:
        end = min(begin + width, n)
        policy = RangePolicy(begin, end, space=where)
        found: int = parallel_reduce(policy, kernel, *args, reducer=FirstLoc, label=label)
        if found < end:
            return found
        begin, width = end, width * _GROWTH
    return n


def last_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> int:
    """The last index below `n` for which a kernel returns (true, index), or -1. Blocks."""
    end, width = n, _first_block(where)
    while end > 0:
        begin = max(end - width, 0)
        policy = RangePolicy(begin, end, space=where)
        found: int = parallel_reduce(policy, kernel, *args, reducer=LastLoc, label=label)
        if found >= begin:
            return found
        end, width = begin, width * _GROWTH
    return -1


def some_true(where: ExecutionSpace, n: int, label: str, kernel: Any, *args: Any) -> bool:
    """Whether a kernel returns something true for an index below `n`. Blocks."""
    begin, width = 0, _first_block(where)
    while begin < n:
        end = min(begin + width, n)
        policy = RangePolicy(begin, end, space=where)
        if parallel_reduce(policy, kernel, *args, reducer=LOr, label=label):
            return True
        begin, width = end, width * _GROWTH
    return False


# -- rules for elements, which kernels are given --------------------------------------------------


@function
def is_value(view: Any, i: Any, value: Any) -> Any:
    """Whether an element equals a value."""
    return view[i] == value


@function
def is_true(view: Any, i: Any, predicate: Any) -> Any:
    """Whether a predicate holds for an element."""
    return bool(predicate(view[i]))


@function
def is_false(view: Any, i: Any, predicate: Any) -> Any:
    """Whether a predicate does not hold for an element."""
    return not predicate(view[i])


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
