"""Reductions over the ranges of all ranks give what one range gives."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

N = 11
PLAIN = ["Sum", "Prod", "Min", "Max", "MinMax"]
LOCATING = ["MinLoc", "MaxLoc", "MinFirstLoc", "MaxFirstLoc", "MinMaxLoc", "MinMaxFirstLastLoc"]
SEARCHING = ["FirstLoc", "LastLoc", "StdIsPartitioned", "StdPartitionPoint"]


@es.kernel
def element(i, x, origin):
    return x[i]


@es.kernel
def with_place(i, x, origin):
    return x[i], i + origin


@es.kernel
def is_large(i, x, origin):
    return x[i] > 20, i + origin


@pytest.mark.parametrize(
    ("dtype", "some"),
    [(np.float32, None), (np.int32, ("Sum", "MinMax", "MaxLoc")), (np.uint8, ("Sum", "Max"))],
    ids=["float32", "int32", "uint8"],
)
def test_every_reducer(comm, space, dtype, some):
    import execspace_comm as escomm

    whole = (np.random.default_rng(3).random(N) * 50).astype(dtype)
    d = escomm.Decomposition(N, comm)
    u = d.field(dtype, space=space)
    es.deep_copy(u.own, whole[d.lower[0] : d.upper[0]])
    one = es.array(whole, space=space)
    kernels = (
        dict.fromkeys(PLAIN, element)
        | dict.fromkeys(LOCATING, with_place)
        | dict.fromkeys(SEARCHING, is_large)
    )
    for name, kernel in kernels.items():
        if some is not None and name not in some:
            continue
        reducer = getattr(es, name)
        found = comm.parallel_reduce(u.range(), kernel, u.view, u.origin[0], reducer=reducer)
        policy = es.RangePolicy(N, space=space)
        want = es.parallel_reduce(policy, kernel, one, 0, reducer=reducer)
        assert type(found) is type(want), name
        if dtype is np.float32 and name in ("Sum", "Prod"):
            assert found == pytest.approx(want, rel=1e-6)
        else:
            assert found == want, name


class Length(es.Reducer):
    """With a last step, which is done once."""

    identity = 0.0

    @staticmethod
    def join(a, b):
        return a + b

    @staticmethod
    def final(a):
        return np.sqrt(a)


def test_reducers_of_ones_own_several_and_arrays(comm, space):
    import execspace_comm as escomm

    if not space.capabilities.float64:
        pytest.skip("no float64")
    d = escomm.Decomposition(N, comm)
    policy, first = d.field(space=space).range(), d.lower[0]
    assert comm.parallel_reduce(policy, lambda i: 9.0, reducer=Length) == np.sqrt(9.0 * N)
    both = comm.parallel_reduce(
        policy, lambda i, o: (i + o, (i + o) * 2.0), first, reducer=(es.Sum, es.Max)
    )
    assert both == (55, 20.0)
    thirds = comm.parallel_reduce(policy, add_to_third, first, reducer=es.Sum(shape=3))
    assert thirds.tolist() == [18, 22, 15]


@es.kernel
def add_to_third(i, sums, first):
    sums[(i + first) % 3] += i + first


def test_all_ranks_get_the_same_bits(comm, space):
    values = es.array(np.random.default_rng(comm.rank).random(100).astype(np.float32), space=space)
    policy = es.RangePolicy(100, space=space)
    first = comm.parallel_reduce(policy, element, values, 0)
    assert comm.parallel_reduce(policy, element, values, 0) == first
    assert len(set(comm.mpi.allgather(first))) == 1


def test_traffic_is_counted(comm, space):
    with comm.counting() as traffic:
        comm.allreduce(es.ones(4, es.float32, space=space))
        comm.sendrecv(
            es.ones(4, es.float32, space=space), (comm.rank + 1) % comm.size,
            es.zeros(4, es.float32, space=space), (comm.rank - 1) % comm.size,
        )  # fmt: skip
    assert traffic.collectives["allreduce"] == 1
    # What a rank sends to itself is no message to others.
    assert (traffic.total_messages, traffic.total_bytes) == ((1, 16) if comm.size > 1 else (0, 0))


def test_many_ranks_join_in_groups(comm, space):
    """As more than 256 ranks do; here in groups of two."""
    from execspace_comm.folding import Folding

    comm._folding = Folding(comm.mpi, group=2)
    x = es.full(3, comm.rank + 1, es.int32, space=space)
    assert (comm.allreduce(x).to_numpy() == sum(range(comm.size + 1))).all()
    policy = es.RangePolicy(2, space=space)
    found = comm.parallel_reduce(
        policy, lambda i, r: (i + r, r), comm.rank, reducer=(es.Max, es.Sum)
    )
    assert found == (comm.size, 2 * sum(range(comm.size)))
