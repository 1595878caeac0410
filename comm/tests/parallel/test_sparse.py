"""Matrices over ranks: products, sources, dots and norms, solvers."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm

scipy_sparse = pytest.importorskip("scipy.sparse")
kernels = pytest.importorskip("execspace_kernels")
sparse = pytest.importorskip("execspace_comm.sparse")


def line(n, diagonal=2.5, dtype="float64"):
    """A Laplacian of one dimension, and some more."""
    return scipy_sparse.diags_array(
        [-1.0, diagonal, -1.0], offsets=[-1, 0, 1], shape=(n, n), dtype=dtype
    ).tocsr()


def random(n, m, dtype="float64", density=0.2):
    """Of no order: columns of rows do not ascend."""
    rng = np.random.default_rng(n * m)
    found = scipy_sparse.random_array((n, m), density=density, rng=rng, format="csr")
    if np.dtype(dtype).kind == "c":
        found = found + 1j * scipy_sparse.csr_array(
            (rng.random(found.nnz), found.indices, found.indptr), shape=found.shape
        )
    found = found.astype(np.float32 if dtype == "float16" else dtype)
    for begin, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        order = rng.permutation(end - begin)
        found.indices[begin:end] = found.indices[begin:end][order]
        found.data[begin:end] = found.data[begin:end][order]
    return found


def numbers(shape, dtype="float64", seed=3):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def divided(S, comm, space_name, rows=None, columns=None, dtype=None, **options):
    """This rank's rows of a matrix that all have."""
    rows = rows or sparse.Partition(S.shape[0], comm)
    if columns is None and S.shape[0] != S.shape[1]:
        columns = S.shape[1]
    begin, end = S.indptr[[rows.lower, rows.upper]]
    row_map = S.indptr[rows.lower : rows.upper + 1] - begin
    values = S.data[begin:end].astype(dtype or S.dtype)
    return sparse.DistributedCrsMatrix(
        row_map, S.indices[begin:end], values, rows=rows, columns=columns, space=space_name,
        **options,
    )  # fmt: skip


def mine(array, partition, space_name):
    return es.array(array[partition.lower : partition.upper], space=space_name)


def together(comm, view):
    return np.concatenate(comm.mpi.allgather(view.to_numpy()))


def dense(A):
    """All rows, by a product with columns of the identity."""
    eye = np.eye(A.shape[1])[A.columns.lower : A.columns.upper]
    y = A @ es.array(eye.astype(A.dtype), space=A.space)
    return together(A.comm, y)


def on_one(S, x, space_name, dtype=None, **options):
    """The product that a rank computes alone."""
    A = kernels.sparse.CrsMatrix(
        S.indptr, S.indices, S.data.astype(dtype or S.dtype), S.shape, space=space_name
    )
    with es.use_space(space_name):
        y = kernels.sparse.spmv(A, es.array(x), algorithm="rows", **options)
    return y.to_numpy()


