"""Long and deep kernels: what has no end in Python has none here, or the message says the limit.

The texts are those of a program that writes kernels. Compiled spaces run shorter ones in the
conformance kit; here it is the front end that must not run out of its stack.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

HEAD = "@es.kernel\ndef kernel(i, x):\n"
THREE = es.RangePolicy(3, space="oracle")


def chain_of_elif(n):
    arms = (f"    elif i == {-k}:\n        x[i] = {k}\n" for k in range(1, n))
    return (
        f"    if i == 1:\n        x[i] = 7\n{''.join(arms)}    elif (y := x[i]) > 1:\n"
        f"        x[i] = y + 1\n    else:\n        x[i] = 9\n"
    )


def terms(sign, n, term="x[i]"):
    return f"    x[i] = {sign.join([term] * n)}\n"


def nested_ifs(n):
    lines = (f"{'    ' * k}if x[i] > {-k}:\n" for k in range(1, n + 1))
    return f"{''.join(lines)}{'    ' * (n + 1)}x[i] = 4\n"


def nested_loops(n):
    lines = (f"{'    ' * k}for k{k} in range(1):\n" for k in range(1, n + 1))
    return f"{''.join(lines)}{'    ' * (n + 1)}x[i] += 4\n"


BODIES = {
    "400 elif": chain_of_elif(400),
    "400 and": f"    if {' and '.join(f'x[i] > {-k}' for k in range(1, 401))}:\n        x[i] = 5\n",
    "400 or": f"    x[i] = 1 if {' or '.join(f'x[i] < {-k}' for k in range(1, 401))} else 5\n",
    "400 or of numbers": f"    x[i] = {' or '.join(['x[i] - i'] * 400)} or 3\n",
    "400 literals": f"    if {' < '.join(map(str, range(400)))} < x[i] + 500:\n        x[i] = 2\n",
    "400 comparisons at run time": f"    x[i] = {' <= '.join(['x[i]'] * 400)} < i\n",
    "1000 terms": terms(" + ", 1000),
    "1000 factors": terms(" * ", 1000, "(x[i] - i + 1)"),
    "400 items": f"    t = ({', '.join(f'x[i] + {k}' for k in range(400))})\n"
    "    x[i] = sum(t) + max(t) + (x[i] in t) + any(t) + (t == t)\n",
    "1000 statements": "".join(f"    x[i] = x[i] * 0.5 + {k}\n" for k in range(1000)),
    "150 parentheses": f"    x[i] = {'(' * 150}x[i]{' + 1)' * 150}\n",
    "90 calls": f"    x[i] = {'abs(' * 90}x[i]{')' * 90}\n",
    "90 if": nested_ifs(90),
    "20 loops": nested_loops(20),
}


def made(body):
    names = {"es": es}
    text = HEAD + body
    exec(text, names)
    return names["kernel"]


@pytest.mark.parametrize("name", BODIES)
def test_a_long_kernel_gives_what_python_gives(name):
    kernel = made(BODIES[name])
    got, expected = np.arange(3.0), np.arange(3.0)
    es.parallel_for(THREE, kernel, got)
    for i in range(3):
        kernel(i, expected)
    np.testing.assert_array_equal(got, expected)


RETURNS = """
    if i == 0:
        return 1.0
{arms}
    else:
        return 3.0
"""


def test_a_long_chain_that_returns_on_every_path_needs_no_return_after_it():
    arms = "\n".join(f"    elif i == {k}:\n        return {k}.5" for k in range(1, 60))
    kernel = made(RETURNS.format(arms=arms).replace("i, x", "i"))
    assert es.parallel_reduce(es.RangePolicy(62, space="oracle"), kernel, np.zeros(1)) == (
        1 + sum(k + 0.5 for k in range(1, 60)) + 6
    )


def test_tests_of_a_long_chain_may_be_constants():
    arms = "".join(f"    elif {k} == 30:\n        x[i] = {k}\n" for k in range(40))
    for first, expected in (("i == 1", [30, 5, 30]), ("False", [30] * 3), ("True", [5] * 3)):
        body = f"    if {first}:\n        x[i] = 5\n{arms}    else:\n        x[i] = missing\n"
        got = np.zeros(3)
        es.parallel_for(THREE, made(body), got)
        assert got.tolist() == expected


def test_a_variable_must_have_a_value_on_every_path_of_a_long_chain():
    arms = "".join(f"    elif i == {k}:\n        s = {k}\n" for k in range(1, 40))
    body = f"    if i == 0:\n        s = 0\n{arms}    x[i] = s\n"
    with pytest.raises(es.KernelError, match="'s' may be used before it has a value"):
        es.parallel_for(THREE, made(body), np.zeros(3))
    es.parallel_for(
        THREE, made(body.replace("    x[i]", "    else:\n        s = 1\n    x[i]")), np.zeros(3)
    )


@pytest.mark.parametrize(
    "expression",
    ["{} if i else ".format("x[i]") * 200 + "1", "x[i] ** " * 200 + "1", "-" * 200 + "1"],
)
def test_the_limit_of_what_nests_is_told(expression):
    with pytest.raises(es.KernelSyntaxError, match="nests more than 150 operations"):
        es.parallel_for(THREE, made(f"    x[i] = {expression}\n"), np.zeros(3))


# -- recursion ----------------------------------------------------------------------------------


def direct():
    def f(n):
        return f(n - 1) if n > 0 else 0

    return lambda i, x: f(i)


def of_each_other():
    def f(n):
        return g(n - 1) if n > 0 else 0

    def g(n):
        return f(n)

    return lambda i, x: g(i)


def in_a_tuple():
    def f(n):
        return functions[0](n - 1) if n > 0 else 0

    functions = (f,)
    return lambda i, x: functions[0](i)


def in_a_default():
    def f(n, call=None):
        return call(n - 1, call) if n > 0 else 0

    return lambda i, x, f=f: f(i, f)


def local_in_the_kernel():
    def kernel(i, x):
        def f(n):
            return g(n - 1) if n > 0 else 0

        def g(n):
            return f(n)

        x[i] = f(i)

    return kernel


def a_method():
    class Functor:
        def down(self, n):
            return self.down(n - 1) if n > 0 else 0

        def __call__(self, i, x):
            x[i] = self.down(i)

    return Functor()


def the_kernel_itself():
    @es.kernel
    def kernel(i, x):
        x[i] = kernel(i - 1, x)

    return kernel


@pytest.mark.parametrize(
    "make",
    [direct, of_each_other, in_a_tuple, in_a_default, local_in_the_kernel, a_method,
     the_kernel_itself],
)  # fmt: skip
def test_recursion_is_refused_with_its_place(make):
    with pytest.raises(
        es.KernelSyntaxError, match=r"test_long_kernels.py:\d+.*calls itself"
    ) as error:
        es.parallel_for(THREE, make(), np.zeros(3))
    assert "write a loop" in str(error.value)
