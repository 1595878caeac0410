"""The table of Kokkos' features: a row has a program, which runs on every space, or a reason.

Programs take the space as their argument, which is the default one while they run, and assert what
the feature gives; they do without pytest, which machines with a device may not have. What has no
program is named in "What is deliberately not there" of docs/kokkos.md.
`python tests/parity/page.py` runs the programs and writes the table, docs/parity.md.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

import execspace as es

Program = Callable[[es.ExecutionSpace], None]
There = Literal["yes", "part", "no"]

# Modules beside this one that have rows, in the order of the page.
MODULES = (
    *("views", "view_memory", "containers", "values", "numerics", "algorithms"),
    *("algorithms_reading", "atomics", "spaces", "policies", "teams", "patterns", "reducers"),
    *("tools", "library", "exercises", "unit_tests", "unit_numbers", "unit_library"),
)
# Sections that are not of Kokkos itself: its library, and programs of its tests.
BESIDES = ("6 Kokkos Kernels", "Unit tests")


@dataclass(frozen=True)
class Row:
    """A feature of Kokkos.

    Attributes
    ----------
    section, feature
        Where Kokkos has it, and its name there.
    there
        Whether execspace has it: "yes", "part" or "no".
    line
        The line of a program that uses it; empty if there is none.
    program
        What shows it on a space, with assertions; None if there is nothing to show.
    reason
        The bold words in "What is deliberately not there" that say why, unless `there` is "yes".
    only
        The name of the only space on which the program is run, as one about CUDA; empty for all.
    """

    section: str
    feature: str
    there: There
    line: str = ""
    program: Program | None = None
    reason: str = ""
    only: str = ""


TABLE: list[Row] = []


def row(
    section: str,
    feature: str,
    line: str,
    *,
    there: There = "yes",
    reason: str = "",
    only: str = "",
) -> Callable[[Program], Program]:
    """Make the decorated program that of a row; one program may be that of several rows."""

    def decorate(program: Program) -> Program:
        TABLE.append(Row(section, feature, there, line, program, reason, only))
        return program

    return decorate


def absent(section: str, feature: str, reason: str) -> None:
    """Add a row for what is not there, for a reason in docs/kokkos.md."""
    TABLE.append(Row(section, feature, "no", reason=reason))


def rows() -> list[Row]:
    """All rows, of all modules, in the order of their sections."""
    for module in MODULES:
        import_module(f"parity.{module}")
    return sorted(TABLE, key=lambda r: _place(r.section))


def _place(section: str) -> tuple[float, ...]:
    """1.1 before 1.2, "3.2-3.3" as 3.2, and those without a number last."""
    number = re.match(r"[\d.]+", section)
    return tuple(map(float, number[0].split("."))) if number else (math.inf,)


def programs() -> dict[str, Program]:
    """All programs by module and name, each once."""
    found = (r.program for r in rows())
    return {name_of(program): program for program in found if program is not None}


def programs_for(space: str) -> dict[str, Program]:
    """Those that are run on a space, which is named as by `es.space`."""
    others = {
        name_of(r.program)
        for r in rows()
        if r.program is not None and r.only not in ("", space.partition(":")[0])
    }
    return {name: program for name, program in programs().items() if name not in others}


def name_of(program: Program) -> str:
    """``module.function``."""
    return f"{program.__module__.rpartition('.')[2]}.{program.__name__}"


def source_of(program: Program) -> str:
    """The source of a program, without its decorators, which have the line of the row."""
    text = textwrap.dedent(inspect.getsource(program))
    return "\n".join(text.splitlines()[ast.parse(text).body[0].lineno - 1 :])


def digest(program: Program) -> str:
    """Of the source of a program, blanks apart: records are of one version of it."""
    text = re.sub(r"\s", "", source_of(program))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run(program: Program, space: es.ExecutionSpace) -> None:
    """Run a program with the space as the default one, and wait for all that it launched."""
    with es.use_space(space):
        program(space)
        space.fence("end of a program of the table")


@contextmanager
def raises(
    error: type[BaseException] | tuple[type[BaseException], ...], match: str = ""
) -> Iterator[None]:
    """Assert that a block raises an exception whose text has a regular expression."""
    try:
        yield
    except error as raised:
        if not re.search(match, str(raised)):
            raise AssertionError(f"expected {match!r} in: {raised}") from raised
    else:
        raise AssertionError(f"nothing was raised; expected {error}")


def output(text: str, space: es.ExecutionSpace, **environment: str) -> str:
    """What a program prints in a process of its own, where `space` is the default one.

    For what is decided when a process starts, and for what C prints.
    """
    settings = {**os.environ, "EXECSPACE_DEFAULT": space.name, **environment}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(path)], env=settings, capture_output=True, text=True, check=False
        )
    assert not done.returncode, done.stderr
    return done.stdout
