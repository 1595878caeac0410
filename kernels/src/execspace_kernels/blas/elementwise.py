"""BLAS 1 where each element of the result depends on elements at the same place.

All are one launch, with a work item for each element, and asynchronous where the space is. What is
written may be one of the Views that are read, element for element; else they must not overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, result
from ..sparse.elements import check_method, is_record
from .elementwise_kernels import stored, stored_in_columns, swapped, swapped_columns
from .operands import (
    Factor,
    cells,
    check_same_or_apart,
    check_shape,
    check_stores,
    factor,
    is_same,
    operand,
    product_dtype,
    real_of,
    scaled_dtype,
    sum_dtype,
    views_of,
    written,
)

__all__ = ["abs", "axpby", "axpy", "fill", "mult", "reciprocal", "scal", "swap", "update"]

_ONE = Factor(1, "number", None)


def scal(alpha: Any, x: Any, out: Any = None, *, space: Space = None) -> es.View:
    """r = alpha x: a multiple of a vector.

    Parameters
    ----------
    alpha : number or View
        A number, a View of rank 0 with one, or for a multi-vector of rank 1 with one for each
        column.
    x : View or array, shape (n,) or (n, k)
        Numbers, or records whose class has `__rmul__`. Read.
    out : View or array of the shape of x, optional
        Where the result goes; `x` itself to scale it in place. Without it a new View.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If `alpha` is no number.
    ViewError
        If shapes do not fit, `out` is read-only, overlaps `x` without being it, or cannot hold the
        numbers.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Zeros do not win over NaN: 0 x is NaN where x is NaN or
    infinite, as in NumPy.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_scal.html
    """
    source = operand(x, "scal: x", space)
    by = factor(alpha, "scal: alpha", source.shape[1:])
    dtype = scaled_dtype(by, source.dtype)
    scaling = _scaling("scal", by, source.dtype)
    return _into("scal", out, "multiple", dtype, source, by, scaling=scaling, space=space)


def abs(x: Any, out: Any = None, *, space: Space = None) -> es.View:  # its name in Kokkos Kernels
    """r = |x|, element by element; of complex numbers the modulus.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Numbers. Read.
    out : View or array of the shape of x, optional
        Where the result goes; `x` itself if that is of real numbers. Without it a new View, of the
        real type of `x`.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    ViewError
        As those of `scal`; and for records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_abs.html
    """
    source = _numbers(operand(x, "abs: x", space), "abs: x")
    return _into("abs", out, "modulus", real_of(source.dtype), source, space=space)


def reciprocal(x: Any, out: Any = None, *, space: Space = None) -> es.View:
    """r = 1 / x, element by element.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Real or complex floating-point numbers. Read.
    out : View or array of the shape of x, optional
        Where the result goes; `x` itself to invert it in place. Without it a new View.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    ViewError
        As those of `scal`; and for integers and records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. The reciprocal of a real 0 is an infinity of its sign.

    Kokkos Kernels: `KokkosBlas::reciprocal`.
    """
    source = _numbers(operand(x, "reciprocal: x", space), "reciprocal: x")
    if source.dtype.kind in "iu":
        raise es.ViewError(
            f"reciprocal: x: View '{source.label}' is of {source.dtype}; expected real or complex "
            f"floats."
        )
    return _into("reciprocal", out, "inverse", source.dtype, source, space=space)


def fill(x: Any, alpha: Any, *, space: Space = None) -> es.View:
    """x = alpha: one number everywhere.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        Written.
    alpha : number or View
        As that of `scal`.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `x`.

    Raises
    ------
    MatrixError
        If `alpha` is no number.
    ViewError
        If `x` is read-only, of records, or cannot hold the number.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: `KokkosBlas::fill`.
    """
    target = _numbers(written(x, "fill: x"), "fill: x")
    by = factor(alpha, "fill: alpha", target.shape[1:])
    kind = by.dtype if by.dtype is not None else np.result_type(type(by.value))
    check_stores("fill: x", target, kind)
    return _launched("fill", "factor", "set", target, by, space=space)


def axpy(alpha: Any, x: Any, y: Any, *, space: Space = None) -> es.View:
    """y = y + alpha x.

    Parameters
    ----------
    alpha : number or View
        A number, a View of rank 0 with one, or for multi-vectors of rank 1 with one for each
        column.
    x : View or array, shape (n,) or (n, k)
        Numbers or records. Read; it may be `y`.
    y : View or array of the shape of x
        Read and written.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `y`.

    Raises
    ------
    MatrixError
        If `alpha` is no number, or records lack the operators.
    ViewError
        If shapes do not fit, `y` is read-only, overlaps `x` without being it, or cannot hold the
        numbers, as real ones cannot hold complex ones.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. An `alpha` of 0 is multiplied by as any other: NaN in `x` stays
    NaN, unlike in the reference BLAS.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_axpy.html
    """
    return _combined("axpy", alpha, x, 1, y, space)


def axpby(alpha: Any, x: Any, beta: Any, y: Any, *, space: Space = None) -> es.View:
    """y = beta y + alpha x.

    Parameters
    ----------
    alpha, beta : number or View
        Numbers, Views of rank 0 with one, or for multi-vectors of rank 1 with one for each column.
        Where `beta` is 0, what `y` held does not count, NaN included.
    x : View or array, shape (n,) or (n, k)
        Numbers or records. Read; it may be `y`.
    y : View or array of the shape of x
        Read and written.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `y`.

    Raises
    ------
    MatrixError
    ViewError
        As those of `axpy`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_axpy.html
    """
    return _combined("axpby", alpha, x, beta, y, space)


def _combined(what: str, alpha: Any, x: Any, beta: Any, y: Any, space: Space) -> es.View:
    target = written(y, f"{what}: y")
    source = operand(x, f"{what}: x", space)
    check_shape(source, f"{what}: x", target.shape, "that of y")
    a, b = (factor(v, f"{what}: {name}", target.shape[1:])
            for v, name in ((alpha, "alpha"), (beta, "beta")))  # fmt: skip
    scaling = _scaling(what, a, source.dtype)
    how = _how(what, b, target.dtype)
    _check_sum(what, target, (a, source.dtype), (b, target.dtype))
    check_same_or_apart(f"{what}: y", target, x=source)
    return _launched(what, "multiple", how, target, a, b, scaling=scaling, x=source, space=space)


def update(
    alpha: Any, x: Any, beta: Any, y: Any, gamma: Any, z: Any, *, space: Space = None
) -> es.View:
    """z = gamma z + alpha x + beta y.

    Parameters
    ----------
    alpha, beta, gamma : number or View
        Numbers, Views of rank 0 with one, or for multi-vectors of rank 1 with one for each column.
        Where `gamma` is 0, what `z` held does not count, NaN included.
    x, y : View or array, shape (n,) or (n, k)
        Numbers, or records whose class has `__rmul__`. Read; they may be `z`.
    z : View or array of the shape of x
        Read and written.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `z`.

    Raises
    ------
    MatrixError
    ViewError
        As those of `axpy`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: `KokkosBlas::update`.
    """
    target = written(z, "update: z")
    first, second = operand(x, "update: x", space), operand(y, "update: y", space)
    for name, view in (("x", first), ("y", second)):
        check_shape(view, f"update: {name}", target.shape, "that of z")
        check_same_or_apart("update: z", target, **{name: view})
    a, b, c = (
        factor(value, f"update: {name}", target.shape[1:])
        for value, name in ((alpha, "alpha"), (beta, "beta"), (gamma, "gamma"))
    )
    scaling = "plain"
    for one, view in ((a, first), (b, second)):
        if _scaling("update", one, view.dtype) == "scaled":
            scaling = "scaled"
            check_method("update", view.dtype, "alpha or beta", "__rmul__")
    how = _how("update", c, target.dtype)
    _check_sum("update", target, (a, first.dtype), (b, second.dtype), (c, target.dtype))
    return _launched(
        "update", "multiples", how, target, a, c, b, scaling=scaling, x=first, y=second, space=space
    )


def mult(gamma: Any, y: Any, alpha: Any, a: Any, x: Any, *, space: Space = None) -> es.View:
    """y = gamma y + alpha a x: products element by element.

    Parameters
    ----------
    gamma, alpha : number or View
        Numbers, Views of rank 0 with one, or for multi-vectors of rank 1 with one for each column.
        Where `gamma` is 0, what `y` held does not count, NaN included.
    y : View or array, shape (n,) or (n, k)
        Read and written.
    a : View or array, shape (n,), or that of y
        Numbers or records. Read; one vector is for all columns. It may be `y`.
    x : View or array of the shape of y
        Numbers or records. Read; it may be `y`.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `y`.

    Raises
    ------
    MatrixError
    ViewError
        As those of `axpy`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: `KokkosBlas::mult`.
    """
    target = written(y, "mult: y")
    left, right = operand(a, "mult: a", space), operand(x, "mult: x", space)
    check_shape(right, "mult: x", target.shape, "that of y")
    if left.rank != 1 or left.shape != target.shape[:1]:
        check_shape(left, "mult: a", target.shape, f"that of y, or {target.shape[:1]}")
    g, f = (factor(v, f"mult: {name}", target.shape[1:])
            for v, name in ((gamma, "gamma"), (alpha, "alpha")))  # fmt: skip
    dtype = product_dtype(left.dtype, right.dtype, "mult")
    scaling = _scaling("mult", f, dtype)
    how = _how("mult", g, target.dtype)
    _check_sum("mult", target, (f, dtype), (g, target.dtype))
    check_same_or_apart("mult: y", target, a=left, x=right)
    return _launched("mult", "product", how, target, f, g, scaling=scaling, x=left, y=right,
                     space=space)  # fmt: skip


def swap(x: Any, y: Any, *, space: Space = None) -> tuple[es.View, es.View]:
    """Exchange the elements of two vectors.

    Parameters
    ----------
    x, y : View or array, shape (n,) or (n, k)
        Of one shape and one dtype, of any numbers or records. Read and written.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    tuple of View
        `x` and `y`.

    Raises
    ------
    ViewError
        If shapes or dtypes differ, one is read-only, or they overlap; both may be the same View.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_swap.html
    """
    first, second = written(x, "swap: x"), written(y, "swap: y")
    check_shape(second, "swap: y", first.shape, "that of x")
    if first.dtype != second.dtype:
        raise es.ViewError(
            f"swap: View '{first.label}' is of {first.dtype} and '{second.label}' of "
            f"{second.dtype}; expected one dtype."
        )
    check_same_or_apart("swap: x", first, y=second)
    if not is_same(first, second):
        where = es.space_for(first, second, space=space)
        kernel = swapped if first.rank == 1 else swapped_columns
        es.parallel_for(cells(first, where), kernel, first, second, label="swap")
    return first, second


def _numbers(view: es.View, what: str) -> es.View:
    """The View; ViewError for records."""
    if is_record(view.dtype):
        raise es.ViewError(
            f"{what}: View '{view.label}' is of records {view.dtype.type.__name__}; expected "
            f"numbers."
        )
    return view


def _scaling(what: str, by: Factor, dtype: np.dtype[Any]) -> str:
    """How `scaled` multiplies: records are not where the factor is 1."""
    if not is_record(dtype) or not by.equals(1):
        check_method(what, dtype, "alpha", "__rmul__")
        return "scaled"
    return "plain"


def _how(what: str, beta: Factor, dtype: np.dtype[Any]) -> str:
    """What becomes of what is there: "set" it anew, add "more", or "add" to a multiple of it;
    "look" where the factor is in a View, and may be 0."""
    if beta.kind != "number":
        how = "look"
    elif beta.equals(0):
        return "set"
    else:
        how = "more" if is_record(dtype) and beta.equals(1) else "add"
    if how != "more":
        check_method(what, dtype, "a factor of the result", "__rmul__")
    return how


def _check_sum(what: str, out: es.View, *terms: tuple[Factor, np.dtype[Any]]) -> None:
    """Raise ViewError where `out` cannot hold a sum of multiples."""
    dtypes = [scaled_dtype(by, dtype) for by, dtype in terms if not by.equals(0)]
    if not dtypes:
        return
    total = dtypes[0]
    for dtype in dtypes[1:]:
        total = sum_dtype(total, dtype, what)
    check_stores(what, out, total)


def _into(
    what: str, out: Any, name: str, dtype: np.dtype[Any], x: es.View, a: Factor = _ONE, *,
    scaling: str = "scaled", space: Space,
) -> es.View:  # fmt: skip
    """A function of x whose result goes to `out` or a new View."""
    used = views_of(x, a)
    if out is not None and not isinstance(out, list | tuple):
        used = (*used, operand(out, f"{what}: out", None))
    where = es.space_for(*used, space=space)
    target = result(out, what, x.shape, dtype, where, x)
    check_stores(f"{what}: out", target, dtype)
    check_same_or_apart(f"{what}: out", target, x=x)
    return _launched(what, name, "set", target, a, scaling=scaling, x=x, space=where)


def _launched(
    what: str, name: str, how: str, r: es.View, a: Factor = _ONE, b: Factor = _ONE,
    c: Factor = _ONE, *, scaling: str = "scaled", x: es.View | None = None,
    y: es.View | None = None, space: Space,
) -> es.View:  # fmt: skip
    """Launch the term for each element of the result, which is returned."""
    where = es.space_for(*views_of(r, x, y, a, b, c), space=space)
    kernel = stored if r.rank == 1 else stored_in_columns
    es.parallel_for(
        cells(r, where), kernel, name, how, scaling, a.value, a.kind, b.value, b.kind, c.value,
        c.kind, x, y, r, label=what,
    )  # fmt: skip
    return r
