"""Launches over ranges, as CPython runs them: one call of the kernel after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .joins import Types, join_of, types_of

Bounds = tuple[tuple[int, int], ...]


def indices(bounds: Bounds, iterate: str = "right") -> Iterator[tuple[int, ...]]:
    """The indices of a range in rank order: the last one fastest, or the first one ("left")."""
    ranges = [range(begin, end) for begin, end in bounds]
    if iterate == "left":
        return (index[::-1] for index in itertools.product(*ranges[::-1]))
    return itertools.product(*ranges)


def parallel_for(kernel: Callable[..., Any], bounds: Bounds, args: tuple[Any, ...]) -> None:
    """Call a kernel for each index."""
    with np.errstate(all="ignore"):
        for index in indices(bounds):
            kernel(*index, *args)


def parallel_reduce(
    kernel: Callable[..., Any], bounds: Bounds, args: tuple[Any, ...], reducer: Any, types: Types,
    iterate: str = "right",
) -> Any:  # fmt: skip
    """Join what a kernel returns; `types` are those of its contributions."""
    join = join_of(reducer, types)
    with np.errstate(all="ignore"):
        for index in indices(bounds, iterate):
            join.add(_checked(kernel(*index, *args), types))
        return join.result()


def parallel_scan(
    kernel: Callable[..., Any], bounds: Bounds, args: tuple[Any, ...], reducer: Any, types: Types,
    iterate: str = "right",
) -> Any:  # fmt: skip
    """Tell each index what all before it contributed, and return the total.

    As the contract of scans allows, each index is called twice, first with `final` false.
    """
    join = join_of(reducer, types)
    with np.errstate(all="ignore"):
        for index in indices(bounds, iterate):
            kernel(*index, join.value, False, *args)
            join.add(_checked(kernel(*index, join.value, True, *args), types))
        return join.result()


def array_reduce(
    kernel: Callable[..., Any], bounds: Bounds, args: tuple[Any, ...], reducer: Any
) -> Any:
    """Let all indices join into one array; float64 unless the reducer says another dtype."""
    dtype = "float64" if reducer.dtype is None else np.dtype(reducer.dtype).name
    dtype = "bool" if reducer.kind in ("land", "lor") else dtype
    array = np.full(reducer.shape, join_of(reducer, dtype).value, dtype)
    with np.errstate(all="ignore"):
        for index in indices(bounds):
            kernel(*index, array, *args)
    return array


def _checked(contribution: Any, types: Types) -> Any:
    """A contribution, whose types must be those that were announced."""
    found = types_of(contribution)
    if found != types:
        raise TypeError(f"the kernel returned {contribution!r} of {found}, expected {types}")
    return contribution
