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
from typing import Any

import lanes
import numpy as np
from dslash import Gauge, Spinor, joined, split
from dslash import apply as apply_sites
from dslash import gauge as gauge_of
from lattice import EVEN, ODD, Lattice, tabled

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
    table : bool
        Neighbours come from a table instead of being computed.

    Raises
    ------
    ValueError
        For links of another shape, and options that there are not or that exclude each other.
    """

    def __init__(
        self, lattice: Lattice, links: np.ndarray, kappa: float, *, dtype: Any = np.float64,
        space: es.ExecutionSpace, width: int = 0, rows: int = 3, table: bool = False,
    ) -> None:  # fmt: skip
        if links.shape != (*lattice.shape[::-1], 4, 3, 3):
            raise ValueError(
                f"links of shape {links.shape}: expected {(*lattice.shape[::-1], 4, 3, 3)}"
            )
        if np.dtype(dtype).name not in ("float32", "float64"):
            raise ValueError(f"dtype {np.dtype(dtype)}: expected float32 or float64")
        if rows not in (2, 3) or (rows == 2 and width):
            raise ValueError(
                f"{rows} rows of links in {width} lanes: expected 3, or 2 without lanes"
            )
        self.lattice, self.kappa, self.space, self.width = lattice, kappa, space, width
        self.real = np.dtype(dtype)
        self.number = np.dtype(np.result_type(self.real, np.complex64)) if not width else self.real
        self.part = lanes.lanes_of(lattice, width) if width else lattice
        if table:
            self.part = tabled(self.part, space)
        if width:
            parts = (split(lattice, links, parity) for parity in (EVEN, ODD))
            views = (lanes.view_of_lanes(p, width, self.real, space) for p in parts)
            self.gauge = Gauge(*views)
        else:
            self.gauge = gauge_of(lattice, links, self.number, space, rows)
        self._between: dict[int | None, tuple[es.View, es.View]] = {}

    # -- vectors: flat Views, and what they are on the lattice -----------------------------------

    def zeros(self, columns: int | None = None) -> es.View:
        """A flat vector of one parity, of zeros, or so many of them as columns."""
        n = self.lattice.sites * 12 * (2 if self.width else 1)
        shape = n if columns is None else (n, es.static(columns))
        return es.zeros(shape, self.number, layout="right", space=self.space)

    def vector(self, values: np.ndarray) -> es.View:
        """The flat vector of an array (sites, 4, 3), or the columns of (columns, sites, 4, 3)."""
        if values.ndim == 4 and self.width:
            raise ValueError(f"{len(values)} right-hand sides in {self.width} lanes: expected one")
        found = self.zeros(len(values) if values.ndim == 4 else None)
        es.deep_copy(self.field(found, EVEN).data, self._host(values))
        return found

    def array(self, x: es.View) -> np.ndarray:
        """The array (sites, 4, 3) of a flat vector, (columns, sites, 4, 3) of several."""
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
        if x.rank == 2:
            shape = (*shape, es.static(x.extent(1)))
        return Spinor(x.reshape(shape).T, self.part, parity)

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
        odd, _ = self._temporaries(x)
        self.dslash(x, odd, ODD, isign)
        self.dslash(odd, y, EVEN, isign, base=x, scale=-(self.kappa**2))

    def normal(self, x: es.View, y: es.View) -> None:
        """The adjoint of the matrix times the matrix times x."""
        _, image = self._temporaries(x)
        self.apply(x, image)
        self.apply(image, y, -1)

    def _temporaries(self, x: es.View) -> tuple[es.View, es.View]:
        """Vectors between two products with D, and between two with the matrix."""
        columns = None if x.rank == 1 else x.extent(1)
        if columns not in self._between:
            self._between[columns] = self.zeros(columns), self.zeros(columns)
        return self._between[columns]

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
        eta : array, shape (t, z, y, x, 4, 3) or (columns, t, z, y, x, 4, 3), complex
            Of several right-hand sides all are solved at once, for which a product reads links
            once; without `inner`.
        rtol : float
            Of the residual of the even sites for "bicgstab"; of their normal equations for "cg",
            where that of the matrix itself may be several times as large.
        method : {"cg", "bicgstab"}
        inner : Wilson, optional
            The same matrix in float32, in as many lanes, which then does most of the work of "cg".
        progress : callable, optional
            `progress(iteration, norm)` of the residual, the largest one of several.

        Returns
        -------
        psi : array, of the shape of `eta`
        solution : Solution or Mixed
        """
        several = eta.ndim == 7
        expected = (*self.lattice.shape[::-1], 4, 3)
        if eta.shape[several:] != expected:
            raise ValueError(f"eta of shape {eta.shape}: expected {expected}, or several of these")
        if method not in ("cg", "bicgstab") or (inner is not None and method != "cg"):
            raise ValueError(
                f"method {method!r}{' with inner' if inner else ''}: expected 'cg' or, without "
                f"inner, 'bicgstab'"
            )
        if inner is not None and self._form != inner._form:
            raise ValueError(
                f"inner of {inner._form}: expected the same lattice, kappa and lanes, {self._form}"
            )
        if several and inner is not None:
            raise ValueError("several right-hand sides in mixed precision: expected one")
        parts = [self._parts(eta, p) for p in (EVEN, ODD)]
        even, odd = map(self.vector, parts)
        columns = len(eta) if several else None
        right = self.zeros(columns)

        def tell(iteration: int, norms: Any) -> None:
            if progress is not None:
                progress(iteration, float(np.max(norms)))

        self.dslash(odd, right, EVEN, base=even, scale=self.kappa)
        if method == "bicgstab":
            solution: Any = solvers.bicgstab(
                self.apply, right, rtol=rtol, callback=tell, space=self.space
            )
            x = solution.x
        else:
            normal = self.zeros(columns)
            self.apply(right, normal, -1)
            if inner is None:
                solution = solvers.cg(
                    self.normal, normal, rtol=rtol, callback=tell, space=self.space
                )
            else:
                solution = reliable_cg(self, inner, normal, rtol, progress)
            x = solution.x
        last = self.zeros(columns)
        self.dslash(x, last, ODD, base=odd, scale=self.kappa)
        both = self.array(x), self.array(last)
        if not several:
            return joined(self.lattice, *both), solution
        return np.stack([joined(self.lattice, *pair) for pair in zip(*both, strict=True)]), solution

    @property
    def _form(self) -> tuple[Any, ...]:
        return self.lattice.shape, self.kappa, self.width

    def _parts(self, eta: np.ndarray, parity: int) -> np.ndarray:
        if eta.ndim == 6:
            return split(self.lattice, eta, parity)
        return np.stack([split(self.lattice, one, parity) for one in eta])


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
    if history[-1] > wanted:
        _add(x, step)  # what has been found since the last update
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