MATRICES = {
    "line": lambda: line(31),
    "random": lambda: random(37, 37),
    "wide": lambda: random(11, 41),
    "tall": lambda: random(41, 11),
    "few rows": lambda: random(3, 3, density=0.9),
    "no entries": lambda: scipy_sparse.csr_array((7, 7)),
    "nothing": lambda: scipy_sparse.csr_array((0, 0)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_products(comm, space_name, name):
    S = MATRICES[name]()
    x = numbers(S.shape[1])
    A = divided(S, comm, space_name)
    y = together(comm, A @ mine(x, A.columns, space_name))
    assert A.shape == S.shape and comm.mpi.allreduce(A.nnz) == S.nnz
    assert np.abs(y - S @ x).max(initial=0) < 1e-12
    again = together(comm, A @ mine(x, A.columns, space_name))
    assert (again == y).all()
    whole = divided(S, comm, space_name, overlap=False)
    y = sparse.spmv(whole, mine(x, A.columns, space_name), algorithm="rows")
    expected = on_one(S, x, space_name)
    assert y.to_numpy().tolist() == expected[A.rows.lower : A.rows.upper].tolist()


@pytest.mark.parametrize("overlap", [True, False])
def test_several_columns_scales_and_layouts(comm, space_name, overlap):
    S = random(29, 29)
    x, y0 = numbers((29, 3)), numbers((29, 3), seed=4)
    A = divided(S, comm, space_name, overlap=overlap)
    for layout in ("right", "left"):
        view = es.array(x[A.columns.lower : A.columns.upper], space=space_name, layout=layout)
        y = mine(y0, A.rows, space_name)
        assert sparse.spmv(A, view, out=y, alpha=-2.0, beta=0.5, algorithm="rows") is y
        assert np.abs(together(comm, y) - (-2 * S @ x + 0.5 * y0)).max() < 1e-12
        if not overlap:
            expected = on_one(
                S, x, space_name, out=es.array(y0, space=space_name), alpha=-2.0, beta=0.5
            )
            assert y.to_numpy().tolist() == expected[A.rows.lower : A.rows.upper].tolist()
    strided = es.array(numbers((29, 2))[A.columns.lower : A.columns.upper], space=space_name)
    y = A @ strided[:, 1]
    assert np.abs(together(comm, y) - S @ numbers((29, 2))[:, 1]).max() < 1e-12


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
def test_dtypes(comm, space_name, dtype):
    S = random(23, 23, dtype)
    x = numbers(23, dtype)
    A = divided(S, comm, space_name, dtype=dtype)
    y = A @ mine(x, A.columns, space_name)
    assert y.dtype == np.dtype(dtype) == A.dtype
    exact = S.astype(np.result_type(dtype, np.float64)) @ x.astype(np.result_type(dtype, "f8"))
    eps = float(np.finfo(dtype).eps)
    assert np.abs(together(comm, y) - exact).max() < 30 * eps * np.abs(exact).max()


def test_records(comm, space_name):
    S = random(17, 17)
    values = np.zeros(S.nnz, Longest.dtype)
    values["length"], values["exists"] = S.data, True
    rows = sparse.Partition(17, comm)
    begin, end = S.indptr[[rows.lower, rows.upper]]
    A = sparse.DistributedCrsMatrix(
        S.indptr[rows.lower : rows.upper + 1] - begin, S.indices[begin:end], values[begin:end],
        rows=rows, space=space_name,
    )  # fmt: skip
    x = np.zeros(17, Longest.dtype)
    x["length"], x["exists"] = numbers(17), True
    own = (A @ mine(x, A.columns, space_name)).to_numpy()
    y = {name: np.concatenate(comm.mpi.allgather(own[name])) for name in own.dtype.names}
    dense = np.full(S.shape, -np.inf)
    dense[np.repeat(np.arange(17), np.diff(S.indptr)), S.indices] = S.data
    expected = (dense + x["length"]).max(axis=1)
    assert (y["length"][y["exists"]] == expected[np.isfinite(expected)]).all()
    assert (y["exists"] == np.isfinite(expected)).all()


class Longest(es.Record):
    """ "Added" by the maximum, "multiplied" by the sum."""

    length: es.float64
    exists: es.bool_ = False

    def __add__(self, other):
        longer = other.exists and (not self.exists or self.length < other.length)
        return Longest(other.length if longer else self.length, self.exists or other.exists)

    def __mul__(self, other):
        return Longest(self.length + other.length, self.exists and other.exists)


def test_what_is_exchanged(comm, space_name):
    A = divided(line(5 * comm.size + 2), comm, space_name)
    x = es.ones(A.columns.size, space=space_name)
    A @ x  # which makes buffers
    with comm.counting() as traffic:
        y = A @ x
    neighbours = {r for r in (comm.rank - 1, comm.rank + 1) if 0 <= r < comm.size}
    assert set(A.neighbours) == neighbours == set(traffic.messages)
    assert traffic.total_messages == A.sends == len(neighbours)
    assert traffic.total_bytes == 8 * len(neighbours) and not traffic.collectives
    assert A.ghosts.tolist() == sorted(
        ([A.rows.lower - 1] if comm.rank else []) + [A.rows.upper] * (comm.rank < comm.size - 1)
    )
    total = y.to_numpy().sum()
    assert comm.mpi.allreduce(total) == 0.5 * (5 * comm.size + 2) + 2


def test_update(comm, space_name):
    S = random(19, 19)
    x = numbers(19)
    for overlap in (True, False):
        A = divided(S, comm, space_name, overlap=overlap)
        own = A.own.to_numpy()
        begin, end = S.indptr[[A.rows.lower, A.rows.upper]]
        for factor in (3.0, -1.0):
            A.update(es.array(factor * S.data[begin:end], space=space_name))
            y = together(comm, A @ mine(x, A.columns, space_name))
            assert np.abs(y - factor * (S @ x)).max() < 1e-12
            assert (A.own.to_numpy() == factor * own).all()
        with pytest.raises(escomm.CommError, match=r"update: View .* expected"):
            A.update(np.zeros(A.nnz + 1))


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["even", "entries", "given"])
def test_from_root(comm, space_name, rows):
    S = random(31, 31)
    S = scipy_sparse.vstack([S[:3], random(3, 31, density=1.0), S[6:]]).tocsr()
    if rows == "given":
        rows = sparse.Partition(31, comm, bounds=[0] * comm.size + [31])
    root = comm.size - 1
    given = S if comm.rank == root else None
    A = sparse.from_root(given, root=root, rows=rows, comm=comm, space=space_name)
    assert (dense(A) == S.toarray()).all()
    if rows == "entries":
        most = max(comm.mpi.allgather(A.nnz))
        assert most <= S.nnz / comm.size + 31  # but for one row
    with pytest.raises(escomm.CommError, match="Expected a sparse matrix"):
        sparse.from_root(3 if comm.rank == root else S, root=root, comm=comm)


def test_from_function(comm, space_name):
    S = random(13, 17)

    def arrays(begin, end):
        part = S[begin:end]
        return part.indptr, part.indices, part.data

    def one_by_one(begin, end):
        for row in range(begin, end):
            places = slice(*S.indptr[row : row + 2])
            yield S.indices[places], S.data[places]

    for function in (arrays, one_by_one, lambda a, b: S[a:b]):
        A = sparse.from_function(function, 13, columns=17, comm=comm, space=space_name)
        assert (dense(A) == S.toarray()).all()
    empty = sparse.from_function(lambda a, b: iter(()), 0, comm=comm, space=space_name)
    assert empty.shape == (0, 0) and empty.dtype == np.float64


def test_from_entries(comm, space_name):
    n, size = 23, comm.size
    rng = np.random.default_rng(7)
    rows, columns = rng.integers(0, n, (2, 200))
    values = rng.standard_normal(200)
    part = slice(200 * comm.rank // size, 200 * (comm.rank + 1) // size)
    A = sparse.from_entries(rows[part], columns[part], values[part], n, comm=comm, space=space_name)
    expected = np.zeros((n, n))
    np.add.at(expected, (rows, columns), values)  # in their order
    assert (dense(A) == expected).all()
    with pytest.raises(escomm.CommError, match="rows are not all integers from 0 to 22"):
        sparse.from_entries([23 if comm.rank == 0 else 0], [0], [1.0], n, comm=comm)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
def test_from_matrix_market(comm, space_name, symmetry, tmp_path_factory):
    from scipy.io import mmwrite

    S = random(19, 19, "complex128" if symmetry == "hermitian" else "float64")
    if symmetry == "symmetric":
        S = S + S.T
    elif symmetry != "general":
        S = S - S.T if symmetry == "skew-symmetric" else S + S.T.conj()
    name = None
    if comm.rank == 0:
        name = str(tmp_path_factory.mktemp("market") / "A.mtx")
        mmwrite(name, S, symmetry=symmetry, precision=17)
    name = comm.mpi.bcast(name)
    one = kernels.sparse.read_matrix_market(name, space=space_name)
    for read in ("parts", "root"):
        A = sparse.from_matrix_market(name, read=read, comm=comm, space=space_name)
        assert (dense(A) == one.to_numpy()).all()
    comm.barrier()
    if symmetry == "general" and comm.rank == 0:
        with open(name, "a") as file:
            file.write("1 1 x\n")
    comm.barrier()
    for read in ("parts", "root"):
        with pytest.raises(escomm.CommError, match=r"A\.mtx"):
            sparse.from_matrix_market(name + "2" * (symmetry != "general"), read=read, comm=comm)


# -- what is wrong --------------------------------------------------------------------------------


def test_errors_are_told_by_all(comm, space_name):
    wrong = comm.rank == comm.size - 1
    S = line(3 * comm.size)
    rows = sparse.Partition(S.shape[0], comm)

    def made(row_map=None, entries=None, values=None, **options):
        begin, end = S.indptr[[rows.lower, rows.upper]]
        usual = (
            S.indptr[rows.lower : rows.upper + 1] - begin,
            S.indices[begin:end],
            S.data[begin:end],
        )
        given = (row_map, entries, values)
        arrays = [u if g is None or not wrong else g for g, u in zip(given, usual, strict=True)]
        return sparse.DistributedCrsMatrix(
            *arrays, **{"rows": rows, "space": space_name, **options}
        )

    for about, text in (
        ({"entries": np.full(8 if comm.size > 1 else 7, 99)}, "column 99|same number of each"),
        ({"row_map": np.array([0, 3, 2])}, "does not ascend"),
        ({"row_map": np.array([0.0, 3.0])}, "expected one dimension and int32 or int64"),
        (
            {"values": np.arange(8 if comm.size > 1 else 7)},
            "are of int64; expected real or complex|values",
        ),
        ({"rows": sparse.Partition(S.shape[0] + 1, comm)}, "row_map has 3 rows; expected|column"),
        ({"engine": "pigeon"}, "engine='pigeon'; expected 'auto', 'mpi' or 'nccl'"),
    ):
        with pytest.raises(escomm.CommError, match=text):
            made(**about)
    if comm.size > 1:
        with pytest.raises(escomm.CommError, match=r"not agree.* overlap is True, on rank"):
            made(overlap=not wrong)
    A = made()
    with pytest.raises(escomm.CommError, match=r"spmv: x is View .* expected \(3,\) or \(3, k\)"):
        A @ es.ones(4, space=space_name)
    with pytest.raises(escomm.CommError, match=r"beta=1\.0 without out="):
        sparse.spmv(A, es.ones(3, space=space_name), beta=1.0)
    with pytest.raises(es.ViewError):  # the exchange ends all the same
        sparse.spmv(A, es.ones(3, space=space_name), es.zeros(3, "int32", space=space_name))
    assert (together(comm, A @ es.ones(3, space=space_name)) == S @ np.ones(S.shape[0])).all()


def test_partitions(comm):
    p = sparse.Partition(11, comm)
    assert comm.mpi.allreduce(p.size) == 11 and p.owner(p.range).tolist() == [comm.rank] * p.size
    q = sparse.Partition.of_sizes(comm.rank, comm)
    assert q.n == comm.size * (comm.size - 1) // 2 and q.size == comm.rank
    assert [q.owner(i) for i in q.range] == [comm.rank] * q.size
    assert p == sparse.Partition(11, comm) != q and hash(p) == hash(sparse.Partition(11, comm))
    r = sparse.Partition.balanced([5] + [0] * 9 + [5], comm)
    assert r.n == 11 and (comm.size != 2 or r.bounds[1] in range(1, 11))
    root = comm.size - 1
    weights = np.arange(40) if comm.rank == root else None
    s = sparse.Partition.balanced(weights, comm, root=root)
    assert np.arange(40)[s.lower : s.upper].sum() <= 780 / comm.size + 40
    for bounds in ([0, 11], [1] * comm.size + [11], [11] * (comm.size + 1), "ab"):
        if comm.size == 1 and bounds == [0, 11]:
            continue
        with pytest.raises(escomm.CommError, match=r"Partition: bounds=.*; expected"):
            sparse.Partition(11, comm, bounds=bounds)
    with pytest.raises(escomm.CommError, match="expected 0 to 10"):
        p.owner(11)
    with pytest.raises(escomm.CommError, match="none negative"):
        sparse.Partition.balanced([1, -1] if comm.rank == root else None, comm, root=root)


# -- dots, norms, solvers -------------------------------------------------------------------------


def test_dots_and_norms(comm, space_name):
    p = sparse.Partition(101, comm)
    for columns, dtype, orders in (((), "complex128", (1, np.inf)), ((2,), "float64", (2,))):
        x, y = numbers((101, *columns), dtype), numbers((101, *columns), dtype, 9)
        u, v = mine(x, p, space_name), mine(y, p, space_name)
        found = sparse.dot(u, v, comm=comm, space=space_name)
        assert np.allclose(found, (x.conj() * y).sum(axis=0), rtol=1e-13)
        assert all(np.array_equal(other, found) for other in comm.mpi.allgather(found))
        for order in orders:
            exact = np.linalg.norm(x, order, axis=0)
            assert np.allclose(
                sparse.norm(u, order, comm=comm, space=space_name), exact, rtol=1e-13
            )
    for factor in (1e300, 1e-300, 0.0):
        view = es.full(3, factor, space=space_name)
        found = sparse.norm(view, comm=comm, space=space_name)
        assert np.isclose(found, factor * np.sqrt(3 * comm.size), rtol=1e-14)
    with pytest.raises(escomm.CommError, match=r"order=3; expected 1, 2 or numpy\.inf"):
        sparse.norm(view, 3, comm=comm)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "chebyshev"])
