"""Typing rules one by one: a Context without a kernel, and single nodes of HIR."""

from __future__ import annotations

import ast
import math
import pkgutil
import subprocess
import sys
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest

import execspace as es
from execspace_compiler import ir
from execspace_compiler.frontend import hir
from execspace_compiler.frontend.names import Names
from execspace_compiler.ir.diagnostics import Fault, Loc, Reporter
from execspace_compiler.ir.ops import CALLEES
from execspace_compiler.ir.types import (
    BOOL,
    FLOAT64,
    INDEX,
    INT64,
    PY_FLOAT,
    PY_INT,
    Record,
    Scalar,
    TupleTy,
    ViewTy,
)
from execspace_compiler.typing import rules
from execspace_compiler.typing.context import (
    CALLED,
    CALLS,
    EXPRESSIONS,
    METHODS,
    STATEMENTS,
    Call,
    Context,
    Pending,
    Rules,
    load_rules,
)
from execspace_compiler.typing.function import typer_of_module
from execspace_compiler.typing.rules import calls
from execspace_compiler.typing.rules.assignments import assign
from execspace_compiler.typing.rules.binary_operators import compare_or_compute
from execspace_compiler.typing.rules.conditions import condition
from execspace_compiler.typing.rules.library import LIBRARY, library_call
from execspace_compiler.typing.rules.operators import binary, constant, truth, unary
from execspace_compiler.typing.rules.slices import sliced
from execspace_compiler.typing.rules.teams import team_attribute
from execspace_compiler.typing.rules.variables import bind, variable
from execspace_compiler.typing.rules.views import indexed
from execspace_compiler.typing.value_types import TeamTy, rebuild
from execspace_compiler.typing.values import (
    TEAM_PARTS,
    Chosen,
    FunctionValue,
    Method,
    NestedRange,
    Obj,
    Place,
    Single,
    Span,
    TeamValue,
    TupleValue,
    ViewRef,
)

HERE = Loc("nowhere.py", 1, 0, 1, 1)
F32, U8, U64 = Scalar("float32"), Scalar("uint8"), Scalar("uint64")
LOCAL_I, X = hir.Local(HERE, "i"), hir.Local(HERE, "x")


def view(element=FLOAT64, rank=1, readonly=False, traits=()):
    return ViewTy(element, rank, "right", rank - 1, readonly, traits=traits)


def number(value):
    return hir.Constant(HERE, value)


def operation(op, *args):
    return hir.Operation(HERE, op, args)


def subscript(base, *indices):
    return hir.Subscript(HERE, base, indices)


def const(value, type=PY_INT):
    return ir.Const(value, type, HERE)


def var(name, type):
    return ir.Var(name, type, HERE)


def context(*body, returns=None, **types):
    """A Context of a function of some statements, with variables of these types."""
    function = hir.Function("f", (), body, HERE, False)
    return Context(typer_of_module(), function, Reporter("f"), types, returns=returns)


@pytest.fixture
def cx():
    return context(
        i=INT64, n=PY_INT, t=FLOAT64, b=BOOL, u=U64, x=view(), y=view(F32, 2),
        fixed=view(readonly=True), a=view(INT64, traits=("atomic",)),
    )  # fmt: skip


def call(cx, target, *args, **keywords):
    name = f"{target.__module__}.{target.__name__}"
    return cx.call(Obj(target, name), args, keywords, HERE)


def state(cx):
    held = {n: v for n, v in vars(cx).items() if isinstance(v, dict | set | list | int)}
    return {n: v.copy() if isinstance(v, dict | set | list) else v for n, v in held.items()}


# -- tables ---------------------------------------------------------------------------------------

for found in pkgutil.iter_modules(rules.__path__):  # which kernels import one by one
    load_rules(found.name)


@pytest.mark.parametrize("table", [EXPRESSIONS, STATEMENTS, CALLED, METHODS], ids=lambda t: t.what)
def test_each_rule_is_looked_for_in_the_module_that_has_it(table):
    assert table.homes == {
        key: rule.__module__.split(".")[-1] for key, rule in table.registered.items()
    }


def test_rules_of_functions_are_looked_for_by_where_the_functions_are_defined():
    for function, rule in CALLS.registered.items():
        assert rule.__module__.split(".")[-1] in calls._HOMES[function.__module__]


