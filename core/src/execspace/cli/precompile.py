"""``execspace precompile``: compiles all kernels of a program, and later runs find them on disk.

The program runs, but its launches compute nothing; see launch/precompiling.py.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from ..base.console import seconds, table, write, write_json
from ..base.dataclass import dataclass
from ..launch.precompiling import THREADS, Compilation, Precompiler
from ..plugins import registry, selection
from . import program

HELP = """Compile all kernels of a program, in threads; later runs find them on disk.

The program runs, with all that follows its name as its arguments, but its launches only compile:
kernels of parallel_for are skipped, and reductions and scans give what they give on empty ranges. A
program that does not end like that, or whose kernels depend on results, needs --run. What it prints
comes before the report. The exit code is 1 if a kernel or the program fails, or if what was
compiled cannot be kept."""
SECONDS = 60.0
_PATIENCE = 5.0  # seconds that a program has to end when its time is over
_HINT = "Its reductions gave what they give on empty ranges; with --run launches compute as usual."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.allow_abbrev = False  # `program.split` knows whole options only
    parser.usage = "execspace precompile [--space NAME] [--jobs N] [--run] [--seconds S] [--json]"
    parser.usage += "\n                            [-m MODULE | SCRIPT] [ARGS...]"
    parser.add_argument(
        "--space",
        metavar="NAME",
        help="default space of the program, as EXECSPACE_DEFAULT; later runs need that, too",
    )
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=_cores(),
        metavar="N",
        help="threads that compile; default: the usable cores, %(default)s",
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="launches compute as usual, and are compiled one after the other",
    )
    parser.add_argument(
        "--seconds",
        type=_limit,
        default=SECONDS,
        metavar="S",
        help="end the program after that time, and keep what is compiled; default: %(default)g",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document instead; the program prints to standard error",
    )


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is for this command, and what is for the program, with the program's name."""
    return program.split(arguments, with_value=["--space", "--jobs", "--seconds"])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads from 1 to 1024")
    return int(text)


def _limit(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) < 1e6:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")


def run(arguments: argparse.Namespace) -> int:
    """Run the program, wait for what is compiled, and report."""
    found = program.find("precompile", arguments.rest)
    if arguments.space is not None:
        if registry.find_space(arguments.space.partition(":")[0]) is None:
            selection.space(arguments.space)  # raises; a space that there is, the program starts
        os.environ["EXECSPACE_DEFAULT"] = arguments.space
    compiler = Precompiler(arguments.jobs, skips=not arguments.run)
    compiler.start()
    with _Output(apart=arguments.json) as output:
        begun = time.perf_counter()

        def report(end: _End) -> int:
            compiler.finish(cancel=end.code == 130)
            output.restore()
            result = _Result(compiler, end, time.perf_counter() - begun)
            (result.document if arguments.json else result.write)()
            return result.code

        end = _run(found, arguments.seconds, report)
        code = report(end)
    if end.is_late and list(_threads()):  # nobody knows when those would end
        _leave(code)
    return code


# -- the program ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _End:
    """How the program ended: a sentence, empty if all is well, and the exit code that follows."""

    text: str = ""
    code: int = 0
    is_late: bool = False


def _run(found: program.Program, limit: float, report: Callable[[_End], int]) -> _End:
    """Run the program and its threads, up to a limit of seconds."""
    late = _End(f"The program was ended after {limit:g} seconds, see --seconds.", is_late=True)
    try:
        with _Clock(limit, lambda: _leave(report(late))):
            try:
                program.run(found)
            except SystemExit as end:
                ended = _end(end)
            while threads := list(_threads()):  # those that they start, too
                for thread in threads:
                    thread.join()
            return ended
    except program.OutOfTime:
        return late


def _end(end: SystemExit) -> _End:
    """What an exit of the program means; its text is shown, as by Python."""
    code = end.code
    if code is None or code == 0:
        return _End()
    if not isinstance(code, int):
        with suppress(AttributeError, OSError, ValueError):  # standard error may be closed
            sys.stderr.write(f"{code}\n")
        code = 1
    return _End(f"The program ended with the exit code {code}.", 130 if code == 130 else 1)


def _threads() -> Iterator[threading.Thread]:
    """Threads of the program for which Python would wait at its end."""
    for thread in threading.enumerate():
        ours = thread is threading.main_thread() or thread.name.startswith(THREADS)
        if not (ours or thread.daemon):
            while thread.ident is None and thread in threading.enumerate():
                time.sleep(0.001)  # another thread is about to start it
            if thread.ident is not None:
                yield thread


