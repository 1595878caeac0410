"""Helper functions that generated kernels call: their source, and the types that they return.

They are called with arguments of many types; `result` is the model of what the compiler infers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from execspace_compiler.ir.types import BOOL, INDEX, PY_INT, Scalar, arithmetic, promote


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper function.

    Attributes
    ----------
    source : str
    kinds : str
        Kinds of its arguments: f and i, n for a number of either kind, b.
    result : callable
        Type of the result, from the types of the arguments.
    needs : tuple of str
        Other helpers that it calls.
    """

    source: str
    kinds: str
    result: Callable[..., Scalar]
    needs: tuple[str, ...] = ()


HELPERS: dict[str, Helper] = {
    "clamp": Helper(
        """
def clamp(x, low, high):
    if x < low:
        return low
    return high if x > high else x
""",
        "nnn",
        lambda x, low, high: promote(low, promote(high, x)),
    ),
    "fused": Helper(
        """
def fused(a, b, c):
    product = a * b
    return product + c
""",
        "nnn",
        lambda a, b, c: arithmetic(arithmetic(a, b), c),
    ),
    "twice": Helper(
        """
def twice(x):
    x += x
    return x
""",
        "n",
        lambda x: promote(x, arithmetic(x, x)),
    ),
    "fold": Helper(
        """
def fold(x, n):
    total = x
    for k in range(n & 3):
        if k == 2:
            continue
        total = total * x - x
    return total
""",
        "ni",
        lambda x, n: promote(x, arithmetic(x, x)),
    ),
    "quotient": Helper(
        """
def quotient(a, b):
    if b == 0:
        return a
    while True:
        q = a // b
        if q != a:
            break
        return q
    return q * b + a % b
""",
        "nn",
        lambda a, b: promote(a, arithmetic(a, b)),
    ),
    "digits": Helper(
        """
def digits(n):
    count = 0
    while n > 9:
        n = n // 10
        count += 1
    else:
        count += 10
    return count
""",
        "i",
        lambda n: PY_INT,
    ),
    "nested": Helper(
        """
def nested(a, b):
    return fused(twice(a), clamp(b, a, twice(b)), a)
""",
        "nn",
        lambda a, b: _nested(a, b),
        ("clamp", "fused", "twice"),
    ),
    "either": Helper(
        """
def either(test, a, b):
    pair = (a, b) if test else (b, a)
    first, second = pair
    return first - second
""",
        "bnn",
        lambda test, a, b: arithmetic(promote(a, b), promote(a, b)),
    ),
    "all_positive": Helper(
        """
def all_positive(a, b):
    return 0 < a and 0 < b
""",
        "nn",
        lambda a, b: BOOL,
    ),
    "find": Helper(
        """
def find(A, value):
    for k in range(A.shape[0] - 1, -1, -3):
        if A[k] == value:
            return k
    return -1
""",
        "Vn",
        lambda value: INDEX,
    ),
}


def _nested(a: Scalar, b: Scalar) -> Scalar:
    double_a = promote(a, arithmetic(a, a)).strong
    double_b = promote(b, arithmetic(b, b)).strong
    clamped = promote(a, promote(double_b, b)).strong
    return arithmetic(arithmetic(double_a, clamped), a)
