"""Where a process and its driver part: in a forked child, and at the end of the program.

The threads of a driver do not survive a fork, so whatever waits for them would hang. And a driver
that is unloaded while threads of the program call it ends the process with an abort. In both cases
what touches the device is replaced, once; launches pay nothing for it.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from execspace import SpaceError
from execspace.plugins import started

_PLUGIN = __name__.partition(".")[0]
# What touches the device, by module and class.
_TOUCHING = {
    ("launch", "OpenCLLaunch"): (
        "__init__", "load", "lend", "enqueue", "again", "allocate", "read", "awaited", "wait",
    ),
    ("space", "OpenCL"): ("__init__", "synchronize", "instance", "mark", "time_of"),
    ("memory", "BufferMemory"): ("allocate", "copy", "fill"),
    ("memory", "SharedMemory"): ("allocate", "copy", "fill"),
}  # fmt: skip
_PATIENCE = 10.0  # seconds that the end of the program waits for threads to leave the driver

_spaces: weakref.WeakSet[Any] = weakref.WeakSet()
# What has a destructor in the driver, by id.
_objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_watching = False
_forked = False

FORKED = (
    "the process was forked after OpenCL was used in its parent, and the threads of OpenCL's "
    "drivers do not survive that. Start processes with multiprocessing's 'spawn', or use OpenCL "
    "in the children only."
)


def watch() -> None:
    """Be told of forks and of the end; to be called before the drivers are asked for anything."""
    global _watching
    if not _watching:
        _watching = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
        atexit.register(_at_exit)


def remember(space: Any) -> None:
    """A space that a child of this process cannot use."""
    _spaces.add(space)


def remember_object(thing: Any) -> None:
    """An object of the driver that a child of this process must not destroy."""
    _objects[id(thing)] = thing


def forked() -> bool:
    """Whether this process is a child of one that has used OpenCL."""
    return _forked


def _replace(wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    for (module, name), methods in _TOUCHING.items():
        loaded = sys.modules.get(f"{_PLUGIN}.{module}")
        kind = getattr(loaded, name, None)
        for method in methods if kind is not None else ():
            found = wrapped(getattr(kind, method))
            static = isinstance(inspect.getattr_static(kind, method), staticmethod)
            setattr(kind, method, staticmethod(found) if static else found)


# -- forks ----------------------------------------------------------------------------------------


def _after_fork() -> None:
    global _forked
    if _forked:
        return
    _forked = True
    atexit.unregister(_at_exit)
    # What the parent made belongs to it: destructors in the driver could wait for its threads.
    for thing in (*_spaces, *_objects.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    for space in _spaces:
        space.queue.handle = _Gone()  # for methods that the program has taken from the space before
        started.leave_out(space)
    _replace(lambda method: _refuse)


class _Gone:
    """Stands for the queue of the parent."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse()


def _refuse(*args: Any, **options: Any) -> NoReturn:
    raise SpaceError(f"Space 'opencl': {FORKED}")


# -- the end of the program -----------------------------------------------------------------------


def _at_exit() -> None:
    """Let nothing more begin in threads that are left, and wait for what is under way.

    Only daemon threads are left: Python has joined all others.
    """
    last = threading.get_ident()

    def stopping(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if threading.get_ident() != last:
                _wait_for_the_end()
            return method(*args, **options)

        return call

    _replace(stopping)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and _anybody_inside(last):
        time.sleep(0.001)
    for space in _spaces:
        try:
            space.queue.handle.finish()
        except Exception:  # a device that is lost has nothing under way
            continue


def _wait_for_the_end() -> NoReturn:
    while True:  # the thread ends with the process
        time.sleep(3600)


def _anybody_inside(last: int) -> bool:
    """Whether a thread other than `last` is in code of this plugin, or of pyopencl."""
    return any(_is_inside(f) for n, f in sys._current_frames().items() if n != last)


def _is_inside(frame: Any) -> bool:
    while frame is not None:
        if frame.f_code is _wait_for_the_end.__code__:
            return False
        if str(frame.f_globals.get("__name__")).partition(".")[0] in (_PLUGIN, "pyopencl"):
            return True
        frame = frame.f_back
    return False
