"""Element types: NumPy's scalar types under the names that kernels and Views use.

They are NumPy's own classes, so `es.float32(x)` is a cast in a kernel and in plain Python. Those of
`base/storage_types.py` are classes of ml_dtypes, an optional package.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..base import storage_types
from ..base.brief import brief
from ..base.errors import DTypeError

__all__ = [
    "bool_",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

if TYPE_CHECKING:
    bfloat16: type[np.generic]
    float8_e4m3fn: type[np.generic]
    float8_e5m2: type[np.generic]


def __getattr__(name: str) -> Any:
    """A storage type, whose package is loaded now."""
    if name not in storage_types.NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return storage_types.storage_dtype(name).type
    except DTypeError as error:
        raise AttributeError(str(error)) from None


NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


PLAIN = frozenset(np.dtype(name) for name in NAMES)

# Structured dtypes have no name of their own; types of arguments know them by this text.
_records: dict[str, np.dtype[Any]] = {}


# Name of a class of `es.Record`, the title of the first field of its dtype -> the class.
RECORD_CLASSES: dict[str, Any] = {}


def record_class(dtype: np.dtype[Any]) -> Any:
    """The class of `es.Record` whose dtype it is; None for all others.

    That of the elements, if they are of one. A file of NumPy keeps the title only, which names a
    class that there is here, or that was there before it was made anew.
    """
    kind = dtype.type
    if kind is np.void or kind is np.record:
        title = _title(dtype)
        if title is None:
            return None
        kind = RECORD_CLASSES.get(title.partition("#")[0])  # type: ignore[assignment]
    own = getattr(kind, "dtype", None) if getattr(kind, "record_fields", ()) else None
    return kind if isinstance(own, np.dtype) and _has_fields_of(dtype, own) else None


def _has_fields_of(dtype: np.dtype[Any], own: np.dtype[Any]) -> bool:
    """Whether two structured dtypes differ in titles only."""
    if dtype is own:
        return True
    return (dtype.names, dtype.itemsize) == (own.names, own.itemsize) and all(
        dtype.fields[n][:2] == own.fields[n][:2]  # type: ignore[index]
        for n in own.names or ()
    )


def _title(dtype: np.dtype[Any]) -> str | None:
    """The title of the first field."""
    first: tuple[Any, ...] = dtype.fields[dtype.names[0]] if dtype.fields and dtype.names else ()
    return first[2] if len(first) == 3 and isinstance(first[2], str) else None


def name_of(dtype: np.dtype[Any]) -> str:
    """Name of a dtype in types of arguments; `dtype_of` gives the dtype back."""
    kind: Any = dtype.type  # dtypes of different classes may be equal
    return _name_of(dtype, kind)


@cache  # NumPy works the name out anew each time
def _name_of(dtype: np.dtype[Any], kind: Any) -> str:
    if dtype.fields is None:
        return dtype.name
    name = _record_text(dtype)
    own = record_class(dtype)
    _records.setdefault(name, dtype if own is None else own.dtype)
    return name


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of a name that `name_of` made."""
    found = _records.get(name)
    if found is not None:
        return found
    return storage_types.storage_dtype(name) if name in storage_types.NAMES else np.dtype(name)


def _record_text(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        return f"{_record_text(dtype.subdtype[0])}{list(dtype.subdtype[1])}"
    if dtype.fields is None:
        return dtype.name
    found = ((n, dtype.fields[n]) for n in dtype.names or ())
    fields = (f"{n}:{_record_text(f[0])}@{f[1]}" for n, f in found)
    kind = record_class(dtype)
    own = "" if kind is None else f" of {_title(kind.dtype)}"
    return f"record({','.join(fields)};{dtype.itemsize}){own}"


def _storable(dtype: np.dtype[Any]) -> bool:
    """Whether a View can hold a dtype: a number, or a record of numbers and arrays of them."""
    if dtype.subdtype is not None:
        return _storable(dtype.subdtype[0])
    if dtype.fields is None:
        return dtype.name in NAMES or storage_types.format_of(dtype) is not None
    return bool(dtype.fields) and all(_storable(dtype.fields[n][0]) for n in dtype.names or ())


def as_dtype(spec: npt.DTypeLike) -> np.dtype[Any]:
    """Turn what a user writes into a NumPy dtype that a View can hold.

    Parameters
    ----------
    spec : dtype-like
        A NumPy dtype, scalar type, type name, or Python's bool, int, float, complex; also a
        structured dtype whose fields are such, or arrays or records of such, or a class of
        `es.Record`. Of ml_dtypes those that are storage types.

    Raises
    ------
    DTypeError
        If NumPy does not know the dtype, or it is not one of the element types above.
    """
    if isinstance(spec, np.dtype) and spec in PLAIN:
        return spec
    if isinstance(spec, str) and spec in storage_types.NAMES:
        return storage_types.storage_dtype(spec)
    if isinstance(spec, type) and hasattr(spec, "record_fields"):
        spec = spec.dtype  # NumPy takes no class for it
    try:
        dtype = np.dtype(spec)
    except (TypeError, ValueError, SyntaxError):  # NumPy parses strings
        raise DTypeError(
            f"dtype {brief(spec)} does not exist; expected one of {', '.join(NAMES)}, "
            f"for example es.float64."
        ) from None
    if spec is None or dtype.subdtype is not None or not _storable(dtype):
        raise DTypeError(
            f"dtype {brief(spec)} cannot be an element of a View; expected one of "
            f"{', '.join(NAMES)}, or a structured dtype of them."
        )
    own = record_class(dtype)
    if own is not None:
        return own.dtype  # type: ignore[no-any-return]  # one from a file has no class
    return dtype.newbyteorder("=") if not dtype.isnative else dtype


def with_attributes(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The structured dtype, with fields of its elements as attributes: `p[i].x`."""
    return np.dtype((record_class(dtype) or np.record, dtype))
