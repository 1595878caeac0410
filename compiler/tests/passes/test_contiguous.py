"""Views that lie in memory as calls are numbered: the number of a call is the place."""

from __future__ import annotations

import pytest
from cfamily_cases import text
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_compiler import ir
from execspace_compiler.launch.call_source import Ranges
from execspace_compiler.passes.contiguous import contiguous_body


def scaled(i, j, k, s, A, B):
    A[i, j, k] += s * B[i, j, k]


def one_of_two(i, j, k, A, B):
    A[i, j, k] = B[k, j, i] + B[i, j, k]


def neighbours(i, j, k, A, B):
    A[i, j, k + 1] = B[i + 1, j, k]


def moved_index(i, j, k, A, B):
    i = i - 1
    A[i, j, k] = 1.0


def in_branches(i, j, k, A, B):
    if B[i, j, k] > 0:
        for _ in range(3):
            es.atomic_add(A, (i, j, k), 1.0)


def prefix_sum(i, j, k, prefix, final, A, B):
    if final:
        A[i, j, k] = prefix
    return B[i, j, k]


def found(kernel, *first, **options):
    views = ("float64[3]", "float64[3]")
    return contiguous_body(text(kernel, *first, *views, rank=3, **options).lowered)


def places(body):
    """Subscripts of all accesses, as text."""
    accesses = [e for e in ir.walk_expressions(body.body) if isinstance(e, ir.Load)]
    accesses += [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Store | ir.Atomic)]
    return sorted(", ".join(map(str, a.indices)) for a in accesses)


def test_subscripts_become_the_number_of_the_call():
    linear = found(scaled, float)
    assert linear.arguments == (1, 2)
    assert set(places(linear.body)) == {"_number"}


def test_other_subscripts_stay_as_they_are():
    linear = found(one_of_two)
    assert linear.arguments == (0, 1)
    assert places(linear.body) == ["_number", "_number", "k, j, i"]


def test_branches_loops_and_atomic_steps():
    linear = found(in_branches)
    assert linear.arguments == (0, 1)
    assert places(linear.body) == ["_number", "_number"]


@pytest.mark.parametrize("kernel", [neighbours, moved_index])
def test_nothing_to_gain(kernel):
    assert found(kernel) is None


def test_scans_and_tiles_are_as_before():
    assert found(prefix_sum, pattern="scan", reducer=es.Sum) is None
    assert found(one_of_two, tiled=True) is None


@given(st.permutations(range(4)), st.lists(st.integers(1, 5), min_size=4, max_size=4))
def test_the_host_knows_the_strides_of_such_views(order, extents):
    *_, strides = Ranges(order, ())[tuple(extents)]
    for number, index in enumerate(every(order, extents)):
        assert sum(i * s for i, s in zip(index, strides, strict=True)) == number


def every(order, extents):
    """All indices with the last dimension of `order` the fastest."""
    if not order:
        yield (0,) * len(extents)
        return
    first, *rest = order
    for n in range(extents[first]):
        for index in every(rest, extents):
            yield (*index[:first], n, *index[first + 1 :])
