"""Loops with mathematical functions: LLVM vectorises them, and uniform calls have one result."""

from __future__ import annotations

import math

import numpy as np
import pytest
from llvm_runs import HOST, function, machine, optimised, parsed

from execspace_compiler.codegen.llvm.uniform_calls import uniform
from execspace_compiler.codegen.llvm.vector_functions import (
    ATTRIBUTES,
    BINARY,
    LIBMVEC,
    LIBSVML,
    TABLE,
    Library,
    declaration,
    libraries,
    llvm_type,
    scalar_symbol,
    variants,
    vector_function,
)

SSE = frozenset({"sse2", "sse4.2"})
AVX2 = SSE | {"avx", "avx2", "fma"}
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512vl"}
TARGETS = {
    name: features
    for name, features in (("sse", SSE), ("avx2", AVX2), ("avx512", AVX512))
    if features <= HOST
}
THERE = {library.name: library for library in libraries()}
needs_libmvec = pytest.mark.skipif(LIBMVEC not in THERE or not TARGETS, reason="no libmvec for x86")
needs_library = pytest.mark.skipif(not THERE or not TARGETS, reason="no vector functions for x86")

FOLDED = '!{!"llvm.loop.vectorize.predicate.enable", i1 true}'
LOOPS = {
    "plain": ("", ""),
    "one vector": ('!{!"llvm.loop.interleave.count", i32 1}', ""),
    "folded tail": (FOLDED, ""),
    "branch": ("", "fcmp ogt {number} %v, 0.5"),
    "branch, folded tail": (FOLDED, "fcmp ogt {number} %v, 0.5"),
}
WIDTHS = [f'!{{!"llvm.loop.vectorize.width", i32 {n}}}' for n in (1, 2, 4, 8, 16)]


def loop_text(name, kind, called, mappings, others, hint="", condition="icmp sge i64 %i, 0"):
    """IR of a loop y[i] = f(x[i]), or f(x[i], x[i]), for indices with a condition."""
    number = llvm_type(kind)
    operands = ", ".join([f"{number} %v"] * (2 if name in BINARY else 1))
    used = ", ".join(f"ptr @{vector_function(m)[0]}" for m in mappings)
    return f"""
        @llvm.compiler.used = appending global [{len(mappings)} x ptr] [{used}], section "llvm.metadata"
        {others}
        define void @run(ptr noalias %y, ptr noalias %x, i64 %n) {{
        entry:
          %some = icmp sgt i64 %n, 0
          br i1 %some, label %next, label %end
        next:
          %i = phi i64 [ 0, %entry ], [ %j, %then ]
          %px = getelementptr {number}, ptr %x, i64 %i
          %v = load {number}, ptr %px
          %taken = {condition.format(number=number)}
          br i1 %taken, label %work, label %then
        work:
          %r = call {number} @{called}({operands}) #0
          %py = getelementptr {number}, ptr %y, i64 %i
          store {number} %r, ptr %py
          br label %then
        then:
          %j = add nuw nsw i64 %i, 1
          %more = icmp slt i64 %j, %n
          br i1 %more, label %next, label %end, !llvm.loop !0
        end:
          ret void
        }}
        attributes #0 = {{ {ATTRIBUTES} "vector-function-abi-variant"="{",".join(mappings)}" }}
        !0 = distinct !{{ !0{", !1" if hint else ""} }}
        {f"!1 = {hint}" if hint else ""}
        """  # noqa: E501


def calls_in(module):
    """Names of functions that the loop calls."""
    (run,) = (f for f in module.functions if f.name == "run")
    return {
        str(i).partition("@")[2].partition("(")[0]
        for block in run.blocks
        for i in block.instructions
        if i.opcode == "call"
    }


@needs_libmvec
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("target", TARGETS)
def test_llvm_vectorises_loops_with_the_variants(target, loop, kind):
    hint, condition = LOOPS[loop]
    if target == "sse" and (hint == FOLDED or condition):
        pytest.skip("LLVM finds that loops with masks do not pay without masked stores")
    features = TARGETS[target]
    mappings = variants("exp", kind, features, True, [THERE[LIBMVEC]])
    called, number = scalar_symbol("exp", kind), llvm_type(kind)
    others = [declaration(m, kind) for m in mappings]
    others.append(f"declare {number} @{called}({number}) {ATTRIBUTES}")
    condition = [condition] if condition else []
    text = loop_text("exp", kind, called, mappings, "\n".join(others), hint, *condition)
    called_there = calls_in(optimised(text, machine(features)))
    assert called_there & {vector_function(m)[0] for m in mappings}
    if loop == "folded tail":
        assert called not in called_there


