"""What tells the languages of the C family apart: records of fields in groups, no code.

A dialect names types, qualifiers, work-item functions, barriers, fences, atomic operations and
mathematical functions. All that is made of these is printed the same for every dialect. Fields are
source text; where the documentation says "form", `str.format` fills in the values named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources


@dataclass(frozen=True)
class Heads:
    """First lines of a file. Names in them begin with an underscore and are reserved.

    Attributes
    ----------
    always : str
        Of every file.
    float16 : str
        Behind it in files that compute in float16.
    parts : tuple of (str, str)
        More lines, between these two, for files that have a word in them: how the names begin that
        the lines define. A part may use those before it.
    """

    always: str = ""
    float16: str = ""
    parts: tuple[tuple[str, str], ...] = ()

    def of(self, source: str, float16: bool) -> str:
        """The head of a file, by what it has behind its head."""
        head = self.float16 if float16 else ""
        for word, lines in reversed(self.parts):
            if word in source or word in head:
                head = lines + head
        return self.always + head


@dataclass(frozen=True)
class Syntax:
    """Qualifiers.

    Attributes
    ----------
    function : str
        Before the type of a function.
    kernel : str
        Before the name of a kernel: a form of `group`, the work-items of a group.
    restrict, constant : str
    """

    function: str
    kernel: str
    restrict: str
    constant: str = "const"


@dataclass(frozen=True)
class Memory:
    """Memory of the device and of a work-group.

    Attributes
    ----------
    addresses : bool
        Pointers are addresses, so kernels get that of a View's first element. Otherwise they get
        the buffer that it lies in, and the offset in it.
    device, group : str
        Address spaces of pointers to memory of the device, and of a work-group.
    group_variable : str
        Declaration of a variable of a work-group: a form of `type`, `name` and `extents`, such as
        "[8]".
    aligned : bool
        Such a variable is aligned to 16 bytes as it stands.
    dynamic_group : str
        Declaration of `_group_memory`, bytes of the group's memory whose number the launch gives;
        empty where they come as a parameter of the kernel, a pointer to a `group_word`.
    group_word : str
        The type that wants the largest alignment.
    """

    addresses: bool = False
    device: str = ""
    group: str = ""
    group_variable: str = "{type} {name}{extents};"
    aligned: bool = False
    dynamic_group: str = ""
    group_word: str = ""


@dataclass(frozen=True)
class WorkItem:
    """Expressions for a work-item's place, of type int64.

    Attributes
    ----------
    local_id, group_id, group_size, groups, item_id : str
        As OpenCL's get_local_id, get_group_id, get_local_size, get_num_groups and get_global_id.
    local_id_of, group_id_of, group_size_of, groups_of : str
        The same along an axis, of 32 bits, for walks in blocks: forms of `axis`, a letter, and
        `n`, its number.
    """

    local_id: str
    group_id: str
    group_size: str
    groups: str
    item_id: str
    local_id_of: str = ""
    group_id_of: str = ""
    group_size_of: str = ""
    groups_of: str = ""


@dataclass(frozen=True)
class Synchronization:
    """Barriers, fences, and accesses that order others.

    Attributes
    ----------
    barrier : str
        Statement: all work-items of the group, memory of the group and of the device.
    fence : str
        Statement: what was stored before is seen by others before what is stored after, in the
        order of all such fences (sequentially consistent).
    fence_acq_rel : str
        Statement: as `fence`, between one work-item that releases and one that acquires; `fence`
        if empty.
    fetch_add : str
        Expression: adds 1 to the int32 at `p` and gives what it was, in order with all that its
        work-item does before and after; a form. Fences around an atomic operation if empty.
    store_release, load_acquire : str
        Statement that stores the uint64 `v` at `p` after all that was stored before, and expression
        that loads it before all that is loaded after; forms. Fences beside them if empty.
    """

    barrier: str
    fence: str
    fence_acq_rel: str = ""
    fetch_add: str = ""
    store_release: str = ""
    load_acquire: str = ""


@dataclass(frozen=True)
class Math:
    """Mathematical functions.

    Attributes
    ----------
    functions : mapping
        Operation of IR -> function of float64; the one of float32 is `float32` of it.
    float32 : str
        Form of a function's name for float32: "{}" or "{}f".
    mul_hi : str
        The upper half of the product of two uint32 `a` and `b`: a form.
    """

    functions: Mapping[str, str]
    float32: str
    mul_hi: str = ""


@dataclass(frozen=True)
class Lanes:
    """Neighbouring work-items that exchange values directly: a warp, wavefront or sub-group.

    Attributes
    ----------
    count : int
        How many; 1 where none can, then the others are empty.
    own : str
        Expression: the number of a work-item among these.
    shuffle : str
        Expression: what `value`, of any type, is for the lane `source`, when all of the `mask`
        (a bit for each) ask at once; a form.
    sync : str
        Statement: lanes of a `mask` wait for each other, memory of the group and of the device; a
        form.
    barrier : str
        Statement: `count` work-items of a group, a multiple of the lanes, wait for each other at
        their barrier number `n`, of 1 to 15; a form. Empty where there is none.
    """

    count: int = 1
    own: str = ""
    shuffle: str = ""
    sync: str = ""
    barrier: str = ""


@dataclass(frozen=True)
class OnePassScan:
    """What a scan in one pass needs: decoupled look-back (Merrill and Garland, 2016).

    Attributes
    ----------
    barrier : str
        Statement: the first 32 work-items of a group wait for each other, memory of the group.
        Given only where a group that has begun goes on, whatever other groups wait for.
    memory : int
        Bytes of a group's memory that the scan may take: so few that several groups fit into what
        the hardware has for all that it runs at once.
    in_order : bool
        Groups begin in the order of their numbers.
    pair_load, pair_store : str
        Statements: read or write two 64-bit integers `a` and `b` at `p` at once; forms. Empty where
        others might see one without the other.
    """

    barrier: str = ""
    memory: int = 40 * 1024
    in_order: bool = False
    pair_load: str = ""
    pair_store: str = ""


@dataclass(frozen=True)
class Pragmas:
    """What compilers may do with floats, and with loops.

    Attributes
    ----------
    no_contraction, no_contraction_here : str
        Forbid multiply-add for a whole file, and at the begin of a function's body.
    joining_loop : str
        Line before a loop that only joins a float sum or product, which lets the compiler join in
        another order: form of `sign`, `name` of the sum, and `own`, the loop's variable.
    loop_in_order : str
        Before a loop whose rounds run one after the other (analysis/carried.py), for compilers
        that vectorise some of these.
    """

    no_contraction: str = ""
    no_contraction_here: str = ""
    joining_loop: str = ""
    loop_in_order: str = ""


@dataclass(frozen=True)
class Repairs:
    """Statements against defects of a compiler; empty where the language's rules hold.

    Attributes
    ----------
    hidden : mapping
        NumPy dtype name -> statement after which the compiler knows nothing of the variable `x`,
        of which it would make what is wrong.
    sign_bits : mapping
        "abs" and "copysign" of float32 `x` (and `y`), where the language's function must not be
        used.
    negative : str
        Makes an int32 `x` its negative, which wraps, where `-x` must not be used.
    """

    hidden: Mapping[str, str] = field(default_factory=dict)
    sign_bits: Mapping[str, str] = field(default_factory=dict)
    negative: str = ""


@dataclass(frozen=True)
class Reserved:
    """Names that no variable can have: those of the language, of its library and of the heads.

    Attributes
    ----------
    words : frozenset of str
    form : re.Pattern
        Whole families of names, macros among them.
    """

    words: frozenset[str] = frozenset()
    form: re.Pattern[str] = re.compile("")


@dataclass(frozen=True)
class Dialect:
    """A language of the C family.

    Attributes
    ----------
    name : str
    types : mapping
        NumPy dtype name -> type; booleans in memory are bytes ("uint8").
    suffixes : mapping
        NumPy dtype name -> suffix of integer literals.
    bits : mapping
        Type -> expression form for an integer's bits as a float; "from" and "to" a type for
        numbers that are not constants.
    atomics : mapping
        (operation, type) -> form of an expression of `p` and `v` that gives the old value.
        "compare_exchange" takes `e` and `v`. Of other operations loops are made.
    printf_long : str
        Length modifier of 64-bit integers in printf.
    """

    name: str
    types: Mapping[str, str]
    suffixes: Mapping[str, str]
    bits: Mapping[str, str]
    syntax: Syntax
    item: WorkItem
    sync: Synchronization
    math: Math
    heads: Heads = Heads()
    memory: Memory = Memory()
    atomics: Mapping[tuple[str, str], str] = field(default_factory=dict)
    lanes: Lanes = Lanes()
    scan: OnePassScan = OnePassScan()
    pragmas: Pragmas = Pragmas()
    repairs: Repairs = Repairs()
    reserved: Reserved = Reserved()
    printf_long: str = "l"


MATH = {
    name: name
    for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
        "erfc", "lgamma", "floor", "ceil", "trunc", "rint", "atan2", "hypot", "copysign", "fmod",
        "pow", "isnan", "isinf", "isfinite",
    )
} | {"gamma": "tgamma", "abs": "fabs"}  # fmt: skip

CLANG_LOOP_IN_ORDER = "#pragma clang loop vectorize(disable) interleave(disable)"


def header(name: str) -> str:
    """Text of a file of `heads`, without the comment that it opens with."""
    text = (resources.files(__package__) / "heads" / name).read_text(encoding="utf-8")
    return re.sub(r"\A(//.*\n)+\n?", "", text)
