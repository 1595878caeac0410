"""The compiler that a platform's runtime brings: NVRTC, or hiprtc, through CuPy's one binding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cupy_backends.cuda.libs import nvrtc

from .compiling import CompileError


def compile_program(
    source: str, file: str, options: Sequence[str], take: Callable[[Any], bytes]
) -> bytes:
    """Compile a source; blocks.

    Parameters
    ----------
    source : str
    file : str
        Its name in messages.
    options : sequence of str
    take : callable
        Takes machine code from the compiled program.

    Raises
    ------
    CompileError
    """
    program = nvrtc.createProgram(source, file, (), ())
    try:
        try:
            nvrtc.compileProgram(program, tuple(options))
        except nvrtc.NVRTCError as error:
            # An architecture that hiprtc does not know leaves the log empty.
            log = nvrtc.getProgramLog(program)
            raise CompileError(log if log.strip() else f"{error} with {options}") from None
        return take(program)
    finally:
        nvrtc.destroyProgram(program)
