"""Loops over calls of a body whose iterations may run in any order, with metadata for LLVM."""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import llvmlite.ir as llvm
from llvmlite.ir.values import MDValue
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I1, _I32, _I64 = llvm.IntType(1), llvm.IntType(32), llvm.IntType(64)
FAR = 1 << 30  # iterations of `first_failure` must be below


class _LoopId(MDValue):
    """A loop id: a distinct metadata node that is its own first operand."""

    def descr(self, buf):
        operands = [self.get_reference(), *(o.get_reference() for o in self.operands)]
        buf += (f"distinct !{{ {', '.join(operands)} }}", "\n")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


def _called(context, builder, body, result, position, args, kinds):
    """A function that emits a call of the body for an index."""
    kinds = [*kinds[:position], types.int64, *kinds[position:]]
    signature = result(*kinds)
    compiled = body.dispatcher.get_compile_result(signature)
    context.add_linking_libs([compiled.library])
    values = list(cgutils.unpack_tuple(builder, args))

    def call(index):
        given = [*values[:position], index, *values[position:]]
        return context.call_internal_no_propagate(builder, compiled.fndesc, signature, given)[1]

    return call


def _loop(builder, begin, end, carried, iteration, hints):
    """Emit a loop over begin <= i < end.

    `iteration` takes the index and the loop-carried numbers, and returns the next ones; the results
    are those after the last iteration. `hints` are names of LLVM's loop metadata with numbers.
    """
    before = builder.block
    loop, after = (builder.append_basic_block(name) for name in ("loop", "loop_end"))
    builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
    builder.position_at_end(loop)
    index = builder.phi(begin.type)
    index.add_incoming(begin, before)
    phis = [builder.phi(v.type) for v in carried]
    for phi, v in zip(phis, carried, strict=True):
        phi.add_incoming(v, before)
    changed = iteration(index, phis)
    following = builder.add(index, llvm.Constant(begin.type, 1), flags=("nsw",))
    index.add_incoming(following, builder.block)
    for phi, v in zip(phis, changed, strict=True):
        phi.add_incoming(v, builder.block)
    last = builder.block
    latch = builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    module = builder.module
    metadata = [module.add_metadata([f"llvm.loop.{name}", n]) for name, n in hints.items()]
    latch.set_metadata("llvm.loop", _LoopId(module, metadata, name=str(len(module.metadata))))
    builder.position_at_end(after)
    results = [builder.phi(v.type) for v in carried]
    for result, v, w in zip(results, carried, changed, strict=True):
        result.add_incoming(v, before)
        result.add_incoming(w, last)
    return results


# Interleaving several vectors pays off only for long rows, and is costly for short ones: without
# it, rows of 12 to 50 elements are up to twice as fast.
_ONE_VECTOR = {"interleave.count": llvm.Constant(_I32, 1)}

# If masks are cheap, short rows use tail folding (a masked last vector). It costs too much in long
# ones, since indices are compared in 64 bits.
_MASKED = {**_ONE_VECTOR, "vectorize.predicate.enable": llvm.Constant(_I1, 1)}
_SHORT = 64


def _loops(builder, end, carried, iteration, rows, masks):
    """`_loop` from 0, for many short rows or for a long one."""
    begin = end.type(0)
    if not rows:
        return _loop(builder, begin, end, carried, iteration, {})
    if not masks:
        return _loop(builder, begin, end, carried, iteration, _ONE_VECTOR)
    short = builder.icmp_signed("<", end, end.type(_SHORT))
    found = []
    with builder.if_else(short) as branches:
        for branch, hints in zip(branches, (_MASKED, _ONE_VECTOR), strict=True):
            with branch:
                results = _loop(builder, begin, end, carried, iteration, hints)
                found.append((builder.block, results))
    results = []
    for n, v in enumerate(carried):
        result = builder.phi(v.type)
        for block, values in found:
            result.add_incoming(values[n], block)
        results.append(result)
    return results


