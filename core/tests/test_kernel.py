"""Kernels: what they capture, and how constants tell compiled plans apart."""

import gc
import math
import types
import weakref

import numpy as np
import pytest

import execspace as es
from execspace.kernels.captures import captured_paths, constant_tag, lookup
from execspace.kernels.kernel import kernel_of

# -- constants ----------------------------------------------------------------------------------

DISTINCT = [
    1, 1.0, True, 0.0, -0.0, math.nan, math.inf, 1 + 0j, complex(0.0, -0.0), complex(0.0, 0.0),
    "1", es.float32(1), es.float64(1), es.int32(1), es.int64(1), np.bool_(True), np.float64(-0.0),
    (1,), (1.0,), (1, 1), ((1,), 1), es.float32, es.float64, None,
]  # fmt: skip


def test_constants_that_compile_to_different_code_have_different_tags():
    tags = [constant_tag(value) for value in DISTINCT]
    assert len(set(tags)) == len(DISTINCT)


MAKERS = [
    lambda: float("nan"),
    lambda: (1, "a", 2.5),
    lambda: np.float32(0.1),
    lambda: complex(1, math.nan),
]


@pytest.mark.parametrize("make", MAKERS)
def test_equal_constants_have_equal_tags(make):
    assert constant_tag(make()) == constant_tag(make())


def test_a_kernel_and_its_function_are_one_constant():
    def helper(x):
        return x

    assert constant_tag(es.kernel(helper)) == constant_tag(helper)


def test_a_function_is_its_code_and_what_it_captures():
    def scaled(factor):
        return lambda x: factor * x

    assert constant_tag(scaled(2)) == constant_tag(scaled(2))
    assert constant_tag(scaled(2)) != constant_tag(scaled(2.0))
    assert constant_tag(lambda x: x) != constant_tag(lambda x: x)


def test_functions_that_call_each_other_have_a_tag():
    assert constant_tag(is_even) == constant_tag(is_even) != constant_tag(is_odd)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


# -- captures -----------------------------------------------------------------------------------

WIDTH = 3
settings = types.ModuleType("settings")
settings.alpha = 2.0
settings.inner = types.ModuleType("settings.inner")
settings.inner.beta = 4.0
smaller = min
real = float


def test_closures_and_globals_are_captures():
    a, b = 1.0, 2.0
    assert list(captured_paths(lambda i: a * i + b * WIDTH)) == [("a",), ("b",), ("WIDTH",)]


def test_a_name_is_captured_once():
    a = 1.0
    assert list(captured_paths(lambda i: a * a + a)) == [("a",)]


def test_parameters_locals_and_builtins_are_not_captured():
    def body(i, x):
        total = 0.0
        for j in range(len(x)):
            total += abs(min(x[j], float(i)))
        return total

    assert list(captured_paths(body)) == []


def test_modules_that_never_change_are_not_captured():
    assert list(captured_paths(lambda i: math.pi * np.sin(i) + es.float32(1))) == []


def test_attributes_of_modules_are_captured():
    paths = list(captured_paths(lambda i: settings.alpha + settings.inner.beta))
    assert paths == [("settings", "alpha"), ("settings", "inner", "beta")]
    assert lookup(lambda: settings, paths[1]) == 4.0


def test_names_in_nested_code_are_captured():
    a = 1.0

    def body(i):
        return max([a * k + WIDTH for k in range(3)])

    assert set(captured_paths(body)) == {("a",), ("WIDTH",)}


def test_a_name_that_is_not_defined_is_watched():
    fn = lambda i: not_defined_anywhere  # noqa: E731, F821
    assert list(captured_paths(fn)) == [("not_defined_anywhere",)]
    assert repr(lookup(fn, ("not_defined_anywhere",))) == "<undefined>"


def test_another_name_for_a_builtin_is_captured():
    assert list(captured_paths(lambda i: smaller(i, 3))) == [("smaller",)]
    assert list(captured_paths(lambda i: real(i))) == [("real",)]


# -- what a launch sees -------------------------------------------------------------------------


def compiled(space, *launches):
    """How many plans these launches make."""
    before = len(space.compiled)
    for launch in launches:
        launch()
    return len(space.compiled) - before


