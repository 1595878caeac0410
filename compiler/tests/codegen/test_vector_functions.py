"""Vector variants of libm's functions: what a target gets, their errors and special values.

Errors are sampled with libm's long double functions as the reference. Where neither libmvec nor
libsvml is there, only what is chosen is tested.
"""

from __future__ import annotations

import itertools
import sys
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvm_runs import HOST, evaluated

from execspace_compiler.codegen.llvm.uniform_calls import uniform
from execspace_compiler.codegen.llvm.vector_functions import (
    ATTRIBUTES,
    BINARY,
    LIBMVEC,
    LIBSVML,
    TABLE,
    X86,
    Library,
    abis,
    declaration,
    libraries,
    llvm_type,
    mvec_symbol,
    scalar_symbol,
    variants,
    vector_function,
)
from execspace_testing.suite.differential import ulp

SSE = frozenset({"sse2", "sse4.2"})
AVX2 = SSE | {"avx", "avx2", "fma"}
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512vl"}
EVERYTHING = frozenset(scalar_symbol(name, kind) for name, kind in TABLE)
MVEC, SVML = Library(LIBMVEC, EVERYTHING), Library(LIBSVML, EVERYTHING)
THERE = {library.name: library for library in libraries()}

needs_libmvec = pytest.mark.skipif(
    LIBMVEC not in THERE or not abis(HOST)[0].column, reason="no libmvec for x86-64"
)
needs_library = pytest.mark.skipif(
    not THERE or not abis(HOST)[0].column, reason="no library of vector functions for x86-64"
)


def test_the_bounds_are_those_of_the_documentation():
    assert {key: ulp.bound(*key) for key in TABLE} == {k: e.allowed for k, e in TABLE.items()}


@pytest.mark.parametrize(
    ("features", "names"),
    [
        (SSE, ["_ZGVbN2v_exp"]),
        (SSE | {"avx"}, ["_ZGVcN4v_exp", "_ZGVbN2v_exp"]),
        (AVX2, ["_ZGVdN4v_exp", "_ZGVbN2v_exp"]),
        (AVX512, ["_ZGVeN8v_exp", "_ZGVdN4v_exp", "_ZGVbN2v_exp"]),
        (AVX512 | {"prefer-256-bit"}, ["_ZGVdN4v_exp", "_ZGVbN2v_exp"]),
        (frozenset({"neon"}), ["_ZGVnN2v_exp"]),
    ],
)
def test_a_target_gets_what_it_can_run(features, names):
    assert variants("exp", "float64", features, True, [MVEC]) == tuple(f"{n}({n})" for n in names)


def test_without_fastmath_only_exact_functions_have_variants_and_all_give_one_result():
    assert variants("exp", "float64", AVX512, False, [MVEC]) == ()
    assert variants("pow", "float64", AVX512, False, [MVEC]) == ("_ZGVeN8vv_pow(_ZGVeN8vv_pow)",)
    assert variants("exp", "float32", SSE, False, [MVEC]) == ("_ZGVbN4v_expf(_ZGVbN4v_expf)",)
    # The variant for 512 bits is less exact than the others.
    assert variants("cosh", "float64", AVX512, False, [MVEC]) == ("_ZGVdN4v_cosh(_ZGVdN4v_cosh)",)
    assert variants("cosh", "float64", frozenset({"neon"}), False, [MVEC]) == ()


def test_the_first_library_that_has_the_function_is_taken():
    exact = "_ZGV_LLVM_N4v_exp(__svml_exp4_ha)", "_ZGV_LLVM_N2v_exp(__svml_exp2_ha)"
    assert variants("exp", "float64", AVX2, False, [SVML, MVEC]) == exact
    assert variants("exp", "float64", AVX2, True, [SVML])[0] == "_ZGV_LLVM_N4v_exp(__svml_exp4)"
    few = Library(LIBSVML, frozenset({"sin"}))
    assert vector_function(variants("exp", "float64", AVX2, True, [few, MVEC])[0]) == (
        "_ZGVdN4v_exp", 4, 1,
    )  # fmt: skip


def test_what_has_no_variants():
    for key in (("sqrt", "float64"), ("exp", "float16"), ("gamma", "float32")):
        assert variants(*key, AVX512, True, [SVML, MVEC]) == ()
        assert uniform(*key, AVX512, [SVML, MVEC]) is None
    assert variants("exp", "float64", AVX512, True, []) == ()
    assert uniform("exp", "float64", AVX512, [MVEC]) is None  # not exact enough


def test_a_mapping_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"Expected a mapping such as .*, got 'exp'"):
        vector_function("exp")


