"""Ctrl-C and a lack of memory leave nothing half done, in the compiler of hosts and at the start.

What holds for any space is in the conformance kit: suite/range_for/test_interrupted_launches.py.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interrupted_process import at_with

import execspace as es
from execspace.plugins import registry as plugins
from execspace_compiler.host import machine

PROGRAM = str(Path(__file__).parents[1] / "support" / "interrupted_process.py")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, SystemExit])
@pytest.mark.parametrize("step", ["optimised", "object_code", "Library", "built_in"])
def test_half_a_compilation_is_not_taken_for_a_whole_one(kind, step, monkeypatch, tmp_path):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    number = len(step) + 100.0 * len(kind.__name__)  # a kernel of its own
    kernel = es.kernel(lambda i, x: put(x, i, number))
    x, policy = np.zeros(3), es.RangePolicy(3, space="serial")

    def interrupted(*args):
        raise kind("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(machine, step, interrupted)
        with pytest.raises(kind, match="interrupted"):
            es.parallel_for(policy, kernel, x)
    assert x.tolist() == [0] * 3
    es.parallel_for(policy, kernel, x)
    assert x.tolist() == [number] * 3


def put(x, i, value):
    x[i] = value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_first_launch_that_is_interrupted_anywhere_is_as_good_as_none(tmp_path):
    """The second one finds the same plugins and the same default space, and computes."""
    environment = {k: v for k, v in os.environ.items() if k != "EXECSPACE_DEFAULT"}
    environment |= {"EXECSPACE_CACHE_DIR": str(tmp_path), "EXECSPACE_PLUGINS": "serial,openmp"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, "10"], env=environment,
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    assert done.stdout == "10 places, ('openmp', [2.0, 1.0, 0.0, 1.0])\n", done.stderr


PLACES = [
    "execspace_compiler.host.building",  # much of the compiler
    "execspace_compiler.typing.rules.choices",  # rules are registered when a kernel needs them
    "execspace_compiler.typing.rules.views",
    "llvmlite",  # the import of llvmlite
    "llvmlite.binding.ffi",  # which loads LLVM
    "llvmlite.binding.orcjit",
    "_load_lib",
    "initialize_native_target",
    "Target.create_target_machine",
    "parse_assembly",
    "create_pass_builder",
    "create_lljit_compiler",
    "JITLibraryBuilder.link",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_ctrl_c_while_the_compiler_starts_does_not_break_it_for_good(name, tmp_path):
    """The next launch of the process computes."""
    environment = os.environ | {
        "EXECSPACE_CACHE_DIR": str(tmp_path), "EXECSPACE_PLUGINS": name,
        "EXECSPACE_DEFAULT": name,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, *PLACES], env=environment,
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    assert done.stdout == f"{len(PLACES)} places, ('{name}', [2.0, 1.0, 0.0, 1.0])\n", done.stderr


def test_a_lack_of_memory_says_nothing_of_a_space(monkeypatch, fresh_selection):
    """It is not passed over from then on."""
    tried = []

    def failing(device):
        if not tried:
            tried.append(1)
            raise MemoryError("interrupted")
        return own.factory(device)

    own = plugins.registry().spaces["serial"]
    monkeypatch.setenv("EXECSPACE_DEFAULT", "serial")
    monkeypatch.setitem(plugins.registry().spaces, "serial", replace(own, factory=failing))
    with pytest.raises(MemoryError):
        es.default_space()
    assert es.default_space().name == "serial"
    assert all(row.usable for row in es.spaces() if row.name == "serial")


def test_an_interrupted_load_of_plugins_loses_none(fake_plugin, fresh_selection, monkeypatch):
    """Wherever it is interrupted in core's own code, the next one loads the plugin."""
    source = """
        import execspace as es

        @es.hookimpl
        def execspace_register_spaces():
            return [es.SpaceEntry("kept", lambda device: None, (0, 1), summary="never made")]
        """
    monkeypatch.setenv("EXECSPACE_PLUGINS", "kept")
    fake_plugin("kept", source)
    for place in itertools.count(1):
        fresh_selection()
        lines = itertools.count(1)

        def trace(frame, event, _, lines=lines, place=place):
            if frame.f_code.co_filename != plugins.__file__:
                return None
            if event == "line" and not at_with(frame) and next(lines) == place:
                sys.settrace(None)
                raise MemoryError
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            plugins.registry()
            interrupted = False
        except MemoryError:
            interrupted = True
        finally:
            sys.settrace(before)
        found = plugins.registry().plugins
        assert "kept" in found and found["kept"].error is None, f"line {place} of the load"
        if not interrupted:
            break
    assert place > 50
