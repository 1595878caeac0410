"""partition_space: a space as several instances, which share out what it has where it can."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Real

from ..base.brief import brief
from ..base.errors import PluginError, SpaceError
from ..contract.space import ExecutionSpace, Partitions
from .selection import resolve

__all__ = ["partition_space"]

_EXPECTED = (
    "expected the number of parts, at least 1, or a sequence of positive numbers, one for each part"
)


def partition_space(
    space: str | ExecutionSpace, weights: int | Sequence[float]
) -> list[ExecutionSpace]:
    """Divide a space into instances, whose launches may run side by side.

    Parameters
    ----------
    space : str or ExecutionSpace
        By its name or itself; an instance may be divided further.
    weights : int or sequence of float
        How many parts of the same size, or a positive number for each part, to which what it gets
        is proportional.

    Returns
    -------
    list of ExecutionSpace
        One for each weight. Of a space that is `Partitions`, as "openmp", they have threads of
        their own in these proportions. Elsewhere each is ``space.instance()``, whatever its weight:
        of devices a queue of its own, of spaces that do everything in order the space itself.

    Raises
    ------
    SpaceError
        If weights are not as above, or there are more parts than a space can be divided into.
    UnknownSpaceError, SpaceUnavailableError
        If there is no such space here.

    Notes
    -----
    Does not block. Memory spaces of the parts are those of the space, and nothing but fences and
    `ExecutionSpace.wait_for` orders their work. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/spaces/partition_space.html

    Examples
    --------
    >>> import execspace as es
    >>> left, right = es.partition_space("serial", [3, 1])
    >>> es.parallel_reduce(es.RangePolicy(4, space=left), lambda i: i)
    6
    """
    shares = _checked(weights)
    whole = resolve(space)
    if not isinstance(whole, Partitions):
        return [whole.instance() for _ in shares]
    parts = list(whole.partition(shares))
    if len(parts) != len(shares) or not all(isinstance(p, ExecutionSpace) for p in parts):
        raise PluginError(
            f"Space '{whole.name}' was to be divided into {len(shares)} parts and gave "
            f"{brief(parts)}; expected so many ExecutionSpaces. This is a defect of its plugin."
        )
    return parts


def _checked(weights: object) -> tuple[float, ...]:
    """A weight for each part; SpaceError for what is none."""
    if isinstance(weights, bool | str | bytes):
        raise _refused(weights)
    try:
        count = operator.index(weights)  # type: ignore[arg-type]
    except TypeError:
        pass
    else:
        if count < 1:
            raise _refused(weights)
        return (1.0,) * count
    try:
        given: tuple[object, ...] = tuple(weights)  # type: ignore[arg-type]
    except TypeError:
        raise _refused(weights) from None
    if not given:
        raise _refused(weights)
    found = tuple(map(_number, given))
    for n, (w, number) in enumerate(zip(given, found, strict=True)):
        if not (number > 0 and math.isfinite(number)):
            raise SpaceError(
                f"partition_space: weight {n} is {brief(w)}; {_EXPECTED}, as [2, 1] or "
                f"[0.75, 0.25]."
            )
    return found


def _number(weight: object) -> float:
    """A weight as a float; NaN for what is none."""
    if isinstance(weight, bool) or not isinstance(weight, Real):
        return math.nan
    try:
        return float(weight)
    except OverflowError:
        return math.inf


def _refused(weights: object) -> SpaceError:
    return SpaceError(
        f"partition_space: weights={brief(weights)}; {_EXPECTED}, as 2 or [0.75, 0.25]."
    )
