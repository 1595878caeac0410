"""The forms that the functions of a kernel have: one for each way in which their arguments vary."""

from __future__ import annotations

from collections.abc import Callable

from .. import ir
from .steps import Step
from .varying import Program


class Forms:
    """The forms of the functions of a kernel, callees first in `written`."""

    def __init__(self, program: Program, lanes: int, suffix: str, write: Write) -> None:
        self.program = program
        self.lanes, self.suffix = lanes, suffix
        self._write = write
        self.written: list[ir.Function] = []
        self._names: dict[tuple[str, tuple[Step, ...]], str] = {}

    def of(self, name: str, steps: tuple[Step, ...]) -> str:
        """The name of a function's form for parameters that have these steps."""
        key = name, steps
        if key not in self._names:
            self._names[key] = f"{name}{self.suffix}{len(self._names)}"
            self.written.append(self._write(self, name, steps, self._names[key]))
        return self._names[key]


Write = Callable[[Forms, str, tuple[Step, ...], str], ir.Function]
"""Writes the form of a function for the steps of its parameters, under a name."""
