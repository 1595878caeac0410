"""Short ways of copies and fills in memory of the host, for types of which nothing need be asked.

Each returns False where it is not sure; then `deep_copy` looks at everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .storage_types import FORMATS
from .waiting import never_waits

Copier = Callable[[Any, Any, Any], bool]

_LAYOUTS = frozenset(("right", "left", "stride"))
# Kinds of elements that take any number of a class as it is, or raise OverflowError.
_TAKES = {float: "f", int: "iu", bool: "b"}
_EXACT = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}  # integers up to these
_GREATEST = {"float16": 65504.0, "float32": 3.4028234663852886e38}  # finite numbers
_kinds = {
    np.dtype(name).name: np.dtype(name).kind
    for name in (
        "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"
    )
    if np.dtype(name).name not in FORMATS
}  # fmt: skip


def host_copier(dst: Any, src: Any) -> Copier | None:
    """The function for types of Views, or classes of arrays and numbers; None if there is none.

    A `ViewType` is no class, and all else that is given is one.
    """
    if not isinstance(dst, type):
        if not _is_usual(dst) or dst.readonly:
            return None
        if not isinstance(src, type):
            return _copy_views if _is_usual(src) and src.dtype == dst.dtype else None
        if src is np.ndarray:
            return _copy_array
        if src is int and dst.dtype in _EXACT:
            return _fill_with_integer
        if src is float and dst.dtype in _GREATEST:
            return _fill_with_float
        return _fill if _kinds[dst.dtype] in _TAKES.get(src, "") else None
    if dst is np.ndarray and not isinstance(src, type) and _is_usual(src):
        return _copy_to_array
    return None


def _is_usual(of: Any) -> bool:
    return of.memory == "host" and of.dtype in _kinds and of.layout in _LAYOUTS


def _comes_at_once(instance: Any) -> bool:
    """Whether a copy in order with an instance need wait for nothing, and the instance is one that
    reaches memory of the host."""
    return never_waits(instance) and instance.memory_space.name == "host"


def _copy_views(dst: Any, src: Any, instance: Any) -> bool:
    a: npt.NDArray[Any] | None = dst._host
    b: npt.NDArray[Any] | None = src._host
    if a is None or b is None or dst.shape != src.shape:
        return False
    x, y = dst.allocation, src.allocation
    if (x is y or not (x.managed and y.managed)) and np.may_share_memory(a, b):
        return False
    if instance is not None and not _comes_at_once(instance):
        return False
    a[...] = b
    return True


def _lies_in_elements(array: npt.NDArray[Any]) -> bool:
    """Whether a View can lie over an array, which may be a field of records."""
    flags, size = array.flags, array.itemsize
    return flags.aligned and (flags.forc or not any(step % size for step in array.strides))


def _copy_array(dst: Any, src: npt.NDArray[Any], instance: Any) -> bool:
    a: npt.NDArray[Any] | None = dst._host
    if a is None or a.shape != src.shape or a.dtype != src.dtype or np.may_share_memory(a, src):
        return False
    if not _lies_in_elements(src):
        return False
    if instance is not None and not _comes_at_once(instance):
        return False
    a[...] = src
    return True


def _copy_to_array(dst: npt.NDArray[Any], src: Any, instance: Any) -> bool:
    b: npt.NDArray[Any] | None = src._host
    if b is None or b.shape != dst.shape or b.dtype != dst.dtype or np.may_share_memory(dst, b):
        return False
    if not (dst.flags.writeable and _lies_in_elements(dst)):
        return False
    if instance is not None and not _comes_at_once(instance):
        return False
    dst[...] = b
    return True


def _fill(dst: Any, src: float, instance: Any) -> bool:
    a: npt.NDArray[Any] | None = dst._host
    if a is None or (instance is not None and not _comes_at_once(instance)):
        return False
    try:
        a.fill(src)
    except OverflowError:
        return False
    return True


def _fill_with_float(dst: Any, src: float, instance: Any) -> bool:
    most = _GREATEST[dst.type.dtype]  # NumPy warns of those beyond
    return -most <= src <= most and _fill(dst, src, instance)


def _fill_with_integer(dst: Any, src: int, instance: Any) -> bool:
    most = _EXACT[dst.type.dtype]
    return -most <= src <= most and _fill(dst, src, instance)
