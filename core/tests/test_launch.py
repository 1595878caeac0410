"""Launches as core sees them: arguments, the choice of a space, and what is checked first."""

import functools
import math

import numpy as np
import pytest

import execspace as es
from execspace.base.waiting import waits_for_nothing
from execspace.events.launches import MADE


@es.kernel
def fill(i, x, value):
    x[i] = value


def test_parallel_for_calls_the_kernel_for_every_index(plain):
    x = es.View(5)
    es.parallel_for(es.RangePolicy(1, 4, space=plain), fill, x, 2.0)
    assert list(x) == [0, 2, 2, 2, 0]


def test_parallel_reduce_returns_or_stores(plain):
    policy = es.MDRangePolicy((1, 1), (3, 4), space=plain)
    assert es.parallel_reduce(policy, lambda i, j: i * j) == 18
    out = es.View((), es.int32)
    assert es.parallel_reduce(policy, lambda i, j: i * j, reducer=es.Max, out=out) is None
    assert out[()] == 6


def test_an_integer_is_a_range_on_the_default_space(plain):
    x = es.View(3)
    with es.use_space(plain):
        es.parallel_for(3, fill, x, 1.0)
        es.parallel_for(np.int8(2), fill, x, 5)
    assert list(x) == [5, 5, 1]


def test_types_of_arguments_choose_the_plan(plain):
    x, y, z = es.View(2), es.View(4), es.View(2, es.float32)
    policy = es.RangePolicy(2, space=plain)
    kernel = es.kernel(lambda i, x, value: None)
    for arguments in [(x, 1.0), (y, 2.0), (np.zeros(3), 1.0), (x[::1], -1.0)]:
        es.parallel_for(policy, kernel, *arguments)
    assert len(plain.compiled) == 1
    for arguments in [(z, 1.0), (y[::2], 1.0), (x, 1), (x, np.float32(1)), (x, True)]:
        es.parallel_for(policy, kernel, *arguments)
    assert len(plain.compiled) == 6


def test_each_space_has_plans_of_its_own(plain):
    other = type(plain)("other")
    kernel = es.kernel(lambda i, x: None)
    x = es.View(2)
    for space in (plain, other, plain):
        es.parallel_for(es.RangePolicy(2, space=space), kernel, x)
    assert (len(plain.compiled), len(other.compiled), len(kernel.plans)) == (1, 1, 2)


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (1, "weak int64"), (1.0, "weak float64"), (1j, "weak complex128"), (True, "bool"),
        (np.float64(1), "float64"), (np.int8(1), "int8"), (np.longlong(1), "int64"),
        (np.ulonglong(1), "uint64"),
    ],
)  # fmt: skip
def test_pythons_numbers_are_weak_and_numpys_are_not(plain, value, type):
    es.parallel_for(es.RangePolicy(1, space=plain), lambda i, value: None, value)
    assert str(plain.compiled[-1][1].arguments[0]) == type


@pytest.mark.parametrize("argument", [[1, 2], {}, object()])
def test_an_argument_that_is_neither_array_nor_number(plain, argument):
    name = type(argument).__name__
    with pytest.raises(es.LaunchError, match=f"Kernel 'fill': argument 0 is of type '{name}'"):
        es.parallel_for(es.RangePolicy(1, space=plain), fill, argument, 1.0)


@pytest.mark.parametrize("constant", ["text", None, math.sqrt, abs, es.float32, np.dtype("i4")])
def test_what_can_only_be_a_constant_is_one(plain, constant):
    """Functions, strings, dtypes and None are parameters given beforehand, not arguments."""

    def body(i, x, how):
        assert how is constant

    x = es.View(1)
    es.parallel_for(es.RangePolicy(0, space=plain), body, x, constant)
    _, spec = plain.compiled[-1]
    assert (spec.arguments, spec.bound) == ((x.type,), ("how",))


@pytest.mark.parametrize("policy", [2.0, "3", None, (1, 2)])
def test_what_is_no_policy(policy):
    with pytest.raises(es.PolicyError, match=r"is not a policy; expected an integer"):
        es.parallel_for(policy, fill, es.View(1), 1.0)


