"""Kokkos Tools: what tools are told, tuners, and the tools themselves."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import execspace as es
from parity.table import absent, raises, row

TOOLS = "5 Tools"
TUNERS = "`OccupancyTuner`"


class Told(es.profiling.Tool):
    """Keeps all events with their arguments."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def on_any(self, event: str, arguments: dict[str, Any]) -> None:
        self.events.append((event.removeprefix("on_"), dict(arguments)))

    def of(self, event: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.events if name == event]


def axpy(i, a, x, y):
    y[i] += a * x[i]


def is_own(label: str) -> bool:
    """Whether it is a launch of the program's: some spaces fill Views by a kernel as well."""
    return label != "deep_copy"


def program(n: int = 100) -> es.View:
    """Regions, launches of all patterns, a copy, a fence and memory."""
    x, y = es.View(n, label="x"), es.View(n, label="y")
    with es.profiling.region("setup"):
        es.deep_copy(x, 1.0)
    for _ in range(3):
        with es.profiling.region("step"):
            es.parallel_for(n, axpy, 2.0, x, y, label="axpy")
    es.parallel_reduce(n, lambda i, y: y[i], y, label="sum")
    es.parallel_scan(n, lambda i, prefix, final, y: y[i], y, label="prefixes")
    es.fence("the end")
    return y


@row(TOOLS, "begin/end for/reduce/scan", "with es.profile(Told()) as found:")
def kernels(space: es.ExecutionSpace) -> None:
    with es.profile(Told()) as found:
        program()
    told = found["Told"]
    begun = [(k["pattern"], k["label"]) for k in told.of("kernel_begin") if is_own(k["label"])]
    assert begun == [("parallel_for", "axpy")] * 3 + [
        ("parallel_reduce", "sum"),
        ("parallel_scan", "prefixes"),
    ]
    numbers = [k["id"] for k in told.of("kernel_begin")]
    assert numbers == [k["id"] for k in told.of("kernel_end")]
    assert len(set(numbers)) == len(numbers) >= 5
    assert {k["space"] for k in told.of("kernel_begin")} == {space.name}


@row(TOOLS, "regions", 'es.profiling.region("step")')
def regions(space: es.ExecutionSpace) -> None:
    with es.profile(Told()) as found, es.profiling.region("step"):
        assert es.profiling.current_regions()[-1:] == ("step",)
    told = found["Told"]
    assert [r["name"] for r in told.of("region_push") + told.of("region_pop")] == ["step"] * 2


@row(TOOLS, "allocate/deallocate", 'x = es.View(100, label="watched")')
def memory(space: es.ExecutionSpace) -> None:
    with es.profile(Told()) as found:
        x = es.View(100, label="watched")
        memory_space = x.memory_space.name
        del x
    told = found["Told"]
    for event in ("allocate", "free"):
        (of,) = (a for a in told.of(event) if a["label"] == "watched")
        assert of["nbytes"] == 800 and of["space"] == memory_space


@row(TOOLS, "deep copy", "es.deep_copy(y, x)")
def deep_copy(space: es.ExecutionSpace) -> None:
    x, y = es.ones(100, label="x"), es.zeros(100, label="y")
    with es.profile(Told()) as found:
        es.deep_copy(y, x)
    (copy,) = found["Told"].of("copy_begin")
    assert copy["nbytes"] == 800
    assert copy["destination"].startswith("y@") and copy["source"].startswith("x@")


@row(TOOLS, "fence", 'es.fence("the end")')
def fence(space: es.ExecutionSpace) -> None:
    space.concurrency  # it has started
    with es.profile(Told()) as found:
        es.fence("the end")
    assert "the end" in [f["label"] for f in found["Told"].of("fence_begin")]
    assert len(found["Told"].of("fence_begin")) == len(found["Told"].of("fence_end"))


