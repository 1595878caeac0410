"""Lowering kernels without a space: what the compiler's own tests share."""

from __future__ import annotations

import inspect

import pytest

from execspace import Kernel, LaunchSpec, ScalarType, Sum, ViewType
from execspace.argtypes import SCALAR_TYPES
from execspace.space import policy_spec
from execspace_compiler import lower_kernel


def view_type(dtype="float64", rank=1, layout="right", readonly=False):
    """Type of a View argument in host memory."""
    unit = None if rank == 0 or layout == "stride" else rank - 1 if layout == "right" else 0
    return ViewType(dtype, rank, layout, unit, readonly, "host")


@pytest.fixture
def lower():
    """``lower(fn, *arguments, rank=, reduce=)``: typed IR of a kernel.

    An argument is a dtype name and rank such as "float32[2]" or "float32[2,left]" for a View,
    or a Python type for a number.
    """

    def run(fn, *arguments, rank=1, reduce=False, iterate="auto", nonnegative=True, **options):
        types: list[ViewType | ScalarType] = []
        for a in arguments:
            if isinstance(a, str):
                name, _, rest = a.rstrip("]").partition("[")
                dims, _, layout = rest.partition(",")
                types.append(view_type(name, int(dims), layout or "right"))
            else:
                types.append(SCALAR_TYPES[a])
        kind = "range" if rank == 1 else "mdrange"
        spec = LaunchSpec(
            "reduce" if reduce else "for",
            policy_spec(kind, rank, iterate, False, nonnegative),
            tuple(types),
            reducer=Sum() if reduce else None,
        )
        return lower_kernel(Kernel(fn, **options), spec)

    return run


@pytest.fixture
def line():
    """``line(fn, text)``: number of the first source line of a function that holds a text."""

    def find(fn, text):
        lines, first = inspect.getsourcelines(fn)
        return first + next(n for n, code in enumerate(lines) if text in code)

    return find
