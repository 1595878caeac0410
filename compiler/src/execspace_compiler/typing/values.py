"""Values in typing rules: expressions, and aggregates that exist only at compile time.

A tuple, a subview or a function in a kernel is never an object at run time; it is replaced by
scalars in separate variables. `type_of` gives the type of a value, `parts` flattens it to scalars
and Views, and `rebuild` makes the value again from a type and a name; its parts are in variables
"name_0_", "name_1_" and so on. That is how such values are kept in variables and passed to
helpers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir.diagnostics import Loc, counted, syntax_fault, type_fault
from ..ir.types import (
    INDEX,
    Compound,
    Element,
    Record,
    Scalar,
    SubArray,
    TupleTy,
    Type,
    Vector,
    ViewTy,
)  # fmt: skip
from .definitions import Definition


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple: its items, and their names if it is a NamedTuple or record; `own` is the class of
    a record with operators."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()
    own: type | None = None

    def of(self, items: tuple[Value, ...]) -> TupleValue:
        """Such a tuple of other items."""
        return TupleValue(items, self.names, self.own)


@dataclass(frozen=True, slots=True)
class StructValue:
    """An argument that is an instance of a dataclass: its fields by name, and those that are
    constants."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Value, ...]
    constants: tuple[FixedField, ...]


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field that is a constant; compared by its tag."""

    name: str
    tag: object
    value: Value = field(compare=False)


@dataclass(frozen=True, slots=True)
class Obj:
    """A compile-time object that is not a number: a library function, a type, a string, None."""

    value: Any
    path: str


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute of a value that can only be called: `A.extent`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A Python function: its definition, and the variables and Views that it captures.

    `env` is None for a nested function within the function that defines it: there its variables
    are read at each call, as in Python.
    """

    definition: Definition
    env: tuple[tuple[str, Value], ...] | None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A dimension of a View that a subview drops: its index."""

    index: ir.Expr


@dataclass(frozen=True, slots=True)
class Span:
    """A dimension that a subview keeps: its start, step and extent."""

    start: ir.Expr
    step: int
    extent: ir.Expr


@dataclass(frozen=True, slots=True)
class ViewRef:
    """A part of a View: one entry for each dimension of `base`; for part of a record also the
    field's type and its offset in bytes from the start of the element."""

    base: ir.Var
    dims: tuple[Fixed | Span, ...]
    field: Element | None = None
    byte: ir.Expr | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The dimensions of the part."""
        return tuple(d for d in self.dims if isinstance(d, Span))


@dataclass(frozen=True, slots=True)
class Place:
    """An element in memory (an lvalue)."""

    view: ir.Var
    indices: tuple[ir.Expr, ...]
    byte: ir.Expr | None
    type: Scalar


def is_atomic(place: Place) -> bool:
    """Whether it is accessed atomically, since its View has the atomic trait."""
    return isinstance(place.view.type, ViewTy) and "atomic" in place.view.type.traits


@dataclass(frozen=True, slots=True)
class TeamValue:
    """The handle of a team: rank and size of the league, and of the team."""

    league_rank: ir.Expr
    league_size: ir.Expr
    team_rank: ir.Expr
    team_size: ir.Expr


TEAM_PARTS = ("league_rank", "league_size", "team_rank", "team_size")


@dataclass(frozen=True, slots=True)
class NestedRange:
    """A range whose iterations are distributed over a level of a team; `name` is that in the
    source, such as "es.TeamThreadRange"."""

    level: str
    starts: tuple[ir.Expr, ...]
    stops: tuple[ir.Expr, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Single:
    """`es.PerTeam(team)` or `es.PerThread(team)`: the argument of `es.single`."""

    team: TeamValue
    level: str


Value = (
    ir.Expr | TupleValue | StructValue | Obj | Method | FunctionValue | ViewRef | TeamValue
    | NestedRange | Single
)  # fmt: skip


# -- types of compile-time values -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObjTy(Compound):
    """Type of an Obj: the object itself."""

    key: object
    obj: Obj = field(compare=False)

    def __str__(self) -> str:
        return describe(self.obj)


@dataclass(frozen=True, slots=True)
class StructTy(Compound):
    """Type of a StructValue."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Type, ...]
    constants: tuple[FixedField, ...]

    def __str__(self) -> str:
        return f"an object of {self.cls.__name__}"


@dataclass(frozen=True, slots=True)
class FunctionTy(Compound):
    """Type of a FunctionValue."""

    definition: Definition
    env: tuple[tuple[str, Type], ...] | None

    def __str__(self) -> str:
        return f"function '{self.definition.name}'"


