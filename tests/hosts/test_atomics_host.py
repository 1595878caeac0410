"""Atomic functions on the host: called from Python, and what the machine is asked for.

What they do in kernels is tested on every space by the conformance kit's level of atomic
operations."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import execspace as es
from execspace_compiler.host.machine import has_wide_exchange
from execspace_testing.suite.atomics.operations import DTYPES, results


@pytest.mark.parametrize("dtype", ["int16", "uint8", "uint16", *DTYPES])
def test_on_the_host_they_are_plain_python(dtype):
    def loop(n, kernel, *args):
        for i in range(n):
            kernel(i, *args)

    results(dtype, loop)


def refused(dtype, step, *values):
    """What a step says, whose value loses something, called from Python; kernels refuse it, too."""
    view = es.View(2, dtype, memory=es.HOST, label="n")
    with pytest.raises(es.DTypeError) as raised:
        step(view, 0, *values)
    assert np.asarray(view)[0] == 0

    launched = (
        lambda i, view: step(view, 0),
        lambda i, view, a: step(view, 0, a),
        lambda i, view, a, b: step(view, 0, a, b),
    )
    with pytest.raises(es.KernelTypeError):
        es.parallel_for(es.RangePolicy(1, space="oracle"), launched[len(values)], view, *values)
    return str(raised.value)


@pytest.mark.parametrize(("dtype", "step", "values", "told"), [
    ("int64", es.atomic_add, (1.9,), "type 'float' would compute in float64. Convert the value"),
    ("int64", es.atomic_max, (7.9,), "would compute in float64"),
    ("int64", es.atomic_store, (1.9,), "would compute in float64"),
    ("int64", es.atomic_exchange, (1.9,), "would compute in float64"),
    ("int64", es.atomic_fetch_mod, (2.5,), "would compute in float64"),
    ("int64", es.atomic_compare_exchange, (0, 2.5), "would compute in float64"),
    ("int64", es.atomic_compare_exchange, (0.0, 2), "would compute in float64"),
    ("int32", es.atomic_sub, (np.int64(1),), "type 'int64' would compute in int64"),
    ("float32", es.atomic_add, (np.float64(1),), "type 'float64' would compute in float64"),
    ("float64", es.atomic_add, (1j,), "type 'complex' would compute in complex128"),
    ("bool", es.atomic_store, (1,), "type 'int' would compute in int64"),
    ("bool", es.atomic_inc, (), "does not exist; it does for integers, floats, complex numbers"),
    ("float32", es.atomic_and, (1,), "does not exist; it does for bools, integers"),
    ("float64", es.atomic_lshift, (1,), "does not exist; it does for integers"),
    ("complex128", es.atomic_max, (1,), "does not exist; it does for integers, floats"),
])  # fmt: skip
def test_on_the_host_a_value_may_not_widen_the_element_either(dtype, step, values, told):
    message = refused(dtype, step, *values)
    assert message.startswith(f"an atomic operation on View 'n' of {dtype}")
    assert told in message


def test_what_is_no_number_no_view_or_too_large_is_told():
    view = es.View(2, "uint8", memory=es.HOST)
    with pytest.raises(es.DTypeError, match=r"300 does not fit; take it modulo 2\*\*8 first"):
        es.atomic_add(view, 0, 300)
    for value in (None, "1", [1]):
        with pytest.raises(es.DTypeError, match="expected a number"):
            es.atomic_add(view, 0, value)
    for step in (es.atomic_inc, es.atomic_load):
        with pytest.raises(es.ViewTypeError, match="'NoneType'; expected a View or an array"):
            step(None, 0)
    es.atomic_add(view, 0, es.view_of(np.array(3, "uint8")))  # an element of rank 0
    es.atomic_add(view, 0, True)
    assert np.asarray(view)[0] == 4


# -- what the machine is asked for --------------------------------------------------------------

needs_wide_exchange = pytest.mark.skipif(
    not has_wide_exchange(), reason="no instruction for 16 bytes; see the test of its refusal"
)


@needs_wide_exchange
@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_whole_complex_numbers_need_an_aligned_view(name):
    """16 bytes are exchanged at addresses that are multiples of 16 only."""
    memory = np.zeros(80, np.uint8)
    start = -memory.ctypes.data % 16
    odd, even = (memory[start + k : start + k + 64].view(np.complex128) for k in (8, 0))
    space = es.RangePolicy(3, space=name)

    def square(i, z):
        es.atomic_mul(z, 0, 1j)

    def add(i, z):
        es.atomic_add(z, 0, 1 + 1j)

    def through_a_helper(i, w, z):
        square(0, z[1:])

    es.parallel_for(space, add, odd)  # its parts are added one after the other
    assert odd[0] == 3 + 3j
    with pytest.raises(es.LaunchError, match=r"View 'z' starts at an address .* multiple of 16"):
        es.parallel_for(space, square, odd)
    with pytest.raises(es.LaunchError, match="View 'z' starts"):
        es.parallel_for(space, through_a_helper, odd, odd)
    assert odd[0] == 3 + 3j
    even[:2] = 1
    es.parallel_for(space, square, even)
    es.parallel_for(space, through_a_helper, odd, even)
    assert even[:2].tolist() == [-1j, -1j]


X86 = platform.machine().lower() in ("x86_64", "amd64")


@pytest.mark.skipif(not X86, reason="looks at instructions of x86-64")
@pytest.mark.parametrize(
    ("step", "dtype", "expected"),
    [
        (lambda i, A: es.atomic_add(A, 0, 3), "int64", {"add"}),
        (lambda i, A: es.atomic_fetch_or(A, 0, 3), "int32", {"or"}),  # unwanted, so not fetched
        (lambda i, A: es.atomic_store(A, 1, es.atomic_fetch_add(A, 0, 3)), "int64", {"xadd"}),
        pytest.param(
            lambda i, A: es.atomic_mul(A, 0, 2),
            "complex128",
            {"cmpxchg16b"},
            marks=needs_wide_exchange,
        ),
        (lambda i, A: es.atomic_mul(A, 0, 2), "complex64", {"cmpxchg"}),
    ],
)
def test_one_instruction_where_the_machine_has_one(step, dtype, expected):
    found = es.explain(es.RangePolicy(1, space="serial"), step, np.ones(2, dtype))
    found = re.findall(r"lock\s+(cmpxchg16b|[a-z]+?)[bwlq]?\s", found.assembly)
    assert set(found) == expected


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_whole_complex_numbers_change_where_the_space_says_so(name):
    space, z = es.space(name), es.View(2, complex, memory=es.HOST)
    assert space.capabilities.atomic_bytes == (16 if has_wide_exchange() else 8)
    launch = lambda: es.parallel_for(  # noqa: E731
        es.RangePolicy(2, space=space), lambda i, z: es.atomic_store(z, i, 1j), z
    )
    if space.capabilities.atomic_bytes == 16:
        launch()
        assert np.asarray(z).tolist() == [1j, 1j]
    else:
        with pytest.raises(es.KernelTypeError, match="no atomic operation on a whole complex128"):
            launch()


ASKED_LATE = """
import sys
import execspace as es

space = es.space("serial")
assert "llvmlite" not in sys.modules and "execspace_compiler" not in sys.modules
print(space.capabilities is space.capabilities, "llvmlite" in sys.modules)
"""


def test_what_the_processor_can_do_is_found_out_when_it_is_asked_for(python):
    assert python(ASKED_LATE) == "True True\n"


REFUSED = """
import numpy as np
import pytest
import execspace as es

z = np.ones(4, complex)
for name in ("serial", "openmp"):
    assert es.space(name).capabilities.atomic_bytes == 8
    es.parallel_for(es.RangePolicy(2, space=name), lambda i, z: es.atomic_add(z, i, 1j), z)
    with pytest.raises(es.KernelTypeError, match="no atomic operation on a whole complex128"):
        es.parallel_for(es.RangePolicy(2, space=name), lambda i, z: es.atomic_mul(z, i, 1j), z)
print(z)
"""


@pytest.mark.skipif(not X86, reason="names processors of x86-64")
def test_a_processor_without_exchanges_of_16_bytes_refuses_whole_complex_numbers(python):
    assert python(REFUSED, EXECSPACE_CPU="generic") == "[1.+2.j 1.+2.j 1.+0.j 1.+0.j]\n"
