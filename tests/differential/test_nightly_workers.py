"""Cases that crash their process or never end are told of, and the rest of their job is run."""

from __future__ import annotations

import os
from collections import Counter
from time import sleep

import pytest
from nightly_workers import Answer, Worker

CASES, BAD = 4, 2


def serve_badly(connection, fail):
    """As `serve`, with cases of one program each; the one of number BAD does not come back."""
    while (job := connection.recv()) is not None:
        name, _, first, count = job
        for number in range(first, first + count):
            connection.send((number, 1, f"program {number}"))
            if number == BAD:
                fail()
            connection.send(Answer(name, Counter({"for": 1})))
        connection.send(None)


def serve_and_die(connection):
    serve_badly(connection, lambda: os._exit(7))


def serve_and_hang(connection):
    serve_badly(connection, lambda: sleep(1000))


@pytest.mark.parametrize(
    ("target", "limit", "said"),
    [
        (serve_and_die, 60, "the process ended with status 7 while it ran this case"),
        (serve_and_hang, 4, "nothing came back for 4 s"),
    ],
)
def test_a_case_that_does_not_come_back_is_a_difference(target, limit, said):
    worker = Worker(limit, target)
    worker.start(("oracle", 1, 0, CASES))
    programs, found = Counter(), []
    while worker.job is not None:
        for answer in worker.answers():
            programs += answer.programs
            found += answer.found
        sleep(0.01)
    worker.stop()
    assert programs == {"for": CASES - 1, "no answer": 1}
    assert found == [(BAD, said, f"program {BAD}")]
    assert worker.process is None
