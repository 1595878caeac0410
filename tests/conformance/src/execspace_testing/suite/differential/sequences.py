"""The same launch again after something that it depends on has changed: one name, several meanings.

A `Sequence` is a launch with a part in several variants, which differ in nothing but what the part
says: an attribute of a reducer, the order of the fields of a NamedTuple, a captured number, the
text of a helper. A kernel that was compiled for one variant must never answer for another. All
variants of a sequence have the same names and file, and CPython says what each gives.

Run as a program this module launches one variant of each sequence on a space and prints what came
out, so that another process can do the same with another variant and the same cache on disk.
"""

from __future__ import annotations

import json
import linecache
import sys
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

import execspace as es
from execspace_testing import staged
from execspace_testing.reference import launches

_HEAD = """from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import execspace as es


def plain(i, x):
    return x[i]


"""


@dataclass(frozen=True)
class Sequence:
    """A launch in several variants.

    Attributes
    ----------
    name : str
        What is changed.
    source : str
        Defines `kernel` and, unless the pattern is "for", `reducer`; ``{part}`` is what changes.
    parts : tuple of str
    pattern : {"for", "reduce", "scan", "array"}
    types : str or tuple
        dtypes of what the kernel returns.
    """

    name: str
    source: str
    parts: tuple[str, ...]
    pattern: str = "reduce"
    types: Any = "int64"

    def scope(self, variant: int) -> dict[str, Any]:
        """The module of a variant: of the same file name, as after an edit."""
        source = _HEAD + self.source.replace("{part}", self.parts[variant])
        file = f"<sequence {self.name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"__name__": "sequence"}
        exec(compile(source, file, "exec", dont_inherit=True), scope)
        return scope

    def run(self, scope: dict[str, Any], space: es.ExecutionSpace | str | None) -> list[Any]:
        """What a variant gives on a space, or in CPython (None)."""
        x, o = np.array([3, 1, 4, 1, 5, 9], np.int64), np.zeros(6, np.int64)
        array = self.pattern in ("for", "scan")
        args = (x, o) if array else (x,)
        kernel, reducer = scope["kernel"], scope.get("reducer")
        result: Any = None
        if space is None:
            bounds = ((0, len(x)),)
            if self.pattern == "for":
                launches.parallel_for(kernel, bounds, args)
            elif self.pattern == "array":
                result = launches.array_reduce(kernel, bounds, args, reducer)
            else:
                run = {"reduce": launches.parallel_reduce, "scan": launches.parallel_scan}
                result = run[self.pattern](kernel, bounds, args, reducer, self.types)
        else:
            policy = es.RangePolicy(len(x), space=space)
            if self.pattern == "for":
                staged.parallel_for(policy, kernel, *args)
            else:
                scan = self.pattern == "scan"
                launch = staged.parallel_scan if scan else staged.parallel_reduce
                result = launch(policy, kernel, *args, reducer=reducer)
        return [_numbers(result), o.tolist()]