def test_solvers(comm, space_name, method):
    n = 37
    S = line(n) if method in ("cg", "chebyshev") else line(n, 3.0) + random(n, n, density=0.02)
    b = numbers(n)
    A = divided(S.tocsr(), comm, space_name)
    solution = getattr(sparse, method)(A, mine(b, A.rows, space_name), rtol=1e-10)
    x = together(comm, solution.x)
    assert solution.converged, solution.report()
    assert np.abs(x - np.linalg.solve(S.toarray(), b)).max() < 1e-8
    same = comm.mpi.allgather((solution.iterations, solution.history.tolist(), solution.reason))
    assert all(other == same[0] for other in same)
    if method == "cg":
        alone = kernels.solvers.cg(kernels.sparse.as_crs(S), b, rtol=1e-10, space="serial")
        assert abs(alone.iterations - solution.iterations) <= 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("density", [0.05, 0.6])  # a work item for a row, or teams on devices
def test_a_product_and_a_dot(comm, space_name, dtype, overlap, density):
    n = 29
    if not es.space(space_name).capabilities.float16 and dtype == "float16":
        pytest.skip("the space has no float16")
    S = random(n, n, dtype, density)
    A = divided(S, comm, space_name, overlap=overlap, dtype=dtype)
    x = mine(numbers(n, dtype), A.columns, space_name)
    y, dot = es.zeros_like(x), es.zeros((), np.float64, space=space_name)
    for _ in range(2):
        A.apply_dot(x, out=y, dot=dot)
    expected = (A @ x).to_numpy()
    eps = float(np.finfo(dtype).eps)
    assert np.abs(y.to_numpy() - expected).max(initial=0) <= 8 * eps * n
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    exact = (np.conj(x.to_numpy().astype(wide)) * expected.astype(wide)).real.sum()
    assert abs(dot.to_numpy()[()] - exact) <= 8 * eps * n * n


