"""A rank that fails ends the program on all ranks, with its message, instead of leaving them wait.

MPI's finalisation waits for all ranks, so a rank that raises would hang with the others that wait
for its messages. An exception that nobody catches, in the main thread or another one, and
`sys.exit` with a status other than 0 call MPI_Abort once the traceback is printed.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import sys
import threading
from typing import Any, NoReturn

from .mpi import MPI

__all__ = ["end", "watch"]

_watched = False
_status: Any = None  # with which the main thread has ended


class _Exit(SystemExit):
    """What `sys.exit` raises. Nobody is told whether an exception is caught in the end; but one
    that has ended the program is let go of when no frame of Python is left."""

    def __del__(self) -> None:
        global _status
        try:
            sys._getframe(1)
        except ValueError:
            if threading.current_thread() is threading.main_thread():
                _status = self.code


def watch() -> None:
    """From now on failures of this rank end the others; of a program of one rank nothing is."""
    global _watched
    if _watched or MPI.COMM_WORLD.Get_size() == 1:
        return
    _watched = True
    before = sys.excepthook
    before_in_threads = threading.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        _say(f"rank {_where()} raised, and ends the program on all ranks:")
        with contextlib.suppress(Exception):  # of a stream that is closed
            before(kind, error, trace)
        _abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    def hook_in_threads(about: Any) -> None:
        if issubclass(about.exc_type, SystemExit):
            return  # the end of that thread alone
        _say(f"a thread of rank {_where()} raised, and ends the program on all ranks:")
        with contextlib.suppress(Exception):
            before_in_threads(about)
        _abort(1)

    def exit(status: Any = None) -> NoReturn:
        raise _Exit(status)

    def at_end() -> None:
        if _status is not None and _status != 0 and not MPI.Is_finalized():
            said = f" with status {_status}" if isinstance(_status, int) else f": {_status}"
            _say(f"rank {_where()} exits{said}, and ends the program on all ranks.")
            _abort(_status if isinstance(_status, int) else 1)

    sys.excepthook = hook
    threading.excepthook = hook_in_threads
    sys.exit = exit
    for name in ("exit", "quit"):  # for scripts; they are not there in all programs
        if hasattr(builtins, name):
            setattr(builtins, name, exit)
    atexit.register(at_end)  # runs before that of mpi4py, which was registered earlier


def end(message: str) -> NoReturn:
    """Say why, and end the program on all ranks."""
    _say(message)
    _abort(1)


def _where() -> str:
    return (
        f"{MPI.COMM_WORLD.Get_rank()} of {MPI.COMM_WORLD.Get_size()} ({MPI.Get_processor_name()})"
    )


def _say(text: str) -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except Exception:
        with contextlib.suppress(OSError):  # nothing is left to say it to
            os.write(2, f"{text}\n".encode())


def _abort(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if not MPI.Is_finalized():
        MPI.COMM_WORLD.Abort(status & 0xFF or 1)  # of more the launcher would see the last bits
    os._exit(status & 0xFF or 1)
