"""Atomic functions on the host: called from Python, and what the machine is asked for.

What they do in kernels is tested on every space by the conformance kit's level of atomic steps.
"""

from __future__ import annotations

import platform
import re
import sys

import numpy as np
import pytest

import execspace as es
from execspace_compiler.host.wide import has_wide_exchange
from execspace_testing.suite.atomics.operations import DTYPES, results


@pytest.mark.parametrize("dtype", ["int16", "uint8", "uint16", *DTYPES])
def test_on_the_host_they_are_plain_python(dtype):
    def loop(n, kernel, *args):
        for i in range(n):
            kernel(i, *args)

    results(dtype, loop)


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
    before = set(sys.modules)
    es.parallel_for(es.RangePolicy(1, space="serial"), step, np.ones(2, dtype))
    new = set(sys.modules) - before
    (module,) = [sys.modules[n] for n in new if re.fullmatch("execspace_[0-9a-f]{40}", n)]
    (compiled,) = module.launch.overloads.values()
    found = re.findall(r"lock\s+(cmpxchg16b|[a-z]+?)[bwlq]?\s", compiled.library.get_asm_str())
    assert set(found) == expected


REFUSED = """
import numpy as np
import pytest
import execspace as es

z = np.ones(4, complex)
for name in ("serial", "openmp"):
    es.parallel_for(es.RangePolicy(2, space=name), lambda i, z: es.atomic_add(z, i, 1j), z)
    with pytest.raises(es.KernelTypeError, match="no atomic step on a whole complex128"):
        es.parallel_for(es.RangePolicy(2, space=name), lambda i, z: es.atomic_mul(z, i, 1j), z)
print(z)
"""


@pytest.mark.skipif(not X86, reason="names processors of x86-64")
def test_a_processor_without_exchanges_of_16_bytes_refuses_whole_complex_numbers(python):
    assert python(REFUSED, NUMBA_CPU_NAME="generic") == "[1.+2.j 1.+2.j 1.+0.j 1.+0.j]\n"
