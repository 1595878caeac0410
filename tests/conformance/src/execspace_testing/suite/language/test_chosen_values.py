"""Views, functions and objects that a kernel chooses at run time, and items of tuples at an index.

All kernels are run by CPython, too, with NumPy's arrays.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


def conditional(i, x, y):
    v = x if i % 2 else y
    v[i] = 1.0 + v[i] * 2


def on_paths(i, x, y):
    if i % 2:
        v = x
    else:
        v = y
    v[i] += i


def by_index(i, x, y):
    (x, y)[i % 2][i] = i


def parts(i, x, y):
    v = (x[1:], y[:-1])[i % 2]
    if i < v.shape[0]:
        v[i] -= 1


def numbers(i, x, y):
    t = (1, 5.5, 7, i)
    x[i] = t[i % 4]
    k, c = ((1, 2), (3, 4), (5.5, 6))[i % 3]
    y[i] = k * 10 + c


def buffers(i, x, y):
    a, b = x, y
    for _ in range(i):
        b[i] = a[i] + 1
        a, b = b, a


def exchanged_parts(i, x, y):
    a, b = x[0:3], x[3:6]
    a, b = b, a
    if i == 0:
        a[0], b[1] = 100, 200


def add(a):
    return a + 1


def triple(a):
    return a * 3


OPERATIONS = (add, triple, lambda a: -a)
CURVES = ((2.0, math.floor), (3.0, triple), (1.0, abs))


def functions(i, x, y):
    x[i] = OPERATIONS[i % 3](x[i])
    f = add if i % 2 else triple
    y[i] = f(y[i])
    if i == 3:
        g = add
    else:
        g = triple
    y[i] += g(x[i])
    factor, curve = CURVES[i % 3]
    x[i] = factor * curve(x[i])


def grow(v, k):
    v[k] += len(v)
    return v[k]


def passed(i, x, y):
    v = x if i % 2 else y
    x[i] = grow(v, i) + v.shape[0] + v.size


def rows(i, x, y):
    if i < 2:
        v, w = (x, y) if i % 2 else (y, x)
        v[i * 3 : i * 3 + 3] = w[i * 3 : i * 3 + 3]
        v[i * 3 : i * 3 + 3] *= 2


def in_a_loop(i, x, y):
    v = x
    for k in range(3):
        v[i] += k
        if k == i:
            v = y


def nested(i, x, y):
    v = (x if i < 2 else y) if i < 4 else x
    w = (x, y, v)[i % 3]
    w[i] += 10 * v[i]


def side_effect(v, i):
    v[i] = 7
    return 5


def read_before(i, x, y):
    v = x if i % 2 else y
    v[i] += side_effect(v, i)


def rows_of_one_view(i, x, y):
    a = x[0:3] if i % 2 else x[3:6]
    y[i] = a[i % 3]


def part_or_whole(i, x, y):
    if i < 2:
        t = x[: i + 2] if i % 2 else y[:]
        t[i % 2] += 1
        s = (y[i:], y[1:2])[i % 2]
        s[0] += 2


def bisection(i, x, y):
    t = y
    n = 0
    while len(t) > 2 and n < 3:
        t = t[: len(t) // 2] if (i + n) % 2 else t[len(t) // 2 :]
        n += 1
    if i < 2:
        t[0] += 9


def exchanged_kinds(i, x, y):
    a, b = x[0:3], y[:3]
    if i % 2:
        a, b = b, a
    if i < 2:
        a[0] += 7
        b[1] -= 1


def updated_by_a_part(i, x, y):
    if i == 0:
        t = x[3:] if i % 2 else y[3:]
        x[:3] += t[:]


KERNELS = [
    conditional, on_paths, by_index, parts, numbers, buffers, exchanged_parts, functions, passed,
    rows, in_a_loop, nested, read_before, rows_of_one_view, part_or_whole, bisection,
    exchanged_kinds, updated_by_a_part,
]  # fmt: skip


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "i4"), ("i2", "u4")], ids="/".join)
@pytest.mark.parametrize("kernel", KERNELS)
def test_as_python(space, kernel, dtypes):
    x, y = np.arange(6).astype(dtypes[0]), np.arange(10, 16).astype(dtypes[1])
    if kernel is exchanged_parts:
        x = x.astype("f8")
    on_space = staged.view_on(space, x), staged.view_on(space, y)
    es.parallel_for(es.RangePolicy(6, space=space), kernel, *on_space)
    with np.errstate(all="ignore"):
        for i in range(6):
            kernel(i, x, y)
    for view, array in zip(on_space, (x, y), strict=True):
        np.testing.assert_array_equal(staged.fetch(view), array)


def test_of_several_layouts_and_extents(space):
    """Nothing is read of what is not chosen: the shorter View has no such element."""
    short = staged.view_on(space, np.full((1, 2), 5.0))
    long = staged.view_on(space, np.asarray(np.arange(12.0).reshape(6, 2), order="F"))

    def kernel(i, out, views):
        v = views[1] if i > 0 else views[0]
        out[i] = v[i, 1] + v.extent(0)

    out = staged.view_on(space, np.zeros(6))
    es.parallel_for(es.RangePolicy(6, space=space), kernel, out, (short, long))
    assert staged.fetch(out).tolist() == [6, 9, 11, 13, 15, 17]


def test_atomics_and_the_library(space):
    table = np.arange(0, 20.0, 2)
    x, y = staged.view_on(space, table), staged.view_on(space, table + 10)
    counts = staged.view_on(space, np.zeros(2, np.int64)), staged.view_on(space, np.zeros(2, "i4"))

    def kernel(i, tables, counts):
        place = es.lower_bound(tables[i % 2], 10.0)
        es.atomic_add(counts[i % 2], 0, es.int32(place))
        old = es.atomic_fetch_add(counts[i % 2], 1, 1)
        assert 0 <= old < 50

    es.parallel_for(es.RangePolicy(100, space=space), kernel, (x, y), counts)
    assert [staged.fetch(c).tolist() for c in counts] == [[250, 50], [0, 50]]


def test_records(space):
    kind = np.dtype([("at", np.float64), ("id", np.int32)])
    x, y = (staged.view_on(space, np.array([(v, n)] * 4, kind)) for v, n in ((1.5, 1), (2.5, 2)))

    def kernel(i, x, y, out):
        v = x if i % 2 else y
        v[i].id += 10
        out[i] = v[i].at * v[i].id

    out = staged.view_on(space, np.zeros(4))
    es.parallel_for(es.RangePolicy(4, space=space), kernel, x, y, out)
    assert staged.fetch(out).tolist() == [30, 16.5, 30, 16.5]


@dataclass
class Circle:
    radius: float

    def area(self):
        return 3 * self.radius * self.radius


@dataclass
class Bar:
    width: float
    heights: es.View

    def area(self):
        return self.width * self.heights[0]


def test_objects_with_methods(space):
    """As virtual functions of a base class in C++."""
    bar = Bar(2.0, staged.view_on(space, np.full(1, 5.0)))

    def kernel(i, shapes, out):
        out[i] = shapes[i % 3].area()

    out = staged.view_on(space, np.zeros(6))
    shapes = (Circle(1.0), bar, Circle(2.0))
    es.parallel_for(es.RangePolicy(6, space=space), kernel, shapes, out)
    assert staged.fetch(out).tolist() == [3, 10, 12] * 2


def test_objects_in_variables(space):
    """Of one class, of several, by an index, a condition, and on several paths."""
    a, b, bar = Circle(1.0), Circle(2.0), Bar(2.0, staged.view_on(space, np.full(1, 5.0)))

    def kernel(i, a, b, bar, out):
        s = (a, b, bar)[i % 3]
        t = a if i % 2 else b
        if i == 0:
            u = a
        elif i == 1:
            u = bar
        else:
            u = b
        out[i] = s.area() + 100 * t.radius + 1000 * u.area()

    out = staged.view_on(space, np.zeros(4))
    es.parallel_for(es.RangePolicy(4, space=space), kernel, a, b, bar, out)
    assert staged.fetch(out).tolist() == [3203, 10112, 12210, 12103]


def test_in_teams(space):
    x, y = (staged.view_on(space, np.zeros(64)) for _ in range(2))

    def kernel(team, x, y):
        v = x if team.league_rank % 2 else y
        for k in es.TeamThreadRange(team, 16):
            v[team.league_rank * 16 + k] = k
        team.barrier()
        total = es.parallel_reduce(
            es.TeamThreadRange(team, 16), lambda k: v[team.league_rank * 16 + k]
        )
        if es.single(es.PerTeam(team)):
            v[team.league_rank * 16] = total

    es.parallel_for(es.TeamPolicy(4, space=space), kernel, x, y)
    full = [120, *range(1, 16)]
    assert staged.fetch(x).tolist() == ([0] * 16 + full) * 2
    assert staged.fetch(y).tolist() == (full + [0] * 16) * 2


def test_refused(space):
    x = staged.view_on(space, np.zeros((4, 4)))

    def ranks(i, x):
        v = x if i else x[0, :]
        v[0] = 1.0

    def a_number(i, x):
        v = x if i else 1.0
        x[0, 0] = v

    def returned(i, x):
        return x[0, :] if i else x[:, 1]

    def results(i, x):
        f = (lambda v: v) if i else (lambda v: None)
        x[0, 0] = f(1.0)

    def local(i, x):
        a, b = es.local(2), es.local(2)
        if i:
            v = a
        else:
            v = b
        v[0] = 1.0

    def no_items(i, x):
        x[i, i] = ()[i]

    for kernel, message in {
        ranks: "cannot choose between View 'x' and subview|cannot choose between subview",
        a_number: "cannot choose between View 'x' and Python float",
        results: "a choice gives|cannot store None|expected a number, got None",
        local: "second name for local array",
        no_items: "tuples of 1 to 64 items",
    }.items():
        with pytest.raises(es.KernelTypeError, match=message):
            es.parallel_for(es.RangePolicy(2, space=space), kernel, x)
    with pytest.raises(es.KernelTypeError, match="cannot return one of subview"):
        es.parallel_reduce(es.RangePolicy(2, space=space), returned, x)
