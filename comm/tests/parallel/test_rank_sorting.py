"""escomm.sort, sort_by_key and argsort: as NumPy sorts what all ranks have together."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

DTYPES = ["bool", "int8", "uint64", "float16", "float64"]  # few: each is compiled


def _together(comm, array):
    return np.concatenate(comm.mpi.allgather(np.ascontiguousarray(array)))


def _mine(comm, whole, lengths):
    at = int(sum(lengths[: comm.rank]))
    return whole[at : at + lengths[comm.rank]]


def _in_order(array, descending):
    found = np.sort(array, kind="stable")
    return found[::-1] if descending else found


def _same(a, b):
    """Equal, NaN and zeros of both signs included, and of one dtype."""
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _lengths(comm, kind):
    """How many elements ranks have: prime numbers, some none, or one rank all."""
    r = np.arange(comm.size)
    if kind == "prime":
        return [97] * comm.size
    if kind == "uneven":
        return ((r * 31) % 3 * 41).tolist()
    return [0] * (comm.size - 1) + [211]


def _numbers(dtype, kind, n):
    random = np.random.default_rng(5)
    if kind == "equal":
        return np.ones(n, dtype)
    if kind == "few":
        return random.integers(0, 3, n).astype(dtype)
    if np.dtype(dtype).kind == "f":
        found = random.normal(size=n).astype(dtype)
        found[::7] = np.nan
        found[1::11] = np.inf
        found[2::13] = -np.inf
        found[3::5] = 0.0
        found[4::5] = -0.0
        return found
    if dtype == "bool":
        return random.integers(0, 2, n).astype(bool)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)


def _check_sort(comm, space_name, whole, lengths, descending=False):
    mine = _mine(comm, whole, lengths)
    view = es.array(mine, space=space_name)
    new = escomm.sort(view, comm=comm, descending=descending, out="unbalanced")
    assert _same(view.to_numpy(), mine)  # as it was
    expected = _in_order(whole, descending)
    assert _same(_together(comm, new.to_numpy()), expected)
    share = -(-whole.size // comm.size)
    assert new.size <= 1.5 * share + comm.size
    assert escomm.sort(view, comm=comm, descending=descending) is view
    assert _same(view.to_numpy(), _mine(comm, expected, lengths))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(comm, space_name, dtype):
    lengths = _lengths(comm, "prime")
    _check_sort(comm, space_name, _numbers(dtype, "any", sum(lengths)), lengths)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("values", ["equal", "few", "any"])
@pytest.mark.parametrize("kind", ["prime", "uneven", "one"])
def test_lengths_and_duplicates(comm, space_name, kind, values, descending):
    lengths = _lengths(comm, kind)
    _check_sort(comm, space_name, _numbers("float64", values, sum(lengths)), lengths, descending)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_fewer_elements_than_ranks(comm, space_name, size):
    lengths = [0] * comm.size
    lengths[size % comm.size] = size
    _check_sort(comm, space_name, np.arange(size, 0.0, -1), lengths)


@pytest.mark.parametrize("step", [1, -1])
def test_sorted_and_reversed(comm, space_name, step):
    lengths = [499] * comm.size  # more than there are samples
    whole = np.arange(sum(lengths))[::step].astype(np.float64)
    _check_sort(comm, space_name, whole, lengths)
    _check_sort(comm, space_name, whole // 100.0, lengths, descending=True)


def test_skewed_ranks_with_many_samples_left_out(comm, space_name):
    lengths = [0 if r % 2 else 1500 for r in range(comm.size)]
    whole = np.where(np.arange(sum(lengths)) % 10 == 0, np.arange(sum(lengths)), 7.0)
    _check_sort(comm, space_name, whole, lengths)


def test_strided_views_and_arrays(comm, space_name):
    table = es.array(np.arange(60.0).reshape(20, 3) * 7919 % 61, space=space_name)
    whole = _together(comm, table.to_numpy()[:, 1])
    rest = table.to_numpy()[:, [0, 2]]
    escomm.sort(table[:, 1], comm=comm)
    expected = np.sort(whole).reshape(comm.size, 20)[comm.rank]
    assert (table.to_numpy()[:, 1] == expected).all()
    assert (table.to_numpy()[:, [0, 2]] == rest).all()
    array = np.random.default_rng(comm.rank).normal(size=37)
    whole = _together(comm, array)
    escomm.sort(array, comm=comm, space="serial")
    assert (_together(comm, array) == np.sort(whole)).all()


def test_field(comm, space_name):
    u = escomm.Decomposition(53, comm).field(halo=2, space=space_name)
    u.view.fill(-1.0)
    u.own[:] = (np.arange(*np.ravel([u.decomposition.lower, u.decomposition.upper])) * 17) % 53
    escomm.sort(u)
    at = np.arange(*np.ravel([u.decomposition.lower, u.decomposition.upper]))
    assert (u.own.to_numpy() == at).all()
    assert (u.view.to_numpy()[:2] == -1).all() and (u.view.to_numpy()[-2:] == -1).all()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["prime", "uneven", "one"])
def test_sort_by_key_is_stable(comm, space_name, kind, descending):
    lengths = _lengths(comm, kind)
    n = sum(lengths)
    keys = _numbers("float64", "few", n)
    keys[::5] = np.nan
    order = np.argsort(keys, kind="stable")
    if descending:
        order = n - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
    record = np.dtype([("x", "f8"), ("n", "i4", (2,))])
    records = np.zeros(n, record)
    records["x"], records["n"][:, 1] = np.arange(n), np.arange(n) * 2
    rows = np.arange(n * 3, dtype=np.float64).reshape(n, 3) + 1j
    whole = (keys, np.arange(n), records, rows)
    mine = [_mine(comm, a, lengths) for a in whole]
    views = [es.array(a, space=space_name) for a in mine]
    views[3] = es.array(mine[3], space=space_name, layout="left")
    options = {"comm": comm, "descending": descending}
    new = escomm.sort_by_key(*views, out="unbalanced", **options)
    for view, before, found, given in zip(views, mine, new, whole, strict=True):
        after = view.to_numpy()
        assert after.tobytes() == before.tobytes()
        assert _together(comm, found.to_numpy()).tobytes() == given[order].tobytes()
    assert escomm.sort_by_key(*views, **options) == tuple(views)
    for view, given in zip(views, whole, strict=True):
        assert view.to_numpy().tobytes() == _mine(comm, given[order], lengths).tobytes()
    keys_view = es.array(mine[0], space=space_name)
    found = escomm.argsort(keys_view, **options)
    assert found.shape == keys_view.shape
    assert (found.to_numpy() == _mine(comm, order, lengths)).all()
    assert keys_view.to_numpy().tobytes() == mine[0].tobytes()


def test_what_is_refused_is_refused_on_all_ranks(comm, space_name):
    keys = es.zeros(4, space=space_name)

    def refused(text, *views, function=escomm.sort, **options):
        with pytest.raises(escomm.CommError, match=text):
            function(*views, comm=comm, **options)

    refused("rank 2; expected rank 1", es.zeros((2, 2), space=space_name))
    refused("complex128, which have no order", es.zeros(3, es.complex128, space=space_name))
    refused("out='balance'; expected", keys, out="balance")
    refused("read-only", keys.readonly())
    refused("expected 4 rows", keys, es.zeros(3, space=space_name), function=escomm.sort_by_key)
    refused("Expected a View", "abc")
    if comm.size > 1:
        last = comm.rank == comm.size - 1
        kind = es.int32 if last else es.int64
        refused("ranks do not agree. On rank 0 the dtype", es.zeros(3, kind, space=space_name))
        shape = (2, 2) if last else 2
        refused(f"on rank {comm.size - 1}: View", es.zeros(shape, space=space_name))
        refused("descending is False", keys, descending=last)
    assert (keys.to_numpy() == 0).all()