@needs_library
@pytest.mark.parametrize("library", THERE)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "kind"), [("exp2", "float64"), ("exp", "float32"), ("pow", "float64")]
)
def test_a_uniform_function_has_one_result_for_an_argument(name, kind, target, library):
    """In vectors of any length, and in what is left over after them."""
    x = np.random.default_rng(4).uniform(0.1, 5.0, 103).astype(kind)
    results = {}
    lengths = set()
    for hint in ["", *WIDTHS, *(hint for hint, _ in LOOPS.values())]:
        call = uniform(name, kind, TARGETS[target], [THERE[library]])
        module = optimised(
            loop_text(name, kind, call.called, call.mappings, call.defined, hint),
            machine(TARGETS[target]),
        )
        lengths |= calls_in(module) & set(call.functions)
        run = function(module, machine(TARGETS[target]), "run", ("ptr", "ptr", "i64"))
        for start, count in ((0, 103), (1, 102), (3, 17), (5, 7), (50, 1)):
            y = np.full_like(x, np.nan)
            run(y[start:], x[start:], count)
            for i in range(start, start + count):
                results.setdefault(i, set()).add(y[i].tobytes())
    assert {len(r) for r in results.values()} == {1}
    assert len(lengths) > 1 or len(call.functions) == 1


@needs_libmvec
def test_libm_for_the_rest_of_a_loop_gives_other_results():
    """So the test above would see it."""
    features = [*TARGETS.values()][-1]
    x = np.random.default_rng(4).uniform(0.1, 5.0, 103)
    mappings = variants("exp2", "float64", features, False, [THERE[LIBMVEC]])
    others = declaration(mappings[0], "float64")
    others += f"\ndeclare double @exp2(double) {ATTRIBUTES}"
    text = loop_text("exp2", "float64", "exp2", mappings, others, WIDTHS[0])
    whole = loop_text("exp2", "float64", "exp2", mappings, others)
    results = []
    for module in (optimised(text, machine(features)), optimised(whole, machine(features))):
        y = np.empty_like(x)
        function(module, machine(features), "run", ("ptr", "ptr", "i64"))(y, x, 103)
        results.append(y)
    assert (results[0] != results[1]).any()


@needs_libmvec
def test_definitions_can_be_linked_after_optimisation():
    """By then it is known whether a loop calls a vector function at all."""
    features = [*TARGETS.values()][-1]
    call = uniform("pow", "float64", features, [THERE[LIBMVEC]])
    x = np.random.default_rng(4).uniform(0.1, 5.0, 103)
    results = {}
    for hint in ("", WIDTHS[0]):
        text = loop_text("pow", "float64", call.called, call.mappings, call.declared, hint)
        target = machine(features)
        module = optimised(text, target)
        vectorised = bool(calls_in(module) & set(call.functions))
        assert vectorised == (hint == "")
        module.link_in(parsed(call.defined if vectorised else call.unvectorised, target))
        y = np.empty_like(x)
        function(module, target, "run", ("ptr", "ptr", "i64"))(y, x, 103)
        results[hint] = y
    libm = np.array([math.pow(v, v) for v in x])
    assert (results[WIDTHS[0]] == libm).all()
    assert (results[""] != libm).any()
    np.testing.assert_array_max_ulp(results[""], libm, 2)


@pytest.mark.parametrize("features", [SSE, AVX2, AVX512])
@pytest.mark.parametrize("library", [LIBMVEC, LIBSVML])
def test_what_is_defined_is_valid_for_all_functions(features, library):
    everything = Library(library, frozenset(scalar_symbol(*key) for key in TABLE))
    seen = 0
    for name, kind in TABLE:
        call = uniform(name, kind, features, [everything])
        if call is None:
            continue
        seen += 1
        for others in (call.declared, call.defined):
            text = loop_text(name, kind, call.called, call.mappings, others)
            parsed(text, machine()).verify()
        parsed(call.unvectorised, machine()).verify()
    assert seen > 10
