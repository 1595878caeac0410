"""The programs of examples/programs check themselves: here on every space, unchanged.

In this process on spaces with the host's memory, and in processes of their own where spaces have
other memory: OpenCL's buffers, and EXECSPACE_CHECK=portable, under which spaces of the host refuse
what a device would.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(f"programs_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_there_are_twenty():
    assert len(PROGRAMS) == 20


def test_each_is_in_the_table():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in PROGRAMS if f"[{name}.py]({name}.py)" not in text] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_none_names_a_space_or_a_memory(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    words = ("space=", "use_space", "memory=", "es.HOST", "create_mirror", "es.space(", "deep_copy")
    assert [word for word in words if word in text] == []


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "where",
    [
        "oracle",
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("serial", "openmp")),
    ],
)
def test_a_program_is_right(name, where):
    program = load(name)
    with es.use_space(where):
        found = program.run(**(program.SMALL if where == "oracle" else {}))
    assert found
    assert all(isinstance(value, float | int) for value in found.values()), found


RUN_ALL = """
import importlib.util, sys, traceback
failed = []
for name in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location(name, name + ".py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        module.run(**module.SMALL)
    except Exception:
        failed.append(name)
        traceback.print_exc()
print("failed:", failed)
sys.exit(bool(failed))
"""


def run_all(**environment):
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *PROGRAMS],
        cwd=FOLDER, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "where",
    [
        "oracle",
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("serial", "openmp")),
    ],
)
def test_all_are_clean_under_the_check_of_what_is_portable(where):
    run_all(EXECSPACE_DEFAULT=where, EXECSPACE_CHECK="portable")


@pytest.mark.parametrize("memory", ["device", pytest.param("host", marks=pytest.mark.exhaustive)])
def test_all_run_on_opencl(memory):
    row = next((s for s in es.spaces() if s.name == "opencl"), None)
    if row is None or not row.usable:
        pytest.skip(f"no OpenCL: {row.reason if row else 'the plugin is not installed'}")
    run_all(EXECSPACE_DEFAULT="opencl", EXECSPACE_OPENCL_MEMORY=memory)


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_a_program_does(name):
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert source.startswith('"""')
    assert "argparse" in source
