"""CuPy's binding of hiprtc, pretended; it refuses what the real one refuses on ROCm."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from pretended.compiling import CompileError, compile_text


class NVRTCError(RuntimeError):
    """An error of hiprtc."""

    def __init__(self, status: int) -> None:
        self.status = status
        names = {6: "HIPRTC_ERROR_COMPILATION", 4: "HIPRTC_ERROR_INVALID_PROGRAM"}
        super().__init__(f"{names.get(status, 'HIPRTC_ERROR_UNKNOWN')} ({status})")


@dataclass
class _Program:
    text: str
    file: str
    log: str = ""
    code: bytes = b""


_programs: dict[int, _Program] = {}
_numbers = itertools.count(1)


def _program(number: int) -> _Program:
    if number not in _programs:
        raise NVRTCError(4)
    return _programs[number]


def getVersion() -> tuple[int, int]:
    """Always this, whatever the version of ROCm."""
    return 9, 0


def getSupportedArchs() -> list[int]:
    raise RuntimeError("HIP does not support getSupportedArchs")


def createProgram(src: str, name: str, headers: object, include_names: object) -> int:
    number = next(_numbers)
    _programs[number] = _Program(src, name)
    return number


def compileProgram(prog: int, options: tuple[str, ...], name_exprs: object = None) -> None:
    program = _program(prog)
    try:
        program.code = compile_text(program.text, program.file, tuple(options))
    except CompileError as error:
        program.log = str(error)
        raise NVRTCError(6) from None


def getCUBIN(prog: int) -> bytes:
    raise RuntimeError("HIP does not support getCUBIN")


def getPTX(prog: int) -> bytes:
    """The code, less its last byte, which CuPy takes for the end of a text."""
    return _program(prog).code[:-1]


def getProgramLog(prog: int) -> str:
    return _program(prog).log


def destroyProgram(prog: int) -> None:
    _program(prog)
    del _programs[prog]
