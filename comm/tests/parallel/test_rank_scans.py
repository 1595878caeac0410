"""escomm.scan_field and parallel_scan: as NumPy accumulates what all ranks have together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm


class LastNotZero(es.Reducer):
    """Associative, and not commutative."""

    identity = 0

    @staticmethod
    def join(a, b):
        return b if b != 0 else a


class Remainder(es.Reducer):
    identity = 1

    def __init__(self, modulus):
        self.modulus = modulus

    def join(self, a, b):
        return a * b % self.modulus


class Line(NamedTuple):
    """x -> a * x + b"""

    a: int
    b: int


class Compose(es.Reducer):
    identity = Line(1, 0)

    @staticmethod
    def join(f, g):
        return Line(f.a * g.a, g.a * f.b + g.b)

    @staticmethod
    def final(f):
        return f.a + 1000 * f.b


class Fibonacci(es.Reducer):
    identity = np.eye(2, dtype=np.int64)

    @staticmethod
    def join(a, b):
        (p, q), (r, s) = a
        (t, u), (v, w) = b
        return (p * t + q * v, p * u + q * w), (r * t + s * v, r * u + s * w)


REDUCERS = {
    es.Sum: np.add, es.Prod: np.multiply, es.Min: np.minimum, es.Max: np.maximum,
    es.BAnd: np.bitwise_and, es.BOr: np.bitwise_or,
}  # fmt: skip


def _accumulated(reducer, array, axis, exclusive=False):
    """What NumPy, or Python's own loop, makes of it."""
    lines = np.moveaxis(array, axis, 0)
    found = np.empty_like(lines)
    made = reducer() if isinstance(reducer, type) else reducer
    ufunc = REDUCERS.get(reducer)
    identity = np.full_like(lines[0], made.identity_for(array.dtype.name))
    before = identity
    with np.errstate(all="ignore"):
        for n, row in enumerate(lines):
            joined = (
                np.array(np.frompyfunc(made.join, 2, 1)(before, row))
                if ufunc is None
                else (ufunc(before, row))
            )
            joined = joined.astype(array.dtype)
            found[n] = before if exclusive else joined
            before = joined
    return np.moveaxis(found, 0, axis)


def _box(field):
    d = field.decomposition
    return tuple(slice(a, b) for a, b in zip(d.lower, d.upper, strict=True))


def _field(d, array, space_name, **options):
    components = array.shape[d.rank :]
    u = d.field(array.dtype, components=components, space=space_name, label="u", **options)
    u.view.fill(array.dtype.type(1))
    u.own[...] = np.ascontiguousarray(array[_box(u)])
    return u


def _numbers(dtype, shape, least=-9, end=10):
    random = np.random.default_rng(3)
    if np.dtype(dtype).kind == "u":
        least = 0
    return random.integers(least, end, shape).astype(dtype)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reducer", list(REDUCERS))
def test_rank_1_of_integers(comm, space_name, reducer, exclusive):
    array = _numbers("int32", 43)
    u = _field(escomm.Decomposition(43, comm), array, space_name, halo=1)
    expected = _accumulated(reducer, array, 0, exclusive)
    out = escomm.Decomposition(43, comm).field(es.int32, halo=2, space=space_name)
    assert escomm.scan_field(u, reducer=reducer, exclusive=exclusive, out=out) is out
    assert (out.own.to_numpy() == expected[_box(u)]).all()
    assert (u.own.to_numpy() == array[_box(u)]).all()
    assert escomm.scan_field(u, reducer=reducer, exclusive=exclusive) is u
    assert (u.own.to_numpy() == expected[_box(u)]).all()
    assert u.view.size == 0 or (u.view.to_numpy()[[0, -1]] == 1).all()


@pytest.mark.parametrize("dtype", ["uint64", "float16", "complex64"])
def test_rank_1_of_dtypes(comm, space_name, dtype):
    array = _numbers(dtype, 29)  # floats of which all sums are exact
    if dtype == "uint64":
        array *= np.uint64(2**62 + 1)
    u = _field(escomm.Decomposition(29, comm), array, space_name)
    escomm.scan_field(u)
    assert (u.own.to_numpy() == np.cumsum(array, dtype=dtype)[_box(u)]).all()


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reducer", [LastNotZero, Remainder(101)], ids=["last", "remainder"])
def test_joins_of_ones_own(comm, space_name, reducer, exclusive):
    array = _numbers("int64", (31, 3), 0, 4)
    u = _field(escomm.Decomposition(31, comm), array[:, 0].copy(), space_name)
    escomm.scan_field(u, reducer=reducer, exclusive=exclusive)
    expected = _accumulated(reducer, array, 0, exclusive)
    assert (u.own.to_numpy() == expected[:, 0][_box(u)]).all()
    v = _field(escomm.Decomposition(31, comm), array, space_name)
    escomm.scan_field(v, reducer=reducer, exclusive=exclusive, axis=0)
    assert (v.own.to_numpy() == expected[_box(v)]).all()


