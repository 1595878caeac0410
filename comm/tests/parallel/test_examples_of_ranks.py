"""The examples that ranks run together: they compare themselves with one rank, or what is known."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

EXAMPLES = Path(__file__).parents[3] / "examples"
LATTICE = EXAMPLES / "lattice_qcd"


@pytest.fixture
def program(monkeypatch, space):
    """A module of a folder of examples, whose programs run on this rank's space."""

    def load(folder, name):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
        return importlib.import_module(name)

    with es.use_space(space):
        yield load


def test_heat_is_that_of_one_rank(program, tmp_path, capsys):
    heat = program("distributed", "heat3d")
    picture = tmp_path / "heat.png"
    given = ["--size", "13", "--steps", "7", "--check", "--picture", str(picture)]
    assert heat.main(given) == 0
    said = capsys.readouterr().out
    if escomm.world().rank == 0:
        assert "the same as one rank, to the bit" in said
        assert "step      7 of 7" in said
        assert picture.read_bytes().startswith(b"\x89PNG")
    else:
        assert not said


@pytest.mark.parametrize("more", [["--preconditioner", "jacobi"], ["--in-order", "--points", "7"]])
def test_cg_finds_the_known_solution(program, more, capsys):
    assert program("distributed", "cg").main(["--size", "7", *more]) == 0
    assert ("converged" in capsys.readouterr().out) == (escomm.world().rank == 0)


@pytest.mark.exhaustive  # the next one has the same kernels
def test_dslash_is_that_of_one_rank(program, capsys):
    ranks = program("lattice_qcd", "over_ranks")
    assert ranks.main(["--extents", "4", "6", "2", "4", "--check"]) == 0
    if escomm.world().rank == 0:
        assert "Dslash is that of one rank, " in capsys.readouterr().out


def test_dslash_is_that_of_the_whole_lattice(program):
    ranks = program("lattice_qcd", "over_ranks")
    wilson, lattice = program("lattice_qcd", "wilson"), program("lattice_qcd", "lattice")
    comm, L = escomm.world(), lattice.Lattice(4, 2, 4, 6)
    rng = np.random.default_rng(5)
    links = np.linalg.qr(rng.normal(size=(6, 4, 2, 4, 4, 3, 3, 2)) @ [1, 1j])[0]
    psi = rng.normal(size=(6, 4, 2, 4, 4, 3, 2)) @ [1, 1j]
    matrix = ranks.Shared(L, 0.1, comm, space=es.default_space())
    matrix.set_links(links if comm.rank == 0 else None)
    for parity in (0, 1):
        x, y = matrix.vector(), matrix.vector()
        field = matrix.spinors[0]
        escomm.scatter_field(matrix._part(psi, 1 - parity) if comm.rank == 0 else None, field)
        es.deep_copy(matrix._own(x), field.own)
        matrix.dslash(x, y, parity, -1)
        found = matrix.gathered(y)
        if comm.rank:
            continue
        one = wilson.Wilson(L, links, 0.1, space=es.space("serial"))
        z, image = one.vector(wilson.split(L, psi, 1 - parity)), one.zeros()
        one.dslash(z, image, parity, -1)
        whole = np.zeros_like(psi)
        whole[L.parities() == parity] = one.array(image)[L.numbers()[L.parities() == parity]]
        assert np.allclose(found, matrix._part(whole, parity), rtol=0, atol=1e-13)
