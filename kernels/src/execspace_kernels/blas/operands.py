"""What functions on dense vectors and matrices ask of their arguments.

Vectors are Views of rank 1, multi-vectors the columns of one of rank 2. Factors are numbers, Views
of rank 0, or Views of rank 1 with one for each column. Views may share memory where their elements
do not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import (
    MANY,
    Space,
    as_view,
    check_beta,
    has_teams,
    largest_team,
    number_of,
    overlap,
    result,
)
from ..errors import MatrixError
from ..sparse.elements import check_method, dtype_of_product, dtype_of_sum, is_record, name_of, zero

_LEAST, _MOST = 32, 256  # threads of a team of a device


class Factor(NamedTuple):
    """A factor as kernels take it: "number", "one" in a View of rank 0, or "each" of rank 1."""

    value: Any
    kind: str
    dtype: np.dtype[Any] | None  # None: a number of Python, which takes the type of what it meets

    @property
    def is_complex(self) -> bool:
        """Whether products with it are complex."""
        return self.dtype.kind == "c" if self.dtype is not None else isinstance(self.value, complex)

    def equals(self, number: int) -> bool:
        """Whether it is known to be this number."""
        return self.kind == "number" and bool(self.value == number)


def operand(source: Any, what: str, space: Space, ranks: tuple[int, ...] = (1, 2)) -> es.View:
    """What is read or written, as a View of one of some ranks, of numbers or records."""
    view = as_view(source, what, space)
    if view.rank not in ranks:
        expected = " or ".join(map(str, ranks))
        raise es.ViewError(
            f"{what}: View '{view.label}' has rank {view.rank}, shape {view.shape}; expected rank "
            f"{expected}."
        )
    if kind_of(view.dtype) not in "iufcr":
        raise es.ViewError(
            f"{what}: View '{view.label}' is of {view.dtype}; expected numbers, or records of a "
            f"class of execspace.Record."
        )
    return view


def written(source: Any, what: str, ranks: tuple[int, ...] = (1, 2)) -> es.View:
    """What a function changes in place."""
    if isinstance(source, list | tuple):
        raise es.ViewError(f"{what} is a {type(source).__name__}; expected a View or an array.")
    view = operand(source, what, None, ranks)
    nowhere: Any = None  # for nothing is made
    return result(view, what, view.shape, nowhere, nowhere, view)


def check_shape(view: es.View, what: str, shape: tuple[int, ...], whose: str) -> None:
    """Raise ViewError for a View of another shape."""
    if view.shape != shape:
        raise es.ViewError(
            f"{what}: View '{view.label}' has shape {view.shape}; expected {shape}, {whose}."
        )


def check_numbers(what: str, *views: es.View) -> None:
    """Raise ViewError for records."""
    for view in views:
        if is_record(view.dtype):
            raise es.ViewError(
                f"{what}: View '{view.label}' is of records {view.dtype.type.__name__}; expected "
                f"numbers."
            )


def check_square(A: es.View, what: str) -> None:
    """Raise MatrixError for a matrix that is not square."""
    if A.shape[0] != A.shape[1]:
        raise MatrixError(f"{what}: A is of {A.shape[0]} x {A.shape[1]}; expected a square matrix.")


def factor(value: Any, what: str, columns: tuple[int, ...]) -> Factor:
    """A factor of a vector, for which `columns` is (), or of so many columns."""
    if isinstance(value, int | float | complex | np.number):
        number = number_of(value, what)
        weak = not isinstance(number, np.number)
        return Factor(number, "number", None if weak else number.dtype)
    if isinstance(value, list | tuple) or not _is_array(value):
        raise MatrixError(f"{what}={value!r}; expected a number, or a View of numbers.")
    view = as_view(value, what)
    if kind_of(view.dtype) not in "iufc":
        raise es.ViewError(f"{what}: View '{view.label}' is of {view.dtype}; expected numbers.")
    if view.shape == ():
        return Factor(view, "one", view.dtype)
    if columns and view.shape == columns:
        return Factor(view, "each", view.dtype)
    more = f" or {columns}, one for each column" if columns else ""
    raise es.ViewError(f"{what}: View '{view.label}' has shape {view.shape}; expected (){more}.")


def _is_array(value: Any) -> bool:
    return isinstance(value, es.View) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def views_of(*used: es.View | Factor | None) -> tuple[es.View, ...]:
    """The Views among operands and factors: what the space of a launch depends on."""
    values = (one.value if isinstance(one, Factor) else one for one in used)
    return tuple(value for value in values if isinstance(value, es.View))


# -- types ----------------------------------------------------------------------------------------


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's kind, "f" of storage types as bfloat16, "r" of records with operators."""
    if is_record(dtype):
        return "r"
    if (
        dtype.kind == "V"
        and dtype.fields is None
        and dtype.subdtype is None
        and dtype.names is None
    ):
        return "f" if dtype.type is not np.void else "V"
    return dtype.kind


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether it is one of the floats that NumPy computes with, real or complex; some storage types
    have their kind, too."""
    return issubclass(dtype.type, np.inexact)


def product_dtype(a: np.dtype[Any], b: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype of products of elements."""
    return _without_surprise(a, b, dtype_of_product(a, b, what), what)


