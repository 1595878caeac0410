"""Python syntax tree -> HIR: resolve names, lower sugar, refuse unsupported constructs.

`_STATEMENTS` and `_EXPRESSIONS` at the end map every supported node to its method; all others are
refused with the advice of advice.py.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import execspace
from execspace.base.subclasses import fields_of
from execspace.kernels.captures import lookup
from execspace.kernels.marks import is_strict
from execspace.views.static import static

from ..ir.diagnostics import Fault, Loc, Reporter, syntax_fault
from ..ir.ops import CALLEES
from . import hir
from .advice import did_you_mean, similar, unsupported
from .names import Names, Object, Unknown, variable_name

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "bitand",
    ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not", ast.Invert: "invert"
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "is", ast.IsNot: "is_not", ast.In: "in", ast.NotIn: "not_in",
}  # fmt: skip

_NUMBERS = int | float | complex | np.number
_METHODS_OF_NUMBERS = ("conjugate", "view")
_DEEPEST = 150  # Python's parser, which reads generated source, takes 200 parentheses
_NESTED_TESTS = 16  # longest chain of elif that is lowered to nested ifs
_BUILTINS = {n for n in dir(builtins) if getattr(builtins, n) in (range, *CALLEES)}

FunctionNode = ast.FunctionDef | ast.Lambda


def lower(node: FunctionNode, file: str, names: Names, reporter: Reporter) -> hir.Function:
    """Lower a function to HIR.

    Its parameters are those in the source that are not bound; captured Views that it reads are
    among the free variables. `reporter` receives every fault; the body then lacks the faulty
    statements.
    """
    return _Lowering(node, file, names, reporter, None).function()


class _Lowering:
    def __init__(
        self,
        node: FunctionNode,
        file: str,
        names: Names,
        reporter: Reporter,
        parent: _Lowering | None,
    ) -> None:
        self.node = node
        self.file = file
        self.names = names
        self.reporter = reporter
        self.parent = parent
        self.free: dict[str, None] = {names.locks: None} if names.locks else {}
        self.flags = 0
        self.depth = 0  # of the expression that is being lowered
        self.loops: list[str | None] = []  # per enclosing loop the flag that a break sets
        bound = names.bound if parent is None else frozenset()
        self.parameters = tuple(
            variable_name(a.arg) for a in self._parameters() if a.arg not in bound
        )
        self.locals = {a.arg for a in self._parameters() if a.arg not in bound}
        if isinstance(node, ast.FunctionDef):
            self.locals |= _assigned(node.body)
        else:
            self.locals |= _assigned([node.body])

    def loc(self, node: ast.AST) -> Loc:
        return Loc.of(node, self.file)

    def function(self) -> hir.Function:
        node = self.node
        body: tuple[hir.Stmt, ...]
        if isinstance(node, ast.Lambda):
            try:
                body = (hir.Return(self.loc(node.body), self.expr(node.body)),)
            except Fault as fault:
                self.reporter.add(fault)
                body = ()
        else:
            statements = node.body
            first = statements[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                statements = statements[1:]
            body = (*self._bound_parameters(), *self.block(statements))
        name = "lambda_" if isinstance(node, ast.Lambda) else node.name
        return hir.Function(
            name, self.parameters, body, self.loc(node), isinstance(node, ast.Lambda),
            tuple(self.free), is_strict(self.names.fn), self._static(),
        )  # fmt: skip

    def _static(self) -> tuple[str, ...]:
        """Parameters of a nested function that are annotated with `es.static`."""
        if self.parent is None:
            return ()
        pairs = [(a.arg, a.annotation) for a in self._parameters() if a.annotation is not None]
        paths = [(name, tuple(ast.unparse(written).split("."))) for name, written in pairs]
        return tuple(variable_name(n) for n, p in paths if lookup(self.names.fn, p) is static)

    def _any_number(self, extra: ast.arg) -> Fault:
        return syntax_fault(
            self.loc(extra),
            f"a kernel cannot take any number of arguments, as '{extra.arg}' does",
            "name each parameter",
        )

    def _bound_parameters(self) -> list[hir.Stmt]:
        """Make variables of bound parameters that the function assigns."""
        if self.parent is not None:
            return []
        loc = self.loc(self.node)
        return [
            hir.Assign(loc, hir.Local(loc, variable_name(n)), self._outer(loc, (n,)))
            for n in sorted(self.names.bound & self.locals)
        ]

    def _parameters(self) -> list[ast.arg]:
        a = self.node.args
        for extra in (a.vararg, a.kwarg):
            if extra is not None:
                self.reporter.add(self._any_number(extra))
        return [*a.posonlyargs, *a.args, *a.kwonlyargs]

    # -- statements -----------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> tuple[hir.Stmt, ...]:
        out: list[hir.Stmt] = []
        for node in statements:
            handler = _STATEMENTS.get(type(node))
            try:
                if handler is None:
                    raise unsupported(node, self.loc(node))
                out += handler(self, node)
            except Fault as fault:
                self.reporter.add(fault)
        return tuple(out)

    def _pass(self, node: ast.Pass) -> list[hir.Stmt]:
        return []

    def _expression(self, node: ast.Expr) -> list[hir.Stmt]:
        if isinstance(node.value, ast.Constant):
            return []
        return [hir.Evaluate(self.loc(node), self.expr(node.value))]

    def _assign(self, node: ast.Assign) -> list[hir.Stmt]:
        loc = self.loc(node)
        value = self.expr(node.value)
        out: list[hir.Stmt] = []
        if len(node.targets) > 1:
            # Python evaluates the value once and assigns from left to right.
            name = self.fresh()
            out.append(hir.Assign(loc, hir.Local(loc, name), value))
            value = hir.Local(loc, name)
        return out + [hir.Assign(loc, self.target(t), value) for t in node.targets]

    def _annotated(self, node: ast.AnnAssign) -> list[hir.Stmt]:
        if node.value is None:
            return []
        return [hir.Assign(self.loc(node), self.target(node.target), self.expr(node.value))]

    def _update(self, node: ast.AugAssign) -> list[hir.Stmt]:
        if type(node.op) not in _BINARY:
            raise unsupported(node.op, self.loc(node))
        target = self.target(node.target)
        return [hir.Update(self.loc(node), target, _BINARY[type(node.op)], self.expr(node.value))]

    def _if(self, node: ast.If) -> list[hir.Stmt]:
        chain = [node]
        while len(orelse := chain[-1].orelse) == 1 and isinstance(orelse[0], ast.If):
            chain.append(orelse[0])
        if len(chain) > _NESTED_TESTS:
            return self._cases(chain)
        test = self.expr(node.test)
        return [hir.If(self.loc(node), test, self.block(node.body), self.block(node.orelse))]

    def _cases(self, chain: list[ast.If]) -> list[hir.Stmt]:
        """A long chain of elif, as one flat statement."""
        arms = []
        for node in chain:
            try:
                test = self.expr(node.test)
                arms.append(hir.Arm(self.loc(node), test, self.block(node.body)))
            except Fault as fault:
                self.reporter.add(fault)
        return [hir.Cases(self.loc(chain[0]), tuple(arms), self.block(chain[-1].orelse))]

    def _assert(self, node: ast.Assert) -> list[hir.Stmt]:
        if not __debug__:
            return []
        message = node.msg
        if message is not None and not (
            isinstance(message, ast.Constant) and isinstance(message.value, str)
        ):
            raise syntax_fault(
                self.loc(message),
                "the message of an assert in a kernel is a constant string",
                "write plain text; the indices are added when it fails",
            )
        text = "" if message is None else str(message.value)
        return [hir.Assert(self.loc(node.test), self.expr(node.test), text)]

    def _definition(self, node: ast.FunctionDef) -> list[hir.Stmt]:
        for decorator in node.decorator_list:
            marker = self.expr(decorator)
            if not isinstance(marker, hir.Outer) or marker.value is not execspace.function:
                raise syntax_fault(
                    self.loc(decorator),
                    "only @es.function may decorate a nested function",
                    "leave the decorator out, or define the function outside of the kernel",
                )
        loc = self.loc(node)
        return [hir.Assign(loc, hir.Local(loc, variable_name(node.name)), self._lambda(node))]

    def _loop_body(self, node: ast.For | ast.While) -> tuple[tuple[hir.Stmt, ...], str | None]:
        flag = self.fresh() if node.orelse else None
        self.loops.append(flag)
        body = self.block(node.body)
        self.loops.pop()
        return body, flag

    def _with_else(
        self, node: ast.For | ast.While, loop: hir.Stmt, flag: str | None
    ) -> list[hir.Stmt]:
        if flag is None:
            return [loop]
        loc = self.loc(node)
        local = hir.Local(loc, flag)
        not_broken = hir.Operation(loc, "not", (local,))
        return [
            hir.Assign(loc, local, hir.Constant(loc, False)),
            loop,
            hir.If(loc, not_broken, self.block(node.orelse), ()),
        ]

    def _for(self, node: ast.For) -> list[hir.Stmt]:
        call = node.iter
        if not isinstance(call, ast.Call) or not self._is_range(call.func):
            items = self.expr(call)
            body, flag = self._loop_body(node)
            each = hir.ForEach(self.loc(node), self.target(node.target), items, body)
            return self._with_else(node, each, flag)
        if not isinstance(node.target, ast.Name):
            raise syntax_fault(
                self.loc(node.target),
                "a loop over range has one plain variable",
                "compute the rest in the loop",
            )
        args = [self.expr(a) for a in call.args]
        if not 1 <= len(args) <= 3 or call.keywords:
            got = len(call.args) + len(call.keywords)
            named = " by name" if call.keywords else ""
            raise syntax_fault(
                self.loc(call),
                f"range takes 1 to 3 arguments by position, got {got}{named}",
                "write range(stop), range(start, stop) or range(start, stop, step)",
            )
        loc = self.loc(call)
        start = args[0] if len(args) > 1 else hir.Constant(loc, 0)
        stop = args[1] if len(args) > 1 else args[0]
        step = args[2] if len(args) == 3 else hir.Constant(loc, 1)
        body, flag = self._loop_body(node)
        loop = hir.For(self.loc(node), variable_name(node.target.id), start, stop, step, body)
        return self._with_else(node, loop, flag)

    def _is_range(self, func: ast.expr) -> bool:
        if not isinstance(func, ast.Name) or self._owner(func.id) is not None:
            return False
        return self.names.value((func.id,)) is range

    def _while(self, node: ast.While) -> list[hir.Stmt]:
        test = self.expr(node.test)
        body, flag = self._loop_body(node)
        return self._with_else(node, hir.While(self.loc(node), test, body), flag)

    def _break(self, node: ast.Break) -> list[hir.Stmt]:
        loc = self.loc(node)
        flag = self.loops[-1]
        if flag is None:
            return [hir.Break(loc)]
        return [hir.Assign(loc, hir.Local(loc, flag), hir.Constant(loc, True)), hir.Break(loc)]

    def _continue(self, node: ast.Continue) -> list[hir.Stmt]:
        return [hir.Continue(self.loc(node))]

    def _return(self, node: ast.Return) -> list[hir.Stmt]:
        value = node.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return [hir.Return(self.loc(node), None)]
        return [hir.Return(self.loc(node), self.expr(value))]

    def fresh(self) -> str:
        """The name of a new local variable, which cannot clash with a Python name."""
        self.flags += 1
        return f"_{self.flags}"

    def target(self, node: ast.expr) -> hir.Expr:
        match node:
            case ast.Name():
                return hir.Local(self.loc(node), variable_name(node.id))
            case ast.Subscript() | ast.Attribute():
                target = self.expr(node)
                if isinstance(target, hir.Subscript | hir.Attribute):
                    return target
            case ast.Tuple():
                return hir.Tuple(self.loc(node), tuple(self.target(t) for t in node.elts))
            case ast.Starred() | ast.List():
                raise unsupported(node, self.loc(node))
        what = f"to '{ast.unparse(node)}', which is read at the launch"
        if not isinstance(node, ast.Attribute | ast.Subscript):
            what = "to this"
        raise syntax_fault(
            self.loc(node),
            f"cannot assign {what}",
            "assign to a variable of the kernel, or to an element of a View",
        )

    # -- names ----------------------------------------------------------------------------

    def _owner(self, name: str) -> _Lowering | None:
        """The function in which a name is a local variable: this one or an enclosing one."""
        scope: _Lowering | None = self
        while scope is not None and name not in scope.locals:
            scope = scope.parent
        return scope

    def _local(self, name: str, loc: Loc, owner: _Lowering | None) -> hir.Expr:
        """A variable of this or an enclosing function; None stands for captured Views."""
        scope: _Lowering | None = self
        while scope is not None and scope is not owner:
            scope.free[name] = None
            scope = scope.parent
        return hir.Local(loc, name)

    def _name(self, node: ast.Name) -> hir.Expr:
        loc = self.loc(node)
        owner = self._owner(node.id)
        if owner is not None:
            return self._local(variable_name(node.id), loc, owner)
        return self._outer(loc, (node.id,))

    def _outer(self, loc: Loc, path: tuple[str, ...]) -> hir.Expr:
        hidden = self.names.view(path)
        if hidden is not None:
            return self._local(hidden, loc, None)
        value = self.names.value(path)
        if value is Unknown:
            if len(path) > 1:
                message = f"'{'.'.join(path[:-1])}' has no attribute '{path[-1]}'"
                owner = self.names.value(path[:-1])
                own = [] if owner is Object else [n for n in dir(owner) if n[0] != "_"]
                known = f"it has {', '.join(own)}" if 0 < len(own) < 9 else ""
                hint = similar(path[-1], own) or known or "give it a value before the launch"
                return hir.Undefined(loc, message, hint)
            outer = self.names.fn
            names = {*self.locals, *outer.__code__.co_freevars, *outer.__globals__, *_BUILTINS}
            hint = did_you_mean(path[0], names)
            return hir.Undefined(loc, f"name '{path[0]}' is not defined", hint)
        for view in self.names.views_of_helper(path):
            self._local(view, loc, None)
        return hir.Outer(loc, ".".join(path), value, self.names)

    def _attribute(self, node: ast.Attribute) -> hir.Expr:
        base = self.expr(node.value)
        loc = self.loc(node)
        if isinstance(base, hir.Undefined):
            return base
        field = isinstance(base, hir.Outer) and (
            isinstance(base.value, execspace.SimdType)
            or node.attr in fields_of(base.value)
            or (isinstance(base.value, _NUMBERS) and node.attr in _METHODS_OF_NUMBERS)
        )
        if isinstance(base, hir.Outer) and not field:
            return self._outer(loc, (*base.path.split("."), node.attr))
        return hir.Attribute(loc, base, node.attr)

    # -- expressions ----------------------------------------------------------------------

    def expr(self, node: ast.expr) -> hir.Expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise unsupported(node, self.loc(node))
        if not self.depth:
            self.outermost = node
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                raise syntax_fault(
                    self.loc(self.outermost),
                    f"this expression nests more than {_DEEPEST} operations",
                    "split it into several statements",
                )
            return handler(self, node)
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant) -> hir.Expr:
        if node.value is None or isinstance(node.value, bool | int | float | complex | str):
            return hir.Constant(self.loc(node), node.value)
        raise syntax_fault(
            self.loc(node),
            f"the constant {node.value!r} is not supported in a kernel",
            "kernels know numbers, tuples and Views only",
        )

    def _subscript(self, node: ast.Subscript) -> hir.Expr:
        inner = node.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return hir.Subscript(
            self.loc(node), self.expr(node.value), tuple(self.expr(p) for p in items)
        )

    def _slice(self, node: ast.Slice) -> hir.Expr:
        ends = (None if e is None else self.expr(e) for e in (node.lower, node.upper, node.step))
        return hir.Slice(self.loc(node), *ends)

    def _binary(self, node: ast.BinOp) -> hir.Expr:
        chain = [node]  # a long sum nests in its first operand
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        left = self.expr(chain[-1].left)
        for part in reversed(chain):
            if type(part.op) not in _BINARY:
                raise unsupported(part.op, self.loc(part))
            args = (left, self.expr(part.right))
            left = hir.Operation(self.loc(part), _BINARY[type(part.op)], args)
        return left

    def _unary(self, node: ast.UnaryOp) -> hir.Expr:
        op = _UNARY[type(node.op)]
        return hir.Operation(self.loc(node), op, (self.expr(node.operand),))

    def _bool(self, node: ast.BoolOp) -> hir.Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return hir.Logical(self.loc(node), op, tuple(self.expr(v) for v in node.values))

    def _compare(self, node: ast.Compare) -> hir.Expr:
        loc = self.loc(node)
        values = tuple(self.expr(v) for v in (node.left, *node.comparators))
        ops = tuple(_COMPARE[type(op)] for op in node.ops)
        return hir.Operation(loc, ops[0], values) if len(ops) == 1 else hir.Chain(loc, ops, values)

    def _conditional(self, node: ast.IfExp) -> hir.Expr:
        return hir.Conditional(
            self.loc(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse)
        )

    def _call(self, node: ast.Call) -> hir.Expr:
        for keyword in node.keywords:
            if keyword.arg is None:
                raise syntax_fault(
                    self.loc(keyword.value),
                    "** unpacking is not supported in a kernel",
                    "name each argument",
                )
        return hir.Call(
            self.loc(node),
            self.expr(node.func),
            tuple(self.expr(a) for a in node.args),
            tuple((k.arg or "", self.expr(k.value)) for k in node.keywords),
        )

    def _tuple(self, node: ast.Tuple) -> hir.Expr:
        return hir.Tuple(self.loc(node), tuple(self.expr(e) for e in node.elts))

    def _named(self, node: ast.NamedExpr) -> hir.Expr:
        return hir.Named(self.loc(node), variable_name(node.target.id), self.expr(node.value))

    def _lambda(self, node: ast.Lambda | ast.FunctionDef) -> hir.Expr:
        a = node.args
        for extra in (a.vararg, a.kwarg):
            if extra is not None:
                raise self._any_number(extra)
        positional = [*a.posonlyargs, *a.args]
        pairs = list(zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True))
        pairs += [(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None]
        given = tuple((variable_name(p.arg), self.expr(d)) for p, d in pairs)
        inner = _Lowering(node, self.file, self.names, self.reporter, self).function()
        return hir.Lambda(self.loc(node), inner, given)


def _assigned(body: list[Any]) -> set[str]:
    """Names that a function assigns, without functions nested in it."""
    names = set()
    for node in _own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):  # of an import, which is refused
            names.add(node.asname or node.name.partition(".")[0])
    return names


def _own_nodes(body: list[Any]) -> Iterator[ast.AST]:
    todo = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


_STATEMENTS: dict[type[ast.stmt], Callable[[_Lowering, Any], list[hir.Stmt]]] = {
    ast.Pass: _Lowering._pass,
    ast.Expr: _Lowering._expression,
    ast.Assign: _Lowering._assign,
    ast.AnnAssign: _Lowering._annotated,
    ast.AugAssign: _Lowering._update,
    ast.If: _Lowering._if,
    ast.For: _Lowering._for,
    ast.While: _Lowering._while,
    ast.Break: _Lowering._break,
    ast.Continue: _Lowering._continue,
    ast.Return: _Lowering._return,
    ast.Assert: _Lowering._assert,
    ast.FunctionDef: _Lowering._definition,
}

_EXPRESSIONS: dict[type[ast.expr], Callable[[_Lowering, Any], hir.Expr]] = {
    ast.Constant: _Lowering._constant,
    ast.Name: _Lowering._name,
    ast.Attribute: _Lowering._attribute,
    ast.Subscript: _Lowering._subscript,
    ast.Slice: _Lowering._slice,
    ast.BinOp: _Lowering._binary,
    ast.UnaryOp: _Lowering._unary,
    ast.BoolOp: _Lowering._bool,
    ast.Compare: _Lowering._compare,
    ast.IfExp: _Lowering._conditional,
    ast.Call: _Lowering._call,
    ast.Tuple: _Lowering._tuple,
    ast.NamedExpr: _Lowering._named,
    ast.Lambda: _Lowering._lambda,
}
