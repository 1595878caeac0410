"""An interpreter without the GIL stays without it: what is imported turns nothing on."""

import json
import os
import subprocess
import sys

import pytest

from execspace.base.free_threading import FREE_THREADED

pytestmark = pytest.mark.skipif(not FREE_THREADED, reason="this interpreter has a GIL")

PROGRAM = """
import importlib, json, sys

enabled = {}
for name in ("numpy", "llvmlite.binding", "pluggy", "platformdirs", "execspace"):
    importlib.import_module(name)
    enabled[name] = sys._is_gil_enabled()

import numpy as np
import execspace as es

def kernel(i, x):
    x[i] += 1

for space in ("serial", "openmp"):
    x = np.zeros(100000)
    for _ in range(3):
        es.parallel_for(es.RangePolicy(len(x), space=space), kernel, x)
    assert (x == 3).all()
    enabled[space] = sys._is_gil_enabled()
print(json.dumps(enabled))
"""


def test_neither_imports_nor_launches_turn_the_gil_on(tmp_path):
    """If this fails, the first name whose value is true is what turned it on."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    # As the interpreter has it by itself, whatever it is for this test.
    command = [sys.executable, str(file)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert "GIL" not in found.stderr  # a module that turns it on is named in a warning
    enabled = json.loads(found.stdout)
    assert not any(enabled.values()), enabled
