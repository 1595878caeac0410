"""Every program of the documentation, and the examples, with a space as the default.

    python tests/support/docs_on_device.py --space cuda [--json docs.json] [PAGE ...]

Each page runs in a process of its own, block by block; a block that fails is told with its line and
does not keep the others from running, though those after it may lack names that it defines. With
--space opencl a CPU behaves as a GPU does: its memory is out of the host's reach. `fake` is the
pretend device of fake_device.py. The exit status says whether all blocks passed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from pages import READMES, ROOT, Page, name_of

SUPPORT = Path(__file__).resolve().parent
SMALL = {  # examples, and arguments with which they take seconds
    "examples/containers/k_mers.py": ("--length", "500", "--k", "4"),
    "examples/containers/mesh_edges.py": ("--side", "6"),
    "examples/distributed/cg.py": ("--size", "6"),
    "examples/distributed/heat3d.py": ("--size", "8", "--steps", "4"),
    "examples/distributed/sweep.py": ("--count", "2"),
    "examples/hillslope.py": ("--steps", "20", "--compare-steps", "5"),
    "examples/lattice_qcd/__main__.py": ("--extents", "2", "2", "2", "8", "--sweeps", "2"),
    "examples/lattice_qcd/over_ranks.py": ("--extents", "4", "2", "2", "4"),
    "examples/poisson_solvers.py": ("--extent", "6"),
    "examples/roofline.py": ("--size", "0.01", "--repeat", "2"),
    "examples/tasks/with_dask.py": ("--size", "16", "--steps", "8", "--rim", "3"),
    "examples/tasks/with_pool.py": ("--size", "16", "--steps", "9", "--rows", "2"),
    "examples/tasks/with_ray.py": ("--size", "16", "--steps", "8", "--rim", "3"),
    "examples/teams/f1.py": ("--n", "1000"),
    "examples/teams/yax.py": ("--rows", "100"),
    "examples/teams/column.py": ("--elements", "3"),
    "examples/teams/bitonic.py": ("--arrays", "5"),
}
NEEDS = {  # examples, and what they need beside what all of them do
    "examples/tasks/with_dask.py": ("dask", "distributed"),
    "examples/tasks/with_ray.py": ("ray",),
}


def missing(example: str) -> list[str]:
    """What an example needs and is not installed."""
    return [module for module in NEEDS.get(example, ()) if find_spec(module) is None]


def small_arguments(program: Path) -> tuple[str, ...]:
    """What `SMALL` of one of examples/programs is on its command line."""
    for node in ast.parse(program.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SMALL":
            found = ast.literal_eval(node.value)
            return tuple(word for k, v in found.items() for word in (f"--{k}", str(v)))
    raise ValueError(f"{program} has no SMALL")


SMALL |= {
    str(path.relative_to(ROOT)): small_arguments(path)
    for path in sorted((ROOT / "examples" / "programs").glob("*.py"))
}


@dataclass(frozen=True)
class Outcome:
    """What became of a block, or of an example; line 0 is the whole."""

    page: str
    line: int
    passed: bool
    seconds: float
    error: str = ""


def run_page(path: Path, told: Path) -> None:
    """Run a page in this process; its outcomes go to a file as they come."""
    page = Page(path)
    with told.open("a", encoding="utf-8") as file:
        for block in page.programs():
            started, error = perf_counter(), ""
            try:
                page.execute(block)
                if block.is_script:
                    page.run_script(block, told.parent)
            except Exception:
                error = traceback.format_exc()
            seconds = round(perf_counter() - started, 3)
            outcome = Outcome(name_of(path), block.first, not error, seconds, error)
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
    page.close()


def environment(space: str, folder: Path) -> dict[str, str]:
    """What the processes see: the space as the default, and a cache of their own.

    Settings of spaces stay, such as EXECSPACE_OPENCL_MAPPING=flat, which treats a CPU as a GPU.
    """
    others = {f"EXECSPACE_{name}" for name in ("PLUGINS", "STRICT", "TOOLS", "TUNE", "TUNING_DIR")}
    found = {k: v for k, v in os.environ.items() if k not in others}
    found |= {"EXECSPACE_DEFAULT": space, "EXECSPACE_CACHE_DIR": str(folder / "cache")}
    if space.partition(":")[0] == "opencl":
        found["EXECSPACE_OPENCL_MEMORY"] = "device"
    if space == "fake":
        info = folder / "fake" / "execspace_fake-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: execspace-fake\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text("[execspace]\nfake = fake_device\n")
        path = [str(info.parent), str(SUPPORT), found.get("PYTHONPATH", "")]
        found["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return found


def outcomes_of(page: Path, settings: dict[str, str], folder: Path, limit: float) -> list[Outcome]:
    """Run a page in a process of its own."""
    told = folder / "outcomes.jsonl"
    told.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--page", str(page), "--told", str(told)]
    ended = _run(command, settings, folder, limit)
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    found = [Outcome(**json.loads(line)) for line in lines]
    if ended is not None:  # the process, not a block
        found.append(Outcome(name_of(page), 0, False, 0.0, ended))
    return found


def outcome_of(example: str, settings: dict[str, str], folder: Path, limit: float) -> Outcome:
    """Run an example."""
    started = perf_counter()
    command = [sys.executable, str(ROOT / example), *SMALL[example]]
    error = _run(command, settings, folder, limit)
    return Outcome(example, 0, error is None, round(perf_counter() - started, 3), error or "")


def _run(command: list[str], settings: dict[str, str], folder: Path, limit: float) -> str | None:
    """Why a process failed, or None."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=settings, timeout=limit, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done after {limit:g} s"
    return f"exit status {done.returncode}\n{done.stdout[-3000:]}" if done.returncode else None


def main(argv: Sequence[str] | None = None) -> int:
    """Run all pages and examples, or those that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--space", default="cuda", help="such as cuda, opencl:0.1 or fake")
    parser.add_argument("--json", type=Path, help="file to write outcomes to")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each page")
    parser.add_argument("pages", nargs="*", help="pages, as README.md, and examples; default: all")
    parser.add_argument("--page", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.page is not None:
        run_page(options.page, options.told)
        return 0
    every = [*map(name_of, READMES), *SMALL]
    unknown = [p for p in options.pages if p not in SMALL and not (ROOT / p).is_file()]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such page; there are {', '.join(every)}")
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = environment(options.space, folder)
        for what in options.pages or every:
            if gone := missing(what):
                print(f"{what}: left out, for {' and '.join(gone)} cannot be found", flush=True)
                continue
            if what in SMALL:
                new = [outcome_of(what, settings, folder, options.limit)]
            else:
                new = outcomes_of(ROOT / what, settings, folder, options.limit)
            found += new
            passed = sum(o.passed for o in new)
            print(f"{what}: {passed} of {len(new)} blocks passed", flush=True)
            for o in new:
                if not o.passed:
                    print(f"FAILED {o.page}:{o.line}\n{o.error.rstrip()}\n", flush=True)
    passed = sum(o.passed for o in found)
    print(f"space '{options.space}': {passed} blocks passed, {len(found) - passed} failed")
    if options.json is not None:
        rows = {"format": 1, "space": options.space, "blocks": [asdict(o) for o in found]}
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not found or passed < len(found))


if __name__ == "__main__":
    sys.exit(main())
