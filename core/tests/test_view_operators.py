"""What Views do not do in Python, word for word, and the type of their elements."""

import operator

import numpy as np
import pytest

import execspace as es
from execspace.plugins import selection

BINARY = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
    "lshift", "rshift", "lt", "le", "gt", "ge",
]  # fmt: skip
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand",
            "ior", "ixor", "ilshift", "irshift"]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [2, 2.5, np.float32(2), np.ones(3), "a View"], ids=str)
def test_operators_say_where_arithmetic_belongs(name, other):
    A = es.ones(3, label="A")
    other = es.ones(3, label="B") if isinstance(other, str) else other
    operate = getattr(operator, name)
    for left, right in [(A, other), (other, A)]:
        with pytest.raises(es.ViewTypeError, match=r"computes nothing on Views\. Write a kernel"):
            operate(left, right)
    assert (np.asarray(A) == 1).all()


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place_too(name):
    A = es.ones((2, 3), label="A")
    with pytest.raises(es.ViewTypeError, match=r"A\[\.\.\.\] = A\.to_numpy\(\)"):
        getattr(operator, name)(A, 2)


@pytest.mark.parametrize("operate", [operator.neg, operator.pos, abs, operator.invert])
def test_operators_of_one_view(operate):
    with pytest.raises(es.ViewTypeError, match="computes nothing on Views"):
        operate(es.ones(3))


def test_the_message_names_the_view_and_a_launch_of_its_rank():
    A = es.ones((2, 3), label="A")
    with pytest.raises(es.ViewTypeError) as error:
        A * 2
    assert str(error.value) == (
        "View 'A': '*' computes nothing on Views. Write a kernel, which runs on any space: "
        "es.parallel_for(es.MDRangePolicy(A.shape), lambda i, j: ...); or compute with NumPy on a "
        "copy: A.to_numpy() * ...."
    )


def test_a_view_is_neither_true_nor_a_number(device):
    for A in (es.ones(1, label="A"), es.View((), label="A", space=device)):
        with pytest.raises(es.ViewTypeError, match="neither true nor false"):
            bool(A)
        for kind in (int, float, complex):
            with pytest.raises(es.ViewTypeError, match=rf"{kind.__name__}\(A\.item\(\)\)"):
                kind(A)


def test_numpy_functions_take_views_of_the_host():
    A = es.array([1.0, 4.0])
    assert np.sqrt(A).tolist() == [1, 2]
    assert np.sum(A) == 5


# -- the type of the elements ----------------------------------------------------------------------


def test_an_alias_makes_views_of_its_element_type():
    A = es.View[np.float32](3, label="A")
    assert (type(A), A.dtype, A.label) == (es.View, np.float32, "A")
    assert es.View[es.int8]((2, 2), es.int8).dtype == np.int8
    assert repr(es.View[np.float64]) == "execspace.views.view.View[numpy.float64]"
    with pytest.raises(es.DTypeError, match="Leave out one of the two"):
        es.View[np.float32](3, np.float64)
    with pytest.raises(es.ViewTypeError, match="takes one element type"):
        es.View[np.float32, 2]


# -- arrays around launches, with spaces that run plain Python -------------------------------------


def axpy(i, a, x, y):
    y[i] += a * x[i]


def test_arrays_are_copied_to_a_device_in_order(device):
    """A View of the device stands for each array; the order of copies and fences is seen."""
    seen = []

    class Watch(es.profiling.Tool):
        def on_copy_begin(self, destination, source):
            seen.append((destination, source))

        def on_fence_begin(self, label):
            seen.append(label)

        def on_kernel_begin(self, name):
            seen.append(name)

    x, y = np.arange(3.0), np.ones(3)
    with es.profile(Watch()):
        es.parallel_for(
            es.RangePolicy(3, space=device), lambda i, x, y: None, es.In(x), es.InOut(y)
        )
    names = [str(what) for what in seen]
    assert names[2] == "es.In"
    assert "<lambda>" in names[3]
    assert names[-1] == "es.Out"
    assert [w for w in seen if isinstance(w, tuple)] == [
        ("argument 0 of <lambda>@device", "argument 0 of <lambda>@host"),
        ("argument 1 of <lambda>@device", "argument 1 of <lambda>@host"),
        ("argument 1 of <lambda>@host", "argument 1 of <lambda>@device"),
    ]


def test_on_the_host_nothing_is_copied(plain):
    x, y = np.arange(3.0), np.ones(3)
    before = es.live_allocations()
    es.parallel_for(es.RangePolicy(3, space=plain), axpy, 2.0, es.In(x), es.InOut(y))
    assert y.tolist() == [1, 3, 5]
    assert es.live_allocations() == before


def test_what_is_wrapped_is_an_array():
    with pytest.raises(es.ViewTypeError, match=r"got another es\.In\. Use es\.InOut"):
        es.Out(es.In(np.ones(3)))
    with pytest.raises(es.ReadOnlyError):
        es.In(np.ones(3)).array = np.ones(2)
    assert repr(es.InOut(np.ones((2, 3)))) == "es.InOut(<ndarray (2, 3)>)"


@pytest.mark.parametrize("wrapper", ["In", "Out", "InOut"])
@pytest.mark.parametrize("value", [3.0, [1.0, 2.0], None, "text"])
def test_what_has_no_memory_is_refused_with_its_position(plain, wrapper, value):
    made = getattr(es, wrapper)(value)
    with pytest.raises(es.ViewTypeError, match="argument 0 of"):
        es.parallel_for(es.RangePolicy(1, space=plain), lambda i, x: None, made)


def test_the_memory_of_new_views_can_be_chosen(monkeypatch, device):
    with es.use_memory("shared"):
        assert es.View(2).memory_space is es.HOST
        with pytest.raises(es.SpaceError, match=r"^es\.use_memory\('shared'\): Space 'device' has"):
            es.View(2, space=device)
        assert es.View(2, space=device, memory="device").memory_space is device.memory_space
        with es.use_memory("device"):
            assert es.View(2, space=device).memory_space is device.memory_space
    with pytest.raises(es.SpaceError, match="'texture' is not a kind of memory; expected one of"):
        es.use_memory("texture").__enter__()
    monkeypatch.setenv("EXECSPACE_MEMORY", "shared")
    selection.forget()  # it is read once
    with pytest.raises(es.SpaceError, match=r"^EXECSPACE_MEMORY=shared: Space 'device' has no"):
        es.View(2, space=device)
    monkeypatch.setenv("EXECSPACE_MEMORY", "fast")
    selection.forget()
    with pytest.raises(es.ConfigError, match="expected one of device, shared, pinned, host"):
        es.View(2)
