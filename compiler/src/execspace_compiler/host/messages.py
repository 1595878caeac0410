"""Messages from kernels to the host: failed assertions and printed text."""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import llvmlite.ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I8P = llvm.IntType(8).as_pointer()
_I32, _I64 = llvm.IntType(32), llvm.IntType(64)


@intrinsic
def fail(typingctx, status, code, indices):
    """Record the first failure of a launch: its code, then the indices."""

    def codegen(context, builder, sig, args):
        table = builder.inttoptr(args[0], _I64.as_pointer())
        zero = llvm.Constant(_I64, 0)
        found = builder.cmpxchg(table, zero, args[1], "acq_rel", "monotonic")
        with builder.if_then(builder.extract_value(found, 1)):
            for n, index in enumerate(cgutils.unpack_tuple(builder, args[2])):
                builder.store(index, builder.gep(table, [llvm.Constant(_I64, 1 + n)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, indices), codegen


@intrinsic(prefer_literal=True)
def printf(typingctx, text, values):
    """C's printf; integers have 64 bits, except that %c takes an int."""

    def codegen(context, builder, sig, args):
        format_ = text.literal_value
        pointer = context.insert_const_string(builder.module, format_)
        numbers = list(cgutils.unpack_tuple(builder, args[1]))
        kind = llvm.FunctionType(_I32, [_I8P], var_arg=True)
        function = cgutils.get_or_insert_function(builder.module, kind, "printf")
        builder.call(function, [pointer, *numbers])
        return context.get_dummy_value()

    return types.void(text, values), codegen
