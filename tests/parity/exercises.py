"""Kokkos' tutorial exercises, with the results that they have in C++, at smaller sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import execspace as es
from parity.spaces import output_of, runs_on
from parity.table import absent, raises, row

EXERCISES = "7 Tutorial exercises"
N, M = 64, 32  # of the exercises' 4096 and 1024; y^T A x of ones is N M


@row(EXERCISES, "01", "es.parallel_reduce(N, row_by_row, es.In(y), es.In(x), es.In(A))")
def exercise_01(space: es.ExecutionSpace) -> None:
    """Plain arrays and a loop for each row; arrays of NumPy go in and out of launches."""
    y, x, A = np.ones(N), np.ones(M), np.ones(N * M)

    def row_by_row(j, y, x, A):
        total = 0.0
        for i in range(len(x)):
            total += A[j * len(x) + i] * x[i]
        return y[j] * total

    result = es.parallel_reduce(N, row_by_row, es.In(y), es.In(x), es.In(A))
    assert result == N * M


def row_of(j, y, x, A):
    total = 0.0
    for i in range(A.extent(1)):
        total += A[j, i] * x[i]
    return y[j] * total


@row(EXERCISES, "02", 'A = es.full((N, M), 1.0, label="A")')
def exercise_02(space: es.ExecutionSpace) -> None:
    y, x = es.full(N, 1.0, label="y"), es.full(M, 1.0, label="x")
    A = es.full((N, M), 1.0, label="A")
    assert es.parallel_reduce(N, row_of, y, x, A) == N * M


@row(EXERCISES, "03", "h_A = es.create_mirror_view(A)")
def exercise_03(space: es.ExecutionSpace) -> None:
    y, x, A = es.View(N), es.View(M), es.View((N, M))
    h_y, h_x = es.create_mirror_view(y), es.create_mirror_view(x)
    h_A = es.create_mirror_view(A)
    for j in range(N):
        h_y[j] = 1.0
        for i in range(M):
            h_A[j, i] = 1.0
    for i in range(M):
        h_x[i] = 1.0
    for device, host in ((y, h_y), (x, h_x), (A, h_A)):
        es.deep_copy(device, host)
    assert es.parallel_reduce(N, row_of, y, x, A) == N * M


@row(EXERCISES, "04", "A = es.full((N, M), 1.0, layout=layout)")
def exercise_04(space: es.ExecutionSpace) -> None:
    """The memory, the layout and the space of the policy are chosen."""
    y, x = es.ones(N), es.ones(M)
    for layout in ("left", "right"):
        A = es.full((N, M), 1.0, layout=layout)
        assert A.layout == layout
        assert es.parallel_reduce(es.RangePolicy(N, space=space), row_of, y, x, A) == N * M


@row(EXERCISES, "mdrange", "es.parallel_for(es.MDRangePolicy((N, M)), fill, A)")
def mdrange(space: es.ExecutionSpace) -> None:
    def fill(j, i, A):
        A[j, i] = 1.0

    A, y, x = es.View((N, M)), es.ones(N), es.ones(M)
    es.parallel_for(es.MDRangePolicy((N, M)), fill, A)
    total = es.parallel_reduce(es.MDRangePolicy((N, M)), lambda j, i: y[j] * A[j, i] * x[i])
    assert total == N * M


@row(EXERCISES, "subview", "row = A[j, :]")
def subview(space: es.ExecutionSpace) -> None:
    def kernel(j, y, x, A):
        row = A[j, :]
        total = 0.0
        for i in range(len(row)):
            total += row[i] * x[i]
        return y[j] * total

    assert es.parallel_reduce(N, kernel, es.ones(N), es.ones(M), es.ones((N, M))) == N * M


@row(EXERCISES, "team_policy", "es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)),")
def team_policy(space: es.ExecutionSpace) -> None:
    def kernel(team, y, x, A):
        j = team.league_rank
        total = es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)), lambda i: A[j, i] * x[i])
        return y[j] * total

    policy = es.TeamPolicy(N, "auto")
    assert es.parallel_reduce(policy, kernel, es.ones(N), es.ones(M), es.ones((N, M))) == N * M


@row(
    EXERCISES,
    "team_vector_loop / team_scratch_memory",
    "own = team.scratch(x.extent(1))",
)
def team_vector_loop(space: es.ExecutionSpace) -> None:
    """y^T A x for each of E elements; x is copied to scratch memory."""

    def kernel(team, y, x, A):
        e = team.league_rank
        own = team.scratch(x.extent(1))
        for i in es.TeamVectorRange(team, x.extent(1)):
            own[i] = x[e, i]
        team.barrier()

        def of_row(j):
            total = es.parallel_reduce(
                es.ThreadVectorRange(team, A.extent(2)), lambda i: A[e, j, i] * own[i]
            )
            return y[e, j] * total

        return es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)), of_row)

    E = 10
    y, x, A = es.ones((E, N)), es.ones((E, M)), es.ones((E, N, M))
    assert es.parallel_reduce(es.TeamPolicy(E, "auto"), kernel, y, x, A) == E * N * M


@row(
    EXERCISES,
    "advanced_reductions 1.42080068832",
    "es.parallel_reduce(10, lambda i: 1.0 + i / 10, reducer=GeometricMean(10))",
)
def advanced_reductions(space: es.ExecutionSpace) -> None:
    class GeometricMean(es.Reducer):
        identity = 1.0

        def __init__(self, n: int) -> None:
            self.n = n

        @staticmethod
        def join(a, b):
            return a * b

        def final(self, a):
            return a ** (1.0 / self.n)

    mean = es.parallel_reduce(10, lambda i: 1.0 + i / 10, reducer=GeometricMean(10))
    assert math.isclose(mean, 1.4208006883237596, rel_tol=1e-14)


@row(EXERCISES, "dualview", 'density = es.DualView(n, label="density")')
def dualview(space: es.ExecutionSpace) -> None:
    """The ideal gas: rho = 1, T = 300, R = 1, C_v = 1 give p = 300, e = 300, h = 600."""
    n = 100
    density, temperature = es.DualView(n, label="density"), es.DualView(n, label="temperature")
    density = es.DualView(n, label="density")
    pressure, energy, enthalpy = es.DualView(n), es.DualView(n), es.DualView(n)
    density.h_view[:] = 1.0
    density.modify("host")
    temperature.h_view[:] = 300.0
    temperature.modify("host")

    def compute(i, density, temperature, pressure, energy):
        pressure[i] = density[i] * 1.0 * temperature[i]
        energy[i] = 1.0 * temperature[i]

    density.sync("device")
    temperature.sync("device")
    views = (density.d_view, temperature.d_view, pressure.d_view, energy.d_view)
    es.parallel_for(n, compute, *views)
    for dual in (pressure, energy):
        dual.modify("device")
        dual.sync("host")
    for i in range(n):
        enthalpy.h_view[i] = energy.h_view[i] + pressure.h_view[i] / density.h_view[i]
    enthalpy.modify("host")
    enthalpy.sync("device")
    assert (enthalpy.d_view.to_numpy() == 600).all() and pressure.h_view[0] == 300.0


@row(EXERCISES, "parallel_scan", "es.parallel_scan(10, factorials, out, reducer=es.Prod)")
def parallel_scan(space: es.ExecutionSpace) -> None:
    def factorials(i, prefix, final, out):
        if final:
            out[i] = prefix
        return i + 1

    out = es.zeros(10, es.int64)
    es.parallel_scan(10, factorials, out, reducer=es.Prod)
    assert out.to_numpy().tolist() == [math.factorial(k) for k in range(10)]


@row(EXERCISES, "random_number", "x = es.random_uniform(seed, i, 0)")
def random_number(space: es.ExecutionSpace) -> None:
    """Darts; the same on each space to the bit."""

    def darts(i, seed):
        x = es.random_uniform(seed, i, 0)
        y = es.random_uniform(seed, i, 1)
        return 4 if x * x + y * y < 1 else 0

    n = 2000
    pi = es.parallel_reduce(n, darts, 5374857) / n
    assert pi == es.parallel_reduce(es.RangePolicy(n, space="serial"), darts, 5374857) / n
    assert abs(pi - math.pi) < 4 * math.sqrt(math.pi * (4 - math.pi) / n)


def bins_and_hits() -> tuple[int, int, np.ndarray]:
    """Of the exercises `scatter_view` and `unique_token`: M random bins for each of N indices."""
    n, m = 100, 50
    return n, m, np.random.default_rng(1).integers(0, n, (n, m))


@row(EXERCISES, "scatter_view", "mine[to[i, j]] += 1")
def scatter_view(space: es.ExecutionSpace) -> None:
    n, m, chosen = bins_and_hits()

    def add(i, mine, to):
        for j in range(to.extent(1)):
            mine[to[i, j]] += 1

    to, atomic = es.array(chosen), es.zeros(n, es.int64)
    es.parallel_for(n, add, atomic.with_traits("atomic"), to)
    counts = np.bincount(chosen.reshape(-1), minlength=n)
    assert (atomic.to_numpy() == counts).all()

    bins = es.zeros(n, es.int64)
    scatter = es.ScatterView(bins)
    es.parallel_for(n, add, scatter.access(), to)
    scatter.contribute(bins)
    assert (bins.to_numpy() == counts).all() and counts.sum() == n * m


@row(EXERCISES, "unique_token", "mine = self.token.acquire(team.league_rank)")
def unique_token(space: es.ExecutionSpace) -> None:
    """A token for each team, whose number is that of a copy of the histogram."""
    n, _, chosen = bins_and_hits()

    class Histogram:
        def __init__(self) -> None:
            self.token = es.UniqueToken()
            self.copies = es.zeros((self.token.size, n), es.int64)
            self.to = es.array(chosen)

        def count(self, team):
            i = team.league_rank
            if es.single(es.PerTeam(team)):
                mine = self.token.acquire(team.league_rank)
                for j in range(self.to.extent(1)):
                    self.copies[mine, self.to[i, j]] += 1
                self.token.release(mine)

    histogram = Histogram()
    es.parallel_for(es.TeamPolicy(n), histogram.count)
    copies = histogram.copies
    total = es.zeros(n, es.int64)

    def join(i, copies, total):
        for k in range(copies.extent(0)):
            total[i] += copies[k, i]

    es.parallel_for(n, join, copies, total)
    assert (total.to_numpy() == np.bincount(chosen.reshape(-1), minlength=n)).all()


@row(EXERCISES, "instances", "first, second = es.partition_space(space, [1, 1])")
def instances(space: es.ExecutionSpace) -> None:
    if space.name == "openmp" and space.concurrency == 1:
        with raises(es.SpaceError):
            es.partition_space(space, [1, 1])
        return
    first, second = es.partition_space(space, [1, 1])
    x, y = es.View(1000, space=first), es.View(1000, space=second)

    def work(i, x, k):
        x[i] += k * i

    for _ in range(10):
        es.parallel_for(es.RangePolicy(1000, space=first), work, x, 1.0)
        es.parallel_for(es.RangePolicy(1000, space=second), work, y, 2.0)
    es.fence()
    assert (x.to_numpy() == 10 * np.arange(1000.0)).all()
    assert (y.to_numpy() == 20 * np.arange(1000.0)).all()


@row(EXERCISES, "unordered_map", "table.insert(swapped(i), i)")
def unordered_map(space: es.ExecutionSpace) -> None:
    """Numbers with their bytes swapped are inserted, and all found."""
    n = 1000

    @es.function
    def swapped(i):
        return es.byteswap(~es.int32(i))

    def fill(i, table):
        table.insert(swapped(i), i)

    def find(i, table):
        slot = table.find(swapped(i))
        return slot >= 0 and table.value_at(slot) == i

    table = es.UnorderedMap(n, es.int32, es.int64)
    es.parallel_for(n, fill, table)
    assert table.size() == n and not table.failed_insert()
    assert es.parallel_reduce(n, find, table, reducer=es.LAnd)


@row(EXERCISES, "simd / simd_warp", "total += b * T.load(d[:, j], at)")
def simd(space: es.ExecutionSpace) -> None:
    """tmp += b d(i, j); b += a + (j + 1), with d = i % 8, M = 3, R = 10 and a = 1.5."""
    T, n, repeats = es.simd("float64", 4), 320, 10

    def kernel(i, d, out):
        at = i * T.width
        b, total = T(0), T(0)
        for j in range(d.extent(1)):
            total += b * T.load(d[:, j], at)
            b += 1.5 + (j + 1)
        total.store(out, at)

    def one_by_one(i, d, out):
        b = 0.0
        for j in range(d.extent(1)):
            out[i] += b * d[i, j]
            b += 1.5 + (j + 1)

    values = np.repeat(np.arange(n) % 8, 3).reshape(n, 3).astype(float)
    d, out, plain = es.array(values), es.zeros(n), es.zeros(n)
    for _ in range(repeats):
        es.parallel_for(n // T.width, kernel, d, out)
    es.parallel_for(n, one_by_one, d, plain)
    assert (out.to_numpy() == plain.to_numpy()).all()
    assert out.to_numpy().sum() == (np.arange(n) % 8).sum() * (2.5 + 6.0)


@row(EXERCISES, "graph", "es.when_all(*received)")
def graph(space: es.ExecutionSpace) -> None:
    """Pack, transfer and unpack for each of six neighbours, and a kernel after all of them."""
    n, sends, neighbours = 200, 30, 6

    def pack(k, own, chosen, to):
        to[k] = own[chosen[k]]

    def unpack(k, received, to):
        to[k] = received[k]

    def work(i, own, halo):
        own[i] += halo[i % halo.extent(0), i % halo.extent(1)]

    rng = np.random.default_rng(1)
    first = rng.random(n)
    own, halo = es.array(first), es.zeros((neighbours, sends))
    chosen = [rng.integers(0, n, sends) for _ in range(neighbours)]
    buffers = [(es.zeros(sends), es.zeros(sends), es.array(c)) for c in chosen]
    graph, received = es.Graph(space), []
    for k, (packed, arrived, places) in enumerate(buffers):
        sent = graph.then(sends, pack, own, places, packed).then_copy(arrived, packed)
        received.append(sent.then(sends, unpack, arrived, halo[k, :]))
    es.when_all(*received).then(n, work, own, halo)
    ready = graph.instantiate()
    expected = first.copy()
    for _ in range(10):
        ready.submit()
        table = np.array([expected[c] for c in chosen])
        expected += table[np.arange(n) % neighbours, np.arange(n) % sends]
    assert (own.to_numpy() == expected).all()


@dataclass
class Foo:
    """One of two classes with a method of one name."""

    value: int

    def number(self):
        return self.value


@dataclass
class Bar:
    value: int
    more: float

    def number(self):
        return self.value + self.more


@row(EXERCISES, "virtualfunction", "out[i] = shapes[kinds[i]].number()")
def virtual_function(space: es.ExecutionSpace) -> None:
    """Objects of classes with one method, of which an index chooses."""
    shapes = (Foo(1), Bar(2, 0.5))

    def kernel(i, shapes, kinds, out):
        out[i] = shapes[kinds[i]].number()

    kinds, out = es.array([0, 1, 1, 0]), es.zeros(4)
    es.parallel_for(4, kernel, shapes, kinds, out)
    assert out.to_numpy().tolist() == [1, 2.5, 2.5, 1]


@row(EXERCISES, "multi_gpu", 'spaces = [es.space(f"opencl:{p}.0"), es.space(f"opencl:{p}.1")]')
def multi_gpu(space: es.ExecutionSpace) -> None:
    """N = 10000 on two devices, here of PoCL; `cuda:1` is the second GPU."""
    if not runs_on("opencl"):
        return
    program = """
