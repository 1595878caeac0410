"""What is the same in all lanes of a kernel: numbers, branches, private arrays, results."""

import math

import pytest

import execspace as es
from execspace_compiler.spmd.form import program_of
from execspace_compiler.spmd.varying import NotVectorised


@pytest.fixture
def found(lower):
    """``found(kernel, *arguments, rank=)``: the findings, lanes along the last index."""

    def run(kernel, *arguments, rank=1, **options):
        lowered = lower(kernel, *arguments, rank=rank, **options)
        program = program_of(lowered.functions)
        steps = tuple(
            1 if n == rank - 1 else 0 for n in range(len(program.kernel.parameters))
        )  # fmt: skip
        return program.findings(program.kernel.name, steps)

    return run


def test_numbers_are_the_same_a_step_apart_or_vary(found):
    def kernel(i, j, x, n):
        row = i * 3
        right = j + 1
        twice = 2 * j - row
        back = n - j
        square = j * j
        value = x[i]
        own = x[j]
        x[j] = value + own + row + right + twice + back + square

    steps = found(kernel, "float64[1]", int, rank=2).steps
    assert [steps[n] for n in ("row", "right", "twice", "back")] == [0, 1, 2, -1]
    assert [steps[n] for n in ("square", "value", "own")] == [None, 0, None]


def test_a_conversion_to_fewer_bits_keeps_a_step_and_one_to_more_does_not(found):
    """int32 wraps, so what was a step apart may not be after it."""

    def kernel(i, x):
        narrow = es.int32(i)
        wide = es.int64(narrow)
        real = es.float64(i)
        x[i] = narrow + wide + real

    steps = found(kernel, "float64[1]").steps
    assert (steps["narrow"], steps["wide"], steps["real"]) == (1, None, None)


def test_what_is_set_in_a_branch_that_varies_varies_where_lanes_meet(found):
    def kernel(i, x, n):
        a = 1.0
        b = 2.0
        if x[i] > 0.0:
            a = 3.0
            inside = n * 2
            x[i] = inside
        if n > 3:
            b = 4.0
        x[i] = a + b

    findings = found(kernel, "float64[1]", int)
    assert findings.steps["a"] is None
    assert findings.steps["b"] == 0  # a branch that all lanes take together
    assert findings.steps["inside"] == 0  # lanes do not meet while it lives
    assert len(findings.diverging) == 1


def test_a_variable_is_asked_about_for_each_use(found):
    """`t` is something else in each branch: each use has an answer of its own."""

    def kernel(i, x, n):
        for k in range(n):
            t = k + 1
            x[i] += t
        for k in range(i):
            t = k * x[i]
            x[i] += t

    steps = found(kernel, "float64[1]", int).steps
    same = sorted(n[0] for n, s in steps.items() if n[0] in "kt" and s == 0)
    assert same == ["k", "k", "t"]


def test_loops_that_lanes_leave_apart(found):
    def kernel(i, x, n):
        total = 0.0
        for k in range(n):
            if x[k] < 0.0:  # the same for all: they leave together
                break
            total += x[k]
        steps = 0
        for _ in range(n):
            if x[i] < total:
                break
            steps += 1
        x[i] = total + steps

    found_ = found(kernel, "float64[1]", int).steps
    assert found_["total"] == 0
    behind, counter = (next(s for n, s in found_.items() if n[:5] == "steps" and ("^" in n) == own)
                       for own in (False, True))  # fmt: skip
    assert counter == 0  # all lanes that are in the loop have counted as far
    assert None in (behind, found_.get("steps~2"))


def test_bounds_a_step_apart_give_loops_of_one_length(found):
    def kernel(i, x):
        near = 0.0
        for k in range(i - 1, i + 2):
            near += x[k]
        far = 0
        for _ in range(i):
            far += 1
        x[i] = near + far

    findings = found(kernel, "float64[1]")
    assert len(findings.diverging) == 1
    assert findings.steps["k"] == 1


def test_returns_of_some_lanes(found):
    def kernel(i, x, n):
        if n < 0:
            return
        x[i] = 1.0

    def varying(i, x, n):
        if x[i] < n:
            return
        x[i] = 1.0

    assert not found(kernel, "float64[1]", int).returns
    assert found(varying, "float64[1]", int).returns


@es.function
def doubled(v):
    if v > 0.0:
        return 2.0 * v
    return v


def test_functions_are_asked_about_for_the_steps_of_their_arguments(found):
    def kernel(i, x, a):
        same = doubled(a)
        own = doubled(x[i])
        x[i] = same + own

    steps = found(kernel, "float64[1]", float).steps
    assert (steps["same"], steps["own"]) == (0, None)


def test_private_arrays(found):
    def kernel(i, x, n):
        table = es.local(4)
        own = es.local(4)
        for k in range(4):
            table[k] = math.sqrt(n + k)
            own[k] = x[i] * k
        x[i] = table[2] + own[n]

    steps = found(kernel, "float64[1]", int).steps
    arrays = {n: s for n, s in steps.items() if n.startswith("_local") or n in ("table", "own")}
    assert sorted(arrays.values(), key=str) == [0, None]


@pytest.mark.parametrize("what", ["order", "waiting"])
def test_what_is_right_in_order_only_has_no_form(lower, what):
    """As on spaces that run one call at a time: `ScatterView` without atomics, spin locks."""

    def order(i, x, at):
        x[at[i]] += 1.0

    def waiting(i, x, at):
        while es.atomic_compare_exchange(at, 0, 0, 1) != 0:
            pass
        x[i] += 1.0

    kernel, why = {"order": (order, "the same elements of 'x'"), "waiting": (waiting, "wait")}[what]
    lowered = lower(kernel, "float64[1]", "int64[1]")
    with pytest.raises(NotVectorised, match=why):
        program_of(lowered.functions).findings(lowered.body.name, (1, 0, 0))