@dataclass(frozen=True, slots=True)
class RefTy(Compound):
    """Type of a ViewRef: for each dimension its step, or None if an index drops it, and its extent
    if that is a constant."""

    base: ir.Var
    steps: tuple[int | None, ...]
    field: Element | None
    offset: bool
    extents: tuple[int | None, ...]

    def common(self, other: RefTy) -> RefTy:
        """The type of parts of one form, with the extents that are the same constants."""
        pairs = zip(self.extents, other.extents, strict=False)  # of other ranks: not of one form
        return replace(self, extents=tuple(n if n == m else None for n, m in pairs))

    def __str__(self) -> str:
        if self.field is not None:
            return f"{self.field} in View '{shown(self.base)}'"
        dims = [
            "ijklmnpq"[d] if s is None else ":" if s == 1 else f"::{s}"
            for d, s in enumerate(self.steps)
        ]
        return f"subview '{shown(self.base)}[{', '.join(dims)}]'"


@dataclass(frozen=True, slots=True)
class TeamTy(Compound):
    """Type of a TeamValue."""

    def __str__(self) -> str:
        return "a team"


@dataclass(frozen=True, slots=True)
class AliasTy(Compound):
    """Type of a variable that is another name for a View or local array."""

    base: ir.Var

    def __str__(self) -> str:
        return describe(self.base)


def part_name(name: str, part: object) -> str:
    """Variable of a part of a variable's value; users' names do not begin like this."""
    return f"_{name}_{part}_"


def type_of(value: Value, loc: Loc) -> Type:
    """Type of a value that a variable can hold or a helper can take."""
    match value:
        case TupleValue():
            return TupleTy(tuple(type_of(v, loc) for v in value.items), value.names, value.own)
        case StructValue(cls, names, items, constants):
            return StructTy(cls, names, tuple(type_of(v, loc) for v in items), constants)
        case Obj():
            key = value.value if isinstance(value.value, str) else id(value.value)
            return ObjTy((type(value.value), key), value)
        case FunctionValue():
            env = value.env
            if env is None:
                return FunctionTy(value.definition, None)
            return FunctionTy(value.definition, tuple((n, type_of(v, loc)) for n, v in env))
        case ViewRef():
            steps = tuple(d.step if isinstance(d, Span) else None for d in value.dims)
            extents = tuple(
                d.extent.value if isinstance(d, Span) and isinstance(d.extent, ir.Const) else None
                for d in value.dims
            )
            return RefTy(value.base, steps, value.field, value.byte is not None, extents)
        case Method():
            raise type_fault(
                loc, f"{describe(value)} can only be called", f"call it: {value.name}(...)"
            )
        case TeamValue():
            return TeamTy()
        case NestedRange():
            raise type_fault(
                loc,
                f"{describe(value)} cannot be kept in a variable or passed on",
                f"write for k in {value.name}(team, n), or give it to es.parallel_reduce",
            )
        case Single():
            hint = "write if es.single(es.PerTeam(team)):"
            raise syntax_fault(loc, f"{describe(value)} stands in es.single only", hint)
        case ir.Var() if isinstance(value.type, ViewTy):
            return AliasTy(value)
    return value.type


def parts(value: Value, name: str) -> list[tuple[str, ir.Expr]]:
    """The scalars and Views that a value consists of, each with the name of its variable."""
    match value:
        case TupleValue() | StructValue():
            pairs = [parts(v, part_name(name, n)) for n, v in enumerate(value.items)]
            return [p for pair in pairs for p in pair]
        case FunctionValue():
            pairs = [parts(v, part_name(name, k)) for k, (_, v) in enumerate(value.env or ())]
            return [p for pair in pairs for p in pair]
        case ViewRef():
            found: list[tuple[str, ir.Expr]] = [(part_name(name, "base"), value.base)]
            for d, dim in enumerate(value.dims):
                if isinstance(dim, Fixed):
                    found.append((part_name(name, f"at{d}"), dim.index))
                else:
                    found.append((part_name(name, f"from{d}"), dim.start))
                    found.append((part_name(name, f"n{d}"), dim.extent))
            if value.byte is not None:
                found.append((part_name(name, "byte"), value.byte))
            return found
        case TeamValue():
            return [(part_name(name, w), getattr(value, w)) for w in TEAM_PARTS]
        case Obj() | Method() | NestedRange() | Single():
            return []
    return [(name, value)]


