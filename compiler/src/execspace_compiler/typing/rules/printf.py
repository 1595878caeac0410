"""es.printf: formats are split into constant text and conversions, each with its number's type."""

from __future__ import annotations

import re
from collections.abc import Sequence

import execspace

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import FLOAT64, INT64, UINT64, Scalar
from ..context import CALLS, Call, Context
from ..value_queries import scalar
from ..values import Obj, Value

_CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|j|z|t|L)?(.)", re.DOTALL)
_INTEGER, _FLOAT = "dixXouc", "eEfFgG"


def _conversions(text: str, types: Sequence[Scalar], loc: Loc) -> list[tuple[str, Scalar | None]]:
    """Pieces of a format: text with None, or a conversion with the type that it prints.

    Length modifiers are dropped: integers are printed in 64 bits and floats in float64.

    Raises
    ------
    Fault
        If conversions and arguments do not match.
    """
    found: list[tuple[str, Scalar | None]] = []
    rest = list(types)
    end = 0
    for match in _CONVERSION.finditer(text):
        if match.start() > end:
            found.append((text[end : match.start()], None))
        end = match.end()
        flags, letter = match.groups()
        if letter == "%" and not flags:
            found.append(("%", None))
            continue
        if letter not in _INTEGER + _FLOAT:
            raise type_fault(
                loc,
                f"es.printf has no conversion '{match.group()}'",
                "print integers with %d, floats with %g, a percent sign with %%",
            )
        if not rest:
            raise type_fault(
                loc,
                f"es.printf: no argument is left for '{match.group()}'",
                f"give one number for each conversion; got {len(types)}",
            )
        given = rest.pop(0)
        if given.kind == "c" or (letter in _INTEGER and given.kind == "f"):
            raise type_fault(
                loc,
                f"es.printf: '{match.group()}' cannot print {given}",
                "print its .real and .imag"
                if given.kind == "c"
                else "use %g, or convert with int(...)",
            )
        wide = UINT64 if given.name == "uint64" else INT64
        letter = {"i": "d"}.get(letter, letter)
        if letter == "d" and wide == UINT64:
            letter = "u"
        found.append((f"%{flags}{letter}", FLOAT64 if letter in _FLOAT else wide))
    if end < len(text):
        found.append((text[end:], None))
    if "%" in "".join(p for p, t in found if t is None and p != "%"):
        raise type_fault(
            loc,
            "es.printf: a conversion in the format is not complete",
            "write %% for a percent sign",
        )
    if rest:
        raise type_fault(
            loc,
            f"es.printf: the format has no conversion for {len(rest)} of {len(types)} arguments",
            "give one conversion for each number: %d for integers, %g for floats",
        )
    return found


@CALLS.of(execspace.printf)
def _printf(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    text = args[0].value if args and isinstance(args[0], Obj) else None
    if not isinstance(text, str):
        raise type_fault(
            loc,
            "es.printf takes a constant format string first",
            'write es.printf("%g\\n", x)',
        )
    numbers = [scalar(a, loc) for a in args[1:]]
    found = _conversions(text, [n.type for n in numbers], loc)
    rest = iter(numbers)
    pieces: list[str | tuple[str, ir.Expr]] = []
    for piece, type in found:
        pieces.append(piece if type is None else (piece, cx.coerce(next(rest), type)))
    cx.out.append(ir.Print(tuple(pieces), loc))
    cx.module.prints = True
    return Obj(None, "None")
