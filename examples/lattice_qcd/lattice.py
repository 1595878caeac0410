"""The lattice: sites of two parities, their numbers, and their neighbours.

Sites with an even and with an odd sum of coordinates are kept apart, as even-odd preconditioning
wants. Within a parity site (x, y, z, t) has the number ((t Z + z) Y + y) X/2 + x // 2, so the
extent in x must be even, and the others, too, for the ends of the lattice to meet. Kernels call
the methods of the lattice that they are given: one computes neighbours, another has a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

EVEN, ODD = 0, 1


@es.function
def moved(x, n, step):
    """A coordinate one step on, around the lattice."""
    if step == 1:
        return 0 if x + 1 == n else x + 1
    return n - 1 if x == 0 else x - 1


@dataclass(frozen=True)
class Lattice:
    """Extents of a periodic lattice, as numbers that kernels know.

    Parameters
    ----------
    nx, ny, nz, nt : int
        Even numbers of at least 2.
    """

    nx: int
    ny: int
    nz: int
    nt: int

    def __post_init__(self) -> None:
        if any(n < 2 or n % 2 for n in self.shape):
            raise ValueError(f"extents {self.shape} of a lattice: expected even numbers >= 2")

    # -- for kernels ------------------------------------------------------------------------------

    def number(self, xh, y, z, t):
        """The number of a site within its parity; its x is 2 xh or one more."""
        return ((t * self.nz + z) * self.ny + y) * (self.nx // 2) + xh

    def neighbour(self, xh, y, z, t, parity, mu, step):
        """The number of the site one step, +1 or -1, in direction mu from one of a parity."""
        if mu == 0:
            half = self.nx // 2
            odd = (y + z + t + parity) & 1  # x is 2 xh + odd
            if step == 1 and odd == 1:
                xh = 0 if xh + 1 == half else xh + 1
            if step == -1 and odd == 0:
                xh = half - 1 if xh == 0 else xh - 1
        if mu == 1:
            y = moved(y, self.ny, step)
        if mu == 2:
            z = moved(z, self.nz, step)
        if mu == 3:
            t = moved(t, self.nt, step)
        return self.number(xh, y, z, t)

    # -- for the host -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Extents in x, y, z, t."""
        return self.nx, self.ny, self.nz, self.nt

    @property
    def sites(self) -> int:
        """Sites of one parity."""
        return self.nx * self.ny * self.nz * self.nt // 2

    @property
    def volume(self) -> int:
        """Sites of both."""
        return 2 * self.sites

    def numbers(self) -> np.ndarray:
        """The number of each site within its parity, of shape (t, z, y, x)."""
        t, z, y, x = np.indices(self.shape[::-1])
        return ((t * self.nz + z) * self.ny + y) * (self.nx // 2) + x // 2

    def parities(self) -> np.ndarray:
        """The parity of each site, of shape (t, z, y, x)."""
        return sum(np.indices(self.shape[::-1])) % 2


@dataclass(frozen=True)
class TabledLattice(Lattice):
    """The same with the numbers of neighbours in memory, which `tabled` makes.

    Parameters
    ----------
    even, odd : View, shape (sites, 8), int32
        Of the sites of each parity: in directions 0 to 3 one step on, then in each one back.
    """

    even: es.View
    odd: es.View

    def neighbour(self, xh, y, z, t, parity: es.static, mu, step):
        """As that of a Lattice."""
        table = self.odd if parity == 1 else self.even
        return table[self.number(xh, y, z, t), mu if step == 1 else mu + 4]


def tabled(lattice: Lattice, space: Any) -> TabledLattice:
    """A lattice with tables of neighbours in the memory of a space."""
    numbers, parities = lattice.numbers(), lattice.parities()
    tables = []
    for parity in (EVEN, ODD):
        mine = parities == parity
        table = np.empty((lattice.sites, 8), np.int32)
        for direction in range(8):
            shift = -1 if direction < 4 else 1
            table[numbers[mine], direction] = np.roll(numbers, shift, 3 - direction % 4)[mine]
        shape = (lattice.sites, es.static(8))
        view = es.View(shape, np.int32, label="neighbours", layout="left", space=space)
        es.deep_copy(view, table)
        tables.append(view.with_traits("nontemporal"))
    return TabledLattice(*lattice.shape, *tables)
