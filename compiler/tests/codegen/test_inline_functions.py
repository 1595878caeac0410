"""exp, log and erf as IR: their errors, special values, and one result in any vector."""

from __future__ import annotations

import numpy as np
import pytest
from llvm_runs import HOST, evaluated, function, machine, optimised

from execspace_compiler.codegen.llvm.inline_functions import inline_function
from execspace_testing.suite.differential import ulp

# A long double of x86-64 has 64 bits of mantissa.
long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant != 63, reason="no long double of 80 bits"
)
FUSED = [False, True] if {"fma", "neon"} & HOST else [False]
FUNCTIONS = [(name, fused) for name in ("exp", "log") for fused in FUSED]
FUNCTIONS += [("erf", True)] * (True in FUSED)  # which is not exact enough otherwise
LENGTHS = (1, 2, 4, 8)


def loop_text(name, fused, length=0, kind="float64"):
    """IR of a loop y[i] = f(x[i])."""
    called, definition = inline_function(name, kind, frozenset({"fma"} if fused else ()))
    double = "double" if kind == "float64" else "float"
    step = f"llvm.fma.f{kind[-2:]}"
    width = f'!{{!"llvm.loop.vectorize.width", i32 {length}}}'
    return f"""
        declare {double} @{step}({double}, {double}, {double})
        {definition}
        define void @run(ptr noalias %y, ptr noalias %x, i64 %n) {{
        entry:
          br label %next
        next:
          %i = phi i64 [ 0, %entry ], [ %j, %next ]
          %px = getelementptr {double}, ptr %x, i64 %i
          %v = load {double}, ptr %px
          %r = call {double} @{called}({double} %v)
          %py = getelementptr {double}, ptr %y, i64 %i
          store {double} %r, ptr %py
          %j = add nuw nsw i64 %i, 1
          %more = icmp slt i64 %j, %n
          br i1 %more, label %next, label %end, !llvm.loop !0
        end:
          ret void
        }}
        !0 = distinct !{{ !0{", !1" if length else ""} }}
        {f"!1 = {width}" if length else ""}
        """


def compiled(name, fused, length=0, kind="float64"):
    module = optimised(loop_text(name, fused, length, kind), machine())
    return module, function(module, machine(), "run", ("ptr", "ptr", "i64"))


def arguments(name):
    rng = np.random.default_rng(8)
    low, high = ulp.REAL[name].low, ulp.REAL[name].high
    info = np.finfo(np.float64)
    edges = [
        709.782712893384,
        709.7827128933841,
        745.1332191019411,
        745.1332191019412,
        708.4,
        746.0,
    ]
    special = np.array([
        0.0, 1.0, 0.5, 2.0, 1e10, np.inf, np.nan, info.max, info.smallest_normal,
        info.smallest_subnormal, info.smallest_normal * (1 - info.eps), 1 + info.eps, *edges,
    ])  # fmt: skip
    bits = rng.integers(0, 0x7FF << 52, 20000).view(np.float64)
    near = 1.0 + rng.choice([-1.0, 1.0], 40000) * 2.0 ** rng.uniform(-52, -2, 40000)
    small = rng.choice([-1.0, 1.0], 40000) * 2.0 ** rng.uniform(-60, 0, 40000)
    return np.concatenate(
        [
            special,
            -special,
            bits,
            -bits,
            near,
            small,
            rng.uniform(low, high, 200000),
            rng.uniform(-2.0, 2.0, 200000),
        ]
    )


@long_double
@pytest.mark.parametrize(("name", "fused"), FUNCTIONS)
def test_errors_are_below_one_ulp_and_special_values_are_right(name, fused):
    x = arguments(name)
    reference = evaluated(f"{name}l", 1, "x86_fp80", 1, x.astype(np.longdouble), x)
    y = np.empty_like(x)
    compiled(name, fused)[1](y, x, len(x))
    with np.errstate(over="ignore"):
        wrong = ulp.errors(y, reference) > 1.0
    assert not wrong.any(), [*zip(x[wrong][:5], y[wrong][:5], strict=True)]
    assert ulp.bound(name, "float64") >= 1.0


@pytest.mark.parametrize(("name", "fused"), FUNCTIONS)
def test_a_result_is_the_same_in_vectors_of_any_length(name, fused):
    x = arguments(name)[-203:]
    results = set()
    for length in LENGTHS:
        module, run = compiled(name, fused, length)
        assert (f"<{length} x double>" in str(module)) == (length > 1)
        y = np.full_like(x, np.nan)
        run(y[:101], x[:101], 101)
        run(y[101:], x[101:], 102)
        results.add(y.tobytes())
    assert len(results) == 1


def floats():
    """All mantissas around one, where results are smallest, and of subnormal numbers; others."""
    around = np.arange(0x3E800000, 0x40400000, 5, dtype=np.int32)
    small = np.arange(1, 1 << 23, 37, dtype=np.int32)
    others = np.random.default_rng(9).integers(0, 0x7F800000, 200000, dtype=np.int32)
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -1.0], np.float32)
    return np.concatenate([special, *(a.view(np.float32) for a in (around, small, others))])


@pytest.mark.parametrize("fused", FUSED)
def test_the_logarithm_of_floats(fused):
    """In doubles NumPy's is exact enough to tell."""
    x = floats()
    y = np.empty_like(x)
    compiled("log", fused, kind="float32")[1](y, x, len(x))
    with np.errstate(all="ignore"):
        exact = np.log(x.astype(np.float64))
        size = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
        finite = np.isfinite(exact)
        assert (np.abs(y - exact)[finite] <= size[finite]).all()
    np.testing.assert_array_equal(y[~finite], exact[~finite].astype(np.float32))
    assert ulp.bound("log", "float32") >= 1.0
    few = x[:203]
    for length in (4, 8, 16):
        found = np.full_like(few, np.nan)
        compiled("log", fused, length, "float32")[1](found, few, len(few))
        np.testing.assert_array_equal(found, y[:203])


def test_llvm_vectorises_the_loop_by_itself():
    module, _ = compiled("exp", False)
    assert " x double> " in str(module)


def test_other_functions_and_types_have_none():
    assert inline_function("sin", "float64", frozenset({"fma"})) is None
    assert inline_function("erf", "float64", frozenset()) is None
    assert inline_function("exp", "float32", frozenset()) is None
