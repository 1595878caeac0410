r"""Wilson's matrix on a lattice that ranks share: each has a box of it, and a halo of neighbours.

    python examples/lattice_qcd/over_ranks.py
    mpirun -n 4 python examples/lattice_qcd/over_ranks.py --extents 16 16 16 16 --kappa 0.12
    mpirun -n 4 python examples/lattice_qcd/over_ranks.py --read configuration.lime
    EXECSPACE_DEFAULT=cuda mpirun -n 2 python examples/lattice_qcd/over_ranks.py \
        --extents 32 32 32 64

It solves for one source by conjugate gradients of the normal equations, even-odd preconditioned,
and says what is left of the residual. Spinors of neighbours are under way while Dslash, that of
`dslash.py`, is applied to the sites that need none. With --check the first rank repeats a Dslash
alone and compares: it is the same to the bit, however many ranks there are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import files
import numpy as np
from dslash import Gauge, Spinor, at_site
from heatbath import make_unitary
from lattice import EVEN, ODD, Lattice
from wilson import antiperiodic

import execspace as es
import execspace_comm as escomm
from execspace_kernels import solvers

EVERY = 10  # iterations between two reports
FLOPS = 4 * 1320  # of an iteration, for each site of one parity


@dataclass(frozen=True)
class Box:
    """How the sites of one parity that a rank has lie in memory, with their halo or without.

    Parameters
    ----------
    step_x, step_y, step_z, step_t : int
        What a step in each direction adds to the number of a site.
    width : int
        Of the halo that is left out of numbers, as indices count it: 0 or 1.
    shift : int
        Parity of the site of the whole lattice that is the first in y, z and t, halo included.
    """

    step_x: int
    step_y: int
    step_z: int
    step_t: int
    width: int
    shift: int

    def number(self, xh, y, z, t):
        """The number of a site within its parity; its x is 2 xh or one more."""
        at = (xh - self.width) * self.step_x + (y - self.width) * self.step_y
        return at + (z - self.width) * self.step_z + (t - self.width) * self.step_t

    def neighbour(self, xh, y, z, t, parity, mu, step):
        """The number of the site one step, +1 or -1, in direction mu: in the halo, if not here."""
        if mu == 0:
            odd = (y + z + t + self.shift + parity) & 1  # x is 2 xh + odd
            xh += odd if step == 1 else odd - 1
        if mu == 1:
            y += step
        if mu == 2:
            z += step
        if mu == 3:
            t += step
        return self.number(xh, y, z, t)


@es.kernel
def dslash_of_box(
    xh, y, z, t, gauge, source, result, base, scale, isign: es.static, adds: es.static
):  # fmt: skip
    """`result` = D `source`, or `base` + `scale` D `source`, on a site of one parity."""
    at_site(
        source.data, result.data, base, result.lattice.number(xh, y, z, t), source.lattice, gauge,
        result.parity, xh, y, z, t, scale, isign, adds,
    )  # fmt: skip


@es.kernel
def nearly_one(xh, y, z, t, noise, link, spread, last):
    """Links that differ from 1 by some noise, made unitary, and anti-periodic at the last t."""
    u = es.local((3, 3), link.dtype)
    for mu in range(4):
        for a in range(3):
            for b in range(3):
                u[a, b] = spread * noise[xh, y, z, t, 9 * mu + 3 * a + b]
            u[a, a] += 1
        make_unitary(u)
        for a in range(3):
            for b in range(3):
                link[xh, y, z, t, mu, a, b] = -u[a, b] if mu == 3 and t == last else u[a, b]


@es.kernel
def subtract_from(i, y, b):
    """y = b - y."""
    y[i] = b[i] - y[i]


@es.kernel
def square(i, x):
    """Contribution of an element to the square of the norm."""
    return x[i].real ** 2 + x[i].imag ** 2


class Shared:
    """The even-odd preconditioned matrix, of which each rank has the rows of its sites.

    Parameters
    ----------
    lattice : Lattice
        All of it.
    kappa : float
    comm : Comm
    space : ExecutionSpace
        Of this rank; those of others may be of other kinds.
    dtype : {"complex128", "complex64"}
    engine : {"auto", "mpi", "nccl"}
        Of halos.
    """

    def __init__(
        self, lattice: Lattice, kappa: float, comm: escomm.Comm, *, space: es.ExecutionSpace,
        dtype: Any = np.complex128, engine: str = "auto",
    ) -> None:  # fmt: skip
        self.lattice, self.kappa, self.comm, self.space = lattice, kappa, comm, space
        self.number = np.dtype(dtype)
        extents = lattice.nx // 2, lattice.ny, lattice.nz, lattice.nt
        self.division = d = escomm.Decomposition(extents, comm, periodic=True)
        # On hosts a site has its numbers side by side, on devices a number its sites.
        self.layout = "right" if es.HOST.reachable_from(space) else "left"
        self.links = [self._field((4, 3, 3), f"links {parity}") for parity in (EVEN, ODD)]
        self.spinors = [self._field((4, 3), f"spinors {parity}") for parity in (EVEN, ODD)]
        self.halos = [d.halo(field, reach="faces", engine=engine) for field in self.spinors]
        self.halo_of_links = d.halo(*self.links, reach="faces", engine=engine)
        shift = sum(self.links[0].origin[1:]) % 2
        self.around = Box(*self._steps(n + 2 for n in d.shape), 0, shift)
        self.inside = Box(*self._steps(d.shape), 1, shift)
        self.gauge = Gauge(*(self._sites(field.view, field.components) for field in self.links))
        self.between, self.image = self.vector(), self.vector()
        self._solver: solvers.Handle | None = None

    def _field(self, components: tuple[int, ...], label: str) -> escomm.Field:
        return self.division.field(
            self.number, halo=1, components=components, label=label, space=self.space,
            layout=self.layout,
        )  # fmt: skip

    def _steps(self, extents: Any) -> list[int]:
        """Strides of Views of these extents."""
        n = list(extents)
        if self.layout == "left":
            return [1, n[0], n[0] * n[1], n[0] * n[1] * n[2]]
        return [n[1] * n[2] * n[3], n[2] * n[3], n[3], 1]

    def _sites(self, view: es.View, components: tuple[int, ...]) -> es.View:
        """The same memory as a View of (sites, *components), whose components are static."""
        sites = view.size // int(np.prod(components))
        fixed = tuple(map(es.static, components))
        if self.layout == "right":
            return view.reshape((sites, *fixed))
        return (view.T if view.rank > 1 else view).reshape((*fixed[::-1], sites)).T

    # -- vectors and fields ------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Elements of vectors of this rank."""
        return int(np.prod(self.division.shape)) * 12

    def vector(self) -> es.View:
        """A vector of zeros with the elements of this rank's sites of one parity."""
        return es.zeros(self.rows, self.number, space=self.space)

    def spinor(self, x: es.View, parity: int) -> Spinor:
        """A vector as spinors of a parity."""
        return Spinor(self._sites(x, (4, 3)), self.inside, parity)

    def _own(self, x: es.View) -> es.View:
        """A vector as a View of the extents of the box."""
        shape = (*self.division.shape, 4, 3)
        return x.reshape(shape) if self.layout == "right" else x.reshape(shape[::-1]).T

    def set_links(self, links: np.ndarray | None) -> None:
        """Take links of rank 0, an array (t, z, y, x, direction, 3, 3); None on others."""
        for parity, field in enumerate(self.links):
            escomm.scatter_field(self._part(links, parity), field)
        self.halo_of_links.exchange()

    def warm(self, seed: int, spread: float) -> None:
        """Links that are 1 with some noise, anti-periodic in t: the same on any number of ranks."""
        noise = self._field((36,), "noise")
        for parity, field in enumerate(self.links):
            escomm.fill_random(noise, seed, distribution="normal", draw=parity)
            last = self.lattice.nt - 1 - field.origin[3]
            es.parallel_for(field.range(), nearly_one, noise.view, field.view, spread, last)
        self.halo_of_links.exchange()

    def _part(self, values: np.ndarray | None, parity: int) -> np.ndarray | None:
        """Of an array (t, z, y, x, ...) the sites of a parity, as fields have them."""
        if values is None:
            return None
        mine = self.lattice.parities() == parity
        n = self.lattice
        half = values[mine].reshape(n.nt, n.nz, n.ny, n.nx // 2, *values.shape[4:])
        return np.ascontiguousarray(np.swapaxes(half, 0, 3).swapaxes(1, 2).astype(self.number))

    def gathered(self, x: es.View) -> np.ndarray | None:
        """A vector of all ranks on rank 0, of shape (x / 2, y, z, t, 4, 3); None on others."""
        field = self.spinors[EVEN]
        es.deep_copy(field.own, self._own(x))
        return escomm.gather_field(field)

    # -- the matrix --------------------------------------------------------------------------------

    def dslash(
        self, x: es.View, y: es.View, parity: int, isign: int = 1, base: es.View | None = None,
        scale: float = 1.0,
    ) -> None:  # fmt: skip
        """y = D x, or base + scale D x, on the sites of a parity. Waits for messages."""
        field = self.spinors[1 - parity]
        es.deep_copy(field.own, self._own(x), instance=self.space)
        source = Spinor(self._sites(field.view, (4, 3)), self.around, 1 - parity)
        result = self.spinor(y, parity)
        other = result.data if base is None else self.spinor(base, parity).data
        self.halos[1 - parity].parallel_for(
            dslash_of_box, self.gauge, source, result, other, self.number.type(scale).real, isign,
            base is not None, label="dslash",
        )  # fmt: skip

    def product(self, x: es.View, y: es.View, isign: int = 1) -> None:
        """y = (1 - kappa^2 D_eo D_oe) x, or its adjoint times x."""
        self.dslash(x, self.between, ODD, isign)
        self.dslash(self.between, y, EVEN, isign, base=x, scale=-(self.kappa**2))

    # -- what solvers call: the normal equations ---------------------------------------------------

    def apply(self, x: es.View, *, out: es.View) -> None:
        """out = the adjoint of the matrix times the matrix times x."""
        self.product(x, self.image)
        self.product(self.image, out, -1)

    def join_over_ranks(self, view: es.View, reducer: Any) -> None:
        """Make the elements of a View what those of all ranks join to."""
        join = partial(self.comm.allreduce, view, view, reducer=reducer, space=self.space)
        es.library_call("join over ranks", join, space=self.space)

    is_recordable = True  # so an iteration of the solver is submitted as a graph

    def solve(
        self, eta: es.View, *, rtol: float, progress: Callable[[int, float], None] | None = None
    ) -> solvers.Solution:
        """x with (1 - kappa^2 D_eo D_oe) x = eta. Collective; blocks."""
        right = self.vector()
        self.product(eta, right, -1)
        if self._solver is None:  # which records an iteration, once
            self._solver = solvers.prepare("cg", self, right, space=self.space)
        return self._solver.solve(right, rtol=rtol, callback=progress)


def point_source(matrix: Shared) -> es.View:
    """1 for the first spin and colour of the first site of the lattice."""
    eta = matrix.vector()
    if all(n == 0 for n in matrix.division.lower) and matrix.rows:
        es.deep_copy(es.subview(matrix._own(eta), 0, 0, 0, 0, 0, 0), 1)
    return eta


def norm(matrix: Shared, x: es.View) -> float:
    """Of the elements of all ranks."""
    policy = es.RangePolicy(x.size, space=matrix.space)
    return float(np.sqrt(matrix.comm.parallel_reduce(policy, square, x)))


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--extents", type=int, nargs=4, default=(8, 8, 8, 8), metavar=("X", "Y", "Z", "T"),
        help="even numbers (8 8 8 8)")  # fmt: skip
    add("--kappa", type=float, default=0.11, help="of the quarks, anti-periodic in T (0.11)")
    add("--spread", type=float, default=0.2, help="of links about 1 (0.2)")
    add("--seed", type=int, default=1, help="of links (1)")
    add("--read", type=Path, help="links of a file in their place, NERSC's or ILDG's")
    add("--rtol", type=float, default=1e-8, help="of the residual of the normal equations (1e-8)")
    add("--space", help="execution space of this program (EXECSPACE_DEFAULT)")
    add("--engine", choices=("auto", "mpi", "nccl"), default="auto")
    add("--check", action="store_true", help="compare a Dslash with that of one rank")
    return parser.parse_args(given)


