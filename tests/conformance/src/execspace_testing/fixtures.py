"""What the suite's tests share: the `space` fixture, and a check that nothing leaks.

The suite loads this plugin; a test folder of one's own gets it with
``-p execspace_testing.fixtures``.
"""

from __future__ import annotations

import gc
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import execspace as es

_SETTINGS = ("DEFAULT", "PLUGINS", "STRICT", "TOOLS", "OPENMP_RUNTIME")


def pytest_configure(config: pytest.Config) -> None:
    """Kernels are compiled into a folder of this run, and settings of the user do not count."""
    config.addinivalue_line("markers", "slow: takes many seconds; leave out with -m 'not slow'")
    # How long an example takes says something about the machine and who else uses it.
    settings.register_profile("execspace", deadline=None)
    settings.load_profile("execspace")
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    # Processes of pytest-xdist take that of the first, and so do ranks.
    if not hasattr(config, "workerinput") and not hasattr(config, "ranks"):
        cache = tempfile.TemporaryDirectory(prefix="execspace-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(cache.cleanup)
        environment.setenv("EXECSPACE_CACHE_DIR", cache.name)
        # What the user has tuned is no business of tests. The folder is made by who tunes there.
        environment.setenv("EXECSPACE_TUNING_DIR", str(Path(cache.name, "tuning")))
    # Tests run side by side: a team that waits should not keep a core from the others.
    environment.setenv("OMP_WAIT_POLICY", "passive")
    for name in _SETTINGS:
        environment.delenv(f"EXECSPACE_{name}", raising=False)
    _check_spaces(config)


def _check_spaces(config: pytest.Config) -> None:
    """UsageError for a space that cannot be tested, instead of one error for each test."""
    known = {row.name: row for row in es.spaces()}
    for name in config.getoption("--space") or []:
        row = known.get(name.partition(":")[0])
        if row is None:
            listed = ", ".join(sorted(known)) or "none"
            raise pytest.UsageError(
                f"--space {name}: no such space is installed; installed spaces: {listed}. "
                f"'execspace plugins' says what became of each plugin."
            )
        if not row.usable:
            raise pytest.UsageError(f"--space {name} is not usable here: {row.reason}")
    if "oracle" not in known:
        raise pytest.UsageError(
            "the oracle, which results are compared with, is not installed: "
            "pip install -e plugins/serial in a checkout of execspace"
        )


def spaces_under_test(config: pytest.Config) -> list[str]:
    """Those named with `--space`, else every usable space and the oracle."""
    named = config.getoption("--space")
    if named:
        return list(named)
    rows = es.spaces()
    usable = [row.name for row in rows if row.usable and row.priority >= 0]
    return [*usable, *(row.name for row in rows if row.name == "oracle")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that takes `space` on every space under test."""
    if "space" in metafunc.fixturenames:
        metafunc.parametrize("space", spaces_under_test(metafunc.config), indirect=True)


@pytest.fixture
def space(request: pytest.FixtureRequest) -> es.ExecutionSpace:
    """The execution space under test."""
    return es.space(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Remember whether the test failed, for the check of leaks."""
    report = yield
    item.failed = getattr(item, "failed", False) or report.failed
    return report


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that passes leaves no allocation that was not there before."""
    before = Counter(es.live_allocations())
    yield
    if getattr(request.node, "failed", False):  # tracebacks keep Views alive
        return
    leaked = Counter(es.live_allocations()) - before
    if leaked:
        es.fence()
    for generation in range(3):  # the last takes long where thousands of kernels are compiled
        if not leaked:
            return
        gc.collect(generation)
        leaked = Counter(es.live_allocations()) - before
    assert not leaked, f"leaked: {', '.join(label or 'unnamed' for _, _, label in leaked)}"


@pytest.fixture
def tuning_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Tuned choices of a test are its own, and nothing is tuned unasked."""
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path / "tuning"))
    monkeypatch.delenv("EXECSPACE_TUNE", raising=False)
    es.tuning.store.forget()
    yield tmp_path / "tuning"
    es.tuning.store.forget()
