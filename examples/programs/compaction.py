"""Stream compaction: particles that have left a box are dropped, and the others close ranks.

A scan counts, for each particle, how many before it stay: that is its new place. This is "pack" of
Blelloch, Prefix sums and their applications (CMU-CS-90-190, 1990), section 1.5; see also Harris,
Sengupta and Owens, GPU Gems 3 (2007), chapter 39. Particles are records. Run it:

    python examples/programs/compaction.py --particles 1000000 --steps 20
"""

from __future__ import annotations

import argparse

import numpy as np

import execspace as es

SMALL = {"particles": 300, "steps": 4}

PARTICLE = np.dtype([("x", es.float64, (2,)), ("v", es.float64, (2,)), ("number", es.int64)])


@es.kernel(fma=False)  # so that numbers have the same bits on every space, and in NumPy
def place_randomly(i, particles, seed):
    """Somewhere in the unit square, with a velocity of at most 1 in each direction."""
    particles[i].number = i
    for d in range(2):
        particles[i].x[d] = es.random_uniform(seed, i, d)
        particles[i].v[d] = 2 * es.random_uniform(seed, i, 2 + d) - 1


@es.kernel(fma=False)
def move(i, particles, dt):
    """One step along a straight line."""
    for d in range(2):
        particles[i].x[d] += dt * particles[i].v[d]


@es.kernel
def keep_inside(i, place, final, particles, kept):
    """Copy a particle that is in the unit square to its place among those that are."""
    x, y = particles[i].x[0], particles[i].x[1]
    stays = 0 <= x < 1 and 0 <= y < 1
    if final and stays:
        kept[place] = particles[i]
    return stays  # a bool counts as 0 or 1


def run(particles: int = 400_000, steps: int = 10, seed: int = 7) -> dict[str, float]:
    """Move particles and drop those that have left the unit square; compare with NumPy."""
    dt = 0.1
    inside = es.empty(particles, PARTICLE, label="particles")
    other = es.empty_like(inside)
    es.parallel_for(particles, place_randomly, inside, seed)
    expected = inside.to_numpy()

    left = particles
    for _ in range(steps):
        es.parallel_for(left, move, inside, dt)
        left = es.parallel_scan(left, keep_inside, inside, other)
        inside, other = other, inside

        expected["x"] += dt * expected["v"]
        stays = (expected["x"] >= 0) & (expected["x"] < 1)
        expected = expected[stays.all(axis=1)]

    # Nothing is rounded differently: places are integers, and records are moved as they are.
    assert left == len(expected)
    assert (inside[:left].to_numpy() == expected).all()
    return {"particles": particles, "left": left}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=400_000)
    parser.add_argument("--steps", type=int, default=10)
    for name, value in run(**vars(parser.parse_args())).items():
        print(f"{name}: {value}")