def test_a_kernel_loads_the_rules_that_it_needs():
    """In a new process, for here they are all loaded."""
    script = """
import sys, execspace as es

def copy(i, x, y):
    y[i] = x[i]

def swap(i, x, y):
    y[i] = es.atomic_exchange(x, i, 1.0) if i < 5 else x[i]

def loaded():
    at = "execspace_compiler.typing.rules."
    return {m.removeprefix(at) for m in sys.modules if m.startswith(at)}

x, y = es.View(10), es.View(10)
es.parallel_for(10, copy, x, y)
one = loaded()
es.parallel_for(10, swap, x, y)
print(len(one & {"atomic_functions", "choices", "teams", "printf"}), loaded() - one)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    few, more = run.stdout.split(maxsplit=1)
    assert few == "0" and {"atomic_functions", "choices"} <= ast.literal_eval(more)
    assert "teams" not in more


def test_each_expression_has_a_rule():
    """But slices, which the rule of subscripts knows."""
    assert set(EXPRESSIONS.registered) == set(get_args(hir.Expr)) - {hir.Slice}


def test_each_statement_has_a_rule():
    assert set(STATEMENTS.registered) == set(get_args(hir.Stmt))


def test_each_kind_of_library_function_has_a_rule_and_each_rule_a_function():
    kinds = {callee.rule for callee in CALLEES.values()}
    assert set(LIBRARY.registered) == kinds - {"len", "fold"}  # those take tuples and Views


@pytest.mark.parametrize(
    "function",
    [f for f, c in CALLEES.items() if c.rule not in ("len", "int", "float", "bool", "complex")],
    ids=lambda f: f"{getattr(f, '__module__', 'numpy')}.{f.__name__}",
)
@pytest.mark.parametrize("type", [FLOAT64, INT64])
def test_a_function_is_what_a_name_refers_to_and_not_how_the_name_reads(function, type):
    """`from math import radians as degrees` is one of those that read like another function."""
    callee = CALLEES[function]
    numbers = [var(n, type) for n in "xyz"[: callee.arity[0] if callee.arity else 2]]

    def typed(name):
        cx = context(x=type, y=type, z=type)
        try:
            found = library_call(cx, callee, name, numbers, HERE)
        except Fault as fault:
            return str(fault).replace(name, "it")
        return found, cx.out

    assert typed("a.degrees") == typed("b.sin") == typed("rad2deg")


def test_what_can_be_called_has_a_rule():
    assert set(CALLED.registered) == {Obj, Method, FunctionValue, Chosen}


def test_words_of_execspace_are_called_by_their_own_rules():
    words = [w for w in vars(es) if w.startswith("atomic_")]
    assert len(words) > 40
    assert {getattr(es, w) for w in words} <= set(CALLS.registered)
    assert not set(CALLS.registered) & set(CALLEES)


@dataclass(frozen=True, slots=True)
class Unheard(hir.Node):
    """A node that no rule is for."""


def test_an_expression_without_a_rule_is_an_error(cx):
    with pytest.raises(LookupError, match=r"^no typing rule for expression Unheard$"):
        cx.value(Unheard(HERE))
    with pytest.raises(LookupError, match=r"^no typing rule for expression Slice$"):
        cx.operands([hir.Slice(HERE, None, None, None)])


def test_a_statement_without_a_rule_is_an_error_and_no_fault_of_the_kernel(cx):
    cx.final = True
    with pytest.raises(LookupError, match=r"^no typing rule for statement Unheard$"):
        cx.block([Unheard(HERE)])
    assert cx.reporter.diagnostics == []


def test_a_method_without_a_rule_is_an_error(cx):
    with pytest.raises(LookupError, match=r"^no typing rule for method fly$"):
        cx.call(Method(variable(cx, "x", HERE), "fly"), (), {}, HERE)


def test_a_second_rule_is_refused():
    rules = Rules("colour")

    @rules.of("red", "blue")
    def first(cx, e):
        return e

    with pytest.raises(ValueError, match=r"^colour blue has a rule already: first$"):
        rules.of("blue")(lambda cx, e: None)
    assert rules.registered == {"red": first, "blue": first}


@pytest.mark.parametrize(
    ("table", "key"),
    [(EXPRESSIONS, hir.Local), (STATEMENTS, hir.If), (CALLS, es.printf), (METHODS, "extent")],
)
def test_no_rule_can_be_registered_twice(table, key):
    known = dict(table.registered)
    with pytest.raises(ValueError, match="has a rule already"):
        table.of(key)(lambda cx, e: None)
    assert table.registered == known


def test_parts_of_a_node_are_typed_through_the_table(cx, monkeypatch):
    """No rule calls that of another node."""
    monkeypatch.setitem(EXPRESSIONS, hir.Constant, lambda cx, e: const(e.value + 1))
    assert cx.value(operation("add", number(1), number(2))) == const(5)
    assert cx.value(subscript(X, number(3))).indices == (const(4, INDEX),)
    monkeypatch.setitem(STATEMENTS, hir.Break, lambda cx, s: cx.out.append(ir.Continue(s.loc)))
    STATEMENTS[hir.While](cx, hir.While(HERE, hir.Local(HERE, "b"), (hir.Break(HERE),)))
    assert cx.out[0].body == (ir.Continue(HERE),)


# -- operators ------------------------------------------------------------------------------------


def test_a_literal_takes_the_type_of_the_other_operand(cx):
    found = binary(cx, "add", var("z", F32), const(2), HERE)
    assert found == ir.Op("add", (var("z", F32), const(2.0, F32)), F32, HERE)


def test_constants_are_folded(cx):
    assert binary(cx, "floordiv", const(7), const(2), HERE) == const(3)
    assert unary(cx, "neg", const(7), HERE) == const(-7)
    assert unary(cx, "not", const(7), HERE) == const(False, BOOL)


@pytest.mark.parametrize(
    ("op", "a", "b", "message"),
    [
        ("floordiv", var("i", INT64), const(0), "integer division by zero"),
        ("truediv", const(1), const(0), "division by zero"),
        ("bitand", var("t", FLOAT64), const(1), "'&' needs integers, got float64 and Python int"),
        ("lt", const(1j, Scalar("complex128")), const(1), "complex numbers have no order"),
        ("add", var("k", U8), const(300), "the constant 300 does not fit uint8"),
    ],
)
def test_operands_that_do_not_fit_are_faults(cx, op, a, b, message):
    with pytest.raises(Fault) as caught:
        binary(cx, op, a, b, HERE)
    assert caught.value.diagnostics[0].message.startswith(message)
    assert caught.value.diagnostics[0].loc == HERE


def test_signs_are_compared_exactly(cx):
    found = binary(cx, "lt", var("i", INT64), var("u", U64), HERE)
    assert found.op == "or"
    assert found.args[0] == ir.Op("lt", (var("i", INT64), const(0, INT64)), BOOL, HERE)


def test_the_truth_of_a_number(cx):
    assert truth(cx, var("b", BOOL), HERE) == var("b", BOOL)
    assert truth(cx, var("i", INT64), HERE).op == "ne"


def test_operators_of_nodes_nest_to_the_left(cx):
    found = cx.value(operation("sub", operation("mul", LOCAL_I, LOCAL_I), number(1)))
    assert found == ir.Op(
        "sub", (ir.Op("mul", (var("i", INT64),) * 2, INT64, HERE), const(1, INT64)), INT64, HERE
    )


def test_tuples_are_joined_repeated_and_compared(cx):
    pair = TupleValue((var("i", INT64), const(2)))
    node = operation("add", LOCAL_I, LOCAL_I)
    assert len(compare_or_compute(cx, "add", pair, pair, node).items) == 4
    assert len(compare_or_compute(cx, "mul", pair, const(3), node).items) == 6
    assert compare_or_compute(cx, "eq", pair, TupleValue(()), node) == const(False, BOOL)
    assert compare_or_compute(cx, "in", var("i", INT64), pair, node).op == "or"
    assert compare_or_compute(cx, "is", Obj(None, "None"), pair, node) == const(False, BOOL)


# -- names ----------------------------------------------------------------------------------------


def test_a_literal_is_weak_and_a_string_no_number(cx):
    assert cx.value(number(1)) == const(1, PY_INT)
    assert cx.value(number("text")) == Obj("text", "'text'")
    with pytest.raises(Fault, match="does not fit into 64 bits"):
        constant(2**64, HERE)


def test_a_variable_without_a_type_waits_for_the_next_walk(cx):
    with pytest.raises(Pending):
        cx.value(hir.Local(HERE, "later"))
    assert cx.unknown == {}
    cx.final = True
    with pytest.raises(Pending):
        cx.value(hir.Local(HERE, "later"))
    assert cx.unknown == {"later": HERE}


def test_a_captured_number_and_function():
    names = Names(context, frozenset(), {}, {})
    cx = context()
    assert cx.value(hir.Outer(HERE, "two", 2.0, names)) == const(2.0, PY_FLOAT)
    assert cx.value(hir.Outer(HERE, "math.sqrt", math.sqrt, names)) == Obj(math.sqrt, "math.sqrt")
    helper = cx.value(hir.Outer(HERE, "view", view, names))
    assert helper.definition.name == "view"


def test_a_name_that_is_not_defined_is_a_fault_where_it_is_read(cx):
    with pytest.raises(Fault, match="what is this"):
        cx.value(hir.Undefined(HERE, "what is this", "define it"))


def test_a_named_expression_assigns(cx):
    found = cx.value(hir.Named(HERE, "m", operation("add", LOCAL_I, number(1))))
    assert found == var("m", INT64)
    assert [s.name for s in cx.out] == ["m"]


# -- choices --------------------------------------------------------------------------------------


def test_a_choice_has_the_common_type(cx):
    found = cx.value(hir.Conditional(HERE, hir.Local(HERE, "b"), LOCAL_I, number(0.5)))
    assert found == ir.Select(
        var("b", BOOL), ir.Op("cast", (var("i", INT64),), FLOAT64, HERE), const(0.5, FLOAT64),
        FLOAT64, HERE,
    )  # fmt: skip
    assert cx.out == []


def test_a_constant_decides_a_choice_but_not_its_type(cx):
    before = state(cx)
    node = hir.Conditional(HERE, number(True), LOCAL_I, subscript(X, LOCAL_I))
    assert cx.value(node).type == FLOAT64
    assert cx.decided == {id(node): True}
    assert state(cx) | {"decided": {}} == before


def test_what_is_ruled_out_leaves_no_trace(cx):
    before = state(cx)
    assert cx.dry_run(hir.Named(HERE, "m", LOCAL_I)) == var("m", INT64)
    assert cx.dry_run(hir.Undefined(HERE, "a fault", "")) is None
    assert state(cx) == before


def test_and_of_bools_is_a_bool_and_of_numbers_the_one_that_decides(cx):
    b, t = hir.Local(HERE, "b"), hir.Local(HERE, "t")
    assert cx.value(hir.Logical(HERE, "and", (b, b))).op == "and"
    found = cx.value(hir.Logical(HERE, "or", (t, LOCAL_I)))
    assert isinstance(found, ir.Select)
    assert found.type == FLOAT64
    assert condition(cx, hir.Logical(HERE, "and", (number(None), t))) == const(False, BOOL)


def test_a_chain_evaluates_its_middle_once(cx):
    found = cx.value(hir.Chain(HERE, ("lt", "le"), (number(0), subscript(X, LOCAL_I), number(9))))
    assert found.op == "and"
    (kept,) = cx.out
    assert isinstance(kept.value, ir.Load)


# -- Views ----------------------------------------------------------------------------------------


def test_an_index_gives_an_element(cx):
    place = indexed(cx, subscript(X, LOCAL_I))
    assert place == Place(var("x", view()), (var("i", INT64),), None, FLOAT64)
    assert cx.value(subscript(X, LOCAL_I)) == ir.Load(place.view, place.indices, FLOAT64, HERE)


def test_a_literal_negative_index_counts_from_the_end(cx):
    (index,) = cx.value(subscript(X, number(-2))).indices
    assert index == ir.Op(
        "add", (ir.Extent(var("x", view()), 0, INDEX, HERE), const(-2, INDEX)), INDEX, HERE
    )


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ((LOCAL_I, LOCAL_I), "View 'x' has rank 1, got 2 indices"),
        ((hir.Local(HERE, "t"),), "index 0 of View 'x' is float64, expected an integer"),
    ],
)
def test_indices_that_do_not_fit_are_faults(cx, indices, message):
    with pytest.raises(Fault, match=message):
        cx.value(subscript(X, *indices))


def test_a_slice_gives_a_part(cx):
    part = cx.value(
        subscript(hir.Local(HERE, "y"), LOCAL_I, hir.Slice(HERE, number(1), None, None))
    )
    assert isinstance(part, ViewRef)
    (span,) = part.spans
    assert span.step == 1
    assert {span.start.name, span.extent.name} <= {s.name for s in cx.out}  # they are kept


def test_a_slice_of_constants_is_a_constant(cx):
    dim = Span(const(0, INDEX), 1, const(10, INDEX))
    assert sliced(cx, dim, (const(-3), None, const(2)), HERE) == Span(
        const(7, INDEX), 2, const(2, INDEX)
    )
    assert cx.out == []


def test_attributes_of_views_and_numbers(cx):
    assert cx.value(hir.Attribute(HERE, hir.Local(HERE, "y"), "rank")) == const(2)
    assert len(cx.value(hir.Attribute(HERE, hir.Local(HERE, "y"), "shape")).items) == 2
    assert cx.value(hir.Attribute(HERE, LOCAL_I, "imag")) == const(0, INT64)
    with pytest.raises(Fault, match="int64 has no attribute 'width' in a kernel"):
        cx.value(hir.Attribute(HERE, LOCAL_I, "width"))


def test_a_field_of_a_record():
    record = Record((("name", 0, INT64), ("at", 8, FLOAT64)), 16)
    cx = context(i=INT64, p=view(record))
    found = cx.value(hir.Attribute(HERE, subscript(hir.Local(HERE, "p"), LOCAL_I), "at"))
    assert (found.type, found.byte) == (FLOAT64, const(8, INDEX))
    with pytest.raises(Fault, match="has no field 'size'"):
        cx.value(hir.Attribute(HERE, subscript(hir.Local(HERE, "p"), LOCAL_I), "size"))


# -- calls ----------------------------------------------------------------------------------------


def test_sqrt_of_an_integer_is_a_float(cx):
    found = call(cx, math.sqrt, var("i", INT64))
    cast = ir.Op("cast", (var("i", INT64),), FLOAT64, HERE)
    assert found == ir.Op("sqrt", (cast,), FLOAT64, HERE)


def test_a_call_types_its_arguments():
    names = Names(context, frozenset(), {}, {})
    cx = context(t=F32)
    sqrt = hir.Outer(HERE, "math.sqrt", math.sqrt, names)
    found = cx.value(hir.Call(HERE, sqrt, (hir.Local(HERE, "t"),), ()))
    assert found == ir.Op("sqrt", (var("t", F32),), F32, HERE)


@pytest.mark.parametrize(
    ("target", "args", "message"),
    [
        (math.sqrt, (), "math.sqrt takes 1 argument in a kernel, got 0"),
        (math.comb, (const(1),), "'math.comb' cannot be called in a kernel"),
        (min, (const(1),), "builtins.min takes at least two numbers or a tuple, got Python int"),
        (es.parallel_for, (const(1),), "'execspace.launch.parallel.parallel_for' cannot be called"),
        (sum, (const(1),), "sum takes one tuple in a kernel, got Python int"),
    ],
)
def test_calls_that_do_not_fit_are_faults(cx, target, args, message):
    with pytest.raises(Fault) as caught:
        call(cx, target, *args)
    assert caught.value.diagnostics[0].message.startswith(message)


def test_what_takes_no_keyword_refuses_it(cx):
    with pytest.raises(Fault, match=r"'math.sqrt' takes no keyword argument 'x' in a kernel"):
        call(cx, math.sqrt, x=const(1))
    with pytest.raises(Fault, match="takes no keyword argument 'order' in a kernel"):
        call(cx, es.local, const(3), order=Obj("C", "'C'"))


def test_a_number_cannot_be_called(cx):
    with pytest.raises(Fault, match="int64 cannot be called"):
        cx.call(var("i", INT64), (), {}, HERE)


def test_casts_and_functions_of_tuples(cx):
    assert call(cx, np.float32, const(1)) == const(1.0, F32)
    assert call(cx, sum, TupleValue((const(1), const(2)))) == const(3)
    pairs = call(cx, zip, TupleValue((const(1), const(2))), TupleValue((const(3),)))
    assert pairs == TupleValue((TupleValue((const(1), const(3))),))
    with pytest.raises(Fault, match="takes tuples of one length"):
        call(cx, zip, TupleValue((const(1),)), TupleValue(()), strict=const(True, BOOL))


def test_extent_is_a_method_of_views(cx):
    x = variable(cx, "x", HERE)
    assert cx.call(Method(x, "extent"), (const(0),), {}, HERE) == ir.Extent(x, 0, INDEX, HERE)
    with pytest.raises(Fault, match="extent takes one constant dimension, got int64"):
        cx.call(Method(x, "extent"), (var("i", INT64),), {}, HERE)


def test_a_local_array_is_cleared_where_it_is_made(cx):
    array = call(cx, es.local, const(3), dtype=Obj(np.float32, "np.float32"))
    assert (array.type.element, array.type.shape) == (F32, (3,))
    assert cx.out == [ir.Clear(array, HERE)]
    assert cx.types[array.name] == array.type


def test_printf_converts_what_it_prints(cx):
    call(cx, es.printf, Obj("%d!", "'%d!'"), var("b", BOOL))
    (printed,) = cx.out
    assert printed.parts == (("%d", ir.Op("cast", (var("b", BOOL),), INT64, HERE)), "!")
    assert cx.module.prints


def test_a_call_knows_its_name_and_owner():
    x = var("x", view())
    assert Call(Method(x, "extent"), (), {}, HERE).owner == x
    assert Call(Obj(abs, "abs"), (), {}, HERE).target is abs
    with pytest.raises(AssertionError):
        _ = Call(x, (), {}, HERE).name


# -- atomics --------------------------------------------------------------------------------------


def test_an_atomic_step_is_a_statement(cx):
    x, i = variable(cx, "x", HERE), var("i", INT64)
    assert call(cx, es.atomic_add, x, i, const(1)) == Obj(None, "None")
    assert cx.out == [ir.Atomic(None, "add", x, (i,), FLOAT64, (const(1.0, FLOAT64),), "old", HERE)]


def test_what_was_there_before_an_atomic_step_is_in_a_temporary(cx):
    x, i = variable(cx, "x", HERE), var("i", INT64)
    found = call(cx, es.atomic_add_fetch, x, i, const(1))
    (step,) = cx.out
    assert (step.name, step.fetch) == (found.name, "new")
    assert cx.types[found.name] == FLOAT64


@pytest.mark.parametrize(
    ("word", "view_", "message"),
    [
        (es.atomic_and, "x", "there is no atomic 'element & value' for elements of float64"),
        (es.atomic_add, "fixed", "View 'fixed' is read-only"),
        (es.atomic_add, "i", "es.atomic_add takes a View first, got int64"),
    ],
)
def test_atomic_steps_that_do_not_fit_are_faults(cx, word, view_, message):
    with pytest.raises(Fault, match=message):
        call(cx, word, variable(cx, view_, HERE), var("i", INT64), const(1))


def test_each_access_to_an_atomic_view_is_a_step(cx):
    at = subscript(hir.Local(HERE, "a"), LOCAL_I)
    STATEMENTS[hir.Update](cx, hir.Update(HERE, at, "add", number(1)))
    STATEMENTS[hir.Assign](cx, hir.Assign(HERE, at, number(2)))
    cx.value(at)
    assert [s.op for s in cx.out] == ["add", "store", "load"]
    with pytest.raises(Fault, match=r"'\*\*=' is not atomic, but View 'a' is"):
        STATEMENTS[hir.Update](cx, hir.Update(HERE, at, "pow", number(2)))


# -- assignments ----------------------------------------------------------------------------------


def test_an_assignment_widens_and_asks_for_another_walk(cx):
    bind(cx, "m", const(1), HERE)
    assert (cx.types["m"], cx.changed) == (PY_INT, True)
    cx.changed = False
    STATEMENTS[hir.Assign](cx, hir.Assign(HERE, hir.Local(HERE, "m"), hir.Local(HERE, "t")))
    assert (cx.types["m"], cx.changed) == (FLOAT64, True)
    cx.changed = False
    bind(cx, "m", const(1), HERE)
    assert not cx.changed
    assert cx.out[-1] == ir.Assign("m", const(1.0, FLOAT64), HERE)


def test_a_variable_is_not_two_things(cx):
    with pytest.raises(Fault, match="'i' is int64 in one place and tuple"):
        bind(cx, "i", TupleValue((const(1), const(2))), HERE)
    assert set(cx.conflicts) == {"i"}


def test_all_values_are_taken_before_the_first_target_changes(cx):
    bind(cx, "j", const(1), HERE)
    cx.out.clear()
    pair = hir.Tuple(HERE, (LOCAL_I, hir.Local(HERE, "j")))
    value = cx.value(hir.Tuple(HERE, (hir.Local(HERE, "j"), LOCAL_I)))
    assign(cx, pair, value, HERE, HERE)
    names = [s.name for s in cx.out]
    assert names[2:] == ["i", "j"]
    assert set(names[:2]) == {"_t1", "_t2"}


def test_a_store_is_converted_to_the_element(cx):
    y = hir.Local(HERE, "y")
    STATEMENTS[hir.Assign](
        cx, hir.Assign(HERE, subscript(y, LOCAL_I, LOCAL_I), hir.Local(HERE, "t"))
    )
    (store,) = cx.out
    assert store.value == ir.Op("cast", (var("t", FLOAT64),), F32, HERE)
    with pytest.raises(Fault, match="cannot assign to the attribute 'rank'"):
        assign(cx, hir.Attribute(HERE, y, "rank"), const(1), HERE, HERE)


def test_an_update_reads_its_element_before_what_its_value_emits(cx):
    """x[i] += atomic_load(a, 0), as Python does it."""
    names = Names(context, frozenset(), {}, {})
    load = hir.Outer(HERE, "es.atomic_load", es.atomic_load, names)
    value = hir.Call(HERE, load, (hir.Local(HERE, "a"), number(0)), ())
    STATEMENTS[hir.Update](cx, hir.Update(HERE, subscript(X, LOCAL_I), "add", value))
    kinds = [type(s).__name__ for s in cx.out]
    assert kinds.index("Atomic") == len(kinds) - 2
    assert kinds[-1] == "Store"
    assert any(isinstance(s, ir.Assign) and isinstance(s.value, ir.Load) for s in cx.out)


# -- control --------------------------------------------------------------------------------------


def test_a_constant_test_leaves_one_branch(cx):
    yes, no = hir.Continue(HERE), hir.Break(HERE)
    STATEMENTS[hir.If](cx, hir.If(HERE, number(0), (yes,), (no,)))
    STATEMENTS[hir.If](cx, hir.If(HERE, hir.Local(HERE, "b"), (yes,), (no,)))
    assert cx.out == [
        ir.Break(HERE),
        ir.If(var("b", BOOL), (ir.Continue(HERE),), (ir.Break(HERE),), HERE),
    ]


def test_a_loop_over_range_counts_in_its_variable(cx):
    STATEMENTS[hir.For](cx, hir.For(HERE, "k", number(0), LOCAL_I, number(1), ()))
    (loop,) = cx.out
    assert (loop.name, loop.stop, cx.types["k"]) == ("k", var("i", INT64), INDEX)
    with pytest.raises(Fault, match="the step of range is zero"):
        STATEMENTS[hir.For](cx, hir.For(HERE, "k", number(0), LOCAL_I, number(0), ()))


def test_a_loop_over_a_tuple_is_its_body_for_each_item(cx):
    items = hir.Tuple(HERE, (number(1), number(2)))
    body = hir.Assign(HERE, hir.Local(HERE, "m"), hir.Local(HERE, "v"))
    STATEMENTS[hir.ForEach](cx, hir.ForEach(HERE, hir.Local(HERE, "v"), items, (body,)))
    assert [s.name for s in cx.out] == ["v", "m", "v", "m"]


def test_a_fault_is_reported_in_the_last_walk_and_its_statement_left_out(cx):
    emits = hir.Named(HERE, "lost", number(1))
    wrong = hir.Evaluate(HERE, hir.Tuple(HERE, (emits, subscript(LOCAL_I, LOCAL_I))))
    right = hir.Assign(HERE, hir.Local(HERE, "m"), number(1))
    assert [s.name for s in cx.block([wrong, right])] == ["m"]
    assert cx.reporter.diagnostics == []
    cx.final = True
    assert [s.name for s in cx.block([wrong, right])] == ["m"]
    assert [d.message for d in cx.reporter.diagnostics] == ["cannot index int64"]


def test_returns_have_a_common_type(cx):
    STATEMENTS[hir.Return](cx, hir.Return(HERE, LOCAL_I))
    STATEMENTS[hir.Return](cx, hir.Return(HERE, hir.Local(HERE, "t")))
    assert cx.result == FLOAT64
    assert cx.out[-1] == ir.Return(var("t", FLOAT64), HERE)
    with pytest.raises(Fault, match="this path returns nothing, another returns a value"):
        STATEMENTS[hir.Return](cx, hir.Return(HERE, None))


def test_a_parallel_for_returns_nothing():
    cx = context(i=INT64, returns=False)
    with pytest.raises(Fault, match="a kernel of parallel_for returns nothing, got int64"):
        STATEMENTS[hir.Return](cx, hir.Return(HERE, LOCAL_I))


def test_a_helper_returns_the_number_of_a_failed_assertion(cx):
    STATEMENTS[hir.Assert](cx, hir.Assert(HERE, hir.Local(HERE, "b"), "it is so"))
    (branch,) = cx.out
    assert branch.body == (ir.Return(const(1, INT64), HERE),)
    assert (cx.fails, cx.changed) == (True, True)
    assert [a.message for a in cx.module.assertions] == ["it is so"]


# -- teams ----------------------------------------------------------------------------------------


@pytest.fixture
def team():
    return rebuild(TeamTy(), "team", HERE)


def test_a_team_has_parts_and_methods(cx, team):
    assert isinstance(team, TeamValue)
    for name in TEAM_PARTS:
        assert team_attribute(team, name, HERE) == getattr(team, name)
    for name in (n for n, home in METHODS.homes.items() if home.startswith("team")):
        assert team_attribute(team, name, HERE) == Method(team, name)
    with pytest.raises(Fault, match="a team has no attribute 'extent'"):
        team_attribute(team, "extent", HERE)


def test_a_range_over_threads(cx, team):
    found = call(cx, es.TeamThreadRange, team, var("i", INT64))
    assert isinstance(found, NestedRange)
    assert (found.level, found.starts) == ("thread", (const(0, INDEX),))
    assert [s.name for s in cx.out] == [s.name for s in found.stops]  # it is kept as it is now
    with pytest.raises(Fault, match="takes a team first, got Python int"):
        call(cx, es.TeamThreadRange, const(4))


def test_a_barrier_and_a_broadcast(cx, team):
    cx.call(Method(team, "barrier"), (), {}, HERE)
    held = cx.call(Method(team, "broadcast"), (var("t", FLOAT64), const(0)), {}, HERE)
    assert cx.out[0] == ir.Barrier(HERE)
    assert cx.out[-1].values == (held,)
    with pytest.raises(Fault, match=r"team.barrier got Python int"):
        cx.call(Method(team, "barrier"), (const(1),), {}, HERE)


def test_single_is_a_test_of_the_rank(cx, team):
    member = call(cx, es.PerTeam, team)
    assert member == Single(team, "team")
    assert call(cx, es.single, member) == ir.Op("eq", (team.team_rank, const(0, INDEX)), BOOL, HERE)


def test_a_sum_over_the_members(cx, team):
    found = cx.call(Method(team, "reduce"), (var("t", FLOAT64),), {}, HERE)
    assert found.type == FLOAT64
    assert sum(isinstance(s, ir.Combine) for s in cx.out) == 1
    assert cx.reductions == 1


# -- the context ----------------------------------------------------------------------------------


def test_operands_are_kept_where_a_later_one_emits_statements(cx):
    first, _ = cx.operands([subscript(X, LOCAL_I), hir.Named(HERE, "m", LOCAL_I)])
    kept, assigned = cx.out
    assert isinstance(kept.value, ir.Load)
    assert (first.name, assigned.name) == (kept.name, "m")


def test_what_is_collected_is_not_emitted_even_if_there_is_a_fault(cx):
    outer = cx.out
    given = [ir.Break(HERE)]
    with cx.collecting(given) as found:
        cx.keep(var("i", INT64))
    assert found is given
    assert len(found) == 2
    with pytest.raises(Fault), cx.collecting() as found:
        cx.value(subscript(LOCAL_I, LOCAL_I))
    assert cx.out is outer
    assert (outer, found) == ([], [])


def test_temporaries_avoid_names_of_the_source():
    cx = Context(
        typer_of_module(), hir.Function("f", (), (), HERE, False), Reporter("f"),
        own_names={"_t1", "_t3"},
    )  # fmt: skip
    assert [cx.temporary(INT64) for _ in range(2)] == ["_t2", "_t4"]


def test_a_kept_tuple_keeps_its_names(cx):
    kept = cx.keep(TupleValue((var("i", INT64), const(1)), ("a", "b")))
    assert kept.names == ("a", "b")
    assert kept.items[1] == const(1)
    assert TupleTy((INT64, PY_INT)).items == tuple(e.type for e in kept.items)


def test_a_narrowed_argument_has_limits():
    """Only an argument of a kernel, and only in the last walk."""
    parameters = (ir.Var("i", INDEX), ir.Var("n", PY_INT))
    function = hir.Function("f", ("i", "n"), (), HERE, False)
    cx = Context(
        typer_of_module(), function, Reporter("f"), {"i": INDEX, "n": PY_INT}, parameters, rank=1
    )
    cx.coerce(var("n", PY_INT), U8)
    assert cx.limits == {}
    cx.final = True
    cx.coerce(var("other", PY_INT), U8)
    cx.coerce(var("n", PY_INT), U8)
    cx.coerce(var("n", PY_INT), Scalar("int8"))
    assert cx.limits == {"n": (0, 127)}
