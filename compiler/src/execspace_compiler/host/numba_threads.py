"""Numba's threads for the parts of launches, where there is no libgomp: its parallel loop as a C
function. Importing this module loads Numba, and compiles that loop.
"""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return,untyped-decorator"

from __future__ import annotations

import llvmlite.ir as llvm
import numba
from numba import types
from numba.extending import intrinsic

_I64 = llvm.IntType(64)
_PART = llvm.FunctionType(llvm.VoidType(), [_I64, _I64])


@intrinsic
def _run(typingctx, function, data, part):
    """Call the function at an address for a part."""

    def codegen(context, builder, sig, args):
        called = builder.inttoptr(args[0], _PART.as_pointer())
        builder.call(called, args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@numba.njit(parallel=True, nogil=True)
def _parts(function, data, parts):
    for n in numba.prange(parts):
        _run(function, data, n)


@numba.cfunc(types.void(types.int64, types.int64, types.int64, types.int64))
def _fork(function, data, parts, table):
    _parts(function, data, parts)


ADDRESS: int = _fork.address
"""Of ``void fork(void (*part)(void *, int64_t), void *data, int64_t parts, void *table)``."""
