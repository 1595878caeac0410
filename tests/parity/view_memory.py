"""Rows of Views, continued: other extents, Views of Views, other libraries, copies in kernels."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np

import execspace as es
from parity.table import row
from parity.views import VIEW


@row(VIEW, "resize", "es.resize(a, larger)")
def resize(space: es.ExecutionSpace) -> None:
    """TestResize: ranks 1 to 8, both layouts; what both shapes have stays, the rest is zero."""
    for rank in range(1, 9):
        for layout in ("right", "left"):
            shape, larger = (2,) * rank, (3, *(2,) * (rank - 1))
            numbers = np.arange(2.0**rank).reshape(shape)
            a = es.array(numbers, layout=layout)
            es.resize(a, larger)
            assert a.layout == layout and a.shape == larger
            found = a.to_numpy()
            assert (found[:2] == numbers).all() and not found[2].any()
            es.resize(a, (1,) * rank)
            assert a.to_numpy().ravel().tolist() == [0]


@row(VIEW, "realloc", "es.realloc(a, (3, 2))")
def realloc(space: es.ExecutionSpace) -> None:
    for layout in ("right", "left"):
        a = es.array(np.ones((2, 2)), layout=layout)
        before = a[0, :]
        es.realloc(a, (3, 2))
        assert a.shape == (3, 2) and a.layout == layout and not a.to_numpy().any()
        assert before.to_numpy().tolist() == [1, 1]  # the old memory, which it keeps alive


@row(VIEW, "View of Views", "for v in views:")
def view_of_views(space: es.ExecutionSpace) -> None:
    """TestViewOfViews: a kernel goes through them, and chooses one when it runs."""

    def total(i, views, out):
        for v in views:
            out[i] += v[i]
        out[i] += 100 * views[i % 3][0]

    views = tuple(es.array(np.arange(6.0) + 10 * k) for k in range(3))
    out = es.View(6)
    es.parallel_for(6, total, views, out)
    expected = 3 * np.arange(6) + 30 + 1000 * (np.arange(6) % 3)
    assert (out.to_numpy() == expected).all()


@row(VIEW, "Alignment of 64 bytes", "assert es.View(n, dtype).data_ptr % 64 == 0")
def alignment(space: es.ExecutionSpace) -> None:
    for n in (1, 7, 1000):
        for dtype in (es.int8, es.float32, es.complex128):
            assert es.View(n, dtype).data_ptr % 64 == 0


@row(VIEW, "Interoperability: DLPack, buffers, arrays", "there = np.from_dlpack(a)")
def interoperability(space: es.ExecutionSpace) -> None:
    """Memory is shared, not copied; that of a device is brought here first."""
    a = es.create_mirror_view(es.array(np.arange(4.0)))
    es.deep_copy(a, np.arange(4.0))
    there = np.from_dlpack(a)
    there[0] = 8
    assert np.asarray(a).tolist() == [8, 1, 2, 3] and np.shares_memory(np.asarray(a), there)
    if sys.version_info >= (3, 12):
        assert memoryview(a)[0] == 8.0
    shared = bytearray(3)
    b = es.view_of(shared)
    b[1] = 7
    assert shared == b"\0\7\0"


@row(VIEW, "Iterators begin, end", "assert es.algorithms.find(a[2:5], 3) == 1")
def iterators(space: es.ExecutionSpace) -> None:
    """A range is a part of a View, and a position in it a number from 0 on."""
    a = es.array(np.arange(8))
    assert es.algorithms.find(a[2:5], 3) == 1
    assert es.algorithms.find(a[2:5], 7) == 3  # the end: not found
    rows = list(es.View((3, 2)))
    assert [r.shape for r in rows] == [(2,)] * 3


@row(VIEW, "local_deep_copy by a thread", "es.local_deep_copy(to[i, 2:], 7.0)")
def local_deep_copy(space: es.ExecutionSpace) -> None:
    """TestLocalDeepCopy."""

    def kernel(i, to, a):
        to[i, :] = a[i, :]
        es.local_deep_copy(to[i, 2:], 7.0)

    to, a = es.View((3, 4)), es.array(np.arange(12.0).reshape(3, 4))
    es.parallel_for(3, kernel, to, a)
    assert to.to_numpy().tolist() == [[0, 1, 7, 7], [4, 5, 7, 7], [8, 9, 7, 7]]


@row(VIEW, "local_deep_copy by a team", "es.local_deep_copy(team, to[l, :, :], a[l, :, :])")
def local_deep_copy_by_a_team(space: es.ExecutionSpace) -> None:
    def kernel(team, to, a):
        l = team.league_rank  # noqa: E741
        es.local_deep_copy(team, to[l, :, :], a[l, :, :])
        es.local_deep_copy(team, to[l, 0, :], -1.0)

    numbers = np.arange(2 * 7 * 5.0).reshape(2, 7, 5)
    to, a = es.View((2, 7, 5)), es.array(numbers)
    es.parallel_for(es.TeamPolicy(2, "auto"), kernel, to, a)
    numbers[:, 0] = -1
    assert (to.to_numpy() == numbers).all()


@row(VIEW, "is_view", "assert isinstance(a, es.View)")
def is_view(space: es.ExecutionSpace) -> None:
    a: Any = es.View(3)
    assert isinstance(a, es.View)
    assert isinstance(a[1:], es.View) and not isinstance(np.zeros(3), es.View)


@row(VIEW, "Lifetime by reference counts", "assert held() == 800 and part.use_count == 1")
def lifetime(space: es.ExecutionSpace) -> None:
    """A part keeps the memory alive, and so do launches under way."""

    def held() -> int:
        gc.collect()
        return sum(nbytes for _, nbytes, label in es.live_allocations() if label == "counted")

    a = es.View(100, label="counted")
    part = a[10:20]
    assert held() == 800
    del a
    assert held() == 800 and part.use_count == 1
    es.parallel_for(10, lambda i, part: add_one(part, i), part)
    assert part.to_numpy().sum() == 10
    del part
    space.fence()
    assert held() == 0


def add_one(part, i):
    part[i] += 1
