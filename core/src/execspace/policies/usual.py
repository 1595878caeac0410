"""Policies as values: equal if their arguments are, and made once where they have no options.

A loop makes the same policy again and again. To look it up takes half the time of making it, and
an eighth of what it takes with several dimensions.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..base.brief import brief
from ..base.errors import PolicyError
from ..contract.launch_spec import PolicySpec
from ..contract.space import ExecutionSpace
from ..events.launches import MADE
from .hints import NO_HINTS, Hints, WorkItems, shown

_MOST = 256  # policies that are kept of a class
SELDOM = 15  # one range of 16 is kept: a loop over many would spend more on it than it saves


class Value:
    """Base of policies."""

    __slots__ = ()
    _instead: ClassVar[str] = "Policies do not change; make a new one, such as by with_options()"
    _positional: ClassVar[tuple[str, ...]] = ()

    key: tuple[PolicySpec, ExecutionSpace | None]

    def _arguments(self) -> tuple[Any, ...]:
        """Positional arguments, and options by their names."""
        raise NotImplementedError

    def with_options(self, /, *values: Any, **options: Any) -> Self:
        """A policy that differs from this one in some parameters.

        Parameters
        ----------
        *values
            None: parameters have names.
        **options
            Any parameters of the class, by name. Its default, None or "auto", takes an option
            back.

        Raises
        ------
        PolicyError
            For a value without a name, for a parameter that the class has not, and for what the
            class itself refuses.

        Notes
        -----
        As ``Kokkos::Experimental::prefer`` and ``require``. `copy.replace` of Python 3.13 does the
        same.

        Examples
        --------
        >>> import execspace as es
        >>> es.RangePolicy(100).with_options(occupancy=50, end=80)
        RangePolicy(0, 80, occupancy=50)
        """
        positional, rest = self._arguments()
        given = {**dict(zip(self._positional, positional, strict=True)), **rest}
        if values:
            raise PolicyError(
                f"{type(self).__name__}.with_options: got {', '.join(map(brief, values))} without "
                f"a name; expected name=value of some of: {', '.join(given)}."
            )
        for name in options:
            if name not in given:
                raise PolicyError(
                    f"{type(self).__name__}.with_options: there is no parameter {brief(name)}; "
                    f"expected some of: {', '.join(given)}."
                )
        given |= options
        first = [given.pop(name) for name in self._positional]
        return type(self)(*first, **given)

    __replace__ = with_options

    @property
    def _hinted(self) -> Hints:
        return getattr(self, "_hints", NO_HINTS)

    @property
    def occupancy(self) -> int | None:
        """Percent of the threads that a unit of a device keeps; None: as many as fit."""
        return self.key[0].occupancy or None

    @property
    def work_items(self) -> WorkItems:
        """What the policy says of its calls; None: nothing."""
        return shown(self._hinted)

    def _hints_shown(self) -> str:
        """Occupancy and work items in a repr."""
        occupancy = "" if self.occupancy is None else f", occupancy={self.occupancy}"
        return occupancy + ("" if self.work_items is None else f", work_items={self.work_items!r}")

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
