"""The pion: its correlator between a point and all of a time slice, and its effective mass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from wilson import Wilson


def pion_correlator(
    matrix: Wilson, *, rtol: float = 1e-8, inner: Wilson | None = None, together: bool = False,
    progress: Callable[[int, float], None] | None = None,
) -> np.ndarray:  # fmt: skip
    """The sum of |G(x, 0)|^2 over time slices, of quark propagators from the origin.

    Parameters
    ----------
    matrix, inner : Wilson
        As of `Wilson.solve`.
    together : bool
        Solve for the twelve sources at once, without lanes and `inner`: a product with D reads
        links once for all. It takes the memory of twelve solutions.
    progress : callable, optional
        `progress(source, iteration)`; sources are the twelve spins and colours, and of all at once
        the last one.

    Returns
    -------
    array, shape (t,), float64
    """
    lattice = matrix.lattice
    eta = np.zeros((12, *lattice.shape[::-1], 4, 3), np.complex128)
    for source in range(12):
        eta[source, 0, 0, 0, 0, source // 3, source % 3] = 1
    found = np.zeros(lattice.nt)
    for source in (11,) if together else range(12):

        def tell(iteration: int, _norm: float, source: int = source) -> None:
            if progress is not None:
                progress(source, iteration)

        right = eta if together else eta[source]
        psi, solution = matrix.solve(right, rtol=rtol, inner=inner, progress=tell)
        if not np.all(solution.converged):
            first, last = (float(np.max(solution.history[n])) for n in (0, -1))
            raise RuntimeError(
                f"{'one of twelve sources' if together else f'source {source}'}: not converged "
                f"after {len(solution.history) - 1} iterations, residual {last:.2g} of {first:.2g}"
            )
        found += (
            (np.abs(psi) ** 2)
            .reshape(-1, lattice.nt, lattice.volume // lattice.nt, 12)
            .sum(axis=(0, 2, 3))
        )
    return found


def effective_mass(correlator: np.ndarray) -> np.ndarray:
    """Masses m(t) for t = 1 to T/2 - 1, from cosh m = (C(t - 1) + C(t + 1)) / (2 C(t)); nan where
    there is none."""
    middle = len(correlator) // 2
    t = np.arange(1, middle)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.arccosh((correlator[t - 1] + correlator[t + 1]) / (2 * correlator[t]))


def free_pole_mass(kappa: float) -> float:
    """The mass of a free quark at rest: exp(m) = 1 + 1 / (2 kappa) - 4."""
    return float(np.log(1 + 1 / (2 * kappa) - 4))


def plot(path: str | Path, correlator: np.ndarray, title: str) -> None:
    """Draw the correlator and the effective mass, by matplotlib."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogy(np.arange(len(correlator)), correlator, "o-", color="tab:blue")
    left.set(xlabel="t", ylabel="C(t)", title="pion correlator")
    masses = effective_mass(correlator)
    right.plot(np.arange(1, len(masses) + 1), masses, "o-", color="tab:red")
    right.set(xlabel="t", ylabel="m(t)", title="effective mass")
    figure.suptitle(title)
    figure.savefig(path, dpi=130)
