"""Fixtures of the OpenCL plugin's tests: the space, and programs in interpreters of their own.

``--opencl-device 1.0`` chooses the device; without it the space `opencl` is tested.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap

import pytest

import execspace as es
from execspace import profiling


def pytest_addoption(parser):
    parser.addoption("--opencl-device", metavar="P.D", help="device of the OpenCL plugin's tests")


def pytest_configure(config):
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    cache = tempfile.TemporaryDirectory(prefix="execspace-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(cache.cleanup)
    environment.setenv("EXECSPACE_CACHE_DIR", cache.name)
    for name in ("DEFAULT", "PLUGINS", "STRICT", "TOOLS", "OPENCL_MAPPING", "OPENCL_MEMORY"):
        environment.delenv(f"EXECSPACE_{name}", raising=False)
    es.spaces()  # the plugin prepares the loader; test modules import pyopencl after that


def unusable():
    """Why the space cannot be used here, or None."""
    row = next((s for s in es.spaces() if s.name == "opencl"), None)
    return "the plugin is not loaded" if row is None else None if row.usable else row.reason


@pytest.fixture
def opencl(request):
    """The OpenCL space under test."""
    reason = unusable()
    if reason is not None:
        pytest.skip(reason)
    device = request.config.getoption("--opencl-device")
    return es.space(f"opencl:{device}" if device else "opencl")


@pytest.fixture
def flat_opencl(opencl, monkeypatch):
    """The same device with the mapping of GPUs; a space and a context of its own."""
    from execspace_opencl.space import space_of

    monkeypatch.setenv("EXECSPACE_OPENCL_MAPPING", "flat")
    space = space_of(opencl.found.place)
    assert space.device.flat
    return space


class Events(profiling.Tool):
    """Remembers what tools are told of copies."""

    def __init__(self):
        self.staged = []

    def on_staging(self, space, nbytes):
        self.staged.append(nbytes)


@pytest.fixture
def events():
    """What was told while the test ran."""
    tool = profiling.attach(Events())
    yield tool
    profiling.detach(tool)


@pytest.fixture
def python(tmp_path):
    """Run a program in a fresh interpreter; returns what it printed, fails if it fails."""

    def run(program, **environment):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        result = subprocess.run(
            [sys.executable, "-W", "error", str(path)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    return run
