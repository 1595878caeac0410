"""A fresh environment with wheels of this repository, as somebody has who installed them.

    python tests/support/fresh_environment.py [--levels KIND=N ...]

makes one, puts a generated backend of each kind into it, and runs the conformance kit on both,
from an empty folder: all levels, or those up to N.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMBERS = ["core", "compiler", "plugins/serial", "tests/conformance"]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
ALONE = ["--no-index", "--no-deps", "--quiet"]


def run(*argv: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without settings of the caller, but for the folder of compiled kernels."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EXECSPACE_", "PYTHON"))}
    kept |= {k: v for k, v in os.environ.items() if k == "EXECSPACE_CACHE_DIR"}
    return subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def done(*argv: str | Path, cwd: Path, **environment: str) -> str:
    """What a program printed; fails if it does."""
    result = run(*argv, cwd=cwd, **environment)
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def build(folder: Path, *projects: str | Path) -> None:
    """Build wheels of projects into a folder."""
    done(*PIP, "wheel", *ALONE, "--no-build-isolation", "-w", folder, *projects, cwd=ROOT)


class Environment:
    """A virtual environment that shares third-party packages with the one that runs the tests."""

    def __init__(self, folder: Path) -> None:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder / "venv")
        scripts = "Scripts" if os.name == "nt" else "bin"
        self.scripts = folder / "venv" / scripts
        self.python = self.scripts / "python"
        shared = folder / "third-party"
        shared.mkdir()
        for place in {Path(p) for p in sys.path if Path(p).name == "site-packages"}:
            for entry in place.iterdir():
                ours = "execspace" in entry.name or entry.suffix == ".pth"
                if not ours and not (shared / entry.name).exists():
                    (shared / entry.name).symlink_to(entry)
        self.site = Path(
            done(
                self.python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder
            ).strip()
        )
        (self.site / "third-party.pth").write_text(f"{shared}\n")

    def pip(self, *argv: str | Path) -> None:
        """Install into this environment, or remove from it."""
        done(*PIP, "--python", self.python, *argv, cwd=self.site)


def main() -> int:
    """Run the kit on a backend of each kind; the exit code says whether all tests passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--levels", metavar="KIND=N", nargs="*", default=[])
    limits = dict(text.split("=") for text in parser.parse_args().levels)
    failed = []
    with tempfile.TemporaryDirectory(prefix="execspace-fresh-") as name:
        folder = Path(name)
        build(folder / "wheels", *(ROOT / member for member in MEMBERS))
        environment = Environment(folder)
        environment.pip("install", *ALONE, *(folder / "wheels").glob("*.whl"))
        empty = folder / "empty"
        empty.mkdir()
        for space, kind in (("mistral", "threads"), ("sea_breeze", "c")):
            project = folder / f"execspace-{kind}"
            made = ["new-backend", space, "--kind", kind, "--output", project]
            done(environment.scripts / "execspace", *made, cwd=folder)
            build(folder / kind, project)
            environment.pip("install", *ALONE, *(folder / kind).glob("*.whl"))
            suite = ["--pyargs", "execspace_testing.suite", "--space", space, "-m", "not slow"]
            if kind in limits:
                suite += ["--level", limits[kind]]
            pytest = [environment.python, "-m", "pytest", "-q", "-n", "auto"]
            print(f"conformance kit on '{space}', a generated backend of kind {kind}", flush=True)
            command = [str(a) for a in (*pytest, "-p", "no:cacheprovider", *suite)]
            if subprocess.run(command, cwd=empty, check=False).returncode:
                failed.append(space)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
