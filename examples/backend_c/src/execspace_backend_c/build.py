"""The C compiler of the system: which one, what it can do, and shared libraries made by it.

Libraries are kept in execspace's cache on disk. Their names depend on the text, the options and
all that the compiler predefines, which says its version and the processor's instructions. Only what
carries the seal of the cache is loaded.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from execspace import BackendCompileError, SpaceUnavailableError
from execspace_compiler.backend import DeviceCode, cache

# Integers wrap; memory has the type that it is accessed with; square roots set no errno, and
# nobody looks at the flags of floating-point exceptions. C11 rounds float16 at each operation.
BASE = ("-std=c11", "-O3", "-march=native", "-fopenmp", "-fwrapv", "-fno-strict-aliasing",
        "-fno-math-errno", "-fno-trapping-math", "-w")  # fmt: skip

# Not -ffast-math: with it some compilers link code that makes the whole process flush subnormal
# numbers to zero as soon as the library is loaded.
FAST = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-ffinite-math-only")


def find_command() -> list[str] | str:
    """The compiler's command line, or the reason why there is none."""
    chosen = os.environ.get("CC", "").strip()
    command = shlex.split(chosen) if chosen else ["cc"]
    if shutil.which(command[0]) is not None:
        return command
    if chosen:
        return f"the C compiler CC={chosen!r} is not there; install it, or set CC to another one"
    return "no C compiler (cc); on Debian and Ubuntu: apt install gcc, or set CC"


_ADVICE = (
    "Where the message is about a missing library or option, set CC to another compiler; else it "
    "is a defect, please report it."
)

_PLACE = re.compile(r"^<stdin>:(\d+):\d+: (?:fatal )?error: (.*)", re.MULTILINE)


def faults(log: str) -> list[tuple[int, str]]:
    """Line and message of each complaint of the compiler."""
    return [(int(line), message) for line, message in _PLACE.findall(log)]


def _options(code: DeviceCode) -> tuple[str, ...]:
    """What the kernel's own options ask of the compiler.

    They are for the whole source, so they must not undo what strict functions promise.
    """
    kernel = code.lowered.kernel
    contract = "fast" if kernel.fma and not code.strict else "off"
    return (f"-ffp-contract={contract}", *(FAST if kernel.fastmath and not code.strict else ()))


@dataclass(frozen=True)
class Toolchain:
    """A C compiler that was asked what it is.

    Attributes
    ----------
    command : tuple of str
    macros : str
        All that it predefines for this processor.
    """

    command: tuple[str, ...]
    macros: str

    @classmethod
    def find(cls, space: str) -> Toolchain:
        """Ask the compiler of `find_command`; blocks while it runs.

        Raises
        ------
        SpaceUnavailableError
            If there is none, or if it does not take the options.
        """
        command = find_command()
        if isinstance(command, str):
            raise SpaceUnavailableError(f"Space '{space}': {command}.")
        done = _run([*command, *BASE, "-dM", "-E", "-x", "c", "-"], "")
        if done.returncode:
            raise SpaceUnavailableError(
                f"Space '{space}': {shlex.join(command)} does not take the options "
                f"{' '.join(BASE)}: {done.stderr.strip()}. Set CC to GCC, or to "
                f"a Clang with OpenMP."
            )
        return cls(tuple(command), done.stdout)

    def _macro(self, name: str) -> str:
        for line in self.macros.splitlines():
            if line.startswith(f"#define {name} "):
                return line.split(maxsplit=2)[2].strip('"')
        return ""

    @property
    def name(self) -> str:
        """Name and version."""
        return f"{self.command[0]} {self._macro('__VERSION__')}"

    @property
    def has_float16(self) -> bool:
        """Whether the compiler has the type _Float16."""
        return bool(self._macro("__FLT16_MANT_DIG__"))

    @property
    def vectors(self) -> frozenset[str]:
        """Features of the processor's vectors, for kernels in lanes."""
        macros = {"avx2": "__AVX2__", "avx512f": "__AVX512F__", "avx512vl": "__AVX512VL__"}
        return frozenset(name for name, macro in macros.items() if self._macro(macro))

    def library(self, source: str, code: DeviceCode) -> cache.Compiled[ctypes.CDLL]:
        """A shared library of a kernel's source; blocks where it was not compiled before.

        Raises
        ------
        BackendCompileError
        """
        options = (*BASE, *_options(code))
        return cache.compiled(
            "backend_c", (source, *self.command, *options, self.macros),
            partial(self._compiled, source, options, code), lambda _, path: ctypes.CDLL(str(path)),
            package=__package__,
            refused=(OSError,),  # of another C library, or not to be executed there
            suffix=".so",
            launch=(code.lowered.kernel, code.lowered.spec),
            tools={"compiler": self.name, "options": " ".join(options)},
        )  # fmt: skip

    def _compiled(
        self, source: str, options: tuple[str, ...], code: DeviceCode
    ) -> tuple[bytes, ctypes.CDLL]:
        """Compile and load, in a folder of this process. It is deleted; what was loaded stays."""
        try:
            with tempfile.TemporaryDirectory(prefix="execspace-") as place:
                made = Path(place, "kernel.so")
                output = ["-shared", "-fPIC", "-x", "c", "-", "-o", str(made), "-lm"]
                done = _run([*self.command, *options, *output], source)
                if not done.returncode:
                    return made.read_bytes(), ctypes.CDLL(str(made))
                log = done.stderr
        except OSError as error:
            log = (
                f"error: the compiler cannot be run, or what it makes cannot be written or loaded "
                f"({error}); set TMPDIR to a folder with room where programs may be executed"
            )
        raise BackendCompileError(code.complaint(faults(log), log, self.name, _ADVICE))


def _run(command: list[str], text: str) -> Any:
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},  # messages are searched for "error:"
        check=False,
    )
