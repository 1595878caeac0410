"""Machine code of launches on disk: results of Numba, as entries of execspace's cache.

Numba's own cache trusts its files, and raises for damaged ones and for a full disk. This one keeps
the same data in entries that are checked before use.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from execspace.base.interrupts import held

from ..cache import disk


def stored(signatures: Sequence[Any], **options: Any) -> Callable[[FunctionType], Any]:
    """Decorator in generated modules: as `numba.njit`, with machine code cached on disk.

    The entry is next to the module's file and has its name, so it depends on the module's source.
    """

    def compiled(fn: FunctionType) -> Any:
        dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(fn)
        dispatcher._cache = _Entries(Path(fn.__code__.co_filename))
        for signature in signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compiled


class _Entries:
    """The cache of a Numba dispatcher, which looks up machine code before it compiles."""

    def __init__(self, module: Path) -> None:
        self.module = module
        self.cache_path = str(module.parent)  # shown by a dispatcher's statistics

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The cached result, or None if there is no usable one."""
        with held():  # see `starting`: there may be new declarations
            context.refresh()
        path = self._path(signature, context.codegen())
        data = disk.read(path)
        if data is None:
            return None
        try:
            return CompileResult._rebuild(context, *pickle.loads(data))
        except Exception:  # not damaged, but not from this version of Numba
            disk.discard(path)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a result, unless it contains addresses of this process."""
        if result.library.has_dynamic_globals or any(not x.can_cache for x in result.lifted):
            return
        disk.keep(self._path(signature, result.library.codegen), dumps(result._reduce()))

    def _path(self, signature: Any, codegen: Any) -> Path:
        # Signatures hold names of types; the rest identifies the processor.
        digest = disk.key(str(signature), *map(str, codegen.magic_tuple()))[:16]
        return self.module.with_name(f"{self.module.stem}-{digest}.code")
