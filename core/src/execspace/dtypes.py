"""Element types: NumPy's scalar types under the names that kernels and Views use.

They are NumPy's own classes, so `es.float32(x)` is a cast in a kernel and in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import DTypeError

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def as_dtype(spec: npt.DTypeLike) -> np.dtype[Any]:
    """Turn what a user writes into a NumPy dtype that a View can hold.

    Parameters
    ----------
    spec : dtype-like
        A NumPy dtype, scalar type, type name, or Python's bool, int, float, complex.

    Raises
    ------
    DTypeError
        If NumPy does not know the dtype, or it is not one of the element types above.
    """
    try:
        dtype = np.dtype(spec)
    except (TypeError, ValueError, SyntaxError):  # NumPy parses strings
        raise DTypeError(
            f"dtype {spec!r} does not exist; expected one of {', '.join(NAMES)}, "
            f"for example es.float64."
        ) from None
    if spec is None or dtype.name not in NAMES:
        raise DTypeError(
            f"dtype {spec!r} cannot be an element of a View; expected one of {', '.join(NAMES)}."
        )
    return dtype.newbyteorder("=") if not dtype.isnative else dtype
