"""Vectors as numbers, for printers that know no vectors."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler import ir
from execspace_compiler.ir.types import Vector, flat_scalars
from execspace_compiler.passes.pipeline import lower_kernel

T = es.simd("float64", 4)


def swapped(v):
    return T.of(v[1], v[0], v[3], v[2]), v.sum()


def kernel(i, x, y):
    v = T.load(x, 4 * i)
    v, total = swapped(v)
    v = T.of(v[3], v[2], v[1], v[0])
    if (v > total).any():
        v = np.where(v > 1, v, total)
    v.store(y, 4 * i)


def lowered(vectors):
    policy, args = es.RangePolicy(2, space="oracle"), (np.zeros(8), np.zeros(8))
    spec = planned(policy, kernel, args, "for", None).plan.spec
    return lower_kernel(es.kernel(kernel), spec, vectors=vectors)


def vectors_in(f):
    """What has the type of a vector in a function."""
    found = [p for p in f.parameters if isinstance(p.type, Vector)]
    found += [t for t in (*f.locals.values(), *flat_scalars(f.result)) if isinstance(t, Vector)]
    return found + [e for e in ir.walk_expressions(f.body) if isinstance(e.type, Vector)]


def test_nothing_is_a_vector_any_more():
    assert any(vectors_in(f) for f in lowered(True).functions)
    assert not any(vectors_in(f) for f in lowered(False).functions)


def test_helpers_take_and_return_each_lane():
    helper = lowered(False).functions[0]
    assert [p.name for p in helper.parameters] == [f"_v_{k}_" for k in range(4)]
    assert len(flat_scalars(helper.result)) == 5


def test_a_vector_made_of_its_own_lanes_is_read_first():
    """Its lanes are set after all of them are computed."""
    x, y = np.arange(8.0), np.zeros(8)
    es.parallel_for(es.RangePolicy(2, space="oracle"), kernel, x, y)
    for i in range(2):
        a = x[4 * i : 4 * i + 4]
        v = a[[1, 0, 3, 2]][::-1]
        total = a.sum()
        right = np.where(v > 1, v, total) if (v > total).any() else v
        np.testing.assert_array_equal(y[4 * i : 4 * i + 4], right)
