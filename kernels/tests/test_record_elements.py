"""Matrices whose elements are records with + and *: numbers with a derivative."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_kernels import MatrixError, explain, solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


class Dual(es.Record):
    """A number and its derivative."""

    value: es.float64
    slope: es.float64 = 0.0

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        if isinstance(other, Dual):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)
        return Dual(self.value * other, self.slope * other)

    def __rmul__(self, number):
        return self * number

    def conjugate(self):
        return Dual(self.value, -self.slope)


class Tropical(es.Record):
    """A number that is added by max and multiplied by +: longest ways. Has no other operators."""

    length: es.float32
    there: es.bool_ = False

    def __add__(self, other):
        longer = other.there and (not self.there or self.length < other.length)
        return Tropical(other.length if longer else self.length, self.there or other.there)

    def __mul__(self, other):
        return Tropical(self.length + other.length, self.there and other.there)


class Numbers:
    """A matrix of integers and that of its derivatives, of SciPy; and both as one of Duals."""

    def __init__(self, rows, columns, seed):
        rng = np.random.default_rng(seed)
        self.values = scipy_sparse.random_array((rows, columns), density=0.2, rng=rng).tocsr()
        self.values.data = rng.integers(1, 5, self.values.nnz).astype(float)
        self.slopes = self.values.copy()
        self.slopes.data = rng.integers(1, 5, self.values.nnz).astype(float)
        self.rng = rng
        parts = (self.values.indptr, self.values.indices, self.elements)
        self.matrix = sparse.CrsMatrix(*map(es.array, parts), self.values.shape)
        self.plain = sparse.CrsMatrix(
            *map(es.array, (*parts[:2], self.values.data)), (rows, columns)
        )

    @property
    def elements(self):
        return duals(self.values.data, self.slopes.data)

    def vector(self, *shape):
        return duals(*(self.rng.integers(-4, 5, shape).astype(float) for _ in "vs"))


def duals(values, slopes):
    found = np.zeros(values.shape, Dual.dtype)
    found["value"], found["slope"] = values, slopes
    return found


def same(found, values, slopes):
    found = found.to_numpy()
    np.testing.assert_array_equal(found["value"], values)
    np.testing.assert_array_equal(found["slope"], slopes)


def test_products_with_vectors(space):
    n = Numbers(30, 20, 1)
    a, b, x = n.values, n.slopes, n.vector(20)
    same(sparse.spmv(n.matrix, es.array(x)), a @ x["value"], a @ x["slope"] + b @ x["value"])
    same(sparse.spmv(n.plain, es.array(x)), a @ x["value"], a @ x["slope"])
    same(sparse.spmv(n.matrix, es.array(x["value"].copy())), a @ x["value"], b @ x["value"])
    y = n.vector(30)
    out = es.array(y)
    sparse.spmv(n.matrix, es.array(x), out=out, beta=1)
    same(out, y["value"] + a @ x["value"], y["slope"] + a @ x["slope"] + b @ x["value"])
    sparse.spmv(n.plain, es.array(x), out=out, alpha=2.0, beta=-1.0)
    np.testing.assert_array_equal(out.to_numpy()["value"], a @ x["value"] - y["value"])
    same(sparse.spmv(n.matrix, es.array(y), mode="H"), a.T @ y["value"],
         a.T @ y["slope"] - b.T @ y["value"])  # fmt: skip


@pytest.mark.parametrize("layout", ["left", "right"])
def test_products_with_several_vectors(space, layout):
    n = Numbers(30, 20, 2)
    a, b, x = n.values, n.slopes, n.vector(20, 3)
    found = sparse.spmv(n.matrix, es.array(x, layout=layout))
    same(found, a @ x["value"], a @ x["slope"] + b @ x["value"])


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
def test_products_of_matrices(space, algorithm):
    n = Numbers(30, 20, 3)
    a, b = n.values, n.slopes
    if algorithm == "hash" and not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")
    turned = sparse.transpose(n.matrix)
    found = sparse.spgemm(n.matrix, turned, algorithm=algorithm)
    slopes = (b @ a.T + a @ b.T).toarray()
    same_dense(found, (a @ a.T).toarray(), slopes)
    handle = sparse.spgemm_symbolic(n.plain, turned, algorithm=algorithm)
    same_dense(
        sparse.spgemm_numeric(handle, n.plain, turned), (a @ a.T).toarray(), (a @ b.T).toarray()
    )


def same_dense(matrix, values, slopes):
    found = matrix.to_numpy()
    np.testing.assert_array_equal(found["value"], values)
    np.testing.assert_array_equal(found["slope"], slopes)


def test_sums_and_parts(space):
    n = Numbers(30, 20, 4)
    a, b = n.values.toarray(), n.slopes.toarray()
    same_dense(sparse.spadd(n.matrix, n.matrix), 2 * a, 2 * b)
    same_dense(sparse.spadd(n.matrix, n.matrix, alpha=3.0), 4 * a, 4 * b)
    same_dense(sparse.vstack([n.matrix, n.matrix]), np.vstack([a, a]), np.vstack([b, b]))
    same_dense(sparse.submatrix(n.matrix, [1, 5], [0, 3, 4]), a[[1, 5]][:, [0, 3, 4]],
               b[[1, 5]][:, [0, 3, 4]])  # fmt: skip
    same_dense(sparse.tril(n.matrix), np.tril(a), np.tril(b))
    same(sparse.diagonal(n.matrix), np.diag(a), np.diag(b))


def test_elements_in_any_order_are_added(space):
    rows, columns = np.array([2, 0, 2, 2]), np.array([1, 0, 1, 0])
    elements = duals(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0, 8.0]))
    matrix = sparse.CooMatrix(*map(es.array, (rows, columns, elements)), (3, 2)).to_crs()
    same_dense(matrix, [[2.0, 0.0], [0.0, 0.0], [4.0, 4.0]], [[6.0, 0.0], [0.0, 0.0], [8.0, 12.0]])


def test_a_class_with_nothing_but_sum_and_product(space):
    """Longest ways of two steps in a graph."""
    elements = np.array([(1.0, True), (5.0, True), (2.0, True), (7.0, True)], Tropical.dtype)
    parts = np.array([0, 2, 3, 4]), np.array([1, 2, 2, 0]), elements
    ways = sparse.CrsMatrix(*map(es.array, parts), (3, 3))
    found = sparse.spgemm(ways, ways).to_numpy()
    assert found[0, 2] == Tropical(3.0, True) and found[0, 0] == Tropical(12.0, True)
    assert not found[1, 1].there
    ends = es.array(np.array([(0.0, True)] * 3, Tropical.dtype))
    assert sparse.spmv(ways, ends).to_numpy()["length"].tolist() == [5.0, 2.0, 7.0]
    assert sparse.spadd(ways, ways).to_numpy()[1, 2] == Tropical(2.0, True)


class NoZero(es.Record):
    x: es.float64
    y: es.float64


class NoProduct(es.Record):
    x: es.float64

    def __add__(self, other):
        return NoProduct(self.x + other.x)


class NoSum(es.Record):
    x: es.float64


def test_what_is_refused():
    n = Numbers(6, 6, 5)
    parts = n.matrix.row_map, n.matrix.entries
    with pytest.raises(MatrixError, match=r"NoZero\(0\) is the zero"):
        sparse.CrsMatrix(*parts, es.full(n.matrix.nnz, NoZero(1.0, 2.0)), (6, 6))
    none = sparse.CrsMatrix(*parts, es.full(n.matrix.nnz, NoProduct(1.0)), (6, 6))
    with pytest.raises(MatrixError, match="elements of NoProduct and NoProduct have no '\\*'"):
        sparse.spgemm(none, none)
    with pytest.raises(es.ViewError, match="of float64; expected Dual"):
        sparse.spmv(n.matrix, es.array(n.vector(6)), out=es.zeros(6))
    with pytest.raises(MatrixError, match="algorithm='stream' is for numbers"):
        sparse.spmv(n.matrix, es.array(n.vector(6)), algorithm="stream")
    ways = sparse.CrsMatrix(*parts, es.full(n.matrix.nnz, Tropical(1.0, True)), (6, 6))
    ends = es.full(6, Tropical(0.0, True))
    for lacks, method in (
        (lambda: sparse.spmv(ways, ends, alpha=2.0), "__rmul__"),
        (lambda: sparse.spmv(ways, ends, mode="C"), "conjugate"),
        (lambda: sparse.spadd(ways, ways, beta=2.0), "__rmul__"),
        (lambda: sparse.CrsMatrix(*parts, es.full(n.matrix.nnz, NoSum(1.0)), (6, 6)), "__add__"),
    ):
        with pytest.raises(MatrixError, match=method):
            lacks()
    b = es.array(n.vector(6))
    for numbers_only in (
        lambda: sparse.sptrsv(n.matrix, b), lambda: sparse.ilu_symbolic(n.matrix),
        lambda: sparse.gauss_seidel_symbolic(n.matrix), lambda: sparse.Jacobi(n.matrix),
        lambda: sparse.spgemm_jacobi(n.matrix, n.matrix, 0.5), lambda: sparse.drop(n.matrix, 0.1),
        lambda: sparse.to_bsr(n.matrix, 2), lambda: sparse.to_scipy(n.matrix),
        lambda: sparse.StencilMatrix.from_crs(n.matrix, (2, 3)),
        lambda: sparse.block_diagonal(n.matrix, 2), lambda: solvers.cg(n.matrix, es.zeros(6)),
    ):  # fmt: skip
        with pytest.raises(MatrixError, match="the matrix is of records, Dual; expected numbers"):
            numbers_only()


def test_explain_says_why_rows_are_taken(space):
    n = Numbers(6, 6, 6)
    assert "elements are records" in str(explain(sparse.spmv, n.matrix, es.array(n.vector(6))))
