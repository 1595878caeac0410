"""One fresh process: milliseconds of the first launch of a kernel. Run by run.py.

    python -m benchmarks.lanes.first NAME SPACE REAL LANES

LANES is a number, or `auto`. What is printed is the first launch less a later one, when kernels of
another text have been compiled, in lanes and not, so that nothing is left to import. The folder of
compiled kernels should be empty.
"""

from __future__ import annotations

import math
import sys
from time import perf_counter

import execspace as es
from benchmarks.lanes.cases import CASES


@es.kernel
def _flat(i, x, y):
    total = 0.0
    for k in range(len(x)):
        if x[k] > y[i]:
            total += math.sqrt(x[k])
    y[i] = total


@es.kernel
def _rows(i, j, z):
    n = 0
    while n < 4 and z[i, j] > 1.0:
        z[i, j] *= 0.5
        n += 1


def main(name: str, space_name: str, real: str, lanes: str) -> None:
    space = es.space(space_name)
    x, y, z = (es.ones(shape, dtype=real, space=space) for shape in (64, 64, (8, 64)))
    for number in (4, 1):
        es.parallel_for(es.RangePolicy(64, space=space, lanes=number), _flat, x, y)
        es.parallel_for(es.MDRangePolicy((8, 64), space=space, lanes=number), _rows, z)
    case = CASES[name](real, space)
    policy = case.policy(space, None if lanes == "auto" else int(lanes))
    times = []
    for _ in range(4):
        started = perf_counter()
        es.parallel_for(policy, case.kernel, *case.arguments)
        space.fence()
        times.append(perf_counter() - started)
    print(1e3 * (times[0] - min(times[1:])))


if __name__ == "__main__":
    main(*sys.argv[1:])
