"""Values of a function's outer names in one launch.

They come from the launch's captures, so that a plan can be compiled again later from the same
record; only modules and builtins, which never change, are looked up again.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from execspace import Capture
from execspace.base.dataclass import dataclass
from execspace.kernels.captures import lookup
from execspace.kernels.locks import TABLE


def variable_name(name: str) -> str:
    """Name of a user's variable in HIR and IR.

    Names that begin with an underscore are reserved for the compiler, so they cannot clash. Nor
    can two names of the user: those that begin like the new ones are changed, too.
    """
    return f"user{name}" if name.startswith(("_", "user")) else name


class Unknown:
    """The value of a name that is not defined."""


class Object:
    """The value of a bound parameter, such as `self`, if only its attributes are known."""


def _missing(value: Any) -> bool:
    return type(value).__name__ == "Missing"


@dataclass(frozen=True)
class Names:
    """Outer names of one function.

    Attributes
    ----------
    fn : function
    bound : frozenset of str
        Bound parameters, which are outer names, too.
    captures : mapping
        Full name -> Capture, for the kernel and all functions that it captures.
    hidden : mapping
        Full name of a captured View -> name of the variable that carries it.
    prefix : str
        Prefix of full names in this function: "" for the kernel, "helper/" for a helper.
    """

    fn: FunctionType
    bound: frozenset[str]
    captures: Mapping[str, Capture]
    hidden: Mapping[str, str]
    prefix: str = ""

    def full(self, path: tuple[str, ...]) -> str:
        """Full name of a dotted name of this function."""
        return self.prefix + ".".join(path)

    def view(self, path: tuple[str, ...]) -> str | None:
        """The variable that carries a captured View, or None if the name is not a View."""
        return self.hidden.get(self.full(path))

    @property
    def locks(self) -> str | None:
        """The variable that carries the locks of atomic operations on records, if there are any."""
        return self.hidden.get(TABLE)

    def value(self, path: tuple[str, ...]) -> Any:
        """The value of any other name; `Unknown` if it is not defined."""
        full = self.full(path)
        known = self.captures.get(full)
        if known is not None:
            return Unknown if _missing(known.value) else known.value
        if path[0] in self.bound:
            inner = any(n.startswith(f"{full}.") for n in self.captures)
            return Object if inner else Unknown
        value = lookup(self.fn, path)
        return Unknown if _missing(value) else value

    def is_watched(self, path: tuple[str, ...]) -> bool:
        """Whether launches notice when the value of a dotted name changes, or it never changes.

        Names in code that Python removed, such as `b` in `a if True else b`, are not watched.
        """
        if any(self.full(path[:n]) in self.captures for n in range(1, len(path) + 1)):
            return True
        root = lookup(self.fn, path[:1])
        return isinstance(root, ModuleType) or hasattr(builtins, path[0])

    def views_of_helper(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Variables of the Views that a captured function, or a tuple of functions, captures."""
        return self.views_under(self.full(path))

    def views_under(self, full: str) -> tuple[str, ...]:
        """As `views_of_helper`, by the full name: "helper", or "helpers[1]" for an item."""
        return tuple(v for n, v in self.hidden.items() if n.startswith((f"{full}/", f"{full}[")))
