"""What LLVM IR computes: operations against Python and NumPy, at the limits of their types.

Kernels run on `serial`; their modules are also read and checked by LLVM as they are printed, before
any pass.
"""

from __future__ import annotations

import cmath
import itertools
import operator

import llvmlite.binding as llvm
import numpy as np
import pytest

import execspace as es
from execspace_compiler.codegen.llvm.spelling import float_constant, local

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")


def run(n, kernel, *args):
    """Launch a kernel for n indices, once its module has been checked."""
    policy = es.RangePolicy(n, space="serial")
    llvm.parse_assembly(es.explain(policy, kernel, *args).source).verify()
    return es.parallel_for(policy, kernel, *args)


def same(found, expected):
    """Whether numbers are equal to the bit, but for the payload of a NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    if found.dtype.kind == "c":
        return same(found.real, expected.real) and same(found.imag, expected.imag)
    nans = np.isnan(found) & np.isnan(expected) if found.dtype.kind == "f" else False
    bits = f"u{found.itemsize}"
    return bool(np.all(nans | (found.copy().view(bits) == expected.copy().view(bits))))


# -- integers -------------------------------------------------------------------------------------


def numbers(dtype):
    """The limits of a type, and what is near to zero."""
    limits = np.iinfo(dtype)
    few = {*range(-9, 10), limits.min, limits.min + 1, limits.max - 1, limits.max, limits.max // 3}
    return sorted(n for n in few if limits.min <= n <= limits.max)


def wrapped(value, dtype):
    bits = np.iinfo(dtype).bits
    value %= 1 << bits
    signed = dtype[0] == "i" and value >> (bits - 1)
    return value - (1 << bits) if signed else value


def shifted(a, b, bits, left):
    """What a shift by any number gives; see docs/semantics.md."""
    if left:
        return a << b if 0 <= b < bits else 0
    return a >> b if 0 <= b < bits else -1 if a < 0 else 0


def power(a, b):
    """The truncated value of a power with any exponent."""
    if b >= 0:
        return a**b
    return int(a == 1) if abs(a) != 1 or a == 1 else (-1) ** (-b)


@es.kernel
def of_two(i, a, b, out):
    x, y = a[i], b[i]
    out[0, i] = x // y
    out[1, i] = x % y
    out[2, i] = x << y
    out[3, i] = x >> y
    out[4, i] = x**y
    out[5, i] = x + y
    out[6, i] = x - y
    out[7, i] = x * y
    out[8, i] = x & y
    out[9, i] = x | y
    out[10, i] = x ^ y
    out[11, i] = min(x, y)
    out[12, i] = max(x, y)
    out[13, i] = -x
    out[14, i] = ~x
    out[15, i] = abs(x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_operations_agree_with_python(dtype):
    bits = np.iinfo(dtype).bits
    python = [
        lambda x, y: x // y if y else 0,
        lambda x, y: x % y if y else 0,
        lambda x, y: shifted(x, y, bits, left=True),
        lambda x, y: shifted(x, y, bits, left=False),
        lambda x, y: power(x, y) if y < 20 else pow(x, y, 1 << bits),
        operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
        min, max, lambda x, y: -x, lambda x, y: ~x, lambda x, y: abs(x),
    ]  # fmt: skip
    pairs = list(itertools.product(numbers(dtype), repeat=2))
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    out = np.zeros((len(python), len(pairs)), dtype)
    run(len(pairs), of_two, a, b, out)
    for row, function in zip(out.tolist(), python, strict=True):
        for found, (x, y) in zip(row, pairs, strict=True):
            assert found == wrapped(function(x, y), dtype), (x, y)


@es.kernel
def of_constants(i, a, out):
    out[0, i] = a[i] // -3
    out[1, i] = a[i] % -3
    out[2, i] = a[i] // 7
    out[3, i] = a[i] % 7
    out[4, i] = a[i] // -1
    out[5, i] = a[i] << 3
    out[6, i] = a[i] >> 3
    out[7, i] = a[i] ** 3


@pytest.mark.parametrize("dtype", INTEGERS[:4])
def test_constant_operands_are_as_others(dtype):
    a = np.array(numbers(dtype), dtype)
    out = np.zeros((8, len(a)), dtype)
    run(len(a), of_constants, a, out)
    for n, x in enumerate(numbers(dtype)):
        wanted = (x // -3, x % -3, x // 7, x % 7, -x, x << 3, x >> 3, x**3)
        assert out[:, n].tolist() == [wrapped(w, dtype) for w in wanted], x


# -- conversions ----------------------------------------------------------------------------------

TYPES = (*INTEGERS, *FLOATS, "bool", "complex64", "complex128")


@pytest.mark.parametrize("source", TYPES)
def test_conversions_agree_with_numpy(source):
    """Of numbers that the other type has, or to which integers wrap."""
    kind = np.dtype(source).kind
    for target in TYPES:
        if kind == "c" and np.dtype(target).kind not in "cb":
            continue  # refused
        if kind in "iu":
            given = np.array(numbers(source), source)
        elif kind == "b":
            given = np.array([False, True])
        else:
            parts = [0.0, -0.0, 1.0, 2.75, 100.5, 1e-40, float(np.float32(0.1))]
            if np.dtype(target).kind not in "u":
                parts += [-1.0, -2.75, -100.5]
            if np.dtype(target).kind in "fc":
                parts += [1e300, np.inf, -np.inf, np.nan]
            with np.errstate(over="ignore"):
                given = np.array(parts, source)
            if kind == "c":
                given.imag = np.roll(given.real, 1)
        scalar = getattr(np, "bool_" if target == "bool" else target)

        def kernel(i, x, y, scalar=scalar):
            y[i] = scalar(x[i])

        found = np.zeros(len(given), target)
        run(len(given), kernel, given, found)
        with np.errstate(all="ignore"):
            expected = given.astype(target)
        assert same(found, expected), (source, target, given, found, expected)


# -- floats ---------------------------------------------------------------------------------------

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.5, -7.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")
)  # fmt: skip


@es.kernel
def of_two_floats(i, a, b, out):
    x, y = a[i], b[i]
    out[0, i] = x // y
    out[1, i] = x % y
    out[2, i] = x / y
    out[3, i] = np.minimum(x, y)
    out[4, i] = np.maximum(x, y)
    out[5, i] = np.fmin(x, y)
    out[6, i] = np.copysign(x, y)
    out[7, i] = -x
    out[8, i] = abs(x)
    out[9, i] = np.fmod(x, y)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operations_agree_with_numpy(dtype):
    with np.errstate(all="ignore"):
        pairs = np.array(list(itertools.product(SPECIAL, repeat=2))).astype(dtype)
    a, b = np.ascontiguousarray(pairs.T)
    out = np.zeros((10, len(a)), dtype)
    run(len(a), of_two_floats, a, b, out)
    with np.errstate(all="ignore"):
        expected = (
            a // b, a % b, a / b, np.minimum(a, b), np.maximum(a, b), np.fmin(a, b),
            np.copysign(a, b), -a, abs(a), np.fmod(a, b),
        )  # fmt: skip
    for n, (found, wanted) in enumerate(zip(out, expected, strict=True)):
        if n in (3, 4, 5):  # which of two zeros is less is nobody's rule
            found, wanted = found + 0, wanted + 0
        assert same(found, wanted), (n, a, b, found, wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_comparisons_with_nan(dtype):
    def kernel(i, a, b, out):
        x, y = a[i], b[i]
        out[0, i] = x < y
        out[1, i] = x <= y
        out[2, i] = x > y
        out[3, i] = x >= y
        out[4, i] = x == y
        out[5, i] = x != y
        out[6, i] = not (x < y)
        out[7, i] = x < y or y < x

    with np.errstate(all="ignore"):
        pairs = np.array(list(itertools.product(SPECIAL, repeat=2))).astype(dtype)
    a, b = np.ascontiguousarray(pairs.T)
    out = np.zeros((8, len(a)), bool)
    run(len(a), kernel, a, b, out)
    expected = (a < b, a <= b, a > b, a >= b, a == b, a != b, ~(a < b), (a < b) | (b < a))
    assert out.tolist() == [row.tolist() for row in expected]


def test_constants_keep_every_bit():
    nothing, tiny, minus = float("nan"), 5e-324, -0.0
    most, third, infinite = 1.7976931348623157e308, 1 / 3, float("-inf")
    z = complex(-0.0, float("nan"))

    def kernel(i, x, f, c):
        x[0] = nothing
        x[1] = tiny
        x[2] = minus
        x[3] = most
        x[4] = third
        x[5] = infinite
        f[0] = nothing
        f[1] = np.float32(0.1)
        f[2] = minus
        f[3] = np.float32(1e-45)
        f[4] = infinite
        c[0] = z

    x, f, c = np.zeros(6), np.zeros(5, np.float32), np.zeros(1, complex)
    run(1, kernel, x, f, c)
    assert same(x, np.array([nothing, tiny, minus, most, third, infinite]))
    assert same(f, np.array([nothing, 0.1, minus, 1e-45, infinite], np.float32))
    assert same(c, np.array([z]))


def test_floats_are_spelled_for_their_type():
    assert float_constant(0.1, "float64") == "0x3FB999999999999A"
    assert float_constant(0.1, "float32") == "0x3FB99999A0000000"  # a double with its value
    assert float_constant(1e300, "float32") == float_constant(float("inf"), "float64")
    assert float_constant(float("nan"), "float32") == "0x7FF8000000000000"
    assert float_constant(1.5, "float16") == "0xH3E00"


# -- complex numbers ------------------------------------------------------------------------------


@es.kernel
def of_two_complex(i, a, b, out):
    x, y = a[i], b[i]
    out[0, i] = x / y
    out[1, i] = x + y
    out[2, i] = x - y
    out[3, i] = -x
    out[4, i] = x.conjugate()
    out[5, i] = np.sqrt(x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_agree_with_numpy_where_it_keeps_signs(dtype):
    """Quotients by zero, parts that are zeros with a sign, infinite ones, and NaN."""
    parts = (0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"))
    every = [complex(*pair) for pair in itertools.product(parts, repeat=2)]
    pairs = list(itertools.product(every, repeat=2))
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    out = np.zeros((6, len(a)), dtype)
    run(len(a), of_two_complex, a, b, out)
    with np.errstate(all="ignore"):
        expected = (a / b, a + b, a - b, -a, a.conj())
    for n, (found, wanted) in enumerate(zip(out, expected, strict=False)):
        assert same(found, wanted), n
    for found, x in zip(out[5], a.tolist(), strict=True):
        wanted = np.array([cmath.sqrt(x)], dtype)
        assert np.isclose(found.real, wanted.real, rtol=1e-6, equal_nan=True).all(), x
        assert np.isclose(found.imag, wanted.imag, rtol=1e-6, equal_nan=True).all(), x
        assert same(np.signbit(found.imag), np.signbit(wanted.imag)[0]) or np.isnan(found.imag)


def test_products_of_complex_numbers_have_the_sign_of_their_zeros():
    def kernel(i, a, b, out):
        out[i] = a[i] * b[i]

    parts = (0.0, -0.0, 1.0, -2.0)
    every = [complex(*pair) for pair in itertools.product(parts, repeat=2)]
    a, b = np.array(list(itertools.product(every, repeat=2))).T.copy()
    out = np.zeros(len(a), complex)
    run(len(a), es.kernel(kernel, fma=False), a, b, out)
    assert same(out, np.array([x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)]))


# -- names ----------------------------------------------------------------------------------------


def test_variables_may_have_any_name():
    """Letters of every alphabet, and names that the printer gives, too."""

    @es.function
    def größe(entry, part1):  # noqa: PLC2401
        return entry * part1

    def ядро(i, 変数, slot1, out):  # noqa: PLC2401
        t1 = 変数[i] + 1
        entry = t1 * 2
        loop9 = 0
        for k in range(3):
            loop9 += k * entry
        record = complex(entry, loop9)
        é = größe(entry, loop9)  # noqa: PLC2401
        out[i] = é + slot1 + record.imag

    x, out = np.arange(4), np.zeros(4)
    run(4, ядро, x, 5, out)
    entry = (x + 1) * 2
    assert out.tolist() == (entry * 3 * entry + 5 + 3 * entry).tolist()


def test_names_are_quoted_where_llvm_needs_it():
    assert local("x") == "%v.x"
    assert local("größe") == r'%"v.gr\C3\B6\C3\9Fe"'
    assert local('a"b\\') == r'%"v.a\22b\5C"'


# -- loops ----------------------------------------------------------------------------------------

TOP = 2**63
BOUNDS = (
    (0, 5, 1), (5, 0, 1), (5, 0, -1), (0, 10, 3), (10, 0, -3), (3, 4, 7), (0, 0, 1), (0, 9, 0),
    (TOP - 4, TOP - 1, 1), (TOP - 4, TOP - 1, 2), (TOP - 4, TOP - 1, TOP - 1),
    (-TOP, -TOP + 5, 2), (-TOP + 3, -TOP, -1), (-TOP + 3, -TOP, -2), (-TOP + 3, -TOP, -TOP),
    (-TOP, TOP - 1, 2**62), (TOP - 1, -TOP, -(2**62)), (TOP - 1, -TOP, -TOP),
    (-TOP, TOP - 1, TOP - 1),
)  # fmt: skip


def walked(indices):
    """Number of indices, their sum, and the last one; as int64."""
    indices = list(indices)
    return [len(indices), wrapped(sum(indices), "int64"), indices[-1] if indices else 7]


def test_loops_have_the_indices_of_range():
    def kernel(i, bounds, out):
        n, total, last = 0, 0, 7
        for k in range(bounds[i, 0], bounds[i, 1], bounds[i, 2]):
            n += 1
            total += k
            last = k
        out[i, 0], out[i, 1], out[i, 2] = n, total, last

    given, out = np.array(BOUNDS), np.zeros((len(BOUNDS), 3), int)
    run(len(BOUNDS), kernel, given, out)
    for found, (start, stop, step) in zip(out.tolist(), BOUNDS, strict=True):
        assert found == walked(range(start, stop, step) if step else ()), (start, stop, step)


@pytest.mark.parametrize("step", [1, -1, 2, -3, 2**62, -(2**63)])
def test_loops_with_constant_steps(step):
    def kernel(i, bounds, out):
        n, total, last = 0, 0, 7
        for k in range(bounds[i, 0], bounds[i, 1], step):
            n += 1
            total += k
            last = k
        out[i, 0], out[i, 1], out[i, 2] = n, total, last

    few = [b for b in BOUNDS if abs(b[1] - b[0]) // abs(step) < 100]
    given, out = np.array(few), np.zeros((len(few), 3), int)
    assert len(few) > 8
    run(len(few), kernel, given, out)
    for found, (start, stop, _) in zip(out.tolist(), few, strict=True):
        assert found == walked(range(start, stop, step)), (start, stop)


def test_a_loop_evaluates_its_bounds_once_and_its_variable_may_change():
    def plain(n):
        seen, stop = 0, n
        for k in range(stop):
            stop = 2
            if k == 3:
                continue
            if k == 6:
                break
            seen = 10 * seen + k
            k += 5
            seen += k
        else:
            seen = -seen
        return seen

    out = np.zeros(9, int)
    helper = es.function(plain)

    def launched(i, out):
        out[i] = helper(i)

    run(9, launched, out)
    assert out.tolist() == [plain(n) for n in range(9)]


# -- output ---------------------------------------------------------------------------------------


def test_printf_prints_what_python_formats(capfd):
    small, wide = np.array([-128, 127], np.int8), np.array([2**64 - 1], np.uint64)
    single, yes = np.array([0.1], np.float32), np.array([True])

    def kernel(i, small, wide, single, yes):
        es.printf("%d %d|%5d|%-5d|%05d|%+d\n", small[0], small[1], i, i, i, i)
        es.printf("%x %X %o %u\n", 255, 255, 8, wide[0])
        es.printf("%c%c 100%% ä\n", 65, small[1] - 5)
        es.printf("%g %.3f %e %d\n", single[0], 2.5, 1e-10, yes[0])

    run(1, kernel, small, wide, single, yes)
    lines = [
        "-128 127|    0|0    |00000|+0",
        f"ff FF 10 {2**64 - 1}",
        "Az 100% ä",
        "0.1 2.500 1.000000e-10 1",
    ]
    assert capfd.readouterr().out == "\n".join(lines) + "\n"


# -- whole modules --------------------------------------------------------------------------------


@es.function
def positive(v):
    assert v > 0
    return v


def asserting(i, x, y):
    y[i] = positive(x[i])
    assert y[i] < 100


def with_records(i, r, y):
    r[i].count += 1
    y[i] = r[i].weight * r[i].count


def with_atomics(i, n, y):
    es.atomic_add(n, i % 2, 1)
    es.atomic_max(y, 0, float(i))
    y[1] = es.atomic_fetch_sub(y, 2, 1.5)


def with_local_arrays(i, x, y):
    t = es.local((2, 3), es.float32)
    for j in range(3):
        t[i % 2, j] = x[i] * j
    y[i] = t[0, 2] + t[1, 1]


def with_while(i, x, y):
    v, n = x[i], 0
    while v < 1000 and n < 50:
        v *= 2
        n += 1
        if n == 20:
            return
    y[i] = v if n > 3 else -v


def total(i, x):
    return x[i]


def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def of_teams(team, x, y):
    part = team.scratch(4, x.dtype)
    part[team.team_rank % 4] = x[team.league_rank]
    team.barrier()
    s = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: part[k])
    if team.team_rank == 0:
        y[team.league_rank] = s


RECORD = np.dtype([("count", "i4"), ("weight", "f8")], align=True)


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_llvm_accepts_every_module(host):
    x, y = np.ones(9), np.zeros(9)
    line, plane = es.RangePolicy(9, space=host), es.MDRangePolicy((3, 3), space=host)
    tiles = es.MDRangePolicy((3, 3), tile=(2, 2), space=host)
    A = np.ones((3, 3))
    launches = [
        (line, asserting, (x, y), {}),
        (line, with_records, (np.zeros(9, RECORD), y), {}),
        (line, with_atomics, (np.zeros(2, int), y), {}),
        (line, with_local_arrays, (x, y), {}),
        (line, with_while, (x, y), {}),
        (line, total, (x,), {"reducer": es.Sum}),
        (line, total, (x,), {"reducer": es.MinMax}),
        (line, total, (x,), {"reducer": es.Sum(accuracy="high")}),
        (line, lambda i, x: (x[i], i), (x,), {"reducer": (es.Sum(), es.Max())}),
        (line, running, (x, y), {"pattern": "scan"}),
        (plane, lambda i, j, A: A[i, j] * i, (A,), {"pattern": "reduce"}),
        (tiles, lambda i, j, A: A[i, j] * i, (A,), {"pattern": "reduce"}),
        (es.TeamPolicy(3, 4, space=host), of_teams, (x, y), {}),
    ]
    for policy, kernel, args, options in launches:
        text = es.explain(policy, kernel, *args, **options).source
        llvm.parse_assembly(text).verify()
        assert text.count("define ptr @execspace_entry(") == 1
