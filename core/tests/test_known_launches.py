"""Launches that a test knows again, see launch/repeats.py: which, and that none is wrong."""

from __future__ import annotations

import builtins
import gc
import math
import re
import types
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from known_launches import (
    FOR,
    Launches,
    RecordingPlan,
    code_of,
    empty,
    identities,
    loaded,
    looked_up,
    parallel,
    repeats,
)

import execspace as es
from execspace.base.frames import program_level
from execspace.base.tracebacks import shortened
from execspace.kernels.code_names import loaded_names
from execspace.kernels.kernel import kernel_of, made_again
from execspace.kernels.recent import Recent


@pytest.fixture(autouse=True)
def emptied(core_only, no_leaks):
    """Kernels outlive the test, and keep their modules."""
    yield
    empty()


@pytest.fixture
def launches():
    found = Launches()
    with es.use_space(found.one):
        yield found
    found.all.clear()  # plans, and so their space, outlive the test


@pytest.fixture
def part():
    v = es.ones(8)
    return loaded(x=es.zeros(8), V=v, W=es.ones(8), obj=SimpleNamespace(a=2.0, v=v))


# -- which launches are known again ---------------------------------------------------------------

KNOWN = {
    **{name: lambda m, x, name=name: ("for", 3, getattr(m, name), (x,)) for name in FOR},
    "decorated": lambda m, x: ("for", 3, es.kernel(m.number), (x,)),
    "closure": lambda m, x: ("for", 3, m.of_closure(1.0, x), (x,)),
    "decorated closure": lambda m, x: ("for", 3, es.kernel(m.of_closure(1.0, x)), (x,)),
    "numbers": lambda m, x: ("for", 3, m.plain, (x, 1, 2.0, True, 1j, np.float32(1), es.int8(1))),
    "text": lambda m, x: ("for", 3, m.chosen, (x, "set", "")),
    "text first": lambda m, x: ("for", 3, m.chosen_first, ("set", x)),
    "None": lambda m, x: ("for", 3, m.chosen, (x, None, 2.0)),
    "types": lambda m, x: ("for", 3, m.chosen, (x, es.float32, F4)),
    "functions": lambda m, x: ("for", 3, m.chosen, (x, abs, math.sin)),
    "text and captures": lambda m, x: ("for", 3, m.chosen_first, ("set", x)),
    "text of a closure": lambda m, x: ("for", 3, m.choosing(1.0, x), (x, "set")),
    "text of a reduction": lambda m, x: ("reduce", 3, m.summed, ("set", x), es.Sum),
    "label": lambda m, x: ("for", 3, m.plain, (x,), None, None, "a label"),
    "label and text": lambda m, x: ("for", 3, m.chosen_first, ("set", x), None, None, "a label"),
    "label of a reduction": lambda m, x: ("reduce", 3, m.returns, (), es.Sum, None, "a label"),
    "label of a scan": lambda m, x: ("scan", 3, m.prefixed, (), es.Sum, None, "a label"),
    "no arguments": lambda m, x: ("for", 3, m.plain, ()),
    "range": lambda m, x: ("for", es.RangePolicy(1, 3), m.plain, (x,)),
    "dynamic": lambda m, x: ("for", es.RangePolicy(3, schedule="dynamic"), m.plain, (x,)),
    "plane": lambda m, x: ("for", es.MDRangePolicy((2, 3), tile=(1, 2)), m.plane, (x,)),
    "team": lambda m, x: ("for", es.TeamPolicy(2, 2), m.many, (x,)),
    "reduce": lambda m, x: ("reduce", 3, m.returns, (), es.Sum),
    "instance": lambda m, x: ("reduce", 3, m.returns, (), MAX),
    "out": lambda m, x: ("reduce", 3, m.returns, (), es.Max, es.zeros(())),
    "array": lambda m, x: ("reduce", 3, m.plain, (), SUM_OF_TWO),
    "scan": lambda m, x: ("scan", 3, m.prefixed, (), es.Sum),
}
MAX, SUM_OF_TWO, F4 = es.Max(), es.Sum(shape=2), np.dtype("f4")


@pytest.mark.parametrize("shape", KNOWN)
def test_a_launch_like_the_last_one_is_known_again(shape, part, launches):
    launch = KNOWN[shape]
    launches.check(*launch(part, part.x))
    assert launches.known == 0
    found = launches.check(*launch(part, part.x))
    assert launches.known == 1 and isinstance(found[0], RecordingPlan)


