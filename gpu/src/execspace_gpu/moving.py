"""Copies on a device in which elements do not lie as they shall: kernels that move them.

Elements of less than 8 bytes that lie in words of 8 bytes on both sides are moved in such. Where
they change their order, a thread takes a square of them, which are words on both sides. All others
are assigned one by one, by the mapping to threads that any kernel has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cupy_backends.cuda.api import runtime

import execspace as es
from execspace import View, profiling
from execspace.base import config
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.kernels.kernel import kernel_from
from execspace.views.deep_copy import extent_of_bytes
from execspace.views.interop import view_over

from .arrangement import WORD, Arrangement, arranged
from .device_space import DeviceSpace

DEFAULT = 4  # MemcpyDefault of the runtimes: the driver sees by the addresses where each is
LEAST = 1 << 20  # bytes; with less, to look for words takes longer than what they save
_MOST_AXES = 4
_LEAST_WORDS = 4  # of the sides of what is moved in squares
# A block of threads whose words are 64 bytes of the destination, and 32 rows of it, two for each
# thread: both sides are then whole sectors of the cache.
_TILE, _CALLS = (8, 32), (1, 2)
_SECTOR = 32  # bytes; longer rows are accessed well in whatever order they come
_WORDS = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def move(space: DeviceSpace, dst: View, src: View) -> None:
    """Assign each element, on the stream of a space; Views are of one shape, which is not empty."""
    found = arranged(dst, src) if dst.nbytes >= LEAST else None
    if found is None or not _Move(space, dst, src).launched(found):
        _assign(space, dst, src)


class _Move:
    """A copy between memory of two Views of one dtype."""

    def __init__(self, space: DeviceSpace, dst: View, src: View) -> None:
        self.space, self.dst, self.src = space, dst, src

    def launched(self, found: Arrangement) -> bool:
        """Launch the copy, unless words would be no wider than elements."""
        size = self.dst.dtype.itemsize
        if found.axes and size >= WORD:
            return False
        if len(found.axes) > 1 and found.block in _TURNS and self._turned(found):
            return True
        if found.axes and found.in_words().block <= size:
            return False
        self._words(found)
        return True

    def _words(self, found: Arrangement) -> None:
        """A call for each word, or a copy of a block."""
        if not found.axes:
            stream = self.space.stream
            runtime.memcpyAsync(found.to, found.source, found.block, DEFAULT, stream)
            return
        words, units = found.in_words(), None
        if found.block < _SECTOR:  # short blocks that come in another order
            units = found.unit_axes
        if len(words.axes) > _MOST_AXES:
            others = (d for d in range(len(found.axes)) if d not in (units or ()))
            shortest = min(others, key=lambda d: found.axes[d].extent)
            for n in range(found.axes[shortest].extent):
                self._words(found.without(shortest, n))
            return
        axes, options = words.axes, {}
        if units is not None and len(words.axes) == len(found.axes):
            near = [axes[d] for d in units]
            axes = (*near, *(a for d, a in enumerate(axes) if d not in units))
            ones = (1,) * (len(axes) - 2)
            options = {"tile": (*_TILE, *ones), "items_per_thread": (*_CALLS, *ones)}
        shape = tuple(a.extent for a in axes)
        to, source = (tuple(a[side] for a in axes) for side in (1, 2))
        _launch(
            self.space, shape, _MOVES[len(shape) - 1],
            self._view(self.dst, words.block, words.to, shape, to),
            self._view(self.src, words.block, words.source, shape, source), **options,
        )  # fmt: skip

    def _turned(self, found: Arrangement) -> bool:
        """In squares of as many elements as a word has; False if they do not lie in words."""
        units, axes, block = found.unit_axes, found.axes, found.block
        if units is None or len(axes) > 3:
            return False
        side = WORD // block
        first, second = (axes[d] for d in units)
        if (first.to, second.source) != (block, block):
            return False
        steps = [a.to for a in axes if a is not first] + [a.source for a in axes if a is not second]
        if any(n % WORD for n in (found.to, found.source, *steps)):
            return False
        if min(first.extent, second.extent) < _LEAST_WORDS * side:
            return False
        n, m = first.extent // side, second.extent // side
        more = [a for a in axes if a is not first and a is not second]
        counts, ones = tuple(a.extent for a in more), (1,) * len(more)
        to = self._view(
            self.dst, WORD, found.to, (n, side, m, *counts),
            (WORD, second.to, side * second.to, *(a.to for a in more)),
        )  # fmt: skip
        source = self._view(
            self.src, WORD, found.source, (m, side, n, *counts),
            (WORD, first.source, side * first.source, *(a.source for a in more)),
        )  # fmt: skip
        _launch(
            self.space, (n, m, *counts), _TURNS[block][len(more)], to, source,
            tile=(*_TILE, *ones),
        )  # fmt: skip
        # What is left of rows and columns.
        if n * side < first.extent:
            self._words(found.part(units[0], n * side, first.extent))
            found = found.part(units[0], 0, n * side)
        if m * side < second.extent:
            self._words(found.part(units[1], m * side, second.extent))
        return True

    def _view(
        self, view: View, size: int, address: int, shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> View:
        """Words in the memory of a View."""
        return view_over(
            "deep_copy", address, _WORDS[size], shape, steps, False, view.memory_space,
            _owner_of(view), view.space,
        )  # fmt: skip


def _launch(
    space: DeviceSpace, shape: tuple[int, ...], kernel: Any, dst: View, src: View, **options: Any
) -> None:
    policy: Any
    if len(shape) == 1:
        policy = es.RangePolicy(shape[0], space=space)
    else:
        policy = es.MDRangePolicy((0,) * len(shape), shape, space=space, iterate="left", **options)
    es.parallel_for(policy, kernel, dst, src, label="deep_copy")


def _assign(space: DeviceSpace, dst: View, src: View) -> None:
    """Elements of two dtypes, or of a layout of the user's, or few."""
    if dst.rank == 0:
        _assign(space, dst[None], src[None])
        return
    if dst.rank > len(_MOVES):
        if dst.mapping is not None or src.mapping is not None:
            raise es.ViewError(
                f"deep_copy: Views '{dst.label}' and '{src.label}' have rank {dst.rank}, and one "
                f"has a layout of the user's; on a GPU such Views are copied up to rank "
                f"{len(_MOVES)}. Copy through the host."
            )
        shortest = min(range(dst.rank), key=lambda d: dst.shape[d])
        for n in range(dst.shape[shortest]):
            part = tuple(n if d == shortest else es.ALL for d in range(dst.rank))
            _assign(space, es.subview(dst, *part), es.subview(src, *part))
        return
    policy: Any = es.RangePolicy(dst.shape[0], space=space)
    if dst.rank > 1:
        policy = es.MDRangePolicy((0,) * dst.rank, dst.shape, space=space)
    es.parallel_for(policy, _MOVES[dst.rank - 1], dst, src, label="deep_copy")


