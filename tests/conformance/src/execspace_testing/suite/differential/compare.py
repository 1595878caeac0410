"""Run a generated program on a space or as plain Python, and compare results bit by bit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, Phase, given, seed, settings

import execspace as es
from execspace_testing import staged

from .cases import load, same
from .generate import Program, programs
from .values import COUNT, input_array

Results = dict[str, npt.NDArray[Any]]

EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "0"))
# A compiled program takes seconds. These find each mutation of tests/test_differential_mutations.
COUNT_OF_PROGRAMS, SEED = 3, 2


def arguments(program: Program) -> tuple[list[npt.NDArray[Any]], Results]:
    """Inputs, and outputs that are zero."""
    inputs = [np.zeros(COUNT), *map(input_array, program.inputs)]
    outputs = {name: np.zeros((rows, COUNT), name) for name, rows in program.outputs.items()}
    return inputs, outputs


def run(program: Program, space: es.ExecutionSpace | str) -> Results:
    """Results on an execution space."""
    inputs, outputs = arguments(program)
    kernel = es.kernel(fma=False)(load(program.source)["program"])
    staged.parallel_for(es.RangePolicy(COUNT, space=space), kernel, *inputs, *outputs.values())
    return outputs


def run_plain(program: Program) -> Results:
    """Results of CPython with NumPy scalars."""
    inputs, outputs = arguments(program)
    function = load(program.source)["program"]
    with np.errstate(all="ignore"):
        for i in range(COUNT):
            function(i, *inputs, *outputs.values())
    return outputs


def check(program: Program, first: str, second: str, a: Results, b: Results) -> None:
    """Fail at the first difference, with all that is needed to understand it."""
    for name in program.outputs:
        equal = same(a[name], b[name])
        if equal.all():
            continue
        row, i = (int(k) for k in np.argwhere(~equal)[0])
        arrays = {name: input_array(name) for name in program.inputs}
        here = "\n".join(f"    {key}[{i}] = {array[i]!r}" for key, array in arrays.items())
        raise AssertionError(
            f"o_{name}[{row}, {i}] is {a[name][row, i]!r} on {first} and "
            f"{b[name][row, i]!r} on {second}; {int((~equal).sum())} of {equal.size} differ\n"
            f"inputs at {i}:\n{here}\n{program.source}"
        )


def examine(
    where: str,
    run_there: Callable[[Program], Results],
    count: int = COUNT_OF_PROGRAMS,
    number: int = SEED,
    **kinds: bool,
) -> None:
    """Compare the results of random programs with the oracle's.

    `count` programs are drawn with the seed `number`; with DIFFERENTIAL_EXAMPLES that many, with
    new seeds, a database and shrinking. `kinds` are options of `programs`.
    """
    tally: Counter[str] = Counter()

    def agrees(program: Program) -> None:
        tally["drawn"] += 1
        try:
            oracle = run(program, "oracle")
        except es.KernelError as error:
            tally["refused"] += 1
            tally[f"refused: {str(error).splitlines()[-1]}"] += 1
            return
        check(program, "the oracle", where, oracle, run_there(program))

    fixed = {} if EXAMPLES else {"database": None, "derandomize": True}
    test = settings(
        max_examples=EXAMPLES or count,
        deadline=None,
        phases=[Phase.generate, *([Phase.reuse, Phase.shrink] if EXAMPLES else [])],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        **fixed,
    )(given(programs(**kinds))(agrees))
    (test if EXAMPLES else seed(number)(test))()
    # Programs are well typed by construction: where many are refused the model is out of date.
    assert tally["refused"] <= tally["drawn"] // 10, tally
