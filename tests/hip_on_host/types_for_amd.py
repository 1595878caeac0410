r"""The kernels of the benchmark of element types, on the host, to collect their texts.

    PYTHONPATH=. python tests/hip_on_host/run.py --arch gfx942 --texts folder -- \
        tests/hip_on_host/types_for_amd.py
    python tests/support/hip_compile.py folder --json found.json

Sums and prefixes are exact in every type and order, as in the benchmark.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.cuda.element_types import ELEMENTS, FACTOR, STREAMS, TYPES, inclusive

import execspace as es

SHAPES = {1: (4099 * 8,), 2: (13, 1536), 3: (5, 24, 384), 4: (3, 4, 12, 96)}


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_streams_reductions_and_scans(dtype, rank):
    space, shape = es.space("hip"), SHAPES[rank]
    random = np.random.default_rng(1)
    x = (random.integers(0, 1000, shape) == 0).astype(dtype)
    y = random.integers(0, 8, shape).astype(dtype)
    X, Y, Z = (es.array(a, space=space) for a in (x, y, np.zeros_like(x)))
    policy = es.MDRangePolicy(shape, space=space)
    if rank == 1:
        policy = es.RangePolicy(shape[0], space=space)
    for name, factor in (("add", 1), ("triad", FACTOR)):
        es.parallel_for(policy, STREAMS[name][rank - 1], X, Y, Z)
        np.testing.assert_array_equal(Z.to_numpy(), x + np.dtype(dtype).type(factor) * y)
    element = ELEMENTS[rank - 1]
    real = np.dtype(dtype).kind != "c"
    if real:
        assert es.parallel_reduce(policy, element, Y, reducer=es.Max) == y.max()
    assert es.parallel_reduce(policy, element, X, reducer=es.Sum) == x.astype(complex).sum()
    if rank == 1:
        total = es.View((), dtype, space=space)
        es.parallel_scan(policy, inclusive, X, Z, out=total)
        expected = np.cumsum(x, dtype=np.float64 if real else np.complex128)
        np.testing.assert_array_equal(Z.to_numpy(), expected.astype(dtype))
