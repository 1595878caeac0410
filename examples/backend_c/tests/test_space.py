"""What the conformance kit cannot know of this space: its compiler, its cache, its threads."""

import dataclasses
import os
import stat

import execspace as es
import numpy as np
import pytest

from execspace_backend_c.build import Toolchain
from execspace_backend_c.plugin import make_space, probe


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Libraries go to a folder of the test."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    return tmp_path / "backend_c"


@pytest.fixture
def own():
    """A space of this test, which knows no kernel yet."""
    return make_space(None)


def test_its_name_says_which_compiler_runs_the_threads(own):
    assert es.space("c").name == "c"
    assert own.threading_runtime().startswith(f"OpenMP of {own.toolchain.command[0]} ")


def test_there_are_no_devices():
    with pytest.raises(es.SpaceError, match="no devices to choose from, got 'c:1'"):
        make_space("1")


def test_without_a_compiler_the_probe_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    found = probe()
    assert not found.usable
    assert found.reason == "no C compiler (cc); on Debian and Ubuntu: apt install gcc, or set CC"


def test_cc_that_names_no_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    assert "CC='no-such-compiler -m64' is not there" in probe().reason
    with pytest.raises(es.SpaceUnavailableError, match="Space 'c': the C compiler CC="):
        make_space(None)


def _script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_compiler_that_knows_no_openmp(monkeypatch, tmp_path):
    script = _script(tmp_path / "simple", "echo no such option: -fopenmp >&2; exit 1")
    monkeypatch.setenv("CC", script)
    with pytest.raises(es.SpaceUnavailableError, match="no such option: -fopenmp"):
        make_space(None)


def test_cc_may_have_options(monkeypatch):
    monkeypatch.setenv("CC", "cc -DEXTRA=1")
    made = make_space(None)
    assert made.toolchain._macro("EXTRA") == "1"
    y = np.zeros(3)
    es.parallel_for(es.RangePolicy(3, space=made), axpy, 2.0, np.arange(3.0), y)
    assert y.tolist() == [0, 2, 4]


def test_an_error_of_the_compiler_names_the_line_of_the_kernel(own, monkeypatch):
    dialect = own.traits.dialect
    broken = dataclasses.replace(
        dialect,
        math=dataclasses.replace(
            dialect.math, functions={**dialect.math.functions, "sin": "not_there("}
        ),
    )
    monkeypatch.setitem(vars(own), "traits", dataclasses.replace(own.traits, dialect=broken))

    def sine(i, x):
        x[i] = np.sin(x[i])

    with pytest.raises(es.BackendCompileError) as caught:
        es.parallel_for(es.RangePolicy(3, space=own), sine, np.zeros(3))
    text = str(caught.value)
    assert "in kernel 'sine'" in text
    assert "not_there(" in text
    assert "test_space.py:" in text and "x[i] = np.sin(x[i])" in text


def test_a_fault_that_is_not_in_the_text_is_shown_as_it_is(own, tmp_path):
    script = _script(tmp_path / "full", "cat > /dev/null; echo cannot find -lgomp >&2; exit 1")
    own.toolchain = Toolchain((script,), own.toolchain.macros)
    with pytest.raises(es.BackendCompileError, match="cannot find -lgomp"):
        es.parallel_for(es.RangePolicy(3, space=own), axpy, 2.0, np.ones(3), np.ones(3))


class Compiles(es.profiling.Tool):
    """Notes for each compiled kernel whether it came from the disk."""

    def __init__(self):
        self.from_disk = []

    def on_compile(self, kernel, space, seconds, from_disk):
        self.from_disk.append(from_disk)


def test_libraries_are_kept_on_disk(own_cache):
    tool = Compiles()
    es.profiling.attach(tool)
    try:
        for _ in range(2):
            policy = es.RangePolicy(3, space=make_space(None))
            es.parallel_for(policy, axpy, 2.0, np.ones(3), np.ones(3))
    finally:
        es.profiling.detach(tool)
    assert tool.from_disk == [False, True]
    assert len(list(own_cache.glob("*.so"))) == 1


