"""Arrays that tests of dense vectors and matrices go through, in layouts of all kinds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import execspace as es

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
LAYOUTS = ("right", "left", "strided")
DEVICE_FORMS = (
    "operands", "columns", "products", "updates", "triangular", "dot_gemm", "dot_gemm_teams",
    "matrix_products", "gemm_panels", "gemm_teams", "triangles",
)  # fmt: skip


def sizes(space):
    """All small ones; a few where each step is one of Python."""
    return (0, 1, 2, 5, 17) if space.name == "oracle" else tuple(range(34))


def needs(space, dtype):
    """Skip a test whose numbers the space does not have."""
    kind = np.dtype(dtype)
    if kind.kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    if kind in (np.float64, np.complex128) and not space.capabilities.float64:
        pytest.skip("no float64 here")


def random(shape, dtype=np.float64, seed=0):
    """Numbers of some size; integers between -9 and 9."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def laid_out(values, layout, space):
    """A View with these elements; "strided": every second row and third column of another one."""
    values = np.asarray(values)
    if layout == "strided":
        steps = (2, 3)[: values.ndim]
        whole = tuple(n * step for n, step in zip(values.shape, steps, strict=True))
        big = es.zeros(whole, values.dtype, space=space)
        view = big[tuple(slice(None, None, step) for step in steps)]
    else:
        own = layout if values.ndim == 2 else None
        view = es.View(values.shape, values.dtype, layout=own, space=space)
    es.deep_copy(view, values)
    return view


def set_limits(monkeypatch, as_a_device, **limits):
    """Smaller pieces of work, `products={"_SPAN": 5}`; and each space as one that runs many work
    items at once."""
    if as_a_device:
        monkeypatch.setattr(sys.modules["execspace_kernels.arguments"], "MANY", 0)
    for name in DEVICE_FORMS:
        module = sys.modules[f"execspace_kernels.blas.{name}"]
        if as_a_device and hasattr(module, "MANY"):
            monkeypatch.setattr(module, "MANY", 0)
        for constant, value in limits.get(name, {}).items():
            monkeypatch.setattr(module, constant, value)


class Dual(es.Record):
    """A number and its derivative."""

    value: es.float64
    slope: es.float64 = 0.0

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        if isinstance(other, Dual):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)
        return Dual(self.value * other, self.slope * other)

    def __rmul__(self, number):
        return self * number


def duals(values, slopes):
    """An array of them."""
    found = np.zeros(np.shape(values), Dual.dtype)
    found["value"], found["slope"] = values, slopes
    return found
