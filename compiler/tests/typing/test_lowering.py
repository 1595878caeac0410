"""Kernels to typed IR: types by fix-point, places on every node, plain division where proven."""

from __future__ import annotations

import ast
import linecache

import pytest

from execspace import KernelSyntaxError
from execspace_compiler import ir
from execspace_compiler.analysis.cost import cost
from execspace_compiler.frontend.source import source_of
from execspace_compiler.ir.text import function_text
from execspace_compiler.ir.types import Scalar
from execspace_compiler.mapping.loops import index_order


def test_locals_take_the_joined_type_of_the_whole_body(lower):
    def kernel(i, x, y):
        acc = 0
        n = 1
        for k in range(3):
            acc += x[i] * k
            n = n + k
        y[i] = acc + n

    body = lower(kernel, "float32[1]", "float64[1]").body
    assert body.locals["acc"] == Scalar("float32")
    assert body.locals["n"] == Scalar("int64")


def test_the_text_of_ir_is_canonical(lower):
    """The same kernel under other names of functions and lines is the same."""

    def kernel(i, a, x, y):
        y[i] += a * x[i]

    text = function_text(lower(kernel, float, "float32[1]", "float32[1]").body)
    assert text == (
        "function kernel(i: int64, a: float64, x: float32[1,right,0], "
        "y: float32[1,right,0]) -> None\n"
        "  y[i] = add:float32(y[i], mul:float32(cast:float32(a), x[i]))"
    )


def test_every_node_knows_its_place(lower, line):
    def kernel(i, x):
        if x[i] > 0:
            x[i] = x[i] + 1

    body = lower(kernel, "float64[1]").body
    (store,) = [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Store)]
    assert store.loc.line == line(kernel, "= x[i] + 1")
    assert store.loc.file == __file__
    for e in ir.walk_expressions(body.body):
        assert e.loc.line in (store.loc.line, store.loc.line - 1)


def _operations(body):
    return {e.op for e in ir.walk_expressions(body.body) if isinstance(e, ir.Op)}


def test_plain_division_where_no_operand_can_be_negative(lower):
    def kernel(i, n):
        n[i // 4] = i % 3

    assert _operations(lower(kernel, "int64[1]").body) == {"truncdiv", "truncmod"}
    below = lower(kernel, "int64[1]", nonnegative=False).body
    assert _operations(below) == {"floordiv", "mod"}


def test_division_keeps_its_fix_up_where_a_sign_is_not_known(lower):
    def kernel(i, n):
        j = i - 5
        for k in range(i, -1, -1):
            j = k - 1
        n[i] = j // 2 + n[i] % 2 + (i + 1) // 2

    assert {"floordiv", "mod", "truncdiv"} <= _operations(lower(kernel, "int64[1]").body)


def test_constants_are_folded_as_python_folds_them(lower):
    def kernel(i, x):
        x[i] = (1 / 3) * x[i] + (7 // -2) + 2**0.5

    constants = {
        e.value
        for e in ir.walk_expressions(lower(kernel, "float64[1]").body.body)
        if isinstance(e, ir.Const)
    }
    assert constants == {1 / 3, -4, 2**0.5}


def test_helpers_are_typed_once_for_each_combination(lower):
    def kernel(i, x, n):
        x[i] = _twice(x[i]) + _twice(x[i] + 1) + _twice(n[i])

    functions = lower(kernel, "float64[1]", "int32[1]").functions
    assert [f.name for f in functions] == ["_twice", "_twice_2", "kernel"]
    assert [f.result for f in functions] == [Scalar("float64"), Scalar("int32"), None]


def _twice(x):
    return x + x


def right(i, j, a, b):
    a[i, j] = b[i, j]


def transpose(i, j, a, b):
    a[i, j] = b[j, i]


def gather(i, j, a, b):
    k = j + 1
    a[k, i] = b[k, i] + b[j, i]


@pytest.mark.parametrize(
    ("kernel", "layout", "order"),
    [
        (right, "right", (0, 1)),
        (right, "left", (1, 0)),
        (transpose, "right", (0, 1)),
        (gather, "right", (1, 0)),
        (gather, "left", (0, 1)),
    ],
)
def test_iteration_follows_the_layout_that_the_kernel_touches(lower, kernel, layout, order):
    lowered = lower(kernel, *[f"float64[2,{layout}]"] * 2, rank=2)
    assert index_order(lowered.body, lowered.spec) == order


def test_iteration_as_asked_for(lower):
    lowered = lower(right, *["float64[2]"] * 2, rank=2, iterate="left")
    assert index_order(lowered.body, lowered.spec) == (1, 0)


def test_cost_is_known_unless_a_loop_is_of_unknown_length(lower):
    def short(i, x):
        x[i] = x[i] + 1.0

    def loop(i, x):
        for _ in range(10):
            x[i] = x[i] + 1.0

    def unknown(i, x):
        for _ in range(i):
            x[i] += 1.0

    costs = [cost(lower(k, "float64[1]")) for k in (short, loop)]
    assert 0 < costs[0] < costs[1] <= 20 * costs[0]
    assert cost(lower(unknown, "float64[1]")) is None


# -- finding source ---------------------------------------------------------------------------


def test_lambdas_on_one_line_are_told_apart():
    pair = (lambda i: i + 1, lambda i: i + 2)
    nested = lambda i: (lambda j: j * 3)(i)  # noqa: E731, PLC3002
    assert [ast.unparse(source_of(f).node.body) for f in pair] == ["i + 1", "i + 2"]
    assert ast.unparse(source_of(nested).node.body) == "(lambda j: j * 3)(i)"


def test_functions_are_found_below_decorators_and_inside_blocks():
    def decorator(f):
        return f

    if True:

        @decorator
        @decorator
        def kernel(i, x):
            x[i] = 1

    source = source_of(kernel)
    assert source.node.name == "kernel"
    assert source.node.body[0].lineno == kernel.__code__.co_firstlineno + 3


def test_source_from_linecache_as_notebooks_keep_it():
    text = "def kernel(i, x):\n    x[i] = 1\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    scope: dict = {}
    exec(compile(text, "<cell 1>", "exec"), scope)
    assert source_of(scope["kernel"]).node.name == "kernel"


def test_without_source_the_message_says_what_to_do():
    scope: dict = {}
    exec("def kernel(i, x):\n    x[i] = 1\n", scope)
    with pytest.raises(KernelSyntaxError, match=r"give the text as @es.kernel\(source=text\)"):
        source_of(scope["kernel"])


def test_a_file_that_changed_since_its_import_is_noticed(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def kernel(i, x):\n    x[i] = 1\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("def other(a):\n    return a\n")
    with pytest.raises(KernelSyntaxError, match="the file changed since it was imported"):
        source_of(scope["kernel"])
