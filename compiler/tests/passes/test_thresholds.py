"""Comparisons with the neighbour of a constant say the same of each number.

That compilers then take no choice for another one is tested on every space, in the kit's
`language.test_zeros`.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execspace_compiler import ir
from execspace_compiler.ir.types import BOOL, Scalar, ViewTy
from execspace_compiler.passes.thresholds import with_thresholds

COMPARE = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
PLAIN = {
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "minimum": lambda a, b: a if a < b or a != a else b,
    "maximum": lambda a, b: a if a > b or a != a else b,
    "fmin": lambda a, b: a if a <= b or b != b else b,
    "fmax": lambda a, b: a if a >= b or b != b else b,
}
TYPES = ("float32", "float64")


def numbers(kind):
    near = st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    return near | st.floats(width=np.dtype(kind).itemsize * 8)


def rewritten(kind, e):
    """What a function becomes that gives an expression of its parameter v."""
    f = ir.Function("f", (ir.Var("v", Scalar(kind)),), Scalar(kind), {}, (ir.Return(e),))
    (function,) = with_thresholds(ir.Module((f,))).functions
    (statement,) = function.body
    assert isinstance(statement, ir.Return)
    return statement.value


def value(e, v):
    """What an expression is for a v."""
    match e:
        case ir.Var():
            return v
        case ir.Const():
            return np.dtype(e.type.name).type(e.value)
        case ir.Select():
            return value(e.then if value(e.test, v) else e.orelse, v)
    args = [value(a, v) for a in e.args]
    if e.op in PLAIN | COMPARE:
        return (PLAIN | COMPARE)[e.op](*args)
    how, compare = e.op.split("_")
    x, k, c = args
    return (x if how == "keep" else c) if COMPARE[compare](x, k) else (c if how == "keep" else x)


def assert_same(e, other, v):
    a, b = value(e, v), value(other, v)
    assert (a == b and np.signbit(a) == np.signbit(b)) or (np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_choices_by_neighbours(kind, data):
    v, c = data.draw(numbers(kind)), data.draw(numbers(kind))
    name, second = data.draw(st.sampled_from(sorted(PLAIN))), data.draw(st.booleans())
    t = Scalar(kind)
    args = (ir.Var("v", t), ir.Const(c, t))
    e = ir.Op(name, args if second else args[::-1], t)
    new = rewritten(kind, e)
    assert (new.op != name) == np.isfinite(np.dtype(kind).type(c))
    assert_same(new, e, np.dtype(kind).type(v))


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_conditions_by_neighbours(kind, data):
    v, c = data.draw(numbers(kind)), data.draw(numbers(kind))
    name, second = data.draw(st.sampled_from(sorted(COMPARE))), data.draw(st.booleans())
    t = Scalar(kind)
    var, const = ir.Var("v", t), ir.Const(c, t)
    test = ir.Op(name, (var, const) if second else (const, var), BOOL)
    e = ir.Select(test, var, const, t)
    new = rewritten(kind, e)
    assert (new.test != test) == np.isfinite(np.dtype(kind).type(c))
    assert_same(new, e, np.dtype(kind).type(v))


def test_only_what_may_be_a_choice():
    """Clamping what was loaded is left as the instruction that it is."""
    t = Scalar("float64")
    v, zero = ir.Var("v", t), ir.Const(0.0, t)
    sum_ = ir.Op("add", (v, v), t)
    for e in (ir.Op("max", (sum_, zero), t), ir.Op("max", (zero, sum_), t)):
        assert rewritten("float64", e) == e
    inner = ir.Op("min", (sum_, ir.Const(1.0, t)), t)
    assert rewritten("float64", ir.Op("max", (inner, zero), t)).op == "max"
    again = ir.Op("max", (ir.Op("max", (sum_, zero), t), zero), t)
    assert rewritten("float64", again).op == "replace_le"
    negative = ir.Op("max", (sum_, ir.Const(-0.0, t)), t)
    assert rewritten("float64", negative).op == "replace_le"


def test_a_parameter_that_is_set_is_no_constant():
    t = Scalar("float64")
    v, low, c = ir.Var("v", t), ir.Var("low", t), ir.Const(0.0, t)
    limited = ir.Return(ir.Op("max", (low, ir.Op("max", (low, v), t)), t))
    body = (ir.If(ir.Op("lt", (v, ir.Const(1.0, t)), BOOL), (ir.Assign("low", c),)), limited)
    f = ir.Function("f", (v, low), t, {}, body)
    (function,) = with_thresholds(ir.Module((f,))).functions
    assert function.body == body


def test_conditions_of_more_than_a_choice_are_left_alone():
    """Where subnormals are zeros, the neighbour of zero is zero."""
    t = Scalar("float32")
    v, c = ir.Var("v", t), ir.Const(0.0, t)
    inverse = ir.Op("truediv", (ir.Const(1.0, t), v), t)
    e = ir.Select(ir.Op("gt", (v, c), BOOL), inverse, c, t)
    assert rewritten("float32", e) == e


def test_choices_that_go_through_memory_are_seen():
    t, v = Scalar("float64"), ir.Var("v", Scalar("float64"))
    kept = ir.Var("kept", ViewTy(t, 1, "right", 0, False, shape=(1,)))
    at, c = (ir.integer(0),), ir.Const(0.0, t)
    body = (
        ir.Store(kept, at, ir.Op("max", (ir.Op("add", (v, v), t), c), t)),
        ir.Return(ir.Op("max", (c, ir.Load(kept, at, t)), t)),
    )
    f = ir.Function("f", (v,), t, {"kept": kept.type}, body)
    (function,) = with_thresholds(ir.Module((f,))).functions
    assert function.body[0] == body[0]
    assert function.body[1].value.op == "keep_ge"
