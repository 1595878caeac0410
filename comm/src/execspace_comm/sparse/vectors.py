"""Dots and norms of vectors of which each rank has some elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es
from execspace_kernels import blas

from ..communicator import Comm
from ..errors import CommError
from ..parts import attempt, ranks_of

__all__ = ["dot", "norm"]

Space = str | es.ExecutionSpace | None


def dot(x: es.View | Any, y: es.View | Any, *, comm: Comm | Any = None, space: Space = None) -> Any:
    """The sum of conj(x) y over all ranks. Collective; blocks.

    Parameters
    ----------
    x, y : View or array, shape (n,) or (n, k)
        This rank's elements, maybe none: numbers, of the same dtypes and k on all ranks. Read.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        All ranks of the program if not given.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    number, or numpy.ndarray of shape (k,)
        The same on all ranks, to the bit.

    Raises
    ------
    ViewError, SpaceAccessError
        As `execspace_kernels.blas.dot`.
    CommError

    Notes
    -----
    Of each rank it is `blas.dot`, of float64 or complex128; these are added from the first rank to
    the last.

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> from execspace_comm import sparse
    >>> x = es.ones(3, space="serial")
    >>> sparse.dot(x, x, space="serial") == 3.0 * escomm.world().size
    True
    """
    ranks = ranks_of(comm)
    return _joined(ranks, _own(ranks, "dot", lambda: blas.dot(x, y, space=space)), es.Sum)


def norm(x: es.View | Any, order: Any = 2, *, comm: Comm | Any = None, space: Space = None) -> Any:
    """The norm of a vector over all ranks, or of each column of several. Collective; blocks.

    Parameters
    ----------
    x : View or array, shape (n,) or (n, k)
        This rank's elements, maybe none.
    order : {1, 2, numpy.inf}
        The sum of absolute values, the Euclidean norm, or the greatest absolute value.
    comm, space
        As of `dot`.

    Returns
    -------
    float, or numpy.ndarray of shape (k,)
        The same on all ranks, to the bit.

    Raises
    ------
    CommError
        If there is no such order.

    Notes
    -----
    The Euclidean one does not over- or underflow unless it itself does: norms of ranks are divided
    by the greatest one before their squares are added, from the first rank to the last.
    """
    ranks = ranks_of(comm)
    if order not in (1, 2, np.inf):
        raise CommError(f"norm: order={order!r}; expected 1, 2 or numpy.inf.")

    def sizes() -> Any:
        view = ranks._view(x, "norm")
        # Of complex numbers `nrm1` adds both parts, as BLAS does.
        return blas.abs(view, space=space) if view.dtype.kind == "c" else view

    if order == 1:
        return _joined(ranks, _own(ranks, "norm", lambda: blas.nrm1(sizes(), space=space)), es.Sum)
    if order == np.inf:
        return _joined(ranks, _own(ranks, "norm", lambda: blas.nrminf(x, space=space)), es.Max)
    own = np.asarray(_own(ranks, "norm", lambda: blas.nrm2(x, space=space)), np.float64)
    if ranks.size == 1:
        return _number(own)
    most = np.asarray(_joined(ranks, own, es.Max))
    usable = (most > 0) & np.isfinite(most)
    by = np.where(usable, most, 1.0)
    squares = _joined(ranks, np.where(usable, own / by, 0.0) ** 2, es.Sum)
    return _number(np.where(usable, by * np.sqrt(squares), most))


def _own(comm: Comm, what: str, compute: Callable[[], Any]) -> Any:
    """What a rank has; CommError on all if one cannot, or they have other numbers of columns."""

    def about(found: Any) -> dict[str, str]:
        return {"the result": f"{found.dtype} of shape {found.shape}"}

    return attempt(comm, what, lambda: np.asarray(compute()), about)


def _joined(comm: Comm, own: Any, reducer: Any) -> Any:
    numbers = np.asarray(own)
    view = es.array(numbers.reshape(-1), memory=es.HOST, label="ranks")
    return _number(comm.allreduce(view, view, reducer=reducer).to_numpy().reshape(numbers.shape))


def _number(found: Any) -> Any:
    return found if found.ndim else found.item()
