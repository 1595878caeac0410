"""Generated OpenCL C: goldens, which need no device, and builds of them where there is one.

To accept a change of the generated text, run with UPDATE_GOLDEN=1 and read the diff.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import execspace as es
from execspace import LaunchSpec, ScalarType, ViewType
from execspace.argtypes import SCALAR_TYPES
from execspace.dtypes import name_of
from execspace.reducer import as_reducer, reducer_captures
from execspace.space import policy_spec
from execspace_compiler import ir, lower_kernel
from execspace_compiler.devices import device_text
from execspace_compiler.names import variable_name
from execspace_compiler.printers.cfamily.dialects import OPENCL
from execspace_compiler.printers.cfamily.prelude import SHORT
from execspace_compiler.printers.cfamily.printer import CPrinter
from execspace_compiler.printers.cfamily.spelling import c_string
from execspace_compiler.printers.python import part_of_view
from execspace_compiler.types import Scalar

GOLDEN = Path(__file__).parent / "golden" / "cfamily"


def axpy(i, a, x, y):
    y[i] += a * x[i]


def stencil(i, j, k, A, B):
    A[i, j, k] = B[i - 1, j, k] + B[i, j + 1, k] - 6 * B[i, j, k - 1]


def total(i, x):
    return x[i]


def located(i, x):
    return x[i], i


def several(i, x, n):
    return x[i], x[i], n[i]


class Mean(es.Reducer):
    """Sum and count, divided at the end."""

    identity = (0.0, 0)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]

    def final(s):
        return s[0] / s[1]


def counted(i, x):
    return x[i], 1


def powers(i, a, x):
    for k in range(3):
        a[k] += x[i] ** k


def exclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def atomics(i, n, f, b, z, w, m):
    es.atomic_add(n, 0, 1)
    es.atomic_add(f, 0, 0.5)
    es.atomic_add(b, 0, 1)
    es.atomic_add(z, 0, 1j)
    es.atomic_add(w, 0, 1j)
    es.atomic_min(n, 1, 3)
    es.atomic_max(f, 1, 2.5)
    m[i] = es.atomic_fetch_max(m, i, 7)
    n[i] = es.atomic_mul_fetch(n, 2, 3)


def exchanges(i, n, f, h):
    old = es.atomic_exchange(n, 0, 2)
    es.atomic_store(n, 1, es.atomic_load(n, 2) + old)
    f[i] = es.atomic_compare_exchange(f, 0, 1.0, 2.0)
    h[i] = es.atomic_compare_exchange(h, 0, 1, 2)


def private_steps(i, z, f):
    own = es.local(2, es.complex64)
    z[i] = es.atomic_compare_exchange(own, 1, 0, 1j)
    sums = es.local(2)
    f[i] = es.atomic_compare_exchange(sums, 0, 0.0, 2.0) + es.atomic_fetch_add(sums, 0, 2.0)


def moved(i, p):
    p[i].x += p[i].cell.k * 2
    p[i].on = p[i].x > 1


def sorted_pair(i, x):
    t = es.local(2, es.float32)
    t[0], t[1] = x[i], x[i + 1]
    if t[0] > t[1]:
        t[0], t[1] = t[1], t[0]
    q = es.local(1, PARTICLE)
    q[0].x = t[0]
    x[i] = q[0].x


def waves(i, z, r):
    z[i] = np.exp(2j * z[i]) / z[i].conjugate()
    r[i] = abs(z[i])


def power(i, z):
    z[i] = z[i] ** (0.5 + 1j)


def checked(i, x):
    assert x[i] >= 0, "negative"
    es.printf('100%% of "x[%d]" is %g?\n', i, x[i])


def split(x):
    return x // 2, x % 2, -x


def taken_apart(i, n):
    half, rest, minus = split(n[i])
    n[i] = half - rest + minus


def odd_names(i, kernel, größe, M_PI, get_global_id, float4):  # noqa: PLC2401
    step = kernel[i] + M_PI
    select = as_double = step
    größe[i] = select + as_double
    get_global_id[i] = float4


def halves(i, h, f):
    h[i] = h[i] * f[i] + 1.5


@es.function(fma=False)
def error(a, b, z):
    return a * b + a, z * z


def uncontracted(i, x, z):
    x[i], z[i] = error(x[i], x[i], z[i])


PARTICLE = np.dtype([("on", "?"), ("x", "f8"), ("cell", [("k", "i4"), ("c", "i1")])])


def typed(a):
    if not isinstance(a, str):
        return SCALAR_TYPES[a]
    name, _, rest = a.rstrip("]").partition("[")
    dims, _, layout = rest.partition(",")
    rank, layout = int(dims), layout or "right"
    unit = None if layout == "stride" else rank - 1 if layout == "right" else 0
    dtype = name_of(PARTICLE) if name == "PARTICLE" else name
    return ViewType(dtype, rank, layout, unit, False, "host")


def text(
    kernel, *arguments, rank=1, pattern="for", reducer=None, tiled=False, flat=True, group=8,
    narrow=False, disjoint=False, dialect=OPENCL, **options,
):  # fmt: skip
    """Text of a launch: a pure function of the kernel, the types and the mapping."""
    given = None if reducer is None else as_reducer(reducer)
    types: tuple[ViewType | ScalarType, ...] = tuple(map(typed, arguments))
    policy = policy_spec("range" if rank == 1 else "mdrange", rank, "auto", tiled, True)
    captures = () if given is None else reducer_captures(given)
    spec = LaunchSpec(pattern, policy, types, reducer=given, captures=captures)
    lowered = lower_kernel(es.Kernel(kernel, **options), spec)
    return device_text(lowered, dialect, flat=flat, group=group, narrow=narrow, disjoint=disjoint)


F3, L3 = ("float64[3]",) * 2, ("float64[3,left]",) * 2
REDUCE = {"pattern": "reduce"}
CHUNKED = {"flat": False, "group": 1}
CASES = {
    "axpy.flat": (axpy, (float, "float32[1]", "float32[1]"), {}),
    "axpy.chunked": (axpy, (float, "float32[1]", "float32[1]"), CHUNKED),
    "axpy.strided": (axpy, (float, "float32[1,stride]", "float32[1]"), {"fma": False}),
    "stencil.flat": (stencil, F3, {"rank": 3}),
    "stencil.left.narrow": (stencil, L3, {"rank": 3, "narrow": True}),
    "stencil.left.chunked": (stencil, L3, {"rank": 3, **CHUNKED}),
    "stencil.tiled": (stencil, F3, {"rank": 3, "tiled": True, "narrow": True}),
    "stencil.tiled.chunked": (stencil, F3, {"rank": 3, "tiled": True, **CHUNKED}),
    "stencil.disjoint": (stencil, F3, {"rank": 3, "disjoint": True, **CHUNKED}),
    "sum.flat": (total, ("float32[1]",), {**REDUCE, "reducer": es.Sum}),
    "sum.chunked": (total, ("int32[1]",), {**REDUCE, "reducer": es.Sum, **CHUNKED}),
    "sum.compensated": (
        total, ("float64[1]",), {**REDUCE, "reducer": es.Sum(accuracy="high")},
    ),
    "sum.complex": (total, ("complex64[1]",), {**REDUCE, "reducer": es.Sum}),
    "minloc": (located, ("float64[1]",), {**REDUCE, "reducer": es.MinLoc}),
    "several": (
        several, ("float64[1]", "bool[1]"), {**REDUCE, "reducer": (es.Sum, es.Max, es.LAnd)},
    ),
    "custom": (counted, ("float64[1]",), {**REDUCE, "reducer": Mean}),
    "array": (powers, ("float64[1]",), {**REDUCE, "reducer": es.Sum(shape=3)}),
    "scan.flat": (exclusive, ("int64[1]",) * 2, {"pattern": "scan", "reducer": es.Sum}),
    "scan.chunked": (
        exclusive, ("int64[1]",) * 2, {"pattern": "scan", "reducer": es.Sum, **CHUNKED},
    ),
    "atomics": (
        atomics,
        ("int32[1]", "float64[1]", "int8[1]", "complex64[1]", "complex128[1]", "uint64[1]"), {},
    ),
    "exchanges": (exchanges, ("int64[1]", "float32[1]", "uint16[1]"), {}),
    "private_steps": (private_steps, ("complex64[1]", "float64[1]"), {}),
    "records": (moved, ("PARTICLE[1]",), {}),
    "local": (sorted_pair, ("float64[1]",), {}),
    "complex": (waves, ("complex128[1]", "float64[1]"), {}),
    "complex.pow": (power, ("complex64[1]",), {}),
    "checked": (checked, ("float64[1]",), {}),
    "tuples": (taken_apart, ("int32[1]",), {}),
    "names": (
        odd_names, ("float64[1]", "float64[1]", float, "float64[1]", float), {},
    ),
    "float16": (halves, ("float16[1]", "float16[1]"), {}),
    "uncontracted": (uncontracted, ("float64[1]", "complex128[1]"), {}),
}  # fmt: skip


def without_places(source):
    """Local arrays are named by their line in this file; number them instead."""
    names = dict.fromkeys(re.findall(r"_local_\d+_\d+", source))
    for n, name in enumerate(names):
        source = source.replace(name, f"_local_{n}")
    return source


@pytest.mark.parametrize("case", CASES)
def test_text(case):
    kernel, arguments, options = CASES[case]
    source = without_places(text(kernel, *arguments, **options).source)
    path = GOLDEN / f"{case}.cl.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert source == path.read_text(encoding="utf-8"), f"{case} changed; see the docstring above"


@pytest.fixture(scope="session")
def build():
    """``build(source)`` compiles with the first OpenCL device that there is."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        devices = [d for p in cl.get_platforms() for d in p.get_devices() if d.double_fp_config]
    except cl.Error as error:
        pytest.skip(f"no OpenCL platform: {error}")
    if not devices:
        pytest.skip("no OpenCL device with float64")
    context = cl.Context(devices[:1])

    def run(source):
        if "cl_khr_fp16" in source and "cl_khr_fp16" not in devices[0].extensions:
            pytest.skip(f"device {devices[0].name} has no float16")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what compilers say to a text that they accept
            return cl.Program(context, source).build(["-cl-std=CL1.2"], cache_dir=False)

    return run


