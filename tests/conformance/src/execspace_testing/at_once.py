"""Work of many threads of a program, begun at the same moment: what breaks without a lock shows.

>>> from execspace_testing.at_once import at_once
>>> results = at_once(lambda k: es.parallel_reduce(policy, kernel, k))
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

THREADS = 16


def at_once(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """What a function returns in each of so many threads, which it gets the number of.

    Raises what it raises in the first thread in which it does.
    """
    gate = threading.Barrier(threads)

    def begun(k: int) -> T:
        gate.wait(timeout=60)
        return work(k)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begun, range(threads)))
