"""The oracle: typed IR run by CPython. It defines what a kernel means."""

from .interpret import interpret

__all__ = ["interpret"]
