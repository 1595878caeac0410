"""The rows: small operations of execspace, and what the libraries underneath take for the same.

Each row is a function that is timed in batches; what it needs is made once, before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import execspace as es

SIZE = 64


class Row(NamedTuple):
    """A function of which one call is timed. `peer`: it is none of execspace's.

    `drain` is called after each batch, outside of the time: what a device has queued is awaited.
    """

    name: str
    call: Callable[[], Any]
    peer: bool = False
    target: float | None = None
    drain: Callable[[], Any] | None = None


@es.kernel
def triad(i, x, y, z):
    x[i] = y[i] + 2.0 * z[i]


@es.kernel
def product(i, x, y):
    return x[i] * y[i]


def rows(space: es.ExecutionSpace) -> list[Row]:
    """The rows of a space."""
    on_host = es.HOST in space.memory_spaces
    policy = es.RangePolicy(SIZE, space=space)

    def by(host: float | None, device: float | None) -> float | None:
        return host if on_host else device

    a, b, c = (es.View(SIZE, space=space) for _ in range(3))
    A = es.View((SIZE, SIZE), space=space)
    array = np.zeros(SIZE)
    result = es.View((), space=space)
    wait = space.fence
    found = [
        Row("launch, 3 Views", lambda: es.parallel_for(policy, triad, a, b, c), drain=wait),
        Row("reduce to a number", lambda: es.parallel_reduce(policy, product, a, b)),
        Row(
            "reduce into a View",
            lambda: es.parallel_reduce(policy, product, a, b, out=result),
            drain=wait,
        ),
        Row("View", lambda: es.View(SIZE, space=space), target=by(2.0, 7.0), drain=wait),
        Row(
            "View, not initialized",
            lambda: es.View(SIZE, space=space, initialize=False),
            target=by(2.0, 4.0),
        ),
        Row("subview of rank 1", lambda: a[2:50], target=by(0.8, 2.0)),
        Row("subview of rank 2", lambda: A[3, :], target=by(0.8, 2.0)),
        Row("deep_copy", lambda: es.deep_copy(a, b), target=by(1.5, 14.0)),
        Row("deep_copy from NumPy", lambda: es.deep_copy(a, array), target=by(None, 11.0)),
        Row("deep_copy to NumPy", lambda: es.deep_copy(array, a), target=by(None, 14.0)),
        Row(
            "deep_copy on an instance", lambda: es.deep_copy(a, b, instance=space),
            target=by(None, 5.0), drain=wait,
        ),
        Row("fill by deep_copy", lambda: es.deep_copy(a, 1.0), target=by(1.0, None)),
        Row("fill on an instance", lambda: a.fill(1.0), target=by(None, 6.0), drain=wait),
        Row("fence, idle", lambda: space.fence(), target=by(0.4, 2.5)),
        Row("fence of all, idle", lambda: es.fence()),
        Row("RangePolicy", lambda: es.RangePolicy(SIZE, space=space), target=0.5),
        Row("MDRangePolicy", lambda: es.MDRangePolicy((1, 1), (9, 9), space=space), target=0.5),
        Row("TeamPolicy", lambda: es.TeamPolicy(4, 2, space=space), target=0.5),
    ]  # fmt: skip
    if on_host:
        one, two, three = (np.zeros(SIZE) for _ in range(3))
        found += [
            Row("launch, 2 Views, 1 array", lambda: es.parallel_for(policy, triad, a, b, one)),
            Row("launch, 3 arrays", lambda: es.parallel_for(policy, triad, one, two, three)),
        ]
    return found + _of_numpy() + ([] if on_host else _of_cupy(a, b, c, policy))


def _of_numpy() -> list[Row]:
    x, y = np.zeros(SIZE), np.zeros(SIZE)
    return [
        Row("NumPy: zeros", lambda: np.zeros(SIZE), True),
        Row("NumPy: slice", lambda: x[2:50], True),
        Row("NumPy: copyto", lambda: np.copyto(x, y), True),
        Row("NumPy: fill", lambda: x.fill(1.0), True),
        Row("NumPy: add", lambda: np.add(x, y, x), True),
        Row("NumPy: dot", lambda: x.dot(y), True),
    ]


def _of_cupy(a: Any, b: Any, c: Any, policy: Any) -> list[Row]:
    """CuPy's, where it is installed, and launches on its arrays."""
    try:
        import cupy
    except ImportError:
        return []
    x, y, z = (cupy.zeros(SIZE) for _ in range(3))
    host = np.zeros(SIZE)
    stream = cupy.cuda.get_current_stream()
    text = (
        'extern "C" __global__ void triad(double* x, double* y, double* z, long n)'
        "{ long i = blockIdx.x * 64l + threadIdx.x; if (i < n) x[i] = y[i] + 2.0 * z[i]; }"
    )
    raw = cupy.RawKernel(text, "triad")
    given = (x, y, z, np.int64(SIZE))
    wait = stream.synchronize
    found = [
        Row("CuPy: RawKernel, 3 arrays", lambda: raw((1,), (64,), given), True, None, wait),
        Row("CuPy: empty", lambda: cupy.empty(SIZE), True),
        Row("CuPy: zeros", lambda: cupy.zeros(SIZE), True, None, wait),
        Row("CuPy: slice", lambda: x[2:50], True),
        Row("CuPy: copyto", lambda: cupy.copyto(x, y), True, None, wait),
        Row("CuPy: copyto, wait", lambda: (cupy.copyto(x, y), wait()), True),
        Row("CuPy: set, wait", lambda: (x.set(host), wait()), True),
        Row("CuPy: get", lambda: x.get(), True),
        Row("CuPy: fill", lambda: x.fill(1.0), True, None, wait),
        Row("CuPy: synchronize", wait, True),
        Row("CuPy: dot, to a number", lambda: float(x.dot(y)), True),
    ]
    if a.space.name.startswith("cuda"):
        found += [
            Row(
                "launch, 2 Views, 1 CuPy array",
                lambda: es.parallel_for(policy, triad, a, b, z), drain=wait,
            ),
            Row(
                "launch, 3 CuPy arrays",
                lambda: es.parallel_for(policy, triad, x, y, z), drain=wait,
            ),
        ]  # fmt: skip
    return found
