"""BsrMatrix: a sparse matrix of dense blocks of one size, by rows of blocks.

Row `i` of blocks has the blocks `row_map[i] <= k < row_map[i + 1]`: `values[k]` is a block, the
`entries[k]`-th from the left. An index serves all elements of a block, so products read less.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import execspace as es

from ..arguments import as_view, check_not_waited_for, on_space, shown
from ..decisions import only
from ..errors import MatrixError
from . import ports
from .crs import CrsMatrix, OfGraph, StaticCrsGraph, shape_of
from .elements import check_floats, check_numbers
from .rows import columns_of, keys_of, offsets_for, row_map_of, row_numbers, runs_of, transposed

__all__ = ["BsrMatrix", "to_bsr"]


class BsrMatrix(OfGraph):
    """A sparse matrix of dense blocks.

    Parameters
    ----------
    row_map : View or array of int32 or int64, shape (m / r + 1,)
        Where the blocks of each row of blocks begin; the last one is the number of all.
    entries : View or array of int32 or int64, shape (number of blocks,)
        Where each block is in its row, counted in blocks.
    values : View or array, shape (number of blocks, r, c)
        The elements, real or complex floating-point numbers. They may change.
    shape : (int, int)
        Rows m and columns n, of elements; multiples of r and c.
    check, space
        As of `CrsMatrix`.

    Raises
    ------
    MatrixError, ViewError
        As `CrsMatrix`; and if the blocks do not fit the shape.

    Attributes
    ----------
    graph : StaticCrsGraph
        Of the blocks.
    values : View
    shape : (int, int)
    block : (int, int)
        Rows and columns of a block.
    nnz : int
        Number of stored elements.

    Notes
    -----
    The layout is that of SciPy's `bsr_array`, of sparse BSR tensors of PyTorch, and of Kokkos
    Kernels' `BsrMatrix`.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> B = sparse.BsrMatrix([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]], shape=(2, 4))
    >>> B.to_numpy().tolist()
    [[0.0, 0.0, 1.0, 2.0], [3.0, 4.0, 0.0, 0.0]]
    """

    _instead = (
        "For a copy take BsrMatrix.of(B.graph, execspace.array(B.values)). Pickle "
        "sparse.to_scipy(B), and take sparse.as_bsr of that where it arrives."
    )

    def __init__(
        self,
        row_map: Any,
        entries: Any,
        values: Any,
        shape: tuple[int, int],
        *,
        check: bool = True,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        elements = _blocks(values, space)
        extents = shape_of(shape)
        (m, r), (n, c) = zip(extents, elements.shape[1:], strict=True)
        if m % r or n % c:
            raise MatrixError(
                f"shape={extents}, and blocks are of {r} x {c}; expected multiples of these."
            )
        graph = StaticCrsGraph(row_map, entries, n // c, check=False, space=space)
        if graph.num_rows != m // r:
            raise MatrixError(
                f"row_map has {graph.num_rows + 1} elements; expected {m // r + 1}, one more than "
                f"shape={shape} has rows of blocks of {r} x {c}."
            )
        if check:
            graph._check()
        self._set(graph, elements, space)

    def _checked(self, values: Any, space: Any) -> es.View:
        elements = _blocks(values, space)
        before = getattr(self, "_values", None)
        if before is not None and elements.shape != before.shape:
            raise MatrixError(
                f"values has shape {elements.shape}; expected {before.shape}, as before."
            )
        if elements.shape[0] != self.graph.nnz:
            raise MatrixError(
                f"values has shape {elements.shape}; expected {self.graph.nnz} blocks, one for "
                f"each entry."
            )
        return on_space(elements, space)

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        rows, columns = self.values.shape[1:]
        return rows, columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, of elements."""
        r, c = self.block
        return self.graph.num_rows * r, self.graph.num_cols * c

    @property
    def nnz(self) -> int:
        """Number of stored elements."""
        return self.values.size

    @property
    def T(self) -> BsrMatrix:
        """The transpose, a new matrix."""
        space = self.space
        graph, order = transposed(self.graph, space)
        r, c = self.block
        shape = self.graph.nnz, c, r
        values = es.View(shape, self.dtype, label="values", space=space, initialize=False)
        every = es.MDRangePolicy(shape, space=space)
        es.parallel_for(every, _turned, values, self.values, order)
        return BsrMatrix.of(graph, values)

    def to_crs(self) -> CrsMatrix:
        """The matrix by rows; zeros in blocks are elements of it. Asynchronous where the space
        is; offsets become int64 where int32 cannot count the elements."""
        space = self.space
        (m, n), (r, c) = self.shape, self.block
        counts = self.row_map.dtype, offsets_for(self.nnz, None)
        columns = self.entries.dtype, offsets_for(max(n - 1, 0), None)
        row_map, entries, values = (
            es.View(size, dtype, label=label, space=space, initialize=False)
            for size, dtype, label in (
                (m + 1, np.result_type(*counts), "row_map"),
                (self.nnz, np.result_type(*columns), "entries"),
                (self.nnz, self.dtype, "values"),
            )
        )
        es.parallel_for(
            es.RangePolicy(m + 1, space=space), _rows_begin, self.row_map, row_map, r, c
        )
        es.parallel_for(
            es.RangePolicy(m, space=space), _unblocked, self.row_map, self.entries, self.values,
            row_map, entries, values, r, c,
        )  # fmt: skip
        graph = StaticCrsGraph(row_map, entries, n, check=False)
        return CrsMatrix.of(graph.pending(), values)

    def to_numpy(self) -> Any:
        """All elements, zeros as well, as a NumPy array. Blocks."""
        check_not_waited_for("BsrMatrix.to_numpy")
        starts, columns = self.row_map.to_numpy(), self.entries.to_numpy()
        (m, n), (r, c) = self.shape, self.block
        dense = np.zeros((m // r, n // c, r, c), self.dtype)
        rows = np.repeat(np.arange(m // r), np.diff(starts))
        np.add.at(dense, (rows, columns), self.values.to_numpy())
        return dense.transpose(0, 2, 1, 3).reshape(m, n)

    def __repr__(self) -> str:
        (m, n), (r, c) = self.shape, self.block
        where = self.values.memory_space.name
        return (
            f"<BsrMatrix {m} x {n} of {self.dtype}, {self.graph.nnz} blocks of {r} x {c}, "
            f"memory={where}>"
        )


def _blocks(values: Any, space: Any) -> es.View:
    elements = as_view(values, "values", space)
    if elements.rank != 3 or not all(elements.shape[1:]):
        raise MatrixError(
            f"values has shape {elements.shape}; expected (number of blocks, rows of a block, "
            f"columns of a block)."
        )
    check_floats(elements)
    return elements


def to_bsr(A: CrsMatrix | Any, block: int | tuple[int, int]) -> BsrMatrix:
    """A matrix by blocks: each block with an element of A is stored, and zero where A has none.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        m x n; read. Elements at one place are added.
    block : int or (int, int)
        Rows and columns of a block; or the one number of both. m and n are multiples of it.

    Returns
    -------
    BsrMatrix
        A new one, whose blocks ascend in each row.

    Raises
    ------
    MatrixError
        If `A` is no sparse matrix, or `block` no size of blocks for its shape.

    Notes
    -----
    Blocks, for the number of blocks must be known. Offsets and columns keep their dtypes.
    """
    check_not_waited_for("to_bsr")
    A = ports.as_crs(A)
    check_numbers("to_bsr", A)
    r, c = _size(block)
    (m, n), space = A.shape, A.space
    if m % r or n % c:
        raise MatrixError(
            f"to_bsr: block={shown(block)} for a matrix of {m} x {n}; expected sizes that divide "
            f"these."
        )
    extents = m // r, n // c
    only("to_bsr", "sort")
    rows = row_numbers(A.graph, space)
    every = es.RangePolicy(A.nnz, space=space)
    across, down = (
        es.View(A.nnz, np.int64, label="blocks", space=space, initialize=False) for _ in "cr"
    )
    es.parallel_for(every, _block_of, rows, A.entries, down, across, r, c)
    kept, starts, order = runs_of(keys_of(down, across, extents, space), space)
    count = kept.shape[0]
    values = es.View((count, r, c), A.dtype, label="values", space=space)
    es.parallel_for(
        es.RangePolicy(count, space=space), _put, starts, order, rows, A.entries, A.values, values
    )
    row_map = row_map_of(kept, *extents, A.row_map.dtype, space)
    entries = columns_of(kept, extents[1], A.entries.dtype, space)
    return BsrMatrix.of(StaticCrsGraph(row_map, entries, extents[1], check=False), values)


def _size(block: Any) -> tuple[int, int]:
    """Rows and columns of a block."""
    pair = block if isinstance(block, tuple | list) else (block, block)
    try:
        r, c = map(operator.index, pair)
    except (TypeError, ValueError):
        r = c = 0
    if r < 1 or c < 1 or any(isinstance(b, bool) for b in pair):
        raise MatrixError(
            f"to_bsr: block={shown(block)}; expected a number of 1 or more, or two: rows and "
            f"columns."
        )
    return r, c


# -- kernels --------------------------------------------------------------------------------------


def _turned(k: int, i: int, j: int, to: Any, source: Any, order: Any) -> None:
    to[k, i, j] = source[order[k], j, i]


def _rows_begin(i: int, blocks: Any, row_map: Any, r: Any, c: Any) -> None:
    row = min(i // r, blocks.extent(0) - 1)
    begin = np.int64(blocks[row])
    each = np.int64(blocks[min(row + 1, blocks.extent(0) - 1)]) - begin
    row_map[i] = (begin * r + (i - row * r) * each) * c


def _unblocked(
    i: int, blocks: Any, columns: Any, source: Any, row_map: Any, entries: Any, values: Any, r: Any,
    c: Any,
) -> None:  # fmt: skip
    at = row_map[i]
    for k in range(blocks[i // r], blocks[i // r + 1]):
        for j in range(c):
            entries[at] = np.int64(columns[k]) * c + j
            values[at] = source[k, i % r, j]
            at += 1


def _block_of(k: int, rows: Any, entries: Any, down: Any, across: Any, r: Any, c: Any) -> None:
    down[k] = rows[k] // r
    across[k] = entries[k] // c


def _put(
    k: int, starts: Any, order: Any, rows: Any, entries: Any, elements: Any, values: Any
) -> None:
    for t in range(starts[k], starts[k + 1]):
        at = order[t]
        values[k, rows[at] % values.extent(1), entries[at] % values.extent(2)] += elements[at]
