"""Differences between the languages of the C family: records of fields in groups, no code.

A dialect names types, qualifiers, work-item functions, barriers, fences, atomic operations and
mathematical functions. Code that uses these is printed alike for all dialects. Fields are source;
where the documentation says "form", `str.format` fills in the values named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from importlib import resources

from execspace.base.dataclass import dataclass


@dataclass(frozen=True)
class Heads:
    """First lines of a file. Names in them begin with an underscore and are reserved.

    Attributes
    ----------
    always : str
        In every file.
    float16 : str
        After it, in files that compute in float16.
    parts : tuple of (str, str)
        More lines, between these two, for files that contain a string: the prefix of the names
        that the lines define. A part may use those before it.
    """

    always: str = ""
    float16: str = ""
    parts: tuple[tuple[str, str], ...] = ()

    def of(self, source: str, float16: bool) -> str:
        """The head of a file, from the source after it."""
        head = self.float16 if float16 else ""
        for prefix, lines in reversed(self.parts):
            if prefix in source or prefix in head:
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
    light_kernel : str
        As `kernel`, for one whose number of registers matters: the compiler may use as many as let
        a processor run so many `groups` at once, and is to use no more. Empty if the language has
        no such qualifier; a compiler may have an option for it, see `DeviceCode.resident`.
    """

    function: str
    kernel: str
    restrict: str
    constant: str = "const"
    light_kernel: str = ""


@dataclass(frozen=True)
class Memory:
    """Memory of the device and of a work-group.

    Attributes
    ----------
    addresses : bool
        Pointers are addresses, so kernels get the address of a View's first element. Otherwise they
        get its buffer, and the offset in it.
    device, group : str
        Address spaces of pointers to memory of the device, and of a work-group.
    group_variable : str
        Declaration of a variable of a work-group: a form of `type`, `name` and `extents`, such as
        "[8]".
    aligned : bool
        Such a variable is aligned to 16 bytes by default.
    dynamic_group : str
        Declaration of `_group_memory`, dynamic memory of the group whose size the launch sets;
        empty if it is a parameter of the kernel, a pointer to a `widest_type`.
    widest_type : str
        The type with the largest alignment.
    vectors : mapping
        Bytes of a pack -> the type of a vector by which it is moved. Empty if the language has
        none; then packs are moved as structs, or by `load_pack`.
    byte_vector : str
        The same of a pack of `count` elements of one byte, which some compilers take apart better:
        a form.
    load_pack, store_pack : str
        Expression: a pack, of a `type`, at an address `p`, and statement that stores the pack `v`
        there, of elements that are narrower than a word: forms. Others, and all if these are empty,
        are moved as a struct.
    whole_complex : bool
        Complex numbers in memory of the device are aligned to their size, and read and written by
        one access.
    nontemporal_load, nontemporal_store : str
        The same of 16 bytes, or another number of `bytes` of which `nontemporal_number` reads
        numbers, that caches need not keep; `whole` is the type of the vector that is loaded. Empty
        if there is nothing for it.
    nontemporal_least : int
        Bytes of an element, at least, for which these are used.
    nontemporal_number : str
        Expression: a number of a `type`, of 4 or 8 `bytes`, at an address `p`, which caches need
        not keep; the compiler may move it, as nothing stores there. Empty if there is nothing for
        it.
    """

    addresses: bool = False
    device: str = ""
    group: str = ""
    group_variable: str = "{type} {name}{extents};"
    aligned: bool = False
    dynamic_group: str = ""
    widest_type: str = ""
    vectors: Mapping[int, str] = field(default_factory=dict)
    byte_vector: str = ""
    load_pack: str = ""
    store_pack: str = ""
    whole_complex: bool = False
    nontemporal_load: str = ""
    nontemporal_store: str = ""
    nontemporal_least: int = 1
    nontemporal_number: str = ""


