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


def loop_text(name, fused, length=0):
    """IR of a loop y[i] = f(x[i])."""
    called, definition = inline_function(name, "float64", frozenset({"fma"} if fused else ()))
    width = f'!{{!"llvm.loop.vectorize.width", i32 {length}}}'
    return f"""
        declare double @llvm.fma.f64(double, double, double)
        {definition}
        define void @run(ptr noalias %y, ptr noalias %x, i64 %n) {{
        entry:
          br label %next
        next:
          %i = phi i64 [ 0, %entry ], [ %j, %next ]
          %px = getelementptr double, ptr %x, i64 %i
          %v = load double, ptr %px
          %r = call double @{called}(double %v)
          %py = getelementptr double, ptr %y, i64 %i
          store double %r, ptr %py
          %j = add nuw nsw i64 %i, 1
          %more = icmp slt i64 %j, %n
          br i1 %more, label %next, label %end, !llvm.loop !0
        end:
          ret void
        }}
        !0 = distinct !{{ !0{", !1" if length else ""} }}
        {f"!1 = {width}" if length else ""}
        """


def compiled(name, fused, length=0):
    module = optimised(loop_text(name, fused, length), machine())
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


def test_llvm_vectorises_the_loop_by_itself():
    module, _ = compiled("exp", False)
    assert " x double> " in str(module)


def test_other_functions_and_types_have_none():
    assert inline_function("sin", "float64", frozenset({"fma"})) is None
    assert inline_function("erf", "float64", frozenset()) is None
    assert inline_function("exp", "float32", frozenset()) is None
