"""Attributes of Views, policies and other values cannot be assigned: kernels trust them.

A View whose extents could be assigned would let kernels, and NumPy, read memory that is not its
own. Each message says what to call instead.
"""

import copy
import pickle

import numpy as np
import pytest

import execspace as es
from execspace.base.readonly import ReadOnly
from execspace.contract.argtypes import SCALAR_TYPES


@es.kernel
def fill(i, x):
    x[i] = 1.0


# -- Views ----------------------------------------------------------------------------------------


def public(thing):
    """Names of all attributes of an object that are no methods."""
    return [n for n in dir(thing) if not n.startswith("_") and not callable(getattr(thing, n))]


def made():
    return es.View((4, 6), label="A")


VIEWS = {
    "made": made,
    "a subview": lambda: made()[1:, ::2],
    "read-only": lambda: made().readonly(),
    "with a trait": lambda: made().with_traits("atomic"),
    "over an array": lambda: es.view_of(np.zeros((4, 6)), label="A"),
    "resized": lambda: resized(),
    "a mirror": lambda: es.create_mirror(made()),
    "a copy": lambda: copy.copy(made()),
}


def resized():
    A = es.View((2, 2), label="A")
    es.resize(A, (4, 6))
    return A


@pytest.mark.parametrize("how", VIEWS)
def test_no_attribute_of_a_view_can_be_assigned_or_deleted(how):
    A = VIEWS[how]()
    names = public(A)
    assert {"shape", "strides", "dtype", "data_ptr", "descriptor", "type", "label"} <= {*names}
    for name in [*names, "_table", "_host", "__class__"]:
        before = getattr(A, name)
        with pytest.raises(es.ReadOnlyError, match=rf"View 'A': attribute '{name}' is read-only"):
            setattr(A, name, before)
        with pytest.raises(es.ReadOnlyError, match=rf"'{name}' .* cannot be deleted"):
            delattr(A, name)
        assert getattr(A, name) is before or getattr(A, name) == before
    assert np.asarray(A).shape == A.shape


def test_the_message_says_what_to_call_instead():
    A = es.View(10, label="A")
    with pytest.raises(AttributeError, match=r"es\.resize .*es\.subview .*es\.View makes a new"):
        A.shape = (1000,)
    assert np.asarray(A).shape == (10,)


def test_a_view_has_no_other_attributes():
    A = es.View(3)
    with pytest.raises(AttributeError, match="no attribute 'shap'"):
        A.shap = (3,)
    assert not hasattr(A, "__dict__")


def test_what_a_view_shares_cannot_be_assigned():
    A = es.View(3, label="A")
    for thing in (A.allocation, A.type, SCALAR_TYPES[float]):
        for name in public(thing):
            with pytest.raises(es.ReadOnlyError, match=f"'{name}' is read-only"):
                setattr(thing, name, getattr(thing, name))
    with pytest.raises(TypeError):
        A.shape[0] = 5


def test_host_access_and_resize_change_what_they_must():
    A = es.View(3)
    A[0] = 1.0  # keeps a NumPy array for the next time
    es.resize(A, 5)
    A[4] = 2.0
    assert list(A) == [1.0, 0.0, 0.0, 0.0, 2.0]


# -- policies -------------------------------------------------------------------------------------


POLICIES = [
    lambda: es.RangePolicy(2, 9),
    lambda: es.RangePolicy(0, 9, launch_bounds=64, space="serial"),
    lambda: es.RangePolicy(0, 9, schedule="dynamic", chunk_size=2),
    lambda: es.MDRangePolicy((3, 4)),
    lambda: es.MDRangePolicy((3, 4), schedule="dynamic"),
    lambda: es.MDRangePolicy((1, 1), (3, 4), tile=(2, 2), iterate="left", items_per_thread=2),
    lambda: es.MDRangePolicy((3, 4), tile="kokkos", iterate="right", space="serial"),
    lambda: es.TeamPolicy(4),
    lambda: es.TeamPolicy(4, 8, 4, chunk_size=2, launch_bounds=64, space="serial"),
]


@pytest.mark.parametrize("make", POLICIES)
def test_no_attribute_of_a_policy_can_be_assigned(make):
    policy = make()
    names = public(policy)
    assert {"bounds", "key", "space", "launch_bounds"} <= {*names}
    for name in [*names, "__class__"]:
        with pytest.raises(es.ReadOnlyError, match=rf"'{name}' is read-only .*make a new one"):
            setattr(policy, name, getattr(policy, name))
        with pytest.raises(es.ReadOnlyError):
            delattr(policy, name)
    with pytest.raises(AttributeError):
        policy.other = 1


@pytest.mark.parametrize("make", POLICIES)
def test_policies_can_be_copied_and_pickled(make):
    policy = make()
    for twin in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert type(twin) is type(policy)
        assert (repr(twin), twin.bounds) == (repr(policy), policy.bounds)
        assert twin.key == policy.key  # and so finds the plans of the first one


# -- other values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: es.DualView(3), {"d_view", "h_view", "label", "shape", "shares_memory"}),
        (lambda: es.ScatterView(es.View(3)), {"op", "strategy", "token"}),
        (lambda: es.UniqueToken("serial", 2), {"size", "space"}),
        (lambda: es.kernel(lambda i: i), {"fn", "fma", "fastmath", "name", "source", "statics"}),
        (lambda: es.Sum(es.float32), {"dtype", "shape"}),
        (lambda: es.spaces()[0], {"name", "usable"}),
        (lambda: es.default_space().capabilities, {"asynchronous"}),
        (lambda: es.explain(3, fill, np.zeros(3)), {"source", "arguments"}),
    ],
)
def test_values_that_kernels_trust_cannot_be_assigned(make, names):
    thing = make()
    for name in names:
        with pytest.raises(AttributeError):
            setattr(thing, name, getattr(thing, name))


def test_a_subclass_may_have_attributes_of_its_own():
    class Named(es.DualView):
        def __init__(self, n):
            self.before = 1
            super().__init__(n)
            self.after = 2

    pair = Named(3)
    pair.after += pair.before
    assert pair.after == 3
    del pair.before
    pair.modify("host")
    with pytest.raises(es.ReadOnlyError, match="Named: attribute 'd_view' is read-only"):
        pair.d_view = es.View(5)


def test_every_class_that_is_read_only_says_what_to_do():
    def all_of(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from all_of(sub)

    found = {cls for cls in all_of(ReadOnly) if cls.__module__.startswith("execspace.")}
    assert {es.View, es.RangePolicy, es.MDRangePolicy, es.TeamPolicy, es.Kernel} <= found
    for cls in found:
        assert cls._fixed, cls
        assert cls._instead
