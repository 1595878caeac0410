"""Tables on the terminal and a figure of what run.py has measured.

    python -m benchmarks.mdrange.figure FILE.json [FILE.png]

prints and draws a file again. Figures of Kokkos are of other runs, and marked so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]
HAND = "hand-written"
TILES = ("kokkos", "kokkos-2026")
COLOURS = ("#0063a6", "#c04000", "#2c7a2c", "#7a3c9a")
MARKERS = {"left": "<", "right": ">"}
KOKKOS = {"default": ("#777777", "default tiles"), "2026": ("#222222", "tiles of 2026")}

# -- tables ----------------------------------------------------------------------------------------


def print_tables(record: Record) -> None:
    """Print all results; with rich on a terminal, plain elsewhere."""
    for name, cases in record["results"].items():
        spaces = name.split("+")
        devices = {record["device"][s].get("name", record["machine"]["cpu"]) for s in spaces}
        title = f"{name} on {', '.join(sorted(devices))}: time over the best kernel by hand"
        _table(f"{title} (median of turns; below 1 is faster)", *_own_table(spaces, cases))
        head, rows = _kokkos_table(spaces, cases)
        if rows:
            _table("The same kernels with other tiles, over the best kernel by hand", head, rows)
            if len(head) > 1 + 3 * len(spaces):
                print(
                    "Figures of Kokkos are NOT OF THIS RUN:", *record["kokkos"].values(), sep="\n"
                )
    counters = record.get("counters")
    if counters is not None:
        if "not_there" in counters:
            print(f"No counters: {counters['not_there']}")
        else:
            title = "Counters of Nsight Compute on cuda (Kokkos: as published, streams are add)"
            _table(title, *_counter_table(counters["launches"]))


def _own_table(spaces: Sequence[str], cases: Mapping[str, Any]) -> tuple[list[str], Any]:
    both = len(spaces) > 1
    head = ["case"]
    for space in spaces:
        head += [f"{space} ms", "GB/s", "over hand"]
    head += [*(["opencl/cuda"] if both else []), "best by hand"]
    rows = []
    for name, found in cases.items():
        for suffix in ("", " flat range"):
            if suffix and f"{spaces[0]}{suffix}" not in found["contestants"]:
                continue
            row = [name + (f", {suffix.strip()}" if suffix else "")]
            for space in spaces:
                own = found["contestants"].get(f"{space}{suffix}", {})
                row += _cells(own, found["over_hand_written"].get(f"{space}{suffix}"))
            if both:
                row.append("" if suffix else _number(found.get("opencl_over_cuda")))
            row.append("" if suffix else _variants(spaces, found))
            rows.append(row)
    return head, rows


def _cells(own: Mapping[str, Any], ratio: float | None) -> list[str]:
    if "ms" not in own:
        return ["FAILED" if "error" in own else "-", "-", "-"]
    return [f"{own['ms']:.4g}", f"{own['GB/s']:.0f}", _number(ratio)]


def _variants(spaces: Sequence[str], found: Mapping[str, Any]) -> str:
    texts = []
    for space in spaces:
        hand = found["contestants"].get(f"{space} {HAND}", {})
        text = "FAILED" if "error" in hand else hand.get("variant", hand.get("not_there", ""))
        texts.append(text)
    return " / ".join(texts) if any(texts) else ""


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _kokkos_table(spaces: Sequence[str], cases: Mapping[str, Any]) -> tuple[list[str], Any]:
    """Ratios to the kernel by hand with each table of tiles; Kokkos' own figures where known."""
    known = any("kokkos_h200" in found or "kokkos_a100_ms" in found for found in cases.values())
    head = ["case"]
    for space in spaces:
        head += [f"{space} own tile", *(f"{space} {tile}" for tile in TILES)]
    if known:
        head += ["H200 default", "H200 2026", "over hand there", "A100 before", "A100 after"]
    rows = []
    for name, found in cases.items():
        ratios = found["over_hand_written"]
        tiled = any(f"{space} {tile}" in found["contestants"] for space in spaces for tile in TILES)
        if not tiled and not {"kokkos_h200", "kokkos_a100_ms"} & found.keys():
            continue
        row = [name]
        for space in spaces:
            row += [_number(ratios.get(key)) for key in (space, *(f"{space} {t}" for t in TILES))]
        rows.append(row + (_kokkos_cells(found) if known else []))
    return head, rows


