"""What reducers join, in plain Python: for kernels that are called directly with a `TeamMember`,
and for what several reductions gave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from math import prod
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError
from ..base.subclasses import fields_of
from ..contract.argtypes import SCALAR_TYPES, ScalarType, plain_number
from ..contract.dtypes import as_dtype
from .base import Reducer, as_reducer, flattened, with_classes
from .builtin import Kept, Locating, extreme


class Total(ABC):
    """What contributions join to so far."""

    def __init__(self, who: str, reducer: Reducer) -> None:
        self.who, self.reducer = who, reducer

    @abstractmethod
    def expect(self, contribution: Any) -> None:
        """Take note of the type of a contribution; LaunchError if it does not fit."""

    @abstractmethod
    def add(self, contribution: Any) -> None:
        """Join a contribution."""

    @abstractmethod
    def value(self) -> Any:
        """The value so far, which is a scan's prefix; the identity at first."""

    def result(self) -> Any:
        """What the user gets."""
        return self.value()

    def refused(self, wanted: str, got: Any) -> LaunchError:
        """The error for a contribution that does not fit."""
        return LaunchError(f"{self.who}: {self.reducer.name} joins {wanted}; got {brief(got)}.")


def total_of(who: str, reducer: Any) -> Total:
    """The empty Total of what stands in `reducer=`; LaunchError for an array reduction."""
    found = as_reducer(reducer)
    if isinstance(found, tuple):
        return _Several(who, tuple(total_of(who, r) for r in found))
    if found.shape is not None:
        raise LaunchError(
            f"{who}: {found.name}(shape=...) is an array reduction, which teams do not have; give "
            f"a tuple of reducers."
        )
    if isinstance(found, Locating):
        return _Locating(who, found)
    if found.kind == "custom":
        return _Custom(who, found)
    if getattr(found, "accuracy", "normal") == "high":
        return _Accurate(who, found)
    return _Numbers(who, found)


def joined(reducer: Any, results: Sequence[Any]) -> Any:
    """What reductions over parts of a range come to, joined in the order of the parts.

    Parameters
    ----------
    reducer : Reducer, class, name, or tuple of them
        Of all of them.
    results : sequence
        What `parallel_reduce` gave for each part with `without_final(reducer)`, at least one.

    Returns
    -------
    number, tuple or numpy.ndarray
        As `parallel_reduce` would give for the whole range, but for the order of rounding.
    """
    found = as_reducer(reducer)
    if isinstance(found, tuple):
        parts = zip(found, zip(*results, strict=True), strict=True)
        return tuple(joined(one, values) for one, values in parts)
    if found.shape is not None:
        return _joined_arrays(found, results)
    total = total_of("joined", found)
    wide = found.kind in _EXACT and _exceeds(_EXACT[found.kind], results)
    for result in results:
        for contribution in _contributions(found, result):
            total.add(np.uint64(contribution) if wide else _sized(contribution))
    return _plain(total.result())


def without_final(reducer: Any) -> Any:
    """A reducer that joins alike and leaves out the last step, `final`."""
    found = as_reducer(reducer)
    if isinstance(found, tuple):
        return tuple(map(without_final, found))
    if not found.has("final"):
        return found
    kind = type(found)
    made = copy(found)
    made.__class__ = type(kind.__name__, (kind,), {"final": None, "__module__": kind.__module__})
    return made


def _contributions(reducer: Any, result: Any) -> Iterator[Any]:
    """What a kernel would return so that the reduction comes to a result."""
    kind = reducer.kind
    if kind == "minmax":
        yield from result
    elif kind in ("minmaxloc", "minmaxfirstlastloc"):
        yield result[0], result[2]
        yield result[1], result[3]
    elif kind in ("firstloc", "lastloc"):
        yield True, result
    elif kind == "stdispartitioned":
        yield True, result[0]
        yield False, result[1]
    elif kind == "stdpartitionpoint":
        yield False, result
    elif isinstance(result, np.ndarray):  # of an identity that is an array
        yield tuple(result.reshape(-1).tolist())
    elif isinstance(result, np.void):
        yield result.item()
    else:
        yield result


_EXACT: dict[str, Callable[[Sequence[int]], int]] = {"sum": sum, "prod": prod}


def _exceeds(exact: Callable[[Sequence[int]], int], results: Sequence[Any]) -> bool:
    """Whether integers that are not negative come to more than int64 holds. Python's integers do
    not tell that they were uint64, and of int64 it would have been an overflow."""
    if any(type(result) is not int or result < 0 for result in results):
        return False
    return exact(results) >= 2**63


def _sized(value: Any) -> Any:
    """Python's integers beyond int64 as the uint64 that they were."""
    if isinstance(value, tuple):
        items = map(_sized, value)
        return type(value)(*items) if fields_of(value) else tuple(items)
    return np.uint64(value) if type(value) is int and value >= 2**63 else value


