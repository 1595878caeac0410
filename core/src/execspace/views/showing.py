"""What `repr` and notebooks show of a View: what it is and, where the host can read them, values.

Nothing is copied and nothing waits: the values are those in memory now. Of a large View only the
edges are read, those that NumPy prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..base.brief import is_brief
from ..contract.dtypes import name_of

if TYPE_CHECKING:
    from .view import View

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
