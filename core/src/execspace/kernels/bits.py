"""Bits of integers, and numbers seen as others with the same bits: C++'s <bit>, in kernels.

Here is what they mean in plain Python; compilers know their meaning by identity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import LaunchError
from ..contract.dtypes import as_dtype

__all__ = [
    "bit_cast",
    "bit_ceil",
    "bit_floor",
    "bit_width",
    "byteswap",
    "countl_one",
    "countl_zero",
    "countr_one",
    "countr_zero",
    "has_single_bit",
    "popcount",
    "rotl",
    "rotr",
]


def _bits(x: Any, name: str) -> tuple[int, int]:
    """An integer's bits as a number, and how many it has; one of Python's has 64."""
    if isinstance(x, np.integer):
        size = 8 * x.itemsize
        return int(x) % (1 << size), size
    if isinstance(x, int) and not isinstance(x, bool):
        if not -(2**63) <= x < 2**63:
            raise LaunchError(f"{name}({brief(x)}): expected an integer of 64 bits at most.")
        return x % (1 << 64), 64
    raise LaunchError(
        f"{name}({brief(x)}): expected an integer, got {type(x).__name__!r}; the bits of a float "
        f"are those of es.bit_cast(x, es.uint64)."
    )


def _like(x: Any, bits: int, size: int) -> Any:
    """A number of the type of `x` that has these bits."""
    bits %= 1 << size
    signed = isinstance(x, np.signedinteger | int)
    number = bits - (1 << size) if signed and bits >> (size - 1) else bits
    return number if isinstance(x, int) else type(x)(number)


def bit_cast(x: Any, dtype: npt.DTypeLike) -> Any:
    """The number of another type that has the same bits; in kernels also ``x.view(dtype)``.

    Parameters
    ----------
    x : number
        A Python int counts as int64, a Python float as float64.
    dtype : dtype-like
        An integer or floating type of as many bytes.

    Returns
    -------
    number of type `dtype`

    Raises
    ------
    LaunchError
        If the sizes differ, or one of them is neither integer nor floating; in a kernel it is a
        KernelTypeError.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/numerics/bit-manipulation.html

    Examples
    --------
    >>> import execspace as es
    >>> hex(es.bit_cast(1.0, es.uint64))
    '0x3ff0000000000000'
    """
    to = np.dtype(as_dtype(dtype))
    given = np.asarray(x)
    kinds = {given.dtype.kind, to.kind}
    if given.ndim or kinds - set("iuf") or given.dtype.itemsize != to.itemsize:
        raise LaunchError(
            f"bit_cast({brief(x)}, {to}): expected an integer or float and a type of as many "
            f"bytes, got {given.dtype} and {to}."
        )
    return given.view(to)[()]


def popcount(x: Any) -> int:
    """How many bits are set, of 64 of a Python int; of a negative number those of its two's
    complement.

    Parameters
    ----------
    x : int or NumPy integer

    Returns
    -------
    int

    Raises
    ------
    LaunchError
        If it is no integer; in a kernel it is a KernelTypeError.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/numerics/bit-manipulation.html, as of the
    other functions here.

    Examples
    --------
    >>> import execspace as es
    >>> es.popcount(7), es.popcount(es.int8(-1))
    (3, 8)
    """
    return _bits(x, "popcount")[0].bit_count()


def countl_zero(x: Any) -> int:
    """How many zeros are before the highest bit that is set; the width of a zero.

    Parameters, result and errors are those of `popcount`.

    Examples
    --------
    >>> import execspace as es
    >>> es.countl_zero(es.uint8(1)), es.countl_zero(1)
    (7, 63)
    """
    bits, size = _bits(x, "countl_zero")
    return size - bits.bit_length()


def countl_one(x: Any) -> int:
    """How many bits in a row are set from the highest one down.

    Parameters, result and errors are those of `popcount`.
    """
    bits, size = _bits(x, "countl_one")
    return size - ((1 << size) - 1 - bits).bit_length()


def countr_zero(x: Any) -> int:
    """How many zeros are behind the lowest bit that is set; the width of a zero.

    Parameters, result and errors are those of `popcount`.

    Examples
    --------
    >>> import execspace as es
    >>> es.countr_zero(8)
    3
    """
    bits, size = _bits(x, "countr_zero")
    return (bits & -bits).bit_length() - 1 if bits else size


def countr_one(x: Any) -> int:
    """How many bits in a row are set from the lowest one up.

    Parameters, result and errors are those of `popcount`.
    """
    bits, size = _bits(x, "countr_one")
    clear = (1 << size) - 1 - bits
    return (clear & -clear).bit_length() - 1 if clear else size


def bit_width(x: Any) -> int:
    """How many bits a number needs: 0 of a zero, else 1 more than the place of its highest bit.

    Parameters, result and errors are those of `popcount`.

    Examples
    --------
    >>> import execspace as es
    >>> [es.bit_width(n) for n in (0, 1, 255, 256)]
    [0, 1, 8, 9]
    """
    return _bits(x, "bit_width")[0].bit_length()


def has_single_bit(x: Any) -> bool:
    """Whether one bit is set: whether an unsigned number is a power of two.

    Parameters and errors are those of `popcount`.
    """
    return _bits(x, "has_single_bit")[0].bit_count() == 1


def bit_floor(x: Any) -> Any:
    """The highest bit that is set, all others cleared: the greatest power of two up to a number.

    Parameters and errors are those of `popcount`. Returns a number of the type of `x`, 0 of 0.

    Examples
    --------
    >>> import execspace as es
    >>> es.bit_floor(100), es.bit_ceil(100)
    (64, 128)
    """
    bits, size = _bits(x, "bit_floor")
    return _like(x, 1 << (bits.bit_length() - 1) if bits else 0, size)


def bit_ceil(x: Any) -> Any:
    """The least power of two that is not less than a number, which is seen as unsigned.

    Parameters and errors are those of `popcount`. Returns a number of the type of `x`, 1 of 0, and
    0 where the power has one bit more than the type; C++ leaves that undefined.
    """
    bits, size = _bits(x, "bit_ceil")
    return _like(x, 1 << (bits - 1).bit_length() if bits > 1 else 1, size)


def rotl(x: Any, by: int) -> Any:
    """The bits of a number rotated to the left; to the right by a negative number.

    Parameters
    ----------
    x : int or NumPy integer
    by : int

    Returns
    -------
    number of the type of `x`

    Raises
    ------
    LaunchError
        If one of them is no integer; in a kernel it is a KernelTypeError.

    Examples
    --------
    >>> import execspace as es
    >>> es.rotl(es.uint8(0b10010000), 1)
    np.uint8(33)
    """
    bits, size = _bits(x, "rotl")
    _bits(by, "rotl: by")
    n = int(by) % size
    return _like(x, bits << n | bits >> (size - n), size)


def rotr(x: Any, by: int) -> Any:
    """The bits of a number rotated to the right; see `rotl`."""
    _bits(x, "rotr")
    _bits(by, "rotr: by")
    return rotl(x, -int(by))


def byteswap(x: Any) -> Any:
    """A number whose bytes are in the opposite order.

    Parameters and errors are those of `popcount`. Returns a number of the type of `x`.

    Examples
    --------
    >>> import execspace as es
    >>> hex(es.byteswap(es.uint32(0x11223344)))
    '0x44332211'
    """
    bits, size = _bits(x, "byteswap")
    return _like(x, int.from_bytes(bits.to_bytes(size // 8, "little"), "big"), size)
