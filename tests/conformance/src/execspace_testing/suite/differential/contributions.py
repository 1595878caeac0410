"""What generated kernels contribute to reductions and scans: a reducer, and what fits it.

Contributions are such that the result is exact in any order: sums of floats are of small whole
numbers, products of powers of two, and joins of one's own are of integers, or order numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from execspace_compiler.ir.types import Scalar

from .data_statements import INT64, value, whole
from .expressions import cast_name
from .generate import Builder

Types = str | tuple["Types", ...]
_WIDE = {"b": "int64", "i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}


@dataclass(frozen=True)
class Contribution:
    """A reducer and what is contributed to it.

    Attributes
    ----------
    reducer : str
        What stands in `reducer=`.
    types : str or tuple
        dtypes of a contribution, in its structure.
    make : callable
        Draws a contribution.
    prefix : dict of str to str
        How a scan's kernel reads the prefix ("" is the prefix itself), and the dtype of that.
    definition : str
        Source of a reducer of one's own.
    """

    reducer: str
    types: Types
    make: Callable[[Builder], str]
    prefix: dict[str, str]
    definition: str = ""


def _number(b: Builder, letters: str) -> Scalar:
    fitting = [e for e in b.elements if e[0] in letters]
    return Scalar(b.pick(fitting or ["int64"]))


def _ordered(b: Builder, type: Scalar) -> str:
    """A number other than a floating zero: which of the zeros is the least is not specified."""
    text = value(b, type, 2).text
    return f"({text} or es.{type.name}(1))" if type.is_float else text


def sum_of(b: Builder) -> Contribution:
    type, text, joined = _number(b, "biufc"), "es.Sum", ""
    joined = _WIDE[type.kind]
    if type.kind in "iu" and b.chance(30):
        joined = b.pick([e for e in b.elements if e[0] in "iu"] or ["int32"])
        text = f"es.Sum(dtype=es.{joined})"
    elif b.chance(20) and type.is_float:
        text = 'es.Sum(accuracy="high")'
    return Contribution(text, type.name, lambda b: whole(b, type), {"": joined})


def product_of(b: Builder) -> Contribution:
    type = _number(b, "biuf")
    if type.is_float:

        def make(b: Builder) -> str:
            return f"es.{type.name}({b.pick(('2.0', '0.5'))} if {b.of('b', 1).text} else -1.0)"
    else:

        def make(b: Builder) -> str:
            return value(b, type, 2).text

    return Contribution("es.Prod", type.name, make, {"": _WIDE[type.kind]})


def extreme_of(b: Builder) -> Contribution:
    type = _number(b, "biuf")
    reducer = b.pick(("es.Min", "es.Max"))
    return Contribution(reducer, type.name, lambda b: _ordered(b, type), {"": type.name})


def both_extremes(b: Builder) -> Contribution:
    type = _number(b, "iuf")
    prefix = {"[0]": type.name, "[1]": type.name}
    return Contribution("es.MinMax", type.name, lambda b: _ordered(b, type), prefix)


def logical(b: Builder) -> Contribution:
    type = _number(b, "biufc")
    return Contribution(
        b.pick(("es.LAnd", "es.LOr")), type.name, lambda b: value(b, type).text, {"": "bool"}
    )


def bits(b: Builder) -> Contribution:
    type = _number(b, "biu")
    reducer = b.pick(("es.BAnd", "es.BOr"))
    return Contribution(reducer, type.name, lambda b: value(b, type, 2).text, {"": type.name})


def _location(b: Builder) -> tuple[Types, Callable[[Builder], str]]:
    if b.chance(30):
        return ("int32", "int64"), lambda b: "(es.int32(i % 7), es.int64(i))"
    if b.chance(30):
        return "int64", lambda b: value(b, INT64).text
    return "int64", lambda b: b.pick(("es.int64(i)", "es.int64(-i)"))


def located(b: Builder) -> Contribution:
    type, (place, where) = _number(b, "iuf"), _location(b)
    names = ("MinLoc", "MaxLoc", "MinFirstLoc", "MaxFirstLoc", "MinMaxLoc", "MinMaxFirstLastLoc")
    name = b.pick(names)
    prefix = {"[0]": type.name}
    if isinstance(place, str):
        prefix["[3]" if "MinMax" in name else "[1]"] = place
    return Contribution(
        f"es.{name}", (type.name, place), lambda b: f"{_ordered(b, type)}, {where(b)}", prefix
    )


def conditional(b: Builder) -> Contribution:
    names = ("FirstLoc", "LastLoc", "StdIsPartitioned", "StdPartitionPoint")
    name = b.pick(names)
    prefix = {"[0]": "int64", "[1]": "int64"} if name == "StdIsPartitioned" else {"": "int64"}
    return Contribution(
        f"es.{name}", ("bool", "int64"),
        lambda b: f"es.bool_({b.of('b', 2).text}), es.int64({b.pick(('i', '-i', '7 - i'))})",
        prefix,
    )  # fmt: skip


# -- reducers of one's own ------------------------------------------------------------------------
#
# a + b + k * a * b is associative and commutative for any k, and wraps; 0 is its identity.

_MIXING = """
{helper}class {name}(es.Reducer):
    {identity}
    {state}
    def join({this}a, b):
        return {joined}
{final}
"""


def mixing(b: Builder) -> Contribution:
    """The number k is an attribute, of the instance or the class, a captured name or a helper's."""
    type, name, k = _number(b, "iu"), b.fresh("R"), b.pick(("2", "3", "5"))
    parts = {"helper": "", "identity": "identity = 0", "state": "", "this": "", "final": ""}
    made, where = name, b.pick(("instance", "class", "captured", "helper", "dataclass", "method"))
    factor = "self.k"
    if where == "instance":
        parts |= {"this": "self, ", "state": "def __init__(self, k):\n        self.k = k\n"}
        made = f"{name}({k})"
    elif where == "class":
        parts |= {"this": "self, ", "state": f"k = {k}"}
    elif where == "dataclass":
        parts |= {"this": "self, ", "state": f"k: int = {k}"}
        parts["helper"] = "@dataclass(frozen=True)\n"
        made = f"{name}({b.pick('23')})"
    elif where == "method":
        parts |= {"this": "self, ", "state": f"k = {k}"}
        parts["identity"] = "def identity(self, dtype):\n        return np.dtype(dtype).type(0)\n"
    else:
        parts["helper"] = f"K_{name} = {k}\n\n\n"
        factor = f"K_{name}"
    joined = f"a + b + {factor} * a * b"
    if where == "helper":
        parts["helper"] += f"def mix_{name}(a, b):\n    return {joined}\n\n\n"
        joined = f"mix_{name}(a, b)"
    if b.chance(40):
        this = b.pick(("", "self, ")) if factor == "self.k" else ""
        last = f"a * {'self.k' if this else '2'} - 1"
        parts["final"] = f"\n    def final({this}a):\n        return {last}\n"
    parts["name"], parts["joined"] = name, joined
    definition = _MIXING.format(**parts)
    return Contribution(made, type.name, lambda b: value(b, type, 2).text, {"": type.name},
                        definition)  # fmt: skip


