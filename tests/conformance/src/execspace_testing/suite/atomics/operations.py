"""What atomic functions mean, by NumPy, and a kernel that has all forms of all of them."""

from __future__ import annotations

import numpy as np

import execspace as es


def quotient(a, b):
    return np.floor_divide(a, b) if a.dtype.kind in "iu" else np.true_divide(a, b)


MEANING = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": quotient, "min": np.minimum,
    "max": np.maximum, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "nand": lambda a, b: np.invert(a & b), "lshift": np.left_shift,
    "rshift": np.right_shift,
}  # fmt: skip
OPERATIONS = {
    "i": tuple(MEANING), "u": tuple(MEANING), "b": ("and", "or", "xor", "nand"),
    "f": ("add", "sub", "mul", "div", "min", "max", "mod"), "c": ("add", "sub", "mul", "div"),
}  # fmt: skip


def operands(dtype):
    """Every pair of some numbers of a type, the awkward ones among them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        numbers = [False, True]
    elif kind in "iu":
        limits = np.iinfo(dtype)
        numbers = [0, 1, 2, 7, 8, 100, limits.max, limits.max - 5, limits.min]
        numbers += [-1, -7] if kind == "i" else []
    elif kind == "f":
        large = 6e4 if dtype == "float16" else 1e30
        numbers = [0.0, -0.0, 1.5, -2.25, large, np.inf, -np.inf, np.nan]
    else:
        numbers = [1, -2, 1j, 2 - 2j, 4 + 8j]  # all products and quotients of these are exact
    pairs = np.array(numbers, dtype)
    return np.repeat(pairs, len(pairs)), np.tile(pairs, len(pairs))


def every_form(operations, forms):
    """A kernel with so many forms of each operation: the new value is returned, the old one,
    nothing."""
    lines = ["@es.kernel", "def every_form(i, A, returned, x):"]
    for n, name in enumerate(operations):
        lines += [
            f"    returned[{n}, 0, i] = es.atomic_{name}_fetch(A, ({n}, 0, i), x[i])",
            f"    returned[{n}, 1, i] = es.atomic_fetch_{name}(A, ({n}, 1, i), x[i])",
            f"    es.atomic_{name}(A, ({n}, 2, i), x[i])",
        ][:forms]
    text, names = "\n".join(lines) + "\n", {"es": es}
    exec(text, names)
    return names["every_form"]


DTYPES = ["int8", "int32", "int64", "uint32", "uint64", "bool", "float16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip


def results(dtype, launch, forms=3):
    names = OPERATIONS[np.dtype(dtype).kind]
    a, x = operands(dtype)
    A = np.broadcast_to(a, (len(names), 3, len(a))).copy()
    returned = np.zeros((len(names), 2, len(a)), dtype)
    launch(len(a), every_form(names, forms), A, returned, x)
    for n, name in enumerate(names):
        with np.errstate(all="ignore"):
            new = MEANING[name](a, x).astype(dtype)
        for form in range(forms):
            np.testing.assert_array_equal(A[n, form], new, f"{name} {form}")
        np.testing.assert_array_equal(returned[n, 0], new, f"{name}_fetch")
        if forms > 1:
            np.testing.assert_array_equal(returned[n, 1], a, f"fetch_{name}")
