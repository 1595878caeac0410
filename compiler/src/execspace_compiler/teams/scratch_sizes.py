"""The check of a launch's scratch memory: the bytes that its teams need, and those that there are.

Sizes are known at the launch only, so they are a function in Python, which scratch.py writes. Plans
from the cache need this module alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from execspace import LaunchError
from execspace.base.dataclass import dataclass

Launch = Callable[[tuple[int, ...], tuple[Any, ...]], Any]  # of bounds and arguments


def _floor_division(a: int, b: int) -> int:
    return a // b if b else 0


def _remainder(a: int, b: int) -> int:
    return a % b if b else 0


FUNCTIONS = {"quotient": _floor_division, "remainder": _remainder}  # of sizes in Python


@dataclass(frozen=True)
class Sizes:
    """Computes and checks the scratch memory of a launch.

    Attributes
    ----------
    kernel : str
    text : str
        A function `found` of the league size and the arguments of a launch.
    kept : int
        Bytes of variables of members, which limits do not include.
    limits : tuple of int
        Most bytes of a team at each level.
    space : str
        Name of the space, for messages.
    """

    kernel: str
    text: str
    kept: int
    limits: tuple[int, int]
    space: str

    @cached_property
    def found(self) -> Callable[[int, tuple[Any, ...]], tuple[int, int]]:
        """A function from league size and arguments of a launch to a team's bytes at each level.

        It raises LaunchError for a negative extent.
        """
        scope: dict[str, Any] = {**FUNCTIONS, "refuse": self._negative}
        exec(self.text, scope)
        found: Callable[[int, tuple[Any, ...]], tuple[int, int]] = scope["found"]
        return found

    def with_fallback(self, call: Launch, other: Callable[[], Launch]) -> Launch:
        """A launch by `call`, or, if level 0 does not suffice, by the result of `other`.

        Sizes are known only at the launch; `other` is called once.
        """
        others: list[Launch] = []

        def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            try:  # it checks scratch memory before anything is enqueued
                return call(bounds, args)
            except LaunchError:
                if self.found(bounds[1], args)[0] <= self.limits[0]:
                    raise
            if not others:
                others.append(other())
            return others[0](bounds, args)

        return launch

    def _negative(self, line: int, shape: tuple[int, ...]) -> None:
        raise LaunchError(
            f"Kernel '{self.kernel}': the scratch of line {line} would have the shape {shape}; "
            f"expected extents of 0 or more."
        )

    def __call__(self, league: int, args: tuple[Any, ...]) -> tuple[int, int]:
        """Bytes of a team at each level, including variables of its members.

        Raises
        ------
        LaunchError
            If they exceed the limits, and for a negative extent.
        """
        inner, outer = self.found(league, args)
        if inner > self.limits[0] or outer > self.limits[1]:
            raise self._too_much((inner, outer))
        return inner, outer + self.kept

    def _too_much(self, found: tuple[int, int]) -> LaunchError:
        level = 0 if found[0] > self.limits[0] else 1
        other = (
            "Use level=1 for what is large, or fewer threads."
            if level == 0
            else "Make it smaller, or use a View."
        )
        return LaunchError(
            f"Kernel '{self.kernel}': a team needs {found[level]} bytes of scratch at level "
            f"{level}; space '{self.space}' has at most {self.limits[level]} bytes for a team. "
            f"{other}"
        )
