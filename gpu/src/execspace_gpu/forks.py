"""What becomes of a GPU in a forked child: neither CUDA nor ROCm survives a fork.

What touches the device is replaced in the child, once, so that it raises at once; and what the
parent made is kept, since its destructors would complain. Launches pay nothing for it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

from execspace import Allocation, SpaceError
from execspace.plugins import started

# What touches the device, by module and class; of subclasses, too.
_TOUCHING = {
    ("space", "GpuExecutionSpace"): (
        "__init__", "synchronize", "instance", "compile", "view_of", "mark", "time_of", "sort",
        "argsort", "permute",
    ),
    ("sorting", "Sorts"): ("sort", "argsort", "permute"),
    ("memory", "GpuMemory"): ("allocate", "copy", "fill", "to_dlpack"),
    ("copiers", "_Ways"): ("_is_current",),
}  # fmt: skip

# Spaces and plans of this process, by id.
_spaces: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_plans: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
# Allocations come by the million: references, those to what is gone are dropped now and then.
_allocations: list[weakref.ref[Any]] = []
_dropping = threading.Lock()
_FEW = 1024
_most = _FEW
_watching = False
_forked = False


def remember_space(space: Any) -> None:
    """A space, before it asks the platform for anything."""
    global _watching
    _spaces[id(space)] = space
    if not _watching and hasattr(os, "register_at_fork"):
        _watching = True
        os.register_at_fork(after_in_child=_after_fork)


def remember_plan(plan: Any) -> None:
    """A plan, of which the attribute `launch` launches."""
    _plans[id(plan)] = plan


def remembered(allocation: Allocation) -> Allocation:
    """Memory that a child must not free."""
    global _most
    _allocations.append(weakref.ref(allocation))
    if len(_allocations) > _most and _dropping.acquire(blocking=False):
        try:
            count = len(_allocations)  # what comes meanwhile comes after them
            alive = [r for r in _allocations[:count] if r() is not None]
            _allocations[:count] = alive
            _most = max(_FEW, 2 * len(alive))
        finally:
            _dropping.release()
    return allocation


def _after_fork() -> None:
    global _forked
    if _forked:
        return
    _forked = True
    spaces = list(_spaces.values())
    allocations = [a for r in list(_allocations) if (a := r()) is not None]
    for thing in (*spaces, *_plans.values(), *allocations):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    for space in spaces:
        started.leave_out(space)
    for plan in list(_plans.values()):
        plan.launch = _Refused(plan.space)
    for (module, name), methods in _TOUCHING.items():
        kind: Any = getattr(sys.modules.get(f"{__package__}.{module}"), name, None)
        for one in () if kind is None else tuple(_kinds(kind)):
            for method in methods:
                if method in vars(one):
                    setattr(one, method, _refuse)


def _kinds(kind: Any) -> Iterator[Any]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


def _refuse(self: Any, *args: Any, **options: Any) -> NoReturn:
    space = getattr(self, "space", self)  # memories have one
    raise SpaceError(
        f"Space '{space.short}': {space.title} was used before this process was forked, and does "
        f"not survive that. Start processes with multiprocessing's 'spawn', or use the GPU in the "
        f"children only."
    )


class _Refused:
    """In the place of a plan's launch."""

    def __init__(self, space: Any) -> None:
        self.space = space

    def __call__(self, *args: Any) -> NoReturn:
        _refuse(self)