def test_a_negative_count():
    with pytest.raises(es.PolicyError, match="parallel_for over -1 indices; expected 0 or more"):
        es.parallel_for(-1, fill, es.View(1), 1.0)
    with pytest.raises(es.PolicyError, match="parallel_reduce over -2 indices"):
        es.parallel_reduce(-2, lambda i: i)


@pytest.mark.parametrize("out", [3.0, [0.0], "text", "readonly", "vector"])
def test_out_is_a_writable_view_of_rank_0(plain, out):
    if out == "readonly":
        out = es.view_of(np.broadcast_to(1.0, ()))
    elif out == "vector":
        out = es.View(1)
    with pytest.raises(es.LaunchError, match="expected a writable View"):
        es.parallel_reduce(es.RangePolicy(1, space=plain), lambda i: i, out=out)


def test_out_is_no_copy_of_an_element(plain):
    A = es.View(3)
    with pytest.raises(es.LaunchError, match=r"the element as a View is es\.subview\(A, i\)"):
        es.parallel_reduce(es.RangePolicy(1, space=plain), lambda i: i, out=A[1])


@pytest.mark.parametrize("reducer", [sum, None, [es.Sum], int])
def test_what_is_no_reducer(plain, reducer):
    with pytest.raises(es.LaunchError, match=r"is not a reducer; expected es.Sum"):
        es.parallel_reduce(es.RangePolicy(1, space=plain), lambda i: i, reducer=reducer)


# -- which space --------------------------------------------------------------------------------


def test_memory_out_of_reach_is_named_before_anything_is_compiled(plain, device):
    x = es.View(2, label="x", space=device)
    with pytest.raises(es.SpaceAccessError) as error:
        es.parallel_for(es.RangePolicy(2, space=plain), fill, x, 1.0)
    assert str(error.value) == (
        "Kernel 'fill': argument 0, View 'x', is in memory space 'device', which space 'plain' "
        "cannot reach. Copy it first: x.to('plain')."
    )
    assert plain.compiled == []


def test_use_space_is_a_choice_that_is_not_overruled(plain, device):
    x = es.View(2, label="x", space=device)
    with es.use_space(plain), pytest.raises(es.SpaceAccessError, match="'plain' cannot reach"):
        es.parallel_for(2, lambda i, x: None, x)


def test_views_are_allocated_in_the_space_in_use(device):
    with es.use_space(device):
        assert es.View(2).memory_space is device.memory_space
    assert es.View(2).memory_space is es.HOST


def test_a_space_may_prefer_a_layout(plain):
    plain.default_layout = "left"
    assert es.View((2, 3), space=plain).layout == "left"
    assert es.View((2, 3), space=plain, layout="right").layout == "right"


def test_without_any_space_views_live_and_launches_say_what_to_install():
    x = es.View(2)
    assert x.memory_space is es.HOST
    with pytest.raises(es.SpaceUnavailableError, match="add the name of one, as EXECSPACE_PLUGINS"):
        es.parallel_for(2, lambda i, x: None, x)


def test_what_a_plan_need_not_say_has_a_default(plain):
    class Least(es.Plan):
        def __init__(self, space, spec):
            self.space, self.spec = space, spec

        def launch(self, bounds, args):
            return bounds, args

    class Space(type(plain)):
        def compile(self, kernel, spec):
            return Least(self, spec)

    space = Space("least")
    x = es.View(2)
    plan = Least(space, None)
    assert plan.launch_as("label", (0, 1), (x,)) == ((0, 1), (x,))
    assert plan.chosen((0, 1), (x,)) == (plan, (0, 1), "")
    assert (plan.effects, plan.order, plan.work((0, 1), (x,))) == (None, (), None)
    explained = es.explain(es.RangePolicy(2, space=space), fill, x, 1.0)
    assert (explained.source, explained.mapping, explained.resource_usage) == ("", (), {})
    assert (explained.variables, explained.vectorisation, explained.cache_key) == ({}, (), "")


