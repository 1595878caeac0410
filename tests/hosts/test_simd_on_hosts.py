"""Vectors of `es.simd` in LLVM IR and in machine code: one instruction for all lanes."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.host import machine

SPACE = "serial"
T = es.simd("float64").on(SPACE)
PAIRS = es.simd("float64", 2)
W = T.width


def explained(kernel, *args, n=4, **options):
    made = es.kernel(kernel, **options)
    return es.explain(es.RangePolicy(n, space=SPACE), made, *args)


def body(text):
    """Instructions of the kernel, without tables of constants."""
    return "\n".join(line for line in text.splitlines() if line.startswith("\t"))


def arrays(count, n=512):
    return [np.ones(n) for _ in range(count)]


def arithmetic(i, y, x):
    v, w = T.load(x, i * T.width), T.load(y, i * T.width)
    m = v > w
    (np.where(m, np.sqrt(v) * 2.0, v / w) + w).store(y, i * T.width)


def masked(i, y, x):
    m = T.first(x.size - i * T.width)
    v = T.load(x, i * T.width, m, 1.0)
    (v + v).store(y, i * T.width, m & (v > 0.5))


def rows(i, y, A):
    total = T(0.0)
    for k in range(0, A.extent(1), T.width):
        v = T.load(A[i, :], k)
        total += v * v
    y[i] = total.sum()


def test_loads_and_stores_are_whole():
    text = explained(arithmetic, *arrays(2)).source
    assert re.search(rf"load <{W} x double>, ptr %t\d+, align 8", text)
    assert re.search(rf"store <{W} x double> %t\d+, ptr %t\d+, align 8", text)
    assert not re.search("insertelement|extractelement|load double", text)
    for kernel, views in ((masked, arrays(2)), (rows, [np.ones(4), np.ones((4, 64))])):
        text = explained(kernel, *views).source
        assert "load double" not in text
        assert re.search(rf"(load|masked\.load\S+)[( ]*\S*<?{W}|v{W}f64", text)


def strided(i, y, x):
    T.load(x, 0).store(y, i * T.width)


def test_other_strides_are_read_one_by_one():
    x = np.ones(512)
    assert f"load <{W} x double>, ptr %t" in explained(strided, np.ones(512), x).source
    text = explained(strided, np.ones(512), x[::2]).source
    assert text.count("load double") == W
    y = np.zeros(4 * W)
    es.parallel_for(es.RangePolicy(4, space=SPACE), strided, y, np.arange(512.0)[::2])
    np.testing.assert_array_equal(y, np.tile(np.arange(0.0, 2 * W, 2), 4))


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or machine.vector_bytes() < 32,
    reason="looks for registers of AVX",
)
@pytest.mark.parametrize("kernel", [arithmetic, masked, rows])
def test_machine_code_has_the_widest_registers(kernel):
    views = [np.ones(4), np.ones((4, 64))] if kernel is rows else arrays(2)
    text = body(explained(kernel, *views).assembly)
    register = "zmm" if machine.vector_bytes() == 64 else "ymm"
    assert len(re.findall(rf"\bv\w+p[ds]\b.*%{register}\d+", text)) >= 3
    # The scalars that are left: the last steps of a sum.
    assert len(re.findall(r"\bv(mul|sqrt|div|fmadd\d+)sd\b", text)) == 0


def several(i, out, x):
    v = T.load(x, i * T.width)
    np.exp(v).store(out[0, :], i * T.width)
    np.log(v).store(out[1, :], i * T.width)
    np.sin(v).store(out[2, :], i * T.width)
    np.cbrt(v).store(out[3, :], i * T.width)


def of_numbers(i, out, x):
    v = x[i]
    out[0, i], out[1, i], out[2, i], out[3, i] = np.exp(v), np.log(v), np.sin(v), np.cbrt(v)


def test_functions_of_vectors_give_the_bits_of_those_of_numbers():
    x = np.random.default_rng(3).uniform(0.1, 30, 16 * W)
    found, right = np.zeros((4, x.size)), np.zeros((4, x.size))
    es.parallel_for(es.RangePolicy(16, space=SPACE), several, found, x)
    es.parallel_for(es.RangePolicy(x.size, space=SPACE), of_numbers, right, x)
    np.testing.assert_array_equal(found, right)


def test_native_widths_follow_a_named_processor(monkeypatch):
    monkeypatch.setattr(machine, "processor", lambda: machine.Processor("x86-64", "+avx,+avx2"))
    assert machine.vector_bytes() == 32
    monkeypatch.setattr(machine, "processor", lambda: machine.Processor("x86-64", "+sse2"))
    assert machine.vector_bytes() == 16


def axpy(i, y, x):
    y[i] += 2.0 * np.exp(x[i])


def axpy_of_vectors(i, y, x):
    at = i * T.width
    (T.load(y, at) + 2.0 * np.exp(T.load(x, at))).store(y, at)


def test_the_work_of_vectors_is_that_of_their_lanes():
    counted = []
    for kernel, n in ((axpy, 512), (axpy_of_vectors, 512 // W)):
        args = tuple(es.view_of(a) for a in arrays(2))
        policy = es.RangePolicy(n, space=SPACE)
        plan = planned(policy, kernel, args, "for", None).plan
        counted.append(plan.work((0, n), args))
    one, several = counted
    assert one.flops == several.flops == {"float64": 1024}
    assert one.functions == several.functions == {"exp": 512}
    assert (one.loaded, one.stored, one.moved) == (several.loaded, several.stored, several.moved)


def indexed_by_what_it_stores(i, x):
    v = PAIRS.load(x, 0) + 5
    x[int(x[0])] = v[0]
    x[int(x[0]) + 1] = v[1]


def test_stores_of_lanes_whose_index_changes_are_stores_of_numbers():
    """The same statements as those of a vector of two lanes, but for where the index is from."""
    x = np.zeros(9)
    right = x.copy()
    indexed_by_what_it_stores(0, right)
    es.parallel_for(es.RangePolicy(1, space=SPACE), indexed_by_what_it_stores, x)
    assert right[6] == 5.0
    np.testing.assert_array_equal(x, right)
