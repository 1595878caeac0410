"""Kernels of the reductions over ranges of rank 1 to 6, and the one that fills memory."""

from __future__ import annotations

import execspace as es


@es.kernel
def fill(i, x, table, place, special):
    """Repeat a table, but for one place, if that is not negative."""
    x[i] = special if i == place else table[i % table.extent(0)]


@es.kernel
def element1(i, x):
    return x[i]


@es.kernel
def product1(i, x, y):
    return x[i] * y[i]


@es.kernel
def located1(i, x):
    return x[i], i


@es.kernel
def three1(i, x):
    v = x[i]
    return v, v * v, v


@es.kernel
def element2(i, j, x):
    return x[i, j]


@es.kernel
def product2(i, j, x, y):
    return x[i, j] * y[i, j]


@es.kernel
def located2(i, j, x):
    return x[i, j], (i, j)


@es.kernel
def three2(i, j, x):
    v = x[i, j]
    return v, v * v, v


@es.kernel
def element3(i, j, k, x):
    return x[i, j, k]


@es.kernel
def product3(i, j, k, x, y):
    return x[i, j, k] * y[i, j, k]


@es.kernel
def located3(i, j, k, x):
    return x[i, j, k], (i, j, k)


@es.kernel
def three3(i, j, k, x):
    v = x[i, j, k]
    return v, v * v, v


@es.kernel
def element4(i, j, k, p, x):
    return x[i, j, k, p]


@es.kernel
def product4(i, j, k, p, x, y):
    return x[i, j, k, p] * y[i, j, k, p]


@es.kernel
def located4(i, j, k, p, x):
    return x[i, j, k, p], (i, j, k, p)


@es.kernel
def three4(i, j, k, p, x):
    v = x[i, j, k, p]
    return v, v * v, v


@es.kernel
def element5(i, j, k, p, q, x):
    return x[i, j, k, p, q]


@es.kernel
def product5(i, j, k, p, q, x, y):
    return x[i, j, k, p, q] * y[i, j, k, p, q]


@es.kernel
def located5(i, j, k, p, q, x):
    return x[i, j, k, p, q], (i, j, k, p, q)


@es.kernel
def three5(i, j, k, p, q, x):
    v = x[i, j, k, p, q]
    return v, v * v, v


@es.kernel
def element6(i, j, k, p, q, r, x):
    return x[i, j, k, p, q, r]


@es.kernel
def product6(i, j, k, p, q, r, x, y):
    return x[i, j, k, p, q, r] * y[i, j, k, p, q, r]


@es.kernel
def located6(i, j, k, p, q, r, x):
    return x[i, j, k, p, q, r], (i, j, k, p, q, r)


@es.kernel
def three6(i, j, k, p, q, r, x):
    v = x[i, j, k, p, q, r]
    return v, v * v, v


ELEMENT = {1: element1, 2: element2, 3: element3, 4: element4, 5: element5, 6: element6}

PRODUCT = {1: product1, 2: product2, 3: product3, 4: product4, 5: product5, 6: product6}

LOCATED = {1: located1, 2: located2, 3: located3, 4: located4, 5: located5, 6: located6}

THREE = {1: three1, 2: three2, 3: three3, 4: three4, 5: three5, 6: three6}
