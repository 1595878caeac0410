"""Options that are on or off: what is neither is refused, not taken for one of them."""

from __future__ import annotations

import numpy as np

from .brief import brief


def flag(value: object, name: str, where: str, fault: type[Exception]) -> bool:
    """The value of the option `name` of `where`; raises `fault` unless it is a bool."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise fault(f"{where}: {name}={brief(value)}; expected True or False.")