@row(TOOLS, "profile_event", 'es.profiling.mark_event("half way")')
def profile_event(space: es.ExecutionSpace) -> None:
    with es.profile(Told()) as found:
        es.profiling.mark_event("half way")
    assert found["Told"].of("event") == [{"name": "half way"}]


@row(TOOLS, "options of tools", 'es.profile("kernel-timer:sort=calls:limit=1")')
def options_of_tools(space: es.ExecutionSpace) -> None:
    with es.profile("kernel-timer:sort=calls:limit=1") as found:
        program()
    assert "axpy" in str(found) and re.search("and [23] more rows", str(found))
    with raises(es.ToolError, match="sorted"), es.profile("kernel-timer:sorted=calls"):
        pass


@row(TOOLS, "regions API", 'es.profiling.push_region("outer")')
def regions_api(space: es.ExecutionSpace) -> None:
    es.profiling.push_region("outer")
    es.profiling.push_region("inner")
    assert es.profiling.current_regions()[-2:] == ("outer", "inner")
    es.profiling.pop_region()
    es.profiling.pop_region()
    assert "outer" not in es.profiling.current_regions()


@row(TOOLS, "own tool", "class Bytes(es.profiling.Tool):")
def own_tool(space: es.ExecutionSpace) -> None:
    class Bytes(es.profiling.Tool):
        nbytes = 0

        def on_copy_begin(self, nbytes: int) -> None:
            self.nbytes += nbytes

        def report(self) -> str:
            return f"{self.nbytes} bytes"

    x = es.zeros(100)
    with es.profile(Bytes()) as found:
        es.deep_copy(x, 2.0)
    assert found["Bytes"].nbytes == 800 and "800 bytes" in str(found)


@row(TOOLS, "init/finalize library", "es.profiling.attach(tool)")
def init_and_finalize(space: es.ExecutionSpace) -> None:
    tool = Told()
    es.profiling.attach(tool)
    es.parallel_for(10, lambda i: None, label="seen")
    es.profiling.detach(tool)
    es.parallel_for(10, lambda i: None, label="not seen")
    assert [k["label"] for k in tool.of("kernel_begin")] == ["seen"]


@row(TOOLS, "profile sections start/stop", 'reading = es.profiling.Section("reading")')
def sections(space: es.ExecutionSpace) -> None:
    """They may overlap."""
    reading = es.profiling.Section("reading")
    with es.profile("kernel-timer") as found:
        reading.start()
        with es.profiling.Section("computing"):
            program()
            reading.stop()
    records = {r.name: r.calls for r in found["kernel-timer"].sections()}
    assert records == {"reading": 1, "computing": 1}


@row(TOOLS, "dual_view_sync/modify", 'dual.modify("host")')
def dual_view_events(space: es.ExecutionSpace) -> None:
    dual = es.DualView(10, label="p")
    with es.profile(Told()) as found:
        dual.modify("host")
        dual.sync("device")
    told = found["Told"]
    assert told.of("dual_view_modify") == [{"label": "p", "side": "host"}]
    if not dual.shares_memory:
        assert told.of("dual_view_sync") == [{"label": "p", "side": "device", "nbytes": 80}]


@row(TOOLS, "declare_metadata", 'es.profiling.metadata("mesh", "344 x 403")')
def metadata(space: es.ExecutionSpace) -> None:
    es.profiling.metadata("mesh", "344 x 403")
    assert es.profiling.known_metadata()["mesh"] == "344 x 403"

    class Facts(es.profiling.Tool):
        def __init__(self) -> None:
            self.known: dict[str, str | int | float | bool] = {}

        def on_metadata(self, key: str, value: str | int | float | bool) -> None:
            self.known[key] = value

    with es.profile(Facts()) as found:
        es.profiling.metadata("steps", 1000)
    known = found["Facts"].known
    assert known["mesh"] == "344 x 403" and known["steps"] == 1000
    assert known["execspace"] == es.__version__


