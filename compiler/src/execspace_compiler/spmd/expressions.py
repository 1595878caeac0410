"""Expressions in lanes: numbers that are the same in all lanes as they are, the others as vectors.

What only some lanes may evaluate is evaluated under a mask; where that costs or may go wrong,
behind a test whether any lane needs it. So memory is read only where a lane that is on reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import ir
from ..ir import Expr, Op, Stmt, Var
from ..ir.types import BOOL, INDEX, INT64, Pointer, Scalar, Vector, ViewTy
from .steps import Step, Unknown, step_of
from .varying import Findings, NotVectorised

if TYPE_CHECKING:
    from .forms import Forms

# Operations that take little time, and that may be done for lanes that are off.
_LITTLE = frozenset((
    "add", "sub", "mul", "neg", "bitand", "bitor", "bitxor", "invert", "not", "and", "or", "lt",
    "le", "gt", "ge", "eq", "ne", "cast", "bit_cast", "min", "max", "minimum", "maximum", "abs",
    "bounded", "isnan", "isinf", "isfinite", "real", "imag", "conj", "complex", "lshift", "rshift",
    "fmin", "fmax", "copysign", "fabs", "floor", "ceil", "trunc", "rint", "popcount", "countl_zero",
    "fma",
))  # fmt: skip
_MOST = 12  # of them, that both sides of a choice are computed


class Writer:
    """Writes what a function does in lanes.

    Attributes
    ----------
    lanes : int
    known : Findings
        Of the function.
    locals : dict
        Of the function that is written.
    out : list of Stmt
        Statements so far, of the body that is being written.
    mask : Var
        The lanes that are on.
    """

    def __init__(self, forms: Forms, known: Findings, mask: Var) -> None:
        self.forms = forms
        self.lanes = forms.lanes
        self.known = known
        self.mask = mask
        self.locals: dict[str, Scalar | ViewTy] = {}
        self.out: list[Stmt] = []
        self.count = 0

    # -- names and types ------------------------------------------------------------------------

    def vector(self, t: Scalar) -> Vector:
        """The type of a number in each lane."""
        return Vector(t.name, storage=t.storage, lanes=self.lanes)

    @property
    def mask_type(self) -> Vector:
        return Vector("bool", lanes=self.lanes)

    def new(self, hint: str, t: Scalar) -> Var:
        """A new variable."""
        self.count += 1
        name = f"_{hint}{self.count}"
        self.locals[name] = t.strong
        return Var(name, t.strong)

    def held(self, hint: str, value: Expr) -> Var:
        """A new variable that holds a value."""
        assert isinstance(value.type, Scalar)
        v = self.new(hint, value.type)
        self.out.append(ir.Assign(v.name, value))
        return v

    def step(self, e: Expr) -> Step:
        found = step_of(e, self.known.steps, self._called)
        assert not isinstance(found, Unknown)
        return found

    def _called(self, x: ir.Call) -> Step:
        found = self.forms.program.called(x, self.steps_of(x))
        return found[0] if found else 0

    def steps_of(self, x: ir.Call) -> tuple[Step, ...]:
        """Steps of the arguments of a call."""
        f = self.forms.program.functions[x.function]
        found: list[Step] = []
        for p, a in zip(f.parameters, x.args, strict=True):
            if isinstance(p.type, Pointer):
                found.append(0)
            elif isinstance(a, Var) and isinstance(a.type, ViewTy):
                found.append(None if a.type.shape is not None else 0)
            else:
                found.append(self.step(a))
        return tuple(found)

    # -- masks ----------------------------------------------------------------------------------

    @property
    def none(self) -> ir.Const:
        """The mask that holds for no lane."""
        return ir.Const(False, self.mask_type)

    def both(self, mask: Expr, test: Expr) -> Expr:
        """Where a mask holds and a test, which may be anything where the mask does not."""
        return Op("blend", (mask, test, self.none), self.mask_type)

    def without(self, mask: Expr, others: Expr) -> Expr:
        """Where a mask holds and others do not."""
        return Op("blend", (others, self.none, mask), self.mask_type)

    def either(self, a: Expr, b: Expr) -> Expr:
        """Where one of two masks holds."""
        return Op("bitor", (a, b), self.mask_type)

    def any(self, mask: Expr) -> Expr:
        """Whether a mask holds for some lane."""
        return Op("any", (mask,), BOOL)

    def numbers(self) -> Expr:
        """The number of each lane."""
        t = Vector("int64", lanes=self.lanes)
        return Op("ramp", (ir.Const(0, INT64), ir.Const(1, INT64)), t)

    def lane_is(self, k: Expr) -> Expr:
        """The mask of one lane."""
        t = Vector("int64", lanes=self.lanes)
        return Op("eq", (self.numbers(), Op("broadcast", (k,), t)), self.mask_type)

    # -- statements in between ------------------------------------------------------------------

    def under(self, mask: Expr, write: Callable[[], Expr], guarded: bool) -> Expr:
        """What `write` gives, evaluated where a mask holds; `guarded`: if it does anywhere."""
        held = self.held("on", mask)
        before, self.mask = self.mask, held
        if not guarded:
            found = write()
            self.mask = before
            return found
        with self.body() as inner:
            found = write()
            assert isinstance(found.type, Scalar)
            result = self.new("got", found.type)
            self.out.append(ir.Assign(result.name, found))
        self.mask = before
        self.out.append(ir.If(self.any(held), tuple(inner)))
        return result

    @contextmanager
    def body(self) -> Iterator[list[Stmt]]:
        """Statements that are written meanwhile are those of a body of their own."""
        before, self.out = self.out, []
        yield self.out
        self.out = before

    # -- expressions ----------------------------------------------------------------------------

    def same(self, e: Expr) -> Expr:
        """A number that is the same in all lanes, or that of the first lane."""
        if self.step(e) == 0 or not isinstance(e, Op):
            return self.calling_forms(e)
        # Lane 0 may be off, so its index may go beyond what index arithmetic assumes.
        t = INT64 if e.type.weak else e.type
        return replace(e, args=tuple(map(self.same, e.args)), type=t)

    def calling_forms(self, e: Expr) -> Expr:
        """The same expression: what it calls with arguments that vary is called in lanes."""
        if isinstance(e, ir.Call):
            name, args = self.arguments(e)
            return replace(e, function=name, args=args)
        return ir.with_operands(e, tuple(map(self.calling_forms, ir.operands(e))))

    def index(self, e: Expr) -> Expr:
        """A subscript: a number if it is the same in all lanes, else a vector."""
        return self.same(e) if self.step(e) == 0 else self.spread(e)

    def spread(self, e: Expr) -> Expr:
        """An expression as a vector."""
        assert isinstance(e.type, Scalar)
        t, step = self.vector(e.type), self.step(e)
        if step is None:
            return self.varying(e, t)
        if isinstance(e, ir.Const):
            return ir.Const(e.value, t, e.loc)
        return self.stepped(self.same(e), step)

    def stepped(self, first: Expr, step: int) -> Expr:
        """The vector of a number of the first lane, from lane to lane with a step."""
        assert isinstance(first.type, Scalar)
        t = self.vector(first.type)
        if step == 0:
            return Op("broadcast", (first,), t, first.loc)
        return Op("ramp", (first, ir.Const(step, first.type.strong)), t, first.loc)

    def varying(self, e: Expr, t: Vector) -> Expr:
        """An expression that is not the same in all lanes."""
        match e:
            case Var():
                return Var(e.name, t, e.loc)
            case Op() if e.op in ("and", "or"):
                return self.logical(e)
            case Op():
                return self.operation(e, t)
            case ir.Select():
                return self.choice(e, t)
            case ir.Load():
                return self.load(e, t)
            case ir.Call():
                return self.call(e)
        raise AssertionError(f"no form in lanes for {e}")

    def operation(self, e: Op, t: Vector) -> Expr:
        """An operation, lane by lane."""
        args = [self.spread(a) for a in e.args]
        if e.op == "bounded":
            return args[0]
        if e.op in ("truncdiv", "truncmod") and not isinstance(e.args[1], ir.Const):
            # Of a lane that is off the divisor may be zero.
            divisor = e.args[1].type
            assert isinstance(divisor, Scalar)
            kind = self.vector(divisor)
            args[1] = Op("blend", (self.mask, args[1], ir.Const(1, kind)), kind)
        return Op(e.op, tuple(args), t, e.loc)

    def logical(self, e: Op) -> Expr:
        """`and` and `or`: the second operand is evaluated for lanes that need it."""
        a = self.spread(e.args[0])
        if not isinstance(a, Var):
            a = self.held("first", a)
        kind = self.mask_type
        yes = e.op == "and"
        wanted = self.both(self.mask, a) if yes else self.without(self.mask, a)
        b = self.sometimes(e.args[1], wanted)
        pair = (b, self.none) if yes else (ir.Const(True, kind), b)
        return Op("blend", (a, *pair), kind, e.loc)

    def choice(self, e: ir.Select, t: Vector) -> Expr:
        """`then if test else orelse`; lanes read and call for the side that they choose."""
        if self.step(e.test) == 0:
            return self.choice_of_all(e, t)
        test = self.held("test", self.spread(e.test))
        then = self.sometimes(e.then, self.both(self.mask, test))
        orelse = self.sometimes(e.orelse, self.without(self.mask, test))
        return Op("blend", (test, then, orelse), t, e.loc)

    def choice_of_all(self, e: ir.Select, t: Vector) -> Expr:
        """A choice that is the same for all lanes."""
        if is_little(e.then) and is_little(e.orelse):
            test = Op("broadcast", (self.same(e.test),), self.mask_type)
            return Op("blend", (test, self.spread(e.then), self.spread(e.orelse)), t, e.loc)
        result = self.new("got", t)
        bodies: list[tuple[Stmt, ...]] = []
        for side in (e.then, e.orelse):
            with self.body() as inner:
                self.out.append(ir.Assign(result.name, self.spread(side)))
            bodies.append(tuple(inner))
        self.out.append(ir.If(self.same(e.test), bodies[0], bodies[1], e.loc))
        return result

    def sometimes(self, e: Expr, mask: Expr) -> Expr:
        """An expression that only lanes of a mask evaluate."""
        if is_little(e):
            return self.spread(e)
        return self.under(mask, lambda: self.spread(e), guarded=not self.is_masked(e))

    def is_masked(self, e: Expr) -> bool:
        """Whether all that must not be done for lanes that are off is a load of each lane."""
        return all(
            isinstance(x, ir.Const | Var | ir.Extent)
            or (isinstance(x, Op) and x.op in (*_LITTLE, "truediv", "sqrt"))
            or (isinstance(x, ir.Load) and self.step(x) is None)
            for x in ir.subexpressions(e)
        )

    def load(self, e: ir.Load, t: Vector) -> Expr:
        """An element for each lane."""
        byte = None if e.byte is None else self.index(e.byte)
        view = self.view(e.view)
        indices = tuple(map(self.index, e.indices))
        return ir.Load(view, indices, t, e.loc, byte, self.mask)

    def view(self, v: Var) -> Var:
        """A View, or an array of each lane if that is what it has become."""
        if not isinstance(v.type, ViewTy) or self.known.steps.get(v.name, 0) == 0:
            return v
        return replace(v, type=replace(v.type, lanes=self.lanes))

    def call(self, e: ir.Call) -> Expr:
        """A call of a function in lanes."""
        f = self.forms.program.functions[e.function]
        if f.external is not None:
            return self.in_turn(e, f)
        name, args = self.arguments(e)
        assert isinstance(f.result, Scalar)
        (step,) = self.forms.program.called(e, self.steps_of(e))
        assert step is None
        return ir.Call(name, args, self.vector(f.result), e.loc)

    def arguments(self, e: ir.Call) -> tuple[str, tuple[Expr, ...]]:
        """Name of the form of a function, and what it gets."""
        steps = self.steps_of(e)
        name = self.forms.of(e.function, steps)
        given: list[Expr] = []
        for a, step in zip(e.args, steps, strict=True):
            if isinstance(a, Var) and isinstance(a.type, ViewTy | Pointer):
                given.append(self.view(a))
            else:
                given.append(self.spread(a) if step is None else self.same(a))
        return name, (*given, self.mask)

    # -- one lane after another -----------------------------------------------------------------

    def in_turn(self, e: ir.Call, f: ir.Function) -> Expr:
        """A call for each lane that is on, one after another."""
        values = [self.for_turns(a) for a in e.args]
        assert isinstance(f.result, Scalar)
        result = self.new("got", self.vector(f.result))
        single = self.new("one", f.result)

        def turn(k: Expr) -> Sequence[Stmt]:
            args = tuple(lane(v, k) for v in values)
            call = ir.Assign(single.name, ir.Call(e.function, args, e.type, e.loc))
            return [call, self.put(result, k, single)]

        self.each(turn)
        return result

    def for_turns(self, e: Expr) -> Expr:
        """An expression whose lanes are taken one by one."""
        if isinstance(e, Var) and isinstance(e.type, ViewTy | Pointer):
            if isinstance(e.type, ViewTy) and e.type.shape is not None:
                raise NotVectorised("lanes one after another get private arrays")
            return e
        if self.step(e) == 0:
            return e if isinstance(e, ir.Const) else self.held("given", self.same(e))
        return self.held("given", self.spread(e))

    def put(self, result: Var, k: Expr, value: Expr) -> Stmt:
        """Set one lane of a variable."""
        t = result.type
        assert isinstance(t, Vector)
        spread = Op("broadcast", (value,), t)
        return ir.Assign(result.name, Op("blend", (self.lane_is(k), spread, result), t))

    def each(self, turn: Callable[[Expr], Sequence[Stmt]]) -> None:
        """What `turn` gives for the number of a lane, for each lane that is on."""
        rest = self.held("rest", self.mask)
        k = self.new("lane", INT64)
        first = ir.Assign(k.name, Op("first", (rest,), INDEX))
        off = ir.Assign(rest.name, self.without(rest, self.lane_is(k)))
        self.out.append(ir.While(self.any(rest), (first, *turn(k), off), rolled=True))


def lane(v: Expr, k: Expr) -> Expr:
    """A lane of a vector; what is no vector is the same in all."""
    return Op("lane", (v, k), v.type.lane) if isinstance(v.type, Vector) else v


def is_little(e: Expr) -> bool:
    """Whether an expression takes little time, and may be computed for lanes that are off."""
    inner = ir.subexpressions(e)
    return len(inner) <= 2 * _MOST and all(
        isinstance(x, ir.Const | Var | ir.Extent)
        or (isinstance(x, Op) and x.op in _LITTLE)
        or isinstance(x, ir.Select)
        for x in inner
    )
