"""Reductions in IR: the joins of all reducers of a launch, and how contributions are joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from execspace import Capture, DTypeError, Reducer
from execspace.base.dataclass import dataclass
from execspace.base.storage_types import format_of
from execspace.contract.dtypes import as_dtype
from execspace.kernels.captures import Scope
from execspace.reducers.builtin import (
    Locating,
    MinMaxLocScalar,
    StdIsPartScalar,
    ValLocScalar,
    extreme,
)

from .. import ir
from ..ir import Assign, Expr, Stmt, Var
from ..ir.diagnostics import Fault, Loc, counted, type_fault
from ..ir.structures import described, dtype_names, same_structure, strong, structure
from ..ir.types import (
    BOOL,
    FLOAT64,
    INT64,
    PromotionError,
    Scalar,
    Signature,
    TupleTy,
    Type,
    ViewTy,
    flat_scalars,
    promote,
    python_type,
)
from .joins import (
    Compensated,
    Compiled,
    Join,
    Located,
    Partial,
    Plain,
    Several,
    State,
    Where,
    Widened,
    cast,
    constant,
)

ARRAY = "_row"  # the array of an array reduction


@dataclass(frozen=True)
class Reduction:
    """The reducers of a launch, for the type that its kernel returns.

    Attributes
    ----------
    joins : tuple of Join
        One for each reducer.
    contributions : tuple of Scalar
        The kernel's results, tuples flattened; empty for an array reduction.
    several : bool
        The launch has a tuple of reducers.
    array : ViewTy or None
        Type of the array of an array reduction; `joins` then joins its elements.
    names : str
        Prefix of its variables' names: those of nested reductions must differ.
    """

    joins: tuple[Join, ...]
    contributions: tuple[Scalar, ...]
    several: bool = False
    array: ViewTy | None = None
    names: str = ""

    @property
    def states(self) -> tuple[State, ...]:
        """The state of all joins."""
        return tuple(s for j in self.joins for s in j.states)

    @property
    def functions(self) -> tuple[ir.Function, ...]:
        """Functions that the statements call and that must be added to the module."""
        return tuple(f for j in self.joins for f in j.functions)

    @property
    def value(self) -> Scalar | TupleTy:
        """Structure of the joined value before `finish`: of a scan's prefix."""
        found = tuple(j.structure if isinstance(j, Compiled) else j.result for j in self.joins)
        return TupleTy(found) if self.several else found[0]

    @property
    def result(self) -> Any:
        """Names of the result's dtypes, nested as the result is."""
        found = tuple(dtype_names(j.result) for j in self.joins)
        return found if self.several else found[0]

    def reset(self) -> list[Stmt]:
        """Set the state to the identity."""
        return [Assign(s.name, s.identity) for s in self.states]

    def accumulate(self, call: ir.Call) -> list[Stmt]:
        """Call the kernel and join what it returns into the state."""
        if self.single_use:
            return self.join_number(call)
        names = tuple(f"{self.names}_v{n}" for n in range(len(self.contributions)))
        called: Stmt = Assign(names[0], call) if len(names) == 1 else ir.Unpack(names, call)
        return [called, *self.join_contributions()]

    @property
    def single_use(self) -> bool:
        """Whether there is one contribution, which the join uses once and so needs no variable."""
        return len(self.contributions) == 1 and all(j.single_use for j in self.joins)

    def partial(self, count: int) -> Partial | None:
        """As `Join.partial`, of a reduction with a single contribution."""
        if len(self.joins) != 1 or len(self.contributions) != 1:
            return None
        return self.joins[0].partial(self.contributions[0], count)

    def join_number(self, number: Expr) -> list[Stmt]:
        """Join a number into the state, if `single_use`."""
        (join,) = self.joins
        return join.accumulate((cast(number, join.takes[0]),))

    def join_contributions(self) -> list[Stmt]:
        """Join the contributions in the variables `_v0`, `_v1` and so on."""
        out: list[Stmt] = []
        rest = iter(range(len(self.contributions)))
        for join in self.joins:
            values: list[Expr] = []
            for wanted, n in zip(join.takes, rest, strict=False):
                value = cast(Var(f"{self.names}_v{n}", self.contributions[n]), wanted)
                if not isinstance(value, Var):
                    out.append(Assign(f"{self.names}_w{n}", value))
                    value = Var(f"{self.names}_w{n}", wanted)
                values.append(value)
            out += join.accumulate(tuple(values))
        return out

    def merge(self, others: tuple[Expr, ...]) -> list[Stmt]:
        """Join another state into the state."""
        if len(others) == 1:
            return self.joins[0].join(others)
        held = [Var(f"{self.names}_m{n}", s.type) for n, s in enumerate(self.states)]
        out: list[Stmt] = [Assign(h.name, o) for h, o in zip(held, others, strict=True)]
        rest = iter(held)
        for join in self.joins:
            out += join.join(tuple(next(rest) for _ in join.states))
        return out

    def prefix(self) -> tuple[Expr, ...]:
        """The value joined so far."""
        return tuple(e for j in self.joins for e in j.value())

    def finish(self) -> tuple[list[Stmt], tuple[Expr, ...]]:
        """Statements that compute the result, and the result's numbers."""
        statements: list[Stmt] = []
        numbers: list[Expr] = []
        for join in self.joins:
            more, values = join.finish()
            statements += more
            numbers += values
        return statements, tuple(numbers)

    def accumulate_function(self, name: str) -> ir.Function:
        """A function of the state and a contribution that returns the state with both joined."""
        given = [Var(f"{self.names}_v{n}", t) for n, t in enumerate(self.contributions)]
        parameters = (*(s.var for s in self.states), *given)
        body = (*self.join_contributions(), returned(tuple(s.var for s in self.states)))
        return self._function(name, parameters, body)

    def prefix_function(self, name: str) -> ir.Function:
        """A function that returns the value of a state."""
        parameters = tuple(s.var for s in self.states)
        return self._function(name, parameters, (returned(self.prefix()),))

    def merge_function(self, name: str) -> ir.Function:
        """A function that joins two states, the first of which precedes the second."""
        others = tuple(Var(f"{s.name}_b", s.type) for s in self.states)
        parameters = (*(s.var for s in self.states), *others)
        body = (*self.merge(others), returned(tuple(s.var for s in self.states)))
        return self._function(name, parameters, body)

    def result_function(self, name: str) -> ir.Function:
        """A function that returns the result of a state."""
        statements, numbers = self.finish()
        parameters = tuple(s.var for s in self.states)
        return self._function(name, parameters, (*statements, returned(numbers)))

    def _function(
        self, name: str, parameters: tuple[Var, ...], body: tuple[Stmt, ...]
    ) -> ir.Function:
        own = {p.name for p in parameters}
        types: dict[str, Scalar | ViewTy] = {n: t for n, t in self.locals().items() if n not in own}
        last = body[-1]
        assert isinstance(last, ir.Return) and last.value is not None
        numbers = last.value if isinstance(last.value, tuple) else (last.value,)
        return ir.Function(name, parameters, returned_type(numbers), types, body)

    def locals(self) -> dict[str, Scalar]:
        """Types of the variables that these statements use."""
        found = {s.name: s.type for s in self.states}
        found |= {f"{self.names}_m{n}": s.type for n, s in enumerate(self.states)}
        taken = [t for j in self.joins for t in j.takes]
        for n, (given, wanted) in enumerate(zip(self.contributions, taken, strict=False)):
            found |= {f"{self.names}_v{n}": given, f"{self.names}_w{n}": wanted}
        for join in self.joins:
            found |= join.temporaries()
        return found


