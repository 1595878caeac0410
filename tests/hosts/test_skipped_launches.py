"""Launches while a program is precompiled: what they compile, and that they compute nothing."""

import threading

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace.launch import prepare
from execspace.launch.precompiling import Precompiler, SkippedPlan

HOSTS = ("serial", "openmp", "oracle")
VALUE = 0


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    """With choices that other tests have kept, a launch would wait for its plan to look for one."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path / "tuning"))


@pytest.fixture
def compiler(monkeypatch):
    """What takes the place of launches for the length of a test."""
    made = Precompiler(2)
    monkeypatch.setattr(prepare, "INSTEAD", None)  # which is put back at the end
    made.start()
    yield made
    made.finish()
    profiling.detach(made)


def names(compiler):
    compiler.finish()
    return [(c.kernel, c.pattern, bool(c.error)) for c in compiler.compilations]


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_computed_on_ranges_of_any_kind(host, compiler):
    x = es.full(6, 3.0, space=host)
    y = es.full((2, 3), 3.0, space=host)
    total = es.full((), 3.0, space=host)

    def one(i, x):
        x[i] = 0.0

    def two(i, j, y):
        y[i, j] = 0.0

    def team(t, x):
        x[t.league_rank] = 0.0

    one_range = es.RangePolicy(2, 6, space=host)
    ranges = [
        (one_range, one, x),
        (es.MDRangePolicy((0, 1), (2, 3), space=host), two, y),
        (es.MDRangePolicy((2, 3), tile=(1, 2), space=host), two, y),
        (es.TeamPolicy(4, 2, space=host), team, x),
    ]
    for policy, kernel, view in ranges:
        es.parallel_for(policy, kernel, view)
    assert es.parallel_reduce(one_range, lambda i, x: x[i], x) == 0.0
    lowest = es.parallel_reduce(ranges[1][0], lambda i, j, y: y[i, j], y, reducer=es.Min)
    assert lowest == np.inf
    tiled = es.parallel_reduce(
        ranges[2][0], lambda i, j, y: (y[i, j], 1), y, reducer=(es.Max, es.Sum)
    )
    assert tiled == (-np.inf, 0)
    assert es.parallel_reduce(ranges[3][0], lambda t: 1) == 0

    def array(i, out):
        out[0] += 1.0

    counts = es.parallel_reduce(one_range, array, reducer=es.Sum(shape=2))
    np.testing.assert_array_equal(counts, [0.0, 0.0])

    def scan(i, before, final, x):
        if final:
            x[i] = 0.0
        return 1

    assert es.parallel_scan(one_range, scan, x) == 0
    es.parallel_reduce(one_range, lambda i, x: x[i], x, out=total)
    es.fence()
    assert total[()] == 0.0
    np.testing.assert_array_equal(x, np.full(6, 3.0))
    np.testing.assert_array_equal(y, np.full((2, 3), 3.0))
    assert not any(failed for _, _, failed in names(compiler))
    assert len(compiler.compilations) == 11


def set_value(i, x):
    x[i] = VALUE


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_each_launch_is_compiled_with_what_it_captures_then(host, compiler, monkeypatch):
    x = es.View(4, space=host)
    plans = {}
    for value in range(5):
        monkeypatch.setitem(globals(), "VALUE", value)
        es.parallel_for(es.RangePolicy(4, space=host), set_value, x)
        own, _ = prepare.kernel_of(set_value)
        plans[value] = list(own.plans.values())[-1]
    monkeypatch.setitem(globals(), "VALUE", -1)
    compiler.finish()
    assert len({plan.cache[0] for plan in plans.values()}) == 5
    assert all(plan.kept for plan in plans.values())
    for value, plan in plans.items():
        assert type(plan) is SkippedPlan
        plan.inner.launch((0, 4), (x,))
        np.testing.assert_array_equal(x, np.full(4, value))


def test_a_parallel_for_does_not_wait_and_a_reduction_does(compiler, monkeypatch):
    kind = type(es.space("serial"))
    inner, gate, threads = kind.begin_compile, threading.Event(), []

    def begin(self, kernel, spec):
        last = inner(self, kernel, spec)

        def held():
            threads.append(threading.current_thread().name)
            assert gate.wait(20)
            return last()

        return held

    monkeypatch.setattr(kind, "begin_compile", begin)
    policy = es.RangePolicy(4, space="serial")
    x = es.View(4, space="serial")
    es.parallel_for(policy, lambda i, x: None, x)  # or this would wait for ever
    opener = threading.Timer(0.1, gate.set)
    opener.start()
    assert es.parallel_reduce(policy, lambda i, x: x[i], x) == 0.0
    assert gate.is_set()
    compiler.finish()
    assert len(threads) == 2
    assert all(name.startswith("execspace precompile") for name in threads)


def test_a_kernel_that_cannot_be_compiled_stops_a_reduction_only(compiler):
    policy = es.RangePolicy(4, space="serial")

    def faulty(i):
        return no_such_name + i  # noqa: F821

    es.parallel_for(policy, faulty)
    es.parallel_for(policy, faulty)
    with pytest.raises(es.KernelSyntaxError, match="no_such_name"):
        es.parallel_reduce(policy, faulty)
    es.parallel_for(policy, lambda i: None)
    assert names(compiler) == [
        ("faulty", "for", True),
        ("faulty", "reduce", True),
        (compiler.compilations[2].kernel, "for", False),
    ]
    assert compiler.compilations[2].kernel.startswith("<lambda>:")


def test_a_defect_in_the_second_step_stops_a_reduction_only(compiler, monkeypatch):
    def broken(self, kernel, spec):
        def last():
            raise es.BackendCompileError("LLVM is in a bad mood")

        return last

    monkeypatch.setattr(type(es.space("serial")), "begin_compile", broken)
    policy = es.RangePolicy(4, space="serial")
    x = es.View(4)
    es.parallel_for(policy, lambda i, x, y: None, x, x)  # waits, for its Views overlap
    with pytest.raises(es.BackendCompileError, match="bad mood"):
        es.parallel_reduce(policy, lambda i: 1)
    compiler.finish()
    assert [c.error for c in compiler.compilations] == [
        "BackendCompileError: LLVM is in a bad mood"
    ] * 2


def test_views_that_overlap_have_their_plan_compiled_too(compiler):
    x = es.View(8, space="serial")

    def shift(i, a, b):
        a[i] = b[i] + 1.0

    es.parallel_for(es.RangePolicy(7, space="serial"), shift, x[1:], x[:-1])
    compiler.finish()
    assert [(c.kernel, c.from_disk) for c in compiler.compilations] == [("shift", False)] * 2
    assert not np.asarray(x).any()


def test_what_explain_compiles_is_noted(compiler):
    es.explain(es.RangePolicy(4, space="serial"), lambda i: None)
    [made] = compiler.compilations
    assert (made.space, made.pattern, made.from_disk) == ("serial", "", False)


def test_tune_measures_nothing_and_the_default_stays(compiler):
    x = es.full((8, 8), 2.0, space="openmp")
    policy = es.MDRangePolicy((8, 8), space="openmp")

    def double(i, j, x):
        x[i, j] *= 2.0

    found = es.tune(policy, double, x)
    assert not found.complete and not found.candidates
    es.parallel_for(found.policy, double, x)
    compiler.finish()
    np.testing.assert_array_equal(x, np.full((8, 8), 2.0))
    assert "double" in str(found)


def test_what_is_tuned_is_compiled_too(monkeypatch, tmp_path):
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path / "tuned"))
    from execspace.base import config
    from execspace.contract.records import Choice
    from execspace.tuning import store
    from execspace.tuning.identity import device_name, kernel_key, shapes_of

    config.forget_tuned()
    x = es.View((64, 64), space="serial")
    policy = es.MDRangePolicy((64, 64), space="serial")

    def fill(i, j, x):
        x[i, j] = 1.0

    found = prepare.planned(policy, fill, (x,), "for", None)
    shapes = shapes_of(found.spec.policy, found.bounds, found.arguments)
    record = store.Record("fill", shapes, "", Choice(tile=(8, 8)), 2.0, 1.0, "2026-01-01T00:00:00")
    key = store.key_of(kernel_key(found.kernel, found.spec), shapes)
    store.keep(device_name(found.plan.space), key, record)
    config.forget_tuned()
    made = Precompiler(2)
    monkeypatch.setattr(prepare, "INSTEAD", None)
    made.start()
    try:
        es.parallel_for(policy, fill, x)
        es.parallel_for(policy, fill, x)
        made.finish()
    finally:
        profiling.detach(made)
        config.forget_tuned()
    assert [(c.kernel, c.from_disk) for c in made.compilations] == [("fill", True), ("fill", False)]
    assert not np.asarray(x).any()


def test_with_skips_off_launches_compute_and_are_noted(monkeypatch):
    made = Precompiler(1, skips=False)
    monkeypatch.setattr(prepare, "INSTEAD", None)
    made.start()
    try:
        x = es.View(4, space="serial")
        es.parallel_for(es.RangePolicy(4, space="serial"), lambda i, x: i, x)
        policy = es.RangePolicy(4, space="serial")

        def fill(i, x):
            x[i] = i

        es.parallel_for(policy, fill, x)
        assert es.parallel_reduce(policy, lambda i, x: x[i], x) == 6.0
        with pytest.raises(es.KernelTypeError):
            es.parallel_for(policy, lambda i, x: x[i, i], x)
    finally:
        profiling.detach(made)
        made.finish()
    assert [bool(c.error) for c in made.compilations] == [False, False, False, True]
    assert [c.from_disk for c in made.compilations] == [False, False, False, None]


def test_a_space_that_compiles_in_one_step_does_so_in_the_launching_thread(compiler, monkeypatch):
    seen = []
    kind = type(es.space("oracle"))
    inner = kind.compile

    def compile(self, kernel, spec):
        seen.append(threading.current_thread())
        return inner(self, kernel, spec)

    assert not isinstance(es.space("oracle"), es.CompilesInSteps)
    monkeypatch.setattr(kind, "compile", compile)
    es.parallel_for(es.RangePolicy(4, space="oracle"), lambda i: None)
    assert seen == [threading.current_thread()]
    assert compiler.compilations[0].plan.kept is None  # which the oracle does not know


def test_a_child_process_compiles_what_its_parent_has_not(compiler, monkeypatch):
    """It has no threads of the parent's pool, so it must not wait for them."""
    kind = type(es.space("serial"))
    inner, gate = kind.begin_compile, threading.Event()

    def begin(self, kernel, spec):
        last = inner(self, kernel, spec)
        return lambda: gate.wait(60) and last()  # a machine may stand still for a while

    monkeypatch.setattr(kind, "begin_compile", begin)

    def nothing(i):
        pass

    es.parallel_for(es.RangePolicy(4, space="serial"), nothing)
    own, _ = prepare.kernel_of(nothing)
    [plan] = own.plans.values()
    monkeypatch.setattr(kind, "begin_compile", inner)
    monkeypatch.setattr(compiler, "_process", -1)  # as in a child
    assert plan.inner.source
    assert not gate.is_set()
    gate.set()
