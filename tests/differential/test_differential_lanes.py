"""Random programs in lanes give the bits of the oracle, whatever the number of lanes."""

import pytest

from execspace_testing.suite.differential.compare import examine, run


@pytest.mark.parametrize(
    "lanes", [2, 8, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (4, 16, 64))]
)
def test_random_programs_agree_in_lanes(monkeypatch, lanes):
    monkeypatch.setenv("EXECSPACE_LANES", str(lanes))
    examine("serial", lambda program: run(program, "serial"))
