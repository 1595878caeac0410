"""Machine code of launches on disk: what Numba compiled, as entries of execspace's cache.

Numba has a cache of its own, which believes whatever it finds, raises for what is damaged, and for
a full disk. This one keeps the same in entries that are checked before anything is done with them.
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
    """Decorator in generated modules: as `numba.njit`, and what is compiled is kept on disk.

    The entry lies beside the module's file and has its name, so it depends on the module's text.
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
    """What a dispatcher of Numba asks for machine code before it compiles."""

    def __init__(self, module: Path) -> None:
        self.module = module
        self.cache_path = str(module.parent)  # a dispatcher's statistics tell it

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What was kept, None if there is nothing that can be used."""
        with held():  # see `starting`: there may be new declarations
            context.refresh()
        path = self._path(signature, context.codegen())
        data = disk.read(path)
        if data is None:
            return None
        try:
            return CompileResult._rebuild(context, *pickle.loads(data))
        except Exception:  # not damaged, but not what this Numba has kept
            disk.discard(path)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process."""
        if result.library.has_dynamic_globals or any(not x.can_cache for x in result.lifted):
            return
        disk.keep(self._path(signature, result.library.codegen), dumps(result._reduce()))

    def _path(self, signature: Any, codegen: Any) -> Path:
        # Numba's text holds names of types; the rest says for which processor the code is.
        digest = disk.key(str(signature), *map(str, codegen.magic_tuple()))[:16]
        return self.module.with_name(f"{self.module.stem}-{digest}.code")
