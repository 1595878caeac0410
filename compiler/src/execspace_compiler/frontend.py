"""Python syntax tree -> HIR: resolve names, lower sugar, refuse what has no meaning in a kernel.

`_STATEMENTS` and `_EXPRESSIONS` at the end map every supported node to its method; what is in
neither is refused with the advice in `_ADVICE`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from execspace.kernel import lookup

from . import hir
from .diagnostics import Fault, Loc, Reporter, syntax_fault
from .source import Source

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "bitand",
    ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not", ast.Invert: "invert"
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"
}  # fmt: skip

_ADVICE: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", "use a for loop over range"),
    ast.SetComp: ("a set comprehension", "use a for loop over range"),
    ast.DictComp: ("a dict comprehension", "use a for loop over range"),
    ast.GeneratorExp: ("a generator expression", "use a for loop over range"),
    ast.List: ("a list", "use a tuple, or a View for data"),
    ast.Dict: ("a dict", "kernels know numbers, tuples and Views only"),
    ast.Set: ("a set", "kernels know numbers, tuples and Views only"),
    ast.Try: ("try", "kernels raise no exceptions; test the condition beforehand"),
    ast.Raise: ("raise", "write an error code into a View and test it on the host"),
    ast.With: ("with", "manage resources on the host, around the launch"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.ClassDef: ("a class definition", "define classes outside of kernels"),
    ast.FunctionDef: ("a nested function", "define the helper outside of the kernel"),
    ast.Lambda: ("a nested lambda", "define the helper outside of the kernel"),
    ast.Yield: ("yield", "kernels are no generators"),
    ast.YieldFrom: ("yield from", "kernels are no generators"),
    ast.Await: ("await", "kernels are not asynchronous functions"),
    ast.AsyncFor: ("async for", "kernels are not asynchronous functions"),
    ast.AsyncWith: ("async with", "kernels are not asynchronous functions"),
    ast.Global: ("global", "write results into a View instead"),
    ast.Nonlocal: ("nonlocal", "write results into a View instead"),
    ast.Delete: ("del", "variables of a kernel need no deletion"),
    ast.JoinedStr: ("an f-string", "kernels cannot format text"),
    ast.NamedExpr: (":=", "assign in a statement of its own"),
    ast.Starred: ("* unpacking", "name each item"),
    ast.Match: ("match", "use if and elif"),
    ast.Assert: ("assert", "write an error code into a View and test it on the host"),
    ast.MatMult: ("the operator @", "write the sums out as loops"),
    ast.Is: ("the operator is", "compare numbers with =="),
    ast.IsNot: ("the operator is not", "compare numbers with !="),
    ast.In: ("the operator in", "write the comparisons out with 'or'"),
    ast.NotIn: ("the operator not in", "write the comparisons out with 'and'"),
}


def unsupported(node: ast.AST, loc: Loc) -> Fault:
    """The fault for a construct that kernels do not have."""
    what, hint = _ADVICE.get(type(node), (f"Python's {type(node).__name__}", ""))
    return syntax_fault(loc, f"{what} is not supported in a kernel", hint)


def lower(source: Source, hidden: Mapping[str, str], reporter: Reporter) -> hir.Function:
    """Lower a function to HIR.

    Parameters
    ----------
    source : Source
    hidden : mapping
        Dotted name of each captured View -> name of the parameter that carries it.
    reporter : Reporter
        Receives every fault; the body then lacks the faulty statements.
    """
    return _Lowering(source, hidden, reporter).function()


class _Lowering:
    def __init__(self, source: Source, hidden: Mapping[str, str], reporter: Reporter) -> None:
        self.source = source
        self.hidden = hidden
        self.reporter = reporter
        self.locals: set[str] = set()
        self.flags = 0
        self.loops: list[str | None] = []  # per enclosing loop the flag that a break sets

    def loc(self, node: ast.AST) -> Loc:
        return Loc.of(node, self.source.file)

    def function(self) -> hir.Function:
        node = self.source.node
        loc = self.loc(node)
        names = self._parameters(node)
        self.locals = {*names, *hidden_names(self.hidden)}
        body: tuple[hir.Stmt, ...]
        if isinstance(node, ast.Lambda):
            try:
                body = (hir.Return(self.loc(node.body), self.expr(node.body)),)
            except Fault as fault:
                self.reporter.add(fault)
                body = ()
        else:
            self.locals |= _assigned(node.body)
            statements = node.body
            first = statements[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                statements = statements[1:]
            body = self.block(statements)
        name = "lambda_" if isinstance(node, ast.Lambda) else node.name
        parameters = (*names, *hidden_names(self.hidden))
        return hir.Function(name, parameters, body, loc, isinstance(node, ast.Lambda))

    def _parameters(self, node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
        a = node.args
        for extra in (a.vararg, a.kwarg, *a.kwonlyargs):
            if extra is not None:
                fault = syntax_fault(
                    self.loc(extra),
                    f"parameter '{extra.arg}' is not positional",
                    "a kernel's parameters are its indices and then one for each argument",
                )
                self.reporter.add(fault)
        return tuple(p.arg for p in [*a.posonlyargs, *a.args])

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
        test = self.expr(node.test)
        return [hir.If(self.loc(node), test, self.block(node.body), self.block(node.orelse))]

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
        if not isinstance(node.target, ast.Name):
            raise syntax_fault(self.loc(node.target), "a loop over range has one plain variable")
        call = node.iter
        is_range = isinstance(call, ast.Call) and self._is_range(call.func)
        if not is_range:
            raise syntax_fault(
                self.loc(call),
                "a for loop in a kernel runs over range(...)",
                "loop over range(A.extent(0)) and index A in the loop",
            )
        assert isinstance(call, ast.Call)
        args = [self.expr(a) for a in call.args]
        if not 1 <= len(args) <= 3 or call.keywords:
            raise syntax_fault(
                self.loc(call), f"range takes 1 to 3 arguments, got {len(call.args)}"
            )
        loc = self.loc(call)
        start = args[0] if len(args) > 1 else hir.Constant(loc, 0)
        stop = args[1] if len(args) > 1 else args[0]
        step = args[2] if len(args) == 3 else hir.Constant(loc, 1)
        body, flag = self._loop_body(node)
        loop = hir.For(self.loc(node), node.target.id, start, stop, step, body)
        return self._with_else(node, loop, flag)

    def _is_range(self, func: ast.expr) -> bool:
        if not isinstance(func, ast.Name) or func.id in self.locals:
            return False
        return lookup(self.source.fn, (func.id,)) is range

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
        """A new local variable that no Python name can clash with."""
        self.flags += 1
        return f"_{self.flags}"

    def target(self, node: ast.expr) -> hir.Expr:
        match node:
            case ast.Name():
                return hir.Local(self.loc(node), node.id)
            case ast.Subscript():
                return self.expr(node)
            case ast.Tuple():
                return hir.Tuple(self.loc(node), tuple(self.target(t) for t in node.elts))
            case ast.Starred() | ast.List():
                raise unsupported(node, self.loc(node))
        raise syntax_fault(
            self.loc(node), "cannot assign to this", "assign to a variable or an element of a View"
        )

    # -- expressions ----------------------------------------------------------------------

    def expr(self, node: ast.expr) -> hir.Expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise unsupported(node, self.loc(node))
        return handler(self, node)

    def _constant(self, node: ast.Constant) -> hir.Expr:
        if isinstance(node.value, bool | int | float | complex | str):
            return hir.Constant(self.loc(node), node.value)
        raise syntax_fault(
            self.loc(node),
            f"the constant {node.value!r} is not supported in a kernel",
            "kernels know numbers, tuples and Views only",
        )

    def _name(self, node: ast.Name) -> hir.Expr:
        loc = self.loc(node)
        if node.id in self.locals:
            return hir.Local(loc, node.id)
        return self._outer(loc, (node.id,))

    def _outer(self, loc: Loc, path: tuple[str, ...]) -> hir.Expr:
        dotted = ".".join(path)
        if dotted in self.hidden:
            return hir.Local(loc, self.hidden[dotted])
        value = lookup(self.source.fn, path)
        if repr(value) == "<undefined>":
            if len(path) == 1:
                raise syntax_fault(
                    loc,
                    f"name '{path[0]}' is not defined",
                    _did_you_mean(path[0], {*self.locals, *self.source.fn.__globals__}),
                )
            raise syntax_fault(loc, f"'{'.'.join(path[:-1])}' has no attribute '{path[-1]}'")
        return hir.Outer(loc, dotted, value)

    def _attribute(self, node: ast.Attribute) -> hir.Expr:
        base = self.expr(node.value)
        loc = self.loc(node)
        if isinstance(base, hir.Outer):
            return self._outer(loc, (*base.path.split("."), node.attr))
        return hir.Attribute(loc, base, node.attr)

    def _subscript(self, node: ast.Subscript) -> hir.Expr:
        inner = node.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        for part in parts:
            if isinstance(part, ast.Slice):
                raise syntax_fault(
                    self.loc(part) if part.lower else self.loc(node),
                    "slices are not supported in a kernel",
                    "index single elements, or pass a subview as an argument",
                )
        return hir.Subscript(
            self.loc(node), self.expr(node.value), tuple(self.expr(p) for p in parts)
        )

    def _binary(self, node: ast.BinOp) -> hir.Expr:
        if type(node.op) not in _BINARY:
            raise unsupported(node.op, self.loc(node))
        args = (self.expr(node.left), self.expr(node.right))
        return hir.Operation(self.loc(node), _BINARY[type(node.op)], args)

    def _unary(self, node: ast.UnaryOp) -> hir.Expr:
        op = _UNARY[type(node.op)]
        return hir.Operation(self.loc(node), op, (self.expr(node.operand),))

    def _bool(self, node: ast.BoolOp) -> hir.Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return hir.Logical(self.loc(node), op, tuple(self.expr(v) for v in node.values))

    def _compare(self, node: ast.Compare) -> hir.Expr:
        loc = self.loc(node)
        # Expressions have no side effects, so the middle of a chain may be evaluated twice.
        values = [self.expr(v) for v in (node.left, *node.comparators)]
        tests: list[hir.Expr] = []
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARE:
                raise unsupported(op, loc)
            tests.append(hir.Operation(loc, _COMPARE[type(op)], (a, b)))
        return tests[0] if len(tests) == 1 else hir.Logical(loc, "and", tuple(tests))

    def _conditional(self, node: ast.IfExp) -> hir.Expr:
        return hir.Conditional(
            self.loc(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse)
        )

    def _call(self, node: ast.Call) -> hir.Expr:
        for keyword in node.keywords:
            if keyword.arg is None:
                raise syntax_fault(
                    self.loc(keyword.value), "** unpacking is not supported in a kernel"
                )
        return hir.Call(
            self.loc(node),
            self.expr(node.func),
            tuple(self.expr(a) for a in node.args),
            tuple((k.arg or "", self.expr(k.value)) for k in node.keywords),
        )

    def _tuple(self, node: ast.Tuple) -> hir.Expr:
        return hir.Tuple(self.loc(node), tuple(self.expr(e) for e in node.elts))


def hidden_names(hidden: Mapping[str, str]) -> tuple[str, ...]:
    """Parameter names of captured Views, in order."""
    return tuple(hidden.values())


def _did_you_mean(name: str, known: set[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else "define it before the launch"


def _assigned(body: list[ast.stmt]) -> set[str]:
    names = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


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
}

_EXPRESSIONS: dict[type[ast.expr], Callable[[_Lowering, Any], hir.Expr]] = {
    ast.Constant: _Lowering._constant,
    ast.Name: _Lowering._name,
    ast.Attribute: _Lowering._attribute,
    ast.Subscript: _Lowering._subscript,
    ast.BinOp: _Lowering._binary,
    ast.UnaryOp: _Lowering._unary,
    ast.BoolOp: _Lowering._bool,
    ast.Compare: _Lowering._compare,
    ast.IfExp: _Lowering._conditional,
    ast.Call: _Lowering._call,
    ast.Tuple: _Lowering._tuple,
}
