"""Launches on NumPy's arrays: the second one like the last is known again, and makes no View.

What is known is what an array's View would have the same type for; each other array takes the long
way, and means there what it always meant.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace.views import interop

SPACES = ["serial", "openmp"]
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "int8", "complex128", "bool", "float16"]


def double(i, j, x, y):
    y[i, j] = x[i, j] + x[i, j]


def total(i, x):
    return x[i]


def layouts(values):
    """Arrays with the same elements that lie in memory in all kinds of ways."""
    n, m = values.shape
    wide = np.zeros((n, 2 * m), values.dtype)
    wide[:, ::2] = values
    tall = np.zeros((2 * n, m), values.dtype)
    tall[::2] = values
    fixed = values.copy()
    fixed.flags.writeable = False
    left = np.asfortranarray(values)
    return {
        "right": values.copy(), "left": left, "every second column": wide[:, ::2],
        "every second row": tall[::2], "backwards": values[::-1].copy()[::-1],
        "columns backwards": values[:, ::-1].copy()[:, ::-1], "fixed": fixed,
        "a part": np.pad(values, 3)[3:-3, 3:-3], "turned": left.T.copy().T,
        "repeated": np.broadcast_to(values[:1], values.shape),
        "a view": es.view_of(values.copy()),
    }  # fmt: skip


@pytest.fixture
def made(monkeypatch):
    """How many Views were made of arrays so far."""
    count = []
    own = interop.view_over

    def counted(*args):
        count.append(args[0])
        return own(*args)

    monkeypatch.setattr(interop, "view_over", counted)
    return count


@pytest.mark.parametrize("name", SPACES)
def test_launches_that_are_known_make_no_view(name, made):
    policy, x, y = es.RangePolicy(5, space=name), np.arange(5.0), np.zeros(5)

    def kernel(i, x, y):
        y[i] = x[i] + 1.0

    es.parallel_for(policy, kernel, x, y)
    assert len(made) == 2
    for _ in range(3):
        es.parallel_for(policy, kernel, x, y)
    made.clear()
    for length in (5, 4, 3):
        y = np.zeros(length)
        es.parallel_for(es.RangePolicy(length, space=name), kernel, np.arange(float(length)), y)
        assert y.tolist() == [1.0 + n for n in range(length)]
    assert made == []
    assert [es.parallel_reduce(policy, total, x) for _ in range(4)] == [10.0] * 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPACES)
def test_an_array_is_what_its_view_is_however_it_lies(name, dtype):
    """Each after each other one, so that each is met by the test for each."""
    policy = es.MDRangePolicy((3, 4), space=name)
    values = np.arange(12).reshape(3, 4).astype(dtype)
    kernel = es.kernel(double)
    for one in layouts(values):
        for other in layouts(values):
            for way in (one, one, one, other, one):
                x, y = layouts(values)[way], np.zeros((3, 4), dtype)
                es.parallel_for(policy, kernel, x, y)
                expected = layouts(values)[way]
                expected = np.asarray(expected) + np.asarray(expected)
                assert (y == expected).all(), (one, other, way)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_launches_of_any_arrays_one_after_the_other(data):
    """What an array is told to be wrong for is the same on its first and on its tenth launch."""
    name = data.draw(st.sampled_from(SPACES))
    policy = es.MDRangePolicy((2, 3), space=name)

    def array():
        dtype = data.draw(st.sampled_from([*DTYPES, ">f8", ">i4", "longlong"]))
        made = data.draw(st.sampled_from([*range(11)]))
        values = np.arange(6).reshape(2, 3).astype(np.dtype(dtype).newbyteorder("="))
        found = list(layouts(values).values())[made]
        if dtype.startswith(">"):
            found = np.asarray(found).astype(dtype)
        odd = data.draw(st.integers(0, 9))
        if odd == 0:  # not aligned
            raw = np.zeros(6 * found.dtype.itemsize + 1, np.uint8)[1:]
            raw = raw.view(found.dtype).reshape(2, 3)
            raw[...] = found
            found = raw
        elif odd == 1:  # another rank
            found = np.asarray(found)[0]
        return found

    def outcome(kernel, x, y):
        y = np.array(y, y.dtype) if isinstance(y, np.ndarray) else y
        try:
            es.parallel_for(policy, kernel, x, y)
        except es.ExecspaceError as error:
            return type(error), str(error)
        return np.asarray(y).tolist()

    for _ in range(8):
        x, y = array(), array()
        for _ in range(data.draw(st.integers(1, 4))):
            assert outcome(KNOWN, x, y) == outcome(es.kernel(double), x, y)


KNOWN = es.kernel(double)  # which keeps what it knows from one example to the next


@pytest.mark.parametrize("name", SPACES)
def test_arrays_that_overlap(name):
    def shifted(i, x, y):
        y[i] = x[i] + 1.0

    policy = es.RangePolicy(40, space=name)
    memory = np.zeros(41)
    for _ in range(4):
        apart, y = np.arange(40.0), np.zeros(40)
        es.parallel_for(policy, shifted, apart, y)
        assert (y == apart + 1.0).all()
        memory[:] = np.arange(41.0)
        es.parallel_for(policy, shifted, memory[:40], memory[:40])
        assert (memory[:40] == np.arange(40.0) + 1.0).all() and memory[40] == 40.0


@pytest.mark.parametrize("name", SPACES)
def test_an_array_changes_its_shape_in_place(name):
    policy = es.RangePolicy(4, space=name)

    def put(i, x):
        x[i] = i + x.shape[0]

    x = np.zeros(6)
    for _ in range(3):
        es.parallel_for(policy, put, x)
    assert x.tolist() == [6, 7, 8, 9, 0, 0]
    x.resize(4, refcheck=False)
    es.parallel_for(policy, put, x)
    assert x.tolist() == [4, 5, 6, 7]
    x.shape = 2, 2
    with pytest.raises(es.KernelTypeError):
        es.parallel_for(policy, put, x)


@pytest.mark.parametrize("name", SPACES)
def test_assertions_numbers_captures_and_results(name):
    known = es.view_of(np.arange(5.0))

    def kernel(i, x, least, y):
        assert x[i] >= least, "too small"
        y[i] = x[i] * known[i]

    policy, x, y = es.RangePolicy(5, space=name), np.arange(5.0), np.zeros(5)
    for _ in range(4):
        es.parallel_for(policy, kernel, x, 0, y)
        assert (y == x * x).all()
        with pytest.raises(es.KernelAssertionError, match="too small"):
            es.parallel_for(policy, kernel, x, 2, y)
    out = es.View((), memory=es.HOST)
    for n in range(4):
        assert es.parallel_reduce(policy, total, x + n, out=out) is None
        assert out.item() == 10.0 + 5 * n
    counts = [
        es.parallel_reduce(policy, tally, x, reducer=es.Sum(shape=2, dtype=es.int64))
        for _ in range(4)
    ]
    assert [c.tolist() for c in counts] == [[3, 2]] * 4


def tally(i, counts, x):
    counts[i % 2] += 1


@pytest.mark.parametrize("name", SPACES)
def test_subclasses_are_not_taken_for_arrays(name):
    class Mine(np.ndarray):
        pass

    policy, x = es.RangePolicy(5, space=name), np.arange(5.0)
    kernel = es.kernel(total)
    for _ in range(3):
        assert es.parallel_reduce(policy, kernel, x) == 10.0
    with pytest.raises(es.ExecspaceError):
        es.parallel_reduce(policy, kernel, np.ma.masked_array(x, x > 2))
    assert es.parallel_reduce(policy, kernel, x.view(Mine)) == 10.0


@pytest.mark.parametrize("name", SPACES)
def test_threads_launch_on_arrays_of_their_own(name):
    policy, wrong = es.RangePolicy(500, space=name), []
    kernel = es.kernel(lambda i, x, s: put(x, i, s))

    def launches(n):
        for k in range(200):
            x = np.zeros(500, DTYPES[n % 4])
            es.parallel_for(policy, kernel, x, n + k % 50)
            if not (x == n + k % 50).all():
                wrong.append((n, k))

    threads = [threading.Thread(target=launches, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def put(x, i, s):
    x[i] = s


def test_threads_that_are_the_first_to_launch_on_arrays():
    """Each would make the code that reads arrays; in a new process, for here it is made."""
    kernels = "\n".join(f"def k{n}(i, x): x[i] += {n + 1}.0" for n in range(6))
    script = f"""
import sys, threading, numpy as np, execspace as es
{kernels}
policy = es.RangePolicy(10, space="serial")
for k in (k0, k1, k2, k3, k4, k5):
    es.parallel_for(policy, k, es.View(10, memory=es.HOST))
sys.setswitchinterval(1e-5)
begin, found = threading.Barrier(6), []
def launches(kernel):
    x = np.zeros(10)
    begin.wait()
    for _ in range(500):
        es.parallel_for(policy, kernel, x)
    found.append(float(x[9]))
threads = [threading.Thread(target=launches, args=(k,)) for k in (k0, k1, k2, k3, k4, k5)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(found))
"""
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
        )
        assert run.stdout == f"{[500.0 * n for n in range(1, 7)]}\n", run.stderr
