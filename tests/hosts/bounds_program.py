"""Kernels with indices out of bounds, for test_bounds_checks.py; prints what they raise as JSON."""

import json
import sys

import numpy as np

import execspace as es
from execspace_testing import staged

SPACE = sys.argv[1]
N = es.RangePolicy(8, space=SPACE)


def element(i, x):
    x[i] = x[i + 1]


def read_row(A, i, j):
    return A[i, j]


def in_a_helper(i, A, x):
    x[i] = read_row(A, 0, i)


def negative(i, x):
    x[i] = x[i - 1]


def private(i, x):
    own = es.local(3)
    own[i] = 1.0
    x[i] = own[0]


def atomic(i, x):
    es.atomic_add(x, i + 3, 1.0)


def of_a_subview(i, x):
    x[2:4][i] = 1.0


def pair(i, x):
    es.subview(x, (1, i + 4))[0] = 1.0


def field(i, p):
    p[0].v[i] = 1.0


def tuple_item(i, x):
    x[i] = (1.0, 2.0, 3.0)[i]


def row(i, A, x):
    A[0, :] = x[:i]


def reduced(i, x):
    return x[2 * i]


def scanned(i, prefix, final, x):
    return x[2 * i]


def team(t, x):
    for k in es.TeamThreadRange(t, 5):
        x[t.league_rank * 5 + k] = 1.0
    t.barrier()
    x[0] = 2.0


def scratch(t, x):
    own = t.scratch(4, es.float64)
    own[t.league_rank + 3] = 1.0
    x[t.league_rank] = own[3]


def within(i, x, y):
    total = 0.0
    for k in range(3):
        total += x[i + k]
    y[i] = total


def view(array):
    return staged.view_on(es.space(SPACE), array)


def main():
    x, A = np.arange(8.0), np.zeros((2, 4))
    p = np.zeros(2, np.dtype([("v", np.float64, (3,))]))
    teams = es.TeamPolicy(2, space=SPACE)
    launches = {
        "element": (es.parallel_for, N, element, x),
        "in_a_helper": (es.parallel_for, N, in_a_helper, A, x),
        "negative": (es.parallel_for, N, negative, x),
        "private": (es.parallel_for, N, private, x),
        "atomic": (es.parallel_for, N, atomic, x),
        "of_a_subview": (es.parallel_for, N, of_a_subview, x),
        "pair": (es.parallel_for, N, pair, x),
        "field": (es.parallel_for, N, field, p),
        "tuple_item": (es.parallel_for, N, tuple_item, x),
        "row": (es.parallel_for, N, row, A, x),
        "reduced": (es.parallel_reduce, N, reduced, x),
        "scanned": (es.parallel_scan, N, scanned, x),
        "team": (es.parallel_for, teams, team, x),
        "scratch": (es.parallel_for, teams, scratch, x),
    }
    found = {}
    for name, (launch, policy, kernel, *arrays) in launches.items():
        try:
            launch(policy, kernel, *map(view, arrays))
            es.fence()
        except Exception as error:
            found[name] = type(error).__name__, str(error)
        else:
            found[name] = "nothing", "nothing was raised"
    y = view(np.zeros(6))
    es.parallel_for(es.RangePolicy(6, space=SPACE), within, view(x), y)
    found["within"] = staged.fetch(y).tolist()
    json.dump(found, sys.stdout)


main()
