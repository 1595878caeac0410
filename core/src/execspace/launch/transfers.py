"""Arrays around a launch: what `In`, `Out`, `InOut` and ``out=`` copy where memory is out of reach.

Where the space reaches an array nothing is copied, and kernels work on it in place. Else a View of
the space stands for it: filled before the launch, copied back after it, by `deep_copy`, in order
with the launch, so that tools are told of each copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import LaunchError, ViewTypeError
from ..base.readonly import ReadOnly, assign
from ..contract.memory import HOST
from ..contract.space import ExecutionSpace
from ..plugins.placement import implied_space
from ..views.deep_copy import copy_by_any_way, deep_copy, may_overlap, share_elements
from ..views.interop import view_of
from ..views.like import empty_like
from ..views.view import View

__all__ = [
    "In",
    "InOut",
    "Out",
]


_OUT = "out="


class Transfer(ReadOnly):
    """An array as an argument of a launch on any space; see `In`, `Out` and `InOut`."""

    __slots__ = ("array",)
    _fixed = frozenset(__slots__)
    array: Any
    reads = writes = False

    def __init__(self, array: Any) -> None:
        if isinstance(array, Transfer):
            raise ViewTypeError(
                f"es.{type(self).__name__}({array!r}): expected an array or a View, got another "
                f"es.{type(array).__name__}. Use es.InOut for what a kernel reads and writes."
            )
        assign(self, "array", array)

    def __repr__(self) -> str:
        kind = type(self.array)
        shape = getattr(self.array, "shape", None)
        what = kind.__name__ if shape is None else f"{kind.__name__} {tuple(shape)}"
        return f"es.{type(self).__name__}(<{what}>)"


class In(Transfer):
    """An array that a kernel reads: ``es.parallel_for(n, kernel, es.In(a), x)``.

    Parameters
    ----------
    array : numpy.ndarray, View, or another array that `view_of` takes
        Kernels see a read-only View of it, and one that stores into it is refused.

    Notes
    -----
    Where the space reaches the array it is used in place. Else the launch copies it to memory of
    the space first, and returns when that is done, while the kernel may be under way: what is
    stored into the array afterwards does not reach the kernel. Tools are told of the copy. As
    `pycuda.driver.In`: https://documen.tician.de/pycuda/driver.html#pycuda.driver.In
    """

    __slots__ = ()
    reads = True


class Out(Transfer):
    """An array that a kernel fills: ``es.parallel_for(n, kernel, x, es.Out(a))``.

    Parameters
    ----------
    array : numpy.ndarray, View, or another writable array that `view_of` takes
        What it had before is lost: elements that the kernel does not store are zero afterwards, on
        every space.

    Notes
    -----
    Where the space reaches the array it is zeroed and used in place. Else the launch **blocks**: a
    View of zeros on the space stands for the array, which is copied back after the kernel. Tools
    are told of the copies. `InOut` keeps elements that the kernel does not store. As
    `pycuda.driver.Out`: https://documen.tician.de/pycuda/driver.html#pycuda.driver.Out
    """

    __slots__ = ()
    writes = True


class InOut(Transfer):
    """An array that a kernel reads and changes: ``es.parallel_for(n, kernel, es.InOut(a))``.

    Parameters
    ----------
    array : numpy.ndarray, View, or another writable array that `view_of` takes

    Notes
    -----
    Where the space reaches the array it is used in place. Else the launch **blocks**: it copies the
    array to memory of the space before the kernel, and back after it. Tools are told of the
    copies. As `pycuda.driver.InOut`: https://documen.tician.de/pycuda/driver.html#pycuda.driver.InOut
    """

    __slots__ = ()
    reads = writes = True


class Moved(NamedTuple):
    """An array of a launch, and the View that kernels get for it: its own where it is in reach."""

    given: View
    view: View
    reads: bool
    writes: bool
    name: str

    @property
    def is_apart(self) -> bool:
        """Whether elements are copied, for the space does not reach the array."""
        return self.view is not self.given


def in_reach(
    kernel: str,
    named: ExecutionSpace | None,
    arguments: Sequence[Any],
    captured: Sequence[View],
    out: Sequence[View],
) -> tuple[ExecutionSpace, list[Any], tuple[View, ...], tuple[Moved, ...]]:
    """Make Views that a space reaches of all `Transfer`s among arguments, and of ``out=``.

    Returns the space of the launch, the arguments, the Views of ``out=``, and what is to be copied.
    Nothing is copied yet.

    Raises
    ------
    LaunchError
        If an array that is written is read-only, or shares elements with another one: in place the
        kernel would see what it writes, and in copies not.
    """
    space = named
    if space is None:
        views = [a for a in arguments if isinstance(a, View)]
        space = implied_space([*views, *captured])
    moved: list[Moved] = []
    ready: list[Any] = []
    for position, a in enumerate(arguments):
        if not isinstance(a, Transfer):
            ready.append(a)
            continue
        name = f"argument {position} of {kernel}"
        given = view_of(a.array, label=name)
        if a.writes and given.is_readonly:
            raise LaunchError(
                f"Kernel '{kernel}': argument {position} is es.{type(a).__name__} of a read-only "
                f"array; pass es.In of it, or a writable one."
            )
        if a.writes and overlaps_itself(given):
            raise LaunchError(
                f"Kernel '{kernel}': argument {position} is es.{type(a).__name__} of an array in "
                f"which elements share memory (shape {given.shape}, strides {given.strides}): what "
                f"one stores, another would lose. Pass a copy of it."
            )
        moved.append(_moved(space, given, a.reads, a.writes, f"argument {position}"))
        view = moved[-1].view
        ready.append(view if a.writes else view.readonly())
    results_too = [Moved(v, v, False, True, _OUT) for v in out]
    _check_apart(kernel, [*moved, *results_too], [a for a in arguments if isinstance(a, View)])
    _check_apart(kernel, moved, captured)
    results: list[View] = []
    for view in out:
        if not view.memory_space.reachable_from(space):
            moved.append(_moved(space, view, reads=False, writes=True, name=_OUT))
            view = moved[-1].view
        results.append(view)
    return space, ready, tuple(results), tuple(moved)


def _moved(space: ExecutionSpace, given: View, reads: bool, writes: bool, name: str) -> Moved:
    view = given
    if not given.memory_space.reachable_from(space):
        view = empty_like(given, space=space, memory=space.memory_space)
    return Moved(given, view, reads, writes, name)


def _check_apart(kernel: str, moved: Sequence[Moved], views: Sequence[View]) -> None:
    """Raise LaunchError for arrays that share elements one of which the launch stores into.

    `views` are those that the launch takes as they are.
    """
    for n, a in enumerate(moved):
        for b in moved[:n]:
            if (a.writes or b.writes) and _share(a.given, b.given):
                raise _shared(kernel, b.name, a.name)
        for view in views:
            # A result is stored when all else is done, so it may go where the launch has read.
            if a.writes and a.name != _OUT and _share(a.given, view):
                raise _shared(kernel, a.name, f"View '{view.label}'")


def _share(a: View, b: View) -> bool:
    if a.memory_space is not b.memory_space or a.mapping is not None or b.mapping is not None:
        return a.allocation is b.allocation
    return may_overlap(a, b) and share_elements(a, b)


def _shared(kernel: str, one: str, other: str) -> LaunchError:
    return LaunchError(
        f"Kernel '{kernel}': {one} and {other} share elements, and the launch stores into one of "
        f"them. On a device es.In, es.Out, es.InOut and results have memory of their own. Pass the "
        f"array once, as es.InOut, or a copy of it."
    )


def overlaps_itself(view: View) -> bool:
    """Whether two elements of a View are one, as in arrays with strides of somebody else's."""
    if view.mapping is not None or view.size < 2:
        return False
    reach = 0  # how far the dimensions of smaller strides go
    pairs = sorted((abs(s), n) for s, n in zip(view.strides, view.shape, strict=True) if n > 1)
    for stride, extent in pairs:
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def begin(moved: Sequence[Moved], space: ExecutionSpace) -> None:
    """Fill what stands for arrays; returns when arrays that are read have been."""
    waits = False
    for m in moved:
        if m.reads and m.is_apart:
            copy_by_any_way(m.view, m.given, instance=_instance(m, space))
            waits = True
        elif m.writes and not m.reads and m.name != _OUT:  # a result is stored as a whole
            deep_copy(m.view, np.zeros((), m.view.dtype)[()], instance=space)
    if waits:
        space.fence("es.In")


def finish(moved: Sequence[Moved], space: ExecutionSpace) -> None:
    """Copy results back to arrays; blocks if there are any."""
    waits = False
    for m in moved:
        if m.writes and m.is_apart:
            copy_by_any_way(m.given, m.view, instance=_instance(m, space))
            waits = True
    if waits:
        space.fence("es.Out")


def _instance(m: Moved, space: ExecutionSpace) -> ExecutionSpace | None:
    """In order with the launch, unless another device has the array, whose work must be done."""
    return space if m.given.memory_space is HOST else None


def around(moved: Sequence[Moved], space: ExecutionSpace, run: Callable[[], Any]) -> Any:
    """Run a launch between its copies."""
    begin(moved, space)
    result = run()
    finish(moved, space)
    return result
