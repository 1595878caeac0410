"""execspace's compiler: Python function -> HIR -> typed IR -> generated source.

For backends that want it: `lower_kernel` gives typed IR, `codegen` prints it as source, and
`execspace_compiler.host` compiles and launches it on the host through Numba.
"""

from .passes.pipeline import lower_kernel
from .typing.lowered import Lowered

__version__ = "0.1.0"

__all__ = ["Lowered", "lower_kernel"]
