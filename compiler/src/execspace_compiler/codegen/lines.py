"""Lines of generated source that know which line of the user's source they come from.

The oracle's code has the user's line numbers, and compilers of devices are told of them.
"""

from __future__ import annotations

from ..ir.diagnostics import Loc


class Line(str):
    """A line of generated source, with the location in the user's source that it comes from."""

    __slots__ = ("loc",)
    loc: Loc

    def __new__(cls, text: str, loc: Loc) -> Line:
        line = super().__new__(cls, text)
        line.loc = loc
        return line
