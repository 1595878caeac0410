"""Ctrl-C is held back where something must not be broken off half-way, and never lost."""

from __future__ import annotations

import signal
import threading

import pytest

from execspace.base.interrupts import held


@pytest.fixture
def pressed():
    """Calls of the handler that the program has installed."""
    calls = []
    own = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    yield calls
    signal.signal(signal.SIGINT, own)


def press():
    signal.raise_signal(signal.SIGINT)


def within(*steps):
    with held():
        for step in steps:
            step()


def test_ctrl_c_comes_when_the_block_is_done(pressed):
    handler = signal.getsignal(signal.SIGINT)
    with held():
        press()
        assert pressed == []
    assert pressed == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_interrupt_of_python_is_raised_at_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        within(press, lambda: done.append(1))
    assert done


def test_ctrl_c_comes_also_where_the_block_raised():
    with pytest.raises(KeyboardInterrupt) as raised:
        within(press, lambda: 1 // 0)
    assert isinstance(raised.value.__context__, ZeroDivisionError)


def test_who_presses_again_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt):
        within(press, lambda: done.append("once"), press, lambda: done.append("twice"))
    assert done == ["once"]


def test_pressing_twice_counts_once(pressed):
    with held():
        press()
        press()
        assert len(pressed) == 1
    assert len(pressed) == 1


def test_of_blocks_within_each_other_the_outer_one_counts(pressed):
    with held():
        with held():
            press()
        assert pressed == []
    assert len(pressed) == 1


def test_nothing_is_called_where_nothing_was_pressed(pressed):
    with held():
        pass
    assert pressed == []


def test_a_handler_that_was_set_within_stays_and_is_called(pressed):
    later = []
    with held():
        press()
        signal.signal(signal.SIGINT, lambda number, frame: later.append(number))
    assert (pressed, len(later)) == ([], 1)
    press()
    assert (pressed, len(later)) == ([], 2)


def test_one_who_keeps_the_handler_of_the_block_calls_the_programs_own(pressed):
    with held():
        kept = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, kept)
    press()
    assert len(pressed) == 1
    with held():  # it is not taken for a block around this one
        press()
        assert len(pressed) == 1
    assert len(pressed) == 2


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_the_system_does_is_left_to_it(pressed, handler):
    signal.signal(signal.SIGINT, handler)
    with held():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_is_none_of_pythons_is_left_alone(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    with held():
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_hold_nothing_back(pressed):
    handler, found = signal.getsignal(signal.SIGINT), []

    def look():
        found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=within, args=(look,))
    thread.start()
    thread.join()
    assert found == [handler]