def returned(numbers: tuple[Expr, ...]) -> Stmt:
    """A statement that returns numbers."""
    return ir.Return(numbers[0] if len(numbers) == 1 else numbers)


def returned_type(numbers: tuple[Expr, ...]) -> Scalar | TupleTy:
    """Type of a function that returns numbers."""
    types = tuple(e.type for e in numbers)
    found = types[0] if len(types) == 1 else TupleTy(types)
    assert isinstance(found, Scalar | TupleTy)
    return found


# -- building a Reduction ---------------------------------------------------------------------


class Functions(Protocol):
    """Collects the functions of a launch."""

    functions: list[ir.Function]

    def name(self, wanted: str) -> str:
        """A function name that is not in use."""

    def of_reducer(
        self,
        scope: Scope,
        captures: Mapping[str, Capture],
        full: str,
        types: tuple[Type, ...],
        loc: Loc,
    ) -> tuple[Signature, Loc]:
        """Type a method of a user's own reducer; returns its signature and location."""


@dataclass(frozen=True)
class ReductionBuilder:
    """Builds the Reduction of a launch.

    Attributes
    ----------
    module : Functions
        Receives the functions of a user's own reducers.
    captures : mapping
        Captures of the launch, by name.
    loc : Loc
        Location of the kernel, for faults.
    prefix : str
        Prefix of variables' names.
    """

    module: Functions
    captures: Mapping[str, Capture]
    loc: Loc
    prefix: str = ""

    def reduction(self, reducer: Reducer | tuple[Reducer, ...], returned: Type) -> Reduction:
        """The Reduction of reducers for the type that a kernel returns.

        Raises
        ------
        Fault
            If they do not fit.
        """
        given = strong(returned)
        contributions = flat_scalars(given)
        if isinstance(reducer, Reducer):
            return Reduction((self._join(reducer, 0, given),), contributions, names=self.prefix)
        if not isinstance(given, TupleTy) or len(given.items) != len(reducer):
            raise self._fault(
                f"this kernel returns {described(given)}, but the launch has a tuple of "
                f"{counted(len(reducer), 'reducer')}",
                "return a tuple with one contribution for each reducer",
            )
        pairs = zip(reducer, given.items, strict=True)
        joins = tuple(self._join(r, n, t) for n, (r, t) in enumerate(pairs))
        return Reduction(joins, contributions, several=True, names=self.prefix)

    def guess(self, reducer: Reducer | tuple[Reducer, ...], rank: int) -> Type:
        """Type of a scan's prefix while the type that the kernel returns is not known yet.

        A location is assumed to be the index, or the tuple of indices.
        """
        if isinstance(reducer, tuple):
            return TupleTy(tuple(self.guess(r, rank) for r in reducer))
        if reducer.kind == "custom":
            try:
                return strong(structure(reducer.identity_for("float64"))[0])
            except (TypeError, ValueError):
                return INT64
        place = INT64 if rank == 1 else TupleTy((INT64,) * rank)
        if isinstance(reducer, Locating):
            several = len(reducer.keeps) > 1
            if reducer.conditions:
                return TupleTy((place, place), StdIsPartScalar._fields) if several else place
            if several:
                return TupleTy((INT64, INT64, place, place), MinMaxLocScalar._fields)
            return TupleTy((INT64, place), ValLocScalar._fields)
        if reducer.kind == "minmax":
            return TupleTy((INT64, INT64), ("min_val", "max_val"))
        return BOOL if reducer.kind in ("land", "lor") else Scalar(str(reducer.dtype or "int64"))

    def array_type(self, reducer: Reducer) -> ViewTy:
        """Type of the array that an array reduction joins."""
        shape = reducer.array_shape
        assert shape is not None
        element = FLOAT64
        if reducer.dtype is not None:
            element = self._dtype_of(reducer)
        elif reducer.kind in ("land", "lor"):
            element = BOOL
        elif reducer.kind in ("band", "bor"):
            element = INT64
        elif reducer.kind == "custom":
            element = python_type(reducer.identity_for("float64")).strong
        return ViewTy(element, len(shape), "right", len(shape) - 1, False, shape)

    def array_reduction(self, reducer: Reducer) -> Reduction:
        """The Reduction of an array."""
        type = self.array_type(reducer)
        assert isinstance(type.element, Scalar)
        join = self._join(reducer, 0, type.element, in_array=True)
        if len(join.states) != 1 or join.states[0].type != type.element:
            raise self._fault(
                f"reducer {reducer.name} joins {type.element} to {described(join.result)}",
                "the elements of an array are joined to numbers of the same type",
            )
        return Reduction((join,), (), array=type)

    def _fault(self, message: str, hint: str) -> Fault:
        return type_fault(self.loc, message, hint)

    def _join(self, reducer: Reducer, n: int, given: Type, in_array: bool = False) -> Join:
        name = f"{self.prefix}_acc{n}" if n else f"{self.prefix}_acc"
        if reducer.kind == "custom":
            return self._compiled(reducer, n, name, given)
        try:
            if isinstance(reducer, Locating):
                return self._located(reducer, name, given)
            return self._plain(reducer, name, given, in_array)
        except DTypeError as error:
            raise self._fault(
                f"this kernel returns {described(given)}: {error}".rstrip("."),
                "return another type, or give another reducer to parallel_reduce",
            ) from None

    # -- built-in reducers ----------------------------------------------------------------------

    def _plain(self, reducer: Any, name: str, given: Type, in_array: bool) -> Join:
        if not isinstance(given, Scalar):
            raise self._fault(
                f"this kernel returns {described(given)}, but {reducer.name} joins numbers",
                "return one number, or give a tuple with a reducer for each item",
            )
        type = Scalar(reducer.accumulator(given.name))
        if given.kind == "c" and type.kind != "c" and type != BOOL:
            raise DTypeError(f"{reducer.name} of complex contributions cannot give {type}.")
        extremes = Widened if type.name == "float16" and not in_array else Plain
        if reducer.kind == "minmax":
            least = extremes(f"{name}_min", "min", type, _extreme(reducer, type, 1))
            greatest = extremes(f"{name}_max", "max", type, _extreme(reducer, type, -1))
            result = TupleTy((type, type), ("min_val", "max_val"))
            return Several((least, greatest), result, (0, 1))
        if reducer.kind not in ("sum", "prod", "min", "max", "land", "lor", "band", "bor"):
            raise DTypeError(f"reducer {reducer.name!r} cannot be compiled.")
        if reducer.kind == "sum" and reducer.accuracy == "high" and type.kind in "fc":
            return Compensated(name, type)
        made = extremes if reducer.kind in ("min", "max") else Plain
        return made(name, reducer.kind, type, reducer.identity(type.name))

    def _located(self, reducer: Locating, name: str, given: Type) -> Join:
        first = "condition" if reducer.conditions else "value"
        items = given.items if isinstance(given, TupleTy) else ()
        value, place = items if len(items) == 2 else (None, None)
        places = flat_scalars(place)
        nested = isinstance(place, TupleTy) and len(places) != len(place.items)
        if not isinstance(value, Scalar) or not places or nested:
            raise self._fault(
                f"this kernel returns {described(given)}, but {reducer.name} takes a {first} and "
                f"a location",
                f"return ({first}, i), or ({first}, (i, j)) for more indices than one",
            )
        assert isinstance(place, Scalar | TupleTy)
        for t in places:
            if t.kind not in "biuf":
                raise DTypeError(f"{reducer.name} cannot order locations of {t}.")
        if reducer.conditions:
            made = tuple(
                Where(Located(f"{name}_{k}", "lt", None, place, kept.last), kept.greatest)
                for k, kept in enumerate(reducer.keeps)
            )
            if len(made) == 1:
                return made[0]
            numbers = len(places)
            both = TupleTy((place, place), StdIsPartScalar._fields)
            return Several(made, both, tuple(range(2 * numbers)))
        type = Scalar(reducer.accumulator(value.name))
        _extreme(reducer, type, 1)  # refuses complex numbers
        found = tuple(
            Located(f"{name}_{order}", order, type, place, last)
            for order, last in (("gt" if k.greatest else "lt", k.last) for k in reducer.keeps)
        )
        if len(found) == 1:
            return found[0]
        k = 1 + len(places)
        result = TupleTy((type, type, place, place), MinMaxLocScalar._fields)
        return Several(found, result, (0, k, *range(1, k), *range(k + 1, 2 * k)))

    # -- a user's own ---------------------------------------------------------------------------

    def _compiled(self, reducer: Reducer, n: int, name: str, given: Type) -> Compiled:
        names = dtype_names(given)
        try:
            identity, numbers, fixed = structure(reducer.identity_for(names))
        except TypeError as error:
            message = f"the identity of {reducer.name} {error}, expected a number or a tuple"
            raise self._fault(message, _IDENTITY_HINT) from None
        type = self._unified(reducer, given, identity, fixed)
        if reducer.dtype is not None:
            type, fixed = self._asked(reducer, type), True
        while True:  # terminates: the types of the items only grow
            signature, loc = self._helper(reducer, n, "join", (type, type))
            if signature.result is None or not same_structure(signature.result, type):
                got = "nothing" if signature.result is None else described(signature.result)
                raise type_fault(
                    loc,
                    f"join of {reducer.name} returns {got}, expected {described(type)}",
                    "return the joined value; what join is given are values, which it cannot "
                    "change in place",
                ).called(self.loc)
            wider = type if fixed else self._promoted(reducer, type, strong(signature.result))
            if wider == type:
                break
            type = wider
        types = flat_scalars(type)
        pairs = zip(types, numbers, strict=True)
        states = tuple(
            State(f"{name}_{k}", t, self._identity(reducer, v, t)) for k, (t, v) in enumerate(pairs)
        )
        assert isinstance(type, Scalar | TupleTy)
        final = None
        if reducer.has("final"):
            last, loc = self._helper(reducer, n, "final", (type,))
            if last.result is None:
                message = f"final of {reducer.name} returns nothing"
                raise type_fault(loc, message, "return the result").called(self.loc)
            result = strong(last.result)
            assert isinstance(result, Scalar | TupleTy)
            final = (last.name, result, tuple(t.strong for t in last.results()))
        join = signature.name
        if tuple(t.strong for t in signature.results()) != types:
            join = self._casting(signature, types)
        return Compiled(states, type, join, final)

    def _dtype_of(self, reducer: Reducer) -> Scalar:
        """The type that a reducer names."""
        dtype = as_dtype(reducer.dtype)
        if format_of(dtype) is not None:
            raise self._fault(
                f"reducer {reducer.name} has the dtype {dtype.name}, in which nothing is computed",
                "give it float32, and store the result in elements of that type afterwards",
            )
        return Scalar(dtype.name)

    def _asked(self, reducer: Reducer, found: Type) -> Type:
        """The type that a reducer's `dtype` asks for."""
        wanted = self._dtype_of(reducer)
        if not isinstance(found, Scalar):
            raise self._fault(
                f"reducer {reducer.name} has a dtype, {wanted}, but joins {described(found)}",
                "leave out the dtype; the types of tuples, arrays and records are those of the "
                "identity",
            )
        if found.kind == "c" and wanted.kind != "c":
            raise self._fault(
                f"reducer {reducer.name} has the dtype {wanted}, but joins {found}",
                "return a real number, or give the reducer a complex dtype",
            )
        return wanted

    def _identity(self, reducer: Reducer, value: Any, type: Scalar) -> ir.Const:
        try:
            return constant(value, type)
        except OverflowError:
            raise self._fault(
                f"the identity of {reducer.name} is {value}, which {type}, the type of the "
                f"contributions, cannot hold",
                "cast the contributions to a wider type, or give the reducer a dtype",
            ) from None

    def _casting(self, join: Signature, types: tuple[Scalar, ...]) -> str:
        """A function that casts the results of a join to the types of the state."""
        name = self.module.name(f"{join.name}_cast")
        parameters = tuple(Var(f"a{n}", t) for n, t in enumerate((*types, *types)))
        given = tuple(t.strong for t in join.results())
        found = tuple(Var(f"r{n}", t) for n, t in enumerate(given))
        call = ir.Call(join.name, parameters, given[0])
        called: Stmt = Assign("r0", call)
        if len(found) > 1:
            called = ir.Unpack(tuple(v.name for v in found), call)
        results = tuple(cast(v, t) for v, t in zip(found, types, strict=True))
        single = len(results) == 1
        self.module.functions.append(
            ir.Function(
                name, parameters, types[0] if single else TupleTy(types),
                {v.name: t for v, t in zip(found, given, strict=True)},
                (called, ir.Return(results[0] if single else results)),
            )
        )  # fmt: skip
        return name

    def _helper(
        self, reducer: Reducer, n: int, which: str, types: tuple[Type, ...]
    ) -> tuple[Signature, Loc]:
        full = f"{n} {which}"
        scope = self.captures[full].value
        assert isinstance(scope, Scope)
        signature, loc = self.module.of_reducer(scope, self.captures, full, types, self.loc)
        if signature.effects or signature.fails:
            what = "contains an assert" if signature.fails else "stores into a View or prints"
            message = f"{which} of {reducer.name} {what}"
            hint = f"{which} may only compute what it returns"
            raise type_fault(loc, message, hint).called(self.loc)
        return signature, loc

    def _unified(self, reducer: Reducer, given: Type, identity: Type, fixed: bool) -> Type:
        """Type of the state, from those of the contribution and the identity."""
        if not same_structure(given, identity):
            raise self._fault(
                f"this kernel returns {described(given)}, but the identity of {reducer.name} is "
                f"{described(strong(identity))}",
                "return a contribution of the structure that the identity has",
            )
        if _classes(given) - _classes(identity):
            raise self._fault(
                f"this kernel returns {described(given)}, but the identity of {reducer.name} is "
                f"{described(strong(identity))}",
                "make the identity a record of that class",
            )
        if not fixed:
            return self._promoted(reducer, given, identity)
        for a, b in zip(flat_scalars(given), flat_scalars(identity), strict=True):
            if not np.can_cast(a.name, b.name, "same_kind"):
                raise self._fault(
                    f"this kernel returns {a} where the identity of {reducer.name} has {b}",
                    f"cast it, or make the dtype of the identity hold {a}",
                )
        return identity

    def _promoted(self, reducer: Reducer, a: Type, b: Type) -> Type:
        if isinstance(a, TupleTy) and isinstance(b, TupleTy):
            pairs = zip(a.items, b.items, strict=True)
            items = tuple(self._promoted(reducer, x, y) for x, y in pairs)
            return b.of(items) if b.names else a.of(items)
        assert isinstance(a, Scalar) and isinstance(b, Scalar)
        try:
            return promote(a, b).strong
        except PromotionError as error:
            raise self._fault(
                f"{reducer.name} cannot join {a} and {b}: {error}", error.hint
            ) from None


_IDENTITY_HINT = "an identity is a number, a tuple, a NumPy array or a record of numbers"


def _extreme(reducer: Reducer, type: Scalar, sign: int) -> Any:
    return extreme(reducer.name, type.name, sign)


def _classes(type: Type) -> set[Any]:
    """The classes of records in a type, with the places where they are."""
    if not isinstance(type, TupleTy):
        return set()
    inner = {(n, *found) for n, t in enumerate(type.items) for found in _classes(t)}
    return inner | ({(type.own,)} if type.own is not None else set())
