"""The common type of a choice does not depend on whether its condition is a constant."""

# Kernels whose variables nobody reads, and tests that Python would leave out.
# ruff: noqa: F841, RUF059, SIM222

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import execspace as es
from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace.kernels.captures import Scope, captured_paths, captures_of
from execspace_compiler import ir, lower_kernel

YES, NO, ZERO, TWO, HALF, UNIT = True, False, 0, 2, 0.5, 1j
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
PYTHON = (bool, int, float, complex)
VIEWS = [f"{d}[1]" for d in DTYPES]
PAIRS = [*product(VIEWS, repeat=2), *product(PYTHON, repeat=2)]


@pytest.fixture
def lower():
    """``lower(fn, *arguments)``: as the shared one, but with what the function captures."""

    def run(fn, *arguments):
        types = tuple(
            SCALAR_TYPES[a]
            if isinstance(a, type)
            else ViewType(a.partition("[")[0], 1, "right", 0, False, "host")
            for a in arguments
        )
        captures = captures_of(Scope(fn, {}), tuple(captured_paths(fn)), 0)
        spec = LaunchSpec("for", policy_spec("range", 1), types, captures=captures)
        return lower_kernel(Kernel(fn), spec)

    return run


def literally(i, x, y):
    a = x[0] if True else y[0]
    b = y[0] if False else x[0]
    t = (x[0], i) if YES else (y[0], 0.5)
    c, d = t
    e = x[0] if YES else (y[0] if NO else x[0])
    f = x[0] if not (NO and y[0]) else y[0]


def at_run_time(i, x, y):
    a = x[0] if i else y[0]
    b = y[0] if i else x[0]
    t = (x[0], i) if i else (y[0], 0.5)
    c, d = t
    e = x[0] if i else (y[0] if i else x[0])
    f = x[0] if not (i and y[0]) else y[0]


def numbers_literally(i, x, y):
    a = x if True else y
    b = y if False else x
    t = (x, i) if YES else (y, 0.5)
    c, d = t
    e = x if YES else (y if NO else x)
    f = x if not (NO and y) else y


def numbers_at_run_time(i, x, y):
    a = x if i else y
    b = y if i else x
    t = (x, i) if i else (y, 0.5)
    c, d = t
    e = x if i else (y if i else x)
    f = x if not (i and y) else y


def types(lowered):
    """Types of a kernel's variables."""
    found = dict(lowered.typed[-1].declared.types)
    return {n: str(found[n]) for n in found if n not in ("i", "x", "y", "n")}


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_a_conditional_has_the_same_type_if_its_test_is_a_constant(lower, first, second):
    constant, tested = literally, at_run_time
    if first in PYTHON:
        constant, tested = numbers_literally, numbers_at_run_time
    try:
        expected = types(lower(tested, first, second))
    except es.KernelTypeError:  # uint64 with a signed integer: then it is what is chosen
        expected = types(lower(constant, first, first))
    assert types(lower(constant, first, second)) == expected


def constants_decide(i, y):
    a = False or y[0]
    b = True or y[0]
    c = 0 or y[0]
    d = 2 or y[0]
    e = 0.0 or y[0]
    f = 0.5 or y[0]
    g = 1j or y[0]
    h = ZERO and y[0]
    j = TWO and y[0] and HALF
    k = y[0] or (HALF or UNIT)


def arguments_decide(i, y, t, n, f, z):
    a = t or y[0]
    b = t or y[0]
    c = n or y[0]
    d = n or y[0]
    e = f or y[0]
    f = f or y[0]
    g = z or y[0]
    h = n and y[0]
    j = n and y[0] and f
    k = y[0] or (f or z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_and_and_or_have_the_same_type_if_an_operand_is_a_constant(lower, dtype):
    constant = types(lower(constants_decide, f"{dtype}[1]"))
    tested = types(lower(arguments_decide, f"{dtype}[1]", bool, int, float, complex))
    del tested["t"], tested["z"]
    # `f` is a parameter as well, and `j` has it as its last operand.
    assert {n: t for n, t in constant.items() if n not in "fj"} == {
        n: t for n, t in tested.items() if n not in "fj"
    }


def no_code(i, x, y):
    x[0] = 1.0 if YES else math.sin(y[0])


def test_nothing_is_computed_of_what_a_constant_rules_out(lower):
    lowered = lower(no_code, "float64[1]", "float64[1]")
    assert not [e for e in ir.walk_expressions(lowered.body.body) if isinstance(e, ir.Op)]


def checked(x):
    assert x > 0
    es.printf("%g", x)
    return x


def calls_a_helper(i, x, y):
    x[0] = 1.0 if YES else checked(y[0])
    x[1] = 2.0 or checked(y[0])


def test_helpers_that_only_what_is_ruled_out_calls_are_left_out(lower):
    lowered = lower(calls_a_helper, "float64[1]", "float64[1]")
    assert [f.name for f in lowered.functions] == ["calls_a_helper"]
    assert not lowered.assertions
    assert "_status" not in {p.name for p in lowered.body.parameters}


def has_no_meaning(i, x):
    a = 1 if YES else undefined[i]  # noqa: F821
    b = 2 or x.no_such_attribute
    c = 3 if YES else None
    d = 4 if YES else "text"
    e = (5, 6) if YES else (0.5, 0.5, 0.5)
    f = 7 if YES else has_no_meaning(i, x)
    g = x if YES else None
    x[0] = a + b + c + d + e[0] + f + g[0]


def test_what_is_ruled_out_may_have_no_meaning(lower):
    found = types(lower(has_no_meaning, "float32[1]"))
    assert {found[n] for n in "abcdf"} == {"Python int"}


def leaves_out(i, x):
    a = b = c = d = 1
    if NO:
        a = 0.5
    while NO:
        b = 0.5
    if YES:
        c = 2
    elif i > 0:
        c = 0.5
    for _ in range(0):
        d = 0.5


def test_if_and_while_leave_assignments_out_and_empty_loops_do_not(lower):
    found = types(lower(leaves_out, "float32[1]"))
    assert [found[n] for n in "abcd"] == ["Python int"] * 3 + ["Python float"]


def decided_by_types(i, x):
    a = b = 1
    if x[0] < 300:
        a = 0.5
    if math.isnan(x[0]):
        b = 0.5


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32"])
def test_what_the_type_of_an_operand_decides_is_no_constant(lower, dtype):
    found = types(lower(decided_by_types, f"{dtype}[1]"))
    assert [found[n] for n in "ab"] == ["Python float"] * 2


CAPTURED = 0.5


def literal(i, x):
    a = 1 if True else CAPTURED
    b = 2 or CAPTURED
    c = 3 or math.pi
    x[0] = a + b + c


def test_a_name_that_python_left_out_of_the_code_has_no_type():
    """No launch would notice that it stands for something else."""
    out = np.zeros(1)
    found = es.explain(es.RangePolicy(1, space="oracle"), es.kernel(literal), out).variables
    assert [found[n] for n in "abc"] == ["int64", "int64", "float64"]
    assert ("CAPTURED",) not in tuple(captured_paths(literal))
