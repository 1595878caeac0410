"""Raw memory for Numba's generated source: Views, records, arrays on the stack."""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import llvmlite.ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .arithmetic import inlined

_I8P = llvm.IntType(8).as_pointer()
_I32, _I64 = llvm.IntType(32), llvm.IntType(64)


@intrinsic
def peek(typingctx, address, slot):
    """The int64 in a slot of the table at an address."""
    signature = types.int64(types.int64, types.int64)

    def codegen(context, builder, sig, args):
        table = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.load(builder.gep(table, [args[1]], inbounds=True))

    return signature, codegen


@intrinsic
def pointer(typingctx, address, element):
    """An address as a pointer to elements of a type."""
    dtype = element.dtype if isinstance(element, types.NumberClass) else element.instance_type
    result = types.CPointer(dtype)

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], context.get_value_type(result))

    return result(types.int64, element), codegen


@intrinsic
def load(typingctx, base, offset):
    """The element at an offset from a pointer."""

    def codegen(context, builder, sig, args):
        at = builder.gep(args[0], [args[1]], inbounds=True)
        return context.unpack_value(builder, base.dtype, at)

    return base.dtype(base, types.int64), codegen


@intrinsic
def store(typingctx, base, offset, value):
    """Set the element at an offset from a pointer."""

    def codegen(context, builder, sig, args):
        at = builder.gep(args[0], [args[1]], inbounds=True)
        context.pack_value(builder, base.dtype, args[2], at)

    return types.void(base, types.int64, base.dtype), codegen


@intrinsic
def load_field(typingctx, base, offset, element):
    """The number at an offset in bytes from a pointer; records may be unaligned."""
    dtype = element.dtype if isinstance(element, types.NumberClass) else element.instance_type

    def codegen(context, builder, sig, args):
        place = builder.gep(args[0], [args[1]])
        at = builder.bitcast(place, context.get_data_type(dtype).as_pointer())
        value = builder.load(at, align=1)
        return context.data_model_manager[dtype].from_data(builder, value)

    return dtype(base, types.int64, element), codegen


@intrinsic
def store_field(typingctx, base, offset, element, value):
    """Set the number at an offset in bytes from a pointer."""
    dtype = element.dtype if isinstance(element, types.NumberClass) else element.instance_type

    def codegen(context, builder, sig, args):
        place = builder.gep(args[0], [args[1]])
        at = builder.bitcast(place, context.get_data_type(dtype).as_pointer())
        data = context.data_model_manager[dtype].as_data(builder, args[3])
        builder.store(data, at, align=1)
        return context.get_dummy_value()

    return types.void(base, types.int64, element, dtype), codegen


@intrinsic(prefer_literal=True)
def local_array(typingctx, element, size):
    """Memory of `size` bytes on the stack of the function, as a pointer to elements."""
    dtype = element.dtype if isinstance(element, types.NumberClass) else element.instance_type
    result = types.CPointer(dtype)

    def codegen(context, builder, sig, args):
        kind = llvm.ArrayType(llvm.IntType(8), max(size.literal_value, 1))
        # Numba's own alloca_once stores zeros as one value, which LLVM splits byte by byte in
        # quadratic time. `clear` stores zeros.
        with builder.goto_entry_block():
            block = builder.alloca(kind)
        block.align = 64
        return builder.bitcast(block, context.get_value_type(result))

    return result(element, size), codegen


@intrinsic(prefer_literal=True)
def clear(typingctx, base, size):
    """Set bytes to zero."""

    def codegen(context, builder, sig, args):
        count = llvm.Constant(_I64, size.literal_value)
        cgutils.memset(builder, builder.bitcast(args[0], _I8P), count, 0)
        return context.get_dummy_value()

    return types.void(base, size), codegen


# -- Views that do not overlap ----------------------------------------------------------------

# With alias scopes on accesses, LLVM can vectorise without overlap checks at each row. Named nodes
# are the same in all modules that are linked.


def _mark(builder, access, view, views):
    module = builder.module
    domain = module.add_metadata(["execspace views"])
    scopes = [module.add_metadata([f"view {n}", domain]) for n in range(views)]
    access.set_metadata("alias.scope", module.add_metadata([scopes[view]]))
    others = [scope for n, scope in enumerate(scopes) if n != view]
    if others:
        access.set_metadata("noalias", module.add_metadata(others))


