"""Policies as values: equal if their arguments are, and made once where they have no options.

A loop makes the same policy again and again. To look it up takes half the time of making it, and
an eighth of what it takes with several dimensions.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..events.launches import MADE

_MOST = 256  # policies that are kept of a class
SELDOM = 15  # one range of 16 is kept: a loop over many would spend more on it than it saves


class Value:
    """Base of policies."""

    __slots__ = ()
    _instead: ClassVar[str] = "Policies do not change; make a new one"

    def _arguments(self) -> tuple[Any, ...]:
        """Positional arguments, and options by their names."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash(self._arguments()[0])

    def __reduce__(self) -> Any:
        return _made_again, (type(self), *self._arguments())


def _made_again(kind: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A policy that was pickled or copied."""
    return kind(*arguments, **options)


def keep(table: dict[Any, Any], key: Any, policy: Any) -> None:
    """Have a policy for later, by its arguments, of which the space is the last.

    Not one of an instance, which would not go before the policy does.
    """
    space = key[-1]
    if space is not None and (isinstance(space, str) or MADE.get(space.name) is not space):
        return
    if len(table) >= _MOST:
        table.clear()
    table[key] = policy
