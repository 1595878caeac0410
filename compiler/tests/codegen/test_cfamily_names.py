"""Names and constants in generated source of the C family, in every dialect."""

from __future__ import annotations

import keyword
import re
from dataclasses import astuple

import numpy as np
import pytest
from cfamily_cases import DIALECTS, text
from hypothesis import example, given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_compiler import ir
from execspace_compiler.codegen.cfamily.prelude import SHORT
from execspace_compiler.codegen.cfamily.printer import CPrinter
from execspace_compiler.codegen.cfamily.spelling import c_string, part_of_view
from execspace_compiler.frontend.names import variable_name
from execspace_compiler.ir.types import Scalar

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


def printer(dialect):
    return CPrinter(ir.Module((), True, False, False), dialect)


# What one language reserves is a plain name in the other.
WORDS = st.sampled_from(
    sorted(frozenset().union(*(d.reserved.names for d in DIALECTS.values())))
    + ["M_PI", "INT_MAX", "get_global_id", "float4", "atomic_add", "mem_fence",
       "atomicAdd", "__device__", "__half", "_half", "_ES_INLINE", "int2", "cudaFree", "x",
       "_f0", "_a", "user_a", "u_step", "u_s0", "s0", "n0", "f", "e9", "_e9_", "é", "aé", "a_e9_",
       "ß_", "_ß"]
)  # fmt: skip
NAMES = WORDS | st.text("aéß_e9u", min_size=1, max_size=6).filter(str.isidentifier)


@every_dialect
@given(one=NAMES, other=NAMES)
def test_variables_that_differ_have_names_that_differ(dialect, one, other):
    c = printer(dialect)
    first, second = (c.identifier(variable_name(n)) for n in (one, other))
    assert (first == second) == (one == other)
    assert first.isascii() and first.isidentifier()
    assert first not in dialect.reserved.names and not dialect.reserved.form.fullmatch(first)


@every_dialect
@given(function=NAMES, view=NAMES, variable=NAMES)
def test_functions_variables_and_parts_of_views_have_names_of_their_own(
    dialect, function, view, variable
):
    c = printer(dialect)
    name = c.identifier(variable_name(view))
    parts = {part_of_view(name, p) for p in ("s0", "n1", "s12")}
    called, held = c.function_name(function), c.identifier(variable_name(variable))
    assert called not in parts | {held} and held not in parts


@every_dialect
def test_names_that_the_text_itself_uses_are_changed(dialect):
    c = printer(dialect)
    functions = dialect.math.functions.values()
    pieces = [
        *astuple(dialect.syntax), *astuple(dialect.item), *astuple(dialect.sync),
        *dialect.atomics.values(), *dialect.bits.values(), *dialect.types.values(),
        *functions, *map(dialect.math.float32.format, functions),
    ]  # fmt: skip
    used = set(re.findall(r"(?<!\.)\b[A-Za-z_]\w+", re.sub(r'".*?"|{\w*}', "", " ".join(pieces))))
    assert len(used) > 50
    for name in used - {"UL", "LL"}:  # suffixes of numbers
        assert c.identifier(variable_name(name)) != name, name


def test_helper_named_like_a_stride_can_be_called(dialect, build):
    def s0(x):
        return x + 1

    def kernel(i, f):
        f[i] = s0(f[i])

    found = text(kernel, "float64[1,stride]", dialect=dialect)
    assert "_s0_f(f[" in found.source
    build(found.source)


def _work(x):
    return x * 2


def _merge(i, x):
    return _work(x[i])


def test_functions_named_like_those_of_the_compiler(dialect, build):
    build(text(_merge, "float64[1]", pattern="reduce", reducer=es.Sum, dialect=dialect).source)


# Keywords of C++, built-in variables, functions, types and macros of CUDA and OpenCL, as variables
# of a kernel: what is not a keyword of Python can be a name there.
TAKEN = """
    alignas asm auto bool case catch char const constexpr decltype default delete double enum
    explicit export extern float friend goto inline int long mutable namespace new noexcept nullptr
    operator private protected public register short signed sizeof static struct switch template
    this throw typedef typeid typename union unsigned using virtual void volatile xor and_eq
    __device__ __global__ __shared__ __half __syncthreads _half _args _as_half _ES_INLINE _shared
    threadIdx blockIdx blockDim gridDim warpSize dim3 int2 float4 ulonglong2 size_t
    atomicAdd atomicCAS printf assert isnan min max sqrt sqrtf fabs erf clock malloc cudaStream_t
    INT_MAX NULL M_PI NAN CUDART_INF linux unix
    kernel constant local half uchar quad get_global_id as_double barrier mem_fence convert_int
""".split()


