"""Processes that run cases for `make nightly`, and tell which case they are at.

A compiler may crash or never end, and takes its process with it. Then the case that was being run
is a difference like others, with its program, and another process goes on with the next one.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any

CLEARED = 200  # cases after which a process is replaced: compiled kernels keep memory
Job = tuple[str, int, int, int]  # space, seed, first case, cases


@dataclass
class Answer:
    """What came of a case: programs by pattern, and differences.

    A difference is the number of a case, what was said of it, and a program that shows it.
    """

    space: str
    programs: Counter[str] = field(default_factory=Counter)
    found: list[tuple[int, str, str]] = field(default_factory=list)


def serve(connection: Connection) -> None:
    """Run the cases of jobs as they come, until there is None. In a process of its own."""
    import execspace as es
    from execspace_testing.suite.differential import campaign

    while (job := connection.recv()) is not None:
        name, seed, first, count = job
        space = es.space(name)
        size = campaign.CHEAP if name == "oracle" else campaign.COMPILED
        for number in range(first, first + count):
            case, title = campaign.drawn(seed, number, size, space), f"of seed {seed} on {name}."
            program = campaign.reproducer(case, name, f"Case {number} {title}")
            connection.send((number, case.programs, program))
            tally = campaign.Tally()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                campaign.run(space, seed, iter([number]), size, tally, lambda: False)
            answer = Answer(name, tally.programs)
            for d in tally.differences:
                small = campaign.reproducer(d.case, name, f"Case {d.number} {title}")
                answer.found.append((d.number, d.message, small))
            connection.send(answer)
        connection.send(None)


class Worker:
    """A process that runs one job after the other, and is replaced when it dies or hangs.

    Attributes
    ----------
    job : tuple or None
        What it is at.
    """

    def __init__(self, limit: float, target: Callable[[Connection], None] = serve) -> None:
        self.limit = limit  # seconds that a case may take, with what makes it smaller
        self.target = target
        self.job: Job | None = None
        self.since = 0.0
        self.case: tuple[int, int, str] | None = None
        self.cases = 0
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None

    def start(self, job: Job) -> None:
        """Hand it a job."""
        if self.cases > CLEARED:
            self.stop()
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=self.target, args=(other,), daemon=True)
            self.process.start()
            other.close()
            self.cases = 0
        assert self.connection is not None
        self.connection.send(job)
        self.job, self.since, self.case = job, monotonic(), None

    def answers(self) -> Iterator[Answer]:
        """What it has done since the last call; `job` is None as soon as there is no more."""
        if self.job is None:
            return
        assert self.process is not None and self.connection is not None
        name, seed, first, count = self.job
        try:
            while self.connection.poll():
                told: Any = self.connection.recv()
                self.since = monotonic()
                if told is None:
                    self.job = None
                    return
                if isinstance(told, Answer):
                    yield told
                else:
                    self.case = told
                    self.cases += 1
        except (EOFError, ConnectionError):
            self.process.join(10)
            code = self.process.exitcode
            said = f"the process ended with status {code} while it ran this case"
        else:
            if monotonic() - self.since < self.limit:
                return
            said = f"nothing came back for {self.limit:.0f} s"
        self.stop()
        number, programs, program = self.case or (first, 0, "")
        rest = first + count - number - 1
        self.job = None
        yield Answer(name, Counter({"no answer": programs}), [(number, said, program)])
        if rest > 0:
            self.start((name, seed, number + 1, rest))

    def stop(self) -> None:
        """End its process."""
        if self.process is not None and self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
        self.process = self.connection = None