def loaded(i, x, y):
    y[i] = es.atomic_load(x, i)
    es.atomic_add(x, i, 1)


def test_a_dialect_without_address_spaces_has_atomic_steps_of_its_own():
    steps = {("load", "int32"): "LOAD({p})", ("add", "int32"): "ADD({p}, {v})"}
    plain = replace(OPENCL, outer="", atomics={**OPENCL.atomics, **steps})
    source = text(loaded, "int32[1]", "int32[1]", dialect=plain).source
    assert "LOAD((volatile int *)(x + i))" in source
    assert "ADD((volatile int *)(x + i), 1)" in source


def test_a_dialect_may_have_a_pragma_for_sums():
    pragma = replace(OPENCL, vector_join="#pragma joins {sign} {name} {own}")
    options = {**REDUCE, **CHUNKED, "dialect": pragma}
    source = text(total, "float32[1]", reducer=es.Sum, **options).source
    assert re.search(r"#pragma joins \+ _acc _i0\n +for \(.*\n.*\n +_acc = \(_acc \+ ", source)
    for dtype, reducer in (("int32", es.Sum), ("complex64", es.Sum), ("float32", es.Max)):
        assert "#pragma joins" not in text(total, f"{dtype}[1]", reducer=reducer, **options).source
    assert "#pragma joins" not in text(
        total, "float64[1]", reducer=es.Sum(accuracy="high"), **options
    ).source  # fmt: skip
    scan = {**options, "pattern": "scan", "reducer": es.Sum}  # each index needs those before it
    assert "#pragma joins" not in text(exclusive, *("float64[1]",) * 2, **scan).source


