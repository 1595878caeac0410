"""execspace's compiler: Python function -> HIR -> typed IR -> generated source.

For backends that want it: `lower_kernel` gives typed IR, `codegen` prints it as source, and
`execspace_compiler.host` compiles and launches it on the host through LLVM. Nothing is loaded
before it is used: launches of kernels from the cache need little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .passes.pipeline import lower_kernel
    from .typing.lowered import Lowered

__version__ = "0.1.0"

__all__ = ["Lowered", "lower_kernel"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import backend

    return getattr(backend, name)
