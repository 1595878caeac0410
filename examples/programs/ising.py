"""The two-dimensional Ising model in its ordered phase, by the Metropolis algorithm.

Spins on a periodic square lattice are 1 or -1, and each pair of neighbours s, t has the energy
-s t. A spin is flipped with probability min(1, exp(-change of energy / temperature)) (Metropolis et
al., J. Chem. Phys. 21, 1953). On a checkerboard no two fields of a colour are neighbours, so all
spins of one colour change at once. Mean energy and magnetisation are compared with those of an
infinite lattice (Onsager, Phys. Rev. 65, 1944; Yang, Phys. Rev. 85, 1952).

    python examples/programs/ising.py --size 256 --temperature 1.8
"""

import argparse
import math

import numpy as np

import execspace as es

SMALL = {"size": 12, "warmup": 5, "sweeps": 5}
TOTALS = np.dtype([("bonds", np.int64), ("spins", np.int64)])


@es.kernel
def flip(i, k, spins, accept, colour, seed, sweep):
    """Flip, or not, the spin on the k-th field of a colour in row i."""
    n = spins.extent(0)
    j = 2 * k + (i + colour) % 2
    around = spins[(i + 1) % n, j] + spins[(i - 1) % n, j]
    around += spins[i, (j + 1) % n] + spins[i, (j - 1) % n]
    agreement = spins[i, j] * around  # -4, -2, 0, 2 or 4
    if es.random_uniform(seed, i * n + j, sweep) < accept[agreement // 2 + 2]:
        spins[i, j] = -spins[i, j]


@es.kernel
def totals(i, j, spins):
    """Products of a spin with its neighbours to the right and below, and the spin itself."""
    n, s = spins.extent(0), spins[i, j]
    return s * (spins[(i + 1) % n, j] + spins[i, (j + 1) % n]), s


def infinite_lattice(temperature: float) -> tuple[float, float]:
    """Energy and magnetisation per spin, below the critical temperature."""
    x = 2 / temperature
    q = 2 * math.tanh(x) ** 2 - 1  # k' of the elliptic integral K(k) = pi / (2 agm(1, k'))
    a, b = 1.0, q
    while a - b > 1e-15:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return -(1 + q / a) / math.tanh(x), (1 - math.sinh(x) ** -4) ** (1 / 8)


def sweep_of_numpy(spins: np.ndarray, random: np.ndarray, accept: np.ndarray) -> np.ndarray:
    """The spins after a sweep in which each of them draws a random number."""
    board = np.indices(spins.shape).sum(axis=0) % 2
    for colour in (0, 1):
        around = sum(np.roll(spins, by, axis) for axis in (0, 1) for by in (-1, 1))
        flips = (board == colour) & (random < accept[spins * around // 2 + 2])
        spins = np.where(flips, -spins, spins)
    return spins


def run(
    size: int = 128, temperature: float = 2.0, warmup: int = 100, sweeps: int = 300, seed: int = 1
) -> dict[str, float]:
    """Start from `size` by `size` spins of 1, and measure after each sweep but the first ones."""
    assert size % 2 == 0, "the two colours must alternate around the lattice"
    assert temperature <= 2.1, "closer to the critical one, 2.269, averages converge slowly"
    spins = es.ones((size, size), es.int8, label="spins")
    history = es.zeros(sweeps, TOTALS, label="history")
    # The probabilities are a table from NumPy, since exp differs between spaces in its last digit.
    accept = es.array(np.exp(-2 * np.arange(-4, 5, 2) / temperature), label="accept")

    half, board = es.MDRangePolicy((size, size // 2)), es.MDRangePolicy((size, size))
    for sweep in range(warmup + sweeps):
        for colour in (0, 1):
            es.parallel_for(half, flip, spins, accept, colour, seed, sweep)
        if sweep >= warmup:  # the totals stay where the spins are, so nothing waits for them
            now = es.subview(history, sweep - warmup)
            es.parallel_reduce(board, totals, spins, reducer=(es.Sum, es.Sum), out=now)

    s, found = spins.to_numpy().astype(int), history.to_numpy()
    assert found["spins"][-1] == s.sum()
    assert found["bonds"][-1] == (s * np.roll(s, -1, 0)).sum() + (s * np.roll(s, -1, 1)).sum()

    # One more sweep, and the same of NumPy: element i, j of `random` is what flip draws there.
    random = es.empty((size, size), label="random")
    es.fill_random(random, seed, draw=warmup + sweeps)
    for colour in (0, 1):
        es.parallel_for(half, flip, spins, accept, colour, seed, warmup + sweeps)
    assert np.array_equal(spins.to_numpy(), sweep_of_numpy(s, random.to_numpy(), accept.to_numpy()))

    energy, magnetisation = -found["bonds"].mean() / s.size, found["spins"].mean() / s.size
    exact_energy, exact_magnetisation = infinite_lattice(temperature)
    # Up to temperature 2.1 the values of single sweeps scatter by some 2 / size, and no more than
    # 10 sweeps in a row are alike. The bound is five times the standard deviation of such a mean.
    bound = 5 * 2 / size * math.sqrt(10 / sweeps)
    assert abs(energy - exact_energy) < bound, (energy, exact_energy)
    assert abs(magnetisation - exact_magnetisation) < bound, (magnetisation, exact_magnetisation)
    return {
        "energy": float(energy),
        "energy of an infinite lattice": exact_energy,
        "magnetisation": float(magnetisation),
        "magnetisation of an infinite lattice": exact_magnetisation,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128, help="spins along each side, even")
    parser.add_argument("--temperature", type=float, default=2.0, help="at most 2.1")
    parser.add_argument("--warmup", type=int, default=100, help="sweeps before those")
    parser.add_argument("--sweeps", type=int, default=300, help="sweeps that are measured")
    options = parser.parse_args()
    for name, value in run(**vars(options)).items():
        print(f"{name:<36} {value:9.5f}")