@row(TOOLS, "tool programming interface", "class Reductions(es.profiling.Wrapper):")
def tool_programming_interface(space: es.ExecutionSpace) -> None:
    """A tool chooses what another one is told; `es.profiling.wait_for_times` waits for it."""

    class Reductions(es.profiling.Wrapper):
        def wants_launch(self, pattern: str, name: str, label: str, space: str) -> bool:
            return pattern == "parallel_reduce"

    with es.profile(Reductions("kernel-timer")) as found:
        program()
        es.profiling.wait_for_times()
    assert [r.label for r in found["Reductions"].tool.records()] == ["sum"]


@row(TOOLS, "tool settings (global fence)", 'timer = found["kernel-timer"].records()')
def no_global_fences(space: es.ExecutionSpace) -> None:
    """No tool fences: devices tell times of their own, where they can."""
    with es.profile(Told(), "kernel-timer") as found:
        x = es.zeros(10)
        for _ in range(3):
            es.parallel_for(10, axpy, 1.0, x, x)
    timer = found["kernel-timer"].records()
    assert timer[0].calls == 3
    begins = [event for event, _ in found["Told"].events]
    last = len(begins) - 1 - begins[::-1].index("kernel_begin")
    assert "fence_begin" not in begins[:last]


absent(TOOLS, "tuning callbacks for tools", TUNERS)


@row(TOOLS, "pause/resume", "es.profiling.pause()")
def pause_and_resume(space: es.ExecutionSpace) -> None:
    with es.profile("kernel-timer") as found:
        es.profiling.pause()
        es.parallel_for(10, lambda i: None, label="first steps")
        es.profiling.resume()
        es.parallel_for(10, lambda i: None, label="watched")
    assert [r.label for r in found["kernel-timer"].records()] == ["watched"]


