"""deep_copy of the layer that CUDA and HIP share, on the pretended CuPy: ways, signals, ends.

What pieces and buffers do on streams that are late is in gpu/tests/test_ferry.py; on a GPU all of
it is in plugins/cuda/tests/test_cuda_copies.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from hip_on_host.environment import environment

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")

HEAD = """
import atexit, itertools, os, signal, sys, threading, time, warnings
import numpy as np
import execspace as es
from execspace_gpu import ferry, moving, transfers, workers

workers.usable_cores = lambda: 4
space = es.space("hip")
queue = space.instance()
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads
"""

WAYS = """
class Staged(es.profiling.Tool):
    def __init__(self):
        self.copies, self.staged = 0, []
    def on_copy_begin(self, nbytes):
        self.copies += 1
    def on_staging(self, space, nbytes):
        self.staged.append((space, nbytes))

tool = es.profiling.attach(Staged())

def told(target, source):
    tool.copies, tool.staged = 0, []
    es.deep_copy(target, source)
    assert tool.copies == 1
    return tool.staged

trips = []
run = ferry._Trip.run
ferry._Trip.run = lambda self, helpers: (trips.append(self.nbytes), run(self, helpers))[1]
n = 1 << 20
values, back = np.arange(float(n)), np.zeros(n)
x = es.View(n, space=space)
pinned = es.View(n, space=space, memory="pinned")
assert told(x, values) == told(back, x) == [] and trips == [8 * n] * 2
assert (back == values).all() and len(space.device.ferry._buffers) == 4 + ferry.SPARE
assert told(pinned, x) == told(x, pinned) == told(x, np.asarray(pinned)) == []
assert told(x[: n // 4], values[: n // 4]) == [] and len(trips) == 2

square, left = values.reshape(1024, 1024), es.View((1024, 1024), layout="left", space=space)
found = np.zeros((1024, 1024))
assert told(left, square) == told(found, left) == [("hip", 8 * n)] and len(trips) == 4
assert (found == square).all()
apart = np.zeros((1024, 2048))[:, ::2]
assert told(apart, left) == [("hip pinned", 8 * n)]
assert told(left, 0) == [] and told(left, apart) == [("hip pinned", 8 * n)]
assert told(found, left) and (found == square).all() and (apart == square).all()
print("told")
"""

ORDERS = """
moving.LEAST, transfers._PART, ferry.LEAST, ferry.PIECE = 0, 20_000, 1000, 4096
random = np.random.default_rng(0)
for dtype in ("u1", "i2", "f4", "f8", "c16"):
    for shape in ((40, 72), (41, 33), (3, 40, 24)):
        values = random.integers(0, 100, shape).astype(dtype)
        inner = tuple(slice(1, -1) for _ in shape)
        for (one, other), where in itertools.product(
            itertools.product(("left", "right"), repeat=2), (None, queue)
        ):
            a, b = (es.View(shape, dtype, layout=name, space=space) for name in (one, other))
            found = np.zeros(shape, dtype, order="F" if one == other else "C")
            es.deep_copy(a, values, instance=where)
            es.deep_copy(b, a, instance=where)
            es.deep_copy(found, b, instance=where)
            es.fence()
            assert (found == values).all()
            es.deep_copy(b[::-1, ...], a, instance=where)
            es.deep_copy(found, b, instance=where)
            es.fence()
            assert (found == values[::-1]).all()
            es.deep_copy(a, 0)
            es.deep_copy(a[inner], found[inner], instance=where)
            whole = np.zeros(shape, dtype)
            es.deep_copy(whole[inner], a[inner], instance=where)
            es.fence()
            assert (whole[inner] == found[inner]).all() and whole.sum() == found[inner].sum()
print("right")
"""

CTRL_C = """
values = np.arange(1 << 22, dtype=np.float64)
x, back, interrupted = es.View(values.size, space=space), np.empty_like(values), 0
for k in range(1, 25):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 2e-4 * k)
    try:
        pair = (x, values) if k % 4 < 2 else (back, x)
        es.deep_copy(*pair, instance=queue if k % 2 else None)
        time.sleep(2e-4 * k)
    except KeyboardInterrupt:
        interrupted += 1
    back[...] = 0
    es.deep_copy(x, values)
    es.deep_copy(back, x)
    assert (back == values).all()
# One that comes while Python drops an object is told on stderr, and lost.
print(interrupted >= 20)
"""

CHILD = """
values = np.arange(1 << 20, dtype=np.float64)
x, back = es.View(values.size, space=space), np.zeros(1 << 20)
es.deep_copy(x, values)
child = os.fork()
if not child:
    signal.alarm(30)
    try:
        es.deep_copy(x, values)
    except es.SpaceError as error:
        sys.exit(0 if "spawn" in str(error) else 1)
    sys.exit(2)
assert os.waitpid(child, 0)[1] == 0
es.deep_copy(back, x)
print((back == values).all())
"""

END = """
values = np.ones(1 << 20)
x, y = (es.View(values.size, space=space) for _ in range(2))

def last():
    back = np.zeros_like(values)
    es.deep_copy(back, y)
    print((back == 1).all())

def forever():
    while True:
        es.deep_copy(x, values, instance=queue)

es.deep_copy(y, values)
atexit.register(last)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (WAYS, "told\n"),
        (ORDERS, "right\n"),
        (CTRL_C, "True\n"),
        pytest.param(
            CHILD,
            "True\n",
            marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
        ),
        (END, "True\n"),
    ],
    ids=["ways", "orders", "ctrl-c", "child", "end"],
)
def test_copies(tmp_path, program, told):
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], env=environment(tmp_path, "gfx942", ""),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, told), done
    assert program == CTRL_C or done.stderr == "", done
