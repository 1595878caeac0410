"""Runs of kernels that count what they do, to compare with what is counted of them (work.py).

The oracle runs them with Views that note each place they are asked for, and with operations that
note that they were done.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.analysis.work import work_of
from execspace_compiler.codegen.python.oracle import OraclePrinter
from execspace_compiler.oracle.plan import OraclePlan, loaded
from execspace_compiler.oracle.runtime import Checked


class CountingPrinter(OraclePrinter):
    """Prints kernels that count their operations."""

    def operation(self, e, args):
        text = super().operation(e, args)
        operand = e.args[0].type
        return f"_count({e.op!r}, {operand.name!r}, {text})"


class Noted(Checked):
    """A View that notes which bytes are asked for."""

    __slots__ = ("name", "run")

    def _note(self, what, key, size, byte=0):
        place = (self.name, self._at(key), int(byte), size)
        self.run.asked[what] += size
        self.run.places[what].add(place)

    def __getitem__(self, key):
        self._note("loaded", key, self.array.itemsize)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._note("stored", key, self.array.itemsize)
        super().__setitem__(key, value)

    def field(self, key, byte, to):
        self._note("loaded", key, np.dtype(to).itemsize, byte)
        return super().field(key, byte, to)

    def set_field(self, key, byte, value):
        self._note("stored", key, value.itemsize, byte)
        super().set_field(key, byte, value)


FLOPS = {
    "f": {"add": 1, "sub": 1, "mul": 1, "truediv": 1, "sqrt": 1, "reduce_sum": 1, "reduce_prod": 1},
    "c": {"add": 2, "sub": 2, "mul": 6, "truediv": 11, "reduce_sum": 2, "reduce_prod": 6},
}
FUNCTIONS = ("exp", "sin", "pow", "floor", "hypot", "mod")


class Run(OraclePlan):
    """Runs a kernel and counts."""

    def __init__(self, plan):
        reduction = plan.lowered.reduction
        made = []
        if reduction is not None:
            made = [reduction.result_function("_result"), reduction.accumulate_function("_step")]
            made.append(reduction.prefix_function("_prefix"))
        functions, scope = loaded(plan.lowered, made, CountingPrinter(plan.lowered.module(*made)))
        super().__init__(plan.space, plan.lowered, functions, "")
        scope["_count"] = self.count
        self.asked, self.flops, self.functions_called = Counter(), Counter(), Counter()
        self.places = {"loaded": set(), "stored": set()}

    def count(self, op, dtype, value):
        kind = np.dtype(dtype).kind
        number = FLOPS.get(kind, {}).get(op, 0)
        if number:
            part = np.dtype(dtype).type(0).real.dtype.name
            self.flops[part] += number
        elif kind in "fc" and (op in FUNCTIONS or (kind == "c" and op in ("sqrt", "abs"))):
            self.functions_called[op] += 1
        return value

    def values(self, inputs):
        names = {id(a): n for n, a in enumerate(inputs)}
        values = super().values(inputs)
        for n, v in enumerate(values):
            if isinstance(v, Checked):
                values[n] = Noted(v.array, v.label, v.shape)
                values[n].name, values[n].run = names[id(inputs[n])], self
        return values

    @property
    def moved(self):
        return sum(size for places in self.places.values() for *_, size in places)


def work_and_run(policy, kernel, *args, pattern="for", reducer=None):
    """What is counted of a launch, and what a run of it does."""
    found = planned(policy, kernel, args, pattern, reducer)
    work = work_of(found.plan.lowered, found.bounds, args)
    run = Run(found.plan)
    run.launch(found.bounds, args)
    return work, run


def on(*ends, begin=None):
    if len(ends) == 1:
        return es.RangePolicy(0 if begin is None else begin[0], ends[0], space="oracle")
    if begin is None:
        return es.MDRangePolicy(ends, space="oracle")
    return es.MDRangePolicy(begin, ends, space="oracle")


def view(*shape, dtype="float64"):
    return es.View(shape, dtype, space="oracle")


def same(work, run, moved=True):
    """Assert that all counts are those of the run."""
    assert dict(work.flops) == dict(run.flops)
    assert dict(work.functions) == dict(run.functions_called)
    assert (work.loaded, work.stored) == (run.asked["loaded"], run.asked["stored"])
    if moved:
        assert work.moved == run.moved
        assert work.exact and not work.notes
    else:
        assert work.moved >= run.moved
