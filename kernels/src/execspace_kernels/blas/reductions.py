"""BLAS 1 that makes one number of a vector: dot products, sums and norms; iamax.

Of a vector it is one reduction; of the columns of a multi-vector `columns` joins parts of them in a
fixed order. Sums are computed in 64 bits, see `operands.wide_dtype`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, check_not_recorded
from ..sparse.elements import is_record, name_of
from ..vendors import chosen_vendor
from .columns import reduce_columns
from .operands import (
    check_apart,
    check_shape,
    check_stores,
    check_zero,
    operand,
    product_dtype,
    real_of,
    shapes_of,
    wide_dtype,
    written,
)
from .terms import modulus, sum_of_numbers, sum_of_records, term

__all__ = ["dot", "dotu", "iamax", "nrm1", "nrminf", "sum"]


def dot(
    x: Any, y: Any, out: Any = None, *, vendor: bool | None = None, space: Space = None
) -> Any:  # fmt: skip
    """The sum of conj(x) y.

    Parameters
    ----------
    x, y : View or array, shape (n,) or (n, k)
        Numbers or records, of one shape. Read; they may be the same. Of records the class may have
        a method `conjugate`; `x` is taken as it is if it has none.
    out : View or array, shape () or (k,), optional
        Where the result goes: then nothing blocks.
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
        If records lack an operator, or `vendor` is True and there is no routine for it.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps what is read, or cannot hold the
        result.
    SpaceAccessError

    Notes
    -----
    Blocks without `out`, and is asynchronous where the space is with it. Products and sums of
    floats are of float64, of complex numbers of complex128, of integers of 64 bits, which wrap; on
    spaces without float64 of float32. So float32 neither overflows nor loses digits within a sum.
    The result has the same bits in each run on a space. NaN and infinities are as of NumPy's vdot.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_dot.html
    """
    return _products("dot", x, y, out, vendor, space)


def dotu(
    x: Any, y: Any, out: Any = None, *, vendor: bool | None = None, space: Space = None
) -> Any:  # fmt: skip
    """The sum of x y, without a conjugate.

    Parameters
    ----------
    x, y, out, vendor, space
        As those of `dot`.

    Returns
    -------
    number, numpy.ndarray or View
        As that of `dot`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `dot`, which it is for real numbers.
    """
    return _products("dotu", x, y, out, vendor, space)


def _products(what: str, x: Any, y: Any, out: Any, vendor: bool | None, space: Space) -> Any:
    first, second = operand(x, f"{what}: x", space), operand(y, f"{what}: y", space)
    check_shape(second, f"{what}: y", first.shape, "that of x")
    dtype = product_dtype(first.dtype, second.dtype, what)
    of_records = getattr(first.dtype.type, "conjugate", None)
    conj = "yes" if what == "dot" and first.dtype.kind == "c" else "no"
    if what == "dot" and is_record(first.dtype) and of_records is not np.void.conjugate:
        conj = "yes"
    return reduced(
        what, "dot" if conj == "yes" else "dotu", "sum", first, second, dtype, out,
        space, vendor,
    )  # fmt: skip


def sum(x: Any, out: Any = None, *, space: Space = None) -> Any:  # its name in Kokkos Kernels
    """The sum of the elements.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Numbers or records. Read.
    out, space
        As those of `dot`.

    Returns
    -------
    number, numpy.ndarray or View
        As that of `dot`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `dot`.

    Kokkos Kernels: `KokkosBlas::sum`.
    """
    source = operand(x, "sum: x", space)
    return reduced("sum", "value", "sum", source, None, source.dtype, out, space)


def nrm1(x: Any, out: Any = None, *, space: Space = None) -> Any:
    """The sum of |x|; of complex numbers of |re x| + |im x|, as in BLAS (asum).

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
    As of `dot`.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_nrm1.html
    """
    source = numbers(x, "nrm1: x", space)
    name = "parts" if source.dtype.kind == "c" else "modulus"
    return reduced("nrm1", name, "sum", source, None, real_of(source.dtype), out, space)


def nrminf(x: Any, out: Any = None, *, space: Space = None) -> Any:
    """The greatest |x|, 0 of no elements; of complex numbers the modulus counts.

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
    As of `dot`. It is NaN if an element is.

    Kokkos Kernels: `KokkosBlas::nrminf`.
    """
    source = numbers(x, "nrminf: x", space)
    return reduced("nrminf", "modulus", "max", source, None, real_of(source.dtype), out, space)


def iamax(x: Any, out: Any = None, *, space: Space = None) -> Any:
    """The index of the greatest |x|, the first one of several; of complex numbers by modulus.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Numbers. Read.
    out : View or array, shape () or (k,), optional
        Of integers: where the result goes; then nothing blocks.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    int, numpy.ndarray or View
        `out`; without it a number, or a NumPy array of shape (k,) for a multi-vector.

    Raises
    ------
    ViewError
        If `out` is not of integers, is read-only, or overlaps `x`; for records.
    SpaceAccessError

    Notes
    -----
    Blocks without `out`, and is asynchronous where the space is with it. It counts from 0, and
    is -1 of no elements, while BLAS and Kokkos Kernels count from 1. A NaN is the greatest, as of
    NumPy's argmax. Multi-vectors are read twice.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_iamax.html
    """
    source = numbers(x, "iamax: x", space)
    target = target_of(out, "iamax", source, np.dtype(np.int64))
    if target is not None and target.dtype.kind not in "iu":
        raise es.ViewError(
            f"iamax: out: View '{target.label}' is of {target.dtype}; expected integers."
        )
    where = space_of(space, source, None, target)
    n, kind = source.shape[0], wide_dtype(real_of(source.dtype), where)
    if target is None:
        check_not_recorded("iamax without out")
    if source.rank == 1:
        every = es.RangePolicy(n, space=where)
        if n == 0:
            return _nothing(-1, target, where)
        if target is None:
            found = es.parallel_reduce(
                every, _place, source, kind.type, reducer=es.MaxLoc, label="iamax"
            )
            return int(found.loc)
        greatest = es.View((), kind, label="greatest", space=where)
        es.parallel_reduce(every, _place, source, kind.type, reducer=es.MaxLoc,
                           out=(greatest, target), label="iamax")  # fmt: skip
        return target
    k = source.shape[1]
    places = target
    if places is None:
        places = es.View(k, np.int64, label="iamax", space=where, initialize=False)
    largest = es.View(k, kind, label="greatest", space=where, initialize=False)
    reduce_columns("iamax", "modulus", "max", source, None, kind, largest, where)
    reduce_columns("iamax", "place", "min", source, largest, np.dtype(np.int64), places, where,
                   finish="place")  # fmt: skip
    return places if target is not None else places.to_numpy()


# -- what all have in common ----------------------------------------------------------------------


def numbers(x: Any, what: str, space: Space) -> es.View:
    """An operand that is not of records."""
    view = operand(x, what, space)
    if is_record(view.dtype):
        raise es.ViewError(
            f"{what}: View '{view.label}' is of records {name_of(view.dtype)}; expected numbers."
        )
    return view


def target_of(
    out: Any, what: str, x: es.View, dtype: np.dtype[Any], *others: es.View | None
) -> es.View | None:
    """`out`, if it is given and fits."""
    if out is None:
        return None
    target = written(out, f"{what}: out", (0, 1))
    shape = x.shape[1:]
    check_shape(target, f"{what}: out", shape, "one for each column" if shape else "a number")
    check_stores(f"{what}: out", target, dtype)
    for view in (x, *others):
        if view is not None:
            check_apart(f"{what}: out", target, **{"what is read": view})
    return target


def space_of(
    space: Space, x: es.View, y: es.View | None, target: es.View | None
) -> es.ExecutionSpace:
    return es.space_for(*(v for v in (x, y, target) if v is not None), space=space)


def reduced(
    what: str, name: str, join: str, x: es.View, y: es.View | None, dtype: np.dtype[Any],
    out: Any, space: Space, vendor: bool | None = False,
) -> Any:  # fmt: skip
    """A reduction of terms whose sums have a dtype, before they are widened."""
    check_zero(dtype)
    target = target_of(out, what, x, dtype, y)
    where = space_of(space, x, y, target)
    if target is None:
        check_not_recorded(f"{what} without out")
    if vendor is not False:
        library = chosen_vendor(what, vendor, where, lambda: shapes_of(x), x, y, target)
        if library is not None:
            return getattr(library, what)(x, y, target)
    wide = wide_dtype(dtype, where)
    if x.rank == 1:
        found = reduce_vector(what, name, join, x, y, wide, where, target)
        return found if target is None else target
    if is_record(dtype):
        return _columns_of_records(what, name, x, y, dtype, where, target)
    into = target
    if into is None:
        into = es.View(x.shape[1], wide, label=what, space=where, initialize=False)
    reduce_columns(what, name, join, x, y, wide, into, where)
    return into if target is not None else into.to_numpy()


def reduce_vector(
    what: str, name: str, join: str, x: es.View, y: es.View | None, wide: np.dtype[Any],
    space: es.ExecutionSpace, out: Any,
) -> Any:  # fmt: skip
    """The reduction of one vector: a number, or None if it goes to `out`."""
    kind: Any = "own" if is_record(wide) else wide.type
    if is_record(wide):
        reducer: Any = sum_of_records(wide)
    elif join == "sum":
        reducer = sum_of_numbers(wide)
    elif x.shape[0]:
        reducer = es.Max
    else:
        return _nothing(wide.type(0).item(), out, space)
    every = es.RangePolicy(x.shape[0], space=space)
    return es.parallel_reduce(every, _term, name, x, y, kind, reducer=reducer, out=out, label=what)


def _nothing(value: Any, target: es.View | None, space: es.ExecutionSpace) -> Any:
    """The result for no elements."""
    if target is None:
        return value
    es.deep_copy(target, value, instance=space)
    return target


def _columns_of_records(
    what: str, name: str, x: es.View, y: es.View | None, dtype: np.dtype[Any],
    space: es.ExecutionSpace, target: es.View | None,
) -> Any:  # fmt: skip
    """A reduction for each column."""
    k = x.shape[1]
    into = target if target is not None else es.View(k, dtype.type, label=what, space=space)
    for j in range(k):
        column = es.subview(x, es.ALL, j)
        other = None if y is None else es.subview(y, es.ALL, j)
        reduce_vector(what, name, "sum", column, other, dtype, space, es.subview(into, j))
    return into if target is not None else into.to_numpy()


# -- kernels --------------------------------------------------------------------------------------


def _term(i: int, name: Any, x: Any, y: Any, kind: Any) -> Any:
    return term(name, x, y, i, 0, kind)


def _place(i: int, x: Any, kind: Any) -> Any:
    return modulus(x, i, 0, kind), i
