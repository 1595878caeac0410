"""Arrays of other libraries as Views, without a copy."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..base import config
from ..base.array_interface import address_of
from ..base.dlpack import array_from
from ..base.errors import PluginError, ViewError, ViewTypeError
from ..base.free_threading import getter
from ..base.readonly import assign
from ..contract import layout as _layout
from ..contract.argtypes import ViewType
from ..contract.dtypes import as_dtype
from ..contract.memory import HOST, MemorySpace, new_allocation
from ..contract.space import ExecutionSpace, WrapsArrays
from ..plugins import registry as plugins
from ..plugins import selection
from .arrays import advice, check_plain, has_protocol
from .planned import is_fixed
from .view import View
from .view_keys import MAX_RANK
from .view_parts import type_of

__all__ = [
    "subview",
    "view_of",
]

_REFUSALS = (TypeError, BufferError, RuntimeError)  # how a producer says that it has no memory here


def view_of(source: Any, *, label: str = "") -> View:
    """Wrap an array of another library without a copy.

    Parameters
    ----------
    source : View, numpy.ndarray, or an object with DLPack, ``__array_interface__``,
        ``__cuda_array_interface__`` or the buffer protocol
        The View keeps it alive. An array of a device, such as CuPy's, becomes a View in the memory
        of the space that claims it.
    label : str

    Raises
    ------
    ViewTypeError
        If `source` is none of these, or means more than its elements: a masked array, a quantity
        with a unit, a matrix, or another subclass of numpy.ndarray than memmap and recarray.
    ViewError
        If its elements are not aligned, not in native byte order, or of too high a rank.
    SpaceUnavailableError
        If it is an array of a device whose space cannot be used here.
    """
    if isinstance(source, View):
        return source
    data = source
    if type(data) is not np.ndarray:
        check_plain(data, label)
    if not isinstance(data, np.ndarray):
        where = _claimed(source)
        if where is not None:
            claimed: View = where.view_of(source, label)
            return claimed
        data = _on_host(source, label)
    view = view_over(
        label, address_of(data), data.dtype, data.shape, data.strides, not data.flags.writeable,
        HOST, data, None,
    )  # fmt: skip
    if type(data) is np.ndarray and not config.is_portable():
        assign(view, "_host", data[...])  # the shape of an array may be assigned
    return view


def view_over(
    label: str,
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    readonly: bool,
    memory: MemorySpace,
    owner: object,
    space: ExecutionSpace | None,
) -> View:
    """A View over memory that execspace only wraps, for spaces that are `WrapsArrays`, too.

    Parameters
    ----------
    label : str
    address : int
        Of the element with all indices zero.
    dtype : dtype
    shape, strides : tuple of int
        Strides count bytes.
    readonly : bool
    memory : MemorySpace
    owner : object
        Kept alive by the View.
    space : ExecutionSpace, optional
        Where work on it runs that names no space.

    Raises
    ------
    DTypeError, ViewError
        If there is no such dtype, or the elements are not aligned, not in native byte order, or of
        too high a rank.
    """
    key = dtype, shape, strides, readonly, memory.name
    plan: _Plan | None = _known_plan(key) if is_fixed(dtype) else None
    if plan is None:
        plan = _plan_of(label, dtype, shape, strides, readonly, memory.name)
        if len(_known) >= _MOST:
            _known.clear()
        if is_fixed(dtype):
            _known[key] = plan
    if address % plan.alignment:
        raise _unaligned(label, dtype, strides)
    allocation = new_allocation(address, plan.nbytes, label, memory, owner, False)
    return View._of_type(
        allocation, address, plan.dtype, shape, plan.steps, plan.layout, readonly, space, None,
        plan.type,
    )  # fmt: skip


class _Plan(NamedTuple):
    """What a View is of arrays of one dtype, shape and strides; `steps` count elements."""

    dtype: np.dtype[Any]
    alignment: int
    steps: tuple[int, ...]
    nbytes: int
    layout: str
    type: ViewType


_known: dict[tuple[Any, ...], _Plan] = {}
_known_plan = getter(_known)
_MOST = 1024


def _plan_of(
    label: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    readonly: bool,
    memory: str,
) -> _Plan:
    kind = as_dtype(dtype)
    size = kind.itemsize
    if not dtype.isnative or any(s % size for s in strides):
        raise _unaligned(label, dtype, strides)
    if len(shape) > MAX_RANK:
        raise ViewError(f"View '{label}': rank {len(shape)} exceeds {MAX_RANK}.")
    steps = tuple(s // size for s in strides)
    # From the first element in memory to the last one: parts of an array have gaps.
    span = size * (1 + sum((n - 1) * abs(s) for n, s in zip(shape, steps, strict=True)))
    layout = _layout.classify(shape, steps)
    type = type_of(kind, steps, layout, readonly, memory)
    # Devices move both parts of a complex number at once.
    whole = kind.kind == "c" and memory != HOST.name
    alignment = size if whole else kind.alignment
    return _Plan(kind, alignment, steps, span if prod(shape) else 0, layout, type)


def _unaligned(label: str, dtype: np.dtype[Any], strides: tuple[int, ...]) -> ViewError:
    return ViewError(
        f"Cannot make a View '{label}' of an array of dtype {dtype.str} with strides {strides}: "
        f"elements must be aligned and in native byte order. Copy it first."
    )


def _on_host(source: Any, label: str) -> np.ndarray[Any, Any]:
    """NumPy's array over the memory of an array of another library.

    Raises ViewTypeError if there is none, or if the object cannot say which.
    """
    protocol, fault = "__array_interface__", None
    try:
        if hasattr(source, protocol):
            if source.__array_interface__.get("mask") is not None:
                raise ViewTypeError("it has a mask, which a View would lose")
            array = np.asarray(source)
            if isinstance(source, np.generic) and not isinstance(source, np.void):
                array.setflags(write=False)  # a copy: what is stored there would be lost
            return array
        protocol = "__dlpack__"
        if hasattr(source, protocol):
            return array_from(source)
        protocol = "buffer"
        return np.asarray(memoryview(source))
    except Exception as error:  # from code of the object's class, or from NumPy
        wanted = "a NumPy array, a DLPack tensor, or an object with the buffer protocol"
        if more := advice(source):
            why = f"expected {wanted}. {more}"
        elif isinstance(error, ViewTypeError):
            why = f"{error}. Pass an array without one."
        elif protocol != "__array_interface__" and isinstance(error, _REFUSALS):
            text = "" if protocol == "buffer" else f"{error}. "  # which names no other way
            why = (
                f"{text}Expected {wanted}; arrays of a device need the plugin of a space "
                f"that runs there."
            )
        else:
            fault = error
            why = (
                f"its {protocol} cannot be used ({type(error).__name__}: {error}). Expected one "
                f"that describes memory of the host; or pass np.array(...) of the elements."
            )
    at = f" ({label})" if label else ""
    raise ViewTypeError(f"Cannot make a View of {type(source).__name__!r}{at}: {why}") from fault


def _claimed(source: Any) -> WrapsArrays | None:
    """The space in whose memory an array of another library is, started if need be."""
    if not any(has_protocol(source, name) for name in ("__dlpack__", "__cuda_array_interface__")):
        return None
    name = _claim(source)
    if name is None:
        return None
    where = selection.space(name)
    if not isinstance(where, WrapsArrays):
        raise PluginError(
            f"Space '{name}' claims an array of {type(source).__module__}.{type(source).__name__} "
            f"but has no view_of, see execspace.WrapsArrays; its plugin breaks the contract."
        )
    return where


def _claim(source: Any) -> str | None:
    """The name of the space that has an array in its memory."""
    current = selection.CURRENT.get()  # of two spaces on one device, that which is in use
    if current is not None:
        entry = plugins.loaded().spaces.get(current.name.partition(":")[0])
        if entry is not None and entry.claims(source) == current.name:
            return current.name
    entries = sorted(plugins.registry().spaces.values(), key=lambda e: -e.priority)
    named = [name for entry in entries if (name := entry.claims(source)) is not None]
    mine = (n for n in named if current is not None and n == current.name)
    return next(mine, named[0] if named else None)


def subview(view: View, *parts: Any) -> View:
    """Part of a View that shares its memory.

    Parameters
    ----------
    view : View or array
    *parts : int, (begin, end), slice or es.ALL
        One for each dimension; an integer drops its dimension.

    Examples
    --------
    >>> import execspace as es
    >>> A = es.View((4, 5, 6))
    >>> es.subview(A, es.ALL, 3, (2, 5)).shape
    (4, 3)
    """
    source = view_of(view)
    return source._subview(source._key(parts))
