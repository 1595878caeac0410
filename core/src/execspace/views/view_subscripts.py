"""Subscripts of Views: from what users write to an element's indices or a part of the memory.

Nothing here reads or writes an element.
"""

from __future__ import annotations

import operator
from typing import Any, Self

from ..base.errors import ViewError, ViewIndexError, shown
from ..contract import layout as _layout
from .view_keys import ALL, MAX_RANK, All, numpy_has, part_text, trimmed
from .view_parts import ViewParts


class Subscripts(ViewParts):
    """Parts of a View that share its memory."""

    __slots__ = ()

    def _subview(self, key: tuple[Any, ...]) -> Self:
        if self.mapping is not None:
            if all(part is ALL or part == slice(None) for part in key):
                return self
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, of which there are no subviews; "
                f"copy it into a View of layout 'right' or 'left' with es.deep_copy."
            )
        fixed: list[int | None] = []
        known = self.type.static or (None,) * len(self.shape)
        pointer, shape, strides = self.data_ptr, [], []
        size = self.dtype.itemsize
        for d, (part, n, s) in enumerate(zip(key, self.shape, self.strides, strict=True)):
            if part is ALL:
                start, count, step = 0, n, 1
            elif isinstance(part, slice):
                start, count, step = self._slice(part, d)
            elif isinstance(part, tuple):
                start, count, step = *self._pair(part, d), 1
            else:
                pointer += self._index(part, d) * s * size
                continue
            if count:
                pointer += start * s * size
            shape.append(count)
            strides.append(s * step)
            fixed.append(known[d] if count == n else None)
        extents, steps = tuple(shape), tuple(strides)
        kind = _layout.classify(extents, steps, prefer=self.layout)
        return self._over(
            self.allocation, pointer, self.dtype, extents, steps, kind,
            self.is_readonly, self.space, None, trimmed(fixed), self.traits,
        )  # fmt: skip

    def _slice(self, part: slice, d: int) -> tuple[int, int, int]:
        """First index, number of indices and step of a slice, cut to the extent as Python does."""
        n = self.shape[d]
        try:
            start, stop, step = part.indices(n)
        except (TypeError, ValueError) as error:
            raise ViewError(
                f"View '{self.label}': {part_text(part)} is not a slice of dimension {d}: {error}."
            ) from None
        count = len(range(start, stop, step))
        # A step from one index alone leads nowhere, and need not fit into a stride.
        return start, count, step if count > 1 or abs(step) <= n else 1

    def _pair(self, part: tuple[Any, ...], d: int) -> tuple[int, int]:
        try:
            begin, end = (operator.index(p) for p in part)
        except (TypeError, ValueError):
            raise ViewError(
                f"View '{self.label}': {part!r} is not a range of dimension {d}; "
                f"expected a pair of integers (begin, end)."
            ) from None
        if not 0 <= begin <= end <= self.shape[d]:
            raise ViewIndexError(
                f"View '{self.label}': range ({shown(begin)}, {shown(end)}) does not lie within "
                f"dimension {d} of extent {self.shape[d]}."
            )
        return begin, end - begin

    def _index(self, part: Any, d: int) -> int:
        try:
            i = operator.index(part)
        except TypeError:
            raise ViewError(
                f"View '{self.label}': cannot index dimension {d} with {part!r}; expected an "
                f"integer, a slice or es.ALL (es.subview also takes a pair).{numpy_has(part)}"
            ) from None
        n = self.shape[d]
        if not -n <= i < n:
            raise ViewIndexError(
                f"View '{self.label}': index {shown(i)} is out of bounds for dimension {d} of "
                f"extent {n}."
            )
        return i + n if i < 0 else i

    def _key(self, key: Any) -> tuple[Any, ...]:
        parts = key if isinstance(key, tuple) else (key,)
        rank = len(self.shape)
        dots = [d for d, part in enumerate(parts) if part is Ellipsis]
        if len(dots) == 1 and len(parts) - 1 <= rank:
            fill = (ALL,) * (rank - len(parts) + 1)
            parts = parts[: dots[0]] + fill + parts[dots[0] + 1 :]
        if len(parts) != rank:
            hint = ", ".join([*map(part_text, parts), *[":"] * (rank - len(parts))])
            name = self.label if self.label.isidentifier() else "A"
            more = f" For a subview write {name}[{hint}]." if len(parts) < rank else ""
            raise ViewError(
                f"View '{self.label}' has rank {rank}; expected {rank} "
                f"{'index' if rank == 1 else 'indices'}, got "
                f"{len(parts)}.{more}"
            )
        return parts

    def _with_new_axes(self, key: tuple[Any, ...]) -> Self:
        """The subview of a key, with a dimension of extent 1 for each None in it, as in NumPy."""
        named = [part for part in key if part is not None]
        if not named:
            key = (*key, Ellipsis)
        parts = self._key(tuple(named) or (Ellipsis,))
        part = self._subview(parts)
        if part.mapping is not None:
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, which takes no new dimension."
            )
        shape, strides = list(part.shape), list(part.strides)
        fixed = list(part.type.static) or [None] * len(shape)
        rest = iter(parts)
        whole: list[Any] = []
        for given in key:
            if given is Ellipsis:
                whole += (next(rest) for _ in range(len(parts) - max(len(named) - 1, 0)))
            else:
                whole.append(None if given is None else next(rest))
        d = 0
        for given in whole:
            if given is None:
                shape.insert(d, 1)
                strides.insert(d, 0)
                fixed.insert(d, None)
                d += 1
            elif isinstance(given, slice | All | tuple):
                d += 1
        if len(shape) > MAX_RANK:
            raise ViewError(f"View '{self.label}': rank {len(shape)} exceeds {MAX_RANK}.")
        extents, steps = tuple(shape), tuple(strides)
        kind = _layout.classify(extents, steps, prefer=part.layout)
        return self._over(
            part.allocation, part.data_ptr, part.dtype, extents, steps, kind, part.is_readonly,
            part.space, None, trimmed(fixed), part.traits,
        )  # fmt: skip