def test_a_fence_waits_for_all_spaces_before_it_raises(plain, monkeypatch):
    class Faulty(type(plain)):
        def __init__(self, name, fault):
            super().__init__(name)
            self.fault = fault

        def synchronize(self, label=""):
            super().synchronize(label)
            raise self.fault

    lost, plugged = OSError("card lost"), KeyError("plug")
    spaces = [Faulty("one", lost), Faulty("two", plugged), plain, Faulty("three", lost)]
    for space in spaces:
        monkeypatch.setitem(MADE, space.name, space)
    for label in ("first", "second"):
        with pytest.raises(OSError, match="card lost") as error:
            es.fence(label)
        assert error.value is lost
        assert lost.__notes__ == ["Waiting for space 'two' failed, too: KeyError: 'plug'"]
    assert [space.fences for space in spaces] == [["first", "second"]] * 4
    spaces[1].fault = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        es.fence("third")
    assert [len(space.fences) for space in spaces] == [3, 3, 2, 2]


def test_what_is_no_plan_is_a_fault_of_the_plugin(plain):
    class Space(type(plain)):
        def compile(self, kernel, spec):
            return lambda bounds, args: None

    with pytest.raises(es.PluginError) as error:
        es.parallel_for(es.RangePolicy(2, space=Space("odd")), fill, es.View(2), 1.0)
    assert str(error.value) == (
        "Space 'odd' compiled kernel 'fill' to an object of type 'function'; expected an es.Plan. "
        "This is a defect of its plugin."
    )


def without(*musts, **values):
    """A class of plans that lack some of what they must have."""

    class Odd(es.Plan):
        def __init__(self, space, spec):
            given = {"space": space, "spec": spec, "launch": lambda bounds, args: None} | values
            for name in given.keys() - set(musts):
                setattr(self, name, given[name])

    return Odd


class Broken(es.Plan):
    def __init__(self, space, spec):
        self.space, self.spec = space, spec

    @property
    def launch(self):
        return self.lunch


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (without("space"), "'Odd' that has no 'space' ('Odd' object has no attribute 'space'); e"),
        (without("spec"), "'Odd' that has no 'spec' ("),
        (without("launch"), "'Odd' that has no 'launch' ("),
        (without("space", "spec", "launch"), "'Odd' that has no 'space' ("),
        (without(launch=5), "'Odd' whose launch is 5; expected a function of bounds and"),
        (Broken, "'Broken' that has no 'launch' ('Broken' object has no attribute 'lunch'"),
    ],
)
def test_a_plan_without_what_it_must_have_is_a_fault_of_the_plugin(plain, plan, reason):
    class Space(type(plain)):
        def compile(self, kernel, spec):
            return plan(self, spec)

    policy = es.RangePolicy(2, space=Space("odd"))
    expected = f"Space 'odd' compiled kernel 'fill' to a plan of type {reason}"
    for _ in range(2):  # it is not kept
        with pytest.raises(es.PluginError) as error:
            es.parallel_for(policy, fill, es.View(2), 1.0)
        assert str(error.value).startswith(expected)
        assert str(error.value).endswith("This is a defect of its plugin.")
    with pytest.raises(es.PluginError):
        es.explain(policy, fill, es.View(2), 1.0)


def test_a_fence_leaves_out_nothing_but_what_says_that_it_never_waits(monkeypatch, plain):
    """A space that waits is waited for, whatever its class is derived from."""
    waited = []

    class Host(type(plain)):
        @waits_for_nothing
        def synchronize(self, label=""):
            waited.append(self.name)

    class Wrapped(Host):
        @functools.wraps(Host.synchronize)
        def synchronize(self, label=""):
            waited.append(self.name)

    for made in (Host("idle"), Wrapped("wrapped"), Host("its own")):
        monkeypatch.setitem(MADE, made.name, made)
    monkeypatch.setattr(MADE["its own"], "synchronize", lambda label="": waited.append("its own"))
    es.fence()
    assert waited == ["wrapped", "its own"]
    monkeypatch.setattr(Host, "synchronize", lambda self, label="": waited.append(self.name))
    waited.clear()
    es.fence()
    assert waited == ["idle", "wrapped", "its own"]
