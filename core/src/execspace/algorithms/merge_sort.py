"""Sorting with kernels alone, for spaces whose own library has no sort: stable, any length.

Sorted runs of 1, 2, 4, ... elements are merged pairwise, one launch for each width. Every index
finds by binary search how many elements of the other run come before its own, which is where it
goes: see N. Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for manycore
GPUs", IPDPS 2009, https://doi.org/10.1109/IPDPS.2009.5161005, section 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contract.memory import MemorySpace
from ..contract.space import ExecutionSpace
from ..kernels.language import function
from ..launch.parallel import parallel_for
from ..policies.range import MDRangePolicy, RangePolicy
from ..views.deep_copy import deep_copy
from ..views.mirrors import create_mirror
from ..views.view import View


@function
def precedes(a: Any, b: Any) -> Any:
    """Whether `a` comes before `b` where numbers ascend and NaN is greater than all of them."""
    return a < b or (b != b and a == a)


@function
def _destination(i: int, n: int, width: int, key: Any, less: Any, descending: bool) -> int:
    """Where element `i` goes when runs of `width` elements are merged pairwise."""
    begin = i // (2 * width) * (2 * width)
    middle = min(begin + width, n)
    end = min(begin + 2 * width, n)
    mine = key(i)
    # Of equal elements those of the first run come first: that makes the sort stable.
    of_first = i < middle
    low, high = (middle, end) if of_first else (begin, middle)
    while low < high:
        at = (low + high) // 2
        other = key(at)
        if descending:
            before = bool(less(mine, other)) if of_first else not less(other, mine)
        else:
            before = bool(less(other, mine)) if of_first else not less(mine, other)
        if before:
            low = at + 1
        else:
            high = at
    return i + low - middle


def _merge(i: int, src: Any, dst: Any, width: int, less: Any, descending: bool) -> None:
    to = _destination(i, len(src), width, lambda k: src[k], less, descending)
    dst[to] = src[i]


def _merge_order(
    i: int, keys: Any, src: Any, dst: Any, width: int, less: Any, descending: bool
) -> None:
    to = _destination(i, len(src), width, lambda k: keys[src[k]], less, descending)
    dst[to] = src[i]


# Functions return no records, so of them indices are compared.


def _merge_records(i: int, src: Any, dst: Any, width: int, less: Any, descending: bool) -> None:
    by_index = lambda a, b: less(src[a], src[b])  # noqa: E731
    to = _destination(i, len(src), width, lambda k: k, by_index, descending)
    dst[to] = src[i]


def _merge_order_of_records(
    i: int, keys: Any, src: Any, dst: Any, width: int, less: Any, descending: bool
) -> None:
    by_index = lambda a, b: less(keys[a], keys[b])  # noqa: E731
    to = _destination(i, len(src), width, lambda k: src[k], by_index, descending)
    dst[to] = src[i]


def _count_up(i: int, order: Any) -> None:
    order[i] = i


def merge_sort(view: View, descending: bool, space: ExecutionSpace, less: Any = precedes) -> None:
    """Sort a View of rank 1 in place; stable. Needs a second View of its size for the time."""
    n = view.size
    policy = RangePolicy(n, space=space)
    src, dst = view, create_mirror(view, where=view.memory_space, initialize=False)
    width = 1
    kernel = _merge if view.dtype.fields is None else _merge_records
    while width < n:
        parallel_for(policy, kernel, src, dst, width, less, descending, label="sort")
        src, dst = dst, src
        width *= 2
    if src is not view:
        deep_copy(view, src, instance=space)


def merge_argsort(
    keys: View, descending: bool, out: View, space: ExecutionSpace, less: Any = precedes
) -> None:
    """Store into `out` the permutation that sorts `keys`; stable. Needs one more View like it."""
    n = keys.size
    policy = RangePolicy(n, space=space)
    widths = [1 << k for k in range((n - 1).bit_length())]
    other = scratch(n, out.memory_space)
    # As many launches as widths: begin where the last of them ends in `out`.
    src, dst = (out, other) if len(widths) % 2 == 0 else (other, out)
    parallel_for(policy, _count_up, src, label="argsort")
    kernel = _merge_order if keys.dtype.fields is None else _merge_order_of_records
    for width in widths:
        parallel_for(policy, kernel, keys, src, dst, width, less, descending, label="argsort")
        src, dst = dst, src


def scratch(n: int, memory: MemorySpace) -> View:
    """A permutation of `n` rows, not yet filled in."""
    return View(n, np.int64, label="permutation", memory=memory, layout="right", initialize=False)


# -- rows by a permutation --------------------------------------------------------------------


def _gather1(i: int, dst: Any, src: Any, order: Any) -> None:
    dst[i] = src[order[i]]


def _gather2(i: int, j: int, dst: Any, src: Any, order: Any) -> None:
    dst[i, j] = src[order[i], j]


def _gather3(i: int, j: int, k: int, dst: Any, src: Any, order: Any) -> None:
    dst[i, j, k] = src[order[i], j, k]


_GATHER: tuple[Any, ...] = (_gather1, _gather2, _gather3)


def gather_rows(view: View, order: View, space: ExecutionSpace) -> None:
    """Row `i` becomes what row ``order[i]`` was. Needs a copy of the View for the time."""
    copy = create_mirror(view, where=view.memory_space, initialize=False)
    deep_copy(copy, view, instance=space)
    _gather(view, copy, order, space)


def _gather(dst: View, src: View, order: View, space: ExecutionSpace) -> None:
    if dst.rank > len(_GATHER):
        for k in range(dst.shape[-1]):
            _gather(dst[..., k], src[..., k], order, space)
        return
    policy = MDRangePolicy(dst.shape, space=space) if dst.rank > 1 else None
    body = _GATHER[dst.rank - 1]
    parallel_for(
        policy or RangePolicy(dst.size, space=space), body, dst, src, order, label="permute"
    )
