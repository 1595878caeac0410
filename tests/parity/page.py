"""Run the programs of the table on spaces, record what became of them, and write docs/parity.md.

Each space is run in a process of its own, since settings are read when a space starts. A program
that fails, or takes its process with it, does not keep the others from running. Records of several
machines lie in tests/parity/results; the page is made of all of them and of the table.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # modules beside this one are those of the package, under its name
    sys.path[0] = str(HERE.parent)

import numpy as np  # noqa: E402

import execspace as es  # noqa: E402
from execspace.plugins import registry as plugins  # noqa: E402
from parity.table import (  # noqa: E402
    BESIDES,
    Program,
    Row,
    digest,
    name_of,
    programs,
    programs_for,
    rows,
    run,
)

RESULTS = HERE / "results"
PAGE = HERE.parents[1] / "docs" / "parity.md"
LIMIT = 300  # seconds of one program
SETTINGS = {
    "flat": ("EXECSPACE_OPENCL_MAPPING", "flat"),
    "chunked": ("EXECSPACE_OPENCL_MAPPING", "chunked"),
    "device": ("EXECSPACE_OPENCL_MEMORY", "device"),
}
USAGE = """\
examples:
  python tests/parity/page.py --space serial --space opencl:flat+device --record here.json
  python tests/parity/page.py --space openmp --only views
  python tests/parity/page.py --write

A space is a name as that of es.space. Behind that of OpenCL may be settings: `opencl:flat` and
`opencl:chunked` choose the mapping, `opencl:device` keeps Views in buffers on processors, too, and
`opencl:flat+device` does both. Python must find tests/, which it does where this file lies.
"""


# -- running --------------------------------------------------------------------------------------


def setting(spec: str) -> tuple[str, dict[str, str]]:
    """The name of a space and environment variables, of what was said on the command line."""
    name, _, words = spec.partition(":")
    found = words.split("+") if words else []
    if name == "opencl" and found and set(found) <= set(SETTINGS):
        return name, dict(SETTINGS[word] for word in found)
    return spec, {}


def fault(error: BaseException) -> str:
    """The first line of an exception, and the last line of the table's modules that it came by."""
    said = "".join(f": {line}" for line in str(error).strip().splitlines()[:1])
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if HERE in Path(f.filename).parents
    ]
    at = f" in `{frames[-1].line}`" if frames else ""
    return f"{type(error).__name__}{said}"[:200] + at


def run_here(spec: str, only: str, out: Path) -> None:
    """Run the programs whose outcome is not in the file yet, and append theirs, one a line."""
    done = {name for name, _ in outcomes(out)}
    with out.open("a", encoding="utf-8") as file:

        def tell(**what: str) -> None:
            file.write(json.dumps(what) + "\n")
            file.flush()

        space = es.space(setting(spec)[0])
        entry = plugins.load(lambda name: None).spaces[space.name.partition(":")[0]]
        tell(device=str(plugins.probe(entry).device))
        for name, program in programs_for(space.name).items():
            if name in done or not re.search(only, name):
                continue
            tell(began=name)
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            try:
                run(program, space)
            except Exception as error:
                traceback.print_exc()
                tell(name=name, outcome=fault(error))
            else:
                tell(name=name, outcome="passed")
            faulthandler.cancel_dump_traceback_later()


def lines(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def outcomes(out: Path) -> Iterator[tuple[str, str]]:
    """Names of programs and what became of them."""
    return ((line["name"], line["outcome"]) for line in lines(out) if "name" in line)


def run_on(spec: str, only: str) -> tuple[str, dict[str, str]]:
    """Device of a space, and program -> "passed" or what was wrong; processes end with programs."""
    environment = {**os.environ, **setting(spec)[1]}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "outcomes")
        command = [
            sys.executable,
            __file__,
            "--space",
            spec,
            "--only",
            only,
            "--outcomes",
            str(out),
        ]
        while True:
            status = subprocess.run(command, env=environment, check=False).returncode
            if not status:
                break
            found = lines(out)
            if not found or "began" not in found[-1]:  # not by a program: the space itself
                raise SystemExit(f"{spec}: the process ended with {status} outside of programs")
            ended = f"more than {LIMIT} s, or the process ended with {status}"
            ended = f"signal {-status} ended the process" if status < 0 else ended
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": found[-1]["began"], "outcome": ended}) + "\n")
        return lines(out)[0]["device"], dict(outcomes(out))