def test_a_changed_capture_compiles_again_and_a_known_one_does_not(plain):
    a = 1

    def body(i):
        return a

    def launch():
        return es.parallel_reduce(es.RangePolicy(2, space=plain), body)

    assert compiled(plain, launch, launch) == 1
    a = 1.0
    assert compiled(plain, launch, launch) == 1
    a = 1
    assert compiled(plain, launch) == 0


class Parameters:
    alpha = 2.0


@pytest.mark.parametrize("holder", [Parameters, Parameters(), types.SimpleNamespace(alpha=2.0)])
def test_a_changed_attribute_compiles_again(plain, holder, monkeypatch):
    def body(i):
        return holder.alpha

    def launch():
        es.parallel_reduce(es.RangePolicy(2, space=plain), body)

    assert compiled(plain, launch, launch) == 1
    monkeypatch.setattr(holder, "alpha", 3.0)
    assert compiled(plain, launch, launch) == 1


def test_a_captured_view_is_a_hidden_argument(plain):
    x, scale = es.View(3, es.float32, label="x"), 2

    def body(i, a):
        return x[i] * scale

    es.parallel_for(es.RangePolicy(0, space=plain), body, 1.5)
    _, spec = plain.compiled[-1]
    assert spec.arguments == (es.ScalarType("float64", True), x.type)
    captures = {c.name: c for c in spec.captures}
    assert captures["x"].argument == 1
    assert (captures["scale"].value, captures["scale"].argument) == (2, None)


def test_lambdas_made_anew_share_one_kernel():
    def make(a):
        return lambda i: a * i

    first, _ = kernel_of(make(1))
    second, scope = kernel_of(make(2))
    assert first is second
    assert scope.fn(3) == 6


def test_the_shared_kernel_keeps_no_captured_view_alive():
    def launch_once():
        x = es.View(5, label="captured")
        kernel_of(lambda i: x[i])
        return weakref.ref(x)

    gone = launch_once()
    gc.collect()
    assert gone() is None


def test_a_plan_keeps_no_captured_view_alive(plain):
    def launch_once():
        x = es.View(5, label="captured")
        es.parallel_for(es.RangePolicy(0, space=plain), lambda i: x[i])
        return weakref.ref(x)

    gone = launch_once()
    gc.collect()
    assert len(plain.compiled) == 1
    assert gone() is None


# -- the decorator ------------------------------------------------------------------------------


def test_a_kernel_called_directly_is_plain_python():
    @es.kernel
    def axpy(i, a, x, y):
        """y += a x"""
        y[i] += a * x[i]

    y = [1.0, 1.0]
    axpy(1, 2.0, [3.0, 4.0], y)
    assert y == [1.0, 9.0]
    assert (repr(axpy), axpy.__doc__, axpy.__name__) == ("<kernel 'axpy'>", "y += a x", "axpy")


def test_options_of_a_kernel():
    @es.kernel(fma=False, fastmath=True)
    def body(i):
        pass

    assert (body.fma, body.fastmath) == (False, True)
    assert (es.kernel(lambda i: i).fma, es.kernel(lambda i: i).fastmath) == (True, False)


@pytest.mark.parametrize("fn", [3, None, len, "kernel", object()])
def test_only_python_functions_are_kernels(fn):
    with pytest.raises(es.LaunchError, match="is not a kernel; expected a Python function"):
        kernel_of(fn)


# -- es.printf on the host ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((3,), "TypeError|unsupported|no string"),
        ((b"%d", 1), "the format is not a string"),
        (("%d %d\n", 3), "with 1 value: not enough arguments"),
        (("%d\n", 3, 4), "with 2 values: not all arguments converted"),
        (("%d\n", "three"), "a real number is required, not str"),
        (("%q", 1), "unsupported format character"),
        (("%", 1), "incomplete format"),
    ],
)
def test_a_format_that_does_not_fit_its_values_is_named(given, told, capsys):
    with pytest.raises(es.LaunchError, match=told) as raised:
        es.printf(*given)
    assert str(raised.value).startswith(f"es.printf({given[0]!r})")
    assert capsys.readouterr().out == ""


def test_a_format_prints_as_in_a_kernel(capsys):
    es.printf("%d: %6.2f%%\n", 1, 2.5)
    assert capsys.readouterr().out == "1:   2.50%\n"
