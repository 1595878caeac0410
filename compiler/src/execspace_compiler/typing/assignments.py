"""Typing of assignments: to variables, elements, records and tuples of such."""

from __future__ import annotations

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc, type_fault
from ..ir.ops import ATOMICS, OPERATOR_SIGNS
from ..ir.types import PromotionError, Record, Scalar, TupleTy, Type, ViewTy, promote
from .expressions import ExpressionRules
from .module import local_array
from .rules.atomics import atomic_step, check_aligned, of_element
from .rules.memory import load, store, writable
from .rules.operators import binary
from .rules.records import leaves
from .rules.views import indexed
from .values import (
    AliasTy,
    FunctionTy,
    FunctionValue,
    ObjTy,
    Place,
    RefTy,
    TupleValue,
    Value,
    ViewRef,
    describe,
    is_atomic,
    is_view,
    parts,
    scalar,
    type_of,
)

_SIGNS = frozenset(OPERATOR_SIGNS)


class AssignmentRules(ExpressionRules):
    """Assignments; FunctionTyper adds the other statements."""

    function: hir.Function
    changed: bool

    def scalar_type(self, name: str) -> Scalar:
        """Type of a local that is known to be a scalar."""
        type = self.types[name]
        assert isinstance(type, Scalar)
        return type

    def assign(self, target: hir.Expr, value: Value, loc: Loc, at: Loc) -> None:
        """Assign a value, which stands `at` a place, to a variable, an element, or item by item
        to a tuple."""
        match target:
            case hir.Local():
                self.bind(target.name, value, target.loc)
                return
            case hir.Subscript() | hir.Attribute():
                saved, self.out = self.out, []
                try:
                    place = self.place(target)
                finally:
                    emitted, self.out = self.out, saved
                if emitted:  # Python evaluates the value first
                    value = self.keep(value)
                    self.out += emitted
                self.put(place, value, loc, at)
                return
            case hir.Tuple():
                count = len(target.items)
                if not isinstance(value, TupleValue):
                    hint = "unpack a tuple, or assign each variable on its own"
                    if is_view(value):
                        hint = "assign the elements one by one: a, b = x[0], x[1]"
                    raise type_fault(
                        at, f"cannot unpack {describe(value)} into {count} targets", hint
                    )
                if len(value.items) != count:
                    raise type_fault(
                        at,
                        f"cannot unpack {describe(value)} into {count} targets",
                        "give one target for each item",
                    )
                # All values are taken before the first target changes: a, b = b, a.
                held = [self.keep(item) for item in value.items]
                for part, item in zip(target.items, held, strict=True):
                    self.assign(part, item, loc, at)
                return
        raise AssertionError(f"no target: {target}")

    def place(self, target: hir.Subscript | hir.Attribute) -> Place | ViewRef:
        """What a target stands for."""
        found = indexed(self, target) if isinstance(target, hir.Subscript) else self.member(target)
        if isinstance(found, Place) or (isinstance(found, ViewRef) and found.field is not None):
            writable(found.view if isinstance(found, Place) else found.base, target.loc)
            return found
        if isinstance(found, ViewRef):
            raise type_fault(
                target.loc,
                f"cannot assign to {describe(found)} as a whole",
                "assign its elements one by one, in a loop over range",
            )
        if isinstance(target, hir.Subscript):
            raise type_fault(
                target.loc,
                "cannot assign to an item of a tuple: tuples are fixed",
                "make a new tuple, or use es.local for a private array",
            )
        raise type_fault(
            target.loc,
            f"cannot assign to the attribute '{target.name}'",
            "store into a View, or use a local variable",
        )

    def put(self, place: Place | ViewRef, value: Value, loc: Loc, at: Loc) -> None:
        """Store a number into an element, or a record into a record."""
        if isinstance(place, Place):
            self.out.append(store(self, place, value, loc, at))
            return
        if not isinstance(value, ViewRef) or value.field != place.field:
            hint = "store into its elements one by one"
            if isinstance(place.field, Record):
                hint = f"store into its fields: {', '.join(n for n, _, _ in place.field.fields)}"
            raise type_fault(at, f"cannot store {describe(value)} into {place.field}", hint)
        loads = [self.keep(load(self, p, loc)) for p in leaves(value, loc)]
        for leaf, number in zip(leaves(place, loc), loads, strict=True):
            self.out.append(store(self, leaf, number, loc, at))

    def bind(self, name: str, value: Value, loc: Loc) -> None:
        """Assign to a local variable, widening its type where needed."""
        name = self.own.get(name, name)
        if isinstance(value, ir.Expr) and isinstance(value.type, Scalar):
            self.widen(name, value.type, loc)
            self.out.append(ir.Assign(name, self.coerce(value, self.scalar_type(name)), loc))
            return
        self.widen(name, type_of(value, loc), loc)
        self.check_alias(name, value, loc)
        if isinstance(value, TupleValue | ViewRef | FunctionValue):
            held = parts(value, name)
            if len(held) > 1:
                held = [(n, self.keep(e)) for n, e in held]
            for part, e in held:
                if isinstance(e.type, Scalar):
                    self.widen(part, e.type, loc)
                    self.out.append(ir.Assign(part, self.coerce(e, self.scalar_type(part)), loc))

    def check_alias(self, name: str, value: Value, loc: Loc) -> None:
        """A second name for a local array would go wrong where the array is made anew."""
        base = value.base if isinstance(value, ViewRef) else value
        if (
            isinstance(base, ir.Var)
            and isinstance(base.type, ViewTy)
            and base.type.shape is not None
        ):
            if (name, base.name) not in self.aliases():
                raise type_fault(
                    loc,
                    f"'{loc.name(name)}' would be a second name for {describe(value)}",
                    "use the array's own name, or pass it to a helper",
                )

    def aliases(self) -> set[tuple[str, str]]:
        """Variables of local arrays that are bound where the array is made."""
        found = set()
        for s in hir.walk(self.function.body):
            if isinstance(s, hir.Assign) and isinstance(s.target, hir.Local):
                if isinstance(s.value, hir.Call):
                    array = local_array(s.value.loc)
                    found.add((s.target.name, array))
        return found

    def widen(self, name: str, type: Type, loc: Loc) -> None:
        """Join a type into a variable's type."""
        old = self.types.get(name)
        try:
            new = type if old is None else joined(old, type, name, loc)
        except Fault as fault:
            self.torn.setdefault(name, fault)
            raise
        if new != old:
            self.types[name] = new
            self.changed = True

    def update(self, s: hir.Update) -> None:
        """Augmented assignment; the indices of an element are evaluated once."""
        if isinstance(s.target, hir.Local):
            old, value = self.operands((s.target, s.value))
            result = binary(self, s.op, scalar(old, s.loc), scalar(value, s.value.loc), s.loc)
            self.bind(s.target.name, result, s.loc)
            return
        assert isinstance(s.target, hir.Subscript | hir.Attribute)
        place = self.place(s.target)
        if isinstance(place, ViewRef):
            scalar(place, s.target.loc)
            raise AssertionError(f"a number: {place}")
        assert isinstance(place.view.type, ViewTy)
        atomic = is_atomic(place)
        if atomic:
            check_aligned(place, s.loc, s.op)
        kept = tuple(i if _pure(i) else self.keep(i) for i in place.indices)
        byte = place.byte
        if byte is not None and not _pure(byte):
            byte = self.keep(byte)
        place = Place(place.view, kept, byte, place.type)
        if atomic:
            self.atomic_update(s, place)
            return
        old = load(self, place, s.target.loc)
        emitted, right = self.apart(s.value)
        if emitted:  # Python reads the element first
            kept = tuple(self.keep(i) for i in place.indices)
            place = Place(place.view, kept, self.keep(byte), place.type)
            old = self.keep(old)
            self.out += emitted
        result = binary(self, s.op, old, scalar(right, s.value.loc), s.loc)
        self.out.append(store(self, place, result, s.loc, s.loc))

    def atomic_update(self, s: hir.Update, place: Place) -> None:
        """Augmented assignment to an element of a View with the atomic trait."""
        if s.op not in ATOMICS:
            raise type_fault(
                s.loc,
                f"'{OPERATOR_SIGNS[s.op]}=' is not atomic, but {describe(place.view)} is",
                f"atomic are {', '.join(OPERATOR_SIGNS[o] + '=' for o in ATOMICS if o in _SIGNS)}",
            )
        emitted, right = self.apart(s.value)
        if emitted:
            kept = tuple(self.keep(i) for i in place.indices)
            place = Place(place.view, kept, self.keep(place.byte), place.type)
            self.out += emitted
        value = of_element(self, s.op, place.type, right, s.loc, s.value.loc)
        atomic_step(self, s.op, place, (value,), s.loc)


def _pure(e: ir.Expr) -> bool:
    """Whether evaluating it twice gives the same even if a View changes in between."""
    return not isinstance(e, ir.Load | ir.Call) and all(_pure(a) for a in ir.operands(e))


def joined(a: Type, b: Type, name: str, loc: Loc) -> Type:
    """Common type of what is assigned to a variable."""
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        try:
            return promote(a, b)
        except PromotionError as error:
            message = f"'{loc.name(name)}' is {a} in one place and {b} in another: {error}"
            raise type_fault(loc, message, error.hint) from None
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and len(a.items) == len(b.items):
        items = tuple(joined(x, y, name, loc) for x, y in zip(a.items, b.items, strict=True))
        return TupleTy(items, a.names if a.names == b.names else ())
    if isinstance(a, RefTy | AliasTy | ViewTy) and isinstance(b, RefTy | AliasTy | ViewTy):
        hint = "a name stands for parts of one View, of one form; use two names"
    elif isinstance(a, ObjTy | FunctionTy) and isinstance(b, ObjTy | FunctionTy):
        hint = "use two names, and choose with if where they are used"
    else:
        hint = "use two variables"
    own = loc.name(name)
    raise type_fault(loc, f"'{own}' is {a} in one place and {b} in another", hint)
