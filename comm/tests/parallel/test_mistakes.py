"""Mistakes, interrupts and odd orders: an error that says what to do, and nothing lost after it."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm
from execspace_comm import waiting

INT_MAX = 2**31 - 1


def ring(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


# -- requests ----------------------------------------------------------------------------------


def test_a_dropped_request_goes_on(comm, space):
    """What MPI reads lives on until it is done with it."""
    after, before = ring(comm)
    n = 200_000
    for _ in range(3):
        comm.isend(es.full(n, float(comm.rank), space=space), after)
        gc.collect()
    es.full(n, -1.0, space=space)  # maybe where the one before was
    comm.barrier()
    y = es.zeros(n, space=space)
    for _ in range(3):
        comm.recv(y, before)
        assert (y.to_numpy() == before).all()
    let_go(comm)


def let_go(comm):
    """Wait until nothing is kept for MPI; what is left fails as a leak."""
    comm.barrier()
    end = time.monotonic() + 20
    while waiting._kept and time.monotonic() < end:
        comm.trim()


def test_a_dropped_receive_takes_nothing(comm, space):
    after, before = ring(comm)
    comm.irecv(es.zeros(1000, space=space), before)
    persistent = comm.recv_init(es.zeros(1000, space=space), before).start()
    del persistent
    gc.collect()
    comm.barrier()
    x, y = es.full(1000, float(comm.rank), space=space), es.zeros(1000, space=space)
    comm.sendrecv(x, after, y, before)
    assert (y.to_numpy() == before).all()


def test_a_receive_that_is_cancelled_takes_nothing(comm, space):
    after, before = ring(comm)
    y = es.zeros(4, space=space)
    request = comm.irecv(y, before, tag=3)
    assert request.cancel() and request.done
    comm.barrier()
    comm.sendrecv(es.full(4, 5.0, space=space), after, y, before, tag=3)
    assert (y.to_numpy() == 5).all()
    assert not comm.isend(es.ones(2, space=space), after, tag=4).cancel()
    comm.recv(es.zeros(2, space=space), before, tag=4)


def test_an_interrupted_receive_leaves_the_next_message_alone(comm, space, monkeypatch):
    after, before = ring(comm)

    def interrupt(tests):
        raise KeyboardInterrupt

    y = es.zeros(4, space=space)
    with monkeypatch.context() as patch:
        patch.setattr(waiting, "pause", interrupt)
        with pytest.raises(KeyboardInterrupt):
            comm.recv(y, before)
    comm.barrier()
    comm.sendrecv(es.full(4, 2.0, space=space), after, y, before)
    assert (y.to_numpy() == 2).all()


def test_sendrecv_that_is_refused_receives_nothing(comm, space):
    after, before = ring(comm)
    x, y, z = (es.full(4, float(comm.rank), space=space) for _ in range(3))
    with pytest.raises(escomm.CommError, match="dest=99"):
        comm.sendrecv(x, 99, y, before)
    with pytest.raises(escomm.CommError, match="tag=-5"):
        comm.sendrecv(x, after, y, before, tag=-5)
    with pytest.raises(escomm.CommError, match="share memory"):
        comm.sendrecv(x, after, x, before)
    comm.sendrecv(x, after, z, before)
    assert (z.to_numpy() == before).all()


def test_all_are_waited_for_before_an_error_is_raised(space):
    comm = escomm.Comm(checked=False)
    after, before = ring(comm)
    long, right = es.zeros(5, space=space), es.zeros(3, space=space)
    requests = [comm.irecv(long, before, tag=1), comm.irecv(right, before, tag=2)]
    sent = [comm.isend(es.ones(3, space=space), after, tag=tag) for tag in (1, 2)]
    with pytest.raises(escomm.CommError, match=r"sent 3 elements of 8 bytes and View .* has 5"):
        escomm.wait_all(requests)
    escomm.wait_all(sent)
    assert all(request.done for request in requests)
    assert (right.to_numpy() == 1).all()
    with pytest.raises(escomm.CommError, match="sent 3 elements"):
        requests[0].wait()  # again the same


def test_a_persistent_request_that_was_freed(comm, space):
    request = comm.send_init(es.ones(3, space=space), ring(comm)[0])
    request.free()
    request.free()
    with pytest.raises(escomm.CommError, match="it was freed"):
        request.start()


def test_a_wait_within_a_graph_is_refused_and_loses_nothing(comm, space):
    after, before = ring(comm)
    y = es.zeros(4, space=space)
    request = comm.irecv(y, before)
    comm.send(es.ones(4, space=space), after)
    with pytest.raises(es.LaunchError, match="a graph is recorded"), es.Graph(space=space):
        request.wait()
    request.wait()
    assert (y.to_numpy() == 1).all()


# -- checked mode ------------------------------------------------------------------------------


def test_receives_that_are_waited_for_in_another_order_are_no_mistakes(comm, space):
    """Of two messages the first receive gets the first; whoever is waited for first."""
    after, before = ring(comm)
    for sources in ((escomm.ANY_SOURCE, before), (before, escomm.ANY_SOURCE), (before, before)):
        a, b = es.zeros(2, space=space), es.zeros(3, space=space)
        requests = [comm.irecv(v, s) for v, s in zip((a, b), sources, strict=True)]
        comm.send(es.full(2, 2.0, space=space), after)
        comm.send(es.full(3, 3.0, space=space), after)
        requests[1].wait()
        requests[0].wait()
        assert (a.to_numpy() == 2).all() and (b.to_numpy() == 3).all()
        comm.barrier()


def test_views_of_different_shapes_at_the_ends(comm, space):
    if comm.size == 1:
        pytest.skip("one rank knows what it does")
    after, before = ring(comm)
    sent = comm.isend(es.ones((2, 3), space=space, label="six"), after)
    with pytest.raises(escomm.CommError, match=r"sends View 'six' of shape \(2, 3\)"):
        comm.recv(es.zeros(6, space=space), before)
    sent.wait()


def test_ranks_that_make_different_halos(comm, space):
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    # (extents, options of the Decomposition, options of the Halo) of the first rank and of others
    for first, other, told in (
        (((8, 6), {}, {}), ((9, 6), {}, {}), "extents"),
        (((8, 6), {}, {}), ((8, 6), {"periodic": True}, {}), "periodic"),
        (((8, 6), {}, {"engine": "mpi"}), ((8, 6), {}, {}), "engine"),
        (((8, 6), {}, {"reach": "faces"}), ((8, 6), {}, {}), "reach"),
    ):
        extents, options, more = other if comm.rank else first
        u = escomm.Decomposition(extents, comm, **options).field(halo=1, space=space)
        with pytest.raises(escomm.CommError, match=f"do not agree on {told}"):
            escomm.Halo(u, **more)


def test_an_exchange_that_others_do_not_make(comm, space):
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    halo = escomm.Decomposition(8, comm).field(halo=1, space=space, label="u")
    exchange = halo.decomposition.halo(halo).exchange
    with pytest.raises(escomm.CommError, match="ranks do not agree"):
        (exchange if comm.rank == 0 else comm.barrier)()


# -- halos -------------------------------------------------------------------------------------


def test_halos_that_are_started_in_different_orders(space):
    comm = escomm.Comm(checked=False)
    d = escomm.Decomposition(4 * comm.size, comm, periodic=True)
    u, v = (d.field(halo=1, space=space, label=name) for name in "uv")
    u.own.fill(1.0)
    v.own.fill(100.0)
    a, b = d.halo(u), d.halo(v)
    mine = es.zeros(1, space=space)
    stranger = comm.irecv(mine, escomm.ANY_SOURCE, tag=escomm.ANY_TAG)
    # NCCL has no tags: there all ranks start them in one order.
    for halo in (a, b) if comm.rank % 2 or a.engine == "nccl" else (b, a):
        halo.start()
    a.finish()
    b.finish()
    assert u.view.to_numpy().tolist() == [1.0] * 6
    assert v.view.to_numpy().tolist() == [100.0] * 6
    comm.send(es.full(1, 3.0, space=space), (comm.rank + 1) % comm.size, tag=9)
    stranger.wait()
    assert mine.to_numpy().tolist() == [3.0]


def test_checked_mode_finds_halos_that_are_started_in_different_orders(comm, space):
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    d = escomm.Decomposition(4 * comm.size, comm, periodic=True)
    for labels in ("uv", ("", "")):
        a, b = (d.halo(d.field(halo=1, space=space, label=name)) for name in labels)
        with pytest.raises(escomm.CommError, match=r"ranks do not agree.*halo=\d.*halo=\d"):
            (a if comm.rank % 2 else b).start()


def test_a_field_that_has_other_extents_than_its_halo(comm, space):
    u = escomm.Decomposition((4 * comm.size, 3), comm).field(halo=1, space=space, label="u")
    halo = u.decomposition.halo(u)
    es.realloc(u.view, (3, 3))
    with pytest.raises(escomm.CommError, match=r"field 'u' has shape \(3, 3\) now; expected \(6"):
        halo.exchange()


def test_a_halo_is_not_made_while_a_graph_is_recorded(comm, space):
    u = escomm.Decomposition(4 * comm.size, comm).field(halo=1, space=space, label="u")
    with es.Graph(space), pytest.raises(es.LaunchError, match="Halo: a graph is recorded"):
        u.decomposition.halo(u)


def test_a_halo_after_a_launch_that_failed(comm, space):
    d = escomm.Decomposition((3 * comm.size, 4), comm)
    u, v = (d.field(halo=1, space=space, label=name) for name in "uv")
    halo = d.halo(u)

    @es.kernel
    def move(i, j, u, v):
        v[i, j] = u[i - 1, j] + 1.0

    with pytest.raises(es.ExecspaceError):
        halo.parallel_for(move, u.view)
    halo.parallel_for(move, u.view, v.view)
    assert (v.own.to_numpy() == 1).all()
    halo.exchange()


# -- joins -------------------------------------------------------------------------------------


class Norm(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a + b

    def final(a):
        return a * 100


class Least(es.Reducer):
    identity = np.inf

    def join(a, b):
        return min(a, b)


def test_logical_joins_give_zero_or_one_on_any_number_of_ranks(comm, space):
    x = es.array(np.array([5, 0]), space=space)
    for reducer in (es.LAnd, es.LOr):
        assert comm.allreduce(x, reducer=reducer).to_numpy().tolist() == [1, 0]
        assert comm.scan(x, reducer=reducer).to_numpy().tolist() == [1, 0]


def test_the_last_step_of_a_reducer(comm, space):
    x = es.ones(3, space=space)
    assert (comm.allreduce(x, reducer=Norm).to_numpy() == 100.0 * comm.size).all()
    with pytest.raises(escomm.CommError, match="has a final"):
        comm.scan(x, reducer=Norm)


def test_an_identity_that_is_no_element(comm, space):
    x = es.full(2, comm.rank, es.int64, space=space)
    assert comm.scan(x, reducer=Least).to_numpy().tolist() == [0, 0]
    with pytest.raises(escomm.CommError, match="identity of reducer Least is inf"):
        comm.scan(x, reducer=Least, exclusive=True)


def test_sums_of_uint64_beyond_int64(comm, space):
    policy = es.RangePolicy(1, space=space)
    found = comm.parallel_reduce(policy, lambda i: es.uint64(2**62) + es.uint64(i))
    assert found == (comm.size * 2**62) % 2**64


# -- what is no argument -----------------------------------------------------------------------


def test_arguments_that_are_refused(comm, space):
    x = es.ones(3, space=space)
    d = escomm.Decomposition((4, 6), comm)
    error = escomm.CommError
    for call, told in (
        (lambda: comm.broadcast(x, escomm.NOBODY), "root=-"),
        (lambda: comm.send(x, 0, tag=2**40), "tag=1099511627776"),
        (lambda: comm.split(-3), "color=-3"),
        (lambda: escomm.Decomposition((4, 4), comm, ranks=(1.0, 2)), "ranks="),
        (lambda: d.owner(1.5, 2), "no index"),
        (lambda: escomm.halo_traffic((8, 8), 4, ranks=(-1, -4)), "ranks="),
        (lambda: escomm.halo_traffic((8, 8), 4, ranks=(2,)), "ranks="),
        (lambda: escomm.halo_traffic((8, 8), 4, rank=99), "rank=99"),
    ):
        with pytest.raises(error, match=told):
            call()


def test_a_communicator_is_made_once_and_can_be_freed(comm, space):
    fields = [escomm.Decomposition(4, comm.mpi).field(halo=1, space=space) for _ in range(2)]
    assert fields[0].decomposition == fields[1].decomposition
    fields[0].decomposition.halo(*fields).exchange()
    for _ in range(60):
        part = comm.split(0)
        part.allreduce(es.ones(2, space=space))
        escomm.Decomposition(4, part).field(halo=1, space=space).decomposition.comm.barrier()
        part.free()


def test_messages_of_more_elements_than_an_int_counts():
    from execspace_comm.datatypes import grouped

    for size, counts in ((8, (2**32,)), (1, (2**31 - 4, 4 * 1024, 1 << 20))):
        datatype, group = grouped(size, counts)
        assert datatype.Get_size() == size * group
        assert sum(counts) // group <= INT_MAX and all(n % group == 0 for n in counts)
    assert grouped(4, (INT_MAX,))[1] == 1
    with pytest.raises(escomm.CommError, match="2\\^31"):
        grouped(8, (2**31 + 1,))
