"""The space-time stack: trees of regions and what ran in them, and memory at its peak."""

import gc
import json
import threading

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.call_tree import Node, turned


def program(launches, clock):
    """Two steps, each with a kernel and a copy that blocks; a fence at the end."""
    for _ in range(2):
        with profiling.region("step"):
            launches_of_step(launches, clock)
    profiling.emit("on_fence_begin", "far", 0, "end", id := profiling.new_id())
    clock.now += 2.0
    profiling.emit("on_fence_end", id)
    clock.now += 1.0


def launches_of_step(launches, clock):
    with profiling.region("flux"):
        id = launches.begin("flux kernel")
        clock.now += 0.25
        profiling.emit("on_compile", "flux kernel", "far", 0.25, False)
        clock.now += 1.75
        launches.time(id, clock.now - 1.5, clock.now)
        launches.end(id)
        clock.now += 0.5
    profiling.emit("on_copy_begin", "y@host", "x@far", 80, "", 0, id := profiling.new_id())
    clock.now += 1.0
    profiling.emit("on_copy_end", id)


def rows(tree, above=()):
    """Nodes of a tree: path, seconds, calls."""
    for node in tree.ordered():
        path = (*above, node.name)
        yield path, node.seconds, node.calls
        yield from rows(node, path)


def test_the_tree_has_regions_and_what_ran_in_them(launches, clock):
    with es.profile("space-time-stack") as found:
        program(launches, clock)
    tree = found["space-time-stack"].root
    assert tree.seconds == 10.0
    assert list(rows(tree)) == [
        (("step",), 7.0, 2),
        (("step", "flux"), 5.0, 2),
        (("step", "flux", "flux kernel"), 3.0, 2),  # the time of its device, not of its call
        (("step", "flux", "flux kernel", "flux kernel"), 0.5, 2),  # compiled
        (("step", "x@far -> y@host"), 2.0, 2),
        (("end",), 2.0, 1),
    ]


def test_the_report(launches, clock):
    with es.profile("space-time-stack") as found:
        block = launches.allocate("x", 2048)
        program(launches, clock)
        launches.free(block, "x", 2048)
    report = str(found).partition("\n\nMemory: 2.00 KiB at the high-water mark of far\n")
    assert (
        report[0]
        == """\
Space-time stack

total runtime 10.0 s, 30.0 % of it with kernels of execspace running

Top-down: what ran within what

                     kind       space   total   of all  of above  calls
───────────────────────────────────────────────────────────────────────
program                                10.0 s  100.0 %
  step               region            7.00 s   70.0 %    70.0 %      2
    flux             region            5.00 s   50.0 %    71.4 %      2
      flux kernel    for        far    3.00 s   30.0 %    60.0 %      2
        flux kernel  compile    far    500 ms    5.0 %    16.7 %      2
    x@far -> y@host  deep_copy         2.00 s   20.0 %    28.6 %      2
  end                fence      far    2.00 s   20.0 %    20.0 %      1

Bottom-up: own time, and what asked for it

                   kind       space   total   of all  of above  calls
─────────────────────────────────────────────────────────────────────
program                              10.0 s  100.0 %
  flux kernel      for        far    3.00 s   30.0 %    30.0 %      2
    flux           region            3.00 s   30.0 %   100.0 %      2
      step         region            3.00 s   30.0 %   100.0 %      2
  x@far -> y@host  deep_copy         2.00 s   20.0 %    20.0 %      2
    step           region            2.00 s   20.0 %   100.0 %      2
  end              fence      far    2.00 s   20.0 %    20.0 %      1
  flux             region            1.00 s   10.0 %    10.0 %      2
    step           region            1.00 s   10.0 %   100.0 %      2
  flux kernel      compile    far    500 ms    5.0 %     5.0 %      2
    flux kernel    for        far    500 ms    5.0 %   100.0 %      2
      flux         region            500 ms    5.0 %   100.0 %      2
        step       region            500 ms    5.0 %   100.0 %      2
1 below 0.1 % of the runtime not shown; threshold=0 shows all"""
    )
    assert report[2].splitlines()[3:4] == [
        "x                1  2.00 KiB  100.0 %",
    ]


def test_own_time_is_what_is_left_of_a_call():
    root = Node("program", "program", host=10.0)
    step = root.child("step", "region")
    step.host, step.calls = 8.0, 2
    step.child("wait", "fence", "far").host = 3.0
    kernel = step.child("flux", "parallel_for", "far", on_device=True)
    kernel.host, kernel.device, kernel.timed = 1.0, 6.0, 1  # launched in one second, ran for six
    assert step.own == 4.0
    bottom_up = {node.name: node.seconds for node in turned(root).ordered()}
    assert bottom_up == {"flux": 6.0, "step": 4.0, "wait": 3.0}


