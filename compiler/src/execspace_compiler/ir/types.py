"""Types in kernels, and the promotion rules that all spaces share.

Python's own numbers are weak (NEP 50): they adopt the type of the other operand. There are two
degrees. A literal or a number argument is PYTHON-weak: it adopts any type of its kind or a higher
one. An index (policy indices, `range` variables, extents) is INDEX-weak: it adopts floating types,
so that `float32 * i` stays float32, but counts as int64 among integers, so that `int32 + i` cannot
wrap.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass
from execspace.base.storage_types import format_of
from execspace.contract.dtypes import record_class

STRONG, INDEX_WEAK, PYTHON_WEAK = 0, 1, 2

_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number type: a NumPy dtype name, and how weak it is.

    Of elements of a storage type `name` is the integer type of their bits, and `storage` its own:
    what is read and what is stored is a float32, see `typing/rules/storage.py`.
    """

    name: str
    weak: int = STRONG
    storage: str = ""

    @property
    def kind(self) -> str:
        """NumPy's kind letter: b, i, u, f or c."""
        return np.dtype(self.name).kind

    @property
    def bits(self) -> int:
        """Width in bits."""
        return np.dtype(self.name).itemsize * 8

    @property
    def itemsize(self) -> int:
        """Width in bytes."""
        return np.dtype(self.name).itemsize

    @property
    def strong(self) -> Scalar:
        """The type that it has in memory."""
        return Scalar(self.name) if self.weak else self

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer (bool is not)."""
        return self.kind in "iu"

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type."""
        return self.kind == "f"

    def __str__(self) -> str:
        if self.storage:
            return self.storage
        return (self.name, f"index ({self.name})", f"Python {_PYTHON.get(self.name, self.name)}")[
            self.weak
        ]


_PYTHON = {"int64": "int", "float64": "float", "complex128": "complex"}

BOOL = Scalar("bool")
INT32, INT64 = Scalar("int32"), Scalar("int64")
UINT32, UINT64 = Scalar("uint32"), Scalar("uint64")
FLOAT32, FLOAT64 = Scalar("float32"), Scalar("float64")
INDEX = Scalar("int64", INDEX_WEAK)
PY_INT = Scalar("int64", PYTHON_WEAK)
PY_FLOAT = Scalar("float64", PYTHON_WEAK)
PY_COMPLEX = Scalar("complex128", PYTHON_WEAK)


@dataclass(frozen=True, slots=True)
class Vector(Scalar):
    """A vector of `lanes` numbers, of bools a mask: operations are those of its lanes.

    Printers of hosts know it; for others `passes/lanes.py` makes a variable of each lane.
    """

    lanes: int = 1

    @property
    def lane(self) -> Scalar:
        """Type of a lane."""
        return Scalar(self.name)

    @property
    def strong(self) -> Vector:
        """Itself: numbers of vectors are never weak."""
        return self

    def __str__(self) -> str:
        kind = "mask" if self.name == "bool" else f"vector of {self.name}"
        return f"{kind} with {self.lanes} lane{'s' if self.lanes > 1 else ''}"


@dataclass(frozen=True, slots=True)
class SubArray:
    """A field that is an array of fixed shape, row-major."""

    element: Scalar | Record
    shape: tuple[int, ...]

    @property
    def itemsize(self) -> int:
        """Bytes of the whole array."""
        return prod(self.shape) * self.element.itemsize

    def __str__(self) -> str:
        return f"{self.element}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Record:
    """A NumPy structured dtype: (name, byte offset, type) of each field; `own` is its class if it
    has operators, see `es.Record`."""

    fields: tuple[tuple[str, int, Element], ...]
    itemsize: int
    own: type | None = None

    def __str__(self) -> str:
        if self.own is not None:
            return f"record {self.own.__name__}"
        return f"record({', '.join(f'{n}: {t}' for n, _, t in self.fields)})"


Element = Scalar | Record | SubArray


def numbers_of(record: Record, start: int = 0) -> list[tuple[int, Scalar]]:
    """Byte and type of each number of a record."""
    found: list[tuple[int, Scalar]] = []
    for _, byte, kind in record.fields:
        if isinstance(kind, Scalar):
            found.append((start + byte, kind))
        elif isinstance(kind, Record):
            found += numbers_of(kind, start + byte)
        else:
            size = kind.element.itemsize
            for n in range(prod(kind.shape)):
                at = start + byte + n * size
                inner = kind.element
                found += [(at, inner)] if isinstance(inner, Scalar) else numbers_of(inner, at)
    return found


def element_of(dtype: np.dtype[Any]) -> Element:
    """The compiler's element type for a NumPy dtype."""
    if dtype.subdtype is not None:
        inner = element_of(dtype.subdtype[0])
        assert not isinstance(inner, SubArray)
        return SubArray(inner, dtype.subdtype[1])
    if dtype.fields is None:
        form = format_of(dtype)
        return Scalar(dtype.name) if form is None else Scalar(form.word, storage=form.name)
    fields = ((name, dtype.fields[name]) for name in dtype.names or ())
    found = tuple((n, f[1], element_of(f[0])) for n, f in fields)
    return Record(found, dtype.itemsize, record_class(dtype))