@pytest.mark.parametrize("reducer", [es.LOr, es.Min])
def test_bools(comm, space_name, reducer):
    array = np.ones(17, bool) if reducer in (es.LAnd, es.Min) else np.zeros(17, bool)
    array[11] = not array[11]
    d = escomm.Decomposition(17, comm)
    expected = np.arange(17) < 11 if array[0] else np.arange(17) >= 11
    u = _field(d, array, space_name)
    escomm.scan_field(u, reducer=reducer)
    assert (u.own.to_numpy() == expected[_box(u)]).all()


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    ("extents", "components", "layout"),
    [((7, 5), (), "right"), ((3, 2, 5, 2), (), "right"), ((5, 3), 2, "left")],
)
def test_axes(comm, space_name, extents, components, exclusive, layout):
    d = escomm.Decomposition(extents, comm)
    array = _numbers("int16", d.field(components=components, space=space_name).global_shape)
    for axis in range(d.rank):
        u = _field(d, array, space_name, halo=1, layout=layout)
        whole = u.view.to_numpy()
        escomm.scan_field(u, axis=axis - d.rank, exclusive=exclusive)
        expected = _accumulated(es.Sum, array, axis, exclusive)
        assert (u.own.to_numpy() == expected[_box(u)]).all()
        own = tuple(slice(a, b) for a, b in zip(u.begin, u.end, strict=True))
        after = u.view.to_numpy()
        after[own] = whole[own]
        assert (after == whole).all()  # the halo


@pytest.mark.parametrize("reducer", [es.Min, es.LAnd])
def test_axes_of_reducers(comm, space_name, reducer):
    array = _numbers("int32", (11, 6), 0, 7)
    u = _field(escomm.Decomposition((11, 6), comm), array, space_name)
    escomm.scan_field(u, axis=0, reducer=reducer)
    expected = (
        _accumulated(reducer, array, 0)
        if reducer is not es.LAnd
        else (np.logical_and.accumulate(array, axis=0).astype(np.int32))
    )
    assert (u.own.to_numpy() == expected[_box(u)]).all()


def test_floats_keep_their_bits(comm, space_name):
    array = np.random.default_rng(1).normal(size=(41, 3))
    array[5, 1], array[9, 2] = np.nan, np.inf
    d = escomm.Decomposition((41, 3), comm)
    bits = set()
    for _ in range(2):
        u = _field(d, array, space_name)
        escomm.scan_field(u, axis=0)
        found = u.own.to_numpy()
        bits.add(found.tobytes())
        expected = np.cumsum(array, axis=0)[_box(u)]
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert len(bits) == 1
    row = _field(escomm.Decomposition(41, comm), array[:, 0].copy(), space_name)
    escomm.scan_field(row)
    assert np.allclose(row.own.to_numpy(), np.cumsum(array[:, 0])[_box(row)], rtol=1e-12)


def test_rows_of_views(comm, space_name):
    lengths = [(r * 7 + 2) % 5 for r in range(comm.size)]
    array = _numbers("int64", (sum(lengths), 2))
    at = sum(lengths[: comm.rank])
    mine = slice(at, at + lengths[comm.rank])
    view = es.array(np.ascontiguousarray(array[mine]), space=space_name)
    column = view[:, 1]
    assert escomm.scan_field(column, comm=comm) is column
    assert (view.to_numpy()[:, 0] == array[mine, 0]).all()
    assert (view.to_numpy()[:, 1] == np.cumsum(array[:, 1])[mine]).all()
    view = es.array(np.ascontiguousarray(array[mine]), space=space_name)
    escomm.scan_field(view, comm=comm, axis=0)
    assert (view.to_numpy() == np.cumsum(array, axis=0)[mine]).all()


def test_what_scan_field_refuses(comm, space_name):
    d = escomm.Decomposition((4, 3), comm)
    u = d.field(space=space_name, label="u")

    def refused(text, array=u, **options):
        with pytest.raises(escomm.CommError, match=text):
            escomm.scan_field(array, **options)

    refused("of 2 dimensions; expected axis= of 0 to 1")
    refused("axis=2", axis=2)
    refused("axis='x'", axis="x")
    refused("is not for scans over ranks", axis=0, reducer=es.MinLoc)
    refused("is not a reducer", axis=0, reducer=sum)
    refused("does not join elements of bool", d.field(bool, space=space_name), axis=0)
    refused("expected .* float64", axis=0, out=d.field("int32", space=space_name))
    other = escomm.Decomposition((4, 5), comm).field(space=space_name)
    refused("another decomposition", axis=0, out=other)
    row = es.zeros(5, space=space_name)
    refused("overlap", row[:4], out=row[1:], comm=comm)
    refused("read-only", row.readonly(), comm=comm)
    refused("of 1; expected 0", row, axis=1, comm=comm)


