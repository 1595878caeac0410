"""The form of a kernel in lanes: text of IR for what each construct becomes."""

import numpy as np
import pytest

import execspace as es
from execspace_compiler.ir.text import function_text
from execspace_compiler.spmd.choice import Processor, chosen
from execspace_compiler.spmd.form import lane_form, program_of

AVX2 = frozenset(("avx2", "avx", "fma"))
AVX512 = AVX2 | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}


@pytest.fixture
def form(lower):
    """``form(kernel, *arguments, lanes=4)``: its lines, without those of local variables."""

    def run(kernel, *arguments, lanes=4, rank=1, contract=False):
        lowered = lower(kernel, *arguments, rank=rank)
        made = lane_form(program_of(lowered.functions), rank - 1, lanes, contract=contract)
        lines = function_text(made.body).splitlines()
        return [s for s in lines[1:] if not s.startswith("  local ")]

    return run


def test_what_is_the_same_in_all_lanes_stays_a_number(form):
    def kernel(i, x, y, n):
        total = 0.0
        for k in range(n):
            total += y[k]
        x[i] = total

    lines = form(kernel, "float64[1]", "float64[1]", int)
    assert "    total = add:float64(total, y[k])" in lines
    (last,) = (s for s in lines if s.lstrip().startswith("x["))
    assert "ramp:" in last and "broadcast:vector of float64 with 4 lanes(total)" in last


def test_each_side_of_a_branch_runs_if_a_lane_takes_it(form):
    def kernel(i, x, y):
        if x[i] > 0.0:
            y[i] = x[i]
        else:
            y[i] = 2.0

    lines = form(kernel, "float64[1]", "float64[1]")
    assert [s.strip() for s in lines if s.strip().startswith("if ")] == [
        "if any:bool(_then1)", "if any:bool(_else2)",
    ]  # fmt: skip


def test_a_short_branch_takes_no_test(form):
    def kernel(i, x):
        v = x[i]
        if v < 0.0:
            v = -v
        x[i] = v

    assert not any(s.strip().startswith("if ") for s in form(kernel, "float64[1]"))


def test_a_loop_runs_while_a_lane_needs_it(form):
    def kernel(i, x, n):
        k = 0
        while k < n and x[i] > 1.0:
            x[i] *= 0.5
            k += 1

    text = "\n".join(form(kernel, "float64[1]", int))
    assert "while True:bool" in text
    assert "if not:bool(any:bool(_active" in text


def test_lanes_one_after_another(form):
    def kernel(i, x, hits):
        found = es.atomic_fetch_add(hits, int(x[i]), 1)
        x[i] = found

    text = "\n".join(form(kernel, "float64[1]", "int64[1]"))
    assert "while any:bool(_rest" in text and "lane:int64(" in text


def test_products_and_sums_become_one_operation_by_the_text_alone(form):
    def kernel(i, x, a):
        product = a * x[i]
        x[i] = product + x[i] * x[i]

    text = "\n".join(form(kernel, "float64[1]", float, contract=True))
    assert text.count("fma:") == 1 and "product_factor0" in text
    assert "fma:" not in "\n".join(form(kernel, "float64[1]", float))


# -- the choice -------------------------------------------------------------------------------


def nbody(i, x, force, n):
    total = 0.0
    for k in range(n):
        d = x[k] - x[i]
        total += d / (d * d + 1.0)
    force[i] = total


def gathers(i, x, at, out, n):
    total = 0.0
    for k in range(n):
        total += x[at[i, k]]
    out[i] = total


def rows(i, A, n):
    for k in range(n):
        A[i, k] = 2.0 * A[i, k]


def flat(i, x):
    x[i] = 2.0 * x[i]


NBODY = ("float64[1]", "float64[1]", int)


@pytest.mark.parametrize(
    ("kernel", "arguments", "features", "lanes"),
    [
        (nbody, NBODY, AVX2, 4),
        (nbody, NBODY, AVX512, 8),
        (nbody, NBODY, frozenset(("sse2",)), 2),
        (nbody, ("float32[1]", "float32[1]", int), AVX2, 8),
        (gathers, ("float64[1]", "int64[2]", "float64[1]", int), AVX2, None),
        (rows, ("float64[2]", int), AVX2, None),
        (flat, ("float64[1]",), AVX2, None),
    ],
)
def test_lanes_are_as_wide_as_registers_where_they_pay(lower, kernel, arguments, features, lanes):
    choice = chosen(lower(kernel, *arguments).functions, 0, Processor(features, 0))
    assert (choice.form and choice.form.lanes) == lanes


def test_what_the_user_asks_for_comes_first(lower):
    functions = lower(flat, "float64[1]").functions
    assert chosen(functions, 0, Processor(AVX2, 16)).form.lanes == 16
    assert chosen(lower(nbody, *NBODY).functions, 0, Processor(AVX2, 1)).form is None


def test_calls_that_all_do_the_same_gain_nothing(lower):
    def kernel(i, x, n):
        for k in range(n):
            x[k] = 1.0 / (x[k] + 1.0) + n

    choice = chosen(lower(kernel, "float64[1]", int).functions, 0, Processor(AVX2, 0))
    assert choice.form is None and "the same" in choice.why


def test_results_have_the_same_bits_for_any_number_of_lanes():
    """Contracted or not: of `fma=False` also those of the scalar form."""
    x = np.random.default_rng(3).random(103)
    for fma in (True, False):
        kernel = es.kernel(fma=fma)(nbody)
        found = {}
        for lanes in (1, 2, 4, 8, 16, 64):
            out = np.zeros(103)
            policy = es.RangePolicy(103, space="serial", lanes=lanes)
            es.parallel_for(policy, kernel, x, es.Out(out), 103)
            found[lanes] = out.tobytes()
        assert len({found[n] for n in (2, 4, 8, 16, 64)}) == 1
        assert fma or found[1] == found[2]


@es.function
def first_above(t, limit):
    total = 0.0
    for k in range(3):
        total += t[k]
        if total > limit:
            return total
    return total


@es.function
def of_an_array(y):
    t = es.local(3)
    t[0] = y
    return first_above(t, 9.0)


def test_private_arrays_that_functions_pass_on_belong_to_each_lane():
    """Of a function whose own arguments are the same in all lanes, too."""

    def kernel(i, x, out):
        s = of_an_array(2.0)
        while s < x[i]:
            s += 1.0
        out[i] = s

    x, out = np.arange(40.0), np.zeros(40)
    es.parallel_for(es.RangePolicy(40, space="serial", lanes=8), kernel, x, out)
    assert out.tolist() == [max(2.0, v) for v in x]


@es.function
def try_lock(lock):
    return es.atomic_exchange(lock, 0, 1) == 0


@pytest.mark.parametrize("loop", ["while", "for"])
def test_locks_in_functions_are_seen(lower, loop):
    def spins(i, lock, total):
        while not try_lock(lock):
            pass
        es.atomic_add(total, 0, i)
        es.atomic_store(lock, 0, 0)

    def tries(i, lock, total):
        for _ in range(1000):
            if try_lock(lock):
                break
        es.atomic_add(total, 0, i)
        es.atomic_store(lock, 0, 0)

    functions = lower(spins if loop == "while" else tries, "int64[1]", "int64[1]").functions
    choice = chosen(functions, 0, Processor(AVX2, 4))
    assert choice.form is None and "wait for others" in choice.why
