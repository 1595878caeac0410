"""fill_random: a View of random numbers that depend on its shape and a seed, on nothing else.

An element gets the number of its row-major linear index, whatever the layout and the space. There
is one short kernel for each rank; how one element is drawn is in random.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, ViewError
from ..base.storage_types import format_of
from ..contract.space import ExecutionSpace
from ..events.recording import by_extents
from ..launch.parallel import parallel_for
from ..policies.range import MDRangePolicy, Policy, RangePolicy
from ..views.interop import view_of
from ..views.view import View
from . import random as _random
from .arguments import choose_space, refuse_transfer

__all__ = [
    "fill_random",
]

_MOST_INDICES = 2**62  # those of a complex View are doubled, and must fit an int64
_MOST_DRAWS = 2**62


def fill_random(
    view: View | Any,
    seed: int,
    low: float | None = None,
    high: float | None = None,
    *,
    distribution: str = "uniform",
    mean: float | None = None,
    std: float | None = None,
    draw: int = 0,
    start: int = 0,
    space: str | ExecutionSpace | None = None,
) -> None:
    """Fill a View with random numbers, reproducible by shape and seed on every space.

    Parameters
    ----------
    view : View or array
        Of any rank and layout; of integers, bool, real or complex numbers.
    seed : int
        0 <= seed < 2**64.
    low, high : number, optional
        Bounds of the uniform distribution: low <= x < high. 0 and 1 if not given, for bool 0
        and 2; integers need `high`. Floats are drawn and scaled in the element type, to which
        the bounds are rounded first.
    distribution : {"uniform", "normal"}, default "uniform"
        "normal" is for real and complex Views.
    mean, std : number, optional
        Mean and standard deviation of the normal distribution; 0 and 1 if not given.
    draw : int, default 0
        Another draw gives other numbers for the same seed: 0 <= draw < 2**62.
    start : int, default 0
        Index of the first element. Element n in row-major order gets the number of the index
        ``start + n``, so parts of a large array can be filled on their own.
    space : str or ExecutionSpace, optional
        Where to run; chosen as for `parallel_for` if not given.

    Raises
    ------
    ViewError
        If the View is read-only, or an argument is out of range or belongs to the other
        distribution.
    DTypeError
        If the View is of records, or the normal distribution is asked for integers.
    SpaceAccessError, UnknownSpaceError, SpaceUnavailableError

    Notes
    -----
    The elements are ``random_uniform(seed, start + n, draw)`` and its siblings, scaled. A
    complex View gets what a real View with one more extent of 2, for the parts, would get; its
    bounds, mean and standard deviation are those of each part. Asynchronous where the space is.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/algorithms/Random-Number.html

    Examples
    --------
    >>> import execspace as es
    >>> dice = es.View(100, es.int32, label="dice")
    >>> es.fill_random(dice, 2024, 1, 7)
    >>> found = es.create_mirror_view_and_copy(es.HOST, dice)
    >>> min(found), max(found)
    (np.int32(1), np.int32(6))
    """
    refuse_transfer(view, "fill_random", "view")
    by_extents(
        "fill_random", partial(_filled, distribution, space),
        view=view, seed=seed, low=low, high=high, mean=mean, std=std, draw=draw, start=start,
    )  # fmt: skip


def _filled(
    distribution: str,
    space: str | ExecutionSpace | None,
    *,
    view: Any,
    seed: Any,
    low: Any,
    high: Any,
    mean: Any,
    std: Any,
    draw: Any,
    start: Any,
) -> None:
    target = view_of(view, label="destination of fill_random")
    _check_target(target)
    choose_space(space, (target,), "fill_random")
    seed = _checked(target, "seed", seed, 0, 2**64)
    draw = _checked(target, "draw", draw, 0, _MOST_DRAWS)
    start = _checked(target, "start", start, 0, _MOST_INDICES - target.size + 1)
    if distribution == "uniform":
        _only(target, distribution, mean=mean, std=std)
        how, numbers = _uniform(target, low, high)
    elif distribution == "normal":
        _only(target, distribution, low=low, high=high)
        how, numbers = _normal(target, mean, std)
    else:
        raise ViewError(
            f"fill_random: distribution {brief(distribution)} does not exist; expected 'uniform' "
            f"or 'normal'."
        )
    policy, flat = _policy(target, space)
    # The type of each argument is fixed, so that another seed or bound is not compiled anew.
    parallel_for(
        policy, _FILLS[flat.rank], flat, how, np.uint64(seed), np.int64(start), np.uint64(draw),
        *numbers, label="fill_random",
    )  # fmt: skip


# -- where it goes --------------------------------------------------------------------------------


# Kernels. They name `element` through its module, because such names are not read again at each
# launch; ranks 7 and 8 have loops, because policies end at rank 6.


def _fill_1(i0, A, how, seed, start, draw, p, q, r):  # type: ignore[no-untyped-def]
    A[i0] = _random.element(A, how, seed, start + i0, draw, p, q, r)


def _fill_2(i0, i1, A, how, seed, start, draw, p, q, r):  # type: ignore[no-untyped-def]
    A[i0, i1] = _random.element(A, how, seed, start + (i0 * A.extent(1) + i1), draw, p, q, r)


def _fill_3(i0, i1, i2, A, how, seed, start, draw, p, q, r):  # type: ignore[no-untyped-def]
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    A[i0, i1, i2] = _random.element(A, how, seed, start + n, draw, p, q, r)


def _fill_4(i0, i1, i2, i3, A, how, seed, start, draw, p, q, r):  # type: ignore[no-untyped-def]
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    n = n * A.extent(3) + i3
    A[i0, i1, i2, i3] = _random.element(A, how, seed, start + n, draw, p, q, r)


def _fill_5(  # type: ignore[no-untyped-def]
    i0, i1, i2, i3, i4, A, how, seed, start, draw, p, q, r
):
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    n = n * A.extent(3) + i3
    n = n * A.extent(4) + i4
    A[i0, i1, i2, i3, i4] = _random.element(A, how, seed, start + n, draw, p, q, r)


def _fill_6(  # type: ignore[no-untyped-def]
    i0, i1, i2, i3, i4, i5, A, how, seed, start, draw, p, q, r
):
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    n = n * A.extent(3) + i3
    n = n * A.extent(4) + i4
    n = n * A.extent(5) + i5
    A[i0, i1, i2, i3, i4, i5] = _random.element(A, how, seed, start + n, draw, p, q, r)


def _fill_7(  # type: ignore[no-untyped-def]
    i0, i1, i2, i3, i4, i5, A, how, seed, start, draw, p, q, r
):
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    n = n * A.extent(3) + i3
    n = n * A.extent(4) + i4
    n = n * A.extent(5) + i5
    for i6 in range(A.extent(6)):
        at = start + (n * A.extent(6) + i6)
        A[i0, i1, i2, i3, i4, i5, i6] = _random.element(A, how, seed, at, draw, p, q, r)


def _fill_8(  # type: ignore[no-untyped-def]
    i0, i1, i2, i3, i4, i5, A, how, seed, start, draw, p, q, r
):
    n = (i0 * A.extent(1) + i1) * A.extent(2) + i2
    n = n * A.extent(3) + i3
    n = n * A.extent(4) + i4
    n = n * A.extent(5) + i5
    for i6 in range(A.extent(6)):
        for i7 in range(A.extent(7)):
            at = start + ((n * A.extent(6) + i6) * A.extent(7) + i7)
            A[i0, i1, i2, i3, i4, i5, i6, i7] = _random.element(A, how, seed, at, draw, p, q, r)


_FILLS: dict[int, Callable[..., None]] = {
    1: _fill_1, 2: _fill_2, 3: _fill_3, 4: _fill_4, 5: _fill_5, 6: _fill_6, 7: _fill_7, 8: _fill_8,
}  # fmt: skip


def _policy(view: View, space: str | ExecutionSpace | None) -> tuple[Policy, View]:
    """Indices to run over; and the View, as one row if its elements lie in row-major order."""
    rows = view.layout == "right" and view.mapping is None and view.span_is_contiguous
    if view.rank == 0 or (view.rank > 1 and rows):
        view = View._over(
            view.allocation, view.data_ptr, view.dtype, (view.size,), (1,), "right", False,
            view.space,
        )  # fmt: skip
    if view.rank == 1:
        return RangePolicy(view.size, space=space), view
    upper = view.shape[:6]
    return MDRangePolicy((0,) * len(upper), upper, space=space), view


# -- checks ---------------------------------------------------------------------------------------


def _check_target(view: View) -> None:
    if view.dtype.fields is not None:
        raise DTypeError(
            f"fill_random: View '{view.label}' holds records, dtype {view.dtype}; expected "
            f"numbers. Fill its fields in a kernel, with es.random_uniform and its siblings."
        )
    if (form := format_of(view.dtype)) is not None:
        raise DTypeError(
            f"fill_random: View '{view.label}' is of {form.name}, to which a random number would "
            f"be rounded, perhaps to its upper bound. Draw float32 and es.deep_copy them, or use "
            f"es.random_uniform and its siblings in a kernel."
        )
    if view.is_readonly:
        raise ViewError(f"fill_random: View '{view.label}' is read-only; pass a writable one.")


def _checked(view: View, name: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ViewError(
            f"fill_random: {name} {brief(value)} for View '{view.label}' is not an integer; "
            f"expected {low} <= {name} < {high}."
        ) from None
    if not low <= number < high:
        raise ViewError(
            f"fill_random: {name} {number} for View '{view.label}'; expected "
            f"{low} <= {name} < {high}."
        )
    return number


def _only(view: View, distribution: str, **others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            wanted = "low and high" if distribution == "uniform" else "mean and std"
            raise ViewError(
                f"fill_random: {name}={brief(value)} for View '{view.label}', but the "
                f"{distribution} distribution has no {name}; it takes {wanted}."
            )


def _integers(view: View, low: Any, high: Any) -> tuple[str, tuple[Any, ...]]:
    """Lower bound and span as uint64 modulo 2**64."""
    truth = view.dtype.kind == "b"
    least, most = (0, 1) if truth else (np.iinfo(view.dtype).min, np.iinfo(view.dtype).max)
    least, most = int(least), int(most)
    if high is None:
        if not truth:
            raise ViewError(
                f"fill_random: View '{view.label}' is of {view.dtype.name}; integers need an upper "
                f"bound, which is excluded: fill_random(view, seed, 0, 100)."
            )
        high = 2
    bounds = []
    for name, value in (("low", 0 if low is None else low), ("high", high)):
        try:
            bounds.append(operator.index(value))
        except TypeError:
            raise ViewError(
                f"fill_random: {name}={brief(value)} for View '{view.label}' of {view.dtype.name}; "
                f"expected an integer."
            ) from None
    first, end = bounds
    _check_order(view, first, end)
    if first < least or end > most + 1:
        raise ViewError(
            f"fill_random: View '{view.label}' of {view.dtype.name} holds {least} to {most}, got "
            f"low={first}, high={end}; expected {least} <= low < high <= {most + 1}."
        )
    return "integer", (np.uint64(first % 2**64), np.uint64((end - first) % 2**64), np.uint64(0))


def _uniform(view: View, low: Any, high: Any) -> tuple[str, tuple[Any, ...]]:
    """How elements are drawn, and the three numbers of it: lower bound, width, greatest element."""
    if view.dtype.kind in "iub":
        return _integers(view, low, high)
    real = _real_type(view)
    first = _number(view, "low", 0.0 if low is None else low)
    end = _number(view, "high", 1.0 if high is None else high)
    _check_order(view, first, end)
    a, b = real.type(first), real.type(end)
    if not a < b:
        raise ViewError(
            f"fill_random: low={brief(first)} and high={brief(end)} for View '{view.label}' are "
            f"the same number in its type {real.name}; expected them further apart."
        )
    last = np.nextafter(a.dtype.type(b), a.dtype.type(a))
    compute = np.float64 if real.itemsize == 8 else np.float32
    with np.errstate(over="ignore"):
        width = compute(b) - compute(a)
    if not np.isfinite(width):
        raise ViewError(
            f"fill_random: high - low of low={brief(first)}, high={brief(end)} for View "
            f"'{view.label}' exceeds the largest {compute.__name__}; expected bounds that are "
            f"closer."
        )
    how = "uniform64" if compute is np.float64 else "uniform32"
    return how, (compute(a), width, compute(last))


def _normal(view: View, mean: Any, std: Any) -> tuple[str, tuple[Any, ...]]:
    if view.dtype.kind in "iub":
        raise DTypeError(
            f"fill_random: View '{view.label}' is of {view.dtype.name}; the normal distribution "
            f"needs real or complex elements."
        )
    _real_type(view)
    m = _number(view, "mean", 0.0 if mean is None else mean)
    s = _number(view, "std", 1.0 if std is None else std)
    if s < 0:
        raise ViewError(
            f"fill_random: std={brief(s)} for View '{view.label}'; expected a number that is not "
            f"negative."
        )
    return "normal", (np.float64(m), np.float64(s), np.float64(0))


def _real_type(view: View) -> np.dtype[Any]:
    """The element type, of complex ones that of their parts."""
    return np.empty(0, view.dtype).real.dtype


def _number(view: View, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    with np.errstate(over="ignore"):
        stored = _real_type(view).type(number)
    if isinstance(value, str) or not np.isfinite(stored):
        raise ViewError(
            f"fill_random: {name}={brief(value)} for View '{view.label}' of {view.dtype.name}; "
            f"expected a finite real number of that type."
        )
    return number


def _check_order(view: View, low: Any, high: Any) -> None:
    if not low < high:
        raise ViewError(
            f"fill_random: low={brief(low)}, high={brief(high)} for View '{view.label}'; expected "
            f"low < high."
        )
