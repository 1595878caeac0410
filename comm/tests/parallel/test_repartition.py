"""Fields that go from one decomposition to another, and to arrays of one rank and back."""

import re

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

RECORD = np.dtype([("x", "f8"), ("v", "f4", (3,)), ("cell", [("i", "i4"), ("hot", "?")])])


def numbers(shape, dtype):
    """An array of all ranks, in which elements differ."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.names is None:
        found = np.arange(1, count + 1) % (2 if dtype.kind == "b" else 1000)
        found = found * (1 - 2j) if dtype.kind == "c" else found
        return found.astype(dtype).reshape(shape)
    found = np.zeros(shape, dtype)
    found["x"] = np.arange(count).reshape(shape)
    found["v"] = found["x"][..., None] + [0.25, 0.5, 0.75]
    found["cell"]["i"], found["cell"]["hot"] = -found["x"], found["x"] % 3 == 0
    return found


def part_of(array, field):
    d = field.decomposition
    return array[tuple(slice(a, b) for a, b in zip(d.lower, d.upper, strict=True))]


def filled(field, array):
    es.deep_copy(field.own, np.ascontiguousarray(part_of(array, field)))
    return field


def same(view, array):
    return view.to_numpy().tobytes() == np.ascontiguousarray(array).tobytes()


@pytest.fixture
def grids(comm):
    """Decompositions of a range that are as different as ranks allow."""

    def made(*extents):
        rank = len(extents)
        rows = escomm.Decomposition(extents, comm, ranks=[0, *[1] * (rank - 1)])
        columns = escomm.Decomposition(extents, comm, ranks=[*[1] * (rank - 1), 0])
        return rows, columns, escomm.Decomposition(extents, comm, periodic=True)

    return made


# -- from field to field ---------------------------------------------------------------------------


@pytest.mark.parametrize("layouts", [("right", "left"), ("left", "left"), ("right", "right")])
@pytest.mark.parametrize("extents", [(11, 7), (2, 3, 5)])
def test_elements_come_to_whoever_has_their_index(grids, space_name, extents, layouts):
    whole = numbers((*extents, 2), "f8")
    rows, columns, boxes = grids(*extents)
    one, other = layouts
    for here, there in ((rows, columns), (columns, boxes)):
        source = here.field(components=2, space=space_name, layout=one, halo=1)
        target = there.field(
            components=2, space=space_name, layout=other, halo=[(0, 2)] * there.rank
        )
        target.view.fill(-1)
        escomm.repartition(filled(source, whole), target)
        assert same(target.own, part_of(whole, target))
        assert (target.view.to_numpy() == -1).sum() == target.view.size - target.own.size


@pytest.mark.parametrize("dtype", ["bool", "float16", "complex64", RECORD], ids=str)
def test_elements_of_any_dtype(grids, space_name, dtype):
    whole = numbers((5, 7), dtype)
    rows, columns, _ = grids(5, 7)
    source = filled(rows.field(dtype, space=space_name), whole)
    target = columns.field(dtype, space=space_name)
    escomm.repartition(source, target)
    assert same(target.own, part_of(whole, target))


def test_from_one_space_to_another(grids, space_name):
    whole = numbers((7, 5), "i4")
    rows, columns, _ = grids(7, 5)
    there = rows.field("i4", space=space_name)
    back = columns.field("i4", space="serial", halo=1)
    escomm.repartition(filled(columns.field("i4", space="serial"), whole), there)
    assert same(there.own, part_of(whole, there))
    escomm.repartition(there, back)
    assert same(back.own, part_of(whole, back))


def test_one_dimension_and_more_ranks_than_indices(comm, space_name):
    for extent in (1, 2, 13):
        whole = numbers((extent,), "i8")
        d = escomm.Decomposition(extent, comm)
        source, target = filled(d.field("i8", space=space_name), whole), d.field("i8", halo=2)
        escomm.repartition(source, target)
        assert same(target.own, part_of(whole, target))


def test_no_index_at_all(comm, space_name):
    d = escomm.Decomposition((0, 3), comm)
    source, target = d.field(space=space_name), d.field(space=space_name, halo=1)
    escomm.repartition(source, target)
    assert escomm.gather_field(target, root=0) is None or comm.rank == 0
    escomm.scatter_field(np.zeros((0, 3)) if comm.rank == 0 else None, source)


def add_one(i, j, v):
    v[i, j] += 1


def test_one_that_is_made_once_moves_what_launches_have_left(grids, comm, space_name):
    whole = numbers((6, 10), "f8")
    rows, columns, _ = grids(6, 10)
    source = filled(rows.field(space=space_name, label="a"), whole)
    target = columns.field(space=space_name, label="b")
    there, back = escomm.Repartition(source, target), escomm.Repartition(target, source)
    for _ in range(3):
        if source.own.size:
            es.parallel_for(source.range(), add_one, source.view)
        there.exchange()
        if target.own.size:
            es.parallel_for(target.range(), add_one, target.view)
        back.exchange()
    assert same(source.own, part_of(whole + 6, source))
    assert there.messages < comm.size
    # A message for each rank that has a common index, and no bytes but these.
    with comm.counting() as traffic:
        there.exchange()
    assert traffic.total_bytes == there.nbytes and traffic.total_messages == there.messages
    rest = source.own.size - 8 * 0
    kept = np.prod(
        [
            max(0, min(b, d) - max(a, c))
            for a, b, c, d in zip(rows.lower, rows.upper, columns.lower, columns.upper, strict=True)
        ]
    )
    assert there.nbytes == 8 * (rest - kept)
    assert f"{there.nbytes:,} bytes" in repr(there)


def test_nothing_is_sent_where_everything_stays(grids, space_name):
    rows, _, _ = grids(9, 4)
    source, target = rows.field(space=space_name), rows.field(space=space_name, halo=2)
    source.own.fill(2)
    there = escomm.Repartition(source, target)
    there.exchange()
    assert there.messages == there.nbytes == 0
    assert (target.own.to_numpy() == 2).all()


def test_fields_that_do_not_fit(grids, comm, space_name):
    rows, columns, _ = grids(6, 4)
    field = rows.field(space=space_name, label="u")
    for other, message in (
        (columns.field("f4", label="v"), "field 'u' to field 'v': dtype are float64 and float32"),
        (columns.field(components=2), "components are"),
        (escomm.Decomposition((4, 6), comm).field(), r"extents are \(6, 4\) and \(4, 6\)"),
        (np.zeros((6, 4)), "is no field"),
    ):
        with pytest.raises(escomm.CommError, match=message):
            escomm.Repartition(field, other)
    with pytest.raises(escomm.CommError, match="expected fields"):
        escomm.repartition(1, 2)
    if comm.size > 1:
        alone = escomm.Decomposition((6, 4), comm.mpi.Split(comm.rank)).field()
        with pytest.raises(escomm.CommError, match=r"same ranks.*save_checkpoint"):
            escomm.Repartition(field, alone)


def test_one_rank_that_differs_is_told_on_all(comm, space_name):
    if comm.size == 1:
        return
    d = escomm.Decomposition((6, 4), comm)
    last = comm.rank == comm.size - 1
    source, target = d.field("f4" if last else "f8"), d.field("f8")
    with pytest.raises(escomm.CommError, match=f"on rank {comm.size - 1}: .*dtype are float32"):
        escomm.repartition(source, target)


# -- to an array of one rank, and back -------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "complex64", RECORD], ids=str)
def test_arrays_come_and_go(grids, comm, space_name, dtype):
    whole = numbers((5, 3, 2), dtype)
    root = comm.size - 1
    field = grids(5, 3)[2].field(dtype, components=2, halo=1, space=space_name, layout="left")
    escomm.scatter_field(whole if comm.rank == root else None, field, root=root)
    assert same(field.own, part_of(whole, field))
    found = escomm.gather_field(field, root=root)
    if comm.rank == root:
        assert found.dtype == whole.dtype and found.shape == whole.shape
        assert found.tobytes() == whole.tobytes()
    else:
        assert found is None


@pytest.mark.parametrize(
    "index",
    [
        (slice(None), 5, slice(None, None, 4)), 0, -1, ..., (..., 1), (4, ..., -2),
        (slice(None, None, -1), slice(8, 1, -3)), (slice(2, 2),), (slice(1, None, 3), slice(-4, 9)),
        (3, 2, 1), slice(50, 60), np.int64(2), (slice(None, None, 7), slice(None, None, 100), 0),
    ],
    ids=str,
)  # fmt: skip
def test_what_numpy_selects_is_gathered(grids, comm, space_name, index):
    whole = numbers((7, 11, 5), "i4")
    field = filled(grids(7, 11, 5)[2].field("i4", space=space_name, halo=1), whole)
    found = escomm.gather_field(field, index)
    if comm.rank == 0:
        assert found.shape == whole[index].shape
        assert np.array_equal(found, whole[index])


def test_what_is_not_selected_is_not_moved(grids, comm, space_name):
    field = grids(12, 8)[0].field(space=space_name)
    with comm.counting() as traffic:
        escomm.gather_field(field, (slice(None), 3))
    lines = field.own.shape[0] if comm.rank else 0
    assert traffic.total_bytes == 8 * lines


def test_indices_and_arrays_that_do_not_fit(grids, comm, space_name):
    field = grids(6, 4)[0].field(space=space_name, label="u")
    for index, message in (
        (6, "index 6 of field 'u' in dimension 0; expected an integer from -6 to 5"),
        ((0, -5), "index -5 of field 'u' in dimension 1"),
        ((0, 0, 0), "one for each of 2 dimensions"),
        ((..., ...), "at most one"),
        ((None, 0), "index None"),
        ([1, 2], "expected an integer"),
        ("x", "index 'x'"),
        (True, "index True"),
        (slice(None, None, 0), "or a slice"),
    ):
        with pytest.raises(escomm.CommError, match=re.escape(message)):
            escomm.gather_field(field, index)
    with pytest.raises(escomm.CommError, match="root=99"):
        escomm.gather_field(field, root=99)
    with pytest.raises(escomm.CommError, match="expected a field"):
        escomm.gather_field(np.zeros(3))
    for array, message in (
        (np.zeros((4, 6)), "shape (4, 6) and dtype float64 for field 'u'; expected shape (6, 4)"),
        (np.zeros((6, 4), "f4"), "dtype float32"),
        (np.ma.zeros((6, 4)), "mask"),
        (None, "array"),
    ):
        with pytest.raises(escomm.CommError, match=re.escape(message)):
            escomm.scatter_field(array if comm.rank == 0 else None, field)
