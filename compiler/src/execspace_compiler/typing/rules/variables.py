"""Rules of local variables: their values, and how assignments widen their types."""

from __future__ import annotations

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Fault, Loc, type_fault
from ...ir.types import (
    INDEX,
    PromotionError,
    Record,
    Scalar,
    TupleTy,
    Type,
    Vector,
    ViewTy,
    promote,
)
from ..context import EXPRESSIONS, Context, Pending
from ..module import local_array
from ..value_types import (
    AliasTy,
    ChoiceTy,
    FunctionTy,
    ObjTy,
    RefTy,
    StructTy,
    describe,
    part_name,
    parts,
    rebuild,
    type_of,
)
from ..values import Chosen, FunctionValue, StructValue, TupleValue, Value, ViewRef

_MOST = 16  # Views or functions that a variable may stand for


@EXPRESSIONS.of(hir.Local)
def _local(cx: Context, e: hir.Local) -> Value:
    return variable(cx, e.name, e.loc)


@EXPRESSIONS.of(hir.Named)
def _named(cx: Context, e: hir.Named) -> Value:
    bind(cx, e.name, cx.value(e.value), e.loc)
    return variable(cx, e.name, e.loc)


def variable(cx: Context, name: str, loc: Loc) -> Value:
    """Value of a local variable or parameter."""
    if name in cx.own:
        name = cx.own[name]
    elif name in cx.unreadable:
        hint = f"use '{loc.name(name)}' within the loop over the tuple, another name elsewhere"
        raise type_fault(loc, cx.unreadable[name], hint)
    type = cx.types.get(name)
    if type is None:
        if cx.final:
            cx.unknown.setdefault(name, loc)
        raise Pending
    if name in cx.conflicts:
        raise Pending
    return rebuild(type, name, loc)


def bind(cx: Context, name: str, value: Value, loc: Loc) -> None:
    """Assign to a local variable, widening its type where needed."""
    name = cx.own.get(name, name)
    if isinstance(value, ir.Expr) and isinstance(value.type, Scalar):
        widen(cx, name, value.type, loc)
        cx.out.append(ir.Assign(name, cx.coerce(value, scalar_type(cx, name)), loc))
        return
    widen(cx, name, _of_variable(type_of(value, loc)), loc)
    _check_alias(cx, name, value, loc)
    if isinstance(cx.types[name], ChoiceTy) or isinstance(value, Chosen):
        _bind_choice(cx, name, value, loc)
        return
    if isinstance(value, TupleValue | StructValue | ViewRef | FunctionValue):
        held = parts(value, name)
        if len(held) > 1:
            held = [(n, cx.keep(e)) for n, e in held]
        for part, e in held:
            if isinstance(e.type, Scalar):
                widen(cx, part, e.type, loc)
                cx.out.append(ir.Assign(part, cx.coerce(e, scalar_type(cx, part)), loc))


def _bind_choice(cx: Context, name: str, value: Value, loc: Loc) -> None:
    """Assign one of several values, or to a variable that stands for one of several."""
    type = cx.types[name]

    def assign(one: Value) -> None:
        own = type_of(one, loc)
        n = _option(type.options, own) if isinstance(type, ChoiceTy) else None
        held = parts(one, name if n is None else part_name(name, n))
        held = [(part, cx.keep(e)) for part, e in held]
        if n is not None:
            held.append((part_name(name, "which"), ir.Const(n, INDEX, loc)))
        for part, e in held:
            if isinstance(e.type, Scalar):
                widen(cx, part, e.type, loc)
                cx.out.append(ir.Assign(part, cx.coerce(e, scalar_type(cx, part)), loc))

    if isinstance(value, Chosen):
        bodies, _ = cx.of_each(value.options, assign)
        cx.branches(value.which, bodies, loc)
    else:
        assign(value)


def _of_variable(type: Type) -> Type:
    """Type of a variable that gets a value: options that differ in numbers only are one."""
    if not isinstance(type, ChoiceTy):
        return type
    merged = _choice(ChoiceTy(type.options[:1]), type)
    if merged is None:
        return type
    return merged.options[0] if len(merged.options) == 1 else merged


def _option(options: tuple[Type, ...], type: Type) -> int:
    """Number of the option that includes a type."""
    return next(n for n, known in enumerate(options) if _merged(known, type) == known)


def _merged(a: Type, b: Type) -> Type | None:
    """The type of an option that stands for both; None if they are options of their own."""
    if a == b:
        return a
    if isinstance(a, RefTy) and isinstance(b, RefTy) and a.common(b) == b.common(a):
        return a.common(b)
    return None


