"""Work: how many bytes and floating-point operations a launch asks for, whatever the space.

A plan with a method ``work(bounds, args) -> Work`` counts them from the kernel it was made of, so
tools can say how near to what a device could do a kernel comes. Nothing is run or measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "Work",
]


@dataclass(frozen=True, slots=True)
class Work:
    """What a launch does, counted and not measured.

    Operations are counted as in the roofline literature (Williams, Waterman, Patterson 2009):
    additions, subtractions, multiplications, divisions and square roots of floating-point numbers
    are one each, and so a fused multiply-add is two. Those of complex numbers are counted in
    operations on their parts: an addition is two, a multiplication six, a division eleven.
    Comparisons, minima, signs, conversions and all arithmetic of integers are none.

    Attributes
    ----------
    calls : int
        Index points of the range; of teams the members of all teams.
    flops : mapping
        Name of a dtype -> operations in it.
    functions : mapping
        Name of a mathematical function other than the square root -> calls of it. How many
        operations one is depends on the device, so they are not in `flops`.
    loaded, stored : int
        Bytes that all loads and stores of Views ask for. An atomic operation is a load and a store,
        an atomic load or store only that. Private arrays and scratch memory are not in memory, and
        so not counted.
    moved : int
        Bytes that have to come from memory, or go there, at least once, if caches kept all that
        they have seen in this launch: the places of each View that are read, and those that are
        written, each once. A View that is read and written counts twice.
    exact : bool
        The numbers are what a run would count. Else `notes` say which rule was used instead.
    notes : tuple of str
        Why they are not exact.

    Examples
    --------
    >>> import execspace as es
    >>> es.Work(calls=10, flops={"float64": 20.0}, loaded=160, stored=80, moved=240).intensity
    0.08333333333333333
    """

    calls: int
    flops: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[str, float] = field(default_factory=dict)
    loaded: int = 0
    stored: int = 0
    moved: int = 0
    exact: bool = True
    notes: tuple[str, ...] = ()

    @property
    def total_flops(self) -> float:
        """Operations of all dtypes."""
        return float(sum(self.flops.values()))

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte moved; 0 if none is moved."""
        return self.total_flops / self.moved if self.moved else 0.0
