"""The kernels of execspace that the benchmarks of devices time."""

from __future__ import annotations

import execspace as es


@es.kernel
def triad(i, a, x, y, z):
    z[i] = x[i] + a * y[i]


@es.kernel
def triad2(i, j, a, x, y, z):
    z[i, j] = x[i, j] + a * y[i, j]


@es.kernel
def triad3(i, j, k, a, x, y, z):
    z[i, j, k] = x[i, j, k] + a * y[i, j, k]


@es.kernel
def triad4(i, j, k, p, a, x, y, z):
    z[i, j, k, p] = x[i, j, k, p] + a * y[i, j, k, p]


@es.kernel
def triad5(i, j, k, p, q, a, x, y, z):
    z[i, j, k, p, q] = x[i, j, k, p, q] + a * y[i, j, k, p, q]


@es.kernel
def triad6(i, j, k, p, q, r, a, x, y, z):
    z[i, j, k, p, q, r] = x[i, j, k, p, q, r] + a * y[i, j, k, p, q, r]


TRIADS = {2: triad2, 3: triad3, 4: triad4, 5: triad5, 6: triad6}


@es.kernel
def product(i, x, y):
    return x[i] * y[i]


@es.kernel
def element(i, x):
    return x[i]


@es.kernel
def element3(i, j, k, x):
    return x[i, j, k]


@es.kernel
def element_and_place(i, x):
    return x[i], i


@es.kernel
def exclusive(i, prefix, final, x, z):
    if final:
        z[i] = prefix
    return x[i]


@es.kernel
def inclusive(i, prefix, final, x, z):
    if final:
        z[i] = prefix + x[i]
    return x[i]


@es.kernel
def count(i, keys, counters):
    es.atomic_add(counters, keys[i], 1)
