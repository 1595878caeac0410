"""Particles and orbits: gravity, Lennard-Jones, SPH, integrators, records, functors.

Checked against sums over NumPy arrays, conserved quantities, and exact solutions of the discrete
equations. SOURCES.md says where the algorithms come from.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


# All pairs of bodies with softened gravity, as in GPU Gems 3, ch. 31, and Taichi's examples.
@es.kernel
def gravity(i, position, mass, softening, acceleration):
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    ax = ay = az = 0.0
    for j in range(position.extent(0)):
        dx, dy, dz = position[j, 0] - x, position[j, 1] - y, position[j, 2] - z
        r2 = dx * dx + dy * dy + dz * dz + softening**2
        weight = mass[j] * r2**-1.5
        ax += weight * dx
        ay += weight * dy
        az += weight * dz
    acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_gravity_of_all_pairs_agrees_with_numpy_and_adds_up_to_zero(space, dtype, rtol):
    rng = np.random.default_rng(1)
    position = rng.normal(size=(24, 3)).astype(dtype)
    mass = rng.uniform(1, 2, 24).astype(dtype)
    acceleration = np.zeros_like(position)
    with es.use_space(space):
        staged.parallel_for(24, gravity, position, mass, 0.1, acceleration)
    p, m = position.astype(float), mass.astype(float)
    d = p[None] - p[:, None]
    exact = np.einsum("j,ijk,ij->ik", m, d, ((d**2).sum(axis=2) + 0.01) ** -1.5)
    np.testing.assert_allclose(acceleration, exact, rtol=rtol, atol=rtol * abs(exact).max())
    force = m @ acceleration
    np.testing.assert_allclose(force, 0, atol=rtol * abs(exact).max() * 24)


# Lennard-Jones with a cut-off and nearest images, as in ExaMiniMD and numba-examples.
@es.kernel
def lennard_jones(i, x, box, cutoff, force):
    energy = 0.0
    for j in range(len(x)):
        if j == i:
            continue
        dx = x[i, 0] - x[j, 0]
        dy = x[i, 1] - x[j, 1]
        dz = x[i, 2] - x[j, 2]
        dx -= box * round(dx / box)
        dy -= box * round(dy / box)
        dz -= box * round(dz / box)
        r2 = dx * dx + dy * dy + dz * dz
        if r2 > cutoff * cutoff:
            continue
        s6 = (1 / r2) ** 3
        energy += 2 * s6 * (s6 - 1)
        pull = 24 * s6 * (2 * s6 - 1) / r2
        force[i, 0] += pull * dx
        force[i, 1] += pull * dy
        force[i, 2] += pull * dz
    return energy


def lattice(n, spacing, jitter, seed):
    points = np.indices((n, n, n)).reshape(3, -1).T * spacing
    return points + np.random.default_rng(seed).normal(size=points.shape) * jitter


def test_lennard_jones_forces_are_minus_the_gradient_of_the_energy(space):
    x, box = lattice(3, 1.2, 0.05, seed=2), 3.6
    force, unused = np.zeros_like(x), np.zeros_like(x)
    with es.use_space(space):
        energy = staged.parallel_reduce(27, lennard_jones, x, box, 1.7, force)
        slopes = []
        for axis in range(3):
            ends = []
            for step in (-1e-5, 1e-5):
                moved = x.copy()
                moved[5, axis] += step
                ends.append(staged.parallel_reduce(27, lennard_jones, moved, box, 1.7, unused))
            slopes.append((ends[1] - ends[0]) / 2e-5)
    d = x[:, None] - x[None]
    d -= box * np.rint(d / box)
    r2 = (d**2).sum(axis=2)
    near = (r2 > 0) & (r2 <= 1.7**2)
    s6 = r2[near] ** -3.0
    assert energy == pytest.approx((2 * s6 * (s6 - 1)).sum(), rel=1e-12)
    np.testing.assert_allclose(force[5], [-s for s in slopes], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(force.sum(axis=0), 0, atol=1e-11)


# Densities of smoothed particles (Mueller et al. 2003), as in Warp's example_sph: small helpers.
def squared_distance(x, i, j):
    total = 0.0
    for axis in range(x.shape[1]):
        total += (x[i, axis] - x[j, axis]) ** 2
    return total


def poly6(r2, h):
    inside = h * h - r2
    return inside**3 if inside > 0 else 0.0


@es.kernel
def sph_density(i, x, h, mass, rho):
    total = 0.0
    for j in range(len(x)):
        total += poly6(squared_distance(x, i, j), h)
    rho[i] = 315 * mass / (64 * math.pi * h**9) * total


def test_density_of_smoothed_particles(space):
    spacing, h = 0.5, 1.2
    x = lattice(5, spacing, 0.0, seed=3)
    rho = np.zeros(len(x))
    with es.use_space(space):
        staged.parallel_for(len(x), sph_density, x, h, spacing**3, rho)
    r2 = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    exact = (np.maximum(h * h - r2, 0) ** 3).sum(axis=1)
    np.testing.assert_allclose(rho, exact * 315 * spacing**3 / (64 * np.pi * h**9), rtol=1e-12)
    assert rho[62] == pytest.approx(1, rel=0.02)  # in the middle, a uniform fluid


# Classical Runge-Kutta steps, the right-hand side handed over as a function.
def oscillator(t, x, v):
    return v, -x


def growth(t, x, v):
    return x * math.cos(t), 0.0


def rk4_step(rhs, t, x, v, dt):
    k1, l1 = rhs(t, x, v)
    k2, l2 = rhs(t + dt / 2, x + dt / 2 * k1, v + dt / 2 * l1)
    k3, l3 = rhs(t + dt / 2, x + dt / 2 * k2, v + dt / 2 * l2)
    k4, l4 = rhs(t + dt, x + dt * k3, v + dt * l3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


@es.kernel
def integrate(i, rhs, end, steps, x, v):
    n = steps[i]
    dt = end / n
    for k in range(n):
        x[i], v[i] = rk4_step(rhs, k * dt, x[i], v[i], dt)


@pytest.mark.parametrize("rhs", [oscillator, growth])
def test_runge_kutta_converges_with_order_four(space, rhs):
    steps = np.array([10, 20, 40], np.int32)
    x, v = np.ones((2, 3))
    with es.use_space(space):
        staged.parallel_for(3, integrate, rhs, 2.0, steps, x, v)
    if rhs is oscillator:
        exact = math.cos(2) + math.sin(2)
    else:
        exact = math.exp(math.sin(2))
    errors = abs(x - exact)
    assert errors[0] < 1e-3
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 4, atol=0.3)


# A functor, as in Kokkos' and PyKokkos' examples: leapfrog as methods of a dataclass.
@dataclasses.dataclass
class Springs:
    x: np.ndarray
    v: np.ndarray
    stiffness: float
    dt: float

    def kick(self, i):
        self.v[i] -= self.stiffness * self.x[i] * self.dt / 2

    def drift(self, i):
        self.x[i] += self.v[i] * self.dt

    def energy(self, i, mass):
        return 0.5 * (mass * self.v[i] ** 2 + self.stiffness * self.x[i] ** 2)


def test_leapfrog_methods_follow_the_exact_discrete_solution(space):
    amplitude = np.arange(1.0, 6.0)
    x, v = staged.place(space, amplitude.copy()), staged.place(space, np.zeros(5))
    springs = Springs(x, v, stiffness=2.0, dt=0.3)
    with es.use_space(space):
        before = staged.parallel_reduce(5, springs.energy, 1.0)
        for _ in range(12):
            staged.parallel_for(5, springs.kick)
            staged.parallel_for(5, springs.drift)
            staged.parallel_for(5, springs.kick)
    phase = 12 * math.acos(1 - 2.0 * 0.3**2 / 2)
    np.testing.assert_allclose(staged.fetch(x), amplitude * math.cos(phase), rtol=1e-12)
    assert before == pytest.approx((amplitude**2).sum())


# Particles as records that bounce between walls, as in many particle-in-cell codes.
PARTICLE = np.dtype([("x", np.float64), ("v", np.float32), ("hits", np.int16), ("alive", bool)])


def test_records_of_particles_bounce_between_walls(space):
    @es.kernel
    def advance(i, p, dt, width):
        if not p[i].alive:
            return
        x = p[i].x + p[i].v * dt
        while x < 0 or x > width:
            x = -x if x < 0 else 2 * width - x
            p[i].v = -p[i].v
            p[i].hits += 1
        p[i].x = x
        p[i].alive = p[i].hits < 3

    particles = np.zeros(4, PARTICLE)
    particles["x"], particles["v"] = [0.25, 0.5, 0.5, 0.75], [0.5, -1.0, 2.0, 3.5]
    particles["alive"] = [True, True, False, True]
    with es.use_space(space):
        staged.parallel_for(4, advance, particles, 1.0, 1.0)
    assert particles["x"].tolist() == [0.75, 0.5, 0.5, 0.25]
    assert particles["v"].tolist() == [0.5, 1.0, 2.0, 3.5]
    assert particles["hits"].tolist() == [0, 1, 0, 4]
    assert particles["alive"].tolist() == [True, True, False, False]


# A bouncing ball, event by event: the series of its bounces has a closed form.
@es.kernel
def time_until_rest(i, height, restitution, slowest, out):
    g = 9.81
    speed = math.sqrt(2 * g * height[i])
    t = speed / g
    while True:
        speed *= restitution
        if speed < slowest:
            break
        t += 2 * speed / g
    out[i] = t


def test_a_bouncing_ball_comes_to_rest_in_finite_time(space):
    height, out = np.array([0.5, 1.0, 2.0]), np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, time_until_rest, height, 0.5, 1e-12, out)
    e, fall = 0.5, np.sqrt(2 * height / 9.81)
    np.testing.assert_allclose(out, fall * (1 + e) / (1 - e), rtol=1e-11)
