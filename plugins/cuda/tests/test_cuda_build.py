"""Compiling with NVRTC, which needs no GPU: options, what they do to the code, and the cache."""

from __future__ import annotations

import dataclasses
import re

import pytest

import execspace as es
from execspace.contract.launch_spec import policy_spec
from execspace.reducers.base import as_reducer, reducer_captures
from execspace_compiler.backend import CUDA, lower_kernel
from execspace_compiler.cache import disk
from execspace_compiler.codegen.cfamily.device_kernel import DeviceKernel
from execspace_compiler.launch.device_code import device_code
from execspace_compiler.mapping.variant import Variant

reason = "CuPy is not installed: pip install cupy-cuda13x nvidia-cuda-nvrtc"
pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason=reason)

from execspace_cuda import build  # noqa: E402
from execspace_cuda.build import NVRTC  # noqa: E402
from execspace_gpu import compiling  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Each test compiles into a folder of its own."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def axpy(i, a, x, y):
    y[i] = y[i] + a * x[i]


@es.function(fma=False)
def exactly(a, b):
    return a * b + a


def strict(i, a, x, y):
    y[i] = exactly(x[i], y[i]) * a + x[i]


class Exact(es.Reducer):
    """A sum whose join is compiled strictly."""

    identity = 0.0

    def join(a, b):
        return exactly(a, b)


def value(i, a, x, y):
    return a * x[i] + y[i]


def text(kernel, dtype="float32", reducer=None, **options):
    """Text of a launch on a number and two Views."""
    view = es.ViewType(dtype, 1, "right", 0, False, "cuda")
    types = (es.ScalarType(dtype, False), view, view)
    given = None if reducer is None else as_reducer(reducer)
    captures = () if given is None else reducer_captures(given)
    pattern = "for" if given is None else "reduce"
    spec = es.LaunchSpec(pattern, policy_spec("range", 1), types, captures, reducer=given)
    lowered = lower_kernel(es.Kernel(kernel, **options), spec)
    return device_code(DeviceKernel(lowered, CUDA), Variant(narrow=True, group=128))


def binary(found, capability, load=bytes, refused=()):
    """A source compiled as the space does it."""
    return compiling.compile_code(found, NVRTC, capability, "cuda", load, refused)


def ptx(found):
    """PTX of a text, with the options that it is compiled with."""
    options = [o for o in NVRTC.options(found, "90") if not o.startswith("-arch")]
    return NVRTC.compile(found.source, ["-arch=compute_90", *options]).decode()


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "options", "expected"),
    [
        (axpy, {}, []),
        (axpy, {"fma": False}, ["-fmad=false"]),
        (axpy, {"fastmath": True}, ["-use_fast_math"]),
        (axpy, {"fma": False, "fastmath": True}, ["-fmad=false", "-use_fast_math"]),
        (strict, {}, ["-fmad=false"]),
        (strict, {"fastmath": True}, ["-fmad=false"]),
    ],
)
def test_options(kernel, options, expected):
    found = NVRTC.options(text(kernel, **options), "90")
    assert found == ["-arch=sm_90", "-std=c++17", "-w", "-minimal", *expected]


def test_a_strict_function_of_a_reducer_counts():
    assert "-fmad=false" in NVRTC.options(text(value, "float64", Exact), "90")
    assert "-fmad=false" not in NVRTC.options(text(value, "float64", es.Sum), "90")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multiplications_and_additions_are_contracted_unless_forbidden(dtype):
    assert re.search(r"\bfma\.rn\.f", ptx(text(axpy, dtype)))
    for apart in (text(axpy, dtype, fma=False), text(strict, dtype)):
        found = ptx(apart)
        assert not re.search(r"\bfma\.", found)
        assert re.search(r"\bmul\.(rn\.)?f", found) and re.search(r"\badd\.(rn\.)?f", found)


def small(i, a, x, y):
    y[i] = (x[i] + 1e-40) * a / y[i]


def test_subnormal_numbers_are_kept():
    """CuPy's own way of compiling flushes them to zero, and so does fast-math."""
    found = ptx(text(small))
    assert ".ftz" not in found and "div.rn.f32" in found
    assert "0f000116C2" in found  # the constant 1e-40 itself
    assert ".ftz" in ptx(text(small, fastmath=True))


def steps(i, a, x, y):
    es.atomic_add(x, 0, a)
    es.atomic_sub(y, 0, a)


def asked(i, a, x, y):
    y[i] = es.atomic_fetch_add(x, 0, a)


