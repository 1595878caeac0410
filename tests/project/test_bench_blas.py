"""The benchmarks of dense vectors and matrices run."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def results_of(module, path, *options):
    """What a benchmark writes of small cases on `serial`."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--quick", "--space", "serial"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--json", path, *options],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text())["results"]["serial"]


def test_vectors(tmp_path):
    results = results_of("blas.run", tmp_path / "blas.json")
    assert len(results) == 15
    for case, outcome in results.items():
        assert outcome["execspace"]["ms"] > 0 and outcome["NumPy"]["ms"] > 0, case
        assert "GB/s" in outcome["execspace"], case


def test_matrices(tmp_path):
    options = ("--layout", "right", "--dtype", "float64")
    results = results_of("blas.matrices", tmp_path / "matrices.json", *options)
    assert len(results) == 4
    for case, outcome in results.items():
        assert outcome["execspace"]["Gflop/s"] > 0 and outcome["NumPy"]["ms"] > 0, case


def test_factors(tmp_path):
    results = results_of("lapack.run", tmp_path / "lapack.json", "--only", "getrf", "--only", "svd")
    assert len(results) == 2
    for case, outcome in results.items():
        assert outcome["execspace"]["ms"] > 0 and outcome["NumPy"]["ms"] > 0, case
