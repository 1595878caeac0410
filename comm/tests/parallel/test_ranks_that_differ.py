"""What goes wrong on one rank, or differs between ranks, is an error on all of them; and files of
others stay."""

from __future__ import annotations

import os

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

sparse = pytest.importorskip("execspace_comm.sparse")


@pytest.fixture(scope="module")
def plain():
    """All ranks, without checked mode, which would find differences before."""
    return escomm.Comm(checked=False)


@pytest.fixture
def last(plain):
    """Whether this rank is the one that errs."""
    return plain.rank == plain.size - 1


@pytest.fixture
def folder(plain, tmp_path):
    return tmp_path.__class__(plain.mpi.bcast(tmp_path))


def bad_rows(begin, end):
    raise KeyError("no mesh here")


def ragged(begin, end):
    for _ in range(begin, end):
        yield [0, 1], [1.0]


def good(begin, end):
    for i in range(begin, end):
        yield [i], [1.0]


def test_an_error_of_one_rank_is_that_of_all(plain, last, space):
    d = escomm.Decomposition((4, 6), plain)
    u = d.field(es.float64, space=space, label="u")
    n = 4 * plain.size
    for call, told in (
        (lambda: sparse.from_function(bad_rows if last else good, n, comm=plain), "no mesh here"),
        (lambda: sparse.from_function(ragged, n, comm=plain), "2 columns and 1 values"),
        (lambda: escomm.sort(None if last else es.ones(3), comm=plain), "None"),
        (lambda: escomm.scan_field(u, axis=7 if last else 0), "axis=7"),
        (lambda: escomm.scan_field(u, axis=0, out=es.ones(3) if last else u), "has shape"),
        (lambda: escomm.fill_random(es.zeros(() if last else 3), 1, comm=plain), "rank 0"),
        (lambda: sparse.from_entries([0], [0], [1.0], "x" if last else 3, comm=plain), "'x'"),
        (lambda: sparse.dot(es.ones(3), es.ones(4 if last else 3), comm=plain), "4"),
        (lambda: escomm.gather_field(u, root=99 if last else 0), "root=99"),
        (lambda: escomm.write_zarr("no.zarr", {"u": u}, shards=(4, 4)), "without chunks="),
    ):
        with pytest.raises(escomm.CommError, match=told):
            call()
    escomm.scan_field(u, axis=0)  # ranks are still together


def test_ranks_that_ask_for_different_things(plain, last, space):
    if plain.size == 1:
        pytest.skip("one rank agrees with itself")
    d = escomm.Decomposition((4, 6), plain)
    u = d.field(space=space, label="u")
    rows = es.array(np.arange(4) if last else np.arange(4.0), space=space)
    ones = es.ones(4, space=space)
    for call in (
        lambda: escomm.scan_field(rows, comm=plain),
        lambda: escomm.scan_field(ones, reducer=es.Max if last else es.Sum, comm=plain),
        lambda: escomm.scan_field(ones, exclusive=last, comm=plain),
        lambda: escomm.scan_field(u, axis=int(last)),
        lambda: escomm.gather_field(u, root=int(last)),
        lambda: escomm.scatter_field(np.ones((4, 6)), u, root=int(last)),
        lambda: sparse.dot(*(es.ones((3, 1 + last)),) * 2, comm=plain),
    ):
        with pytest.raises(escomm.CommError, match="ranks do not agree"):
            call()
    numbers = 3 if last else np.int64(3)
    assert (escomm.gather_field(u, numbers) is None) == (plain.rank > 0)  # the same index


def test_views_that_overlap_are_not_sorted(plain, last):
    x = es.array(np.arange(10.0)[::-1].copy())
    keys, values = x[:6], x[3:9] if last else es.ones(6)
    with pytest.raises(escomm.CommError, match="overlap"):
        escomm.sort_by_key(keys, values, comm=plain)
    both = es.array(np.arange(12.0)[::-1].copy().reshape(6, 2))
    escomm.sort_by_key(both[:, 0], both[:, 1], comm=plain)  # side by side, without an element
    assert (np.diff(both.to_numpy()[:, 0]) >= 0).all()


# -- matrices ----------------------------------------------------------------------------------


