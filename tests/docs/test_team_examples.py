"""The programs of examples/teams: right on every space, and they notice what is wrong.

Their kernels run as plain Python, too; the benchmarks of teams run on small sizes.
"""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import execspace as es

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "teams"
SPACES = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
SMALL = {
    "f1": ("--n", "1000", "--m", "37", "--block", "77"),
    "yax": ("--rows", "30", "--columns", "101"),
    "column": ("--elements", "3", "--levels", "37"),
    "bitonic": ("--arrays", "5", "--length", "64"),
}
LINES = {
    "f1": ["n 1000, m 37: sum of b", "F1 flat     319692.8271", "F1nd teams  319692.8271"],
    "yax": ["ones        3030.0 = 30 x 101", "teams       17811.0", "flat        17811.0"],
    "column": ["3 elements of 16 points, 37 levels: as by NumPy", "energy      2.791663e+10 J"],
    "bitonic": ["5 arrays of 64: sorted as by NumPy"],
}


@pytest.fixture
def program(monkeypatch):
    """Import a program for the length of a test; ``program(name)`` returns its module."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def run(module, *argv):
    """Exit status of a program in this process."""
    return module.main(module.__doc__, module.SIZES, module.compute, argv)


def script(*argv):
    return subprocess.run(
        [sys.executable, *map(str, argv)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


# -- the programs -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "where",  # serial has the compiler of openmp
    [pytest.param(s, marks=[pytest.mark.exhaustive] * (s == "serial")) for s in SPACES],
)
def test_small_run(program, capsys, where, name):
    # Left to the space, a team of a host has one thread.
    teams = () if where == "openmp" else ("--team-size", "4", "--vector-length", "8")
    assert run(program(name), "--space", where, *SMALL[name], *teams) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"space '{es.space(where).name}'\n")
    for line in LINES[name]:
        assert line in out
    assert " ms" in out


def test_published_sum(program, capsys):
    assert run(program("f1"), "--space", "serial") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "n 128000, m 256: sum of b"
    assert [line.split("  ")[0] for line in lines[2:]] == [
        "F1 flat", "F1 teams", "F1nd teams", "published",
    ]  # fmt: skip
    # The order of the sum, and so its last digits, follows from the processor's vectors.
    sums = [float(re.search(r"\d+\.\d{4}", line)[0]) for line in lines[2:]]
    assert sums == pytest.approx([5225237167.4778] * 4, rel=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_as_a_script(name):
    done = script(FOLDER / f"{name}.py", "--space", "serial", *SMALL[name])
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line in done.stdout for line in LINES[name])


def test_help_says_sizes_and_defaults():
    done = script(FOLDER / "yax.py", "--help")
    assert done.returncode == 0
    assert "The inner product of y with A x: a team for each row of A." in done.stdout
    assert "--rows N           rows of A (default: 16384; on hosts 4096)" in done.stdout
    assert "--team-size N      threads of a team (default: auto)" in done.stdout


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argv", "status", "message"),
    [
        ("f1", ("--n", "10"), 2, "--n 10: expected at least as many points as --m, 256."),
        ("bitonic", ("--length", "100"), 2, "--length 100: expected a power of two, such as 256."),
        (
            "f1", ("--vector-length", "3"), 2,
            "TeamPolicy: vector_length=3; expected a power of two, such as 2 or 4.",
        ),
    ],
)  # fmt: skip
def test_unusable_sizes(program, capsys, name, argv, status, message):
    assert run(program(name), "--space", "serial", *argv) == status
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--arrays", "0"), "--arrays: expected a number above 0, got 0"),
        (("--team-size", "x"), "argument --team-size: expected a number or auto, got 'x'"),
    ],
)
def test_senseless_options(program, capsys, argv, message):
    with pytest.raises(SystemExit) as caught:
        run(program("bitonic"), *argv)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


def test_space_that_is_not_there(program, capsys):
    assert run(program("column"), "--space", "abacus") == 2
    assert "error: Space 'abacus' is not installed" in capsys.readouterr().err


def unsorted_rows(team, unsorted, rows):
    row = team.league_rank
    for k in es.TeamVectorRange(team, unsorted.extent(1)):
        rows[row, k] = unsorted[row, k]


def all_but_the_last(team, A, x, y):
    row = team.league_rank
    columns = A.extent(1) - 1
    return y[row] * es.parallel_reduce(es.TeamVectorRange(team, columns), lambda j: A[row, j])


@pytest.mark.parametrize(
    ("name", "kernel", "wrong", "what"),
    [
        ("bitonic", "sort_rows", unsorted_rows, "rows"),
        ("yax", "with_teams", all_but_the_last, "teams, ones"),
    ],
)
def test_wrong_kernels_are_noticed(program, monkeypatch, capsys, name, kernel, wrong, what):
    module = program(name)
    monkeypatch.setattr(module, kernel, wrong)
    assert run(module, "--space", "serial", *SMALL[name]) == 1
    assert f"WRONG RESULT: {what}: off by " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "function", "what"), [("f1", "expected", "F1 flat: b"), ("column", "fields", "mass")]
)
def test_wrong_results_are_noticed(program, monkeypatch, capsys, name, function, what):
    module = program(name)
    right = getattr(module, function)

    def slightly_off(*sizes):
        found = right(*sizes)
        array = found if name == "f1" else found.outputs[-1]
        array[1] += 1e-6 * abs(array).max()
        return found

    monkeypatch.setattr(module, function, slightly_off)
    assert run(module, "--space", "serial", *SMALL[name]) == 1
    assert f"WRONG RESULT: {what}: off by " in capsys.readouterr().err


@pytest.mark.parametrize(
    "found", [[1.0, 2.0], [1.0, np.nan, 3.0], [1.0, 2.0, 3.1]], ids=["shape", "NaN", "value"]
)
def test_agree(program, found):
    module = program("program")
    module.agree("x", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(module.WrongResult, match=r"^x: "):
        module.agree("x", found, [1.0, 2.0, 3.0], 1e-3)


# -- kernels as plain Python ------------------------------------------------------------------


def test_f1_as_plain_python(program):
    f1 = program("f1")
    n, m, block, league = 50, 7, 16, 4
    a, b, total = f1.inputs(n), np.zeros(n), 0.0
    for rank in range(league):
        team = es.TeamMember(rank, league)
        f1.blocked(team, a, b, n, m, block)
        total += f1.without_arrays(team, n, m, block)
    np.testing.assert_allclose(b, f1.expected(n, m), rtol=0, atol=1e-12)
    assert total == pytest.approx(b.sum(), rel=1e-12)


def test_bitonic_as_plain_python(program):
    bitonic = program("bitonic")
    unsorted = bitonic.numbers(2, 32)
    source, target = es.View((2, 32), es.int32), es.View((2, 32), es.int32)
    es.deep_copy(source, unsorted)
    bitonic.sort_rows(es.TeamMember(1, 2), source, target)
    np.testing.assert_array_equal(np.asarray(target)[1], np.sort(unsorted[1]))
    assert not np.asarray(target)[0].any()


# -- benchmarks -------------------------------------------------------------------------------


@pytest.mark.exhaustive  # the next one runs the script, too
def test_device_benchmark_writes_a_record(tmp_path):
    file = tmp_path / "teams.json"
    done = script(
        "-m", "benchmarks.teams.device", "--space", "serial", "--quick", "--rounds", "1",
        "--only", "bitonic", "--json", str(file),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(file.read_text())
    assert (record["clock"], list(record["results"])) == ("host", ["bitonic sort"])
    found = record["results"]["bitonic sort"]
    assert set(found["variants"]) == {
        "execspace 32x1", "execspace 64x1", "execspace 128x1", "execspace 256x1",
        "execspace 1x32", "execspace 4x32", "execspace auto",
    }  # fmt: skip
    assert 0 < found["execspace"]["ms"] <= found["auto"]["ms"]
    assert found["auto"]["variant"] == "execspace auto"
    assert "hand" not in found


@pytest.mark.skipif("opencl" not in SPACES, reason="needs opencl")
def test_device_benchmark_checks_kernels_by_hand(tmp_path):
    file = tmp_path / "teams.json"
    done = script(
        "-m", "benchmarks.teams.device", "--space", "opencl", "--quick", "--rounds", "1",
        "--launches", "1", "--only", "column", "--json", str(file),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for found in json.loads(file.read_text())["results"].values():
        assert found["over_hand"] == pytest.approx(
            found["execspace"]["ms"] / found["hand"]["ms"], rel=1e-4
        )
        assert not any("error" in known for known in found["variants"].values())
