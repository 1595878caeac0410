"""Level "comm" of the kit, and this package's own parallel tests, under MPI on 2 to 7 ranks.

One rank needs no launcher: the kit's own run has it. Ranks share two cores, so they take turns.
"""

from __future__ import annotations

from pathlib import Path

import launchers
import pytest

FOUND = launchers.launchers()
PARALLEL = Path(__file__).parent / "parallel"
KIT = "execspace_testing.suite.comm"
ALL = (KIT, str(PARALLEL))
# All of it on three ranks; with the other library, on more and on other spaces what differs there.
JOBS = [
    ("openmpi", 3, "serial", ALL),
    ("mpich", 2, "serial", (f"{KIT}.test_rank_messages", f"{KIT}.test_rank_collectives")),
    ("openmpi", 7, "serial", (f"{KIT}.test_halos",)),
    ("openmpi", 2, "openmp,opencl", (f"{KIT}.test_halos",)),
    ("openmpi", 4, "serial", (f"{KIT}.test_joined_reductions",)),
    ("mpich", 5, "serial", (f"{KIT}.test_rank_collectives",)),
    ("openmpi", 6, "serial", (f"{KIT}.test_rank_messages",)),
    pytest.param("mpich", 5, "serial", ALL, marks=pytest.mark.exhaustive),
    pytest.param("openmpi", 4, "serial,openmp,opencl", ALL, marks=pytest.mark.exhaustive),
    pytest.param("mpich", 7, "serial", ALL, marks=pytest.mark.exhaustive),
    pytest.param("openmpi", 6, "serial", ALL, marks=pytest.mark.exhaustive),
]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A folder of compiled kernels for all jobs of a run."""
    folder = tmp_path_factory.getbasetemp().parent / "comm-kernels"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("library", "ranks", "spaces", "what"), JOBS)
def test_a_job(library, ranks, spaces, what, compiled, request):
    if library not in FOUND:
        pytest.skip(f"no {library} here")
    if "opencl" in spaces:
        import execspace as es

        if not any(row.name == "opencl" and row.usable for row in es.spaces()):
            pytest.skip("no OpenCL here")
    all_of_it = request.node.get_closest_marker("exhaustive") is not None
    status, output = FOUND[library].run(
        ranks, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "-p", "no:xdist",
        "-p", "execspace_testing.ranks", "--rank-spaces", spaces, "-o", "execspace_levels=",
        *(("-m", "") if all_of_it else ()), "--pyargs", *what,
        RANKS_KERNEL_CACHE=str(compiled), seconds=400,
    )  # fmt: skip
    assert status == 0, output[-6000:]
    assert " passed" in output
