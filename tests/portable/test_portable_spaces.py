"""EXECSPACE_CHECK=portable in whole processes: when it is read, forks, tuning, tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Kernels of these programs, and the check that the answer is right.
KERNELS = """
import os
import numpy as np
import execspace as es

@es.kernel
def double(i, x):
    x[i] = 2.0 * x[i]

def doubled(x):
    es.deep_copy(x, 1.0)
    es.parallel_for(x.shape[0], double, x)
    return np.asarray(x.to(es.HOST)).tolist()

def is_refused(access):
    try:
        access()
    except es.SpaceAccessError:
        return True
    return False
"""


def test_it_is_read_when_the_first_space_starts(python):
    """A program may set it itself; from then on all spaces of the process agree."""
    python(
        KERNELS
        + """
os.environ["EXECSPACE_CHECK"] = "portable"
x = es.View(3, space="serial")
os.environ["EXECSPACE_CHECK"] = ""
y = es.View(3, space="oracle")
assert (x.memory_space.name, y.memory_space.name) == ("serial", "oracle")
assert is_refused(lambda: y[0])
with es.use_space("serial"):
    assert doubled(x) == [2, 2, 2]
os.environ["EXECSPACE_CHECK"] = "nothing like it"
assert is_refused(lambda: es.View(3, space="openmp")[0])
""",
        EXECSPACE_CHECK="",
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("portabel", "there is no check 'portabel'"),
        ("portable:opnmp", "space 'opnmp' is not installed"),
    ],
)
def test_what_it_cannot_mean_is_told_when_a_space_starts(python, value, text):
    python(
        f"""
import execspace as es
for _ in range(2):
    try:
        es.View(3)
    except es.ConfigError as error:
        assert "EXECSPACE_CHECK=" in str(error) and {text!r} in str(error), error
    else:
        raise SystemExit("not told")
""",
        EXECSPACE_CHECK=value,
    )


def test_one_space_of_the_host_may_stand_for_a_device_alone(python):
    """As where there is a GPU: NumPy arrays are for the others."""
    python(
        KERNELS
        + """
x, a = es.View(3, label="x"), np.ones(3)
assert x.memory_space.name == "openmp"
assert is_refused(lambda: es.parallel_for(3, double, a))
with es.use_space("serial"):
    es.parallel_for(3, double, a)
    assert is_refused(lambda: es.parallel_for(3, double, x))
assert a.tolist() == [2, 2, 2]
h = es.view_of(a)
es.parallel_for(es.RangePolicy(3, space="serial"), double, h)
assert h[0] == 4  # done when it returned
""",
        EXECSPACE_DEFAULT="openmp",
        EXECSPACE_CHECK="portable:openmp",
    )


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_a_forked_child_goes_on(python, name):
    python(
        KERNELS
        + """
x, s = es.View(50_000, label="x"), es.View(3, memory="shared")
assert doubled(x)[:2] == [2, 2]
es.parallel_for(3, double, s)  # pending when the child begins
child = os.fork()
if not child:
    wrong = 0 if is_refused(lambda: s[0]) and is_refused(lambda: x[0]) else 1
    es.fence()
    wrong += s[0] != 0.0 or doubled(x)[-1] != 2.0
    os._exit(int(wrong))
assert os.waitpid(child, 0)[1] == 0
assert is_refused(lambda: s[0])
""",
        EXECSPACE_DEFAULT=name,
        EXECSPACE_CHECK="portable",
    )


@pytest.mark.parametrize("asked", [True, False])
def test_kernels_are_tuned_and_their_views_put_back(python, tmp_path, asked):
    python(
        KERNELS
        + f"""
@es.kernel
def smooth(i, j, a, b):
    b[i, j] += a[i, j] + a[i, j]

a, b = es.View((64, 64), label="a"), es.View((64, 64), label="b")
es.deep_copy(a, 1.0)
policy = es.MDRangePolicy((64, 64))
if {asked}:
    es.tune(policy, smooth, a, b, keep=False, seconds=2.0)
es.parallel_for(policy, smooth, a, b)
assert is_refused(lambda: b[0, 0])
assert (np.asarray(b.to(es.HOST)) == 2.0).all()
assert [type(plan).__name__ for plan in smooth.plans.values()] == ["WatchedPlan"]
""",
        EXECSPACE_DEFAULT="openmp",
        EXECSPACE_CHECK="portable",
        EXECSPACE_TUNING_DIR=str(tmp_path / "tuning"),
        **({} if asked else {"EXECSPACE_TUNE": "1"}),
    )


def test_nothing_is_leaked_and_memory_has_the_name_of_its_space(python):
    python(
        KERNELS
        + """
import gc

class Told(es.profiling.Tool):
    names = set()

    def on_allocate(self, space):
        self.names.add(space)

es.profiling.attach(Told())
for _ in range(3):
    x, s = es.View(3, label="x"), es.View(3, label="s", memory="shared")
    assert doubled(x) == doubled(s) == [2, 2, 2]
    assert sorted(es.live_allocations()) == [("openmp", 24, "x"), ("openmp shared", 24, "s")]
    es.parallel_for(3, double, x)
assert Told.names == {"openmp", "openmp shared", "host"}
del x, s
gc.collect()
assert es.live_allocations() == []
""",
        EXECSPACE_DEFAULT="openmp",
        EXECSPACE_CHECK="portable",
    )


def test_programs_of_the_documentation_pass(tmp_path):
    """What is said to run anywhere is not refused; spaces that a page names are as they are."""
    told = tmp_path / "told.json"
    done = subprocess.run(
        [
            sys.executable, ROOT / "tests" / "support" / "docs_on_device.py", "--space", "openmp",
            "--json", told, "README.md", "docs/portable.md", "docs/views.md", "docs/algorithms.md",
            "examples/hillslope.py",
        ],
        env={**os.environ, "EXECSPACE_CHECK": "portable:openmp"}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(told.read_text(encoding="utf-8"))["blocks"]) > 30
