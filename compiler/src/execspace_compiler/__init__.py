"""execspace's compiler: Python function -> HIR -> typed IR -> source text.

For backends that want it: `lower_kernel` gives typed IR, `printers` turn it into text, and
`execspace_compiler.host` compiles and launches it on the host through Numba.
"""

from .lowered import Lowered
from .pipeline import lower_kernel

__version__ = "0.1.0"

__all__ = ["Lowered", "lower_kernel"]
