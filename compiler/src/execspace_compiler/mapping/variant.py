"""Which of the sources of a launch: what one may take for granted of arguments and range.

A kernel of a device is printed as it is usually launched. An unusual launch, of Views that overlap
for example, takes another variant, which is compiled when it is first needed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """What the source of a launch takes for granted.

    Attributes
    ----------
    narrow : bool
        There are less than 2^32 units, so that 32 bits number them: several times as fast a
        division on GPUs. A flat parallel_for then has a work-item for each unit. Of use where the
        mapping is flat. With blocks the grid has a group for each block, and extents are below
        2^31.
    disjoint : bool
        No two Views of which one is written overlap in memory; see `overlap.pairs_to_check`.
    small : bool
        The offsets of elements in all Views of `device_code.long_offsets` fit into 31 bits, and so
        do the bounds of a range of rank above 1, so that offsets are computed in 32. Where it
        `narrowing.gains`, integer arguments, extents and bounds are within `narrowing.LIMIT`.
    contiguous : bool
        Views lie in memory as calls are numbered; see `contiguous.contiguous_body`.
    group : int
        Work-items of a group in reductions and scans: a power of two. Of a group elsewhere, most.
    """

    narrow: bool = False
    disjoint: bool = False
    small: bool = False
    contiguous: bool = False
    group: int = 1
