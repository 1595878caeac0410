"""A variable for each web: assignments, and the reads that they reach."""

import pytest

from execspace_compiler import ir
from execspace_compiler.ir.marks import WEB
from execspace_compiler.spmd.webs import with_webs


@pytest.fixture
def names(lower):
    """``names(kernel, *arguments)``: for each assignment, in order, the web of a variable."""

    def run(kernel, *arguments, of):
        body = with_webs(lower(kernel, *arguments).body)
        sets = [n for s in ir.walk_statements(body.body) for n in ir.names_set(s)]
        return [n for n in sets if n.partition(WEB)[0] == of], body

    return run


def test_one_use_after_another(names):
    def kernel(i, x):
        t = x[i]
        x[i] = t + 1.0
        t = x[i] * 2.0
        x[i] = t

    (first, second), body = names(kernel, "float64[1]", of="t")
    assert first != second and {first, second} <= body.locals.keys()


def test_both_sides_of_a_branch_reach_what_follows(names):
    def kernel(i, x):
        if x[i] > 0.0:
            t = 1.0
        else:
            t = 2.0
        x[i] = t

    (first, second), _ = names(kernel, "float64[1]", of="t")
    assert first == second


def test_each_branch_by_itself(names):
    def kernel(i, x):
        if x[i] > 0.0:
            t = 1.0
            x[i] = t
        else:
            t = 2.0
            x[i] = t + 1.0

    (first, second), _ = names(kernel, "float64[1]", of="t")
    assert first != second


def test_what_a_loop_carries_is_one(names):
    def kernel(i, x, n):
        t = 0.0
        for k in range(n):
            t = t + x[k]
        x[i] = t

    (first, second), _ = names(kernel, "float64[1]", int, of="t")
    assert first == second


@pytest.mark.parametrize("word", ["break", "continue"])
def test_ways_out_of_a_loop_and_round_it(names, word):
    def leaves(i, x, n):
        t = 1.0
        for k in range(n):
            t = 2.0
            if x[k] > t:
                break
            t = 3.0
            x[k] = t
        x[i] = t

    def goes_on(i, x, n):
        t = 1.0
        for k in range(n):
            x[k] = t
            t = 2.0
            if x[k] > t:
                continue
            t = 3.0
        x[i] = t

    found, _ = names(leaves if word == "break" else goes_on, "float64[1]", int, of="t")
    assert len(found) == 3 and len(set(found)) == 1


def test_a_loop_over_the_same_name_twice(names):
    def kernel(i, x, n):
        for k in range(n):
            x[i] += k
        for k in range(n):
            x[i] *= k

    (first, second), _ = names(kernel, "float64[1]", int, of="k")
    assert first != second
