"""`z.real[i]` and `z.imag[i]` of Views of complex numbers, as of NumPy's arrays."""

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

TYPES = ["complex64", "complex128"]


def change(i, z, x):
    z.real[i] = x[i]
    z.imag[i] += 2 * z.real[i]
    z[i:].imag[0] -= 1


def of_rows(i, z, x):
    z[1, :].imag[i] = x[i]
    z.real[0, i] = z.imag[1, i]


@pytest.mark.parametrize("dtype", TYPES)
def test_as_numpy(space, dtype):
    needs_dtype(space, "float64" if dtype == "complex128" else "float32")
    x = np.arange(19).astype(np.zeros((), dtype).real.dtype)
    for kernel, shape, order in (
        (change, 19, "C"),
        (of_rows, (2, 19), "C"),
        (of_rows, (2, 19), "F"),
    ):
        z = np.full(shape, 1 + 1j, dtype, order=order)
        found = staged.view_on(space, z)
        es.parallel_for(es.RangePolicy(19, space=space), kernel, found, staged.view_on(space, x))
        for i in range(19):
            kernel(i, z, x)
        np.testing.assert_array_equal(staged.fetch(found), z)


@pytest.mark.parametrize("dtype", TYPES)
def test_parts_that_two_calls_store(space, dtype):
    """A store to one part leaves the other as it is."""
    needs_dtype(space, "float64" if dtype == "complex128" else "float32")
    z = staged.view_on(space, np.zeros(5000, dtype))

    def kernel(i, z):
        if i % 2 == 0:
            z.real[i // 2] = i
        else:
            z.imag[i // 2] = i

    es.parallel_for(es.RangePolicy(10000, space=space), kernel, z)
    expected = np.arange(0, 10000, 2) + 1j * np.arange(1, 10000, 2)
    np.testing.assert_array_equal(staged.fetch(z), expected.astype(dtype))


def test_private_arrays(space):
    needs_dtype(space, "float64")

    def kernel(i, out):
        own = es.local((2, 2), es.complex128)
        own.real[0, 1] = 3 + i
        own.imag[1, i % 2] = 4
        for k in range(2):
            own.imag[k, 0] -= 1
        for k in range(4):
            out[i] += own[k // 2, k % 2]

    out = staged.view_on(space, np.zeros(6, np.complex128))
    es.parallel_for(es.RangePolicy(6, space=space), kernel, out)
    assert staged.fetch(out).tolist() == [3 + i + 2j for i in range(6)]


def test_refused(space):
    z = staged.view_on(space, np.zeros(3, np.complex64))

    def in_a_variable(i, z):
        x = z.real
        x[i] = 1.0

    def of_an_element(i, z):
        z[i].real = 1.0

    def read_only(i, z):
        z.real[i] = 1.0

    policy = es.RangePolicy(3, space=space)
    for kernel, message in {
        in_a_variable: r"'\.real' of View 'z' can only be indexed",
        of_an_element: r"write z\.real\[i\] = \.\.\.",
    }.items():
        with pytest.raises(es.KernelTypeError, match=message):
            es.parallel_for(policy, kernel, z)
    with pytest.raises(es.KernelTypeError, match="read-only"):
        es.parallel_for(policy, read_only, z.readonly())
