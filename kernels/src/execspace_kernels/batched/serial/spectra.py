"""Eigenvalues and singular values of small real matrices by one thread, for use in kernels.

By Jacobi's rotations, which find small eigenvalues and singular values to full relative precision:
Golub and Van Loan, "Matrix Computations", 4th edition, 8.5 and 8.6.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..elements import zero_of
from .products import set_identity

__all__ = ["eigh", "svd"]

_SWEEPS = 30  # far more than there ever are: convergence is quadratic


@es.function
def _rotation(app: Any, aqq: Any, apq: Any) -> Any:
    """Tangent, cosine and sine of the smaller angle that makes the off-diagonal element 0."""
    theta = (aqq - app) / (2 * apq)
    root = np.sqrt(theta * theta + 1)  # infinite for large ones, of which the tangent is 0
    tangent = 1 / (theta + root) if theta >= 0 else 1 / (theta - root)
    cosine = 1 / np.sqrt(tangent * tangent + 1)
    return tangent, cosine, tangent * cosine


@es.function
def eigh(A: Any, w: Any, V: Any) -> Any:
    """A = V diag(w) V^T for a symmetric A of real numbers; eigenvalues in ascending order.

    Of A the lower triangle is read; it is overwritten. Eigenvectors are the columns of V.
    It returns 0; NaN in A gives NaN.
    """
    n = A.extent(0)
    set_identity(V)
    going = True
    sweep = 0
    while going and sweep < _SWEEPS:
        going = False
        sweep += 1
        for p in range(n):
            for q in range(p + 1, n):
                apq = zero_of(A) + A[q, p]
                # What is lost in both diagonal elements is taken for 0.
                small = abs(A[p, p]) + apq == abs(A[p, p]) and abs(A[q, q]) + apq == abs(A[q, q])
                if small:
                    A[q, p] = 0
                else:
                    going = True
                    t, c, s = _rotation(A[p, p], A[q, q], apq)
                    A[p, p] -= t * apq
                    A[q, q] += t * apq
                    A[q, p] = 0
                    for r in range(n):
                        if r != p and r != q:
                            arp = zero_of(A) + A[max(r, p), min(r, p)]
                            arq = zero_of(A) + A[max(r, q), min(r, q)]
                            A[max(r, p), min(r, p)] = c * arp - s * arq
                            A[max(r, q), min(r, q)] = s * arp + c * arq
                        vrp = zero_of(V) + V[r, p]
                        vrq = zero_of(V) + V[r, q]
                        V[r, p] = c * vrp - s * vrq
                        V[r, q] = s * vrp + c * vrq
    for p in range(n):
        w[p] = A[p, p]
    for p in range(n):
        for q in range(p + 1, n):
            if w[q] < w[p]:
                first = zero_of(w) + w[p]
                w[p] = w[q]
                w[q] = first
                for r in range(n):
                    kept = zero_of(V) + V[r, p]
                    V[r, p] = V[r, q]
                    V[r, q] = kept
    return 0


@es.function
def _complete(A: Any, p: Any) -> None:
    """Make column p one of length 1 that is orthogonal to those before."""
    m = A.extent(0)
    at = 0
    most = zero_of(A) - 1
    for i in range(m):  # the axis that is farthest from their span
        left = zero_of(A) + 1
        for q in range(p):
            left -= A[i, q] * A[i, q]
        if left > most:
            most = left
            at = i
    for i in range(m):
        A[i, p] = 1 if i == at else 0
    for _ in range(2):  # once more, for rounding
        for q in range(p):
            part = zero_of(A)
            for i in range(m):
                part += A[i, q] * A[i, p]
            for i in range(m):
                A[i, p] -= part * A[i, q]
    square = zero_of(A)
    for i in range(m):
        square += A[i, p] * A[i, p]
    for i in range(m):
        A[i, p] = A[i, p] / np.sqrt(square)


@es.function
def svd(A: Any, s: Any, V: Any) -> Any:
    """A = U diag(s) V^T for an A of real numbers with at least as many rows as columns; A is
    overwritten by U, of the same shape. Singular values are in descending order. It returns 0; NaN
    in A gives NaN.
    """
    m, n = A.extent(0), A.extent(1)
    set_identity(V)
    largest = zero_of(A)
    for i in range(m):
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
    scale = largest if largest > 0 else largest + 1
    for i in range(m):
        for j in range(n):
            A[i, j] = A[i, j] / scale
    going = True
    sweep = 0
    while going and sweep < _SWEEPS:
        going = False
        sweep += 1
        for p in range(n):
            for q in range(p + 1, n):
                app = zero_of(A)
                aqq = zero_of(A)
                apq = zero_of(A)
                for i in range(m):
                    app += A[i, p] * A[i, p]
                    aqq += A[i, q] * A[i, q]
                    apq += A[i, p] * A[i, q]
                geometric = np.sqrt(app) * np.sqrt(aqq)
                if geometric + apq / 4 != geometric:
                    going = True
                    _, cosine, sine = _rotation(app, aqq, apq)
                    for i in range(m):
                        left = zero_of(A) + A[i, p]
                        right = zero_of(A) + A[i, q]
                        A[i, p] = cosine * left - sine * right
                        A[i, q] = sine * left + cosine * right
                    for i in range(n):
                        left = zero_of(V) + V[i, p]
                        right = zero_of(V) + V[i, q]
                        V[i, p] = cosine * left - sine * right
                        V[i, q] = sine * left + cosine * right
    for p in range(n):
        square = zero_of(A)
        for i in range(m):
            square += A[i, p] * A[i, p]
        s[p] = np.sqrt(square)
    for p in range(n):
        for q in range(p + 1, n):
            if s[q] > s[p]:
                first = zero_of(s) + s[p]
                s[p] = s[q]
                s[q] = first
                for i in range(m):
                    left = zero_of(A) + A[i, p]
                    A[i, p] = A[i, q]
                    A[i, q] = left
                for i in range(n):
                    right = zero_of(V) + V[i, p]
                    V[i, p] = V[i, q]
                    V[i, q] = right
    for p in range(n):
        if s[p] > 0:
            for i in range(m):
                A[i, p] = A[i, p] / s[p]
            s[p] = s[p] * scale
        else:
            _complete(A, p)
    return 0
