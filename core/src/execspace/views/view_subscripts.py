"""Subscripts of Views: from what users write to an element's indices or a part of the memory.

Also other shapes of the same memory. Nothing here reads or writes an element.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any, Self

from ..base.brief import brief
from ..base.errors import ViewError, ViewIndexError, ViewTypeError, shown
from ..contract import layout as _layout
from ..contract.argtypes import ViewType
from ..contract.dtypes import as_dtype
from .static import static
from .view_keys import ALL, MAX_RANK, All, example_name, numpy_has, part_text, trimmed
from .view_parts import ViewParts, type_of

# Type, extents, strides, static extents of a part -> its layout and its type.
_types_of_parts: dict[tuple[Any, ...], tuple[str, ViewType]] = {}
# Type, extent, stride of a line -> its extents, strides, layout and type.
_lines: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_MOST_TYPES = 4096


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
        return self._cut(key)

    def _cut(self, key: tuple[Any, ...]) -> Self:
        """As `_subview`, of a View without a mapping."""
        known = self.type.static
        pointer, shape, strides = self.data_ptr, [], []
        fixed: list[int | None] = []
        size = self.dtype.itemsize
        steps = self.strides
        d = 0
        for part in key:
            n, s = self.shape[d], steps[d]
            if type(part) is int and 0 <= part < n:
                pointer += part * s * size
                d += 1
                continue
            if part is ALL:
                start, count, step = 0, n, 1
            elif type(part) is slice:
                if part.start is part.stop is part.step is None:
                    start, count, step = 0, n, 1
                else:
                    start, count, step = self._slice(part, d)
            elif isinstance(part, tuple):
                start, count, step = *self._pair(part, d), 1
            else:
                pointer += self._index(part, d) * s * size
                d += 1
                continue
            if count:
                pointer += start * s * size
            shape.append(count)
            strides.append(s * step)
            if known:
                fixed.append(known[d] if count == n else None)
            d += 1
        return self._part(pointer, tuple(shape), tuple(strides), trimmed(fixed) if known else ())

    def _row(self, part: slice) -> Self:
        """A slice of a View of rank 1 without a mapping."""
        if not self.type.static:
            try:
                start, stop, step = part.indices(self.shape[0])
            except (TypeError, ValueError):
                return self._cut((part,))  # which says what is wrong
            # With two elements or more, one after another, the layout is what it was.
            if step == 1 and stop - start > 1:
                at = self.data_ptr + start * self.strides[0] * self.dtype.itemsize
                return self._like(at, (stop - start,), self.strides, self.layout, self.type)
        return self._cut((part,))

    def _line(self, index: int, part: slice, d: int) -> Self | None:
        """All elements along dimension `d` of a View of rank 2, at an index of the other one; None
        if it is not as simple as that."""
        shape, strides, kind = self.shape, self.strides, self.type
        if not 0 <= index < shape[1 - d] or kind.static:
            return None
        if part.start is not None or part.stop is not None or part.step is not None:
            return None
        key = kind, shape[d], strides[d]
        found = _lines.get(key)
        if found is None:
            part_of = self._cut((index, part) if d else (part, index))
            if len(_lines) >= _MOST_TYPES:
                _lines.clear()
            found = part_of.shape, part_of.strides, part_of.layout, part_of.type
            _lines[key] = found
        at = self.data_ptr + index * strides[1 - d] * self.dtype.itemsize
        return self._like(at, *found)

    def _part(
        self,
        pointer: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        fixed: tuple[int | None, ...],
    ) -> Self:
        """A View of elements of this one, which has no mapping, of its properties."""
        key = self.type, shape, strides, fixed
        found = _types_of_parts.get(key)
        if found is None:
            layout = _layout.classify(shape, strides, prefer=self.layout)
            kind = type_of(
                self.dtype, strides, layout, self.is_readonly, self.memory_space.name, None, fixed,
                self.traits,
            )  # fmt: skip
            if len(_types_of_parts) >= _MOST_TYPES:
                _types_of_parts.clear()
            found = _types_of_parts[key] = layout, kind
        return self._like(pointer, shape, strides, *found)

    def _slice(self, part: slice, d: int) -> tuple[int, int, int]:
        """First index, number of indices and step of a slice, cut to the extent as Python does."""
        n = self.shape[d]
        try:
            start, stop, step = part.indices(n)
            if step == 1:
                return start, stop - start if stop > start else 0, 1
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
                f"View '{self.label}': {brief(part)} is not a range of dimension {d}; "
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
            if part is True or part is False:  # which operator.index takes for 0 and 1
                raise TypeError
            i = operator.index(part)
        except TypeError:
            raise ViewError(
                f"View '{self.label}': cannot index dimension {d} with {brief(part)}; expected an "
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
        """One part for each dimension; dimensions that the subscript leaves out are whole."""
        parts = key if isinstance(key, tuple) else (key,)
        rank = len(self.shape)
        dots = []
        for d, part in enumerate(parts):
            if part is Ellipsis:
                dots.append(d)
        if not dots and len(parts) == rank:
            return parts
        if len(parts) - len(dots) > rank or len(dots) > 1:
            more = " Write one ellipsis only." if len(dots) > 1 else ""
            raise ViewError(
                f"View '{self.label}' has rank {rank}; expected {rank} "
                f"{'index' if rank == 1 else 'indices'}, got {len(parts)}.{more}"
            )
        at = dots[0] if dots else len(parts)
        fill = (ALL,) * (rank - len(parts) + len(dots))
        return parts[:at] + fill + parts[at + len(dots) :]

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
        whole += rest  # dimensions that the subscript leaves out
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
        return part._part(part.data_ptr, tuple(shape), tuple(strides), trimmed(fixed))

    def _dimension(self, d: Any) -> int:
        """A dimension by its number; a negative one counts from the end."""
        try:
            number = operator.index(d)
        except TypeError:
            raise ViewTypeError(
                f"View '{self.label}': {brief(d)} is not a dimension; expected an integer."
            ) from None
        rank = len(self.shape)
        if number < -rank:
            raise ViewIndexError(
                f"View '{self.label}' has rank {rank}, and no dimension {shown(number)}."
            )
        return number + rank if number < 0 else number

    # -- other shapes of the same memory --------------------------------------------------

    @property
    def T(self) -> Self:
        """The same elements with all dimensions in reverse: ``A.T[i, j]`` is ``A[j, i]``."""
        return self.transpose()

    def transpose(self, *axes: int) -> Self:
        """The same elements with the dimensions in another order, as `numpy.transpose` has them.

        Parameters
        ----------
        *axes : int
            For each dimension of the result the one that it was; all of them in reverse if none
            is given.

        Raises
        ------
        ViewError
            If `axes` are not all dimensions once each, or the layout is one of one's own.
        """
        rank = len(self.shape)
        if len(axes) == 1 and isinstance(axes[0], tuple | list):
            axes = tuple(axes[0])
        order = tuple(map(self._dimension, axes)) if axes else tuple(reversed(range(rank)))
        if sorted(order) != list(range(rank)):
            raise ViewError(
                f"View '{self.label}' has rank {rank}; transpose expected its dimensions in some "
                f"order, got {axes}."
            )
        self._require_strides("transpose")
        known = self.type.static or (None,) * rank
        swapped = self.layout
        if rank > 1:
            swapped = {"right": "left", "left": "right"}.get(self.layout, self.layout)
        return self._reshaped(
            tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order), swapped,
            trimmed([known[d] for d in order]),
        )  # fmt: skip

    def reshape(self, *shape: Any) -> Self:
        """The same elements in another shape, in the order in which the last index runs fastest.

        Parameters
        ----------
        *shape : int or es.static
            Extents, one by one or as a sequence; one of them may be -1, which is what the others
            leave. Those given as `es.static` are part of the type of the new View, no others are.

        Returns
        -------
        View
            Of the same memory; nothing is ever copied.

        Raises
        ------
        ViewError
            If the number of elements is another one, or if no strides lead through the memory in
            that order, as for the transpose of a matrix, or for a matrix of layout "left".
        """
        given = shape[0] if len(shape) == 1 else shape
        extents = self._extents_for(given)
        self._require_strides("reshape")
        steps = strides_for(self.shape, self.strides, extents)
        if steps is None:
            name = example_name(self)
            raise ViewError(
                f"View '{self.label}' of shape {self.shape} and layout '{self.layout}' cannot be "
                f"seen in shape {extents}: its elements do not lie in the order of their indices. "
                f"Make it with layout='right' (GPUs prefer 'left'), or copy it into such a View: "
                f"es.array({name}, layout='right').reshape{extents}."
            )
        parts = given if isinstance(given, tuple | list) else (given,)
        pairs = zip(extents, parts, strict=True)
        fixed = trimmed([n if isinstance(part, static) else None for n, part in pairs])
        return self._reshaped(extents, steps, self.layout, fixed)

    def view(self, dtype: Any) -> Any:
        """The same memory as elements of another dtype, as `numpy.ndarray.view` has it.

        Parameters
        ----------
        dtype : dtype-like
            Bits are taken as they are; nothing is converted. If its elements have another size, the
            last dimension must have stride 1, and its extent changes.

        Returns
        -------
        View
            Of the same memory, read-only if this one is.

        Raises
        ------
        DTypeError
            If there is no such dtype.
        ViewError
            If bytes of rows, their distances or their address do not divide into such elements, or
            the layout is one of one's own.

        Examples
        --------
        >>> import execspace as es
        >>> es.zeros(8, es.uint8, space="serial").view(es.float32).shape
        (2,)
        """
        kind = as_dtype(dtype)
        self._require_strides("view of another dtype")
        old, new = self.dtype.itemsize, kind.itemsize
        extents, steps = self.shape, self.strides
        if old != new:
            row = extents[-1] * old if extents else 0
            gaps = [step * old for step in steps[:-1]]
            follow = extents and (steps[-1] == 1 or extents[-1] <= 1)
            if not follow or row % new or any(gap % new for gap in gaps):
                raise ViewError(
                    f"View '{self.label}' of shape {extents} and strides {steps} with elements of "
                    f"{old} bytes cannot be seen as elements of {new} bytes, {kind}; expected a "
                    f"last dimension of stride 1 whose rows, {row} bytes, are whole elements."
                )
            extents = (*extents[:-1], row // new)
            steps = (*(gap // new for gap in gaps), 1)
        if self.data_ptr % kind.alignment:
            raise ViewError(
                f"View '{self.label}' begins at {self.data_ptr:#x}, where no {kind} is aligned; "
                f"expected a multiple of {kind.alignment}."
            )
        return self._over(
            self.allocation, self.data_ptr, kind, extents, steps,
            _layout.classify(extents, steps, prefer=self.layout), self.is_readonly, self.space,
            None, (), self.traits,
        )  # fmt: skip

    def _extents_for(self, shape: Any) -> tuple[int, ...]:
        """Extents of as many elements as there are, with what stands for -1 filled in."""
        try:
            if isinstance(shape, tuple | list):
                extents = [operator.index(n) for n in shape]
            else:
                extents = [operator.index(shape)]
        except TypeError:
            raise ViewError(
                f"View '{self.label}': shape {shape!r} is not valid; expected integers, of which "
                f"one may be -1."
            ) from None
        size = prod(self.shape)
        if extents.count(-1) == 1:
            others = -prod(extents)
            if others and size % others == 0:
                extents[extents.index(-1)] = size // others
        if any(n < 0 for n in extents) or prod(extents) != size:
            raise ViewError(
                f"View '{self.label}' has {size} elements, shape {self.shape}, which shape "
                f"({', '.join(map(shown, extents))}) does not hold."
            )
        if len(extents) > MAX_RANK:
            raise ViewError(f"View '{self.label}': rank {len(extents)} exceeds {MAX_RANK}.")
        return tuple(extents)

    def _require_strides(self, what: str) -> None:
        if self.mapping is not None:
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, of which there is no {what}; "
                f"copy it into a View of layout 'right' or 'left' with es.deep_copy."
            )

    def _reshaped(
        self,
        extents: tuple[int, ...],
        steps: tuple[int, ...],
        prefer: str,
        fixed: tuple[int | None, ...],
    ) -> Self:
        return self._over(
            self.allocation, self.data_ptr, self.dtype, extents, steps,
            _layout.classify(extents, steps, prefer=prefer), self.is_readonly, self.space, None,
            fixed, self.traits,
        )  # fmt: skip


def strides_for(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the same elements in another shape, in row-major order; None if there are none.

    Dimensions of both shapes are put together in runs of equal size; each run of the old ones must
    be one row in memory.
    """
    if 0 in wanted:
        return _layout.right_strides(wanted)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    out = [1] * len(wanted)
    i = j = 0
    while i < len(old) and j < len(wanted):
        ends = i + 1
        have, need, last = old[i][0], wanted[j], j + 1
        while have != need:
            if have < need:
                have, ends = have * old[ends][0], ends + 1
            else:
                need, last = need * wanted[last], last + 1
        if any(old[k][1] != old[k + 1][0] * old[k + 1][1] for k in range(i, ends - 1)):
            return None
        step = old[ends - 1][1]
        for d in reversed(range(j, last)):
            out[d] = step
            step *= wanted[d]
        i, j = ends, last
    return tuple(out)
