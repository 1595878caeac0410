"""Elements of matrices: numbers, or records with + and *, see `execspace.Record`.

A class of records is that of elements if `Class(0)` is its zero. The dtype of products and sums of
different types is that of what Python computes with such zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..errors import MatrixError


def is_record(dtype: np.dtype[Any]) -> bool:
    """Whether elements are records with operators."""
    return dtype.kind == "V" and issubclass(dtype.type, es.Record)


def zero(dtype: np.dtype[Any]) -> Any:
    """The zero of a dtype; MatrixError for a class of records that makes none of one number."""
    try:
        return dtype.type(0)
    except TypeError as error:
        raise MatrixError(
            f"{error}. Elements of a matrix are records of which {dtype.type.__name__}(0) is the "
            f"zero; give the fields after the first one a default."
        ) from None


def dtype_of_product(a: np.dtype[Any], b: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype of elements of one dtype times those of another."""
    if a is b and a.kind in "fc":
        return a
    if not (is_record(a) or is_record(b)):
        return np.result_type(a, b)
    return _computed(a, b, "*", what)


def dtype_of_sum(a: np.dtype[Any], b: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype of elements of one dtype plus those of another."""
    if a == b or not (is_record(a) or is_record(b)):
        return np.result_type(a, b)
    return _computed(a, b, "+", what)


def _computed(a: np.dtype[Any], b: np.dtype[Any], sign: str, what: str) -> np.dtype[Any]:
    left, right = zero(a), zero(b)
    try:
        found = left * right if sign == "*" else left + right
        dtype: np.dtype[Any] = found.dtype
    except (TypeError, AttributeError) as error:
        raise MatrixError(
            f"{what}: elements of {name_of(a)} and {name_of(b)} have no {sign!r}: {error}"
        ) from None
    if dtype.kind not in "fc" and not is_record(dtype):
        raise MatrixError(
            f"{what}: {name_of(a)} {sign} {name_of(b)} is of {dtype}; expected real or complex "
            f"floating-point numbers, or records of a class of execspace.Record."
        )
    return dtype


def name_of(dtype: np.dtype[Any]) -> str:
    """The dtype, or the class of records, for messages."""
    return dtype.type.__name__ if is_record(dtype) else str(dtype)


def check_elements(elements: es.View) -> None:
    """MatrixError for what are neither floating-point numbers nor records with operators."""
    if is_record(elements.dtype):
        nothing = zero(elements.dtype)
        try:
            nothing + nothing
        except TypeError:
            raise MatrixError(
                f"values are records {name_of(elements.dtype)}, which have no '+'; define __add__ "
                f"in the class."
            ) from None
    elif elements.dtype.kind not in "fc":
        raise MatrixError(
            f"values are of {elements.dtype}; expected real or complex floating-point numbers, or "
            f"records of a class of execspace.Record. Convert them, for example by "
            f"astype(numpy.float64)."
        )


def check_floats(elements: es.View) -> None:
    """MatrixError for elements that are no floating-point numbers."""
    if elements.dtype.kind not in "fc":
        raise MatrixError(
            f"values are of {elements.dtype}; expected real or complex floating-point numbers. "
            f"Convert them, for example by astype(numpy.float64)."
        )


def check_numbers(what: str, A: Any) -> None:
    """MatrixError for a matrix of records, where more is needed than + and *."""
    if is_record(A.dtype):
        raise MatrixError(
            f"{what}: the matrix is of records, {name_of(A.dtype)}; expected numbers. Of records "
            f"there are spmv, spadd, spgemm, transpose, sort, sort_and_merge, diagonal, parts and "
            f"stacks."
        )


def check_method(what: str, dtype: np.dtype[Any], option: str, method: str) -> None:
    """MatrixError for records whose class lacks a method that an option of a call needs."""
    if is_record(dtype) and getattr(dtype.type, method) == getattr(np.void, method):
        raise MatrixError(
            f"{what}: {option} of records {name_of(dtype)}, whose class has no {method}; define it."
        )


def how_to_scale(dtype: np.dtype[Any], *numbers: Any) -> str:
    """ "plain" for records that are not multiplied, which their class need not have; "scaled"."""
    return "plain" if is_record(dtype) and all(n == 1 for n in numbers) else "scaled"


# -- kernels --------------------------------------------------------------------------------------


@es.function
def zero_of(view: Any) -> Any:
    """What a sum begins with that is stored in a View of rank 1; it takes the type of numbers that
    are added."""
    if isinstance(view[0], es.Record):
        return view.dtype.type(0)
    return 0


@es.function
def value_of(element: Any) -> Any:
    """An element by its value, also of records, of which `A[i]` refers to the element."""
    if isinstance(element, es.Record):
        return element.copy()
    return element


@es.function
def conjugated(value: Any, conj: Any) -> Any:
    """An element of op(A)."""
    if conj == "yes":
        if isinstance(value, es.Record):
            return value.conjugate()
        return np.conj(value)
    return value_of(value)


@es.function
def product(values: Any, entries: Any, x: Any, k: Any, conj: Any) -> Any:
    """One element times that of the vector."""
    return conjugated(values[k], conj) * x[entries[k]]


@es.function
def scaled(factor: Any, element: Any, scaling: Any) -> Any:
    """A multiple of an element; `scaling` is of `how_to_scale`."""
    if scaling == "plain":
        return value_of(element)
    return factor * element


@es.function
def keep(y: Any, i: Any, total: Any, alpha: Any, beta: Any, how: Any) -> None:
    """Store the sum of a row: "set", or "add" to what is there; "put" and "more" without alpha and
    beta, which are 1."""
    if how == "set":
        y[i] = alpha * total
    elif how == "add":
        y[i] = alpha * total + beta * y[i]
    elif how == "put":
        y[i] = total
    else:
        y[i] = total + y[i]
