"""spmv: y = beta y + alpha op(A) x, for one vector or several.

Algorithms
    rows: a work item for each row, for short rows of a device; all that a host needs. Of several
    vectors it takes more than one at once, see `spmv_columns`.
    stream: a team takes some rows, see `spmv_teams`; rows that do not fit into its memory it sums
    together.
    balanced: a team takes so many entries, whatever rows they are of, see `spmv_balanced`.
    gather: of transposes, a work item for each column, by the transpose of the graph, which is kept
    with it: unlike atomic sums the same to the bit in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    MANY,
    as_view,
    check_apart,
    choice,
    is_int64,
    meets,
    number_of,
    result,
    vector,
)
from ..decisions import decided, is_explained
from ..errors import MatrixError
from ..vendors import chosen_vendor, shapes_of
from . import ports
from .bsr import BsrMatrix
from .bsr_spmv import BLOCK_ALGORITHMS, product_of_blocks
from .crs import CrsMatrix
from .elements import (
    check_method,
    conjugated,
    dtype_of_product,
    how_to_scale,
    is_record,
    keep,
    name_of,
    product,
    zero_of,
)
from .foreign import as_crs
from .rows import transposed
from .spmv_balanced import balanced
from .spmv_columns import several
from .spmv_teams import Launch, is_skewed, stream
from .structured import StencilMatrix
from .structured_spmv import STENCIL_ALGORITHMS, product_of_stencils

__all__ = ["spmv"]

MODES = ("N", "T", "C", "H")
ALGORITHMS = ("auto", "rows", "stream", "balanced", "gather")
_FORMATS = (
    CrsMatrix,
    BsrMatrix,
    StencilMatrix,
)  # which have kernels of their own
_MOST_READY = 64  # launches that a matrix keeps
_FEW = 8  # entries a row, above which streaming pays
_FEW_OF_SEVERAL = 12  # the same for several vectors


def spmv(
    A: CrsMatrix | BsrMatrix | StencilMatrix | Any,
    x: es.View | Any,
    *,
    out: es.View | Any = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    mode: str = "N",
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """y = beta y + alpha op(A) x.

    Parameters
    ----------
    A : CrsMatrix, BsrMatrix, StencilMatrix, or a sparse matrix of SciPy, CuPy or PyTorch
        m x n; read. Those of other libraries are converted, which costs nothing if they are by
        rows.
    x : View or array, shape (n,) or (n, k)
        One vector, or k of them as columns, in any layout; read. Of shape (m,) or (m, k) for modes
        "T" and "H".
    out : View or array, shape (m,) or (m, k), optional
        y; of floats, complex if the product is. Read only where `beta` is not 0: it may hold NaN
        otherwise. Without it a new View of the common dtype, in the layout of `x`.
    alpha, beta : number
        Complex ones for complex `out` only.
    mode : {"N", "T", "C", "H"}
        op(A) is A, its transpose, its conjugate, or the transpose of that.
    algorithm : {"auto", "rows", "stream", "balanced", "gather", "scalars", "grid", "edges"}
        "rows": a work item for each row, or row of blocks of a BsrMatrix, and vector.
        "stream": a team takes some rows; its threads compute the products as they lie in memory.
        "balanced": a team takes so many entries, whatever rows they are of; not for a BsrMatrix.
        "scalars": of a BsrMatrix, a work item for each row of elements.
        "grid", "edges": of a StencilMatrix, for all modes, a work item for each grid point; all in
        one launch, or those in the interior in one that looks for no border.
        "gather": a work item for each column, by the transpose of the graph, which is kept with
        it; for "T" and "H", and these have no other but of a StencilMatrix.
        "auto": one of these, by space, mode and lengths of rows; `explain` tells which.
    vendor : bool, optional
        True: the routine of a vendor's library, which "auto" takes where it was measured to be
        faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If `A` is no sparse matrix, `mode` or `algorithm` is not known or not for this product, or
        `vendor` is True and there is no routine for it: it says why.
    ViewError
        If shapes do not fit, `out` is read-only, overlaps `x` or the values, or is real where the
        result is complex.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is; the first product of a graph may block, on devices and with
    "gather".
    The order of a sum is that of the row, so results are the same in each run.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/sparse/spmv.html
    """
    if type(A) in _FORMATS and _fits(alpha) and _fits(beta) and not is_explained():
        y = _repeated(A, x, out, alpha, beta, mode, algorithm, vendor, space)
        if y is not None:
            return y
    if not isinstance(A, _FORMATS):
        A = as_crs(A)
    choice(mode, "spmv: mode", MODES)
    choice(algorithm, "spmv: algorithm", _algorithms(A))
    flipped = mode in ("T", "H")
    m, n = A.shape[::-1] if flipped else A.shape
    source = vector(x, "spmv: x", n, f"mode {mode!r} of a matrix of {A.shape[0]} x {A.shape[1]}")
    used = [*_parts(A), source]
    if out is not None:
        used.append(as_view(out, "spmv: out"))
    where = es.space_for(*used, space=space)
    alpha, beta = number_of(alpha, "spmv: alpha"), number_of(beta, "spmv: beta")
    dtype = dtype_of_product(A.dtype, source.dtype, "spmv")
    if out is None and np.iscomplexobj(alpha) and not is_record(dtype):
        dtype = np.result_type(dtype, np.complex64)
    y = result(out, "spmv", (m, *source.shape[1:]), dtype, where, source)
    _check_kinds(dtype, y, alpha, beta)
    if out is not None:
        names = "the_values", "row_map", "entries"
        check_apart("spmv", y, x=source, **dict(zip(names, _parts(A), strict=False)))
    how, conj = _how(A, source, alpha, beta), "yes" if mode in ("C", "H") else "no"
    if is_record(dtype) and how in ("set", "add"):
        check_method("spmv", dtype, "alpha or beta", "__rmul__")
    if conj == "yes":
        check_method("spmv", A.dtype, f"mode {mode!r}", "conjugate")
    ours = partial(_launch, algorithm, A, source, y, flipped, where, how, conj)
    library = None
    if isinstance(A, CrsMatrix):
        columns = 1 if source.rank == 1 else source.shape[1]
        library = chosen_vendor(
            "spmv", vendor, where, lambda: shapes_of(A, columns=columns), A, source, y, alpha, beta,
            mode, algorithm=algorithm,
        )  # fmt: skip
    elif vendor:
        raise MatrixError(f"spmv: vendor=True with a {type(A).__name__}; expected a CrsMatrix.")
    launch = ours() if library is None else _by_library(library, mode, vendor, ours)
    launch(A, source, y, alpha, beta)
    if len(A._ready) >= _MOST_READY:
        A._ready.clear()
    if not es.is_recorded():  # which no library is for, but the next call may be
        A._ready[_key(A, source, y, alpha, beta, mode, algorithm, vendor, space)] = launch
        if out is None:
            layout = y.layout if y.rank == 2 else None
            key = _key_without_y(A, source, alpha, mode, algorithm, vendor, space)
            A._ready[key] = y.shape, y.dtype, where, layout
    return y


def _repeated(
    A: Any, x: Any, out: Any, alpha: Any, beta: Any, mode: Any, algorithm: Any, vendor: Any,
    space: Any,
) -> es.View | None:  # fmt: skip
    """The product, if there was one of such Views; None if not."""
    if type(x) is np.ndarray:
        x = es.view_of(x, label="spmv: x")
    if type(x) is not es.View:
        return None
    y = out
    try:
        if out is None:
            found = A._ready.get(_key_without_y(A, x, alpha, mode, algorithm, vendor, space))
            if found is None:
                return None
            shape, dtype, where, layout = found
            y = es.View(shape, dtype, label="spmv", space=where, layout=layout, initialize=False)
        elif type(out) is not es.View:
            return None
        ready = A._ready.get(_key(A, x, y, alpha, beta, mode, algorithm, vendor, space))
    except (TypeError, ValueError):  # no number, or without a hash, which is refused later
        return None
    if ready is None or (out is not None and meets(y, (x, *_parts(A)))):
        return None
    ready(A, x, y, alpha, beta)
    made: es.View = y
    return made


def _key_without_y(
    A: Any, x: es.View, alpha: Any, mode: Any, algorithm: Any, vendor: Any, space: Any
) -> tuple[Any, ...]:
    """What a new result depends on."""
    return (
        mode, algorithm, vendor, es.default_space() if space is None else space, A.values.type,
        x.type, x.shape, type(alpha),
    )  # fmt: skip


def _parts(A: Any) -> tuple[es.View, ...]:
    """What is read of a matrix."""
    if isinstance(A, StencilMatrix):
        return (A.values,)
    return A.values, A.row_map, A.entries


def _algorithms(A: Any) -> tuple[str, ...]:
    if isinstance(A, StencilMatrix):
        return STENCIL_ALGORITHMS
    return BLOCK_ALGORITHMS if isinstance(A, BsrMatrix) else ALGORITHMS


def _key(
    A: Any,
    x: es.View,
    y: es.View,
    alpha: Any,
    beta: Any,
    mode: Any,
    algorithm: Any,
    vendor: Any,
    space: Any,
) -> tuple[Any, ...]:
    """What the launch of a product depends on."""
    return (
        mode, algorithm, vendor, es.default_space() if space is None else space, A.values.type,
        x.type, x.shape, y.type, y.shape, _strides(y), type(alpha), type(beta),
        _how(A, x, alpha, beta),
    )  # fmt: skip


def _strides(y: es.View) -> tuple[int, ...] | None:
    """Those that the type does not tell: elements may lie at one place, which is refused."""
    return y.strides if y.layout == "stride" else None


def _how(A: Any, x: es.View, alpha: Any, beta: Any) -> str:
    """What `keep` does."""
    if x.dtype.fields is None and A.dtype.fields is None:
        return "set" if beta == 0 else "add"
    dtype = x.dtype if is_record(x.dtype) else A.dtype
    if how_to_scale(dtype, alpha) == "plain" and beta in (0, 1):
        return "put" if beta == 0 else "more"
    return "set" if beta == 0 else "add"


def _by_library(library: Any, mode: str, vendor: bool | None, ours: Callable[[], Launch]) -> Launch:
    """A product by a vendor's library; by ours where it is recorded in a graph."""

    def launch(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        if not es.is_recorded():
            library.spmv(A, x, y, alpha, beta, mode)
        elif vendor:
            raise MatrixError(
                "spmv: vendor=True, but calls of libraries are not recorded in graphs. Leave it "
                "out, or give vendor=False."
            )
        else:
            ours()(A, x, y, alpha, beta)

    return launch


def _launch(
    algorithm: str,
    A: Any,
    x: es.View,
    y: es.View,
    flipped: bool,
    space: es.ExecutionSpace,
    how: str,
    conj: str,
) -> Launch:
    """What launches a product with x and y, and others like them."""
    if not isinstance(A, CrsMatrix):
        product_of = product_of_blocks if isinstance(A, BsrMatrix) else product_of_stencils
        chosen, why, launch = product_of(algorithm, A, x, y, flipped, space, how, conj)
        decided("spmv", chosen, why)
        return launch
    chosen, why = _chosen(algorithm, A, x, y, flipped, space)
    decided("spmv", chosen, why)
    if chosen != "rows":
        A.graph.check_settled("spmv")
    if chosen in ("stream", "balanced"):
        return (stream if chosen == "stream" else balanced)(A, x, y, space, how, conj)
    # Where a host has fewer rows than threads, each vector is for a thread.
    at_once = y.rank == 2 and y.shape[1] > 1 and not is_record(y.dtype)
    at_once = at_once and (space.concurrency > MANY or space.concurrency <= y.shape[0])
    every: Any = es.RangePolicy(y.shape[0], space=space)
    if y.rank == 2:
        every = es.MDRangePolicy(y.shape, space=space)
    if chosen == "gather":
        graph, order = transposed(A.graph, space)
        if at_once:
            return several(graph, order, x, y, space, how, conj, "spmv gather")
        by_column = _column if y.rank == 1 else _columns

        def gather(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
            es.parallel_for(
                every, by_column, graph.row_map, graph.entries, A.values, order, x, y, alpha, beta,
                how, conj, label="spmv gather",
            )  # fmt: skip

        return gather
    if at_once:
        return several(A.graph, None, x, y, space, how, conj, "spmv rows")
    by_row = _row if y.rank == 1 else _rows

    def rows(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            every, by_row, A.row_map, A.entries, A.values, x, y, alpha, beta, how, conj,
            label="spmv rows",
        )  # fmt: skip

    return rows


ports.multiply = spmv


def _fits(number: Any) -> bool:
    """Whether kernels take it as it is: integers of Python may be too large."""
    return type(number) is float or not isinstance(number, int) or is_int64(number)


def _check_kinds(dtype: np.dtype[Any], y: es.View, alpha: Any, beta: Any) -> None:
    """Raise ViewError for complex numbers with a real vector."""
    if is_record(dtype):
        if y.dtype != dtype:
            raise es.ViewError(
                f"spmv: out is View '{y.label}' of {name_of(y.dtype)}; expected {name_of(dtype)}, "
                f"which the product is."
            )
        return
    if y.dtype.kind not in "fc":
        raise es.ViewError(
            f"spmv: out is View '{y.label}' of {y.dtype}; expected real or complex floats."
        )
    if y.dtype.kind == "c":
        return
    for what, kind in (("the product", dtype), ("alpha", np.asarray(alpha).dtype),
                       ("beta", np.asarray(beta).dtype)):  # fmt: skip
        if kind.kind == "c":
            raise es.ViewError(
                f"spmv: {what} is complex, and out is View '{y.label}' of {y.dtype}; expected a "
                f"complex one."
            )


def _chosen(
    algorithm: str,
    A: CrsMatrix,
    x: es.View,
    y: es.View,
    flipped: bool,
    space: es.ExecutionSpace,
) -> tuple[str, str]:
    """The algorithm, and why; MatrixError for one that is not for this product."""
    if flipped:
        if algorithm not in ("auto", "gather"):
            raise MatrixError(
                f"spmv: algorithm={algorithm!r} is not for transposes; expected 'gather' or 'auto'."
            )
        return "gather", "it is a product with the transpose"
    if algorithm == "gather":
        raise MatrixError(
            f"spmv: algorithm={algorithm!r} is for modes 'T' and 'H'; expected 'rows' or 'auto'."
        )
    if is_record(y.dtype) or is_record(A.dtype):
        if algorithm not in ("auto", "rows"):
            raise MatrixError(
                f"spmv: algorithm={algorithm!r} is for numbers; expected 'rows' or 'auto' for "
                f"records."
            )
        return "rows", "elements are records"
    if not A.nnz and algorithm in ("auto", "balanced"):
        return "rows", "there are no entries"
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if not isinstance(space, es.SupportsTeams):
        return "rows", f"space '{space.name}' has no teams"
    if space.concurrency <= MANY:
        return "rows", f"space '{space.name}' runs few work items at once"
    A.graph.check_settled("spmv")
    if is_skewed(A, np.result_type(A.dtype, x.dtype).itemsize):
        return "balanced", "some rows are too long for a team that takes whole rows"
    few = _FEW if x.rank == 1 else _FEW_OF_SEVERAL
    if A.nnz > few * A.shape[0]:
        return "stream", f"rows have more than {few} entries on the average"
    return "rows", f"rows have {few} entries or fewer on the average"


# -- kernels --------------------------------------------------------------------------------------
# `how` is of `keep`, `conj` "yes" or "no".


def _row(
    i: int, row_map: Any, entries: Any, values: Any, x: Any, y: Any, alpha: Any, beta: Any,
    how: Any, conj: Any,
) -> None:  # fmt: skip
    total = zero_of(y)
    for k in range(row_map[i], row_map[i + 1]):
        total += product(values, entries, x, k, conj)
    keep(y, i, total, alpha, beta, how)


def _rows(
    i: int, j: int, row_map: Any, entries: Any, values: Any, x: Any, y: Any, alpha: Any, beta: Any,
    how: Any, conj: Any,
) -> None:  # fmt: skip
    total = zero_of(y[i, :])
    for k in range(row_map[i], row_map[i + 1]):
        total += conjugated(values[k], conj) * x[entries[k], j]
    keep(y[i, :], j, total, alpha, beta, how)


def _column(
    i: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
    beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    total = zero_of(y)
    for k in range(row_map[i], row_map[i + 1]):
        total += conjugated(values[order[k]], conj) * x[entries[k]]
    keep(y, i, total, alpha, beta, how)


def _columns(
    i: int, j: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any,
    alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    total = zero_of(y[i, :])
    for k in range(row_map[i], row_map[i + 1]):
        total += conjugated(values[order[k]], conj) * x[entries[k], j]
    keep(y[i, :], j, total, alpha, beta, how)
