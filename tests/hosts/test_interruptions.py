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

PROGRAM = str(Path(__file__).parents[1] / "support" / "interrupted_process.py")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, SystemExit])
@pytest.mark.parametrize("call", [1, 2])
def test_half_a_generated_module_is_not_taken_for_a_whole_one(kind, call, monkeypatch, tmp_path):
    from numba.core.dispatcher import Dispatcher

    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    calls, own = [], Dispatcher.compile

    def compile(self, signature):
        calls.append(signature)
        if len(calls) == call:
            raise kind("interrupted")
        return own(self, signature)

    number = call + 10.0 * len(kind.__name__)  # a kernel of its own
    kernel = es.kernel(lambda i, x: put(x, i, number))
    x, policy = np.zeros(3), es.RangePolicy(3, space="serial")
    with monkeypatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile)
        with pytest.raises(kind, match="interrupted"):
            es.parallel_for(policy, kernel, x)
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
    "numba.core.types",  # the import of Numba
    "numba.core.typing.cmathdecl",  # what Numba imports when it first compiles
    "BaseRegistryLoader.new_registrations",  # a generator that goes on at the next compilation
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_ctrl_c_while_numba_starts_does_not_break_it_for_good(name, tmp_path):
    """It is raised when Numba has started; the next launch of the process computes."""
    environment = os.environ | {
        "EXECSPACE_CACHE_DIR": str(tmp_path), "EXECSPACE_PLUGINS": name,
        "EXECSPACE_DEFAULT": name,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, *PLACES], env=environment,
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    assert done.stdout == f"3 places, ('{name}', [2.0, 1.0, 0.0, 1.0])\n", done.stderr


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
