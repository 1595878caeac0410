"""Atomic operations of Numba's generated source, on the bits of numbers.

Loads acquire and stores release, which is free or nearly free on processors. Arithmetic is relaxed,
exchanges acquire and release.
"""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import llvmlite.ir as llvm
from numba import types
from numba.extending import intrinsic

_I8P = llvm.IntType(8).as_pointer()
_RMW = {"add": "add", "sub": "sub", "bitand": "and", "bitor": "or", "bitxor": "xor",
        "exchange": "xchg"}  # fmt: skip


def _bits(context, dtype):
    """The integer type of all bits of an element."""
    return llvm.IntType(8 * context.get_abi_sizeof(context.get_data_type(dtype)))


def _to_bits(context, builder, dtype, value):
    bits = _bits(context, dtype)
    if isinstance(dtype, types.Complex):
        half = llvm.IntType(bits.width // 2)
        low, high = (
            builder.zext(builder.bitcast(builder.extract_value(value, n), half), bits)
            for n in range(2)
        )
        return builder.or_(builder.shl(high, llvm.Constant(bits, half.width)), low)
    return builder.bitcast(context.data_model_manager[dtype].as_data(builder, value), bits)


def _from_bits(context, builder, dtype, word):
    if isinstance(dtype, types.Complex):
        half = llvm.IntType(word.type.width // 2)
        part = context.get_value_type(dtype.underlying_float)
        high = builder.lshr(word, llvm.Constant(word.type, half.width))
        value = llvm.Constant(context.get_value_type(dtype), llvm.Undefined)
        for n, bits in enumerate((word, high)):
            number = builder.bitcast(builder.trunc(bits, half), part)
            value = builder.insert_value(value, number, n)
        return value
    data = builder.bitcast(word, context.get_data_type(dtype))
    return context.data_model_manager[dtype].from_data(builder, data)


def _place(context, builder, dtype, base, offset):
    """An element as a pointer to its bits."""
    at = builder.gep(base, [offset], inbounds=True)
    return builder.bitcast(at, _bits(context, dtype).as_pointer())


@intrinsic
def number_at(typingctx, base, offset, element):
    """Pointer to the number at an offset in bytes from a pointer."""
    dtype = element.dtype if isinstance(element, types.NumberClass) else element.instance_type
    result = types.CPointer(dtype)

    def codegen(context, builder, sig, args):
        place = builder.gep(builder.bitcast(args[0], _I8P), [args[1]])
        return builder.bitcast(place, context.get_value_type(result))

    return result(base, types.int64, element), codegen


@intrinsic(prefer_literal=True)
def atomic_load(typingctx, base, offset, ordering):
    """The element at an offset from a pointer."""
    dtype = base.dtype

    def codegen(context, builder, sig, args):
        place = _place(context, builder, dtype, args[0], args[1])
        size = _bits(context, dtype).width // 8
        word = builder.load_atomic(place, ordering.literal_value, size)
        return _from_bits(context, builder, dtype, word)

    return dtype(base, types.int64, ordering), codegen


@intrinsic
def atomic_store(typingctx, base, offset, value):
    """Set the element at an offset from a pointer."""
    dtype = base.dtype

    def codegen(context, builder, sig, args):
        place = _place(context, builder, dtype, args[0], args[1])
        word = _to_bits(context, builder, dtype, args[2])
        builder.store_atomic(word, place, "release", word.type.width // 8)
        return context.get_dummy_value()

    return types.void(base, types.int64, dtype), codegen


@intrinsic(prefer_literal=True)
def atomic_rmw(typingctx, op, base, offset, value):
    """Change the element by LLVM's atomicrmw; returns its old value."""
    dtype = base.dtype

    def codegen(context, builder, sig, args):
        place = _place(context, builder, dtype, args[1], args[2])
        word = _to_bits(context, builder, dtype, args[3])
        ordering = "acq_rel" if op.literal_value == "exchange" else "monotonic"
        old = builder.atomic_rmw(_RMW[op.literal_value], place, word, ordering)
        return _from_bits(context, builder, dtype, old)

    return dtype(op, base, types.int64, dtype), codegen


def _exchange(success, failure):
    @intrinsic
    def function(typingctx, base, offset, expected, desired):
        """Compare-and-swap of the element's bits: whether it was set, and its old value."""
        dtype = base.dtype
        result = types.Tuple((types.boolean, dtype))

        def codegen(context, builder, sig, args):
            place = _place(context, builder, dtype, args[0], args[1])
            words = (_to_bits(context, builder, dtype, value) for value in args[2:])
            found = builder.cmpxchg(place, *words, success, failure)
            old = _from_bits(context, builder, dtype, builder.extract_value(found, 0))
            return context.make_tuple(builder, result, (builder.extract_value(found, 1), old))

        return result(base, types.int64, dtype, dtype), codegen

    return function


compare_exchange = _exchange("acq_rel", "acquire")
try_exchange = _exchange("monotonic", "monotonic")  # for compare-and-swap loops
