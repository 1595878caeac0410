"""Compiled text on a device: its kernels as the driver's functions, and what it says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cupy
from cupy_backends.cuda.api import driver

from execspace_compiler.backend import DeviceCode

from .compiling import Compiler, binary

# The same numbers on all platforms.
_MOST_SHARED = 8  # the attribute of a function that is set
_ATTRIBUTES = {"threads": 0, "shared": 1, "constant": 2, "local": 3, "registers": 4}


@dataclass
class Program:
    """Kernels of a text, loaded on the current device.

    Attributes
    ----------
    code : DeviceCode
    functions : list of int
        Handles of the driver, in the order of `code.entry.kernels`.
    from_disk : bool
    key : str
        Of its entry in the cache on disk.
    """

    code: DeviceCode
    functions: list[int] = field(default_factory=list)
    from_disk: bool = False
    key: str = ""
    _module: Any = None

    @property
    def most_threads(self) -> int:
        """Any number: the compiler was given the size of blocks, and found registers for them."""
        return 1 << 30

    @classmethod
    def load(cls, text: DeviceCode, compiler: Compiler, arch: str, folder: str) -> Program:
        """Compile if need be, and load; see `binary`."""
        found = binary(text, compiler, arch, folder)
        module = cupy.cuda.function.Module()
        try:
            module.load(found.code)
        except driver.CUDADriverError:
            if not found.from_disk:
                raise
            found = binary(text, compiler, arch, folder, again=True)  # the driver takes it no more
            module = cupy.cuda.function.Module()
            module.load(found.code)
        names = text.entry.kernels
        functions = [int(module.get_function(name).ptr) for name in names]
        return cls(text, functions, found.from_disk, found.key, module)

    def allow_shared(self, nbytes: int) -> None:
        """Let blocks ask for so many bytes of shared memory, their own included."""
        for function in self.functions:
            own = driver.funcGetAttribute(_ATTRIBUTES["shared"], function)
            driver.funcSetAttribute(function, _MOST_SHARED, nbytes - own)

    def figures(self, group: int, unit: int) -> dict[str, dict[str, int]]:
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
