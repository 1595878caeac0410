"""``execspace doctor``: does each space work? Kernels run on it, and their results are checked.

Each space is tried in a process of its own with a time limit, so that one which hangs or
crashes is a line of the report.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..base.console import one_line, seconds, version, write, write_json
from . import contained
from .survey import Survey, default_space, headline, look, seconds_argument, versions

HELP = """Run kernels on each space and compare the results with numbers known in advance.

Each space is tried in a process of its own: a parallel_for, a parallel_reduce and a
parallel_scan, twice, on Views in the space's default memory. A crash, an abort or a hang is
reported and ends nothing else. The exit code is 1 if a usable space or a health check fails.
A space that cannot be used on this machine is not a failure unless it is named, and what is checked
for it is a note."""
PATTERNS = ("parallel_for", "parallel_reduce", "parallel_scan")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "spaces",
        nargs="*",
        metavar="SPACE",
        help="a space, maybe with a device as in opencl:1; default: all of them",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document at the end instead"
    )
    seconds_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Examine, print each result as soon as it is known, and sum up."""
    found = look(arguments.timeout)
    about = versions()
    say = (lambda text="": None) if arguments.json else write
    say(headline(about))
    for setting in found.settings:
        if setting["set"]:
            say(f"{setting['name']}={setting['value']}")
    for text in found.warnings:
        say(f"warning: {text}")
    say()
    asked = list(dict.fromkeys(arguments.spaces))
    spaces = []
    for row in _rows(found, asked):
        result = _examine(row, found, arguments.timeout)
        spaces.append(result)
        for line in _lines(result):
            say(line)
    plugins = {row.get("plugin") for row in spaces}
    usable = {row.get("plugin") for row in spaces if row["status"] in ("ok", "failed")}
    checks = []
    for plugin in found.plugins:
        # What its spaces need counts only where one of them can be used, or was asked for.
        needed = bool(asked) or not plugin["spaces"] or plugin["name"] in usable
        for name in plugin["health_checks"]:
            if not asked or plugin["name"] in plugins:
                checks.append(_check(plugin, name, found, arguments.timeout, needed))
                say(_check_line(checks[-1]))
    for plugin in found.failed:
        reason = one_line(plugin["error"]).rstrip(".")
        say(
            f"plugin '{plugin['name']}' ({plugin['distribution']} {plugin['version']}) failed to "
            f"load: {reason}. Upgrade or uninstall {plugin['distribution']}."
        )
    bad = [row["name"] for row in spaces if row["status"] == "failed"]
    bad += [row["name"] for row in spaces if asked and row["status"] in ("not usable", "unknown")]
    bad += [check["name"] for check in checks if check["needed"] and not check["ok"]]
    chosen = default_space(found)
    say()
    say(f"default space: {chosen['name'] or 'none'}; {chosen['why']}")
    if bad:
        say(f"failed: {', '.join(bad)}")
    elif any(row["status"] == "ok" for row in spaces):
        say("all is well")
    else:
        say("nothing failed, but there is no space that can be used")
    if arguments.json:
        write_json(
            {
                **about,
                "settings": found.settings,
                "default_space": chosen,
                "spaces": spaces,
                "health_checks": checks,
                "failed_plugins": found.failed,
                "warnings": found.warnings,
                "ok": not bad,
            }
        )
    return 1 if bad else 0


def _rows(found: Survey, asked: list[str]) -> list[dict[str, Any]]:
    """The records of the spaces to examine, with the names by which they were asked for."""
    if not asked:
        return found.spaces
    known = {row["name"]: row for row in found.spaces}
    rows = []
    for name in asked:
        row = known.get(name.partition(":")[0])
        rows.append({"name": name, "usable": None} if row is None else {**row, "name": name})
    return rows


