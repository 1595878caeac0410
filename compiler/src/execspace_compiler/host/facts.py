"""What launches need besides machine code. It is kept with it in the cache, so that a later process
lowers nothing, and loads little of the compiler.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from execspace.base.dataclass import dataclass

Requirement = tuple[int, str, int]
"""Position, name and alignment of a View that needs a larger one than that of its dtype."""


@dataclass(frozen=True)
class Facts:
    """What launches need besides machine code.

    Attributes
    ----------
    prints : bool
        The kernel prints.
    assertions : tuple
        File, line, column, end line, end column and message of each `ir.Assertion`.
    limits : tuple
        See `Lowered.limits`.
    aligned : tuple of Requirement
        See `wide.aligned_views`.
    result : str, tuple or None
        Names of the result's dtypes, nested as the result is.
    disjoint : bool
        It was compiled for Views that do not overlap.
    scratch : tuple of (str, int), optional
        Text and kept bytes of `Sizes`, of a team with scratch memory.
    libraries : tuple of str
        Libraries of vector functions that the machine code may call.
    """

    prints: bool
    assertions: tuple[tuple[Any, ...], ...]
    limits: tuple[tuple[int, str, int, int], ...]
    aligned: tuple[Requirement, ...]
    result: Any
    disjoint: bool
    scratch: tuple[str, int] | None
    libraries: tuple[str, ...] = ()

    def encoded(self) -> bytes:
        """A line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def decoded(line: bytes) -> Facts:
    """Facts from `Facts.encoded`; ValueError or TypeError for anything else."""
    held = json.loads(line)
    if not isinstance(held, dict):
        raise ValueError("no facts")
    return Facts(**{name: _frozen(value) for name, value in held.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
