"""Everything that Numba's generated source calls; it imports this module as `_r`.

All of it is inlined into kernels, except for `stored`, which compiles the module's `launch`.
"""

# ruff: noqa: F401
from numba.types import (
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

from .arithmetic import (
    complex64_div,
    complex64_mul,
    complex64_pow,
    complex64_sqrt,
    complex128_div,
    complex128_mul,
    complex128_pow,
    complex128_sqrt,
    float32_floordiv,
    float32_mod,
    float64_floordiv,
    float64_mod,
    fmax,
    fmin,
    frem,
    int_add,
    int_floordiv,
    int_mod,
    int_mul,
    int_pow,
    int_sub,
    keep_ge,
    keep_gt,
    keep_le,
    keep_lt,
    lshift,
    maximum,
    minimum,
    python_max,
    python_min,
    replace_ge,
    replace_gt,
    replace_le,
    replace_lt,
    rshift,
    truncdiv,
    truncmod,
    uint_floordiv,
    uint_mod,
    uint_pow,
)
from .atomics import (
    atomic_load,
    atomic_rmw,
    atomic_store,
    compare_exchange,
    number_at,
    try_exchange,
)
from .linking import linked
from .loops import any_failure, first_failure, in_order, independent_loop, opaque
from .memory import (
    allocate,
    clear,
    footprint,
    load,
    load_disjoint,
    load_field,
    local_array,
    overlap,
    peek,
    pointer,
    release,
    store,
    store_disjoint,
    store_field,
    workspace,
)
from .messages import fail, printf
from .storing import stored
from .teams import (
    call_for,
    call_reduce,
    fork_for,
    fork_reduce,
    pool_for,
    pool_reduce,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