def rebuild(type: Type, name: str, loc: Loc) -> Value:
    """The value of a type whose parts are in variables named after `name`."""
    match type:
        case TupleTy():
            items = (rebuild(t, part_name(name, n), loc) for n, t in enumerate(type.items))
            return TupleValue(tuple(items), type.names, type.own)
        case StructTy(cls, names, kinds, constants):
            values = (rebuild(t, part_name(name, n), loc) for n, t in enumerate(kinds))
            return StructValue(cls, names, tuple(values), constants)
        case ObjTy():
            return type.obj
        case AliasTy():
            return ir.Var(type.base.name, type.base.type, loc)
        case TeamTy():
            return TeamValue(*(ir.Var(part_name(name, w), INDEX, loc) for w in TEAM_PARTS))
        case FunctionTy():
            if type.env is None:
                return FunctionValue(type.definition, None)
            env = ((n, rebuild(t, part_name(name, k), loc)) for k, (n, t) in enumerate(type.env))
            return FunctionValue(type.definition, tuple(env))
        case RefTy():

            def part(which: str) -> ir.Var:
                return ir.Var(part_name(name, which), INDEX, loc)

            dims: list[Fixed | Span] = []
            for d, (s, n) in enumerate(zip(type.steps, type.extents, strict=True)):
                if s is None:
                    dims.append(Fixed(part(f"at{d}")))
                else:
                    extent = part(f"n{d}") if n is None else ir.Const(n, INDEX, loc)
                    dims.append(Span(part(f"from{d}"), s, extent))
            byte = part("byte") if type.offset else None
            return ViewRef(type.base, tuple(dims), type.field, byte)
    return ir.Var(name, type, loc)


def as_parameter(type: Type, name: str) -> Type:
    """The type as seen by a function that receives the value as parameter `name`."""
    match type:
        case TupleTy():
            items = (as_parameter(t, part_name(name, n)) for n, t in enumerate(type.items))
            return type.of(tuple(items))
        case StructTy():
            kinds = (as_parameter(t, part_name(name, n)) for n, t in enumerate(type.items))
            return replace(type, items=tuple(kinds))
        case AliasTy():
            return type.base.type
        case FunctionTy() if type.env is not None:
            env = ((n, as_parameter(t, part_name(name, k))) for k, (n, t) in enumerate(type.env))
            return FunctionTy(type.definition, tuple(env))
        case RefTy():
            base = ir.Var(part_name(name, "base"), type.base.type)
            return replace(type, base=base)
    return type


# -- queries ----------------------------------------------------------------------------------


def describe(value: Value) -> str:
    """Description of a value, for messages."""
    match value:
        case TupleValue() if value.own is not None:
            return f"record {value.own.__name__}"
        case TupleValue():
            return f"a tuple of {len(value.items)} items"
        case StructValue():
            return f"an object of {value.cls.__name__}"
        case Obj():
            if isinstance(value.value, str):
                return "a string"
            if value.value is None:
                return "None"
            if isinstance(value.value, ModuleType):
                return f"the module '{value.path}'"
            if isinstance(value.value, BuiltinFunctionType | np.ufunc):
                return f"the function '{value.path}'"
            return f"'{value.path}' ({type(value.value).__name__})"
        case Method():
            return f"the method '{value.name}'"
        case FunctionValue():
            return f"the function '{value.definition.name}'"
        case ViewRef():
            return str(type_of(value, value.base.loc))
        case TeamValue():
            return "a team"
        case NestedRange():
            return f"a nested range, {value.name}(...)"
        case Single():
            return "es.PerTeam(...)" if value.level == "team" else "es.PerThread(...)"
    if isinstance(value.type, ViewTy):
        kind = "View" if value.type.shape is None else "local array"
        return f"{kind} '{shown(value)}'" if isinstance(value, ir.Var) else "a View"
    return f"a {value.type}" if isinstance(value.type, Vector) else str(value.type)


def shown(value: ir.Var | ViewRef) -> str:
    """Name of a View or local array in the source, which may differ from that of its variable."""
    view = value.base if isinstance(value, ViewRef) else value
    return view.loc.name("es.local(...)" if view.name.startswith("_local_") else view.name)


def is_view(value: Value) -> bool:
    """Whether it can be indexed like a View."""
    if isinstance(value, ViewRef):
        return bool(value.spans) or value.field is not None
    return isinstance(value, ir.Var) and isinstance(value.type, ViewTy)


def whole(value: ir.Var) -> ViewRef:
    """A View as a ViewRef of all of it."""
    assert isinstance(value.type, ViewTy)
    return ViewRef(
        value,
        tuple(Span(ir.Const(0, INDEX), 1, extent(value, d)) for d in range(value.type.rank)),
    )


