"""Small Views that execspace makes for itself and keeps: locks, totals that nobody wants.

There is one of a kind for each owner, a memory space or an execution space, and it lives as long.
It does not count in `live_allocations`: no program can leak it.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..base.locks import new_lock
from ..contract import memory
from ..contract.space import ExecutionSpace
from .view import View

_kept: weakref.WeakKeyDictionary[Any, dict[Any, View]] = weakref.WeakKeyDictionary()
_making = new_lock()


def kept_view(
    owner: Any, shape: tuple[int, ...], dtype: str, label: str, space: ExecutionSpace
) -> View[Any]:
    """The View of an owner that has this label, with zeros when it is made; not thread-private."""
    found = _kept.get(owner, {}).get((label, dtype))
    if found is None:
        with _making:
            views = _kept.setdefault(owner, {})
            found = views.get((label, dtype))
            if found is None:
                found = View(shape, dtype, label=label, space=space)
                memory._live.pop(id(found.allocation))
                views[label, dtype] = found
    return found
