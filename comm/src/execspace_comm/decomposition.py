"""Decomposition: a range of several dimensions over ranks, and fields on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

import execspace as es

from .division import Division
from .field import Field
from .halo import Halo

__all__ = ["Decomposition"]


class Decomposition(Division):
    """A range of indices, divided into one box for each rank.

    Parameters
    ----------
    extents : int or sequence of int
        Global extents; rank 1 to 6.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        The ranks; all of the program if not given.
    periodic : bool or sequence of bool
        Whether the first index follows the last one, in all dimensions or in each.
    ranks : sequence of int, optional
        How many ranks divide each dimension, 0 for what is to be chosen. By default so that the
        busiest rank has as little as possible, and the least is exchanged.

    Attributes
    ----------
    comm : Comm
    extents, periodic, ranks : tuple
    coordinates : tuple of int
        Where this rank is in the grid of ranks, the last dimension running fastest.
    lower, upper : tuple of int
        Global bounds of this rank's box, the upper ones excluded.
    shape : tuple of int
        Its extents; some are 0 where there are more ranks than indices.

    Raises
    ------
    CommError
        If extents are no extents, or `ranks` does not divide the ranks that there are.

    Notes
    -----
    Not collective, and blocks for nothing: each rank computes what all have.

    Examples
    --------
    >>> import execspace_comm as escomm
    >>> d = escomm.Decomposition((100, 80), periodic=(True, False))
    >>> d.comm.size > 1 or d.shape == (100, 80)
    True
    """

    def field(
        self,
        dtype: npt.DTypeLike = "float64",
        *,
        halo: Any = 0,
        components: int | Sequence[int] = (),
        label: str = "",
        space: str | es.ExecutionSpace | None = None,
        layout: str | None = None,
    ) -> Field:
        """A View of this rank's box and of a halo around it, zeros at first.

        Parameters
        ----------
        dtype : dtype-like
        halo : int, or a sequence with an int or a pair of them for each dimension
            How many indices of neighbours are kept, or how many before and behind.
        components : int or sequence of int
            Extents of what each index has, as the last dimensions of the View; a number by
            default.
        label : str
        space : str or ExecutionSpace, optional
            Where it is; the default space if not given. Spaces of ranks may differ.
        layout : {"right", "left"}, optional
        """
        return Field(self, dtype, halo, components, label, space, layout)

    def halo(self, *fields: Field, reach: str = "corners", **options: Any) -> Halo:
        """What exchanges the halos of fields; see `Halo`. Collective; blocks."""
        return Halo(*fields, reach=reach, **options)
