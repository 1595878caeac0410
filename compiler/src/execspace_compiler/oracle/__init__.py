"""The oracle: typed IR run by CPython. It defines the semantics of kernels."""

from .interpret import interpret

__all__ = ["interpret"]
