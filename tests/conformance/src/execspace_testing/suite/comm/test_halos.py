"""Halos hold what neighbours have, whatever the ranks, widths, dtypes and layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import execspace as es

CASES = {
    "line": ((7,), True, 1, "corners", (), [np.float32], None),
    "one index": ((1,), False, 2, "corners", (), [np.float32], None),
    "plane": ((13, 11), (True, False), 2, "corners", (), [np.float32, np.int8, np.int32], None),
    "widths": ((5, 7), True, ((1, 0), (0, 3)), "faces", (), [np.complex64], "left"),
    "around and around": ((3, 2), True, 3, "corners", (), [np.float32], None),
    "edges": ((2, 5, 3), (True, False, True), 1, "edges", (2,), [np.float32, np.int16], "left"),
    "four": ((3, 2, 2, 3), True, 1, "corners", (3,), [np.float32], None),
    "faces of a cube": ((5, 4, 3), False, 1, "faces", (), [np.int32], None),
}


@pytest.mark.parametrize("name", CASES)
def test_halos(comm, space, name):
    import execspace_comm as escomm

    extents, periodic, width, reach, components, dtypes, layout = CASES[name]
    d = escomm.Decomposition(extents, comm, periodic=periodic)
    fields = [
        d.field(dtype, halo=width, components=components, label=f"u{n}", space=space, layout=layout)
        for n, dtype in enumerate(dtypes)
    ]
    most = {"faces": 1, "edges": 2, "corners": len(extents)}[reach]
    wanted = []
    for n, field in enumerate(fields):
        before, after = np.full((2, *field.view.shape), -1).astype(field.dtype)
        for at in itertools.product(*(range(n) for n in before.shape[: d.rank])) if d.size else ():
            place = [i + o for i, o in zip(at, field.origin, strict=True)]
            value = value_at(d, place, components, n, field.dtype)
            others = sum(map(is_of_others, [d] * d.rank, range(d.rank), place))
            if not others:
                before[at] = value
            if others <= most:
                after[at] = value
        es.deep_copy(field.view, before)
        wanted.append(after)
    halo = d.halo(*fields, reach=reach)
    for _ in range(3):
        halo.exchange()
    for field, want in zip(fields, wanted, strict=True):
        assert (field.view.to_numpy() == want).all()


def value_at(d, place, components, n, dtype):
    """What an element is, on whichever rank: of global indices, those of a periodic range alike."""
    whole = [i % e if p else i + 50 for i, e, p in zip(place, d.extents, d.periodic, strict=True)]
    number = n + sum(i * 7**k for k, i in enumerate(whole))
    found = number + np.arange(np.prod(components, dtype=int)).reshape(components)
    return (found % 100).astype(dtype)


def is_of_others(d, dimension, index):
    """Whether an index along a dimension is outside of this rank's, and what adjoins them."""
    low, high = d.lower[dimension], d.upper[dimension]
    if not d.periodic[dimension]:
        low = -99 if low == 0 else low
        high = 99 if high == d.extents[dimension] else high
    return not low <= index < high


@es.kernel
def fill(i, j, u, oi, oj):
    u[i, j] = (i + oi) * 10 + (j + oj)


@es.kernel
def laplacian(i, j, u, v):
    v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]


@pytest.mark.parametrize("periodic", [True, False])
def test_a_stencil_while_messages_are_under_way(comm, space, periodic):
    import execspace_comm as escomm

    d = escomm.Decomposition((9, 10), comm, periodic=periodic)
    u, v = (d.field(es.float32, halo=1, label=name, space=space) for name in "uv")
    es.parallel_for(u.range(), fill, u.view, *u.origin)
    halo = d.halo(u, reach="faces")
    for _ in range(2):
        halo.parallel_for(laplacian, u.view, v.view)
    whole = np.zeros((11, 12), np.float32)
    whole[1:-1, 1:-1] = np.arange(90).reshape(9, 10)
    if periodic:
        whole = np.pad(whole[1:-1, 1:-1], 1, mode="wrap")
    c = whole[1:-1, 1:-1]
    want = whole[:-2, 1:-1] + whole[2:, 1:-1] + whole[1:-1, :-2] + whole[1:-1, 2:] - 4 * c
    box = tuple(slice(a, b) for a, b in zip(d.lower, d.upper, strict=True))
    assert (v.own.to_numpy() == want[box]).all()


def test_inner_and_boundary_are_the_range(comm, space):
    import execspace_comm as escomm

    for extents, width in (((9, 10), 1), ((2, 3, 7), 2), ((5,), 3)):
        d = escomm.Decomposition(extents, comm, periodic=True)
        u = d.field(es.int32, halo=width, space=space)
        for policy in [u.inner(), *u.boundary()]:
            es.parallel_for(policy, ONE_MORE[len(extents)], u.view)
        assert (u.own.to_numpy() == 1).all()
        assert u.view.to_numpy().sum() == d.size


ONE_MORE = {
    1: es.kernel(lambda i, u: es.atomic_add(u, i, 1)),
    2: es.kernel(lambda i, j, u: es.atomic_add(u, (i, j), 1)),
    3: es.kernel(lambda i, j, k, u: es.atomic_add(u, (i, j, k), 1)),
}


def test_boxes_are_all_indices_once(comm, space):
    import execspace_comm as escomm

    for extents in ((11,), (5, 3), (2, 2, 2), (1, 1, 3, 2), (0, 4)):
        d = escomm.Decomposition(extents, comm)
        count = np.zeros(extents, int)
        for rank in range(comm.size):
            lower, upper = d.box(rank)
            box = tuple(slice(a, b) for a, b in zip(lower, upper, strict=True))
            count[box] += 1
            for at in itertools.product(*map(range, lower, upper)):
                assert d.owner(*at) == rank
        assert (count == 1).all()


def test_what_does_not_fit(comm, space):
    import execspace_comm as escomm

    d = escomm.Decomposition((4, 4), comm)
    with pytest.raises(escomm.CommError, match="product is"):
        escomm.Decomposition((4, 4), comm, ranks=(comm.size + 1, 1))
    with pytest.raises(escomm.CommError, match="1 to 6 numbers"):
        escomm.Decomposition((4, -1), comm)
    with pytest.raises(escomm.CommError, match="for each of 2 dimensions"):
        d.field(halo=(1, 2, 3), space=space)
    with pytest.raises(escomm.CommError, match="one of 'faces'"):
        d.halo(d.field(space=space), reach="sides")
    halo = d.halo(d.field(es.int32, halo=1, label="u", space=space))
    with pytest.raises(escomm.CommError, match="nothing was started"):
        halo.finish()