def halved_root(i, x):
    x[i] = math.sqrt(x[i]) + x[i]


def test_functions_of_float16_are_rounded_where_a_dialect_has_them_in_wider_types_only():
    source = text(halved_root, "float16[1]").source
    assert "x[i] = (half)((half)sqrt(x[i]) + x[i]);" in source


@pytest.mark.parametrize("case", CASES)
def test_a_driver_builds_the_text(build, case):
    kernel, arguments, options = CASES[case]
    found = text(kernel, *arguments, **options)
    program = build(found.source)
    assert set(program.kernel_names.split(";")) == set(found.entry.kernels)


# -- names ------------------------------------------------------------------------------------


def printer():
    return CPrinter(ir.Module((), True, False, False), OPENCL)


WORDS = st.sampled_from(
    sorted(OPENCL.reserved)
    + ["M_PI", "INT_MAX", "get_global_id", "float4", "atomic_add", "mem_fence", "x", "_f0", "_a",
       "user_a", "u_step", "u_s0", "s0", "n0", "f", "e9", "_e9_", "é", "aé", "a_e9_", "ß_", "_ß"]
)  # fmt: skip
NAMES = WORDS | st.text("aéß_e9u", min_size=1, max_size=6).filter(str.isidentifier)


@given(NAMES, NAMES)
def test_variables_that_differ_have_names_that_differ(one, other):
    c = printer()
    first, second = (c.identifier(variable_name(n)) for n in (one, other))
    assert (first == second) == (one == other)
    assert first.isascii() and first.isidentifier()
    assert first not in OPENCL.reserved


