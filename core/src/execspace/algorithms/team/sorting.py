"""sort and sort_by_key, by the threads of a team: a network of comparisons, in place.

Merge exchange, by K. E. Batcher: see D. E. Knuth, The Art of Computer Programming, volume 3,
section 5.2.2, algorithm M, which says for any number of elements what is compared. The
comparisons of a step have no element in common, so all lanes do them at once.
"""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ..merge_sort import precedes


@function
def _merge_exchange(team: Any, n: Any, exchange: Any) -> None:
    """Call ``exchange(i, j)``, which brings elements ``i < j`` into order, step by step."""
    top = 1
    while top < n:
        top *= 2
    p = top // 2
    while p > 0:
        q = top // 2
        r = 0
        d = p
        while d > 0:
            # All i < n - d whose bit p is that of r, counted one after the other.
            places = n - d
            rest = places & (2 * p - 1)
            pairs = (places - rest) // 2 + min(max(rest - r, 0), p)
            for k in TeamVectorRange(team, pairs):
                low = k & (p - 1)
                i = 2 * (k - low) + low + r
                exchange(i, i + d)
            team.barrier()
            d = q - p
            q //= 2
            r = p
        p //= 2


@function
def sort(team: Any, view: Any, less: Any = None) -> None:
    """Sort the elements of a View in place. Not stable.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
        Also scratch memory of the team.
    less : function, optional
        Of two elements: whether the one comes before the other; a strict weak ordering. Without it
        the order is that of `es.sort`: numbers ascend, and NaN is greater than every number.

    Notes
    -----
    Ends with a barrier. Of `n` elements there are about ``log2(n) ** 2 / 2`` steps, with a barrier
    each, and ``n / 2`` comparisons or fewer in a step. Takes no memory.
    https://kokkos.org/kokkos-core-wiki/API/algorithms/Sort.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 2])
    >>> es.algorithms.team.sort(es.TeamMember(), x)
    >>> x
    array([1, 2, 3])
    """
    check_function("less", less)
    before = less or precedes

    def exchange(i: Any, j: Any) -> None:
        if before(view[j], view[i]):
            view[i], view[j] = view[j], view[i]

    _merge_exchange(team, len(view), exchange)


@function
def sort_by_key(team: Any, keys: Any, values: Any, less: Any = None) -> None:
    """Sort keys in place, and bring the elements of another View into the same order.

    Not stable. `values` has as many elements as `keys`. Ends with a barrier. See `sort`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> keys, values = np.array([3, 1, 2]), np.array([30, 10, 20])
    >>> es.algorithms.team.sort_by_key(es.TeamMember(), keys, values)
    >>> values
    array([10, 20, 30])
    """
    check_function("less", less)
    before = less or precedes

    def exchange(i: Any, j: Any) -> None:
        if before(keys[j], keys[i]):
            keys[i], keys[j] = keys[j], keys[i]
            values[i], values[j] = values[j], values[i]

    _merge_exchange(team, len(keys), exchange)
