"""The host as a GPU: right kernels are right and clean, and each kind of fault is found.

Kernels by hand, in texts.py, are launched by programs.py through the pretended CuPy, in one process
for each sanitizer and width of waves.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hip_on_host.environment import FOLDER, command, environment, reports

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")

MODES = [(s, a) for s in ("", "thread", "address") for a in ("gfx942", "gfx1100")]
# What sanitizers see does not depend on the width of wavefronts.
MARKS = {m: [pytest.mark.exhaustive] for m in MODES if m[0] and m[1] == "gfx1100"}
RIGHT = (
    "add", "reduce", "wave", "histogram", "dynamic", "axes", "numbers", "atomics", "arrays",
    "binding", "tell", "tell HIP_ON_HOST_RESIDENT=4",
    "tell HIP_ON_HOST_RESIDENT=3 HIP_ON_HOST_ORDER=reverse",
    "fence HIP_ON_HOST_RESIDENT=2", "reduce HIP_ON_HOST_ORDER=reverse",
    "wave HIP_ON_HOST_ORDER=shuffle:5", "in_order",
)  # fmt: skip

PLAIN, THREAD, ADDRESS, ALL = ("",), ("thread",), ("address",), ("", "thread", "address")
RACE, WRONG = r"ThreadSanitizer: data race", r"^wrong: "
PATIENCE = "HIP_ON_HOST_PATIENCE=0.3"
FAULTS = {
    "race": (THREAD, RACE + r"(.|\n)*_b0\[0\] \+= 1"),
    "relaxed": (THREAD, RACE),
    "outside": (ADDRESS, r"heap-buffer-overflow(.|\n)*READ of size 8"),
    "outside_group": (ADDRESS, r"index 64 out of bounds(.|\n)*heap-buffer-overflow"),
    "outside_dynamic": (ADDRESS, r"READ of size 1(.|\n)*to the right of 1000-byte region"),
    "overflow": (ADDRESS, r"signed integer overflow"),
    "unwritten": (ALL, r"no fault; x\[0\] is \S*-6\.277"),  # 0xCD in all bytes
    "returned": (ALL, r"deadlock: work-items 0-2, 4-63 wait at the barrier in line 4; .*3 have"),
    "different": (ALL, r"different barriers: work-items 0-6 .* line 4; work-items 7-63 .* line 6"),
    "lanes": (ALL, r"work-items 1, 3, 5, 7 \(wave 0\) wait in line 3 for lanes 0, 2, 4, 6"),
    "stranger": (ALL, r"work-item 0 in line 3 names lanes 8-15; itself it is lane 0"),
    "absent": (ALL, r"no fault; x\[0\] is \S*-6\.277"),
    f"never {PATIENCE}": (ALL, r"wait in a loop for what none does"),
    f"in_order HIP_ON_HOST_ORDER=reverse {PATIENCE}": (PLAIN, r"wait in a loop for what none does"),
    "nowhere": (PLAIN, r"hipErrorIllegalAddress.*work-item 5 reads or writes at "),
    "too_much": (ALL, r"takes 65540 bytes of memory of the group; the device has 65536"),
    "too_large": (ALL, r"hipErrorInvalidConfiguration.*groups of 256; .* at most 128"),
    "syntax": (ALL, r"^Refused: (.|\n)*kernel\.hip:2:14: error: 'missing'"),
}
M = "HIP_ON_HOST_MUTATION"
MUTATIONS = {
    f"reduce {M}=barrier": (ALL, f"{RACE}|{WRONG}"),
    f"reduce {M}=barrier {M}_AT=1": (THREAD, RACE),
    f"reduce {M}=barrier {M}_AT=2": (ALL, f"{RACE}|{WRONG}"),
    f"dynamic {M}=barrier": (ALL, f"{RACE}|{WRONG}"),
    f"histogram {M}=atomic": (ALL, f"{RACE}|{WRONG}"),
    f"add {M}=bounds": (ADDRESS, "heap-buffer-overflow"),
    f"reduce {M}=bounds": (ADDRESS, "heap-buffer-overflow"),
    f"add {M}=barrier": (ALL, "NothingToMutateError: .*no barrier number 0 .*which has 0"),
    f"reduce {M}=barrier {M}_AT=3": (ALL, "NothingToMutateError: .*barrier number 3 .*has 3"),
    f"add {M}=atomic": (ALL, "NothingToMutateError: .*no atomic sum"),
    f"add {M}=none": (ALL, "ValueError: .*'none' is not a mutation; expected barrier, atomic"),
}
# Of the width of waves it depends what there is to find.
WAVE32 = f"wave {M}=wave32"
WAVE32_TOLD = {"gfx942": "wrong: |names lanes|deadlock", "gfx1100": "NothingToMutateError: .*32"}


def told_of(mode: tuple[str, str]) -> dict[str, str]:
    """Programs whose faults shall be found in a mode, and what is told of them."""
    known = FAULTS | MUTATIONS | {WAVE32: (ALL, WAVE32_TOLD[mode[1]])}
    return {program: told for program, (found, told) in known.items() if mode[0] in found}


CASES = [
    pytest.param(mode, *case, marks=MARKS.get(mode, []))
    for mode in MODES
    for case in told_of(mode).items()
]


def run(folder: Path, sanitizer: str, arch: str, *programs: str) -> dict[str, str]:
    """Outcomes of programs, from a process of their own."""
    line = [sys.executable, "-W", "error", str(FOLDER / "programs.py"), *programs]
    done = subprocess.run(
        command(line, sanitizer), env=environment(folder, arch, sanitizer), capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout, f"exit {done.returncode}\n{done.stderr}"
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """Outcomes of the right programs in a mode, and what sanitizers reported."""

    @cache
    def of(mode):
        folder = tmp_path_factory.mktemp("right")
        return run(folder, *mode, *RIGHT), reports(folder)

    return of


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Outcomes of the programs whose faults shall be found in a mode."""

    @cache
    def of(mode):
        return run(tmp_path_factory.mktemp("wrong"), *mode, *told_of(mode))

    return of


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, id="-".join(mode), marks=MARKS.get(mode, [])) for mode in MODES]
)
def test_right_kernels_are_right_and_clean(right, mode):
    outcomes, reported = right(mode)
    assert outcomes == dict.fromkeys(RIGHT, "right")
    assert reported == []


