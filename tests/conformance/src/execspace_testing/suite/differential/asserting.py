"""Random kernels with assertions, and what CPython says of them.

An assertion ends its call, and what the call stored before counts; other calls run to their end.
Compilers test assertions ahead, in strips and under masks, so they stand here between stores, in
loops and branches, over elements of the call and of its neighbours, and fail seldom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import execspace as es
from execspace_testing import staged

from .cases import Array, Difference, load

_DTYPES = ("float64", "float32", "int32", "int64", "int16", "uint8")
_VIEWS = ("x", "y", "z", "w", "rows")
_PARAMETERS = (*_VIEWS, "at", "limit", "m")


@dataclass(frozen=True)
class Program:
    """A kernel over ``x, y, z, w`` and ``rows`` of rank 2; `at` holds indices.

    Attributes
    ----------
    source : str
        Of its module. Each assertion has a message of its own.
    dtypes : dict
        Of the Views.
    returns : bool
        Whether it is one for `parallel_reduce`.
    """

    source: str
    dtypes: dict[str, str]
    returns: bool


class _Draw:
    """Draws statements; ``loops`` are the variables of the loops around them."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.asserts = rng, 0
        self.dtypes = {v: rng.choice(_DTYPES) for v in _VIEWS}

    def element(self, view: str, loops: list[str]) -> str:
        if view == "rows":
            return f"rows[i, {self.rng.choice(loops or ['0'])}]"
        return f"{view}[{self.rng.choice(['i', 'i', 'i', 'i + 1', 'i + 2', 'at[i]'])}]"

    def literal(self, view: str) -> str:
        floats = ("0.0", "0.5", "1.0", "2.5", "-1.5")
        return self.rng.choice(floats if self.dtypes[view][0] == "f" else ("0", "1", "2", "5"))

    def value(self, view: str, loops: list[str]) -> str:
        """Of the dtype of a View, and computed in it by CPython, too."""
        first, choice = self.element(view, loops), self.rng.random()
        if choice < 0.3:
            return first
        operator = self.rng.choice("+-*")
        if choice < 0.6:
            return f"({first} {operator} {self.literal(view)})"
        alike = [v for v in _VIEWS if self.dtypes[v] == self.dtypes[view]]
        return f"({first} {operator} {self.element(self.rng.choice(alike), loops)})"

    def condition(self, loops: list[str]) -> str:
        rng, choice = self.rng, self.rng.random()
        if choice < 0.12:
            bound = rng.choice(["limit", "2", "x.shape[0] - 3"])
            return f"i {rng.choice(['<', '!=', '>='])} {bound}"
        if choice < 0.18 and loops:
            return f"{rng.choice(loops)} {rng.choice(['<', '!='])} {rng.choice(['limit', 'm'])}"
        view = rng.choice(_VIEWS)
        compared = rng.choice(["<", ">", "!=", "<=", ">="])
        text = f"{self.value(view, loops)} {compared} {self.literal(view)}"
        if choice < 0.3:
            return f"{text} {rng.choice(['and', 'or'])} {self.condition(loops)}"
        return f"not ({text})" if choice < 0.36 else text

    def check(self, loops: list[str]) -> str:
        self.asserts += 1
        return f'assert {self.condition(loops)}, "number{self.asserts}"'

    def body(self, loops: list[str]) -> list[str]:
        rng, lines = self.rng, []
        for _ in range(rng.randint(1, 3)):
            choice = rng.random()
            if choice < 0.4:
                lines.append(self.check(loops))
            elif choice < 0.75:
                view = rng.choice(["y", "z", "w", *["rows"] * bool(loops)])
                place = f"rows[i, {loops[-1]}]" if view == "rows" else f"{view}[i]"
                lines.append(f"{place} {rng.choice(['=', '=', '+='])} {self.value(view, loops)}")
            elif choice < 0.87 and len(loops) < 2:
                variable = f"j{len(loops)}"
                inner = [*loops, variable]
                ends = rng.choice(["m", "3", "m - 1", "1, m"])
                lines += [f"for {variable} in range({ends}):", *self.block(inner)]
                if rng.random() < 0.15:
                    leave = rng.choice(["break", "continue"])
                    lines += [f"    if {self.condition(inner)}:", f"        {leave}"]
            else:
                lines += [f"if {self.condition(loops)}:", *self.block(loops)]
                if rng.random() < 0.3:
                    lines += ["else:", *self.block(loops)]
        return lines

    def block(self, loops: list[str]) -> list[str]:
        return [f"    {line}" for line in self.body(loops)]


