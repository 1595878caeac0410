"""Files of the Matrix Market, each rank reading a part of the bytes.

Lines are read by SciPy's reader. A rank has those that begin in its part of the file; entries then
go to the ranks of their rows.
"""

from __future__ import annotations

import os
import re
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

import execspace as es
from execspace_kernels import sparse

from ..communicator import Comm
from ..errors import CommError, translated
from ..parts import agreed, ranks_of
from .matrix import DistributedCrsMatrix
from .partition import Partition
from .sources import divided, from_entries, from_root

__all__ = ["from_matrix_market"]

_LINE = re.compile(rb"^[ \t]*[^\s]", re.MULTILINE)  # the beginning of one that is not empty
_LEAST = 1 << 20  # bytes, below which one rank reads all


class _Head(NamedTuple):
    """What the first lines say, and where entries begin."""

    banner: bytes
    rows: int
    columns: int
    lines: int
    begin: int
    size: int


def from_matrix_market(
    path: str | os.PathLike[str],
    *,
    rows: Partition | str = "even",
    columns: Partition | None = None,
    comm: Comm | Any = None,
    read: str = "auto",
    **options: Any,
) -> DistributedCrsMatrix:
    """The matrix of a file of the Matrix Market. Collective; blocks.

    Parameters
    ----------
    path : str or path
        As of `execspace_kernels.sparse.read_matrix_market`; of patterns elements are 1, and
        integers become float64.
    rows, columns, comm
        As of `from_root`; "entries" is for a file that one rank reads.
    read : {"auto", "parts", "root"}
        Each rank reads a part of the file, which must be uncompressed and by coordinates, and be
        there on all ranks; or rank 0 reads all of it. "auto" takes parts for such files of 1 MiB
        and more, if ranks are several and rows are not divided by entries.
    **options
        `space`, `overlap` and `engine` of `DistributedCrsMatrix`.

    Raises
    ------
    CommError
        On all ranks, if it is no such file, or cannot be read.

    Notes
    -----
    Columns ascend in each row, and entries at one place are added.
    https://math.nist.gov/MatrixMarket/formats.html
    """
    given = rows.comm if comm is None and isinstance(rows, Partition) else comm
    ranks = ranks_of(given)
    if read not in ("auto", "parts", "root"):
        raise CommError(f"from_matrix_market: read={read!r}; expected 'auto', 'parts' or 'root'.")
    name = os.fspath(path)
    head: Any = None
    if ranks.rank == 0:
        try:
            head = _head(name)
        except Exception as error:  # on which other ranks wait
            head = str(error)
    with translated("from_matrix_market"):
        head = ranks.mpi.bcast(head)
    in_parts = isinstance(head, _Head)
    if read == "parts" and not in_parts:
        raise CommError(f"from_matrix_market: {name!r} cannot be read in parts: {head}")
    if read == "auto":
        in_parts = in_parts and ranks.size > 1 and head.size >= _LEAST and rows != "entries"
    if read == "root" or not in_parts:
        return _of_root(name, ranks, rows, columns, options)
    if rows == "entries":
        raise CommError(
            "from_matrix_market: rows='entries' and read='parts'; expected read='root', for how "
            "many entries rows have is known when all are read."
        )
    return _of_parts(name, head, ranks, rows, columns, options)


def _head(name: str) -> _Head:
    """The head of a file that can be read in parts; CommError for others."""
    with open(name, "rb") as file:
        banner = file.readline()
        words = banner.lower().split()
        if len(words) != 5 or words[0] != b"%%matrixmarket" or words[1] != b"matrix":
            raise CommError("it does not begin as an uncompressed file of the Matrix Market does.")
        if words[2] != b"coordinate":
            raise CommError("it has all elements; expected one by coordinates.")
        line = file.readline()
        while line and (line.startswith(b"%") or not line.strip()):
            line = file.readline()
        try:
            rows, columns, count = (int(word) for word in line.split())
        except ValueError:
            raise CommError(f"its size is {line!r}; expected three numbers.") from None
        if words[4] != b"general" and rows != columns:
            kind = words[4].decode(errors="replace")
            raise CommError(f"it is {kind} of {rows} x {columns}; expected a square.")
        return _Head(banner, rows, columns, count, file.tell(), os.path.getsize(name))


def _of_root(
    name: str, comm: Comm, rows: Any, columns: Any, options: dict[str, Any]
) -> DistributedCrsMatrix:
    found: Any = None
    if comm.rank == 0:
        try:
            found = sparse.read_matrix_market(name, space=options.get("space"))
        except (OSError, es.ExecspaceError) as error:
            found = error
    with translated("from_matrix_market"):
        failed = comm.mpi.bcast(str(found) if isinstance(found, Exception) else "")
    if failed:
        raise CommError(f"from_matrix_market: {failed}")
    return from_root(found, rows=rows, columns=columns, comm=comm, **options)


def _of_parts(
    name: str, head: _Head, comm: Comm, rows: Any, columns: Any, options: dict[str, Any]
) -> DistributedCrsMatrix:
    entries: tuple[Any, Any, Any] = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    problem, count = "", 0
    try:
        text = _part(name, head, comm.rank, comm.size)
        count = len(_LINE.findall(text))
        entries = _read(text, count, head)
    except Exception as error:  # what SciPy raises of damaged lines is of many kinds
        problem = f"{name!r} cannot be read: {error}"
    found = agreed(comm, "from_matrix_market", problem, {}, count)
    if sum(found) != head.lines:
        raise CommError(
            f"from_matrix_market: {name!r} has {sum(found)} lines of entries; expected "
            f"{head.lines}, as its head says."
        )
    both = divided(rows, columns, (head.rows, head.columns), comm, "from_matrix_market")
    return from_entries(*entries, both, comm=comm, **options)


def _part(name: str, head: _Head, rank: int, size: int) -> bytes:
    """The lines that begin in this rank's part of the bytes."""
    length = head.size - head.begin
    begin, end = (head.begin + length * r // size for r in (rank, rank + 1))
    with open(name, "rb") as file:
        if begin > head.begin:  # a line that begins before is another rank's
            file.seek(begin - 1)
            file.readline()
            begin = file.tell()
        else:
            file.seek(begin)
        if begin >= end:
            return b""
        text = file.read(end - begin)
        return text if text.endswith(b"\n") else text + file.readline()


def _read(text: bytes, count: int, head: _Head) -> tuple[Any, Any, Any]:
    """Entries of lines, those that a symmetry stands for included."""
    from scipy.io import mmread
    from scipy.sparse import coo_array

    size = b"%d %d %d\n" % (head.rows, head.columns, count)
    matrix = coo_array(mmread(BytesIO(head.banner + size + text), spmatrix=False))
    row, column = (a.astype(np.int64) for a in matrix.coords)
    values = matrix.data
    return row, column, values if values.dtype.kind in "fc" else values.astype(np.float64)
