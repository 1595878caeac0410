"""The kernel language: on every space a kernel gives the oracle's answer, bit for bit.

Kernels forbid contraction (`fma=False`), so IEEE operations have one right answer. Where NumPy
has the operation too, the oracle itself is checked against NumPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

exact = es.kernel(fma=False)

N = 64
_rng = np.random.default_rng(7)
INTS = _rng.integers(-50, 50, N)
SMALL = _rng.integers(-7, 8, N)
FLOATS = _rng.normal(size=N) * 3
OTHERS = _rng.normal(size=N)
FLOATS[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 2.5, -2.5]
OTHERS[:8] = [1.0, np.inf, 2.0, -0.0, 0.0, np.nan, 0.5, -0.5]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def run(space, kernel, outputs, *inputs, policy=N, shape=N):
    """Outputs of a kernel on a space, after comparing them with the oracle's."""
    results = {}
    for where in (space, es.space("oracle")):
        with es.use_space(where):
            arrays = [np.zeros(shape, dtype) for dtype in outputs]
            staged.parallel_for(policy, kernel, *arrays, *inputs)
            results[where.name] = arrays
    for mine, oracle in zip(results[space.name], results["oracle"], strict=True):
        np.testing.assert_array_equal(mine, oracle)
        if mine.dtype.kind == "f":  # zeros of both signs compare equal, so look at the sign too
            numbers = ~np.isnan(oracle)
            np.testing.assert_array_equal(np.signbit(mine)[numbers], np.signbit(oracle)[numbers])
    return results[space.name]