def _kokkos_cells(found: Mapping[str, Any]) -> list[str]:
    cells = ["-", "-", "-"]
    measured = found.get("kokkos_h200")
    if measured is not None:
        pair = measured["default"], measured["tiles_of_2026"]
        cells = ["-" if x is None else f"{x:g} {measured['unit']}" for x in pair]
        ratios = [x for x in measured["over_hand_written_there"] if x is not None]
        cells.append(" / ".join(f"{x:.2f}" for x in ratios))
    published = found.get("kokkos_a100_ms", (None, None))
    return cells + ["-" if x is None else f"{x:g} ms" for x in published]


def _counter_table(launches: Mapping[str, Any]) -> tuple[list[str], Any]:
    head = ["case", "registers", "occupancy %", "DRAM %", "ms", "block",
            "Kokkos A100: registers", "occupancy %", "memory %"]  # fmt: skip
    rows = []
    for name, found in launches.items():
        row = [
            name, str(found["registers"]), f"{found['occupancy_%']:.1f}",
            f"{found['throughput_%']:.1f}", f"{found['ms']:.4g}", found["block"],
        ]  # fmt: skip
        published = found.get("kokkos_a100", {})
        for key in ("registers", "occupancy_%", "throughput_%"):
            pair = published.get(key)
            shown = [f"{x:g}" for x in pair or () if x is not None]
            row.append(" -> ".join(shown) or "-")
        rows.append(row)
    return head, rows


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(title=title, title_justify="left")
            for n, name in enumerate(head):
                table.add_column(name, justify="left" if n == 0 else "right", no_wrap=n == 0)
            for row in rows:
                table.add_row(*row, style="bold red" if "FAILED" in row else None)
            Console().print(table)
            return
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    print(f"\n{title}")
    for row in (head, *rows):
        cells = zip(row, widths, strict=True)
        text = (cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(cells))
        print("  ".join(text).rstrip())


# -- figure ----------------------------------------------------------------------------------------


