"""Scans along one axis of what several ranks have: one work item for each line of this rank.

Where ranks divide the axis, each first joins its part of every line. Ranks along the axis tell each
other, and what comes before a part is where its scan begins.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from .communicator import Comm
from .division import Division
from .errors import CommError
from .grid import rank_at
from .kernel_joins import accumulator, join_in_kernels

__all__ = ["along", "scan_lines"]

_MOST_AXES = 7  # a policy has up to six, and the line is one more


def along(d: Division, axis: int) -> Comm:
    """The ranks that have the same lines along an axis, in its order. Collective; blocks."""
    if d.ranks[axis] == d.comm.size:
        return d.comm
    # Making a communicator is slow, and MPI libraries have some 2000: each is made once.
    known, key = d.comm._parts, (d.ranks, axis)
    if key not in known:
        others = [n for n in range(d.rank) if n != axis]
        color = rank_at([d.coordinates[n] for n in others], [d.ranks[n] for n in others])
        made = d.comm.split(color, d.coordinates[axis])
        assert made is not None
        known[key] = made
    return known[key]


def scan_lines(
    source: es.View, target: es.View, axis: int, comm: Comm, reducer: es.Reducer,
    exclusive: bool, where: es.ExecutionSpace,
) -> None:  # fmt: skip
    """Scan lines that go on on the next rank of a communicator. Collective; blocks.

    Parameters
    ----------
    source, target : View
        Of the same shape and dtype; maybe the same View.
    axis : int
    comm : Comm
        Ranks with the other parts of the lines.
    reducer : Reducer
        Without a last step.
    exclusive : bool
    where : ExecutionSpace
    """
    if source.rank > _MOST_AXES:
        raise CommError(
            f"scan_field: View '{source.label}' has rank {source.rank}; expected at most "
            f"{_MOST_AXES}, components included."
        )
    axes = [*(n for n in range(source.rank) if n != axis), axis]
    lines, into = source.transpose(*axes), target.transpose(*axes)
    shape = lines.shape[:-1]
    dtype = accumulator(reducer, source.dtype)
    kind, join = dtype.type, join_in_kernels(reducer)
    start = kind(reducer.identity_for(source.dtype.name))
    policy: Any = es.RangePolicy(shape[0], space=where)
    if len(shape) > 1:
        policy = es.MDRangePolicy(shape, space=where)
    total, scan = _KERNELS[len(shape)]
    before = es.View(
        shape, dtype, label="scan_field", space=where, memory=source.memory_space, initialize=False
    )
    if comm.size == 1:
        es.deep_copy(before, start, instance=where)
    else:
        es.parallel_for(policy, total, lines, before, start, join, kind, label="scan_field totals")
        comm.scan(before, before, reducer=reducer, exclusive=True, space=where)
    es.parallel_for(policy, scan, lines, into, before, join, kind, exclusive, label="scan_field")


# -- kernels ---------------------------------------------------------------------------------------


@es.function
def _total(line: Any, start: Any, join: Any, kind: Any) -> Any:
    carry = start
    for t in range(len(line)):
        carry = kind(join(carry, line[t]))
    return carry


@es.function
def _scan(line: Any, into: Any, before: Any, join: Any, kind: Any, exclusive: Any) -> None:
    carry = before
    for t in range(len(line)):
        after = kind(join(carry, line[t]))
        into[t] = carry if exclusive else after
        carry = after


def _total_1(i, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i] = _total(A[i, :], start, join, kind)


def _total_2(i, j, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i, j] = _total(A[i, j, :], start, join, kind)


def _total_3(i, j, k, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i, j, k] = _total(A[i, j, k, :], start, join, kind)


def _total_4(i, j, k, m, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i, j, k, m] = _total(A[i, j, k, m, :], start, join, kind)


def _total_5(i, j, k, m, n, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i, j, k, m, n] = _total(A[i, j, k, m, n, :], start, join, kind)


def _total_6(i, j, k, m, n, o, A, out, start, join, kind):  # type: ignore[no-untyped-def]
    out[i, j, k, m, n, o] = _total(A[i, j, k, m, n, o, :], start, join, kind)


def _scan_1(i, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    _scan(A[i, :], B[i, :], at[i], join, kind, exclusive)


def _scan_2(i, j, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    _scan(A[i, j, :], B[i, j, :], at[i, j], join, kind, exclusive)


def _scan_3(i, j, k, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    _scan(A[i, j, k, :], B[i, j, k, :], at[i, j, k], join, kind, exclusive)


def _scan_4(i, j, k, m, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    _scan(A[i, j, k, m, :], B[i, j, k, m, :], at[i, j, k, m], join, kind, exclusive)


def _scan_5(i, j, k, m, n, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    _scan(A[i, j, k, m, n, :], B[i, j, k, m, n, :], at[i, j, k, m, n], join, kind, exclusive)


def _scan_6(i, j, k, m, n, o, A, B, at, join, kind, exclusive):  # type: ignore[no-untyped-def]
    before = at[i, j, k, m, n, o]
    _scan(A[i, j, k, m, n, o, :], B[i, j, k, m, n, o, :], before, join, kind, exclusive)


_KERNELS: dict[int, tuple[Any, Any]] = {
    1: (_total_1, _scan_1), 2: (_total_2, _scan_2), 3: (_total_3, _scan_3),
    4: (_total_4, _scan_4), 5: (_total_5, _scan_5), 6: (_total_6, _scan_6),
}  # fmt: skip
