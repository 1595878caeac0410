"""Arrays of other libraries as Views, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import layout as _layout
from . import plugins, selection
from .dtypes import as_dtype
from .errors import PluginError, ViewError
from .memory import HOST, Allocation
from .space import WrapsArrays
from .view import MAX_RANK, View


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
    TypeError
        If `source` is none of these.
    ViewError
        If its elements are not aligned, not in native byte order, or of too high a rank.
    SpaceUnavailableError
        If it is an array of a device whose space cannot be used here.
    """
    if isinstance(source, View):
        return source
    data = source
    if not isinstance(data, np.ndarray):
        where = _claimed(source)
        if where is not None:
            return where.view_of(source, label)
        try:
            if hasattr(data, "__array_interface__"):
                data = np.asarray(data)
            elif hasattr(data, "__dlpack__"):
                data = np.from_dlpack(data)
            else:
                data = np.asarray(memoryview(data))
        except (TypeError, BufferError, RuntimeError) as error:
            raise TypeError(
                f"Cannot make a View of {type(source).__name__!r}: {error}. Expected a NumPy "
                f"array, a DLPack tensor, or an object with the buffer protocol; arrays of a "
                f"device need the plugin of a space that runs there."
            ) from None
    kind = as_dtype(data.dtype)
    size = kind.itemsize
    address = data.__array_interface__["data"][0]  # a third of the time of data.ctypes.data
    if data.dtype != kind or address % kind.alignment or any(s % size for s in data.strides):
        raise ViewError(
            f"Cannot make a View '{label}' of an array of dtype {data.dtype.str} with strides "
            f"{data.strides}: elements must be aligned and in native byte order. Copy it first."
        )
    if data.ndim > MAX_RANK:
        raise ViewError(f"View '{label}': rank {data.ndim} exceeds {MAX_RANK}.")
    strides = tuple(s // size for s in data.strides)
    allocation = Allocation(address, data.nbytes, label, HOST, data, managed=False)
    kind_of = _layout.classify(data.shape, strides)
    readonly = not data.flags.writeable
    return View._over(
        allocation, allocation.pointer, kind, data.shape, strides, kind_of, readonly, None
    )


def _claimed(source: Any) -> WrapsArrays | None:
    """The space in whose memory an array of another library is, started if need be."""
    if not any(has_protocol(source, name) for name in ("__dlpack__", "__cuda_array_interface__")):
        return None
    entries = sorted(plugins.registry().spaces.values(), key=lambda e: -e.priority)
    named = [name for entry in entries if (name := entry.claims(source)) is not None]
    if not named:
        return None
    current = selection.CURRENT.get()  # of two spaces on one device, that which is in use
    name = next((n for n in named if current is not None and n == current.name), named[0])
    where = selection.space(name)
    if not isinstance(where, WrapsArrays):
        raise PluginError(
            f"Space '{name}' claims an array of {type(source).__module__}.{type(source).__name__} "
            f"but has no view_of, see execspace.WrapsArrays; its plugin breaks the contract."
        )
    return where


def has_protocol(source: Any, name: str) -> bool:
    """Whether an object has an attribute such as ``__dlpack__``, without asking for its value.

    Libraries compute such attributes, and may refuse to.
    """
    return hasattr(type(source), name) or name in getattr(source, "__dict__", ())
