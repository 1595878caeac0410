"""CPython as the reference: launches of every pattern, run without any part of a compiler.

A kernel is a Python function, so what a launch should give is found by calling it for each index
with NumPy scalars and arrays. `launches` does so for ranges, `joins` says what reducers join, and
`teams` has the members of a team meet at barriers and collectives.

Where a kernel and Python differ on purpose (docs/semantics.md, "Where kernels differ from Python")
this package does not imitate the kernel: that would be a second compiler to be trusted. The
generators of `suite/differential` leave these places out instead, each by the rule in `AVOIDED`,
so that what remains must agree to the bit.
"""

from __future__ import annotations

# A heading of docs/semantics.md, the place where a kernel and Python differ, and what generated
# programs write instead.
AVOIDED: tuple[tuple[str, str, str], ...] = (
    ("Integers", "`n // 0`, `n % 0` raise", "NumPy scalars, which give 0 as kernels do"),
    ("Integers", "`n / 0` raises", "NumPy scalars, which give infinity or NaN as kernels do"),
    ("Integers", "`2 ** -1` is 0.5", "exponents within 0 to 7"),
    ("Integers", "integers have any size", "each weak integer is cast to int64 at once"),
    ("Integers", "`range(a, b, 0)` raises", "steps are literals other than 0"),
    ("Types of numbers", "a variable has the type of its last value", "values are cast to it"),
    ("Types of numbers", "keep the type of what is chosen", "what is chosen is cast"),
    ("Types of numbers", "int32 with a Python int `i`", "an index is cast to int64"),
    ("Types of numbers", "uint64 with a signed type", "a uint64 is cast to int64 first"),
    ("Types of numbers", "`math.sin` computes in float64", "only functions that round correctly"),
    ("Types of numbers", "`np.sqrt(2.0)`, `np.fmax(3.0, 1.0)`", "weak operands are cast to it"),
    ("Types of numbers", "`True + True` is True", "bools are cast to int64 before arithmetic"),
    ("Types of numbers", "a float out of range", "floats are clamped before such a cast"),
    ("Types of numbers", "takes no number that does not fit", "values are cast to the element"),
    ("Floating point", "`math.sqrt(-1.0)`", "np.sqrt, which does not raise"),
    ("Floating point", "`(-8.0) ** 0.5` is complex", "no powers of floats"),
    ("Floating point", "NumPy does not say which one", "zeros become positive by adding 0.0"),
    ("Floating point", "`sum` of Python floats", "what is summed is cast to NumPy's types"),
    ("Subscripts and data", "counts from the end", "computed indices are taken modulo the extent"),
    ("Names, calls and errors", "exceptions", "no statement of a program raises"),
    # From "Reductions and scans" of the same page.
    ("Reductions and scans", "may join contributions in any order", "sums and products of floats "
     "are of numbers whose result is exact in any order"),
    ("Reductions and scans", "Zeros of both signs are equal", "contributions are other than 0.0"),
)  # fmt: skip
