"""One fresh process that launches kernels for the first time; prints milliseconds as JSON.

Run by launches.py, which sets the folders of the caches. CUDA, the space and the compiler have
been used before the clock starts; the kernel that is timed has not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import cupy
import numpy as np

import execspace as es

N = 1024
WARM = """
extern "C" __global__ void warm(double a, double *x, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a;
}
"""
TIMED = """
extern "C" __global__ void timed(double a, const double *x, const double *y, double *z,
                                 unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + a * y[i];
}
"""


@es.kernel
def warm(i, a, x):
    x[i] = a


@es.kernel
def timed(i, a, x, y, z):
    z[i] = x[i] + a * y[i]


def ours(name: str) -> dict[str, Any]:
    """Milliseconds of execspace's first launch of a kernel, to the end of its work."""
    space: Any = es.space(name)
    x, y, z = (es.View(N, es.float64, space=space, label=label) for label in "xyz")
    policy = es.RangePolicy(0, N, space=space)
    es.parallel_for(policy, warm, 1.0, x)
    es.parallel_for(policy, warm, 2.0, y)
    space.fence()
    started = perf_counter()
    es.parallel_for(policy, timed, 3.0, x, y, z)
    space.fence()
    took = perf_counter() - started
    host = np.zeros(N)
    es.deep_copy(host, z)
    assert (host == 7.0).all(), "the result is wrong"
    # What knows it is the plan, or the program that it launches.
    plans: list[Any] = list(timed.plans.values())
    from_disk = [getattr(getattr(p, "program", p), "from_disk", None) for p in plans]
    return {"ms": took * 1e3, "from_disk": from_disk}


def cupy_raw() -> dict[str, Any]:
    """The same with CuPy's RawKernel, which has a cache of its own."""
    x, y, z = (cupy.zeros(N) for _ in range(3))
    first = cupy.RawKernel(WARM, "warm")
    for value, array in ((1.0, x), (2.0, y)):
        first((N // 128,), (128,), (value, array, np.uint32(N)))
    cupy.cuda.runtime.deviceSynchronize()
    started = perf_counter()
    second = cupy.RawKernel(TIMED, "timed")
    second((N // 128,), (128,), (3.0, x, y, z, np.uint32(N)))
    cupy.cuda.runtime.deviceSynchronize()
    took = perf_counter() - started
    assert (z.get() == 7.0).all(), "the result is wrong"
    return {"ms": took * 1e3}


def attempt(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Times, or why there are none."""
    try:
        return call()
    except Exception as error:  # said by the parent, which goes on
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    cupy.zeros(1)  # starts CUDA
    cupy.cuda.runtime.deviceSynchronize()
    found = {"execspace": attempt(lambda: ours(sys.argv[1])), "CuPy RawKernel": attempt(cupy_raw)}
    print(json.dumps(found))
