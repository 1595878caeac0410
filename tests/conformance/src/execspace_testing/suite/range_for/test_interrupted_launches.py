"""A launch that Ctrl-C or a lack of memory interrupts leaves nothing behind.

The exception is raised at lines all over core, compiler and backend, while they make a kernel ready
that they have not seen before. The next launch of the kernel must be as if nothing had happened.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

TEXT = """
import execspace as es

FACTOR = {number}.0


def scaled(a):
    return a * FACTOR + {number}


@es.kernel
def kernel(i, x, y):
    for _ in range(2):
        y[i] = scaled(x[i]) + abs(-1.0)
"""
POINTS = 8


@pytest.fixture
def new_kernel(tmp_path):
    """``new_kernel(number)``: a kernel that nothing is known of, in a file of its own."""

    def make(number):
        path = tmp_path / f"interrupted_{number}.py"
        path.write_text(TEXT.format(number=number), encoding="utf-8")
        scope = {"__name__": path.stem}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        return scope["kernel"]

    return make


def launched(space, kernel):
    x = staged.view_on(space, np.arange(4.0), "x")
    y = staged.view_on(space, np.zeros(4), "y")
    es.parallel_for(es.RangePolicy(4, space=space), kernel, x, y)
    es.fence()
    return staged.fetch(y).tolist()


def expected(number):
    return [a * number + number + 1.0 for a in (0.0, 1.0, 2.0, 3.0)]


def at_with(frame):
    """Whether a frame is at a `with`: leaving its block, Python looks at no signals before what
    releases a lock has run, so nothing can interrupt there."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def in_finalizer(frame):
    """Whether a frame is that of a `__del__`, or called from one: Python lets no exception out."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


class Interruption:
    """Raises an exception at the n-th line that is run of core, compiler and backend."""

    def __init__(self, space, at=0, kind=KeyboardInterrupt):
        named = {owner.__module__.partition(".")[0] for owner in type(space).__mro__}
        packages = (sys.modules.get(n) for n in (*named, "execspace", "execspace_compiler"))
        self.folders = tuple(str(f) for p in packages for f in getattr(p, "__path__", ()))
        self.at, self.kind, self.lines, self.place = at, kind, 0, ""

    def __enter__(self):
        self.kept = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self.kept)
        return error[0] is self.kind

    def trace(self, frame, event, _):
        file = frame.f_code.co_filename
        # What is generated for a kernel counts, too.
        if not file.startswith(self.folders) and not Path(file).name.startswith("execspace_"):
            return None
        if event == "line" and not at_with(frame) and not in_finalizer(frame):
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{file}:{frame.f_lineno}"
                sys.settrace(None)
                raise self.kind("interrupted")
        return self.trace


def test_the_next_launch_is_as_if_nothing_had_happened(space, new_kernel):
    points = 5 * POINTS if interpreted(space) else POINTS
    assert launched(space, new_kernel(1)) == expected(1)  # what is imported once is there
    lines = []  # of a launch, without those that make a kernel; some list the cache as well
    for number in (2, 3, 4):
        kernel = new_kernel(number)
        with Interruption(space) as counted:
            assert launched(space, kernel) == expected(number)
        lines.append(counted.lines)
    for n in range(points):
        number = n + 5
        kernel = new_kernel(number)
        at = 1 + (2 * n + 1) * min(lines) // (2 * points)
        with Interruption(space, at, (KeyboardInterrupt, MemoryError)[n % 2]) as found:
            launched(space, kernel)
        assert found.place, "nothing was interrupted"
        assert launched(space, kernel) == expected(number), found.place
