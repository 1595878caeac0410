"""Loops that LLVM's vectoriser must not see, for it would not come to an end."""

from __future__ import annotations

import pytest

from execspace_compiler import ir
from execspace_compiler.analysis.invariants import deep_loops
from execspace_compiler.ir.types import INT64, ViewTy

X = ir.Var("x", ViewTy(INT64, 1, "right", 0, False))
Y = ir.Var("y", ViewTy(INT64, 1, "right", 0, False))


def number(name):
    return ir.Var(name, INT64)


def op(name, *args):
    return ir.Op(name, args, INT64)


def loop(*body, name="j", stop=None):
    stop = number("n") if stop is None else ir.integer(stop)
    return ir.For(name, ir.integer(0), stop, ir.integer(1), body)


def doubled(times):
    """v = v ^ (v << 3), again and again: each step doubles the paths to the first v."""
    step = op("bitxor", number("v"), op("lshift", number("v"), ir.integer(3)))
    return [ir.Assign("v", step)] * times


def load(index):
    return ir.Assign("v", ir.Load(X, (index,), INT64))


def found(*body, marked=(), helpers=()):
    f = ir.Function("_f", (number("i"), number("n"), X, Y), None, {"v": INT64}, tuple(body))
    functions = (*helpers, f)
    ids = deep_loops(functions, f, frozenset(marked))
    return [
        s.name
        for s in ir.walk_statements(f.body)
        if isinstance(s, ir.For) and id(s) in ids
    ]  # fmt: skip


STORE = ir.Store(Y, (number("j"),), number("v"))


def test_a_long_hash_of_what_is_loaded():
    assert found(loop(load(number("i")), *doubled(30), STORE)) == ["j"]


@pytest.mark.parametrize("steps", [1, 5])
def test_a_short_one_is_none(steps):
    assert not found(loop(load(number("i")), *doubled(steps), STORE))


def test_what_is_known_to_be_apart_is_taken_out_of_the_loop():
    assert not found(loop(load(number("i")), *doubled(30), STORE), marked={"x", "y"})


def test_what_differs_from_round_to_round():
    assert not found(loop(load(number("j")), *doubled(30), STORE))
    assert not found(loop(ir.Assign("v", op("add", number("v"), number("i"))), *doubled(30)))


def test_what_is_set_before_the_loop():
    assert not found(load(number("i")), *doubled(30), loop(STORE))


def test_a_short_inner_loop_counts_with_all_its_rounds():
    inner = loop(*doubled(1), name="k", stop=30)
    assert found(loop(load(number("i")), inner, STORE)) == ["j"]
    unknown = loop(*doubled(1), name="k")
    assert not found(loop(load(number("i")), unknown, STORE))


def test_choices():
    """v = v * v in one branch: two ways in, and the condition."""
    test = op("lt", number("v"), number("i"))
    choice = ir.If(test, (ir.Assign("v", op("mul", number("v"), number("i"))),))
    assert found(loop(load(number("i")), *[choice] * 20, STORE)) == ["j"]
    other = ir.If(op("lt", number("j"), number("i")), choice.body)  # by the index of the loop
    assert not found(loop(load(number("i")), *[other] * 20, STORE))


def test_into_functions():
    step = ir.Function(
        "step", (number("v"),), INT64, {},
        (ir.Return(op("bitxor", number("v"), op("lshift", number("v"), ir.integer(3)))),),
    )  # fmt: skip
    call = ir.Assign("v", ir.Call("step", (number("v"),), INT64))
    assert found(loop(load(number("i")), *[call] * 30, STORE), helpers=[step]) == ["j"]
    get = ir.Function("get", (X, number("i")), INT64, {}, (ir.Return(load(number("i")).value),))
    first = ir.Assign("v", ir.Call("get", (X, number("i")), INT64))
    # A helper is not told which Views it was given, so nothing is known of them there.
    assert found(loop(first, *doubled(30), STORE), helpers=[get], marked={"x", "y"}) == ["j"]


def test_local_arrays():
    a = ir.Var("a", ViewTy(INT64, 1, "right", 0, False, shape=(2,)))
    value = ir.Load(a, (ir.integer(0),), INT64)
    double = ir.Store(a, (ir.integer(0),), op("mul", value, value))
    begin = [ir.Clear(a), load(number("i")), ir.Store(a, (ir.integer(0),), number("v"))]
    assert found(loop(*begin, *[double] * 20, STORE)) == ["j"]
