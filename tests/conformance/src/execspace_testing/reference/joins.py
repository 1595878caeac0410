"""What reducers join, in plain Python: built-in ones by their definition, and a user's own.

A `Join` holds the value of a reduction as NumPy scalars. It is told the types of contributions
beforehand, because an empty range has none. Contributions are joined in the order of the indices.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

Types = Any  # name of a dtype, or a nested tuple of them


def typed(value: Any, types: Types) -> Any:
    """A number, or nested tuple of numbers, as NumPy scalars of given dtypes."""
    if isinstance(types, tuple):
        return tuple(typed(v, t) for v, t in zip(value, types, strict=True))
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(types)[()]


def extreme(types: Types, sign: int) -> Any:
    """The greatest (`sign` 1) or the least number of a dtype, infinite for floats."""
    if isinstance(types, tuple):
        return tuple(extreme(t, sign) for t in types)
    dtype = np.dtype(types)
    if dtype.kind == "f":
        return dtype.type(sign * np.inf)
    if dtype.kind == "b":
        return np.bool_(sign > 0)
    return dtype.type(np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min)


class Join(ABC):
    """A reduction that is under way; `value` is what has been joined so far."""

    value: Any

    @abstractmethod
    def add(self, contribution: Any) -> None:
        """Join the next contribution."""

    def result(self) -> Any:
        """What the launch returns: nested tuples of numbers, or an array."""
        return self.value


class _Number(Join):
    """Sum, Prod, Min, Max, LAnd, LOr, BAnd and BOr."""

    def __init__(self, kind: str, dtype: str, identity: Any) -> None:
        self.kind, self.dtype, self.value = kind, dtype, identity

    def add(self, contribution: Any) -> None:
        a, b = self.value, typed(contribution, self.dtype)
        match self.kind:
            case "sum":
                joined = a + b
            case "prod":
                joined = a * b
            case "min":
                joined = a if a < b or a != a else b
            case "max":
                joined = a if a > b or a != a else b
            case "land":
                joined = bool(a) and bool(b)
            case "lor":
                joined = bool(a) or bool(b)
            case "band":
                joined = a & b
            case "bor":
                joined = a | b
            case _:
                raise AssertionError(self.kind)
        self.value = typed(joined, self.dtype)


def _number(kind: str, dtype: str) -> _Number:
    identities = {
        "sum": 0, "prod": 1, "land": True, "lor": False, "bor": 0,
        "min": extreme(dtype, 1) if kind == "min" else None,
        "max": extreme(dtype, -1) if kind == "max" else None,
        "band": True if dtype == "bool" else -1,
    }  # fmt: skip
    return _Number(kind, dtype, typed(identities[kind], dtype))


class _Pair(Join):
    """MinMax."""

    def __init__(self, dtype: str) -> None:
        self.least, self.most = _number("min", dtype), _number("max", dtype)

    def add(self, contribution: Any) -> None:
        self.least.add(contribution)
        self.most.add(contribution)

    @property
    def value(self) -> Any:  # type: ignore[override]
        return self.least.value, self.most.value


class _Place:
    """A value and where it was found: which value wins, and which of two equal ones."""

    def __init__(self, sign: int, last: bool, value: str, place: Types) -> None:
        self.sign, self.last = sign, last
        self.best = extreme(value, -sign), extreme(place, -1 if last else 1)

    def add(self, value: Any, place: Any) -> None:
        old, where = self.best
        nearer = place > where if self.last else place < where
        if value != value or old != old:
            wins = value != value and (old == old or nearer)
        elif value == old:
            wins = nearer
        else:
            wins = value > old if self.sign > 0 else value < old
        if wins:
            self.best = value, place


# Sign of the value that wins (1: the greatest) and whether its last location does.
_PLACES = {
    "minloc": ((-1, False),), "maxloc": ((1, False),),
    "minmaxloc": ((-1, False), (1, False)), "minmaxfirstlastloc": ((-1, False), (1, True)),
}  # fmt: skip


class _Places(Join):
    """MinLoc, MaxLoc, MinMaxLoc and their siblings: values first, then locations."""

    def __init__(self, kind: str, value: str, place: Types) -> None:
        self.types = value, place
        self.places = [_Place(sign, last, value, place) for sign, last in _PLACES[kind]]

    def add(self, contribution: Any) -> None:
        value, place = typed(contribution, self.types)
        for p in self.places:
            p.add(value, place)

    @property
    def value(self) -> Any:  # type: ignore[override]
        return (*(p.best[0] for p in self.places), *(p.best[1] for p in self.places))


# Which condition counts and whether its last location does.
_CONDITIONS = {
    "firstloc": ((True, False),), "lastloc": ((True, True),),
    "stdispartitioned": ((True, True), (False, False)), "stdpartitionpoint": ((False, False),),
}  # fmt: skip


class _Conditions(Join):
    """FirstLoc, LastLoc, StdIsPartitioned and StdPartitionPoint: locations only."""

    def __init__(self, kind: str, place: Types) -> None:
        self.rules, self.type = _CONDITIONS[kind], place
        self.found = [extreme(place, -1 if last else 1) for _, last in self.rules]

    def add(self, contribution: Any) -> None:
        condition, place = contribution
        place = typed(place, self.type)
        for n, (counts, last) in enumerate(self.rules):
            if bool(condition) == counts:
                self.found[n] = (max if last else min)(self.found[n], place)

    @property
    def value(self) -> Any:  # type: ignore[override]
        return self.found[0] if len(self.found) == 1 else tuple(self.found)


class _Custom(Join):
    """A user's own identity, join and final, called as the functions that they are."""

    def __init__(self, reducer: Any, types: Types) -> None:
        self.reducer = reducer
        like = reducer.identity
        self.like = like(types) if callable(like) else like
        self.types = _structure(self.like, types, reducer.dtype)
        self.value = self._shaped(self.like)

    def _shaped(self, value: Any) -> Any:
        return _shaped(self.like, self.types, value)

    def add(self, contribution: Any) -> None:
        joined = _call(self.reducer, "join", self.value, self._shaped(contribution))
        self.value = self._shaped(joined)

    def result(self) -> Any:
        if callable(getattr(type(self.reducer), "final", None)):
            return _call(self.reducer, "final", self.value)
        if isinstance(self.like, np.ndarray):
            return np.array(self.value, self.like.dtype)
        return self.value


