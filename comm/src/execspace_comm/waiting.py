"""Waiting for MPI by polling: Ctrl-C ends it, and ranks that share cores let each other run.

A blocking call of MPI returns to Python only when it is done, and most libraries spin in it, which
takes the core from the rank that is waited for where there are more ranks than cores.
"""

from __future__ import annotations

import os
import time
from typing import Any

from .errors import translated

__all__ = ["wait"]

_SPINS = 400  # tests at once, some 200 us: what a message within a host takes
_YIELDS = 2000  # tests after which the core is offered to others; then it sleeps
_NAP = 2e-4

_yield = getattr(os, "sched_yield", lambda: time.sleep(0))


def wait(request: Any, what: str, status: Any = None) -> None:
    """Return when a request is done.

    Raises
    ------
    CommError
        If MPI reports an error.
    """
    with translated(what):
        tests = 0
        while not request.Test(status):
            tests += 1
            if tests > _YIELDS:
                time.sleep(_NAP)
            elif tests > _SPINS:
                _yield()
