"""`es.Record`: records that have operators and methods, written once for kernels and for Python.

The class is that of NumPy's scalars of its dtype, so an element of an array has the operators in
plain Python, too.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError
from ..contract.dtypes import RECORD_CLASSES, as_dtype, record_class

__all__ = ["Record"]

_NO_FIELDS = frozenset((
    "shape", "size", "ndim", "rank", "dtype", "copy", "record_fields", "record_defaults",
))  # fmt: skip
_AUGMENTED = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and",
    "xor", "or",
)  # fmt: skip
# What would make elements differ from the values that kernels know, and what to do instead.
_NO_METHODS = {
    **{f"__i{n}__": "leave it out: x += y is x = x + y" for n in _AUGMENTED},
    **dict.fromkeys(
        ("__new__", "__init__"), "write a function that takes other arguments and returns a record"
    ),
    **dict.fromkeys(
        (
            "__getattr__",
            "__getattribute__",
            "__setattr__",
            "__getitem__",
            "__setitem__",
            "__len__",
            "__iter__",
            "__contains__",
            "__reversed__",
            "__matmul__",
            "__rmatmul__",
        ),
        "write a method or a property",
    ),
}


_numbers = count(1)


class _Field:
    """A field as an attribute: NumPy's own attributes, such as `real`, do not hide it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: Any, owner: type) -> Any:
        return self if record is None else record[self.name]

    def __set__(self, record: Any, value: Any) -> None:
        record[self.name] = value


if TYPE_CHECKING:
    _Void = Any  # whose stub is final
else:
    _Void = np.void


class Record(_Void):  # type: ignore[misc]
    """A record with operators and methods, as the element type of Views and as a value in kernels.

    Subclass it, annotate the fields with their types, and define operators (``__add__``,
    ``__rmul__``, ``__neg__``, ``__lt__``, ...), methods and properties as for any class; they are
    compiled as parts of kernels. ``Class.dtype`` is the structured dtype, aligned as in C, for
    NumPy; execspace takes the class itself wherever it takes a dtype. Values may follow the names
    of fields; they are the defaults of ``Class(...)``.

    In a kernel ``Class(a, b)`` is a value, as are results of operators: its numbers are converted
    to the types of the fields, and cannot be assigned to. ``A[i]`` refers to the element, as with
    all records; ``A[i].copy()`` is its value.

    must: at least one field, in the class whose elements are stored. A class without fields is a
    base of such, and has methods only.

    may: ``__eq__``; without it two records are equal if all fields are. ``!=`` is its opposite.

    Raises
    ------
    DTypeError
        When the class is made: a field whose type no View can hold, one named like an attribute
        of Views (shape, size, ndim, rank, dtype, copy) or beginning with an underscore, a default
        that its type cannot hold, a subclass of a class with fields, a method that records cannot
        have (``__init__``, ``__iadd__``, ``__getattr__`` and their like).
    TypeError
        From ``Class(...)``: as for a function whose parameters are the fields.

    Notes
    -----
    What a method reads from outside is read when a kernel with it is first compiled, and must not
    change later.

    Examples
    --------
    >>> import execspace as es
    >>> class Dual(es.Record):
    ...     value: es.float64
    ...     slope: es.float64 = 0.0
    ...     def __add__(self, other):
    ...         return Dual(self.value + other.value, self.slope + other.slope)
    ...     def __mul__(self, other):
    ...         return Dual(
    ...             self.value * other.value,
    ...             self.value * other.slope + self.slope * other.value,
    ...         )
    >>> x = es.full(3, Dual(3.0, 1.0), memory=es.HOST)
    >>> def square(i, x):
    ...     x[i] = x[i] * x[i] + Dual(1.0)
    >>> es.parallel_for(es.RangePolicy(3, space="oracle"), square, x)
    >>> x[0]
    Dual(value=10.0, slope=6.0)
    """

    __slots__ = ()
    # NumPy's numbers leave operators with a record to the record.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    record_fields: ClassVar[tuple[str, ...]] = ()
    record_defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_methods(cls)
        if any(base.record_fields for base in cls.__bases__ if issubclass(base, Record)):
            raise DTypeError(
                f"Record '{cls.__name__}' extends a record with fields; expected a base without. "
                f"Put what they share into a class of es.Record without fields."
            )
        kinds = _annotations(cls, sys._getframe(1))
        if kinds:
            _give_fields(cls, kinds)

    def __new__(cls, *values: Any, **keywords: Any) -> Any:
        """A record of these values, converted to the types of the fields."""
        fields = cls.record_fields
        if not fields:
            raise TypeError(f"{cls.__name__} has no fields, so there are no values of it")
        given = dict(zip(fields, values, strict=False))
        unknown = [k for k in keywords if k not in fields]
        twice = [k for k in keywords if k in given]
        given = {**cls.record_defaults, **given, **keywords}
        missing = [f for f in fields if f not in given]
        for wrong, text in (
            (values[len(fields) :], f"takes {len(fields)} values, got {len(values)}"),
            (unknown, f"has no field '{unknown[0] if unknown else ''}'"),
            (twice, f"gets two values for '{twice[0] if twice else ''}'"),
            (missing, f"gets no value for '{missing[0] if missing else ''}'"),
        ):
            if wrong:
                raise TypeError(f"{cls.__name__} {text}; its fields are {', '.join(fields)}")
        made: Any = np.zeros((), cls.dtype)
        for name in fields:
            made[name] = given[name]
        return made[()]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.record_fields:
            raise AttributeError(
                f"{type(self).__name__} has no field '{name}'; its fields are "
                f"{', '.join(self.record_fields)}"
            )
        self[name] = value

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return np.bool_(all(self[name] == other[name] for name in self.record_fields))

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else np.bool_(not equal)

    def __repr__(self) -> str:
        # Not that of NumPy's numbers: np.float64(1.0).
        values = (f"{name}={_plain(self[name])!r}" for name in self.record_fields)
        return f"{type(self).__name__}({', '.join(values)})"

    __str__ = __repr__


