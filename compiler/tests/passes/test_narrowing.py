"""Short integers: expressions have the same value, and nothing of 32 bits leaves its range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execspace_compiler import ir
from execspace_compiler.ir.types import BOOL, FLOAT64, INDEX, INT64
from execspace_compiler.passes.narrowing import LIMIT, SHORT, is_profitable, narrowed

NAMES = ("a", "b", "c")
ARGUMENTS = dict.fromkeys(NAMES, (-LIMIT, LIMIT))


def floor_div(a, b):
    return 0 if b == 0 else a // b


def floor_mod(a, b):
    return 0 if b == 0 else a % b


def trunc_div(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "min": min,
    "max": max,
    "mod": floor_mod,
    "floordiv": floor_div,
    "short_mod": floor_mod,
    "short_floordiv": floor_div,
    "truncdiv": trunc_div,
    "truncmod": lambda a, b: 0 if b == 0 else a - trunc_div(a, b) * b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "cast": lambda a: a,
    "lt": lambda a, b: a < b,
}


def value(e, numbers):
    """An expression for given variables; what has 32 bits must fit into them."""
    match e:
        case ir.Const():
            found = e.value
        case ir.Var():
            found = numbers[e.name]
        case ir.Select():
            found = value(e.then if value(e.test, numbers) else e.orelse, numbers)
        case ir.Op():
            found = OPERATIONS[e.op](*(value(a, numbers) for a in e.args))
    if e.type == SHORT:
        assert -(2**31) <= found < 2**31, e
    return found


def binary(children):
    names = ("add", "sub", "mul", "min", "max", "mod", "floordiv", "truncdiv", "truncmod", "bitand")
    pairs = st.tuples(st.sampled_from((*names, "bitor", "bitxor")), children, children)
    return pairs.map(lambda t: ir.Op(t[0], (t[1], t[2]), INDEX))


def unary(children):
    pairs = st.tuples(st.sampled_from(("neg", "abs")), children)
    return pairs.map(lambda t: ir.Op(t[0], (t[1],), INDEX))


def choice(children):
    test = st.tuples(children, children).map(lambda t: ir.Op("lt", t, BOOL))
    return st.tuples(test, children, children).map(lambda t: ir.Select(*t, INDEX))


LEAVES = st.one_of(
    st.sampled_from([ir.Var(n, INDEX) for n in NAMES]),
    st.integers(-70_000, 70_000).map(ir.integer),
)
TREES = st.recursive(
    LEAVES, lambda c: st.one_of(binary(c), unary(c), choice(c)), max_leaves=12
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-LIMIT, LIMIT), st.integers(-9, 9), st.sampled_from((-LIMIT, LIMIT))
)


def function(value, **more):
    """A function that returns a value of a, b and c."""
    parameters = tuple(ir.Var(n, INDEX) for n in NAMES)
    body = (ir.Assign("x", value), ir.Return(ir.Var("x", INDEX)))
    return ir.Function("f", parameters, INT64, {"x": INT64, **more}, body)


@given(TREES, NUMBERS, NUMBERS, NUMBERS)
def test_values_are_the_same(tree, a, b, c):
    numbers = dict(zip(NAMES, (a, b, c), strict=True))
    (made,) = narrowed((function(tree),), ARGUMENTS)
    assign, leave = made.body
    assert value(assign.value, numbers) == value(tree, numbers)
    if made.locals["x"] == SHORT.strong:
        assert assign.value.type == SHORT
        assert leave.value.type == INDEX  # what leaves the function has the type that it had
    else:
        assert assign.value.type != SHORT


def test_what_fits_is_short_also_if_it_is_made_of_what_does_not():
    a = ir.Var("a", INDEX)
    square = ir.op("mul", a, a)
    masked = ir.op("bitand", ir.integer(3), square)
    for tree in (masked, ir.op("add", masked, a), ir.op("mod", square, ir.integer(7))):
        (made,) = narrowed((function(tree),), ARGUMENTS)
        assert made.locals["x"].name == "int32"
        assert made.body[0].value.type == SHORT
        assert value(made.body[0].value, {"a": LIMIT}) == value(tree, {"a": LIMIT})


def test_sums_of_arguments_are_short():
    a, b = (ir.Var(n, INDEX) for n in "ab")
    (made,) = narrowed((function(ir.op("add", a, b)),), ARGUMENTS)
    assert made.locals["x"].name == "int32"


def test_products_of_arguments_are_long():
    a, b = (ir.Var(n, INDEX) for n in "ab")
    (made,) = narrowed((function(ir.op("mul", a, b)),), ARGUMENTS)
    assert made.locals["x"].name == "int64"


def test_a_product_is_short_where_its_factors_are_known_to_be_small():
    a, b = (ir.Var(n, INDEX) for n in "ab")
    (made,) = narrowed((function(ir.op("mul", a, b)),), {"a": (0, 1023), "b": (0, 1 << 20)})
    assert made.locals["x"].name == "int32"


def test_bounds_make_short_what_may_be_any_number():
    a, b = (ir.Var(n, INDEX) for n in "ab")
    square = ir.op("mul", ir.op("mul", a, a), ir.op("mul", a, a))
    bounded = ir.op("max", ir.integer(0), ir.op("min", square, b))
    (made,) = narrowed((function(bounded),), {"b": (0, LIMIT)})
    assert made.locals["x"].name == "int32"
    for n in (0, 3, 30000):
        numbers = {"a": n, "b": LIMIT}
        assert value(made.body[0].value, numbers) == value(bounded, numbers)
    (made,) = narrowed((function(ir.op("min", square, b)),), {"b": (0, LIMIT)})
    assert made.locals["x"].name == "int64"


def test_what_no_launch_looks_at_is_long(lower):
    a = ir.Var("a", INDEX)
    (made,) = narrowed((function(ir.op("add", a, ir.integer(1))),), {})
    assert made.locals["x"].name == "int64"


def test_what_grows_in_a_loop_is_long():
    x = ir.Var("x", INDEX)
    grow = ir.Assign("x", ir.op("mul", x, ir.integer(3)))
    loop = ir.For("k", ir.integer(0), ir.Var("a", INDEX), ir.integer(1), (grow,))
    body = (ir.Assign("x", ir.integer(1)), loop, ir.Return(x))
    f = ir.Function("f", (ir.Var("a", INDEX),), INT64, {"x": INT64, "k": INT64}, body)
    (made,) = narrowed((f,), ARGUMENTS)
    assert made.locals["x"].name == "int64"
    assert made.locals["k"].name == "int32"  # the counter stays below `a`
    assert made.body[1].stop.type == SHORT


def test_a_counter_that_may_step_over_the_end_is_long():
    stop = ir.op("mul", ir.Var("a", INDEX), ir.integer(7))  # up to 7 * 2^28, and then a step
    loop = ir.For("k", ir.integer(0), stop, ir.integer(1 << 29), ())
    f = ir.Function("f", (ir.Var("a", INDEX),), None, {"k": INT64}, (loop,))
    (made,) = narrowed((f,), ARGUMENTS)
    assert made.body[0].stop.type != SHORT


def test_helpers_know_what_they_are_called_with():
    y = ir.Var("y", INDEX)
    double = ir.op("add", y, y)
    helper = ir.Function("h", (y,), INT64, {"z": INT64}, (ir.Assign("z", double),))
    call = ir.Call("h", (ir.Var("a", INDEX),), INT64)
    f = ir.Function("f", (ir.Var("a", INDEX),), None, {}, (ir.Evaluate(call),))
    made, caller = narrowed((helper, f), ARGUMENTS)
    assert made.locals["z"].name == "int32"
    assert caller.body[0].value.args[0].type == INDEX  # parameters keep their types
    alone, _ = narrowed((helper, ir.Function("g", (), None, {}, ())), {})
    assert alone.locals["z"].name == "int64"  # nobody calls it: anything may come


def test_integers_that_become_floats_are_converted_from_32_bits():
    a = ir.Var("a", INDEX)
    cast = ir.Op("cast", (ir.op("abs", a),), FLOAT64)
    f = ir.Function("f", (a,), FLOAT64, {}, (ir.Return(cast),))
    (made,) = narrowed((f,), ARGUMENTS)
    assert made.body[0].value.args[0].type == SHORT
    assert made.body[0].value.type == FLOAT64


@pytest.mark.parametrize(
    ("source", "expected"), [("plain", False), ("loop", True), ("remainder", True)]
)
def test_only_kernels_with_loops_or_remainders_gain(lower, source, expected):
    def plain(i, x):
        x[i] = i + 1

    def loop(i, x, n):
        for j in range(n):
            x[i] += j

    def remainder(i, x, n):
        x[i] = i % n

    kernel = {"plain": plain, "loop": loop, "remainder": remainder}[source]
    arguments = ["float64[1]"] if source == "plain" else ["float64[1]", int]
    assert is_profitable(lower(kernel, *arguments).functions) is expected


def counted(end, *steps, before=()):
    """Type of `n`, which a while loop increments as long as it is below an end."""
    n = ir.Var("n", INDEX)
    grow = tuple(ir.Assign("n", ir.op("add", n, ir.integer(k))) for k in steps)
    loop = ir.While(ir.Op("lt", (n, end), BOOL), grow)
    body = (ir.Assign("n", ir.integer(0)), *before, loop, ir.Return(n))
    f = ir.Function("f", (ir.Var("a", INDEX), ir.Var("b", INDEX)), INT64, {"n": INT64}, body)
    (made,) = narrowed((f,), {"a": ARGUMENTS["a"]})
    return made.locals["n"].name


def test_what_counts_the_rounds_of_a_while_loop_is_short():
    a, n = ir.Var("a", INDEX), ir.Var("n", INDEX)
    assert counted(a, 1) == counted(a, 2, 5) == "int32"
    assert counted(a, 1 << 30, 1 << 30) == "int64"  # it may end far beyond `a`
    assert counted(ir.Var("b", INDEX), 1) == "int64"  # of which nothing is known
    assert counted(a, 1, before=(ir.Assign("n", ir.op("add", n, ir.integer(1))),)) == "int64"
    assert counted(a, -1) == "int64"
