"""Races in teams that the oracle runs: who touched which element since the last barrier.

Threads take turns, so whatever other threads did to an element they did before: one note of each
kind of access is enough. Elements are told apart by their address, as Views may share memory.
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


class Touch(NamedTuple):
    """What a thread did to an element, and where in its code."""

    thread: int
    code: CodeType
    at: int

    def place(self) -> tuple[str, int]:
        """File and line; found only where they are told, as that takes time."""
        positions = itertools.islice(self.code.co_positions(), self.at // 2, None)
        line = next(positions)[0]
        return self.code.co_filename, line or self.code.co_firstlineno

    def loc(self) -> Loc:
        """The whole line, as of an access no more is known."""
        file, line = self.place()
        text = linecache.getline(file, line).rstrip("\n")
        begin = len(text) - len(text.lstrip())
        return Loc(file, line, len(text[:begin].encode()), line, len(text.encode()))


class Marks:
    """The first touch of each kind of an element since the last barrier.

    `last` is the thread that stored what the element holds.
    """

    __slots__ = ("last", "looked", "read", "stepped", "stored")

    def __init__(self) -> None:
        self.last = -1
        self.read: Touch | None = None
        self.stored: Touch | None = None
        self.looked: Touch | None = None  # the same of atomic operations
        self.stepped: Touch | None = None


class Number(NamedTuple):
    """A number in a View, of records the one `byte` bytes from the start of the element."""

    view: Watched
    at: tuple[int, ...]
    byte: int | None = None

    def __str__(self) -> str:
        part = "" if self.byte is None else f"byte {self.byte} of "
        return f"{part}element [{', '.join(map(str, self.at))}] of {self.view.name}"

    def address(self) -> int:
        """Where it lies."""
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


class Watched(Checked):
    """A View or scratch memory whose elements several threads of a team may touch.

    Attributes
    ----------
    name : str
        What messages call it.
    written : set of int or None
        Of scratch memory: addresses of the numbers that have been stored.
    """

    __slots__ = ("first", "name", "turns", "written")

    def __init__(self, turns: Turns, view: Checked, name: str, scratch: bool = False) -> None:
        super().__init__(view.array, view.label, view.shape)
        self.turns, self.name = turns, name
        self.written: set[int] | None = set() if scratch else None
        self.first: int = view.array.__array_interface__["data"][0]

    @property
    def atomic(self) -> Stepped:
        return Stepped(self)

    def __getitem__(self, key: Any) -> Any:
        at = self._at(key)
        self.turns.reads(Number(self, at))
        return self.array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        at = self._at(key)
        self.turns.stores(Number(self, at), value)
        self.array[at] = value

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        self.turns.reads(Number(self, self._at(key), int(byte)))
        return super().field(key, byte, to)

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        self.turns.stores(Number(self, self._at(key), int(byte)), value)
        super().set_field(key, byte, value)


class Stepped:
    """A Watched as atomic operations touch it: they do not race with each other."""

    __slots__ = ("view",)

    def __init__(self, view: Watched) -> None:
        self.view = view

    def __getitem__(self, key: Any) -> Any:
        at = self.view._at(key)
        self.view.turns.looks(Number(self.view, at))
        return self.view.array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        at = self.view._at(key)
        self.view.turns.steps(Number(self.view, at))
        self.view.array[at] = value

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        """A number within a record."""
        self.view.turns.looks(Number(self.view, self.view._at(key), int(byte)))
        return Checked.field(self.view, key, byte, to)

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        """Set a number within a record."""
        self.view.turns.steps(Number(self.view, self.view._at(key), int(byte)))
        Checked.set_field(self.view, key, byte, value)


class Turns:
    """Whose turn it is, and what threads of its team did since the last barrier.

    Attributes
    ----------
    rank, thread : int
        league_rank and team_rank.
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.rank = self.thread = 0
        self.marks: dict[int, Marks] = {}

    def where(self) -> str:
        """What messages begin with."""
        return f"in kernel '{self.kernel}' at league_rank {self.rank}"

    def fault(self, loc: Loc, message: str, hint: str) -> KernelError:
        """An error of this team, at a place in the source."""
        return KernelError(f"{self.where()}\n\n{Diagnostic(loc, message, hint)}")

    # Accessors call these, and are called by the kernel or a helper: `touch` counts on it.

    def reads(self, number: Number) -> None:
        """Note a load.

        Raises
        ------
        KernelError
            As all of these do, for a race, and for what a load finds that was never stored.
        """
        me, marks = self._touched(number, loads=True)
        if marks.last != self.thread:  # what it has stored itself is not that of others
            self._check(number, me, "reads", marks.stored, "wrote")
        self._check(number, me, "reads", marks.stepped, "atomically changed")
        if marks.last != self.thread:
            marks.read = marks.read or me

    def stores(self, number: Number, value: Any) -> None:
        """Note a store."""
        me, marks = self._touched(number, loads=False)
        stored = marks.stored
        if stored is not None and not number.holds(value):  # the same twice does no harm
            self._check(number, me, "writes", stored, "wrote")
        self._check(number, me, "writes", marks.read, "read")
        self._check(number, me, "writes", marks.stepped, "atomically changed")
        self._check(number, me, "writes", marks.looked, "atomically read")
        marks.stored, marks.last = stored or me, self.thread

    def looks(self, number: Number) -> None:
        """Note the load of an atomic operation."""
        me, marks = self._touched(number, loads=True)
        if marks.last != self.thread:
            self._check(number, me, "atomically reads", marks.stored, "wrote")
        marks.looked = marks.looked or me

    def steps(self, number: Number) -> None:
        """Note the store of an atomic operation."""
        me, marks = self._touched(number, loads=False)
        self._check(number, me, "atomically changes", marks.stored, "wrote")
        self._check(number, me, "atomically changes", marks.read, "read")
        marks.stepped = marks.stepped or me

    def _touched(self, number: Number, loads: bool) -> tuple[Touch, Marks]:
        """This touch, and those before it."""
        frame = sys._getframe(3)
        me = Touch(self.thread, frame.f_code, frame.f_lasti)
        view, key = number.view, number.address()
        if view.written is not None and not loads:
            view.written.add(key)
        elif view.written is not None and key not in view.written:
            raise self.fault(
                me.loc(),
                f"{number} is read before it was written",
                "store into all of it first, which holds anything at its begin; and put a "
                "team.barrier() before reading what other threads store",
            )
        marks = self.marks.get(key)
        if marks is None:
            marks = self.marks[key] = Marks()
        return me, marks

    def _check(self, number: Number, me: Touch, does: str, other: Touch | None, did: str) -> None:
        """KernelError if it was another thread that touched a number before."""
        if other is None or other.thread == me.thread:
            return
        file, line = other.place()
        where = f"line {line}" if file == me.code.co_filename else f"{file}:{line}"
        raise self.fault(
            me.loc(),
            f"race: thread {me.thread} of the team {does} {number}, which thread {other.thread} "
            f"{did} in {where}",
            "put a team.barrier() between the two",
        )
