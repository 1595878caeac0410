"""Files of the Matrix Market, by SciPy's reader and writer."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np

import execspace as es

from ..errors import MatrixError
from .coo import CooMatrix
from .crs import CrsMatrix
from .foreign import to_scipy

__all__ = ["read_matrix_market", "write_matrix_market"]

Path = str | os.PathLike[str]


def read_matrix_market(path: Path, *, space: str | es.ExecutionSpace | None = None) -> CrsMatrix:
    """The matrix of a file, by rows, columns ascending; also of one that is compressed by gzip.

    Parameters
    ----------
    path : str or path
        Real, complex, integer or pattern, general, symmetric, skew-symmetric or Hermitian, sparse
        or dense. Integers become float64, and elements of a pattern 1.
    space : str or ExecutionSpace, optional
        Whose memory it goes to; that of the space in use if not given.

    Raises
    ------
    MatrixError
        If it is no such file; the message has its name, and what SciPy found.
    OSError
        If it cannot be read.
    ImportError
        If SciPy is not installed.

    Notes
    -----
    https://math.nist.gov/MatrixMarket/formats.html
    """
    from scipy.io import mmread
    from scipy.sparse import coo_array

    try:
        found = mmread(os.fspath(path), spmatrix=False)
    except OSError:
        raise
    except Exception as error:
        raise MatrixError(
            f"{os.fspath(path)!r} is no file of the Matrix Market: {error}"
        ) from error
    matrix = coo_array(found)
    values = matrix.data
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    rows, columns, values = (es.array(a, space=space) for a in (*_indices(matrix), values))
    return CooMatrix(rows, columns, values, matrix.shape, check=False).to_crs()


def _indices(matrix: Any) -> list[Any]:
    kinds = (np.int32, np.int64)
    return [a if a.dtype in kinds else a.astype(np.int64) for a in matrix.coords]


def write_matrix_market(path: Path, A: CrsMatrix, *, comment: str = "") -> None:
    """Write a matrix to a file, by coordinates, with all digits; compressed if it ends in .gz.

    Blocks.

    Raises
    ------
    OSError, ImportError
    """
    from scipy.io import mmwrite

    matrix = to_scipy(A)
    digits = np.finfo(matrix.dtype).precision + 2
    opened = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "wb") as file:  # which SciPy opens under other names, and says no errors
        mmwrite(file, matrix, comment=comment, precision=digits, symmetry="general")