def _joined_arrays(reducer: Reducer, results: Sequence[Any]) -> Any:
    total = np.array(results[0])
    at_once = _JOINS.get(reducer.kind)
    scope = None if at_once else reducer.scope("join")
    for result in results[1:]:
        with np.errstate(all="ignore"):
            if at_once is not None:
                total = at_once[0](total, result).astype(total.dtype)
            elif scope is not None:
                for at in np.ndindex(total.shape):
                    total[at] = scope.fn(*scope.bound.values(), total[at], result[at])
    return total


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, also in tuples."""
    if isinstance(value, tuple):
        items = map(_plain, value)
        return type(value)(*items) if fields_of(value) else tuple(items)
    return value.item() if isinstance(value, np.generic) and value.dtype.fields is None else value


def _type_of(value: Any) -> ScalarType | None:
    """Type of a number; None for all else."""
    if type(value) not in SCALAR_TYPES and isinstance(value, bool | int | float | complex):
        value = plain_number(value)
    return SCALAR_TYPES.get(type(value))


def _promoted(a: ScalarType | None, b: ScalarType) -> ScalarType:
    """The type that holds numbers of both, Python's own numbers being weak."""
    if a is not None and a.weak != b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if _KINDS[np.dtype(weak.dtype).kind] <= _KINDS[np.dtype(strong.dtype).kind]:
            return strong
    if a is None or a is b:
        return b
    return ScalarType(np.result_type(a.dtype, b.dtype).name, a.weak and b.weak)


_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _type_names(value: Any) -> Any:
    """Names of the dtypes of numbers, in nested tuples as they are."""
    if isinstance(value, tuple):
        return tuple(map(_type_names, value))
    found = _type_of(value)
    assert found is not None
    return found.dtype


_JOINS: dict[str, tuple[Callable[[Any, Any], Any], ...]] = {
    "sum": (np.add,), "prod": (np.multiply,), "min": (np.minimum,), "max": (np.maximum,),
    "land": (np.logical_and,), "lor": (np.logical_or,), "band": (np.bitwise_and,),
    "bor": (np.bitwise_or,), "minmax": (np.minimum, np.maximum),
}  # fmt: skip
_OF_NOTHING = dict.fromkeys(("min", "max", "minmax"), "float64")  # of all else int64