def test_names_that_the_languages_reserve_can_be_variables(dialect, build, tmp_path):
    names = [n for n in TAKEN if not keyword.iskeyword(n)]
    views, numbers = names[::2], names[1::2]
    lines = [f"def named(i, {', '.join(views)}):"]
    for view, number in zip(views, numbers, strict=False):
        lines += [f"    {number} = {view}[i] + 1", f"    {view}[i + {number}] = {number}"]
    source = "\n".join(lines) + "\n"
    path = tmp_path / "named.py"
    path.write_text(source)
    scope: dict = {}
    exec(compile(source, str(path), "exec"), scope)
    found = text(scope["named"], *["int64[1]"] * len(views), dialect=dialect)
    assert build(found.source) == set(found.entry.kernels)


# -- constants --------------------------------------------------------------------------------


BITS = re.compile(
    "(-?)(?:as_double|as_float|ushort|__longlong_as_double|__uint_as_float"
    "|_as_halfunsigned short|_es_bit_cast<double>|_es_bit_cast<float>)(0x[0-9a-f]+)U?L*"
)


def parsed(literal, dtype):
    """Value of a printed literal, read as a C compiler does."""
    body = re.sub("[()]", "", literal)
    if match := BITS.fullmatch(body):
        bits = np.dtype(f"u{np.dtype(dtype).itemsize}").type(int(match[2], 16))
        value = bits.view(dtype)
        return -value if match[1] else value
    body = re.sub("^(_?half|u?char|u?short|(un)?signed char|unsigned short)", "", body)
    if np.dtype(dtype).kind == "f":
        single = body.endswith("f")
        body = body.removesuffix("f")
        number = float.fromhex(body) if "0x" in body else float(body)
        return np.dtype(dtype).type(np.float32(number) if single else number)
    return sum(map(int, re.findall("-?[0-9]+", re.sub("[UL ]", "", body))))


@every_dialect
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@settings(max_examples=300)
@given(data=st.data())
def test_floats_are_printed_to_the_bit(dialect, dtype, data):
    width = 8 * np.dtype(dtype).itemsize
    value = np.dtype(dtype).type(data.draw(st.floats(width=width, allow_nan=False)))
    literal = printer(dialect).const(ir.Const(value, Scalar(dtype)))
    assert parsed(literal, dtype).tobytes() == value.tobytes(), literal
    if dtype == "float32" and not BITS.fullmatch(re.sub("[()]", "", literal)):
        assert literal.strip("()").endswith("f")  # or C would compute in double
    assert literal[0] != "-"  # a minus before it must not make a decrement


@every_dialect
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_printed_as_its_bits(dialect, dtype):
    assert np.isnan(parsed(printer(dialect).const(ir.Const(np.nan, Scalar(dtype))), dtype))


@every_dialect
@example(value=1 + 2.0**-11 + 2.0**-40)  # float32 would round it to the middle of two float16
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_constants_are_rounded_once(dialect, value):
    with np.errstate(over="ignore"):
        for dtype in ("float16", "float32"):
            literal = printer(dialect).const(ir.Const(value, Scalar(dtype)))
            assert parsed(literal, dtype).tobytes() == np.dtype(dtype).type(value).tobytes()


@every_dialect
@pytest.mark.parametrize("dtype", [d for d in SHORT if "int" in d])
@settings(max_examples=100)
@given(data=st.data())
def test_integers_are_printed_exactly(dialect, dtype, data):
    info = np.iinfo(dtype)
    edges = st.sampled_from([info.min, info.min + 1, 0, 1, info.max])
    value = data.draw(st.integers(int(info.min), int(info.max)) | edges)
    literal = printer(dialect).const(ir.Const(value, Scalar(dtype)))
    assert parsed(literal, dtype) == value, literal
    for number in re.findall(r"\d+", literal):
        assert int(number) <= 2**63 - 1 or "UL" in literal  # 2^63 itself is not a long
    assert literal[0] != "-"


@given(st.text())
def test_strings_are_escaped(value):
    literal = c_string(value)
    assert literal.isascii() and literal.isprintable() and "??" not in literal
    inside = literal[1:-1]
    assert '"' not in inside
    back = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), inside.encode())
    assert back.decode() == value
