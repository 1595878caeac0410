"""Failed assertions of kernels, and checks of indices: from a number to the user's exception."""

from __future__ import annotations

from collections.abc import Sequence

from execspace import KernelAssertionError, ViewIndexError

from ..ir import Assertion


def failure(
    kernel: str, assertions: Sequence[Assertion], code: int, indices: Sequence[int]
) -> KernelAssertionError | ViewIndexError:
    """The exception for assertion number `code`, which failed at these indices."""
    found = assertions[code - 1]
    text = f": {found.message}" if found.message else ""
    what = found.message if found.bounds else f"assertion failed{text}"
    lines = [place(kernel, indices), f"{found.loc}: {what}", found.loc.excerpt()]
    if found.bounds:
        lines.append("the space 'oracle' tells the index")
    told = "\n".join(line for line in lines if line)
    return ViewIndexError(told) if found.bounds else KernelAssertionError(told)


def place(kernel: str, indices: Sequence[int]) -> str:
    """The position in the range of a failure, for messages."""
    at = ", ".join(map(str, indices))
    where = f"index {at}" if len(indices) == 1 else f"indices ({at})"
    return f"in kernel '{kernel}' at {where}"