def test_the_label_is_that_of_each_launch(part, launches):
    for label in ("one", "two", "three"):
        launches.check("for", 3, part.chosen_first, ("set", part.x), label=label)
    assert launches.known == 2
    assert launches.one.labels[::2] == ["one", "two", "three"]


def test_plans_of_a_kernel_with_constants_can_be_forgotten(part, launches):
    """A variant of the kernel has them."""
    for _ in range(2):
        first, *_ = launches.check("for", 3, part.chosen_first, ("set", part.x))
    assert launches.known == 1
    kernel, _ = kernel_of(part.chosen_first)
    kernel.variant(("a",)).forget()
    again, *_ = launches.check("for", 3, part.chosen_first, ("set", part.x))
    assert launches.known == 1 and again is not first
    kernel.forget()  # and with the kernel itself
    third, *_ = launches.check("for", 3, part.chosen_first, ("set", part.x))
    assert third is not again


def test_another_view_of_the_same_type_is_known_again(part, launches):
    launches.check("for", 3, part.views, (part.x,))
    part.V, y = es.ones(8), es.zeros(8)
    _, bounds, args = launches.check("for", 5, part.views, (y,))
    assert launches.known == 1 and bounds == (0, 5)
    assert [*map(id, args)] == [*map(id, (y, part.V, part.W))]


def test_a_tuple_of_reducers_is_known_by_its_items(part, launches):
    both = (es.Sum, es.Max)
    for _ in range(3):
        launches.check("reduce", 3, part.plain, (part.x,), reducer=(es.Sum, es.Max))
    assert launches.known == 2
    for others in (both[::-1], (es.Sum(), es.Max), (*both, es.Min)):
        launches.check("reduce", 3, part.plain, (part.x,), reducer=others)
    assert launches.known == 2


def written_tests(monkeypatch):
    """A list that grows with each test that is written."""
    written = []
    own = repeats.for_test
    monkeypatch.setattr(looked_up, "for_test", lambda *a: written.append(1) or own(*a))
    return written


def test_launches_that_alternate_are_all_known(part, launches, monkeypatch):
    """A test calls the one before it for launches that it does not know."""
    written = written_tests(monkeypatch)
    numbers = (1, 1.0, np.float32(1), np.int8(1))
    for n in range(200):
        launches.check("for", 3, part.number, (part.x, numbers[n % len(numbers)]))
    assert len(written) == 4
    assert launches.known == 200 - (1 + 2 + 4 + 8)


def test_no_launch_goes_through_many_tests():
    """However launches of one kind come between those of the other, and some have no test."""
    recent, depth, deepest = Recent(), {}, 0
    for n in range(200):
        kind = "plain" if n % 5 == 4 else "joined"

        def written(before, n=n):
            if n % 7 == 3:
                return None
            made = lambda *launch: None  # noqa: E731
            depth[made] = depth.get(before, 0) + 1
            return made

        recent.remember(kind, written)
        deepest = max(deepest, depth.get(recent.plain, 0), depth.get(recent.joined, 0))
    assert deepest == 16


def test_launches_of_many_kinds_get_few_tests(part, launches, monkeypatch):
    written = written_tests(monkeypatch)
    for n in range(400):
        launches.check("for", 3, part.number, (part.x, TYPES[n % len(TYPES)](1)))
    assert 4 < len(written) <= 10  # 1 + 2 + 4 + ... misses


TYPES = (
    int, float, complex, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8,
)  # fmt: skip


def test_launches_that_change_now_and_then_are_known_however_often_they_have_changed():
    recent = Recent()
    written = sum(recent.wants() for _ in range(256 * 50))
    assert 50 <= written <= 60


def test_a_launch_that_no_test_can_know_is_not_tried_for_ever(part, launches, monkeypatch):
    written = written_tests(monkeypatch)
    part.g = (1.0, 2.0)
    for _ in range(100):
        launches.check("for", 3, part.number, (part.x,))
    assert launches.known == 0 and len(written) <= 7


# -- what is wrong when a test does not look at something -----------------------------------------
# Each case launches twice, changes something, and launches again. Each mutation takes comparisons
# out of tests; some case must then get a wrong plan, or they would be there for nothing.

CASES = {}


def case(made):
    """Register a generator: it yields launches, of which the last is another one."""
    CASES[made.__name__] = made
    return made


def passed(*changes):
    def made(m, x, s):
        for change in changes:
            yield "for", 3, m.plain, (x, change)

    return made


