"""The differential tests notice a wrong compiler: it is broken on purpose, in many ways.

Printers of compiled spaces are broken by two mutations of the first test. All others are those of
differential_mutations.py and are looked for on the oracle, with as few programs as notice them.
"""

from __future__ import annotations

import signal
from random import Random

import pytest
from differential_mutations import (
    EXPRESSIONS,
    KEYS,
    REDUCTIONS,
    REFUSALS,
    SCANS,
    STATEMENTS,
    TEAMS,
)

import execspace as es
from execspace_compiler.codegen.llvm import expressions
from execspace_compiler.codegen.llvm.spelling import constant, type_of
from execspace_testing.suite.differential import patterns, sequences, team_cases
from execspace_testing.suite.differential.cases import check
from execspace_testing.suite.differential.compare import examine, run
from execspace_testing.suite.differential.refused import REFUSED


def division_that_rounds_up(monkeypatch):
    right = expressions.operation

    def operation(e, x, args):
        if x.op != "floordiv" or x.type.kind != "i":
            return right(e, x, args)
        kind, zero = type_of(x.type), constant(0, x.type)  # of numbers, or of those of lanes
        quotient = right(e, x, [e.op(f"sub {kind} {zero}, {args[0]}"), args[1]])
        return e.op(f"sub {kind} {zero}, {quotient}")

    monkeypatch.setattr(expressions, "operation", operation)


def conversions_that_lose_the_sign(monkeypatch):
    """Zeros in front of a negative number of few bits."""
    right = expressions.operation

    def operation(e, x, args):
        source, t = x.args[0].type, x.type
        if x.op != "cast" or (source.kind, t.kind) != ("i", "i") or source.bits >= t.bits:
            return right(e, x, args)
        return e.op(f"zext {type_of(source)} {args[0]} to {type_of(t)}")

    monkeypatch.setattr(expressions, "operation", operation)


@pytest.mark.parametrize(
    "break_it",
    [
        division_that_rounds_up,
        pytest.param(conversions_that_lose_the_sign, marks=pytest.mark.exhaustive),
    ],
)
def test_a_wrong_compiler_is_noticed(monkeypatch, tmp_path, break_it):
    """With as many programs as are run by default; a cache of its own, so that all is compiled."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    break_it(monkeypatch)
    with pytest.raises(AssertionError, match="differ\ninputs at"):
        examine("serial", lambda program: run(program, "serial"))


# -- on the oracle --------------------------------------------------------------------------------


def shared_out(mutations):
    """Every fourth one for `make test`, all for `make test-all`."""
    return [
        pytest.param(f, id=f.__name__, marks=[pytest.mark.exhaustive] if n % 4 != 2 else [])
        for n, f in enumerate(mutations)
    ]


def overdue(signal_number, frame):
    raise TimeoutError("a program does not come to an end")


@pytest.fixture(autouse=True)
def no_program_runs_forever():
    """Loops whose end was dropped are noticed by their time."""
    before = signal.signal(signal.SIGALRM, overdue)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def noticed(kinds, most=60, **options):
    """How many cases it takes until one disagrees with CPython, or fails in another way."""
    for number in range(most):
        signal.setitimer(signal.ITIMER_REAL, 10)
        rng, kind = Random(f"mutations {number}"), kinds[number % len(kinds)]
        if kind.startswith("team-"):
            case = team_cases.case(rng, kind.removeprefix("team-"), 3)
        else:
            case = patterns.case(rng, kind, 3, statements=4, **options)
        try:
            check(case, "oracle")
        except Exception:
            return number + 1
    return None


@pytest.mark.parametrize("break_it", shared_out([*STATEMENTS, *EXPRESSIONS]))
def test_a_wrong_front_end_is_noticed(monkeypatch, break_it):
    """What all spaces share is wrong on all of them: only CPython tells."""
    break_it(monkeypatch)
    assert noticed(("for", "reduce", "scan", "array"))


@pytest.mark.parametrize("pattern", ["for", "reduce", "scan", "array", "team-for", "team-reduce"])
def test_a_statement_that_is_dropped_is_noticed_in_each_pattern(monkeypatch, pattern):
    STATEMENTS[CONTROL_STATEMENTS](monkeypatch)
    assert noticed((pattern,))


CONTROL_STATEMENTS = next(n for n, f in enumerate(STATEMENTS) if f.__name__ == "Assign_is_dropped")


@pytest.mark.parametrize("break_it", shared_out(REDUCTIONS))
def test_a_wrong_reduction_is_noticed(monkeypatch, break_it):
    break_it(monkeypatch)
    assert noticed(("reduce", "scan"))


@pytest.mark.parametrize("break_it", shared_out(SCANS))
def test_a_wrong_scan_is_noticed(monkeypatch, break_it):
    break_it(monkeypatch)
    assert noticed(("scan",))


@pytest.mark.parametrize("break_it", shared_out(TEAMS))
def test_a_wrong_team_is_noticed(monkeypatch, break_it):
    break_it(monkeypatch)
    assert noticed(("team-for", "team-reduce"))


@pytest.mark.parametrize("pattern", patterns.PATTERNS)
@pytest.mark.parametrize("break_it", shared_out(REFUSALS))
def test_faults_that_are_ignored_are_noticed(monkeypatch, break_it, pattern):
    """A statement that is refused must not be dropped while the rest is run."""
    break_it(monkeypatch)
    found = set()
    for name, text in REFUSED[:8]:
        case = patterns.case(Random(name), pattern, 1, statements=2, refused=(name, text))
        try:
            check(case, "oracle")
        except Exception:
            found.add(name)
    assert found


@pytest.mark.parametrize("break_it", shared_out(KEYS))
def test_a_key_that_forgets_a_part_is_noticed(monkeypatch, break_it):
    break_it(monkeypatch)
    wrong = (
        *sequences.wrong("oracle"), *sequences.wrong_after_change("oracle"),
        *sequences.wrong_of_temporaries("oracle"),
    )  # fmt: skip
    assert wrong


def test_without_a_mutation_nothing_is_noticed():
    """What the tests above look for is not there in a compiler as it is."""
    kinds = ("for", "reduce", "scan", "array", "team-for", "team-reduce")
    assert noticed(kinds, 12) is None
    assert not sequences.wrong_of_temporaries(es.space("oracle"))
