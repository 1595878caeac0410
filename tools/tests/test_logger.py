"""The logger: a line for each event, as it happens."""

import re

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.logger import EVENTS


def logged(capsys):
    """Lines on standard error without their times, and with #n for numbers."""
    lines = capsys.readouterr().err.splitlines()
    found = [re.sub(r"#\d+", "#n", re.sub(r"^ *\d+\.\d{6}  ", "", line)) for line in lines]
    return [line for line in found if not line.startswith("metadata ")]  # of this environment


def test_events_are_lines_indented_by_region(launches, capsys):
    with es.profile("logger"):
        with profiling.region("step"):
            launches.kernel("flux", 25e-6)
            with profiling.region("inner"):
                profiling.mark_event("half way")
        launches.allocate("x", 80)
        profiling.emit("on_compile", "flux", "far", 0.25, True)
    assert logged(capsys) == [
        "region_push name='step'",
        "  kernel_begin #n pattern=parallel_for name='flux' label='flux' space=far queue=0",
        "  device_time #n 25.000 us",
        "  kernel_end #n",
        "  region_push name='inner'",
        "    event name='half way'",
        "  region_pop name='inner'",
        "region_pop name='step'",
        "allocate #n space=far label='x' nbytes=80",
        "compile kernel='flux' space=far seconds=0.250000 from_disk=True",
    ]


def test_lines_come_at_once(launches, capsys):
    with es.profile("logger:events=kernel"):
        id = launches.begin("flux")
        assert len(logged(capsys)) == 1
        launches.end(id)
        assert logged(capsys) == ["kernel_end #n"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("kernel", ["kernel_begin", "kernel_end"]),
        ("kernel_begin", ["kernel_begin"]),
        ("copy+allocate", ["copy_begin", "copy_end", "allocate"]),
        ("on_allocate,free", ["allocate"]),
        ("device_time", ["device_time", "device_time"]),
    ],
)
def test_a_choice_of_events(launches, capsys, events, expected):
    with es.profile(f"logger:events={events}"):
        launches.kernel("flux", 1.0)
        launches.copy("x@host", "y@far", 8, 1.0)
        launches.allocate("x", 80)
    assert [line.split()[0] for line in logged(capsys)] == expected


def test_a_pattern_for_labels_takes_ends_along(launches, capsys):
    with es.profile("logger:match=^fl.x$"):
        flux, other = launches.begin("flux"), launches.begin("reflux")
        launches.end(flux)  # this one is asynchronous
        launches.end(other)
        launches.time(other, 0.0, 1.0)
        launches.time(flux, 0.0, 1.0)
        launches.kernel("flux", 2e-6)
        launches.allocate("x", 80)
        es.fence()
    assert [line.split()[0] for line in logged(capsys)] == [
        "kernel_begin", "kernel_end", "device_time", "kernel_begin", "device_time", "kernel_end",
    ]  # fmt: skip


def test_a_file_takes_the_lines(launches, tmp_path, capsys):
    path = tmp_path / "log.txt"
    with es.profile(f"logger:{path}"):
        launches.kernel("flux", 1.0)
    words = [line.split()[1] for line in path.read_text().splitlines()]
    assert [word for word in words if word != "metadata"] == [
        "kernel_begin", "device_time", "kernel_end",
    ]  # fmt: skip
    assert capsys.readouterr().err == ""


def test_a_real_program(capsys):
    with es.profile("logger:match=mine"):
        x = es.View(8, label="mine")
        es.parallel_for(es.RangePolicy(8, space="serial"), lambda i: None, label="mine, too")
        es.deep_copy(x, 1.0)
    lines = logged(capsys)
    assert lines[0] == "allocate #n space=host label='mine' nbytes=64"
    assert lines[1] == (
        "kernel_begin #n pattern=parallel_for name='<lambda>' label='mine, too' space=serial "
        "queue=0 policy=\"RangePolicy(0, 8, space='serial')\""
    ).replace('"', "")
    assert [line.split()[0] for line in lines] == [
        "allocate", "kernel_begin", "device_time", "kernel_end", "copy_begin", "device_time",
        "copy_end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("events=kernels", f"'kernels' is not an event. Events: {', '.join(EVENTS)}; or the first"),
        ("match=(", "match='(' is not a regular expression: missing )"),
        ("nowhere/log.txt", "in a folder that does not exist"),
    ],
)
def test_options_are_checked(options, message):
    with (
        pytest.raises(es.ToolError, match=re.escape(message)),
        es.profile(f"logger:{options}"),
    ):
        raise AssertionError("never reached")


def test_times_of_devices_cost_marks_only_if_they_are_printed():
    with es.profile("logger:events=kernel") as found:
        assert not found["logger"].device_times
    with es.profile("logger:events=device_time") as found:
        assert found["logger"].device_times