def named(b: Builder) -> Contribution:
    """A NamedTuple of a count, a sum and a flag."""
    type, name = _number(b, "iu"), b.fresh("R")
    final = b.pick(("", "", "return s.n - 2", "return s.total * 0.5, s.any", "return s.any, s.n"))
    text = f"""
class V{name}(NamedTuple):
    n: int
    total: float
    any: bool


class {name}(es.Reducer):
    identity = V{name}(0, 0.0, False)

    def join(a, b):
        return V{name}(a.n + b.n, any=a.any or b.any, total=a.total + b.total)
"""
    if final:
        text += f"\n    def final(s):\n        {final}\n"
    real = Scalar("float64")

    def make(b: Builder) -> str:
        items = value(b, type).text, whole(b, real), f"es.bool_({b.of('b', 1).text})"
        call = b.pick(("V{0}({1}, {2}, {3})", "({1}, {2}, {3})", "V{0}(any={3}, n={1}, total={2})"))
        return call.format(name, *items)

    prefix = {".n": type.name, ".total": "float64", "[2]": "bool"}
    return Contribution(name, (type.name, "float64", "bool"), make, prefix, text)


def record(b: Builder) -> Contribution:
    name = b.fresh("R")
    text = f"""
class {name}(es.Reducer):
    identity = np.zeros((), [("m", "f8"), ("c", "i4")])[()]

    def join(a, b):
        return a.m + b.m, a.c ^ b.c
"""
    real = Scalar("float64")
    return Contribution(
        name, ("float64", "int32"),
        lambda b: f"{whole(b, real)}, {value(b, Scalar('int32')).text}",
        {".m": "float64", ".c": "int32"}, text,
    )  # fmt: skip


def small_array(b: Builder) -> Contribution:
    name = b.fresh("R")
    text = f"""
class {name}(es.Reducer):
    identity = np.array([0, 0, -(2**63)])

    def join(a, b):
        p, q, r = a
        return p + b[0], q | b[1], max(r, b[2])
"""
    return Contribution(
        name, ("int64",) * 3, lambda b: ", ".join(value(b, INT64).text for _ in range(3)),
        {"[0]": "int64", "[2]": "int64"}, text,
    )  # fmt: skip


