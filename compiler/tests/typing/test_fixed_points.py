"""What is found out round by round is found out to its end, however long the chain is.

In these kernels a type, or a bound, goes from one variable to the one before it in each round. An
analysis that stops after a number of rounds goes on with what is not true, and computes with it.
"""

from __future__ import annotations

import importlib.util
import itertools

import pytest

import execspace as es
from execspace_compiler.ir.types import FLOAT64
from execspace_compiler.passes.narrowing import LIMIT, SHORT, narrowed

LONG = 230


def function_of(lines):
    text = "\n".join(lines) + "\n"
    scope = {"es": es}
    exec(text, scope)
    return scope["kernel"], text


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chain(start, last, length=LONG):
    """A kernel in which what the last of many variables gets reaches the first in a loop."""
    names = [f"a{n}" for n in range(length)]
    shifted = [f"        {a} = {b}" for a, b in itertools.pairwise(names)]
    return function_of(
        [
            "def kernel(i, x, n):",
            *(f"    {name} = {start}" for name in names),
            "    for k in range(n):",
            "        x[k] = a0",
            *shifted,
            f"        {names[-1]} = {last}",
        ]
    )


def test_a_type_reaches_the_first_of_a_chain_of_variables(lower):
    fn, text = chain("0", "0.5")
    types = lower(fn, "float64[1]", int, source=text).body.locals
    assert {n: str(t) for n, t in types.items() if t != FLOAT64 and n.startswith("a")} == {}


def test_a_bound_reaches_the_first_of_a_chain_of_variables(lower):
    fn, text = chain("0", f"{8 * LIMIT}", length=20)
    lowered = lower(fn, "int64[1]", int, source=text)
    body = narrowed(lowered.functions, {"i": (0, 9), "n": (0, 9)})[-1]
    short = {n for n, t in body.locals.items() if t == SHORT.strong}
    assert short & {f"a{n}" for n in range(20)} == set()


@pytest.mark.parametrize("items", [24])
def test_a_type_reaches_the_first_item_of_what_a_join_returns(items, tmp_path):
    shifted = ", ".join(f"a[{n}] + b[{n}]" for n in range(1, items))
    (tmp_path / "joins.py").write_text(
        "import execspace as es\n"
        "class Shift(es.Reducer):\n"
        f"    identity = (0,) * {items}\n"
        "    def join(a, b):\n"
        f"        return ({shifted}, 0.5)\n"
        f"def kernel(i):\n    return ({'0, ' * items})\n"
    )
    module = imported(tmp_path / "joins.py")
    with es.use_space("serial"):
        found = es.parallel_reduce(1, module.kernel, reducer=module.Shift)
    assert {type(number) for number in found} == {float}
    assert found[-1] % 1 == 0.5