@dataclass(frozen=True)
class WorkItem:
    """Expressions for a work-item's ids and sizes, of type int64.

    Attributes
    ----------
    local_id, group_id, group_size, groups, item_id : str
        As OpenCL's get_local_id, get_group_id, get_local_size, get_num_groups and get_global_id.
    local_id_of, group_id_of, group_size_of, groups_of : str
        The same along an axis, of 32 bits, for thread blocks: forms of `axis`, a letter, and `n`,
        its number.
    narrow_item_id : str
        `item_id` as a uint32, computed in 32 bits, for launches of less than 2^32 work-items;
        `item_id` itself if empty.
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
    narrow_item_id: str = ""


@dataclass(frozen=True)
class Synchronization:
    """Barriers, fences, and ordered accesses.

    Attributes
    ----------
    barrier : str
        Statement: all work-items of the group, memory of the group and of the device.
    fence : str
        Statement: a sequentially consistent fence of the device.
    fence_acq_rel : str
        Statement: an acquire-release fence; `fence` if empty.
    fetch_add : str
        Expression: adds 1 to the int32 at `p` and returns its old value, with acquire-release
        ordering; a form. Fences around an atomic operation if empty.
    store_release, load_acquire : str
        Statement that stores the uint64 `v` at `p` with release, and expression that loads it with
        acquire ordering; forms. Relaxed accesses with fences if empty.
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
        Operation of IR -> function of float64; `float32` gives the name for float32.
    float32 : str
        Form of a function's name for float32: "{}" or "{}f".
    mul_hi : str
        The upper half of the product of two uint32 `a` and `b`: a form.
    popcount, leading_zeros : mapping
        32 and 64 -> form of how many bits of an unsigned integer are set, and of how many before
        the highest one that is; both or neither.
    """

    functions: Mapping[str, str]
    float32: str
    mul_hi: str = ""
    popcount: Mapping[int, str] = field(default_factory=dict)
    leading_zeros: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lanes:
    """Lanes of a warp, wavefront or sub-group, which have shuffles.

    Attributes
    ----------
    count : int
        Their number; 1 if there are no shuffles, and then the others are empty.
    own : str
        Expression: the lane id.
    shuffle : str
        Expression: `value`, of any type, of the lane `source`, executed by all lanes of `mask`
        (a bit for each); a form.
    ballot : str
        Expression: a uint64 with a bit for each lane of a `mask` whose `test` is true; a form.
    first : str
        Expression: the number of the lowest bit that is set in `bits`, a uint64; a form.
    sync : str
        Statement: lanes of a `mask` wait for each other, memory of the group and of the device; a
        form.
    barrier : str
        Statement: a named barrier for `count` work-items of a group, a multiple of the lanes; `n`
        is its number, from 1 to 15; a form. Empty if there are none.
    reduce : mapping of (str, str) to str
        By operation of a reducer and dtype, where there are such functions: an expression of the
        `value` of all lanes of `mask`, joined; forms.
    """

    count: int = 1
    own: str = ""
    shuffle: str = ""
    ballot: str = ""
    first: str = ""
    sync: str = ""
    barrier: str = ""
    reduce: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True)
class SinglePassScan:
    """Requirements of a single-pass scan: decoupled look-back (Merrill and Garland, 2016).

    Such a scan needs lanes with shuffles and ballots, too.

    Attributes
    ----------
    progress : bool
        Groups that have started go on, whatever others wait for.
    memory : int
        Bytes of a group's memory that the scan may use, so few that several groups can be resident.
    in_order : bool
        Groups start in the order of their ids.
    pair_load, pair_store : str
        Statements: read or write two 64-bit integers `a` and `b` at `p` in one access; forms. Empty
        if accesses may tear.
    pause : str
        Statement: the work-item waits for about `ns` nanoseconds; a form. Empty if there is none.
    nontemporal : bool
        Packs that are accessed once are moved so that caches need not keep them.
    """

    progress: bool = False
    memory: int = 40 * 1024
    in_order: bool = False
    pair_load: str = ""
    pair_store: str = ""
    pause: str = ""
    nontemporal: bool = False


@dataclass(frozen=True)
class Pragmas:
    """Pragmas for floating-point arithmetic and for loops.

    Attributes
    ----------
    no_contraction, no_contraction_here : str
        Disable contraction to multiply-add for a file, and at the start of a function's body.
    barrier : mapping
        NumPy dtype name -> statement after which the compiler knows nothing of the variable `x`: a
        form of `text`, a comment. Empty if it looks at an expression at a time.
    kept : mapping
        The same of a statement for which it must compute `x`.
    joining_loop : str
        Line before a loop that only joins a float sum or product, which allows the compiler to
        reassociate it: form of `sign`, `name` of the sum, and `own`, the loop's variable.
    rolled : str
        Before a loop that runs seldom, which a compiler would unroll, and take long for it.
    unrolled : str
        Before a loop that is to be unrolled, see analysis/unrolling.py.
    overlapped : str
        Before a loop of which several iterations should be under way at once.
    loop_in_order : str
        Before a loop with loop-carried dependences (analysis/carried.py), for compilers that
        vectorise some of these.
    """

    no_contraction: str = ""
    no_contraction_here: str = ""
    barrier: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    joining_loop: str = ""
    rolled: str = ""
    unrolled: str = ""
    overlapped: str = ""
    loop_in_order: str = ""


@dataclass(frozen=True)
class Workarounds:
    """Workarounds for defects of a compiler; empty if it is correct.

    Attributes
    ----------
    hidden : mapping
        NumPy dtype name -> statement that hides the value of the variable `x` from the optimiser,
        which would miscompile its use.
    sign_bits : mapping
        "abs" and "copysign" of float32 `x` (and `y`), if the language's function must not be used.
    negative : str
        Negates an int32 `x`, with wrap-around, if `-x` must not be used.
    gathers_loads : bool
        The compiler moves loads to the start of a block, also more than registers have room for.
    """

    hidden: Mapping[str, str] = field(default_factory=dict)
    sign_bits: Mapping[str, str] = field(default_factory=dict)
    negative: str = ""
    gathers_loads: bool = False


@dataclass(frozen=True)
class Reserved:
    """Reserved names: those of the language, of its library and of the heads.

    Attributes
    ----------
    names : frozenset of str
    form : re.Pattern
        Families of names, including macros.
    """

    names: frozenset[str] = frozenset()
    form: re.Pattern[str] = re.compile("")


@dataclass(frozen=True)
class Float16Bits:
    """float16 in a language without its arithmetic: a number is its bits. Forms of expressions.

    Attributes
    ----------
    value : str
        The float32 that bits are.
    nearest, nearest_once : str
        Bits of the float16 next to a float32, or to a float64 in one step.
    """

    value: str
    nearest: str
    nearest_once: str


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
        Type -> expression form for a constant's bits as a float; "from" and "to" a type for
        other numbers.
    atomics : mapping
        (operation, type) -> form of an expression of `p` and `v` that returns the old value.
        "compare_exchange" takes `e` and `v`. Other operations are compare-and-swap loops. Before
        an operation, "group" is for elements in the memory of a group, "fast" for kernels with
        fastmath, and "sum", a statement, for kernels that do nothing else atomic to elements of
        the type than add, and do not ask for what they find; without an entry they are done as
        elsewhere.
    printf_long : str
        Length modifier of 64-bit integers in printf.
    float16 : Float16Bits, optional
        For languages without arithmetic of float16, where its type is that of uint16.
    vector_extensions : bool
        The compiler has GCC's: types with the attribute `vector_size`, whose operators act lane by
        lane, and `__builtin_convertvector`. Kernels may then run in lanes.
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
    scan: SinglePassScan = SinglePassScan()
    pragmas: Pragmas = Pragmas()
    workarounds: Workarounds = Workarounds()
    reserved: Reserved = Reserved()
    printf_long: str = "l"
    float16: Float16Bits | None = None
    vector_extensions: bool = False

    @property
    def scans_in_one_pass(self) -> bool:
        """Whether a scan is one kernel; elsewhere there are two."""
        return bool(self.scan.progress and self.lanes.ballot)


MATH = {
    name: name
    for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
        "erfc", "lgamma", "floor", "ceil", "trunc", "rint", "atan2", "hypot", "copysign", "fmod",
        "pow", "isnan", "isinf", "isfinite", "fma",
    )
} | {"gamma": "tgamma", "abs": "fabs"}  # fmt: skip

CLANG_LOOP_IN_ORDER = "#pragma clang loop vectorize(disable) interleave(disable)"


def header(name: str) -> str:
    """Source of a file in `heads`, without its first comment."""
    text = (resources.files(__package__) / "heads" / name).read_text(encoding="utf-8")
    return re.sub(r"\A(//.*\n)+\n?", "", text)
