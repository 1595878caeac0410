"""The benchmark of sparse matrices runs, and its matrices are what they are called."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def test_it_runs(tmp_path):
    path = tmp_path / "sparse.json"
    command = [sys.executable, "-m", "benchmarks.sparse.run", "--quick", "--space", "serial"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--json", path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(path.read_text())["results"]["serial"]
    assert len(results) == 14
    for case, outcome in results.items():
        assert outcome["execspace"]["ms"] > 0 and outcome["SciPy"]["ms"] > 0, case


def test_solvers_run(tmp_path):
    path = tmp_path / "solvers.json"
    command = [sys.executable, "-m", "benchmarks.sparse.solvers", "--quick", "--space", "serial"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--json", path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(path.read_text())["results"]["serial"]
    assert outcome["execspace"]["bytes"] > 0 and outcome["execspace"]["over_bytes"] > 0
    assert outcome["SciPy"]["ms"] > 0


def test_matrices():
    matrices = importlib.import_module("benchmarks.sparse.matrices")
    row_map, entries, values, shape = matrices.stencil((4, 5), 5)
    assert shape == (20, 20) and len(entries) == len(values) == row_map[-1] == 82
    row = entries[row_map[6] : row_map[7]]
    assert sorted(row) == [1, 5, 6, 7, 11]
    assert np.diff(matrices.stencil((3, 3, 3), 27)[0]).max() == 27
    row_map, entries, _, shape = matrices.rmat(6, 8)
    lengths = np.diff(row_map)
    assert shape == (64, 64) and lengths.max() > 3 * lengths.mean() and entries.max() < 64
