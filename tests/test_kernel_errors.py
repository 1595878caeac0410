"""Faults in kernels: what is wrong, where (file, line, column, caret), and what to write instead.

Each case is a kernel and the message that it gets.
"""

from __future__ import annotations

import math
import re
import textwrap

import numpy as np
import pytest

import execspace as es

A = np.zeros((4, 4))
names = [1, 2]
text = "abc"


def message_of(kernel, *args, policy=4, reduce=False, error=es.KernelError):
    """Message of the exception that a launch raises, with the file and its lines left out."""
    launch = es.parallel_reduce if reduce else es.parallel_for
    with es.use_space("oracle"), pytest.raises(error) as caught:
        launch(policy, kernel, *args)
    return re.sub(rf"{re.escape(__file__)}:\d+", "FILE", str(caught.value))


def X():
    return np.zeros(4)


def test_the_whole_message():
    def kernel(i, x):
        x[i] = x[i] + undefinde

    undefined = 1.0
    assert undefined
    assert re.sub(r" +\d+ \|", "LINE |", message_of(kernel, X())) == (
        "in kernel 'kernel'\n\n"
        "FILE:23: name 'undefinde' is not defined\n"
        "LINE |         x[i] = x[i] + undefinde\n"
        "      |                       ^^^^^^^^^\n"
        "hint: define it before the launch"
    )


def test_line_and_column_are_those_of_the_file():
    def kernel(i, x):
        value = x[i]
        x[i] = value + "text"

    with pytest.raises(es.KernelTypeError) as caught:
        es.parallel_for(4, kernel, X())
    line = kernel.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}:24: expected a number, got a string" in str(caught.value)


def test_several_faults_are_reported_together():
    def kernel(i, x):
        y = [1, 2]
        try:
            x[i] = 1
        except ValueError:
            pass
        x[i] = missing

    message = message_of(kernel, X(), error=es.KernelSyntaxError)
    assert message.startswith("3 errors in kernel 'kernel'")
    assert "a list is not supported in a kernel" in message
    assert "try is not supported in a kernel" in message
    assert "name 'missing' is not defined" in message


def test_a_similar_name_is_suggested():
    def kernel(i, x):
        total = x[i]
        x[i] = totl

    assert "hint: did you mean 'total'?" in message_of(kernel, X())


