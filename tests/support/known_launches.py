"""Launches that are compared with what their keys lead to, and a module of kernels for them.

Whether a test of launch/repeats.py knows a launch again must make no difference: the plan is the
one that the key leads to at that moment, and it gets the same bounds and arguments. The space here
runs nothing; its plans remember what they were given.
"""

from __future__ import annotations

import importlib
import sys
import types

import pytest

import execspace as es
from execspace.kernels.recent import Recent

# Functions of the package have the names of some of these modules.
parallel, parallel_reduce, looked_up, repeats = (
    importlib.import_module(f"execspace.launch.{name}")
    for name in ("parallel", "parallel_reduce", "looked_up", "repeats")
)
BY_KEY = looked_up.launch_by_key


class RecordingPlan(es.Plan):
    """Remembers itself and what it was given, where its space does."""

    def __init__(self, space, spec):
        self.space, self.spec = space, spec

    def launch(self, bounds, args):
        self.space.launches.append((self, bounds, args))
        return len(self.space.launches)

    def launch_as(self, label, bounds, args):
        self.space.labels.append(label)
        return self.launch(bounds, args)


class RecordingSpace(es.ExecutionSpace):
    """Compiles anything, and runs nothing."""

    capabilities = es.Capabilities(dynamic_schedules=True)

    def __init__(self, name, launches):
        self.name, self.launches, self.labels = name, launches, []

    @property
    def memory_space(self):
        return es.HOST

    def compile(self, kernel, spec):
        return RecordingPlan(self, spec)

    def synchronize(self, label=""):
        pass

    def team_limits(self):
        return es.TeamLimits(64, 1, 64, (1 << 16, 1 << 16))


class Launches:
    """Launches, each compared with what its key leads to; how many of them a test knew."""

    def __init__(self):
        self.all = []
        self.one, self.two = (RecordingSpace(name, self.all) for name in ("one", "two"))
        self.known = 0

    def done(self, launch):
        """What a launch gave to its plan, or its error."""
        self.all.clear()
        try:
            launch()
        except Exception as error:
            return type(error), str(error)
        (record,) = self.all
        return record

    def check(self, pattern, policy, kernel, args=(), reducer=None, out=None, label=None):
        """Launch, and then once more by the key. Returns what the plan got."""
        missed = []

        def noticed(*launch):
            missed.append(launch)
            return BY_KEY(*launch)

        def launch():
            if pattern == "for":
                es.parallel_for(policy, kernel, *args, label=label)
            else:
                start = es.parallel_reduce if pattern == "reduce" else es.parallel_scan
                start(policy, kernel, *args, reducer=reducer, out=out, label=label)

        def by_key():
            BY_KEY(pattern, policy, kernel, args, label, reducer, out)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parallel, "launch_by_key", noticed)
            patch.setattr(parallel_reduce, "launch_by_key", noticed)
            found = self.done(launch)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Recent, "wants", lambda self: False)
            expected = self.done(by_key)
        self.known += not missed
        assert identities(found) == identities(expected), f"after {'a miss' if missed else 'a hit'}"
        return found


def identities(record):
    """A record in a form that takes no View for another one, and not True for 1."""
    if len(record) == 2:
        return record
    plan, bounds, args = record
    return id(plan), [(type(b), b) for b in bounds], [*map(_identity, args)]


def _identity(value):
    # Arrays get a View of their own at each launch.
    return (value.type, value.data_ptr) if isinstance(value, es.View) else id(value)


# -- a module, whose kernels take everything from outside that kernels can -----------------------

OTHER = """
import math
scale, shift = 2.0, 1
def shifted(a): return abs(a) + shift
def rooted(a): return math.sqrt(a) * scale
def stored(a): return V[0] + a
"""

TEXT = """
import math, operator
import numpy as np
import execspace as es
import other_part as other
from other_part import shifted, rooted, stored

n, g, flag, text, nothing, single, imaginary = 3, 1.5, True, "s", None, np.float32(1), 1j
kind, builtin, ufunc = float, math.sin, np.sin
def helper(a): return a * g
def doubled(a): return helper(a) + helper(a)
def defaulted(a, how="twice", by=2.5): return a + a if how == "twice" else a * by
def added(a):
    def inner(b): return defaulted(b) + a
    return inner
added_two = added(2.0)
def counted(a): return counted(a - 1) if a > 0 else n
@es.kernel
def inner(a): return a + g

def plain(i, x): x[i] = i
def number(i, x): x[i] = g
def numbers(i, x): x[i] = g if flag else n + single * imaginary
def objects(i, x): x[i] = text is nothing
def view(i, x): x[i] = V[i]
def views(i, x): x[i] = V[i] + W[i] + V[0]
def attributes(i, x): x[i] = obj.a + obj.v[i]
def in_module(i, x): x[i] = other.scale + other.shifted(i)
def library(i, x): x[i] = math.sqrt(abs(i)) + np.sin(operator.add(i, 1)) + kind(i)
def named_library(i, x): x[i] = builtin(i) + ufunc(i)
def helped(i, x): x[i] = doubled(i) + inner(i)
def helped_by_default(i, x): x[i] = defaulted(i)
def helped_by_a_closure(i, x): x[i] = added_two(i)
def recursive(i, x): x[i] = counted(i)
def helped_from_outside(i, x): x[i] = shifted(i) + rooted(i)
def view_of_another_module(i, x): x[i] = stored(i)
def chosen(i, x, a, b): x[i] = a is b
def chosen_first(i, a, x): x[i] = a is g
def summed(i, a, x): return a is x[i]
def returns(i): return V[i] * g
def prefixed(i, prefix, final): return g
def own_names(i, x): x[i] = _execspace_a1
def other_names(i, x): x[i] = _another_a1
def of_closure(a, v):
    def kernel(i, x): x[i] = a + v[i] + g
    return kernel
def choosing(a, v):
    def kernel(i, x, b): x[i] = a + v[i] + g + b
    return kernel
def swapped(a, b):
    def kernel(i, x): x[i] = a - b
    return kernel
def many(team, x): x[team.league_rank] = g
def plane(i, j, x): x[i] = j
class Joined(es.Reducer):
    identity = 0.0
    @staticmethod
    def join(a, b): return a + b * g
def less(a, b): return a - b
def joined(i, x): x[i] = es.parallel_reduce(i, plain, reducer=Joined)
"""


_loaded = []


def empty():
    """Let go of what modules hold: kernels outlive a test, and keep their modules."""
    while _loaded:
        vars(_loaded.pop()).clear()


def loaded(**names):
    """The module, and the one whose helpers it has; with further names in both."""
    other = types.ModuleType("other_part")
    made = types.ModuleType("known_part")
    _loaded.extend((other, made))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "other_part", other)
        for module, text in ((other, OTHER), (made, TEXT)):
            module.__dict__.update(names)
            exec(compile(text, f"<{module.__name__}>", "exec", dont_inherit=True), module.__dict__)
    return made


def code_of(text):
    """Code of a helper that returns an expression of `a`."""
    return eval(compile(f"lambda a: {text}", "<helper>", "eval")).__code__


FOR = (
    "plain number numbers objects view views attributes in_module library named_library helped "
    "recursive helped_from_outside view_of_another_module joined helped_by_default "
    "helped_by_a_closure"
).split()  # fmt: skip
