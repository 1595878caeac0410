"""Reductions from reducers: the joins for the type that a kernel returns, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from execspace import Capture, DTypeError, LaunchError, Reducer
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
from ..ir import Var
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
    Plain,
    Several,
    State,
    Where,
    Widened,
    assigned,
    cast,
    constant,
)
from .reduction import Reduction


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
        except LaunchError as error:  # of a reducer of execspace, which says what it takes
            raise self._fault(str(error).rstrip("."), "return that") from None
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
        called = assigned(tuple(v.name for v in found), call)
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
