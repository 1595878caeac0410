"""examples/lattice_qcd: Dslash compiled for AMD's GPUs, which needs ROCm's clang but no GPU."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import execspace as es

FOLDER = Path(__file__).parents[2] / "examples" / "lattice_qcd"


@pytest.fixture(scope="module")
def modules():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("dslash"), importlib.import_module("lattice")


@pytest.mark.parametrize("sides", [0, 4])
@pytest.mark.parametrize("rows", [3, 2])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_no_register_is_spilled(modules, dtype, rows, sides):
    """All loads of a site would need twice the registers that there are."""
    dslash, lattice = modules
    part = lattice.Lattice(4, 4, 4, 4)

    def view(*shape, first=()):
        extents = (*first, part.sites, *map(es.static, shape))
        return es.View(extents, dtype, layout="left", space="serial")

    links = (view(4, rows, 3).with_traits("nontemporal") for _ in range(2))
    first = (es.static(sides),) if sides else ()
    source, result = (dslash.Spinor(view(4, 3, first=first), part, p) for p in (1, 0))
    extents = (4 * part.nx, part.ny // 2, part.nz // 2, part.nt // 2)
    policy = es.MDRangePolicy((sides, *extents) if sides else extents, iterate="left")
    kernel = dslash.dslash_of_many if sides else dslash.dslash
    arguments = dslash.Gauge(*links), source, result, source.data, dtype(1).real, 1, False
    try:
        found = es.explain(policy, kernel, *arguments, target="gfx942")
    except es.SpaceUnavailableError as error:
        pytest.skip(str(error))  # there is no compiler for it
    usage = found.resource_usage["es_for"]
    assert usage["spills"] == usage["local"] == 0
    assert usage["registers"] <= (128 if dtype == np.complex64 else 170)
    assert "nontemporal" in found.source
