"""Traversal of typed IR, and rebuilding it with other children: for analyses and passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .expressions import Beyond, Call, Const, Expr, Load, LoadAt, Op, Select, Var
from .functions import Function
from .statements import (
    Assign,
    Atomic,
    Broadcast,
    Carve,
    Combine,
    Evaluate,
    Fail,
    Failures,
    For,
    FromFirstLane,
    If,
    Packed,
    Pool,
    Prefix,
    Print,
    Return,
    ScanRange,
    Scratch,
    Split,
    Stmt,
    Store,
    StoreAt,
    Unpack,
    While,
)
from .types import Scalar, ViewTy


def walk_statements(body: tuple[Stmt, ...]) -> list[Stmt]:
    """All statements of a body, nested ones included, in order."""
    found: list[Stmt] = []
    for s in body:
        found.append(s)
        for body in bodies(s):
            found += walk_statements(body)
    return found


def own_statements(body: tuple[Stmt, ...]) -> list[Stmt]:
    """Statements of the body of a loop, without those in inner loops: their Break and Continue are
    its own."""
    found: list[Stmt] = []
    for s in body:
        found.append(s)
        if not isinstance(s, For | While):
            for inner in bodies(s):
                found += own_statements(inner)
    return found


def bodies(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Bodies nested in a statement."""
    match s:
        case If():
            return (s.body, s.orelse)
        case For() | While() | Split() | Pool():
            return (s.body,)
        case ScanRange():
            return (s.probe, s.body)
    return ()


def with_bodies(s: Stmt, new: tuple[tuple[Stmt, ...], ...]) -> Stmt:
    """The statement with other bodies, in the order of `bodies`."""
    match s:
        case If():
            return replace(s, body=new[0], orelse=new[1])
        case For() | While() | Split() | Pool():
            return replace(s, body=new[0])
        case ScanRange():
            return replace(s, probe=new[0], body=new[1])
    return s