SYNTAX = {
    "a dict": "y = {1: 2}",
    "a list comprehension": "y = [k for k in range(3)]",
    "a generator expression": "y = sum(k for k in range(3))",
    "raise": "raise ValueError",
    "with": "with x: pass",
    "import": "import os",
    "global": "global Z",
    "del": "del x",
    "an f-string": "y = f'{i}'",
    "match": "match i:\n    case 1: pass",
    "nonlocal": "def f(): nonlocal x",
    "the operator @": "x[i] = i @ i",
    "a class definition": "class C: pass",
    "yield": "yield i",
}


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("what", SYNTAX)
def test_python_that_kernels_do_not_have(what, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("def kernel(i, x):\n" + textwrap.indent(SYNTAX[what], "    ") + "\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    message = message_of(scope["kernel"], X(), error=es.KernelSyntaxError)
    assert f"{path}:2:" in message
    assert f"{what} is not supported in a kernel" in message
    assert "\nhint: " in message
    assert "^" in message


def k_rank(i, a):
    a[i] = 1


def k_too_many(i, x):
    x[i, 0] = 1


def k_float_index(i, x):
    x[1.5] = 1


def k_returns(i, x):
    return x[i]


def k_string(i, x):
    x[i] = x[i] + text


def k_bits(i, x):
    x[i] = x[i] & 1


def k_iterates(i, x):
    for v in x:
        x[i] += v


def k_no_attribute(i, x):
    x[i] = math.sqroot(x[i])


def k_view_attribute(i, x):
    x[i] = A.mean()


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def k_recursion(i, x):
    x[i] = factorial(i)


def k_is(i, x):
    x[i] = 1 if i is x else 0


def k_in(i, x):
    x[i] = 1 if i in x else 0


def k_list(i, x):
    x[i] = names[0]


def k_print(i, x):
    print(i)
    x[i] = 0


def k_two_kinds(i, x):
    t = (1, 2)
    t = 3
    x[i] = 0


def k_view_as_number(i, x):
    x[i] += x


def k_too_large(i, n):
    n[i] = n[i] + 1000


def k_signs(i, u, n):
    u[i] = u[i] + n[i]


def k_slice(i, x):
    x[0:2] = 1


def k_varargs(i, *rest):
    pass


def k_maybe(i, x):
    if x[i] > 0:
        t = 1.0
    x[i] = t


def k_some_paths(i, x):
    if x[i] > 0:
        return 1.0


def k_pair(i, x):
    return x[i], 1


def k_complex(i, x, z):
    x[i] = z[i]


def k_order(i, z):
    return z[i] < z[0]


def k_unpack(i, x):
    a, b = x[i]  # noqa: RUF059


def k_zero_step(i, x):
    for k in range(0, 5, 0):
        x[i] = k


def k_zero_division(i, n):
    n[i] = n[i] // 0


def k_keyword(i, x):
    x[i] = max(x[i], default=0)


def k_arity(i, x):
    x[i] = math.sqrt(x[i], 2)


def k_unknown_call(i, x):
    x[i] = sorted(x)


def k_half(i, x):
    x[i] = x[i] * 2


I8, U64, I64, Z = (np.zeros(4, d) for d in ("int8", "uint64", "int64", "complex128"))
TYPES = [
    (k_rank, (A,), "View 'a' has rank 2, got 1 index", "write a[i, j]"),
    (k_too_many, (X(),), "View 'x' has rank 1, got 2 indices", "write x[i]"),
    (k_float_index, (X(),), "index 0 of View 'x' is Python float", "convert it with int(...)"),
    (k_returns, (X(),), "a kernel of parallel_for returns nothing", "or launch it with parallel_r"),
    (k_string, (X(),), "expected a number, got a string", ""),
    (k_bits, (X(),), "'&' needs integers, got float64 and Python int", ""),
    (k_iterates, (X(),), "a for loop in a kernel runs over range(...)", "range(A.extent(0))"),
    (k_no_attribute, (X(),), "'math' has no attribute 'sqroot'", ""),
    (k_view_attribute, (X(),), "View 'A' has no attribute 'mean'", "shape, size, rank, dtype and extent"),
    (k_recursion, (X(),), "'factorial' calls itself", "write a loop"),
    (k_is, (X(),), "'is' compares with None only", "compare numbers with =="),
    (k_in, (X(),), "'in' needs a tuple, got View 'x'", "write the comparisons out"),
    (k_list, (X(),), "cannot index 'names' (list)", ""),
    (k_print, (X(),), "'print' cannot be called in a kernel", "with es.printf"),
    (k_two_kinds, (X(),), "'t' is a tuple (Python int, Python int) in one", "use two variables"),
    (k_view_as_number, (X(),), "expected a number, got View 'x'", "index it: x[i]"),
    (k_too_large, (I8,), "the constant 1000 does not fit int8", "cast the other operand"),
    (k_signs, (U64, I64), "'+' of uint64 and int64", ""),
    (k_slice, (X(),), "cannot assign to a subview of 'x' as a whole", "in a loop over range"),
    (k_maybe, (X(),), "'t' may be used before it has a value", "on every path"),
    (k_complex, (X(), Z), "cannot store complex128 into View 'x' of float64", "take its .real"),
    (k_unpack, (X(),), "cannot unpack float64", ""),
    (k_zero_step, (X(),), "the step of range is zero", ""),
    (k_zero_division, (I64,), "integer division by zero", ""),
    (k_keyword, (X(),), "'max' takes no keyword arguments in a kernel", "by position"),
    (k_arity, (X(),), "math.sqrt takes 1 arguments, got 2", ""),
    (k_unknown_call, (X(),), "'sorted' cannot be called in a kernel", ""),
]
REDUCTIONS = [
    (k_some_paths, (X(),), "not every path of this reduction kernel returns", "0.0 where there"),
    (k_pair, (X(),), "cannot return a tuple of 2", "one reduction for each"),
    (k_order, (Z,), "complex numbers have no order", "compare abs(z)"),
]


@pytest.mark.parametrize(
    ("kernel", "args", "expected", "hint", "reduce"),
    [(*case, False) for case in TYPES] + [(*case, True) for case in REDUCTIONS],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_of_type_and_meaning(kernel, args, expected, hint, reduce):
    message = message_of(kernel, *args, reduce=reduce)
    assert message.startswith(f"in kernel '{kernel.__name__}'\n\nFILE:")
    assert expected in message
    assert hint in message
    assert "^" in message


def test_wrong_number_of_indices():
    message = message_of(k_rank, A, policy=es.MDRangePolicy((2, 2)), error=es.LaunchError)
    assert "it has 2 parameters (i, a), but a policy of rank 2 passes 2 indices" in message
    assert "and the launch passes 1 argument, 3 in all" in message
    with pytest.raises(es.LaunchError, match="passes 0 arguments, 1 in all"):
        es.parallel_for(4, k_rank)


def test_parameters_are_positional():
    def kernel(i, *, x):
        x[i] = 1

    with pytest.raises(es.LaunchError, match="keyword-only parameter 'x' gets no value"):
        es.parallel_for(4, kernel, X())


def test_read_only_arrays_are_inputs_only():
    x = X()
    x.flags.writeable = False
    assert "View 'x' is read-only" in message_of(k_half, x)


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_float16_needs_a_space_that_has_it(name):
    with es.use_space(name), pytest.raises(es.KernelTypeError, match="cannot compute with float16"):
        es.parallel_for(4, k_half, np.zeros(4, np.float16))


def test_errors_are_also_those_of_python():
    assert issubclass(es.KernelSyntaxError, SyntaxError)
    assert issubclass(es.KernelTypeError, TypeError)
    assert issubclass(es.LaunchError, TypeError)
    assert issubclass(es.ViewIndexError, IndexError)
    assert issubclass(es.UnknownSpaceError, LookupError)
