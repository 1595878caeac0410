"""Arrays in memory of the pretended device, and how they are made.

They are no NumPy arrays, and nothing takes them for such: NumPy computes on what they hold.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .cuda.memory import MemoryPointer, alloc


class _At:
    """Memory as NumPy takes it."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any, strides: Any) -> None:
        self.__array_interface__ = {
            "version": 3, "data": (address, False), "shape": shape, "strides": strides,
            "typestr": np.dtype(dtype).str,
        }  # fmt: skip


def _steps(shape: tuple[int, ...], itemsize: int, order: str) -> tuple[int, ...]:
    dims = list(range(len(shape)))
    steps = [0] * len(shape)
    step = itemsize
    for d in dims if order == "F" else reversed(dims):
        steps[d] = step
        step *= max(shape[d], 1)
    return tuple(steps)


class ndarray:
    """An array, or a part of one whose memory it keeps."""

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None,
        order: str = "C",
    ) -> None:  # fmt: skip
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = np.dtype(dtype)
        steps = tuple(strides) if strides is not None else _steps(shape, dtype.itemsize, order)
        if memptr is None:
            count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            memptr = alloc(max(count, 1))
        self._memory: MemoryPointer = memptr
        self._host = np.asarray(_At(memptr.ptr, shape, dtype, steps))

    @classmethod
    def _part(cls, host: Any, memory: MemoryPointer) -> ndarray:
        made = cls.__new__(cls)
        made._memory, made._host = memory, host
        return made

    def _wrapped(self, found: Any) -> Any:
        """What NumPy gave: over the same memory, or as a new array."""
        if not isinstance(found, np.ndarray | np.generic):
            return found
        if isinstance(found, np.ndarray) and np.may_share_memory(found, self._host):
            return ndarray._part(found, self._memory)
        return asarray(found)

    # -- what it is -------------------------------------------------------------------------------

    @property
    def data(self) -> MemoryPointer:
        """Where the first element is."""
        address = self._host.__array_interface__["data"][0]
        return MemoryPointer(self._memory.mem, address - self._memory.mem.ptr)

    @property
    def T(self) -> Any:
        return self._wrapped(self._host.T)

    def __getattr__(self, name: str) -> Any:
        if name not in ("dtype", "shape", "strides", "size", "ndim", "nbytes", "itemsize", "flags"):
            raise AttributeError(f"the pretended cupy.ndarray has no attribute '{name}'")
        return getattr(self._host, name)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AttributeError("HIP/ROCm does not support cuda array interface")

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        from ._dlpack import capsule_of

        if stream in (1, 2):
            raise ValueError(f"On ROCm/HIP, the default stream is 0; got stream {stream}")
        return capsule_of(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 10, 0

    def __array__(self, *given: Any, **options: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct "
            "a NumPy array explicitly."
        )

    # -- what is done with it ---------------------------------------------------------------------

    def get(self, stream: Any = None, order: str = "C", out: Any = None) -> Any:
        """A copy as an array of NumPy."""
        if out is not None:
            out[...] = self._host
            return out
        return self._host.copy(order)

    def sort(self, axis: int = -1) -> None:
        if not self._host.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        self._host.sort(axis=axis, kind="stable")

    def fill(self, value: Any) -> None:
        self._host.fill(_host(value))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
        self._host[_host(key)] = _host(value)

    def __getitem__(self, key: Any) -> Any:
        found = self._host[_host(key)]
        if isinstance(found, np.generic):  # an array of rank 0, over the element
            keys = key if isinstance(key, tuple) else (key,)
            found = self._host[(*keys, ...)]
        return self._wrapped(found)

    def __len__(self) -> int:
        return len(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    __hash__ = None  # type: ignore[assignment]


def _host(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_host(v) for v in value)
    return value._host if isinstance(value, ndarray) else value


def _method(name: str) -> Any:
    def method(self: ndarray, *given: Any, **options: Any) -> Any:
        return self._wrapped(getattr(self._host, name)(*map(_host, given), **options))

    return method


def _operator(apply: Any, swapped: bool = False, inplace: bool = False) -> Any:
    def method(self: ndarray, *other: Any) -> Any:
        if inplace:
            apply(self._host, *map(_host, other))
            return self
        given = (self._host, *map(_host, other))
        return self._wrapped(apply(*(given[::-1] if swapped else given)))

    return method


for _name in (
    "all", "any", "argsort", "astype", "conj", "copy", "cumsum", "dot", "item", "max", "mean",
    "min", "prod", "ravel", "reshape", "squeeze", "sum", "tolist", "transpose", "view",
):  # fmt: skip
    setattr(ndarray, _name, _method(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    _apply = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(ndarray, f"__{_name}__", _operator(_apply))
    setattr(ndarray, f"__r{_name}__", _operator(_apply, swapped=True))
    setattr(ndarray, f"__i{_name}__", _operator(getattr(operator, f"i{_name}"), inplace=True))
for _name in ("lt", "le", "eq", "ne", "gt", "ge", "neg", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", _operator(getattr(operator, _name)))


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return ndarray(shape, dtype, order=order)


def full(shape: Any, value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    made = ndarray(shape, np.asarray(value).dtype if dtype is None else dtype, order=order)
    made._host[...] = value
    return made


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return full(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return full(shape, 1, dtype, order)


def empty_like(a: Any, dtype: Any = None) -> ndarray:
    return ndarray(a.shape, a.dtype if dtype is None else dtype)


def zeros_like(a: Any, dtype: Any = None) -> ndarray:
    return zeros(a.shape, a.dtype if dtype is None else dtype)


def arange(*given: Any, dtype: Any = None) -> ndarray:
    return asarray(np.arange(*given, dtype=dtype))


def asarray(a: Any, dtype: Any = None, order: str = "K") -> ndarray:
    """An array of what an array of NumPy or a number holds; of one of the device, the same."""
    if isinstance(a, ndarray) and (dtype is None or a.dtype == dtype):
        return a
    if not isinstance(a, ndarray) and hasattr(a, "__dlpack_device__"):
        if a.__dlpack_device__()[0] == 10:
            from ._dlpack import from_dlpack

            return from_dlpack(a)
    host = np.asarray(_host(a), dtype=dtype, order=order)  # type: ignore[call-overload]
    kept = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
    made = ndarray(host.shape, host.dtype, order=kept)
    made._host[...] = host
    return made


def array(a: Any, dtype: Any = None, order: str = "K") -> ndarray:
    """A copy."""
    return asarray(_host(a), dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    return asarray(np.ascontiguousarray(_host(a), dtype))


def asnumpy(a: Any) -> Any:
    return a.get() if isinstance(a, ndarray) else np.asarray(a)