def _examine(row: dict[str, Any], found: Survey, timeout: float) -> dict[str, Any]:
    """The record of a space with `status`, `reason`, `patterns` and what else was learnt."""
    name = row["name"]
    result = {**row, "status": "ok", "patterns": {}, "select": f"EXECSPACE_DEFAULT={name}"}
    if row["usable"] is None:
        return {**result, "status": "unknown", "usable": False, "reason": _missing(name, found)}
    if not row["usable"]:
        return {**result, "status": "not usable"}
    outcome = contained.run("examine", name, timeout=timeout, settings=found.environment)
    for started in outcome.of("started"):
        result["start_seconds"] = started["seconds"]
        result["memory"], result["concurrency"] = started["memory"], started["concurrency"]
        result["threads"] = started["threads"]
    for event in outcome.of("result"):
        pattern = {"status": event["status"], "reason": event["reason"]}
        if "seconds" in event:
            pattern["first_seconds"], pattern["second_seconds"] = event["seconds"]
        result["patterns"][event["step"]] = pattern
    step = outcome.last("step", "step") or "loading the plugins"
    if outcome.of("end"):
        step = "the exit of the process, after all patterns"
    faults = [
        f"{pattern}: {outcome_['reason']}"
        for pattern, outcome_ in result["patterns"].items()
        if outcome_["status"] == "failed"
        or (pattern, outcome_["status"]) == (PATTERNS[0], "refused")
    ]
    raised = outcome.last("raised", "reason")
    if raised is not None:
        faults.append(f"{step}: {raised}")
    elif outcome.death:
        faults.append(f"{step}: {outcome.death}")
    if faults:
        result["status"] = "failed"
        result["reason"] = "; ".join(faults)
    return result


def _missing(name: str, found: Survey) -> str:
    base = name.partition(":")[0]
    for plugin in found.failed:
        if plugin["name"] == base:
            return f"its plugin failed to load: {plugin['error']}"
    known = ", ".join(sorted(row["name"] for row in found.spaces)) or "none"
    return f"not installed; installed spaces: {known}"


def _lines(result: dict[str, Any]) -> list[str]:
    """What is printed of a space: its state, then what to do, and the times."""
    if "distribution" not in result:
        return [f"{result['name']}: {result['status']}: {one_line(result['reason'])}"]
    origin = f"{result['distribution']} {result['version']}"
    about = f"{origin}, API {version(result['api_version'])}"
    if result["device"]:
        about += f", {result['device']}"
    reason = one_line(result["reason"])
    head = f"{result['name']}: {result['status']} ({about})"
    if result["status"] == "not usable":
        return [f"{head}: {reason}"]
    if result["status"] == "failed":
        return [
            f"{head}: {reason}",
            f"    If the message does not help, report it to the authors of {origin}; until then "
            f"choose another space with EXECSPACE_DEFAULT.",
        ]
    lines = [head + (f": {reason}" if reason else "")]
    lines.append(f"    {result['select']}")
    if result.get("threads"):
        lines.append(f"    {result['concurrency']} threads: {one_line(result['threads'])}")
    for name, pattern in result["patterns"].items():
        if pattern["status"] == "refused":
            lines.append(f"    {name}: refused: {one_line(pattern['reason'])}")
        else:
            first, second = pattern["first_seconds"], pattern["second_seconds"]
            lines.append(
                f"    {name}: right; first launch {seconds(first)}, second {seconds(second)}"
            )
    return lines


def _check(
    plugin: dict[str, Any], name: str, found: Survey, timeout: float, needed: bool
) -> dict[str, Any]:
    outcome = contained.run(
        "check", plugin["name"], name, timeout=timeout, settings=found.environment
    )
    checked = outcome.of("checked")
    reason = checked[0]["reason"] if checked else outcome.last("raised", "reason")
    ok = bool(checked and checked[0]["ok"] and not outcome.death)
    if outcome.death:
        reason = outcome.death
    return {
        "name": name, "plugin": plugin["name"], "ok": ok, "needed": needed, "reason": reason or "",
    }  # fmt: skip


def _check_line(check: dict[str, Any]) -> str:
    failed = "failed" if check["needed"] else "note, not needed here"
    text = f"{check['name']} (of plugin '{check['plugin']}'): {'ok' if check['ok'] else failed}"
    return f"{text}: {one_line(check['reason'])}" if check["reason"] else text