class _Numbers(Total):
    """Joins of numbers that NumPy has a function for."""

    def __init__(self, who: str, reducer: Any) -> None:
        super().__init__(who, reducer)
        self.given: ScalarType | None = None
        self.state: tuple[Any, ...] | None = None

    def expect(self, contribution: Any) -> None:
        type = _type_of(contribution)
        if type is None:
            raise self.refused("numbers", contribution)
        self.given = _promoted(self.given, type)
        if np.iscomplexobj(contribution) and self.dtype.kind not in "cb":
            raise DTypeError(
                f"{self.who}: {self.reducer.name} of complex contributions cannot give "
                f"{self.dtype}."
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """In which numbers are joined."""
        reducer: Any = self.reducer
        nothing = _OF_NOTHING.get(reducer.kind, "int64")
        given = nothing if self.given is None else self.given.dtype
        return np.dtype(str(reducer.accumulator(given)))

    def add(self, contribution: Any) -> None:
        self.expect(contribution)
        joins = _JOINS[self.reducer.kind]
        with np.errstate(all="ignore"):  # compiled kernels do not warn either
            number = self._cast(contribution)
            pairs = zip(joins, self._numbers(), strict=True)
            self.state = tuple(join(mine, number) for join, mine in pairs)

    def _cast(self, contribution: Any) -> Any:
        type = _type_of(contribution)
        assert type is not None
        return self.dtype.type(np.dtype(type.dtype).type(contribution))  # wraps around, as in C

    def _numbers(self) -> tuple[Any, ...]:
        dtype = self.dtype
        if self.state is not None:
            return tuple(map(dtype.type, self.state))
        if self.reducer.kind == "minmax":
            name = self.reducer.name
            return extreme(name, dtype.name, 1), extreme(name, dtype.name, -1)
        return (self.reducer.identity(dtype.name),)

    def value(self) -> Any:
        found = self._numbers()
        return self.reducer.as_result(found if len(found) > 1 else found[0])


class _Accurate(_Numbers):
    """A sum that carries its rounding errors along (Neumaier)."""

    error: Any = 0

    def add(self, contribution: Any) -> None:
        if self.state is not None:
            self.expect(contribution)
            with np.errstate(all="ignore"):
                (a,), b = self._numbers(), self._cast(contribution)
                s = a + b
                t = s - a
                self.error += (a - (s - t)) + (b - t)
        super().add(contribution)

    def value(self) -> Any:
        (total,) = self._numbers()
        return total + self.dtype.type(self.error) if np.isfinite(self.error) else total


class _Locating(Total):
    """Values with a location, or conditions with one."""

    def __init__(self, who: str, reducer: Any) -> None:
        super().__init__(who, reducer)
        self.conditions: bool = reducer.conditions
        self.rules: tuple[Kept, ...] = reducer.keeps
        self.best: list[tuple[Any, Any] | None] = [None] * len(self.rules)
        self.given: ScalarType | None = None
        self.place: Any = 0

    def expect(self, contribution: Any) -> None:
        wanted = f"pairs of a {'condition' if self.conditions else 'value'} and a location"
        if not isinstance(contribution, tuple) or len(contribution) != 2:
            raise self.refused(wanted, contribution)
        value, self.place = contribution
        type = _type_of(value)
        if type is None or None in map(_type_of, flattened(self.place)):
            raise self.refused(wanted, contribution)
        self.given = _promoted(self.given, type)
        if not self.conditions:
            extreme(self.reducer.name, self.dtype, 1)  # refuses complex numbers

    def add(self, contribution: Any) -> None:
        self.expect(contribution)
        value, place = contribution
        for n, (greatest, last) in enumerate(self.rules):
            best = self.best[n]
            if self.conditions:
                value = bool(value)
                if value is not greatest:
                    continue
            if best is None or _wins((value, place), best, greatest, last):
                self.best[n] = (value, place)

    def value(self) -> Any:
        found = [
            self._nothing(greatest, last) if best is None else best
            for best, (greatest, last) in zip(self.best, self.rules, strict=True)
        ]
        places = tuple(place for _, place in found)
        if not self.conditions:
            number = np.dtype(self.dtype).type
            values = tuple(number(value) for value, _ in found)
            return self.reducer.as_result((*values, *places))
        return self.reducer.as_result(places if len(places) > 1 else places[0])

    @property
    def dtype(self) -> str:
        """Name of that of the values."""
        reducer: Any = self.reducer
        return str(reducer.accumulator("float64" if self.given is None else self.given.dtype))

    def _nothing(self, greatest: bool, last: bool) -> tuple[Any, Any]:
        def beyond(names: Any) -> Any:
            if isinstance(names, tuple):
                return tuple(map(beyond, names))
            return extreme(self.reducer.name, names, -1 if last else 1)

        value = True if self.conditions else extreme("", self.dtype, -1 if greatest else 1)
        return value, beyond(_type_names(self.place))


def _wins(new: tuple[Any, Any], old: tuple[Any, Any], greatest: bool, last: bool) -> bool:
    """Whether a value with its location takes the place of another: NaN wins over all else."""
    (a, here), (b, there) = new, old
    nearer = here > there if last else here < there
    if a != a or b != b:
        return bool(a != a and (b == b or nearer))
    if a == b:
        return bool(nearer)
    return bool(a > b if greatest else a < b)


class _Custom(Total):
    """A user's own join and final."""

    like: Any = None
    state: Any = None

    def expect(self, contribution: Any) -> None:
        if None in map(_type_of, flattened(contribution)):
            raise self.refused("numbers or tuples of them", contribution)
        if self.state is None:
            self._start(_type_names(contribution))

    def _start(self, names: Any) -> None:
        like = self.reducer.identity_for(names)
        self.like = like[()] if isinstance(like, np.ndarray) else like
        self.state = self._shaped(like)

    def add(self, contribution: Any) -> None:
        self.expect(contribution)
        joined = self._call("join", self.state, self._shaped(contribution))
        self.state = self._shaped(joined)

    def value(self) -> Any:
        if self.state is not None:
            return self.state
        nothing = _Custom(self.who, self.reducer)
        nothing._start("float64")
        return nothing.state

    def result(self) -> Any:
        value = self.value()
        if self.reducer.has("final"):
            value = self._call("final", value)
        return self.reducer.as_result(value)

    def _call(self, name: str, *values: Any) -> Any:
        scope = self.reducer.scope(name)
        return scope.fn(*scope.bound.values(), *values)

    def _shaped(self, value: Any) -> Any:
        """A value with the structure that the identity has."""
        like = self.like
        try:
            if isinstance(like, np.ndarray):
                numbers = value if isinstance(value, np.ndarray) else flattened(value)
                return np.array(numbers, like.dtype).reshape(like.shape)
            if isinstance(like, np.void):  # fields are attributes
                return np.array(value, np.dtype((np.record, like.dtype)))[()]
            if isinstance(like, tuple) == isinstance(value, tuple):
                made = with_classes(like, value)
                plain = isinstance(made, tuple) or self.reducer.dtype is None
                return made if plain else as_dtype(self.reducer.dtype).type(made)
        except (TypeError, ValueError):
            pass
        raise self.refused(
            f"what has the structure of its identity, {brief(like)}", value
        ) from None


class _Several(Total):
    """A tuple of reducers."""

    def __init__(self, who: str, parts: tuple[Total, ...]) -> None:
        super().__init__(who, parts[0].reducer)
        self.parts = parts

    def _items(self, contribution: Any) -> zip[tuple[Total, Any]]:
        if not isinstance(contribution, tuple) or len(contribution) != len(self.parts):
            raise LaunchError(
                f"{self.who}: expected a tuple of {len(self.parts)} contributions, one for each "
                f"reducer; got {brief(contribution)}."
            )
        return zip(self.parts, contribution, strict=True)

    def expect(self, contribution: Any) -> None:
        for part, item in self._items(contribution):
            part.expect(item)

    def add(self, contribution: Any) -> None:
        for part, item in self._items(contribution):
            part.add(item)

    def value(self) -> Any:
        return tuple(part.value() for part in self.parts)

    def result(self) -> Any:
        return tuple(part.result() for part in self.parts)
