"""Solution: what an iterative solver has reached, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

__all__ = ["REASONS", "RUNNING", "Solution"]

# What the status of a column says; kernels compare with these numbers.
RUNNING, CONVERGED, STOPPED = 0, 1, 2
NOT_FINITE, INDEFINITE, INDEFINITE_M, LOST, STAGNANT, SINGULAR, TINY, FALSE = range(3, 11)
REASONS = {
    CONVERGED: "converged",
    STOPPED: "not converged: max_iterations reached",
    NOT_FINITE: "breakdown: a residual or a scalar is infinite or NaN",
    INDEFINITE: "breakdown: p^H A p <= 0, so the matrix is not positive definite",
    INDEFINITE_M: "breakdown: r^H M r <= 0, so the preconditioner is not positive definite",
    LOST: "breakdown: rho = 0, the residual is orthogonal to the first one",
    STAGNANT: "breakdown: omega = 0, the residual cannot be made smaller along A r",
    SINGULAR: "breakdown: the Krylov space is exhausted, so the matrix is singular",
    FALSE: "not converged: b - A x is not what the iteration made of it; the matrix is singular, "
    "or rounding has grown from a large x0, so begin again from this x",
    TINY: "breakdown: the squares of products with A underflow; multiply A by some factor",
}


@dataclass(frozen=True, repr=False, eq=False)
class Solution:
    """What a solver has reached.

    Attributes
    ----------
    x : View, shape (n,) or (n, k)
        The answer; `out` if it was given.
    converged : bool
        Whether all columns have.
    iterations : int, or array of int64 of shape (k,)
        Those after which each column was done.
    history : array of float64, shape (iterations + 1,), or (most iterations + 1, k)
        Norms of residuals, that of the initial guess first; NaN where a column was done before.
    reason : str
        Why it ended: "converged", or what went wrong; of several columns, of the first that failed.
    reasons : tuple of str
        The same for each column.
    method : str
        Such as "cg".
    tolerance : array of float64, shape (k,)
        max(rtol ||b||, atol) of each column.
    """

    x: es.View
    converged: bool
    iterations: Any
    history: npt.NDArray[np.float64]
    reason: str
    reasons: tuple[str, ...]
    method: str
    tolerance: npt.NDArray[np.float64]

    def report(self) -> str:
        """A table in plain text: each column's iterations, residuals, and why it ended."""
        norms = self.history.reshape(self.history.shape[0], -1)
        counts = np.atleast_1d(self.iterations)
        lines = [
            f"{self.method}: {self.x.shape[0]} unknowns of {self.x.dtype}, "
            f"{len(self.reasons)} right-hand side{'s' * (len(self.reasons) != 1)}",
            f"{'column':>6} {'iterations':>10} {'||r_0||':>10} {'||r||':>10} {'wanted':>10}  ended",
        ]
        for j, reason in enumerate(self.reasons):
            begin, end = norms[0, j], norms[counts[j], j]
            lines.append(
                f"{j:>6} {counts[j]:>10} {begin:>10.3e} {end:>10.3e} {self.tolerance[j]:>10.3e}"
                f"  {reason}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        counts = np.atleast_1d(self.iterations)
        most = int(counts.max(initial=0))
        return (
            f"<Solution of {self.method}, shape {self.x.shape}, {most} iterations: {self.reason}>"
        )

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the residuals over the iterations, by matplotlib (the extra "plot").

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to; without it a new figure is made.
        label : str, optional
            For the legend; the method if not given.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(layout="constrained").subplots()
        norms = self.history.reshape(self.history.shape[0], -1)
        for j in range(norms.shape[1]):
            name = label or self.method
            # Zeros have no logarithm; a column that is exact ends with its last other norm.
            shown = np.where(norms[:, j] > 0, norms[:, j], np.nan)
            ax.semilogy(shown, label=name if norms.shape[1] == 1 else f"{name}, column {j}")
        ax.set(xlabel="iteration", ylabel="norm of the residual")
        return ax
