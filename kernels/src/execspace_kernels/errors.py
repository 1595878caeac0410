"""Exceptions of this package beside those of execspace."""

from __future__ import annotations

from typing import Any

import execspace as es

__all__ = ["ConvergenceError", "MatrixError"]


class MatrixError(es.ExecspaceError, ValueError):
    """What was given is no sparse matrix, or does not fit another one; the message says where."""


class ConvergenceError(es.ExecspaceError, ArithmeticError):
    """An iterative solver has not converged, and was told to raise.

    Attributes
    ----------
    solution : solvers.Solution
        What it has reached.
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution
