"""examples/lattice_qcd: Dslash, the solvers and the pion, against NumPy on the whole lattice."""

from __future__ import annotations

import importlib
import importlib.util
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pages import BLOCK

import execspace as es

FOLDER = Path(__file__).parents[2] / "examples" / "lattice_qcd"
MODULES = ("lattice", "dslash", "lanes", "wilson", "spectrum")
SPACES = [
    row.name for row in es.spaces() if row.usable and row.name in ("serial", "openmp", "opencl")
]
SHAPE = (4, 6, 2, 8)

# The matrices themselves, which the example knows by their blocks alone.
GAMMA = np.array([
    [[0, 0, 0, 1j], [0, 0, 1j, 0], [0, -1j, 0, 0], [-1j, 0, 0, 0]],
    [[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]],
    [[0, 0, 1j, 0], [0, 0, 0, -1j], [-1j, 0, 0, 0], [0, 1j, 0, 0]],
    [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]],
])  # fmt: skip
GAMMA5 = GAMMA[0] @ GAMMA[1] @ GAMMA[2] @ GAMMA[3]


@pytest.fixture(scope="module")
def qcd():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})


@pytest.fixture(autouse=True)
def _is_compiled(request):
    """All but small products take minutes on the oracle."""
    if "space" in request.fixturenames and request.getfixturevalue("space").name == "oracle":
        if "test_dslash" not in request.node.name:
            pytest.skip("each step is one of Python")


def su3(shape, seed=1):
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.normal(size=(*shape, 3, 3)) + 1j * rng.normal(size=(*shape, 3, 3)))
    d = np.diagonal(r, axis1=-2, axis2=-1)
    q = q * (d / abs(d))[..., None, :]
    return q / np.linalg.det(q)[..., None, None] ** (1 / 3)


def spinors(extents, seed=2):
    rng = np.random.default_rng(seed)
    shape = (*extents[::-1], 4, 3)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def dense_dslash(U, psi, sign=1):
    found = np.zeros_like(psi)
    for mu in range(4):
        axis = 3 - mu
        forward = np.roll(psi, -1, axis)
        found += np.einsum("...ab,ij,...jb->...ia", U[..., mu, :, :], np.eye(4) - sign * GAMMA[mu],
                           forward)  # fmt: skip
        back, link = np.roll(psi, 1, axis), np.roll(U[..., mu, :, :], 1, axis)
        found += np.einsum("...ba,ij,...jb->...ia", link.conj(), np.eye(4) + sign * GAMMA[mu], back)
    return found


def test_gamma_matrices():
    for mu in range(4):
        for nu in range(4):
            both = GAMMA[mu] @ GAMMA[nu] + GAMMA[nu] @ GAMMA[mu]
            assert np.array_equal(both, 2 * (mu == nu) * np.eye(4))
    assert np.array_equal(GAMMA5, np.diag([1, 1, -1, -1]))


def applied(qcd, space, U, psi, isign, dtype=np.float64, width=0, kappa=0.1):
    """D psi on the whole lattice, by a launch for each parity."""
    lattice = qcd.lattice.Lattice(*psi.shape[3::-1])
    matrix = qcd.wilson.Wilson(lattice, U, kappa, dtype=dtype, space=space, width=width)
    parts = []
    for parity in (0, 1):
        x = matrix.vector(qcd.dslash.split(lattice, psi, 1 - parity))
        y = matrix.zeros()
        matrix.dslash(x, y, parity, isign)
        parts.append(matrix.array(y))
    return qcd.dslash.joined(lattice, *parts)


more = partial(pytest.param, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("dtype", "width"),
    [(np.float64, 0), (np.float32, 4), more(np.float32, 0), more(np.float64, 2)],
)
def test_dslash(qcd, space, dtype, width):
    shape = SHAPE if space.name != "oracle" else (2, 2, 2, 8)
    U, psi = su3((*shape[::-1], 4)), spinors(shape)
    most = 100 * np.finfo(dtype).eps
    for isign in (1, -1):
        found = applied(qcd, space, U, psi, isign, dtype, width)
        assert np.abs(found - dense_dslash(U, psi, isign)).max() < most


@pytest.mark.parametrize("sides", [None, 3])
def test_neighbours_of_a_table(qcd, space, sides):
    """They are those that are computed, on a lattice that is not the same in all directions."""
    shape = SHAPE if space.name != "oracle" else (4, 2, 2, 2)
    U, lattice = su3((*shape[::-1], 4)), qcd.lattice.Lattice(*shape)
    psi = np.stack([spinors(shape, k) for k in range(sides or 1)])
    matrix = qcd.wilson.Wilson(lattice, U, 0.1, space=space, table=True)
    for parity in (0, 1):
        given = np.stack([qcd.dslash.split(lattice, one, 1 - parity) for one in psi])
        x = matrix.vector(given if sides else given[0])
        y = matrix.zeros(sides)
        matrix.dslash(x, y, parity)
        found = matrix.array(y) if sides else matrix.array(y)[None]
        for one, wanted in zip(found, psi, strict=True):
            expected = qcd.dslash.split(lattice, dense_dslash(U, wanted), parity)
            assert np.abs(one - expected).max() < 1e-13


def test_several_right_hand_sides(qcd, space, system):
    """All at once each has the answer that it has alone, and so has their pion."""
    extents, U, eta = system
    lattice, kappa = qcd.lattice.Lattice(*extents), 0.12
    matrix = qcd.wilson.Wilson(lattice, U, kappa, space=space)
    both, seen = np.stack([eta, spinors(extents, 6)]), []
    for method in ("cg", "bicgstab"):
        psi, solution = matrix.solve(
            both, rtol=1e-10, method=method, progress=lambda n, norm: seen.append(norm)
        )
        assert np.all(solution.converged)
        assert seen[-1] < 1e-9 * solution.history[0].max()
        for one, wanted in zip(psi, both, strict=True):
            residual = wanted - (one - kappa * dense_dslash(U, one))
            assert np.linalg.norm(residual) < 1e-9 * np.linalg.norm(wanted)
    with pytest.raises(ValueError, match="in mixed precision: expected one"):
        matrix.solve(both, inner=matrix)
    lanes = qcd.wilson.Wilson(lattice, U, kappa, space=space, width=4)
    with pytest.raises(ValueError, match="2 right-hand sides in 4 lanes: expected one"):
        lanes.solve(both)


def test_two_rows_of_links(qcd, space):
    U, psi = su3((*SHAPE[::-1], 4)), spinors(SHAPE)
    lattice = qcd.lattice.Lattice(*SHAPE)
    matrix = qcd.wilson.Wilson(lattice, U, 0.1, space=space, rows=2)
    x, y = matrix.vector(qcd.dslash.split(lattice, psi, 1)), matrix.zeros()
    assert matrix.gauge.even.shape == (lattice.sites, 4, 2, 3)
    for isign in (1, -1):
        matrix.dslash(x, y, 0, isign)
        expected = qcd.dslash.split(lattice, dense_dslash(U, psi, isign), 0)
        assert np.abs(matrix.array(y) - expected).max() < 1e-13
    with pytest.raises(ValueError, match="the third is not the conjugate of their product"):
        qcd.wilson.Wilson(lattice, qcd.wilson.antiperiodic(U), 0.1, space=space, rows=2)


def test_gamma5_hermiticity_and_gauge_covariance(qcd, space):
    U, psi, phi = su3((*SHAPE[::-1], 4)), spinors(SHAPE), spinors(SHAPE, 3)
    D = applied(qcd, space, U, psi, 1)
    turned = qcd.wilson.gamma5(applied(qcd, space, U, qcd.wilson.gamma5(phi), 1))
    assert np.isclose(np.vdot(phi, D), np.vdot(turned, psi), rtol=1e-12)
    assert np.allclose(turned, applied(qcd, space, U, phi, -1), atol=1e-12)
    V = su3(SHAPE[::-1], 7)  # at each site
    W = np.empty_like(U)
    for mu in range(4):
        ahead = np.roll(V, -1, 3 - mu)
        W[..., mu, :, :] = V @ U[..., mu, :, :] @ ahead.conj().swapaxes(-1, -2)
    rotated = np.einsum("...ab,...ib->...ia", V, psi)
    expected = np.einsum("...ab,...ib->...ia", V, D)
    assert np.allclose(applied(qcd, space, W, rotated, 1), expected, atol=1e-12)


def test_plane_waves_have_the_free_dispersion(qcd, space):
    """D of exp(i p x) is 2 sum(cos p_mu - i gamma_mu sin p_mu) of it."""
    U = np.broadcast_to(np.eye(3, dtype=complex), (*SHAPE[::-1], 4, 3, 3)).copy()
    modes = np.array([1, 2, 1, 3])
    p = 2 * np.pi * modes / np.array(SHAPE)
    t, z, y, x = np.indices(SHAPE[::-1])
    wave = np.exp(1j * (p[0] * x + p[1] * y + p[2] * z + p[3] * t))
    chi = spinors((1, 1, 1, 1))[0, 0, 0, 0]
    psi = wave[..., None, None] * chi
    symbol = 2 * sum(np.cos(p[mu]) * np.eye(4) - 1j * np.sin(p[mu]) * GAMMA[mu] for mu in range(4))
    expected = wave[..., None, None] * (symbol @ chi)
    assert np.allclose(applied(qcd, space, U, psi, 1), expected, atol=1e-12)


@pytest.fixture(scope="module")
def system():
    extents = (4, 2, 4, 8)
    return extents, su3((*extents[::-1], 4), 4), spinors(extents, 5)


@pytest.mark.parametrize(
    ("how", "width"),
    [
        ("cg", 0),
        ("bicgstab", 0),
        ("mixed", 4),
        more("cg", 4),
        more("bicgstab", 4),
        more("mixed", 0),
    ],
)
def test_solutions(qcd, space, system, how, width):
    extents, U, eta = system
    lattice, kappa = qcd.lattice.Lattice(*extents), 0.12
    fermions = qcd.wilson.antiperiodic(U)
    matrix, inner = (
        qcd.wilson.Wilson(lattice, fermions, kappa, dtype=kind, space=space, width=width)
        for kind in (np.float64, np.float32)
    )
    seen = []
    psi, solution = matrix.solve(
        eta, rtol=1e-10, method="bicgstab" if how == "bicgstab" else "cg",
        inner=inner if how == "mixed" else None, progress=lambda n, norm: seen.append((n, norm)),
    )  # fmt: skip
    residual = eta - (psi - kappa * dense_dslash(fermions, psi))
    assert np.linalg.norm(residual) < 1e-9 * np.linalg.norm(eta)
    assert solution.converged and seen and seen[-1][1] < 1e-9 * solution.history[0]
    if how == "mixed":
        assert 2 <= solution.updates < solution.iterations


def test_histories_of_residuals_agree(qcd, system):
    extents, U, eta = system
    histories = []
    for name in (row.name for row in es.spaces() if row.usable and row.priority >= 0):
        lattice = qcd.lattice.Lattice(*extents)
        for width in (0, 4):
            matrix = qcd.wilson.Wilson(lattice, U, 0.12, space=es.space(name), width=width)
            histories.append(np.array(matrix.solve(eta, rtol=1e-6)[1].history))
    least = min(map(len, histories))
    for history in histories:
        assert np.allclose(history[:least], histories[0][:least], rtol=1e-6)


def test_the_pion_of_free_quarks(qcd, space):
    """Its effective mass, in a box, is twice that of a quark at rest, of which both poles are
    known in closed form."""
    lattice, kappa = qcd.lattice.Lattice(2, 2, 2, 24), 0.1
    U = np.broadcast_to(np.eye(3, dtype=complex), (*lattice.shape[::-1], 4, 3, 3)).copy()
    fermions = qcd.wilson.antiperiodic(U)
    matrix = qcd.wilson.Wilson(lattice, fermions, kappa, space=space, width=4)
    told = []
    found = qcd.spectrum.pion_correlator(matrix, rtol=1e-10, progress=lambda s, n: told.append(s))
    assert sorted(set(told)) == list(range(12)) and np.allclose(found[1:], found[:0:-1])
    sites = qcd.wilson.Wilson(lattice, fermions, kappa, space=space)
    together = qcd.spectrum.pion_correlator(sites, rtol=1e-10, together=True)
    assert np.allclose(together, found, rtol=1e-8)
    masses = qcd.spectrum.effective_mass(found)
    assert abs(masses[7] - 2 * qcd.spectrum.free_pole_mass(kappa)) < 1e-3


def test_what_is_refused(qcd, system):
    extents, U, eta = system
    lattice = qcd.lattice.Lattice(*extents)
    Wilson, serial = qcd.wilson.Wilson, es.space("serial")
    with pytest.raises(ValueError, match="expected even numbers >= 2"):
        qcd.lattice.Lattice(4, 3, 4, 4)
    with pytest.raises(ValueError, match="expected a multiple of 16 slices"):
        qcd.lanes.lanes_of(lattice, 8)
    with pytest.raises(ValueError, match="3 lanes: expected a power of two"):
        qcd.lanes.lanes_of(qcd.lattice.Lattice(2, 2, 2, 12), 3)
    for options, message in [
        ({"rows": 1}, "1 rows of links"), ({"rows": 2, "width": 2}, "expected 3, or 2 without"),
        ({"dtype": np.int32}, "expected float32 or float64"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Wilson(lattice, U, 0.1, space=serial, **options)
    with pytest.raises(ValueError, match=r"links of shape \(8, 4, 2, 4, 4, 2, 3\)"):
        Wilson(lattice, U[..., :2, :], 0.1, space=serial)
    matrix = Wilson(lattice, U, 0.1, space=serial)
    for options, message in [
        ({"method": "gmres"}, "method 'gmres': expected 'cg'"),
        ({"method": "bicgstab", "inner": matrix}, "with inner: expected 'cg' or, without inner"),
        ({"inner": Wilson(lattice, U, 0.2, space=serial)}, "expected the same lattice, kappa"),
    ]:
        with pytest.raises(ValueError, match=message):
            matrix.solve(eta, **options)
    with pytest.raises(ValueError, match="eta of shape"):
        matrix.solve(eta[1:])


def test_what_was_found_before_the_end_counts(qcd, system):
    """x is that of the last residual, also where the precision was not reached."""
    extents, U, eta = system
    lattice = qcd.lattice.Lattice(*extents)
    matrix, inner = (
        qcd.wilson.Wilson(lattice, U, 0.12, dtype=kind, space=es.space("serial"))
        for kind in (np.float64, np.float32)
    )
    b = matrix.vector(qcd.dslash.split(lattice, eta, 0))
    found = qcd.wilson.reliable_cg(matrix, inner, b, 1e-8, drop=1e-6, most=5)
    product = matrix.zeros()
    matrix.normal(found.x, product)
    left = np.linalg.norm(b.to_numpy() - product.to_numpy())
    assert not found.converged and np.isclose(left, found.history[-1], rtol=1e-3)


def test_the_program_of_the_readme(qcd):
    programs = [
        m[2] for m in BLOCK.finditer((FOLDER / "README.md").read_text()) if m[1] == "python"
    ]
    assert len(programs) == 1
    exec(compile(programs[0], "README.md", "exec"), {})


def test_wrong_options_of_the_command(qcd, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("lattice_command", FOLDER / "__main__.py")
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)
    small = ["--extents", "2", "2", "2", "4", "--sweeps", "1", "--folder", str(tmp_path / "new")]
    for options, message in [
        (["--extents", "4", "4", "4", "7"], "expected even numbers"), (["--beta", "0"], "beta > 0"),
        (["--space", "nowhere"], "nowhere"), (["--lanes", "3"], "expected a power of two"),
        (["--together", "--lanes", "2"], "leave --lanes out"), (["--sweeps", "-1"], "one sweep"),
        (["--read", str(tmp_path / "[bold]none")], "[bold]none"),
    ]:  # fmt: skip
        assert command.main([*small, *options]) == 1
        assert message in capsys.readouterr().out.replace("\n", "")
    assert not (tmp_path / "new").exists()
    pytest.importorskip("matplotlib")
    assert command.main([*small, "--kappa", "0.1", "--space", "serial", "--lanes", "0"]) == 0
    assert command.main([*small, "--kappa", "nan", "--space", "serial", "--lanes", "0"]) == 1
    assert "source 0: not converged" in capsys.readouterr().out


def test_a_plot(qcd, tmp_path):
    pytest.importorskip("matplotlib")
    t = np.arange(16)
    correlator = np.cosh(0.5 * (t - 8))
    qcd.spectrum.plot(tmp_path / "pion.png", correlator, "a title")
    assert (tmp_path / "pion.png").read_bytes().startswith(b"\x89PNG")
    assert np.allclose(qcd.spectrum.effective_mass(correlator), 0.5)
