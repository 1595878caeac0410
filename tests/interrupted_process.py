"""A program of test_interruptions.py: new processes are interrupted at their first launch.

    python interrupted_process.py COUNT

Children are forked before execspace is imported. Each raises an exception at another of so many
places, all over the import, plugins, the choice of the default space and the compiler, and then
launches again. It prints what went wrong, and at the end how many places there were.
"""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
import traceback

import llvmlite.binding  # noqa: F401 - so that children need not import it
import numba  # noqa: F401
import numpy as np
import platformdirs  # noqa: F401
import pluggy

KERNEL = """
import execspace as es
@es.kernel
def kernel(i, x):
    x[i] = abs(i - 2.0)
"""


def launched(path):
    """The default space, and what it computes."""
    import execspace as es

    kernel = sys.modules.setdefault("kept", {}).get("kernel")
    if kernel is None:
        scope = {"__name__": "interrupted"}
        exec(compile(KERNEL, path, "exec"), scope)
        kernel = sys.modules["kept"]["kernel"] = scope["kernel"]
    x = np.zeros(4)
    es.parallel_for(4, kernel, x)
    es.fence()
    return es.default_space().name, x.tolist()


def at_with(frame):
    """Whether a frame is at a `with`: leaving its block, Python looks at no signals before what
    releases a lock has run, so nothing can interrupt there."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


class Interruption:
    def __init__(self, kind, at):
        self.kind, self.at, self.lines, self.place = kind, at, 0, ""

    def trace(self, frame, event, _):
        file = frame.f_code.co_filename
        if "execspace" not in file and os.path.dirname(pluggy.__file__) not in file:
            return None
        if event == "line" and not at_with(frame):
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{file}:{frame.f_lineno}"
                sys.settrace(None)
                raise self.kind("interrupted")
        return self.trace


def tried(path, kind, at):
    """What a child gets at its second launch, where it was interrupted, after how many lines."""
    found = Interruption(kind, at)
    sys.settrace(found.trace)
    try:
        launched(path)
    except kind:
        pass
    finally:
        sys.settrace(None)
    try:
        return launched(path), found.place, found.lines
    except BaseException:
        return traceback.format_exc(), found.place, found.lines


def forked(path, kind, at):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, repr(tried(path, kind, at)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    return eval(text)


def main(count):
    assert "execspace" not in sys.modules
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "interrupted.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL)
        forked(path, KeyboardInterrupt, 0)  # compiles; the others find it in the cache
        wanted, _, lines = forked(path, KeyboardInterrupt, 0)
        places = 0
        for n in range(count):
            kind = (KeyboardInterrupt, MemoryError)[n % 2]
            found, place, _ = forked(path, kind, 1 + (2 * n + 1) * lines // (2 * count))
            places += bool(place)
            if found != wanted:
                print(f"{kind.__name__} at {place}: got {found}, expected {wanted}")
        print(f"{places} places, {wanted}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
