"""Which kernels run in lanes if nobody says how many: the cost model, for any processor."""

import pytest

from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler.backend import lower_kernel
from execspace_compiler.spmd.choice import chosen

VECTORS = {"avx2": frozenset(["avx2"]), "avx512": frozenset(["avx2", "avx512f", "avx512vl"])}


def view(rank, dtype="float64"):
    return ViewType(dtype, rank, "right", rank - 1, False, "host")


@pytest.fixture(params=VECTORS)
def choice(request):
    """How a kernel would run on a processor."""

    def made(kernel, *types):
        lowered = lower_kernel(
            Kernel(kernel), LaunchSpec("for", policy_spec("range", 1), types), None, 32
        )
        return chosen(lowered.functions, 0, 0, VECTORS[request.param])

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