def _structure(like: Any, types: Types, dtype: Any) -> Types:
    """Types of the value: those of identity and contribution together, arrays' own."""
    if isinstance(like, np.ndarray):
        return like.dtype.name
    if isinstance(like, np.void):
        return like.dtype
    if isinstance(like, tuple):
        return tuple(_structure(a, t, None) for a, t in zip(like, types, strict=True))
    return np.dtype(dtype).name if dtype is not None else np.result_type(np.dtype(types), like).name


def _shaped(like: Any, types: Types, value: Any) -> Any:
    """A value in the structure of the identity, as `join` sees it."""
    if isinstance(like, np.ndarray):
        if like.ndim > 1:
            return tuple(_shaped(a, types, v) for a, v in zip(like, value, strict=True))
        return tuple(typed(v, types) for v in value)
    if isinstance(like, np.void):
        fields = value if isinstance(value, tuple) else value.item()
        return np.array(fields, np.dtype((np.record, like.dtype)))[()]
    if isinstance(like, tuple):
        items = [_shaped(a, t, v) for a, t, v in zip(like, types, value, strict=True)]
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    return typed(value, types)


def _call(reducer: Any, name: str, *values: Any) -> Any:
    """`join` or `final`, which take `self` or not."""
    function = inspect.getattr_static(type(reducer), name)
    function = function.__func__ if isinstance(function, staticmethod) else function
    own = len(inspect.signature(function).parameters) > len(values)
    return function(reducer, *values) if own else function(*values)


class _Several(Join):
    """A tuple of reducers."""

    def __init__(self, joins: list[Join]) -> None:
        self.joins = joins

    def add(self, contribution: Any) -> None:
        for join, item in zip(self.joins, contribution, strict=True):
            join.add(item)

    @property
    def value(self) -> Any:  # type: ignore[override]
        return tuple(join.value for join in self.joins)

    def result(self) -> Any:
        return tuple(join.result() for join in self.joins)


_WIDE = {"b": "int64", "i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}


def join_of(reducer: Any, types: Types) -> Join:
    """The empty reduction of what stands in `reducer=`, for contributions of some types."""
    if isinstance(reducer, tuple):
        pairs = zip(reducer, types, strict=True)
        return _Several([join_of(r, t) for r, t in pairs])
    reducer = reducer() if isinstance(reducer, type) else reducer
    kind = reducer.kind
    if kind == "custom":
        return _Custom(reducer, types)
    if kind in _CONDITIONS:
        return _Conditions(kind, types[1])
    given = None if reducer.dtype is None else np.dtype(reducer.dtype).name
    if kind in _PLACES:
        return _Places(kind, given or types[0], types[1])
    if kind == "minmax":
        return _Pair(given or types)
    if kind in ("land", "lor"):
        return _number(kind, "bool")
    if kind in ("sum", "prod"):
        return _number(kind, given or _WIDE[np.dtype(types).kind])
    return _number(kind, given or types)


def types_of(contribution: Any) -> Types:
    """Types of what a kernel returned: NumPy scalars, in nested tuples."""
    if isinstance(contribution, tuple):
        return tuple(types_of(item) for item in contribution)
    if isinstance(contribution, bool):
        return "bool"
    if not isinstance(contribution, np.generic):
        raise TypeError(f"{contribution!r} is weak: generated programs cast what they return")
    return contribution.dtype.name
