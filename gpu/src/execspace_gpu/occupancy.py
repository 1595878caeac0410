"""Fewer blocks at once than fit, as `occupancy` of a policy asks: by shared memory without use.

A multiprocessor has so much shared memory, so blocks that ask for more of it are fewer. Kokkos does
the same for its DesiredOccupancy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from execspace.base.dataclass import dataclass

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True)
class Residency:
    """How many blocks of a kernel a multiprocessor runs at once.

    Attributes
    ----------
    blocks : callable
        Their number, by the bytes of shared memory that a launch adds.
    threads : int
        Of a block.
    keeps : int
        Threads that a multiprocessor keeps.
    most : int
        Bytes that a launch may add.
    """

    blocks: Callable[[int], int]
    threads: int
    keeps: int
    most: int


class Limit(NamedTuple):
    """What limits a kernel: bytes that a launch adds, blocks at once with them, and without."""

    nbytes: int
    blocks: int
    fitting: int


def limit_of(percent: int, kernel: Residency) -> Limit:
    """The fewest bytes with which no more blocks are there at once than make so many percent of the
    threads; the number of blocks is rounded, and at least that of the largest blocks."""
    wanted = max(1, int(percent * kernel.keeps / (100 * kernel.threads) + 0.5))
    fitting = kernel.blocks(0)
    if fitting <= wanted:
        return Limit(0, fitting, fitting)
    wanted = max(wanted, kernel.blocks(kernel.most))
    if fitting <= wanted:
        return Limit(0, fitting, fitting)
    few, enough = 0, kernel.most
    while enough - few > 1:
        middle = (few + enough) // 2
        if kernel.blocks(middle) > wanted:
            few = middle
        else:
            enough = middle
    return Limit(enough, kernel.blocks(enough), fitting)


def describe_limit(percent: int, kernel: Residency, limit: Limit) -> str:
    """A line for `explain`."""

    def of_all(blocks: int) -> int:
        return 100 * blocks * kernel.threads // kernel.keeps

    some = f"{limit.blocks} block{'s' if limit.blocks != 1 else ''}"
    run = f"a multiprocessor runs {some} of {kernel.threads} threads at once"
    share = f"{of_all(limit.blocks)} % of the threads that it keeps"
    if not limit.nbytes:
        return f"occupancy={percent}: no effect, for {run} at most, {share}"
    return (
        f"occupancy={percent}: blocks ask for {limit.nbytes} bytes of shared memory that they do "
        f"not use, so that {run} in place of {limit.fitting}, {share}"
    )


class Limits(dict[tuple[int, int], int]):
    """Bytes that launches add, by the driver's function and the threads of a block.

    Found at the first launch of such blocks.

    Parameters
    ----------
    percent : int
    residency : callable
        From a program, one of its functions and threads of a block to a `Residency`.
    """

    def __init__(self, percent: int, residency: Callable[[Program, int, int], Residency]) -> None:
        super().__init__()
        self.percent, self._residency = percent, residency
        self._programs: dict[int, Program] = {}
        self._found: dict[tuple[int, int], tuple[Residency, Limit]] = {}

    def add(self, program: Program) -> None:
        """Know the functions of a program."""
        self._programs |= dict.fromkeys(program.functions, program)

    def found(self, function: int, threads: int) -> tuple[Residency, Limit]:
        """What limits blocks of so many threads; the device is current."""
        known = self._found.get((function, threads))
        if known is None:
            program = self._programs[function]
            kernel = self._residency(program, function, threads)
            limit = limit_of(self.percent, kernel)
            if limit.nbytes:
                program.prefer_shared(function, limit.blocks, limit.nbytes)
            known = self._found[function, threads] = kernel, limit
        return known

    def __missing__(self, key: tuple[int, int]) -> int:
        nbytes = self[key] = self.found(*key)[1].nbytes
        return nbytes
