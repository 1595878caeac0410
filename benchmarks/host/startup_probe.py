"""One fresh process of the start-up cases; prints its times as JSON. Run by startup.py."""

from __future__ import annotations

import json
import sys
from time import perf_counter


def import_cost() -> dict[str, float]:
    """Seconds to import NumPy, and then execspace."""
    t0 = perf_counter()
    import numpy  # noqa: F401

    t1 = perf_counter()
    import execspace  # noqa: F401

    t2 = perf_counter()
    return {"numpy": t1 - t0, "execspace": t2 - t1}


def two_launches(space: str) -> dict[str, float | bool]:
    """Seconds to start a space, for the first launch, and for that of a second kernel."""
    import execspace as es
    from benchmarks.common.heat import heat3
    from benchmarks.host.triad import triad2

    t0 = perf_counter()
    es.space(space)
    t1 = perf_counter()
    with es.use_space(space):
        small, cubes = [es.View((8, 8)) for _ in range(3)], [es.View((8, 8, 8)) for _ in range(2)]
        t2 = perf_counter()
        es.parallel_for(es.MDRangePolicy((8, 8)), triad2, 2.0, *small)
        t3 = perf_counter()
        es.parallel_for(es.MDRangePolicy((1, 1, 1), (7, 7, 7)), heat3, 0.1, *cubes)
        t4 = perf_counter()
    from_disk = all(getattr(p, "from_disk", False) for p in heat3.plans.values())
    return {"start": t1 - t0, "first": t3 - t2, "second": t4 - t3, "from_disk": from_disk}


def two_numba_functions() -> dict[str, float]:
    """The same two kernels as hand-written prange loops."""
    t0 = perf_counter()
    import numba
    import numpy as np

    t1 = perf_counter()

    @numba.njit(parallel=True)
    def triad(s, a, b, c):  # type: ignore[no-untyped-def]
        for i in numba.prange(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = b[i, j] + s * c[i, j]

    @numba.njit(parallel=True)
    def heat(s, a, b):  # type: ignore[no-untyped-def]
        for i in numba.prange(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                for k in range(1, a.shape[2] - 1):
                    around = (
                        b[i - 1, j, k] + b[i + 1, j, k] + b[i, j - 1, k]
                        + b[i, j + 1, k] + b[i, j, k - 1] + b[i, j, k + 1]
                    )  # fmt: skip
                    a[i, j, k] = b[i, j, k] + s * (around - 6.0 * b[i, j, k])

    small, cubes = [np.ones((8, 8)) for _ in range(3)], [np.ones((8, 8, 8)) for _ in range(2)]
    t2 = perf_counter()
    triad(2.0, *small)
    t3 = perf_counter()
    heat(0.1, *cubes)
    t4 = perf_counter()
    return {"start": t1 - t0, "first": t3 - t2, "second": t4 - t3}


if __name__ == "__main__":
    if sys.argv[1] == "import":
        found: dict[str, float | bool] = {**import_cost()}
    elif sys.argv[1] == "numba":
        found = {**two_numba_functions()}
    else:
        found = two_launches(sys.argv[2])
    print(json.dumps(found))
