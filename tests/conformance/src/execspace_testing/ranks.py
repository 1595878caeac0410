"""pytest on several ranks at once: `mpiexec -n 4 python -m pytest -p execspace_testing.ranks ...`.

All ranks run the same tests in the same order, so tests may send each other messages. The first
one reports. A test that fails on any rank ends the job there, with its traceback: the others may
wait for its messages. ``--rank-spaces serial,openmp`` gives ranks different spaces in turn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rank-spaces`."""
    parser.getgroup("execspace").addoption(
        "--rank-spaces",
        metavar="NAMES",
        help="spaces of ranks in turn, in place of --space: serial,openmp",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """One folder of compiled kernels for all ranks, the space of this one, one that reports."""
    import os
    import tempfile

    from mpi4py import MPI

    world = MPI.COMM_WORLD
    config.ranks = world.Get_size()
    # Ranks of a test may share what there is.
    config.addinivalue_line("filterwarnings", "ignore:.* ranks of this host share")
    if config.getoption("--rank-spaces"):
        names = config.getoption("--rank-spaces").split(",")
        config.option.space = [names[world.Get_rank() % len(names)]]
    # Folders of tests: pytest removes old ones of other processes, and ranks would do so at once.
    if world.Get_size() > 1 and not config.option.basetemp:
        own = tempfile.TemporaryDirectory(prefix="execspace-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(own.cleanup)
        config.option.basetemp = os.path.join(own.name, "tests")
    folder = os.environ.get("RANKS_KERNEL_CACHE")
    if not folder:
        cache = None
        if world.Get_rank() == 0:
            cache = tempfile.TemporaryDirectory(
                prefix="execspace-tests-", ignore_cleanup_errors=True
            )
            config.add_cleanup(cache.cleanup)
        folder = world.bcast(cache.name if cache is not None else None)
    os.environ["EXECSPACE_CACHE_DIR"] = folder
    os.environ["EXECSPACE_TUNING_DIR"] = os.path.join(folder, "tuning")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: Any) -> None:
    """All ranks but the first are silent."""
    from mpi4py import MPI

    config = session.config
    if MPI.COMM_WORLD.Get_rank():
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)


def pytest_runtest_logreport(report: Any) -> None:
    """End the job at the first failure."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if report.failed and world.Get_size() > 1:
        sys.stderr.write(
            f"\n{report.nodeid} failed on rank {world.Get_rank()} of {world.Get_size()}, in "
            f"{report.when}:\n{report.longreprtext}\n{report.capstderr}\n"
        )
        sys.stderr.flush()
        world.Abort(1)


def pytest_sessionfinish(session: Any) -> None:
    """Ranks end together, and none removes what others still use."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()


@pytest.fixture
def comm() -> Iterator[Any]:
    """All ranks, checked."""
    import execspace_comm as escomm

    yield (found := escomm.Comm(checked=True))
    found.trim()


@pytest.fixture
def space_name(space: Any) -> str:
    """The name of the space of this rank."""
    return str(space.name)