def read(path: Path) -> np.ndarray:
    """The links of a file of either format, anti-periodic in t."""
    ildg = path.suffix in (".lime", ".ildg")
    return antiperiodic((files.read_ildg if ildg else files.read_nersc)(path)[0])


def made(asked: argparse.Namespace, comm: escomm.Comm, space: es.ExecutionSpace) -> Shared:
    """The matrix that is asked for, with its links."""
    links = read(asked.read) if asked.read is not None and comm.rank == 0 else None
    extents = asked.extents
    if asked.read is not None:
        extents = comm.mpi.bcast(links.shape[3::-1] if links is not None else None)
    matrix = Shared(Lattice(*extents), asked.kappa, comm, space=space, engine=asked.engine)
    if asked.read is not None:
        matrix.set_links(links)
    else:
        matrix.warm(asked.seed, asked.spread)
    return matrix


def check(matrix: Shared, x: es.View, asked: argparse.Namespace) -> bool:
    """Whether one rank alone finds the same D x, which the first rank computes: the same bits, but
    for compilers of different spaces, which may round a product or not before it is added to."""
    alike = len(set(matrix.comm.mpi.allgather(matrix.space.name.partition(":")[0]))) == 1
    y = matrix.vector()
    matrix.dslash(x, y, ODD)
    found, whole = matrix.gathered(y), matrix.gathered(x)
    alone = matrix.comm.split(0 if matrix.comm.rank == 0 else None)
    same = True
    if alone is not None:
        one = made(asked, alone, matrix.space)
        z, image = one.vector(), one.vector()
        es.deep_copy(one._own(z), whole)
        one.dslash(z, image, ODD)
        apart = float(np.abs(one.gathered(image) - found).max())
        same = apart == 0 if alike else apart < 1e-13 * float(np.abs(found).max())
        word = "to the bit" if apart == 0 else f"up to {apart:.1e}"
        print(f"Dslash is {'' if same else 'not '}that of one rank, {word}")
    return bool(matrix.comm.mpi.bcast(same))


