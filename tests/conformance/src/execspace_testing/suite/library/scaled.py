"""fill_random for each dtype: bounds, and what an element with a linear index must be."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace_testing import staged

SCALED = {
    np.float64: ((-2.5, 4.0), lambda n: -2.5 + 6.5 * es.random_uniform(9, n)),
    np.float32: ((-2, 4), lambda n: np.float32(-2) + 6 * es.random_uniform32(9, n)),
    np.int8: ((-128, 128), lambda n: es.random_integer(9, n, -128, 128)),
    np.uint16: ((7, 9), lambda n: es.random_integer(9, n, 7, 9)),
    np.int64: ((-(2**63), 5), lambda n: es.random_integer(9, n, -(2**63), 5)),
    np.uint64: ((2**63, 2**63 + 9), lambda n: 2**63 + int(es.random_integer(9, n, 0, 9))),
    np.bool_: ((), lambda n: es.random_integer(9, n, 0, 2) == 1),
    np.complex64: ((), lambda n: complex(*(es.random_uniform32(9, 2 * n + k) for k in (0, 1)))),
    np.complex128: ((), lambda n: complex(*(es.random_uniform(9, 2 * n + k) for k in (0, 1)))),
}


def check_element_type(dtype, space):
    space = es.space(space) if isinstance(space, str) else space
    bounds, element = SCALED[dtype]
    x = np.zeros(40, dtype)
    staged.fill_random(x, 9, *bounds, space=space)
    assert x.tolist() == [dtype(element(n)) for n in range(40)]
