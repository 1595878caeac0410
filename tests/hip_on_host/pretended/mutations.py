"""Faults that are put into generated source, to see that tests find them."""

from __future__ import annotations

import re
from collections.abc import Callable

_CODE = re.compile(r"^(?!\s*#|.*\\$).*$", re.MULTILINE)  # lines that are no macro's
_BARRIER = re.compile(r"_ES_BARRIER\(\);")
_ATOMIC = re.compile(r"_es_atomic_(?:add|sub)\(")
_LANES = re.compile(r"& 63\b|_ES_LANE\b")
# What the last index is compared with: the units of a range, or an extent of a walk in blocks.
_BOUND = re.compile(r"(?<![<-])<(?= (?:_a\._?\w+|_f1|_units|_stop\d+|_n\d+)\b)")


class NothingToMutateError(ValueError):
    """A mutation finds nothing in a text that it could change."""


def _once(text: str, pattern: re.Pattern[str], at: int, new: str, what: str) -> str:
    """The text with the occurrence number `at` replaced; of all in lines that are no macro's."""
    places = [
        (line.start() + m.start(), line.start() + m.end())
        for line in _CODE.finditer(text)
        for m in pattern.finditer(line[0])
    ]
    if at >= len(places):
        raise NothingToMutateError(
            f"there is no {what} number {at} in the text, which has {len(places)}"
        )
    start, end = places[at]
    return text[:start] + new + text[end:]


def _barrier(text: str, at: int, wave: int) -> tuple[str, list[str]]:
    return _once(text, _BARRIER, at, "", "barrier"), []


def _atomic(text: str, at: int, wave: int) -> tuple[str, list[str]]:
    _once(text, _ATOMIC, 0, "", "atomic sum")
    return text, ["-D_ES_MUTATION_ATOMIC"]


def _wave32(text: str, at: int, wave: int) -> tuple[str, list[str]]:
    if wave != 64:
        raise NothingToMutateError(f"the text is for waves of {wave} lanes")
    _once(text, _LANES, 0, "", "number of a lane")

    def narrow(line: re.Match[str]) -> str:
        return _LANES.sub(lambda m: "(_ES_LANE & 31)" if m[0] == "_ES_LANE" else "& 31", line[0])

    return _CODE.sub(narrow, text), []


def _bounds(text: str, at: int, wave: int) -> tuple[str, list[str]]:
    return _once(text, _BOUND, at, "<=", "comparison with a bound"), []


MUTATIONS: dict[str, Callable[[str, int, int], tuple[str, list[str]]]] = {
    "barrier": _barrier, "atomic": _atomic, "wave32": _wave32, "bounds": _bounds,
}  # fmt: skip


def mutated(text: str, name: str, at: int, wave: int) -> tuple[str, list[str]]:
    """A text with a fault, and options of the compiler that belong to it.

    Parameters
    ----------
    text : str
    name : {"barrier", "atomic", "wave32", "bounds"}
        A barrier is missing; sums in memory are no atomic operations; numbers of lanes are those of
        waves of 32; an index goes one too far.
    at : int
        Which of the barriers or bounds it is.
    wave : int
        Lanes of a wave.

    Raises
    ------
    NothingToMutateError
    """
    if name not in MUTATIONS:
        raise ValueError(
            f"HIP_ON_HOST_MUTATION={name!r} is not a mutation; expected {', '.join(MUTATIONS)}."
        )
    return MUTATIONS[name](text, at, wave)
