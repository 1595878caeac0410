"""copy, move, reverse_copy, rotate_copy and their siblings: elements from one View to another.

None of them blocks where the space is asynchronous.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base.errors import ViewError
from ..contract.space import ExecutionSpace
from ..events.recording import by_extents
from ..launch.parallel import parallel_for
from ..policies.range import RangePolicy
from ..views.view import View
from .arguments import check_apart
from .std_arguments import (
    Space,
    check_room,
    check_same_kind,
    part_size,
    position,
    ranges,
    room_for,
    share,
)

__all__ = [
    "copy",
    "copy_backward",
    "copy_n",
    "move",
    "move_backward",
    "reverse_copy",
    "rotate_copy",
]


def copy(
    source: View | Any, destination: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Copy the elements of a View to the front of another one.

    Parameters
    ----------
    source : View or array, rank 1
        Of any element type, records included.
    destination : View or array, rank 1
        With at least as many elements; more are left as they are. It may overlap `source` if it
        begins before it and both have the same stride: a copy to the left.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Raises
    ------
    ViewError
        If an argument is no View of rank 1, or `destination` is too short, read-only, or overlaps
        `source` in another way.
    DTypeError
        If elements would lose their kind, as floats do in a View of integers.
    TypeError, SpaceAccessError
        If an argument is no View or array, or the space cannot reach it.

    Notes
    -----
    Does not block where the space is asynchronous. Where the two overlap, elements move part
    after part; if by fewer places than a 64th of them, by way of memory for 65,536 elements for
    each thread of a host, on devices for an eighth of them. `deep_copy` copies between memory
    spaces.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.copy(x[2:], x[:4], space="oracle")
    >>> x
    array([2, 3, 4, 3, 4])
    """
    _copied("copy", source, None, destination, False, space, label)


