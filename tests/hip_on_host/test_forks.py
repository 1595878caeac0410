"""Children of a process that has used a GPU raise, and drop what they inherit without a word.

The layer that CUDA and HIP share is executed on the pretended CuPy, which fails in a child as the
real one does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from hip_on_host.environment import environment

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
]

HEAD = """
import gc, multiprocessing, os, signal, sys, warnings
import numpy as np
import execspace as es

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads

@es.kernel
def double(i, x):
    x[i] *= 2

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        signal.alarm(30)  # a child that hangs is killed
        work()
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
"""

USED = """
space = es.space("hip")
policy = es.RangePolicy(100, space=space)
x = es.View(100, space=space, label="x")
pinned, shared = (es.View(9, space=space, memory=m) for m in ("pinned", "shared"))
instance = space.instance()
es.parallel_for(policy, double, x)
es.parallel_for(es.RangePolicy(100, space=instance), double, x)
es.fence()
"""

TOUCHES = """
tried = {
    "launch": lambda: es.parallel_for(policy, double, x),
    "first launch": lambda: es.parallel_for(policy, lambda i, x: None, x),
    "instance's launch": lambda: es.parallel_for(es.RangePolicy(100, space=instance), double, x),
    "reduction": lambda: es.parallel_reduce(policy, lambda i, x: x[i], x),
    "View": lambda: es.View(3, space=space),
    "pinned View": lambda: es.View(3, space=space, memory="pinned"),
    "shared View": lambda: es.View(3, space=space, memory="shared"),
    "copy to": lambda: es.deep_copy(x, np.zeros(100)),
    "copy from": lambda: es.deep_copy(np.zeros(100), x),
    "fill": lambda: es.deep_copy(x, 1.0),
    "fence": lambda: space.fence(),
    "fence of before": space.fence,
    "instance's fence": lambda: instance.fence(),
    "instance": lambda: space.instance(),
    "sort": lambda: es.sort(x),
}

def try_all():
    for what, work in tried.items():
        try:
            work()
        except es.SpaceError as error:
            assert "multiprocessing's 'spawn'" in str(error), (what, error)
        else:
            raise AssertionError(what)
    print("tried", len(tried))

in_child(try_all)
es.parallel_for(policy, double, x)  # the parent goes on
es.fence()
"""

DROPS = """
def child():
    global x, pinned, shared, instance, space, policy, double
    z = np.ones(5)
    x = pinned = shared = instance = space = policy = None
    gc.collect()
    es.parallel_for(es.RangePolicy(5, space="oracle"), double, z)
    es.fence()
    copied = np.zeros(5)
    es.deep_copy(copied, z)
    assert copied.tolist() == [2.0] * 5
    double = None
    gc.collect()

for _ in range(3):
    in_child(child)
print("dropped")
"""

POOL = """
def work(n):
    try:
        es.parallel_for(policy, double, x)
    except es.SpaceError as error:
        return "spawn" in str(error)

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map_async(work, range(4)).get(30))
"""

ONLY_IMPORTED = f"""
def work():
    {textwrap.indent(USED, "    ").strip()}
    es.deep_copy(x, 3.0)
    es.parallel_for(policy, double, x)
    found = np.zeros(100)
    es.deep_copy(found, x)
    print(found.sum())

in_child(work)
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (USED + TOUCHES, "tried 15\n"),
        (USED + DROPS, "dropped\n"),
        (USED + POOL, "[True, True, True, True]\n"),
        (ONLY_IMPORTED, "600.0\n"),
    ],
    ids=["all that touches the device", "drops", "pool", "only imported"],
)
def test_children_of_a_fork(tmp_path, program, told):
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], env=environment(tmp_path, "gfx942", ""),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, told, ""), done
