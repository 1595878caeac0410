"""Scans over ranks: of what kernels return, of distributed arrays, and along an axis of fields.

Each rank joins what it has, all tell each other, and each scans its part with what comes before it
as the beginning: the two passes of a scan on one device, with ranks for its blocks. G. Blelloch,
"Prefix sums and their applications", 1990, section 1.3.
"""

from __future__ import annotations

import inspect
import operator
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from execspace.reducers.python_joins import joined, without_final

from .base import Where, overlap, refuse_recording
from .communicator import Comm
from .errors import CommError
from .field import Field
from .joins import join_of
from .kernel_joins import accumulator, join_in_kernels, reducer_of
from .parts import attempt, part_of, ranks_of, told_by_all
from .scan_kernels import AROUND
from .scan_lines import along, scan_lines

__all__ = ["parallel_scan", "scan_field"]

_NUMBER_BYTES = 16  # what a rank tells the others, if it is a number


def parallel_scan(
    policy: Any,
    kernel: Any,
    /,
    *args: Any,
    reducer: Any = es.Sum,
    comm: Comm | Any = None,
    label: str | None = None,
) -> Any:
    """Scan what a kernel returns for the indices of all ranks. Collective; blocks.

    Parameters
    ----------
    policy, kernel, *args, label
        As of `execspace.parallel_scan`: ``kernel(i, prefix, final, *args)`` returns what an index
        contributes. Each rank has a policy of its own, maybe an empty one, on a space of its own.
        Indices of rank 0 come first, then those of rank 1, and so on, and `prefix` is what all
        before have joined to.
    reducer : Reducer or class, default es.Sum
        es.Sum, Prod, Min, Max, LAnd, LOr, BAnd, BOr, or one's own of numbers, tuples or small
        arrays. Its join need not be commutative.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks; all of the program if not given.

    Returns
    -------
    number, tuple or numpy.ndarray
        What all contributions join to; the same on all ranks, to the bit.

    Raises
    ------
    CommError
        If the reducer or the policy is none that can be scanned over ranks, there are more
        arguments than the kernel has parameters, or one is an `execspace.In`, `Out` or `InOut`.
    KernelSyntaxError, KernelTypeError, LaunchError
        As `execspace.parallel_scan`.

    Notes
    -----
    On one rank it is `execspace.parallel_scan`. On others the kernel runs twice: first no `final`
    is true, and what comes of it is told to all ranks. Joined in the order of ranks, so floats
    have the same bits in each run on as many ranks, spaces and threads; integers on any.

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> comm = escomm.world()
    >>> place = es.zeros(3, es.int64, space="serial")
    >>> @es.kernel
    ... def number(i, prefix, final, place):
    ...     if final:
    ...         place[i] = prefix
    ...     return 1
    >>> escomm.parallel_scan(es.RangePolicy(3, space="serial"), number, place) == 3 * comm.size
    True
    >>> place.to_numpy().tolist() == [3 * comm.rank, 3 * comm.rank + 1, 3 * comm.rank + 2]
    True
    """
    refuse_recording("parallel_scan")
    ranks = ranks_of(comm)
    found = reducer_of(reducer, "parallel_scan")
    indices = _indices(policy)
    bound = _bound(kernel, indices + 2, args)
    ranks._begin("parallel_scan", _NUMBER_BYTES, reducer=found.name)
    if ranks.size == 1:
        return es.parallel_scan(policy, kernel, *args, reducer=found, label=label)
    plain = without_final(found)
    contribute, go_on = AROUND[indices]
    if ranks.rank == 0:
        mine = es.parallel_scan(policy, bound, reducer=plain, label=label)
    else:
        mine = es.parallel_scan(policy, contribute, bound, reducer=plain, label=label)
    results = told_by_all(ranks, mine, "parallel_scan")
    if ranks.rank > 0:
        before = _nested(joined(plain, results[: ranks.rank]))
        join = join_in_kernels(found)
        es.parallel_scan(policy, go_on, before, join, bound, reducer=plain, label=label)
    return joined(found, results)


