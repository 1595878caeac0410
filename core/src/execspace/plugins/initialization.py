"""Settings that a program makes for itself before it begins, and what is in force afterwards."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import fields
from typing import Any, TextIO

import numpy as np

from ..base import config
from ..base.brief import brief
from ..base.console import aligned
from ..base.dataclass import dataclass
from ..base.errors import ConfigError
from ..base.version import __version__
from .selection import spaces
from .started import started

__all__ = [
    "InitializationSettings",
    "initialize",
    "print_configuration",
]


@dataclass(frozen=True)
class InitializationSettings:
    """What a program asks for where its user has said nothing, for `initialize`.

    Each attribute is an environment variable of the same name, `EXECSPACE_NUM_THREADS` for
    `num_threads`; None leaves it alone. A bool is a switch, a tuple a comma list.

    Attributes
    ----------
    default, memory, num_threads, check, lanes, pools, plugins, strict, tools, tune, traceback, cpu,
    cache_dir, cache_size, tuning_dir, local_rank, local_size, probe_timeout : optional
        As the table of variables says.

    Raises
    ------
    ConfigError
        If a value is neither text, a number, a bool nor a tuple of texts.

    Notes
    -----
    Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/initialize_finalize/InitializationSettings.html

    Examples
    --------
    >>> import execspace as es
    >>> es.InitializationSettings(default="openmp", num_threads=4).environment()
    {'EXECSPACE_DEFAULT': 'openmp', 'EXECSPACE_NUM_THREADS': '4'}
    """

    default: str | tuple[str, ...] | None = None
    memory: str | None = None
    num_threads: int | None = None
    check: str | tuple[str, ...] | None = None
    lanes: int | str | None = None
    pools: bool | None = None
    plugins: str | tuple[str, ...] | None = None
    strict: bool | None = None
    tools: str | tuple[str, ...] | None = None
    tune: bool | None = None
    traceback: str | None = None
    cpu: str | None = None
    cache_dir: str | None = None
    cache_size: int | None = None
    tuning_dir: str | None = None
    local_rank: int | None = None
    local_size: int | None = None
    probe_timeout: float | None = None

    def __post_init__(self) -> None:
        for name, value in self._given():
            parts = value if isinstance(value, tuple) else (value,)
            if not all(isinstance(p, str | int | float) for p in parts):
                raise ConfigError(
                    f"InitializationSettings: {name}={brief(value)}; expected text, a number, a "
                    f"bool, or a tuple of texts."
                )

    def _given(self) -> list[tuple[str, Any]]:
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return [(name, value) for name, value in pairs if value is not None]

    def environment(self) -> dict[str, str]:
        """The environment variables that say the same."""
        return {f"EXECSPACE_{name.upper()}": _text(value) for name, value in self._given()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def initialize(settings: InitializationSettings | None = None, **named: Any) -> None:
    """Put settings in force where the environment says nothing; before the first space starts.

    No program has to call it: spaces start when they are first used.

    Parameters
    ----------
    settings : InitializationSettings, optional
    **named
        The same by name, in place of an object: ``es.initialize(num_threads=4)``.

    Raises
    ------
    ConfigError
        If a space has started already, for then some settings would have no effect; if there is no
        such setting, or a value that none can have.
    TypeError
        If there are both an object and names.

    Notes
    -----
    As in Kokkos, the environment wins: it is what the user of a program says. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/initialize_finalize/initialize.html
    """
    if settings is not None and named:
        raise TypeError("initialize: settings and names are given; expected one of the two.")
    known = [f.name for f in fields(InitializationSettings)]
    for name in named:
        if name not in known:
            raise ConfigError(
                f"initialize: there is no setting {name!r}; expected some of: {', '.join(known)}."
            )
    wanted = InitializationSettings(**named) if settings is None else settings
    running = ", ".join(s.name for s in started())
    if running:
        raise ConfigError(
            f"initialize: {running} has started already, so settings would come too late; call it "
            f"before anything runs, or set environment variables."
        )
    for name, value in wanted.environment().items():
        os.environ.setdefault(name, value)
    config.checks()  # which raises for one that does not exist


def print_configuration(file: TextIO | None = None) -> None:
    """Print versions, the settings in force, and all spaces: what a log of a run should hold.

    Parameters
    ----------
    file : text file, optional
        Standard output if not given.

    Notes
    -----
    Starts no space; ``execspace info`` says more, and looks at plugins in a process of its own.
    Kokkos: ``print_configuration``,
    https://kokkos.org/kokkos-core-wiki/API/core/utilities/print_configuration.html
    """
    out = sys.stdout if file is None else file
    python = f"{platform.python_implementation()} {platform.python_version()}"
    lines = [f"execspace {__version__}, {python}, NumPy {np.__version__}, {platform.platform()}"]
    for name, variable in config.VARIABLES.items():
        value = config.get(name)
        if value != variable.default:
            lines.append(f"EXECSPACE_{name}={value}")
    running = {s.name: s for s in started()}
    rows = []
    for row in spaces():
        space = running.get(row.name)
        state = "not started" if space is None else f"started, concurrency {space.concurrency}"
        rows.append([row.name, state if row.usable else "not usable", row.summary, row.reason])
    lines += aligned(("space", "state", "summary", "reason"), rows)
    print("\n".join(line.rstrip() for line in lines), file=out)
