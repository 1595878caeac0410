"""Random numbers over ranks: the same for an index, however many ranks there are.

`execspace.fill_random` gives an element the number of its linear index in row-major order. Here
that is the index in the array that all ranks have together, so nothing is exchanged.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import execspace as es
from execspace.algorithms import filling
from execspace.algorithms import random as _random

from .base import Where
from .communicator import Comm
from .errors import CommError
from .field import Field
from .parts import attempt, numbers_of_all, part_of, ranks_of

__all__ = ["fill_random"]

_MOST_AXES = 6  # of a policy


def fill_random(
    array: Field | es.View | Any,
    seed: int,
    low: float | None = None,
    high: float | None = None,
    *,
    distribution: str = "uniform",
    mean: float | None = None,
    std: float | None = None,
    draw: int = 0,
    start: int = 0,
    offset: int | None = None,
    comm: Comm | Any = None,
    space: Where = None,
) -> None:
    """Fill what ranks have together with random numbers, the same on any number of ranks.

    Parameters
    ----------
    array : Field, View or array
        A Field, whose own elements are filled; its halo stays as it is. Or a View of each rank,
        of rank 1 or more, whose rows come one after the other in the order of ranks. Integers,
        bool, real or complex numbers.
    seed, low, high, distribution, mean, std, draw
        As of `execspace.fill_random`; the same on all ranks.
    start : int, default 0
        Index of the first element of all ranks.
    offset : int, optional
        For Views: how many elements come before those of this rank. If not given, as many as the
        ranks before it have: they tell each other then, so the call is collective and blocks.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks of Views, if `offset` is not given; all of the program by default.
    space : str or ExecutionSpace, optional
        Where to run; chosen as for `execspace.parallel_for` if not given.

    Raises
    ------
    CommError
        If `offset` or `comm` is given for a Field, both are given, or a View has rank 0.
    ViewError, DTypeError, SpaceAccessError
        As `execspace.fill_random`.

    Notes
    -----
    The element of a global index gets the bits that `execspace.fill_random` gives it in one View
    of the global shape. Fields need no messages; it does not block where the space is
    asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((6, 5)).field(halo=1, space="serial")
    >>> escomm.fill_random(u, 2024)
    >>> whole = np.empty((6, 5))
    >>> es.fill_random(whole, 2024, space="serial")
    >>> (i, j), (k, m) = u.decomposition.lower, u.decomposition.upper
    >>> bool((u.own.to_numpy() == whole[i:k, j:m]).all())
    True
    """
    options: dict[str, Any] = {
        "distribution": distribution, "mean": mean, "std": std, "draw": draw, "space": space
    }  # fmt: skip
    if isinstance(array, Field):
        if offset is not None or comm is not None:
            name = "offset" if offset is not None else "comm"
            raise CommError(
                f"fill_random: {name}= beside field '{array.label}', whose decomposition says "
                f"which indices it has; leave it out."
            )
        _fill_field(array, seed, low, high, start=start, **options)
        return
    if offset is not None and comm is not None:
        raise CommError(
            "fill_random: offset= and comm=; expected one of them: an offset asks no ranks."
        )

    def checked() -> tuple[es.View, Any]:
        view, ranks, _ = part_of(array, comm, "fill_random")
        if not view.shape:
            raise CommError(
                f"View '{view.label}' has rank 0, and no first dimension; expected rows."
            )
        return view, ranks

    if offset is None:
        view, ranks = attempt(ranks_of(comm), "fill_random", checked)
    else:
        view, ranks = checked()
    if offset is None:
        ranks._begin("fill_random", 8, dtype=str(view.dtype), shape=("*", *view.shape[1:]))
        offset = int(numbers_of_all(ranks, view.size, "fill_random")[: ranks.rank].sum())
    es.fill_random(view, seed, low, high, start=start + offset, **options)


def _fill_field(
    field: Field, seed: Any, low: Any, high: Any, *, distribution: str, mean: Any, std: Any,
    draw: Any, start: Any, space: Where,
) -> None:  # fmt: skip
    """As `execspace.fill_random`, whose checks and numbers these are, with global indices."""
    view = field.own
    filling._check_target(view)
    where = es.space_for(view, space=space)
    seed = filling._checked(view, "seed", seed, 0, 2**64)
    draw = filling._checked(view, "draw", draw, 0, filling._MOST_DRAWS)
    shape = field.global_shape
    most = filling._MOST_INDICES - prod(shape) + 1
    start = filling._checked(view, "start", start, 0, most)
    if distribution == "normal":
        filling._only(view, distribution, low=low, high=high)
        how, numbers = filling._normal(view, mean, std)
    elif distribution == "uniform":
        filling._only(view, distribution, mean=mean, std=std)
        how, numbers = filling._uniform(view, low, high)
    else:
        raise es.ViewError(
            f"fill_random: distribution {distribution!r} does not exist; expected 'uniform' or "
            f"'normal'."
        )
    strides = [prod(shape[n + 1 :]) for n in range(len(shape))]
    first = start + sum(a * s for a, s in zip(field.decomposition.lower, strides, strict=False))
    # The type of each argument is fixed, so that another seed or bound is not compiled anew.
    given = (how, np.uint64(seed), np.uint64(draw), *numbers)
    if view.size:
        _fill(view, first, strides, given, where)


def _fill(
    view: es.View, first: int, strides: list[int], given: tuple[Any, ...], where: Any
) -> None:
    rank = view.rank
    if rank > _MOST_AXES:
        for n in range(view.shape[-1]):
            _fill(view[..., n], first + n * strides[-1], strides[:-1], given, where)
        return
    policy: Any = es.RangePolicy(view.size, space=where)
    if rank > 1:
        policy = es.MDRangePolicy(view.shape, space=where)
    steps = tuple(np.int64(s) for s in strides)
    es.parallel_for(policy, _FILLS[rank], view, np.int64(first), steps, *given, label="fill_random")


# Kernels: `n` is the linear index in the array of all ranks. They name `element` through its
# module, because such names are not read again at each launch.


def _fill_1(i, A, n, s, how, seed, draw, p, q, r):  # type: ignore[no-untyped-def]
    A[i] = _random.element(A, how, seed, n + i * s[0], draw, p, q, r)


def _fill_2(i, j, A, n, s, how, seed, draw, p, q, r):  # type: ignore[no-untyped-def]
    A[i, j] = _random.element(A, how, seed, n + i * s[0] + j * s[1], draw, p, q, r)


def _fill_3(i, j, k, A, n, s, how, seed, draw, p, q, r):  # type: ignore[no-untyped-def]
    at = n + i * s[0] + j * s[1] + k * s[2]
    A[i, j, k] = _random.element(A, how, seed, at, draw, p, q, r)


def _fill_4(i, j, k, m, A, n, s, how, seed, draw, p, q, r):  # type: ignore[no-untyped-def]
    at = n + i * s[0] + j * s[1] + k * s[2] + m * s[3]
    A[i, j, k, m] = _random.element(A, how, seed, at, draw, p, q, r)


def _fill_5(  # type: ignore[no-untyped-def]
    i, j, k, m, o, A, n, s, how, seed, draw, p, q, r
):
    at = n + i * s[0] + j * s[1] + k * s[2] + m * s[3] + o * s[4]
    A[i, j, k, m, o] = _random.element(A, how, seed, at, draw, p, q, r)


def _fill_6(  # type: ignore[no-untyped-def]
    i, j, k, m, o, t, A, n, s, how, seed, draw, p, q, r
):
    at = n + i * s[0] + j * s[1] + k * s[2] + m * s[3] + o * s[4] + t * s[5]
    A[i, j, k, m, o, t] = _random.element(A, how, seed, at, draw, p, q, r)


_FILLS: dict[int, Any] = {
    1: _fill_1, 2: _fill_2, 3: _fill_3, 4: _fill_4, 5: _fill_5, 6: _fill_6,
}  # fmt: skip
