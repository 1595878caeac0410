"""The counters of a launch: operations, bytes, and the locations of Views that are accessed."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache

from execspace import Work
from execspace.base.dataclass import dataclass

from ..ir.diagnostics import Loc
from ..ir.ops import FLOAT1, FLOAT2
from ..ir.types import Scalar, Vector
from .footprints import Access, Footprint
from .index_sets import Region, count
from .index_values import Value

_REAL = frozenset(("add", "sub", "mul", "truediv", "sqrt", "reduce_sum", "reduce_prod"))
_COMPLEX = {
    "add": 2, "sub": 2, "reduce_sum": 2, "mul": 6, "reduce_prod": 6, "truediv": 11,
}  # fmt: skip
_FUNCTIONS = frozenset((*FLOAT1, *FLOAT2, "pow", "mod", "floordiv", "abs"))


@dataclass(frozen=True, slots=True)
class Argument:
    """A View of the launch: its position among the arguments, its shape and element size."""

    position: int
    shape: tuple[int, ...]
    extents: tuple[int, ...]  # of subscripts in IR
    itemsize: int
    size: int


class Tally:
    """The counts so far.

    Attributes
    ----------
    events : int
        Grows with everything that is counted.
    """

    def __init__(self) -> None:
        self.flops: dict[str, Fraction] = defaultdict(Fraction)
        self.functions: dict[str, Fraction] = defaultdict(Fraction)
        self.loaded = self.stored = Fraction(0)
        self.read: dict[tuple[Argument, int], Footprint] = defaultdict(Footprint)
        self.written: dict[tuple[Argument, int], Footprint] = defaultdict(Footprint)
        self.notes: dict[str, None] = {}
        self.events = 0
        self._count = cache(count)

    def note(self, text: str, loc: Loc | None = None) -> None:
        """Record the rule by which something was counted."""
        place = f"line {loc.line}: " if loc is not None and loc.line else ""
        self.notes[place + text] = None

    def points(self, region: Region) -> Fraction:
        """Number of points in a region."""
        total = Fraction(0)
        for box in region:
            number, exact = self._count(box)
            total += number
            if not exact:
                self.note("a condition on several indices is counted at evenly spread points")
        return total

    def access(
        self,
        view: Argument,
        subscripts: tuple[Value, ...],
        type: Scalar,
        region: Region,
        stores: bool = False,
    ) -> None:
        """Count loads, or stores, of elements of a type."""
        if not region:
            return
        self.events += 1
        number = self.points(region)
        if stores:
            self.stored += number * type.itemsize
        else:
            self.loaded += number * type.itemsize
        extents = view.extents
        if len(subscripts) > len(extents):  # a number in a record, by its byte offset
            extents = (*extents, view.itemsize)
        counted = self.written if stores else self.read
        counted[view, type.itemsize].add(Access(subscripts, extents, region), number)

    def operation(self, op: str, type: Scalar, operand: Scalar, region: Region) -> None:
        """Count an operation, from the types of its result and its first operand."""
        if not region or (type.kind not in "fc" and operand.kind not in "fc"):
            return
        times = self.points(region) * (type.lanes if isinstance(type, Vector) else 1)
        complex_ = operand.kind == "c" or type.kind == "c"
        if op in (_COMPLEX if complex_ else _REAL):
            name = type.name
            if complex_:
                name = "float32" if type.name == "complex64" else "float64"
            self.flops[name] += times * (_COMPLEX[op] if complex_ else 1)
        elif op in _FUNCTIONS and (complex_ or op != "abs"):
            self.functions[op] += times
        else:
            return
        self.events += 1

    def totals(self, calls: int) -> Work:
        """The counts as a Work."""
        moved = 0
        for counted in (self.read, self.written):
            bytes_of: dict[Argument, int] = defaultdict(int)
            for (view, size), footprint in counted.items():
                number, exact = footprint.locations(view.size * view.itemsize // size)
                bytes_of[view] += number * size
                if not exact:
                    self.note("moved: places that are no box of the indices, once for each access")
            moved += sum(min(n, v.size * v.itemsize) for v, n in bytes_of.items())
        return Work(
            calls,
            {k: float(n) for k, n in sorted(self.flops.items()) if n},
            {k: float(n) for k, n in sorted(self.functions.items()) if n},
            round(self.loaded), round(self.stored),
            min(moved, round(self.loaded + self.stored)), not self.notes, tuple(self.notes),
        )  # fmt: skip
