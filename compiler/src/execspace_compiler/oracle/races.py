"""Race detection in teams that the oracle runs: accesses to elements since the last barrier.

Threads run in turn, so accesses of other threads to an element came before: one record of each kind
of access is enough. Elements are distinguished by their address, since Views may share memory.
"""

from __future__ import annotations

import itertools
import linecache
import sys
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from execspace import KernelError

from ..ir.diagnostics import Diagnostic, Loc
from .runtime import Checked


class Access(NamedTuple):
    """An access of a thread to an element, and its position in the code."""

    thread: int
    code: CodeType
    at: int

    def place(self) -> tuple[str, int]:
        """File and line; computed only for messages, as it takes time."""
        positions = itertools.islice(self.code.co_positions(), self.at // 2, None)
        line = next(positions)[0]
        return self.code.co_filename, line or self.code.co_firstlineno

    def loc(self) -> Loc:
        """The whole line, since columns are not known."""
        file, line = self.place()
        text = linecache.getline(file, line).rstrip("\n")
        begin = len(text) - len(text.lstrip())
        return Loc(file, line, len(text[:begin].encode()), line, len(text.encode()))


class Accesses:
    """The first access of each kind to an element since the last barrier.

    `last` is the thread that stored the element's current value.
    """

    __slots__ = ("atomic_read", "atomic_written", "last", "read", "stored")

    def __init__(self) -> None:
        self.last = -1
        self.read: Access | None = None
        self.stored: Access | None = None
        self.atomic_read: Access | None = None
        self.atomic_written: Access | None = None


class Location(NamedTuple):
    """A number in a View; in a record, that `byte` bytes from the start of the element."""

    view: TrackedView
    at: tuple[int, ...]
    byte: int | None = None

    def __str__(self) -> str:
        part = "" if self.byte is None else f"byte {self.byte} of "
        return f"{part}element [{', '.join(map(str, self.at))}] of {self.view.name}"

    def address(self) -> int:
        """Its address in memory."""
        strides = self.view.array.strides
        return self.view.first + (self.byte or 0) + sum(map(int.__mul__, self.at, strides))

    def holds(self, value: Any) -> bool:
        """Whether it has the bits of a value."""
        kind: Any
        if self.byte is None:
            kind, held = self.view.array.dtype, self.view.array[self.at]
        else:
            kind, held = type(value), Checked.field(self.view, self.at, self.byte, type(value))
        return bool(held.tobytes() == np.asarray(value, kind).tobytes())


class TrackedView(Checked):
    """A View or scratch memory whose elements several threads of a team may access.

    Attributes
    ----------
    name : str
        Its name in messages.
    written : set of int or None
        For scratch memory: addresses of the numbers that have been stored.
    """

    __slots__ = ("first", "name", "tracker", "written")

    def __init__(
        self, tracker: AccessTracker, view: Checked, name: str, scratch: bool = False
    ) -> None:
        super().__init__(view.array, view.label, view.shape)
        self.tracker, self.name = tracker, name
        self.written: set[int] | None = set() if scratch else None
        self.first: int = view.array.__array_interface__["data"][0]

    @property
    def atomic(self) -> AtomicAccessor:
        return AtomicAccessor(self)

    def __getitem__(self, key: Any) -> Any:
        at = self._at(key)
        self.tracker.load(Location(self, at))
        return self.array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        at = self._at(key)
        self.tracker.store(Location(self, at), value)
        self.array[at] = value

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        self.tracker.load(Location(self, self._at(key), int(byte)))
        return super().field(key, byte, to)

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        self.tracker.store(Location(self, self._at(key), int(byte)), value)
        super().set_field(key, byte, value)


class AtomicAccessor:
    """A TrackedView for atomic operations, which do not race with each other."""

    __slots__ = ("view",)

    def __init__(self, view: TrackedView) -> None:
        self.view = view

    def __getitem__(self, key: Any) -> Any:
        at = self.view._at(key)
        self.view.tracker.atomic_load(Location(self.view, at))
        return self.view.array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        at = self.view._at(key)
        self.view.tracker.atomic_update(Location(self.view, at))
        self.view.array[at] = value

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        """A number within a record."""
        self.view.tracker.atomic_load(Location(self.view, self.view._at(key), int(byte)))
        return Checked.field(self.view, key, byte, to)

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        """Set a number within a record."""
        self.view.tracker.atomic_update(Location(self.view, self.view._at(key), int(byte)))
        Checked.set_field(self.view, key, byte, value)


class AccessTracker:
    """The current thread, and accesses of its team since the last barrier.

    Attributes
    ----------
    rank, thread : int
        league_rank and team_rank.
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.rank = self.thread = 0
        self.accesses: dict[int, Accesses] = {}

    def where(self) -> str:
        """Prefix of messages."""
        return f"in kernel '{self.kernel}' at league_rank {self.rank}"

    def fault(self, loc: Loc, message: str, hint: str) -> KernelError:
        """An error of this team, at a location in the source."""
        return KernelError(f"{self.where()}\n\n{Diagnostic(loc, message, hint)}")

    # Called by accessors, which the kernel or a helper calls: `_record` relies on this depth.

    def load(self, location: Location) -> None:
        """Record a load.

        Raises
        ------
        KernelError
            As in all of these, for a race, and for a load of uninitialised memory.
        """
        me, accesses = self._record(location, loads=True)
        if accesses.last != self.thread:  # loads of its own stores are not races
            self._check(location, me, "reads", accesses.stored, "wrote")
        self._check(location, me, "reads", accesses.atomic_written, "atomically changed")
        if accesses.last != self.thread:
            accesses.read = accesses.read or me

    def store(self, location: Location, value: Any) -> None:
        """Record a store."""
        me, accesses = self._record(location, loads=False)
        stored = accesses.stored
        if stored is not None and not location.holds(value):  # equal values are benign
            self._check(location, me, "writes", stored, "wrote")
        self._check(location, me, "writes", accesses.read, "read")
        self._check(location, me, "writes", accesses.atomic_written, "atomically changed")
        self._check(location, me, "writes", accesses.atomic_read, "atomically read")
        accesses.stored, accesses.last = stored or me, self.thread

    def atomic_load(self, location: Location) -> None:
        """Record the load of an atomic operation."""
        me, accesses = self._record(location, loads=True)
        if accesses.last != self.thread:
            self._check(location, me, "atomically reads", accesses.stored, "wrote")
        accesses.atomic_read = accesses.atomic_read or me

    def atomic_update(self, location: Location) -> None:
        """Record the store of an atomic operation."""
        me, accesses = self._record(location, loads=False)
        self._check(location, me, "atomically changes", accesses.stored, "wrote")
        self._check(location, me, "atomically changes", accesses.read, "read")
        accesses.atomic_written = accesses.atomic_written or me

    def _record(self, location: Location, loads: bool) -> tuple[Access, Accesses]:
        """The current access, and earlier ones to the same location."""
        frame = sys._getframe(3)
        me = Access(self.thread, frame.f_code, frame.f_lasti)
        view, key = location.view, location.address()
        if view.written is not None and not loads:
            view.written.add(key)
        elif view.written is not None and key not in view.written:
            raise self.fault(
                me.loc(),
                f"{location} is read before it was written",
                "store into all of it first, which holds anything at its begin; and put a "
                "team.barrier() before reading what other threads store",
            )
        accesses = self.accesses.get(key)
        if accesses is None:
            accesses = self.accesses[key] = Accesses()
        return me, accesses

    def _check(
        self, location: Location, me: Access, does: str, other: Access | None, did: str
    ) -> None:
        """Raise KernelError if an earlier access was by another thread."""
        if other is None or other.thread == me.thread:
            return
        file, line = other.place()
        where = f"line {line}" if file == me.code.co_filename else f"{file}:{line}"
        raise self.fault(
            me.loc(),
            f"race: thread {me.thread} of the team {does} {location}, which thread {other.thread} "
            f"{did} in {where}",
            "put a team.barrier() between the two",
        )
