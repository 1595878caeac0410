"""Plain C for processors, for GCC and Clang, as a dialect of the C family.

It includes no header: library functions are called as built-ins, which halves the time to compile a
small kernel. Before a call of a kernel, the caller sets `_part_number` and `_number_of_parts` to
the part of the range to run.
"""

from __future__ import annotations

import re

from .dialect import (
    CLANG_LOOP_IN_ORDER,
    MATH,
    Dialect,
    Heads,
    Math,
    Pragmas,
    Reserved,
    Synchronization,
    Syntax,
    WorkItem,
    header,
)  # fmt: skip

_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long",
    "uint64": "unsigned long", "float16": "_Float16", "float32": "float", "float64": "double",
}  # fmt: skip

_ATOMICS: dict[tuple[str, str], str] = {}
for _type in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
    for _op, _word in (("add", "add"), ("sub", "sub"), ("bitand", "and"), ("bitor", "or"),
                       ("bitxor", "xor"), ("nand", "nand")):  # fmt: skip
        _ATOMICS[_op, _type] = f"__atomic_fetch_{_word}({{p}}, {{v}}, __ATOMIC_RELAXED)"
    _ATOMICS["exchange", _type] = "__atomic_exchange_n({p}, {v}, __ATOMIC_RELAXED)"
    _ATOMICS["load", _type] = "__atomic_load_n({p}, __ATOMIC_RELAXED)"
for _type in ("int32", "uint32", "int64", "uint64"):
    _bits_of = _type[-2:]
    _unsigned = _TYPES[f"uint{_bits_of}"]
    _ATOMICS["compare_exchange", _type] = (
        f"({_TYPES[_type]})_swap{_bits_of}((volatile {_unsigned} *)({{p}}), {{e}}, {{v}})"
    )

_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    typeof union unsigned void volatile while asm bool true false printf fflush main linux unix
    _part_number _number_of_parts""".split()
)

C = Dialect(
    name="c",
    types=_TYPES,
    suffixes={"int64": "L", "uint64": "UL", "uint32": "U"},
    bits={
        "float64": "_as_f64({}UL)", "float32": "_as_f32({}U)", "float16": "_as_f16({})",
        "from float64": "_as_u64({})", "to float64": "_as_f64({})",
        "from float32": "_as_u32({})", "to float32": "_as_f32({})",
        "from float16": "_as_u16({})", "to float16": "_as_f16({})",
    },
    heads=Heads(header("c.h"), header("c_half.h"), (("_some", header("c_masks.h")),)),
    vector_extensions=True,
    syntax=Syntax(
        function="static inline",
        kernel="static __attribute__((noinline)) void",  # GCC forgets `restrict` when it inlines
        restrict="restrict",
    ),
    item=WorkItem(
        local_id="0L",
        group_id="_part_number",
        group_size="1L",
        groups="_number_of_parts",
        item_id="_part_number",
    ),
    sync=Synchronization(
        barrier="",  # groups have one member
        fence="__atomic_thread_fence(__ATOMIC_SEQ_CST);",
    ),
    math=Math(
        {name: f"__builtin_{function}" for name, function in MATH.items()}, "{}f",
        popcount={32: "__builtin_popcount({})", 64: "__builtin_popcountl({})"},
        leading_zeros={
            32: "(({0}) != 0 ? __builtin_clz({0}) : 32)",
            64: "(({0}) != 0 ? __builtin_clzl({0}) : 64)",
        },
    ),
    atomics=_ATOMICS,
    pragmas=Pragmas(  # contraction is an option of the compiler
        joining_loop="#pragma omp simd reduction({sign}: {name}) private({own})",
        loop_in_order=CLANG_LOOP_IN_ORDER,
    ),
    reserved=Reserved(_KEYWORDS, re.compile(r"__\w*|_[A-Z]\w*|_(as|swap|run|some)_?\w*|_q\d+")),
)  # fmt: skip
