"""Code that loads more than registers hold is cut into steps, behind which arrays are kept."""

from __future__ import annotations

import pytest

from execspace_compiler import ir
from execspace_compiler.ir.types import INDEX, Scalar, ViewTy
from execspace_compiler.passes.register_steps import in_steps, words_loaded

F64, C64 = Scalar("float64"), Scalar("complex64")


def view(name, t=F64):
    return ir.Var(name, ViewTy(t, 1, "right", 0, False, None))


def private(name, n, t=F64):
    return ir.Var(name, ViewTy(t, 1, "right", 0, False, (n,)))


def load(v, n):
    return ir.Load(v, (ir.integer(n),), v.type.element)


def adds(array, v, count):
    """Statements that add elements of a View to those of an array."""
    size = array.type.shape[0]
    for n in range(count):
        place = (ir.integer(n % size),)
        old = ir.Load(array, place, array.type.element)
        yield ir.Store(array, place, ir.Op("add", (old, load(v, n)), array.type.element))


def function(*body, name="f", parameters=()):
    return ir.Function(name, parameters, None, {}, body)


def kept(body):
    return [
        s.indices[0].value
        for s in ir.walk_statements(body)
        if isinstance(s, ir.Store)
        and any(isinstance(e, ir.Op) and e.op == "kept" for e in ir.walk_expressions((s,)))
    ]


@pytest.mark.parametrize("t", [F64, C64])
def test_each_step_ends_with_its_array(t):
    a, x = private("a", 3, t), view("x", t)
    (found,) = in_steps([function(*adds(a, x, 200), parameters=(x,))])
    places = kept(found.body)
    assert places == [0, 1, 2] * (200 * 2 // 64)  # each number is two words
    left = [s for s in found.body if isinstance(s, ir.Store)]
    assert len(left) == 200 + len(places)  # nothing is left out


def test_small_code_stays_as_it_is():
    a, x = private("a", 3), view("x")
    f = function(*adds(a, x, 100), parameters=(x,))
    assert in_steps([f]) == (f,) and words_loaded([f]) == 200


def test_calls_and_loops_of_known_length_count():
    a, x = private("a", 3), view("x")
    callee = function(*adds(a, x, 20), name="g", parameters=(a, x))
    call = ir.Evaluate(ir.Call("g", (a, x), F64))
    five = ir.For("k", ir.integer(0), ir.integer(5), ir.integer(1), (call, call))
    f = function(five, parameters=(x,))
    assert words_loaded([callee, f]) == 5 * 2 * 40
    _, found = in_steps([callee, f])
    assert kept(found.body) == [0, 1, 2]  # after both calls, in each round


def test_loops_of_unknown_length_end_a_block():
    a, x, n = private("a", 3), view("x"), ir.Var("n", INDEX)
    loop = ir.For("k", ir.integer(0), n, ir.integer(1), tuple(adds(a, x, 100)))
    f = function(loop, *adds(a, x, 10), parameters=(x, n))
    assert words_loaded([f]) == 20 and in_steps([f]) == (f,)


def test_large_arrays_and_integers_are_not_kept():
    x, i, large = view("x"), private("i", 3, Scalar("int32")), private("a", 65)
    f = function(*adds(large, x, 200), parameters=(x,))
    assert not kept(in_steps([f])[0].body)
    y = view("y", Scalar("int32"))
    assert not kept(in_steps([function(*adds(i, y, 300), parameters=(y,))])[0].body)
