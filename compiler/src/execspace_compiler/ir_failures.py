"""Statements of typed IR by which a kernel tells the host what failed, and what it prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .diagnostics import NOWHERE, Loc

if TYPE_CHECKING:
    from .ir import Call, Expr


@dataclass(frozen=True, slots=True)
class Fail:
    """Report that assertion number `code` failed at these indices of the policy."""

    code: Expr
    indices: tuple[Expr, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Print:
    """Write text to standard output: constant strings, and numbers as a C conversion says.

    `parts` holds strings and (conversion without length modifier, number) pairs.
    """

    parts: tuple[str | tuple[str, Expr], ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Failures:
    """Call a body for each `start <= name < stop`, in any order, and tell whether it failed.

    Attributes
    ----------
    names : tuple of str
        One variable: the call tells whether something failed, and so does the variable. Two: the
        call returns the number of an assertion that failed, or 0; they are set to the index of the
        first failure, `stop` if there is none, and to that number.
    count : int
        The greatest such number; 0 if it is not asked for.
    rows : bool
        It runs for many ranges, which may be short.
    bits : int
        Of what is computed to see whether something failed; 1 where comparisons give masks.
    """

    names: tuple[str, ...]
    name: str
    start: Expr
    stop: Expr
    call: Call
    count: int = 0
    rows: bool = False
    bits: int = 1
    loc: Loc = field(default=NOWHERE, compare=False)
