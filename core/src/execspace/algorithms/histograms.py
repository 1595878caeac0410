"""histogram: how many elements of a View fall into each bin, by the rules of numpy.histogram."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import DTypeError, ViewError, shown
from ..contract.space import ExecutionSpace, SupportsTeams
from ..events.recording import by_extents, current
from ..kernels.atomics import atomic_add
from ..kernels.language import function
from ..launch.nested import TeamThreadRange
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..policies.team import TeamPolicy
from ..reducers.builtin import Max, Min
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import argument, check_apart, choose_space, result
from .searching import upper_bound

__all__ = [
    "histogram",
]


def histogram(
    view: View | Any,
    bins: int | View | Any = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: View | Any = None,
    out: View | None = None,
    space: str | ExecutionSpace | None = None,
) -> tuple[View, View]:
    """Count the elements of a View that fall into each bin.

    Bin `k` holds ``edges[k] <= x < edges[k + 1]``; the last one holds its upper edge, too. What
    lies outside of all bins, and NaN, is not counted.

    Parameters
    ----------
    view : View or array, rank 1
        Integers, floats or bools.
    bins : int, View, array or sequence of numbers, default 10
        Number of bins of equal width, or their edges, which must not descend.
    range : (lower, upper), optional
        Outer edges, if `bins` is a number. The least and the greatest element if not given.
    weights : View or array of integers or floats, optional
        Of the shape of `view`; what each element adds to its bin in place of 1.
    out : View, optional
        Receives the counts: rank 1, one element for each bin, int64 (float64 with `weights`).
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.

    Returns
    -------
    counts : View of int64, or of float64 with `weights`
        `out`, or a new View in the memory of the space.
    edges : View
        `bins` itself if that is a View; else a new one, of the dtype that NumPy gives edges.

    Raises
    ------
    ViewError
        If ranks or shapes do not fit, `bins` or `range` is not valid, the range of the elements
        is needed and not finite, or `out` overlaps an input.
    DTypeError, TypeError, SpaceAccessError
        As `sort`.

    Notes
    -----
    Blocks if it needs the range of the elements, or if `bins` is a View, whose order is checked
    where it is. Otherwise it does not block where the space is asynchronous. Edges that are made
    or given on the host are copied to the space; elements are not copied.

    Counts are exact. With `weights`, floats are added by atomic operations, in the order in which
    threads arrive, so the last digits differ from run to run on parallel spaces.

    https://numpy.org/doc/stable/reference/generated/numpy.histogram.html

    Examples
    --------
    >>> import execspace as es
    >>> counts, edges = es.histogram(np.array([0.0, 1.0, 1.5, 4.0]), 2, space="serial")
    >>> list(map(int, counts)), list(map(float, edges))
    ([3, 1], [0.0, 2.0, 4.0])
    """
    data = argument(view, "histogram", "view")
    loads = None if weights is None else _weights(weights, data)
    given = argument(bins, "histogram", "bins") if isinstance(bins, View) else None
    target = None if out is None else argument(out, "histogram", "out", writable=True)
    views = [v for v in (data, loads, given, target) if v is not None]
    where = choose_space(space, views, "histogram")
    n = _number_of_bins(bins)
    if n is None and range is not None:
        raise ViewError("histogram: range= is for a number of bins; expected none beside edges.")
    # All checks before the first change of `out`.
    first = last = None
    if n is not None:
        host_edges, first, last = _equal_bins(data, n, range, where)
        edges = _to_space(host_edges, where)
    elif given is not None:
        edges = given
        _check_order(edges, where)
    else:
        edges = _to_space(_given_edges(bins), where)
    kind = np.int64 if loads is None else np.float64
    counts = result(target, "histogram", (edges.size - 1,), kind, where)
    fresh = target is None and current() is None
    by_extents(
        "histogram", partial(_counted, edges, first, last, where, fresh),
        view=data, weights=loads, out=counts,
    )  # fmt: skip
    return counts, edges


def _counted(
    edges: View,
    first: Any,
    last: Any,
    where: ExecutionSpace,
    fresh: bool,
    *,
    view: Any,
    weights: Any,
    out: Any,
) -> None:
    data = argument(view, "histogram", "view")
    loads = None if weights is None else _weights(weights, data)
    kind = np.int64 if loads is None else np.float64
    counts = result(out, "histogram", (edges.size - 1,), kind, where)
    for other in (data, edges) if loads is None else (data, edges, loads):
        check_apart((other, counts), "histogram")
    if not fresh:
        deep_copy(counts, 0, instance=where)
    policy: Any = _teams(where, data, counts)
    kernel: Any = _count_in_teams
    if policy is None:
        policy, kernel = RangePolicy(data.size, space=where), _count
    parallel_for(policy, kernel, data, edges, counts, loads, first, last, label="histogram")


_MANY = 1024  # threads that run at once: those of a device
_TEAM, _ELEMENTS = 256, 16  # threads of a team, and least elements for each of them
_LOAD = 2  # teams for each that runs at once


def _teams(space: ExecutionSpace, data: View, counts: View) -> TeamPolicy | None:
    """Teams that count in scratch memory of their own; None where that does not pay.

    Threads of a device add to few bins at the same time, and wait for each other.
    """
    if space.concurrency < _MANY or not isinstance(space, SupportsTeams):
        return None
    limits = space.team_limits()
    room = limits.scratch[0] // 2  # so that several teams are resident
    size = min(_TEAM, limits.team_size_max)
    if counts.size * counts.dtype.itemsize > room or data.size < 8 * counts.size:
        return None
    league = min(-(-data.size // (size * _ELEMENTS)), max(1, _LOAD * space.concurrency // size))
    return TeamPolicy(league, size, space=space) if league > 1 else None


# -- kernels ----------------------------------------------------------------------------------


@function
def _bin(value: Any, edges: Any, n: Any, first: Any, last: Any) -> Any:
    """The bin of a value, -1 if it is in none; `first` is None for edges of any width."""
    k = -1
    if first is None:
        if edges[0] <= value <= edges[n]:
            k = min(upper_bound(edges, value), n) - 1
    elif first <= value <= last:
        k = min(int((value - edges[0]) / (edges[n] - edges[0]) * n), n - 1)
        # That is rounded, and so are the edges, which decide.
        while k > 0 and value < edges[k]:
            k -= 1
        while k < n - 1 and value >= edges[k + 1]:
            k += 1
    return k


def _count(i: Any, x: Any, edges: Any, counts: Any, weights: Any, first: Any, last: Any) -> None:
    k = _bin(x[i], edges, len(counts), first, last)
    if k >= 0:
        atomic_add(counts, k, 1 if weights is None else weights[i])


def _count_in_teams(
    team: Any, x: Any, edges: Any, counts: Any, weights: Any, first: Any, last: Any
) -> None:
    n = len(counts)
    own = team.scratch(n, counts.dtype)
    for k in TeamThreadRange(team, n):
        own[k] = 0
    team.barrier()
    each = len(x) // team.league_size + 1
    start = team.league_rank * each
    for i in TeamThreadRange(team, start, min(start + each, len(x))):
        k = _bin(x[i], edges, n, first, last)
        if k >= 0:
            atomic_add(own, k, 1 if weights is None else weights[i])
    team.barrier()
    for k in TeamThreadRange(team, n):
        if own[k] != 0:
            atomic_add(counts, k, own[k])


def _element(i: int, x: Any) -> Any:
    return x[i]


def _descends(i: int, edges: Any) -> Any:
    # One edge alone is compared with itself, which finds a NaN.
    return not edges[i] <= edges[min(i + 1, len(edges) - 1)]


# -- arguments --------------------------------------------------------------------------------


def _weights(weights: Any, data: View) -> View:
    loads = argument(weights, "histogram", "weights")
    if loads.shape != data.shape:
        raise ViewError(
            f"histogram: weights are View '{loads.label}' of shape {loads.shape}; expected "
            f"{data.shape}, that of View '{data.label}'."
        )
    if loads.dtype.kind == "b":
        raise DTypeError(
            f"histogram: weights are View '{loads.label}' of bools; expected integers or floats."
        )
    return loads


def _number_of_bins(bins: Any) -> int | None:
    """The number of bins, or None if `bins` are edges."""
    if isinstance(bins, str):
        raise ViewError(f"histogram: bins={brief(bins)}; expected a number of bins, or edges.")
    try:
        n = operator.index(bins)
    except TypeError:
        return None
    if n < 1:
        raise ViewError(f"histogram: bins={n}; expected 1 or more.")
    return n


def _given_edges(bins: Any) -> npt.NDArray[Any]:
    try:
        edges = np.asarray(bins)
    except (TypeError, ValueError):
        edges = np.empty((), object)
    if edges.ndim != 1 or edges.size < 2 or edges.dtype.kind not in "iuf":
        raise ViewError(
            f"histogram: bins={brief(bins)}; expected a number of bins, or two or more edges that "
            f"are integers or floats."
        )
    if not np.all(edges[:-1] <= edges[1:]):
        raise ViewError("histogram: bins has edges that descend or are NaN; sort them first.")
    return edges


def _check_order(edges: View, space: ExecutionSpace) -> None:
    if edges.size < 2 or edges.dtype.kind == "b":
        raise ViewError(
            f"histogram: bins is View '{edges.label}' of {edges.size} elements of dtype "
            f"{edges.dtype.name}; expected two or more edges that are integers or floats."
        )
    if parallel_reduce(RangePolicy(edges.size, space=space), _descends, edges, reducer=Max):
        raise ViewError(
            f"histogram: bins is View '{edges.label}', whose edges descend or are NaN; sort them "
            f"first with es.sort."
        )


def _equal_bins(
    data: View, n: int, range: Any, space: ExecutionSpace
) -> tuple[npt.NDArray[Any], Any, Any]:
    """Edges of `n` equal bins as NumPy makes them, and the outer ones as kernels compare them."""
    dtype = np.dtype(np.uint8) if data.dtype.kind == "b" else data.dtype
    low, high = _outer(data, dtype, range, space)
    if low == high:
        low, high = low - 0.5, high + 0.5
    kind = np.result_type(low, high, dtype)
    kind = np.result_type(kind, float) if kind.kind in "iu" else kind
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            edges = np.linspace(low, high, n + 1, dtype=kind)
        except (ValueError, IndexError, OverflowError):  # what NumPy raises differs with the number
            raise ViewError(
                f"histogram: {shown(n)} bins are more than there is memory for; ask for fewer."
            ) from None
        sound = np.all(edges[:-1] < edges[1:]) and np.isfinite(edges[-1] - edges[0])
    if not sound:
        raise ViewError(
            f"histogram: {n} bins from {low} to {high} have no {kind.name} edges that differ and "
            f"are finite; ask for fewer bins, or another range."
        )
    return edges, _bound(low, dtype, kind), _bound(high, dtype, kind)


def _outer(data: View, dtype: np.dtype[Any], range: Any, space: ExecutionSpace) -> tuple[Any, Any]:
    """Lower and upper end of all bins, finite."""
    if range is None:
        if data.size == 0:
            return 0, 1
        policy = RangePolicy(data.size, space=space)
        low, high = (
            dtype.type(parallel_reduce(policy, _element, data, reducer=r)) for r in (Min, Max)
        )
        whose = f"the elements of View '{data.label}'"
    else:
        try:
            low, high = range
            in_order = bool(low <= high) or low != low or high != high
        except (TypeError, ValueError):
            raise ViewError(
                f"histogram: range={brief(range)}; expected a pair of numbers (lower, upper)."
            ) from None
        if not in_order:
            raise ViewError(f"histogram: range={brief(range)}; expected the lower end first.")
        whose = "range="
    try:
        finite = np.isfinite(float(low)) and np.isfinite(float(high))
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise ViewError(
            f"histogram: {whose} reaches from {low} to {high}; expected finite ends. Give "
            f"range=(lower, upper)."
        )
    wide = (isinstance(end, int) and not -(2**63) <= end < 2**63 for end in (low, high))
    return (float(low), float(high)) if any(wide) else (low, high)


def _bound(value: Any, dtype: np.dtype[Any], kind: np.dtype[Any]) -> Any:
    """An outer edge for comparison with the elements: an integer with integers, as in NumPy."""
    if dtype.kind in "iu" and isinstance(value, int | np.integer):
        if -(2**63) <= value < 2**64:
            return np.int64(value) if value < 2**63 else np.uint64(value)
    return kind.type(value)


def _to_space(edges: npt.NDArray[Any], space: ExecutionSpace) -> View:
    view = View(edges.shape, edges.dtype, label="histogram edges", space=space, initialize=False)
    deep_copy(view, edges, instance=space)
    return view
