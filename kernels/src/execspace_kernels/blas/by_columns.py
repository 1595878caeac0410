"""Matrices as libraries of BLAS take them: elements of a column side by side.

What lies by rows is the transpose of such a matrix; so products are transposed where their result
lies by rows, and modes, sides and triangles turn. Each function returns the arguments that a
vendor's routine gets, or in a str why there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from ..vendors import chosen_vendor

__all__ = [
    "chosen_library",
    "outer_product",
    "product",
    "product_with_vector",
    "triangle",
    "triangle_and_vectors",
    "update",
]

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))

_TRANSPOSED = {"N": "T", "T": "N", "C": "H", "H": "C"}
_OTHER = {"L": "R", "R": "L"}
_TURNED = {"L": "U", "U": "L"}


def chosen_library(
    what: str, wish: bool | None, space: es.ExecutionSpace, shapes: Callable[[], str],
    forms: tuple[Any, ...] | str, *more: Any, algorithm: str = "auto",
) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
    """The library whose routine is to be taken, None for ours, and the arguments of that: what a
    function of this module returned, and `more`, of which the first number is alpha."""
    unfit = forms if isinstance(forms, str) else _unfit(forms, more)
    args = () if unfit else (*forms, *more)
    library = chosen_vendor(what, wish, space, shapes, *args, algorithm=algorithm, unfit=unfit)
    return library, args


def _unfit(forms: tuple[Any, ...], more: tuple[Any, ...]) -> str | None:
    """Why no library takes such matrices and factors."""
    views = [form for form in forms if isinstance(form, es.View)]
    for view in views:
        if view.dtype not in _VALUES:
            return f"numbers are of {view.dtype}; expected float32, float64 or complex ones"
        if view.dtype != views[0].dtype:
            return f"numbers are of {views[0].dtype} and {view.dtype}; expected one type"
        if not view.size:
            return "there are no elements"
    numbers = [one for one in more if not isinstance(one, bool)]
    if numbers and numbers[0] == 0:
        return "alpha is 0, for which it does not look at the matrix"
    if views[0].dtype.kind != "c" and any(map(np.iscomplexobj, numbers)):
        return "a factor is complex"
    return None


def product(
    A: es.View, mode_a: str, B: es.View, mode_b: str, C: es.View
) -> tuple[Any, ...] | str:  # fmt: skip
    """A, mode_a, B, mode_b and C of C = op(A) op(B)."""
    names = "AB"
    if not _is_by_columns(C):
        A, mode_a, B, mode_b, C = B, _TRANSPOSED[mode_b], A, _TRANSPOSED[mode_a], C.T
        names = "BA"
    left, right = _operand(A, mode_a, names[0]), _operand(B, mode_b, names[1])
    if isinstance(left, str):
        return left
    if isinstance(right, str):
        return right
    return (*left, *right, C) if _is_by_columns(C) else _gaps("C", C)


def outer_product(what: str, x: es.View, y: es.View, A: es.View) -> tuple[Any, ...] | str:
    """x, y and A of A = A + x y^T, or with "gerc" x y^H."""
    if not _is_by_columns(A):
        if what == "gerc" and A.dtype.kind == "c":
            return "the other vector would be conjugated"
        x, y, A = y, x, A.T
    return (x, y, A) if _is_by_columns(A) else _gaps("A", A)


def product_with_vector(
    A: es.View, mode: str, x: es.View, y: es.View
) -> tuple[Any, ...] | str:  # fmt: skip
    """A, mode, x and y of y = op(A) x."""
    found = _operand(A, mode, "A")
    return found if isinstance(found, str) else (*found, x, y)


def triangle_and_vectors(
    A: es.View, uplo: str, mode: str, x: es.View, out: es.View
) -> tuple[Any, ...] | str:  # fmt: skip
    """A, uplo, mode, x and out of out = op(A) x, or op(A) out = x."""
    found = _operand(A, mode, "A")
    if isinstance(found, str):
        return found
    return found[0], uplo if found[0] is A else _TURNED[uplo], found[1], x, out


def triangle(
    A: es.View, side: str, uplo: str, mode: str, B: es.View
) -> tuple[Any, ...] | str:  # fmt: skip
    """A, side, uplo, mode and B of B = op(A) B, or B op(A)."""
    if not _is_by_columns(B):
        side, mode, B = _OTHER[side], _TRANSPOSED[mode], B.T
    found = _operand(A, mode, "A")
    if isinstance(found, str):
        return found
    if found[0] is not A:
        uplo = _TURNED[uplo]
    return (found[0], side, uplo, found[1], B) if _is_by_columns(B) else _gaps("B", B)


def update(
    A: es.View, mode: str, C: es.View, uplo: str, is_hermitian: bool
) -> tuple[Any, ...] | str:  # fmt: skip
    """A, mode, C and uplo of a triangle of C = op(A) op(A)^T, or op(A) op(A)^H."""
    is_turned, is_flipped = not _is_by_columns(C), not _is_by_columns(A)
    if is_turned:
        C, uplo = C.T, _TURNED[uplo]
    if is_flipped:
        A, mode = A.T, ("H" if is_hermitian else "T") if mode == "N" else "N"
    for name, view in (("C", C), ("A", A)):
        if not _is_by_columns(view):
            return _gaps(name, view)
    if is_hermitian and A.dtype.kind == "c" and is_turned != is_flipped:
        return "one of A and C lies by rows, and the other one by columns"
    return A, mode, C, uplo


def _operand(A: es.View, mode: str, name: str) -> tuple[es.View, str] | str:
    if not _is_by_columns(A):
        if not _is_by_columns(A.T):
            return _gaps(name, A)
        A, mode = A.T, _TRANSPOSED[mode]
    if mode == "C":
        if A.dtype.kind == "c":
            return f"{name} would be conjugated and not transposed, which it does not do"
        mode = "N"
    return A, mode


def _is_by_columns(A: es.View) -> bool:
    m, n = A.shape
    if not A.size:
        return True
    return (m <= 1 or A.strides[0] == 1) and (n <= 1 or A.strides[1] >= m)


def _gaps(name: str, A: es.View) -> str:
    return f"{name} has strides {A.strides}; expected neighbours in columns or in rows"