def program(rng: Random) -> Program:
    """Draw a kernel."""
    draw = _Draw(rng)
    lines = draw.body([])
    lines += [] if draw.asserts else [draw.check([])]
    returns = rng.random() < 0.3
    lines += [f"return {draw.value('x', [])}"] * returns
    text = "\n".join(f"    {line}" for line in lines)
    stored = set(re.findall(r"^ *(\w+)\[i\] \+?= ", text, re.MULTILINE))
    # What one call stores no other one may read.
    text = re.sub(
        r"\b([xyzw])\[(i \+ \d|at\[i\])\]",
        lambda found: f"{found[1]}[i]" if found[1] in stored else found[0],
        text,
    )
    head = f"def kernel(i, {', '.join(_PARAMETERS)}):"
    source = f"import execspace as es\n\n@es.kernel(fma=False)\n{head}\n{text}\n"
    return Program(source, draw.dtypes, returns)


def inputs(made: Program, rng: Random, n: int, m: int) -> dict[str, Any]:
    """Arguments for `n` calls: numbers of which all, most or some pass what is asserted."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    shapes: dict[str, Any] = dict.fromkeys(_VIEWS, n + 2) | {"rows": (n + 2, max(m, 3))}
    given: dict[str, Any] = {
        v: numbers.integers(1, 4, shapes[v]).astype(made.dtypes[v]) for v in _VIEWS
    }
    odd = {"f": (0, 5, -2, np.nan), "i": (0, 5, -2, 100), "u": (0, 5, 100, 200)}
    if rng.random() < 0.7:
        for array in given.values():
            for _ in range(rng.choice([1, 1, 3, max(1, array.size // 10)])):
                array.flat[rng.randrange(array.size)] = rng.choice(odd[array.dtype.kind])
    given["at"] = numbers.permutation(n + 2)
    return given | {"limit": rng.choice([n, n + 5, n // 2, 10**6]), "m": m}


def by_cpython(
    kernel: Any, n: int, given: dict[str, Any], stops: bool
) -> tuple[dict[int, str], dict[str, Array], list[Any]]:
    """The calls that fail and the messages, the arrays afterwards, and what calls returned.

    `stops`: the first one that fails is the last one.
    """
    arrays = {v: a.copy() if isinstance(a, np.ndarray) else a for v, a in given.items()}
    failed: dict[int, str] = {}
    returned = []
    with np.errstate(all="ignore"):
        for i in range(n):
            try:
                returned.append(kernel(i, *(arrays[p] for p in _PARAMETERS)))
            except AssertionError as error:
                failed[i] = str(error)
                if stops:
                    break
    return failed, {v: arrays[v] for v in _VIEWS}, returned


def check(space: es.ExecutionSpace, rng: Random, launches: int) -> None:
    """Compare launches of a random program; Difference shows it."""
    made = program(rng)
    kernel = load(made.source)["kernel"]
    for _ in range(launches):
        n, m = rng.choice([0, 1, 2, 7, 31, 64, 100, 1000, 1500]), rng.choice([1, 2, 8, 31, 40, 130])
        m = m if n * m < 50_000 else 8
        given = inputs(made, rng, n, m)
        failed, expected, returned = by_cpython(kernel, n, given, space.name == "oracle")
        views = {
            v: staged.place(space, a.copy()) if isinstance(a, np.ndarray) else a
            for v, a in given.items()
        }
        policy, arguments = es.RangePolicy(n, space=space), [views[p] for p in _PARAMETERS]
        raised, result = None, None
        try:
            if made.returns:
                result = es.parallel_reduce(policy, kernel, *arguments, reducer=es.Max)
            else:
                es.parallel_for(policy, kernel, *arguments)
            space.fence()
        except es.KernelAssertionError as error:
            raised = str(error)
        wrong = _wrong_failure(raised, failed)
        wrong = wrong or _wrong_arrays({v: staged.fetch(views[v]) for v in _VIEWS}, expected)
        if not wrong and made.returns and n and not failed:
            greatest = np.max(returned)
            if not np.array_equal(result, greatest, equal_nan=True):
                wrong = f"the greatest is {result}; CPython has {greatest}"
        if wrong:
            raise Difference(f"{wrong}; n={n}, m={m}, limit={given['limit']}\n{made.source}")


def _wrong_failure(raised: str | None, failed: dict[int, str]) -> str:
    if raised is None or not failed:
        some = dict(list(failed.items())[:3])
        return "" if raised is None and not failed else f"raised {raised}; CPython has {some}"
    at, message = re.search(r"at index (\d+)", raised), re.search(r"failed: (\w+)", raised)
    if at is None or message is None or failed.get(int(at[1])) != message[1]:
        return f"raised {raised}; CPython has {dict(list(failed.items())[:3])}"
    return ""


def _wrong_arrays(mine: dict[str, Array], python: dict[str, Array]) -> str:
    for name, array in mine.items():
        if not np.array_equal(array, python[name], equal_nan=array.dtype.kind == "f"):
            places = np.argwhere(array != python[name])[:3].tolist()
            return f"{name} differs at {places}"
    return ""