@dataclass(frozen=True, slots=True)
class ViewTy:
    """Type of a View parameter, see `execspace.ViewType`; with a `shape`, of a local array.

    A View with a user-defined layout (`mapped`) is indexed by one offset in IR. With `lanes` it is
    an array of each lane; in memory, those of a number are next to each other.
    """

    element: Scalar | Record
    rank: int
    layout: str
    unit: int | None
    readonly: bool
    shape: tuple[int, ...] | None = None
    static: tuple[int | None, ...] = ()
    traits: tuple[str, ...] = ()
    lanes: int = 1

    @property
    def mapped(self) -> bool:
        """Whether offsets come from a function of the layout instead of strides."""
        return self.layout not in ("left", "right", "stride")

    def stride(self, d: int) -> int | None:
        """Stride of a dimension in elements if the type determines it, else None."""
        if d == self.unit:
            return 1
        extents = self.shape or self.static or (None,) * self.rank
        if self.layout not in ("left", "right"):
            return None
        size = 1
        for n in extents[d + 1 :] if self.layout == "right" else extents[:d]:
            if n is None:
                return None
            size *= n
        return size

    def __str__(self) -> str:
        if self.shape is not None:
            return f"local array of {self.element} and shape {self.shape}"
        return f"View of {self.element} and rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Pointer:
    """Address of a row of scalars; only generated code uses it.

    `group`: in shared (local) memory of a work-group.
    """

    element: Scalar
    group: bool = False

    def __str__(self) -> str:
        return f"pointer to {self.element}"


class Compound:
    """Type of an aggregate, which exists at compile time only; code has its scalars."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TupleTy(Compound):
    """A tuple; `names` are the fields of a NamedTuple or record, `own` is the class of a record
    with operators."""

    items: tuple[Type, ...]
    names: tuple[str, ...] = ()
    own: type | None = None

    def of(self, items: tuple[Type, ...]) -> TupleTy:
        """Such a tuple of other items."""
        return TupleTy(items, self.names, self.own)

    def __str__(self) -> str:
        if self.own is not None:
            return f"record {self.own.__name__}"
        return f"tuple ({', '.join(map(str, self.items))})"


Type = Scalar | ViewTy | Pointer | Compound


def flat_scalars(type: Type | None) -> tuple[Scalar, ...]:
    """The scalars of a result type, in order."""
    if isinstance(type, TupleTy):
        return tuple(s for t in type.items for s in flat_scalars(t))
    return (type,) if isinstance(type, Scalar) else ()


@dataclass(frozen=True, slots=True)
class Signature:
    """What callers need to know about a typed function.

    Attributes
    ----------
    name : str
        Of the IR function.
    result : Scalar, TupleTy or None
    effects : bool
        It stores into Views or prints, so calls to it are neither reordered nor dropped.
    fails : bool
        It contains an assert: its last result is the number of the one that failed, or 0.
    constant : int or None
        What it returns, if that is a constant integer or bool, and it does nothing else.
    """

    name: str
    result: Scalar | TupleTy | None
    effects: bool
    fails: bool
    constant: int | None = None

    def results(self) -> tuple[Scalar, ...]:
        """Scalars that it returns, tuples flattened."""
        return flat_scalars(self.result)


class PromotionError(Exception):
    """Two types have no common type."""

    hint = "cast one of them, for example es.int64(...)"


class VectorError(PromotionError):
    """A vector has no common type with other vectors, or with numbers."""

    hint = "make vectors of one type of both: T(x)"


def promote(a: Scalar, b: Scalar) -> Scalar:
    """Common type of two operands.

    Raises
    ------
    PromotionError
        For uint64 with a signed integer, which NumPy would silently promote to float64.
    """
    if a == b:
        return a
    if isinstance(a, Vector) or isinstance(b, Vector):
        raise VectorError("vectors have no common type with anything else")
    if a.weak > b.weak:
        a, b = b, a
    if b.weak == STRONG or a.weak == b.weak:
        return Scalar(_numpy_promote(a, b), a.weak)
    rank_a, rank_b = _KINDS[a.kind], _KINDS[b.kind]
    if a.weak == INDEX_WEAK:  # b is PYTHON-weak, so neither has a fixed width
        return INDEX if rank_b <= 1 else b
    if b.weak == INDEX_WEAK and rank_b == rank_a:
        return Scalar("uint64") if a.name == "uint64" else INT64
    if rank_b <= rank_a:
        return a
    if a.kind == "b":
        return b
    if b.kind == "c" and a.kind == "f":
        return complex_of(a)
    return b.strong


def _numpy_promote(a: Scalar, b: Scalar) -> str:
    name = np.promote_types(a.name, b.name).name
    if a.is_integer and b.is_integer and np.dtype(name).kind == "f":
        raise PromotionError("they have no common integer type")
    return name


def arithmetic(a: Scalar, b: Scalar) -> Scalar:
    """Common type for + - * and the like: bools count as integers, as in Python."""
    common = promote(a, b)
    return PY_INT if common.kind == "b" else common


def true_division(a: Scalar, b: Scalar) -> Scalar:
    """Type of `a / b`: integers divide to float64."""
    common = promote(a, b)
    if common.kind in "biu":
        return PY_FLOAT if common.weak else FLOAT64
    return common


def as_float(a: Scalar) -> Scalar:
    """Type in which a mathematical function of `a` is computed: integers become float64."""
    if a.kind in "fc":
        return a
    return PY_FLOAT if a.weak or a.kind == "b" else FLOAT64


def real_part(a: Scalar) -> Scalar:
    """Type of the real part or absolute value of a complex number."""
    if a.kind != "c":
        return a
    return Scalar("float32" if a.name == "complex64" else "float64", a.weak)


def complex_of(a: Scalar) -> Scalar:
    """Complex type whose parts are of a floating type; weak if that is."""
    if a.weak:
        return PY_COMPLEX
    return Scalar("complex64" if a.bits <= 32 else "complex128")


def python_type(value: object) -> Scalar:
    """Type of a Python or NumPy number that a kernel captures or spells out."""
    if isinstance(value, np.generic):
        return Scalar(value.dtype.name)
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return PY_INT
    return PY_FLOAT if isinstance(value, float) else PY_COMPLEX
