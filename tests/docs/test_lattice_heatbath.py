"""Gauge fields of examples/lattice_qcd: links, averages and random numbers of the heat bath."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es

FOLDER = Path(__file__).parents[2] / "examples" / "lattice_qcd"
SPACES = [
    row.name for row in es.spaces() if row.usable and row.name in ("serial", "openmp", "opencl")
]
SHAPE = (4, 6, 2, 8)  # x, y, z, t: all different, so that none can be taken for another

on_each_space = pytest.mark.parametrize("where", SPACES)


@pytest.fixture(scope="module")
def qcd():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        names = ("lattice", "dslash", "heatbath")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})


@pytest.fixture
def lattice(qcd):
    return qcd.lattice.Lattice(*SHAPE)


def links_of(qcd, lattice, gauge):
    """All links, as an array (t, z, y, x, direction, row, column)."""
    return qcd.dslash.joined(lattice, gauge.even.to_numpy(), gauge.odd.to_numpy())


def plaquette_of(links):
    total = 0.0
    for mu, nu in itertools.combinations(range(4), 2):
        u, v = links[..., mu, :, :], links[..., nu, :, :]
        ahead, up = np.roll(v, -1, axis=3 - mu), np.roll(u, -1, axis=3 - nu)
        loop = np.einsum("...ab,...bc,...dc,...ad->...", u, ahead, up.conj(), v.conj())
        total += loop.real.mean() / 3
    return total / 6


def assert_in_group(links):
    one = np.einsum("...ab,...cb->...ac", links, links.conj())
    assert np.abs(one - np.eye(3)).max() < 1e-12
    assert np.abs(np.linalg.det(links) - 1).max() < 1e-12


@on_each_space
def test_a_cold_start_is_1(qcd, lattice, where):
    gauge = qcd.heatbath.cold(lattice, where)
    assert (links_of(qcd, lattice, gauge) == np.eye(3)).all()
    assert qcd.heatbath.plaquette(gauge, lattice, where) == 1


@on_each_space
def test_a_hot_start_is_even_in_the_group(qcd, lattice, where):
    links = links_of(qcd, lattice, qcd.heatbath.hot(lattice, 3, where))
    assert_in_group(links)
    # Of matrices that are even in SU(3) tr U has the mean 0, |tr U|^2 1 and |tr U|^4 2.
    trace = np.trace(links, axis1=-2, axis2=-1).ravel()
    assert np.unique(trace.round(12)).size == trace.size == 4 * lattice.volume
    for value, mean in ((trace.real, 0), (trace.imag, 0), (abs(trace) ** 2, 1),
                        (abs(trace) ** 4, 2), (trace.real**3, 0.25)):  # fmt: skip
        assert abs(value.mean() - mean) < 4 * value.std() / np.sqrt(value.size)


@on_each_space
def test_the_plaquette_is_that_of_numpy(qcd, lattice, where):
    gauge = qcd.heatbath.hot(lattice, 3, where)
    for beta in (None, 6.0):
        if beta is not None:
            qcd.heatbath.update(gauge, lattice, beta, 0, 3, where)
        found = qcd.heatbath.plaquette(gauge, lattice, where)
        assert abs(found - plaquette_of(links_of(qcd, lattice, gauge))) < 1e-13


def test_the_plaquette_does_not_depend_on_the_gauge(qcd, lattice):
    gauge = qcd.heatbath.configuration(lattice, 6.0, 2, 1, "serial", 1)
    links = links_of(qcd, lattice, gauge)
    turns = links_of(qcd, lattice, qcd.heatbath.hot(lattice, 7, "serial"))[..., 0, :, :]
    turned = np.empty_like(links)
    for mu in range(4):
        ends = np.roll(turns, -1, axis=3 - mu).conj().swapaxes(-1, -2)
        turned[..., mu, :, :] = turns @ links[..., mu, :, :] @ ends
    assert np.abs(turned - links).max() > 0.5
    other = qcd.dslash.gauge(lattice, turned, np.complex128, "serial")
    found = qcd.heatbath.plaquette(other, lattice, "serial")
    assert abs(found - qcd.heatbath.plaquette(gauge, lattice, "serial")) < 1e-13


@on_each_space
def test_over_relaxation_keeps_the_action(qcd, lattice, where):
    gauge = qcd.heatbath.configuration(lattice, 5.7, 2, 1, where, 0)
    before = links_of(qcd, lattice, gauge)
    for _ in range(3):
        qcd.heatbath.over_relax(gauge, lattice, where)
    after = links_of(qcd, lattice, gauge)
    assert_in_group(after)
    # The action is beta times the sum of 1 - Re tr U_p / 3 over all plaquettes.
    assert 5.7 * 6 * lattice.volume * abs(plaquette_of(after) - plaquette_of(before)) < 1e-10
    assert np.abs(after - before).max(axis=(-1, -2)).min() > 1e-3  # none stays


@on_each_space
def test_links_stay_in_the_group(qcd, lattice, where):
    gauge = qcd.heatbath.configuration(lattice, 5.7, 5, 1, where, 2, start="hot")
    links = links_of(qcd, lattice, gauge)
    assert_in_group(links)
    off = links + 1e-6 * np.random.default_rng(1).normal(size=links.shape)
    gauge = qcd.dslash.gauge(lattice, off, np.complex128, where)
    qcd.heatbath.over_relax(gauge, lattice, where)
    assert_in_group(links_of(qcd, lattice, gauge))  # rounding errors do not add up


@on_each_space
def test_a_seed_gives_the_same_links_on_every_space(qcd, lattice, where):
    def after_a_sweep(space, seed=2**64 - 1, step=3):
        gauge = qcd.heatbath.hot(lattice, seed, space)
        qcd.heatbath.update(gauge, lattice, 5.7, step, seed, space)
        qcd.heatbath.over_relax(gauge, lattice, space)
        return links_of(qcd, lattice, gauge)

    links = after_a_sweep(where)
    assert np.array_equal(links, after_a_sweep(where))
    assert np.abs(links - after_a_sweep("serial")).max() < 1e-10
    assert np.abs(links - after_a_sweep(where, seed=5)).max() > 0.5
    assert np.abs(links - after_a_sweep(where, step=4)).max() > 0.5


def test_a_lattice_of_two_sites_in_each_direction(qcd):
    """Both neighbours are the same site, and still other plaquettes."""
    tiny = qcd.lattice.Lattice(2, 2, 2, 2)
    gauge = qcd.heatbath.configuration(tiny, 5.7, 3, 1, "serial", 0)
    before = links_of(qcd, tiny, gauge)
    assert abs(qcd.heatbath.plaquette(gauge, tiny, "serial") - plaquette_of(before)) < 1e-13
    qcd.heatbath.over_relax(gauge, tiny, "serial")
    after = links_of(qcd, tiny, gauge)
    assert abs(plaquette_of(after) - plaquette_of(before)) < 1e-13


@pytest.mark.parametrize("scale", [1.5, 4.0, 40.0])
def test_subgroups_have_their_distribution(qcd, scale):
    """X = x0 + i x . sigma with the density sqrt(1 - x0^2) exp(scale x0), in all directions."""
    drawn, count = qcd.heatbath.drawn, 40_000
    found = np.empty((count, 4))

    def draw(i, k, found):
        a, b = drawn(complex(0.6, 0.0), complex(0.0, -0.8), k, 3.0, es.uint64(1), i, 0)
        a, b = a * 0.6 - b * 0.8j, 0.6 * b - 0.8j * a  # X = (X V^H) V
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = a.real, b.imag, b.real, a.imag

    es.parallel_for(es.RangePolicy(count, space="serial"), draw, scale / 2, found)
    assert np.abs((found**2).sum(axis=1) - 1).max() < 1e-12
    x = (np.arange(100_000) + 0.5) / 50_000 - 1
    density = np.sqrt(1 - x * x) * np.exp(scale * (x - 1))
    density /= density.sum()
    first, second = (density * x).sum(), (density * x * x).sum()
    means = np.diag([second, *[(1 - second) / 3] * 3])
    for a in range(4):
        assert abs(found[:, a].mean() - first * (a == 0)) < 4 * found[:, a].std() / np.sqrt(count)
        for b in range(a + 1):
            value = found[:, a] * found[:, b]
            assert abs(value.mean() - means[a, b]) < 4 * value.std() / np.sqrt(count)


def averages(qcd, extent, beta, sweeps, skipped, **options):
    """Average of the plaquette over sweeps, but the first ones."""
    found = []
    cube = qcd.lattice.Lattice(*(extent,) * 4)
    options = {"seed": 4, "space": SPACES[0], **options}
    qcd.heatbath.configuration(
        cube, beta, sweeps, on_sweep=lambda n, value: found.append((n, value)), **options
    )
    assert [n for n, _ in found] == list(range(1, sweeps + 1))
    return np.mean([value for _, value in found[skipped:]])


@pytest.mark.exhaustive
def test_strong_coupling(qcd):
    # A plaquette has the variance 1/18, and sweeps are all but independent.
    error = np.sqrt(1 / 18 / (6 * 4**4) / 300)
    for beta in (0.5, 1.0):
        found = averages(qcd, 4, beta, 310, 10, over_relaxations=0, start="hot")
        assert abs(found - (beta / 18 + beta**2 / 216)) < 4 * error


def test_weak_coupling(qcd):
    # With g^2 = 6 / beta: 1 - P = g^2 / 3 + 0.0339 g^4 (Di Giacomo and Rossi, Phys. Lett. B 100,
    # 1981). Higher orders and the size of the lattice add 0.2 %, and the average scatters by 0.3 %.
    found = 1 - averages(qcd, 4, 30.0, 80, 20, over_relaxations=1)
    assert found == pytest.approx(2 / 30 + 0.0339 * (6 / 30) ** 2, rel=0.015)
    assert found > 2 / 30


@pytest.mark.exhaustive
def test_between_them(qcd):
    # 0.593678 on 16^4 (Boyd et al., Nucl. Phys. B 469, 1996). A small lattice adds less than 0.001,
    # and the average scatters by 0.001.
    found = averages(qcd, 6, 6.0, 80, 20)
    assert abs(found - 0.593678) < 0.005


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan")])
def test_a_coupling_that_is_none(qcd, lattice, beta):
    gauge = qcd.heatbath.cold(lattice, "serial")
    with pytest.raises(ValueError, match=r"^beta: expected a number above 0, got "):
        qcd.heatbath.update(gauge, lattice, beta, 0, 1, "serial")