def scan_field(
    array: Field | es.View | Any,
    *,
    reducer: Any = es.Sum,
    exclusive: bool = False,
    axis: int | None = None,
    out: Field | es.View | Any = None,
    comm: Comm | Any = None,
    space: Where = None,
) -> Any:
    """Join each element with all before it, on whatever rank they are. Collective; blocks.

    Parameters
    ----------
    array : Field, View or array
        A Field, whose own elements are scanned along an axis; or a View of each rank, whose rows
        come one after the other in the order of ranks.
    reducer : Reducer or class, default es.Sum
        es.Sum, Prod, Min, Max, LAnd, LOr, BAnd, BOr, or one's own that joins numbers. Its join
        need not be commutative.
    exclusive : bool, default False
        Leave out the element itself: the first ones become the identity.
    axis : int, optional
        The dimension along which a Field is scanned; negative ones count from the last, components
        left out. Of a View, 0. It may be left out where there is one dimension.
    out : Field, View or array, optional
        Receives the result; of the same dtype and extents, a Field of the same decomposition. In
        place if not given. The halo of a Field stays as it is.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks of Views; all of the program if not given.
    space : str or ExecutionSpace, optional
        Where this rank computes; where a launch on the Views would run if not given.

    Returns
    -------
    Field, View or array
        `out`, or `array`.

    Raises
    ------
    CommError
        If there is no such axis, `out` does not fit, is read-only or overlaps what is scanned
        without being the same, or the reducer does not join such elements.
    LaunchError
        While a graph is recorded.

    Notes
    -----
    Joined in the type that `execspace.parallel_scan` takes: sums and products of integers in 64
    bits, those of floats in float64, unless the reducer has a `dtype`. What is stored is in the
    dtype of the array; integers wrap, as in `numpy.cumsum` of that dtype.

    Along an axis a line of this rank is joined in the order of its elements, one work item for
    each line. A View or a Field of rank 1 is joined by `execspace.parallel_scan`. What the ranks
    before have is joined first, in their order. So floats have the same bits in each run on as
    many ranks; integers on any number of them.

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((4, 3)).field(es.int64, space="serial")
    >>> u.own.fill(1)
    >>> _ = escomm.scan_field(u, axis=0)
    >>> rows = range(u.decomposition.lower[0] + 1, u.decomposition.upper[0] + 1)
    >>> all((row == n).all() for n, row in zip(rows, u.own.to_numpy()))
    True
    """
    refuse_recording("scan_field")
    ranks = array.decomposition.comm if isinstance(array, Field) else ranks_of(comm)

    def checked() -> tuple[es.View, Field | None, es.View, es.Reducer, int, Any]:
        source, _, field = part_of(array, comm, "scan_field")
        target = _target(source, field, array if out is None else out, comm)
        found = without_final(reducer_of(reducer, "scan_field"))
        join_of(found, source.dtype, "scan_field")  # refuses what is not joined
        at = _axis(source, field, axis)
        return source, field, target, found, at, es.space_for(source, target, space=space)

    def about(found: tuple[Any, ...]) -> dict[str, str]:
        source, field, _, reducer, at, _ = found
        return {
            "the dtype": str(source.dtype), "the reducer": reducer.name,
            "exclusive": str(bool(exclusive)), "the axis": str(at),
            "the shape of rows": str(source.shape[1:] if field is None else ""),
        }  # fmt: skip

    source, field, target, found, at, where = attempt(ranks, "scan_field", checked, about)
    ranks._begin(
        "scan_field", source.nbytes, dtype=str(source.dtype), shape=("*", *source.shape[1:])
        if field is None else field.global_shape, axis=at, reducer=found.name,
        exclusive=bool(exclusive),
    )  # fmt: skip
    if source.rank == 1:
        _scan_row(source, target, ranks, found, bool(exclusive), where)
    else:
        lined_up = ranks if field is None else along(field.decomposition, at)
        scan_lines(source, target, at, lined_up, found, bool(exclusive), where)
    return array if out is None else out


# -- arguments -------------------------------------------------------------------------------------


def _target(source: es.View, field: Field | None, out: Any, comm: Any) -> es.View:
    found = part_of(out, comm, "scan_field")
    target = found.view
    if found.field is not None and (
        field is None or found.field.decomposition != field.decomposition
    ):
        raise CommError(
            f"scan_field: out is field '{found.field.label}' of another decomposition; expected "
            f"one of that of the array, or a View."
        )
    if target.shape != source.shape or target.dtype != source.dtype:
        raise CommError(
            f"scan_field: out '{target.label}' has shape {target.shape} and dtype {target.dtype} "
            f"on this rank; expected {source.shape} and {source.dtype}."
        )
    if target.is_readonly:
        raise CommError(f"scan_field: View '{target.label}' is read-only and would be written.")
    if target != source and overlap(target, source):
        raise CommError(
            f"scan_field: out '{target.label}' and View '{source.label}' overlap without being "
            f"the same; copy one of them first with es.deep_copy."
        )
    return target