def chosen(*constants):
    def made(m, x, s):
        for constant in constants:
            yield "for", 3, m.chosen_first, (constant, x)

    return made


def renamed(name, kernel, *values, of=lambda m: m):
    def made(m, x, s):
        for value in values:
            setattr(of(m), name, value)
            yield "for", 3, getattr(m, kernel), (x,)

    return made


def policies(*given):
    def made(m, x, s):
        for policy in given:
            yield "for", policy(s), m.plain, (x,)

    return made


def results(*given):
    def made(m, x, s):
        for pattern, reducer, out in given:
            yield pattern, 3, m.returns, (), reducer, out and out()

    return made


class OwnRange(es.RangePolicy):
    """Refused, because its own methods might mean something else."""

    __slots__ = ()


CASES |= {
    "another type of argument": passed(1, 1.0),
    "truth for a number": passed(1, True),
    "another captured number": renamed("g", "number", 1.5, 2.5),
    "captured truth": renamed("g", "number", 1, True),
    "sign of zero": renamed("g", "number", 0.0, -0.0),
    "another text argument": chosen("set", "add"),
    "text and number": chosen("1", 1),
    "another dtype": chosen(np.dtype("f4"), np.dtype("f8")),
    "another type": chosen(es.float32, es.float64),
    "nothing and a text": chosen(None, "None"),
    "another function of a library": chosen(math.sin, math.cos),
    "another string": renamed("text", "objects", "s", "t"),
    "function of a library": renamed("helper", "helped", abs, math.sqrt),
    "another class": renamed("kind", "library", float, int),
    "constant of a helper": renamed("g", "helped", 1.5, 2.5),
    "identity of a reducer": renamed("identity", "joined", 0.0, 1.0, of=lambda m: m.Joined),
    "constant of a join": renamed("g", "joined", 1.5, 2.5),
    "constant of another module": renamed(
        "scale", "helped_from_outside", 2.0, 3.0, of=lambda m: m.other
    ),
    "library": renamed("math", "library", math, np),
    "library of another module": renamed(
        "math", "helped_from_outside", math, np, of=lambda m: m.other
    ),
    "subclass of a policy": policies(lambda s: es.RangePolicy(3), lambda s: OwnRange(3)),
    "negative": policies(lambda s: 3, lambda s: -1),
    "beyond 64 bits": policies(lambda s: 3, lambda s: 2**63),
    "space": policies(lambda s: es.RangePolicy(3), lambda s: es.RangePolicy(3, space=s.two)),
    "schedule": policies(
        lambda s: es.RangePolicy(3), lambda s: es.RangePolicy(3, schedule="dynamic")
    ),
    "pattern": results(("reduce", es.Sum, None), ("scan", es.Sum, None)),
    "reducer": results(("reduce", es.Sum, None), ("reduce", es.Max, None)),
    "out": results(("reduce", es.Sum, None), ("reduce", es.Sum, lambda: es.zeros(()))),
    "type of out": results(
        ("reduce", es.Sum, lambda: es.zeros(())),
        ("reduce", es.Sum, lambda: es.zeros((), dtype="int32")),
    ),
    "array for out": results(
        ("reduce", es.Sum, lambda: es.zeros(())), ("reduce", es.Sum, lambda: np.zeros(()))
    ),
}  # fmt: skip


@case
def dtype_of_an_argument(m, x, s):
    yield "for", 3, m.plain, (x,)
    yield "for", 3, m.plain, (es.zeros(8, dtype="int32"),)


@case
def text_for_another_parameter(m, x, s):
    yield "for", 3, m.chosen, (x, "set", 1.0)
    yield "for", 3, m.chosen, (x, 1.0, "set")


@case
def label_that_is_no_text(m, x, s):
    yield "for", 3, m.plain, (x,), None, None, "a label"
    yield "for", 3, m.plain, (x,), None, None, 3


@case
def array_for_an_argument(m, x, s):
    yield "for", 3, m.plain, (x,)
    yield "for", 3, m.plain, (np.zeros(8),)


@case
def dtype_of_a_captured_view(m, x, s):
    for dtype in ("float64", "int32"):
        m.V = es.zeros(8, dtype=dtype)
        yield "for", 3, m.view, (x,)


@case
def captured_view_to_array(m, x, s):
    for m.V in (es.zeros(8), np.zeros(8)):
        yield "for", 3, m.view, (x,)