def sum_dtype(a: np.dtype[Any], b: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype of sums of elements."""
    return _without_surprise(a, b, dtype_of_sum(a, b, what), what)


def _without_surprise(
    a: np.dtype[Any], b: np.dtype[Any], found: np.dtype[Any], what: str
) -> np.dtype[Any]:
    """The dtype; ViewError for integers that have none in common but floats."""
    if found.kind == "f" and a.kind in "iu" and b.kind in "iu":
        raise es.ViewError(
            f"{what}: elements are of {a} and {b}, which no integer type holds both; convert one "
            f"of them, for example by astype(numpy.int64)."
        )
    return found


def scaled_dtype(factor: Factor, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of multiples of elements; MatrixError for integers that it does not hold."""
    if is_record(dtype):
        return dtype
    if factor.dtype is None and isinstance(factor.value, int) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= factor.value <= limits.max:
            raise MatrixError(
                f"the factor {factor.value} does not fit elements of {dtype}, from {limits.min} "
                f"to {limits.max}; give it as a number of NumPy, such as "
                f"numpy.int64({factor.value})."
            )
    if factor.dtype is not None:
        return np.result_type(factor.dtype, dtype)
    order = "iufc"
    kind = {int: "i", float: "f", complex: "c"}[type(factor.value)]
    if order.index(kind_of(dtype)) >= order.index(kind):
        return dtype
    if kind == "c":
        return np.result_type(dtype, np.complex64)
    return np.dtype(np.float64) if kind == "f" else dtype


def wide_dtype(dtype: np.dtype[Any], space: es.ExecutionSpace) -> np.dtype[Any]:
    """What sums of such elements are computed in: 64 bits, double precision where a space has it;
    records as they are."""
    kind = kind_of(dtype)
    if kind == "r":
        return dtype
    narrow = not space.capabilities.float64
    if kind == "c":
        return np.dtype(np.complex64 if narrow else np.complex128)
    if kind == "f":
        return np.dtype(np.float32 if narrow else np.float64)
    return np.dtype(np.uint64 if kind == "u" else np.int64)


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the real parts."""
    return np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype


def check_stores(what: str, out: es.View, dtype: np.dtype[Any]) -> None:
    """Raise ViewError where `out` cannot hold results of a dtype."""
    own, new = kind_of(out.dtype), kind_of(dtype)
    if own == "r" or new == "r":
        fits = out.dtype == dtype
        expected = name_of(dtype)
    else:
        fits = own in {"c": "c", "f": "fc"}.get(new, "iufc")
        expected = {"c": "complex numbers", "f": "real or complex floats"}.get(new, "numbers")
    if not fits:
        raise es.ViewError(
            f"{what}: View '{out.label}' is of {name_of(out.dtype)}, and the result of "
            f"{name_of(dtype)}; expected {expected}."
        )


def check_zero(dtype: np.dtype[Any]) -> None:
    """MatrixError for records without a zero."""
    if is_record(dtype):
        zero(dtype)


def shapes_of(A: es.View) -> str:
    """The class of sizes of a vector or matrix, for the table of `tune`: powers of two."""
    return "x".join(str(n.bit_length()) for n in A.shape) + f"{A.layout}{A.dtype}"


def how_of_records(what: str, kind: np.dtype[Any], alpha: Any, beta: Any) -> str | None:
    """What stores sums of records: without factors where they are 1; None of numbers."""
    if not is_record(kind):
        return None
    if alpha == 1 and beta in (0, 1):
        return "put" if beta == 0 else "more"
    check_method(what, kind, "alpha or beta", "__rmul__")
    return "set" if beta == 0 else "add"


# -- memory ---------------------------------------------------------------------------------------


def check_apart(what: str, out: es.View, **others: es.View) -> None:
    """Raise ViewError where an element of `out` may be one of what is read."""
    for name, other in others.items():
        if overlap(out, other) and not _lie_between(out, other):
            raise es.ViewError(
                f"{what} is View '{out.label}', which overlaps {name} in memory; expected Views "
                f"that do not."
            )


def check_same_or_apart(what: str, out: es.View, **others: es.View) -> None:
    """The same, but `out` may be one of the others, element for element."""
    for name, other in others.items():
        if out is not other and not is_same(out, other):
            check_apart(what, out, **{name: other})


def is_same(a: es.View, b: es.View) -> bool:
    """Whether two Views have the same elements at the same places."""
    return (a.data_ptr, a.shape, a.strides, a.dtype, a.memory_space) == (
        b.data_ptr, b.shape, b.strides, b.dtype, b.memory_space,
    )  # fmt: skip


def _lie_between(a: es.View, b: es.View) -> bool:
    """Whether elements of one lie in the gaps of the other, as columns of a matrix by rows do."""
    return any(
        _misses(a, b, outer_a, outer_b)
        for outer_a in range(1, a.rank + 1)
        for outer_b in range(1, b.rank + 1)
    )


def _misses(a: es.View, b: es.View, outer_a: int, outer_b: int) -> bool:
    """Whether pieces that repeat, of each View with so many of its largest strides, never meet."""
    (size_a, steps_a, low_a), (size_b, steps_b, low_b) = _pieces(a, outer_a), _pieces(b, outer_b)
    period = math.gcd(*steps_a, *steps_b)
    if period == 0:
        return False
    ahead = (low_b - low_a) % period
    return size_a <= ahead and ahead + size_b <= period


def _pieces(view: es.View, outer: int) -> tuple[int, list[int], int]:
    """Bytes of a piece, the steps between pieces, and where the first one begins."""
    size = view.dtype.itemsize
    extents = zip(view.strides, view.shape, strict=True)
    steps = sorted(((s * size, n) for s, n in extents if n > 1), key=lambda one: -abs(one[0]))
    low = view.data_ptr + sum(min((n - 1) * s, 0) for s, n in steps)
    inner = sum((n - 1) * abs(s) for s, n in steps[outer:])
    return inner + size, [abs(s) for s, _ in steps[:outer]], low


def product_target(
    what: str, out: Any, shape: tuple[int, ...], kind: np.dtype[Any], alpha: Any, beta: Any,
    like: es.View, space: Space, **read: es.View,
) -> tuple[es.View, es.ExecutionSpace]:  # fmt: skip
    """`out`, or a new View in the layout of another one, for products of a dtype and with factors;
    and where to compute it. Raises ViewError if `out` cannot hold it or overlaps what is read, and
    MatrixError for `beta` without it."""
    check_beta(what, out, beta)
    dtype = scaled_dtype(factor(alpha, f"{what}: alpha", ()), kind)
    used = (*read.values(),) if out is None else (*read.values(), as_view(out, f"{what}: out"))
    where = es.space_for(*used, space=space)
    target = result(out, what, shape, dtype, where, like)
    if out is not None:
        check_stores(f"{what}: out", target, dtype)
        if beta != 0:
            by = factor(beta, f"{what}: beta", ())
            check_stores(f"{what}: out", target, scaled_dtype(by, target.dtype))
        check_apart(f"{what}: out", target, **read)
    return target, where


# -- launches -------------------------------------------------------------------------------------


def runs_along(view: es.View) -> str:
    """The index, "left" or "right", along which elements lie side by side."""
    return "left" if abs(view.strides[0]) < abs(view.strides[1]) else "right"


def cells(view: es.View, space: es.ExecutionSpace) -> Any:
    """The policy for a work item for each element."""
    if view.rank == 1:
        return es.RangePolicy(view.shape[0], space=space)
    return es.MDRangePolicy(view.shape, iterate=runs_along(view), space=space)


def teams(number: int, length: int, space: es.ExecutionSpace) -> Any:
    """The policy for so many teams whose threads share ranges of a length; of one thread each where
    few run at once."""
    if space.concurrency <= MANY or not has_teams(space):
        return es.TeamPolicy(number, space=space)
    size, most = _LEAST, min(_MOST, largest_team(space))
    while 2 * size <= most and 4 * size < length:
        size *= 2
    return es.TeamPolicy(number, min(size, most), vector_length=1, space=space)
