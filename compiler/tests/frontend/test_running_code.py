"""What is compiled is what Python runs, also where a file was saved after it was imported."""

import ast
import importlib
import linecache
import subprocess
import sys
import textwrap

import pytest

import execspace as es
from execspace_compiler.frontend.source import source_of

MODULE = """
from __future__ import annotations
import math
import execspace as es

SCALE = 2.0

def helper(v):
    return v * 2

@es.kernel
def kernel(i, x):
    x[i] = helper(i) + 1
    if i > 3:
        x[i] = math.sqrt(x[i])

class Model:
    def __init__(self):
        self.__own = 1.0

    def step(self, i, x):
        x[i] = self.__own + 2 * i

class Largest(es.Reducer):
    identity = 0

    def join(a, b):
        return a if a > b else b

def closure(scale):
    def inner(i):
        return scale * i
    return inner

short = lambda i: i * 2
made = closure(3)
"""
FUNCTIONS = {
    "helper": lambda m: m.helper,
    "kernel": lambda m: m.kernel.fn,
    "method": lambda m: m.Model.step,
    "join": lambda m: m.Largest.join,
    "lambda": lambda m: m.short,
    "closure": lambda m: m.made,
}
EDITS = {
    "constant": ("helper", "v * 2", "v * 5"),
    "operator": ("helper", "v * 2", "v + 2"),
    "type of a constant": ("helper", "v * 2", "v * 2.0"),
    "condition": ("kernel", "i > 3", "i < 3"),
    "negated": ("kernel", "if i > 3", "if not i > 3"),
    "function": ("kernel", "math.sqrt", "math.cbrt"),
    "statement more": ("kernel", "+ 1\n", "+ 1; x[i] += 1\n"),
    "statement less": ("kernel", "        x[i] = math.sqrt(x[i])", "        pass"),
    "last lines": ("kernel", "    if i > 3:\n        x[i] = math.sqrt(x[i])\n", "\n\n"),
    "method": ("method", "2 * i", "3 * i"),
    "branches": ("join", "a if a > b else b", "b if a > b else a"),
    "lambda": ("lambda", "i * 2", "i * 7"),
    "closure": ("closure", "scale * i", "scale - i"),
    "name": ("helper", "def helper(v)", "def other(v)"),
    "parameter": ("helper", "helper(v):\n    return v * 2", "helper(w):\n    return w * 2"),
    "line": ("closure", "SCALE = 2.0", "SCALE = 2.0\n\n"),
    "shorter": ("closure", MODULE, "pass\n"),
    "empty": ("helper", MODULE, ""),
    "broken": ("helper", "v * 2", "v *"),
}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module, its file, and the end of its memory; Python writes no bytecode for it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "saved_while_running.py"
    path.write_text(MODULE)
    yield importlib.import_module(path.stem), path
    del sys.modules[path.stem]
    linecache.clearcache()


@pytest.mark.parametrize("which", FUNCTIONS)
def test_every_function_is_found_as_it_runs(module, which):
    assert source_of(FUNCTIONS[which](module[0])).node is not None


@pytest.mark.parametrize("edit", EDITS)
def test_a_function_whose_text_changed_is_refused(module, edit):
    loaded, path = module
    which, old, new = EDITS[edit]
    assert MODULE.count(old) == 1
    path.write_text(MODULE.replace(old, new))
    with pytest.raises(
        es.KernelSyntaxError,
        match=r"does not match the running code: .*\nhint: the file changed since",
    ):
        source_of(FUNCTIONS[which](loaded))


@pytest.mark.parametrize("read", [False, True], ids=["not read before", "read before"])
@pytest.mark.parametrize("which", FUNCTIONS)
def test_a_change_elsewhere_does_no_harm(module, which, read):
    loaded, path = module
    if read:
        linecache.getlines(str(path))
    path.write_text(MODULE.replace("SCALE = 2.0", "SCALE = 3.0") + "\nmore = 1\n")
    assert source_of(FUNCTIONS[which](loaded)).node is not None


def test_a_module_that_is_loaded_again_is_compiled_as_it_is_now(module):
    loaded, path = module
    assert "v * 2" in ast_text(loaded.helper)
    path.write_text(MODULE.replace("v * 2", "v * 55"))  # of another size: Python sees the change
    importlib.reload(loaded)
    assert "v * 55" in ast_text(loaded.helper)


def ast_text(fn):
    return ast.unparse(source_of(fn).node)


def test_launches_say_so_whatever_they_use_of_the_file(module):
    loaded, path = module
    path.write_text(MODULE.replace("v * 2", "v * 5").replace("a > b", "a < b"))
    x = es.View(5, space="oracle")
    policy = es.RangePolicy(5, space="oracle")
    for launch in (
        lambda: es.parallel_for(policy, loaded.kernel, x),
        lambda: es.parallel_reduce(policy, loaded.helper),
        lambda: es.parallel_reduce(policy, lambda i: i, reducer=loaded.Largest),
    ):
        with pytest.raises(es.KernelSyntaxError, match="; restart Python or reload the module"):
            launch()


REWRITTEN = """
import sys
import execspace as es

LIMIT = 7

def positive(v):
    return v >= 0

@es.kernel
def kernel(i, x, y):
    assert x[i] >= 0, "it must not be negative"
    assert 0 <= i < 2 * x.extent(0) and i + len(x) < 3 * x.shape[0], "methods and attributes"
    assert 0 <= x[i] <= LIMIT * 2 and (
        positive(x[i]) or not i < len(x)
    ), "several"
    for k in range(2):
        assert positive(x[i] + k) and k > -5, "in a helper"
        x[i] += 1
    y[i] = 3

def test_it():
    x, y = es.View(3, space="oracle"), es.View(3, space="oracle")
    text = open(__file__).read()
    open(__file__, "w").write(text.replace(OLD, NEW))
    es.parallel_for(es.RangePolicy(3, space="oracle"), kernel, x, y)
    assert list(x) == [2, 2, 2]
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+= 1\\n", "+= 2\\n"), ("        x[i] += 1\\n", "\\n"), ("x[i] >= 0,", "x[i] > 0,"),
        ("LIMIT * 2", "LIMIT * 3"), ("or not i", "or not k"), ("y[i] = 3\\n", "x[i] = 3\\n"),
        ("    y[i] = 3\\n", "    y[i] = 3; x[i] = 1\\n"), ("LIMIT = 7", "LIMIT = 8"), ("a", "a"),
    ],
)  # fmt: skip
def test_what_a_loader_puts_into_a_module_is_no_change(tmp_path, old, new):
    """pytest writes assertions anew; what else is in the lines counts as ever."""
    path = tmp_path / "test_rewritten.py"
    path.write_text(REWRITTEN.replace("OLD", f'"{old}"').replace("NEW", f'"{new}"'))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    same = old in ("a", "LIMIT = 7")  # the latter is not a part of the kernel
    assert ("1 passed" in told.stdout) == same, told.stdout
    assert ("does not match the running code" in told.stdout) == (not same)


def test_without_assertions_as_python_O_runs_it(tmp_path):
    path = tmp_path / "optimised.py"
    path.write_text(
        textwrap.dedent('''
        import execspace as es

        def kernel(i, x):
            """Docstrings go, too."""
            assert i < 3
            x[i] = i

        x = es.View(3, space="oracle")
        es.parallel_for(es.RangePolicy(3, space="oracle"), kernel, x)
    ''')
    )
    for flag in ("-O", "-OO"):
        told = subprocess.run([sys.executable, flag, path], capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
