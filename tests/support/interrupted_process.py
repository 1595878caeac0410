"""A program of test_interruptions.py: new processes are interrupted at their first launch.

    python interrupted_process.py COUNT
    python interrupted_process.py MODULE FUNCTION ...

Children are forked before execspace is imported. Each raises an exception at another of so many
places, all over the import, plugins, the choice of the default space and the compiler, and then
launches again. It prints what went wrong, and at the end how many places there were.

Or each gets Ctrl-C where it imports a module of that name, or enters a function of that name, which
are llvmlite's: then they are forked before it is imported.
"""

from __future__ import annotations

import importlib
import linecache
import os
import signal
import sys
import tempfile
import traceback

import numpy as np
import platformdirs  # noqa: F401 - so that children need not import it
import pluggy

KERNEL = """
import execspace as es
@es.kernel
def kernel(i, x):
    x[i] = (i - 2.0) if i > 2 else (2.0 - i)
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


def forked(path, kind, at, tried=tried):
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


class CtrlC:
    """Sends SIGINT once, where a module of a name is looked for or a function is called."""

    def __init__(self, place):
        self.awaited, self.place = place, ""

    def find_spec(self, name, path=None, target=None):
        if name == self.awaited:
            self.send()

    def trace(self, frame, event, _):
        if event == "call" and frame.f_code.co_qualname.endswith(self.awaited):
            self.send()

    def send(self):
        if not self.place:
            self.place = self.awaited
            signal.raise_signal(signal.SIGINT)


def pressed(path, _, place):
    """As `tried`; whether the first launch raised, in place of a number of lines."""
    assert "llvmlite" not in sys.modules
    os.environ["EXECSPACE_CACHE_DIR"] = f"{path}.{place}"  # so that each compiles
    found, raised = CtrlC(place), False
    sys.meta_path.insert(0, found)
    if "." not in place or place[0].isupper():
        sys.setprofile(found.trace)
    try:
        launched(path)
    except KeyboardInterrupt:
        raised = True
    finally:
        sys.setprofile(None)
    assert raised == bool(found.place), (raised, place)
    try:
        return launched(path), found.place, raised
    except BaseException:
        return traceback.format_exc(), found.place, raised


def main_of_ctrl_c(places):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "interrupted.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL)
        wanted, _, _ = forked(path, None, "none.such", pressed)
        met = 0
        for place in places:
            found, at, _ = forked(path, None, place, pressed)
            met += bool(at)
            if found != wanted:
                print(f"Ctrl-C at {place}: got {found}, expected {wanted}")
        print(f"{met} places, {wanted}")


def main(count):
    assert "execspace" not in sys.modules
    importlib.import_module("llvmlite.binding")  # so that children need not
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
    if sys.argv[1].isdecimal():
        main(int(sys.argv[1]))
    else:
        main_of_ctrl_c(sys.argv[1:])
