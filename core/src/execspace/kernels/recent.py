"""What a kernel remembers of its last launches, so that one like them is known again at once.

A test is Python code that is written for a launch (launch/repeats.py): it looks at everything that
the key of its plan depends on, and launches if nothing differs. One that fails costs little; the
plan is then looked up by its key.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

MISSED: Any = object()
"""What a test returns in place of a result: this launch is another one."""

ForTest = Callable[[FunctionType, Any, tuple[Any, ...]], Any]
"""Of a function, policy and arguments."""

JoinTest = Callable[[FunctionType, Any, tuple[Any, ...], str, Any, Any], Any]
"""Of these, the pattern, ``reducer=`` and ``out=``."""


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
    """

    __slots__ = ("_missed", "_patience", "joined", "plain")

    plain: ForTest
    joined: JoinTest

    def __init__(self) -> None:
        self._patience = 1
        self.forget()

    def forget(self) -> None:
        """Know no launch again until the next one: plans, or what names mean, have changed."""
        self._missed = 0
        self.plain = self.joined = _no_launch

    def wants(self) -> bool:
        """Whether a launch that no test knew should get one.

        Each test needs twice as many such launches as the one before, for programs whose launches
        alternate: a test costs as much as some launches.
        """
        self._missed += 1
        if self._missed < self._patience:
            return False
        self._missed = 0
        self._patience *= 2
        return True
