"""Which kernels run in lanes if nobody says how many: the cost model, for any processor."""

import math

import pytest

from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler.backend import lower_kernel
from execspace_compiler.spmd.choice import Processor, chosen

VECTORS = {"avx2": frozenset(["avx2"]), "avx512": frozenset(["avx2", "avx512f", "avx512vl"])}


def view(rank, dtype="float64"):
    return ViewType(dtype, rank, "right", rank - 1, False, "host")


@pytest.fixture(params=VECTORS)
def choice(request):
    """How a kernel would run on a processor."""

    def made(kernel, *types, functions=()):
        lowered = lower_kernel(
            Kernel(kernel), LaunchSpec("for", policy_spec("range", 1), types), None, 32
        )
        on = Processor(VECTORS[request.param], has_function=lambda name, kind: name in functions)
        return chosen(lowered.functions, 0, on)

    return made


def row_sums(i, A, out):
    total = 0.0
    for k in range(A.extent(1)):
        total += A[i, k]
    out[i] = total


def column_sums(i, A, out):
    total = 0.0
    for k in range(A.extent(0)):
        total += A[k, i]
    out[i] = total


def rows_of_a_flat_array(i, A, out):
    total = 0.0
    for k in range(len(out)):
        total += A[i * len(out) + k]
    out[i] = total


def test_lanes_that_would_each_read_a_row_of_its_own_do_not_pay(choice):
    """A row is read from one place of memory after another; rows side by side are not."""
    for dtype in ("float32", "float64"):
        assert choice(row_sums, view(2, dtype), view(1, dtype)).form is None
        assert choice(rows_of_a_flat_array, view(1, dtype), view(1, dtype)).form is None
        assert choice(column_sums, view(2, dtype), view(1, dtype)).form is not None


def longest(i, A, out):
    best = 0.0
    for k in range(A.extent(1)):
        x, n = A[i, k], 0
        while x > 1.0 and n < 100:
            x = x / 2.0 + 1.0 / x
            n += 1
        best = max(best, x)
    out[i] = best


def test_rows_of_which_much_is_computed_pay(choice):
    assert choice(longest, view(2), view(1)).form is not None


def test_what_is_the_same_for_all_calls_does_not_run_in_lanes(choice):
    def alike(i, x, n):
        for k in range(n):
            x[k] = 1.0

    found = choice(alike, view(1), SCALAR_TYPES[int])
    assert found.form is None and found.why == "all its calls do the same"


def branch(i, x, y):
    if x[i] > 0.0:
        y[i] = math.sqrt(x[i])
    else:
        y[i] = -x[i]


def smoothed(i, x, y):
    total = 0.0
    for k in range(-2, 3):
        if x[i + k] > 0.0:
            total += math.sqrt(x[i + k])
    y[i] = total


def ones(i, x, y):
    v, n = x[i], 0
    while v != 0:
        v &= v - 1
        n += 1
    y[i] = n


def root(i, x, y):
    v = 1.0
    for _ in range(50):
        step = (v * v - x[i]) / (2.0 * v)
        v -= step
        if abs(step) < 1e-12:
            break
    y[i] = v


def test_compilers_are_asked_about_kernels_that_they_may_vectorise_themselves(choice):
    """Branches, short loops of a known length, and loops whose results they know."""
    asked = [choice(kernel, view(1), view(1)) for kernel in (branch, smoothed)]
    asked.append(choice(ones, view(1, "int64"), view(1, "int64")))
    assert all(found.asks or found.form is None for found in asked)
    assert any(found.asks for found in asked)
    found = choice(root, view(1), view(1))
    assert found.form is not None
    assert not found.asks


def waves(i, x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * math.cos(x[k] * i)
    y[i] = total


def test_functions_without_vector_versions_do_not_pay(choice):
    assert choice(waves, view(1), view(1)).form is None
    assert choice(waves, view(1), view(1), functions=("cos",)).form is not None


def products(i, c, v, x, y):
    total = 0.0
    for k in range(c.extent(0)):
        if c[k, i] >= 0:
            total += v[k, i] * x[c[k, i]]
    y[i] = total


def test_gathers_of_which_little_is_computed_do_not_pay(choice):
    assert choice(products, view(2, "int32"), view(2), view(1), view(1)).form is None
