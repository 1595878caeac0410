"""Kernels on grids: relaxation, waves, automata, a lattice Boltzmann fluid, an Ising model.

Most are checked against what the discrete equations give exactly: decay factors of eigenmodes,
conserved sums, a glider that moves. SOURCES.md says where the algorithms come from.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


# PolyBench / NPBench: jacobi-2d with the 5-point mean. Two grids change places.
@es.kernel
def jacobi_2d(i, j, a, b):
    across = a[i, j - 1] + a[i, j + 1]
    along = a[i - 1, j] + a[i + 1, j]
    b[i, j] = (a[i, j] + across + along) / 5


def test_jacobi_2d_damps_an_eigenmode_by_its_eigenvalue(space):
    n, steps = 17, 6
    line = np.sin(np.pi * np.arange(n) / (n - 1))
    a = np.outer(line, line)
    start, b = a.copy(), a.copy()
    with es.use_space(space):
        for _ in range(steps):
            staged.parallel_for(es.MDRangePolicy((1, 1), (n - 1, n - 1)), jacobi_2d, a, b)
            a, b = b, a
    factor = (1 + 4 * math.cos(np.pi / (n - 1))) / 5
    np.testing.assert_allclose(a, factor**steps * start, rtol=1e-12, atol=1e-15)


# PolyBench / NPBench: heat-3d, with a helper for the second differences.
def curvature(before, here, after):
    return before - 2 * here + after


@es.kernel
def heat_3d(i, j, k, a, b):
    here = a[i, j, k]
    laplacian = curvature(a[i - 1, j, k], here, a[i + 1, j, k])
    laplacian += curvature(a[i, j - 1, k], here, a[i, j + 1, k])
    laplacian += curvature(a[i, j, k - 1], here, a[i, j, k + 1])
    b[i, j, k] = here + laplacian / 8


@pytest.mark.parametrize("layout", ["right", "left"])
def test_heat_3d_damps_an_eigenmode_by_its_eigenvalue(space, layout):
    n = 8
    line = np.sin(np.pi * np.arange(n) / (n - 1))
    start = np.einsum("i,j,k->ijk", line, line, line)
    with es.use_space(space):
        a, b = (es.View((n, n, n), layout=layout) for _ in range(2))
        es.deep_copy(a, start)
        interior = es.MDRangePolicy((1,) * 3, (n - 1,) * 3)
        staged.parallel_for(interior, heat_3d, a, b)
        staged.parallel_for(interior, heat_3d, b, a)
    factor = 1 + 3 * 0.125 * (2 * math.cos(np.pi / (n - 1)) - 2)
    np.testing.assert_allclose(staged.fetch(a), factor**2 * start, rtol=1e-12, atol=1e-15)


# PolyBench / NPBench: fdtd-2d, three fields in three launches a step.
@es.kernel
def fdtd_ey(i, j, t, source, ey, hz):
    if i == 0:
        ey[i, j] = source[t]
    else:
        ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])


@es.kernel
def fdtd_ex(i, j, ex, hz):
    ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])


@es.kernel
def fdtd_hz(i, j, ex, ey, hz):
    hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def test_fdtd_2d_agrees_with_whole_array_updates(space):
    nx, ny, steps = 12, 10, 5
    fields = np.random.default_rng(1).normal(size=(3, nx, ny))
    source = np.arange(steps, dtype=float)
    ex, ey, hz = fields.copy()
    with es.use_space(space):
        for t in range(steps):
            staged.parallel_for(es.MDRangePolicy((nx, ny)), fdtd_ey, t, source, ey, hz)
            staged.parallel_for(es.MDRangePolicy((0, 1), (nx, ny)), fdtd_ex, ex, hz)
            staged.parallel_for(es.MDRangePolicy((nx - 1, ny - 1)), fdtd_hz, ex, ey, hz)
    rx, ry, rz = fields.copy()
    for t in range(steps):
        ry[0] = source[t]
        ry[1:] -= 0.5 * np.diff(rz, axis=0)
        rx[:, 1:] -= 0.5 * np.diff(rz, axis=1)
        rz[:-1, :-1] -= 0.7 * (np.diff(rx, axis=1)[:-1] + np.diff(ry, axis=0)[:, :-1])
    np.testing.assert_allclose([ex, ey, hz], [rx, ry, rz], rtol=1e-12, atol=1e-12)


# Conway's game of life on a torus, as in Taichi's examples. uint8, and `%` of -1.
def neighbours(i, j, alive):
    rows, columns = alive.shape
    count = 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if di != 0 or dj != 0:
                count += alive[(i + di) % rows, (j + dj) % columns]
    return count


@es.kernel
def life(i, j, alive, following):
    n = neighbours(i, j, alive)
    if alive[i, j] and not 2 <= n <= 3:
        following[i, j] = 0
    elif not alive[i, j] and n == 3:
        following[i, j] = 1
    else:
        following[i, j] = alive[i, j]


def test_a_glider_moves_one_cell_in_four_generations(space):
    alive = np.zeros((9, 8), np.uint8)
    alive[7:10, 5:8] = [[0, 1, 0], [0, 0, 1]]  # the last row is beyond the edge
    alive[0, 5:8] = 1
    start, following = alive.copy(), np.empty_like(alive)
    with es.use_space(space):
        for _ in range(4):
            staged.parallel_for(es.MDRangePolicy(alive.shape), life, alive, following)
            alive, following = following, alive
    np.testing.assert_array_equal(alive, np.roll(start, (1, 1), axis=(0, 1)))


# Elementary cellular automata: the rule's bits say what follows (Wolfram 1983).
def test_rule_90_draws_pascals_triangle_modulo_two(space):
    @es.kernel
    def automaton(i, rule: es.static, cells, following):
        n = cells.extent(0)
        left = cells[i - 1] if i > 0 else 0
        right = cells[i + 1] if i + 1 < n else 0
        pattern = 4 * left + 2 * cells[i] + right
        following[i] = (rule >> pattern) & 1

    n, steps = 41, 13
    cells, following = np.zeros((2, n), np.int8)
    cells[n // 2] = 1
    with es.use_space(space):
        for _ in range(steps):
            staged.parallel_for(n, automaton, 90, cells, following)
            cells, following = following, cells
    row = [math.comb(steps, k) % 2 for k in range(steps + 1)]
    assert cells[n // 2 - steps : n // 2 + steps + 1 : 2].tolist() == row
    assert cells.sum() == sum(row)


# The Ising model: Metropolis steps on one colour of a checkerboard. int8 spins.
@es.kernel
def metropolis(i, j, colour, beta, spins, uniform):
    if (i + j) % 2 != colour:
        return
    rows, columns = spins.shape
    field = (
        spins[(i + 1) % rows, j]
        + spins[(i - 1) % rows, j]
        + spins[i, (j + 1) % columns]
        + spins[i, (j - 1) % columns]
    )
    cost = 2 * spins[i, j] * field
    if cost <= 0 or uniform[i, j] < math.exp(-beta * cost):
        spins[i, j] = -spins[i, j]


def test_ising_checkerboard_agrees_with_whole_array_updates(space):
    rng = np.random.default_rng(2)
    spins = rng.choice(np.array([-1, 1], np.int8), (10, 8))
    uniform = rng.random((3, 2, 10, 8))
    expected, black = spins.astype(int), np.indices(spins.shape).sum(axis=0) % 2
    start = spins.copy()
    with es.use_space(space):
        policy = es.MDRangePolicy(spins.shape)
        for sweep in range(3):
            for colour in range(2):
                staged.parallel_for(policy, metropolis, colour, 0.44, spins, uniform[sweep, colour])
        s = staged.place(space, spins)
        energy = staged.parallel_reduce(
            policy, lambda i, j: -s[i, j] * (s[(i + 1) % 10, j] + s[i, (j + 1) % 8])
        )
    for sweep in range(3):
        for colour in range(2):
            field = sum(np.roll(expected, s, axis=a) for s in (1, -1) for a in (0, 1))
            cost = 2 * expected * field
            flip = (cost <= 0) | (uniform[sweep, colour] < np.exp(-0.44 * cost))
            expected = np.where(flip & (black == colour), -expected, expected)
    np.testing.assert_array_equal(spins, expected)
    assert (spins != start).any()
    bonds = expected * (np.roll(expected, -1, axis=0) + np.roll(expected, -1, axis=1))
    assert energy == -bonds.sum()


# Lattice Boltzmann D2Q9 with BGK collisions, as in JACC.jl's applications: pull, collide.
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])


def equilibrium(rho, u, v):
    cu = np.multiply.outer(CX, u) + np.multiply.outer(CY, v)
    w = WEIGHTS[:, None, None]
    return w * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u**2 + v**2))


def lattice_boltzmann(cx, cy, weights):
    """A time step on a lattice that the kernel captures."""

    @es.kernel
    def pull_and_collide(x, y, omega, f, out):
        nx, ny = f.extent(1), f.extent(2)
        rho = u = v = 0.0
        for k in range(9):
            pulled = f[k, (x - cx[k]) % nx, (y - cy[k]) % ny]
            out[k, x, y] = pulled
            rho += pulled
            u += cx[k] * pulled
            v += cy[k] * pulled
        u /= rho
        v /= rho
        for k in range(9):
            cu = cx[k] * u + cy[k] * v
            feq = weights[k] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * (u * u + v * v))
            out[k, x, y] += omega * (feq - out[k, x, y])

    return pull_and_collide


def test_lattice_boltzmann_conserves_mass_and_has_its_viscosity(space):
    nx, ny, steps, tau = 3, 24, 20, 0.8
    shear = 1e-3 * np.sin(2 * np.pi * np.arange(ny) / ny)
    u = np.tile(shear, (nx, 1))
    f = equilibrium(np.ones((nx, ny)), u, np.zeros((nx, ny)))
    mass, g = f.sum(), np.empty_like(f)
    step = lattice_boltzmann(*(staged.place(space, a) for a in (CX, CY, WEIGHTS)))
    with es.use_space(space):
        for _ in range(steps):
            staged.parallel_for(es.MDRangePolicy((nx, ny)), step, 1 / tau, f, g)
            f, g = g, f
    assert f.sum() == pytest.approx(mass, rel=1e-13)
    velocity = np.einsum("k,kxy->xy", CX, f) / f.sum(axis=0)
    viscosity = (tau - 0.5) / 3
    decay = math.exp(-viscosity * (2 * np.pi / ny) ** 2 * steps)
    np.testing.assert_allclose(velocity, decay * u, rtol=0, atol=5e-3 * 1e-3)
    assert decay < 0.9  # so that the tolerance above can tell a wrong viscosity
