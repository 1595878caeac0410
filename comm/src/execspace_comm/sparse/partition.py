"""Partition: the rows of a matrix, or elements of a vector, as a contiguous range of each rank."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..communicator import Comm
from ..errors import CommError, translated
from ..grid import part
from ..parts import numbers_of_all, ranks_of

__all__ = ["Partition", "as_partition"]


class Partition:
    """Indices from 0 to below n, of which each rank has a contiguous range, maybe an empty one.

    Parameters
    ----------
    n : int
        Of all ranks together.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks; all of the program if not given.
    bounds : sequence of int, optional
        Where the range of each rank begins, and at last `n`: one number more than there are ranks,
        the same on all. Without it ranges are even, the first ones longer by one.

    Attributes
    ----------
    comm : Comm
    n : int
    bounds : numpy.ndarray of int64, shape (ranks + 1,)
        Read-only.
    lower, upper : int
        Bounds of the range of this rank, the upper one excluded.
    size : int
        Indices of this rank.

    Raises
    ------
    CommError
        If `n` is no number, or `bounds` do not ascend from 0 to `n`.

    Notes
    -----
    Not collective, and blocks for nothing; `of_sizes` and `balanced` with `root` are, and do.

    Examples
    --------
    >>> import execspace_comm as escomm
    >>> from execspace_comm.sparse import Partition
    >>> p = Partition(10)
    >>> p.comm.size > 1 or (p.lower, p.upper) == (0, 10)
    True
    """

    def __init__(
        self, n: int, comm: Comm | Any = None, *, bounds: Sequence[int] | None = None
    ) -> None:
        self.comm = ranks_of(comm)
        self.n = _count(n, "n")
        size = self.comm.size
        if bounds is None:
            found = np.array([part(self.n, size, r)[0] for r in range(size)] + [self.n], np.int64)
        else:
            found = _bounds(bounds, self.n, size)
        found.flags.writeable = False
        self.bounds: npt.NDArray[np.int64] = found
        self.lower, self.upper = (int(b) for b in found[self.comm.rank : self.comm.rank + 2])
        self.size = self.upper - self.lower

    @classmethod
    def of_sizes(cls, size: int, comm: Comm | Any = None) -> Partition:
        """The one in which this rank has so many indices. Collective; blocks."""
        ranks = ranks_of(comm)
        sizes = numbers_of_all(ranks, _count(size, "size"), "Partition.of_sizes")[:, 0]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return cls(int(bounds[-1]), ranks, bounds=bounds.tolist())

    @classmethod
    def balanced(
        cls, weights: Any, comm: Comm | Any = None, *, root: int | None = None
    ) -> Partition:
        """The one in which ranks have about equal sums of weights.

        Parameters
        ----------
        weights : array of numbers, shape (n,)
            What each index costs, none negative, as the number of entries of each row,
            ``numpy.diff(row_map)``. The same on all ranks.
        comm : Comm or mpi4py.MPI.Intracomm, optional
        root : int, optional
            The weights of this rank count, which tells the bounds to the others: collective then,
            and blocks. What others give does not matter.
        """
        ranks = ranks_of(comm)
        if root is None:
            n, bounds = _balanced(weights, ranks.size)
            return cls(n, ranks, bounds=bounds)
        peer = ranks._peer(root, "Partition.balanced", "root")
        found: Any = None
        if ranks.rank == peer:
            try:
                found = _balanced(weights, ranks.size)
            except CommError as error:
                found = error
        with translated("Partition.balanced"):
            found = ranks.mpi.bcast(found, peer)
        if isinstance(found, CommError):
            raise found
        return cls(found[0], ranks, bounds=found[1])

    def owner(self, index: Any) -> Any:
        """The rank that has an index, or those of an array of indices.

        Raises
        ------
        CommError
            If one of them is none of the indices.
        """
        asked = np.asarray(index)
        is_whole = asked.dtype.kind in "iu" or not asked.size
        if not is_whole or (asked.size and not 0 <= asked.min() <= asked.max() < self.n):
            raise CommError(f"{self!r} has no index {index!r}; expected 0 to {self.n - 1}.")
        found = np.searchsorted(self.bounds, asked, "right") - 1
        return int(found) if found.ndim == 0 else found

    @property
    def range(self) -> range:
        """Indices of this rank."""
        return range(self.lower, self.upper)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partition)
            and self.comm is other.comm
            and np.array_equal(self.bounds, other.bounds)
        )

    def __hash__(self) -> int:
        return hash((self.n, self.lower, self.upper))

    def __repr__(self) -> str:
        return (
            f"<Partition of {self.n} over {self.comm.size} ranks; rank {self.comm.rank} has "
            f"{self.lower} to {self.upper}>"
        )


def as_partition(given: Any, comm: Comm, what: str, default: Partition | None = None) -> Partition:
    """A partition, a number of indices that is divided evenly, or the default one for None.

    Raises
    ------
    CommError
        For all else, or one over other ranks.
    """
    if given is None and default is not None:
        return default
    if isinstance(given, Partition):
        if given.comm is not comm:
            raise CommError(f"{what}={given!r} is over {given.comm!r}; expected one over {comm!r}.")
        return given
    try:
        return Partition(operator.index(given), comm)
    except TypeError:
        raise CommError(f"{what}={given!r}; expected a Partition, or a number.") from None


def _count(value: Any, name: str) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        found = -1
    if found < 0 or isinstance(value, bool):
        raise CommError(f"Partition: {name}={value!r}; expected a number of 0 or more.")
    return found


def _bounds(bounds: Any, n: int, size: int) -> npt.NDArray[np.int64]:
    try:
        found = np.array([operator.index(b) for b in bounds], np.int64)
    except TypeError:
        found = np.zeros(0, np.int64)
    if found.shape != (size + 1,) or found[0] or found[-1] != n or (np.diff(found) < 0).any():
        raise CommError(
            f"Partition: bounds={bounds!r}; expected {size + 1} numbers for {size} ranks, which "
            f"ascend from 0 to {n}."
        )
    return found


def _balanced(weights: Any, size: int) -> tuple[int, list[int]]:
    given = np.asarray(weights)
    if given.ndim != 1 or given.dtype.kind not in "iuf" or (given.size and not given.min() >= 0):
        raise CommError(
            f"Partition.balanced: weights of shape {given.shape} and {given.dtype}; expected one "
            f"number for each index, none negative."
        )
    # Sums up to each bound that there may be; of equally near ones the first is taken.
    sums = np.concatenate([np.zeros(1), np.cumsum(given, dtype=np.float64)])
    n, total, bounds = given.size, sums[-1], [0]
    if not np.isfinite(total):
        raise CommError("Partition.balanced: weights have no finite sum; expected one.")
    if not total:
        return n, [part(n, size, r)[0] for r in range(size)] + [n]
    for rank in range(1, size):
        wanted = total * rank / size
        at = int(np.searchsorted(sums, wanted))
        if at and wanted - sums[at - 1] <= sums[at] - wanted:
            at -= 1
        bounds.append(max(at, bounds[-1]))
    return n, [*bounds, n]
