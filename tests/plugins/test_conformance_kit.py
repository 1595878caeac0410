"""The conformance kit itself: what it says of spaces that are right, wrong, leaky or unusual.

The spaces of these tests run kernels as the oracle does, each with a fault of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from execspace_testing.expected import read_expected
from execspace_testing.levels import LEVELS, SUITE, level_of

SPACE = """
import execspace as es
from execspace_serial.space import Oracle

class Plan(es.Plan):
    def __init__(self, space, spec, inner):
        self.space, self.spec, self.inner, self.pattern = space, spec, inner, spec.pattern

    def launch(self, bounds, args):
        if FAULT == "loses the last index" and self.pattern == "for":
            half = len(bounds) // 2
            bounds = (*bounds[:half], *(max(b - 1, a) for a, b in zip(bounds, bounds[half:])))
        if FAULT == "dies" and self.pattern == "scan":
            import os
            os._exit(9)
        if FAULT == "dies in scans" and self.pattern == "scan":
            raise es.LaunchError("no scans")
        if FAULT == "keeps memory":
            KEPT.append(es.View(3, label="kept"))
        return self.inner.launch(bounds, args)

KEPT = []

class Space(Oracle):
    name = NAME
    capabilities = es.Capabilities(float16=False)
    if FAULT == "has no teams":
        team_limits = None

    def compile(self, kernel, spec):
        if FAULT == "cannot compile":
            with open(NAME + "-compiled", "a") as file:
                file.write(kernel.name + " ")
            raise es.BackendCompileError("the compiler is out of order")
        return Plan(self, spec, super().compile(kernel, spec))

