"""Work that needs no GIL, or little of it, done by a thread while another one goes on.

Only for what shortens a wait: what must be done is done again by who needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_STACK = 1 << 20  # bytes, more than LLVM needs for a module that is not a kernel's


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run a function in a thread during a block, which waits for it at its end.

    What the function raises is ignored. If no thread can be started, or threads of this program
    have small stacks, it does not run.
    """
    thread = _started(work)
    yield
    if thread is not None:
        thread.join()


def _started(work: Callable[[], object]) -> threading.Thread | None:
    size = threading.stack_size()  # which sets it to the usual size
    if size:
        threading.stack_size(size)
    if 0 < size < _STACK:
        return None

    def run() -> None:
        with suppress(Exception):
            work()

    thread = threading.Thread(target=run, name="execspace-beside", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the limit of threads, or the interpreter is about to end
        return None
    return thread
