"""Types of compile-time values, and the variables that such values are kept in.

`type_of` gives the type of a value, `parts` flattens it to scalars and Views, and `rebuild` makes
the value again from a type and a name; its parts are in variables "name_0_", "name_1_" and so on.
That is how such values are kept in variables and passed to helpers.
"""

from __future__ import annotations

from dataclasses import field, replace
from types import BuiltinFunctionType, ModuleType

import numpy as np

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir.diagnostics import Loc, syntax_fault, type_fault
from ..ir.types import (
    INDEX,
    Compound,
    Element,
    Scalar,
    TupleTy,
    Type,
    Vector,
    ViewTy,
)  # fmt: skip
from .definitions import Definition
from .values import (
    TEAM_PARTS,
    Chosen,
    Fixed,
    FixedField,
    FunctionValue,
    ItemOf,
    Method,
    NestedRange,
    Obj,
    Single,
    Span,
    StructValue,
    TeamValue,
    TupleValue,
    Value,
    ViewPart,
    ViewRef,
)

# -- types of compile-time values -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObjTy(Compound):
    """Type of an Obj: the object itself."""

    key: object
    obj: Obj = field(compare=False)

    def __str__(self) -> str:
        return describe(self.obj)


@dataclass(frozen=True, slots=True)
class ConstantTy(Compound):
    """Type of a number that a static parameter has: the number itself, compared by its bits."""

    kind: Scalar
    bits: str
    constant: ir.Const = field(compare=False)

    @classmethod
    def of(cls, constant: ir.Const) -> ConstantTy:
        """The type of a constant."""
        kind = constant.type
        assert isinstance(kind, Scalar)
        return cls(kind, repr(constant.value), constant)

    def __str__(self) -> str:
        return f"the constant {self.bits}"


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


@dataclass(frozen=True, slots=True)
class ChoiceTy(Compound):
    """Type of a Chosen: those of its options."""

    options: tuple[Type, ...]

    def __str__(self) -> str:
        return f"one of {' and '.join(map(str, self.options))}"


def constant_type(value: Value, loc: Loc) -> Type | None:
    """The type of what a static parameter has; None if it is not known at compile time."""
    match value:
        case ir.Const():
            return ConstantTy.of(value)
        case TupleValue():
            items = [constant_type(v, loc) for v in value.items]
            known = tuple(t for t in items if t is not None)
            whole = TupleTy(known, value.names, value.own)
            return whole if len(known) == len(items) else None
        case Obj() | FunctionValue():
            return type_of(value, loc)
    return None


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
        case ViewPart():
            hint = f"write z.{value.name}[i] where it is needed"
            raise type_fault(loc, f"{describe(value)} can only be indexed", hint)
        case ItemOf():
            raise AssertionError(f"read at once: {value}")
        case TeamValue():
            return TeamTy()
        case NestedRange():
            raise type_fault(
                loc,
                f"{describe(value)} cannot be kept in a variable or passed on",
                f"write for k in {value.name}(team, n), or give it to es.parallel_reduce",
            )
        case Chosen():
            return ChoiceTy(tuple(type_of(v, loc) for v in value.options))
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
        case Chosen():
            pairs = [parts(v, part_name(name, n)) for n, v in enumerate(value.options)]
            which = (part_name(name, "which"), value.which)
            return [which, *(p for pair in pairs for p in pair)]
        case Obj() | Method() | NestedRange() | Single() | ViewPart() | ItemOf():
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
        case ConstantTy():
            return replace(type.constant, loc=loc)
        case AliasTy():
            return ir.Var(type.base.name, type.base.type, loc)
        case TeamTy():
            return TeamValue(*(ir.Var(part_name(name, w), INDEX, loc) for w in TEAM_PARTS))
        case ChoiceTy():
            options = (rebuild(t, part_name(name, n), loc) for n, t in enumerate(type.options))
            return Chosen(ir.Var(part_name(name, "which"), INDEX, loc), tuple(options))
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
        case ChoiceTy():
            kinds = (as_parameter(t, part_name(name, n)) for n, t in enumerate(type.options))
            return ChoiceTy(tuple(kinds))
        case AliasTy():
            return type.base.type
        case FunctionTy() if type.env is not None:
            env = ((n, as_parameter(t, part_name(name, k))) for k, (n, t) in enumerate(type.env))
            return FunctionTy(type.definition, tuple(env))
        case RefTy():
            base = ir.Var(part_name(name, "base"), type.base.type)
            return replace(type, base=base)
    return type


# -- for messages ---------------------------------------------------------------------------


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
        case ItemOf():
            return f"an item of {describe(value.owner)}"
        case ViewPart():
            return f"'.{value.name}' of {describe(value.view)}"
        case ViewRef():
            return str(type_of(value, value.base.loc))
        case TeamValue():
            return "a team"
        case NestedRange():
            return f"a nested range, {value.name}(...)"
        case Chosen():
            return f"one of {' and '.join(map(describe, value.options))}"
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
