"""``execspace info``: versions, settings, the default space and all spaces.

Starts no space; `execspace doctor` does.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..base.console import table, version, write, write_json
from .survey import default_space, headline, look, seconds_argument, versions

HELP = """Show versions, the settings in force, all spaces, and which is the default and why.

Spaces are asked whether they can be used here, but none is started: see execspace doctor."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    seconds_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    found = look(arguments.timeout)
    document: dict[str, Any] = {
        **versions(),
        "settings": found.settings,
        "default_space": default_space(found),
        "spaces": found.spaces,
        "failed_plugins": found.failed,
        "warnings": found.warnings,
    }
    if arguments.json:
        write_json(document)
        return 0
    write(headline(document))
    write()
    rows = [
        [s["name"], s["value"] or "", "environment" if s["set"] else "default"]
        for s in found.settings
        if s["set"] or s["value"]
    ]
    table(["setting", "value", "from"], rows)
    write()
    table(
        ["space", "usable", "device", "distribution", "version", "API", "priority", "reason"],
        [
            [
                row["name"],
                "yes" if row["usable"] else "no",
                row["device"],
                row["distribution"],
                row["version"],
                version(row["api_version"]),
                str(row["priority"]),
                row["reason"],
            ]
            for row in found.spaces
        ],
    )
    write()
    chosen = document["default_space"]
    write(
        f"default space: {chosen['name'] or 'none'}, because of {chosen['why']}"
        if chosen["name"]
        else f"default space: none; {chosen['why']}"
    )
    for plugin in found.failed:
        write(
            f"plugin '{plugin['name']}' ({plugin['distribution']} {plugin['version']}) failed to "
            f"load: {plugin['error']}"
        )
    for text in found.warnings:
        write(f"warning: {text}")
    return 0