@given(NAMES, NAMES, NAMES)
def test_functions_variables_and_parts_of_views_have_names_of_their_own(function, view, variable):
    c = printer()
    name = c.identifier(variable_name(view))
    parts = {part_of_view(name, p) for p in ("s0", "n1", "s12")}
    called, held = c.function_name(function), c.identifier(variable_name(variable))
    assert called not in parts | {held} and held not in parts


def test_names_that_the_text_itself_uses_are_changed():
    c = printer()
    for name in re.findall(r"[A-Za-z]\w+", " ".join(
        [OPENCL.item_id, OPENCL.local_id, OPENCL.groups, OPENCL.group_size, OPENCL.group_id,
         OPENCL.barrier, OPENCL.fence, *OPENCL.atomics.values(), *OPENCL.bits.values(),
         *OPENCL.types.values(), *OPENCL.math.values()]
    )):  # fmt: skip
        if name not in ("UL", "U"):
            assert c.identifier(name) != name, name


def test_helper_named_like_a_stride_can_be_called(build):
    def s0(x):
        return x + 1

    def kernel(i, f):
        f[i] = s0(f[i])

    found = text(kernel, "float64[1,stride]")
    assert "_s0_f(f[" in found.source
    build(found.source)


def _work(x):
    return x * 2


def _merge(i, x):
    return _work(x[i])


def test_functions_named_like_those_of_the_compiler(build):
    build(text(_merge, "float64[1]", pattern="reduce", reducer=es.Sum).source)


# -- constants --------------------------------------------------------------------------------


def parsed(literal, dtype):
    """Value of a printed literal, read as a C compiler does."""
    body = re.sub("[()]", "", literal)
    if match := re.fullmatch(r"(-?)as_(?:double|float|halfushort)(0x[0-9a-f]+)U?L?", body):
        bits = np.dtype(f"u{np.dtype(dtype).itemsize}").type(int(match[2], 16))
        value = bits.view(dtype)
        return -value if match[1] else value
    body = re.sub("^(half|u?char|u?short)", "", body)
    if np.dtype(dtype).kind == "f":
        single = body.endswith("f")
        body = body.removesuffix("f")
        number = float.fromhex(body) if "0x" in body else float(body)
        return np.dtype(dtype).type(np.float32(number) if single else number)
    return sum(map(int, re.findall("-?[0-9]+", re.sub("[UL ]", "", body))))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@settings(max_examples=300)
@given(st.data())
def test_floats_are_printed_to_the_bit(dtype, data):
    width = 8 * np.dtype(dtype).itemsize
    value = np.dtype(dtype).type(data.draw(st.floats(width=width, allow_nan=False)))
    literal = printer().const(ir.Const(value, Scalar(dtype)))
    assert parsed(literal, dtype).tobytes() == value.tobytes(), literal
    if dtype == "float32" and "as_" not in literal:
        assert literal.strip("()").endswith("f")  # or C would compute in double
    assert literal[0] != "-"  # a minus before it must not make a decrement


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_printed_as_its_bits(dtype):
    assert np.isnan(parsed(printer().const(ir.Const(np.nan, Scalar(dtype))), dtype))


@example(1 + 2.0**-11 + 2.0**-40)  # float32 would round it to the middle of two float16
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_are_rounded_once(value):
    with np.errstate(over="ignore"):
        for dtype in ("float16", "float32"):
            literal = printer().const(ir.Const(value, Scalar(dtype)))
            assert parsed(literal, dtype).tobytes() == np.dtype(dtype).type(value).tobytes()


@pytest.mark.parametrize("dtype", [d for d in SHORT if "int" in d])
@settings(max_examples=100)
@given(st.data())
def test_integers_are_printed_exactly(dtype, data):
    info = np.iinfo(dtype)
    edges = st.sampled_from([info.min, info.min + 1, 0, 1, info.max])
    value = data.draw(st.integers(int(info.min), int(info.max)) | edges)
    literal = printer().const(ir.Const(value, Scalar(dtype)))
    assert parsed(literal, dtype) == value, literal
    for number in re.findall(r"\d+", re.sub("char|short", "", literal)):
        assert int(number) <= 2**63 - 1 or "UL" in literal  # 2^63 itself is no long
    assert literal[0] != "-"


@given(st.text())
def test_strings_are_escaped(value):
    literal = c_string(value)
    assert literal.isascii() and literal.isprintable() and "??" not in literal
    inside = literal[1:-1]
    assert '"' not in inside
    back = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), inside.encode())
    assert back.decode() == value