def main(given: Sequence[str] | None = None) -> int:
    """Solve and report; 1 if the solution is none, or the check fails."""
    asked = arguments(given)
    comm = escomm.world()
    first = comm.rank == 0
    space = es.space(asked.space) if asked.space else es.default_space()
    spaces = comm.mpi.gather(space.name)
    matrix = made(asked, comm, space)
    if first:
        listed = ", ".join(dict.fromkeys(spaces or ()))
        extents = " x ".join(map(str, matrix.lattice.shape))
        ranks = " x ".join(map(str, matrix.division.ranks))
        print(f"{extents} sites on {comm.size} ranks as {ranks} on {listed}")
        print(matrix.halos[EVEN])

    def progress(iteration: int, residual: float) -> None:
        if iteration % EVERY == 0 and sys.stdout.isatty():
            print(f"iteration {iteration:>5}: residual {residual:.3e}", end="\r", flush=True)

    eta = point_source(matrix)
    matrix.solve(eta, rtol=0.5)  # kernels are compiled before time is taken
    begin = time.perf_counter()
    solution = matrix.solve(eta, rtol=asked.rtol, progress=progress if first else None)
    seconds = (time.perf_counter() - begin) / max(1, solution.iterations)
    # What is left of the equation itself, not of the normal ones.
    image = matrix.vector()
    matrix.product(solution.x, image)
    es.parallel_for(es.RangePolicy(image.size, space=space), subtract_from, image, eta)
    left = norm(matrix, image) / norm(matrix, eta)
    if first:
        rate = FLOPS * matrix.lattice.sites / seconds / 1e9
        print(f"{solution.iterations} iterations: {solution.reason}, residual {left:.2e}")
        print(f"{seconds * 1e3:.3f} ms an iteration, {rate:.2f} Gflop/s of Dslash")
    good = bool(solution.converged and left < 100 * asked.rtol)
    if asked.check:
        good = check(matrix, solution.x, asked) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
