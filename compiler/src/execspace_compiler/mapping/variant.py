"""Variants of a launch's source: what each assumes of arguments and range.

A device kernel is printed for usual launches. An unusual launch, for example of Views that overlap,
takes another variant, which is compiled on first use.
"""

from __future__ import annotations

from execspace.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """Assumptions of a launch's source.

    Attributes
    ----------
    narrow : bool
        There are less than 2^32 units, so that 32 bits number them, which makes division several
        times as fast on GPUs. A flat parallel_for then has a work-item for each unit. For flat
        mappings. With blocks, the grid has a group for each block, and extents are below 2^31.
    disjoint : bool
        No View that is written overlaps another one; see `overlap.pairs_to_check`.
    small : bool
        The offsets of elements in all Views of `device_code.long_offsets` fit in 31 bits, and so do
        the bounds of a range of rank above 1, so that offsets are computed in 32 bits. If
        `narrowing.is_profitable`, integer arguments, extents and bounds are within
        `narrowing.LIMIT`.
    contiguous : bool
        Views are contiguous in the order of calls; see `contiguous.contiguous_body`.
    packed : bool
        Threads run packs of neighbouring calls; see `packing.packed_body`.
    group : int
        Work-items of a group in reductions and scans: a power of two. Elsewhere at most so many.
    private : bool
        Groups add to copies of small Views; see `private_sums`.
    """

    narrow: bool = False
    disjoint: bool = False
    small: bool = False
    contiguous: bool = False
    packed: bool = False
    group: int = 1
    private: bool = False
