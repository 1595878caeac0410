"""Functions that generated Numba text calls: raw memory, Python's arithmetic, fork and join.

Generated text imports this module as `_r`. Everything here is inlined into kernels.
"""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import math

import llvmlite.ir as llvm
import numpy as np
from llvmlite.ir.values import MDValue
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.types import (  # noqa: F401 - names that generated text refers to
    boolean,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

_I8P = llvm.IntType(8).as_pointer()
_I32, _I64 = llvm.IntType(32), llvm.IntType(64)

# Without wrappers for calls from Python and C, which nothing uses, all compiles faster.
_inlined = njit(
    forceinline=True,
    error_model="numpy",
    nogil=True,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)

# -- memory -----------------------------------------------------------------------------------


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


# LLVM may vectorise without checking at each row that Views overlap if accesses say which View
# they belong to. Names make the nodes the same in every module that is linked.


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
    """`load` from View number `view` of `views`, none of which overlap."""

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
    """`store` into View number `view` of `views`, none of which overlap."""

    def codegen(context, builder, sig, args):
        at = builder.gep(args[0], [args[1]], inbounds=True)
        data = context.data_model_manager[base.dtype]
        access = builder.store(data.as_data(builder, args[2]), at)
        if not isinstance(base.dtype, types.Complex):
            _mark(builder, access, view.literal_value, views.literal_value)
        return context.get_dummy_value()

    return types.void(base, types.int64, base.dtype, view, views), codegen


@_inlined
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


class _LoopId(MDValue):
    """A node that names a loop: distinct, and its own first operand."""

    def descr(self, buf):
        operands = [self.get_reference(), *(o.get_reference() for o in self.operands)]
        buf += (f"distinct !{{ {', '.join(operands)} }}", "\n")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


@intrinsic(prefer_literal=True)
def independent_loop(typingctx, body, position, first, last, args):
    """Call body(*args) for each index first <= i < last, put in at `position`."""
    kinds = list(args.types)
    kinds.insert(position.literal_value, types.int64)

    def codegen(context, builder, sig, operands):
        _, _, begin, end, packed = operands
        signature = types.void(*kinds)
        compiled = body.dispatcher.get_compile_result(signature)
        context.add_linking_libs([compiled.library])
        values = list(cgutils.unpack_tuple(builder, packed))
        before = builder.block
        loop, after = (builder.append_basic_block(name) for name in ("loop", "loop_end"))
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
        builder.position_at_end(loop)
        index = builder.phi(_I64)
        index.add_incoming(begin, before)
        values.insert(position.literal_value, index)
        context.call_internal_no_propagate(builder, compiled.fndesc, signature, values)
        following = builder.add(index, llvm.Constant(_I64, 1), flags=("nsw",))
        index.add_incoming(following, builder.block)
        latch = builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
        # Interleaving several vectors pays only where rows are long, and costs most where they
        # are short: without it rows of 12 to 50 elements are up to twice as fast.
        module = builder.module
        one = llvm.Constant(_I32, 1)
        count = module.add_metadata(["llvm.loop.interleave.count", one])
        latch.set_metadata("llvm.loop", _LoopId(module, [count], name=str(len(module.metadata))))
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.void(body, position, types.int64, types.int64, args), codegen


@intrinsic
def workspace(typingctx, nbytes):
    """Address of bytes on the stack of the caller, gone when it returns."""

    def codegen(context, builder, sig, args):
        block = builder.alloca(llvm.IntType(8), size=args[0])
        block.align = 64
        return builder.ptrtoint(block, _I64)

    return types.int64(types.int64), codegen


# -- Python's arithmetic ----------------------------------------------------------------------


def _plain_division(name):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, sig, args):
            kind = "s" if a.signed else "u"
            return getattr(builder, f"{kind}{name}")(args[0], args[1])

        if isinstance(a, types.Integer) and a == b:
            return a(a, a), codegen
        return None

    return function


truncdiv = _plain_division("div")
truncmod = _plain_division("rem")


@intrinsic
def frem(typingctx, a, b):
    """C's fmod: the remainder with the sign of a."""

    def codegen(context, builder, sig, args):
        return builder.frem(args[0], args[1])

    return (a(a, a), codegen) if isinstance(a, types.Float) and a == b else None


@_inlined
def int_floordiv(a, b):
    """a // b of int64; 0 where b is 0, as NumPy has it."""
    if b == 0:
        return 0
    if b == -1:  # the least integer divided by -1 traps
        return -a
    q = truncdiv(a, b)
    if (a ^ b) < 0 and q * b != a:
        q -= 1
    return q


@_inlined
def int_mod(a, b):
    """a % b of int64, with the sign of b; 0 where b is 0."""
    if b == 0 or b == -1:
        return 0
    r = truncmod(a, b)
    if r != 0 and (r ^ b) < 0:
        r += b
    return r


@_inlined
def uint_floordiv(a, b):
    """a // b of uint64; 0 where b is 0."""
    return b if b == 0 else truncdiv(a, b)


@_inlined
def uint_mod(a, b):
    """a % b of uint64; 0 where b is 0."""
    return b if b == 0 else truncmod(a, b)


@_inlined
def int_pow(a, b):
    """a ** b of 64-bit integers, wrapping; for b < 0 the truncated quotient 1 / a**-b."""
    one = a ^ a | True
    if b < 0:
        if a == 1:
            return one
        if a + one == 0:
            return a if b & 1 else one
        return a - a
    result = one
    while b != 0:
        if b & 1:
            result *= a
        a *= a
        b >>= 1
    return result


