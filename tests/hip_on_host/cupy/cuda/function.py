"""Modules and the functions in them."""

from __future__ import annotations

from pretended import launching
from pretended.machine import CUDADriverError


class Function:
    """A kernel; `ptr` is the driver's handle."""

    def __init__(self, module: Module, ptr: int) -> None:
        self.module, self.ptr = module, ptr


class Module:
    """A compiled text on the device."""

    def __init__(self) -> None:
        self._functions: dict[str, int] = {}

    def load(self, cubin: bytes) -> None:
        self._functions = launching.load(bytes(cubin))

    def get_function(self, name: str) -> Function:
        if name not in self._functions:
            raise CUDADriverError(500, name)
        return Function(self, self._functions[name])
