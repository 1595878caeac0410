"""kernel-filter and sampler: other tools that are told of some of the launches."""

import json
import os
import re
import subprocess
import sys

import pytest

import execspace as es
from execspace import profiling
from execspace.events import dispatch
from execspace_tools.filters import KernelFilter, Sampler


def labels(tool):
    return sorted(row.label for row in tool.records())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("flux", ["flux", "flux of x"]),
        ("match=^flux$", ["flux"]),
        ("exclude=flux", ["sum", "x"]),
        ("match=x:exclude=of", ["flux", "x"]),
    ],
)
def test_kernels_are_chosen_by_their_labels(launches, options, expected):
    with es.profile(f"kernel-filter:{options}:tool=kernel-timer") as found:
        for label in ("flux", "flux of x", "x", "sum"):
            launches.kernel(label, 1.0)
    wrapper = found["kernel-filter"]
    assert labels(wrapper.tool) == expected
    report = str(found)
    assert report.startswith("Kernels\n")
    assert report.endswith(
        f"kernel-filter: {len(expected)} of 4 launches were told to 'kernel-timer'"
    )


def test_a_kernel_is_known_by_its_own_name_as_well():
    def advance(i):
        pass

    policy = es.RangePolicy(4, space="oracle")
    with es.profile("kernel-filter:advance:tool=kernel-timer") as found:
        es.parallel_for(policy, advance, label="step")
        es.parallel_for(policy, lambda i: None, label="other")
    timer = found["kernel-filter"].tool
    assert labels(timer) == ["step"]


def test_compilations_go_by_the_name_of_the_kernel(launches):
    with es.profile("kernel-filter:flux:tool=kernel-timer") as found:
        profiling.emit("on_compile", "flux", "far", 1.0, True)
        profiling.emit("on_compile", "<lambda>", "far", 2.0, True)
    assert "1 kernel compiled, or loaded from the cache, in 1.00 s" in str(found)


def test_copies_and_memory_are_told_all_the_same(launches, capsys):
    with es.profile("kernel-filter:nothing:tool=logger:events=kernel+copy+allocate"):
        launches.kernel("flux", 1.0)
        launches.copy("x@host", "y@far", 80, 1.0)
        launches.allocate("x", 80)
    words = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert words == ["copy_begin", "copy_end", "allocate"]


def test_any_tool_may_be_the_other_one(launches):
    class Labels(profiling.Tool):
        heard = ()

        def on_kernel_begin(self, label):
            self.heard += (label,)

    inner = Labels()
    with es.profile(KernelFilter(inner, exclude="sum")):
        launches.kernel("sum", 1.0)
        launches.kernel("flux", 1.0)
    assert inner.heard == ("flux",)


def test_a_trace_has_the_chosen_kernels_only(tmp_path):
    path = tmp_path / "trace.json"
    policy = es.RangePolicy(4, space="oracle")
    with es.profile(f"kernel-filter:keep:tool=trace:path={path}:limit=1000"):
        for label in ("keep", "drop"):
            es.parallel_for(policy, lambda i: None, label=label)
    names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert "keep" in names
    assert "drop" not in names


def test_every_nth_launch_of_each_kernel(launches):
    with es.profile("sampler:every=3:tool=kernel-timer") as found:
        for _ in range(7):
            launches.kernel("often", 1.0)
        launches.kernel("once", 1.0)
        launches.kernel("often", 1.0, pattern="parallel_reduce")
    rows = found["sampler"].tool.records()
    assert {(r.label, r.pattern): r.calls for r in rows} == {
        ("often", "parallel_for"): 3,
        ("once", "parallel_for"): 1,
        ("often", "parallel_reduce"): 1,
    }
    assert str(found).endswith(
        "sampler: 5 of 9 launches were told to 'kernel-timer'; counts and totals are of these"
    )


def test_a_sample_by_chance_is_the_same_for_the_same_seed(launches):
    def sampled(seed):
        chosen = []

        class Labels(profiling.Tool):
            def on_kernel_begin(self, label):
                chosen.append(label)

        with es.profile(Sampler(Labels(), every=1, probability=0.25, seed=seed)):
            for n in range(400):
                launches.kernel(f"k{n}", 1.0)
        return chosen

    first = sampled(1)
    assert sampled(1) == first != sampled(2)
    assert 60 <= len(first) <= 140  # 100 +- 40: less than once in 100,000 seeds, and it is one


def test_they_may_be_within_each_other(launches):
    with es.profile("kernel-filter:flux:tool=sampler:every=2:tool=kernel-timer:limit=1") as found:
        for label in ("flux", "sum", "flux", "flux", "sum"):
            launches.kernel(label, 1.0)
    (row,) = found["kernel-filter"].tool.tool.records()
    assert (row.label, row.calls) == ("flux", 2)
    assert "kernel-filter: 3 of 5" in str(found)
    assert "sampler: 2 of 3" in str(found)


def test_times_are_asked_for_only_if_the_other_tool_wants_them():
    with es.profile("sampler:tool=logger:events=kernel"):
        assert dispatch.TIMED == ()
    with es.profile("sampler:tool=kernel-timer"):
        assert len(dispatch.TIMED) == 1


def test_a_notebook_shows_the_table_of_the_other_tool(launches):
    with es.profile("kernel-filter:flux:tool=kernel-timer") as found:
        launches.kernel("flux", 1.0)
    shown = found._repr_html_()
    assert "<table" in shown
    assert "kernel-filter: 1 of 1 launches" in shown


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("kernel-filter", "'kernel-filter' has neither match= nor exclude= and would leave out"),
        ("kernel-filter:(", "match='(' is not a regular expression: missing )"),
        ("kernel-filter:exclude=(", "exclude='(' is not a regular expression: missing )"),
        ("kernel-filter:a:tool=trac", "'trac' is not a profiling tool; installed tools:"),
        ("sampler:every=0", "'sampler': every=0; expected 1, which takes all, or more"),
        ("sampler:probability=0", "probability=0; expected more than 0 and at most 1"),
        ("sampler:probability=1.5", "probability=1.5; expected more than 0 and at most 1"),
        ("sampler:tool=kernel-timer:sort=size", "'kernel-timer': sort='size'; expected one of"),
    ],
)
def test_options_are_checked(choice, message):
    with pytest.raises(es.ToolError, match=re.escape(message)), es.profile(choice):
        raise AssertionError("never reached")


PROGRAM = """
import execspace as es

def nothing(i):
    pass

for label in ("keep", "drop", "keep"):
    es.parallel_for(es.RangePolicy(4, space="oracle"), nothing, label=label)
"""


@pytest.mark.parametrize("how", ["run", "environment"])
def test_programs_that_know_nothing_of_it(tmp_path, how):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    choice = "kernel-filter:match=keep:tool=sampler:every=2:tool=kernel-timer:sort=calls"
    run = ["-m", "execspace", "run", "--tool", choice] if how == "run" else []
    settings = {"EXECSPACE_TOOLS": "" if how == "run" else choice, "COLUMNS": "100"}
    found = subprocess.run(
        [sys.executable, *run, program],
        env={**os.environ, **settings},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (row,) = (line.split() for line in found.stderr.splitlines() if line.startswith("keep"))
    assert row[:4] == ["keep", "oracle", "for", "1"]
    assert "kernel-filter: 2 of 3 launches" in found.stderr
    assert "sampler: 1 of 2 launches" in found.stderr
