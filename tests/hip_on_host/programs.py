"""Launches the kernels of texts.py through the pretended CuPy; prints what came out, as JSON.

    python programs.py PROGRAM ...

A program's outcome is "right", "wrong: ..." if results are, or the name and text of an error.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
from functools import partial
from typing import Any

import cupy
import numpy as np
import pytest
from cupy_backends.cuda.api import driver, runtime
from cupy_backends.cuda.libs import nvrtc
from pretended import machine
from texts import FAULTY, RIGHT

DEVICE = runtime.getDeviceProperties(0)
WAVE = DEVICE["warpSize"]


class Refused(Exception):
    """hiprtc refused a text; its log."""


def compiled(text: str) -> bytes:
    """As the plugin for HIP does it."""
    program = nvrtc.createProgram(text.replace("LANES", str(WAVE - 1)), "kernel.hip", (), ())
    try:
        try:
            options = f"--offload-arch={DEVICE['gcnArchName'].decode()}", "-O3", "-std=c++17"
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            raise Refused(nvrtc.getProgramLog(program)) from None
        return nvrtc.getPTX(program) + b"\0"
    finally:
        nvrtc.destroyProgram(program)


def loaded(text: str) -> Any:
    """The module of a text."""
    module = cupy.cuda.function.Module()
    module.load(compiled(text))
    return module


def launch(text: Any, name: str, grid: Any, group: Any, *given: Any, shared: int = 0) -> None:
    """Launch a kernel of a text or module; arrays are given by their address, objects as such."""
    module = loaded(text) if isinstance(text, str) else text
    own = [ctypes.c_void_p(g.data.ptr) if isinstance(g, cupy.ndarray) else g for g in given]
    table = (ctypes.c_void_p * max(len(own), 1))(*map(ctypes.addressof, own))
    grid, group = (n if isinstance(n, tuple) else (n, 1, 1) for n in (grid, group))
    function = module.get_function(name).ptr
    driver.launchKernel(function, *grid, *group, shared, 0, ctypes.addressof(table), 0)


def same(found: Any, expected: Any) -> str:
    """Say "right" if two arrays are equal."""
    found = found.get() if isinstance(found, cupy.ndarray) else found
    if np.array_equal(found, expected, equal_nan=np.asarray(expected).dtype.kind == "f"):
        return "right"
    return f"wrong: {np.asarray(found).ravel()[:8]} is not {np.asarray(expected).ravel()[:8]}"


class AddArgs(ctypes.Structure):
    _fields_ = (("units", ctypes.c_longlong), ("a", ctypes.c_double))


def add(text: str) -> str:
    n = 1000
    x, y = cupy.arange(n, dtype=np.float64), cupy.ones(n)
    launch(text, "es_for", -(-n // 128), 128, AddArgs(n, 2.0), x, y)
    return same(y, 2.0 * np.arange(n) + 1)


def reduce(text: str) -> str:
    n, groups = 10000, 7
    x, scratch = cupy.arange(n, dtype=np.float64), cupy.zeros(64 + 16 * groups, np.uint8)
    launch(text, "es_reduce", groups, 256, ctypes.c_longlong(n), x, scratch)
    return same(scratch.get()[16:24].view(np.float64), [n * (n - 1) / 2])


def wave(text: str) -> str:
    x = np.random.default_rng(1).integers(0, 100, 256).astype(np.int32)
    y = cupy.zeros(256, np.int32)
    pairs = cupy.zeros((256, 2), np.int64)
    launch(text, "es_wave", 1, 256, cupy.asarray(x), y, pairs)
    told = same(y, np.repeat(x.reshape(-1, WAVE).sum(1), WAVE))
    source = np.arange(256) ^ 5
    return told if told != "right" else same(pairs[:, 0], source * 10**10)


def histogram(text: str) -> str:
    x = np.random.default_rng(2).integers(0, 10, 1024).astype(np.int32)
    y, z = cupy.zeros(10, np.int32), cupy.zeros(1)
    launch(text, "es_for", 4, 256, cupy.asarray(x), y, z)
    told = same(y, np.bincount(x, minlength=10))
    return told if told != "right" else same(z, [512.0])


def dynamic(text: str) -> str:
    x = cupy.arange(256, dtype=np.float64)
    launch(text, "es_for", 2, 128, x, shared=1024)
    return same(x, np.arange(256.0).reshape(2, 128)[:, ::-1].ravel())


def axes(text: str) -> str:
    x = cupy.zeros((6, 4, 8), np.int32)
    launch(text, "es_for", (2, 2, 3), (4, 2, 2), x)
    z, y, x0 = np.indices((6, 4, 8))
    return same(x, 10000 * x0 + 100 * y + z)


def tell(text: str) -> str:
    count, flags, x = cupy.zeros(1, np.int32), cupy.zeros(8, np.uint64), cupy.zeros(512, np.int64)
    launch(text, "es_scan", 8, 64, count, flags, x)
    return same(x, (64 * np.arange(8)[:, None] + np.arange(64) + 1).ravel())


def fence(text: str) -> str:
    x, flag = cupy.zeros(2), cupy.zeros(1, np.int32)
    launch(text, "es_for", 2, 64, x, flag)
    return same(x, [3.0, 3.0])


def order(text: str) -> str:
    """The order in which work-items ran, before a barrier and after it."""
    count, x = cupy.zeros(1, np.int32), cupy.zeros(256, np.int32)
    launch(text, "es_for", 2, 64, count, x)
    return " ".join(map(str, x.get()))


def numbers(text: str) -> str:
    rng = np.random.default_rng(3)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    exact = np.nan_to_num(halves.astype(np.float64), posinf=65536, neginf=-65536)
    between = np.sort(exact)
    between = np.concatenate([(between[1:] + between[:-1]) / 2, [0.0]])  # ties
    x = np.where(rng.random(65536) < 0.3, between, between * (1 + rng.normal(0, 1e-9, 65536)))
    x[:6] = np.inf, -np.inf, np.nan, 1e300, 65519.999999, 2.0**-25
    bits, wide = cupy.zeros(65536, np.uint16), cupy.zeros(65536, np.float32)
    found, found32 = cupy.zeros(15), cupy.zeros(5, np.float32)
    launch(text, "es_for", 1, 1, cupy.asarray(x), bits, wide, found, found32)
    with np.errstate(over="ignore"):
        told = same(bits.get().view(np.float16), x.astype(np.float16))
    if told != "right":
        return told
    if (told := same(wide, halves.astype(np.float32))) != "right":
        return told
    a = 0.3
    expected = [
        math.sqrt(a), math.exp2(a), math.log1p(a), math.asinh(a), math.erfc(a), math.gamma(a),
        math.lgamma(a), 2.0, math.atan2(a, 2), a**2.5, -a, 1.5, 1, 1, 0,
    ]  # fmt: skip
    if not np.allclose(found.get(), expected, rtol=1e-14, atol=0):
        return f"wrong: {found} is not {expected}"
    b = np.float32(0.3)
    above = np.nextafter(np.float32(1), np.float32(2))
    expected32 = [np.sin(b), b ** np.float32(2.5), b, np.cbrt(b), above]
    close = np.allclose(found32.get(), expected32, rtol=2e-7, atol=0)
    return "right" if close else f"wrong: {found32} is not {expected32}"


def atomics(text: str) -> str:
    after = 22, 2, 10, 10, 12, 8, 14, 6  # of _STEPS in texts.py
    expected = [v for step in after for v in (12, step)] + [12, 3, 3, 3]
    module = loaded(text)
    for n in range(6):
        x = cupy.zeros(20)
        launch(module, f"es_{n}", 1, 1, x)
        own = [v if n < 4 or not 10 <= k < 16 else 0 for k, v in enumerate(expected)]
        if (told := same(x, own)) != "right":
            return f"type {n}: {told}"
    return "right"


def faulty(name: str) -> str:
    """A launch that has two arrays of 64 zeros, by one group, or by two if these are at fault."""
    text = FAULTY[name]
    x, y = cupy.zeros(64), cupy.zeros(64)
    if name == "overflow":
        x = cupy.full(3, 2**31 - 1, np.int32)
    shared = 1000 if "_ES_GROUP_MEMORY" in text else 0
    bound = int(text.partition("_ES_KERNEL(")[2].partition(")")[0])
    launch(text, "es_for", 2 if name == "race" else 1, bound, x, y, shared=shared)
    return f"no fault; x[0] is {x.get()[0]!r}"


def too_large() -> str:
    launch(RIGHT["add"], "es_for", 1, 256, AddArgs(1, 2.0), cupy.zeros(1), cupy.zeros(1))
    return "no fault"


def in_order() -> str:
    """A group takes its own number for that of a tile, and waits for the group before."""
    return tell(RIGHT["tell"].replace("_es_fetch_add(_count, 1)", "(int)_ES_GROUP_ID(x)"))


def binding() -> str:
    """What hiprtc and the driver refuse, as CuPy tells it."""
    program = nvrtc.createProgram(RIGHT["add"], "kernel.hip", (), ())
    for refused in (nvrtc.getSupportedArchs, partial(nvrtc.getCUBIN, program)):
        with pytest.raises(RuntimeError, match="HIP does not support"):
            refused()
    with pytest.raises(nvrtc.NVRTCError) as unknown:
        nvrtc.compileProgram(program, ("--offload-arch=gfx9999",))
    assert unknown.value.status == 6 and nvrtc.getProgramLog(program) == ""
    nvrtc.destroyProgram(program)
    image = compiled(RIGHT["add"])
    other = "gfx1100" if WAVE == 64 else "gfx942"
    for code, settings, status in (
        (b"\x7fELF", {}, 200), (image, {"HIP_ON_HOST_ARCH": other}, 209),
        (image, {"HIP_ON_HOST_SANITIZER": "address" if machine.sanitizer() == "" else ""}, 209),
    ):  # fmt: skip
        before = dict(os.environ)
        os.environ.update(settings)
        with pytest.raises(driver.CUDADriverError) as refused:
            cupy.cuda.function.Module().load(code)
        os.environ.update(before)
        assert refused.value.status == status, refused
    return "right"


def arrays() -> str:
    """What execspace does with arrays, beside launches."""
    x = cupy.asarray(np.array([3.0, 1.0, np.nan, 2.0]))
    y = cupy.sort(x)[::-1]
    assert same(y, np.array([np.nan, 3, 2, 1])) == "right"
    assert same(3 - cupy.argsort(x), [2, 0, 3, 1]) == "right"
    kernel = cupy.ElementwiseKernel("T x, T nan", "T y", "y = x == x ? x : nan", "one_nan")
    assert same(kernel(x, -1.0, cupy.empty_like(x)), np.array([3.0, 1.0, -1.0, 2.0])) == "right"
    x[...] = x[cupy.asarray(np.array([1, 0, 3, 2]))]
    assert same(x, np.array([1.0, 3.0, 2.0, np.nan])) == "right"
    whole = cupy.arange(12, dtype=np.int32).reshape(3, 4)
    part = whole[1:, ::2]
    again = cupy.from_dlpack(part)
    assert part.__dlpack_device__() == (10, 0) and again.data.ptr == part.data.ptr
    assert again.strides == part.strides and same(again, [[4, 6], [8, 10]]) == "right"
    address = part.data.ptr
    del whole, part
    again[0, 0] = 5
    assert same(again, [[5, 6], [8, 10]]) == "right" and again.data.ptr == address
    assert not hasattr(again, "__cuda_array_interface__")
    free, total = runtime.memGetInfo()
    held = cupy.cuda.alloc(1000)
    assert runtime.memGetInfo() == (free - 1000, total)
    assert runtime.pointerGetAttributes(held.ptr + 999).type == 2
    del held
    assert runtime.memGetInfo() == (free, total)
    try:
        cupy.cuda.alloc(total + 1)
    except MemoryError:
        return "right"
    return "wrong: more memory than there is"


OWN = {
    "add": add, "reduce": reduce, "wave": wave, "histogram": histogram, "dynamic": dynamic,
    "axes": axes, "tell": tell, "fence": fence, "order": order, "numbers": numbers,
    "atomics": atomics,
}  # fmt: skip
ALONE = {
    "arrays": arrays, "binding": binding, "too_large": too_large, "in_order": in_order,
    "relaxed": lambda: fence(FAULTY["relaxed"]),
}  # fmt: skip


def outcome(program: str) -> str:
    """Of a program such as "reduce", or "reduce HIP_ON_HOST_MUTATION=barrier" with variables."""
    name, *settings = program.split()
    before = dict(os.environ)
    os.environ.update(s.split("=", 1) for s in settings)
    try:
        if name in ALONE:
            return ALONE[name]()
        return OWN[name](RIGHT[name]) if name in OWN else faulty(name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    print(json.dumps({program: outcome(program) for program in sys.argv[1:]}))
