"""The tools as execspace finds them: by name, with options, loaded when they are chosen."""

import inspect
import subprocess
import sys

import pytest

from execspace import ToolEntry, profiling
from execspace.plugins.registry import tool_entries
from execspace_tools import plugin

NAMES = [
    "kernel-timer", "space-time-stack", "memory-events", "memory-high-water", "memory-usage",
    "trace", "nvtx", "roctx", "logger", "roofline", "kernel-filter", "sampler",
]  # fmt: skip


def test_all_tools_are_announced():
    assert [entry.name for entry in plugin.execspace_register_tools()] == NAMES
    assert set(NAMES) <= set(tool_entries())


@pytest.mark.parametrize(
    "entry", list(plugin.execspace_register_tools()), ids=lambda entry: entry.name
)
def test_options_can_be_written_as_text(entry: ToolEntry):
    assert entry.summary and "\n" not in entry.summary
    for option in inspect.signature(entry.factory).parameters.values():
        assert type(option.default) in (str, int, float, bool), option


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("trace", "roofline", "roctx")])
def test_a_tool_that_saw_nothing_still_reports(name):
    if name == "nvtx":
        pytest.importorskip("nvtx", reason="pip install nvtx")
    options = {"match": "axpy"} if name == "kernel-filter" else {}
    tool = tool_entries()[name].factory(**options)
    assert isinstance(tool, profiling.Tool)
    tool.finish()
    assert isinstance(tool.report(), str)


def test_announcing_them_loads_nothing_heavy():
    program = (
        "import sys; import execspace_tools.plugin as p; list(p.execspace_register_tools()); "
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in "
        "('rich', 'nvtx', 'matplotlib', 'llvmlite') or m.startswith('execspace_tools.')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "['execspace_tools.plugin']\n"
