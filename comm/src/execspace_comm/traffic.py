"""What was sent: messages and bytes, counted while a program runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Traffic"]


@dataclass
class Traffic:
    """Counts of a rank, made by `Comm.counting`.

    Attributes
    ----------
    messages : Counter
        Rank that was sent to -> number of messages from one rank to another.
    nbytes : Counter
        Rank that was sent to -> their bytes.
    collectives : Counter
        Name of an operation of all ranks, such as "allgather" -> how many times.
    collective_bytes : Counter
        Name -> bytes that this rank gave to them.
    staged : int
        Bytes that went through a staging buffer.
    """

    messages: Counter[int] = field(default_factory=Counter)
    nbytes: Counter[int] = field(default_factory=Counter)
    collectives: Counter[str] = field(default_factory=Counter)
    collective_bytes: Counter[str] = field(default_factory=Counter)
    staged: int = 0

    @property
    def total_messages(self) -> int:
        """Messages from this rank to others."""
        return sum(self.messages.values())

    @property
    def total_bytes(self) -> int:
        """Bytes of messages from this rank to others."""
        return sum(self.nbytes.values())

    def sent(self, dest: int, nbytes: int) -> None:
        """Count a message."""
        self.messages[dest] += 1
        self.nbytes[dest] += nbytes

    def joined(self, name: str, nbytes: int) -> None:
        """Count an operation of all ranks."""
        self.collectives[name] += 1
        self.collective_bytes[name] += nbytes