@pytest.mark.parametrize(("mode", "program", "told"), CASES)
def test_faults_are_found(wrong, mode, program, told):
    outcome = wrong(mode)[program]
    assert re.search(told, outcome), outcome


def test_the_order_of_work_items_is_chosen(tmp_path):
    names = ["forward", "reverse", "shuffle:1", "shuffle:2"]
    programs = [f"order HIP_ON_HOST_ORDER={name}" for name in names]
    found = {
        name: [int(n) for n in told.split()]
        for name, told in zip(names, run(tmp_path, "", "gfx942", *programs).values(), strict=True)
    }
    programs = ["order HIP_ON_HOST_ORDER=shuffle:1", "order HIP_ON_HOST_ORDER=x"]
    again, unknown = run(tmp_path, "", "gfx942", *programs).values()
    n = list(range(128))
    assert found["forward"] == n[:64] * 2 + n[64:] * 2
    assert found["reverse"] == (n[:64] * 2 + n[64:] * 2)[::-1]
    for name in names[2:]:
        assert sorted(found[name]) == sorted(n * 2) and found[name] != found["forward"]
        assert found[name][:64] != found[name][64:128]  # another order after the barrier
    assert found["shuffle:1"] != found["shuffle:2"]
    assert " ".join(map(str, found["shuffle:1"])) == again
    assert "'x' is not an order; expected forward, reverse or shuffle:SEED" in unknown


def test_texts_are_kept(tmp_path):
    texts = tmp_path / "texts"
    assert run(tmp_path, "", "gfx1100", f"add HIP_ON_HOST_TEXTS={texts}") == {
        f"add HIP_ON_HOST_TEXTS={texts}": "right"
    }
    (path,) = texts.iterdir()
    assert re.fullmatch(r"[0-9a-f]{20}-gfx1100\.hip", path.name)
    assert "_ES_KERNEL(128) es_for(" in path.read_text(encoding="utf-8")


@pytest.fixture
def run_pytest(tmp_path):
    """Run a file of tests by run.py; returns its exit status and what it printed."""

    def of(body, *options):
        path = tmp_path / "test_it.py"
        path.write_text(f"import programs, texts\ndef test_it():\n    {body}\n")
        line = [sys.executable, str(FOLDER / "run.py"), *options, "--", "-q", str(path)]
        line += ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    return of


ADD = "assert programs.add(texts.RIGHT['add']) == 'right'"


def test_run_passes_on_what_pytest_says(run_pytest):
    status, told = run_pytest(ADD)
    assert status == 0 and "1 passed" in told and "0 files of reports" in told, told
    status, told = run_pytest(ADD.replace("==", "!="))
    assert status == 1 and "1 failed" in told, told


def test_a_mutation_that_run_puts_in_is_found_or_finds_nothing(run_pytest):
    status, told = run_pytest(ADD, "--sanitizer", "address", "--mutation", "bounds")
    assert status == 1 and "changed 1 texts" in told and "heap-buffer-overflow" in told, told
    status, told = run_pytest(ADD, "--mutation", "barrier")
    assert status == 3 and "1 passed" in told and "changed 0 texts" in told, told


@pytest.mark.parametrize(("sanitizer", "program"), [("thread", "race"), ("address", "outside")])
def test_reports_fail_a_run_whatever_the_tests_make_of_them(run_pytest, sanitizer, program):
    status, told = run_pytest(f"programs.outcome('{program}')", "--sanitizer", sanitizer)
    assert status == 66 and "1 passed" in told and "Sanitizer" in told, told
