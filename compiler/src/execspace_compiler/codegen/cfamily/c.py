"""Plain C for processors, as GCC and Clang take it: a table, and a head of the source.

It includes no header: functions of the library are called as built-ins, which halves the time to
compile a small kernel. Whoever calls a kernel says before, in `_part_number` and
`_number_of_parts`, which part of the range it shall do.
"""

from __future__ import annotations

import re

from .dialect import CLANG_LOOP_IN_ORDER, OPENCL, Dialect

_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long",
    "uint64": "unsigned long", "float16": "_Float16", "float32": "float", "float64": "double",
}  # fmt: skip

_HEAD = """typedef _Bool bool;
enum { false, true };
int printf(const char *, ...);
int fflush(void *);
static _Thread_local long _part_number, _number_of_parts;
"""


def _bits(short: str, float_type: str, integer: str) -> str:
    """Functions that take the bits of a number for another type."""
    form = "static inline {to} _as_{name}({from_} x) {{ {to} y; __builtin_memcpy(&y, &x, sizeof y); return y; }}\n"  # noqa: E501
    return form.format(to=float_type, name=f"f{short}", from_=integer) + form.format(
        to=integer, name=f"u{short}", from_=float_type
    )


def _swap(bits: int, type: str) -> str:
    """A function that exchanges a word if it is as expected, and gives what it was."""
    order = "__ATOMIC_RELAXED, __ATOMIC_RELAXED"
    return (
        f"static inline {type} _swap{bits}(volatile {type} *p, {type} e, {type} v) {{ "
        f"__atomic_compare_exchange_n(p, &e, v, 0, {order}); return e; }}\n"
    )


_HEAD += _bits("64", "double", "unsigned long") + _bits("32", "float", "unsigned int")
_HEAD += _swap(32, "unsigned int") + _swap(64, "unsigned long")

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

_WORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    typeof union unsigned void volatile while asm bool true false printf fflush main linux unix
    _part_number _number_of_parts""".split()
)

C = Dialect(
    name="c",
    types=_TYPES,
    suffixes={"int64": "L", "uint64": "UL", "uint32": "U"},
    head=_HEAD,
    no_contraction="",  # an option of the compiler
    no_contraction_here="",
    function="static inline",
    kernel="static __attribute__((noinline)) void",  # GCC forgets `restrict` when it inlines
    outer="",
    group="",
    restrict="restrict",
    constant="const",
    local_id="0L",
    group_id="_part_number",
    group_size="1L",
    groups="_number_of_parts",
    item_id="_part_number",
    barrier="",  # a group has one member
    fence="__atomic_thread_fence(__ATOMIC_SEQ_CST);",
    math={name: f"__builtin_{function}" for name, function in OPENCL.math.items()},
    math32="{}f",
    bits={
        "float64": "_as_f64({}UL)", "float32": "_as_f32({}U)", "float16": "_as_f16({})",
        "from float64": "_as_u64({})", "to float64": "_as_f64({})",
        "from float32": "_as_u32({})", "to float32": "_as_f32({})",
        "from float16": "_as_u16({})", "to float16": "_as_f16({})",
    },
    atomics=_ATOMICS,
    printf_long="l",
    vector_join="#pragma omp simd reduction({sign}: {name}) private({own})",
    loop_in_order=CLANG_LOOP_IN_ORDER,
    float16_head=_bits("16", "_Float16", "unsigned short"),
    reserved=_WORDS,
    reserved_form=re.compile(r"__\w*|_[A-Z]\w*|_(as|swap|run)_?\w*"),
)  # fmt: skip