@intrinsic(prefer_literal=True)
def load_disjoint(typingctx, base, offset, view, views):
    """`load` from View number `view` of `views` that do not overlap."""

    def codegen(context, builder, sig, args):
        at = builder.gep(args[0], [args[1]], inbounds=True)
        data = context.data_model_manager[base.dtype]
        value = builder.load(at)
        if not isinstance(base.dtype, types.Complex):
            _mark(builder, value, view.literal_value, views.literal_value)
        return data.from_data(builder, value)

    return base.dtype(base, types.int64, view, views), codegen


@intrinsic(prefer_literal=True)
def store_disjoint(typingctx, base, offset, value, view, views):
    """`store` into View number `view` of `views` that do not overlap."""

    def codegen(context, builder, sig, args):
        at = builder.gep(args[0], [args[1]], inbounds=True)
        data = context.data_model_manager[base.dtype]
        access = builder.store(data.as_data(builder, args[2]), at)
        if not isinstance(base.dtype, types.Complex):
            _mark(builder, access, view.literal_value, views.literal_value)
        return context.get_dummy_value()

    return types.void(base, types.int64, base.dtype, view, views), codegen


@inlined
def footprint(descriptor, rank, size):
    """First byte of a View and the one past its last."""
    low = high = peek(descriptor, 0)
    for d in range(rank):
        reach = (peek(descriptor, 1 + d) - 1) * peek(descriptor, 1 + rank + d) * size
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high + size


@intrinsic(prefer_literal=True)
def overlap(typingctx, ends, stored):
    """Whether one of the first `stored` Views overlaps another one.

    `ends` is the tuple of all their footprints. Branch-free, since Numba could not compile the many
    branches that many Views need.
    """

    def codegen(context, builder, sig, args):
        flat = cgutils.unpack_tuple(builder, args[0])
        spans = list(zip(flat[::2], flat[1::2], strict=True))
        found = cgutils.false_bit
        for n, (low, high) in enumerate(spans[: stored.literal_value]):
            for other_low, other_high in spans[n + 1 :]:
                begins = builder.icmp_signed("<", low, other_high)
                ends_later = builder.icmp_signed("<", other_low, high)
                found = builder.or_(found, builder.and_(begins, ends_later))
        return found

    return types.boolean(ends, stored), codegen


_CACHE_LINE = 64


@intrinsic
def allocate(typingctx, nbytes):
    """Address of memory on the heap, aligned to a cache line."""

    def codegen(context, builder, sig, args):
        kind = llvm.FunctionType(_I8P, [_I64])
        malloc = cgutils.get_or_insert_function(builder.module, kind, "malloc")
        # The address from malloc is stored before the line, for `release`.
        more = llvm.Constant(_I64, 2 * _CACHE_LINE)
        given = builder.ptrtoint(builder.call(malloc, [builder.add(args[0], more)]), _I64)
        line = llvm.Constant(_I64, -_CACHE_LINE)
        place = builder.and_(builder.add(given, more), line)
        before = builder.sub(place, llvm.Constant(_I64, 8))
        builder.store(given, builder.inttoptr(before, _I64.as_pointer()))
        return place

    return types.int64(types.int64), codegen


@intrinsic
def release(typingctx, address):
    """Free memory from `allocate`."""

    def codegen(context, builder, sig, args):
        before = builder.sub(args[0], llvm.Constant(_I64, 8))
        given = builder.load(builder.inttoptr(before, _I64.as_pointer()))
        kind = llvm.FunctionType(llvm.VoidType(), [_I8P])
        free = cgutils.get_or_insert_function(builder.module, kind, "free")
        builder.call(free, [builder.inttoptr(given, _I8P)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@intrinsic
def workspace(typingctx, nbytes):
    """Address of memory on the stack of the caller."""

    def codegen(context, builder, sig, args):
        block = builder.alloca(llvm.IntType(8), size=args[0])
        block.align = 64
        return builder.ptrtoint(block, _I64)

    return types.int64(types.int64), codegen
