"""Joins of reductions, and fork and join of a team of threads, for Numba's generated source."""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import llvmlite.ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .pool import ENTRY

_I8P = llvm.IntType(8).as_pointer()
_I32, _I64 = llvm.IntType(32), llvm.IntType(64)


# -- joins of reductions ----------------------------------------------------------------------

# The order of joins is unspecified, so they may be reassociated and thus vectorised; it is fixed
# when the kernel is compiled, so results are reproducible. The sign of a zero does not matter for
# minima, but it does for sums.
_JOIN = ("reassoc", "contract")
_ORDER = ("reassoc", "nsz")


def _join(float_op, int_op):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, sig, args):
            if isinstance(a, types.Float):
                return getattr(builder, float_op)(args[0], args[1], flags=_JOIN)
            return getattr(builder, int_op)(args[0], args[1])

        return a(a, a), codegen

    return function


def _extreme(name, sign):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, sig, args):
            x, y = args
            if isinstance(a, types.Float):
                # NaN propagates; LLVM vectorises this intrinsic, unlike a comparison.
                kind = llvm.FunctionType(x.type, [x.type, x.type])
                symbol = f"llvm.{name}.f{a.bitwidth}"
                extreme = cgutils.get_or_insert_function(builder.module, kind, symbol)
                return builder.call(extreme, args, fastmath=_ORDER)
            compare = builder.icmp_signed if a.signed else builder.icmp_unsigned
            return builder.select(compare(sign, y, x), y, x)

        return a(a, a), codegen

    return function


reduce_sum, reduce_prod = _join("fadd", "add"), _join("fmul", "mul")
reduce_min, reduce_max = _extreme("minimum", "<"), _extreme("maximum", ">")


# -- fork and join ----------------------------------------------------------------------------


def _fork(reduces, outline):
    @intrinsic
    def function(typingctx, chunk, team, parts, total, args):
        """Call chunk(first, last, [part,] *args) for each part, on a team of threads."""
        kinds = tuple(args.types)
        head = (types.int64,) * (3 if reduces else 2)
        signature = types.void(chunk, types.int64, types.int64, types.int64, args)

        def codegen(context, builder, sig, operands):
            _, team, n_parts, n_units, packed = operands
            chunk_signature = types.void(*head, *kinds)
            compiled = chunk.dispatcher.get_compile_result(chunk_signature)
            context.add_linking_libs([compiled.library])

            def call_chunk(b, part, n_parts, n_units, *values):
                first = b.sdiv(b.mul(part, n_units), n_parts)
                after = b.add(part, llvm.Constant(_I64, 1))
                last = b.sdiv(b.mul(after, n_units), n_parts)
                numbers = [first, last, part] if reduces else [first, last]
                context.call_internal_no_propagate(
                    b, compiled.fndesc, chunk_signature, [*numbers, *values]
                )

            fields = [n_parts, n_units, *cgutils.unpack_tuple(builder, packed)]
            layout = [_I64, _I64, *(context.get_value_type(t) for t in kinds)]
            outline(builder, team, llvm.LiteralStructType(layout), fields, call_chunk)
            return context.get_dummy_value()

        return signature, codegen

    return function


def _shared(builder, layout, fields):
    """A record on the stack of the launch, which all threads read."""
    shared = cgutils.alloca_once(builder, layout)
    record = llvm.Constant(layout, llvm.Undefined)
    for n, value in enumerate(fields):
        record = builder.insert_value(record, value, n)
    builder.store(record, shared)
    return builder.bitcast(shared, _I8P)


def _outlined(builder, layout, more):
    """A function of the shared record and `more`, a builder of its body, and the fields."""
    kind = llvm.FunctionType(llvm.VoidType(), [_I8P, *more])
    module = builder.module
    function = llvm.Function(module, kind, module.get_unique_name("team_member"))
    function.linkage = "internal"
    b = llvm.IRBuilder(function.append_basic_block("entry"))
    record = b.load(b.bitcast(function.args[0], layout.as_pointer()))
    return function, b, [b.extract_value(record, n) for n in range(len(layout.elements))]


def _on_openmp(builder, threads, layout, fields, call_chunk):
    """Emit GOMP_parallel over a function that runs every threads-th part."""
    shared = _shared(builder, layout, fields)
    outlined, b, values = _outlined(builder, layout, [])
    number = llvm.FunctionType(_I32, [])
    ask = [
        cgutils.get_or_insert_function(builder.module, number, name)
        for name in ("omp_get_thread_num", "omp_get_num_threads")
    ]
    member, members = (b.sext(b.call(f, []), _I64) for f in ask)
    # The runtime may start fewer threads than requested; all parts are run anyway.
    with cgutils.for_range_slice(b, member, values[0], members) as (part, _):
        call_chunk(b, part, *values)
    b.ret_void()

    kind = llvm.FunctionType(llvm.VoidType(), [outlined.type, _I8P, _I32, _I32])
    parallel = cgutils.get_or_insert_function(builder.module, kind, "GOMP_parallel")
    arguments = [outlined, shared, builder.trunc(threads, _I32)]
    builder.call(parallel, [*arguments, llvm.Constant(_I32, 0)])


def _on_pool(builder, threads, layout, fields, call_chunk):
    """Emit a call of the pool of `host.pool`, with a function that runs a part."""
    shared = _shared(builder, layout, fields)
    outlined = _part_runner(builder, layout, call_chunk)
    kind = llvm.FunctionType(llvm.VoidType(), [outlined.type, _I8P, _I64])
    run = cgutils.get_or_insert_function(builder.module, kind, ENTRY)
    builder.call(run, [outlined, shared, fields[0]])


def _part_runner(builder, layout, call_chunk):
    """A function of the shared record and a part's number that runs this part."""
    outlined, b, values = _outlined(builder, layout, [_I64])
    call_chunk(b, outlined.args[1], *values)
    b.ret_void()
    return outlined


def _on_fork(builder, table, layout, fields, call_chunk):
    """Emit a call of the C function in a `fork.Fork`'s table, with a function that runs a part."""
    shared = _shared(builder, layout, fields)
    outlined = _part_runner(builder, layout, call_chunk)

    words = builder.inttoptr(table, _I64.as_pointer())
    pending = builder.gep(words, [llvm.Constant(_I64, 1)])
    builder.store(builder.add(builder.load(pending), llvm.Constant(_I64, 1)), pending)
    kind = llvm.FunctionType(llvm.VoidType(), [outlined.type, _I8P, _I64, _I8P])
    fork = builder.inttoptr(builder.load(words), kind.as_pointer())
    builder.call(fork, [outlined, shared, fields[0], builder.bitcast(words, _I8P)])


pool_for, pool_reduce = (_fork(reduces, _on_pool) for reduces in (False, True))
fork_for, fork_reduce = (_fork(reduces, _on_openmp) for reduces in (False, True))
call_for, call_reduce = (_fork(reduces, _on_fork) for reduces in (False, True))
