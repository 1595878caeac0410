"""Dense linear algebra of many small matrices, to be called in kernels."""

from . import serial

__all__ = ["serial"]