def test_atomic_steps_of_float32_keep_them_too():
    """The instruction that adds a float32 in memory flushes them, but tells what was there: what it
    has lost is added by exchanges. A result must be that of one step, which is exchanged."""
    found = ptx(text(steps, "float32"))
    assert ".cas.b32" in found and re.search(r"\batom\S*\.add\S*\.f32", found)
    assert not re.search(r"\bred\S*\.add\S*\.f32", found)
    found = ptx(text(asked, "float32"))
    assert ".cas.b32" in found and not re.search(r"\b(atom|red)\S*\.add\S*\.f32", found)
    assert re.search(r"\b(atom|red)\S*\.add\S*\.f64", ptx(text(steps, "float64")))


# -- targets --------------------------------------------------------------------------------------


def test_a_known_device_gets_machine_code():
    assert build.target("80") == ("-arch=sm_80", True)
    assert binary(text(axpy), "80").loaded[:4] == b"\x7fELF"


def test_a_device_newer_than_the_compiler_gets_ptx():
    option, is_machine_code = build.target("999")
    assert re.fullmatch(r"-arch=compute_\d+", option) and not is_machine_code
    code = binary(text(axpy), "999").loaded.decode()
    assert code.startswith("//\n")
    assert f".target sm_{option.rpartition('_')[2]}" in code and ".entry es_for(" in code


def test_a_device_between_two_known_ones_gets_ptx_of_the_older():
    assert build.target("81") == ("-arch=compute_80", False)


def test_a_device_older_than_the_compiler_knows_is_refused():
    expected = r"cannot compile for a device of compute capability 3\.5; the oldest .* is \d+\. "
    with pytest.raises(es.BackendCompileError, match=f"NVRTC .* {expected}Install CuPy for an old"):
        build.target("35")


# -- the cache on disk ----------------------------------------------------------------------------


def test_what_was_compiled_is_found_again(cache):
    first = binary(text(axpy), "90")
    again = binary(text(axpy), "90")
    assert (first.from_disk, again.from_disk) == (False, True)
    assert first.loaded == again.loaded
    (stored,) = (cache / "cuda").glob("*.bin")
    assert disk.read(stored) == first.loaded


def test_all_that_the_code_depends_on_is_part_of_the_name(monkeypatch):
    binary(text(axpy), "90")
    others = [(text(axpy, fma=False), "90"), (text(axpy), "80"), (text(axpy, "float64"), "90")]
    assert [binary(*other).from_disk for other in others] == [False] * 3
    monkeypatch.setattr(build, "compiler_version", lambda: "99.9")
    assert not binary(text(axpy), "90").from_disk


def test_a_stored_file_that_is_damaged_is_compiled_again(cache):
    code = binary(text(axpy), "90").loaded
    (stored,) = (cache / "cuda").glob("*.bin")
    stored.write_bytes(b"damaged")
    found = binary(text(axpy), "90")
    assert (found.loaded, found.path, found.from_disk) == (code, stored, False)
    assert disk.read(stored) == code


def test_a_stored_file_that_the_driver_refuses_is_compiled_again(cache):
    code = binary(text(axpy), "90").loaded
    (stored,) = (cache / "cuda").glob("*.bin")
    disk.keep(stored, b"of another driver")
    assert binary(text(axpy), "90").loaded == b"of another driver"  # only loading finds out

    def load(content):
        if content == b"of another driver":
            raise RuntimeError
        return content

    found = binary(text(axpy), "90", load, (RuntimeError,))
    assert (found.loaded, found.from_disk) == (code, False)
    assert disk.read(stored) == code


# -- what the compiler refuses --------------------------------------------------------------------


def test_what_nvrtc_refuses_is_shown_with_the_users_line():
    found = text(axpy)
    broken = [
        type(line)(line.replace("= ", "= no_such_number + "), line.loc)
        if getattr(line, "loc", None) and "y[i] =" in line
        else line
        for line in found.lines
    ]
    with pytest.raises(es.BackendCompileError) as refused:
        binary(dataclasses.replace(found, lines=tuple(broken)), "90")
    said = str(refused.value)
    assert "in kernel 'axpy'" in said
    assert 'identifier "no_such_number" is undefined' in said
    assert "test_cuda_build.py:" in said and "y[i] = y[i] + a * x[i]" in said
    assert f"NVRTC {NVRTC.version()} with -arch=sm_90" in said
    assert said.endswith("please report it.")


def test_a_fault_without_a_line_is_shown_whole(cache):
    found = dataclasses.replace(text(axpy), lines=("#error no line of ours",), locs=(None,))
    with pytest.raises(es.BackendCompileError, match="no line of ours"):
        binary(found, "90")
    assert not list(cache.rglob("*.bin"))  # nothing is stored
