"""`static`: what is known when a kernel is compiled."""

from __future__ import annotations

import operator

from ..base.brief import brief
from ..base.errors import ViewTypeError

__all__ = [
    "static",
]


class static:
    """What is known when a kernel is compiled: an annotation of parameters, and an extent.

    ``def k(i, x, sign: es.static)`` is compiled once for each value of `sign` that it is
    launched with; branches that the value rules out are not compiled. Numbers, strings,
    tuples of them, dtypes, functions and None can be static.

    ``es.View((n, es.static(3)))`` has a static extent, which is part of the View's type, as
    the ``[3]`` of ``Kokkos::View<double*[3]>`` is.

    Parameters
    ----------
    extent : int
    """

    __slots__ = ("extent",)

    def __init__(self, extent: int) -> None:
        try:
            self.extent = operator.index(extent)
        except TypeError as error:
            raise ViewTypeError(
                f"es.static({brief(extent)}): {error}; expected an extent."
            ) from None

    def __index__(self) -> int:
        return self.extent

    def __repr__(self) -> str:
        return f"execspace.static({self.extent})"