def draw(record: Record, path: Path) -> None:
    """Two panels for each device: speed of streams by rank, and time of stencils.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    groups = [(name, cases) for name, cases in record["results"].items() if cases]
    figure = Figure(figsize=(12, 5.6 * len(groups)), layout="constrained")
    panels = figure.subplots(len(groups), 2, squeeze=False)
    for (name, cases), (stream, stencil) in zip(groups, panels, strict=True):
        spaces = name.split("+")
        device = record["device"][spaces[0]].get("name", record["machine"]["cpu"])
        _streams(stream, spaces, cases)
        _stencils(stencil, spaces, cases)
        stream.set_title(f"{name} on {device}\nstreams", loc="left")
        stencil.set_title("stencils", loc="left")
    shown = any("kokkos_h200" in found for _, cases in groups for found in cases.values())
    if shown:
        note = f"Hollow: not of this run. {record['kokkos']['kokkos_h200']}; streams of 22^6."
        figure.supxlabel(note, fontsize=9)
    figure.savefig(path, dpi=150)


def _series(spaces: Sequence[str]) -> Iterator[tuple[float, str, str, str]]:
    """Sideways shift, space, layout and colour of each series."""
    step = 0.6 / (2 * len(spaces) + 1)
    for n, space in enumerate(spaces):
        for m, layout in enumerate(MARKERS):
            yield (2 * n + m - len(spaces)) * step, space, layout, COLOURS[n % len(COLOURS)]


def _streams(panel: Any, spaces: Sequence[str], cases: Mapping[str, Any]) -> None:
    """Speed over the kernel by hand: the triad as a mark, all operations as a bar."""
    streams = [found for found in cases.values() if found["group"] == "stream"]
    size = max({f["size"] for f in streams}, key=lambda s: int(s.partition("^")[0]), default="")
    for shift, space, layout, colour in _series(spaces):
        name = f"{space}, {layout}"
        for rank in range(2, 7):
            where = rank, layout, size
            same = [f for f in streams if (f["rank"], f["layout"], f["size"]) == where]
            speeds = {
                f["operation"]: 1 / f["over_hand_written"][space]
                for f in same
                if space in f["over_hand_written"]
            }
            if speeds:
                low, high = min(speeds.values()), max(speeds.values())
                panel.vlines(rank + shift, low, high, color=colour, alpha=0.4, lw=4)
            if "triad" in speeds:
                panel.plot(rank + shift, speeds["triad"], MARKERS[layout], color=colour, label=name)
                name = "_"
    _hollow(panel, [f for f in streams if f["operation"] == "triad"], lambda x: 1 / x)
    panel.axhline(1.0, color="black", lw=0.8)
    panel.set(
        xlabel=f"rank; {size} float64; marks: triad, bars: set, copy, scale, add, triad",
        xticks=range(2, 7), xlim=(1.5, 6.6), ylim=(0, None),
        ylabel="speed over the kernel by hand",
    )  # fmt: skip
    _legend(panel)


def _stencils(panel: Any, spaces: Sequence[str], cases: Mapping[str, Any]) -> None:
    """Time over the best kernel by hand, also with the tiles of Kokkos."""
    stencils = [found for found in cases.values() if found["group"] == "stencil"]
    largest = {found["rank"]: found["size"] for found in stencils}  # sizes ascend
    stencils = [found for found in stencils if found["size"] == largest[found["rank"]]]
    for tile, mark in (("", ""), *zip(TILES, "+x", strict=True)):
        for shift, space, layout, colour in _series(spaces):
            key = f"{space} {tile}".strip()
            same = [f for f in stencils if f["layout"] == layout and key in f["over_hand_written"]]
            text = f"{space}, {layout}" if not tile else f"{space}, tile={tile!r}"
            panel.plot(
                [f["rank"] + shift for f in same], [f["over_hand_written"][key] for f in same],
                linestyle="", marker=mark or MARKERS[layout], color=colour,
                label=text if same and (not tile or layout == "left") else "_",
            )  # fmt: skip
    _hollow(panel, stencils, lambda x: x)
    panel.axhline(1.0, color="black", lw=0.8)
    ticks = (0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
    panel.set_yscale("log")
    panel.minorticks_off()
    panel.set_yticks(ticks, [f"{t:g}" for t in ticks])
    seen = [y for line in panel.lines for y in line.get_ydata()]
    ranks = sorted(largest)
    panel.set(
        ylim=(min(0.7, 0.9 * min(seen)), max(1.6, 1.15 * max(seen))), xlim=(1.5, 4.6),
        ylabel="time over the best kernel by hand",
    )  # fmt: skip
    panel.set_xticks(ranks, [f"{rank}-D, {2 * rank + 1} points\n{largest[rank]}" for rank in ranks])
    _legend(panel)


def _hollow(panel: Any, cases: Sequence[Mapping[str, Any]], value: Callable[..., float]) -> None:
    """Kokkos itself, at the right of each group; marked as of another run."""
    named = set()
    for found in cases:
        measured = found.get("kokkos_h200")
        if measured is None:
            continue
        layout = found["layout"]
        for n, (which, (colour, text)) in enumerate(KOKKOS.items()):
            name = f"Kokkos, {text}, {layout}"
            panel.plot(
                found["rank"] + 0.3 + 0.07 * n, value(measured["over_hand_written_there"][n]),
                MARKERS[layout], color=colour, markerfacecolor="none",
                label="_" if (which, layout) in named else name,
            )  # fmt: skip
            named.add((which, layout))


def _legend(panel: Any) -> None:
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)


def main(arguments: Sequence[str]) -> int:
    """Print and draw a file of run.py."""
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    path = Path(arguments[0])
    record = json.loads(path.read_text(encoding="utf-8"))
    print_tables(record)
    if any(record["results"].values()):
        draw(record, Path(arguments[1]) if len(arguments) == 2 else path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