def _axis(source: es.View, field: Field | None, axis: Any) -> int:
    if not source.shape:
        raise CommError(f"scan_field: View '{source.label}' has rank 0; expected rows.")
    rank = 1 if field is None else field.decomposition.rank
    what = "a View of each rank is" if field is None else f"field '{field.label}' is"
    if axis is None and rank > 1:
        raise CommError(
            f"scan_field: {what} of {rank} dimensions; expected axis= of 0 to {rank - 1}."
        )
    try:
        found = 0 if axis is None else operator.index(axis)
    except TypeError:
        found = rank
    if not -rank <= found < rank:
        raise CommError(
            f"scan_field: axis={axis!r}, and {what} scanned along one of {rank}; expected "
            f"{'0' if rank == 1 else f'0 to {rank - 1}'}."
        )
    return found % rank


def _indices(policy: Any) -> int:
    """How many indices a kernel gets."""
    if isinstance(policy, es.MDRangePolicy):
        return len(policy.lower)
    if isinstance(policy, es.RangePolicy | int | np.integer):
        return 1
    raise CommError(
        f"parallel_scan: policy {policy!r}; expected a number, es.RangePolicy or es.MDRangePolicy."
    )


def _bound(kernel: Any, first: int, args: tuple[Any, ...]) -> Any:
    """A kernel with its arguments behind the first ones, to be called by another kernel."""
    if not args:
        return kernel
    names = [
        p.name
        for p in inspect.signature(kernel).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ][first:]
    name = getattr(kernel, "__name__", type(kernel).__name__)
    if len(names) < len(args):
        raise CommError(
            f"parallel_scan: kernel '{name}' takes {len(names)} arguments after its indices, "
            f"prefix and final; got {len(args)}."
        )
    for arg in args:
        if isinstance(arg, es.In | es.Out | es.InOut):
            raise CommError(
                f"parallel_scan: {arg!r} for kernel '{name}'; expected a View, es.array(a), or an "
                f"array that the space reaches."
            )
    return partial(kernel, **dict(zip(names, args, strict=False)))


def _nested(value: Any) -> Any:
    """Arrays as nested tuples, which launches take."""
    if isinstance(value, np.ndarray):
        return tuple(map(_nested, value)) if value.ndim else value[()]
    return value


# -- a row that goes on on the next rank -----------------------------------------------------------


def _scan_row(
    source: es.View, target: es.View, ranks: Comm, reducer: es.Reducer, exclusive: bool,
    where: es.ExecutionSpace,
) -> None:  # fmt: skip
    policy = es.RangePolicy(source.size, space=where)
    row, join = (source, target), join_in_kernels(reducer)
    same: Any = {"reducer": reducer, "label": "scan_field"}
    if ranks.rank == 0:
        total = es.parallel_scan(policy, _scan, *row, join, exclusive, **same)
    elif reducer.kind != "custom":
        total = es.parallel_reduce(policy, _element, source, **same)
    else:
        total = es.parallel_scan(policy, _contribution, source, **same)  # in their order
    if ranks.size == 1:
        return
    dtype = accumulator(reducer, source.dtype)
    numbers = np.array([total], dtype)
    found = ranks._folding.prefix(
        numbers, join_of(reducer, dtype, "scan_field"), True, "scan_field"
    )
    if ranks.rank > 0:
        es.parallel_scan(policy, _scan_on, *row, found[0], join, exclusive, **same)


def _scan(  # type: ignore[no-untyped-def]
    i, prefix, final, source, target, join, exclusive
):
    x = source[i]
    if final:
        target[i] = prefix if exclusive else join(prefix, x)
    return x


def _scan_on(  # type: ignore[no-untyped-def]
    i, prefix, final, source, target, before, join, exclusive
):
    x = source[i]
    if final:
        start = join(before, prefix)
        target[i] = start if exclusive else join(start, x)
    return x


def _element(i, source):  # type: ignore[no-untyped-def]
    return source[i]


def _contribution(i, prefix, final, source):  # type: ignore[no-untyped-def]
    return source[i]
