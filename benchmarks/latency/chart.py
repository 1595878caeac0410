"""Draws docs/latency.svg: what execspace takes on the host, beside the libraries underneath.

    python -m benchmarks.latency.chart [FILE.svg]

All numbers are medians of the files in benchmarks/results that PANELS names; a case that a file
does not have is left out. Drawn again from the same files, the picture is the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "latency.svg"
OURS, PEERS = "#0063a6", "#b0b0b0"


class Panel(NamedTuple):
    """What one half shows: a space, and the file that has been measured there."""

    title: str
    file: str
    space: str


class Bar(NamedTuple):
    """One line of a group."""

    label: str
    ours: bool
    microseconds: float


PANELS = (
    Panel("openmp on AMD EPYC (Zen 4), 2 cores", "epyc-zen4-2cores-latency.json", "openmp"),
    Panel("cuda on NVIDIA H200", "h200-latency.json", "cuda"),
)
# Cases of each group, as rows of the files are called, and what they are called in the picture.
GROUPS: dict[str, dict[str, str]] = {
    "A launch on three arrays": {
        "launch, 3 Views": "Views",
        "launch, bound": "Views, bound",
        "launch, 3 arrays": "NumPy arrays",
        "launch, 3 CuPy arrays": "CuPy arrays",
        "launch, 3 PyTorch tensors": "PyTorch tensors",
        "NumPy: add": "NumPy: add",
        "Numba: njit, 3 arrays": "Numba: njit",
        "CuPy: RawKernel, 3 arrays": "CuPy: RawKernel",
        "PyTorch: add, 3 tensors": "PyTorch: add",
        "Triton: 3 tensors": "Triton",
        "Numba CUDA: 3 arrays": "Numba CUDA",
    },
    "One of 1000 dependent launches, and a fence": {
        "1000 kernels, launches": "launches",
        "1000 kernels, bound": "bound",
        "1000 kernels, graph": "graph",
        "1000 kernels, graph, fused": "graph, fused",
        "1000 kernels, NumPy: add": "NumPy: add",
        "1000 kernels, Numba: njit": "Numba: njit",
        "1000 kernels, CuPy: RawKernel": "CuPy: RawKernel",
        "1000 kernels, CuPy: CUDA graph": "CuPy: CUDA graph",
    },
    "A dot product as a number": {
        "reduce to a number": "parallel_reduce",
        "NumPy: dot": "NumPy: dot",
        "CuPy: dot, to a number": "CuPy: dot",
    },
    "New, filled with zeros": {
        "View": "View",
        "NumPy: zeros": "NumPy: zeros",
        "CuPy: zeros": "CuPy: zeros",
    },
    "A part of rank 1": {
        "subview of rank 1": "subview",
        "NumPy: slice": "NumPy: slice",
        "CuPy: slice": "CuPy: slice",
    },
    "A copy": {
        "deep_copy on an instance": "deep_copy, instance=",
        "NumPy: copyto": "NumPy: copyto",
        "CuPy: copyto": "CuPy: copyto",
    },
    "Filling with a number": {
        "fill on an instance": "fill",
        "NumPy: fill": "NumPy: fill",
        "CuPy: fill": "CuPy: fill",
    },
    "Waiting for nothing": {
        "fence, idle": "fence",
        "CuPy: synchronize": "CuPy: synchronize",
    },
}
# NumPy's rows in a file of a GPU are the same host's, and say nothing of the device.
LEFT_OUT = {"cuda": "NumPy"}


def bars(record: Mapping[str, Any], space: str) -> dict[str, list[Bar]]:
    """The bars of each group; those groups in which both execspace and another one were timed."""
    measured = {
        r["case"]: (not r["peer"], float(r["median"]))
        for r in record["results"]
        if r["space"] == space and "median" in r
    }
    groups = {}
    for group, cases in GROUPS.items():
        found = [
            Bar(label, *measured[case])
            for case, label in cases.items()
            if case in measured and not label.startswith(LEFT_OUT.get(space, "\0"))
        ]
        if len({bar.ours for bar in found}) == 2:
            groups[group] = found
    return groups


def described(panels: Sequence[tuple[Panel, Mapping[str, Sequence[Bar]]]]) -> str:
    """All that the picture shows, as text, which the file has as its description."""
    lines = []
    for panel, groups in panels:
        for group, found in groups.items():
            values = ", ".join(f"{_name(bar)} {bar.microseconds:.2f}" for bar in found)
            lines.append(f"{panel.title}, {group}, microseconds: {values}.")
    return " ".join(lines)


def panels_of_results() -> list[tuple[Panel, dict[str, list[Bar]]]]:
    """What the files in results/ have."""
    found = []
    for panel in PANELS:
        path = ROOT / "benchmarks" / "results" / panel.file
        found.append((panel, bars(json.loads(path.read_text(encoding="utf-8")), panel.space)))
    return found


def draw(panels: Sequence[tuple[Panel, Mapping[str, Sequence[Bar]]]], path: Path) -> None:
    """Write the picture."""
    import matplotlib
    from matplotlib.figure import Figure

    settings = {"svg.hashsalt": "latency", "svg.fonttype": "path", "font.size": 9}
    with matplotlib.rc_context(settings):
        heights = [_height(groups) for _, groups in panels]
        figure = Figure(figsize=(11, 0.21 * max(heights) + 0.9), layout="constrained")
        for axes, (panel, groups) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _panel(axes, panel, groups, max(heights))
        metadata = {"Date": None, "Title": "Latencies", "Description": described(panels)}
        figure.savefig(path, format="svg", facecolor="white", metadata=metadata)


def _height(groups: Mapping[str, Sequence[Bar]]) -> float:
    return sum(len(found) + 1.6 for found in groups.values())


def _panel(axes: Any, panel: Panel, groups: Mapping[str, Sequence[Bar]], height: float) -> None:
    y, ticks, labels = 0.0, [], []
    most = max((b.microseconds for found in groups.values() for b in found), default=1.0)
    for group, found in groups.items():
        axes.text(0.0, y, f" {group}", va="center", fontweight="bold", fontsize=8.5)
        for bar in found:
            y += 1
            axes.barh(y, bar.microseconds, 0.8, color=OURS if bar.ours else PEERS)
            text = f"{bar.microseconds:.2f}"
            axes.text(bar.microseconds + 0.01 * most, y, text, va="center", fontsize=8)
            ticks.append(y)
            labels.append(_name(bar))
        y += 1.6
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(height - 0.4, -0.9), xlim=(0, 1.12 * most))
    axes.set_xlabel("microseconds on the host, median; 64 doubles")
    axes.set_title(panel.title, loc="left", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for ours, label in ((OURS, "execspace"), (PEERS, "others")):
        axes.barh([0.0], [0.0], color=ours, label=label)
    axes.legend(loc="lower right", frameon=False)


def _name(bar: Bar) -> str:
    return f"execspace: {bar.label}" if bar.ours else bar.label


def main(arguments: Sequence[str]) -> int:
    """Draw the picture of the documentation, or another file of the same."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__)
        return 2
    draw(panels_of_results(), Path(arguments[0]) if arguments else PICTURE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
