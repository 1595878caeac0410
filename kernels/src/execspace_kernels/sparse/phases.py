"""What second phases look at: the handle, the graphs that it is for, a result that comes again."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import overlap
from ..errors import MatrixError
from .crs import CrsMatrix, StaticCrsGraph
from .elements import is_record, name_of


def check_handle(what: str, handle: Any, kind: type, symbolic: str) -> None:
    """Raise MatrixError for what is no handle of the first phase."""
    if not isinstance(handle, kind):
        raise MatrixError(f"{what}: handle={handle!r}; expected that of {symbolic}.")


def check_graph(
    what: str, name: str, matrix: CrsMatrix, graph: StaticCrsGraph, symbolic: str
) -> None:
    """Raise MatrixError for a matrix of another graph than the first phase was for."""
    if not matrix.graph.is_same(graph):
        raise MatrixError(
            f"{what}: {name} is {matrix!r}, and the handle was made for another graph, {graph!r}; "
            f"make another one by {symbolic}."
        )


def result_of(
    what: str,
    noun: str,
    C: CrsMatrix | None,
    graph: StaticCrsGraph,
    dtype: np.dtype[Any],
    space: es.ExecutionSpace,
    *read: CrsMatrix,
) -> CrsMatrix:
    """C, if it is given and fits, else a new matrix; `noun` is what the result is: "sum"."""
    if C is None:
        values = es.View(graph.nnz, dtype, label="values", space=space, initialize=False)
        return CrsMatrix.of(graph, values)
    if not isinstance(C, CrsMatrix) or C.graph is not graph:
        raise MatrixError(
            f"{what}: C has another graph than the handle; expected what {what} returned for it."
        )
    if C.dtype != dtype and (is_record(dtype) or is_record(C.dtype)):
        raise MatrixError(
            f"{what}: the {noun} is of {name_of(dtype)}, and C of {name_of(C.dtype)}; expected the "
            f"same."
        )
    if dtype.kind == "c" and C.dtype.kind != "c":
        raise MatrixError(f"{what}: the {noun} is complex, and C is of {C.dtype}.")
    if C.values.is_readonly:
        raise MatrixError(f"{what}: the values of C are read-only.")
    if any(overlap(C.values, matrix.values) for matrix in read):
        raise MatrixError(f"{what}: the values of C overlap those of A or B in memory.")
    return C
