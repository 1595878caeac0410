"""Sorting over ranks: sort, sort_by_key and argsort, by sorting parts and exchanging them once.

Each rank sorts what it has, and tells the others regularly spaced samples of it. Sorted samples
say where the parts of ranks end, what belongs to each rank is sent to it in one exchange, and it
sorts what came. H. Shi and J. Schaeffer, "Parallel sorting by regular sampling", Journal of
Parallel and Distributed Computing 14 (1992), https://doi.org/10.1016/0743-7315(92)90075-X, with
more samples than there, and with the place of an element after its key: elements are then all
different, so that many equal keys are divided as any others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import execspace as es

from .base import Where, overlap, refuse_recording
from .communicator import Comm
from .errors import translated
from .field import Field
from .mpi import MPI
from .parts import agreed, attempt, part_of, ranks_of

__all__ = ["argsort", "sort", "sort_by_key"]

Integers = npt.NDArray[np.int64]

_OUTCOMES = ("balanced", "unbalanced")
_MORE = (
    4  # samples for each pair of ranks: parts are off by a quarter of a share, or by half of one
)
_MOST_SAMPLES = 1 << 20  # of all ranks together; each rank sorts them


def sort(
    view: es.View | Any,
    *,
    comm: Comm | Any = None,
    descending: bool = False,
    out: str = "balanced",
    space: Where = None,
) -> es.View:
    """Sort the elements of all ranks: the smallest ones come to rank 0. Collective; blocks.

    Parameters
    ----------
    view : View, array or Field, rank 1
        Integers, floats or bools, of the same dtype on all ranks; any length, any strides, any
        space. Of a Field the own elements.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks; all of the program, or those of the Field, if not given.
    descending : bool, default False
        The greatest elements come to rank 0.
    out : {"balanced", "unbalanced"}
        "balanced": each rank gets as many elements as it gave, in `view`. "unbalanced": `view`
        stays as it is, and each rank gets a new View, about as long as those of the others.
    space : str or ExecutionSpace, optional
        Where this rank sorts; as for `execspace.sort` if not given.

    Returns
    -------
    View
        `view`, or the new one.

    Raises
    ------
    CommError
        On all ranks, if the dtypes or options of ranks differ, or one has a View of another rank,
        of elements without an order, a read-only one that would be written, or one that its space
        cannot reach.
    LaunchError
        While a graph is recorded.

    Notes
    -----
    In the order of `execspace.sort`, which is that of `numpy.sort`: NaN is last, zeros of both
    signs are equal. The result does not depend on the number of ranks, nor on their spaces, but
    for the signs of zeros and the bits of NaN.

    While it sorts, a rank has at most half a mean share more than it keeps, however the elements
    are distributed and however many are equal (on up to 512 ranks). Memory: a second View of that
    length, and what `execspace.sort` needs.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> A = es.array(np.array([3.0, np.nan, 1.0, 2.0]), space="serial")
    >>> found = escomm.sort(A)
    >>> found is A and (escomm.world().size > 1 or A.to_numpy().tolist()[:3] == [1, 2, 3])
    True
    """
    job = _job("sort", (view,), comm, descending, out, space)
    (found,) = _sorted(job)
    return found


def sort_by_key(
    keys: es.View | Any,
    *values: es.View | Any,
    comm: Comm | Any = None,
    descending: bool = False,
    out: str = "balanced",
    space: Where = None,
) -> tuple[es.View, ...]:
    """Sort the keys of all ranks, and rows of other Views with them. Stable. Collective; blocks.

    Parameters
    ----------
    keys : View, array or Field, rank 1
        As of `sort`.
    *values : View, array or Field, rank 1 to 8
        Of any dtype, records included, and of the same dtype and extents on all ranks but for the
        first, which is the number of keys.
    comm, descending, out, space
        As of `sort`; `out` is about keys and values.

    Returns
    -------
    tuple of View
        Keys and values: those that were given, or new ones.

    Raises
    ------
    CommError, LaunchError
        As `sort`; also if a View of values has not as many rows as there are keys.
    ViewError
        If two of the Views overlap.

    Notes
    -----
    Equal keys keep the order that they had, first by rank and then by index, in descending order,
    too. So the result does not depend on the number of ranks.

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> cells = es.array([2, 0, 1], space="serial")
    >>> particles = es.array([[2.0, 2.5], [0.0, 0.5], [1.0, 1.5]], space="serial")
    >>> _ = escomm.sort_by_key(cells, particles)
    >>> bool((particles.to_numpy()[:, 0] == cells.to_numpy()).all())
    True
    """
    return _sorted(_job("sort_by_key", (keys, *values), comm, descending, out, space))


def argsort(
    keys: es.View | Any,
    *,
    comm: Comm | Any = None,
    descending: bool = False,
    space: Where = None,
) -> es.View:
    """Permutation that sorts the keys of all ranks. Stable. Collective; blocks.

    Parameters
    ----------
    keys, comm, descending, space
        As of `sort`; the keys are not changed.

    Returns
    -------
    View of int64, as long as `keys`
        Of all ranks together, element `i` is the index, counted from the first key of rank 0, of
        the key that comes to place `i`.

    Raises
    ------
    CommError, LaunchError
        As `sort`.
    """
    job = _job("argsort", (keys,), comm, descending, "balanced", space)
    first = sum(job.lengths[: job.comm.rank])
    moved, where = _copy(job.views[0], job.where), job.where
    order = es.View(
        moved.shape, np.int64, label="argsort", space=where, memory=moved.memory_space,
        initialize=False,
    )  # fmt: skip
    es.parallel_for(es.RangePolicy(moved.size, space=where), _count, order, first, label="argsort")
    return _sorted(job._replace(views=(moved, order)))[1]


def _count(i: int, order: Any, first: int) -> None:
    order[i] = first + i


# -- what is sorted, and what all ranks say of it --------------------------------------------------


class _Job(NamedTuple):
    """Views to be sorted, keys first, and the lengths of all ranks."""

    what: str
    views: tuple[es.View, ...]
    comm: Comm
    where: es.ExecutionSpace
    descending: bool
    balanced: bool
    lengths: list[int]


def _job(
    what: str, given: tuple[Any, ...], comm: Any, descending: bool, out: str, space: Where
) -> _Job:
    refuse_recording(what)
    own = given[0].decomposition.comm if isinstance(given[0], Field) else ranks_of(comm)
    parts = attempt(own, what, lambda: [part_of(value, comm, what) for value in given])
    views, ranks = tuple(p.view for p in parts), parts[0].comm
    problem, where = _problem(what, views, descending, out), None
    try:
        where = es.space_for(*views, space=space)
    except es.SpaceError as error:
        problem = str(error)
    about = {
        "descending": str(descending),
        "out": repr(out),
        "the number of Views": f"{len(views)}",
    }
    for n, view in enumerate(views):
        name = f"the dtype of {'the keys' if n == 0 else f'values {n - 1}'}"
        about[name] = str(view.dtype)
        about[f"the shape of rows of {name[13:]}"] = str(view.shape[1:])
    ranks._begin(what, sum(v.nbytes for v in views))
    length = views[0].shape[0] if views[0].shape else 0
    lengths = agreed(ranks, what, problem, about, length)
    assert where is not None
    return _Job(what, views, ranks, where, descending, out == "balanced", lengths)


def _problem(what: str, views: tuple[es.View, ...], descending: Any, out: Any) -> str:
    """Why this rank cannot sort; empty if it can."""
    keys = views[0]
    if out not in _OUTCOMES:
        return f"out={out!r}; expected 'balanced' or 'unbalanced'."
    if not isinstance(descending, bool | np.bool_):
        return f"descending={descending!r}; expected True or False."
    if keys.rank != 1:
        return (
            f"View '{keys.label}' has rank {keys.rank}; expected rank 1. Take one row or column "
            f"of it, such as A[:, 0]."
        )
    if keys.dtype.kind not in "biuf":
        kind = "records" if keys.dtype.fields is not None else keys.dtype.name
        return (
            f"View '{keys.label}' holds {kind}, which have no order; expected integers, floats or "
            f"bools."
        )
    for view in views:
        if view.is_readonly and out == "balanced" and what != "argsort":
            return (
                f"View '{view.label}' is read-only and would be written; copy it into a new View, "
                f"or take new Views by out='unbalanced'."
            )
    for n, view in enumerate(views):
        for other in views[:n]:
            if overlap(view, other):
                return f"Views '{other.label}' and '{view.label}' overlap; copy one of them first."
    for view in views[1:]:
        if not view.shape or view.shape[0] != keys.shape[0]:
            return (
                f"View '{view.label}' has shape {view.shape}; expected {keys.shape[0]} rows, one "
                f"for each key of View '{keys.label}'."
            )
    return ""


# -- how it is done --------------------------------------------------------------------------------


def _sorted(job: _Job) -> tuple[es.View, ...]:
    views = job.views if job.balanced else tuple(_copy(v, job.where) for v in job.views)
    _sort_here(views, job)
    if job.comm.size == 1 or not any(job.lengths):
        return views
    ends = np.cumsum(job.lengths) if job.balanced else _even(sum(job.lengths), job.comm.size)
    counts = _counts(views[0], job, ends)
    got = tuple(job.comm.alltoallv(v, counts, space=job.where)[0] for v in views)
    _sort_here(got, job)
    if not job.balanced:
        return got
    _hand_on(got, views, job, counts)
    return views


def _sort_here(views: tuple[es.View, ...], job: _Job) -> None:
    if len(views) == 1:
        es.sort(views[0], descending=bool(job.descending), space=job.where)
    else:
        es.sort_by_key(*views, descending=bool(job.descending), space=job.where)


def _even(count: int, size: int) -> Integers:
    return np.array([count * (rank + 1) // size for rank in range(size)], np.int64)


def _counts(keys: es.View, job: _Job, ends: Integers) -> list[int]:
    """How many of the sorted keys of this rank go to each rank.

    Parameters
    ----------
    keys : View
        Sorted.
    job : _Job
    ends : array of int
        How many keys there are to be up to each rank, all in all. What comes of it is off by up
        to ``size * step / 2``, where every `step`-th key of each rank is a sample.
    """
    comm, total, size = job.comm, int(ends[-1]), job.comm.size
    step = max(1, -(-total // min(_MORE * size * size, _MOST_SAMPLES)))
    each = [n // step for n in job.lengths]
    samples = np.empty(sum(each), keys.dtype)
    comm.allgatherv(keys[step - 1 :: step], out=samples, space=job.where)
    # The samples of a rank are in order, and stand behind those of the ranks before it: a stable
    # sort puts equal ones in the order of their ranks and places.
    order = _stable(samples, job.descending)
    ranks = np.repeat(np.arange(size), each)[order]
    places = np.concatenate([np.arange(n) for n in each])[order] * step + step - 1
    # Before sample t come t whole steps, the rest of its own step, and of other ranks between
    # nothing and the rest of a step.
    before = np.rint((ends[:-1] - (size + 1) * (step - 1) / 2) / step).astype(np.int64)
    chosen = np.clip(before, 0, samples.size)
    chosen[ends[:-1] >= total] = samples.size
    inside = chosen < samples.size
    cuts = np.full(size - 1, keys.size, np.int64)
    if keys.size and inside.any():
        picked = chosen[inside]
        first, last = _bounds(keys, samples[order[picked]], job)
        at = np.where(ranks[picked] < comm.rank, first, last)
        cuts[inside] = np.where(ranks[picked] == comm.rank, places[picked], at)
    cuts[ends[:-1] <= 0] = 0
    return np.diff(cuts, prepend=0, append=keys.size).tolist()  # type: ignore[no-any-return]


def _stable(samples: npt.NDArray[Any], descending: bool) -> Integers:
    if not descending:
        return np.argsort(samples, kind="stable")
    return samples.size - 1 - np.argsort(samples[::-1], kind="stable")[::-1]


def _bounds(keys: es.View, chosen: npt.NDArray[Any], job: _Job) -> tuple[Integers, Integers]:
    """How many keys come before each of some, and how many before or with it."""
    wanted = es.array(chosen, space=job.where, memory=keys.memory_space)
    ascending = keys[::-1] if job.descending else keys
    low, high = (
        es.searchsorted(ascending, wanted, side, space=job.where).to_numpy()
        for side in ("left", "right")
    )
    return (keys.size - high, keys.size - low) if job.descending else (low, high)


def _hand_on(
    got: tuple[es.View, ...], out: tuple[es.View, ...], job: _Job, counts: list[int]
) -> None:
    """Bring sorted elements to where they belong, so that ranks have as many as they gave."""
    comm = job.comm
    here = np.empty(comm.size, np.int64)
    with translated(job.what):
        request = comm.mpi.Iallreduce(np.array(counts, np.int64), here, MPI.SUM)
        comm._finish(request, job.what)
    if here.tolist() == job.lengths:
        for source, target in zip(got, out, strict=True):
            es.deep_copy(target, source, instance=job.where)
        return
    end = int(here[: comm.rank + 1].sum())
    begin = end - int(here[comm.rank])
    bounds = np.cumsum([0, *job.lengths])
    rows = np.clip(bounds, begin, end)
    for source, target in zip(got, out, strict=True):
        comm.alltoallv(source, np.diff(rows).tolist(), target, space=job.where)


def _copy(view: es.View, where: es.ExecutionSpace) -> es.View:
    found = es.View(
        view.shape, view.dtype, label=view.label, space=where, memory=view.memory_space,
        layout="right", initialize=False,
    )  # fmt: skip
    es.deep_copy(found, view, instance=where)
    return found