for p in range(8):
    try:
        spaces = [es.space(f"opencl:{p}.0"), es.space(f"opencl:{p}.1")]
        break
    except es.SpaceError:
        pass
queues = [s.instance() for s in spaces]
views = [es.full(10_000, 5_000.0, space=q) for q in queues]
found = [
    es.parallel_reduce(es.RangePolicy(10_000, space=q), lambda i, x: x[i], x, blocking=False)
    for q, x in zip(queues, views)
]
print(sum(f.result() for f in found))
"""
    assert output_of(program, POCL_DEVICES="basic basic") == ["100000000.0"]


@row(EXERCISES, "mpi_*, heat", "heat.T, heat.T_new = heat.T_new, heat.T")
def heat(space: es.ExecutionSpace) -> None:
    """Heat conduction with a heated side and radiation, as the exercise without MPI.

    With ranks it is examples/distributed/heat3d.py, by the halos of execspace_comm.
    """
    n, dt, q, sigma = 8, 0.1, 1.0, 1.0

    class Heat:
        def __init__(self) -> None:
            self.T, self.T_new = es.zeros((n, n, n)), es.zeros((n, n, n))
            self.n = n

        def step(self, i, j, k, power):
            t, last, flux = self.T, self.n - 1, 0.0
            flux += t[i - 1, j, k] - t[i, j, k] if i > 0 else power - sigma * t[i, j, k] ** 4
            flux += t[i + 1, j, k] - t[i, j, k] if i < last else -sigma * t[i, j, k] ** 4
            flux += q * (t[i, j - 1, k] - t[i, j, k]) if j > 0 else -sigma * t[i, j, k] ** 4
            flux += q * (t[i, j + 1, k] - t[i, j, k]) if j < last else -sigma * t[i, j, k] ** 4
            flux += q * (t[i, j, k - 1] - t[i, j, k]) if k > 0 else -sigma * t[i, j, k] ** 4
            flux += q * (t[i, j, k + 1] - t[i, j, k]) if k < last else -sigma * t[i, j, k] ** 4
            self.T_new[i, j, k] = t[i, j, k] + dt * flux

    heat = Heat()
    for _ in range(20):
        es.parallel_for(es.MDRangePolicy((n, n, n)), heat.step, 1.0)
        heat.T, heat.T_new = heat.T_new, heat.T
    t = np.zeros((n, n, n))
    for _ in range(20):
        flux = np.zeros_like(t)
        for axis in range(3):
            moved, to = np.moveaxis(t, axis, 0), np.moveaxis(flux, axis, 0)
            to[1:] += moved[:-1] - moved[1:]
            to[:-1] += moved[1:] - moved[:-1]
            to[0] -= sigma * moved[0] ** 4
            to[-1] -= sigma * moved[-1] ** 4
        flux[0] += 1.0
        t += dt * flux
    np.testing.assert_allclose(heat.T.to_numpy(), t, rtol=1e-12, atol=1e-15)


absent(EXERCISES, "fortran, hpcbind", "Fortran, `hpcbind`")


@row(EXERCISES, "kokkoskernels/*", "solution = solvers.cg(A, b, rtol=1e-10)")
def kokkos_kernels(space: es.ExecutionSpace) -> None:
    """InnerProduct, CGSolve and GaussSeidel; other programs are those of section 6."""
    from execspace_kernels import blas, solvers, sparse

    n = 128
    rows = np.repeat(np.arange(n), 3)
    columns = rows + np.tile([-1, 0, 1], n)
    inside = (columns >= 0) & (columns < n)
    rows, columns = rows[inside], columns[inside]
    values = np.where(rows == columns, 2.5, -1.0)
    A = sparse.CooMatrix(es.array(rows), es.array(columns), es.array(values), (n, n)).to_crs()
    b = es.ones(n)
    assert blas.dot(b, b) == n
    solution = solvers.cg(A, b, rtol=1e-10)
    assert solution.converged
    left = b.to_numpy() - A.to_numpy() @ solution.x.to_numpy()
    assert np.linalg.norm(left) <= 1e-9 * math.sqrt(n)
    relaxed = sparse.GaussSeidel(A, sweeps=60).apply(b)
    np.testing.assert_allclose(relaxed.to_numpy(), solution.x.to_numpy(), rtol=1e-6)
