"""Machine code lives as long as what calls it, also where Python's collector ends both at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

ENDED = """
import gc
import numpy as np
import execspace as es
from execspace.kernels import kernel as kernels

x = np.zeros(8)
text = "import execspace as es\\n@es.kernel\\ndef kernel(i, x):\\n    x[i] += NUMBER\\n"
kept = []
for number in range(60):
    scope = {}
    made = text.replace("NUMBER", str(float(number)))
    exec(made, scope)
    es.parallel_for(es.RangePolicy(8, space="SPACE"), scope["kernel"], x)
    (plan,) = scope["kernel"].plans.values()
    if number % 7 == 0:
        kept.append(plan.launch)  # longer than its kernel and its plan
    plan.itself = plan  # a cycle, which only the collector ends
    kernels._known.clear()
    del plan, scope
    gc.collect()
for launch in kept:
    launch((0, 8), (es.view_of(x),))
print(x.sum())
"""


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_code_of_kernels_that_are_gone_is_freed_and_no_other(name, tmp_path):
    text = ENDED.replace("SPACE", name)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", text],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    total = sum(range(60)) + sum(range(0, 60, 7))
    assert done.stdout == f"{8.0 * total}\n"