def _numbers(value: Any) -> Any:
    """A result as lists of Python numbers; of a NamedTuple with its names."""
    if hasattr(value, "_fields"):
        return {name: _numbers(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple | list):
        return [_numbers(item) for item in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


_MIX = "a + b + {k} * a * b"
# All instances look alike: what a reducer is must not be told by its repr.
_REPR = "    def __repr__(self):\n        return 'R()'\n"
_CLASS = f"class R(es.Reducer):\n{_REPR}    identity = 0\n"
_END = "\nkernel, reducer = plain, R\n"

SEQUENCES: tuple[Sequence, ...] = (
    Sequence(
        "attribute of a reducer",
        _CLASS + "    def __init__(self, k):\n        self.k = k\n    def join(self, a, b):\n"
        "        return a + b + self.k * a * b\nkernel, reducer = plain, R({part})\n",
        ("1", "3", "-2"),
    ),
    Sequence(
        "attribute that final reads",
        _CLASS + "    def __init__(self, k):\n        self.k = k\n    def join(a, b):\n"
        "        return a + b\n    def final(self, a):\n        return a * self.k\n"
        "kernel, reducer = plain, R({part})\n",
        ("1", "3"),
    ),
    Sequence(
        "attribute of a reducer's class",
        _CLASS + "    k = {part}\n    def join(self, a, b):\n"
        "        return a + b + self.k * a * b\n" + _END,
        ("1", "3"),
    ),
    Sequence(
        "field of a reducer that is a dataclass",
        "@dataclass\n" + _CLASS + "    k: int = 1\n    def join(self, a, b):\n"
        "        return a + b + self.k * a * b\nkernel, reducer = plain, R({part})\n",
        ("1", "3"),
    ),
    Sequence("text of join", _CLASS + "    def join(a, b):\n        return {part}\n" + _END,
             ("a + b", "max(a, b)", "a ^ b")),
    Sequence(
        "identity", f"class R(es.Reducer):\n{_REPR}" + "    identity = {part}\n"
        "    def join(a, b):\n        return max(a, b)\n" + _END,
        ("-100", "2", "7"),
    ),
    Sequence(
        "identity that is a method", f"class R(es.Reducer):\n{_REPR}"
        + "    def identity(self, dtype):\n        return {part}\n"
        + "    def join(a, b):\n        return max(a, b)\n" + _END,
        ("-100", "20"),
    ),
    Sequence("final", _CLASS + "    def join(a, b):\n        return a + b\n{part}" + _END,
             ("", "    def final(a):\n        return a + 1\n",
              "    def final(a):\n        return a - 1\n")),
    Sequence("number that join captures", "K = {part}\n" + _CLASS
             + f"    def join(a, b):\n        return {_MIX.format(k='K')}\n" + _END, ("2", "5")),
    Sequence("helper of join", "def mix(a, b):\n    return {part}\n" + _CLASS
             + "    def join(a, b):\n        return mix(a, b)\n" + _END, ("a + b", "a | b")),
    Sequence("helper of a helper of join", "def inner(a, b):\n    return {part}\ndef mix(a, b):\n"
             "    return inner(a, b)\n" + _CLASS + "    def join(a, b):\n        return mix(a, b)\n"
             + _END, ("a + b", "a | b")),
    Sequence("number that a helper of join captures", "K = {part}\ndef mix(a, b):\n"
             "    return a + b + K * a * b\n" + _CLASS
             + "    def join(a, b):\n        return mix(a, b)\n" + _END, ("1", "4")),
    Sequence(
        "order of the fields of an identity",
        "class V(NamedTuple):\n    {part}\nclass R(es.Reducer):\n    identity = V(0, 0)\n"
        "    def join(a, b):\n        return V(low=a.low + b.low, high=max(a.high, b.high))\n"
        "def pair(i, x):\n    return V(low=x[i], high=x[i] * 10)\nkernel, reducer = pair, R\n",
        ("low: int\n    high: int", "high: int\n    low: int"), types=("int64", "int64"),
    ),
    Sequence(
        "order of the fields of a NamedTuple",
        "class V(NamedTuple):\n    {part}\ndef kernel(i, x, o):\n    v = V(x[i], i * 100)\n"
        "    o[i] = v.low - 3 * v.high\n",
        ("low: int\n    high: int", "high: int\n    low: int"), "for",
    ),
    Sequence(
        "order of the fields that a helper makes",
        "class V(NamedTuple):\n    {part}\ndef make(a, b):\n    return V(a, b)\n"
        "def kernel(i, x, o):\n    o[i] = make(x[i], 7).low\n",
        ("low: int\n    high: int", "high: int\n    low: int"), "for",
    ),
    Sequence("captured number", "K = {part}\ndef kernel(i, x, o):\n    o[i] = x[i] * K\n",
             ("2", "np.int64(3)", "-1"), "for"),
    Sequence("captured tuple", "K = {part}\ndef kernel(i, x, o):\n    o[i] = x[i] * K[0] - K[1]\n",
             ("(2, 5)", "(5, 2)"), "for"),
    Sequence("text of a helper", "def f(a):\n    return {part}\ndef kernel(i, x, o):\n"
             "    o[i] = f(x[i])\n", ("a + 1", "a - 1"), "for"),
    Sequence("helper that a name stands for", "def f(a):\n    return a + 1\ndef g(a):\n"
             "    return a * 2\nh = {part}\ndef kernel(i, x, o):\n    o[i] = h(x[i])\n",
             ("f", "g"), "for"),
    Sequence("argument of a partial", "def f(a, b):\n    return a * b\nh = partial(f, {part})\n"
             "def kernel(i, x, o):\n    o[i] = h(x[i])\n", ("3", "4"), "for"),
    Sequence("default of a helper", "def f(a, b={part}):\n    return a * b\ndef kernel(i, x, o):\n"
             "    o[i] = f(x[i])\n", ("3", "4"), "for"),
    Sequence("default of a kernel", "def kernel(i, x, o, b={part}):\n    o[i] = x[i] * b\n",
             ("3", "4"), "for"),
    Sequence(
        "attribute of a functor",
        "@dataclass\nclass F:\n    k: int\n    def run(self, i, x, o):\n"
        "        o[i] = x[i] * self.k\n"
        "kernel = F({part}).run\n", ("3", "4"), "for",
    ),
    Sequence(
        "method of a functor",
        "class F:\n    def f(self, a):\n        return {part}\n    def run(self, i, x, o):\n"
        "        o[i] = self.f(x[i])\nkernel = F().run\n", ("a + 1", "a * 3"), "for",
    ),
    Sequence("closure", "def make(k):\n    def kernel(i, x, o):\n        o[i] = x[i] + k\n"
             "    return kernel\nkernel = make({part})\n", ("1", "2"), "for"),
    Sequence("text of a kernel", "def kernel(i, x, o):\n    o[i] = {part}\n",
             ("x[i] + 1", "x[i] - 1"), "for"),
    Sequence(
        "join of a scan", _CLASS + "    def join(a, b):\n        return {part}\n"
        "def kernel(i, prefix, final, x, o):\n    if final:\n        o[i] = prefix\n"
        "    return x[i]\nreducer = R\n", ("a + b", "a ^ b"), "scan",
    ),
    Sequence(
        "join of an array",
        "class R(es.Reducer):\n    shape, identity, dtype = 2, {part}, np.int64\n"
        "    def join(a, b):\n        return max(a, b)\ndef kernel(i, s, x):\n"
        "    s[i % 2] = max(s[i % 2], x[i])\nreducer = R\n", ("0", "7"), "array",
    ),
)  # fmt: skip


def wrong(space: es.ExecutionSpace | str, sequences: tuple[Sequence, ...] = SEQUENCES) -> list[str]:
    """Launch the variants of each sequence one after the other, and the first one again."""
    found = []
    for sequence in sequences:
        order = [*range(len(sequence.parts)), 0]
        for variant in order:
            scope = sequence.scope(variant)
            mine, python = sequence.run(scope, space), sequence.run(scope, None)
            if mine != python:
                found.append(f"{sequence.name}, {sequence.parts[variant]!r}: {mine}, not {python}")
    return found


def wrong_after_change(space: es.ExecutionSpace | str) -> list[str]:
    """The same with one kernel, of which what it refers to by name is replaced."""
    found = []
    for sequence in SEQUENCES:
        kept = sequence.scope(0)
        for variant in (*range(len(sequence.parts)), 0):
            own = ("kernel", "plain", "__builtins__")
            kept |= {n: v for n, v in _moved(sequence.scope(variant), kept).items() if n not in own}
            mine, python = sequence.run(kept, space), sequence.run(kept, None)
            if mine != python:
                found.append(f"{sequence.name}, {sequence.parts[variant]!r}: {mine}, not {python}")
    return found


def _moved(new: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """What a module defines, with functions that look up their names in another module."""

    def moved(value: Any) -> Any:
        if isinstance(value, FunctionType) and value.__globals__ is new:
            other = FunctionType(
                value.__code__, kept, value.__name__, value.__defaults__, value.__closure__
            )
            other.__qualname__ = value.__qualname__
            return other
        return value

    for value in [v for v in new.values() if isinstance(v, type)]:
        for name, method in list(vars(value).items()):
            if isinstance(method, FunctionType) and not name.startswith("__"):
                setattr(value, name, moved(method))
    return {name: moved(value) for name, value in new.items()}


_SCALED = Sequence(
    "reducers that are made for one launch",
    """
class Joined(es.Reducer):
    identity = 0

    def __init__(self, k):
        self.k = k

    def __repr__(self):
        return "R()"

    def join(self, a, b):
        return a + b + self.k * a * b


class Final(Joined):
    def join(a, b):
        return a + b

    def final(self, a):
        return self.k * a


class Greatest(Joined):
    def identity(self, dtype):
        return self.k * 10

    def join(a, b):
        return max(a, b)


kernel = plain
""",
    ("",),
)


def wrong_of_temporaries(space: es.ExecutionSpace | str) -> list[str]:
    """Objects of one class that live for one launch: the next one may have the same address."""
    scope, found = _SCALED.scope(0), []
    for kind in ("Joined", "Final", "Greatest"):
        for k in (1, 3, -2, 3, 1):
            results = [
                _SCALED.run(scope | {"reducer": scope[kind](k)}, where) for where in (space, None)
            ]
            if results[0] != results[1]:
                found.append(f"{kind}({k}): {results[0]}, not {results[1]}")
    return found


def answers(space: str | None, variant: int, names: list[str]) -> dict[str, Any]:
    """What one variant of some sequences gives on a space, or in CPython (None)."""
    return {
        s.name: s.run(s.scope(variant % len(s.parts)), space) for s in SEQUENCES if s.name in names
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))
