"""Oscillations of a plasma in one dimension, by the particle-in-cell method.

Electrons move in the electric field of their own charge and of ions at rest. Each step shares the
charge of each electron out to the two nearest grid points, sums the charges up to a field, and
moves the electrons by the leap-frog method in the field between the same two points (C. K. Birdsall
and A. B. Langdon, Plasma Physics via Computer Simulation, 1985, chapters 2 to 4). Lengths are in
cells, times in 1 / plasma frequency. The frequency is compared with theory for this very method.

    python examples/programs/particle_in_cell.py --particles 1000000
"""

from __future__ import annotations

import argparse
import math

import execspace as es

SMALL = {"particles": 64, "cells": 8, "steps": 40}

DISPLACEMENT = 0.01  # of electrons at the begin, in cells


@es.function
def neighbours(x, cells):
    """The grid points on the left and on the right, and the share of the latter."""
    k = int(x)
    return k % cells, (k + 1) % cells, x - k


@es.kernel
def place(p, x, cells):
    """Spread electrons evenly, and displace them by a sine wave."""
    even = (p + 0.5) * cells / len(x)
    x[p] = (even + DISPLACEMENT * math.sin(math.tau * even / cells + 1)) % cells  # no symmetry


@es.kernel
def deposit(p, x, charge):
    """Share out the charge of an electron, so that those of all make -1 for each cell."""
    cells = charge.extent(0)
    left, right, share = neighbours(x[p], cells)
    charge[left] -= (1 - share) * cells / len(x)
    charge[right] -= share * cells / len(x)


@es.kernel
def integrate(k, prefix, final, charge, between):
    """The field between points k and k + 1, up to a constant, from dE/dx = charge (Gauss)."""
    if final:
        between[k] = prefix + charge[k]
    return charge[k]


@es.kernel
def value(k, a):
    """Add up a View."""
    return a[k]


@es.kernel
def centre(k, between, total, field):
    """The field at point k, where the mean of all is zero."""
    cells = between.extent(0)
    before = between[(k + cells - 1) % cells]
    field[k] = (before + between[k]) / 2 - total[()] / cells


@es.kernel
def wave(k, field):
    """The share of the longest wave in the field."""
    return field[k] * math.sin(math.tau * k / field.extent(0))


@es.kernel
def push(p, x, v, field, dt):
    """Accelerate an electron, and move it."""
    cells = field.extent(0)
    left, right, share = neighbours(x[p], cells)
    v[p] -= dt * ((1 - share) * field[left] + share * field[right])
    x[p] = (x[p] + dt * v[p]) % cells


def run(
    particles: int = 20_000, cells: int = 64, steps: int = 300, dt: float = 0.1
) -> dict[str, float]:
    """Follow the plasma for so many steps, and measure its frequency and what it conserves."""
    x, v = es.empty(particles, label="x"), es.zeros(particles, label="v")
    charge, between, field = (es.empty(cells, label=a) for a in ("charge", "between", "field"))
    scatter = es.ScatterView(charge)
    net, total = es.zeros((), label="net"), es.zeros((), label="total")
    history = es.zeros(steps, label="history")

    es.parallel_for(particles, place, x, cells)
    for step in range(steps):  # all results stay where the kernels are, so nothing waits for them
        charge.fill(1)  # the ions
        scatter.reset()
        es.parallel_for(particles, deposit, x, scatter.access())
        scatter.contribute(charge)
        es.parallel_scan(cells, integrate, charge, between, out=net)
        es.parallel_reduce(cells, value, between, out=total)
        es.parallel_for(cells, centre, between, total, field)
        es.parallel_reduce(cells, wave, field, out=es.subview(history, step))
        es.parallel_for(particles, push, x, v, field, dt)

    h = history.to_numpy()  # a cosine, for which h[n - 1] + h[n + 1] = 2 cos(frequency dt) h[n]
    frequency = math.acos(h[1:-1] @ (h[:-2] + h[2:]) / (2 * h[1:-1] @ h[1:-1])) / dt
    # The time step and the grid change the plasma frequency from 1 to this (Birdsall and Langdon,
    # chapters 4 and 8) if electrons are many and move by little. With 8 to 500 cells, 8 to 1000
    # electrons in each and up to 1000 steps, what this leaves out was found below half the bound.
    theory = 2 / dt * math.asin(dt / 2 * math.cos(math.pi / cells))
    assert abs(frequency - theory) < 1 / cells**2 + 1e-4, (frequency, theory)

    # Charges are sums of numbers below 1, of which each addition is off by at most 1.1e-16. Forces
    # cancel but for rounding errors, which are below 1e-16 per step and electron.
    excess, momentum = net.item(), es.parallel_reduce(particles, value, v)
    assert abs(excess) < 1e-15 * particles, excess
    assert abs(momentum) < 1e-16 * particles * steps, momentum
    return {"frequency": frequency, "theory": theory, "charge": excess, "momentum": momentum}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Oscillations of a plasma in one dimension.")
    parser.add_argument("--particles", type=int, default=20_000, help="electrons")
    parser.add_argument("--cells", type=int, default=64, help="grid points")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--dt", type=float, default=0.1, help="time step, in 1 / plasma frequency")
    found = run(**vars(parser.parse_args()))
    print(f"frequency {found['frequency']:.6f}, by theory {found['theory']:.6f}")
    print(f"net charge {found['charge']:.1e}, momentum {found['momentum']:.1e}")