def operands(e: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions."""
    kind = type(e)  # most are one of these, and a match takes three times as long
    if kind is Op or kind is Call:
        return e.args  # type: ignore[union-attr]
    if kind is Var or kind is Const:
        return ()
    match e:
        case Op() | Call():
            return e.args
        case Select():
            return (e.test, e.then, e.orelse)
        case Load():
            return (*e.indices, *_given(e.byte, e.mask))
        case LoadAt():
            return (e.index,)
        case Beyond():
            return e.indices
    return ()


def _given(*parts: Expr | None) -> tuple[Expr, ...]:
    return tuple(p for p in parts if p is not None)


def with_operands(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """The expression with other direct subexpressions, in the order of `operands`."""
    match e:
        case Op() | Call():
            return replace(e, args=new)
        case Select():
            return replace(e, test=new[0], then=new[1], orelse=new[2])
        case Load():
            rank = len(e.indices)
            rest = iter(new[rank:])
            byte, mask = (None if x is None else next(rest) for x in (e.byte, e.mask))
            return replace(e, indices=new[:rank], byte=byte, mask=mask)
        case LoadAt():
            return replace(e, index=new[0])
        case Beyond():
            return replace(e, indices=new)
    return e


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """Expressions of a statement, without those of nested statements."""
    match s:
        case Assign() | Evaluate() | Unpack():
            return (s.value,)
        case Store():
            return (*s.indices, *_given(s.byte, s.mask), s.value)
        case Atomic():
            return (*s.indices, *(() if s.byte is None else (s.byte,)), *s.values)
        case StoreAt():
            return (s.index, s.value)
        case Packed():
            return s.indices
        case If() | While():
            return (s.test,)
        case For():
            return (s.start, s.stop, s.step)
        case Failures():
            return (s.start, s.stop, s.call)
        case Return():
            if isinstance(s.value, tuple):
                return s.value
            return () if s.value is None else (s.value,)
        case Fail():
            return (s.code, *s.indices)
        case Print():
            return tuple(p[1] for p in s.parts if not isinstance(p, str))
        case Split():
            return (*s.starts, *s.stops)
        case ScanRange():
            return (s.start, s.stop)
        case Broadcast():
            return (s.rank,)
        case Scratch():
            return s.shape
        case Carve():
            return (*s.shape, s.offset)
        case Pool():
            return (s.nbytes,)
    return ()


def with_expressions(s: Stmt, new: tuple[Expr, ...]) -> Stmt:
    """The statement with other direct expressions, in the order of `expressions`."""
    match s:
        case Assign() | Evaluate():
            return replace(s, value=new[0])
        case Unpack():
            assert isinstance(new[0], Call)
            return replace(s, value=new[0])
        case Store() | Atomic():
            rank = len(s.indices)
            byte = None if s.byte is None else new[rank]
            if isinstance(s, Store):
                mask = None if s.mask is None else new[-2]
                return replace(s, indices=new[:rank], byte=byte, mask=mask, value=new[-1])
            return replace(s, indices=new[:rank], byte=byte, values=new[len(new) - len(s.values) :])
        case StoreAt():
            return replace(s, index=new[0], value=new[1])
        case Packed():
            return replace(s, indices=new)
        case If() | While():
            return replace(s, test=new[0])
        case For():
            return replace(s, start=new[0], stop=new[1], step=new[2])
        case Failures():
            assert isinstance(new[2], Call)
            return replace(s, start=new[0], stop=new[1], call=new[2])
        case Return():
            if isinstance(s.value, tuple):
                return replace(s, value=new)
            return s if s.value is None else replace(s, value=new[0])
        case Fail():
            return replace(s, code=new[0], indices=new[1:])
        case Print():
            rest = iter(new)
            parts = tuple(p if isinstance(p, str) else (p[0], next(rest)) for p in s.parts)
            return replace(s, parts=parts)
        case Split():
            rank = len(s.names)
            return replace(s, starts=new[:rank], stops=new[rank:])
        case ScanRange():
            return replace(s, start=new[0], stop=new[1])
        case Broadcast():
            return replace(s, rank=new[0])
        case Scratch():
            return replace(s, shape=new)
        case Carve():
            return replace(s, shape=new[:-1], offset=new[-1])
        case Pool():
            return replace(s, nbytes=new[0])
    return s


def names_set(s: Stmt) -> tuple[str, ...]:
    """Scalar variables that a statement sets, without those nested in it."""
    match s:
        case Assign() | For():
            return (s.name,)
        case Atomic():
            return () if s.name is None else (s.name,)
        case Unpack() | Split() | Failures():
            return s.names
        case Combine():
            return tuple(v.name for v in s.states)
        case Prefix():
            return tuple(v.name for v in (*s.states, *s.totals))
        case ScanRange():
            return (s.name, *(v.name for v in (*s.states, *s.own)))
        case Broadcast() | FromFirstLane():
            return tuple(v.name for v in s.values)
    return ()


def writes(s: Store | Atomic) -> bool:
    """Whether it writes, as all but atomic loads do."""
    return isinstance(s, Store) or s.op != "load"


def outcome(op: str, old: Expr, value: Expr, type: Scalar) -> Expr:
    """The value that an atomic operation `op` of ops.ATOMICS stores, from element and operand.

    Not for "load" and "compare_exchange", which need no arithmetic.
    """
    if op in ("exchange", "store"):
        return value
    if op == "nand":
        both = Op("bitand", (old, value), type)
        return Op("not" if type.kind == "b" else "invert", (both,), type)
    name = {"min": "minimum", "max": "maximum"}.get(op, op)
    return Op(name, (old, value), type)


def written_views(function: Function, helpers: Iterable[Function] = ()) -> frozenset[str]:
    """View parameters that a function may store into, itself or through a helper.

    Parameters
    ----------
    helpers : iterable of Function
        Those that it may call, each after the ones that it calls; one that is missing may store
        into all Views that it is given.
    """
    known: dict[str, frozenset[int]] = {}
    for helper in helpers:
        names = _written(helper, known)
        known[helper.name] = frozenset(
            n for n, p in enumerate(helper.parameters) if p.name in names
        )
    return _written(function, known)


def _written(function: Function, helpers: Mapping[str, frozenset[int]]) -> frozenset[str]:
    statements = walk_statements(function.body)
    names = {s.view.name for s in statements if isinstance(s, Store | Atomic) and writes(s)}
    for e in walk_expressions(function.body):
        if isinstance(e, Call):
            stored = helpers.get(e.function)
            for n, a in enumerate(e.args):
                is_view = isinstance(a, Var) and isinstance(a.type, ViewTy) and not a.type.readonly
                if is_view and (stored is None or n in stored):
                    assert isinstance(a, Var)
                    names.add(a.name)
    return frozenset(names)


def walk_expressions(body: tuple[Stmt, ...]) -> list[Expr]:
    """All expressions of a body, outer before inner."""
    return subexpressions(*(e for s in walk_statements(body) for e in expressions(s)))


def subexpressions(*whole: Expr) -> list[Expr]:
    """Expressions and all that is in them, outer before inner."""
    todo = list(whole)
    found: list[Expr] = []
    while todo:
        e = todo.pop()
        found.append(e)
        todo += operands(e)
    return found