@case
def space_of_a_with_statement(m, x, s):
    yield "for", 3, m.plain, (x,)
    with es.use_space(s.two):
        yield "for", 3, m.plain, (x,)


@case
def shadowed_builtin(m, x, s):
    yield "for", 3, m.library, (x,)
    m.abs = math.floor
    yield "for", 3, m.library, (x,)


@case
def shadowed_in_another_module(m, x, s):
    yield "for", 3, m.helped_from_outside, (x,)
    m.other.abs = math.floor
    yield "for", 3, m.helped_from_outside, (x,)


@case
def another_closure(m, x, s):
    for a in (1.0, 2.0):
        yield "for", 3, m.of_closure(a, x), (x,)


@case
def helper_with_other_code(m, x, s):
    yield "for", 3, m.helped, (x,)
    m.helper.__code__ = code_of("a - g")
    yield "for", 3, m.helped, (x,)


@case
def helper_with_another_default(m, x, s):
    yield "for", 3, m.helped_by_default, (x,)
    m.defaulted.__defaults__ = "half", 2.5
    yield "for", 3, m.helped_by_default, (x,)


@case
def helper_with_a_default_by_name(m, x, s):
    yield "for", 3, m.helped_by_default, (x,)
    m.defaulted.__kwdefaults__ = {"by": 3.5}
    yield "for", 3, m.helped_by_default, (x,)


@case
def cell_of_a_helper(m, x, s):
    yield "for", 3, m.helped_by_a_closure, (x,)
    m.added_two.__closure__[0].cell_contents = 3.0
    yield "for", 3, m.helped_by_a_closure, (x,)


@case
def helper_with_a_mark(m, x, s):
    yield "for", 3, m.helped, (x,)
    es.function(fma=False)(m.helper)
    yield "for", 3, m.helped, (x,)


@case
def helper_that_claims_a_library(m, x, s):
    yield "for", 3, m.helped, (x,)
    m.helper.__module__ = "numpy"
    yield "for", 3, m.helped, (x,)


@case
def cells_under_other_names(m, x, s):
    kernel = es.kernel(m.swapped(1.0, 2.0))
    yield "for", 3, kernel, (x,)
    kernel.fn.__code__ = kernel.fn.__code__.replace(co_freevars=("b", "a"))
    yield "for", 3, kernel, (x,)


@case
def a_name_of_tests(m, x, s):
    for m._execspace_a1 in (2.0, 3.0):
        yield "for", 3, m.own_names, (x, 2.0)


@case
def a_name_that_tests_might_have(m, x, s):
    for m._another_a1 in (2.0, 3.0):
        yield "for", 3, m.other_names, (x, 2.0)


@case
def join_of_a_reducer(m, x, s):
    yield "for", 3, m.joined, (x,)
    m.Joined.join = staticmethod(m.less)
    yield "for", 3, m.joined, (x,)


@case
def reducer_of_no_module(m, x, s):
    names = {"es": es, "__name__": "builtins"}
    exec("class R(es.Reducer):\n    identity = 0.0\n    def join(a, b): return a + b", names)
    m.g = names["R"]
    yield "for", 3, m.number, (x,)
    m.g.identity = 1.0
    yield "for", 3, m.number, (x,)


class Equal(type):
    """A class of such is equal to every class."""

    def __eq__(self, other):
        return True

    __hash__ = type.__hash__


@case
def class_that_is_equal_to_all(m, x, s):
    class Scaling(metaclass=Equal):
        factor = 2.0

        def __call__(self, a):
            return a * self.factor

    m.g = Scaling()
    yield "for", 3, m.number, (x,)
    m.g.factor = 3.0
    yield "for", 3, m.number, (x,)


@case
def builtins_of_a_module(m, x, s):
    m.__builtins__ = {**vars(builtins), "g": 1.5}
    del m.g
    kernel = types.FunctionType(m.number.__code__, vars(m))
    try:
        for builtins.g in (1.5, 2.5):
            yield "for", 3, kernel, (x,)
    finally:
        del builtins.g


@case
def module_that_answers_in_two_ways(m, x, s):
    class Names(dict):
        def get(self, name, default=None):
            return dict.get(self, f"_{name}", dict.get(self, name, default))

    names = Names(vars(m))
    kernel = types.FunctionType(m.number.__code__, names)
    try:
        for names["_g"] in (1.5, 2.5):
            yield "for", 3, kernel, (x,)
    finally:
        names.clear()