def extent(view: ir.Var, d: int, loc: Loc | None = None) -> ir.Expr:
    """Extent of a dimension of a View or local array."""
    assert isinstance(view.type, ViewTy)
    loc = loc or view.loc
    known = (view.type.shape or view.type.static or (None,) * view.type.rank)[d]
    if known is not None:
        return ir.Const(known, INDEX, loc)
    return ir.Extent(view, d, INDEX, loc)


def extents(view: Any, loc: Loc) -> tuple[ir.Expr, ...]:
    """Extents of a View, a local array or a part of one."""
    if isinstance(view, ViewRef):
        return tuple(span.extent for span in view.spans)
    return tuple(extent(view, d, loc) for d in range(view.type.rank))


def is_vector(value: Value) -> bool:
    """Whether it is a vector or a mask, see `es.simd`."""
    return isinstance(value, ir.Expr) and isinstance(value.type, Vector)


def refuse_vectors(value: Value, loc: Loc) -> None:
    """Refuse vectors, also in tuples, where only numbers can be."""
    for _, e in parts(value, ""):
        if is_vector(e):
            scalar(e, loc)


def indexable(value: Value) -> bool:
    """Whether a call of it was probably meant as indexing."""
    return is_view(value) or isinstance(value, TupleValue)


def scalar(value: Value, loc: Loc) -> Any:
    """The value as an expression of a number; a fault if it is not one."""
    if isinstance(value, ir.Expr) and isinstance(value.type, Scalar):
        if not isinstance(value.type, Vector):
            return value
    if isinstance(value, ir.Var) and value.loc.line:
        loc = value.loc  # the argument's, while `loc` is the whole call's
    raise type_fault(loc, f"expected a number, got {describe(value)}", _use(value))


def _use(value: Value) -> str:
    """How to get a number from another value, for hints."""
    if isinstance(value, ir.Expr) and isinstance(value.type, Vector):
        if value.type.name == "bool":
            return "take mask.any(), mask.all() or a lane, or choose by it: np.where(mask, a, b)"
        return "take a lane, v[0], or a reduction, v.sum(); T(v) converts vectors"
    match value:
        case ir.Var() if isinstance(value.type, ViewTy):
            index = ", ".join("ijklmnpq"[: value.type.rank])
            return f"index it: {shown(value)}[{index or '()'}]"
        case FunctionValue():
            return f"call it: {value.definition.name}(...)"
        case Method():
            return f"call it: {value.name}(...)"
        case StructValue() if value.items:
            return f"take one of its fields: {', '.join(value.names)}"
        case TupleValue() if value.own is not None:
            return f"take one of its fields: {', '.join(value.names)}"
        case TupleValue():
            return "unpack it, or take one of its items by a constant index"
        case ViewRef() if isinstance(value.field, Record):
            return f"take one of its fields: {', '.join(n for n, _, _ in value.field.fields)}"
        case ViewRef() if isinstance(value.field, SubArray):
            return f"index it with {counted(len(value.field.shape), 'integer')}"
        case ViewRef():
            return "take its elements one by one, in a loop over range"
        case Obj():
            return _use_object(value.value, value.path)
    return ""


def _use_object(value: Any, path: str) -> str:
    if value is None:
        return "return a number from every helper; math.nan can stand for a missing one"
    if isinstance(value, str):
        return "text stands only in es.printf, asserts and comparisons with static parameters"
    if isinstance(value, BuiltinFunctionType | np.ufunc | type):
        return f"call it: {path}(...)"
    if isinstance(value, ModuleType):
        return f"take something from it: {path}.name"
    if isinstance(value, list | set | dict):
        return f"pass the numbers as a NumPy array or a View, not as a {type(value).__name__}"
    return f"take one of its attributes, {path}.name, or pass what it holds as arguments"


def constant_shape(values: Sequence[Value], loc: Loc) -> tuple[int, ...]:
    """Extents that are compile-time constants."""
    shape = []
    for v in values:
        constant = isinstance(v, ir.Const) and isinstance(v.value, int | np.integer)
        if not constant or isinstance(v.value, bool):  # type: ignore[union-attr]
            raise type_fault(
                loc,
                f"es.local needs a shape of constant integers, got {describe(v)}",
                "write the number, or a static extent such as A.extent(1), in the call itself, for "
                "a variable is no constant; or capture it, or mark the parameter with es.static",
            )
        if v.value < 0:  # type: ignore[union-attr]
            raise type_fault(
                loc,
                f"es.local got the negative extent {v.value}",  # type: ignore[union-attr]
                "give an extent of 0 or more",
            )
        shape.append(int(v.value))  # type: ignore[union-attr]
    return tuple(shape)
