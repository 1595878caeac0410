"""The communicator of the tests of this level: one rank, unless a launcher starts more.

``mpiexec -n 4 python -m pytest -p execspace_testing.ranks --pyargs execspace_testing.suite.comm
--space mine`` runs them on four.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def comm() -> Iterator[Any]:
    """All ranks, checked; without MPI there is nothing to test."""
    escomm = pytest.importorskip("execspace_comm", reason="execspace-comm is not installed")
    try:
        found = escomm.Comm(checked=True)
    except Exception as error:
        pytest.skip(f"no MPI library: {error}")
    yield found
    found.trim()
