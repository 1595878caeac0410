"""What `repr` and notebooks show of a View: what it is and, where the host can read them, values.

Nothing is copied and nothing waits: the values are those in memory now. Of a large View only the
edges are read, those that NumPy prints.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import html
from ..base.brief import is_brief
from ..contract.dtypes import name_of
from .view_keys import example_name

View = Any  # which imports this module
Rows = npt.NDArray[Any]


def headline(view: View) -> str:
    """What a View is, on one line."""
    return (
        f"<View '{view.label}' {name_of(view.dtype)} {view.shape} "
        f"layout={view.layout} memory={view.memory_space.name}>"
    )


def text_of(view: View) -> str:
    """`repr` of a View: its headline, and its values below it as NumPy prints them."""
    head = headline(view)
    if is_brief() or not view.memory_space.host_accessible:
        return head
    try:
        return f"{head}\n{_values(view)}"
    except Exception as error:  # of a layout of one's own, or of a memory space: repr never raises
        return f"{head}\n(values cannot be shown: {type(error).__name__}: {error})"


def _values(view: View) -> str:
    if view.mapping is None:
        return np.array2string(view._array())
    options = np.get_printoptions()
    if view.size <= options["threshold"]:
        return np.array2string(view._array()[view.offsets()])
    edge = options["edgeitems"]
    return np.array2string(edges_of(view, edge), threshold=0, edgeitems=edge)


def read_indices(extent: int, edge: int) -> npt.NDArray[np.int64]:
    """Indices of a dimension that are read: all, or `edge` at each end and one between them.

    Where NumPy leaves out what is between the edges, it prints of these what it would of all.
    """
    if extent <= 2 * edge:
        return np.arange(extent)
    ends = np.arange(edge), np.arange(edge, edge + 1), np.arange(extent - edge, extent)
    return np.concatenate(ends)


def edges_of(view: View, edge: int) -> Rows:
    """Elements at the edges of a View that the host can read, as a copy; no others are read."""
    at = [read_indices(n, edge) for n in view.shape]
    if view.mapping is None:
        found: Rows = view._array()[np.ix_(*at)] if at else view._array().copy()
        return found
    grid = np.meshgrid(*at, indexing="ij")
    places = np.empty([len(n) for n in at], np.int64)
    for k in np.ndindex(*places.shape):
        places[k] = view._offset(tuple(int(g[k]) for g in grid))
    rows: Rows = view._array()[places]
    return rows


# -- notebooks ------------------------------------------------------------------------------------

_MOST = 12  # rows and columns that a table has of a dimension without leaving any out
_EDGE = 5  # else so many at each end
_DOTS = "…"


def html_of(view: View) -> str:
    """What notebooks show of a View: what it is, and its values as a table where it can."""
    note = (
        f"{name_of(view.dtype)} {view.shape}, layout {view.layout}, memory "
        f"{view.memory_space.name}, {view.nbytes:,} bytes"
    )
    title = f"View '{view.label}'"
    if not view.memory_space.host_accessible:
        name = example_name(view)
        return html.page(
            html.headline(title, note),
            html.paragraph(
                f"The host cannot read this memory; {name}.to_numpy() copies the values.", "faint"
            ),
        )
    try:
        return html.page(_values_html(view, title, note))
    except Exception as error:
        why = f"The values cannot be shown: {type(error).__name__}: {error}"
        return html.page(html.headline(title, note), html.paragraph(why, "faint"))


def _values_html(view: View, title: str, note: str) -> str:
    if view.rank > 2 or not view.size:
        head = html.headline(title, note)
        return head + (html.preformatted(_values(view)) if view.size else "")
    edge = _EDGE if max(view.shape, default=0) > _MOST else _MOST
    values = edges_of(view, edge)
    names = [_names(n, edge) for n in view.shape]
    if view.rank == 1 and view.dtype.names is not None:
        heads = list(view.dtype.names)
        cells = [list(row) for row in zip(*(_cells(values[f]) for f in heads), strict=True)]
        cells = [
            [_DOTS] * len(heads) if name == _DOTS else row
            for name, row in zip(names[0], cells, strict=True)
        ]
        lines = names[0]
    else:
        heads = names[-1] if names else []
        lines = names[0] if view.rank == 2 else []
        grid = values.reshape(len(lines) or 1, len(heads) or 1)
        left_out = np.zeros(grid.shape, np.bool_)
        if _DOTS in lines:
            left_out[edge] = True
        if _DOTS in heads:
            left_out[:, edge] = True
        seen = iter(_cells(grid[~left_out]))
        cells = [[_DOTS if out else next(seen) for out in row] for row in left_out]
    if lines:
        heads = ["", *heads]
        cells = [[name, *row] for name, row in zip(lines, cells, strict=True)]
    right = range(len(cells[0]))
    return html.table(heads, cells, title=title, note=note, right=right, row_names=bool(lines))


def _names(extent: int, edge: int) -> list[str]:
    """Indices of a dimension as headers; dots stand for those that are left out."""
    at = [str(n) for n in read_indices(extent, edge)]
    if extent > 2 * edge:
        at[edge] = _DOTS
    return at


def _cells(values: Rows) -> list[html.Cell]:
    """Values as NumPy prints them, each with a tint by its size among them."""
    if values.dtype.kind not in "biufc" or values.ndim > 1:
        return [html.tinted(" ".join(np.array2string(v).split()), None) for v in values]
    printed = np.array2string(
        values, separator=_SEPARATOR, threshold=sys.maxsize, max_line_width=sys.maxsize
    )
    texts = [t.strip() for t in printed.strip("[]").split(_SEPARATOR)]
    return [html.tinted(*pair) for pair in zip(texts, _shares(values), strict=True)]


_SEPARATOR = "\x1f"


def _shares(values: Rows) -> list[float | None]:
    """Where each number lies between the least, 0, and the greatest, 1."""
    if values.dtype.kind not in "iuf":
        return [None] * len(values)
    numbers = values.astype(np.float64)
    finite = np.isfinite(numbers)
    least = np.min(numbers, where=finite, initial=np.inf)
    most = np.max(numbers, where=finite, initial=-np.inf)
    if not least < most:
        return [None] * len(values)
    half = numbers / 2  # their difference may be more than any float
    shares = (half - least / 2) / (most / 2 - least / 2)
    return [float(s) if ok else None for s, ok in zip(shares, finite, strict=True)]
