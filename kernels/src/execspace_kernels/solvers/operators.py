"""What solvers multiply with: sparse matrices, objects with `apply`, callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from .. import sparse
from ..arguments import MANY, choice
from ..errors import MatrixError
from ..sparse import spmv_columns
from ..sparse.elements import check_numbers
from .ranks import is_over_ranks

__all__ = [
    "PRODUCTS", "Operator", "as_operand", "check_call", "chosen_product", "dtype_of",
    "four_products", "has_short_rows", "operator_of", "row_product", "views_of",
]  # fmt: skip

PRODUCTS = ("auto", "fused", "apply")
_FORMS = sparse.CrsMatrix, sparse.BsrMatrix, sparse.StencilMatrix
_EXAMPLE = "for example `lambda x, y: sparse.spmv(B, x, out=y)`"
_SHORT = 8  # entries of a row, up to which a work item for each row is as good on devices


class Operator:
    """y = A x.

    Attributes
    ----------
    source : CrsMatrix, BsrMatrix, StencilMatrix or None
        What is multiplied with, if it is a matrix.
    apply_dot : callable or None
        ``apply_dot(x, out=y, dot=s)`` does y = A x and has s, a View of rank 0, be the real part of
        x^H y, of the rows here, if the operator can do both at once.
    """

    def __init__(
        self, call: Callable[[es.View, es.View], Any], dtype: Any, source: Any = None,
        apply_dot: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self._call, self.dtype, self.source = call, dtype, source
        self.apply_dot = apply_dot

    @property
    def matrix(self) -> Any:
        """The source, if it is one by rows."""
        return self.source if isinstance(self.source, sparse.CrsMatrix) else None

    def __call__(self, x: es.View, y: es.View) -> None:
        self._call(x, y)

    @property
    def values(self) -> es.View | None:
        """Elements that recorded launches read."""
        return None if self.source is None else self.source.values

    @property
    def nbytes(self) -> int | None:
        """What a product reads of the matrix, if it is one."""
        return sum(view.nbytes for view in views_of(self.source)) if self.source else None


def as_operand(A: Any) -> Any:
    """A sparse matrix of another library as one of this, once; all else as it is. Those by rows,
    or blocks, share their memory."""
    if A is None or isinstance(A, _FORMS) or callable(getattr(A, "apply", None)) or callable(A):
        return A
    try:
        if getattr(A, "format", None) == "bsr" and hasattr(A, "indptr"):
            return sparse.as_bsr(A)
        return sparse.as_crs(A)
    except MatrixError:
        if getattr(A, "format", None) is not None:  # a matrix, of elements that it cannot be of
            raise
        return A  # `operator_of` tells what is expected


def views_of(A: Any) -> list[es.View]:
    """Those of a matrix; none of an operator."""
    if isinstance(A, sparse.StencilMatrix):
        return [A.values]
    if isinstance(A, sparse.CrsMatrix | sparse.BsrMatrix):
        return [A.row_map, A.entries, A.values]
    return []


def operator_of(A: Any, what: str, n: int, space: es.ExecutionSpace) -> Operator:
    """An operator on vectors of n elements; MatrixError for what is none, or does not fit."""
    A = as_operand(A)
    shape = getattr(A, "shape", None)
    if isinstance(A, _FORMS):
        _check_shape(shape, what, n)
        check_numbers(what, A)
        matrix: Any = A

        def multiply(x: es.View, y: es.View) -> None:
            sparse.spmv(matrix, x, out=y, space=space)

        return Operator(multiply, matrix.dtype, matrix)
    apply = getattr(A, "apply", None)
    if not callable(apply) and callable(getattr(A, "matvec", None)):
        _check_shape(shape, what, n)
        return Operator(_on_the_host(A, what, space), dtype_of(A))
    if callable(apply):
        check_call(apply, f"{what}.apply", "(x, out=y)", None, out=None)
    elif callable(A):
        check_call(A, what, "(x, y)", None, None)
    else:
        raise MatrixError(
            f"{what} is a {type(A).__name__!r}; expected a sparse matrix, an object with "
            f"apply(x, out=y), or a callable of x and y that writes y."
        )
    if not is_over_ranks(A):  # else the rows here are not all of them
        _check_shape(shape, what, n)
    _check_space(getattr(A, "space", None), what, space)

    def call(x: es.View, y: es.View) -> None:
        _check_returned(apply(x, out=y) if callable(apply) else A(x, y), y, what)

    return Operator(call, dtype_of(A), None, _apply_dot_of(A, f"{what}.apply_dot"))


def _apply_dot_of(A: Any, what: str) -> Callable[..., None] | None:
    """The product and dot in one of an operator, if it has it; checked as `apply` is."""
    found = getattr(A, "apply_dot", None)
    if not callable(found):
        return None
    check_call(
        found, what, "(x, out=y, dot=s)", None, out=None, dot=None,
        wanted="what writes y = A x to y, and the dot of x and y to the View s of rank 0.",
    )  # fmt: skip

    def apply_dot(x: es.View, *, out: es.View, dot: es.View) -> None:
        _check_returned(found(x, out=out, dot=dot), out, what)

    return apply_dot


def _on_the_host(A: Any, what: str, space: es.ExecutionSpace) -> Callable[[es.View, es.View], None]:
    """y = A x of a LinearOperator of SciPy, which computes with arrays of the host."""
    if not space.memory_space.host_accessible:
        raise MatrixError(
            f"{what} is a {type(A).__name__!r}, which computes on the host, and space "
            f"'{space.name}' has memory of its own; expected a sparse matrix, or a callable of x "
            f"and y that launches what writes y."
        )

    def call(x: es.View, y: es.View) -> None:
        space.fence()  # which raises LaunchError where a graph is recorded
        source, target = np.asarray(x), np.asarray(y)
        found = A.matvec(source) if x.rank == 1 else A.matmat(source)
        if np.iscomplexobj(found) and not np.iscomplexobj(target):
            raise MatrixError(
                f"{what}: the {type(A).__name__!r} makes complex vectors of real ones; expected "
                f"its dtype to be complex, or a right-hand side that is."
            )
        target[...] = found

    return call


def check_call(
    function: Any, what: str, form: str, *args: Any,
    wanted: str = f"what writes y = A x to y, for Views x and y; {_EXAMPLE}.", **options: Any,
) -> None:  # fmt: skip
    """Raise MatrixError for what cannot be called in this way."""
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError as error:
        raise MatrixError(
            f"{what} cannot be called as {form}: {error}. Expected {wanted}"
        ) from None
    except ValueError:  # it does not tell
        return


def _check_returned(found: Any, y: es.View, what: str) -> None:
    """Raise MatrixError for a vector that was returned, and not written to y."""
    if found is y or not getattr(found, "shape", ()):
        return
    if _pointer(found) != y.data_ptr:
        raise MatrixError(
            f"{what} returned a {type(found).__name__!r}, and y is what counts; expected that y is "
            f"written, and nothing or y returned; {_EXAMPLE}."
        )


def _pointer(array: Any) -> Any:
    """Where the elements of a View or an array are."""
    found = getattr(array, "data_ptr", None)
    if found is not None:
        return found() if callable(found) else found  # PyTorch has a method
    for name in ("__array_interface__", "__cuda_array_interface__"):
        if hasattr(array, name):
            return getattr(array, name)["data"][0]
    return None


def _check_space(found: Any, what: str, space: es.ExecutionSpace) -> None:
    """Raise MatrixError for an operator that runs elsewhere: a graph has one space."""
    if isinstance(found, es.ExecutionSpace) and found is not space:
        raise MatrixError(
            f"{what} runs on {found!r}, and the solver on {space!r}; expected the same. Make it "
            f"with space={space.name!r}, or solve on the other one."
        )


def dtype_of(A: Any) -> np.dtype[Any] | None:
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


def has_short_rows(matrix: sparse.CrsMatrix) -> bool:
    """Whether a work item for each row is as good on devices as teams."""
    return matrix.nnz <= _SHORT * matrix.shape[0]


def chosen_product(
    asked: str, method: str, A: Operator, columns: int, space: es.ExecutionSpace
) -> tuple[str, str]:
    """How products and the dots that follow them are done, and why."""
    choice(asked, f"{method}: algorithm", PRODUCTS)
    if asked == "fused" and A.matrix is None:
        raise MatrixError(
            f"{method}: algorithm='fused' is for matrices by rows; expected 'apply' or 'auto' for "
            f"an operator, a BsrMatrix or a StencilMatrix. These have to_crs()."
        )
    if asked != "auto":
        return asked, "it was asked for"
    if A.matrix is None:
        kind = "an operator" if A.source is None else f"a {type(A.source).__name__}"
        return "apply", f"A is {kind}"
    if space.concurrency <= MANY:
        return "fused", f"space '{space.name}' runs few work items at once"
    if columns > 1:
        return "apply", "products with several vectors are faster by teams"
    if has_short_rows(A.matrix):
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
