"""Locks of core in forked children."""

import os
import subprocess
import sys
import threading

import pytest

from execspace.base.locks import new_lock, new_rlock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(work):
    """The exit status of a child that does some work."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12: with threads
@pytest.mark.parametrize("make", [new_lock, new_rlock])
def test_a_lock_of_another_thread_is_open_in_a_child(make):
    lock = make()
    taken, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    try:
        assert in_child(lambda: lock.acquire(timeout=5)) == 0
        assert not lock.acquire(blocking=False)  # here it is still held
    finally:
        done.set()
        holder.join()


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    lock = new_rlock()

    def released():
        lock.release()
        return True

    with lock:
        assert in_child(released) == 0


TOLD_FIRST = """
import gc, os, threading

os.register_at_fork(after_in_child=lambda: [[] for _ in range(200_000)])  # garbage is collected

from execspace.base.locks import new_rlock

lock, held, done = new_rlock(), threading.Event(), threading.Event()

class Holder:
    def __del__(self):
        with lock:
            pass

def hold():
    with lock:
        held.set()
        done.wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
holder = Holder()
holder.itself = holder
del holder
child = os.fork()
if child == 0:
    done.set()
    os._exit(0 if gc.isenabled() and gc.collect() and lock.acquire(timeout=5) else 1)
found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
assert gc.isenabled()
os._exit(found)
"""


def test_no_garbage_is_collected_before_locks_are_open():
    """What others do who are told of a fork first may start the collector, and finalisers take
    locks."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", TOLD_FIRST], timeout=60)
    assert done.returncode == 0
