"""Attributes that are assigned once, when an object is made: kernels trust what they were told.

Reading them costs nothing more than reading any attribute; only assignments are looked at.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .errors import ReadOnlyError
from .free_threading import FREE_THREADED


class ReadOnly:
    """Base of classes some of whose attributes nobody may assign or delete.

    A constructor that runs often assigns with `assign`, which does not ask.
    """

    __slots__ = ()
    _fixed: ClassVar[frozenset[str]] = frozenset()
    _instead: ClassVar[str] = "Make a new one"
    # Of a class of which kernels use objects: what they use of it. All else is for the host.
    _for_kernels: ClassVar[tuple[str, ...]]
    _in_launches: ClassVar[str] = ""  # what is passed in its place, if launches take no such object

    def __setattr__(self, name: str, value: Any) -> None:
        if self._refuses(name):
            raise self._refusal(name, "assigned")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if self._refuses(name):
            raise self._refusal(name, "deleted")
        object.__delattr__(self, name)

    def _refuses(self, name: str) -> bool:
        if name in self._fixed:
            return hasattr(self, name)
        if name == "__class__":
            return True
        return isinstance(getattr(type(self), name, None), property)

    def _called(self) -> str:
        return type(self).__name__

    def _refusal(self, name: str, done: str) -> ReadOnlyError:
        return ReadOnlyError(
            f"{self._called()}: attribute '{name}' is read-only and cannot be {done}. "
            f"{self._instead}.",
        )


assign = object.__setattr__

# Whether `parts.__class__ = cls` is the fastest way to an object of a read-only class. Without the
# GIL it stops all threads of the process: a View that each of two threads made took 2 ms.
MAY_CHANGE_CLASS = not FREE_THREADED


def with_class(parts: Any, cls: type) -> Any:
    """An object of a class with the attributes of one of its base, which has nothing but slots."""
    made: Any = object.__new__(cls)
    for name in type(parts).__slots__:
        if name != "__weakref__" and hasattr(parts, name):
            assign(made, name, getattr(parts, name))
    return made
