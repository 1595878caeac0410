"""NcclComm: collectives and messages on the streams of GPUs, launched or in graphs.

Where ranks have no GPUs of their own these are skipped; they say why.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm
from execspace_comm.engines import nccl_reason


@pytest.fixture
def nccl(comm, space_name):
    home = es.space(space_name)
    reason = nccl_reason(comm, home)
    if reason:
        pytest.skip(reason)
    return comm.nccl(home)


def done(nccl, how, *work):
    """Do some work: at once, or by a graph that is submitted twice."""
    if how == "launched":
        for one in work:
            one()
        return
    with es.Graph(nccl.space) as graph:
        for one in work:
            one()
    for _ in range(2):
        graph.submit()


def numbers(nccl, shape, dtype="float64", rank=None):
    rng = np.random.default_rng(5 + (nccl.rank if rank is None else rank))
    return rng.integers(1, 9, shape).astype(dtype)


def every(nccl, shape, dtype="float64"):
    return np.stack([numbers(nccl, shape, dtype, rank) for rank in range(nccl.size)])


def on(nccl, array, layout="right"):
    return es.array(array, space=nccl.space, layout=layout)


HOW = pytest.mark.parametrize("how", ["launched", "graph"])


@HOW
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "complex128"])
def test_allreduce(nccl, how, dtype):
    x = on(nccl, numbers(nccl, 6, dtype))
    out = es.zeros_like(x)
    done(nccl, how, lambda: nccl.allreduce(x, out))
    assert (out.to_numpy() == every(nccl, 6, dtype).sum(axis=0)).all()


@HOW
def test_joins_of_views_with_gaps(nccl, how):
    x = on(nccl, numbers(nccl, (4, 6)))
    most, product = (es.zeros((4, 3), space=nccl.space, layout="right") for _ in range(2))
    done(
        nccl, how, lambda: nccl.allreduce(x[:, ::2], most, reducer=es.Max),
        lambda: nccl.allreduce(x[:, ::2], product, reducer=es.Prod),
    )  # fmt: skip
    whole = every(nccl, (4, 6))[:, :, ::2]
    assert (most.to_numpy() == whole.max(axis=0)).all()
    assert (product.to_numpy() == whole.prod(axis=0)).all()


@HOW
def test_gathers_broadcasts_and_reductions(nccl, how):
    x = on(nccl, numbers(nccl, (2, 3)))
    all_of_them = es.zeros((nccl.size, 2, 3), space=nccl.space, layout="right")
    last = nccl.size - 1
    whole = every(nccl, (2, 3))
    least = es.zeros_like(x, layout="right")

    def reduce():
        found = nccl.reduce(x, least if nccl.rank == last else None, reducer=es.Min, root=last)
        assert (found is least) == (nccl.rank == last)

    given = on(nccl, numbers(nccl, 5))
    done(
        nccl, how, lambda: nccl.allgather(x, all_of_them), reduce,
        lambda: nccl.broadcast(given, root=last),
    )  # fmt: skip
    assert (all_of_them.to_numpy() == whole).all()
    assert (given.to_numpy() == numbers(nccl, 5, rank=last)).all()
    if nccl.rank == last:
        assert (least.to_numpy() == whole.min(axis=0)).all()


@HOW
def test_messages_in_a_ring_and_to_all(nccl, how):
    after, before = (nccl.rank + 1) % nccl.size, (nccl.rank - 1) % nccl.size
    x = on(nccl, numbers(nccl, 7))
    y, z = es.zeros_like(x), es.zeros_like(x)
    rows = on(nccl, numbers(nccl, (nccl.size, 2)))
    turned = es.zeros_like(rows)

    def both():
        with nccl.group():
            nccl.send(x, after)
            nccl.recv(y, before)

    done(
        nccl, how, both, lambda: nccl.sendrecv(y, after, z, before),
        lambda: nccl.alltoall(rows, turned),
    )  # fmt: skip
    assert (y.to_numpy() == numbers(nccl, 7, rank=before)).all()
    assert (z.to_numpy() == numbers(nccl, 7, rank=(before - 1) % nccl.size)).all()
    whole = every(nccl, (nccl.size, 2))
    assert (turned.to_numpy() == whole[:, nccl.rank]).all()


def scale(i, x, by):
    x[i] *= by


def test_a_graph_keeps_the_order_of_launches_and_messages(nccl):
    """Each submission adds up what launches have made; also once Views have got other memory."""
    x = on(nccl, np.ones(4))
    total = es.zeros_like(x)
    with es.Graph(nccl.space) as graph:
        es.parallel_for(4, scale, x, 2.0)
        nccl.allreduce(x, total)
        es.parallel_for(4, scale, total, 10.0)
    assert [node.kind for node in graph.nodes] == ["launch", "call", "launch"]
    for n in range(3):
        graph.submit()
        assert (total.to_numpy() == 2.0 ** (n + 1) * 10 * nccl.size).all()
    es.realloc(total, 4)
    graph.submit()
    assert (total.to_numpy() == 160 * nccl.size).all()


def test_halos_and_products_in_graphs(nccl, comm, space_name):
    """What is recorded of execspace-comm is what it does at once."""
    sparse = pytest.importorskip("execspace_comm.sparse")
    p = sparse.Partition(23, comm)

    def rows(begin, end):
        for i in range(begin, end):
            yield (
                [j for j in (i - 5, i, i + 1) if 0 <= j < 23],
                [1.0 + i * j for j in (i - 5, i, i + 1) if 0 <= j < 23],
            )

    A = sparse.from_function(rows, 23, comm=comm, space=space_name)
    x, y = on(nccl, np.arange(1.0, p.size + 1)), es.zeros(p.size, space=nccl.space)
    d = escomm.Decomposition((9, 8), comm, periodic=True)
    u = d.field(halo=1, space=space_name, label="u")
    halo = d.halo(u)
    begun = np.arange(float(u.view.size)).reshape(u.view.shape) + 1000 * comm.rank
    es.deep_copy(u.view, begun)
    with es.Graph(nccl.space) as graph:
        es.parallel_for(p.size, scale, x, 0.5)
        sparse.spmv(A, x, y)
        halo.exchange()
    for _ in range(3):
        graph.submit()
    found, exchanged = y.to_numpy(), u.view.to_numpy()
    assert (found == sparse.spmv(A, x).to_numpy()).all()
    es.deep_copy(u.view, begun)
    halo.exchange()
    assert (exchanged == u.view.to_numpy()).all()


def test_a_communicator_is_shared_and_freed_once_no_graph_has_it(nccl, comm, space_name):
    """NCCL would wait for graphs for ever, so that is refused."""
    mine = comm.split(0)
    first = mine.nccl(nccl.space)
    again = escomm.Comm(mine.mpi).nccl(nccl.space)
    assert again is not first and again._nccl is first._nccl
    again.free()
    x = on(nccl, np.ones(3))
    total = es.zeros_like(x)
    with es.Graph(nccl.space) as graph:
        first.allreduce(x, total)
    graph.submit()
    assert (total.to_numpy() == nccl.size).all()
    with pytest.raises(escomm.CommError, match="rank 0 has graphs or halos with 1 operations"):
        mine.free()
    del graph
    mine.free()


def test_a_halo_of_which_one_rank_packs_nothing(nccl, comm, space_name):
    """Graphs of NCCL are for all ranks or for none: rows in one piece here, columns there."""
    d = escomm.Decomposition((3 * comm.size, 4), comm, ranks=(comm.size, 1))
    layout = "right" if comm.rank == 0 else "left"
    u = d.field(halo=1, space=space_name, label="u", layout=layout)
    halo = d.halo(u, reach="faces")
    for turn in range(3):
        u.view.fill(-1.0)
        u.own.fill(comm.rank + turn)
        halo.exchange()
        found = u.view.to_numpy()[:, 1:-1]
        before = comm.rank - 1 + turn if comm.rank else -1
        after = comm.rank + 1 + turn if comm.rank < comm.size - 1 else -1
        assert (found[0] == before).all() and (found[-1] == after).all()
