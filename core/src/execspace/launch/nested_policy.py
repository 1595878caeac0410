"""What parallel_for and the others take for a range within a team, without loading `nested`.

Few programs that launch kernels run kernels for teams in plain Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Nested(ABC):
    """A range within a kernel, whose indices the threads or lanes of a team share."""

    __slots__ = ()

    @abstractmethod
    def _run(
        self, pattern: str, body: Any, args: tuple[Any, ...], reducer: Any = None, out: Any = None
    ) -> Any:
        """A parallel_for, parallel_reduce or parallel_scan over it, in plain Python."""


def run_nested(
    pattern: str,
    nested: Nested,
    body: Any,
    args: tuple[Any, ...],
    reducer: Any = None,
    out: Any = None,
) -> Any:
    """A parallel_for, parallel_reduce or parallel_scan over a nested range, in plain Python."""
    return nested._run(pattern, body, args, reducer, out)
