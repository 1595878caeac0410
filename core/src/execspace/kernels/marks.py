"""What marks a function as a helper of kernels, as an attribute of the function."""

from __future__ import annotations

from types import FunctionType

FMA = "__execspace_fma__"
TEXT = "__execspace_text__"  # its source, which travels with it


def is_marked(fn: FunctionType) -> bool:
    """Whether a function was marked with `function`."""
    return FMA in fn.__dict__


def is_strict(fn: FunctionType) -> bool:
    """Whether a function was marked with ``function(fma=False)``."""
    return fn.__dict__.get(FMA) is False