def copy_n(
    source: View | Any,
    n: int,
    destination: View | Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Copy the first `n` elements of a View to the front of another one.

    Parameters, errors and notes are those of `copy`; `n` is an integer from 0 to the extent of
    `source`, else ViewError is raised. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(5), np.zeros(3, int)
    >>> es.algorithms.copy_n(x, 2, y, space="oracle")
    >>> y
    array([0, 1, 0])
    """
    _copied("copy_n", source, n, destination, False, space, label)


def copy_backward(
    source: View | Any, destination: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Copy the elements of a View, in their order, to the end of another one.

    Parameters, errors and notes are those of `copy`, but `destination` may overlap `source` if it
    ends after it: a copy to the right. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.copy_backward(x[:3], x, space="oracle")
    >>> x
    array([0, 1, 0, 1, 2])
    """
    _copied("copy_backward", source, None, destination, True, space, label)


def move(
    source: View | Any, destination: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Copy the elements of a View to the front of another one: `copy`, by the name of C++.

    Numbers and records are moved by copying them, so `source` keeps what it has.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(3), np.zeros(3, int)
    >>> es.algorithms.move(x, y, space="oracle")
    >>> y
    array([0, 1, 2])
    """
    _copied("move", source, None, destination, False, space, label)


def move_backward(
    source: View | Any, destination: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Copy the elements of a View to the end of another one: `copy_backward`, by the name of C++.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(3), np.zeros(4, int)
    >>> es.algorithms.move_backward(x, y, space="oracle")
    >>> y
    array([0, 0, 1, 2])
    """
    _copied("move_backward", source, None, destination, True, space, label)


def _copied(
    what: str,
    source: Any,
    n: Any,
    destination: Any,
    backward: bool,
    space: Space,
    label: str | None,
) -> None:
    by_extents(
        what, partial(_copy, what, n, backward, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def _copy(
    what: str,
    n: Any,
    backward: bool,
    space: Space,
    label: str | None,
    *,
    source: Any,
    destination: Any,
) -> None:
    where, (a, b) = _two(what, space, source, destination)
    number = a.shape[0] if n is None else position(n, a.shape[0], what, "n")
    check_room(b, number, what)
    shift = b.shape[0] - number if backward else 0
    name = label or what
    if not _crosses(a, b, number, shift, backward, what):
        copy_part(where, number, a, 0, b, shift, name)
        return
    by = abs(b.data_ptr + shift * b.strides[0] * b.dtype.itemsize - a.data_ptr)
    by //= abs(a.strides[0]) * a.dtype.itemsize
    move_within(where, number, a, 0, b, shift, by, backward, name)


def _two(
    what: str, space: Space, source: Any, destination: Any
) -> tuple[ExecutionSpace, list[View]]:
    where, (a, b) = ranges(
        what, space, (source, "source"), (destination, "destination*"), records=True
    )
    check_same_kind(a, b, what)
    return where, [a, b]


def _crosses(a: View, b: View, n: int, shift: int, backward: bool, what: str) -> bool:
    """Whether elements of the destination are elements of the source; raises if C++ forbids it."""
    if a.mapping is None and b.mapping is None:
        a, b = a[:n], b[shift : shift + n]
    if not share(a, b):
        return False
    regular = a.mapping is None and b.mapping is None and a.strides == b.strides
    steps = (b.data_ptr - a.data_ptr) * (1 if a.strides[0] > 0 else -1)
    if regular and a.dtype == b.dtype and (steps > 0 if backward else steps < 0):
        return True
    allowed, other = ("after", "copy") if backward else ("before", "copy_backward")
    raise ViewError(
        f"{what}: View '{a.label}' and View '{b.label}' overlap in memory; expected Views that do "
        f"not, or a destination {allowed} the source with the same stride. Use {other}, or copy "
        f"one of them first with es.deep_copy."
    )


def copy_part(
    where: ExecutionSpace, n: int, source: View, begin: int, destination: View, to: int, label: str
) -> None:
    """Copy `n` elements from `begin` on to the place `to`, of Views that do not overlap there."""
    if not n:
        return
    policy = RangePolicy(n, space=where)
    if begin or to:
        parallel_for(policy, _copy_one, source, begin, destination, to, label=label)
    else:  # which devices read and write in packs
        parallel_for(policy, _copy_same, source, destination, label=label)


_DIRECT = 64  # parts that are moved without memory between


def move_within(
    where: ExecutionSpace,
    n: int,
    source: View,
    begin: int,
    destination: View,
    to: int,
    by: int,
    backward: bool,
    label: str,
) -> None:
    """Copy `n` elements by `by` places to where other elements of them are.

    Part after part, so that no element is stored where one still has to be read: as many elements
    at a time as they move by, or else by way of memory for a part of them.
    """
    direct = n <= _DIRECT * by
    size = by if direct else part_size(where, n)
    between = None if direct else room_for(source, size, label)
    starts = range(0, n, size)
    for first in reversed(starts) if backward else starts:
        number = min(size, n - first)
        if between is None:
            copy_part(where, number, source, begin + first, destination, to + first, label)
        else:
            copy_part(where, number, source, begin + first, between, 0, label)
            copy_part(where, number, between, 0, destination, to + first, label)


def reverse_copy(
    source: View | Any, destination: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Copy the elements of a View to the front of another one, the last one first.

    Parameters and errors are those of `copy`, but the two must not overlap. Does not block where
    the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(3), np.zeros(3, int)
    >>> es.algorithms.reverse_copy(x, y, space="oracle")
    >>> y
    array([2, 1, 0])
    """
    by_extents(
        "reverse_copy", partial(_reverse_copy, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def _reverse_copy(space: Space, label: str | None, *, source: Any, destination: Any) -> None:
    what = "reverse_copy"
    where, (a, b) = _two(what, space, source, destination)
    check_room(b, a.shape[0], what)
    check_apart((a, b), what)
    parallel_for(RangePolicy(a.shape[0], space=where), _reverse_copy_one, a, b, label=label or what)


def rotate_copy(
    source: View | Any,
    middle: int,
    destination: View | Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Copy a View to the front of another one, from the element at `middle` on; then the others.

    Parameters and errors are those of `copy`, but the two must not overlap; `middle` is an
    integer from 0 to the extent of `source`, else ViewError is raised. Does not block where the
    space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(5), np.zeros(5, int)
    >>> es.algorithms.rotate_copy(x, 2, y, space="oracle")
    >>> y
    array([2, 3, 4, 0, 1])
    """
    by_extents(
        "rotate_copy", partial(_rotate_copy, middle, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def _rotate_copy(
    middle: Any, space: Space, label: str | None, *, source: Any, destination: Any
) -> None:
    what = "rotate_copy"
    where, (a, b) = _two(what, space, source, destination)
    n = a.shape[0]
    m = position(middle, n, what, "middle")
    check_room(b, n, what)
    check_apart((a, b), what)
    copy_part(where, n - m, a, m, b, 0, label or what)
    copy_part(where, m, a, 0, b, n - m, label or what)


# -- kernels --------------------------------------------------------------------------------------


def _copy_one(i: Any, source: Any, begin: Any, destination: Any, to: Any) -> None:
    destination[to + i] = source[begin + i]


def _copy_same(i: Any, source: Any, destination: Any) -> None:
    destination[i] = source[i]


def _reverse_copy_one(i: Any, source: Any, destination: Any) -> None:
    destination[len(source) - 1 - i] = source[i]
