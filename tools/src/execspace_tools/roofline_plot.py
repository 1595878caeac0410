"""The roofline as a figure: a point for each kernel below the roofs of its space."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from .roofline_peaks import Peaks
from .roofline_record import RooflineRecord

# Okabe and Ito's colours, which people tell apart however they see colours.
_ROOFS, _POINTS = "#0072B2", "#D55E00"
_LINES = ("-", "--", ":", "-.")
_NAMES = 6  # of kernels that have no place in the figure
_COLUMNS = 2


def draw(path: str, records: Sequence[RooflineRecord], roofs: Sequence[Peaks]) -> None:
    """Write the figure, with a panel for each space; its kind follows from the ending of `path`.

    Kernels without floating-point operations have no place in it and are named below it.
    """
    from matplotlib.figure import Figure  # needs no display

    shown = [r for r in records if r.intensity and r.gflops]
    spaces = list(dict.fromkeys([p.space for p in roofs] + [r.space for r in shown])) or [""]
    columns = min(len(spaces), _COLUMNS)
    rows = -(-len(spaces) // columns)
    figure = Figure(figsize=(8 if columns == 1 else 12, 5.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel in panels[len(spaces) :]:
        panel.set_visible(False)
    for axes, space in zip(panels, spaces, strict=False):
        points = [r for r in shown if r.space == space]
        _panel(axes, space, points, [p for p in roofs if p.space == space])
    without = list(dict.fromkeys(r.label for r in records if r not in shown))
    if without:
        more = f" and {len(without) - _NAMES} more" if len(without) > _NAMES else ""
        figure.supxlabel(
            f"no floating-point operations, or no time: {', '.join(without[:_NAMES])}{more}",
            fontsize="small", color="0.35",
        )  # fmt: skip
    figure.suptitle("Roofline")
    figure.savefig(path, dpi=150)


def _panel(axes: Any, space: str, points: Sequence[RooflineRecord], roofs: Sequence[Peaks]) -> None:
    """The roofs of a space and its kernels below them."""
    axes.set(
        xscale="log", yscale="log", xlabel="arithmetic intensity (flop/byte)",
        ylabel="performance (Gflop/s)",
    )  # fmt: skip
    axes.grid(True, which="major", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    device = roofs[0].device if roofs else ""
    title = f"{space} ({device})" if device else space
    axes.set_title(fill(title, 56), fontsize="medium")
    low, high = _range(points, roofs)
    axes.set_xlim(low, high)
    for peaks in roofs:
        _roofs(axes, peaks, low, high)
    axes.plot(
        [r.intensity or 0.0 for r in points], [r.gflops or 0.0 for r in points],
        linestyle="none", marker="o", markersize=8, color=_POINTS, markeredgecolor="white",
    )  # fmt: skip
    _labels(axes, points)


def _range(shown: Sequence[RooflineRecord], roofs: Sequence[Peaks]) -> tuple[float, float]:
    """Intensities that the figure has: all points and all ridges, with room beside them."""
    found = [r.intensity for r in shown if r.intensity]
    found += [rate / p.bandwidth for p in roofs for rate in p.flops.values()]
    return min([*found, 0.25]) / 4, max([*found, 4.0]) * 4


def _roofs(axes: Any, peaks: Peaks, low: float, high: float) -> None:
    """The slope of a space's memory, and the level of each dtype that it computes with."""
    for line, (dtype, rate) in zip(_LINES, sorted(peaks.flops.items()), strict=False):
        ridge = rate / peaks.bandwidth
        ends = [low, ridge, max(high, ridge)]
        heights = [low * peaks.bandwidth / 1e9, rate / 1e9, rate / 1e9]
        axes.plot(ends, heights, color=_ROOFS, linestyle=line, linewidth=1.8)
        above = rate == max(peaks.flops.values())
        axes.annotate(
            f"{dtype}: {_rate(rate, 'flop/s')}", (high, rate / 1e9),
            xytext=(-4, 3 if above else -3), textcoords="offset points", ha="right",
            va="bottom" if above else "top", fontsize="small", color=_ROOFS,
        )  # fmt: skip
    start = 1.2 * low
    axes.annotate(
        f"memory: {_rate(peaks.bandwidth, 'B/s')}",
        (start, start * peaks.bandwidth / 1e9), xytext=(12, -3), textcoords="offset points",
        ha="left", va="top", fontsize="small", color=_ROOFS,
    )  # fmt: skip


def _rate(value: float, unit: str) -> str:
    """Three digits with the prefix that fits: 4.21 TB/s."""
    for factor, prefix in ((1e12, "T"), (1e9, "G")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value / 1e6:.3g} M{unit}"


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
