"""What a kernel remembers of its last launches, so that one like them is known again at once.

A test is Python code that is written for a launch (launch/repeats.py): it looks at everything that
the key of its plan depends on, and launches if nothing differs. Else it calls the test before it,
for programs whose launches alternate; after the last one the plan is looked up by its key.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import ref

from ..base.locks import new_lock

MISSED: Any = object()
"""What a test returns in place of a result: this launch is another one."""

ForTest = Callable[[FunctionType, Any, tuple[Any, ...]], Any]
"""Of a function, policy and arguments."""

JoinTest = Callable[[FunctionType, Any, tuple[Any, ...], str, Any, Any], Any]
"""Of these, the pattern, ``reducer=`` and ``out=``."""

LabelledForTest = Callable[[FunctionType, Any, tuple[Any, ...], str], Any]
LabelledJoinTest = Callable[[FunctionType, Any, tuple[Any, ...], str, Any, Any, str], Any]
"""And of a label, which may be any."""

KINDS = ("plain", "joined", "plain_labelled", "joined_labelled")


_MOST_PATIENCE = 256  # launches without a test, which cost some twenty times what a test does
_MOST_TESTS = 16  # that are tried one after the other
_adding = new_lock()
# Counts and tests have no lock, for launches read them. What threads make of them at once is never
# wrong: a test that is overwritten is written again, a count that is lost brings a test one launch
# later, and each test calls the one that it found, so none tries what has been forgotten for longer
# than `looked_up` takes to notice that.


def _no_launch(*launch: Any) -> Any:
    return MISSED


class Recent:
    """The tests for launches of a kernel.

    Attributes
    ----------
    plain : callable
        For `parallel_for`.
    joined : callable
        For reductions and scans.
    plain_labelled, joined_labelled : callable
        For those with a label.
    """

    __slots__ = ("__weakref__", "_counts", "_missed", "_others", "_patience", *KINDS)

    plain: ForTest
    joined: JoinTest
    plain_labelled: LabelledForTest
    joined_labelled: LabelledJoinTest

    def __init__(self) -> None:
        self._others: tuple[ref[Recent], ...] = ()
        self._patience = 1
        self.forget()

    def of_another_module(self) -> Recent:
        """One for the same plans: tests run in a module, and plans may serve several."""
        other = Recent()
        self.tell(other)
        return other

    def tell(self, other: Recent) -> None:
        """Have another one forget what it knows whenever this one does."""
        with _adding:
            known = tuple(r for r in self._others if r() is not None and r() is not other)
            self._others = (*known, ref(other))

    def forget(self) -> None:
        """Know no launch again until the next one: plans, or what names mean, have changed."""
        self._missed = 0
        self._counts = dict.fromkeys(KINDS, 0)
        self.plain = self.joined = _no_launch
        self.plain_labelled = self.joined_labelled = _no_launch
        for other in self._others:
            if (found := other()) is not None:
                found.forget()

    def remember(self, kind: str, written: Callable[[Any], Any]) -> None:
        """Have a new test tried first, of one of the `KINDS`.

        `written` gets the tests before it, which it calls for launches that it does not know, or
        none if there are many; it returns None for a launch that no test can know.
        """
        count = self._counts[kind]
        full = count == _MOST_TESTS
        test = written(_no_launch if full else getattr(self, kind))
        if test is not None:
            self._counts[kind] = 1 if full else count + 1
            setattr(self, kind, test)

    def wants(self) -> bool:
        """Whether a launch that no test knew should get one.

        Each test needs twice as many such launches as the one before, for programs whose launches
        alternate: a test costs as much as some launches. Not more than `_MOST_PATIENCE`, so that a
        program that does one thing for long, and then another, has a test for most of each.
        """
        self._missed += 1
        if self._missed < self._patience:
            return False
        self._missed = 0
        self._patience = min(2 * self._patience, _MOST_PATIENCE)
        return True
