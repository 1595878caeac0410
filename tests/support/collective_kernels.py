"""Runs the kernels that need barriers or atomic operations on a space: reductions, scans,
histograms.

Small, so that a checker of memory and races can watch each access:

    compute-sanitizer --tool racecheck python tests/support/collective_kernels.py --space cuda
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import execspace as es

N = 20_000  # several groups, and several bundles of tiles


def element(i, x):
    return x[i]


def located(i, x):
    return x[i], i


def several(i, x):
    return x[i], x[i] * x[i], True


def powers(i, a, x):
    for k in range(3):
        a[k] += x[i] ** k


def matrix(i, j, A):
    return A[i, j]


def prefix_sum(i, prefix, final, x, y):
    if final:
        y[i] = prefix + x[i]
    return x[i]


def prefix_pair(i, prefix, final, x, y):
    if final:
        y[i] = prefix[0] + prefix[1]
    return x[i], x[i] + 1


def prefix_complex(i, prefix, final, z, w):
    if final:
        w[i] = prefix
    return z[i]


def count(i, keys, bins):
    es.atomic_add(bins, keys[i], 1)


def largest(i, x, most, small):
    es.atomic_max(most, 0, x[i])
    es.atomic_add(small, i % 3, 1)
    es.atomic_add(most, 1, 0.5)


def run(name: str) -> list[str]:
    """Launch every kernel; the names of those whose results are wrong."""
    space = es.space(name)
    policy = es.RangePolicy(N, space=space)
    values = np.random.default_rng(5).integers(-50, 50, N)
    x = _placed(space, values.astype(float))
    z = _placed(space, values + 1j)
    A = _placed(space, values.reshape(100, 200).astype(float))
    wrong: list[str] = []

    def check(what: str, found: object, expected: object) -> None:
        if not np.array_equal(np.asarray(found), np.asarray(expected)):
            wrong.append(f"{what}: {found} instead of {expected}")

    floats = values.astype(float)
    reduce = es.parallel_reduce
    check("sum", reduce(policy, element, x), floats.sum())
    check("accurate", reduce(policy, element, x, reducer=es.Sum(accuracy="high")), floats.sum())
    found = reduce(policy, located, x, reducer=es.MinLoc)
    check("least", found.val, floats.min())
    triple = reduce(policy, several, x, reducer=(es.Sum, es.Max, es.LAnd))
    check("several", triple[:2], (floats.sum(), (floats**2).max()))
    check("array", reduce(policy, powers, x, reducer=es.Sum(shape=3)),
          [N, floats.sum(), (floats**2).sum()])  # fmt: skip
    whole = es.MDRangePolicy((0, 0), A.shape, space=space)
    check("rank 2", reduce(whole, matrix, A), floats.sum())
    total = es.View((), space=space)
    es.parallel_reduce(policy, element, x, out=total)
    check("out", _fetched(total), floats.sum())

    y = es.View(N, space=space)
    w = es.View(N, es.complex128, space=space)
    for _ in range(2):  # the second one finds the flags of the first
        check("scan", es.parallel_scan(policy, prefix_sum, x, y), floats.sum())
        check("scanned", _fetched(y), floats.cumsum())
    es.parallel_scan(policy, prefix_pair, x, y, reducer=(es.Sum, es.Sum))
    expected = 2 * (floats.cumsum() - floats) + np.arange(N)
    check("pairs", _fetched(y), expected)
    es.parallel_scan(policy, prefix_complex, z, w)
    check("complex", _fetched(w), (values + 1j).cumsum() - (values + 1j))

    bins = es.View(100, es.int32, space=space)
    keys = _placed(space, values + 50)
    es.parallel_for(policy, count, keys, bins)
    check("histogram", _fetched(bins), np.bincount(values + 50, minlength=100))
    most, small = es.View(2, space=space), es.View(3, es.int8, space=space)
    es.parallel_for(policy, largest, x, most, small)
    check("steps", _fetched(most), [max(floats.max(), 0.0), N / 2])
    return wrong


def beyond(i, x):
    x[i + 1_000_000] = 1.0


def plant(name: str) -> None:
    """Write beyond the end of a View, which a checker of memory must find."""
    space = es.space(name)
    x = es.View(8, space=space)
    es.parallel_for(es.RangePolicy(8, space=space), beyond, x)
    space.fence()


def _placed(space: es.ExecutionSpace, values: np.ndarray) -> es.View:
    made = es.View(values.shape, values.dtype, space=space)
    es.deep_copy(made, values)
    return made


def _fetched(view: es.View) -> np.ndarray:
    values = np.empty(view.shape, view.dtype)
    es.deep_copy(values, view)
    return values


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--space", default="cuda")
    parser.add_argument("--planted", action="store_true", help="run a kernel with a fault instead")
    options = parser.parse_args()
    if options.planted:
        plant(options.space)
    faults = [] if options.planted else run(options.space)
    print("\n".join(faults) or "all results are right")
    sys.exit(bool(faults))
