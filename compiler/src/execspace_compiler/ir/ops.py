"""The operations of typed IR, and the Python callables that map to them in kernels.

One table for inference, printers and documentation. Printers own the spelling of each
operation in their language; this file owns its meaning.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass
from execspace.kernels.numbers import fma

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
BITWISE = ("bitand", "bitor", "bitxor", "lshift", "rshift")

# Operation -> meaning. "trunc" division is C's; analysis/ranges.py puts it where it equals floor.
OPERATIONS: dict[str, str] = {
    "add": "a + b; integers wrap",
    "sub": "a - b; integers wrap",
    "mul": "a * b; integers wrap",
    "truediv": "a / b in floating point",
    "floordiv": "a // b, rounded towards minus infinity; integer division by zero gives 0",
    "mod": "a % b with the sign of b; an integer modulo zero gives 0",
    "truncdiv": "a // b for a >= 0 and b > 0",
    "truncmod": "a % b for a >= 0 and b > 0",
    "pow": "a ** b; a negative integer exponent truncates the result to an integer",
    "neg": "-a",
    "invert": "~a",
    "bitand": "a & b",
    "bitor": "a | b",
    "bitxor": "a ^ b",
    "lshift": "a << b; 0 if b is not less than the width",
    "rshift": "a >> b; 0 or -1 if b is not less than the width",
    "popcount": "how many bits of a are set; a is unsigned, as is the result",
    "countl_zero": "how many zeros are before the highest bit of a that is set; a is unsigned",
    "not": "not a, of a bool",
    "and": "a and b, of bools; b is evaluated only if needed",
    "or": "a or b, of bools; b is evaluated only if needed",
    **{name: "comparison; false (ne: true) with a NaN" for name in COMPARISONS},
    "cast": "conversion as NumPy's astype: floats truncate, integers wrap",
    "bit_cast": "the number of another type that has the bits of a: numpy's view",
    "min": "b if b < a else a: Python's min",
    "max": "b if b > a else a: Python's max",
    "minimum": "the lesser, NaN if either is: numpy.minimum",
    "maximum": "the greater, NaN if either is: numpy.maximum",
    "fmin": "the lesser, of a NaN and a number the number: numpy.fmin",
    "fmax": "the greater, of a NaN and a number the number: numpy.fmax",
    # Emitted by passes/thresholds.py for a number v, a constant c and its neighbour k.
    **{
        f"keep_{name}": "v if it is less than k (le: not greater; gt, ge alike), else c"
        for name in COMPARISONS[:4]
    },
    **{
        f"replace_{name}": "c if v is less than k (le: not greater; gt, ge alike), else v"
        for name in COMPARISONS[:4]
    },
    "abs": "absolute value; of a complex number its modulus",
    "real": "real part",
    "imag": "imaginary part",
    "conj": "complex conjugate",
    "complex": "a + b*1j",
    "isnan": "whether it is a NaN",
    "isinf": "whether it is infinite",
    "isfinite": "whether it is neither infinite nor NaN",
    # Of vectors, where all operations above act lane by lane; see typing/rules/simd.py.
    "broadcast": "a in all lanes",
    "ramp": "a in the first lane, and in each other lane b, a constant, more than before",
    "fma": "a * b + c of floats, rounded once: es.fma, and see spmd/contraction.py",
    "first": "number of the first lane for which the mask a holds, if there is one",
    "pack": "a vector of the operands, one for each lane",
    "lane": "lane b of a; in kernels a constant",
    "blend": "b where the mask a holds, else c; both are computed",
    "any": "whether the mask a holds for some lane",
    "all": "whether the mask a holds for all lanes",
    "count": "for how many lanes the mask a holds",
    "low": "the first half of the lanes",
    "high": "the second half of the lanes",
    # Emitted for devices: mapping/loops.py and mapping/packs.py.
    "scaled": "a // d of uint32, from the factor b and the shift c that belong to d",
    "opaque": "a, an integer of 32 bits about which compilers are to assume nothing",
    "stored": "a, a float of which compilers know nothing, but that it is the same for the same b",
    "kept": "a, a float that compilers compute although nobody reads it",
    "bounded": "a, an index that lies within the extent b; the oracle checks it",
    "reduce_sum": "joins two partial sums; may be reassociated",
    "reduce_prod": "joins two partial products; may be reassociated",
    "reduce_min": "joins two partial minima; NaN if either is, zeros of either sign are equal",
    "reduce_max": "joins two partial maxima; NaN if either is, zeros of either sign are equal",
}

# What an atomic operation stores, from the element and the value; `ir.outcome` builds it in IR.
ATOMICS: dict[str, str] = {
    "add": "element + value", "sub": "element - value", "mul": "element * value",
    "truediv": "element / value", "floordiv": "element // value", "mod": "element % value",
    "min": "the lesser; NaN if either is", "max": "the greater; NaN if either is",
    "bitand": "element & value", "bitor": "element | value", "bitxor": "element ^ value",
    "nand": "~(element & value)", "lshift": "element << value", "rshift": "element >> value",
    "exchange": "value", "compare_exchange": "the second value, if it is the first to the bit",
    "load": "element", "store": "value",
}  # fmt: skip

# Mathematical functions of one or two floats, computed in the type of their operands.
FLOAT1 = (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
    "gamma", "lgamma", "floor", "ceil", "trunc", "rint",
)  # fmt: skip
WHOLE = ("floor", "ceil", "trunc")  # of which math gives ints, and NumPy the type of the argument
FLOAT2 = ("atan2", "hypot", "copysign", "fmod")
OPERATIONS |= {name: "mathematical function" for name in FLOAT1 + FLOAT2}

COMPLEX_FUNCTIONS = frozenset(
    ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Callee:
    """What a Python callable means in a kernel.

    `rule` names the typing rule: "float1", "float2", "same2" (operands promoted), "predicate",
    "whole" (as "float1", but integers stay as they are), "to_int" (a float function, then a Python
    int), or one of its own. `factor` is that of the rule "scale".
    """

    rule: str
    op: str
    arity: tuple[int, ...]
    factor: float = 1.0


# Operation -> function of NumPy, and of Python's module operator.
_OPERATORS: dict[str, tuple[Any, Any]] = {
    "add": (np.add, operator.add), "sub": (np.subtract, operator.sub),
    "mul": (np.multiply, operator.mul), "truediv": (np.true_divide, operator.truediv),
    "floordiv": (np.floor_divide, operator.floordiv), "mod": (np.mod, operator.mod),
    "pow": (np.power, operator.pow), "bitand": (np.bitwise_and, operator.and_),
    "bitor": (np.bitwise_or, operator.or_), "bitxor": (np.bitwise_xor, operator.xor),
    "lshift": (np.left_shift, operator.lshift), "rshift": (np.right_shift, operator.rshift),
    "lt": (np.less, operator.lt), "le": (np.less_equal, operator.le),
    "gt": (np.greater, operator.gt), "ge": (np.greater_equal, operator.ge),
    "eq": (np.equal, operator.eq), "ne": (np.not_equal, operator.ne),
}  # fmt: skip
_ONE_OPERAND: dict[str, tuple[Any, Any]] = {
    "neg": (np.negative, operator.neg), "pos": (np.positive, operator.pos),
    "invert": (np.invert, operator.invert), "not": (np.logical_not, operator.not_),
}  # fmt: skip


def _table() -> dict[Any, Callee]:
    found: dict[Any, Callee] = {}

    def add(callee: Callee, *objects: Any) -> None:
        for o in objects:
            if o is not None:
                found[o] = callee

    numpy_names = {
        "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
        "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
    }  # fmt: skip
    for name in FLOAT1:
        objects = [getattr(np, numpy_names.get(name, name), None)]
        if name not in (*WHOLE, "rint"):
            objects.append(getattr(math, name, None))
            add(Callee("cfloat1", name, (1,)), getattr(cmath, name, None))
        add(Callee("whole" if name in WHOLE else "float1", name, (1,)), *objects)
    for name in FLOAT2:
        objects = [getattr(np, numpy_names.get(name, name), None), getattr(math, name, None)]
        add(Callee("float2", name, (2,)), *objects)
    for name in WHOLE:
        add(Callee("to_int", name, (1,)), getattr(math, name))
    add(Callee("float1", "fabs", (1,)), math.fabs, np.fabs)
    for name in ("isnan", "isinf", "isfinite"):
        add(Callee("predicate", name, (1,)), getattr(math, name), getattr(np, name))
    for name in ("minimum", "maximum", "fmin", "fmax"):
        add(Callee("same2", name, (2,)), getattr(np, name))
    add(Callee("float2", "pow", (2,)), math.pow)
    add(Callee("operator", "pow", (2,)), builtins.pow)
    for op, (ufunc, function) in _OPERATORS.items():
        add(Callee("operator", op, (2,)), ufunc, function)
    for op, (ufunc, function) in _ONE_OPERAND.items():
        add(Callee("unary", op, (1,)), ufunc, function)
    add(Callee("logical", "and", (2,)), np.logical_and)
    add(Callee("logical", "or", (2,)), np.logical_or)
    add(Callee("logical", "ne", (2,)), np.logical_xor)
    add(Callee("abs", "abs", (1,)), builtins.abs, np.abs, operator.abs)
    add(Callee("part", "real", (1,)), np.real)
    add(Callee("part", "imag", (1,)), np.imag)
    add(Callee("conj", "conj", (1,)), np.conj)
    add(Callee("is_complex", "complex", (1,)), np.iscomplexobj)
    add(Callee("is_complex", "real", (1,)), np.isrealobj)
    add(Callee("square", "mul", (1,)), np.square)
    to_radians, to_degrees = math.pi / 180.0, 180.0 / math.pi
    add(Callee("scale", "mul", (1,), to_radians), math.radians, np.radians, np.deg2rad)
    add(Callee("scale", "mul", (1,), to_degrees), math.degrees, np.degrees, np.rad2deg)
    add(Callee("where", "select", (3,)), np.where)
    add(Callee("clip", "minimum", (3,)), np.clip)
    add(Callee("whole", "rint", (1,)), np.round)
    add(Callee("round", "rint", (1,)), builtins.round)
    add(Callee("fold", "min", ()), builtins.min)
    add(Callee("fold", "max", ()), builtins.max)
    add(Callee("fma", "fma", (3,)), fma, getattr(math, "fma", None))
    add(Callee("len", "extent", (1,)), builtins.len)
    add(Callee("divmod", "divmod", (2,)), builtins.divmod)
    add(Callee("int", "cast", (1,)), builtins.int)
    add(Callee("float", "cast", (1,)), builtins.float)
    add(Callee("bool", "cast", (1,)), builtins.bool)
    add(Callee("complex", "complex", (1, 2)), builtins.complex)
    return found


CALLEES = _table()

# Operators on two Python-weak constants, which are folded as Python computes them.
PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "invert": lambda a: ~a,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "lshift": lambda a, b: a << b,
    "rshift": lambda a, b: a >> b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}

OPERATOR_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "bitand": "&", "bitor": "|", "bitxor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "neg": "-",
    "invert": "~", "pos": "+", "not": "not", "is": "is", "is_not": "is not", "in": "in",
    "not_in": "not in",
}  # fmt: skip
