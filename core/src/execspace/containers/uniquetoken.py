"""UniqueToken: numbers that no two work items hold at the same time."""

from __future__ import annotations

from typing import Any

from ..base.brief import brief
from ..base.errors import PolicyError
from ..base.readonly import ReadOnly
from ..contract.dtypes import int32
from ..contract.space import ExecutionSpace
from ..kernels.atomics import atomic_compare_exchange, atomic_store
from ..plugins.selection import default_space, resolve
from ..views.view import View

__all__ = [
    "UniqueToken",
]

_APART = 16  # entries between two locks: no shared cache line


class UniqueToken(ReadOnly):
    """Ids from 0 to `size` - 1, each held by one work item of a kernel at a time.

    An id is the index of something that a work item needs for itself: a copy, a workspace, a
    generator of random numbers. There need only be as many as work items run at once.

    `acquire` and `release` are called in kernels, which capture the token or have it as an
    attribute of their functor. What one holder of an id wrote is seen by the next one.

    Parameters
    ----------
    space : str or ExecutionSpace, optional
        Where the kernels run; the default space if not given.
    size : int, optional
        Number of ids; `space.concurrency` if not given. With fewer ids than work items that run
        at once, some wait.

    Attributes
    ----------
    size : int

    Raises
    ------
    PolicyError
        If `size` is not an integer greater than zero.
    SpaceError
        If there is no such space.

    Notes
    -----
    Kokkos: Kokkos::Experimental::UniqueToken,
    https://kokkos.org/kokkos-core-wiki/API/core/utilities/experimental.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> token = es.UniqueToken("serial", size=2)
    >>> copies = np.zeros((token.size, 3))
    >>> @es.kernel
    ... def count(i):
    ...     mine = token.acquire(i)
    ...     copies[mine, i % 3] += 1.0
    ...     token.release(mine)
    >>> es.parallel_for(es.RangePolicy(30, space="serial"), count)
    >>> copies.sum(axis=0)
    array([10., 10., 10.])
    """

    _fixed = frozenset(("size", "space"))
    _instead = "Make a new UniqueToken"
    _in_launches = "Name it in the kernel, which captures it, or make it an attribute of a functor."
    _for_kernels = ("acquire", "release", "size")

    def __init__(self, space: str | ExecutionSpace | None = None, size: int | None = None) -> None:
        chosen = default_space() if space is None else resolve(space)
        number = chosen.concurrency if size is None else size
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise PolicyError(
                f"UniqueToken: size is {brief(number)}, expected an integer greater than zero, or "
                f"None for as many ids as work items of space '{chosen.name}' run at once."
            )
        self.size = number
        self.space = chosen
        self._locks = View((number, _APART), int32, label="UniqueToken", space=chosen)

    def acquire(self, hint: Any = 0) -> Any:
        """An id that no other work item holds; for kernels. Waits until there is one.

        Parameters
        ----------
        hint : int, default 0
            Any integer. The search begins at ``hint % size``, so different hints make it short.
        """
        id = hint % self.size
        while atomic_compare_exchange(self._locks, (id, 0), 0, 1) != 0:
            id = (id + 1) % self.size
        return id

    def release(self, id: Any) -> None:
        """Give an id back; for kernels, by the work item that acquired it."""
        atomic_store(self._locks, (id, 0), 0)

    def __repr__(self) -> str:
        return f"<UniqueToken of {self.size} ids on space '{self.space.name}'>"
