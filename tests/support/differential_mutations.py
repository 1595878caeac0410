"""Ways to break the compiler on purpose, one function each; see test_differential_mutations.py.

A function gets pytest's `monkeypatch` and changes one thing that a programmer might get wrong: a
statement that is dropped, operands that change places, a key that forgets a part. Each stands in
the table of the share of programs that has to notice it.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import numpy as np

from execspace.kernels import captures
from execspace.launch import prepare
from execspace.reducers import base as reducer
from execspace.reducers import builtin as builtin_reducers
from execspace_compiler.codegen.python.oracle import OraclePrinter
from execspace_compiler.frontend import hir, lowering
from execspace_compiler.ir import diagnostics
from execspace_compiler.oracle import plan, runtime, teams
from execspace_compiler.reductions import joins
from execspace_compiler.reductions.building import ReductionBuilder
from execspace_compiler.typing import context, module

Lowering = lowering._Lowering


# -- statements -----------------------------------------------------------------------------------


def _dropping(kind: type[ast.stmt], every: int = 2):
    """The lowering drops every other statement of a kind."""

    def drop(monkeypatch):
        lowered, seen = lowering._STATEMENTS[kind], []

        def statement(self, node):
            seen.append(node)
            return [] if len(seen) % every == 0 else lowered(self, node)

        monkeypatch.setitem(lowering._STATEMENTS, kind, statement)

    drop.__name__ = f"{kind.__name__}_is_dropped"
    return drop


def _replacing(table: str, key: Any, value: str):
    def replace(monkeypatch):
        monkeypatch.setitem(getattr(lowering, table), key, value)

    replace.__name__ = f"{key.__name__}_becomes_{value}"
    return replace


def faults_are_ignored(monkeypatch):
    """What has a fault is left out, and the rest is run."""
    monkeypatch.setattr(diagnostics.Reporter, "check", lambda self: None)


def syntax_faults_are_ignored(monkeypatch):
    """The same for syntax alone."""
    added = diagnostics.Reporter.add

    def add(self, fault):
        if all(d.kind is not diagnostics.KernelSyntaxError for d in fault.diagnostics):
            added(self, fault)

    monkeypatch.setattr(diagnostics.Reporter, "add", add)


def the_last_statement_of_a_block_is_lost(monkeypatch):
    block = Lowering.block
    monkeypatch.setattr(Lowering, "block", lambda self, body: block(self, body)[: len(body) - 1])


def break_becomes_continue(monkeypatch):
    monkeypatch.setattr(Lowering, "_break", Lowering._continue)
    monkeypatch.setitem(lowering._STATEMENTS, ast.Break, Lowering._continue)


def a_condition_is_negated(monkeypatch):
    lowered = Lowering._if

    def negated(self, node):
        (found,) = lowered(self, node)
        return [dataclasses.replace(found, body=found.orelse, orelse=found.body)]

    monkeypatch.setitem(lowering._STATEMENTS, ast.If, negated)


def steps_of_ranges_are_one(monkeypatch):
    lowered = Lowering._for

    def without_step(self, node):
        found = lowered(self, node)
        one = hir.Constant(self.loc(node), 1)
        return [dataclasses.replace(s, step=one) if isinstance(s, hir.For) else s for s in found]

    monkeypatch.setitem(lowering._STATEMENTS, ast.For, without_step)


def ranges_have_one_more(monkeypatch):
    ranged = runtime.int_range
    monkeypatch.setattr(runtime, "int_range", lambda a, b, c: ranged(a, b + np.sign(c), c))


# -- expressions ----------------------------------------------------------------------------------


def operands_change_places(monkeypatch):
    lowered = Lowering._binary

    def swapped(self, node):
        node = ast.copy_location(ast.BinOp(node.right, node.op, node.left), node)
        return lowered(self, node)

    monkeypatch.setitem(lowering._EXPRESSIONS, ast.BinOp, swapped)


def arms_of_a_conditional_change_places(monkeypatch):
    lowered = Lowering._conditional

    def swapped(self, node):
        return lowered(self, ast.copy_location(ast.IfExp(node.test, node.orelse, node.body), node))

    monkeypatch.setitem(lowering._EXPRESSIONS, ast.IfExp, swapped)


def and_becomes_or(monkeypatch):
    lowered = Lowering._bool
    monkeypatch.setitem(
        lowering._EXPRESSIONS, ast.BoolOp,
        lambda self, node: dataclasses.replace(lowered(self, node), op="or"),
    )  # fmt: skip


def chains_end_after_the_first_comparison(monkeypatch):
    lowered = Lowering._compare

    def first(self, node):
        return lowered(self, ast.copy_location(
            ast.Compare(node.left, node.ops[:1], node.comparators[:1]), node))  # fmt: skip

    monkeypatch.setitem(lowering._EXPRESSIONS, ast.Compare, first)


def names_of_keywords_are_lost(monkeypatch):
    """Arguments by name are given in the order in which they are written."""
    lowered = Lowering._call

    def positional(self, node):
        call = lowered(self, node)
        if not call.keywords or "es." in ast.unparse(node.func):
            return call
        args = (*call.args, *(value for _, value in call.keywords))
        return dataclasses.replace(call, args=args, keywords=())

    monkeypatch.setitem(lowering._EXPRESSIONS, ast.Call, positional)


def unpacking_is_reversed(monkeypatch):
    target = Lowering.target

    def reversed_(self, node):
        found = target(self, node)
        if isinstance(found, hir.Tuple):
            return dataclasses.replace(found, items=found.items[::-1])
        return found

    monkeypatch.setattr(Lowering, "target", reversed_)


def _operation(name: str, change: Any):
    """The oracle prints an operation otherwise."""

    def mutate(monkeypatch):
        right = OraclePrinter.operation

        def operation(self, e, args):
            return change(e, args, lambda: right(self, e, args))

        monkeypatch.setattr(OraclePrinter, "operation", operation)

    mutate.__name__ = name
    return mutate


def _only(names: tuple[str, ...], kinds: str, text: str):
    def change(e, args, right):
        return text.format(*args) if e.op in names and e.type.kind in kinds else right()

    return change


def integers_do_not_wrap_when_cast(monkeypatch):
    cast = runtime.cast

    def saturated(value, to):
        if np.issubdtype(to, np.integer) and isinstance(value, np.integer):
            limits = np.iinfo(to)
            return to(min(max(int(value), limits.min), limits.max))
        return cast(value, to)

    monkeypatch.setattr(runtime, "cast", saturated)


def floats_are_rounded_when_cast(monkeypatch):
    cast = runtime.cast

    def rounded(value, to):
        if np.issubdtype(to, np.integer) and isinstance(value, np.floating):
            value = np.rint(value)
        return cast(value, to)

    monkeypatch.setattr(runtime, "cast", rounded)


def _runtime(name: str, other: str):
    def mutate(monkeypatch):
        monkeypatch.setattr(runtime, name, getattr(runtime, other))

    mutate.__name__ = f"{name}_is_{other}"
    return mutate


def weak_integers_widen(monkeypatch):
    """A literal makes an int64 of what it meets."""
    from execspace_compiler.ir import types
    from execspace_compiler.typing.rules import operators

    promote = types.arithmetic

    def wide(a, b):
        found = promote(a, b)
        weak = types.PYTHON_WEAK in (a.weak, b.weak)
        return types.INT64 if weak and found.kind == "i" and not found.weak else found

    monkeypatch.setattr(operators, "arithmetic", wide)


def augmented_assignment_assigns(monkeypatch):
    update = context.STATEMENTS[hir.Update]

    def assigned(cx, s):
        if isinstance(s.target, hir.Local):
            return update(cx, dataclasses.replace(s, op="sub" if s.op == "add" else s.op))
        return update(cx, s)

    monkeypatch.setitem(context.STATEMENTS, hir.Update, assigned)


# -- reductions and scans -------------------------------------------------------------------------


def joins_begin_with_the_wrong_number(monkeypatch):
    monkeypatch.setattr(builtin_reducers.Prod, "identity", lambda self, t: np.dtype(t).type(2))


def sums_are_not_widened(monkeypatch):
    monkeypatch.setattr(
        builtin_reducers._Accumulates, "accumulator",
        lambda self, t: str(self.dtype) if self.dtype is not None else str(np.dtype(t)),
    )  # fmt: skip


def minimum_is_maximum(monkeypatch):
    monkeypatch.setattr(builtin_reducers.Min, "kind", "max")


def of_equal_values_the_last_location_is_kept(monkeypatch):
    lt = joins._compare
    monkeypatch.setattr(
        joins.Located, "_before",
        lambda self, a, b: joins._both(lt("eq", a[0], a[0]), lt("lt", b[-1], a[-1])),
    )  # fmt: skip


def final_is_left_out(monkeypatch):
    monkeypatch.setattr(joins.Compiled, "finish", lambda self: ([], self.value()))


def arguments_of_joins_change_places(monkeypatch):
    joined = joins.Compiled.join
    monkeypatch.setattr(
        joins.Compiled, "join",
        lambda self, others: joined(self, tuple(others)[::-1] if len(others) > 1 else others),
    )  # fmt: skip


def scans_are_inclusive(monkeypatch):
    step = plan.OraclePlan._step

    def inclusive(self, state, index, call, leading):
        if leading and leading[-1]:
            probe = step(self, state, index, call, (*self._prefix(state), np.False_))
            leading = (*self._prefix(probe), leading[-1])
        return step(self, state, index, call, leading)

    monkeypatch.setattr(plan.OraclePlan, "_step", inclusive)


def the_last_index_is_left_out(monkeypatch):
    run = plan.OraclePlan._run
    monkeypatch.setattr(plan.OraclePlan, "_run", lambda self, i, call: run(self, i[:-1], call))


def the_order_of_a_scan_is_lost(monkeypatch):
    run = plan.OraclePlan._run
    monkeypatch.setattr(plan.OraclePlan, "_run", lambda self, i, call: run(self, i[::-1], call))


def reducers_of_a_tuple_change_places(monkeypatch):
    made = ReductionBuilder.reduction

    def swapped(self, spec, type):
        found = made(self, spec, type)
        if not found.several:
            return found
        return dataclasses.replace(found, joins=(found.joins[0],) * len(found.joins))

    monkeypatch.setattr(ReductionBuilder, "reduction", swapped)


# -- teams ----------------------------------------------------------------------------------------


def broadcasts_come_from_the_first(monkeypatch):
    monkeypatch.setattr(teams.Team, "_broadcasting", lambda self, s, ranks: 0)


def all_threads_do_all_iterations(monkeypatch):
    def share(self, level, starts, stops):
        import itertools

        for index in itertools.product(*map(range, map(int, starts), map(int, stops))):
            yield tuple(map(np.int64, index)) if len(index) > 1 else np.int64(index[0])

    monkeypatch.setattr(teams.Team, "share", share)


def nested_joins_are_those_of_the_first(monkeypatch):
    """Two nested reductions of one kernel are joined alike."""
    captured = module.ModuleTyper.captured
    known: dict[Any, Any] = {}

    def first(self, scope, names, prefix):
        if id(self) not in known:
            known.clear()
            known[id(self)] = {}
        return known[id(self)].setdefault(prefix, captured(self, scope, names, prefix))

    monkeypatch.setattr(module.ModuleTyper, "captured", first)


# -- keys -----------------------------------------------------------------------------------------


def _without_functions(monkeypatch, of: Any):
    tag = of.function_tag
    monkeypatch.setattr(of, "function_tag", lambda scope, hidden, *seen: (tag(scope, hidden), 0)[1])


def keys_forget_functions_of_reducers(monkeypatch):
    _without_functions(monkeypatch, reducer)


def keys_forget_the_identity(monkeypatch):
    monkeypatch.setattr(reducer, "_identity_tag", lambda identity: None)


def keys_forget_final(monkeypatch):
    key = reducer.reducer_key

    def shorter(spec):
        has_final = isinstance(spec, reducer.Reducer) and spec.has("final")
        return key(spec)[:-1] if has_final else key(spec)

    monkeypatch.setattr(prepare, "reducer_key", shorter)


def keys_forget_what_functions_capture(monkeypatch):
    tag = captures.function_tag

    def code_only(scope, hidden, *seen):
        tag(scope, hidden, *seen)
        return scope.fn.__code__

    monkeypatch.setattr(captures, "function_tag", code_only)
    monkeypatch.setattr(reducer, "function_tag", code_only)


def keys_forget_the_names_of_fields(monkeypatch):
    tag = captures.constant_tag

    def without_fields(value):
        if isinstance(value, type) and issubclass(value, tuple):
            return value.__name__
        return tag(value)

    monkeypatch.setattr(captures, "constant_tag", without_fields)


def keys_forget_captured_numbers(monkeypatch):
    tag = captures.constant_tag
    monkeypatch.setattr(
        captures, "constant_tag", lambda v: type(v) if isinstance(v, int | np.integer) else tag(v)
    )


CONTROL = (ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Return)
STATEMENTS = [
    *(_dropping(kind, 1) for kind in CONTROL),
    *(_dropping(kind) for kind in (ast.Assign, ast.AugAssign, ast.Expr, ast.FunctionDef)),
    the_last_statement_of_a_block_is_lost, break_becomes_continue,
    a_condition_is_negated, steps_of_ranges_are_one, ranges_have_one_more,
    augmented_assignment_assigns,
]  # fmt: skip
EXPRESSIONS = [
    _replacing("_BINARY", ast.Sub, "add"), _replacing("_BINARY", ast.FloorDiv, "mod"),
    _replacing("_BINARY", ast.BitXor, "bitor"), _replacing("_COMPARE", ast.Lt, "le"),
    _replacing("_COMPARE", ast.GtE, "gt"), _replacing("_UNARY", ast.USub, "pos"),
    _replacing("_UNARY", ast.Invert, "neg"), operands_change_places,
    arms_of_a_conditional_change_places, and_becomes_or, chains_end_after_the_first_comparison,
    names_of_keywords_are_lost, unpacking_is_reversed, integers_do_not_wrap_when_cast,
    floats_are_rounded_when_cast, weak_integers_widen,
    _runtime("python_max", "fmax"), _runtime("fmin", "minimum"),
    _operation("division_truncates", _only(("floordiv",), "i", "type({0})(int(int({0}) / "
                                           "int({1})) if {1} else 0)")),
    _operation("remainder_has_the_sign_of_the_dividend", _only(("mod",), "f", "np.fmod({0}, {1})")),
    _operation("shifts_use_the_low_bits", _only(("lshift",), "iu", "np.left_shift({0}, {1} & 7)")),
    _operation("negation_is_dropped", _only(("not",), "b", "{0}")),
]  # fmt: skip
REDUCTIONS = [
    joins_begin_with_the_wrong_number, sums_are_not_widened, minimum_is_maximum,
    of_equal_values_the_last_location_is_kept, final_is_left_out,
    arguments_of_joins_change_places, the_last_index_is_left_out,
    reducers_of_a_tuple_change_places,
]  # fmt: skip
SCANS = [scans_are_inclusive, the_order_of_a_scan_is_lost]
TEAMS = [broadcasts_come_from_the_first, all_threads_do_all_iterations,
         nested_joins_are_those_of_the_first]  # fmt: skip
REFUSALS = [faults_are_ignored, syntax_faults_are_ignored]
KEYS = [
    keys_forget_functions_of_reducers, keys_forget_the_identity, keys_forget_final,
    keys_forget_what_functions_capture, keys_forget_the_names_of_fields,
    keys_forget_captured_numbers,
]  # fmt: skip

__all__ = ["EXPRESSIONS", "KEYS", "REDUCTIONS", "REFUSALS", "SCANS", "STATEMENTS", "TEAMS"]
