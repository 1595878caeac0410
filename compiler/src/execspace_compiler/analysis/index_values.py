"""Values that a kernel computes from its indices: affine sums, other integers, and tests.

They are for one launch, whose numbers and extents are constants here. Values that depend on data
are None, except that the source of a loaded integer is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine sum: multiples of indices plus a constant."""

    terms: tuple[tuple[str, int], ...]
    constant: int

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """This plus a multiple of another."""
        terms = dict(self.terms)
        for name, factor in other.terms:
            terms[name] = terms.get(name, 0) + times * factor
        kept = tuple(sorted((n, f) for n, f in terms.items() if f))
        return Affine(kept, self.constant + times * other.constant)


@dataclass(frozen=True, slots=True)
class Derived:
    """An operation on integers that is not affine; "where" has a test before two values."""

    op: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An integer loaded from a View: which View, and its subscripts."""

    view: int
    subscripts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number of this launch that is not an integer."""

    value: Any


Value = Affine | Derived | Loaded | Fixed | None  # None: it depends on data


def integer(value: int) -> Affine:
    """A constant of this launch."""
    return Affine((), int(value))


def index(name: str) -> Affine:
    """An index."""
    return Affine(((name, 1),), 0)


# -- tests ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AtLeast:
    """`value >= 0`."""

    value: Affine


@dataclass(frozen=True, slots=True)
class Equal:
    """`value == 0`."""

    value: Affine


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of integers that are not both affine."""

    op: str
    a: Affine | Derived
    b: Affine | Derived


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    test: Test


@dataclass(frozen=True, slots=True)
class Both:
    """`a and b`."""

    a: Test
    b: Test


Test = bool | AtLeast | Equal | Compare | Not | Both | None  # None: it depends on data


def either(a: Test, b: Test) -> Test:
    """`a or b`."""
    return negated(Both(negated(a), negated(b)))


def negated(test: Test) -> Test:
    """`not test`."""
    if test is None:
        return None
    if isinstance(test, Not):
        return test.test
    return not test if isinstance(test, bool) else Not(test)


_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_SWAPPED = {"gt": "lt", "ge": "le"}
LEAST, GREATEST = ("min", "minimum", "fmin"), ("max", "maximum", "fmax")


def compared(op: str, a: Value, b: Value) -> Test:
    """The test for a comparison in IR."""
    if isinstance(a, Fixed | Affine) and isinstance(b, Fixed | Affine):
        numbers = [_number(v) for v in (a, b)]
        if None not in numbers:
            return bool(_NUMBERS[op](*numbers))
    if not isinstance(a, Affine | Derived) or not isinstance(b, Affine | Derived):
        return None
    if op in _SWAPPED:
        op, a, b = _SWAPPED[op], b, a
    if op == "ne":
        return negated(compared("eq", a, b))
    for one, other, smaller in ((a, b, LEAST), (b, a, GREATEST)):
        # A minimum is below b if one of its operands is; it is above if all of them are.
        if op != "eq" and isinstance(one, Derived) and one.op in LEAST + GREATEST:
            pairs = [(x, other) if one is a else (other, x) for x in one.args]
            tests = [compared(op, *p) for p in pairs]
            return either(*tests) if one.op in smaller else Both(*tests)
    if isinstance(a, Affine) and isinstance(b, Affine):
        if op == "eq":
            return Equal(a.plus(b, -1))
        return AtLeast(b.plus(a, -1).plus(integer(1 if op == "lt" else 0), -1))
    return Compare(op, a, b)


def _number(v: Value) -> Any:
    if isinstance(v, Fixed):
        return v.value
    return v.constant if isinstance(v, Affine) and not v.terms else None


def names_in(v: Value | Test) -> frozenset[str]:
    """Indices that a value or test depends on."""
    match v:
        case Affine():
            return frozenset(n for n, _ in v.terms)
        case Derived():
            return frozenset().union(*map(names_in, v.args))
        case AtLeast() | Equal():
            return names_in(v.value)
        case Compare() | Both():
            return names_in(v.a) | names_in(v.b)
        case Not():
            return names_in(v.test)
    return frozenset()


def known(v: Value | Test) -> bool:
    """Whether it depends only on indices and numbers of the launch."""
    match v:
        case bool() | Affine() | AtLeast() | Equal():
            return True
        case Derived():
            return all(map(known, v.args))
        case Compare() | Both():
            return known(v.a) and known(v.b)
        case Not():
            return known(v.test)
    return False


# -- evaluation ----------------------------------------------------------------------------------

EVALUATED: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs,
    "floordiv": np.floor_divide, "truncdiv": np.floor_divide, "mod": np.remainder,
    "truncmod": np.remainder, "bitand": np.bitwise_and, "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    **dict.fromkeys(LEAST, np.minimum), **dict.fromkeys(GREATEST, np.maximum),
}  # fmt: skip


def evaluated(v: Value | Test, arrays: dict[str, Any]) -> Any:
    """A value or test at points given by arrays that broadcast."""
    match v:
        case bool():
            return v
        case Affine():
            return sum((f * arrays[n] for n, f in v.terms), np.int64(v.constant))
        case Derived(op="where"):
            return np.where(*(evaluated(a, arrays) for a in v.args))
        case Derived():
            with np.errstate(all="ignore"):
                return EVALUATED[v.op](*(evaluated(a, arrays) for a in v.args))
        case AtLeast():
            return evaluated(v.value, arrays) >= 0
        case Equal():
            return evaluated(v.value, arrays) == 0
        case Compare():
            return _NUMBERS[v.op](evaluated(v.a, arrays), evaluated(v.b, arrays))
        case Both():
            return evaluated(v.a, arrays) & evaluated(v.b, arrays)
        case Not():
            return ~np.asarray(evaluated(v.test, arrays), bool)
    raise AssertionError(f"it depends on data: {v}")


def derived(op: str, args: tuple[Value, ...]) -> Value:
    """Result of an operation on integers that depend on indices; None if not known."""
    first, second = (*args, None)[:2]
    if isinstance(first, Affine) and isinstance(second, Affine):
        if op in ("add", "sub"):
            return first.plus(second, 1 if op == "add" else -1)
        if op == "mul" and not (first.terms and second.terms):
            if first.terms:
                first, second = second, first
            return Affine((), 0).plus(second, first.constant)
    if op == "neg" and isinstance(first, Affine):
        return Affine((), 0).plus(first, -1)
    if op not in EVALUATED or not all(map(known, args)):
        return None
    if all(isinstance(a, Affine) and not a.terms for a in args):
        zero = op in ("floordiv", "mod") and second == Affine((), 0)  # 0 in kernels
        return integer(0 if zero else int(evaluated(Derived(op, args), {})))
    return Derived(op, args)
