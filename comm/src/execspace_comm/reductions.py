"""Reductions over the ranges of all ranks: every reducer, joined in the order of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es
from execspace.reducers.python_joins import joined, without_final

from .base import CommBase, refuse_recording
from .errors import translated
from .folding import Folding
from .waiting import told_by_all, wait

__all__ = ["Reductions"]

_ELEMENT = np.dtype([("kind", "i8"), ("bits", "u8")])  # of a number that travels
_INT, _UINT, _FLOAT, _OTHER = range(4)


class Reductions(CommBase):
    """The part of `Comm` that joins what kernels return on all ranks."""

    _folding: Folding

    def parallel_reduce(
        self,
        policy: Any,
        kernel: Any,
        /,
        *args: Any,
        reducer: Any = es.Sum,
        label: str | None = None,
    ) -> Any:
        """Join what a kernel returns for every index of the policies of all ranks. Blocks.

        Parameters
        ----------
        policy, kernel, *args, label
            As of `execspace.parallel_reduce`. Each rank has a policy of its own, maybe an empty
            one, on a space of its own.
        reducer : Reducer, class, name, or tuple of them, default es.Sum
            Every reducer that `execspace.parallel_reduce` has: those with locations, which are
            what kernels return, so global indices if that is meant; of arrays; of one's own.

        Returns
        -------
        number, tuple or numpy.ndarray
            The same on all ranks, to the bit.

        Raises
        ------
        CommError
            If MPI reports an error, or, checked, ranks do not call the same.
        KernelSyntaxError, KernelTypeError, LaunchError
            As `execspace.parallel_reduce`.

        Notes
        -----
        Results of ranks are joined in the order of ranks, whatever arrives first. So a sum of
        floats has the same bits in each run on as many ranks; of integers, and the least and the
        greatest of any, on any number of them.

        Examples
        --------
        >>> import execspace as es
        >>> import execspace_comm as escomm
        >>> comm = escomm.world()
        >>> comm.parallel_reduce(es.RangePolicy(4, space="serial"), lambda i: i) == 6 * comm.size
        True
        """
        refuse_recording("parallel_reduce")
        names = _names(reducer)
        self._begin("parallel_reduce", _ELEMENT.itemsize, reducer=names)
        plain = without_final(reducer)
        mine = es.parallel_reduce(policy, kernel, *args, reducer=plain, label=label)
        groups = self._folding.groups() if self.size > self._folding.group else None
        if groups is None:
            return joined(reducer, _results(self._mpi, mine))
        # What a group comes to is joined with what the others come to, by their first ranks.
        inner, outer = groups
        found = joined(plain, _results(inner, mine))
        if outer is not None:
            found = joined(reducer, _results(outer, found))
        return inner.bcast(found)


def _results(mpi: Any, mine: Any) -> list[Any]:
    """The results of all ranks; numbers travel in 16 bytes, all else is pickled."""
    size = mpi.Get_size()
    if size == 1:
        return [mine]
    numbers = np.empty(size, _ELEMENT)
    with translated("parallel_reduce"):
        wait(
            mpi.Iallgather(_packed(mine).view(np.uint8), numbers.view(np.uint8)),
            "parallel_reduce",
        )
        if (numbers["kind"] == _OTHER).any():
            return told_by_all(mpi, mine, "parallel_reduce")
    return [_unpacked(number) for number in numbers]


def _packed(value: Any) -> np.ndarray[Any, Any]:
    found = np.zeros(1, _ELEMENT)
    kind, bits = _OTHER, np.uint64(0)
    if type(value) is float:
        kind, bits = _FLOAT, np.float64(value).view(np.uint64)
    elif type(value) is int and -(2**63) <= value < 2**63:
        kind, bits = _INT, np.int64(value).view(np.uint64)
    elif type(value) is int and 0 <= value < 2**64:
        kind, bits = _UINT, np.uint64(value)
    found["kind"], found["bits"] = kind, bits
    return found


def _unpacked(number: Any) -> Any:
    kind, bits = int(number["kind"]), number["bits"]
    if kind == _FLOAT:
        return float(bits.view(np.float64))
    return int(bits.view(np.int64)) if kind == _INT else int(bits)


def _names(reducer: Any) -> str:
    if isinstance(reducer, tuple):
        return f"({', '.join(map(_names, reducer))})"
    return getattr(reducer, "__name__", "") or getattr(reducer, "name", "") or str(reducer)
