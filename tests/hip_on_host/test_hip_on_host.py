"""The conformance kit on the HIP plugin, its kernels executed on this machine's processor.

A pretended CuPy for ROCm launches what the plugin generates (see tests/hip_on_host). Sanitizers see
missing barriers, steps that are not atomic and indices out of bounds. Reductions and scans of
ranges have the same text for both widths of wavefronts; teams are executed with both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "hip_on_host" / "run.py"
SUITE = "execspace_testing.suite"

# Of use in a plain run only: repetitions without end, and sizes that take a sanitizer minutes.
LONG = ("hundred_million", "determinism", "1000000", "many_teams", "in_flight")
# What lanes do together; of the other files of teams a device's part is the same for each of them.
LANES = ("collectives", "reductions", "scans", "nested_ranges", "members", "barriers")
PARTS = {
    "teams": ["teams"],
    "lanes": [f"teams.test_{name}" for name in LANES],
    "collectives": ["reduce", "scan"],
    "some collectives": ["reduce.test_reducers", "scan.test_scan", "graphs.test_nodes"],
    "random": ["differential"],
    "graphs": ["graphs"],
}
RUNS = [
    (arch, sanitizer, part)
    for arch, parts in (("gfx942", ("teams", "collectives", "random")), ("gfx1100", ("teams",)))
    for part in parts
    for sanitizer in ("thread", "address", "")
]
RUNS += [("gfx942", "", "graphs"), ("gfx1100", "", "lanes"), ("gfx942", "", "some collectives")]
# `make test` runs what lanes do together without sanitizers, once; what takes minutes is left to
# `make test-all`. What sanitizers report is shown by faults that are planted, below. With both
# sanitizers wavefronts of 64 run what the plain run does but for the long tests.
COVERED = set(RUNS) - {("gfx942", "", "some collectives"), ("gfx1100", "", "lanes")}
FEW = ("teams.test_members",)
NOT_FEW = (*LONG, "largest", "limits", "large_teams")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]


def run(tmp_path, *options, suites, left_out=(), more=()):
    """Run parts of the kit; exit status and output."""
    command = [
        sys.executable, str(RUN), *options, "--", "--pyargs",
        *(f"{SUITE}.{name}" for name in suites), "--space", "hip", "-q", "-p", "no:cacheprovider",
        "-k", " and ".join(f"not {name}" for name in (*left_out, LONG[0])), *more,
    ]  # fmt: skip
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True)
    return done.returncode, f"{done.stdout[-8000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize(
    ("arch", "sanitizer", "part"),
    [
        pytest.param(
            *run, id="-".join([run[0], run[1] or "plain", run[2]]),
            marks=[pytest.mark.exhaustive] * (run in COVERED),
        )
        for run in RUNS
    ],
)  # fmt: skip
def test_the_kit_passes_and_sanitizers_report_nothing(arch, sanitizer, part, tmp_path):
    order = {"gfx942": "reverse", "gfx1100": "shuffle:7"}[arch]
    options = ["--arch", arch, "--sanitizer", sanitizer, "--order", order]
    left_out = LONG if sanitizer else ()
    status, told = run(tmp_path, *options, suites=PARTS[part], left_out=left_out)
    assert status == 0, told
    passed = re.search(r"^(\d+) passed.* in ", told, re.MULTILINE)
    assert passed is not None and int(passed[1]) > 30, told


# Planted faults are found by both, below; that there is no other is told by `make test-all`.
@pytest.mark.exhaustive
@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_some_of_the_kit_passes_with_a_sanitizer(sanitizer, tmp_path):
    options = ["--arch", "gfx942", "--sanitizer", sanitizer, "--order", "reverse"]
    status, told = run(tmp_path, *options, suites=FEW, left_out=NOT_FEW)
    assert status == 0, told
    passed = re.search(r"^(\d+) passed.* in ", told, re.MULTILINE)
    assert passed is not None and int(passed[1]) > 5, told


@pytest.mark.parametrize(
    ("mutation", "sanitizer", "suite"),
    [
        ("barrier", "thread", "reduce"),
        ("wave32", "", "teams"),
        # Those are planted in programs by hand, too: test_runtime.py.
        pytest.param("atomic", "thread", "teams.test_members", marks=pytest.mark.exhaustive),
        pytest.param("bounds", "address", "scan", marks=pytest.mark.exhaustive),
    ],
)
def test_faults_that_are_planted_in_the_texts_are_found(mutation, sanitizer, suite, tmp_path):
    """A run that passed with these would show nothing. Without them the same suites pass."""
    options = ["--arch", "gfx942", "--sanitizer", sanitizer, "--mutation", mutation]
    status, told = run(tmp_path, *options, suites=[suite], left_out=NOT_FEW, more=["-x"])
    changed = re.search(rf"mutation '{mutation}' changed (\d+) texts", told)
    assert changed is not None and int(changed[1]) > 0, told
    assert status in (1, 66), told  # of pytest: tests failed; of ThreadSanitizer: it reported
    assert re.search(r"^FAILED ", told, re.MULTILINE), told
