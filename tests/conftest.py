"""Fixtures that all integration tests share: spaces, fake plugins, and a check for leaks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter

import pytest

import execspace as es
from execspace import profiling, selection


def pytest_addoption(parser):
    parser.addoption(
        "--space",
        metavar="NAME",
        help="run tests of the `space` fixture on this space only (default: every usable space)",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes many seconds; leave out with -m 'not slow'")
    # Compiled kernels go to a folder of this run, and settings of the user do not count.
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    cache = tempfile.TemporaryDirectory(prefix="execspace-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(cache.cleanup)
    environment.setenv("EXECSPACE_CACHE_DIR", cache.name)
    # Tests run side by side: a team that waits should not keep a core from the others.
    environment.setenv("OMP_WAIT_POLICY", "passive")
    for name in ("DEFAULT", "PLUGINS", "STRICT", "TOOLS", "OPENMP_RUNTIME"):
        environment.delenv(f"EXECSPACE_{name}", raising=False)


def pytest_generate_tests(metafunc):
    if "space" in metafunc.fixturenames:
        only = metafunc.config.getoption("--space")
        usable = [s.name for s in es.spaces() if s.usable and s.priority >= 0]
        metafunc.parametrize("space", [only] if only else [*usable, "oracle"], indirect=True)


@pytest.fixture
def space(request):
    """Each usable execution space in turn, and the oracle."""
    return es.space(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.failed = getattr(item, "failed", False) or report.failed
    return report


@pytest.fixture(autouse=True)
def no_leaks(request):
    """A test that passes leaves no allocation that was not there before."""
    before = Counter(es.live_allocations())
    yield
    leaked = Counter(es.live_allocations()) - before
    if leaked and not request.node.failed:  # a traceback keeps the Views of a failed test alive
        es.fence()
        gc.collect()
        leaked = Counter(es.live_allocations()) - before
        assert not leaked, f"leaked: {', '.join(label or 'unnamed' for _, _, label in leaked)}"


@pytest.fixture
def fresh_selection(monkeypatch):
    """Plugins and environment are read again, before the test and after it."""
    tools = profiling.TOOLS
    selection.forget()
    yield selection.forget
    selection.forget()
    for tool in set(profiling.TOOLS) - set(tools):
        profiling.detach(tool)


@pytest.fixture
def fake_plugin(tmp_path, monkeypatch, fresh_selection):
    """Install a distribution with one module and one entry point for the length of a test.

    ``fake_plugin(name, source)`` puts ``<name>_plugin.py`` and its dist-info on sys.path.
    """
    modules = []

    def install(name, source, *, distribution=None, version="1.0"):
        distribution = distribution or f"execspace-{name}"
        folder = tmp_path / distribution
        info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        module = f"{distribution.replace('-', '_')}_plugin"
        text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)
        (info / "entry_points.txt").write_text(f"[execspace]\n{name} = {module}\n")
        (folder / f"{module}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(folder)  # also clears the caches of importlib
        modules.append(module)
        fresh_selection()
        return module

    yield install
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
def python(tmp_path):
    """Run a program in a fresh interpreter; returns what it printed, fails if it fails.

    Programs are files, because kernels need their source.
    """

    def run(program, *, timeout=60, **environment):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        result = subprocess.run(
            [sys.executable, "-W", "error", str(path)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    return run
