"""Generated text through a platform's compiler, by way of the cache on disk.

Compiling needs no device, and nothing of CuPy. CuPy's own way of compiling is not taken: it flushes
subnormal float32 numbers to zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from execspace import BackendCompileError, Kernel
from execspace_compiler.backend import DeviceCode, cache


class CompileError(Exception):
    """The compiler refused a text; the message is all that it said."""


class Compiler(ABC):
    """What makes machine code of generated text on a platform.

    must: all of it. An object has no state that a text depends on: what is not in the text, in its
    options or in `version` is not in the name of its entry in the cache either.
    """

    title: str
    """Its name in messages."""

    @abstractmethod
    def version(self) -> str:
        """Its version, which code depends on; must. Cheap: it is asked at each compilation."""

    @abstractmethod
    def options(self, text: DeviceCode, arch: str) -> list[str]:
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


@dataclass(frozen=True)
class Binary:
    """A compiled text.

    Attributes
    ----------
    code : bytes
    from_disk : bool
        It was compiled before.
    key : str
        Of its entry in the cache on disk.
    """

    code: bytes
    from_disk: bool
    key: str


def binary(
    text: DeviceCode, compiler: Compiler, arch: str, folder: str, again: bool = False
) -> Binary:
    """Compile a text, or take what the cache on disk has of it unless `again`.

    Parameters
    ----------
    text : DeviceCode
    compiler : Compiler
    arch : str
        Architecture of the device, as the compiler takes it.
    folder : str
        Of the cache.
    again : bool

    Raises
    ------
    BackendCompileError
    """
    options = compiler.options(text, arch)
    place = cache.folder(folder)
    package = type(compiler).__module__.partition(".")[0]
    key = cache.key(text.source, *options, compiler.version(), package=package)
    path = place / f"{key}.bin"
    kept = None if again else cache.read(path)
    if kept is not None:
        return Binary(kept, True, key)
    try:
        code = compiler.compile(text.source, options)
    except CompileError as error:
        log = str(error)
        who = f"{compiler.title} {compiler.version()} with {' '.join(options)}"
        raise BackendCompileError(text.complaint(compiler.faults(log), log, who)) from error
    cache.keep(path, code)
    tools = {
        compiler.title: compiler.version(),
        "options": " ".join(options),
        "device": arch,
        "execspace": cache.made_by(),
    }
    cache.note_miss(place, key, text.lowered.kernel, text.lowered.spec, tools)
    cache.limit_size(place)
    return Binary(code, False, key)


def cache_of(key: str, kernel: Kernel, folder: str, hit: str) -> tuple[str, str]:
    """What a plan has as `cache`; `hit` as `cache.describe_entry` takes it."""
    return cache.describe_entry(cache.folder(folder), key, kernel, hit)
