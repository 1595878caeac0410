"""Views arrive as they were sent: of every dtype, layout and stride, whatever the other end is."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

PAIR = np.dtype([("a", np.float64), ("b", np.int32)], align=True)
DTYPES = [np.float64, np.float32, np.int8, np.int64, np.bool_, np.complex64, np.float16, PAIR]


def numbers(rank, dtype, shape=(3, 4)):
    found = np.zeros(shape, dtype)
    counted = np.arange(found.size).reshape(shape) + rank
    if found.dtype.fields:
        found["a"], found["b"] = counted + 0.5, rank
    else:
        found[...] = (counted % 2 if dtype is np.bool_ else counted).astype(dtype)
    return found


def around(comm):
    """The next rank and the one before."""
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def fits(space, dtype):
    if np.dtype(dtype) == np.float16 and not space.capabilities.float16:
        pytest.skip("no float16")
    if np.dtype(dtype).itemsize == 8 and not space.capabilities.float64:
        pytest.skip("no float64")


@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_elements_arrive_in_the_order_of_indices(comm, space, dtype, layout):
    fits(space, dtype)
    after, before = around(comm)
    sent = es.View((3, 4), dtype, space=space, layout=layout)
    got = es.View((3, 4), dtype, space=space, layout="left" if layout == "right" else "right")
    es.deep_copy(sent, numbers(comm.rank, dtype))
    found = comm.sendrecv(sent, after, got, before)
    assert (got.to_numpy() == numbers(before, dtype)).all()
    assert found == (before, 0, 12)


@pytest.mark.parametrize("dtype", [np.float64, np.int16, PAIR], ids=lambda d: np.dtype(d).name)
def test_parts_with_gaps_and_in_reverse(comm, space, dtype):
    fits(space, dtype)
    after, before = around(comm)
    whole = es.View((7, 9), dtype, space=space)
    target = es.View((6, 8), dtype, space=space)
    part, place = whole[1::2, ::-2][:, :4], target[::2, 1::2]
    es.deep_copy(part, numbers(comm.rank, dtype))
    comm.sendrecv(part, after, place, before)
    assert (place.to_numpy() == numbers(before, dtype)).all()
    rest = target.to_numpy()
    rest[::2, 1::2] = np.zeros((), dtype)
    assert (rest == np.zeros((), dtype)).all()


def test_messages_are_in_order_with_an_instance(comm, space):
    after, before = around(comm)
    queue = space.instance()
    x = es.zeros(1000, es.float32, space=space)
    y = es.zeros(1000, es.float32, space=space)
    policy = es.RangePolicy(1000, space=queue)
    queue.wait_for(space)
    for step in range(3):
        es.parallel_for(policy, put, x, comm.rank + step)
        request = comm.irecv(y, before, space=queue)
        comm.send(x, after, space=queue)
        request.wait()
        es.parallel_for(policy, double, y)
        queue.fence()
        assert (y.to_numpy() == 2 * (before + step)).all()


@es.kernel
def put(i, x, value):
    x[i] = value


@es.kernel
def double(i, x):
    x[i] *= 2


def test_tags_choose_among_messages(comm, space):
    after, before = around(comm)
    first, second = (es.full(3, float(n), es.float32, space=space) for n in (1, 2))
    requests = [comm.isend(first, after, tag=1), comm.isend(second, after, tag=2)]
    got = es.zeros(3, es.float32, space=space)
    assert comm.recv(got, before, tag=2).tag == 2
    assert (got.to_numpy() == 2).all()
    comm.recv(got, before, tag=1)
    assert (got.to_numpy() == 1).all()
    for request in requests:
        assert request.wait() is None
        assert request.done
        assert request.test()


def test_persistent_requests_send_what_is_there_when_they_start(comm, space):
    after, before = around(comm)
    x, y = es.zeros(5, es.int32, space=space), es.zeros(5, es.int32, space=space)
    receive, send = comm.recv_init(y, before), comm.send_init(x, after)
    for step in range(4):
        x.fill(10 * step + comm.rank)
        receive.start()
        send.start()
        receive.wait()
        send.wait()
        assert (y.to_numpy() == 10 * step + before).all()
    receive.free()
    send.free()


def test_nobody_and_nothing(comm, space):
    import execspace_comm as escomm

    x = es.full(3, 7, es.int32, space=space)
    comm.send(x, escomm.NOBODY)
    assert comm.recv(x, escomm.NOBODY).count == 0
    assert (x.to_numpy() == 7).all()
    after, before = around(comm)
    empty = es.zeros((0, 3), es.int32, space=space)
    assert comm.sendrecv(empty, after, empty.copy(), before).count == 0


def test_of_any_rank(comm, space):
    import execspace_comm as escomm

    x = es.full(2, comm.rank, es.int32, space=space)
    if comm.rank:
        comm.send(x, 0, tag=9)
        return
    y = es.zeros(2, es.int32, space=space)
    sources = set()
    for _ in range(comm.size - 1):
        found = comm.recv(y, escomm.ANY_SOURCE, tag=9)
        assert (y.to_numpy() == found.source).all()
        sources.add(found.source)
    assert sources == set(range(1, comm.size))


def test_messages_that_are_not_possible(comm, space):
    import execspace_comm as escomm

    x = es.zeros(3, es.int32, space=space)
    with pytest.raises(escomm.CommError, match=r"dest=99 is not a rank .* 0 to "):
        comm.send(x, 99)
    with pytest.raises(escomm.CommError, match="read-only"):
        comm.recv(x.readonly(), 0)
    with pytest.raises(escomm.CommError, match="Expected a View"):
        comm.send("text", 0)
    with pytest.raises(AttributeError, match="expected 'broadcast'"):
        comm.bcast(x)