def _leave(code: int) -> None:
    """End the process where Python would wait."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


class _Clock:
    """Ends what this thread does within a `with` block when its time is over.

    It raises `program.OutOfTime` in the thread. Where that does not help, for the thread is in a
    function of C or catches everything, `give_up` is called in another one.
    """

    def __init__(self, limit: float, give_up: Callable[[], None]) -> None:
        self._limit, self._give_up = limit, give_up
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._watched = threading.get_ident()
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        with self._lock:  # from now on nothing is raised
            pass

    def _wait(self) -> None:
        if self._over.wait(self._limit):
            return
        with self._lock:
            if self._over.is_set():
                return
            raised = ctypes.py_object(program.OutOfTime)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._watched), raised)
        if not self._over.wait(_PATIENCE):
            with self._lock:
                if not self._over.is_set():
                    self._give_up()


class _Output:
    """Standard output as it was before the program, which may have closed or replaced it.

    `apart`: until then all that goes there goes to standard error, also what kernels print.
    """

    def __init__(self, apart: bool) -> None:
        self._stream = sys.stdout
        self._apart = apart
        self._kept = -1

    def __enter__(self) -> _Output:
        self._flush()
        with suppress(OSError):
            self._kept = os.dup(1)
            if self._apart:
                os.dup2(2, 1)
        return self

    def restore(self) -> None:
        """Print as before from now on."""
        self._flush()
        if self._kept != -1:
            os.dup2(self._kept, 1)
        if self._stream is not None and self._stream.closed:
            self._stream = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - kept
        sys.stdout = self._stream

    def _flush(self) -> None:
        for stream in (sys.stdout, self._stream):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._kept != -1:
            os.close(self._kept)


# -- the report -----------------------------------------------------------------------------------


@dataclass
class _Row:
    """A kernel of the report.

    Attributes
    ----------
    kept : bool or None
        None: the space does not tell.
    about : str
        What is to be said of the disk where there is no entry.
    """

    kernel: str
    space: str
    pattern: str
    types: str
    seconds: float
    result: str
    kept: bool | None
    about: str
    error: str


class _Result:
    """What was compiled, and how the program ended."""

    def __init__(self, compiler: Precompiler, end: _End, seconds: float) -> None:
        self.end, self.seconds, self.skips = end, seconds, compiler.skips
        self.rows = _rows(compiler.compilations)
        self.lost = [row for row in self.rows if row.kept is False]

    def count(self, result: str) -> int:
        """Number of kernels with that result."""
        return sum(row.result == result for row in self.rows)

    @property
    def code(self) -> int:
        """The exit code."""
        return self.end.code or int(bool(self.count("failed") or self.lost))

    def notes(self) -> list[str]:
        """What else there is to say."""
        found = []
        if self.end.text:
            found.append(f"{self.end.text} {_HINT}" if self.skips else self.end.text)
        if self.lost:
            names = ", ".join(dict.fromkeys(row.kernel for row in self.lost))
            found.append(
                f"Not kept on disk, so later runs compile them again: {names}. Set "
                f"EXECSPACE_CACHE_DIR to a folder that can be written, or a larger "
                f"EXECSPACE_CACHE_SIZE."
            )
        for space, about in dict.fromkeys((row.space, row.about) for row in self.rows if row.about):
            found.append(f"Space '{space}': {about}.")
        return found

    def write(self) -> None:
        """Print it for people."""
        table(
            ["kernel", "space", "pattern", "types", "time", "result"],
            [
                [r.kernel, r.space, r.pattern, r.types, seconds(r.seconds), r.result]
                for r in self.rows
            ],
        )
        for row in self.rows:
            if row.error:
                write(f"\n{row.kernel} on {row.space}: {row.error}")
        if self.rows:
            write()
        for note in self.notes():
            write(note)
        failed, given_up = self.count("failed"), self.count("given up")
        write(
            f"{len(self.rows)} kernel{'s' * (len(self.rows) != 1)}: {self.count('compiled')} "
            f"compiled, {self.count('from cache')} already in the cache, {failed} failed"
            f"{f', {given_up} given up' if given_up else ''}; {seconds(self.seconds)}"
        )

    def document(self) -> None:
        """Print it as one JSON document."""
        write_json(
            {
                "kernels": [
                    {
                        "kernel": row.kernel,
                        "space": row.space,
                        "pattern": row.pattern,
                        "types": row.types,
                        "seconds": row.seconds,
                        "result": row.result,
                        "kept": row.kept,
                        "error": row.error,
                    }
                    for row in self.rows
                ],
                "compiled": self.count("compiled"),
                "from_cache": self.count("from cache"),
                "failed": self.count("failed"),
                "seconds": self.seconds,
                "complete": not self.end.text,
                "notes": self.notes(),
                "ok": not self.code,
            }
        )


def _rows(compilations: list[Compilation]) -> list[_Row]:
    """A row for each kernel; what a program makes anew again and again is one."""
    found: dict[Any, _Row] = {}
    for made in list(compilations):
        key, kept, about = _on_disk(made)
        name = (made.kernel, made.space, made.pattern, made.types, key or made.error)
        which = name if name[-1] else len(found)
        row = found.get(which)
        if row is not None:
            if made.from_disk is False:  # another one has waited for this
                row.seconds, row.result = made.seconds, "compiled"
            continue
        if made.error:
            result = "failed"
        elif made.from_disk is None and made.plan is None:
            result = "given up"
        else:
            result = "from cache" if made.from_disk else "compiled"
        found[which] = _Row(
            made.kernel, made.space, made.pattern, made.types, made.seconds, result, kept, about,
            made.error,
        )  # fmt: skip
    return list(found.values())


def _on_disk(made: Compilation) -> tuple[str, bool | None, str]:
    """Key of the entry in the cache, whether it is kept, and what is said where there is no key."""
    if made.plan is None:
        return "", None, ""
    key, text = made.plan.cache
    if key:
        return key, made.plan.kept, ""
    return "", made.plan.kept, text or "it keeps nothing on disk, so later runs compile again"
