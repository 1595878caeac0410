"""Figures of Kokkos' own MDRangePolicy, to set beside those of a run. None are of the same run.

H200: Kokkos 4.6.99 (develop of June 2025), with its default tiles and with those that Kokkos
adopted in 2026. A100: A. Taberner, "Improving the Efficiency of Kokkos Multi-Dimensional Range
Policy for GPUs", HPSF Community Summit 2026; Kokkos 5.0.1, and its successor with the new tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

H200 = "Kokkos 4.6.99 (June 2025), H200, in a run of its own"
A100 = "Kokkos 5.0.1 and its successor, A100, as published in February 2026"
TILES = ("kokkos", "kokkos-2026")  # execspace's tables of tiles that have the same extents


@dataclass(frozen=True)
class Measured:
    """Kokkos C++ on an H200, for layouts left and right.

    Attributes
    ----------
    unit : str
        "GB/s" or "ms".
    default, of_2026 : tuple of two floats
        With the default tiles, and with those of 2026; the latter None if not measured.
    hand : float
        A kernel written by hand on the same machine: for the triad of rank 1, for the sum in one
        pass over a flat range, for stencils the best block.
    """

    unit: str
    default: tuple[float, float]
    of_2026: tuple[float, float] | None
    hand: float

    def figures(self, layout: str) -> tuple[float, float | None]:
        """Of one layout: with default tiles, with those of 2026."""
        side = ("left", "right").index(layout)
        return self.default[side], None if self.of_2026 is None else self.of_2026[side]

    def time_over_hand(self, layout: str) -> tuple[float | None, ...]:
        """The same as times over that of the kernel by hand."""
        return tuple(
            None if x is None else self.hand / x if self.unit == "GB/s" else x / self.hand
            for x in self.figures(layout)
        )


# By operation and rank; arrays of 22^6, and stencils of 8192^2, 512^3 and 96^4.
ON_H200 = {
    ("triad", 2): Measured("GB/s", (1274, 1274), (4025, 3574), 4372),
    ("triad", 3): Measured("GB/s", (2480, 2424), (3651, 2858), 4372),
    ("triad", 4): Measured("GB/s", (2196, 1433), (2017, 1237), 4372),
    ("triad", 5): Measured("GB/s", (1475, 1045), (1377, 981), 4372),
    ("triad", 6): Measured("GB/s", (735, 694), (889, 817), 4372),
    ("sum", 3): Measured("GB/s", (174, 174), None, 3770),  # of which layout was not noted
    ("stencil", 2): Measured("ms", (1.27, 1.27), (0.354, 0.488), 0.309),
    ("stencil", 3): Measured("ms", (1.27, 1.96), (1.21, 2.26), 0.657),
    ("stencil", 4): Measured("ms", (1.52, 1.86), (1.77, 3.29), 0.485),
}
H200_SIZES = ("22^6", "8192^2", "512^3", "96^4")

# Milliseconds before and after, None if not published; by operation, rank, layout and size.
ON_A100: dict[tuple[str, int, str, str], tuple[float | None, float | None]] = {
    ("stencil", 2, "left", "8192^2"): (1.56, 0.80),
    ("stencil", 2, "right", "8192^2"): (None, 0.80),
    ("stencil", 3, "left", "512^3"): (None, 1.93),
    ("stencil", 3, "right", "512^3"): (5.05, 1.85),
    ("stencil", 4, "left", "96^4"): (None, 1.52),
    ("stencil", 4, "right", "96^4"): (3.14, 1.51),
    # "The same performance as the flattened RangePolicy" is said of the new one: 4.74 ms.
    ("update", 2, "left", "16384^2"): (6.25, 4.74),
    ("update", 2, "right", "16384^2"): (6.25, 4.74),
}
# Of which layout is not said. The talk says 22^6; the times fit the bandwidth of an A100 for 24^6.
for _rank, _pair in {2: (None, 3.36), 3: (None, 3.40), 4: (None, 3.35), 5: (None, 3.34),
                     6: (8.87, 3.51)}.items():  # fmt: skip
    for _layout in ("left", "right"):
        ON_A100["add", _rank, _layout, "24^6"] = _pair


@dataclass(frozen=True)
class Counters:
    """Before and after on an A100: registers of a thread, occupancy and memory throughput in %."""

    registers: tuple[int, int] | None
    occupancy: tuple[float | None, float]
    throughput: tuple[float | None, float]


# Stream add by rank, and stencils of layout right.
COUNTED_ON_A100 = {
    ("add", 2): Counters((20, 16), (15.8, 91.5), (13.5, 90.1)),
    ("add", 3): Counters((30, 21), (28.3, 88.1), (26.9, 91.2)),
    ("add", 5): Counters((56, 30), (46.4, 90.9), (13.3, 88.9)),
    ("add", 6): Counters((70, 40), (34.5, 68.1), (7.3, 74.1)),
    ("stencil", 2): Counters(None, (None, 90.1), (None, 86.3)),
    ("stencil", 3): Counters(None, (None, 83.4), (None, 70.9)),
}


def on_h200(operation: str, rank: int, size: str) -> Measured | None:
    """What Kokkos took for this very case on an H200."""
    return ON_H200.get((operation, rank)) if size in H200_SIZES else None


def on_a100(
    operation: str, rank: int, layout: str, size: str
) -> tuple[float | None, float | None] | None:
    """Milliseconds of Kokkos for this very case on an A100, before and after."""
    return ON_A100.get((operation, rank, layout, size))