def test_a_declaration_has_the_types_of_the_vectors():
    (pair,) = variants("pow", "float32", AVX2, False, [MVEC])
    assert declaration(pair, "float32") == (
        f"declare <8 x float> @_ZGVdN8vv_powf(<8 x float>, <8 x float>) {ATTRIBUTES}"
    )


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_have_no_library(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    assert libraries.__wrapped__() == ()


@pytest.mark.skipif(LIBMVEC not in THERE, reason="no libmvec")
@pytest.mark.skipif("neon" in HOST, reason="glibc for AArch64 has them from 2.40 on")
def test_the_table_names_symbols_that_exist():
    """glibc has exp, log, pow, sin and cos from 2.22 on, the others from 2.35 on."""
    old = {scalar_symbol(n, k) for n, k in TABLE if n in ("exp", "log", "pow", "sin", "cos")}
    assert THERE[LIBMVEC].functions in (EVERYTHING, old)
    for (name, kind), abi in itertools.product(TABLE, X86):
        if scalar_symbol(name, kind) in THERE[LIBMVEC].functions:
            assert llvm.address_of_symbol(mvec_symbol(name, kind, abi)), (name, kind, abi)


@pytest.mark.skipif(LIBSVML not in THERE, reason="no libsvml")
def test_libsvml_has_all_functions():
    assert THERE[LIBSVML].functions == EVERYTHING


def special_values(kind):
    info = np.finfo(kind)
    limits = (709.0, 710.0, 745.0, 746.0, 1024.0, 1075.0, 88.0, 89.0, 104.0, 128.0, 150.0)
    near = (info.smallest_subnormal, info.smallest_normal, info.max, info.eps, 1 - info.epsneg)
    some = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e10, 2.0**53, np.inf)
    positive = np.array([*some, *limits, *near, np.nan, 1 + info.eps], kind)
    return np.concatenate([positive, -positive])


@cache
def arguments(name, kind):
    """Samples of the stated range, then special values, as many as fill vectors."""
    range_of = ulp.REAL[name]
    rng = np.random.default_rng(3)
    special = special_values(kind)
    if name in BINARY:
        x, y = (v.ravel() for v in np.meshgrid(special, special))
    else:
        x = y = special
    samples = rng.uniform(range_of.low, range_of.high, (2, 40000)).astype(kind)
    small = (samples[:, ::4] * 2.0 ** rng.integers(-30, 0, samples[:, ::4].shape)).astype(kind)
    small = np.clip(small, np.asarray(range_of.low, kind), np.asarray(range_of.high, kind))
    samples = np.concatenate([samples, small], axis=1)
    if name == "pow":
        samples[0] = abs(samples[0])
    pad = -(len(x) + samples.shape[1]) % 16
    ones = np.ones(pad, kind)
    return (
        np.concatenate([samples[0], x, ones]),
        np.concatenate([samples[1], y, ones]),
        samples.shape[1],
    )


@cache
def reference(name, kind):
    """What libm's long double function gives."""
    x, y, _ = arguments(name, kind)
    operands = 2 if name in BINARY else 1
    wide = evaluated(
        f"{name}l", 1, "x86_fp80", operands, x.astype(np.longdouble), y.astype(np.longdouble)
    )
    # The 80 bits are followed by 48 that nobody wrote.
    return np.frombuffer(wide.tobytes(), np.longdouble)


def exact_variants():
    """Vector functions that kernels without fastmath may call here."""
    for (name, kind), library in itertools.product(TABLE, THERE.values()):
        for features in (HOST, HOST | {"prefer-256-bit"}, HOST & SSE):
            for mapping in variants(name, kind, features, False, [library]):
                yield name, kind, *vector_function(mapping)[:2]


@needs_library
@pytest.mark.parametrize("library", THERE)
def test_exact_functions_keep_the_bounds_and_have_right_special_values(library):
    seen = 0
    for name, kind, symbol, lanes in sorted(set(exact_variants())):
        if symbol.startswith("__svml") != (library == LIBSVML):
            continue
        x, y, _ = arguments(name, kind)
        result = evaluated(symbol, lanes, llvm_type(kind), 2 if name in BINARY else 1, x, y)
        with np.errstate(over="ignore"):  # the reference is rounded to the type
            wrong = ulp.errors(result, reference(name, kind)) > ulp.bound(name, kind)
        at = [*zip(x[wrong][:3], y[wrong][:3], result[wrong][:3], strict=True)]
        assert not wrong.any(), f"{symbol}: {wrong.sum()} results are wrong, such as {at}"
        seen += 1
    assert seen > 20


@needs_libmvec
def test_what_is_left_out_would_not_keep_the_bounds():
    """The samples would find a wrong line of the table."""
    symbol = mvec_symbol("cos", "float64", abis(HOST)[0])
    x, y, samples = arguments("cos", "float64")
    lanes = abis(HOST)[0].bits // 64
    result = evaluated(symbol, lanes, "double", 1, x, y)
    error = ulp.errors(result, reference("cos", "float64"))[:samples]
    assert ulp.bound("cos", "float64") < error.max() <= TABLE["cos", "float64"].sse + 0.2


@needs_library
@pytest.mark.parametrize("library", THERE)
def test_a_result_does_not_depend_on_the_other_lanes(library):
    for name, kind, symbol, lanes in sorted(set(exact_variants())):
        if symbol.startswith("__svml") != (library == LIBSVML):
            continue
        x, y, _ = arguments(name, kind)
        x, y = x[-4096:], y[-4096:]
        operands = 2 if name in BINARY else 1
        whole = evaluated(symbol, lanes, llvm_type(kind), operands, x, y)
        order = np.random.default_rng(5).permutation(len(x))
        mixed = evaluated(symbol, lanes, llvm_type(kind), operands, x[order], y[order])
        assert same(mixed, whole[order]), symbol


def same(a, b):
    """Whether two arrays are equal bit by bit, NaNs of any kind being equal."""
    return bool(np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))