def _plain(value: Any) -> Any:
    return value if isinstance(value, Record) or not hasattr(value, "item") else value.item()


def _check_methods(cls: type[Record]) -> None:
    for name, hint in _NO_METHODS.items():
        if name in vars(cls):
            raise DTypeError(
                f"Record '{cls.__name__}' defines {name}, which records cannot have; {hint}."
            )
    if "__slots__" not in vars(cls):
        return
    if vars(cls)["__slots__"]:
        raise DTypeError(
            f"Record '{cls.__name__}' has __slots__; expected annotated fields, such as x: "
            f"es.float64."
        )


def _annotations(cls: type[Record], frame: FrameType) -> dict[str, Any]:
    """The types of the fields; annotations may be strings, also of names of a function."""
    known = {**frame.f_globals, **frame.f_locals}
    try:
        return inspect.get_annotations(cls, globals=known, eval_str=True)
    except Exception as error:
        raise DTypeError(
            f"Record '{cls.__name__}': an annotation cannot be evaluated ({error}). Types of "
            f"fields must be there when the class is made."
        ) from None


def _give_fields(cls: type[Record], kinds: dict[str, Any]) -> None:
    dtypes = []
    for name, kind in kinds.items():
        if name in _NO_FIELDS or name.startswith("_") or keyword.iskeyword(name):
            _refuse(cls, name, "has a name that records use themselves", "give it another name")
        try:
            dtypes.append(as_dtype(kind))
        except DTypeError as error:
            _refuse(cls, name, f"has no type for elements: {error}", "write x: es.float64")
        if dtypes[-1].fields is not None and record_class(dtypes[-1]) is None:
            _refuse(
                cls, name, "is a structured dtype without a class",
                "make a class of es.Record of it",
            )  # fmt: skip
    names, offsets, size = tuple(kinds), [], 0
    for dtype in dtypes:
        size = -(-size // _alignment(dtype)) * _alignment(dtype)
        offsets.append(size)
        size += dtype.itemsize
    most = max(map(_alignment, dtypes))
    # In a process of multiprocessing the main module has another name.
    module = "__main__" if cls.__module__ == "__mp_main__" else cls.__module__
    key = path = f"{module}.{cls.__qualname__}"
    if key in RECORD_CLASSES:  # a class of a function, or of a cell that was changed
        key = f"{path}#{next(_numbers)}"
    spelled = {
        "names": names, "formats": dtypes, "offsets": offsets,
        # A title tells the dtype from others with such fields, also in files of NumPy.
        "titles": [key, *[None] * (len(names) - 1)],
        "itemsize": -(-size // most) * most,
    }  # fmt: skip
    cls.record_fields = names
    cls.record_defaults = {n: vars(cls)[n] for n in names if n in vars(cls)}
    for name in names:
        setattr(cls, name, _Field(name))
    cls.dtype = np.dtype((cls, np.dtype(spelled, align=True)))  # type: ignore
    for field, value in cls.record_defaults.items():
        record = np.zeros((), cls.dtype)
        try:
            record[field] = value
            cls.record_defaults[field] = record[()][field]  # converted
        except (TypeError, ValueError, OverflowError) as error:
            what = f"has the default {brief(value)}: {error}"
            if callable(value) or isinstance(value, property):
                what = "is a method or property as well"
            _refuse(cls, field, what, "give a number")
    RECORD_CLASSES[path] = cls  # the newest of this name, for dtypes that have nothing but a name


def _alignment(dtype: np.dtype[Any]) -> int:
    """As in C, also of records, which NumPy packs unless it is asked."""
    if dtype.fields is None:
        return dtype.alignment
    return max(_alignment(dtype.fields[n][0]) for n in dtype.names or ())


def _refuse(cls: type, name: str, what: str, hint: str) -> NoReturn:
    raise DTypeError(f"Field '{name}' of record '{cls.__name__}' {what}; {hint}.") from None


def own_attribute(cls: type, name: str) -> Any:
    """What a class of records defines itself under a name; None for what it has from NumPy."""
    for base in cls.__mro__:
        if base is Record:
            return None
        if name in vars(base):
            return vars(base)[name]
    return None
