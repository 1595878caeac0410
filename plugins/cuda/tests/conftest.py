"""Fixtures of the CUDA plugin's tests: the space, delays on streams, and programs of their own.

Without a GPU every test that takes `cuda`, itself or through another fixture, skips and says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from importlib import import_module

import numpy as np
import pytest

import execspace as es
from execspace import profiling


def pytest_configure(config):
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    environment.delenv("EXECSPACE_CUDA_BLOCKING", raising=False)  # it would hide wrong orders
    environment.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Each test compiles into a folder of its own, tmp_path / "cache"."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))


def unusable():
    """Why the space cannot be used here, or None."""
    row = next((s for s in es.spaces() if s.name == "cuda"), None)
    return "the plugin is not loaded" if row is None else None if row.usable else row.reason


@pytest.fixture
def cuda():
    """The space of the first GPU."""
    reason = unusable()
    if reason is not None:
        pytest.skip(reason)
    return es.space("cuda")


@pytest.fixture
def second_cuda(cuda):
    """The space of the second GPU."""
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    return es.space("cuda:1")


@pytest.fixture(params=["space", "instance"])
def queue(request, cuda):
    """The default stream, and a stream of its own."""
    return cuda if request.param == "space" else cuda.instance()


def imported(name):
    """A library, or skip; what it warns of is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(name)
        except ImportError as error:
            pytest.skip(f"{name} cannot be imported: {error}")


@pytest.fixture
def cupy(cuda):
    return imported("cupy")


@pytest.fixture
def torch(cuda):
    found = imported("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return found


@pytest.fixture
def numba_cuda(cuda):
    found = imported("numba.cuda")
    if not found.is_available():
        pytest.skip("Numba cannot use the GPU")
    return found


@pytest.fixture
def jax(cuda):
    found = imported("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if found.default_backend() != "gpu":
            pytest.skip("this JAX has no CUDA")
    return found


# The clock of the device, not that of a multiprocessor: where processes take turns, a block may go
# on upon another multiprocessor, whose cycles were counted from elsewhere.
_SPIN = """
__device__ long long now() {
    long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

extern "C" __global__ void spin(long long time, double *x, long long n, double value) {
    const long long begin = now();
    while (now() - begin < time) {}
    for (long long i = 0; i < n; ++i) x[i] = value;
}
"""


class Delay:
    """Keeps a stream busy for some 50 ms, and stores a number into float64 elements at the end."""

    def __init__(self, cupy):
        self.cupy, self.kernel = cupy, cupy.RawKernel(_SPIN, "spin")
        self(None)  # compiles
        cupy.cuda.Device().synchronize()

    def __call__(self, where, value=0.0, milliseconds=50):
        """On CuPy's current stream. `where` is a contiguous array or View, or None."""
        address, n = 0, 0
        if where is not None:
            address = where.data_ptr if isinstance(where, es.View) else where.data.ptr
            n = where.size
        numbers = np.int64(milliseconds * 1_000_000), np.uint64(address), np.int64(n)
        self.kernel((1,), (1,), (*numbers, np.float64(value)))

    def on(self, space, where=None, value=0.0, milliseconds=50):
        """On the stream of a space or instance."""
        with space.stream_object:
            self(where, value, milliseconds)


@pytest.fixture
def delay(cupy):
    return Delay(cupy)


class Events(profiling.Tool):
    """Remembers what tools are told of staging, and how much memory was allocated at a time."""

    def __init__(self):
        self.staged, self.live, self.most = [], {}, {}

    def on_staging(self, space, nbytes):
        self.staged.append((space, nbytes))

    def on_allocate(self, space, label, nbytes):
        self.live[space] = self.live.get(space, 0) + nbytes
        self.most[space] = max(self.most.get(space, 0), self.live[space])

    def on_free(self, space, label, nbytes):
        self.live[space] = self.live.get(space, 0) - nbytes


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
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    return run
