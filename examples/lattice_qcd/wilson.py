"""Wilson's fermion matrix, even-odd preconditioned, and its solutions.

    M psi = psi - kappa D psi = eta

couples the parities. The odd sites follow from the even ones, which solve

    (1 - kappa^2 D_eo D_oe) psi_e = eta_e + kappa D_eo eta_o

by conjugate gradients of the normal equations, or by BiCGSTAB. In double precision most of the
work is done in single: what is left of the residual is found anew, and added, whenever it has
become small ("reliable updates", Sleijpen and van der Vorst, Computing 56, 1996; with the
directions kept as by Strzodka and Goeddeke). Vectors are flat; fields are the same elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import lanes
import numpy as np
from dslash import Gauge, Spinor, joined, split
from dslash import apply as apply_sites
from dslash import gauge as gauge_of
from lattice import EVEN, ODD, Lattice

import execspace as es
from execspace_kernels import blas, solvers

Progress = Callable[[int, float], None]


class Wilson:
    """The even-odd preconditioned matrix on a space, in a layout and a precision.

    Parameters
    ----------
    lattice : Lattice
    links : array, shape (t, z, y, x, 4, 3, 3), complex
        Anti-periodic in t where `antiperiodic` was asked for.
    kappa : float
    dtype : {"float64", "float32"}
        Of real and imaginary parts.
    space : ExecutionSpace
    width : int
        Lanes of the layout of `lanes.py`; 0 for that of `dslash.py`, which GPUs want.
    rows : {3, 2}
        Of links that are stored without lanes. The third row follows from two for links in SU(3),
        so not for anti-periodic ones.
    """

    def __init__(
        self, lattice: Lattice, links: np.ndarray, kappa: float, *, dtype: Any = np.float64,
        space: es.ExecutionSpace, width: int = 0, rows: int = 3,
    ) -> None:  # fmt: skip
        self.lattice, self.kappa, self.space, self.width = lattice, kappa, space, width
        self.real = np.dtype(dtype)
        self.number = np.dtype(np.result_type(self.real, np.complex64)) if not width else self.real
        self.part = lanes.lanes_of(lattice, width) if width else lattice
        if width:
            parts = (split(lattice, links, parity) for parity in (EVEN, ODD))
            views = (lanes.view_of_lanes(p, width, self.real, space) for p in parts)
            self.gauge = Gauge(*views)
        else:
            self.gauge = gauge_of(lattice, links, self.number, space, rows)
        self.between = self.zeros()  # on odd sites, between two products

    # -- vectors: flat Views, and what they are on the lattice -----------------------------------

    def zeros(self) -> es.View:
        """A flat vector of one parity, of zeros."""
        n = self.lattice.sites * 12 * (2 if self.width else 1)
        return es.zeros(n, self.number, space=self.space)

    def vector(self, values: np.ndarray) -> es.View:
        """The flat vector of an array (sites, 4, 3)."""
        found = self.zeros()
        es.deep_copy(self.field(found, EVEN).data, self._host(values))
        return found

    def array(self, x: es.View) -> np.ndarray:
        """The array (sites, 4, 3) of a flat vector."""
        found = self.field(x, EVEN).data.to_numpy()
        return lanes.ungrouped(found) if self.width else found

    def _host(self, values: np.ndarray) -> np.ndarray:
        found = lanes.grouped(values, self.width) if self.width else values
        return np.ascontiguousarray(found.astype(self.number))

    def field(self, x: es.View, parity: int) -> Spinor:
        """A flat vector as spinors."""
        sites = self.part.sites
        if self.width:
            shape = (sites, *map(es.static, (4, 3, 2, self.width)))
            return Spinor(x.reshape(shape), self.part, parity)
        shape = (es.static(3), es.static(4), sites)
        return Spinor(x.reshape(shape).T, self.lattice, parity)

    # -- products ---------------------------------------------------------------------------------

    def dslash(
        self, x: es.View, y: es.View, parity: int, isign: int = 1, base: es.View | None = None,
        scale: float = 1.0,
    ) -> None:  # fmt: skip
        """y = D x, or base + scale D x, on the sites of a parity; asynchronous where the space
        is."""
        source, result = self.field(x, 1 - parity), self.field(y, parity)
        other = None if base is None else self.field(base, parity).data
        apply = lanes.apply if self.width else apply_sites
        apply(self.gauge, source, result, isign, base=other, scale=scale, space=self.space)

    def apply(self, x: es.View, y: es.View, isign: int = 1) -> None:
        """y = (1 - kappa^2 D_eo D_oe) x, or its adjoint times x."""
        self.dslash(x, self.between, ODD, isign)
        self.dslash(self.between, y, EVEN, isign, base=x, scale=-(self.kappa**2))

    @cached_property
    def _image(self) -> es.View:
        """On even sites, between two products of `normal`."""
        return self.zeros()

    def normal(self, x: es.View, y: es.View) -> None:
        """The adjoint of the matrix times the matrix times x."""
        self.apply(x, self._image)
        self.apply(self._image, y, -1)

    # -- solutions --------------------------------------------------------------------------------

    def solve(
        self,
        eta: np.ndarray,
        *,
        rtol: float = 1e-8,
        method: str = "cg",
        inner: Wilson | None = None,
        progress: Progress | None = None,
    ) -> tuple[np.ndarray, solvers.Solution | Mixed]:
        """psi with M psi = eta.

        Parameters
        ----------
        eta : array, shape (t, z, y, x, 4, 3), complex
        rtol : float
            Of the residual of the even sites.
        method : {"cg", "bicgstab"}
        inner : Wilson, optional
            The same matrix in float32, which then does most of the work of "cg".
        progress : callable, optional
            `progress(iteration, norm)` of the residual.

        Returns
        -------
        psi : array, of the shape of `eta`
        solution : Solution or Mixed
        """
        even, odd = (self.vector(split(self.lattice, eta, p)) for p in (EVEN, ODD))
        right = self.zeros()
        self.dslash(odd, right, EVEN, base=even, scale=self.kappa)
        if method == "bicgstab":
            solution: Any = solvers.bicgstab(
                self.apply, right, rtol=rtol, callback=progress, space=self.space
            )
            x = solution.x
        else:
            normal = self.zeros()
            self.apply(right, normal, -1)
            if inner is None:
                solution = solvers.cg(
                    self.normal, normal, rtol=rtol, callback=progress, space=self.space
                )
            else:
                solution = reliable_cg(self, inner, normal, rtol, progress)
            x = solution.x
        last = self.zeros()
        self.dslash(x, last, ODD, base=odd, scale=self.kappa)
        return joined(self.lattice, self.array(x), self.array(last)), solution


@dataclass(frozen=True)
class Mixed:
    """What `reliable_cg` found: `x`, the norms of residuals, and how often they were found anew."""

    x: es.View
    history: list[float]
    updates: int
    converged: bool

    @property
    def iterations(self) -> int:
        """Products with the matrix of the normal equations in single precision."""
        return len(self.history) - 1


def reliable_cg(
    outer: Wilson, inner: Wilson, b: es.View, rtol: float, progress: Progress | None = None,
    *, drop: float = 0.1, most: int = 10_000,
) -> Mixed:  # fmt: skip
    """Conjugate gradients of the normal equations in the precision of `inner`.

    When the residual has become `drop` times the largest one since the last update, what was found
    is added to x in the precision of `outer`, and the residual is b - A x again.
    """
    x, r = outer.zeros(), outer.zeros()
    es.deep_copy(r, b)
    small, p, q, step = (inner.zeros() for _ in range(4))
    es.deep_copy(small, r)
    es.deep_copy(p, small)
    norm = wanted = float(np.sqrt(_square(r)))
    wanted *= rtol
    history, updates, largest = [norm], 0, norm
    rho = _square(small)
    while history[-1] > wanted and len(history) <= most:
        inner.normal(p, q)
        alpha = rho / float(blas.dot(p, q).real)
        blas.axpy(inner.number.type(alpha), p, step)
        blas.axpy(inner.number.type(-alpha), q, small)
        old, rho = rho, _square(small)
        norm = float(np.sqrt(rho))
        largest = max(largest, norm)
        if norm < drop * largest or norm <= wanted:
            _add(x, step)
            step.fill(0)
            outer.normal(x, r)
            blas.axpby(1, b, -1, r)
            es.deep_copy(small, r)
            rho, updates = _square(r), updates + 1
            norm = largest = float(np.sqrt(rho))
        history.append(norm)
        if progress is not None:
            progress(len(history) - 1, norm)
        # The direction is kept, also where the residual is another one now.
        blas.axpby(1, small, inner.number.type(rho / old), p)
    return Mixed(x, history, updates, history[-1] <= wanted)


def _square(x: es.View) -> float:
    return float(blas.dot(x, x).real)


def _add(x: es.View, step: es.View) -> None:
    wide = es.zeros(x.shape, x.dtype, space=x.space)
    es.deep_copy(wide, step)
    blas.axpy(1, wide, x)


def antiperiodic(links: np.ndarray) -> np.ndarray:
    """Links for fermions that change their sign around the lattice in t."""
    found = links.copy()
    found[-1, ..., 3, :, :] *= -1
    return found


def gamma5(psi: np.ndarray) -> np.ndarray:
    """gamma_5 psi: the first two spins as they are, the others with a minus."""
    return psi * np.array([1, 1, -1, -1])[:, None]