def machine() -> str:
    """Model and number of the processors."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = re.search(r"^model name\s*: (.*)$", info.read_text(encoding="utf-8"), re.MULTILINE)
        model = named[1] if named else model
    return f"{model}, {os.cpu_count()} cores"


def record(specs: Sequence[str], only: str) -> dict[str, Any]:
    """What became of the programs on spaces, with machine, date and versions."""
    spaces, found = {}, {}
    for spec in specs:
        began = perf_counter()
        device, found[spec] = run_on(spec, only)
        spaces[spec] = device
        failed = {name: said for name, said in found[spec].items() if said != "passed"}
        for name, said in failed.items():
            print(f"{spec}: {name}: {said}", file=sys.stderr)
        number, seconds = len(found[spec]), perf_counter() - began
        print(
            f"{spec}: {number - len(failed)} of {number} passed, {seconds:.0f} s", file=sys.stderr
        )
    return {
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            "execspace": es.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "spaces": spaces,
        "programs": {
            name: {
                "of": digest(program),
                **{spec: found[spec][name] for spec in specs if name in found[spec]},
            }
            for name, program in programs().items()
            if any(name in found[spec] for spec in specs)
        },
    }


# -- the page -------------------------------------------------------------------------------------


def records() -> dict[str, dict[str, Any]]:
    """Records of this folder by name."""
    found = sorted(RESULTS.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found}


def ran(program: Program, kept: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Outcome -> spaces, of the records of a program as it is now."""
    name, now, found = name_of(program), digest(program), {}
    for one in kept.values():
        told = one["programs"].get(name, {})
        if told.get("of") == now:
            found.update({spec: said for spec, said in told.items() if spec != "of"})
    spaces: dict[str, list[str]] = {}
    for spec, said in found.items():
        spaces.setdefault(said, []).append(spec)
    return spaces


def cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def table_row(r: Row, kept: dict[str, dict[str, Any]]) -> str:
    there: str = r.there
    if r.reason:
        there += f": [{r.reason}](kokkos.md#what-is-deliberately-not-there)"
    spaces = ran(r.program, kept) if r.program else {}
    told = [", ".join(spaces.pop("passed", []))]
    told += [f"fails on {', '.join(where)}: {said}" for said, where in spaces.items()]
    line = f"`{cell(r.line)}`" if r.line else ""
    return f"| {cell(r.feature)} | {there} | {line} | {cell('; '.join(filter(None, told)))} |"


def text() -> str:
    """The page, of the table and the records."""
    table, kept = rows(), records()
    counts = {
        "Kokkos": Counter(r.there for r in table if r.section not in BESIDES),
        **{name: Counter(r.there for r in table if r.section == name) for name in BESIDES},
    }
    page = [
        "# Kokkos, row by row",
        "",
        "Each row is a feature of Kokkos. Where it is there, a program of `tests/parity` uses it",
        "and asserts what it gives; the table has one line of that program, and the spaces on",
        "which it passed. [Kokkos, feature by feature](kokkos.md) has the same in groups, and the",
        "reasons for what is not there. `python tests/parity/page.py --write` writes this page.",
        "",
        "| | yes | part | no | rows |",
        "|---|---|---|---|---|",
    ]
    for name, count in counts.items():
        if total := count.total():
            page.append(f"| {name} | {count['yes']} | {count['part']} | {count['no']} | {total} |")
    page += [
        "",
        "| Space | Device | Machine | Date | Programs that passed |",
        "|---|---|---|---|---|",
    ]
    every = programs()
    for one in kept.values():
        for spec, device in one["spaces"].items():
            told = [
                found[spec]
                for name, found in one["programs"].items()
                if name in every and spec in found and found["of"] == digest(every[name])
            ]
            passed = f"{told.count('passed')} of {len(told)}"
            where = one["machine"], one["date"], passed
            page.append(f"| {spec} | {cell(device)} | {' | '.join(where)} |")
    page += [
        "",
        "`flat` and `chunked` are [mappings of OpenCL](opencl.md#mappings); with `device` Views",
        "are in buffers that the host does not reach.",
    ]
    section = ""
    for r in table:
        if r.section != section:
            section = r.section
            page += [
                "",
                f"## {section}",
                "",
                "| Feature | There? | Line | Ran on |",
                "|---|---|---|---|",
            ]
        page.append(table_row(r, kept))
    return "\n".join(page) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; 1 if a program failed, or the page is out of date."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog=USAGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--space", action="append", default=[], help="run the programs there; may be repeated")
    add("--only", default="", help="programs whose module.name has this regular expression")
    add("--record", type=Path, help="write what became of them into this JSON file")
    add("--write", action="store_true", help="write docs/parity.md")
    add("--check", action="store_true", help="exit with 1 if docs/parity.md is out of date")
    add("--outcomes", type=Path, help=argparse.SUPPRESS)  # of the process for one space
    options = parser.parse_args(arguments)
    if options.outcomes:
        run_here(options.space[0], options.only, options.outcomes)
        return 0
    if not (options.space or options.write or options.check):
        parser.error("nothing to do: --space runs, --write writes the page, --check compares it")
    status = 0
    if options.space:
        made = record(options.space, options.only)
        told = {
            one[spec] for one in made["programs"].values() for spec in options.space if spec in one
        }
        status = int(told != {"passed"})
        if options.record:
            options.record.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    if options.write:
        PAGE.write_text(text(), encoding="utf-8")
    if options.check and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text()):
        print("docs/parity.md is out of date: python tests/parity/page.py --write", file=sys.stderr)
        status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
