"""Dataclasses, NamedTuples and tuples of Views and numbers as arguments of launches."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 6


@dataclass
class Field:
    """Numbers of sites, and what they are multiplied by."""

    data: es.View
    factor: float
    parity: es.static = 0

    HALF = 0.5

    def at(self, i):
        return self.data[i] * self.factor

    @property
    def double(self):
        return self.factor * 2

    @staticmethod
    def other(i, n):
        return n - 1 - i


class Grid(NamedTuple):
    points: es.View
    step: float


@dataclass(frozen=True)
class System:
    field: Field
    grid: Grid
    weights: tuple
    name: str | None = None


def view(space, values):
    return staged.view_on(space, np.asarray(values, np.float64))


def made(space):
    field = Field(view(space, np.arange(N)), 2.0)
    return System(field, Grid(view(space, np.ones(N)), 0.25), (3.0, 4), "plain")


def ran(space, kernel, *args):
    out = view(space, np.zeros(N))
    es.parallel_for(es.RangePolicy(N, space=space), kernel, *args, out)
    return staged.fetch(out).tolist()


@es.function
def scaled(field, i):
    return field.data[i] * field.factor


def use(i, s, out):
    own = s.field
    out[i] = own.at(i) + scaled(s.field, i) + own.HALF + own.double
    out[i] += s.grid.points[own.other(i, N)] * s.grid[1] + s.weights[0]
    for w in s.weights:
        out[i] += w
    if s.name == "plain":
        out[i] += 100
    if own.parity == 1:
        out[i] += 1000


def test_fields_methods_and_constants(space):
    system = made(space)
    expected = [4 * i + 0.5 + 4 + 0.25 + 3 + 7 + 100 for i in range(N)]
    assert ran(space, use, system) == expected
    system.field.factor, system.field.parity = 3.0, 1  # which later launches see
    other = System(system.field, system.grid, system.weights)
    assert ran(space, use, other) == [6 * i + 0.5 + 6 + 0.25 + 3 + 7 + 1000 for i in range(N)]


def test_later_launches_see_what_is_there(space):
    """Also where a launch is known again: other numbers, other Views, other types."""
    system = made(space)

    def kernel(i, field, out):
        out[i] = field.data[i] + field.factor

    policy = es.RangePolicy(N, space=space)
    out, field = view(space, np.zeros(N)), system.field
    for k in range(300):
        field.factor = float(k)
        es.parallel_for(policy, kernel, field, out)
    assert staged.fetch(out).tolist() == [i + 299 for i in range(N)]
    field.data = view(space, np.ones(N))
    es.parallel_for(policy, kernel, field, out)
    assert staged.fetch(out).tolist() == [300] * N
    field.factor = 7
    es.parallel_for(policy, kernel, field, out)
    assert staged.fetch(out).tolist() == [8] * N
    field.data = staged.view_on(space, np.full(N, 2, np.int64))
    es.parallel_for(policy, kernel, field, out)
    assert staged.fetch(out).tolist() == [9] * N
    es.parallel_for(policy, kernel, Pair(field.data, 1), out)
    assert staged.fetch(out).tolist() == [3] * N


class Pair(NamedTuple):
    data: es.View
    factor: int


def test_reductions_and_scans(space):
    system = made(space)

    def weighted(i, s):
        return s.field.at(i) * s.weights[1]

    policy = es.RangePolicy(N, space=space)
    assert es.parallel_reduce(policy, weighted, system) == 8 * sum(range(N))
    out = view(space, np.zeros(N))

    def running(i, prefix, final, s, out):
        if final:
            out[i] = prefix
        return s.field.data[i]

    assert es.parallel_scan(policy, running, system, out) == sum(range(N))
    assert staged.fetch(out).tolist() == [0, 0, 1, 3, 6, 10]


def test_teams(space):
    system = made(space)
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")

    def kernel(team, s, out):
        i = team.league_rank
        if team.team_rank == 0:
            out[i] = s.field.at(i)

    out = view(space, np.zeros(N))
    es.parallel_for(es.TeamPolicy(N, 1, space=space), kernel, system, out)
    assert staged.fetch(out).tolist() == [2.0 * i for i in range(N)]


def test_tuples(space):
    A, B = view(space, np.arange(N)), view(space, np.ones(N))

    def kernel(i, views, numbers, out):
        for v, a in zip(views, numbers):  # noqa: B905
            out[i] += a * v[i]

    assert ran(space, kernel, (A, B), (2.0, 10)) == [2.0 * i + 10 for i in range(N)]

    def one(i, pair, out):
        out[i] = pair[1][i] if pair[0] is None else pair[0]

    assert ran(space, one, (None, A)) == list(range(N))
    assert ran(space, one, (5, A)) == [5] * N


def test_a_plan_is_bound_by_fields(space):
    system = made(space)

    def kernel(i, field, out):
        out[i] = field.data[i] * field.factor

    out = view(space, np.zeros(N))
    launch = es.bind(es.RangePolicy(N, space=space), kernel, system.field, out)
    launch.exchange(**{"field.factor": 5.0, "field.data": view(space, np.ones(N))})
    launch()
    assert staged.fetch(out).tolist() == [5.0] * N


def test_equal_fields_share_a_plan_and_others_do_not(space):
    system = made(space)
    kernel = es.kernel(lambda i, field, out: None)
    kernel.forget()  # what other spaces have made of it
    out = view(space, np.zeros(N))
    policy = es.RangePolicy(N, space=space)
    for parity in (0, 1, 0):
        es.parallel_for(policy, kernel, Field(system.field.data, 1.0, parity), out)
    assert len(kernel.plans) == 2


def test_what_cannot_be_launched(space):
    system = made(space)

    def kernel(i, s, out):
        out[i] = 0

    field = system.field
    for value, message in (
        ([1, 2], "argument 0.factor is of type 'list'; expected a View"),
        (len, "argument 0.factor"),
        (lambda x: x, "argument 0.factor is a function, which no object"),
        ({"a": 1}, "argument 0.factor is of type 'dict'"),
    ):
        bad = Field(field.data, value)
        if value is len:
            assert ran(space, kernel, bad) == [0] * N  # a constant, which nobody calls
            continue
        with pytest.raises(es.LaunchError, match=message.replace("[", r"\[")):
            ran(space, kernel, bad)
    with pytest.raises(es.LaunchError, match=r"argument 0\.parity, which is static, is of type"):
        ran(space, kernel, Field(field.data, 1.0, [1]))
    deep = (1,)
    for _ in range(20):
        deep = (deep,)
    with pytest.raises(es.LaunchError, match=r"argument 0\[0\]\[0\].*is more than 16 objects dee"):
        ran(space, kernel, deep)


def faulty(space, kernel, value):
    with pytest.raises((es.KernelTypeError, es.KernelSyntaxError)) as found:
        ran(space, kernel, value)
    return str(found.value)


def test_what_kernels_cannot_do(space):
    system = made(space)

    def unknown(i, f, out):
        out[i] = f.date[i]

    def item(i, f, out):
        out[i] = f[0][i]

    def store(i, f, out):
        f.factor = 2.0

    def give(i, f, out):
        g = choose(f, i)
        out[i] = g.factor

    text = faulty(space, unknown, system.field)
    assert "an object of Field has no attribute 'date'" in text
    assert "its fields are data, factor, parity" in text
    assert "an object of Field" in faulty(space, item, system.field)
    assert "factor" in faulty(space, store, system.field)
    assert "an object of Field" in faulty(space, give, system.field)


@es.function
def choose(f, i):
    return f


class Power(NamedTuple):
    """A View and a constant."""

    values: es.View
    exponent: es.static = 2


@dataclass
class Settings:
    """An object without Views and numbers."""

    mode: str


def test_objects_of_constants_alone(space):
    """They give the launch no argument; and launches are known again only with the same ones."""
    out = es.View(4, space=space)

    def kernel(i, settings, out, nothing):
        out[i] = i + (1 if settings.mode == "fast" else 2) + len(nothing)

    for n in range(12):
        mode = "fast" if n % 3 else "slow"
        staged.parallel_for(es.RangePolicy(4, space=space), kernel, Settings(mode), out, ())
        assert staged.fetch(out).tolist() == [k + (1 if n % 3 else 2) for k in range(4)]
    for _ in range(4):
        total = staged.parallel_reduce(
            es.RangePolicy(4, space=space), lambda i, s: i if s.mode == "fast" else 0,
            Settings("fast"),
        )  # fmt: skip
        assert total == 6


def test_static_fields_of_a_named_tuple(space):
    values, out = (es.View(4, space=space) for _ in range(2))
    values.fill(3)

    def kernel(i, power, out):
        if power.exponent == 2:
            out[i] = power.values[i] ** power.exponent
        elif power.exponent == 3:
            out[i] = power[0][i] ** 3 + power[1]
        else:
            out[i] = no_such_name  # noqa: F821

    for exponent, expected in [(2, 9), (3, 30)] * 4:
        given = Power(values, exponent)
        staged.parallel_for(es.RangePolicy(4, space=space), kernel, given, out)
        assert (staged.fetch(out) == expected).all()


def test_integers_that_are_too_large_in_objects(space):
    out = es.View(4, space=space)

    def kernel(i, pair, out):
        out[i] = pair[0] + pair[1][0]

    for n in range(6):
        staged.parallel_for(es.RangePolicy(4, space=space), kernel, (n, (1,)), out)
        with pytest.raises(es.LaunchError, match="does not fit into a signed 64-bit integer"):
            staged.parallel_for(es.RangePolicy(4, space=space), kernel, (n, (2**63,)), out)
        assert (staged.fetch(out) == n + 1).all()


@dataclass
class Shifted:
    """A View whose first index is `begin`."""

    data: es.View
    begin: int

    def __getitem__(self, i):
        return self.data[i - self.begin]

    def __setitem__(self, i, value):
        self.data[i - self.begin] = value

    def __len__(self):
        return len(self.data)


@dataclass
class Table:
    data: es.View

    def __getitem__(self, at):
        i, j = at
        return self.data[i, j]

    def __setitem__(self, at, value):
        self.data[at] = value


def test_items_by_methods_of_python(space):
    """`a[i]`, `a[i] = x`, `a[i] += x` and `len(a)` call the methods of the class."""
    shifted = Shifted(view(space, np.arange(N)), -3)
    table = Table(view(space, np.zeros((2, N))))

    def kernel(i, a, t, out):
        a[i - 3] += 10
        t[1, i] = a[i - 3]
        t[1, i] *= 2
        out[i] = len(a) + t[1, i]

    assert ran(space, kernel, shifted, table) == [6 + 2 * (i + 10) for i in range(N)]
    assert staged.fetch(shifted.data).tolist() == [i + 10 for i in range(N)]


@dataclass
class Base:
    data: es.View
    flag: es.static


@dataclass
class Derived(Base):
    scale: float


def test_constant_fields_of_a_base_class(space):
    def kernel(i, s, out):
        if s.flag == 2:
            out[i] = s.scale * s.data[i]

    assert ran(space, kernel, Derived(view(space, np.ones(N)), 2, 3.0)) == [3.0] * N


def test_tuples_as_subscripts(space):
    def kernel(i, x, out):
        at = (1, i)
        x[at] += 1
        out[i] = x[at] + x[(0, i)]

    x = view(space, np.arange(2 * N).reshape(2, N))
    assert ran(space, kernel, x) == [2 * i + N + 1 for i in range(N)]