def _choice(a: Type, b: Type) -> ChoiceTy | None:
    """Type of a variable that stands for one of several Views or functions."""
    options = list(a.options if isinstance(a, ChoiceTy) else (a,))
    for type in b.options if isinstance(b, ChoiceTy) else (b,):
        merged = [_merged(known, type) for known in options]
        n = next((n for n, m in enumerate(merged) if m is not None), None)
        if n is None:
            options.append(type)
        else:
            options[n] = merged[n]  # type: ignore[assignment]
    ranks = {_rank(t) for t in options}
    if None in ranks or len(ranks) > 1 or len(options) > _MOST:
        return None
    return ChoiceTy(tuple(options))


def _rank(type: Type) -> int | None:
    """Rank of a View or part of one, -1 of functions, -2 of objects; None of all else."""
    match type:
        case AliasTy():
            assert isinstance(type.base.type, ViewTy)
            return type.base.type.rank if type.base.type.shape is None else None
        case RefTy() if type.field is None:
            return sum(s is not None for s in type.steps)
        case StructTy():
            return -2
        case FunctionTy():
            return -1
        case ObjTy():
            return -1 if callable(type.obj.value) else None
    return None


def widen(cx: Context, name: str, type: Type, loc: Loc) -> None:
    """Widen a variable's type to include another one."""
    old = cx.types.get(name)
    try:
        new = type if old is None else joined(old, type, name, loc)
    except Fault as fault:
        cx.conflicts.setdefault(name, fault)
        raise
    if new != old:
        cx.types[name] = new
        cx.changed = True


def scalar_type(cx: Context, name: str) -> Scalar:
    """Type of a local that is known to be a scalar."""
    type = cx.types[name]
    assert isinstance(type, Scalar)
    return type


def _check_alias(cx: Context, name: str, value: Value, loc: Loc) -> None:
    """Refuse aliases of a local array in a loop that creates the array anew."""
    base = value.base if isinstance(value, ViewRef) else value
    if isinstance(base, ir.Var) and isinstance(base.type, ViewTy) and base.type.shape is not None:
        if (name, base.name) not in _aliases(cx):
            raise type_fault(
                loc,
                f"'{loc.name(name)}' would be a second name for {describe(value)}",
                "use the array's own name, or pass it to a helper",
            )


def _aliases(cx: Context) -> set[tuple[str, str]]:
    """Variables of local arrays that are bound where the array is created."""
    found = set()
    for s in hir.walk(cx.function.body):
        if isinstance(s, hir.Assign) and isinstance(s.target, hir.Local):
            if isinstance(s.value, hir.Call):
                array = local_array(s.value.loc)
                found.add((s.target.name, array))
    return found


def joined(a: Type, b: Type, name: str, loc: Loc, *, choices: bool = True) -> Type:
    """Common type of two values that are assigned to a variable; `choices`: it may stand for one
    of several Views or functions."""
    if a == b:
        return a
    vectors = isinstance(a, Vector) or isinstance(b, Vector)
    if isinstance(a, Scalar) and isinstance(b, Scalar) and not vectors:
        try:
            return promote(a, b)
        except PromotionError as error:
            message = f"'{loc.name(name)}' is {a} in one place and {b} in another: {error}"
            raise type_fault(loc, message, error.hint) from None
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and _have_one_form(a, b):
        pairs = zip(a.items, b.items, strict=True)
        items = tuple(joined(x, y, name, loc, choices=choices) for x, y in pairs)
        return a.of(items) if a.names == b.names else TupleTy(items)
    if isinstance(a, RefTy) and isinstance(b, RefTy) and a.common(b) == b.common(a):
        return a.common(b)
    choice = _choice(a, b) if choices else None
    if choice is not None:
        return choice
    if vectors:
        hint = "make a vector of the same type first, T(...), or use two variables"
    elif isinstance(a, RefTy | AliasTy | ViewTy) and isinstance(b, RefTy | AliasTy | ViewTy):
        hint = "a name stands for parts of one View, of one form; use two names"
    elif isinstance(a, ObjTy | FunctionTy) and isinstance(b, ObjTy | FunctionTy):
        hint = "use two names, and choose with if where they are used"
    elif any(isinstance(t, RefTy) and isinstance(t.field, Record) and t.field.own for t in (a, b)):
        hint = "an element is referred to; its value is .copy() of it: q = x[i].copy()"
    else:
        hint = "use two variables"
    own = loc.name(name)
    raise type_fault(loc, f"'{own}' is {a} in one place and {b} in another", hint)


def _have_one_form(a: TupleTy, b: TupleTy) -> bool:
    """Whether two tuples can be joined item by item, and records are of one class."""
    return len(a.items) == len(b.items) and a.own is b.own
