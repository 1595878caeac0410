"""What is installed: all plugins and spaces, found out in a process of its own.

A plugin whose import or a space whose probe hangs or crashes takes that process with it. It is
then left out, with the reason, and another process looks at the rest.
"""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import field
from importlib import metadata
from typing import Any

import numpy as np

from ..base import config
from ..base.dataclass import dataclass
from ..base.errors import ExecspaceError
from ..base.local_ranks import LocalRank
from ..base.version import __version__
from ..contract import hookspecs
from ..contract.entries import API_VERSION
from ..plugins.rank_devices import Choice, choice_among
from . import contained

TIMEOUT = 60.0


class SurveyError(ExecspaceError):
    """Nothing can be found out about what is installed."""


@dataclass
class Survey:
    """What was found; the records are documented in docs/cli.md.

    `environment` are the settings with which further jobs must run to load the same plugins, and
    `rank` says which of several ranks of this host the process is.
    """

    plugins: list[dict[str, Any]] = field(default_factory=list)
    spaces: list[dict[str, Any]] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    rank: LocalRank | None = None

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Plugins that could not be loaded."""
        return [plugin for plugin in self.plugins if plugin["error"] is not None]


def seconds_argument(parser: argparse.ArgumentParser) -> None:
    """Declare ``--timeout``, the limit of `contained` processes."""
    parser.add_argument(
        "--timeout",
        type=_positive,
        default=TIMEOUT,
        metavar="S",
        help=f"seconds for each process that loads or uses plugins; default: {TIMEOUT:g}",
    )


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def look(timeout: float) -> Survey:
    """Load all plugins and probe all spaces, contained; blocks.

    Parameters
    ----------
    timeout : float
        Seconds for a process; each plugin or probe that hangs costs that much.

    Raises
    ------
    SurveyError
        If the process fails and no plugin is to blame.
    ConfigError
        If EXECSPACE_CHECK names a check that does not exist, or EXECSPACE_LOCAL_RANK or
        EXECSPACE_LOCAL_SIZE is not valid: no space would start.
    """
    config.checks()
    rank = config.local_rank()
    points = {point.name: point for point in metadata.entry_points(group=hookspecs.GROUP)}
    # Failures are to be reported, not raised; tools are attached by programs, not here.
    settings = {"EXECSPACE_STRICT": "0", "EXECSPACE_TOOLS": ""}
    blamed: dict[str, str] = {}
    unprobed: dict[str, str] = {}
    while True:
        outcome = contained.run("survey", *unprobed, timeout=timeout, settings=settings)
        if outcome.of("end"):
            break
        plugin, space = outcome.last("loading", "plugin"), outcome.last("probing", "space")
        raised = outcome.last("raised", "reason")
        if raised is not None or (plugin in blamed) or (space in unprobed) or plugin is None:
            raise SurveyError(
                raised
                or f"The process that loads the plugins {outcome.death}, no plugin is to blame; "
                f"--timeout gives it more time, EXECSPACE_PLUGINS= loads none."
            )
        if outcome.of("loaded") and space is not None:
            unprobed[space] = f"its probe {outcome.death}"
        else:
            blamed[plugin] = f"its import {outcome.death}"
            wanted = config.get_list("PLUGINS")
            rest = [name for name in (points if wanted is None else wanted) if name not in blamed]
            settings["EXECSPACE_PLUGINS"] = ",".join(rest)
    found = Survey(environment=settings, rank=None if rank is None or rank.is_alone else rank)
    found.plugins = outcome.last("loaded", "plugins")
    found.plugins += [_blamed(points[name], text) for name, text in blamed.items()]
    found.plugins.sort(key=lambda plugin: str(plugin["name"]))
    found.warnings = outcome.last("loaded", "warnings")
    found.settings = [_setting(row) for row in outcome.last("loaded", "settings")]
    for event in outcome.of("space"):
        row = {key: value for key, value in event.items() if key != "event"}
        if row["name"] in unprobed:
            row["reason"] = unprobed[row["name"]]
        found.spaces.append(row)
    _check_tools(found)
    warning = _chosen(found)[0].warning
    if warning:
        found.warnings.append(warning)
    return found


def _blamed(point: metadata.EntryPoint, text: str) -> dict[str, Any]:
    """The record of a plugin that took its process down."""
    kinds = ("spaces", "reducers", "tiles", "tools", "health_checks")
    empty: dict[str, Any] = {kind: [] for kind in kinds}
    return {
        "name": point.name,
        "distribution": "unknown" if point.dist is None else point.dist.name,
        "version": "" if point.dist is None else point.dist.version,
        "module": point.value,
        "api_versions": [],
        **empty,
        "error": text,
    }


def _setting(row: dict[str, Any]) -> dict[str, Any]:
    value = os.environ.get(row["name"])
    return {
        "name": row["name"],
        "value": row["default"] if value is None else value,
        "default": row["default"],
        "set": value is not None,
        "meaning": row["meaning"],
    }


def _check_tools(found: Survey) -> None:
    known = [name for plugin in found.plugins for name in plugin["tools"]]
    for choice in config.get_list("TOOLS") or []:
        name = choice.partition(":")[0]  # options follow
        if name not in known:
            found.warnings.append(
                f"EXECSPACE_TOOLS names '{name}', and every launch will raise; installed tools: "
                f"{', '.join(sorted(known)) or 'none'}."
            )


def default_space(found: Survey) -> dict[str, Any]:
    """Which space a program gets that names none, as ``{"name": ..., "why": ...}``.

    By the answers of the probes; no space is started. The name is None if there is none.
    """
    choice, why = _chosen(found)
    return {"name": choice.name or None, "why": why}


def _chosen(found: Survey) -> tuple[Choice, str]:
    """What a program gets that names no space, and why; a name of no letters if there is none."""
    usable = {row["name"]: row for row in found.spaces if row["usable"]}
    names = config.get_list("DEFAULT")
    if names:
        text = f"EXECSPACE_DEFAULT={','.join(names)}"
        for position, name in enumerate(names):
            if name.partition(":")[0] in usable:
                passed = f"; not usable: {', '.join(names[:position])}" if position else ""
                if ":" in name:
                    return Choice(name), f"{text}{passed}"
                choice, rank = _for_rank(usable[name], found.rank)
                return choice, f"{text}{rank}{passed}"
        return Choice(""), f"{text} names no usable space"
    passed_over: list[str] = []
    for row in found.spaces:
        if row["priority"] < 0:
            continue
        if row["usable"]:
            better = f"; not usable: {', '.join(passed_over)}" if passed_over else ""
            choice, rank = _for_rank(row, found.rank)
            why = f"the highest priority ({row['priority']}) of all usable spaces{rank}{better}"
            return choice, why
        passed_over.append(row["name"])
    return Choice(""), (
        "no usable space is installed; in a checkout, pip install -e compiler -e plugins/serial"
    )


def _for_rank(row: dict[str, Any], rank: LocalRank | None) -> tuple[Choice, str]:
    """What a rank takes of a space, and a remark on that."""
    if rank is None:
        return Choice(row["name"]), ""
    return choice_among(row["name"], row["devices"], rank), f", for {rank}"


def versions() -> dict[str, Any]:
    """Versions and platform, for reports."""
    return {
        "execspace": __version__,
        "api_version": list(API_VERSION),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "implementation": platform.python_implementation(),
            "cores": os.cpu_count(),
        },
    }


def headline(about: dict[str, Any]) -> str:
    """`versions` as a line."""
    machine = about["platform"]
    return (
        f"execspace {about['execspace']}, plugin API "
        f"{'.'.join(map(str, about['api_version']))}, {machine['implementation']} "
        f"{about['python']}, NumPy {about['numpy']}, {machine['system']} {machine['machine']}, "
        f"{machine['cores']} cores"
    )
