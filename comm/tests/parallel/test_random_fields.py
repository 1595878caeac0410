"""escomm.fill_random: the bits of es.fill_random in one View of the global shape."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

SEED = 2**63 + 12345
WAYS = [  # few: each is compiled
    ("float32", {"low": -1.5, "high": 2.5}),
    ("float16", {"distribution": "normal", "mean": 1.0, "std": 0.25}),
    ("complex128", {"distribution": "normal"}),
    ("uint64", {"low": 3, "high": 2**64}),
    ("bool", {}),
]


def _box(field):
    d = field.decomposition
    return tuple(slice(a, b) for a, b in zip(d.lower, d.upper, strict=True))


def _check(field, dtype, options):
    whole = np.empty(field.global_shape, dtype)
    es.fill_random(whole, SEED, **options, space="serial")
    before = field.view.to_numpy()
    escomm.fill_random(field, SEED, **options)
    assert field.own.to_numpy().tobytes() == np.ascontiguousarray(whole[_box(field)]).tobytes()
    after = field.view.to_numpy()
    own = tuple(slice(a, b) for a, b in zip(field.begin, field.end, strict=True))
    after[own] = before[own]
    assert after.tobytes() == before.tobytes()  # the halo


@pytest.mark.parametrize(("dtype", "options"), WAYS)
def test_distributions_and_dtypes(comm, space_name, dtype, options):
    u = escomm.Decomposition((7, 5), comm).field(dtype, halo=1, space=space_name)
    _check(u, dtype, options)


@pytest.mark.parametrize(
    ("extents", "components", "layout"),
    [(11, (), "right"), (1, (), "right"), ((5, 3), 2, "left"), ((2, 3, 1, 5), (), "right")],
)
def test_extents_and_layouts(comm, space_name, extents, components, layout):
    d = escomm.Decomposition(extents, comm, periodic=True)
    widths = [(1, 0)] + [(0, 1)] * (d.rank - 1)
    u = d.field(halo=widths, components=components, space=space_name, layout=layout)
    _check(u, "float64", {"draw": 3, "start": 17})


def test_more_axes_than_a_policy_has(comm, space_name):
    d = escomm.Decomposition((2, 1, 2, 3, 1), comm)
    _check(d.field(components=(2, 2), space=space_name), "float64", {})


def test_rows_of_views(comm, space_name):
    lengths = [(r * 5) % 4 for r in range(comm.size)]
    n = lengths[comm.rank]
    whole = np.empty((sum(lengths), 3), np.float64)
    es.fill_random(whole, 7, start=5, space="serial")
    at = sum(lengths[: comm.rank])
    view = es.zeros((n, 3), es.float64, space=space_name)
    escomm.fill_random(view, 7, start=5, comm=comm)
    assert (view.to_numpy() == whole[at : at + n]).all()
    view.fill(0)
    escomm.fill_random(view, 7, start=5, offset=3 * at)
    assert (view.to_numpy() == whole[at : at + n]).all()
    row = es.zeros(n, es.float64, space=space_name)
    escomm.fill_random(row, 7, comm=comm)
    line = np.empty(sum(lengths), np.float64)
    es.fill_random(line, 7, space="serial")
    assert (row.to_numpy() == line[at : at + n]).all()


def test_what_is_refused(comm, space_name):
    u = escomm.Decomposition((3, 4), comm).field(space=space_name)
    with pytest.raises(escomm.CommError, match="offset= beside field"):
        escomm.fill_random(u, 1, offset=3)
    with pytest.raises(escomm.CommError, match="rank 0"):
        escomm.fill_random(es.zeros((), space=space_name), 1, comm=comm)
    with pytest.raises(es.ViewError, match="seed -1"):
        escomm.fill_random(u, -1)
    with pytest.raises(es.ViewError, match="'cauchy' does not exist"):
        escomm.fill_random(u, 1, distribution="cauchy")
    whole_numbers = escomm.Decomposition(5, comm).field(es.int32, space=space_name)
    with pytest.raises(es.ViewError, match="need an upper bound"):
        escomm.fill_random(whole_numbers, 1)
