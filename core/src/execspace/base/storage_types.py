"""Storage types: elements of fewer bits than any type that kernels compute in.

An element of one is a float32 as soon as it is read, and what is stored is rounded once, to the
nearest element and to the even one of two. The types are those of the package ml_dtypes, which is
loaded when one of them is first asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataclass import dataclass
from .errors import DTypeError

NAMES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


@dataclass(frozen=True, slots=True)
class Format:
    """How the bits of an element of a storage type stand for a number.

    Attributes
    ----------
    name : str
    bits : int
        Of an element: its sign, its exponent, its fraction.
    fraction : int
        Bits of the fraction.
    bias : int
        What the exponent field has above the exponent.
    greatest : int
        Bits of the greatest finite number.
    beyond : int
        Bits of what is too large: an infinity, or NaN in a type that has none.
    nan : int
        Bits of a NaN.
    """

    name: str
    bits: int
    fraction: int
    bias: int
    greatest: int
    beyond: int
    nan: int

    @property
    def word(self) -> str:
        """Name of the integer type that elements are for kernels."""
        return f"uint{self.bits}"


FORMATS = {
    f.name: f
    for f in (
        Format("bfloat16", 16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0),
        Format("float8_e4m3fn", 8, 3, 7, 0x7E, 0x7F, 0x7F),
        Format("float8_e5m2", 8, 2, 15, 0x7B, 0x7C, 0x7E),
    )
}

_OF_OTHERS = 256  # the least number of a dtype that NumPy does not define itself


def format_of(dtype: np.dtype[Any]) -> Format | None:
    """The format of a storage type; None for any other dtype."""
    if dtype.num < _OF_OTHERS or dtype.type.__module__ != "ml_dtypes":
        return None
    return FORMATS.get(dtype.name)


def storage_dtype(name: str) -> np.dtype[Any]:
    """The dtype of the storage type of a name.

    Raises
    ------
    DTypeError
        If ml_dtypes is not installed, or has no such type.
    """
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    except (ImportError, AttributeError) as error:
        raise DTypeError(
            f"es.{name} is a type of the package ml_dtypes, which cannot be used here ({error}). "
            f"Install it: pip install ml_dtypes."
        ) from None


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype; storage types are floats."""
    return "f" if dtype.num >= _OF_OTHERS and format_of(dtype) is not None else dtype.kind


def word_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The integer type of the bits of a storage type; any other dtype is returned unchanged."""
    form = format_of(dtype)
    return dtype if form is None else np.dtype(form.word)


# -- rounding on the host --------------------------------------------------------------------------


def pattern_of(value: Any, form: Format) -> int:
    """Bits of the element that is nearest to a real number, which is rounded once."""
    number = value.item() if isinstance(value, np.generic) else value
    sign = 0
    if number < 0 or (number == 0 and math.copysign(1.0, number) < 0):
        sign = 1 << (form.bits - 1)
    if number != number:
        return form.nan
    if number in (math.inf, -math.inf):
        return sign | form.beyond
    top, bottom = abs(number).as_integer_ratio()  # which is a power of two
    if not top:
        return sign
    least = 1 - form.bias
    exponent = max(top.bit_length() - bottom.bit_length(), least)
    unit = exponent - form.fraction
    digits, rest = divmod(top << max(-unit, 0), bottom << max(unit, 0))
    twice, whole = 2 * rest, bottom << max(unit, 0)
    digits += twice > whole or (twice == whole and digits & 1)
    code = digits + ((exponent - least) << form.fraction)
    return sign | (form.beyond if code > form.greatest else code)


def as_stored(values: Any, dtype: np.dtype[Any]) -> Any:
    """What is to be assigned to elements of a dtype: rounded already if it is a storage type.

    ml_dtypes rounds a float64 and an integer to float32 first, and so some of them twice.
    """
    form = None if dtype.num < _OF_OTHERS else format_of(dtype)
    if form is None:
        return values
    given = np.asarray(values)
    if given.dtype == dtype:
        return values
    if has_integers_only(given):
        bits = [pattern_of(n, form) for n in given.flat]  # integers of more than 64 bits
        return np.array(bits, form.word).reshape(given.shape).view(dtype)[()]
    if given.dtype.kind not in "biuf" or given.dtype.num >= _OF_OTHERS:
        return given.astype(dtype)
    with np.errstate(all="ignore"):
        return _near(given).astype(dtype)


# Numbers of NumPy's types of floats that have a wider one.
_NARROW = frozenset(np.dtype(name).num for name in ("float16", "float32", "complex64"))
_IN_ALL = 65504.0  # the greatest finite number of float16


def store(array: npt.NDArray[Any], at: Any, values: Any, dtype: np.dtype[Any]) -> None:
    """Assign to elements of an array: rounded as kernels round, so numbers beyond the range become
    infinities, of which NumPy would warn."""
    if dtype.num not in _NARROW:
        array[at] = as_stored(values, dtype)
    elif type(values) is float and -_IN_ALL <= values <= _IN_ALL:
        array[at] = values
    else:
        with np.errstate(over="ignore", under="ignore"):
            array[at] = values


def has_integers_only(values: npt.NDArray[Any]) -> bool:
    """Whether an array of objects has integers only, as NumPy keeps those of more than 64 bits."""
    return values.dtype == object and all(isinstance(n, int | np.integer) for n in values.flat)


def _near(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """float32 that round to what the numbers themselves round to.

    Those that float32 does not have become the neighbour whose last bit is set: it is no tie
    between numbers of fewer digits, and on the right side of each.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize > 2:
        values = _as_floats(values)
    near = np.asarray(values.astype(np.float32))
    if values.dtype.itemsize <= 4:
        return near
    back = near.astype(values.dtype)
    bits = near.view(np.uint32)
    odd = (bits - (abs(back) > abs(values))) | np.uint32(1)
    return np.where(back == values, bits, odd.astype(np.uint32)).view(np.float32)


def _as_floats(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Integers as float64; of those that have more digits the last one is set."""
    negative = values < 0
    size = values.astype(np.uint64)
    size = np.where(negative, ~size + np.uint64(1), size)
    low = size & np.uint64(0x7FF)
    halves = (size >> np.uint64(11)) | (low != 0)
    wide = np.where(size >> np.uint64(53) != 0, halves.astype(np.float64) * 2048.0, size)
    return np.where(negative, -wide, wide)
