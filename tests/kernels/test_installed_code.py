"""Functions of installed packages, launched as they are.

Nobody wrote them for execspace: they come from the standard library, from Numba, Matplotlib,
fontTools and Hypothesis. The function objects themselves are launched, as kernels or as
arguments of one-line kernels, and compared with CPython, which runs the same functions on the
same values.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
import warnings
from unittest import mock

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

# Modules that replace functions by C ones when they can -> what must be missing for them.
ACCELERATED = {"datetime": "_datetime", "statistics": "_statistics"}


@pytest.fixture(params=["oracle", "default"])
def where(request):
    """Two spaces are enough: it is the front end of the compiler that is tested."""
    return es.space("oracle") if request.param == "oracle" else es.default_space()


def load(module):
    """Import a module, in its pure Python form."""
    with warnings.catch_warnings(), mock.patch("faulthandler.enable"):  # numba.tests enables it
        warnings.simplefilter("ignore")
        if module not in ACCELERATED:
            return importlib.import_module(module)
        name = "_pydatetime" if module == "datetime" and sys.version_info >= (3, 12) else module
        spec = importlib.util.find_spec(name)
        pure = importlib.util.module_from_spec(spec)
        with mock.patch.dict(sys.modules, {ACCELERATED[module]: None}):
            spec.loader.exec_module(pure)
        return pure


def find(path):
    """The Python function that `module:name` refers to, or None."""
    module, _, name = path.partition(":")
    try:
        found = load(module)
        for attribute in name.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError):
        return None
    return getattr(found, "py_func", found)  # of a Numba dispatcher


def function(path):
    return find(path) or pytest.skip(f"{path} does not exist in the installed version")


R = np.random.default_rng(20)
N = 60
U, V, W = R.random((3, N)).round(1)  # equal ones occur
X, Y, Z = R.uniform(-3, 3, (3, N))
POSITIVE, POINT = np.maximum(X, 0), X / 2 + 0.4j * Y
ZERO = np.copysign(np.array([0.0, 0.0, 1.5])[R.integers(0, 3, N)], Y)
YEAR, MONTH = R.integers(1, 3000, N), R.integers(1, 13, N)
SMALL, MORE, POWER = R.integers(1, 90, N), R.integers(1, 60, N), 1 << R.integers(3, 12, N)
LARGE, SIGNED = R.integers(0, 1 << 40, N), R.integers(-9999, 9999, N)
NAN = np.array([0, 1, np.nan])[R.integers(0, 3, (4, N))].reshape(2, -1).view(complex)

# Functions of numbers that return one number, with what they get.
NUMBERS = {
    "statistics:_normal_dist_inv_cdf": (U * 0.98 + 0.01, X, V + 1),
    "datetime:_days_before_year": (YEAR,),
    "_pydecimal:_rshift_nearest": (LARGE, MORE % 30),
    "_pydecimal:_div_nearest": (SIGNED, SMALL),
    "zipfile:_gen_crc": (SMALL,),
    "encodings.punycode:adapt": (LARGE >> 20, SMALL % 2 == 0, MORE),
    "multiprocessing.heap:Heap._roundup": (SMALL, POWER),
    "hypothesis.internal.floats:sign_aware_lte": (ZERO, -ZERO[::-1]),
    "matplotlib.bezier:check_if_parallel": (X, Y, X * np.sign(Z), Y * np.sign(Z)),
    "fontTools.misc.fixedTools:floatToFixedToFloat": (X, MORE % 20),
    "numba.cuda.cudadrv.dummyarray:_compute_size": (SIGNED, SIGNED[::-1], 2 * MORE - 59),
    "numba.np.arraymath:less_than_or_equal_complex": tuple(NAN),
    "numba.tests.test_mandelbrot:is_in_mandelbrot": (POINT,),
    "numba.tests.test_array_exprs:neg_root_complex_subexpr": (X, Y, Z),
}
# Functions that return tuples.
TUPLES = {
    "colorsys:yiq_to_rgb": (U, X / 3, Y / 3),
    "colorsys:rgb_to_hls": (U, V, W),
    "colorsys:hls_to_rgb": (U, V, W),
    "colorsys:rgb_to_hsv": (U, V, W),
    "calendar:_prevmonth": (YEAR, MONTH),
    "fontTools.ttLib.ttFont:getSearchRange": (MORE,),
    "matplotlib.bezier:get_normal_points": (X, Y, U, V, POSITIVE),
}
# Functions of one or two integers: kernels of ranges of rank 1 or 2.
KERNELS = {
    "calendar:isleap": [(1, 2001)],
    "difflib:_calculate_ratio": [(0, 9), (0, 12)],
    **{
        f"numba.tests.test_flow_control:{name}": [(-3, 14), (-2, 9)]
        for name in ["for_loop_usecase9", "while_loop_usecase5"]
    },
}
# Functions of arrays, which the tests below call.
ARRAYS = {
    "heapq:_siftdown",
    "heapq:_siftup",
    "encodings.punycode:selective_find",
    "numba.np.arraymath:_median_inner",
    "numba.np.linalg:_get_rank_from_singular_values",
    "numba.tests.npyufunc.test_gufunc:matmulcore",
    "numba.tests.test_indexing:slicing_1d_usecase7",
}

NUMBER_OF = {
    1: lambda i, out, f, a: put(out, i, f(a[i])),
    2: lambda i, out, f, a, b: put(out, i, f(a[i], b[i])),
    3: lambda i, out, f, a, b, c: put(out, i, f(a[i], b[i], c[i])),
    4: lambda i, out, f, a, b, c, d: put(out, i, f(a[i], b[i], c[i], d[i])),
}
TUPLE_OF = {
    1: lambda i, out, f, a: put_all(out, i, f(a[i])),
    2: lambda i, out, f, a, b: put_all(out, i, f(a[i], b[i])),
    3: lambda i, out, f, a, b, c: put_all(out, i, f(a[i], b[i], c[i])),
    5: lambda i, out, f, a, b, c, d, e: put_all(out, i, f(a[i], b[i], c[i], d[i], e[i])),
}


def put(out, i, value):
    out[i] = value


def put_all(out, i, values):
    out[i, 0], out[i, 1] = values[0], values[1]
    if len(values) > 2:
        out[i, 2] = values[2]
    if len(values) > 3:
        out[i, 3] = values[3]


def in_python(f, columns):
    """What CPython gives for each row, with Python's own numbers."""
    return [f(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def test_enough_functions_are_installed():
    paths = [*NUMBERS, *TUPLES, *KERNELS, *ARRAYS]
    found = [path for path in paths if find(path)]
    assert len(found) >= 20, found
    assert len({path.partition(":")[0] for path in found}) >= 6, found


@pytest.mark.parametrize("path", NUMBERS)
def test_functions_of_numbers(where, path):
    f, columns = function(path), [column.copy() for column in NUMBERS[path]]  # some overlap
    expected = np.array(in_python(f, columns))
    out = np.zeros(N, expected.dtype)
    with es.use_space(where):
        staged.parallel_for(N, NUMBER_OF[len(columns)], out, f, *columns)
    assert len(set(expected.tolist())) > 1
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("path", TUPLES)
def test_functions_that_return_tuples(where, path):
    f, columns = function(path), TUPLES[path]
    expected = np.array(in_python(f, columns))
    out = np.zeros_like(expected)
    with es.use_space(where):
        staged.parallel_for(N, TUPLE_OF[len(columns)], out, f, *columns)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("path", KERNELS)
def test_functions_are_kernels_themselves(where, path):
    f, ranges = function(path), KERNELS[path]
    values = [f(*indices) for indices in itertools.product(*(range(*r) for r in ranges))]
    if len(ranges) == 1:
        policy = es.RangePolicy(*ranges[0], space=where)
    else:
        policy = es.MDRangePolicy(*zip(*ranges, strict=True), space=where)
    total = staged.parallel_reduce(policy, f)
    assert total == pytest.approx(sum(values), rel=1e-14)
    assert 0 < total != len(values)


# -- functions of arrays: each index has a row --------------------------------------------------


def test_heapq_sorts_rows(where):
    down, up = function("heapq:_siftdown"), function("heapq:_siftup")

    def heapsort(i, rows, out):
        row = rows[i, :]
        for k in range(1, len(row)):
            down(row, 0, k)
        for k in range(len(row)):
            out[i, k] = row[0]
            row[0] = np.inf
            up(row, 0)

    rng = np.random.default_rng(20)
    rows = rng.integers(0, 30, (N, 17)).astype(float)
    expected, out = np.sort(rows), np.zeros_like(rows)
    with es.use_space(where):
        staged.parallel_for(N, heapsort, rows, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n", [16, 17])
def test_numbas_median_selects_in_place(where, n):
    median = function("numba.np.arraymath:_median_inner")
    rng = np.random.default_rng(20)
    rows = rng.integers(0, 30, (N, n)).astype(float)
    in_place, permuted = rows.copy(), rows.copy()
    out = staged.place(where, np.zeros(N))
    expected = [median(row, n) for row in permuted]
    with es.use_space(where):
        staged.parallel_for(
            N, lambda i, f, x: put(out, i, f(x[i, :], len(x[i, :]))), median, in_place
        )
    found = staged.fetch(out)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(in_place, permuted)
    np.testing.assert_array_equal(found, np.median(rows, axis=1))


def test_a_search_in_arrays_of_characters(where):
    f = function("encodings.punycode:selective_find")
    rng = np.random.default_rng(20)
    text = rng.integers(97, 123, 200)
    columns = (rng.integers(97, 123, N), SMALL - 1, MORE - 1)
    expected = [f(text.tolist(), *row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    out = staged.place(where, np.zeros((N, 2), np.int64))
    with es.use_space(where):
        staged.parallel_for(
            N, lambda i, f, t, a, b, c: put_all(out, i, f(t, a[i], b[i], c[i])), f, text, *columns
        )
    np.testing.assert_array_equal(staged.fetch(out), expected)


def test_loops_over_rows_and_slices(where):
    rank = function("numba.np.linalg:_get_rank_from_singular_values")
    weigh = function("numba.tests.test_indexing:slicing_1d_usecase7")
    rng = np.random.default_rng(20)
    rows = -np.sort(-rng.random((N, 9)))

    def kernel(i, out, rows):
        out[i, 0] = rank(rows[i, :], 0.3)
        out[i, 1] = weigh(rows[i, :], i % 11)

    out = np.zeros((N, 2))
    with es.use_space(where):
        staged.parallel_for(N, kernel, out, rows)
    expected = [(rank(row, 0.3), weigh(row, i % 11)) for i, row in enumerate(rows)]
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_a_generalised_ufunc_multiplies_matrices(where):
    f = function("numba.tests.npyufunc.test_gufunc:matmulcore")
    rng = np.random.default_rng(20)
    a, b = rng.random((N, 4, 3)), rng.random((N, 3, 5))
    out, expected = np.ones((N, 4, 5)), np.ones((N, 4, 5))
    for matrices in zip(a, b, expected, strict=True):
        f(*matrices)
    with es.use_space(where):
        staged.parallel_for(
            N, lambda i, f, a, b, c: f(a[i, :, :], b[i, :, :], c[i, :, :]), f, a, b, out
        )
    np.testing.assert_allclose(out, expected, rtol=1e-14)
