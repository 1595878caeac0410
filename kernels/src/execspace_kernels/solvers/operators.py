"""What solvers multiply with: sparse matrices, objects with `apply`, callables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from .. import sparse
from ..arguments import MANY, choice
from ..errors import MatrixError
from ..sparse import spmv_columns

__all__ = [
    "PRODUCTS", "Operator", "chosen_product", "four_products", "operator_of", "row_product",
]  # fmt: skip

PRODUCTS = ("auto", "fused", "apply")
_SHORT = 8  # entries of a row, up to which a work item for each row is as good on devices


class Operator:
    """y = A x. `matrix` is what is multiplied with, if it is one."""

    def __init__(self, call: Callable[[es.View, es.View], Any], dtype: Any, matrix: Any) -> None:
        self._call, self.dtype, self.matrix = call, dtype, matrix

    def __call__(self, x: es.View, y: es.View) -> None:
        self._call(x, y)


def operator_of(A: Any, what: str, n: int, space: es.ExecutionSpace) -> Operator:
    """An operator on vectors of n elements; MatrixError for what is none."""
    if not isinstance(A, sparse.CrsMatrix):
        apply = getattr(A, "apply", None)
        if callable(apply):
            _check_shape(getattr(A, "shape", None), what, n)
            return Operator(lambda x, y: apply(x, out=y), _dtype_of(A), None)
        if callable(A):
            _check_shape(getattr(A, "shape", None), what, n)
            return Operator(A, _dtype_of(A), None)
        try:
            A = sparse.as_crs(A)
        except MatrixError:
            raise MatrixError(
                f"{what} is a {type(A).__name__!r}; expected a sparse matrix, an object with "
                f"apply(x, out=y), or a callable of x and y that writes y."
            ) from None
    _check_shape(A.shape, what, n)
    matrix: sparse.CrsMatrix = A

    def multiply(x: es.View, y: es.View) -> None:
        sparse.spmv(matrix, x, out=y, space=space)

    return Operator(multiply, matrix.dtype, matrix)


def _dtype_of(A: Any) -> np.dtype[Any] | None:
    """The dtype that an operator names, if it is one of numbers."""
    found = getattr(A, "dtype", None)
    try:
        return None if found is None else np.dtype(found)
    except TypeError:
        return None


def _check_shape(shape: Any, what: str, n: int) -> None:
    if isinstance(shape, tuple) and shape != (n, n):
        found = " x ".join(map(str, shape))
        raise MatrixError(f"{what} is {found}; expected {n} x {n}, for b has {n} rows.")


def chosen_product(
    asked: str, method: str, A: Operator, columns: int, space: es.ExecutionSpace
) -> tuple[str, str]:
    """How products and the dots that follow them are done, and why."""
    choice(asked, f"{method}: algorithm", PRODUCTS)
    if asked == "fused" and A.matrix is None:
        raise MatrixError(
            f"{method}: algorithm='fused' is for matrices; expected 'apply' or 'auto' for an "
            f"operator."
        )
    if asked != "auto":
        return asked, "it was asked for"
    if A.matrix is None:
        return "apply", "A is an operator"
    if space.concurrency <= MANY:
        return "fused", f"space '{space.name}' runs few work items at once"
    if columns > 1:
        return "apply", "products with several vectors are faster by teams"
    if A.matrix.nnz <= _SHORT * A.matrix.shape[0]:
        return "fused", f"rows have {_SHORT} entries or fewer on the average"
    return "apply", "products of long rows are faster by teams"


@es.function
def row_product(i: Any, j: Any, row_map: Any, entries: Any, values: Any, x: Any) -> Any:
    """An element of A x."""
    return spmv_columns.one_product(i, j, row_map, entries, values, entries, x, "no", "no")


@es.function
def four_products(i: Any, j: Any, row_map: Any, entries: Any, values: Any, x: Any) -> Any:
    """Elements of A x in four columns from j on, so that a row is read once for all of them."""
    return spmv_columns.four_products(i, j, row_map, entries, values, entries, x, "no", "no")
