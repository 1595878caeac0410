"""How much work a test gives a space, and what it needs of one.

The oracle runs kernels as plain Python, an index after the other, so tests ask it for less. This
is the only place that knows a space by its name.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import execspace as es


def interpreted(space: es.ExecutionSpace) -> bool:
    """Whether the space runs kernels as plain Python; it then takes any dtype, and is slow."""
    return space.name == "oracle"


def fitting(space: es.ExecutionSpace, size: int, most: int = 300) -> int:
    """A size for a test: `size` of what is compiled, at most `most` of what is interpreted."""
    return min(size, most) if interpreted(space) else size


def needs_threads(space: es.ExecutionSpace) -> None:
    """Skip unless the space runs two work items at the same time."""
    if space.concurrency < 2:
        pytest.skip(f"space '{space.name}' runs one work item at a time")


def needs_teams(space: es.ExecutionSpace) -> None:
    """Skip unless the space has teams."""
    if not isinstance(space, es.SupportsTeams):
        pytest.skip(f"space '{space.name}' has no teams")


def needs_host_arrays(space: es.ExecutionSpace) -> None:
    """Skip unless kernels work on arrays of the host where they are."""
    if not es.HOST.reachable_from(space):
        pytest.skip(f"kernels of space '{space.name}' cannot reach arrays of the host")


def needs_atomic(space: es.ExecutionSpace, nbytes: int) -> None:
    """Skip unless a number of so many bytes changes atomically as a whole."""
    if space.capabilities.atomic_bytes < nbytes:
        pytest.skip(f"space '{space.name}' has no atomic operation on a number of {nbytes} bytes")


def needs_order(space: es.ExecutionSpace) -> None:
    """Skip unless reductions join contributions in the order of the indices."""
    if not space.capabilities.ordered_reductions:
        pytest.skip(f"space '{space.name}' joins in an order of its own: joins must commute")


def needs_dtype(space: es.ExecutionSpace, dtype: npt.DTypeLike) -> None:
    """Skip unless kernels compute with numbers of this dtype."""
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    has = space.capabilities
    if kind == "c" and not has.complex:
        pytest.skip(f"space '{space.name}' has no complex numbers")
    if kind == "f" and size == 2 and not has.float16:
        pytest.skip(f"space '{space.name}' has no float16")
    if (kind, size) in (("f", 8), ("c", 16)) and not has.float64:
        pytest.skip(f"space '{space.name}' has no float64")
