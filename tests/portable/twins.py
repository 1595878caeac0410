"""Pairs of small programs: one that runs anywhere, and its twin that a laptop runs as well.

The two differ in one fault. On a host both give the same answer, so nobody notices; a device, and a
host under EXECSPACE_CHECK=portable, tells. `run_twins.py` runs all pairs of a process.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import execspace as es

N = 4
# What a device says; {space} and {memory} are those of the default space.
UNREADABLE = (
    "View '{view}' is in memory space '{memory}', which the host cannot read; copy it first: "
    "{view}.to_numpy(), or {view}.to(es.HOST) for a View that is a copy only where it must be one."
)
UNWRITABLE = (
    "View '{view}' is in memory space '{memory}', which the host cannot write element by element; "
    "store into a part, {view}[i:i+1] = value, or make a View of an array that is ready: "
    "es.array(a)."
)
UNREACHABLE = (
    "{what} '{view}'{comma} is in memory space 'host', which space '{space}' cannot reach. "
)
ARRAY = (
    "Pass es.In(a), es.Out(a) or es.InOut(a) of an array that the kernel reads, fills or changes, "
    "or make a View of its elements first: es.array(a)."
)
CAPTURED = (
    "Make a View of its elements outside of the kernel, {view} = es.array({view}), and let the "
    "kernel capture that."
)
ALGORITHM = (
    "Make a View of its elements there, es.array(..., space='{space}'), and take results out of it "
    "by to_numpy()."
)
# What only the check says: a device goes on with whatever is there.
UNFENCED = (
    "View '{view}' is {does} by {what} on space '{space}', for which nothing has waited: a device "
    "may still be at it. Call es.fence() before the host uses the View (EXECSPACE_CHECK=portable)."
)
UNORDERED = (
    "{what} 'x'{comma} is written by {other} on space '{space}', for which nothing has waited: on "
    "a device the two may run at once. Call es.fence() between them, or give both to one space or "
    "instance (EXECSPACE_CHECK=portable)."
)
PAIRS: dict[str, type[Pair]] = {}


class Pair:
    """A program that runs anywhere, and its twin that a host alone runs.

    Attributes
    ----------
    answer : object
        What `portable` returns, a list as a tuple, on each space, and `unportable` on a host.
    raises : (class, str) or None
        What `unportable` raises where memory is apart, and its words.
    wrong : object
        What it returns there if it raises nothing.
    races : bool
        Only the check refuses `unportable`; on a device it may give any answer.
    """

    answer: ClassVar[Any]
    raises: ClassVar[tuple[type[Exception], str] | None] = None
    wrong: ClassVar[Any] = None
    races: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        PAIRS[cls.__name__] = cls

    def portable(self) -> Any:
        raise NotImplementedError

    def unportable(self) -> Any:
        raise NotImplementedError


def refused(text: str, **words: str) -> tuple[type[Exception], str]:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return es.SpaceAccessError, text


def unreadable(view: str = "x") -> tuple[type[Exception], str]:
    return refused(UNREADABLE, view=view)


def unwritable(view: str = "x") -> tuple[type[Exception], str]:
    return refused(UNWRITABLE, view=view)


def unreachable(
    what: str, view: str, comma: str = ",", advice: str = ARRAY
) -> tuple[type[Exception], str]:
    return refused(UNREACHABLE + advice, what=what, view=view, comma=comma)


def captured(kernel: str, view: str) -> tuple[type[Exception], str]:
    return unreachable(f"Kernel '{kernel}': the captured View", view, advice=CAPTURED)


def unreachable_by(algorithm: str, view: str) -> tuple[type[Exception], str]:
    return unreachable(f"{algorithm}: View", view, "", ALGORITHM)


def unfenced(what: str, view: str = "x", does: str = "written") -> tuple[type[Exception], str]:
    return refused(UNFENCED, what=what, view=view, does=does)


def unordered(what: str, other: str, comma: str = ",") -> tuple[type[Exception], str]:
    return refused(UNORDERED, what=what, other=other, comma=comma)


# -- kernels that the pairs share, so that a process compiles few ----------------------------------


@es.kernel
def double(i, x):
    x[i] = 2.0 * x[i]


@es.kernel
def element(i, x):
    return x[i]


@es.kernel
def before(i, prefix, final, x):
    if final:
        x[i] = prefix
    return 1.0


def counted(label="x", **where):
    """A View of 0, 1, 2, 3 in memory of the default space, or in another one of it."""
    x = es.View(N, label=label, **where)
    es.deep_copy(x, np.arange(float(N)))
    return x


def seen(view):
    """The elements of a View, wherever it is, as a list."""
    return np.asarray(view.to(es.HOST)).tolist()
