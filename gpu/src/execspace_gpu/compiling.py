"""Generated source through a platform's compiler, by way of the cache on disk.

Compiling needs no device, and nothing of CuPy. CuPy's own way of compiling is not taken: it flushes
subnormal float32 numbers to zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from execspace import BackendCompileError
from execspace_compiler.backend import DeviceCode, cache

T = TypeVar("T")


class CompileError(Exception):
    """The compiler refused a text; the message is all that it said."""


class Compiler(ABC):
    """What makes machine code of generated source on a platform.

    must: all of it. An object has no state that a text depends on: what is not in the text, in its
    options or in `version` is not in the name of its entry in the cache either.
    """

    title: str
    """Its name in messages."""

    @abstractmethod
    def version(self) -> str:
        """Its version, which code depends on; must. Cheap: it is asked at each compilation."""

    @abstractmethod
    def options(self, code: DeviceCode, arch: str) -> list[str]:
        """Options for a text on devices of an architecture; must.

        Without contractions where the kernel has ``fma=False`` or the text is `strict`; with fast
        functions only where the kernel has `fastmath` and the text is not `strict`. Raises
        BackendCompileError for an architecture that the compiler does not know.
        """

    @abstractmethod
    def compile(self, source: str, options: Sequence[str]) -> bytes:
        """What CuPy can load as a module, made of a text; must.

        Raises
        ------
        CompileError
            If the compiler refuses it.
        """

    @abstractmethod
    def faults(self, log: str) -> list[tuple[int, str]]:
        """Of what the compiler said: a line of the text, from 1, and the message; must."""


def compile_code(
    code: DeviceCode,
    compiler: Compiler,
    arch: str,
    folder: str,
    load: Callable[[bytes], T],
    refused: tuple[type[Exception], ...] = (),
) -> cache.Compiled[T]:
    """Compile generated code, or take what the cache on disk has of it, and load it.

    Parameters
    ----------
    code : DeviceCode
    compiler : Compiler
    arch : str
        Architecture of the device, as the compiler takes it.
    folder : str
        Of the cache.
    load : callable
        What is loaded of machine code.
    refused : tuple of exception types
        `load` raises them where the driver takes no more what was kept; it is compiled again.

    Raises
    ------
    BackendCompileError
    """
    options, version = compiler.options(code, arch), compiler.version()

    def make() -> tuple[bytes, T]:
        try:
            content = compiler.compile(code.source, options)
        except CompileError as error:
            log = str(error)
            who = f"{compiler.title} {version} with {' '.join(options)}"
            raise BackendCompileError(code.complaint(compiler.faults(log), log, who)) from error
        return content, load(content)

    return cache.compiled(
        folder, (code.source, *options, version), make, lambda content, _: load(content),
        package=type(compiler).__module__.partition(".")[0],
        refused=refused,
        launch=(code.lowered.kernel, code.lowered.spec),
        tools={compiler.title: version, "options": " ".join(options), "device": arch},
    )  # fmt: skip
