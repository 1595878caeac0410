"""Runtime of oracle kernels: bounds-checked Views, and the definition of arithmetic."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from execspace import View, ViewIndexError
from execspace.base.storage_types import FORMATS, word_of
from execspace.kernels import numbers

from ..launch.failures import failure
from ..typing.lowered import Lowered


class Checked:
    """A bounds-checked View, for oracle kernels."""

    __slots__ = ("array", "label", "shape")

    def __init__(
        self, array: npt.NDArray[Any], label: str, shape: tuple[int, ...] | None = None
    ) -> None:
        self.array = array
        self.label = label
        self.shape = array.shape if shape is None else shape  # for a mapped View, its extents

    @classmethod
    def of(cls, view: View, name: str) -> Checked:
        """The accessor of a View; for one with a user-defined layout, of the row of elements.

        A plain array has no label: `name` is the name of the parameter.
        """
        array = view.memory_space.host_array(view)
        array = array.view(word_of(view.dtype)) if view.type.dtype in FORMATS else array
        own = view.label if not view.label.startswith("argument ") else ""
        return cls(array, own or name, view.shape)

    @property
    def atomic(self) -> Any:
        """The accessor for atomic operations, in a team kernel."""
        return self

    def extent(self, d: int) -> np.int64:
        """Extent of a dimension."""
        return np.int64(self.shape[d])

    def _at(self, key: Any) -> tuple[int, ...]:
        indices = tuple(int(i) for i in (key if isinstance(key, tuple) else (key,)))
        for d, (i, n) in enumerate(zip(indices, self.array.shape, strict=True)):
            if not 0 <= i < n:
                what = f"View '{self.label}'" if self.label else "local array"
                raise ViewIndexError(
                    f"{what}: index {i} is out of bounds for dimension {d} of "
                    f"extent {n}, at {indices}."
                )
        return indices

    def __getitem__(self, key: Any) -> Any:
        return self.array[self._at(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[self._at(key)] = value

    def _bytes(self, key: Any, byte: Any, to: Any) -> npt.NDArray[Any]:
        """The number `byte` bytes from the start of a record, as an array of rank 0."""
        part: tuple[Any, ...] = (*(slice(i, i + 1) for i in self._at(key)), ...)
        at = self.array[part]
        return np.ndarray((), to, at, int(byte))

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        """A number within a record."""
        return self._bytes(key, byte, to)[()]

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        """Set a number within a record."""
        self._bytes(key, byte, type(value))[()] = value


class Status:
    """Raises the exception of a failed assertion immediately."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered

    def fail(self, code: int, indices: tuple[int, ...]) -> None:
        """Raise for assertion number `code`."""
        raise failure(self.lowered.kernel.name, self.lowered.assertions, code, indices)


def local(shape: tuple[int, ...], kind: Any) -> Checked:
    """A local array."""
    return Checked(np.zeros(shape, kind), "")


def local_records(shape: tuple[int, ...], size: tuple[int]) -> Checked:
    """A local array of records of `size` bytes."""
    return Checked(np.zeros(shape, np.dtype((np.void, size[0]))), "")


def bounded(index: Any, extent: Any) -> Any:
    """An index of a part of a View, checked."""
    if not 0 <= index < extent:
        raise ViewIndexError(f"index {index} is out of bounds for an extent of {extent}.")
    return index


def printf(text: str, values: tuple[Any, ...]) -> None:
    """Write to standard output; Python's % formats numbers as in C."""
    shown = text % tuple(v.item() for v in values)
    if sys.stdout is not None:
        sys.stdout.write(shown)


# -- operations that NumPy spells differently; generated source calls them ----------------------


def int_range(start: Any, stop: Any, step: Any) -> Iterator[np.int64]:
    """Python's range over int64 values."""
    return map(np.int64, range(int(start), int(stop), int(step)))


def cast(value: Any, to: Any) -> Any:
    """NumPy's astype for one scalar; narrow integers wrap."""
    if np.issubdtype(to, np.integer) and isinstance(value, np.floating):
        value = np.asarray(value).astype(np.uint64 if to is np.uint64 else np.int64)
    return np.asarray(value).astype(to)[()]


def bit_cast(value: Any, to: Any) -> Any:
    """The number of another type that has the same bits."""
    return np.asarray(value).view(to)[()]


def complex_mul(a: Any, b: Any) -> Any:
    """The product without contraction."""
    kind = type(a)
    return kind(complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real))


