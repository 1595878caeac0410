"""Stack space for the frames of a compilation, which Python would map and unmap repeatedly.

CPython keeps frames in chunks of 16 KB. If a chunk ends within a loop that calls, each call maps
the next one and its return unmaps it: in Numba's recursion up to 20,000 times per kernel, a sixth
of the time to compile it. A frame that is larger than a chunk gets a larger one, which has room for
the frames of its callees, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SLOTS = 1 << 16  # of 8 bytes: a chunk of 1 MB, half of it for callees; pages are mapped lazily


def with_room(function: Callable[P, R]) -> Callable[P, R]:
    """The function, called from a frame of half a megabyte."""

    def caller(*args: P.args, **options: P.kwargs) -> R:
        return function(*args, **options)

    code: CodeType = caller.__code__.replace(co_stacksize=_SLOTS)
    roomy: Any = FunctionType(code, caller.__globals__, closure=caller.__closure__)
    roomy.__kwdefaults__ = caller.__kwdefaults__
    return update_wrapper(roomy, function)
