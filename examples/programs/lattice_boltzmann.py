"""Flow between two plates by the lattice Boltzmann method: nine velocities in two dimensions.

A body force drives a fluid along x, where the channel is periodic, and plates at rest bound it in
y. The flow starts from rest and becomes Poiseuille's parabola. For one relaxation time the plates
are where they should be to all digits; it is taken here, so the parabola is met to all digits. Try:

    python examples/programs/lattice_boltzmann.py --height 48
    EXECSPACE_DEFAULT=serial python examples/programs/lattice_boltzmann.py --length 200

Method: T. Krueger et al., The Lattice Boltzmann Method, Springer, 2017: BGK collisions, halfway
bounce-back at the plates, and the force of Guo, Zheng and Shi. The exact relaxation time: X. He,
Q. Zou, L.-S. Luo and M. Dembo, J. Stat. Phys. 87 (1997) 115-136.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import execspace as es

# Velocity, weight, and the number of the opposite velocity.
D2Q9 = (
    (0, 0, 4 / 9, 0),
    (1, 0, 1 / 9, 3), (0, 1, 1 / 9, 4), (-1, 0, 1 / 9, 1), (0, -1, 1 / 9, 2),
    (1, 1, 1 / 36, 7), (-1, 1, 1 / 36, 8), (-1, -1, 1 / 36, 5), (1, -1, 1 / 36, 6),
)  # fmt: skip
TAU = 0.5 + math.sqrt(3 / 16)  # relaxation time, in steps
VISCOSITY = (TAU - 0.5) / 3
SPEED = 0.05  # of the flow halfway between the plates; sound has 0.58
SMALL = {"height": 3, "length": 2}  # for slow spaces


@es.function
def moments(f, force):
    """Density and velocity of the nine populations of a cell."""
    density = u = v = 0.0
    for q, (cx, cy, _, _) in enumerate(D2Q9):
        density += f[q]
        u += cx * f[q]
        v += cy * f[q]
    return density, (u + force / 2) / density, v / density


@es.kernel
def start(i, j, f):
    """A fluid of density 1 at rest."""
    for q, (_, _, weight, _) in enumerate(D2Q9):
        f[q, i, j] = weight


@es.kernel
def step(i, j, f, f_new, force):
    """Populations arrive at cell (i, j), and collide."""
    length, height = f.extent(1), f.extent(2)
    here = es.local(9)
    for q, (cx, cy, _, opposite) in enumerate(D2Q9):
        if 0 <= j - cy < height:
            here[q] = f[q, (i - cx) % length, j - cy]
        else:
            here[q] = f[opposite, i, j]  # what went to a plate comes back

    density, u, v = moments(here, force)
    for q, (cx, cy, weight, _) in enumerate(D2Q9):
        along = 3 * (cx * u + cy * v)
        rest = density * weight * (1 + along + along * along / 2 - 1.5 * (u * u + v * v))
        push = (1 - 0.5 / TAU) * weight * 3 * force * (cx - u + cx * along)
        f_new[q, i, j] = here[q] + (rest - here[q]) / TAU + push


@es.kernel
def observe(i, j, f, force, u):
    """The velocity along the channel for the host, and the density of a cell."""
    density, u[i, j], _ = moments(f[:, i, j], -force)  # these have collided: half a push too far
    return density


def run(height: int = 16, length: int = 32) -> dict[str, float]:
    """Let a channel of `length` by `height` cells come to a steady flow, and check the profile."""
    cells = es.MDRangePolicy((length, height))
    f, f_new = (es.empty((9, length, height), label=name) for name in ("f", "f_new"))
    force = 8 * VISCOSITY * SPEED / height**2
    es.parallel_for(cells, start, f)

    # What the steady flow still lacks decays as exp(-viscosity (pi / height)^2 t), here to 1e-10.
    steps = math.ceil(math.log(1e10) * (height / math.pi) ** 2 / VISCOSITY)
    for _ in range(steps):
        es.parallel_for(cells, step, f, f_new, force)
        f, f_new = f_new, f

    u = np.empty((length, height))
    mass = es.parallel_reduce(cells, observe, f, force, es.Out(u))
    y = np.arange(height) + 0.5  # centres of cells; the plates are at 0 and at `height`
    parabola = 4 * SPEED * y * (height - y) / height**2
    error = float(abs(u - parabola).max() / SPEED)
    gain = mass / (length * height) - 1
    # Each step rounds the density of a cell in its last digits, some 1e-16. In the steady flow such
    # errors do not add up, so the profile has 1e-10 left from the start; those of the mass may.
    assert error < 1e-9, f"the profile is off by {error} of the greatest velocity"
    assert abs(gain) < 1e-15 * steps, f"the mass has grown by {gain}"
    return {"steps": steps, "error": error, "gain": gain}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Flow between two plates, by lattice Boltzmann.")
    parser.add_argument("--height", type=int, default=16, help="cells between the plates")
    parser.add_argument("--length", type=int, default=32, help="cells along the plates")
    found = run(**vars(parser.parse_args()))
    print(f"{found['steps']} steps on {es.default_space().name}")
    print(f"greatest difference to Poiseuille's parabola: {found['error']:.1e} of its height")
    print(f"gain of mass: {found['gain']:.1e}")