def test_columns_and_rows_that_do_not_fit(plain, tmp_path, folder):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    eye = scipy_sparse.eye_array(3, format="csr")
    root = eye if plain.rank == 0 else None
    path = folder / "eye.mtx"
    if plain.rank == 0:
        path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n3 3 2\n")
    plain.barrier()
    for n in (2, 5):
        columns = sparse.Partition(n, plain)
        with pytest.raises(escomm.CommError, match="expected one of 3 columns"):
            sparse.from_root(root, columns=columns, comm=plain)
    for read in ("parts", "root"):
        for rows, told in (("banana", "rows='banana'"), (sparse.Partition(5, plain), "of 3 rows")):
            with pytest.raises(escomm.CommError, match=told):
                sparse.from_matrix_market(path, rows=rows, read=read, comm=plain)
        assert sparse.from_matrix_market(path, read=read, comm=plain).shape == (3, 3)

    def wide(begin, end):
        return scipy_sparse.csr_array((end - begin, 7))

    with pytest.raises(escomm.CommError, match="x 7; expected"):
        sparse.from_function(wide, 10, comm=plain)


def test_values_without_an_order_are_not_updated(plain):
    rows = [2, 0, 1] if plain.rank == 0 else []
    values = np.array([30.0, 1.0, 20.0][: len(rows)])
    A = sparse.from_entries(rows, rows, values, 3, comm=plain)
    with pytest.raises(escomm.CommError, match="no order of entries"):
        A.update(es.ones(A.nnz))


def test_rows_and_columns_that_are_divided_differently(plain):
    n = 6
    bounds = [0] * plain.size + [n]
    columns = sparse.Partition(n, plain, bounds=bounds)

    def rows(begin, end):
        for i in range(begin, end):
            yield [i], [2.0]

    A = sparse.from_function(rows, n, columns=columns, comm=plain)
    if plain.size == 1:
        assert sparse.cg(A, es.ones(n)).converged
        return
    with pytest.raises(escomm.CommError, match="divided by"):
        sparse.cg(A, es.ones(A.rows.size))


# -- files of others ---------------------------------------------------------------------------


def test_checkpoints_leave_folders_of_others_alone(plain, folder, space):
    u = escomm.Decomposition(5, plain).field(space=space)
    place = folder / "run"
    if plain.rank == 0:
        (place / "data-raw").mkdir(parents=True)
        (place / "data-raw" / "precious.csv").write_text("1")
    plain.barrier()
    with pytest.raises(escomm.CommError, match="the folder has data-raw"):
        escomm.save_checkpoint(place, {"u": u})
    assert (place / "data-raw" / "precious.csv").exists()
    escomm.save_checkpoint(folder / "other", {"u": u})
    if plain.rank == 0:
        (folder / "other" / "data-mine").mkdir()
    plain.barrier()
    escomm.save_checkpoint(folder / "other", {"u": u})
    assert (folder / "other" / "data-mine").is_dir()


def test_zarr_stores_leave_folders_of_others_alone(plain, folder, space):
    pytest.importorskip("zarr", minversion="3")
    u = escomm.Decomposition((4, 6), plain).field(space=space)
    u.own.fill(3)
    for beside in ("flow.zarr.part", "flow.zarr.old"):
        if plain.rank == 0:
            (folder / beside).mkdir()
            (folder / beside / "mine.txt").write_text("1")
        plain.barrier()
        with pytest.raises(escomm.CommError, match="no Zarr store"):
            escomm.write_zarr(folder / "flow.zarr", {"u": u})
        assert (folder / beside / "mine.txt").exists()
        plain.barrier()
        if plain.rank == 0:
            (folder / beside / "mine.txt").unlink()
            (folder / beside).rmdir()
    plain.barrier()
    for _ in range(2):
        escomm.write_zarr(f"{folder / 'flow.zarr'}{os.sep}", {"u": u})
    u.own.fill(0)
    escomm.read_zarr(folder / "flow.zarr", {"u": u})
    assert (u.own.to_numpy() == 3).all()
    assert os.listdir(folder) == ["flow.zarr"]


def test_a_store_stays_where_a_new_one_cannot_take_its_place(plain, folder, monkeypatch):
    pytest.importorskip("zarr", minversion="3")
    u = escomm.Decomposition(4, plain).field()
    u.own.fill(1)
    place = folder / "flow.zarr"
    escomm.write_zarr(place, {"u": u})
    rename = os.rename

    def denied(a, b):
        if str(a).endswith(".part"):
            raise PermissionError(13, "denied")
        rename(a, b)

    u.own.fill(2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", denied)
        with pytest.raises(escomm.CommError, match="denied"):
            escomm.write_zarr(place, {"u": u})
    escomm.read_zarr(place, {"u": u})
    assert (u.own.to_numpy() == 1).all()


def test_scans_along_axes_keep_no_communicators(plain):
    for _ in range(3):
        part = plain.split(0)
        u = escomm.Decomposition((4, 4), part).field(es.int64)
        u.own.fill(1)
        escomm.scan_field(u, axis=0)
        assert part._parts or max(u.decomposition.ranks) == part.size
        part.free()
        assert not part._parts
