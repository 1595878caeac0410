"""A rank that fails ends the program on all ranks, with its message, instead of leaving them wait.

MPI's finalisation waits for all ranks, so a rank that raises would hang with the others that wait
for its messages. An exception that nobody catches, in the main thread or another one, and an exit
with a status other than 0 call MPI_Abort once the traceback is printed.
"""

from __future__ import annotations

import atexit
import sys
import threading
from typing import Any, NoReturn

from .mpi import MPI

__all__ = ["end", "watch"]

_watched = False
_status: Any = None  # what sys.exit was given, and nothing has been sent since


def watch() -> None:
    """From now on failures of this rank end the others; of a program of one rank nothing is."""
    global _watched
    if _watched or MPI.COMM_WORLD.Get_size() == 1:
        return
    _watched = True
    before = sys.excepthook
    before_in_threads = threading.excepthook
    leave = sys.exit

    def hook(kind: Any, error: Any, trace: Any) -> None:
        _say(f"rank {_where()} raised, and ends the program on all ranks:")
        before(kind, error, trace)
        _abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    def hook_in_threads(about: Any) -> None:
        if about.exc_type is not SystemExit:
            _say(f"a thread of rank {_where()} raised, and ends the program on all ranks:")
            before_in_threads(about)
            _abort(1)
        before_in_threads(about)

    def exit(status: Any = None) -> NoReturn:
        global _status
        _status = status
        leave(status)

    def at_end() -> None:
        if _status is not None and _status != 0 and not MPI.Is_finalized():
            said = f": {_status}" if isinstance(_status, str) else f" with status {_status}"
            _say(f"rank {_where()} exits{said}, and ends the program on all ranks.")
            _abort(_status if isinstance(_status, int) else 1)

    sys.excepthook = hook
    threading.excepthook = hook_in_threads
    sys.exit = exit
    atexit.register(at_end)  # runs before that of mpi4py, which was registered earlier


def alive() -> None:
    """An exit that was begun has not happened: the program goes on."""
    global _status
    _status = None


def end(message: str) -> NoReturn:
    """Say why, and end the program on all ranks."""
    _say(message)
    _abort(1)


def _where() -> str:
    return (
        f"{MPI.COMM_WORLD.Get_rank()} of {MPI.COMM_WORLD.Get_size()} ({MPI.Get_processor_name()})"
    )


def _say(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _abort(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    if not MPI.Is_finalized():
        MPI.COMM_WORLD.Abort(status)
    raise SystemExit(status)
