"""Which vector versions of mathematical functions a module may call: those of a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from execspace.base.dataclass import dataclass

if TYPE_CHECKING:
    from .vector_functions import Library


@dataclass(frozen=True, slots=True)
class VectorMath:
    """Vector functions that there are where a module is to run.

    Attributes
    ----------
    features : frozenset of str
        Of the processor, as LLVM names them.
    loaded : callable
        Gives the libraries; called by what calls a function of them, since loading takes 3 to
        40 ms.
    """

    features: frozenset[str]
    loaded: Callable[[], tuple[Library, ...]]

    @property
    def libraries(self) -> tuple[Library, ...]:
        """The libraries, loaded now."""
        return self.loaded()


NO_VECTORS = VectorMath(frozenset(), tuple)
"""None: all calls are libm's."""
