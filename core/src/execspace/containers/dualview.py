"""DualView: one array in two memories, with a record of which of the two is newer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import ViewError
from ..base.readonly import ReadOnly
from ..contract.space import ExecutionSpace
from ..events import dispatch
from ..plugins.started import fence
from ..views.deep_copy import deep_copy
from ..views.interop import view_of
from ..views.mirrors import create_mirror_view, realloc, resize
from ..views.static import static
from ..views.view import View

__all__ = [
    "DualView",
]


class DualView(ReadOnly):
    """A View in a space's memory and its mirror on the host.

    Say `modify` after changing a side and `sync` before reading the other: data moves only if
    the other side is newer. Where the host reaches the memory both sides are one View and
    nothing is ever copied.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like, default float64
    label : str
    space : str or ExecutionSpace, optional
        Of the device side; the default space if not given.
    view : View or array, optional
        Take this View as the device side, instead of a new one; then without the other parameters.

    Attributes
    ----------
    d_view, h_view : View
        The device side and the host side.

    Raises
    ------
    ViewError
        If another parameter stands beside `view`, which says all that they would.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/DualView.html

    Examples
    --------
    >>> import execspace as es
    >>> a = es.DualView(3, es.int64, label="a", space="serial")
    >>> a.h_view[0] = 5
    >>> a.modify("host")
    >>> a.sync("device")
    >>> a.d_view[0]
    np.int64(5)
    """

    _fixed = frozenset(("d_view", "h_view"))
    _in_launches = "Pass one of its Views, d_view or h_view, after sync of that side."
    _instead = "resize and realloc change the extents of both sides; else make a new DualView"

    def __init__(
        self,
        shape: int | static | Sequence[int | static] = (),
        dtype: npt.DTypeLike = np.float64,
        *,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        view: View | Any | None = None,
    ) -> None:
        if view is None:
            self.d_view = View(shape, dtype, label=label, space=space)
        else:
            if shape != () or dtype is not np.float64 or label or space is not None:
                raise ViewError(
                    "DualView: view= has a shape, a dtype, a label and a place of its own; leave "
                    "out the other parameters, or view=."
                )
            self.d_view = view_of(view)
        self.h_view = create_mirror_view(self.d_view)
        self._newer: str | None = None

    def __repr__(self) -> str:
        state = f", modified on {self._newer}" if self._newer else ""
        return f"<DualView '{self.d_view.label}' {self.d_view.dtype.name} {self.shape}{state}>"

    @property
    def label(self) -> str:
        """Name of both sides."""
        return self.d_view.label

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of both sides."""
        return self.d_view.shape

    def extent(self, d: int) -> int:
        """Extent of dimension `d`; 1 for `d` beyond the rank."""
        return self.d_view.extent(d)

    def view(self, side: str) -> View:
        """The View of a side, "host" or "device"."""
        return self.h_view if self._side(side) == "host" else self.d_view

    @property
    def shares_memory(self) -> bool:
        """Whether both sides are the same View."""
        return self.h_view is self.d_view

    def _side(self, side: str) -> str:
        if not isinstance(side, str) or side not in ("host", "device"):
            raise ViewError(
                f"DualView '{self.label}': side {brief(side)} does not exist; expected 'host' or "
                f"'device'."
            )
        return side

    def modify(self, side: str) -> None:
        """Note that a side was changed.

        Raises
        ------
        ViewError
            If the other side was changed since the last `sync`: one of the changes would be lost.
        """
        other = "device" if self._side(side) == "host" else "host"
        if self._newer == other and not self.shares_memory:
            raise ViewError(
                f"DualView '{self.label}': modified on the {side} after the {other} without a "
                f"sync between; one of the changes would be lost. Call sync('{side}') before "
                f"changing it, or clear_sync_state() to drop the other's changes."
            )
        self._newer = side
        if dispatch.TOOLS:
            dispatch.emit("on_dual_view_modify", self.label, side)

    def need_sync(self, side: str) -> bool:
        """Whether a side lacks changes of the other."""
        return self._newer not in (None, self._side(side)) and not self.shares_memory

    def sync(self, side: str, *, instance: ExecutionSpace | None = None) -> None:
        """Bring a side up to date: a `deep_copy` if the other is newer, else nothing.

        Parameters
        ----------
        side : {"host", "device"}
        instance : ExecutionSpace, optional
            As for `deep_copy`: in order on it, without blocking.
        """
        if self.need_sync(side):
            other = self.d_view if side == "host" else self.h_view
            self._tell_sync(side, other.nbytes)
            deep_copy(self.view(side), other, instance=instance)
            self._newer = None
        elif self._newer not in (None, side):  # one memory: both sides have the change
            self._tell_sync(side, 0)
            if instance is None:
                fence("DualView.sync")  # but a launch may still be at it
            self._newer = None

    def _tell_sync(self, side: str, nbytes: int) -> None:
        if dispatch.TOOLS:
            dispatch.emit("on_dual_view_sync", self.label, side, nbytes)

    def clear_sync_state(self) -> None:
        """Forget what was modified, without a copy."""
        self._newer = None

    def resize(self, shape: Any) -> None:
        """New extents for both sides, which keep their elements; the newer one stays newer."""
        self._change(resize, shape)

    def realloc(self, shape: Any) -> None:
        """New extents for both sides; elements are dropped."""
        self._change(realloc, shape)
        self._newer = None

    def _change(self, how: Any, shape: Any) -> None:
        shared = self.shares_memory
        how(self.d_view, shape)
        if not shared:
            how(self.h_view, shape)
