"""CooMatrix: a sparse matrix as a list of rows, columns and values."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import as_view, check_not_waited_for, elements_of, first, indices, reaching
from ..decisions import only
from ..errors import MatrixError
from .crs import CrsMatrix, shape_of
from .matrix import Matrix
from .rows import from_keys, keys_of

__all__ = ["CooMatrix"]


class CooMatrix(Matrix):
    """A sparse matrix whose elements come in any order, some more than once: these are added.

    Parameters
    ----------
    rows, columns : View or array of int32 or int64, shape (nnz,)
    values : View or array, shape (nnz,)
    shape : (int, int)
    check : bool, default True
        Look whether all rows and columns lie within the shape. Blocks.

    Raises
    ------
    MatrixError, ViewError
        If lengths or dtypes do not fit, or an element lies outside; the message names it.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CooMatrix([1, 0, 1], [0, 1, 0], [1.0, 2.0, 3.0], (2, 2)).to_crs()
    >>> A.to_numpy().tolist()
    [[0.0, 2.0], [4.0, 0.0]]
    """

    _instead = (
        "Pickle rows, columns and values, each by to_numpy(), and the shape, and make a CooMatrix "
        "of them where they arrive."
    )

    def __init__(
        self, rows: Any, columns: Any, values: Any, shape: tuple[int, int], *, check: bool = True
    ) -> None:
        self.shape = shape_of(shape)
        self.rows, self.columns = indices(rows, "rows"), indices(columns, "columns")
        self.values = as_view(values, "values")
        n = self.rows.shape[0]
        if self.columns.shape != (n,) or self.values.shape != (n,):
            raise MatrixError(
                f"rows, columns and values have shapes {self.rows.shape}, {self.columns.shape} and "
                f"{self.values.shape}; expected the same number of each."
            )
        if check:
            bad = self._outside()
            if bad is not None:
                at = tuple(int(elements_of(v[bad : bad + 1])[0]) for v in (self.rows, self.columns))
                raise MatrixError(
                    f"element {bad} is at {at}, outside of a matrix of {self.shape[0]} rows and "
                    f"{self.shape[1]} columns."
                )

    def _outside(self) -> int | None:
        """The first element that lies outside, if there is one."""
        space = reaching(self.rows, self.columns)
        return first(self.nnz, space, _is_outside, self.rows, self.columns, *self.shape)

    def __matmul__(self, x: Any) -> Any:
        raise MatrixError(
            "CooMatrix @ x: its elements are in any order, and to sort them takes longer than the "
            "product; make it by rows once, A = matrix.to_crs(), and take A @ x."
        )

    def __copy__(self) -> CooMatrix:
        return CooMatrix(self.rows, self.columns, self.values, self.shape, check=False)

    @property
    def T(self) -> CooMatrix:
        """The transpose, which shares all arrays."""
        return CooMatrix(self.columns, self.rows, self.values, self.shape[::-1], check=False)

    @property
    def nnz(self) -> int:
        """Number of elements, those at one place counted each."""
        return int(self.rows.shape[0])

    def to_crs(self, *, offsets: Any = None) -> CrsMatrix:
        """The matrix by rows: sorted, elements at one place added in the order that they have here.

        Parameters
        ----------
        offsets : dtype, optional
            int32 or int64, of the row map; by default int32 where that can count the entries.

        Notes
        -----
        Blocks, for the number of entries must be known. Columns keep their dtype.
        """
        check_not_waited_for("CooMatrix.to_crs")
        space = es.space_for(self.rows, self.columns, self.values)
        only("to_crs", "sort")
        keys = keys_of(self.rows, self.columns, self.shape, space)
        values = es.array(self.values, space=space)
        return from_keys(keys, values, self.shape, self.columns.dtype, offsets, space)

    def to_numpy(self) -> Any:
        """All elements, zeros as well, as a NumPy array; those at one place are added. Blocks."""
        check_not_waited_for("CooMatrix.to_numpy")
        return self.to_crs().to_numpy()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<CooMatrix {rows} x {columns} of {self.values.dtype}, {self.nnz} elements>"


def _is_outside(k: int, rows: Any, columns: Any, m: Any, n: Any) -> Any:
    inside = 0 <= rows[k] < m and 0 <= columns[k] < n
    return rows.extent(0) if inside else k
