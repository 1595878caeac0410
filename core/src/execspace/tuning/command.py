"""``execspace tune``: show what kernels were tuned to on this machine's devices, or forget it."""

from __future__ import annotations

import argparse
from typing import Any

from ..base import config
from ..base.console import add_actions, table, write, write_json
from .store import clear, everything

HELP = """Show the choices that es.tune and EXECSPACE_TUNE=1 have kept, or forget them.

Launches use them unless EXECSPACE_TUNE=0. Kernels are tuned by programs: es.tune(policy, kernel,
...), or by running one with EXECSPACE_TUNE=1."""
_ACTIONS = {
    "show": "kernels, shapes, what was chosen and what it gained, by device; the default",
    "clear": "forget it, without a question",
    "path": "print the folder",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    for name, action in add_actions(parser, _ACTIONS).items():
        if name != "path":
            action.add_argument("--kernel", metavar="NAME", help="only kernels of this name")
            action.add_argument("--device", metavar="D", help="only the device of this name")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked; returns the exit code."""
    folder = str(config.tuning_folder())
    if arguments.action == "path":
        write_json({"folder": folder}) if arguments.json else write(folder)
        return 0
    kernel = getattr(arguments, "kernel", None)
    device = getattr(arguments, "device", None)
    if arguments.action == "clear":
        count = clear(device, kernel)
        if arguments.json:
            write_json({"folder": folder, "cleared": count})
        else:
            write(f"{count} tuned choices are forgotten ({folder})")
        return 0
    return _show(folder, device, kernel, arguments.json)


def _show(folder: str, device: str | None, kernel: str | None, as_json: bool) -> int:
    rows: list[dict[str, Any]] = [
        {
            "device": name,
            "kernel": record.kernel,
            "types": record.types,
            "shapes": record.shapes,
            "choice": record.choice.options(),
            "default_seconds": record.default_seconds,
            "seconds": record.seconds,
            "date": record.date,
        }
        for name, records in everything().items()
        for record in sorted(records.values(), key=lambda r: (r.kernel, r.shapes))
        if device in (None, name) and kernel in (None, record.kernel)
    ]
    if as_json:
        write_json({"folder": folder, "choices": rows})
        return 0
    if not rows:
        write(f"nothing is tuned ({folder}); try es.tune(policy, kernel, ...) in a program")
        return 0
    for name in dict.fromkeys(row["device"] for row in rows):
        write(f"{name}:")
        table(
            ["kernel", "shapes", "choice", "default", "tuned", "times as fast", "date"],
            [
                [
                    row["kernel"],
                    row["shapes"],
                    ", ".join(f"{k}={v}" for k, v in row["choice"].items()) or "default",
                    f"{1e3 * row['default_seconds']:.4g} ms",
                    f"{1e3 * row['seconds']:.4g} ms",
                    f"{row['default_seconds'] / row['seconds']:.2f}",
                    row["date"],
                ]
                for row in rows
                if row["device"] == name
            ],
        )
        write()
    write(f"kept in {folder}")
    return 0