def test_a_damaged_library_is_made_again(own_cache):
    y = np.ones(3)
    for _ in range(2):
        for library in own_cache.glob("*.so"):
            library.unlink()
            library.write_bytes(b"damaged")
        policy = es.RangePolicy(3, space=make_space(None))
        es.parallel_for(policy, axpy, 2.0, np.ones(3), y)
    assert y.tolist() == [5, 5, 5]


def test_views_that_overlap_get_a_library_of_their_own(own, own_cache):
    x = np.ones(1001)
    policy = es.RangePolicy(1000, space=own)
    es.parallel_for(policy, axpy, 2.0, x[:-1].copy(), x[1:])
    assert len(list(own_cache.glob("*.so"))) == 1
    small = es.RangePolicy(1, space=own)  # its calls run one after the other
    es.parallel_for(small, axpy, 2.0, x[:-1], x[1:])
    assert len(list(own_cache.glob("*.so"))) == 2
    assert x[1] == 5.0


def test_a_child_process_needs_no_team(own):
    x = np.linspace(0, 1, 200_000)
    policy = es.RangePolicy(len(x), space=own)

    def total(i, x):
        return x[i] * x[i]

    expected = es.parallel_reduce(policy, total, x)
    child = os.fork()
    if child == 0:
        same = es.parallel_reduce(policy, total, x) == expected
        os._exit(0 if same and not own.has_team else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert own.has_team


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint16, np.float16, np.float32, np.complex64, np.complex128]
)
def test_results_of_all_sizes_come_back(own, dtype):
    if dtype is np.float16 and not own.capabilities.float16:
        pytest.skip("the compiler has no _Float16")
    x = np.array([3, 1, 2], dtype)
    policy = es.RangePolicy(3, space=own)
    found = es.parallel_reduce(policy, lambda i: x[i], reducer=es.Prod)
    assert found == np.prod(x)


def test_float16_is_rounded_at_each_operation(own):
    if not own.capabilities.float16:
        pytest.skip("the compiler has no _Float16")
    x = np.linspace(0.1, 3, 1000).astype(np.float16)
    y = np.zeros_like(x)

    @es.kernel(fma=False)  # processors that compute in float16 have multiply-adds of it, too
    def step(i, x, y):
        y[i] = np.sqrt(x[i]) * x[i] + x[i]

    es.parallel_for(es.RangePolicy(len(x), space=own), step, x, y)
    expected = np.zeros_like(x)
    es.parallel_for(es.RangePolicy(len(x), space="oracle"), step, x, expected)
    np.testing.assert_array_equal(y, expected)


def test_a_whole_complex128_has_no_atomic_step(own):
    z = np.zeros(1, np.complex128)
    policy = es.RangePolicy(3, space=own)
    es.parallel_for(policy, lambda i, z: es.atomic_add(z, 0, 1j), z)
    assert z[0] == 3j
    with pytest.raises(es.KernelTypeError, match="no atomic operation on a whole complex128"):
        es.parallel_for(policy, lambda i, z: es.atomic_exchange(z, 0, 1j), z)


@es.kernel(fma=False)
def halved(i, x, steps):
    v, n = x[i], 0
    while v > 1.0:
        v *= 0.5
        n += 1
    steps[i] = n


def test_kernels_run_in_lanes(own):
    x, steps = np.linspace(1, 1e6, 1001), np.zeros((2, 1001), np.int64)
    told = []
    for n, lanes in enumerate((1, 4)):
        policy = es.RangePolicy(1001, space=own, lanes=lanes)
        es.parallel_for(policy, halved, x, steps[n])
        found = es.explain(policy, halved, x, steps[n])
        told.append(found.vectorisation[0])
        assert ("vector_size(32)" in found.source) == (lanes == 4)
    assert told[0] == "not in lanes: one lane is asked for"
    assert told[1].startswith("4 calls at a time, of neighbouring i, in lanes")
    np.testing.assert_array_equal(steps[0], steps[1])
    np.testing.assert_array_equal(steps[0], np.ceil(np.log2(x)))


def test_the_compiler_says_what_vectors_there_are():
    macros = "#define __AVX2__ 1\n#define __AVX512F__ 1\n"
    assert Toolchain(("cc",), macros).vectors == {"avx2", "avx512f"}
    assert Toolchain(("cc",), "").vectors == set()
