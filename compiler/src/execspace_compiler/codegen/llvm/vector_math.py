"""Which vector versions of mathematical functions a module may call: those of a target."""

from __future__ import annotations

from execspace.base.dataclass import dataclass

from .vector_functions import Library


@dataclass(frozen=True, slots=True)
class VectorMath:
    """Vector functions that there are where a module is to run.

    Attributes
    ----------
    features : frozenset of str
        Of the processor, as LLVM names them.
    libraries : tuple of Library
    """

    features: frozenset[str]
    libraries: tuple[Library, ...]


NO_VECTORS = VectorMath(frozenset(), ())
"""None: all calls are libm's."""
