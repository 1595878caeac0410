"""The lattice: sites of two parities, their numbers, and their neighbours.

Sites with an even and with an odd sum of coordinates are kept apart, as even-odd preconditioning
wants. Within a parity site (x, y, z, t) has the number ((t Z + z) Y + y) X/2 + x // 2, so the
extent in x must be even, and the others, too, for the ends of the lattice to meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import execspace as es

EVEN, ODD = 0, 1


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


@es.function
def number_of(lattice, xh, y, z, t):
    """The number of a site within its parity; its x is 2 xh or one more."""
    return ((t * lattice.nz + z) * lattice.ny + y) * (lattice.nx // 2) + xh


@es.function
def neighbour(lattice, xh, y, z, t, parity, mu, step):
    """The number of the site one step, +1 or -1, in direction mu from one of a parity."""
    if mu == 0:
        half = lattice.nx // 2
        odd = (y + z + t + parity) & 1  # x is 2 xh + odd
        if step == 1 and odd == 1:
            xh = 0 if xh + 1 == half else xh + 1
        if step == -1 and odd == 0:
            xh = half - 1 if xh == 0 else xh - 1
    if mu == 1:
        y = moved(y, lattice.ny, step)
    if mu == 2:
        z = moved(z, lattice.nz, step)
    if mu == 3:
        t = moved(t, lattice.nt, step)
    return number_of(lattice, xh, y, z, t)


@es.function
def moved(x, n, step):
    """A coordinate one step on, around the lattice."""
    if step == 1:
        return 0 if x + 1 == n else x + 1
    return n - 1 if x == 0 else x - 1
