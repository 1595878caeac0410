"""The conformance kit, and tests of what differs, on a Python without the GIL.

    python tests/freethreaded/run.py --python python3.14t
    python tests/freethreaded/run.py --sources cpython   # CPython's, which it builds: minutes

Makes an environment and removes it again, with the build. Says so and succeeds where there is no
such interpreter; `--required` makes that a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMBERS = ("core", "compiler", "plugins/serial", "plugins/openmp", "tools", "tests/conformance")
# NumPy and ml_dtypes are imported by core; later versions of hypothesis have no wheel for 3.13t.
NEEDED = ("numpy", "ml_dtypes", "pytest", "pytest-xdist", "jsonschema", "cloudpickle", "rich")
KIT = ("memory", "range_for", "reduce", "mdrange", "atomics", "scan", "instances", "teams")
CHOICES = ("python3.14t", "python3.13t")


def main() -> int:
    """Find or build the interpreter, then run what was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help=f"the interpreter; else {' or '.join(CHOICES)}, if found")
    parser.add_argument("--sources", type=Path, help="a folder with CPython's sources to build")
    parser.add_argument("--required", action="store_true", help="fail if there is no interpreter")
    parser.add_argument("--processes", default="2", help="of pytest-xdist (2)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="execspace-freethreaded-") as name:
        folder = Path(name)
        python = given.python
        if python is None and given.sources is not None:
            python = built(given.sources.resolve(), folder / "python")
        if python is None:
            python = next(filter(None, map(shutil.which, CHOICES)), None)
        if python is None or not is_free_threaded(python):
            print(f"no Python without the GIL ({python or ', '.join(CHOICES)}): nothing was tested")
            return 1 if given.required else 0
        return tested(environment(python, folder / "venv"), given.processes)


def run(*command: str | Path, **options: object) -> None:
    """Run a command, which is shown; CalledProcessError if it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(c) for c in command], check=True, **options)  # type: ignore[call-overload]


def is_free_threaded(python: str) -> bool:
    """Whether a Python was built without the GIL."""
    program = "import sys; sys.exit('free-threading build' not in sys.version)"
    return subprocess.run([python, "-c", program], check=False).returncode == 0


def built(sources: Path, target: Path) -> str:
    """Build CPython, without the tests of its own and the optimisations that take an hour."""
    work = target.with_name("build")
    work.mkdir()
    quick = ("--without-ensurepip", "--disable-test-modules", "OPT=-O2 -g0")
    run(sources / "configure", "-q", "--disable-gil", f"--prefix={target}", *quick, cwd=work)
    for goal in ("all", "install"):
        run("make", "-s", f"-j{os.cpu_count()}", goal, cwd=work, stdout=subprocess.DEVNULL)
    return str(target / "bin" / "python3")


def environment(python: str, folder: Path) -> Path:
    """An environment with the distributions of this repository; its interpreter."""
    run(python, "-m", "venv", "--without-pip", folder)
    made = folder / "bin" / "python"
    ask = "import sys, sysconfig; print(sysconfig.get_path('purelib'), *sys.version_info[:2])"
    said = subprocess.run([made, "-c", ask], check=True, capture_output=True, text=True).stdout
    site, major, minor = said.split()
    # A pip that knows what wheels there are without the GIL, whichever this Python has.
    pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
    run(*pip, "install", "--upgrade", "--no-deps", "--target", site, "pip>=25")
    own = (made, "-m", "pip", "-q", "--disable-pip-version-check", "install")
    hypothesis = "hypothesis>=6.100"
    if (major, minor) == ("3", "13"):
        hypothesis += ",<6.140"
        # llvmlite has no wheel for 3.13t, but no extension module either: it loads a C library by
        # ctypes, so the wheel for 3.14t serves.
        wheels = folder / "wheels"
        kind = ("--python-version", "3.14", "--implementation", "cp", "--abi", "cp314t")
        platform = ("--platform", "manylinux_2_27_x86_64", "--platform", "manylinux_2_28_x86_64")
        only = ("--only-binary", ":all:", "--no-deps", "-d", wheels)
        run(made, "-m", "pip", "-q", "download", *only, *kind, *platform, "llvmlite")
        for wheel in wheels.glob("*.whl"):
            shutil.unpack_archive(wheel, site, "zip")
    run(*own, "--only-binary", ":all:", *NEEDED, hypothesis)
    run(*own, *(part for m in MEMBERS for part in ("-e", ROOT / m)))
    return made


def tested(python: Path, processes: str) -> int:
    """Run the tests with the GIL off, and those of the GIL as the interpreter has it."""
    common = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    suites = [f"execspace_testing.suite.{level}" for level in KIT]
    spaces = ("--space", "serial", "--space", "openmp", "-o", "execspace_levels=")
    runs: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["tests/hosts/test_free_threaded.py"]),
        ({"PYTHON_GIL": "0"}, ["core/tests/test_free_threading.py"]),
        ({"PYTHON_GIL": "0"}, ["-n", processes, "--pyargs", *suites, *spaces]),
    ]
    failed = False
    for more, arguments in runs:
        command = [str(python), *common, *arguments]
        print("+", *more, *command, flush=True)
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, check=False)
        failed |= done.returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
