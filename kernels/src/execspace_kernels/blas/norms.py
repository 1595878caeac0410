"""nrm2 and its square, which over- and underflow only where the result does.

Of what is summed in a wider type, such as float32, squares cannot overflow. Of others a first pass
sums squares as they are; if that was no good, which work items look at where the host does not
wait, and for columns with `out=`, there are three sums, of squares of large elements that are
scaled down, of small ones that are scaled up, and of others:
J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4 (1978),
with the constants of Anderson, "Algorithm 978", ACM TOMS 44 (2017).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import MANY, Space, check_not_recorded, is_device, static
from ..vendors import chosen_vendor
from .columns import join_parts, reduce_columns, slabs_of
from .elements import at
from .operands import real_of, shapes_of, teams, wide_dtype
from .reductions import numbers, reduce_vector, reduced, space_of, target_of
from .terms import sum_of_numbers

__all__ = ["nrm2", "nrm2_squared"]

_WIDTH = 8  # columns that a work item of a host takes at once at most
_SLABS, _EACH = 32, 4  # work items of a second pass on hosts; on devices one for so many that run


class _Limits(NamedTuple):
    """Above `large` elements are multiplied by `down`, below `small` by `up`; sums of squares from
    `enough` on have lost nothing that counts."""

    large: float
    small: float
    down: float
    up: float
    enough: float


_LIMITS = {
    np.dtype(np.float64): _Limits(2.0**486, 2.0**-511, 2.0**-538, 2.0**537, 2.0**-900),
    np.dtype(np.float32): _Limits(2.0**52, 2.0**-63, 2.0**-76, 2.0**75, 2.0**-80),
}


def nrm2_squared(x: Any, out: Any = None, *, space: Space = None) -> Any:
    """The sum of |x|^2.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Numbers. Read.
    out, space
        As those of `dot`.

    Returns
    -------
    number, numpy.ndarray or View
        As that of `dot`; real.

    Raises
    ------
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `dot`. Squares of float64 may overflow, which makes the result infinite, or underflow.

    Kokkos Kernels: `KokkosBlas::nrm2_squared`.
    """
    source = numbers(x, "nrm2_squared: x", space)
    dtype = real_of(source.dtype)
    return reduced("nrm2_squared", "square", "sum", source, None, dtype, out, space)


def nrm2(x: Any, out: Any = None, *, vendor: bool | None = None, space: Space = None) -> Any:
    """The Euclidean norm, the square root of the sum of |x|^2.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Numbers. Read.
    out : View or array, shape () or (k,), optional
        Of real or complex floats: where the result goes; then nothing blocks.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being told where it was
        measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    number, numpy.ndarray or View
        `out`; without it a number, or a NumPy array of shape (k,) for a multi-vector.

    Raises
    ------
    MatrixError
        If `vendor` is True and there is no routine for it.
    ViewError
        If `out` does not fit, is read-only, overlaps `x`, or is of integers; for records.
    SpaceAccessError

    Notes
    -----
    Blocks without `out`, and is asynchronous where the space is with it. It is infinite if an
    element is, and NaN if one is NaN, as in NumPy; else it over- or underflows only if the norm
    does. A vector is read twice if the sum of its squares is infinite or tiny.

    Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4 (1978).
    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_nrm2.html
    """
    source = numbers(x, "nrm2: x", space)
    narrow = real_of(source.dtype)
    floats = narrow if narrow.kind not in "iu" else np.dtype(np.float64)
    target = target_of(out, "nrm2", source, floats)
    where = space_of(space, source, None, target)
    if target is None:
        check_not_recorded("nrm2 without out")
    library = chosen_vendor("nrm2", vendor, where, lambda: shapes_of(source), source, None, target)
    if library is not None:
        return library.nrm2(source, None, target)
    wide = wide_dtype(floats, where)
    is_safe = narrow != wide  # squares are in a wider type
    if source.rank == 1:
        return _of_vector(source, wide, is_safe, target, where)
    return _of_columns(source, wide, is_safe, target, where)


def _of_columns(
    x: es.View, wide: np.dtype[Any], is_safe: bool, target: es.View | None,
    space: es.ExecutionSpace,
) -> Any:  # fmt: skip
    k = x.shape[1]
    limits = _LIMITS[wide]
    into = target
    if into is None:
        into = es.View(k, wide, label="nrm2", space=space, initialize=False)
    if is_safe:
        reduce_columns("nrm2", "square", "sum", x, None, wide, into, space, finish="root")
        return into if target is not None else into.to_numpy()
    if target is None:
        reduce_columns("nrm2", "square", "sum", x, None, wide, into, space)
        totals = into.to_numpy()
        if np.all(np.isnan(totals) | ((totals > limits.enough) & np.isfinite(totals))):
            roots: Any = np.sqrt(totals)
            return roots
    slabs = slabs_of(x, space)
    parts = es.View((3, slabs.number, k), wide, label="parts", space=space, layout="right",
                    initialize=False)  # fmt: skip
    width = math.gcd(k, _WIDTH)
    if slabs.by_teams and slabs.beside == "right" and width > 1:
        es.parallel_for(
            es.RangePolicy(slabs.number, space=space), _rows_beside, x, wide.type, *limits[:4],
            width, slabs.rows, parts, label="nrm2 scaled",
        )  # fmt: skip
    elif slabs.by_teams:
        es.parallel_for(
            slabs.policy(k, space), _slab_of_three, x, wide.type, *limits[:4], slabs.rows,
            slabs.at_once, slabs.number, parts, label="nrm2 scaled",
        )  # fmt: skip
    else:
        es.parallel_for(
            slabs.policy(k, space), _rows_of_three, x, wide.type, *limits[:4], parts,
            label="nrm2 scaled",
        )  # fmt: skip
    sums = es.View((3, k), wide, label="nrm2", space=space, layout="right", initialize=False)
    for q in range(3):
        joined = es.subview(sums, q, es.ALL)
        join_parts("nrm2", es.subview(parts, q, es.ALL, es.ALL), "sum", joined, space)
    es.parallel_for(es.RangePolicy(k, space=space), _store_of_three, sums, into, *limits,
                    label="nrm2, root")  # fmt: skip
    return into if target is not None else into.to_numpy()


def _of_vector(
    x: es.View, wide: np.dtype[Any], is_safe: bool, target: es.View | None,
    space: es.ExecutionSpace,
) -> Any:  # fmt: skip
    limits = _LIMITS[wide]
    one = es.RangePolicy(1, space=space)
    if target is None:
        total = reduce_vector("nrm2", "square", "sum", x, None, wide, space, None)
        if is_safe or math.isnan(total) or limits.enough < total < math.inf:
            return math.sqrt(total)
        large, medium, small = _three_sums(x, wide, limits, space)
        return float(_of_three(large, medium, small, *limits))
    total = es.View((), wide, label="nrm2", space=space, initialize=False)
    reduce_vector("nrm2", "square", "sum", x, None, wide, space, total)
    if is_safe:
        es.parallel_for(one, _store_root, total, target, label="nrm2, root")
        return target
    # Nothing is read once more where the sum is of use, which only the device knows.
    slabs = _SLABS if space.concurrency <= MANY else space.concurrency // _EACH
    parts = es.View((3, slabs), wide, label="parts", space=space, layout="right", initialize=False)
    es.parallel_for(
        es.RangePolicy(slabs, space=space), _three_of_slab, x, total, parts, wide.type, *limits,
        label="nrm2 scaled",
    )  # fmt: skip
    if is_device(space):
        es.parallel_for(
            teams(1, slabs, space), _store_by_team, total, parts, target, wide.type, *limits,
            label="nrm2, root",
        )  # fmt: skip
    else:
        es.parallel_for(one, _store_by_one, total, parts, target, *limits, label="nrm2, root")
    return target


def _three_sums(x: es.View, wide: np.dtype[Any], limits: _Limits, space: es.ExecutionSpace) -> Any:
    every, each = es.RangePolicy(x.shape[0], space=space), sum_of_numbers(wide)
    return es.parallel_reduce(every, _three_of, x, wide.type, *limits[:4],
                              reducer=(each, each, each), label="nrm2 scaled")  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _three(x: Any, i: Any, j: Any, kind: Any, large: Any, small: Any, down: Any, up: Any) -> Any:
    """What an element adds to the sums of large, of medium and of small squares."""
    value = at(x, i, j)
    if x.dtype == np.complex64 or x.dtype == np.complex128:
        a, b, c = _shared_out(kind(value.real), large, small, down, up)
        p, q, r = _shared_out(kind(value.imag), large, small, down, up)
        return a + p, b + q, c + r
    else:
        return _shared_out(kind(value), large, small, down, up)


@es.function
def _shared_out(value: Any, large: Any, small: Any, down: Any, up: Any) -> Any:
    size = np.absolute(value)
    is_large = size > large
    is_small = size < small
    high = size * down if is_large else 0.0
    low = size * up if is_small else 0.0
    medium = 0.0 if is_large or is_small else size
    return high * high, medium * medium, low * low


@es.function
def _every(
    x: Any, first: Any, j: Any, step: Any, kind: Any, large: Any, small: Any, down: Any, up: Any
) -> Any:  # fmt: skip
    """The three sums of some rows of a column."""
    a = kind(0)
    b = kind(0)
    c = kind(0)
    for i in range(first, x.extent(0), step):
        p, q, r = _three(x, i, j, kind, large, small, down, up)
        a += p
        b += q
        c += r
    return a, b, c


@es.function
def _of_three(
    a: Any, b: Any, c: Any, large: Any, small: Any, down: Any, up: Any, enough: Any
) -> Any:
    """The norm of the three sums."""
    if a > 0:
        return math.sqrt(a + b * down * down) / down
    elif b > 0 or b != b:
        low = math.sqrt(c) / up
        high = math.sqrt(b)
        ratio = min(low, high) / max(low, high)
        return max(low, high) * math.sqrt(1 + ratio * ratio) if b == b else high
    else:
        return math.sqrt(c) / up


def _three_of(
    i: int, x: Any, kind: Any, large: Any, small: Any, down: Any, up: Any
) -> Any:  # fmt: skip
    return _three(x, i, 0, kind, large, small, down, up)


def _store_root(i: int, total: Any, out: Any) -> None:
    out[()] = math.sqrt(total[()])


@es.function
def _is_of_use(total: Any, enough: Any) -> Any:
    """Whether no square in a sum has over- or underflowed: or it is NaN, which it stays."""
    return total != total or (total > enough and total < math.inf)


def _three_of_slab(
    s: int, x: Any, plain: Any, parts: Any, kind: Any, large: Any, small: Any, down: Any, up: Any,
    enough: Any,
) -> None:  # fmt: skip
    if not _is_of_use(plain[()], enough):
        a, b, c = _every(x, s, 0, parts.extent(1), kind, large, small, down, up)
        parts[0, s] = a
        parts[1, s] = b
        parts[2, s] = c


def _store_by_one(
    i: int, plain: Any, parts: Any, out: Any, large: Any, small: Any, down: Any, up: Any,
    enough: Any,
) -> None:  # fmt: skip
    total = plain[()]
    if _is_of_use(total, enough):
        out[()] = math.sqrt(total)
    else:
        a, b, c = parts[0, 0], parts[1, 0], parts[2, 0]
        for s in range(1, parts.extent(1)):
            a += parts[0, s]
            b += parts[1, s]
            c += parts[2, s]
        out[()] = _of_three(a, b, c, large, small, down, up, enough)


def _store_by_team(
    team: Any, plain: Any, parts: Any, out: Any, kind: Any, large: Any, small: Any, down: Any,
    up: Any, enough: Any,
) -> None:  # fmt: skip
    total = plain[()]
    slabs = 0 if _is_of_use(total, enough) else parts.extent(1)
    a, b, c = es.parallel_reduce(
        es.TeamVectorRange(team, slabs),
        lambda s: (parts[0, s], parts[1, s], parts[2, s]),
        reducer=(es.Sum(dtype=kind), es.Sum(dtype=kind), es.Sum(dtype=kind)),
    )
    if es.single(es.PerTeam(team)):
        if slabs == 0:
            out[()] = math.sqrt(total)
        else:
            out[()] = _of_three(a, b, c, large, small, down, up, enough)


def _store_of_three(
    j: int, sums: Any, out: Any, large: Any, small: Any, down: Any, up: Any, enough: Any
) -> None:  # fmt: skip
    norm = _of_three(sums[0, j], sums[1, j], sums[2, j], large, small, down, up, enough)
    if out.rank == 0:
        out[()] = norm
    else:
        out[j] = norm


def _slab_of_three(
    team: Any, x: Any, kind: Any, large: Any, small: Any, down: Any, up: Any, rows: Any,
    at_once: Any, slabs: Any, parts: Any,
) -> None:  # fmt: skip
    s = team.league_rank % slabs
    group = team.league_rank // slabs
    begin = s * rows
    end = min(begin + rows, x.extent(0))
    for j in range(group * at_once, min((group + 1) * at_once, x.extent(1))):
        _slab_of_column(team, x, j, begin, end, kind, large, small, down, up, s, parts)


@es.function
def _slab_of_column(
    team: Any, x: Any, j: Any, begin: Any, end: Any, kind: Any, large: Any, small: Any, down: Any,
    up: Any, s: Any, parts: Any,
) -> None:  # fmt: skip
    a, b, c = es.parallel_reduce(
        es.TeamVectorRange(team, begin, end),
        lambda i: _three(x, i, j, kind, large, small, down, up),
        reducer=(es.Sum(dtype=kind), es.Sum(dtype=kind), es.Sum(dtype=kind)),
    )
    if es.single(es.PerTeam(team)):
        parts[0, s, j] = a
        parts[1, s, j] = b
        parts[2, s, j] = c


def _rows_beside(
    s: int, x: Any, kind: Any, large: Any, small: Any, down: Any, up: Any, width: static, rows: Any,
    parts: Any,
) -> None:  # fmt: skip
    first = s * rows
    last = min(first + rows, x.extent(0))
    for j in range(0, x.extent(1), width):
        a = es.local(width, kind)
        b = es.local(width, kind)
        c = es.local(width, kind)
        for i in range(first, last):
            for t in range(width):
                p, q, r = _three(x, i, j + t, kind, large, small, down, up)
                a[t] += p
                b[t] += q
                c[t] += r
        for t in range(width):
            parts[0, s, j + t] = a[t]
            parts[1, s, j + t] = b[t]
            parts[2, s, j + t] = c[t]


def _rows_of_three(
    s: int, j: int, x: Any, kind: Any, large: Any, small: Any, down: Any, up: Any, parts: Any
) -> None:  # fmt: skip
    a, b, c = _every(x, s, j, parts.extent(1), kind, large, small, down, up)
    parts[0, s, j] = a
    parts[1, s, j] = b
    parts[2, s, j] = c
