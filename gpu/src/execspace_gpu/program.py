"""Compiled text on a device: its kernels as the driver's functions, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
from cupy_backends.cuda.api import driver

from execspace.base.dataclass import dataclass
from execspace_compiler.backend import DeviceCode, cache

from .compiling import Compiler, compile_code

# The same numbers on all platforms.
_MOST_SHARED, _CARVEOUT = 8, 9  # attributes of a function that are set
_SYSTEM = 1024  # bytes that CUDA takes of each block
_ATTRIBUTES = {"threads": 0, "shared": 1, "constant": 2, "local": 3, "registers": 4}


@dataclass
class Program:
    """Kernels of a text, loaded on the current device.

    Attributes
    ----------
    code : DeviceCode
    functions : list of int
        Handles of the driver, in the order of `code.entry.kernels`.
    compiled : Compiled
        The module, and its entry in the cache on disk.
    all_shared : int
        Bytes of shared memory of a multiprocessor of which `prefer_shared` chooses a part; 0: the
        platform has no such choice.
    """

    code: DeviceCode
    functions: list[int]
    compiled: cache.Compiled[Any]
    all_shared: int = 0

    @property
    def most_threads(self) -> int:
        """Any number: the compiler was given the size of blocks, and found registers for them."""
        return 1 << 30

    @property
    def from_disk(self) -> bool:
        """It was compiled before."""
        return self.compiled.from_disk

    @classmethod
    def load(cls, code: DeviceCode, compiler: Compiler, arch: str, folder: str) -> Program:
        """Compile if need be, and load; see `compile_code`."""
        refused = (driver.CUDADriverError,)
        found = compile_code(code, compiler, arch, folder, _module, refused)
        functions = [int(found.loaded.get_function(name).ptr) for name in code.entry.kernels]
        return cls(code, functions, found)

    def allow_shared(self, nbytes: int) -> None:
        """Let blocks ask for so many bytes of shared memory, their own included."""
        for function in self.functions:
            own = driver.funcGetAttribute(_ATTRIBUTES["shared"], function)
            driver.funcSetAttribute(function, _MOST_SHARED, nbytes - own)

    def own_shared(self, function: int) -> int:
        """Bytes of shared memory that a function has without what a launch adds."""
        return int(driver.funcGetAttribute(_ATTRIBUTES["shared"], function))

    def registers(self, function: int) -> int:
        """Registers of a thread."""
        return int(driver.funcGetAttribute(_ATTRIBUTES["registers"], function))

    def blocks_at_once(self, function: int, threads: int) -> Callable[[int], int]:
        """Blocks that a multiprocessor runs at once, by the shared memory that a launch adds."""
        if self.all_shared:
            driver.funcSetAttribute(function, _CARVEOUT, -1)  # which counts for what is asked
        at_once = driver.occupancyMaxActiveBlocksPerMultiprocessor
        return lambda nbytes: int(at_once(function, threads, nbytes))

    def prefer_shared(self, function: int, blocks: int, nbytes: int) -> None:
        """Have a multiprocessor take enough of its memory for shared memory of so many blocks, to
        each of which a launch adds so many bytes, and leave the rest to the cache."""
        if self.all_shared:
            each = self.own_shared(function) + nbytes + _SYSTEM
            percent = min(100, -(-100 * blocks * each // self.all_shared))
            driver.funcSetAttribute(function, _CARVEOUT, percent)

    def resource_usage(self, group: int, unit: int) -> dict[str, dict[str, int]]:
        """Of each kernel: registers and bytes of local memory (spills and private arrays) of a
        thread, bytes of shared and constant memory of a block, the largest block, and in percent
        how many of the threads that a unit keeps are there at once.

        Parameters
        ----------
        group : int
            Threads of a block as launched; scratch memory of teams comes with the launch and is
            not counted.
        unit : int
            Threads that a unit of the device keeps.
        """
        found = {}
        for name, function in zip(self.code.entry.kernels, self.functions, strict=True):
            known = {what: driver.funcGetAttribute(n, function) for what, n in _ATTRIBUTES.items()}
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, group, 0)
            known["occupancy"] = 100 * blocks * group // unit
            found[name] = known
        return found


def _module(content: bytes) -> Any:
    """Machine code as the driver has loaded it."""
    module = cupy.cuda.function.Module()
    module.load(content)
    return module
