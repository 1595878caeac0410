"""A rank that fails ends the program within seconds, and says why; nothing hangs."""

from __future__ import annotations

import os
import signal
import sys
import time

import launchers
import pytest

FOUND = launchers.launchers()
PROGRAM = """
import os, sys, time, threading
import numpy as np
import execspace as es
import execspace_comm as escomm

comm = escomm.world()
x = es.ones(4, space="serial")
comm.allreduce(x)
if comm.rank == comm.size - 1:
    {fault}
comm.recv(x, (comm.rank + 1) % comm.size, tag=77)  # which nobody sends
"""
FAULTS = {
    "raises": ("raise ValueError('the flux is negative')", "the flux is negative"),
    "in a kernel": (
        "es.parallel_for(es.RangePolicy(3, space='serial'), lambda i: x.missing, label='bad')",
        "missing",
    ),
    "exits": ("sys.exit(3)", "exits with status 3"),
    "exits with a word": ("exit('no mesh')", "exits: no mesh"),
    "cannot speak": ("sys.stdout.close(); raise ValueError('mute')", "mute"),
    "a thread raises": (
        "threading.Thread(target=lambda: {}['lost']).start()",
        "KeyError: 'lost'",
    ),
    "dies": ("os.kill(os.getpid(), 9)", ""),
    "aborts": ("comm.abort('no more fuel')", "no more fuel"),
}


@pytest.fixture(params=["openmpi", pytest.param("mpich", marks=pytest.mark.exhaustive)])
def launcher(request):
    if request.param not in FOUND:
        pytest.skip(f"no {request.param} here")
    return FOUND[request.param]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rank_that_fails_ends_the_others(launcher, tmp_path, fault):
    text, said = FAULTS[fault]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(fault=text))
    begin = time.monotonic()
    status, output = launcher.run(3, program, seconds=90)
    assert status not in (None, 0), output
    assert said in output
    if fault in ("raises", "in a kernel"):
        assert "rank 2 of 3" in output
        assert "Traceback" in output
    assert time.monotonic() - begin < 60


CAUGHT = """
import sys, threading
import execspace as es
import execspace_comm as escomm

comm = escomm.world()
if comm.rank == 1:
    try:
        sys.exit(3)
    except SystemExit:
        pass
    thread = threading.Thread(target=sys.exit, args=(4,))
    thread.start()
    thread.join()
comm.allreduce(es.ones(2, space="serial"))
print("done")
"""


def test_an_exit_that_is_caught_ends_nothing(launcher, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CAUGHT)
    status, output = launcher.run(2, program, seconds=60)
    assert status == 0, output
    assert output.split() == ["done", "done"]


def test_ctrl_c_ends_all_ranks(launcher, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(fault="print('waiting', os.getpid(), flush=True)"))
    process = launcher.begin(3, program)
    line = ""
    while "waiting" not in line:
        line = process.stdout.readline()
        assert line, "the program ended before its time"
    pid = int(line.split()[-1])
    os.kill(process.pid, signal.SIGINT)
    status, output = launchers.ended(process, 30)
    assert status not in (None, 0), output
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}") or sys.platform != "linux":
            return
        time.sleep(0.1)
    pytest.fail("a rank is still there")