@_inlined
def uint_pow(a, b):
    """a ** b of uint64, wrapping."""
    result = np.uint64(1)
    while b != 0:
        if b & np.uint64(1):
            result *= a
        a *= a
        b >>= np.uint64(1)
    return result


@_inlined
def lshift(a, b):
    """a << b; 0 where b is not within the width."""
    return a << b if 0 <= b < 64 else a - a


@_inlined
def rshift(a, b):
    """a >> b; 0 or -1 where b is not within the width."""
    if 0 <= b < 64:
        return a >> b
    return a - a if a >= 0 else ~(a - a)


def _float_division(cast):
    # The steps of Python's float_divmod, which NumPy follows too.
    zero, one, half = cast(0.0), cast(1.0), cast(0.5)

    @_inlined
    def floordiv(a, b):
        if b == zero:
            return a / b
        m = frem(a, b)
        q = (a - m) / b
        if m != zero and (b < zero) != (m < zero):
            q -= one
        if q == zero:
            return cast(math.copysign(zero, a / b))
        whole = cast(np.floor(q))
        if q - whole > half:
            whole += one
        return whole

    @_inlined
    def mod(a, b):
        m = frem(a, b)
        if b == zero:
            return m
        if m == zero:
            return cast(math.copysign(zero, b))
        if (b < zero) != (m < zero):
            m += b
        return m

    return floordiv, mod


float64_floordiv, float64_mod = _float_division(np.float64)
float32_floordiv, float32_mod = _float_division(np.float32)


@_inlined
def python_min(a, b):
    """Python's min(a, b)."""
    return b if b < a else a


@_inlined
def python_max(a, b):
    """Python's max(a, b)."""
    return b if b > a else a


@_inlined
def minimum(a, b):
    """numpy.minimum: NaN if either is."""
    return a if a < b or a != a else b


@_inlined
def maximum(a, b):
    """numpy.maximum: NaN if either is."""
    return a if a > b or a != a else b


@_inlined
def fmin(a, b):
    """numpy.fmin: the number, of a NaN and a number."""
    return a if a <= b or b != b else b


@_inlined
def fmax(a, b):
    """numpy.fmax: the number, of a NaN and a number."""
    return a if a >= b or b != b else b


# -- joins of reductions ----------------------------------------------------------------------

# The order of joins is ours to choose, so they may be reassociated and thus vectorised; it is
# fixed when the kernel is compiled, so results do not vary from run to run.
_JOIN = ("reassoc", "nsz", "contract")
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
                # A NaN wins; LLVM vectorises this as it stands, unlike a comparison.
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


def _fork(reduces):
    @intrinsic
    def function(typingctx, chunk, threads, parts, total, args):
        """Call chunk(first, last, [part,] *args) for each part, on a team of threads."""
        kinds = tuple(args.types)
        head = (types.int64,) * (3 if reduces else 2)
        signature = types.void(chunk, types.int64, types.int64, types.int64, args)

        def codegen(context, builder, sig, operands):
            _, team, n_parts, n_units, packed = operands
            chunk_signature = types.void(*head, *kinds)
            compiled = chunk.dispatcher.get_compile_result(chunk_signature)
            context.add_linking_libs([compiled.library])

            def call_chunk(b, first, last, part, values):
                numbers = [first, last, part] if reduces else [first, last]
                context.call_internal_no_propagate(
                    b, compiled.fndesc, chunk_signature, [*numbers, *values]
                )

            _outline(context, builder, team, n_parts, n_units, packed, args, call_chunk)
            return context.get_dummy_value()

        return signature, codegen

    return function


def _outline(context, builder, team, parts, total, packed, args, call_chunk):
    """Emit GOMP_parallel over a function that runs every team-th part."""
    module = builder.module
    kinds = tuple(args.types)
    layout = llvm.LiteralStructType([_I64, _I64, *(context.get_value_type(t) for t in kinds)])
    shared = cgutils.alloca_once(builder, layout)
    record = llvm.Constant(layout, llvm.Undefined)
    fields = [parts, total, *cgutils.unpack_tuple(builder, packed)]
    for n, value in enumerate(fields):
        record = builder.insert_value(record, value, n)
    builder.store(record, shared)

    outlined = llvm.Function(
        module, llvm.FunctionType(llvm.VoidType(), [_I8P]), module.get_unique_name("team_member")
    )
    outlined.linkage = "internal"
    b = llvm.IRBuilder(outlined.append_basic_block("entry"))
    inner = b.load(b.bitcast(outlined.args[0], layout.as_pointer()))
    n_parts, n_units, *values = (b.extract_value(inner, n) for n in range(len(fields)))
    number = llvm.FunctionType(_I32, [])
    ask = [
        cgutils.get_or_insert_function(module, number, name)
        for name in ("omp_get_thread_num", "omp_get_num_threads")
    ]
    member, members = (b.sext(b.call(f, []), _I64) for f in ask)
    # The runtime may grant fewer threads than asked for; every part is run all the same.
    with cgutils.for_range_slice(b, member, n_parts, members) as (part, _):
        first = b.sdiv(b.mul(part, n_units), n_parts)
        after = b.add(part, llvm.Constant(_I64, 1))
        call_chunk(b, first, b.sdiv(b.mul(after, n_units), n_parts), part, values)
    b.ret_void()

    kind = llvm.FunctionType(llvm.VoidType(), [outlined.type, _I8P, _I32, _I32])
    parallel = cgutils.get_or_insert_function(module, kind, "GOMP_parallel")
    arguments = [outlined, builder.bitcast(shared, _I8P), builder.trunc(team, _I32)]
    builder.call(parallel, [*arguments, llvm.Constant(_I32, 0)])


fork_for, fork_reduce = _fork(reduces=False), _fork(reduces=True)