@exact
def int_operators(i, add, sub, mul, div, mod, a, b):
    add[i] = a[i] + b[i]
    sub[i] = a[i] - b[i]
    mul[i] = a[i] * b[i]
    div[i] = a[i] // b[i]
    mod[i] = a[i] % b[i]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps_and_floors(space, dtype):
    a, b = INTS.astype(dtype), SMALL.astype(dtype)
    results = run(space, int_operators, (dtype,) * 5, a, b)
    with np.errstate(all="ignore"):
        expected = (a + b, a - b, a * b, a // b, a % b)
    for mine, numpy in zip(results, expected, strict=True):
        np.testing.assert_array_equal(mine, numpy)


def test_least_integer_divided_by_minus_one_wraps(space):
    least = np.array([np.iinfo(np.int64).min] * 2)
    _, _, _, div, mod = run(
        space, int_operators, (np.int64,) * 5, least, np.array([-1, 0]), policy=2, shape=2
    )
    assert div.tolist() == [least[0], 0]  # and a division by zero gives 0
    assert mod.tolist() == [0, 0]


@exact
def float_operators(i, add, mul, div, floordiv, mod, a, b):
    add[i] = a[i] + b[i]
    mul[i] = a[i] * b[i]
    div[i] = a[i] / b[i]
    floordiv[i] = a[i] // b[i]
    mod[i] = a[i] % b[i]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_arithmetic_is_ieee_with_pythons_floor(space, dtype):
    a, b = FLOATS.astype(dtype), OTHERS.astype(dtype)
    results = run(space, float_operators, (dtype,) * 5, a, b)
    with np.errstate(all="ignore"):
        expected = (a + b, a * b, a / b, a // b, a % b)
    for mine, numpy in zip(results, expected, strict=True):
        np.testing.assert_array_equal(mine, numpy)


@exact
def bit_operators(i, both, left, right, flipped, a, b):
    both[i] = (a[i] & b[i]) | (a[i] ^ 3)
    left[i] = a[i] << b[i]
    right[i] = a[i] >> b[i]
    flipped[i] = ~a[i]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_operators_and_shifts_of_any_distance(space, dtype):
    a, b = INTS.astype(dtype), SMALL.astype(dtype)
    _, left, right, _ = run(space, bit_operators, (dtype,) * 4, a, b)
    np.testing.assert_array_equal(left, np.left_shift(a, b))
    np.testing.assert_array_equal(right, np.right_shift(a, b))


@exact
def compare(i, o, a, b):
    n = 0
    if a[i] < b[i]:
        n += 1
    if a[i] <= b[i] or a[i] != b[i]:
        n += 2
    if not a[i] >= b[i]:
        n += 4
    if -1 < a[i] < b[i] < 2.5:
        n += 8
    o[i] = n + (16 if a[i] == b[i] else 0) + (a[i] > 0) + (b[i] > 0)


def test_comparisons_chain_and_are_false_with_nan(space):
    (o,) = run(space, compare, (np.int64,), FLOATS, OTHERS)
    assert o[0] == 2 + 4 + 1  # NaN against 1.0: only != and `not >=` hold, and b > 0


@exact
def mixed_types(i, f, n, k, a32, k32, k8):
    f[i] = a32[i] * 2.0 + i / 3
    n[i] = k32[i] * i + 1
    k[i] = k8[i] + k8[i] * 3


def test_weak_literals_and_indices(space):
    """float32 * 2.0 and float32 + index stay float32; int32 * index is int64; int8 stays int8."""
    a32, k32, k8 = FLOATS.astype("f4"), (INTS * 10**7).astype("i4"), INTS.astype("i1")
    f, n, k = run(space, mixed_types, (np.float64, np.int64, np.int64), a32, k32, k8)
    i = np.arange(N)
    np.testing.assert_array_equal(f, (a32 * np.float32(2) + (i / 3).astype("f4")).astype("f8"))
    np.testing.assert_array_equal(n, k32.astype(np.int64) * i + 1)
    np.testing.assert_array_equal(k, (k8 + k8 * np.int8(3)).astype(np.int64))


def test_number_arguments_are_weak_and_numpy_numbers_are_not(space):
    @es.kernel
    def scaled(i, o, x, a):
        o[i] = x[i] * a

    x = np.array([1 / 3], np.float32)
    for a, expected in ((0.1, x * np.float32(0.1)), (np.float64(0.1), x * np.float64(0.1))):
        o = np.zeros(1)
        with es.use_space(space):
            staged.parallel_for(1, scaled, o, x, a)
        assert o[0] == expected[0]


@exact
def control_flow(i, o, a):
    s = 0
    for k in range(10, -3, -2):
        if k == 4:
            continue
        if a[i] > 1.0 and k < 2:
            break
        s += k * k
    else:
        s -= 1000
    j = i
    while True:
        if j > 5:
            w = j
            break
        j += 3
    if a[i] < 0:
        o[i] = s + w
        return
    x, y = s, w
    x, y = y, x
    o[i] = x - y if 0 < a[i] < 1 else x * y


def test_loops_with_else_early_return_and_swaps(space):
    (o,) = run(space, control_flow, (np.float64,), FLOATS)
    expected = np.zeros(N)
    for i in range(N):  # the kernel is a Python function, so Python itself is the reference
        control_flow(i, expected, FLOATS)
    np.testing.assert_array_equal(o, expected)


@exact
def loop_variable(i, o, n):
    last = -1
    for k in range(n[i]):
        last = k
        k = k + 100
        last += k
    o[i] = last


def test_assigning_the_loop_variable_does_not_disturb_range(space):
    (o,) = run(space, loop_variable, (np.int64,), np.abs(SMALL))
    assert o.tolist() == [2 * (n - 1) + 100 if n else -1 for n in np.abs(SMALL).tolist()]


@exact
def stepped(i, o, step):
    n = 0
    for k in range(0, 7 * step[i], step[i]):
        n += 1 + k * 0
    o[i] = n


def test_a_computed_step_and_an_empty_loop_where_it_is_zero(space):
    (o,) = run(space, stepped, (np.int64,), SMALL)
    assert o.tolist() == [7 if step else 0 for step in SMALL.tolist()]


@exact
def widened(i, o, x):
    acc = 0
    for k in range(3):
        acc += x[i] * k
    o[i] = acc


def test_a_variable_takes_the_joined_type_of_its_assignments(space):
    (o,) = run(space, widened, (np.float64,), FLOATS)
    x = FLOATS[8:]
    np.testing.assert_array_equal(o[8:], 0 + x * 0 + x * 1 + x * 2)


@exact
def minima(i, p, q, r, s, t, a, b):
    p[i] = min(a[i], b[i])
    q[i] = max(a[i], b[i], 0.5)
    r[i] = np.minimum(a[i], b[i])
    s[i] = np.fmax(a[i], b[i])
    t[i] = abs(a[i])


def test_python_and_numpy_minima_differ_in_nan_as_they_should(space):
    with np.errstate(all="ignore"):
        p, _, r, s, _ = run(space, minima, (np.float64,) * 5, FLOATS, OTHERS)
        np.testing.assert_array_equal(p, [min(x, y) for x, y in zip(FLOATS, OTHERS, strict=True)])
        np.testing.assert_array_equal(r, np.minimum(FLOATS, OTHERS))
        np.testing.assert_array_equal(s, np.fmax(FLOATS, OTHERS))


@exact
def powers(i, p, q, r, a, k):
    p[i] = a[i] ** 2 + a[i] ** 3
    q[i] = k[i] ** abs(k[i])
    r[i] = abs(a[i]) ** 0.5


def test_powers(space):
    p, q, _ = run(space, powers, (np.float64, np.int64, np.float64), FLOATS, SMALL)
    x = FLOATS[8:]
    np.testing.assert_array_equal(p[8:], x * x + x * x * x)
    assert q.tolist() == [k ** abs(k) for k in SMALL.tolist()]


@exact
def conversions(i, o, p, q, a):
    v = a[i] if a[i] == a[i] and abs(a[i]) < 1e9 else 0.0
    o[i] = round(v)
    p[i] = int(v * 100) + math.floor(v * 7)
    q[i] = math.ceil(v) - bool(v) + es.int8(v * 100)


def test_round_int_floor_and_casts(space):
    o, p, _ = run(space, conversions, (np.int64, np.int64, np.float64), FLOATS)
    finite = np.where(np.isfinite(FLOATS), FLOATS, 0.0)
    assert o.tolist() == [round(v) for v in finite.tolist()]  # half to even
    assert p.tolist() == [int(v * 100) + math.floor(v * 7) for v in finite.tolist()]


@exact
def complex_kernel(i, o, p, z):
    w = z[i] * (1 + 2j) - z[i].conjugate()
    o[i] = w * w + complex(i, 1)
    p[i] = w.real - w.imag


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(space, dtype):
    needs_dtype(space, dtype)
    z = (SMALL + 1j * INTS).astype(dtype)
    real = "float32" if dtype == "complex64" else "float64"
    o, p = run(space, complex_kernel, (dtype, real), z)
    w = z * (1 + 2j) - z.conj()
    np.testing.assert_array_equal(p, (w.real - w.imag).astype(real))
    np.testing.assert_allclose(o, w * w + (np.arange(N) + 1j), rtol=1e-6)


def square(x):
    return x * x


def clamp(x, low, high):
    if x < low:
        return low
    return high if x > high else x


def row_sum(A, i):
    s = 0.0
    for j in range(A.extent(1)):
        s += A[i, j]
    return s


@exact
def with_helpers(i, o, p, q, a, k, A):
    o[i] = clamp(square(a[i]), 0.25, 2)
    p[i] = square(k[i]) + clamp(i, 3, 9)
    q[i] = row_sum(A, i)


def test_helper_functions_are_typed_for_each_call(space):
    A = _rng.normal(size=(N, 5))
    _, p, q = run(space, with_helpers, (np.float64, np.int64, np.float64), FLOATS, INTS, A)
    assert p.tolist() == [k * k + min(max(i, 3), 9) for i, k in enumerate(INTS.tolist())]
    np.testing.assert_allclose(q, A.sum(axis=1), rtol=1e-13)


@exact
def view_attributes(i, o, A):
    o[i] = A.extent(0) * 100 + A.shape[1] + len(A) + A.size + A.rank + A[-1, -2]


def test_view_attributes_and_literal_negative_subscripts(space):
    A = np.arange(20.0).reshape(4, 5)
    (o,) = run(space, view_attributes, (np.float64,), A)
    assert set(o) == {400 + 5 + 4 + 20 + 2 + A[-1, -2]}


@exact
def booleans(i, o, p, q, a, k):
    o[i] = a[i] > 0 and not k[i] > 3
    p[i] = k[i] or 7
    q[i] = (a[i] > 0) + (k[i] > 0) * 2


def test_booleans_count_and_or_gives_the_deciding_operand(space):
    o, p, q = run(space, booleans, (np.bool_, np.int64, np.int64), OTHERS, INTS)
    assert p.tolist() == [k or 7 for k in INTS.tolist()]
    np.testing.assert_array_equal(o, (OTHERS > 0) & ~(INTS > 3))
    np.testing.assert_array_equal(q, (OTHERS > 0) * 1 + (INTS > 0) * 2)


MATH = [
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
    "gamma", "lgamma", "floor", "ceil", "trunc",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mathematical_functions_within_two_units_in_the_last_place(space, dtype, tmp_path):
    """All functions in one kernel; `gamma` and the like lose a little more."""
    inside = np.linspace(0.05, 0.95, N).astype(dtype)
    lines = [f"    o[{n}, i] = math.{name}(x[i] + shift[{n}])" for n, name in enumerate(MATH)]
    path = tmp_path / "functions.py"
    path.write_text("import math\ndef functions(i, o, x, shift):\n" + "\n".join(lines) + "\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    shift = np.array([1.0 if name == "acosh" else 0.0 for name in MATH], dtype)
    o = np.zeros((len(MATH), N), dtype)
    with es.use_space(space):
        staged.parallel_for(N, scope["functions"], o, inside, shift)
    for n, name in enumerate(MATH):
        expected = np.array([getattr(math, name)(float(v)) for v in inside + shift[n]])
        ulps = 16 if name in ("gamma", "lgamma", "erfc") else 2
        # lgamma crosses zero at 1: there its error is relative to the numbers that cancel.
        scale = np.maximum(np.abs(expected), 1.0 if name == "lgamma" else 1e-2)
        tolerance = ulps * np.spacing(scale.astype(dtype))
        assert np.all(np.abs(o[n] - expected) <= tolerance), name


# (function, argument, result), where Python raises OverflowError or ValueError.
BEYOND = [
    ("exp", 1e4, math.inf), ("exp", -1e4, 0.0), ("exp2", 2e4, math.inf), ("expm1", 1e4, math.inf),
    ("sinh", 1e4, math.inf), ("sinh", -1e4, -math.inf), ("cosh", -1e4, math.inf),
    ("log", 0.0, -math.inf), ("log1p", -1.0, -math.inf), ("atanh", -1.0, -math.inf),
    ("gamma", 200.0, math.inf), ("gamma", 0.0, math.inf), ("gamma", -0.0, -math.inf),
    ("gamma", -math.inf, math.nan), ("gamma", -3.0, math.nan),
    ("lgamma", -3.0, math.inf), ("lgamma", math.inf, math.inf), ("sqrt", -1.0, math.nan),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mathematical_functions_beyond_the_numbers(space, dtype):
    """The limit, with its sign. Near 0 the gamma function is the inverse."""
    least = float(np.finfo(dtype).smallest_subnormal)
    known = [*BEYOND, ("gamma", least, math.inf), ("gamma", -least, -math.inf)]
    names = sorted({name for name, _, _ in known})
    lines = "".join(f"    o[{n}, i] = math.{name}(x[i])\n" for n, name in enumerate(names))
    scope = {"es": es, "math": math}
    text = "@es.kernel\ndef functions(i, o, x):\n" + lines
    exec(text, scope)
    x = np.array([value for _, value, _ in known], dtype)
    o = np.zeros((len(names), len(x)), dtype)
    with es.use_space(space):
        staged.parallel_for(len(x), scope["functions"], o, x)
    for n, (name, value, expected) in enumerate(known):
        np.testing.assert_equal(float(o[names.index(name), n]), expected, f"{name}({value})")


def test_captured_constants_are_read_again_at_each_launch(space):
    factor = 2.0

    def scale(i, o):
        o[i] = factor * i

    o = np.zeros(4)
    with es.use_space(space):
        staged.parallel_for(4, scale, o)
        assert o.tolist() == [0, 2, 4, 6]
        factor = -0.5
        staged.parallel_for(4, scale, o)
    assert o.tolist() == [0, -0.5, -1, -1.5]


def test_captured_views_are_arguments_not_constants(space):
    with es.use_space(space):
        for value in (1.0, 2.0):
            x = es.View(10, label="captured")
            es.deep_copy(x, value)
            assert staged.parallel_reduce(10, lambda i: x[i]) == 10 * value


def test_without_fma_products_are_rounded(space):
    """With contraction, which is allowed by default, a*a - p is what rounding a*a has cut off."""

    def residual(i, o, a, p):
        o[i] = a[i] * a[i] - p[i]

    a, o = np.array([1 + 2.0**-30] * 4), np.ones(4)
    with es.use_space(space):
        staged.parallel_for(4, exact(residual), o, a, a * a)
    assert not o.any()


def test_the_same_view_may_be_passed_twice(space):
    """Views that overlap are noticed at launch; a shift within one View is then exact."""

    @exact
    def add(i, x, y):
        x[i] += y[i]

    with es.use_space(space):
        x = es.View(100, label="x")
        es.deep_copy(x, np.arange(100.0))
        staged.parallel_for(100, add, x, x)
        np.testing.assert_array_equal(staged.fetch(x), 2 * np.arange(100.0))
        staged.parallel_for(50, add, x[:50], x[50:])
    np.testing.assert_array_equal(
        staged.fetch(x)[:50], 2 * np.arange(50.0) + 2 * np.arange(50, 100)
    )


MANY = """
@es.kernel
def kernel(i, {names}):
    {statements}
"""


@pytest.mark.parametrize("count", [6, 40])
def test_many_views_of_which_two_are_one(space, count):
    """Each is looked at: what is stored into one is read from the other one afterwards."""
    reads, writes = ([f"{c}{n}" for n in range(count)] for c in "xy")
    statements = [f"y{n}[i] = x{n}[i] + {n}" for n in range(count)]
    statements += [f"y{n}[i] += 2 * x{n}[i]" for n in range(count)]
    scope = {"es": es}
    exec(MANY.format(names=", ".join(reads + writes), statements="; ".join(statements)), scope)
    for stored, read in ((0, 0), (1, count - 1), (count - 1, 0), (count - 1, 2), (None, None)):
        arrays = [np.arange(float(n), n + 4) for n in range(2 * count)]
        views = [es.View(4, label=name, space=space) for name in reads + writes]
        for view, array in zip(views, arrays, strict=True):
            es.deep_copy(view, array)
        if read is not None:
            views[read], arrays[read] = views[count + stored], arrays[count + stored]
        staged.parallel_for(es.RangePolicy(4, space=space), scope["kernel"], *views)
        for i in range(4):
            scope["kernel"](i, *arrays)
        for view, array in zip(views, arrays, strict=True):
            assert staged.fetch(view).tolist() == array.tolist(), (stored, read, view.label)


FLAG = True


def test_a_constant_condition_does_not_change_the_type_of_a_choice(space):
    def kernel(i, narrow, wide, out, static: es.static):
        out[i, 0] = (narrow[i] if FLAG else wide[i]) * narrow[i]
        out[i, 1] = (narrow[i] if i >= 0 else wide[i]) * narrow[i]
        out[i, 2] = (wide[i] if not static else narrow[i]) * narrow[i]
        out[i, 3] = (200 and narrow[i] and (narrow[i] or wide[i])) * narrow[i]
        if static:
            chosen = narrow[i]
        else:
            chosen = wide[i]
        out[i, 4] = chosen * narrow[i]  # the other branch is not there: it wraps

    narrow, out = np.full(3, 200, np.uint8), np.zeros((3, 5))
    with es.use_space(space):
        staged.parallel_for(3, kernel, narrow, np.full(3, 7, np.int32), out, True)
    assert out.tolist() == [[40000] * 4 + [64]] * 3


def test_long_chains_of_tests_and_sums(space):
    def kernel(i, x, out):
        if i == 0:
            out[i] = 1
        elif i == 1:
            out[i] = 2
        elif (
            i == 2
            or i == 3
            or i == 4
            or i == 5
            or i == 6
            or i == 7
            or i == 8
            or i == 9
            or i == 10
            or i == 11
            or i == 12
            or i == 13
            or i == 14
            or i == 15
            or i == 16
            or i == 17
            or i == 18
            or i == 19
            or i == 20
        ):
            out[i] = 3
        elif (y := x[i]) < 0:
            out[i] = y
        elif i == 21:
            out[i] = y + 1
        elif i == 22:
            out[i] = 5
        elif i == 23:
            out[i] = 6
        elif i == 24:
            out[i] = 7
        elif i == 25:
            out[i] = 8
        elif i == 26:
            out[i] = 9
        elif i == 27:
            out[i] = 10
        elif i == 28:
            out[i] = 11
        elif i == 29:
            out[i] = 12
        elif i == 30:
            out[i] = 13
        elif i == 31:
            out[i] = 14
        elif i == 32:
            out[i] = 15
        elif i == 33:
            out[i] = 16
        elif i == 34:
            out[i] = (
                x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i]
                + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i]
                + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i]
            )  # fmt: skip
        else:
            out[i] = 0

    x, out, expected = np.arange(40.0), np.zeros(40), np.zeros(40)
    x[30:33] = -1.5
    for i in range(40):
        kernel(i, x, expected)
    with es.use_space(space):
        staged.parallel_for(40, kernel, x, out)
    assert out.tolist() == expected.tolist()


@exact
def computed_powers(i, x, y, of_operator, of_function):
    of_operator[i] = x[i] ** y[i]
    of_function[i] = math.pow(x[i], y[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_computed_exponent_of_one_half_is_a_power_like_others(space, dtype):
    x = np.array([-np.inf, -0.0, 0.0, np.inf, 4.0], dtype)
    y = np.full(5, 0.5, dtype)
    found = np.ones((2, 5), dtype)
    with es.use_space(space):
        staged.parallel_for(5, computed_powers, x, y, found[0], found[1])
    expected = [math.pow(a, 0.5) for a in x.tolist()]
    for row in found:
        np.testing.assert_array_equal(row, expected)
        np.testing.assert_array_equal(np.signbit(row), np.signbit(expected))