def run(name, m, launches):
    """The launches of a case, each but the last twice. Fails where one gets a wrong plan."""
    records, steps = [], CASES[name](m, m.x, launches)
    for step in steps:
        records.append(launches.check(*step))
        launches.check(*step)
    assert identities(records[0]) != identities(records[-1]), "the case changes nothing"


@pytest.mark.parametrize("name", CASES)
def test_a_launch_that_differs_is_not_taken_for_the_last_one(name, part, launches):
    run(name, part, launches)


def without(pattern):
    """Tests that lack the comparisons that a pattern matches."""
    own = repeats._code

    def code(parameters, reads, tests, *rest):
        return own(parameters, reads, tuple(t for t in tests if not re.match(pattern, t)), *rest)

    return repeats, "_code", code


MUTATIONS = {
    "current space": (
        lambda: without(r"_execspace_current\(\) is"), ["space_of_a_with_statement"]),
    "type of policy": (
        lambda: without(r"_execspace_type\(_execspace_policy\)"), ["subclass of a policy"]),
    "count": (lambda: without("0 <= "), ["negative", "beyond 64 bits"]),
    "options of policy": (lambda: without(r"_execspace_policy\.key"), ["space", "schedule"]),
    "types of arguments": (
        lambda: without(r"_execspace_type\(_execspace_a\d+\)"),
        ["another type of argument", "truth for a number"]),
    "types of Views": (lambda: without(r"_execspace_a\d+\.type"), ["dtype_of_an_argument"]),
    "types of captured numbers": (
        lambda: without(r"_execspace_type\(_execspace_h\d+\)"), ["captured truth"]),
    "types of captured Views": (
        lambda: without(r"_execspace_h\d+\.type"), ["dtype_of_a_captured_view"]),
    "captured values": (
        lambda: without(r"_execspace_h\d+ (is|==)"),
        ["another captured number", "another string", "another_closure", "cell_of_a_helper",
         "constant of another module", "constant of a helper", "sign of zero", "another class",
         "function of a library"]),
    "code of helpers": (
        lambda: without(r"_execspace_h\d+\.__code__"), ["helper_with_other_code"]),
    "defaults of helpers": (
        lambda: without(r".*__defaults__ is"), ["helper_with_another_default"]),
    "defaults of helpers by name": (
        lambda: without(r".*__kwdefaults__"), ["helper_with_a_default_by_name"]),
    "code of the kernel": (
        lambda: without(r"_execspace_fn\.__code__"), ["cells_under_other_names"]),
    "marks": (lambda: without(r".*__dict__"), ["helper_with_a_mark"]),
    "modules of helpers": (lambda: without(r".*__module__"), ["helper_that_claims_a_library"]),
    "names that were fixed": (
        lambda: without(r"(?!_execspace|'|0)"), ["library", "shadowed_builtin"]),
    "names that were fixed, of another module": (
        lambda: without(r"_execspace_c\d+\["), ["library of another module"]),
    "shadows in another module": (lambda: without("'"), ["shadowed_in_another_module"]),
    "pattern": (lambda: without("_execspace_pattern"), ["pattern"]),
    "reducer": (lambda: without("_execspace_reducer"), ["reducer"]),
    "captured reducers": (
        lambda: without(r"_execspace_c\d+\("),
        ["identity of a reducer", "join_of_a_reducer", "constant of a join"]),
    "out": (lambda: without("_execspace_out is"), ["out"]),
    "type of out": (lambda: without(r"_execspace_out\.type"), ["type of out"]),
    "names of tests": (
        lambda: (repeats, "_own", "_another_{}".format), ["a_name_that_tests_might_have"]),
    "what never changes": (
        lambda: (repeats, "_never_changes", lambda value: True),
        ["reducer_of_no_module", "class_that_is_equal_to_all"]),
}  # fmt: skip


@pytest.mark.parametrize("part_of_tests", MUTATIONS)
def test_a_test_that_does_not_look_at_all_is_wrong(part_of_tests, part, launches, monkeypatch):
    mutated, found_by = MUTATIONS[part_of_tests]
    for name in found_by:
        fresh = loaded(x=part.x, V=part.V, W=part.W, obj=SimpleNamespace(a=2.0, v=part.V))
        with monkeypatch.context() as patch:
            patch.setattr(*mutated())
            with pytest.raises(AssertionError, match="after a hit"):
                run(name, fresh, launches)