@intrinsic
def in_order(typingctx):
    """A no-op that prevents LLVM from vectorising the loop (analysis/invariants.py)."""

    def codegen(context, builder, sig, args):
        builder.asm(llvm.FunctionType(llvm.VoidType(), []), "", "", [], True)
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def opaque(typingctx, value):
    """The value, hidden from LLVM's optimiser."""

    def codegen(context, builder, sig, args):
        kind = args[0].type
        return builder.asm(llvm.FunctionType(kind, [kind]), "", "=r,0", args, False)

    return value(value), codegen


@intrinsic(prefer_literal=True)
def independent_loop(typingctx, body, position, first, last, args):
    """Call body(*args) for each index first <= i < last, inserted at `position`."""
    kinds, at = args.types, position.literal_value

    def codegen(context, builder, sig, operands):
        call = _called(context, builder, body, types.void, at, operands[4], kinds)

        def iteration(index, _):
            call(index)
            return []

        _loop(builder, operands[2], operands[3], [], iteration, _ONE_VECTOR)
        return context.get_dummy_value()

    return types.void(body, position, types.int64, types.int64, args), codegen


@intrinsic(prefer_literal=True)
def any_failure(typingctx, rows, bits, body, position, first, last, args):
    """Whether body(*args) is true for any index first <= i < last, inserted at `position`.

    `rows`: it is called for many short ranges. `bits`: width of the number that counts failures;
    that of the compared numbers, or comparisons would be packed; 1 if they give masks.
    """
    kinds, at, width = args.types, position.literal_value, bits.literal_value

    def codegen(context, builder, sig, operands):
        begin, end, packed = operands[4:]
        call = _called(context, builder, body, types.boolean, at, packed, kinds)

        # AVX-512 ands a comparison with an earlier mask in one instruction, so keep what holds.
        def iteration(n, carried):
            failed = call(builder.add(begin, n, flags=("nsw",)))
            if width == 1:
                return [builder.and_(carried[0], builder.not_(failed))]
            return [builder.add(carried[0], builder.zext(failed, kind))]

        kind = llvm.IntType(width)
        start, rounds = kind(int(width == 1)), builder.sub(end, begin)
        (found,) = _loops(builder, rounds, [start], iteration, rows.literal_value, width == 1)
        return builder.icmp_unsigned("!=", found, start)

    return types.boolean(rows, bits, body, position, types.int64, types.int64, args), codegen


@intrinsic(prefer_literal=True)
def first_failure(typingctx, rows, count, body, position, first, last, args):
    """Call body(*args) for each index first <= i < last, of which there must be less than FAR.

    The body returns the number of the assertion that failed, or 0. Returns the index of the first
    failure, `last` if there is none, and the number; for a `count` of 0 only the index.
    """
    kinds, at = args.types, position.literal_value
    numbers = range(1, 1 + max(1, count.literal_value))

    def codegen(context, builder, sig, operands):
        begin, end, packed = operands[4:]
        call = _called(context, builder, body, types.int64, at, packed, kinds)

        def least(a, b):
            return builder.select(builder.icmp_signed("<", a, b), a, b)

        # Loop-carried numbers have 32 bits, or vectors of float32 would need more registers.
        def iteration(n, carried):
            code = call(builder.add(begin, n, flags=("nsw",)))
            place = builder.trunc(n, _I32)
            found = []
            for number, v in zip(numbers, carried, strict=True):
                how, which = ("==", number) if count.literal_value else ("!=", 0)
                failed = builder.icmp_signed(how, code, _I64(which))
                found.append(least(v, builder.select(failed, place, _I32(FAR))))
            return found

        start = [_I32(FAR) for _ in numbers]
        rounds = builder.sub(end, begin)
        where, *others = _loops(builder, rounds, start, iteration, rows.literal_value, True)
        code = _I64(1)
        for number, v in zip(numbers[1:], others, strict=True):
            code = builder.select(builder.icmp_signed("<", v, where), _I64(number), code)
            where = least(v, where)
        held = builder.icmp_signed("==", where, _I32(FAR))
        index = builder.select(held, end, builder.add(begin, builder.sext(where, _I64)))
        return cgutils.pack_array(builder, [index, code])

    pair = types.UniTuple(types.int64, 2)
    return pair(rows, count, body, position, types.int64, types.int64, args), codegen
