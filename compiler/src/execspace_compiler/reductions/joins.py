"""The joins of reducers in IR: the state that each keeps, and how another state is merged.

A join knows the contributions that it takes, its state, and the statements that join. Operations
of sums, products and extremes are `reduce_*`, which printers may reassociate, unlike the user's
own arithmetic. NaN propagates through minima and maxima.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass
from execspace.reducers.builtin import extreme

from .. import ir
from ..ir import Assign, Const, Expr, Op, Select, Stmt, Var
from ..ir.types import BOOL, FLOAT32, Scalar, TupleTy, flat_scalars


@dataclass(frozen=True, slots=True)
class State:
    """One number of a reduction's state."""

    name: str
    type: Scalar
    identity: Const

    @property
    def var(self) -> Var:
        """The accumulator variable."""
        return Var(self.name, self.type)


def constant(value: Any, type: Scalar) -> Const:
    """A number as a constant of a type."""
    return Const(np.asarray(value, type.name).item(), type)


def cast(e: Expr, type: Scalar) -> Expr:
    """The expression converted to another type; to bool: whether it is not zero."""
    assert isinstance(e.type, Scalar)
    if e.type.strong == type:
        return e
    if type == BOOL:
        return Op("ne", (e, Const(0, e.type.strong)), BOOL)
    return Op("cast", (e,), type)


@dataclass(frozen=True, slots=True)
class Partial:
    """Contributions joined in an integer of 32 bits: the operation, and the integer's type."""

    operation: str
    type: Scalar

    def join(self, numbers: Sequence[Expr]) -> Expr:
        """The join of numbers, from the first on."""
        values = [cast(n, self.type) for n in numbers]
        return functools.reduce(lambda a, b: Op(self.operation, (a, b), self.type), values)


class Join(ABC):
    """A join of one reducer.

    Attributes
    ----------
    takes : tuple of Scalar
        Types of the contributions that it takes.
    states : tuple of State
    result : Scalar or TupleTy
        Structure of its value, of strong types; `Reducer.as_result` makes the user's result
        from it.
    functions : tuple of ir.Function
        Those that its statements call.
    """

    takes: tuple[Scalar, ...]
    states: tuple[State, ...]
    result: Scalar | TupleTy
    functions: tuple[ir.Function, ...] = ()

    @property
    def single_use(self) -> bool:
        """Whether `accumulate` uses each contribution once, so that it needs no variable."""
        return False

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanged states are joined to the same bits."""
        return False

    def partial(self, type: Scalar, count: int) -> Partial | None:
        """The exact join of so many contributions of a type in 32 bits, where it is cheaper than to
        join each of them into the state; None if there is none, or nothing to gain."""
        return None

    def lift(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The state of a single contribution; for most joins the contribution itself."""
        return values

    def accumulate(self, values: tuple[Expr, ...]) -> list[Stmt]:
        """Join one contribution into the state."""
        return self.join(self.lift(values))

    @abstractmethod
    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        """Join another state into the state."""

    def value(self) -> tuple[Expr, ...]:
        """The value of the state, before `finish`: the prefix of a scan."""
        return tuple(s.var for s in self.states)

    def finish(self) -> tuple[list[Stmt], tuple[Expr, ...]]:
        """Statements that compute the result from the state, and the result's numbers."""
        return [], self.value()

    def temporaries(self) -> dict[str, Scalar]:
        """Types of the variables that its statements use besides the state."""
        return {}


class Plain(Join):
    """Numbers joined by one operation."""

    def __init__(self, name: str, kind: str, type: Scalar, identity: Any) -> None:
        self.kind = kind
        self.type = self.result = type
        self.takes = (type,)
        self.states = (State(name, type, constant(identity, type)),)

    @property
    def single_use(self) -> bool:
        return True

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        acc = self.states[0]
        return [Assign(acc.name, self.joined(acc.var, others[0]))]

    @property
    def is_symmetric(self) -> bool:
        # Of two zeros or two NaN an extreme is the first one; products of complex numbers are
        # contracted.
        return self.type.kind in "iub" or (
            self.kind == "sum" or (self.kind == "prod" and self.type.kind == "f")
        )

    def partial(self, type: Scalar, count: int) -> Partial | None:
        if type.kind not in "iu" or type.kind != self.type.kind:
            return None
        number = Scalar("int32" if type.kind == "i" else "uint32")
        if self.kind in ("min", "max"):  # processors have those of 32 bits
            return Partial(f"reduce_{self.kind}", number) if type.bits < 32 else None
        if self.kind != "sum" or self.type.bits <= 32:
            return None
        return Partial("add", number) if type.bits + (count - 1).bit_length() <= 32 else None

    @property
    def operation(self) -> str:
        """The operation that joins two numbers."""
        bits = {"band": "bitand", "land": "bitand", "bor": "bitor", "lor": "bitor"}
        if self.type.kind == "b":  # of bools: min is "and", max is "or"
            bits |= {"min": "bitand", "prod": "bitand", "max": "bitor", "sum": "bitor"}
        return bits.get(self.kind, f"reduce_{self.kind}")

    def joined(self, a: Expr, b: Expr) -> Expr:
        """Both numbers joined."""
        return Op(self.operation, (a, b), self.type)


