"""Random typed expressions for kernels: leaves, literals, casts, operands; see constructs.py.

Each expression carries the type that the compiler's documented rules give it. In a *plain*
program the value is also what CPython computes with NumPy scalars: constructs where the two
differ are left out, or pinned by a cast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

import numpy as np

from execspace_compiler.ir.types import (
    BOOL,
    INDEX,
    INDEX_WEAK,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    PromotionError,
    Scalar,
    promote,
    real_part,
)

from .values import COUNT


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression's text and type. `const`: the compiler folds it."""

    text: str
    type: Scalar
    const: bool = False

    @property
    def kind(self) -> str:
        """b, i, f or c; i includes unsigned integers."""
        return "i" if self.type.kind == "u" else self.type.kind


Types = Scalar | tuple[Scalar, ...]


def join(a: Scalar, b: Scalar) -> Scalar | None:
    """Common type, or None where there is none."""
    try:
        return promote(a, b)
    except PromotionError:
        return None


@dataclass
class Expressions:
    """Draws expressions. `rng` makes all choices; `plain` restricts them, see above."""

    rng: Random
    plain: bool
    elements: tuple[str, ...]  # element types of the Views that may be read
    variables: dict[str, Types] = field(default_factory=dict)  # those that have a value here
    inputs: set[str] = field(default_factory=set)
    constants: dict[str, Typed] = field(default_factory=dict)  # captured names
    helpers: set[str] = field(default_factory=set)

    constructs: ClassVar[list[Construct]] = []  # filled by constructs.py and generate.py

    # -- choices ----------------------------------------------------------------------------

    def chance(self, percent: int) -> bool:
        """True that often."""
        return self.rng.randrange(100) >= 100 - percent

    def pick(self, options: Sequence[str]) -> str:
        """One of some texts."""
        return options[self.rng.randrange(len(options))]

    def of(self, kind: str, depth: int) -> Typed:
        """An expression of a kind (b, i, f, c), never a constant."""
        if depth <= 0 or self.chance(10):
            return self.leaf(kind)
        table = [c for c in self.constructs if kind in c.kinds and (c.plain or not self.plain)]
        table = [c for c in table for _ in range(c.weight)]
        made = table[self.rng.randrange(len(table))].make(self, kind, depth - 1)
        return self.settled(made)

    def any(self, depth: int) -> Typed:
        """An expression of any kind that the program's Views have."""
        return self.of(self.pick(self.kinds()), depth)

    def kinds(self) -> str:
        """Kinds to draw from, the frequent ones more than once."""
        return "iiiffffb" + ("cc" if any(e.startswith("complex") for e in self.elements) else "")

    # -- what keeps plain Python and the compiler together ----------------------------------

    def settled(self, e: Typed) -> Typed:
        """In a plain program weak values become strong: Python's own ints do not wrap."""
        return self.pinned(e) if e.type.weak and not e.const else e

    def pinned(self, e: Typed) -> Typed:
        """In a plain program a cast to the type that the compiler gives the expression."""
        if not self.plain:
            return e
        return Typed(f"es.{cast_name(e.type)}({e.text})", e.type.strong)

    def number(self, e: Typed) -> Typed:
        """In a plain program bools do not count: NumPy's `True + True` is True."""
        return Typed(f"es.int64({e.text})", Scalar("int64")) if self.plain and e.kind == "b" else e

    # -- leaves -----------------------------------------------------------------------------

    def leaf(self, kind: str) -> Typed:
        """A variable, an element of a View, or an index."""
        mine = [
            Typed(name, type) for name, type in self.variables.items()
            if isinstance(type, Scalar) and Typed(name, type).kind == kind
        ] + [
            Typed(f"{name}[{n}]", item) for name, type in self.variables.items()
            if isinstance(type, tuple)
            for n, item in enumerate(type) if Typed(name, item).kind == kind
        ]  # fmt: skip
        if mine and self.chance(55):
            return mine[self.rng.randrange(len(mine))]
        if kind == "i" and self.chance(15):
            return self.settled(
                Typed(self.pick(("i", "i", "n.shape[0]", "len(n)", "n.size")), INDEX)
            )
        elements = [e for e in self.elements if ("i" if e[0] in "iu" else e[0]) == kind]
        if not elements:
            return self.convert(self.leaf("i"), Scalar("complex128" if kind == "c" else "float64"))
        return self.load(self.pick(elements))

    def load(self, element: str) -> Typed:
        """An element of an input View, at an index that is proven to be in range."""
        name = f"{self.pick('xy')}_{element}"
        self.inputs.add(name)
        index = self.pick(("i", "i", "i", "i", f"{COUNT - 1} - i", f"(i * 5 + 3) % {COUNT}", "-1",
                           "other"))  # fmt: skip
        if index == "other":
            inner = self.of("i", 1)
            if inner.type.name == "uint64":
                inner = Typed(f"es.int64({inner.text})", Scalar("int64"))
            text = inner.text if inner.type.bits > 8 else f"es.int64({inner.text})"
            index = f"{text} % {COUNT}"
        return Typed(f"{name}[{index}]", Scalar(element))

    def literal(self, like: Scalar, *, nonzero: bool = False) -> Typed:
        """A literal, or a captured number, that may stand next to a type."""
        fitting = [
            e for e in self.constants.values()
            if _ORDER[e.kind] <= _ORDER[like.kind] and join(e.type, like) is not None
        ]  # fmt: skip
        if fitting and not nonzero and self.chance(20):
            return fitting[self.rng.randrange(len(fitting))]
        if like.kind == "c" and self.chance(50):
            return Typed(self.pick(("(1-2j)", "0.5j", "(-1j)")), PY_COMPLEX, const=True)
        if like.kind in "fc" and self.chance(70):
            texts = ("0.5", "2.0", "-1.0", "0.1", "1e9", "-0.0", "3.0", "1e-40")
            return Typed(self.pick(texts), PY_FLOAT, const=True)
        numbers = [1, 2, 3, 7, -1, -3, 0, 10, 100, 1000, 40000, 2**31 - 1, 2**40]
        if like.kind in "iu":
            limits = np.iinfo(like.name)
            numbers = [n for n in numbers if limits.min <= n <= limits.max]
        if nonzero:
            numbers.remove(0)
        return Typed(str(numbers[self.rng.randrange(len(numbers))]), PY_INT, const=True)

    # -- conversions ------------------------------------------------------------------------

    def within(self, e: Typed, target: Scalar) -> Typed:
        """A float that can be cast to an integer type; NaN becomes the lower limit."""
        if e.type.name == "float16":  # whose range is less than that of most integers
            e = Typed(f"es.float64({e.text})", Scalar("float64"))
        limits = np.iinfo(target.name)
        low = float(-9e18 if limits.min < -(2**62) else limits.min)
        high = {63: 9e18, 64: 1.8e19, 31: 2e9, 32: 4e9}.get(
            limits.max.bit_length(), float(limits.max)
        )
        low = -2e9 if limits.min == -(2**31) else low
        return Typed(f"np.fmin(np.fmax({e.text}, {low!r}), {high!r})", e.type)

    def convert(self, e: Typed, target: Scalar) -> Typed:
        """An explicit cast to a type, within its range."""
        target = target.strong
        if e.kind == "c" and target.kind == "b":
            return Typed(f"(({e.text}) != 0)", BOOL)
        if e.kind == "c" and target.kind != "c":
            e = Typed(f"({e.text}).real", real_part(e.type))
        if e.kind == "f" and target.is_integer:
            e = self.within(e, target)
        return Typed(f"es.{cast_name(target)}({e.text})", target)

    def fitted(self, e: Typed, target: Scalar) -> Typed:
        """An expression that a variable of a type can take without changing the type."""
        if e.type == target or (not self.plain and join(e.type, target) == target):
            return e
        if not target.weak:
            return self.convert(e, target)
        if e.kind == "c" or target == PY_INT or target.kind == "c":
            return Typed(self.pick(("2", "30", "1")), PY_INT, const=True)
        if e.kind == "f" and target.is_integer:
            e = self.within(e, target)
        if e.type.name == "uint64" and target.is_integer:
            e = Typed(f"es.int64({e.text})", Scalar("int64"))
        return Typed(f"{'int' if target.is_integer else 'float'}({e.text})", target)

    # -- operands ---------------------------------------------------------------------------

    def pair(self, kind: str, depth: int, *, literals: bool = True) -> tuple[Typed, Typed]:
        """Two operands with a common type of a kind; one may be a literal or of a lower kind."""
        a = self.number(self.of(kind, depth)) if kind != "b" else self.of("b", depth)
        if kind != "b" and literals and self.chance(25):
            b = self.literal(a.type)
        elif kind in "fc" and self.chance(25):
            b = self.number(self.of("i" if self.chance(80) else "f", depth))
        else:
            b = self.of(kind, depth)
        a, b = self.compatible(a, b)
        return (b, a) if self.chance(40) else (a, b)

    def compatible(self, a: Typed, b: Typed) -> tuple[Typed, Typed]:
        """Two operands that have a common type: uint64 and signed integers have none."""
        if join(a.type, b.type) is None:
            a, b = (
                Typed(f"es.int64({e.text})", Scalar("int64")) if e.type.name == "uint64" else e
                for e in (a, b)
            )
        if self.plain and (joined := join(a.type, b.type)) is not None and joined.kind == "c":
            # Where it converts the complex one of two scalars, and the other is real, NumPy uses
            # the functions for arrays. These may be fused, so products that underflow get zeros
            # of other signs than those of two complex scalars.
            a, b = (
                self.convert(e, joined) if e.kind == "c" and not e.type.weak else e for e in (a, b)
            )
        return a, b

    def ordered(self, depth: int, kind: str = "") -> tuple[Typed, Typed]:
        """Two operands of a comparison."""
        a, b = self.pair(kind or self.pick("iiff"), depth)
        if "uint64" in (a.type.name, b.type.name) and INDEX_WEAK in (a.type.weak, b.type.weak):
            a, b = (
                Typed(f"es.int64({e.text})", Scalar("int64")) if e.type.name == "uint64" else e
                for e in (a, b)
            )
        return a, b


_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def cast_name(type: Scalar) -> str:
    return "bool_" if type.name == "bool" else type.name


ReductionBuilder = Callable[[Expressions, str, int], Typed]


@dataclass(frozen=True, slots=True)
class Construct:
    """A row of the table in constructs.py.

    Attributes
    ----------
    make : callable
        (context, kind, depth) -> expression of that kind.
    kinds : str
    weight : int
        How often it is drawn.
    plain : bool
        Whether it may stand in plain programs.
    """

    make: ReductionBuilder
    kinds: str
    weight: int = 1
    plain: bool = True
