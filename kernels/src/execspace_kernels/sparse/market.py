"""Files of the Matrix Market, by SciPy's reader and writer.

The first lines of a file are read here before, since SciPy's reader ends the process at a dense
matrix without elements, and takes what is called symmetric without being square.
"""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from contextlib import closing
from typing import IO, Any

import numpy as np

import execspace as es

from ..arguments import check_not_waited_for
from ..errors import MatrixError
from .coo import CooMatrix
from .crs import CrsMatrix
from .foreign import to_scipy

__all__ = ["read_matrix_market", "write_matrix_market"]

Path = str | bytes | os.PathLike[str]
_DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


def read_matrix_market(path: Path, *, space: str | es.ExecutionSpace | None = None) -> CrsMatrix:
    """The matrix of a file, by rows, columns ascending; also of one that is compressed by gzip or
    bzip2, whatever its name is.

    Parameters
    ----------
    path : str, bytes or path
        Real, complex, integer or pattern, general, symmetric, skew-symmetric or Hermitian, sparse
        or dense. Integers become float64, and elements of a pattern 1.
    space : str or ExecutionSpace, optional
        Whose memory it goes to; that of the space in use if not given.

    Raises
    ------
    MatrixError
        If it is no such file, or `path` no path; the message has its name, and what is wrong.
    OSError
        If it cannot be read; the message has its name.
    ImportError
        If SciPy is not installed.

    Notes
    -----
    Blocks. https://math.nist.gov/MatrixMarket/formats.html
    """
    from scipy.io import mmread
    from scipy.sparse import coo_array

    check_not_waited_for("read_matrix_market")
    name = _name(path, "read_matrix_market")
    try:
        with closing(_opened(name)) as file:
            shape = _without_elements(name, file)
        if shape is not None:
            found: Any = coo_array(shape)
        elif isinstance(file, gzip.GzipFile | bz2.BZ2File) or name.endswith((".gz", ".bz2")):
            with closing(_opened(name)) as file:
                found = mmread(file, spmatrix=False)
        else:
            found = mmread(name, spmatrix=False)
    except _DAMAGED as error:
        raise MatrixError(f"{name!r} is no whole file of gzip: {error}") from error
    except (OSError, MatrixError):
        raise
    except Exception as error:
        raise MatrixError(f"{name!r} is no file of the Matrix Market: {error}") from error
    matrix = coo_array(found)
    values = matrix.data
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    rows, columns, values = (es.array(a, space=space) for a in (*_indices(matrix), values))
    return CooMatrix(rows, columns, values, matrix.shape, check=False).to_crs()


def _name(path: Any, what: str) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise MatrixError(
            f"{what}: path={path!r}; expected the path of a file, str, bytes or os.PathLike."
        ) from None


def _opened(name: str) -> Any:
    """The file, decompressed."""
    with open(name, "rb") as file:
        start = file.read(3)
    if start[:2] == b"\x1f\x8b":
        return gzip.open(name)
    return bz2.open(name) if start == b"BZh" else open(name, "rb")


def _without_elements(name: str, file: IO[bytes]) -> tuple[int, int] | None:
    """The shape of a dense matrix that has no elements; None of others. MatrixError for what
    SciPy's reader would take or die of; all else that is wrong is left to it."""
    banner = file.readline().lower().split()
    line = file.readline()
    while line and (line.startswith(b"%") or not line.strip()):
        line = file.readline()
    if len(banner) != 5 or banner[0] != b"%%matrixmarket":
        return None
    form, kind = banner[2], banner[4].decode(errors="replace")
    try:
        rows, columns = (int(number) for number in line.split()[:2])
    except ValueError:
        return None
    if rows < 0 or columns < 0 or (form == b"array" and rows * columns >= 2**60):
        raise MatrixError(f"{name!r} has a matrix of {rows} x {columns}; expected a size.")
    if kind != "general" and rows != columns:
        raise MatrixError(
            f"{name!r} has a matrix of {rows} x {columns} that is {kind}; expected a square one."
        )
    return (rows, columns) if form == b"array" and not rows * columns else None


def _indices(matrix: Any) -> list[Any]:
    kinds = (np.int32, np.int64)
    return [a if a.dtype in kinds else a.astype(np.int64) for a in matrix.coords]


def write_matrix_market(path: Path, A: CrsMatrix, *, comment: str = "") -> None:
    """Write a matrix to a file, by coordinates, with all digits; compressed if it ends in .gz.

    Blocks.

    Raises
    ------
    MatrixError
        If `path` is no path, or `A` no sparse matrix, or of float16, which SciPy does not have.
    OSError, ImportError
    """
    from scipy.io import mmwrite

    check_not_waited_for("write_matrix_market")
    name = _name(path, "write_matrix_market")
    matrix = to_scipy(A)
    digits = np.finfo(matrix.dtype).precision + 2
    opened = gzip.open if name.endswith(".gz") else open
    with opened(name, "wb") as file:  # which SciPy opens under other names, and says no errors
        mmwrite(file, matrix, comment=comment, precision=digits, symmetry="general")
