"""Solvers of which each process has some rows: threads stand for processes here."""

from __future__ import annotations

from threading import Barrier, BrokenBarrierError, Thread

import numpy as np
import pytest
from linear_systems import METHODS, hermitian, skewed, solved
from sparse_numbers import numbers

import execspace as es
from execspace_kernels import MatrixError, explain, solvers, sparse

pytest.importorskip("scipy.sparse")


class Group:
    """Threads that wait for each other, and see what each has."""

    def __init__(self, size):
        self.size, self.parts, self.meeting = size, [None] * size, Barrier(size, timeout=600)

    def gathered(self, rank, part):
        self.parts[rank] = part
        self.meeting.wait()
        found = list(self.parts)
        self.meeting.wait()
        return found

    def run(self, work):
        """What `work(rank)` returns on each, and what was raised."""
        results, errors = [None] * self.size, []

        def call(rank):
            try:
                results[rank] = work(rank)
            except Exception as error:
                if not isinstance(error, BrokenBarrierError):
                    errors.append(error)
                results[rank] = error
                if not isinstance(error, MatrixError | es.ViewError):  # of which all know
                    self.meeting.abort()

        threads = [Thread(target=call, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results, errors


class Rows:
    """Some rows of a matrix of SciPy."""

    def __init__(self, S, group, rank, bounds, space):
        self.own_rows = range(*bounds[rank : rank + 2])
        self.shape, self.dtype, self.space = S.shape, S.dtype, space
        self.group, self.rank, self.joins = group, rank, 0
        self.local = sparse.as_crs(S[self.own_rows.start : self.own_rows.stop], space=space)

    def apply(self, x, *, out):
        parts = self.group.gathered(self.rank, x.to_numpy())
        whole = es.array(np.concatenate(parts), space=self.space)
        return sparse.spmv(self.local, whole, out=out, algorithm="rows", space=self.space)

    def join_over_ranks(self, view, reducer):
        self.joins += 1
        parts = self.group.gathered(self.rank, view.to_numpy())
        join = {es.Sum: np.add, es.Max: np.maximum}[reducer]
        total = parts[0]
        for part in parts[1:]:
            total = join(total, part)
        es.deep_copy(view, total)


def solved_over_ranks(method, S, b, bounds, spaces, **options):
    """The solutions of all ranks, whose first and last rows are given."""
    group = Group(len(bounds) - 1)

    def work(rank):
        with es.use_space(spaces[rank]):
            A = globals()["Rows"](S, group, rank, bounds, es.space(spaces[rank]))
            right = es.array(b[A.own_rows.start : A.own_rows.stop])
            made = {
                name: make(A) if callable(make) else make for name, make in options.items()
            }  # fmt: skip
            return getattr(solvers, method)(A, right, **made)

    results, errors = group.run(work)
    if errors:
        raise errors[0]
    return results


def check_same(solutions):
    first = solutions[0]
    for other in solutions[1:]:
        assert np.array_equal(first.iterations, other.iterations)
        assert np.array_equal(first.history, other.history, equal_nan=True)
        assert first.reasons == other.reasons


@pytest.mark.parametrize("method", METHODS)
def test_answers_over_ranks(method):
    n = 23
    S = skewed(n, np.float64) if method in ("bicgstab", "gmres") else hermitian(n)
    for columns in ((), (3,)):
        b = numbers((n, *columns), np.float64, 1)
        solutions = solved_over_ranks(method, S, b, (0, 7, 7, n), ["serial"] * 3, rtol=1e-10)
        check_same(solutions)
        x = np.concatenate([s.x.to_numpy() for s in solutions])
        assert solutions[0].converged and np.abs(x - solved(S, b)).max() < 1e-8


def test_one_rank_is_as_without_ranks():
    n = 17
    S, b = hermitian(n), numbers(n)
    for method in METHODS:
        (found,) = solved_over_ranks(method, S, b, (0, n), ["serial"])
        A = sparse.as_crs(S)

        def apply(x, y, A=A):
            sparse.spmv(A, x, out=y, algorithm="rows", space="serial")

        plain = getattr(solvers, method)(apply, b, space="serial")
        assert found.history.tolist() == plain.history.tolist()
        assert found.x.to_numpy().tolist() == plain.x.to_numpy().tolist()


def test_complex_numbers_on_spaces_that_differ():
    usable = {row.name for row in es.spaces() if row.usable}
    spaces = ["serial", "opencl" if "opencl" in usable else "oracle"]
    n = 20
    S, b = skewed(n, np.complex128), numbers(n, np.complex128)
    solutions = solved_over_ranks("gmres", S, b, (0, 9, n), spaces)
    check_same(solutions)
    x = np.concatenate([s.x.to_numpy() for s in solutions])
    assert solutions[0].converged and np.abs(x - solved(S, b)).max() < 1e-6


def test_preconditioners_are_of_the_rows_here_or_of_all():
    n, bounds = 30, (0, 10, 30)
    S, b = hermitian(n), numbers(n)

    def jacobi(A):
        own = S[A.own_rows.start : A.own_rows.stop, A.own_rows.start : A.own_rows.stop]
        return sparse.Jacobi(own.tocsr(), space=A.space)

    for make in (jacobi, lambda A: solvers.Chebyshev(A, degree=3)):
        solutions = solved_over_ranks("cg", S, b, bounds, ["serial"] * 2, M=make)
        check_same(solutions)
        x = np.concatenate([s.x.to_numpy() for s in solutions])
        assert solutions[0].converged and np.abs(x - solved(S, b)).max() < 1e-6


def test_what_ranks_do_not_agree_on_is_told_by_all():
    n, bounds = 12, (0, 5, 12)
    S, b = hermitian(n), numbers(n)
    group = Group(2)

    def solve(rank, **options):
        A = Rows(S, group, rank, bounds, es.space("serial"))
        right = b[A.own_rows.start : A.own_rows.stop]
        return solvers.cg(A, right, space="serial", **options)

    for about, name in (
        (lambda rank: {"rtol": 1e-8 / (1 + rank)}, "rtol"),
        (lambda rank: {"check_every": 1 + rank}, "check_every"),
        (lambda rank: {"x0": b[:5]} if rank == 0 else {}, "x0"),
        (lambda rank: {"M": lambda r, z: es.deep_copy(z, r)} if rank else {}, "M"),
    ):
        results, _ = group.run(lambda rank, about=about: solve(rank, **about(rank)))
        assert all(isinstance(found, MatrixError) for found in results)
        assert all(f"do not agree on {name}" in str(found) for found in results)

    def other_rows(rank):
        A = Rows(S, group, rank, bounds, es.space("serial"))
        return solvers.cg(A, numbers(6), space="serial")

    results, _ = group.run(other_rows)
    assert "b has 6 rows here; expected 5, for A has rows 0 to 5 here" in str(results[0])
    assert "expected 7" in str(results[1])


def test_M_over_ranks_needs_such_an_A():
    A = Rows(hermitian(4), Group(1), 0, (0, 4), es.space("serial"))
    with pytest.raises(MatrixError, match="M has rows of all ranks and A is a 'CrsMatrix'"):
        solvers.cg(sparse.as_crs(hermitian(4)), numbers(4), M=A, space="serial")
    handle = solvers.prepare("cg", A, numbers(4), space="serial")
    number, graph = es.ones(1, space="serial"), es.Graph(es.space("serial"))
    with graph, pytest.raises(es.LaunchError, match="joins over ranks of A cannot be recorded"):
        handle._ranks.join(number, es.Sum)


class Recorded(Rows):
    """What is no launch is a call of the library: so an iteration can be a graph."""

    is_recordable = True

    def __init__(self, *args):
        super().__init__(*args)
        self.dots = 0
        self.whole = es.zeros(self.shape[1], self.dtype, space=self.space)

    def apply(self, x, *, out):
        def gather():
            parts = self.group.gathered(self.rank, x.to_numpy())
            es.deep_copy(self.whole, np.concatenate(parts))

        es.library_call("gather", gather, space=self.space)
        return sparse.spmv(self.local, self.whole, out=out, algorithm="rows", space=self.space)

    def join_over_ranks(self, view, reducer):
        join = super().join_over_ranks
        es.library_call("join", lambda: join(view, reducer), space=self.space)


class WithDots(Recorded):
    """It also has products and dots in one."""

    def apply_dot(self, x, *, out, dot):
        self.dots += 1
        self.apply(x, out=out)
        own = self.own_rows.stop - self.own_rows.start
        every = es.RangePolicy(own, space=self.space)
        es.parallel_reduce(every, real_product, x, out, out=dot)


def real_product(i, x, y):
    return (np.conj(x[i]) * y[i]).real


@pytest.mark.parametrize("method", METHODS)
def test_iterations_that_are_recorded_give_the_same(method, monkeypatch):
    n, bounds = 23, (0, 7, 7, 23)
    S = skewed(n, np.complex128) if method in ("bicgstab", "gmres") else hermitian(n)
    b = numbers(n, S.dtype, 1)
    launched = solved_over_ranks(method, S, b, bounds, ["serial"] * 3)
    for kind in (Recorded, WithDots):
        monkeypatch.setitem(globals(), "Rows", kind)
        recorded = solved_over_ranks(method, S, b, bounds, ["serial"] * 3)
        monkeypatch.undo()
        check_same(recorded)
        for one, other in zip(launched, recorded, strict=True):
            assert np.array_equal(one.history, other.history)
            assert np.array_equal(one.x.to_numpy(), other.x.to_numpy())


def test_what_is_recorded_is_called_once_an_iteration():
    S, b = hermitian(9), numbers(9)
    joins = []
    for count in (4, 7):
        A = WithDots(S, Group(1), 0, (0, 9), es.space("serial"))
        told = explain(solvers.cg, A, b, space="serial", max_iterations=count, rtol=0.0)
        assert "launches" not in str(told) and told.result.iterations == count
        assert A.dots == 1  # it is recorded once
        joins.append(A.joins)
    assert joins[1] - joins[0] == 2 * 3


@pytest.mark.parametrize("wrong", ["rtol", "callback", "x0", "out", "M", "method", "restart"])
def test_arguments_that_one_rank_has_wrong_end_all(wrong):
    """None of the others waits for it."""
    S, b, bounds = hermitian(12), numbers(12), (0, 5, 12)
    group = Group(2)
    given = {
        "rtol": -1.0, "callback": 3, "x0": np.ones(99), "out": np.ones(99), "M": lambda r: None,
        "restart": -2,
    }  # fmt: skip

    def solve(rank):
        A = Rows(S, group, rank, bounds, es.space("serial"))
        right = b[A.own_rows.start : A.own_rows.stop]
        more = {wrong: given[wrong]} if rank == 1 and wrong in given else {}
        if wrong in ("method", "restart"):
            method = "ct" if rank == 1 and wrong == "method" else "gmres"
            return solvers.prepare(method, A, right, space="serial", **more)
        if wrong in ("x0", "M") and rank == 0:
            more[wrong] = right if wrong == "x0" else lambda r, z: es.deep_copy(z, r)
        return solvers.cg(A, right, space="serial", **more)

    results, _ = group.run(solve)
    assert isinstance(results[0], MatrixError), results
    assert "another rank cannot do this" in str(results[0])
    assert isinstance(results[1], es.ExecspaceError | TypeError)


def test_products_with_dots_that_are_none():
    class Named:
        shape, dtype = (3, 3), np.dtype(np.float64)

        def apply(self, x, *, out):
            es.deep_copy(out, x)

        def apply_dot(self, x, y, s):
            self.apply(x, out=y)

    with pytest.raises(MatrixError, match=r"A\.apply_dot cannot be called as \(x, out=y, dot=s\)"):
        solvers.cg(Named(), numbers(3), space="serial")

    class Returning(Named):
        def apply_dot(self, x, *, out, dot):
            return es.ones(3, space="serial")

    with pytest.raises(MatrixError, match=r"A\.apply_dot returned a 'View', and y is what counts"):
        solvers.cg(Returning(), numbers(3), space="serial")
