"""The roofline as a figure: a point for each kernel below the roofs of its space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .roofline_peaks import Peaks

if TYPE_CHECKING:
    from .roofline import RooflineRecord

# Okabe and Ito's colours, which people tell apart however they see colours; markers differ, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES = ("-", "--", ":", "-.")
_NAMES = 6  # of kernels that have no place in the figure


def draw(path: str, records: Sequence[RooflineRecord], roofs: Sequence[Peaks]) -> None:
    """Write the figure; its kind follows from the ending of `path`.

    Kernels without floating-point operations have no place in it and are named below it.
    """
    from matplotlib.figure import Figure  # needs no display

    shown = [r for r in records if r.intensity and r.gflops]
    spaces = list(dict.fromkeys([p.space for p in roofs] + [r.space for r in shown]))
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.set(
        xscale="log", yscale="log", xlabel="arithmetic intensity (flop/byte)",
        ylabel="performance (Gflop/s)",
    )  # fmt: skip
    axes.grid(True, which="major", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    low, high = _range(shown, roofs)
    axes.set_xlim(low, high)
    for peaks in roofs:
        _roofs(axes, peaks, COLOURS[spaces.index(peaks.space) % len(COLOURS)], low, high)
    for n, space in enumerate(spaces):
        points = [r for r in shown if r.space == space]
        if points:
            axes.plot(
                [r.intensity or 0.0 for r in points], [r.gflops or 0.0 for r in points],
                linestyle="none", marker=MARKERS[n % len(MARKERS)], markersize=8,
                color=COLOURS[n % len(COLOURS)], markeredgecolor="white", label=space,
            )  # fmt: skip
    _labels(axes, shown)
    if len(spaces) > 1 and shown:
        axes.legend(loc="lower right", frameon=False)
    without = [r.label for r in records if r not in shown]
    if without:
        more = f" and {len(without) - _NAMES} more" if len(without) > _NAMES else ""
        figure.supxlabel(
            f"no floating-point operations, or no time: {', '.join(without[:_NAMES])}{more}",
            fontsize="small", color="0.35",
        )  # fmt: skip
    figure.suptitle("Roofline" if len(spaces) != 1 else f"Roofline of space '{spaces[0]}'")
    figure.savefig(path, dpi=150)


def _range(shown: Sequence[RooflineRecord], roofs: Sequence[Peaks]) -> tuple[float, float]:
    """Intensities that the figure has: all points and all ridges, with room beside them."""
    found = [r.intensity for r in shown if r.intensity]
    found += [rate / p.bandwidth for p in roofs for rate in p.flops.values()]
    return min([*found, 0.25]) / 4, max([*found, 4.0]) * 4


def _roofs(axes: Any, peaks: Peaks, colour: str, low: float, high: float) -> None:
    """The slope of a space's memory, and the level of each dtype that it computes with."""
    for line, (dtype, rate) in zip(_LINES, sorted(peaks.flops.items()), strict=False):
        ridge = rate / peaks.bandwidth
        ends = [low, ridge, max(high, ridge)]
        heights = [low * peaks.bandwidth / 1e9, rate / 1e9, rate / 1e9]
        axes.plot(ends, heights, color=colour, linestyle=line, linewidth=1.8)
        axes.annotate(
            f"{peaks.space}, {dtype}: {rate / 1e9:.3g} Gflop/s", (high, rate / 1e9),
            xytext=(-4, 4), textcoords="offset points", ha="right", va="bottom",
            fontsize="small", color=colour,
        )  # fmt: skip
    start = 1.2 * low
    axes.annotate(
        f"{peaks.space}, memory: {peaks.bandwidth / 1e9:.3g} GB/s",
        (start, start * peaks.bandwidth / 1e9), xytext=(10, -3), textcoords="offset points",
        ha="left", va="top", fontsize="small", color=colour,
    )  # fmt: skip


def _labels(axes: Any, shown: Sequence[RooflineRecord]) -> None:
    """Names beside their points; those of points that are close get a place below each other."""
    taken: list[tuple[float, float]] = []
    for r in shown:
        assert r.intensity is not None and r.gflops is not None
        close = sum(0.7 < r.intensity / x < 1.4 and 0.7 < r.gflops / y < 1.4 for x, y in taken)
        taken.append((r.intensity, r.gflops))
        axes.annotate(
            r.label, (r.intensity, r.gflops), xytext=(8, -3 - 12 * close),
            textcoords="offset points", fontsize="small",
        )  # fmt: skip