def tuned(*launch: Any) -> es.Tuning:
    """What is found in some seconds, and not kept."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("EXECSPACE_TUNING_DIR")
        os.environ["EXECSPACE_TUNING_DIR"] = folder
        try:
            return es.tune(*launch, seconds=1, keep=False, progress=False)
        finally:
            if before is None:
                del os.environ["EXECSPACE_TUNING_DIR"]
            else:
                os.environ["EXECSPACE_TUNING_DIR"] = before


@row(TOOLS, "TeamSizeTuner", "found = tuned(es.TeamPolicy(50), sums, A, y)")
def team_size_tuner(space: es.ExecutionSpace) -> None:
    def sums(team, A, y):
        i = team.league_rank
        total = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda k: A[i, k])
        if es.single(es.PerTeam(team)):
            y[i] = total

    A, y = es.ones((50, 60)), es.zeros(50)
    found = tuned(es.TeamPolicy(50), sums, A, y)
    assert found.seconds <= found.default_seconds
    es.parallel_for(found.policy, sums, A, y)
    assert (y.to_numpy() == 60).all()


@row(TOOLS, "MDRangeTuner", "found = tuned(es.MDRangePolicy((64, 64)), scale, A)")
def mdrange_tuner(space: es.ExecutionSpace) -> None:
    def scale(i, j, A):
        A[i, j] *= 2

    A = es.ones((64, 64))
    found = tuned(es.MDRangePolicy((64, 64)), scale, A)
    assert found.seconds <= found.default_seconds and len(found.candidates) > 1
    assert (A.to_numpy() == 1).all()  # Views are what they were


absent(TOOLS, "OccupancyTuner", TUNERS)
absent(TOOLS, "user-defined tuners", TUNERS)


@row(TOOLS, "simple-kernel-timer", 'with es.profile("kernel-timer") as found:')
def kernel_timer(space: es.ExecutionSpace) -> None:
    with es.profile("kernel-timer") as found:
        program()
    calls = {r.label: r.calls for r in found["kernel-timer"].records() if is_own(r.label)}
    assert calls == {"axpy": 3, "sum": 1, "prefixes": 1}


@row(TOOLS, "space-time-stack", 'with es.profile("space-time-stack:threshold=0") as found:')
def space_time_stack(space: es.ExecutionSpace) -> None:
    with es.profile("space-time-stack:threshold=0") as found:
        program()
    text = str(found)
    assert re.search(r"step +region", text) and re.search(r"axpy +for", text)
    assert "Top-down" in text and "Bottom-up" in text and "high-water mark" in text


@row(TOOLS, "memory-events", 'with es.profile("memory-events") as found:')
def memory_events(space: es.ExecutionSpace) -> None:
    with es.profile("memory-events") as found:
        x = es.View(1000, label="watched")
        del x
    kept = [r for r in found["memory-events"].records() if r.label == "watched"]
    assert [(r.event, r.nbytes) for r in kept] == [("allocate", 8000), ("free", 8000)]


@row(TOOLS, "memory-usage/hwm", 'es.profile("memory-high-water", "memory-usage:interval=0")')
def memory_usage(space: es.ExecutionSpace) -> None:
    with es.profile("memory-high-water", "memory-usage:interval=0") as found:
        x = es.View(100_000, label="large")
        name = x.memory_space.name
        del x
    (peak,) = (r for r in found["memory-high-water"].records() if r.space == name)
    assert peak.peak >= 800_000
    rows = found["memory-usage"].records()
    assert max(r.views.get(name, 0) for r in rows) >= 800_000
    assert all(r.resident > 0 for r in rows)


@row(TOOLS, "chrome trace / perfetto", 'with es.profile(f"trace:{path}"):')
def trace(space: es.ExecutionSpace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        with es.profile(f"trace:{path}"):
            program()
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    launches = [e for e in events if e.get("cat") == "launch" and e["name"] == "axpy"]
    assert len(launches) == 3 and all(e["ph"] == "X" for e in launches)


@row(TOOLS, "nvtx", 'with es.profile("nvtx"):')
def nvtx(space: es.ExecutionSpace) -> None:
    """Without Nsight the ranges go nowhere."""
    if importlib.util.find_spec("nvtx") is None:
        with raises(es.ToolError, match="pip install nvtx"), es.profile("nvtx"):
            pass
        return
    with es.profile("nvtx"):
        y = program()
    assert (y.to_numpy() == 6).all()


@row(TOOLS, "roctx", 'with es.profile("roctx"):', there="part", reason="`HIP` on an AMD GPU")
def roctx(space: es.ExecutionSpace) -> None:
    if importlib.util.find_spec("rocm") is None:
        with raises(es.ToolError, match="rocm"), es.profile("roctx"):
            pass
        return
    with es.profile("roctx"):
        y = program()
    assert (y.to_numpy() == 6).all()


absent(TOOLS, "vtune, papi, caliper..", "VTune, PAPI, Caliper")


@row(TOOLS, "kernel-logger", 'with es.profile(f"logger:{path}:events=kernel+region"):')
def kernel_logger(space: es.ExecutionSpace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        with es.profile(f"logger:{path}:events=kernel+region"):
            program()
        text = path.read_text(encoding="utf-8")
    assert text.count("label='axpy'") == 3 and "region_push name='setup'" in text
    assert "copy_begin" not in text


@row(
    TOOLS, "kernel-filter", 'with es.profile("kernel-filter:match=^s:tool=kernel-timer") as found:'
)
def kernel_filter(space: es.ExecutionSpace) -> None:
    with es.profile("kernel-filter:match=^s:tool=kernel-timer") as found:
        program()
    assert [r.label for r in found["kernel-filter"].tool.records()] == ["sum"]


@row(TOOLS, "sampler", 'with es.profile("sampler:every=2:tool=kernel-timer") as found:')
def sampler(space: es.ExecutionSpace) -> None:
    with es.profile("sampler:every=2:tool=kernel-timer") as found:
        for _ in range(5):
            program()
    calls = {r.label: r.calls for r in found["sampler"].tool.records() if is_own(r.label)}
    assert calls == {"axpy": 8, "sum": 3, "prefixes": 3}
