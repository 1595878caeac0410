"""``execspace plugins``: every entry point of the group, and what became of it.

The plugins are loaded in another process, so that one which hangs or crashes is listed, too.
"""

from __future__ import annotations

import argparse

from ..base.console import table, version, write, write_json
from .survey import look, seconds_argument

HELP = """Show every installed plugin: what it registered, or why it could not be loaded."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    seconds_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    found = look(arguments.timeout)
    if arguments.json:
        write_json({"plugins": found.plugins, "warnings": found.warnings})
        return 0
    if not found.plugins:
        write(
            "No plugin is loaded. Spaces come from plugins: in a checkout, "
            "pip install -e compiler -e plugins/serial."
        )
    else:
        kinds = ("spaces", "reducers", "tiles", "tools", "health_checks")
        headers = ["plugin", "distribution", "version", "module", "API", *kinds, "error"]
        rows = []
        for plugin in found.plugins:
            names = [", ".join(plugin[kind]) for kind in kinds]
            api = ", ".join(map(version, plugin["api_versions"]))
            about = [plugin[key] for key in ("name", "distribution", "version", "module")]
            rows.append([*about, api, *names, plugin["error"] or ""])
        table([header.replace("_", " ") for header in headers], rows)
    for text in found.warnings:
        write(f"warning: {text}")
    return 0
