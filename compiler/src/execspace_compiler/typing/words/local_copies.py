"""Copies and fills of Views by all threads of a team, in the language of kernels.

Neighbouring lanes take neighbouring elements: the three fastest dimensions are distributed.
"""

from __future__ import annotations

from typing import Any

import execspace as es


def copy(team: Any, to: Any, source: Any, of_view: es.static, left: es.static) -> None:
    """Store `source` in a View, or its elements if it is one; `left`: the first index is the
    fastest."""
    team.barrier()
    if to.rank == 0:
        if es.single(es.PerTeam(team)):
            to[()] = source[()] if of_view else source
    elif to.rank == 1:
        for k in es.TeamVectorRange(team, to.extent(0)):
            to[k] = source[k] if of_view else source
    elif to.rank == 2:
        n, m = to.extent(0), to.extent(1)
        for k in es.TeamVectorRange(team, n * m):
            if left:
                to[k % n, k // n] = source[k % n, k // n] if of_view else source
            else:
                to[k // m, k % m] = source[k // m, k % m] if of_view else source
    elif left:
        n, m = to.extent(0), to.extent(1)
        for k in es.TeamVectorRange(team, n * m * to.extent(2)):
            _put_left(to, source, of_view, k % n, k // n % m, k // (n * m))
    else:
        m, p = to.extent(to.rank - 2), to.extent(to.rank - 1)
        for k in es.TeamVectorRange(team, to.extent(to.rank - 3) * m * p):
            _put_right(to, source, of_view, k // (m * p), k // p % m, k % p)
    team.barrier()


def _put_left(to: Any, source: Any, of_view: es.static, a: Any, b: Any, c: Any) -> None:
    if to.rank == 3:
        to[a, b, c] = source[a, b, c] if of_view else source
    elif to.rank == 4:
        to[a, b, c, :] = source[a, b, c, :] if of_view else source
    elif to.rank == 5:
        to[a, b, c, :, :] = source[a, b, c, :, :] if of_view else source
    elif to.rank == 6:
        to[a, b, c, :, :, :] = source[a, b, c, :, :, :] if of_view else source
    elif to.rank == 7:
        to[a, b, c, :, :, :, :] = source[a, b, c, :, :, :, :] if of_view else source
    else:
        to[a, b, c, :, :, :, :, :] = source[a, b, c, :, :, :, :, :] if of_view else source


def _put_right(to: Any, source: Any, of_view: es.static, a: Any, b: Any, c: Any) -> None:
    if to.rank == 3:
        to[a, b, c] = source[a, b, c] if of_view else source
    elif to.rank == 4:
        to[:, a, b, c] = source[:, a, b, c] if of_view else source
    elif to.rank == 5:
        to[:, :, a, b, c] = source[:, :, a, b, c] if of_view else source
    elif to.rank == 6:
        to[:, :, :, a, b, c] = source[:, :, :, a, b, c] if of_view else source
    elif to.rank == 7:
        to[:, :, :, :, a, b, c] = source[:, :, :, :, a, b, c] if of_view else source
    else:
        to[:, :, :, :, :, a, b, c] = source[:, :, :, :, :, a, b, c] if of_view else source
