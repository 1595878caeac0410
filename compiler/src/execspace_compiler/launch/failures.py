"""Failed assertions of kernels: from a number and indices to the user's exception."""

from __future__ import annotations

from collections.abc import Sequence

from execspace import KernelAssertionError

from ..ir import Assertion


def failure(
    kernel: str, assertions: Sequence[Assertion], code: int, indices: Sequence[int]
) -> KernelAssertionError:
    """The exception for assertion number `code`, which failed at these indices."""
    found = assertions[code - 1]
    text = f": {found.message}" if found.message else ""
    lines = [
        place(kernel, indices),
        f"{found.loc}: assertion failed{text}",
        found.loc.excerpt(),
    ]
    return KernelAssertionError("\n".join(line for line in lines if line))


def place(kernel: str, indices: Sequence[int]) -> str:
    """The position in the range of a failure, for messages."""
    at = ", ".join(map(str, indices))
    where = f"index {at}" if len(indices) == 1 else f"indices ({at})"
    return f"in kernel '{kernel}' at {where}"
