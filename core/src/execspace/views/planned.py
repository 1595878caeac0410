"""What a new View is to be, apart from its memory: worked out once for each shape and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import ViewError, shown
from ..base.flags import flag
from ..base.free_threading import getter
from ..contract import layout as _layout
from ..contract.argtypes import ViewType
from ..contract.dtypes import PLAIN, as_dtype
from .view_keys import extents_of
from .view_parts import type_of

_MOST = 1024  # plans that are kept
_INTEGERS: tuple[set[type], ...] = ({int}, set())
_known: dict[tuple[Any, ...], Plan] = {}
_found = getter(_known)


# By identity, for of dtypes that are equal some have metadata, and some records are aligned.
_FIXED = {id(d): d for d in PLAIN}
_FIXED_SPECS = {
    id(s): s for s in (*_FIXED.values(), *(d.type for d in PLAIN), bool, int, float, complex)
}


def is_fixed(dtype: Any) -> bool:
    """Whether it is NumPy's own dtype of a number, which is one object."""
    return id(dtype) in _FIXED


def means_one(spec: Any) -> bool:
    """Whether a dtype-like is an object that means the same dtype whenever it is given."""
    return id(spec) in _FIXED_SPECS or type(spec) is str


class Plan(NamedTuple):
    """What is known of a View before it has memory; `nbytes` is how much it needs."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    layout: str
    nbytes: int
    mapping: _layout.Layout | None
    type: ViewType


def known_plan(
    shape: Any, dtype: Any, memory: str, layout: Any, preferred: str, padding: Any
) -> Plan | None:
    """The plan of a View like one before; None if there is none, or if it might not be the same."""
    chosen = preferred if layout is None else layout
    if type(chosen) is not str or padding is not False:
        return None
    if (type(shape) is int or _has_integers(shape)) and means_one(dtype):
        known: Plan | None = _found((shape, dtype, memory, chosen))
        return known
    return None


def _has_integers(shape: Any) -> bool:
    """Whether a shape equals no other one: True is 1, and so is 1.0."""
    if type(shape) is int:
        return True
    return type(shape) is tuple and set(map(type, shape)) in _INTEGERS


def _keep(shape: Any, dtype: Any, memory: str, layout: str, found: Plan) -> None:
    if not (means_one(dtype) and _has_integers(shape)):
        return
    if len(_known) >= _MOST:
        _known.clear()
    _known[shape, dtype, memory, layout] = found


def plan_of(
    shape: Any,
    dtype: Any,
    memory: str,
    layout: str | Sequence[int] | _layout.Layout | None,
    preferred: str,
    padding: Any,
    label: str,
) -> Plan:
    """Check what a View is to be, and work out the rest; arguments as of `View`.

    Parameters
    ----------
    memory : str
        Name of the memory space.
    preferred : str
        The layout if none is given.

    Raises
    ------
    DTypeError, ViewError
    """
    padded = flag(padding, "padding", f"View '{label}'", ViewError)
    extents, fixed = extents_of(shape, label)
    kind = as_dtype(dtype)
    mapping = layout if isinstance(layout, _layout.Layout) else None
    chosen = preferred if layout is None else layout
    strides, name, span = _layout.arrange(extents, kind.itemsize, chosen, padded, label)
    if max(span * kind.itemsize, 0, *extents, *strides) >= 2**62:
        raise ViewError(
            f"View '{label}': shape ({', '.join(map(shown, extents))}) exceeds the address space."
        )
    found = Plan(
        kind, extents, strides, name, span * kind.itemsize, mapping,
        type_of(kind, strides, name, False, memory, mapping, fixed),
    )  # fmt: skip
    if type(chosen) is str and not padded:
        _keep(shape, dtype, memory, chosen, found)
    return found
