"""The benchmark of dense vectors and matrices runs."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_runs(tmp_path):
    path = tmp_path / "blas.json"
    command = [sys.executable, "-m", "benchmarks.blas.run", "--quick", "--space", "serial"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--json", path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(path.read_text())["results"]["serial"]
    assert len(results) == 15
    for case, outcome in results.items():
        assert outcome["execspace"]["ms"] > 0 and outcome["NumPy"]["ms"] > 0, case
        assert "GB/s" in outcome["execspace"], case
