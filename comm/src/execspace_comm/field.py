"""Field: this rank's part of an array that all ranks have together, with a halo around it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import execspace as es

from .division import Division
from .errors import CommError

__all__ = ["Field"]

Widths = tuple[tuple[int, int], ...]


class Field:
    """A View with the box of a rank, and a halo of indices that other ranks have.

    Made by `Decomposition.field`. Kernels take `view`, whose first own index is `begin`; a global
    index is that of the View plus `origin`.

    Attributes
    ----------
    decomposition : Decomposition
    view : View
        All elements of this rank, those of the halo included.
    halo : tuple of (int, int)
        Indices before and behind, for each dimension.
    components : tuple of int
        Extents of what each index has.
    begin, end : tuple of int
        Bounds of own indices in `view`.
    origin : tuple of int
        Global index of the first element of `view`; negative in a halo outside of the range.
    """

    def __init__(
        self,
        decomposition: Division,
        dtype: Any,
        halo: Any,
        components: int | Sequence[int],
        label: str,
        space: str | es.ExecutionSpace | None,
        layout: str | None,
    ) -> None:
        self.decomposition = decomposition
        self.halo = as_widths(halo, decomposition.rank)
        parts = components if isinstance(components, Sequence) else (components,)
        self.components = tuple(operator.index(n) for n in parts)
        shape = decomposition.shape
        extents = [n + low + high for n, (low, high) in zip(shape, self.halo, strict=True)]
        self.view = es.View(
            (*extents, *self.components), dtype, label=label, space=space, layout=layout
        )
        self.begin = tuple(low for low, _ in self.halo)
        self.end = tuple(a + n for a, n in zip(self.begin, shape, strict=True))
        self.origin = tuple(
            a - low for a, (low, _) in zip(decomposition.lower, self.halo, strict=True)
        )

    @property
    def dtype(self) -> Any:
        """Of an element."""
        return self.view.dtype

    @property
    def label(self) -> str:
        """Of the View."""
        return self.view.label

    @property
    def space(self) -> es.ExecutionSpace:
        """Where its View is."""
        return self.view.space or es.default_space()

    @property
    def own(self) -> es.View:
        """The part of the View without its halo."""
        parts = [slice(a, b) for a, b in zip(self.begin, self.end, strict=True)]
        return es.subview(self.view, *parts, *(es.ALL for _ in self.components))

    @property
    def global_shape(self) -> tuple[int, ...]:
        """Extents of all ranks together, and of components."""
        return (*self.decomposition.extents, *self.components)

    # -- ranges ------------------------------------------------------------------------------------

    def range(self, *, space: str | es.ExecutionSpace | None = None, **options: Any) -> Any:
        """A policy over own indices, as indices of `view`; options are those of the policy.

        A RangePolicy for one dimension, else an MDRangePolicy.
        """
        return self._policy(self.begin, self.end, space, options)

    def inner(
        self, width: Any = None, *, space: str | es.ExecutionSpace | None = None, **options: Any
    ) -> Any:
        """A policy over own indices from which no index of the halo is within `width`.

        Where a neighbour follows in a dimension, that many indices are left out, by default as
        many as the halo has. Together with `boundary` these are the indices of `range`.
        """
        begin, end = self._inner(width)
        return self._policy(begin, end, space, options)

    def boundary(
        self, width: Any = None, *, space: str | es.ExecutionSpace | None = None, **options: Any
    ) -> list[Any]:
        """Policies over what `inner` leaves out, which have no index in common."""
        policies = []
        begin, end = list(self.begin), list(self.end)
        inner_begin, inner_end = self._inner(width)
        for d, (a, b) in enumerate(zip(inner_begin, inner_end, strict=True)):
            for low, high in ((begin[d], a), (b, end[d])):
                if low < high and all(x < y for x, y in zip(begin, end, strict=True)):
                    lower, upper = list(begin), list(end)
                    lower[d], upper[d] = low, high
                    policies.append(self._policy(tuple(lower), tuple(upper), space, options))
            begin[d], end[d] = a, b
        return policies

    def _inner(self, width: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        d = self.decomposition
        widths = self.halo if width is None else as_widths(width, d.rank)
        begin, end = [], []
        for n, (low, high) in enumerate(widths):
            divided = d.ranks[n] > 1 or d.periodic[n]
            first = d.lower[n] == 0 and not d.periodic[n]
            last = d.upper[n] == d.extents[n] and not d.periodic[n]
            a = self.begin[n] + (low if divided and not first else 0)
            b = self.end[n] - (high if divided and not last else 0)
            a = min(a, self.end[n])
            begin.append(a)
            end.append(max(a, b))
        return tuple(begin), tuple(end)

    def _policy(
        self, begin: tuple[int, ...], end: tuple[int, ...],
        space: str | es.ExecutionSpace | None, options: dict[str, Any],
    ) -> Any:  # fmt: skip
        where = self.space if space is None else space
        if len(begin) == 1:
            return es.RangePolicy(begin[0], end[0], space=where, **options)
        return es.MDRangePolicy(begin, end, space=where, **options)

    def __repr__(self) -> str:
        return f"<Field '{self.label}' {self.dtype} of {self.decomposition!r}, halo {self.halo}>"


def as_widths(halo: Any, rank: int) -> Widths:
    """Indices before and behind in each dimension.

    Raises
    ------
    CommError
        For what is neither a number, nor one or a pair for each dimension.
    """
    given = halo if isinstance(halo, Sequence) else (halo,) * rank
    try:
        found = tuple(
            (operator.index(n[0]), operator.index(n[1]))
            if isinstance(n, Sequence) and len(n) == 2
            else (operator.index(n), operator.index(n))
            for n in given
        )
    except TypeError:
        found = ()
    if len(found) != rank or any(low < 0 or high < 0 for low, high in found):
        raise CommError(
            f"halo={halo!r}; expected a number, or for each of {rank} dimensions a number or a "
            f"pair of them, none negative."
        )
    return found
