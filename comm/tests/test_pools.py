"""Ranks that wait for calls, mpi4py.futures: kernels run on them, and results come back."""

from __future__ import annotations

from pathlib import Path

import launchers
import pytest

FOUND = launchers.launchers()
PROGRAM = Path(__file__).parents[2] / "examples" / "distributed" / "sweep.py"


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_a_sweep(library):
    if library not in FOUND:
        pytest.skip(f"no {library} here")
    status, output = FOUND[library].run(
        3, "-m", "mpi4py.futures", PROGRAM, "--count", "4", EXECSPACE_DEFAULT="serial"
    )
    assert status == 0, output
    lines = output.strip().splitlines()
    assert len(lines) == 5
    times = {float(line.split()[0]): float(line.split()[1]) for line in lines[1:]}
    # Half of the heat of a bar whose ends are cold is gone at 0.0492 / diffusivity; this one has
    # 201 steps between its ends, and looks every 20 steps of time.
    for diffusivity, time in times.items():
        assert abs(time * diffusivity - 0.0492 * 1.02) < 0.001
    assert all(line.endswith("serial") for line in lines[1:])
