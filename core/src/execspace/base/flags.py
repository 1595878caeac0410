"""Options that are on or off, and numbers of lanes: what is neither is refused."""

from __future__ import annotations

import operator

import numpy as np

from .brief import brief

MOST_LANES = 64


def lanes_of(value: object, where: str, fault: type[Exception], none: str = "None") -> int:
    """A number of lanes of a vector, 0 for None; `fault` for what is none."""
    if value is None:
        return 0
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= MOST_LANES or number & (number - 1):
        raise fault(
            f"{where}: lanes={brief(value)}; expected a power of two from 1 to {MOST_LANES}, "
            f"or {none} to leave it to the space."
        )
    return number


def flag(value: object, name: str, where: str, fault: type[Exception]) -> bool:
    """The value of the option `name` of `where`; raises `fault` unless it is a bool."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise fault(f"{where}: {name}={brief(value)}; expected True or False.")
