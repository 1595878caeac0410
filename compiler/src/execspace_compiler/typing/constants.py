"""Conversions of constants when a kernel is compiled, by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ir
from ..ir.diagnostics import type_fault
from ..ir.types import Scalar


def converted(e: ir.Const, type: Scalar) -> Any:
    """The value of a constant in another type; a fault if a weak integer does not fit."""
    dtype = np.dtype(type.name)
    if e.type.weak and isinstance(e.value, int) and type.is_integer:
        limits = np.iinfo(dtype)
        if not limits.min <= e.value <= limits.max:
            wide = "uint64" if e.value > 2**63 - 1 else "int64"
            hint = (
                f"use a wider type: cast the other operand with es.{wide}(...), or store into "
                f"a View of {wide}"
            )
            raise type_fault(
                e.loc,
                f"the constant {e.value} does not fit {type.strong}, which holds "
                f"{limits.min} to {limits.max}",
                hint,
            )
    with np.errstate(all="ignore"):
        return np.asarray(e.value).astype(dtype).item()