def pairs(b: Builder) -> Contribution:
    """The lexicographic maximum of a pair; for floats without NaN, which have no order."""
    name, type = b.fresh("R"), Scalar(b.pick(("int32", "int64")))
    text = f"""
class {name}(es.Reducer):
    identity = (-(2**31), -(2**31))

    def join(a, b):
        if a[0] > b[0]:
            return a
        elif a[0] == b[0] and a[1] >= b[1]:
            return a
        return b
"""

    def item(b: Builder) -> str:
        return f"es.{type.name}(es.int32({value(b, Scalar('int32')).text}))"

    return Contribution(name, (type.name,) * 2, lambda b: f"{item(b)}, {item(b)}",
                        {"[0]": type.name, "[1]": type.name}, text)  # fmt: skip


def affine(b: Builder) -> Contribution:
    """Composition of f(x) = p * x + q, which does not commute: for scans."""
    name, type = b.fresh("R"), _number(b, "iu")
    text = f"""
class {name}(es.Reducer):
    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]
"""
    return Contribution(
        name, (type.name,) * 2, lambda b: f"{value(b, type).text}, {value(b, type).text}",
        {"[0]": type.name, "[1]": type.name}, text,
    )  # fmt: skip


BUILT_IN = (sum_of, sum_of, product_of, extreme_of, both_extremes, logical, bits, located, located,
            conditional)  # fmt: skip
OWN = (mixing, mixing, named, record, small_array, pairs)


def contribution(b: Builder, pattern: str) -> Contribution:
    """One to draw: about a third are of reducers of one's own."""
    table = OWN if b.chance(40) else BUILT_IN
    if pattern == "scan" and b.chance(10):
        table = (affine,)
    return table[b.rng.randrange(len(table))](b)


# -- array reductions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayReducer:
    """A reducer of a small array: its text, definition and shape, and how elements are joined."""

    reducer: str
    definition: str
    shape: tuple[int, ...]
    type: Scalar
    step: str  # of the element {s} and a value {v}

    def element(self, b: Builder) -> str:
        """A place in the array."""
        at = [f"{value(b, INT64).text} % {n}" if b.chance(60) else str(n - 1) for n in self.shape]
        return f"s[{', '.join(at)}]"

    def joining(self, b: Builder) -> str:
        """A statement that joins something into the array."""
        kind = self.reducer
        if "Prod" in kind and self.type.is_float:
            v = f"es.{self.type.name}(2.0 if {b.of('b', 1).text} else -1.0)"
        elif "Sum" in kind:
            v = whole(b, self.type)
        elif "M" in kind:
            v = _ordered(b, self.type)
        elif self.type.kind == "b":
            v = f"es.bool_({b.of('b', 1).text})"
        else:
            v = value(b, self.type).text
        return self.step.format(s=self.element(b), v=v)


_STEPS = {
    "Sum": "{s} += {v}", "Prod": "{s} *= {v}", "Min": "{s} = min({s}, {v})",
    "Max": "{s} = max({s}, {v})", "LAnd": "{s} = {s} and {v}", "LOr": "{s} = {s} or {v}",
    "BAnd": "{s} &= {v}", "BOr": "{s} |= {v}",
}  # fmt: skip


def array_reducer(b: Builder) -> ArrayReducer:
    """A reducer with a shape."""
    name = b.pick((*_STEPS, "own", "own"))
    shape = (1 + b.rng.randrange(5),) if b.chance(70) else (2, 3)
    size = shape[0] if len(shape) == 1 else shape
    if name == "own":
        type, own, k = _number(b, "iu"), b.fresh("R"), b.pick("23")
        text = f"""
class {own}(es.Reducer):
    shape, identity, dtype = {size}, 0, np.{type.name}
    k = {k}

    def join(self, a, b):
        return a + b + self.k * a * b
"""
        return ArrayReducer(own, text, shape, type, f"{{s}} = {{s}} + {{v}} + {k} * {{s}} * {{v}}")
    letters = {"LAnd": "b", "LOr": "b", "BAnd": "iu", "BOr": "iu", "Prod": "iuf"}.get(name, "iuf")
    type = _number(b, letters) if letters != "b" else Scalar("bool")
    dtype = f", dtype=es.{cast_name(type)}"
    if type.name == "float64" and b.chance(50):
        dtype = ""
    return ArrayReducer(f"es.{name}(shape={size}{dtype})", "", shape, type, _STEPS[name])
