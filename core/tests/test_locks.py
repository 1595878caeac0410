"""Locks of core in forked children."""

import os
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