def test_nodes_below_the_threshold_are_counted(launches, clock):
    with es.profile("space-time-stack:threshold=5") as found:
        launches.kernel("long", 9.0)
        launches.kernel("short", 0.1)
        clock.now += 10.0
    report = str(found)
    assert "long" in report and "short" not in report
    assert "1 below 5 % of the runtime not shown; threshold=0 shows all" in report
    with es.profile("space-time-stack:threshold=0") as found:
        launches.kernel("short", 0.0)
        clock.now += 10.0
    assert "short" in str(found)


def test_a_launch_without_a_time_is_said_so(launches, clock):
    with es.profile("space-time-stack:threshold=0") as found:
        launches.end(launches.begin("lost"))
        clock.now += 1.0
    assert "1 launches without a time; the trees do not have theirs" in str(found)


def test_each_thread_has_a_stack_of_its_own(launches, clock):
    inside, done = threading.Event(), threading.Event()

    def other():
        inside.wait()
        launches.kernel("theirs", 1.0)
        done.set()

    thread = threading.Thread(target=other)
    with es.profile("space-time-stack") as found:
        thread.start()
        with profiling.region("mine"):
            inside.set()
            done.wait()
            launches.kernel("ours", 1.0)
        thread.join()
    paths = {path for path, _, _ in rows(found["space-time-stack"].root)}
    assert paths == {("mine",), ("mine", "ours"), ("theirs",)}


@pytest.mark.parametrize("first", ["kernel", "region", "pop"])
def test_regions_from_before_the_tool_are_on_the_stack(launches, clock, first):
    profiling.push_region("outer")
    with es.profile("space-time-stack") as found:
        if first == "kernel":
            launches.kernel("k", 1.0)
        elif first == "region":
            with profiling.region("inner"):
                launches.kernel("k", 1.0)
        clock.now += 4.0
        profiling.pop_region()
        clock.now += 1.0
    told = list(rows(found["space-time-stack"].root))
    assert told[0] == (("outer",), 4.0, 0)  # it was entered before
    assert [path for path, _, _ in told[1:]] == {
        "kernel": [("outer", "k")],
        "region": [("outer", "inner", "k"), ("outer", "inner")][::-1],
        "pop": [],
    }[first]


def test_a_region_that_is_cut_short_has_its_time(launches, clock):
    with es.profile("space-time-stack") as found:
        profiling.push_region("unfinished")
        clock.now += 3.0
    profiling.pop_region()
    assert list(rows(found["space-time-stack"].root)) == [(("unfinished",), 3.0, 1)]


def test_memory_at_the_peak_has_the_stack_of_each_allocation(launches, tmp_path):
    path = tmp_path / "stack.json"
    with es.profile(f"space-time-stack:{path}") as found:
        with profiling.region("setup"):
            x = launches.allocate("x", 100)
        with profiling.region("step"):
            for _ in range(2):
                buffer = launches.allocate("buffer", 900)
                launches.free(buffer, "buffer", 900)
        launches.free(x, "x", 100)
    document = json.loads(path.read_text())
    assert document["memory"]["far"] == {
        "peak": 1000,
        "current": 0,
        "at_peak": [
            {"label": "buffer", "stack": ["step"], "allocations": 1, "nbytes": 900},
            {"label": "x", "stack": ["setup"], "allocations": 1, "nbytes": 100},
        ],
    }
    assert document["tree"]["children"][0]["name"] in ("setup", "step")
    assert str(found).endswith(f"written to {path}")


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_a_real_program(name):
    with es.use_space(name), es.profile("space-time-stack:threshold=0") as found:
        with profiling.region("fill"):
            x = es.View(500, label="x")
            es.deep_copy(x, 1.0)
        with profiling.region("sum"):
            assert es.parallel_reduce(500, lambda i, x: x[i], x, label="total") == 500
        es.fence("last")
        del x
        gc.collect()
    stack = found["space-time-stack"]
    told = {path: (seconds, calls) for path, seconds, calls in rows(stack.root)}
    assert told["fill", "number -> x@host"][1] == 1
    assert told["sum", "total"][1] == 1 and 0 < told["sum", "total"][0] <= told["sum",][0]
    assert told["last",][1] >= 1
    assert told["fill",][0] + told["sum",][0] <= stack.root.seconds
    assert "x                1  3.91 KiB  100.0 %  fill" in str(found)


def test_options_are_checked():
    with (
        pytest.raises(es.ToolError, match="threshold=101; expected percent, 0 to 100"),
        es.profile("space-time-stack:threshold=101"),
    ):
        raise AssertionError("never reached")
