"""Operations of all ranks, with contributions from which each result can be told."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


def mine(comm, space, dtype=np.float32, n=4):
    return es.array((np.arange(n) + comm.rank).astype(dtype), space=space)


def everyones(comm, n=4):
    return np.arange(n)[None] + np.arange(comm.size)[:, None]


def test_broadcast(comm, space):
    x = mine(comm, space)
    part = es.zeros((4, 2), es.float32, space=space)
    es.deep_copy(part[:, 1], x)
    for root in {0, comm.size - 1}:
        es.deep_copy(part[:, 1], x)
        comm.broadcast(part[:, 1], root)
        assert part.to_numpy().tolist() == [[0.0, n + root] for n in range(4)]


def test_gather_scatter(comm, space):
    x, last = mine(comm, space), comm.size - 1
    found = comm.gather(x, root=last)
    assert (found is not None) == (comm.rank == last)
    if found is not None:
        assert (found.to_numpy() == everyones(comm)).all()
    assert (comm.allgather(x).to_numpy() == everyones(comm)).all()
    back = es.zeros(4, es.float32, space=space)
    comm.scatter(found, back, root=last)
    assert (back.to_numpy() == x.to_numpy()).all()


def test_rows_of_different_lengths(comm, space):
    x = es.full((comm.rank, 2), comm.rank, es.int32, space=space, layout="left")
    want = np.repeat(np.arange(comm.size), np.arange(comm.size))
    found = comm.allgatherv(x).to_numpy()
    assert found.shape == (len(want), 2)
    assert (found == want[:, None]).all()
    gathered = comm.gatherv(x)
    if gathered is not None:
        assert (gathered.to_numpy() == want[:, None]).all()
    back = es.zeros((comm.rank, 2), es.int32, space=space)
    comm.scatterv(gathered, back)
    assert (back.to_numpy() == comm.rank).all()


def test_alltoall(comm, space):
    x = es.array((np.arange(comm.size) + 100 * comm.rank).astype(np.int32), space=space)
    assert comm.alltoall(x).to_numpy().tolist() == [comm.rank + 100 * r for r in range(comm.size)]
    counts = [(comm.rank + r) % 3 for r in range(comm.size)]
    rows = np.repeat(np.arange(comm.size), counts) + 1000 * comm.rank
    found, coming = comm.alltoallv(es.array(rows.astype(np.int32), space=space), counts)
    assert coming == counts
    assert found.to_numpy().tolist() == [
        1000 * r + comm.rank for r in range(comm.size) for _ in range(coming[r])
    ]


@pytest.mark.parametrize("n", [4, 30001])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("reducer", [es.Sum, es.Prod, es.Min, es.Max])
def test_reductions_of_views(comm, space, reducer, dtype, n):
    x = es.array(((np.arange(n) + comm.rank) % 5 + 1).astype(dtype), space=space)
    join = {es.Sum: np.add, es.Prod: np.multiply, es.Min: np.minimum, es.Max: np.maximum}[reducer]
    parts = [((np.arange(n) + r) % 5 + 1).astype(dtype) for r in range(comm.size)]
    prefixes = list(np.array([p.copy() for p in parts]))
    for r in range(1, comm.size):
        prefixes[r] = join(prefixes[r - 1], parts[r])
    assert (comm.allreduce(x, reducer=reducer).to_numpy() == prefixes[-1]).all()
    assert (comm.scan(x, reducer=reducer).to_numpy() == prefixes[comm.rank]).all()
    before = comm.scan(x, reducer=reducer, exclusive=True).to_numpy()
    if comm.rank:
        assert (before == prefixes[comm.rank - 1]).all()
    else:
        assert (before == reducer().identity_for(np.dtype(dtype).name)).all()
    found = comm.reduce(x, x, reducer=reducer, root=comm.size - 1)
    if found is not None:
        assert found is x
        assert (x.to_numpy() == prefixes[-1]).all()


def test_nan_wins_wherever_it_is(comm, space):
    x = es.full(comm.size, float(comm.rank), es.float32, space=space)
    es.deep_copy(es.subview(x, comm.rank), np.nan)
    for reducer in (es.Min, es.Max):
        assert np.isnan(comm.allreduce(x, reducer=reducer).to_numpy()).all()


def test_bits_and_truths(comm, space):
    x = es.full(2, 1 << comm.rank, es.int32, space=space)
    assert comm.allreduce(x, reducer=es.BOr).to_numpy().tolist() == [2**comm.size - 1] * 2
    assert (comm.allreduce(x, reducer=es.BAnd).to_numpy() == (comm.size == 1)).all()
    true = es.full(2, comm.rank == 0, es.bool_, space=space)
    assert comm.allreduce(true, reducer=es.LOr).to_numpy().all()
    assert comm.allreduce(true, reducer=es.LAnd).to_numpy().all() == (comm.size == 1)


class Longer(es.Reducer):
    """Neither commutative, nor one that MPI has: the digits of both."""

    identity = 0

    @staticmethod
    def join(a, b):
        return a * 10 + b


def test_a_join_of_ones_own_keeps_the_order_of_ranks(comm, space):
    x = es.full(3, comm.rank + 1, es.int64, space=space)
    want = int("".join(str(r + 1) for r in range(comm.size)))
    assert comm.allreduce(x, reducer=Longer).to_numpy().tolist() == [want] * 3


def test_sums_of_floats_are_those_of_the_order_of_ranks(comm, space):
    rng = np.random.default_rng(7)
    parts = rng.standard_normal((comm.size, 100)).astype(np.float32) * np.float32(1e3)
    want = parts[0].copy()
    for part in parts[1:]:
        want += part
    found = comm.allreduce(es.array(parts[comm.rank], space=space)).to_numpy()
    assert (found == want).all()


def test_what_ranks_do_not_agree_on_names_both(comm, space):
    import execspace_comm as escomm

    if comm.size == 1:
        pytest.skip("needs two ranks")
    odd = comm.rank == comm.size - 1
    x = es.zeros(3 + odd, es.float32, space=space)
    with pytest.raises(escomm.CommError, match=rf"Rank 0 .*\(3,\).* rank {comm.size - 1} .*\(4,\)"):
        comm.allreduce(x)
    with pytest.raises(escomm.CommError, match=r"barrier\(\).*rank . calls broadcast"):
        comm.broadcast(x[:3]) if odd else comm.barrier()
    if comm.rank == 0:
        comm.send(x, 1)
    elif comm.rank == 1:
        with pytest.raises(escomm.CommError, match=r"rank 0 sends .*float32.* to rank 1.*float64"):
            comm.recv(es.zeros(3, es.float64, space=space), 0)


def test_what_is_refused(comm, space):
    import execspace_comm as escomm

    x = es.zeros(3, es.float32, space=space)
    with pytest.raises(escomm.CommError, match="BAnd does not join elements of float32"):
        comm.allreduce(x, reducer=es.BAnd)
    with pytest.raises(escomm.CommError, match="is not a reducer"):
        comm.allreduce(x, reducer="sum")
    with pytest.raises(escomm.CommError, match=r"a row for each of . ranks"):
        comm.alltoall(es.zeros(comm.size + 1, es.float32, space=space))
    with pytest.raises(escomm.CommError, match="add up to the first extent"):
        comm.alltoallv(x, [1] * comm.size if comm.size != 3 else [2] * 3)


def test_split(comm, space):
    part = comm.split(comm.rank % 2, key=-comm.rank)
    same = [r for r in range(comm.size) if r % 2 == comm.rank % 2]
    assert part.size == len(same)
    assert part.rank == same[::-1].index(comm.rank)
    x = es.full(1, comm.rank, es.int32, space=space)
    assert part.allreduce(x).to_numpy()[0] == sum(same)
    part.trim()
    assert comm.of_host().size >= 1