# -- parallel_scan ---------------------------------------------------------------------------------


def _compact(i, place, final, source, first, kept):
    keep = source[i] % 3 == 0
    if final and keep:
        kept[place - first] = source[i]
    return keep


def test_compaction(comm, space_name):
    n = [17, 0, 5][comm.rank % 3]
    whole = np.concatenate(comm.mpi.allgather(np.arange(n) * (comm.rank + 1)))
    source = es.array(np.arange(n) * (comm.rank + 1), space=space_name)
    numbers = comm.mpi.allgather(int((source.to_numpy() % 3 == 0).sum()))
    first = sum(numbers[: comm.rank])
    kept = es.zeros(max(1, numbers[comm.rank]), es.int64, space=space_name)
    policy = es.RangePolicy(n, space=space_name)
    total = escomm.parallel_scan(policy, _compact, source, first, kept, comm=comm)
    assert total == sum(numbers) == (whole % 3 == 0).sum()
    mine = kept.to_numpy()[: numbers[comm.rank]]
    assert (np.concatenate(comm.mpi.allgather(mine)) == whole[whole % 3 == 0]).all()


def _least(i, prefix, final, x, out):
    if final:
        out[i] = min(prefix, x[i])
    return x[i]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_numbers_keep_their_types(comm, space_name, dtype):
    whole = (np.arange(7 * comm.size) * 5 % 23 + 1).astype(dtype)[::-1].copy()
    mine = slice(7 * comm.rank, 7 * comm.rank + 7)
    x = es.array(whole[mine], space=space_name)
    out = es.zeros(7, dtype, space=space_name)
    found = escomm.parallel_scan(7, _least, x, out, reducer=es.Min, comm=comm)
    assert found == whole.min()
    assert (out.to_numpy() == np.minimum.accumulate(whole)[mine]).all()


def test_tuples_and_final(comm, space_name):
    a, b = np.arange(5) % 3 + 1, np.arange(5) + comm.rank
    all_a, all_b = (np.concatenate(comm.mpi.allgather(x)) for x in (a, b))
    x, values = 0, []
    for p, q in zip(all_a, all_b, strict=True):
        x = p * x + q
        values.append(x)
    views = [es.array(v, space=space_name) for v in (a, b)]
    y = es.zeros(5, es.int64, space=space_name)

    class Steps:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __call__(self, i, prefix, final, y):
            if final:
                y[i] = self.a[i] * prefix.b + self.b[i]
            return self.a[i], self.b[i]

    policy = es.RangePolicy(5, space=space_name)
    found = escomm.parallel_scan(policy, Steps(*views), y, reducer=Compose, comm=comm)
    assert found == int(np.prod(all_a)) + 1000 * values[-1]
    assert y.to_numpy().tolist() == values[5 * comm.rank : 5 * comm.rank + 5]


def test_small_arrays_and_two_indices(comm, space_name):
    f = es.zeros((2, 3), es.int64, space=space_name)

    def step(i, j, prefix, final):
        if final:
            f[i, j] = prefix[0][1]
        return (1, 1), (1, 0)

    policy = es.MDRangePolicy((2, 3), space=space_name)
    found = escomm.parallel_scan(policy, step, reducer=Fibonacci, comm=comm)
    numbers = [0, 1]
    while len(numbers) < 6 * comm.size + 2:
        numbers.append(numbers[-1] + numbers[-2])
    assert found[0, 1] == numbers[6 * comm.size]
    at = 6 * comm.rank
    assert f.to_numpy().ravel().tolist() == numbers[at : at + 6]


def test_what_parallel_scan_refuses(comm, space_name):
    x = es.zeros(3, space=space_name)

    def refused(text, *args, policy=3, **options):
        with pytest.raises(escomm.CommError, match=text):
            escomm.parallel_scan(policy, _least, *args, comm=comm, **options)

    refused("takes 2 arguments after its indices, prefix and final; got 3", x, x, x)
    refused("expected a View", x, es.Out(np.zeros(3)))
    refused("expected a number, es.RangePolicy", x, x, policy="all")
    refused("is not for scans", x, x, reducer=es.MinLoc)
    refused("expected one reducer", x, x, reducer=(es.Sum, es.Min))
