"""Data within kernels: subviews, local arrays, records, and messages to the host."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_atomic, needs_dtype

SLICES = [
    (None, None, 1), (1, None, 1), (None, -1, 1), (2, 5, 1), (-3, -1, 1), (5, 2, 1), (0, 100, 1),
    (-100, 3, 1), (None, None, 2), (1, None, 3), (None, None, -1), (5, 1, -2), (-1, 0, -3),
    (100, -100, -1), (7, 8, 1), (3, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, -3])
def test_slices_follow_python(space, step):
    data = np.arange(8.0)
    cases = [(a, b) for a, b, s in SLICES if s == step and None not in (a, b)]
    cases += [(a, b) for a in (-9, -2, 0, 3, 9) for b in (-9, -1, 2, 8, 12)]

    def kernel(i, out, x, starts, stops):
        part = x[starts[i] : stops[i] : step]
        total = 0.0
        for k in range(part.extent(0)):
            total += (k + 1) * part[k]
        out[i, 0] = part.extent(0)
        out[i, 1] = total

    out = np.zeros((len(cases), 2))
    starts, stops = (np.array(ends) for ends in zip(*cases, strict=True))
    with es.use_space(space):
        staged.parallel_for(len(cases), kernel, out, data, starts, stops)
    for (a, b), (extent, total) in zip(cases, out, strict=True):
        part = data[a:b:step]
        assert (extent, total) == (len(part), sum((k + 1) * v for k, v in enumerate(part)))


def test_constant_slices_and_slices_of_slices(space):
    A = np.arange(60.0).reshape(5, 12)

    def kernel(i, out, A):
        row = A[i, 1:]
        odd = row[::2]
        back = odd[::-1]
        corner = A[1:4, 2:-2][::2, ::-3]
        whole = es.subview(A, es.ALL, i)
        pair = es.subview(A, (1, 3), es.ALL)
        out[i, 0] = row[0] + row[-1]
        out[i, 1] = odd[1] + len(odd)
        out[i, 2] = back[0] + back[-1]
        out[i, 3] = corner[1, 0] + corner.extent(0) * 100 + corner.shape[1] * 1000
        out[i, 4] = whole[2] + whole.size
        out[i, 5] = pair[1, i] + pair.rank

    out = np.zeros((5, 6))
    with es.use_space(space):
        staged.parallel_for(5, kernel, out, A)
    for i in range(5):
        row, corner = A[i, 1:], A[1:4, 2:-2][::2, ::-3]
        odd = row[::2]
        expected = [
            row[0] + row[-1], odd[1] + len(odd), odd[-1] + odd[0],
            corner[1, 0] + corner.shape[0] * 100 + corner.shape[1] * 1000,
            A[2, i] + 5, A[2, i] + 2,
        ]  # fmt: skip
        np.testing.assert_array_equal(out[i], expected)


def dot(a, b):
    total = 0.0
    for k in range(a.extent(0)):
        total += a[k] * b[k]
    return total


def fill(part, value):
    for k in range(len(part)):
        part[k] = value


def test_subviews_are_passed_to_helpers(space):
    A, B = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(4, 3) + 1

    def matmul(i, j, C, A, B):
        C[i, j] = dot(A[i, :], B[:, j])

    def clear_row(i, C):
        fill(C[i, 1:], -1.0)

    C = np.zeros((3, 3))
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((3, 3)), matmul, C, A, B)
        np.testing.assert_array_equal(C, A @ B)
        staged.parallel_for(3, clear_row, C)
    assert (C[:, 1:] == -1).all()
    assert (C[:, 0] != -1).all()


# -- local arrays -------------------------------------------------------------------------------


def rotate(m, c, s):
    """A local array is passed by reference."""
    for k in range(2):
        a, b = m[0, k], m[1, k]
        m[0, k] = c * a - s * b
        m[1, k] = s * a + c * b


def test_local_arrays_are_private_and_zeroed(space):
    def kernel(i, out, has_complex: es.static):
        for _ in range(2):
            m = es.local((2, 2))
            m[0, 0] += 1.0  # zero again in the second round
            m[1, 1] += i
        rotate(m, 0.0, 1.0)
        z = es.local(3, es.complex64 if has_complex else es.float32)
        z[1] = 2j if has_complex else 2
        square = z[1] * z[1]
        out[i] = m[0, 0] + 10 * m[0, 1] + 100 * m[1, 0] + 1000 * m[1, 1] + square.real

    out = np.zeros(4)
    with es.use_space(space):
        staged.parallel_for(4, kernel, out, space.capabilities.complex)
    square = -4 if space.capabilities.complex else 4
    np.testing.assert_array_equal(out, [-10 * i + 100 + square for i in range(4)])


def test_private_arrays_of_a_call_have_a_stated_limit(space):
    def kernel(i, out, n: es.static):
        a = es.local(n)
        b = es.local((2, 8), es.float32)
        for k in range(n):
            a[k] = i + k
        b[1, 7] = i
        out[i] = a[0] + a[n - 1] + b[1, 7]

    room = 65536 - 64  # beside the smaller array
    out = np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, kernel, out, room // 8)
        np.testing.assert_array_equal(out, [3 * i + room // 8 - 1 for i in range(3)])
        with pytest.raises(es.KernelTypeError) as error:
            staged.parallel_for(3, kernel, out, room // 8 + 1)
    report = str(error.value)
    assert "a = es.local(n)" in report
    assert "65,480 bytes here, and all private arrays of a call of the kernel take 65,544" in report
    assert "room for 65,536 bytes" in report


def test_private_arrays_of_functions_count_at_each_place_that_calls_them(space):
    def last(x):
        t = es.local(3000)
        t[2999] = x
        return t[2999]

    def twice(i, out):
        out[i] = last(i) + last(i + 1.0)

    def thrice(i, out):
        out[i] = last(i) + last(i + 1.0) + last(last(i))

    out = np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, twice, out)
        assert out.tolist() == [1.0, 3.0, 5.0]
        with pytest.raises(es.KernelTypeError, match="of a call of the kernel take 96,000"):
            staged.parallel_for(3, thrice, out)


# -- records ------------------------------------------------------------------------------------

PARTICLE = np.dtype(
    [("x", "f8"), ("id", "i4"), ("v", "f4", (2, 3)), ("spin", [("up", "?"), ("phase", "c8")])]
)
ALIGNED = np.dtype([("a", "i1"), ("b", "f8"), ("c", "u2")], align=True)


@pytest.mark.parametrize("order", ["C", "F"])
def test_fields_of_records(space, order):
    needs_dtype(space, np.complex64)
    p = np.zeros((3, 2), PARTICLE, order=order)
    p["x"] = np.arange(6).reshape(3, 2)

    def kernel(i, j, p):
        q = p[i, j]  # refers to the element, as in NumPy
        q.id = i - j
        q.x *= 2
        for k in range(3):
            p[i, j].v[1, k] += k + q.x
        q.spin.up = q.id < 0
        q.spin.phase = complex(i, j)
        q["v"][0, 0] = p[i, j]["x"]

    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((3, 2)), kernel, p)
    i, j = np.indices((3, 2))
    x = 2.0 * np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(p["x"], x)
    np.testing.assert_array_equal(p["id"], i - j)
    np.testing.assert_array_equal(p["v"][:, :, 1], x[..., None] + np.arange(3))
    np.testing.assert_array_equal(p["v"][:, :, 0, 0], x)
    np.testing.assert_array_equal(p["spin"]["up"], i < j)
    np.testing.assert_array_equal(p["spin"]["phase"], i + 1j * j)


def energy(p):
    return 0.5 * p.b * p.b + p.a


def test_records_are_copied_and_passed(space):
    src = np.zeros(4, ALIGNED)
    src["a"], src["b"], src["c"] = [1, -2, 3, -4], [1.0, 2.0, 3.0, 4.0], 7
    dst = np.zeros(4, ALIGNED)

    def kernel(i, dst, src):
        dst[i] = src[3 - i]
        dst[i].b = energy(dst[i])

    with es.use_space(space):
        staged.parallel_for(4, kernel, dst, src)
    back = src[::-1]
    np.testing.assert_array_equal(dst["a"], back["a"])
    np.testing.assert_array_equal(dst["c"], 7)
    np.testing.assert_array_equal(dst["b"], 0.5 * back["b"] ** 2 + back["a"])


# -- messages to the host -----------------------------------------------------------------------


def positive(x):
    assert x > 0, "x must be positive"
    return 1 / x


def test_a_failed_assertion_names_the_place_and_the_indices(space):
    def kernel(i, j, out, x):
        assert i < 100
        out[i, j] = positive(x[i, j])

    x = np.ones((4, 5))
    out = np.zeros_like(x)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy(x.shape), kernel, out, x)
        assert (out == 1).all()
        x[2, 3] = -1.0
        with pytest.raises(es.KernelAssertionError, match="x must be positive") as caught:
            staged.parallel_for(es.MDRangePolicy(x.shape), kernel, out, x)
    assert "in kernel 'kernel' at indices (2, 3)" in str(caught.value)
    assert "assert x > 0" in str(caught.value)
    assert isinstance(caught.value, AssertionError)


def test_assertions_in_reductions(space):
    def kernel(i, x):
        assert x[i] == x[i], "not a number"
        return x[i]

    with es.use_space(space):
        assert staged.parallel_reduce(3, kernel, np.ones(3)) == 3.0
        with pytest.raises(AssertionError, match="at index 1"):
            staged.parallel_reduce(3, kernel, np.array([1.0, np.nan, 1.0]))


def test_printf(space, capfd):
    def kernel(i, x, n):
        es.printf("%d: %6.2f 100%% %x\n", i, x[i], n[i])
        es.printf("%ld|%5u|%-3d|%g\n", n[i], es.uint64(18446744073709551615), i, 1e30)

    with es.use_space(space):
        staged.parallel_for(1, kernel, np.array([1.5]), np.array([255], np.uint8))
    assert capfd.readouterr().out == "0:   1.50 100% ff\n255|18446744073709551615|0  |1e+30\n"


def test_atomic_steps_on_numbers_within_records(space):
    needs_atomic(space, 8)
    record = np.dtype([("n", "i4"), ("x", "f8"), ("v", "f4", (3,))], align=True)
    p = es.View(2, record, label="p", space=space)
    at = np.array([2, 0, 1])

    def step(i, p, at):
        p[i % 2].x += 1.0
        p[i % 2].v[1] += 2
        p[i % 2].v[at[i % 3]] += 1
        p[0].n -= 1

    staged.parallel_for(es.RangePolicy(600, space=space), step, p.with_traits("atomic"), at)
    found = staged.fetch(p)
    assert found["x"].tolist() == [300, 300]
    assert found["v"].tolist() == [[100, 700, 100]] * 2
    assert found["n"].tolist() == [-600, 0]