def test_products_and_solvers_in_graphs(comm, space_name):
    """A recorded product exchanges its ghosts in each submission."""
    n = 31
    A = divided(random(n, n), comm, space_name)
    p = A.columns
    x, y = mine(numbers(n), p, space_name), es.zeros(p.size, space=space_name)
    z = es.zeros_like(y)

    def half(i, x, y):
        x[i] = 0.5 * y[i]

    with es.Graph(space_name) as graph:
        sparse.spmv(A, x, out=y)
        sparse.spmv(A, y, out=z, alpha=2.0)
        es.parallel_for(p.size, half, x, z)
    expected = x.to_numpy()
    for _ in range(3):
        graph.submit()
        again = es.array(expected, space=space_name)
        expected = 0.5 * sparse.spmv(A, A @ again, alpha=2.0).to_numpy()
        assert (x.to_numpy() == expected).all()


def test_preconditioners_and_prepared_solvers(comm, space_name):
    n = 41
    S = line(n) + scipy_sparse.diags_array(10.0 ** (np.arange(n) % 5)).tocsr()
    b, x0 = numbers(n), numbers(n, seed=8)
    A = divided(S.tocsr(), comm, space_name)
    right, start = mine(b, A.rows, space_name), mine(x0, A.rows, space_name)
    with es.use_space(space_name):
        jacobi = kernels.sparse.Jacobi(A.own, space=space_name)
        handle = kernels.solvers.prepare("cg", A, right, M=jacobi, space=space_name)
        out = es.zeros(A.rows.size, space=space_name)
        solution = handle.solve(right, x0=start, out=out, rtol=1e-10)
        plain = kernels.solvers.cg(A, right, rtol=1e-10, space=space_name)
        assert solution.converged and solution.iterations < plain.iterations
        exact = np.linalg.solve(S.toarray(), b)
        assert np.abs(together(comm, out) - exact).max() < 1e-8
        L = divided(line(n).tocsr(), comm, space_name)
        plain = sparse.cg(L, right, rtol=1e-10)
        smoother = kernels.solvers.Chebyshev(L, degree=3, space=space_name)
        smooth = sparse.cg(L, right, M=smoother, rtol=1e-10)
    assert smooth.converged and smooth.iterations < plain.iterations
    exact = np.linalg.solve(line(n).toarray(), b)
    assert np.abs(together(comm, smooth.x) - exact).max() < 1e-7


def test_several_right_sides_and_fewer_rows_than_ranks(comm, space_name):
    S = line(3)
    b = numbers((3, 2))
    A = divided(S, comm, space_name)
    solution = sparse.cg(A, mine(b, A.rows, space_name), rtol=1e-12)
    assert solution.converged and solution.x.shape == (A.rows.size, 2)
    x = together(comm, solution.x)
    assert np.abs(x - np.linalg.solve(S.toarray(), b)).max() < 1e-10


def test_solvers_tell_on_all_ranks_what_does_not_fit(comm, space_name):
    if comm.size == 1:
        return
    A = divided(line(11), comm, space_name)
    wrong = comm.rank == 1
    b = es.ones(A.rows.size + wrong, space=space_name)
    with pytest.raises(kernels.MatrixError, match=r"b has|of all ranks|on another rank"):
        sparse.cg(A, b)
    with pytest.raises(kernels.MatrixError, match="ranks do not agree on rtol"):
        sparse.cg(A, es.ones(A.rows.size, space=space_name), rtol=1e-3 if wrong else 1e-4)
    indefinite = divided(-line(11), comm, space_name)
    found = sparse.cg(indefinite, es.ones(A.rows.size, space=space_name))
    assert "not positive definite" in found.reason