class Widened(Plain):
    """Extremes of float16, kept in float32: few processors compare vectors of float16."""

    def __init__(self, name: str, kind: str, type: Scalar, identity: Any) -> None:
        super().__init__(name, kind, FLOAT32, identity)
        self.result: Scalar = type
        self.takes = (type,)  # which rounds contributions of other types, and once

    def lift(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (cast(values[0], FLOAT32),)

    def value(self) -> tuple[Expr, ...]:
        return (cast(self.states[0].var, self.result),)


class Compensated(Join):
    """A sum and the rounding errors of its additions (Neumaier 1974, by Knuth's two-sum)."""

    def __init__(self, name: str, type: Scalar) -> None:
        self.type = self.result = type
        self.takes = (type,)
        zero = constant(0, type)
        self.states = (State(name, type, zero), State(f"{name}_error", type, zero))
        self.pair = f"{name}_two_sum"
        self.functions = (self._two_sum(), self._rounded())

    def lift(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*values, constant(0, self.type))

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        names = tuple(s.name for s in self.states)
        args = (*self.value_of_states(), *others)
        return [ir.Unpack(names, ir.Call(self.pair, args, self.type))]

    def value_of_states(self) -> tuple[Expr, ...]:
        """Both numbers."""
        return tuple(s.var for s in self.states)

    def value(self) -> tuple[Expr, ...]:
        return (ir.Call(f"{self.pair}_value", self.value_of_states(), self.type),)

    def _variables(self, *names: str) -> list[Var]:
        return [Var(n, self.type) for n in names]

    def _op(self, name: str, a: Expr, b: Expr) -> Expr:
        return Op(name, (a, b), self.type)

    def _two_sum(self) -> ir.Function:
        """(sum, error) of two such pairs; the error of the addition is exact."""
        a, ea, b, eb, s, t = self._variables("a", "ea", "b", "eb", "s", "t")
        rest = self._op(
            "add",
            self._op("sub", a, self._op("sub", s, t)),
            self._op("sub", b, t),
        )
        error = self._op("add", self._op("add", ea, eb), rest)
        body = (
            Assign("s", self._op("add", a, b)),
            Assign("t", self._op("sub", s, a)),
            ir.Return((s, error)),
        )
        result = TupleTy((self.type, self.type))
        own: dict[str, Any] = {"s": self.type, "t": self.type}
        return ir.Function(self.pair, (a, ea, b, eb), result, own, body, strict=True)

    def _rounded(self) -> ir.Function:
        """The sum plus its error; the sum alone if it is infinite or NaN, as the error is then."""
        s, e = self._variables("s", "e")
        finite = Op("eq", (self._op("sub", e, e), constant(0, self.type)), BOOL)
        value = Select(finite, self._op("add", s, e), s, self.type)
        return ir.Function(
            f"{self.pair}_value", (s, e), self.type, {}, (ir.Return(value),), strict=True
        )


class Located(Join):
    """An extreme value with its location; for equal values, the first or the last location.

    Parameters
    ----------
    name : str
        Prefix of its variables' names.
    order : str
        "lt" for the least value, "gt" for the greatest.
    value : Scalar or None
        Type of the value; None: the location alone decides.
    place : Scalar or TupleTy of them
        Type of the location.
    last : bool
    """

    def __init__(
        self, name: str, order: str, value: Scalar | None, place: Scalar | TupleTy, last: bool
    ) -> None:
        self.name, self.order, self.place = name, order, place
        self.later = "gt" if last else "lt"
        self.values = () if value is None else (value,)
        self.takes = (*self.values, *flat_scalars(place))
        self.result = place if value is None else TupleTy((value, place), ("val", "loc"))
        worst = [extreme("", t.name, 1 if order == "lt" else -1) for t in self.values]
        beyond = [extreme("", t.name, -1 if last else 1) for t in self.takes[len(worst) :]]
        self.states = tuple(
            State(f"{name}{n}", t, constant(v, t))
            for n, (t, v) in enumerate(zip(self.takes, [*worst, *beyond], strict=True))
        )

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        # Branches, not selects: most values are worse, so the branches are predicted well, while a
        # chain of selects would make each value depend on the one before.
        mine = tuple(s.var for s in self.states)
        take = tuple(Assign(s.name, b) for s, b in zip(self.states, others, strict=True))
        skip = len(self.values)
        nearer = self._before(others[skip:], mine[skip:])
        if not self.values:
            return [ir.If(nearer, take)]
        a, b = mine[0], others[0]
        worse = _compare("gt" if self.order == "lt" else "lt", b, a)
        equal: Stmt = ir.If(nearer, take)
        if self.values[0].is_float:
            mine_is_number = _compare("eq", a, a)
            nan = _both(_compare("ne", b, b), _either(mine_is_number, nearer))
            equal = ir.If(_compare("eq", b, a), (equal,), (ir.If(nan, take),))
        better = ir.If(_compare(self.order, b, a), take, (equal,))
        return [ir.If(Op("not", (worse,), BOOL), (better,), rare=True)]

    def _before(self, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
        """Lexicographic order of locations."""
        found = _compare(self.later, a[-1], b[-1])
        for x, y in zip(a[-2::-1], b[-2::-1], strict=True):
            same = _both(_compare("eq", x, y), found)
            found = _either(_compare(self.later, x, y), same)
        return found


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    return Op(op, (a, b), BOOL)


def _both(a: Expr, b: Expr) -> Expr:
    return Op("bitand", (a, b), BOOL)


def _either(a: Expr, b: Expr) -> Expr:
    return Op("bitor", (a, b), BOOL)


class Where(Join):
    """A location that counts only where a condition, the first contribution, is true or false."""

    def __init__(self, inner: Located, condition: bool) -> None:
        self.inner, self.condition = inner, condition
        self.takes = (BOOL, *inner.takes)
        self.states, self.result = inner.states, inner.result

    def lift(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        test, *places = values
        if not self.condition:
            test = Op("not", (test,), BOOL)
        pairs = zip(self.states, places, strict=True)
        return tuple(Select(test, p, s.identity, s.type) for s, p in pairs)

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        # The comparison of locations uses each selected value several times.
        held = [Var(f"{s.name}_other", s.type) for s in self.states]
        pairs = zip(held, others, strict=True)
        return [*(Assign(h.name, o) for h, o in pairs), *self.inner.join(tuple(held))]

    def temporaries(self) -> dict[str, Scalar]:
        own = {f"{s.name}_other": s.type for s in self.states}
        return {**self.inner.temporaries(), **own}


class Several(Join):
    """Several joins of the same contributions, such as a minimum and a maximum.

    `order` lists which numbers of the joins, concatenated, make up the value.
    """

    def __init__(self, joins: tuple[Join, ...], result: TupleTy, order: tuple[int, ...]) -> None:
        self.joins, self.result, self.order = joins, result, order
        self.takes = joins[0].takes
        self.states = tuple(s for j in joins for s in j.states)

    def lift(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(e for j in self.joins for e in j.lift(values))

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        rest = iter(others)
        return [s for j in self.joins for s in j.join(_take(rest, len(j.states)))]

    def value(self) -> tuple[Expr, ...]:
        numbers = [e for j in self.joins for e in j.value()]
        return tuple(numbers[n] for n in self.order)

    def temporaries(self) -> dict[str, Scalar]:
        return {n: t for j in self.joins for n, t in j.temporaries().items()}


def _take(rest: Iterator[Expr], count: int) -> tuple[Expr, ...]:
    return tuple(next(rest) for _ in range(count))


class Compiled(Join):
    """A user's own join, and perhaps final, as functions of the module."""

    def __init__(
        self,
        states: tuple[State, ...],
        value: Scalar | TupleTy,
        join: str,
        final: tuple[str, Scalar | TupleTy, tuple[Scalar, ...]] | None,
    ) -> None:
        self.states, self.structure = states, value
        self.takes = tuple(s.type for s in states)
        self.function, self.last = join, final
        self.result = value if final is None else final[1]

    def join(self, others: tuple[Expr, ...]) -> list[Stmt]:
        args = (*(s.var for s in self.states), *others)
        names = tuple(s.name for s in self.states)
        return [assigned(names, ir.Call(self.function, args, self.states[0].type))]

    def joined(self, a: Expr, b: Expr) -> Expr:
        """The join of two numbers, for the elements of arrays."""
        return ir.Call(self.function, (a, b), self.states[0].type)

    def finish(self) -> tuple[list[Stmt], tuple[Expr, ...]]:
        if self.last is None:
            return [], self.value()
        name, _, numbers = self.last
        results = tuple(Var(f"{self.states[0].name}_final{n}", t) for n, t in enumerate(numbers))
        call = ir.Call(name, tuple(s.var for s in self.states), numbers[0])
        return [assigned(tuple(v.name for v in results), call)], results

    def temporaries(self) -> dict[str, Scalar]:
        numbers = () if self.last is None else self.last[2]
        return {f"{self.states[0].name}_final{n}": t for n, t in enumerate(numbers)}


def assigned(names: tuple[str, ...], call: ir.Call) -> Stmt:
    """A statement that calls a function and sets a variable for each number that it returns."""
    return Assign(names[0], call) if len(names) == 1 else ir.Unpack(names, call)
