"""Random programs give the same bits on every space, and plain ones what CPython gives.

DIFFERENTIAL_EXAMPLES=2000 runs that many programs for each space, with new random seeds, a
Hypothesis database and shrinking. Without it a few fixed ones are run.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import execspace as es
from execspace_compiler.printers.numba import NumbaPrinter

from .compare import check, run, run_plain
from .generate import Program, programs

EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "0"))
# A program takes seconds to compile, and a fraction of one to run on the oracle.
FEW = {"oracle": 30, "openmp": 3}
SEEDS = {"oracle": 1, "serial": 2, "openmp": 3}


def examine(space: str, count: int, *, number: int | None = None, shrink: bool = False) -> Counter:
    """Compare `count` programs on a space with the oracle; on the oracle with CPython.

    `number` is the seed; without it Hypothesis draws one and remembers failures. Returns how
    many programs were drawn and refused.
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
        if space == "oracle":
            check(program, "the oracle", "CPython", oracle, run_plain(program))
        else:
            check(program, "the oracle", space, oracle, run(program, space))

    phases = [Phase.generate, *([Phase.reuse, Phase.shrink] if shrink else [])]
    fixed = {"database": None, "derandomize": True} if number is not None else {}
    test = settings(
        max_examples=count,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        **fixed,
    )(given(programs(plain=True if space == "oracle" else None))(agrees))
    (test if number is None else seed(number)(test))()
    return tally


def test_random_programs_agree(space):
    if EXAMPLES:
        tally = examine(space.name, EXAMPLES, shrink=True)
    else:
        count = FEW.get(space.name, 4)
        tally = examine(space.name, count, number=SEEDS.get(space.name, 4))
    # Programs are well typed by construction: where many are refused the model is out of date.
    assert tally["refused"] <= tally["drawn"] // 10, tally


# -- the test of the test -----------------------------------------------------------------------


def division_that_rounds_up(monkeypatch):
    right = NumbaPrinter.operation

    def operation(self, e, args):
        if e.op == "floordiv" and e.type.kind == "i":
            a, b = (f"np.int64({text})" for text in args)
            return self._narrowed(f"(-_r.int_floordiv(-{a}, {b}))", e.type)
        return right(self, e, args)

    monkeypatch.setattr(NumbaPrinter, "operation", operation)


def integers_that_do_not_wrap(monkeypatch):
    """What Numba does by itself: int8 + int8 is an int64."""
    right = NumbaPrinter._narrowed

    def narrowed(self, text, t):
        return f"np.int64({text})" if t.name in ("int8", "int16", "int32") else right(self, text, t)

    monkeypatch.setattr(NumbaPrinter, "_narrowed", narrowed)


@pytest.mark.parametrize("break_it", [division_that_rounds_up, integers_that_do_not_wrap])
def test_a_wrong_compiler_is_noticed(monkeypatch, tmp_path, break_it):
    """With as many programs as are run by default; a cache of its own, so that all is compiled."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    break_it(monkeypatch)
    with pytest.raises(AssertionError, match="differ\ninputs at"):
        examine("serial", 4, number=SEEDS["serial"])
