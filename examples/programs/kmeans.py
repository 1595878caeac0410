"""K-means: the centres of clusters of points, by Lloyd's algorithm.

In turns, each point goes to the nearest centre, and each centre to the mean of its points, until no
point changes its centre (S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory
28, 1982). Neither step increases the sum of the squared distances.

    python examples/programs/kmeans.py --points 100000 --clusters 16
"""

import argparse
from itertools import pairwise

import numpy as np

import execspace as es

SMALL = {"points": 150, "clusters": 3}


@es.kernel
def scatter_around(i, j, points, clusters, spread, seed):
    """Normal numbers around one of so many points of the unit square, in turns."""
    middle = es.random_uniform(seed, i % clusters, j)
    points[i, j] = middle + spread * es.random_normal(seed, i, j)


@es.kernel
def choose(i, points, centres, nearest):
    """Find the nearest centre: returns its squared distance, and whether it was another before."""
    least, best = np.inf, 0
    for c in range(centres.extent(0)):
        dx, dy = points[i, 0] - centres[c, 0], points[i, 1] - centres[c, 1]
        if dx * dx + dy * dy < least:
            least, best = dx * dx + dy * dy, c
    changed = nearest[i] != best
    nearest[i] = best
    return least, changed


@es.kernel
def add_up(i, sums, points, nearest):
    """For each centre sums of x and of y, and the number of its points."""
    c = nearest[i]
    sums[c, 0] += points[i, 0]
    sums[c, 1] += points[i, 1]
    sums[c, 2] += 1


@es.kernel
def move(c, centres, sums):
    """To the mean; a centre without points stays where it is."""
    if sums[c, 2] > 0:
        centres[c, 0] = sums[c, 0] / sums[c, 2]
        centres[c, 1] = sums[c, 1] / sums[c, 2]


def run(
    points: int = 20_000, clusters: int = 8, spread: float = 0.07, seed: int = 1
) -> dict[str, float]:
    """Find the clusters that points were drawn from, beginning with one point of each."""
    x = es.empty((points, 2), label="points")
    es.parallel_for(es.MDRangePolicy((points, 2)), scatter_around, x, clusters, spread, seed)
    centres = x[:clusters].copy(label="centres")
    nearest = es.full(points, -1, label="nearest")
    sums = es.empty((clusters, 3), label="sums")

    objective: list[float] = []
    changed = points
    while changed:
        distance, changed = es.parallel_reduce(
            points, choose, x, centres, nearest, reducer=(es.Sum, es.Sum)
        )
        objective.append(distance)
        es.parallel_reduce(points, add_up, x, nearest, reducer=es.Sum(shape=sums.shape), out=sums)
        es.parallel_for(clusters, move, centres, sums)

    # A sum of n numbers is off by n eps / 2 times the sum of their magnitudes at most, in whatever
    # order they are added. So centres, with coordinates below 2, are those of NumPy but for last
    # digits, and points choose the same ones, unless one were as near to two of them as that.
    rounding = points * 2.0**-52
    assert all(after <= before * (1 + rounding) for before, after in pairwise(objective))
    expected_centres, expected_nearest = lloyd_of_numpy(x.to_numpy(), clusters)
    assert np.array_equal(nearest.to_numpy(), expected_nearest)
    assert np.allclose(centres.to_numpy(), expected_centres, rtol=0, atol=2 * rounding)
    return {
        "turns": float(len(objective)),
        "mean squared distance, first": objective[0] / points,
        "mean squared distance, last": objective[-1] / points,
        "least cluster": float(sums[:, 2].to_numpy().min()),
    }


def lloyd_of_numpy(x: np.ndarray, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres, and the number of the nearest one for each point."""
    centres, nearest = x[:clusters].copy(), np.full(len(x), -1)
    while True:
        distances = [((x - c) ** 2).sum(axis=1) for c in centres]
        before, nearest = nearest, np.argmin(distances, axis=0)
        if np.array_equal(before, nearest):
            return centres, nearest
        for c in np.unique(nearest):
            centres[c] = x[nearest == c].mean(axis=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--clusters", type=int, default=8)
    options = parser.parse_args()
    for name, value in run(options.points, options.clusters).items():
        print(f"{name:<30} {value:.6g}")