def put(space: DeviceSpace, dst: View, value: Any) -> bool:
    """Set each element to a number of its dtype, on the stream of a space; False if no kernel takes
    such a number, or the rank is too high."""
    if type(value) not in SCALAR_TYPES:
        return False
    if dst.mapping is None and dst.rank != 1 and dst.span_is_contiguous:
        first, last = extent_of_bytes(dst)
        size = dst.dtype.itemsize
        dst = view_over(
            dst.label, first, dst.dtype, ((last - first) // size,), (size,), False,
            dst.memory_space, _owner_of(dst), dst.space,
        )  # fmt: skip
    if not 0 < dst.rank <= len(_PUTS):
        return False
    policy: Any = es.RangePolicy(dst.shape[0], space=space)
    if dst.rank > 1:
        policy = es.MDRangePolicy((0,) * dst.rank, dst.shape, space=space)
    es.parallel_for(policy, _PUTS[dst.rank - 1], dst, value)
    return True


def put_again(space: DeviceSpace, dst: View, value: float) -> bool:
    """As `put` of a Python float into doubles in a row, by a plan that is looked up by the type of
    the View alone; False for other Views, and where somebody is told of launches."""
    if dst.type.unit != 0 or dst.type.dtype != "float64" or dst.rank != 1 or profiling.TOOLS:
        return False
    plan = space.fills.get(dst.type)
    if plan is None:
        if config.is_portable() or config.is_tuned():
            return False
        policy = es.RangePolicy(1, space=space)
        plan = space.fills[dst.type] = es.bind(policy, _PUTS[0], dst, value).plan
    plan.launch((0, dst.shape[0]), (dst, value))
    return True


def _owner_of(view: View) -> Any:
    """What keeps the memory of a View alive, whose library's streams stay in order."""
    return view if view.allocation.managed else view.allocation.owner


# -- kernels --------------------------------------------------------------------------------------


def _move1(i: int, dst: Any, src: Any) -> None:
    dst[i] = src[i]


def _move2(i: int, j: int, dst: Any, src: Any) -> None:
    dst[i, j] = src[i, j]


def _move3(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    dst[i, j, k] = src[i, j, k]


def _move4(i: int, j: int, k: int, p: int, dst: Any, src: Any) -> None:
    dst[i, j, k, p] = src[i, j, k, p]


def _put1(i: int, dst: Any, value: Any) -> None:
    dst[i] = value


def _put2(i: int, j: int, dst: Any, value: Any) -> None:
    dst[i, j] = value


def _put3(i: int, j: int, k: int, dst: Any, value: Any) -> None:
    dst[i, j, k] = value


def _put4(i: int, j: int, k: int, p: int, dst: Any, value: Any) -> None:
    dst[i, j, k, p] = value


# Kernels with a name, for a label makes a launch longer.
_PUTS = tuple(kernel_from(f, name="deep_copy") for f in (_put1, _put2, _put3, _put4))
_MOVES = (_move1, _move2, _move3, _move4)

_HALVES, _QUARTERS, _BYTES = 0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF


def _swapped(a: Any, b: Any, bits: int, mask: int) -> Any:
    """Two rows of a square, whose blocks beside the diagonal change places."""
    t = ((a >> bits) ^ b) & mask
    return a ^ (t << bits), b ^ t


def _turn4(i: int, j: int, dst: Any, src: Any) -> None:
    a, b = _swapped(src[j, 0, i], src[j, 1, i], 32, _HALVES)
    dst[i, 0, j] = a
    dst[i, 1, j] = b


def _turn4_each(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    a, b = _swapped(src[j, 0, i, k], src[j, 1, i, k], 32, _HALVES)
    dst[i, 0, j, k] = a
    dst[i, 1, j, k] = b


def _square2(a: Any, b: Any, c: Any, d: Any) -> Any:
    a, c = _swapped(a, c, 32, _HALVES)
    b, d = _swapped(b, d, 32, _HALVES)
    a, b = _swapped(a, b, 16, _QUARTERS)
    c, d = _swapped(c, d, 16, _QUARTERS)
    return a, b, c, d


def _turn2(i: int, j: int, dst: Any, src: Any) -> None:
    a, b, c, d = _square2(src[j, 0, i], src[j, 1, i], src[j, 2, i], src[j, 3, i])
    dst[i, 0, j] = a
    dst[i, 1, j] = b
    dst[i, 2, j] = c
    dst[i, 3, j] = d


def _turn2_each(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    a, b, c, d = _square2(src[j, 0, i, k], src[j, 1, i, k], src[j, 2, i, k], src[j, 3, i, k])
    dst[i, 0, j, k] = a
    dst[i, 1, j, k] = b
    dst[i, 2, j, k] = c
    dst[i, 3, j, k] = d


def _pairs1(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four neighbouring rows of bytes, after the halves of all eight have changed places."""
    a, c = _swapped(a, c, 16, _QUARTERS)
    b, d = _swapped(b, d, 16, _QUARTERS)
    a, b = _swapped(a, b, 8, _BYTES)
    c, d = _swapped(c, d, 8, _BYTES)
    return a, b, c, d


def _turn1(i: int, j: int, dst: Any, src: Any) -> None:
    a, e = _swapped(src[j, 0, i], src[j, 4, i], 32, _HALVES)
    b, f = _swapped(src[j, 1, i], src[j, 5, i], 32, _HALVES)
    c, g = _swapped(src[j, 2, i], src[j, 6, i], 32, _HALVES)
    d, h = _swapped(src[j, 3, i], src[j, 7, i], 32, _HALVES)
    a, b, c, d = _pairs1(a, b, c, d)
    e, f, g, h = _pairs1(e, f, g, h)
    dst[i, 0, j] = a
    dst[i, 1, j] = b
    dst[i, 2, j] = c
    dst[i, 3, j] = d
    dst[i, 4, j] = e
    dst[i, 5, j] = f
    dst[i, 6, j] = g
    dst[i, 7, j] = h


def _turn1_each(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    a, e = _swapped(src[j, 0, i, k], src[j, 4, i, k], 32, _HALVES)
    b, f = _swapped(src[j, 1, i, k], src[j, 5, i, k], 32, _HALVES)
    c, g = _swapped(src[j, 2, i, k], src[j, 6, i, k], 32, _HALVES)
    d, h = _swapped(src[j, 3, i, k], src[j, 7, i, k], 32, _HALVES)
    a, b, c, d = _pairs1(a, b, c, d)
    e, f, g, h = _pairs1(e, f, g, h)
    dst[i, 0, j, k] = a
    dst[i, 1, j, k] = b
    dst[i, 2, j, k] = c
    dst[i, 3, j, k] = d
    dst[i, 4, j, k] = e
    dst[i, 5, j, k] = f
    dst[i, 6, j, k] = g
    dst[i, 7, j, k] = h


_TURNS = {1: (_turn1, _turn1_each), 2: (_turn2, _turn2_each), 4: (_turn4, _turn4_each)}