# -- what tests must not do besides ------------------------------------------------------------


def test_a_kernel_of_a_pickle_forgets_with_the_kernel_that_keeps_its_plans(part, launches):
    """As after es.tune: its own tests run in its module, its plans are those of another kernel."""
    code, options = part.number.__code__, (True, False, 0, "number", None)
    first, second = (
        made_again(types.FunctionType(code, vars(module), "number"), options, None)
        for module in (loaded(g=1.0), loaded(g=1.0))
    )
    assert second.shared is first.shared
    launches.check("for", 3, second, (part.x,))
    plan, *_ = launches.check("for", 3, second, (part.x,))
    assert launches.known == 1
    second.forget(plan.spec)
    assert launches.check("for", 3, second, (part.x,))[0] is not plan


def test_a_plan_that_is_forgotten_while_its_test_is_written_is_not_used(
    part, launches, monkeypatch
):
    own = repeats.for_test

    def for_test(scope, names, *rest):
        test = own(scope, names, *rest)
        names.plans.clear()  # as by another thread
        return test

    monkeypatch.setattr(looked_up, "for_test", for_test)
    for _ in range(2):
        es.parallel_for(3, part.plain, part.x)
    assert launches.all[0][0] is not launches.all[1][0]


def test_identities_of_code_that_a_function_had_are_not_given_to_others(part, launches):
    launches.check("for", 3, part.helped, (part.x,))
    former = [weakref.ref(f.__code__) for f in (part.helped, part.helper)]
    for function in (part.helped, part.helper):
        function.__code__ = code_of("a")
    loaded_names.cache_clear()
    gc.collect()
    assert all(code() is not None for code in former)


def test_no_view_lives_longer_for_a_test(part, launches):
    def launch():
        view = es.zeros(4)
        kernel = part.of_closure(1.0, view)
        for _ in range(2):
            launches.check("for", 3, kernel, (view,))
        launches.all.clear()

    before = es.live_allocations()
    launch()
    assert launches.known == 1 and es.live_allocations() == before


def test_a_short_traceback_does_not_show_the_test(part, launches, monkeypatch):
    def launch():
        es.parallel_for(3, part.plain, part.x)

    def failing(plan, bounds, args):
        raise es.ExecspaceError("no")

    launch()
    monkeypatch.setattr(RecordingPlan, "launch", failing)
    with pytest.raises(es.ExecspaceError) as caught:
        launch()
    frames = [entry.frame.code.path for entry in caught.traceback]
    assert "<execspace launch>" in map(str, frames)
    assert not [line for line in shortened(caught.value) if "<execspace" in line]


def test_a_warning_of_a_known_launch_names_the_program(part, launches, monkeypatch):
    names = {"__name__": "execspace.plans", "warn": warnings.warn, "program_level": program_level}
    exec("def warning(plan, bounds, args): warn('look', stacklevel=program_level())", names)

    def launch():
        es.parallel_for(3, part.plain, part.x)

    launch()
    monkeypatch.setattr(RecordingPlan, "launch", names["warning"])
    monkeypatch.setattr(parallel, "launch_by_key", None)
    with pytest.warns(UserWarning, match="look") as found:
        launch()
    assert [w.filename for w in found] == [__file__]


def test_a_kernel_that_forgets_makes_its_plans_anew(part, launches):
    kernel = es.kernel(part.plain)
    plans = {id(launches.check("for", 3, kernel, (part.x,))[0]) for _ in range(2)}
    assert launches.known == 1 and plans == {*map(id, kernel.plans.values())}
    kernel.forget()
    assert not kernel.plans
    launches.check("for", 3, kernel, (part.x,))
    assert launches.known == 1 and len(kernel.plans) == 1


def test_a_number_beyond_64_bits_is_explained_in_a_known_launch(part, launches, monkeypatch):
    def overflowing(plan, bounds, args):
        raise OverflowError

    def launch():
        es.parallel_for(3, part.plain, part.x, 2**64)

    launch()
    monkeypatch.setattr(RecordingPlan, "launch", overflowing)
    monkeypatch.setattr(parallel, "launch_by_key", None)
    with pytest.raises(es.LaunchError, match="argument 1 is 18446744073709551616"):
        launch()


def test_a_reducer_of_no_module_is_joined(part, launches):
    class Least(es.Min):
        __module__ = None

    for _ in range(2):
        assert launches.check("reduce", 3, part.returns, (), Least)[1] == (0, 3)