@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry(NAME, lambda device: Space(), es.API_VERSION, summary=FAULT)
"""


@pytest.fixture
def kit(fake_plugin, tmp_path, monkeypatch):
    """Run a part of the suite from an empty folder, on a space with a fault.

    Collecting all of the suite takes longer than the tests that are run: most name their `levels`.
    """
    empty = tmp_path / "empty"
    empty.mkdir()

    def run(fault, *arguments, name="mine", levels=()):
        module = fake_plugin(name, f"NAME, FAULT = {name!r}, {fault!r}\n{SPACE}")
        site = tmp_path / f"execspace-{name}"
        assert (site / f"{module}.py").exists()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"]
        parts = [f"execspace_testing.suite.{level}" for level in levels]
        done = subprocess.run(
            [*command, *(parts or ["execspace_testing.suite"]), "--space", name, *arguments],
            env={**os.environ, "PYTHONPATH": str(site), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""},
            cwd=empty, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


# Tests that take these spaces, which are slow, no time.
FIRST = ("--level", "2", "-k", "test_every_element_type or test_every_index_from_the_lower")


def test_a_space_that_is_right(kit):
    code, text = kit("none", *FIRST)
    assert code == 0, text
    assert "conformance of space 'mine'" in text
    assert f"Space 'mine' passes level 2 of {len(LEVELS)}. Levels beyond 2 were not run." in text


def test_a_space_that_loses_an_index(kit):
    code, text = kit("loses the last index", *FIRST, levels=["memory", "range_for"])
    assert code == 1
    assert f"Space 'mine' passes level 1 of {len(LEVELS)}." in text
    assert "  2  FAIL  range_for" in text


def test_a_space_that_keeps_memory(kit):
    code, text = kit("keeps memory", *FIRST, levels=["memory", "range_for"])
    assert code == 1
    assert "leaked: kept" in text


def test_a_space_that_kills_the_process(kit):
    """Side by side, the tests of other processes go on, and the level counts as failed."""
    chosen = ("-k", "test_factorials or test_an_empty_range_runs_nothing")
    code, text = kit("dies", "-n", "1", *chosen, levels=["scan", "range_for"])
    assert code == 1, text
    assert "crashed while running" in text
    assert "  6  FAIL  scan" in text, text


def test_a_space_that_is_not_there(kit):
    code, text = kit("none", "--space", "ghost", "--level", "1", levels=["memory"])
    assert code == pytest.ExitCode.USAGE_ERROR, text
    assert "--space ghost: no such space is installed; installed spaces: " in text


def test_a_space_without_teams_passes_the_level_of_teams(kit):
    """By one test of what it says; all others skip, with this reason and no other."""
    code, text = kit("has no teams", levels=["teams"])
    assert code == 0, text
    skips = re.findall(r"level 9, (\d+) skipped: (.*)", text)
    assert [reason for _, reason in skips] == ["space 'mine' has no teams"], text
    assert re.search(rf"  9  pass  teams: .* 1 passed, {skips[0][0]} skipped", text), text
    assert int(skips[0][0]) > 100
    code, text = kit("has no teams", "-k", "team", name="other", levels=["programs"])
    assert code == 0, text
    assert "space 'other' has no teams" in text
    assert " passed" not in text.splitlines()[-1]


def test_what_cannot_be_compiled_is_not_compiled_again_and_again(kit, tmp_path):
    """Hypothesis looks for no smaller example of an error that is the same for all."""
    tests = "test_any_range or test_any_bounds_tile_and_strides or test_integers_agree_with_numpy"
    code, text = kit("cannot compile", "-k", tests, levels=["range_for", "mdrange", "reduce"])
    assert code == 1
    assert "the compiler is out of order" in text
    failed = int(re.search(r"(\d+) failed", text.splitlines()[-1])[1])
    compiled = (tmp_path / "empty" / "mine-compiled").read_text().split()
    assert failed == 5, text
    assert len(compiled) <= 6 * failed, compiled


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two"])
def test_a_level_is_reported_when_it_is_done(kit, processes):
    chosen = ("-k", "test_factorials or test_every_index_from_the_lower", *processes)
    code, text = kit("dies in scans", *chosen, levels=["range_for", "scan"])
    assert code == 1
    told, _ = text.split("= FAILURES =")
    assert re.search(r"^level 2 of space 'mine' pass  range_for: \d+ passed$", told, re.M), text
    assert re.search(r"^level 6 of space 'mine' FAIL  scan: 1 failed$", told, re.M), text


def test_levels_that_were_not_run_are_not_passed(kit):
    code, text = kit("none", "-k", "test_factorials")
    assert code == 0, text
    assert "Only tests of levels 6 were run: no level can be given." in text


def test_skips_say_why(kit):
    _, text = kit("none", "-k", "test_arithmetic_in_the_dtype and float16", levels=["range_for"])
    assert "skipped" in text and "float16" in text


# -- expected failures --------------------------------------------------------------------------


def test_expected_failures_have_reasons_and_must_fail(kit, tmp_path):
    file = tmp_path / "xfail.txt"
    file.write_text(
        "# of this backend\nscan/test_scan.py::test_factorials  # prefixes are lost, issue 12\n"
    )
    part = ("-k", "test_factorials or test_an_empty_range_runs_nothing", "--xfail-file", str(file))
    of = ["scan", "range_for"]
    code, text = kit("none", *part, levels=of)
    assert code == 1 and "XPASS(strict)" in text  # it works, so the line must go
    code, text = kit("dies in scans", *part, name="other", levels=of)
    assert code == 0, text
    assert "level 6, 1 expected to fail: prefixes are lost, issue 12" in text
    file.write_text("range_for/test_range.py::test_an_empty_range_runs_nothing[5]  # one of them\n")
    code, text = kit("none", *part, name="third", levels=of)
    assert code == 1 and "XPASS(strict)" in text
    assert "1 failed, 3 passed" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "scan/test_scan.py::test_sizes\n",
            "line 1: 'scan/test_scan.py::test_sizes' has no reason",
        ),
        ("\nscan/test_scan.py  # all of it\n", "line 2: 'scan/test_scan.py' is not a test"),
    ],
)
def test_faults_of_the_file_are_told(tmp_path, text, message):
    file = tmp_path / "xfail.txt"
    file.write_text(text)
    with pytest.raises(pytest.UsageError, match="xfail-file") as caught:
        read_expected(str(file))
    assert message in str(caught.value)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(pytest.UsageError, match="No such file"):
        read_expected(str(tmp_path / "none.txt"))


# -- the plugin in sessions that have nothing to do with it -------------------------------------


def test_the_plugin_loads_nothing_of_ours(tmp_path):
    """pytest loads it in every session of the environment."""
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_nothing_was_loaded():\n"
        "    ours = {n for n in sys.modules if n.partition('.')[0].startswith('execspace')}\n"
        "    plugin = {f'execspace_testing{n}' for n in ('', '.plugin', '.levels')}\n"
        "    assert ours <= plugin\n"
        "    assert 'numpy' not in sys.modules and 'hypothesis' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:zarr"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "conformance" not in done.stdout


def test_every_folder_of_the_suite_is_a_level():
    folders = {path.parent.name for path in SUITE.rglob("test_*.py")}
    assert folders == {level.folder for level in LEVELS}
    assert [level.number for level in LEVELS] == list(range(1, len(LEVELS) + 1))
    assert level_of(SUITE / "scan" / "test_scan.py").folder == "scan"
    assert level_of(SUITE.parent / "plugin.py") is None