def complex_div(a: Any, b: Any) -> Any:
    """The quotient by Smith's method, as in NumPy."""
    kind, one = type(a), type(a.real)(1)
    if abs(b.real) >= abs(b.imag):
        if b.real == 0 and b.imag == 0:
            return kind(complex(a.real / abs(b.real), a.imag / abs(b.real)))
        ratio = b.imag / b.real
        scale = one / (b.real + b.imag * ratio)
        re, im = (a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale
        return kind(complex(re, im))
    ratio = b.real / b.imag
    scale = one / (b.imag + b.real * ratio)
    re, im = (a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale
    return kind(complex(re, im))


def complex_sqrt(z: Any) -> Any:
    """The principal root, as C's csqrt; NumPy's is not exact near the smallest numbers."""
    kind, part = type(z), type(z.real)
    a, b = z.real, z.imag
    if a == 0 and b == 0:
        return kind(complex(0.0, b))
    if np.isinf(b):
        return kind(complex(np.inf, b))
    if np.isnan(a):
        return kind(complex(a, a))
    if np.isinf(a):
        rest = b - b  # NaN for a NaN
        if a < 0:
            return kind(complex(abs(rest), np.copysign(a, b)))
        return kind(complex(a, np.copysign(rest, b)))
    huge = np.finfo(part).max / part(4)
    scale = part(2) if abs(a) > huge or abs(b) > huge else part(1)
    a, b = a / (scale * scale), b / (scale * scale)
    t = np.sqrt(part(0.5) * (abs(a) + np.hypot(a, b)))
    other = b / (part(2) * t)
    re, im = (abs(other), np.copysign(t, b)) if a < 0 else (t, other)
    return kind(complex(re * scale, im * scale))


def python_min(a: Any, b: Any) -> Any:
    """Python's min."""
    return b if b < a else a


def python_max(a: Any, b: Any) -> Any:
    """Python's max."""
    return b if b > a else a


def minimum(a: Any, b: Any) -> Any:
    """numpy.minimum, but deterministic for two zeros."""
    return a if a < b or a != a else b


def maximum(a: Any, b: Any) -> Any:
    """numpy.maximum, but deterministic for two zeros."""
    return a if a > b or a != a else b


def fmin(a: Any, b: Any) -> Any:
    """numpy.fmin, but deterministic for two zeros."""
    return a if a <= b or b != b else b


def fmax(a: Any, b: Any) -> Any:
    """numpy.fmax, but deterministic for two zeros."""
    return a if a >= b or b != b else b


def float_pow(a: Any, b: Any) -> Any:
    """A power. For an exponent of 0.5, `np.power` of scalars takes the square root, which differs
    at -0.0 and at minus infinity."""
    kind = np.result_type(a, b).type
    return kind(a) ** kind(b)


def int_pow(a: Any, b: Any) -> Any:
    """Wrapping integer power; a negative exponent truncates to an integer."""
    kind = type(a)
    base, exponent = int(a), int(b)
    if exponent < 0:
        if base not in (1, -1):
            return kind(0)
        return kind(base if exponent % 2 else 1)
    modulus = 1 << (8 * a.itemsize)
    return np.asarray(pow(base, exponent, modulus), dtype=np.uint64).astype(kind)[()]


def _real_function(
    name: str, poles: Any = lambda x: math.nan, beyond: Any = lambda x: math.inf
) -> Any:
    plain = getattr(math, name)

    def function(x: Any) -> Any:
        try:
            return type(x)(plain(float(x)))
        except OverflowError:
            return type(x)(beyond(x))
        except ValueError:  # a pole, or beyond it
            return type(x)(poles(x))

    return function


def _gamma_at_pole(x: Any) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.nan


erf, erfc = _real_function("erf"), _real_function("erfc")
# Near 0 it is 1 / x.
gamma = _real_function("gamma", _gamma_at_pole, lambda x: math.copysign(math.inf, x))
lgamma = _real_function("lgamma", lambda x: math.inf)


def popcount(a: Any) -> Any:
    """How many bits of an unsigned integer are set."""
    return type(a)(int(a).bit_count())


def countl_zero(a: Any) -> Any:
    """How many zeros are before the highest bit of an unsigned integer that is set."""
    return type(a)(8 * a.itemsize - int(a).bit_length())


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once."""
    return type(a)(numbers.fma(a, b, c))
