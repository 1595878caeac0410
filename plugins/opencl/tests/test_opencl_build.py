"""Building: what a driver refuses, what a device cannot do, and the cache on disk."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import execspace as es

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

from pyopencl.characterize import has_src_build_cache  # noqa: E402

from execspace_opencl import program as programs  # noqa: E402


def test_what_the_driver_refuses_is_shown_with_the_users_line(opencl, monkeypatch):
    dialect = opencl.device.traits.dialect
    broken = dataclasses.replace(
        dialect,
        math=dataclasses.replace(
            dialect.math, functions={**dialect.math.functions, "sqrt": "no_such_number +"}
        ),
    )
    traits = dataclasses.replace(opencl.device.traits, dialect=broken)
    monkeypatch.setitem(vars(opencl.device), "traits", traits)

    def root(i, x):
        y = x[i] + 1
        x[i] = np.sqrt(y)

    x = es.View(3, space=opencl, memory="device")
    with pytest.raises(es.BackendCompileError) as refused:
        es.parallel_for(es.RangePolicy(3, space=opencl), root, x)
    said = str(refused.value)
    assert "in kernel 'root'" in said and "no_such_number" in said
    assert "x[i] = np.sqrt(y)" in said and "test_opencl_build.py" in said
    assert f"device {opencl.found}" in said


def test_whole_complex128_steps_are_refused(opencl):
    def swap(i, z):
        es.atomic_exchange(z, 0, 1j)

    z = es.View(1, es.complex128, space=opencl, memory="device")
    with pytest.raises(es.KernelTypeError, match="no atomic operation on a whole complex128"):
        es.parallel_for(es.RangePolicy(3, space=opencl), swap, z)


def test_float16_is_refused_where_a_space_says_that_it_has_none(opencl, monkeypatch):
    monkeypatch.setattr(
        opencl, "capabilities", dataclasses.replace(opencl.capabilities, float16=False)
    )

    def twice(i, x):
        x[i] = x[i] * 2

    x = es.View(3, es.float16, space=opencl, memory="device")
    with pytest.raises(es.KernelTypeError, match="cannot compute with float16"):
        es.parallel_for(es.RangePolicy(3, space=opencl), twice, x)


PROGRAM = """
    import time
    import execspace as es

    def cube(i, x):
        x[i] = x[i] ** 3 + es.{name}(0.5)

    space = es.space("{space}")
    x = es.View(8, space=space, memory="device")
    started = time.perf_counter()
    es.parallel_for(es.RangePolicy(8, space=space), cube, x)
    es.fence()
    print(time.perf_counter() - started)
"""


def stored(folder):
    """Files of a cache but its tag; PoCL leaves temporary ones beside them."""
    files = (p for p in Path(folder).rglob("*") if p.is_file() and p.name != "CACHEDIR.TAG")
    return {p for p in files if not p.name.startswith("tempfile")}


def test_a_second_process_finds_what_the_first_one_built(opencl, python, tmp_path, monkeypatch):
    chosen = tmp_path / "cache"
    environment = {"EXECSPACE_CACHE_DIR": str(chosen)}
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    program = PROGRAM.format(name="float64", space=opencl.name)
    python(program, **environment)
    files = stored(chosen)
    pocl = "Portable Computing Language" in opencl.device.handle.platform.name
    if has_src_build_cache(opencl.device.handle) and not pocl:
        pytest.skip("this driver keeps what it builds in a folder of its own")
    assert files, "nothing was stored"
    python(program, **environment)
    assert stored(chosen) == files  # nothing was built anew
    if pocl:
        assert any("pocl" in p.parts for p in files)


def test_binaries_are_kept_and_broken_ones_built_again(opencl, monkeypatch, tmp_path):
    """As drivers without a cache of their own need it."""
    source = "__kernel void store(__global int *x) { x[get_global_id(0)] = 7; }"
    monkeypatch.setattr(programs, "has_src_build_cache", lambda device: False)
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    built = []
    real = programs._build
    monkeypatch.setattr(programs, "_build", lambda p, options: built.append(p) or real(p, options))

    def run():
        built.clear()
        program = programs.build(opencl.device, source, []).loaded
        x = es.View(4, es.int32, space=opencl, memory="device")
        program.store(opencl.queue.handle, (4,), None, opencl.device.buffers[x.allocation.pointer])
        result = np.zeros(4, np.int32)
        es.deep_copy(result, x)
        assert (result == 7).all()
        return len(built)

    assert run() == 1
    (path,) = tmp_path.rglob("*.bin")
    kept = path.read_bytes()
    assert run() == 1 and path.read_bytes() == kept
    path.write_bytes(b"no program")
    run()
    assert path.read_bytes() != b"no program"
    assert not list(tmp_path.rglob("*.tmp"))


class _Talking:
    """A program whose compiler says something to a text that it accepts."""

    def __init__(self):
        self.builds, self.meeting = itertools.count(), threading.Barrier(2)

    def build(self, options, cache_dir):
        late = next(self.builds) % 2
        # Threads that build at the same time meet here, and the one that came later goes on when
        # the other is done. Of those that build one after the other the first waits in vain.
        with contextlib.suppress(threading.BrokenBarrierError):
            self.meeting.wait(0.2)
        time.sleep(0.1 * late)
        warnings.warn("the compiler is talkative", cl.CompilerWarning, stacklevel=1)
        return self


def test_threads_that_build_at_once_show_no_warnings_and_keep_the_filters_of_the_process():
    program = _Talking()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        builds = [threading.Thread(target=programs._build, args=(program, [])) for _ in range(2)]
        for thread in builds:
            thread.start()
        for thread in builds:
            thread.join()
        assert warnings.filters == before
    assert shown == []
