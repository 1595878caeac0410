"""Integer kernels: fixed point, number theory, sequences, graphs, searching.

Dynamic programming runs one launch for each antidiagonal or stage. Checked against plain Python,
the standard library, NumPy, or counts that are known.
"""

from __future__ import annotations

import functools
import math

import numpy as np

import execspace as es
from execspace_testing import staged


# Saturating arithmetic in int8, and a widening multiply of Q15 numbers (int16).
@es.kernel
def add_saturated(i, a, b, out):
    wide = es.int16(a[i]) + b[i]
    out[i] = -128 if wide < -128 else 127 if wide > 127 else wide


@es.kernel
def q15_multiply(i, a, b, out):
    product = es.int32(a[i]) * b[i]
    out[i] = min((product + (1 << 14)) >> 15, 32767)


def test_fixed_point_arithmetic_saturates_and_rounds(space):
    rng = np.random.default_rng(2)
    a, b = rng.integers(-128, 128, (2, 50), dtype=np.int8)
    p, q = rng.integers(-32768, 32768, (2, 50), dtype=np.int16)
    p[0] = q[0] = -32768
    total, product = np.zeros(50, np.int8), np.zeros(50, np.int16)
    with es.use_space(space):
        staged.parallel_for(50, add_saturated, a, b, total)
        staged.parallel_for(50, q15_multiply, p, q, product)
    np.testing.assert_array_equal(total, np.clip(a.astype(int) + b, -128, 127))
    exact = p.astype(float) * q / 2**15
    np.testing.assert_array_equal(product, np.minimum(np.floor(exact + 0.5), 32767))


# Number theory: Collatz chains, trial division, Euclid. While loops and early returns.
@es.kernel
def collatz_steps(i):
    n = i + 1
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@es.kernel
def is_prime(n):
    if n < 4:
        return n > 1
    if n % 2 == 0 or n % 3 == 0:
        return False
    d = 5
    while d * d <= n:
        if n % d == 0 or n % (d + 2) == 0:
            return False
        d += 6
    return True


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def test_number_theory_has_its_known_counts(space):
    with es.use_space(space):
        assert staged.parallel_reduce(1000, collatz_steps, reducer=es.Max) == 178  # from 871
        assert staged.parallel_reduce(998, is_prime) == 168  # the last is 997
        coprime = staged.parallel_reduce(es.MDRangePolicy((30, 31)), lambda i, j: gcd(i, j) == 1)
    assert coprime == sum(math.gcd(i, j) == 1 for i in range(30) for j in range(31))


# Smith-Waterman (1981): all cells of an antidiagonal at once.
@es.kernel
def smith_waterman(k, diagonal, first, a, b, match, mismatch, gap, h):
    i = first + k
    j = diagonal - i
    score = match if a[i - 1] == b[j - 1] else mismatch
    h[i, j] = max(0, h[i - 1, j - 1] + score, h[i - 1, j] - gap, h[i, j - 1] - gap)


def test_smith_waterman_finds_the_best_local_alignment(space):
    a, b = (np.frombuffer(text, np.uint8) for text in (b"TGTTACGG", b"GGTTGACTA"))
    h = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    with es.use_space(space):
        for diagonal in range(2, len(a) + len(b) + 1):
            first, last = max(1, diagonal - len(b)), min(len(a), diagonal - 1)
            staged.parallel_for(
                last + 1 - first, smith_waterman, diagonal, first, a, b, 3, -3, 2, h
            )
        scores = staged.place(space, h)
        best = staged.parallel_reduce(
            es.MDRangePolicy(h.shape), lambda i, j: scores[i, j], reducer=es.Max
        )
    assert best == 13  # GTT-AC against GTTGAC

    @functools.cache
    def cell(i, j):
        if i == 0 or j == 0:
            return 0
        diagonal = cell(i - 1, j - 1) + (3 if a[i - 1] == b[j - 1] else -3)
        return max(0, diagonal, cell(i - 1, j) - 2, cell(i, j - 1) - 2)

    assert h.tolist() == [[cell(i, j) for j in range(h.shape[1])] for i in range(h.shape[0])]


# Levenshtein distances (Wagner and Fischer 1974), a pair of words per index, one row of memory.
def test_levenshtein_distances_in_a_private_row(space):
    @es.kernel
    def levenshtein(p, words, lengths, out):
        n, m = lengths[2 * p], lengths[2 * p + 1]
        row = es.local(16, es.int16)
        for j in range(m + 1):
            row[j] = j
        for i in range(1, n + 1):
            diagonal = row[0]
            row[0] = i
            for j in range(1, m + 1):
                above = row[j]
                if words[2 * p, i - 1] == words[2 * p + 1, j - 1]:
                    row[j] = diagonal
                else:
                    row[j] = 1 + min(above, row[j - 1], diagonal)
                diagonal = above
        out[p] = row[m]

    texts = b"kitten sitting flaw lawn saturday sunday  abc me me intention execution".split(b" ")
    words = np.zeros((len(texts), 10), np.uint8)
    for row, text in zip(words, texts, strict=True):
        row[: len(text)] = list(text)
    out = np.zeros(len(texts) // 2, np.int32)
    with es.use_space(space):
        staged.parallel_for(len(out), levenshtein, words, np.array([len(t) for t in texts]), out)
    assert out.tolist() == [3, 2, 3, 3, 0, 5]


# PolyBench / NPBench: floyd-warshall, one launch for each intermediate vertex. int32.
@es.kernel
def shortest_via(i, j, k, paths):
    paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])


def test_floyd_warshall_finds_the_shortest_walks_of_a_ring(space):
    n, far = 11, 1000
    paths = np.full((n, n), far, np.int32)
    for v in range(n):
        paths[v, (v + 1) % n] = paths[(v + 1) % n, v] = 2
    with es.use_space(space):
        for k in range(n):
            staged.parallel_for(es.MDRangePolicy(paths.shape), shortest_via, k, paths)
    there = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    np.testing.assert_array_equal(paths, np.where(there, 2 * np.minimum(there, n - there), 4))


# Binary search (numpy.searchsorted's rule) and interpolation in a table, as one kernel.
def bisect_right(table, x):
    low = 0
    high = len(table)
    while low < high:
        middle = (low + high) >> 1
        if x < table[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@es.kernel
def interpolate(p, xs, table, values, positions, out):
    k = positions[p] = bisect_right(table, xs[p])
    if k == 0:
        out[p] = values[0]
    elif k == len(table):
        out[p] = values[-1]
    else:
        t = (xs[p] - table[k - 1]) / (table[k] - table[k - 1])
        out[p] = (1 - t) * values[k - 1] + t * values[k]


def test_table_look_up_agrees_with_searchsorted_and_interp(space):
    rng = np.random.default_rng(3)
    table, values = np.sort(rng.normal(size=13)), rng.normal(size=13)
    xs = np.concatenate([rng.normal(size=40) * 2, table])
    positions, out = np.zeros(len(xs), np.int32), np.zeros(len(xs))
    with es.use_space(space):
        staged.parallel_for(len(xs), interpolate, xs, table, values, positions, out)
    np.testing.assert_array_equal(positions, np.searchsorted(table, xs, side="right"))
    np.testing.assert_allclose(out, np.interp(xs, table, values), rtol=1e-12, atol=1e-14)


# Reverse complements of k-mers, two bits a base in a uint64, as in many genome tools.
@es.kernel
def reverse_complement(i, kmers, length, out):
    word = kmers[i]
    result = es.uint64(0)
    for _ in range(length):
        result = result << 2 | (~word & 3)
        word >>= 2
    out[i] = result


def test_reverse_complements_of_kmers_agree_with_text(space):
    texts = ["ACGT" * 8, "AAAACCCCGGGGTTTT" * 2, "T" * 32, "GATTACA" * 4 + "TGCA"]
    numbers = [int("".join(f"{'ACGT'.index(c):02b}" for c in t), 2) for t in texts]
    kmers, out = np.array(numbers, np.uint64), np.zeros(4, np.uint64)
    with es.use_space(space):
        staged.parallel_for(4, reverse_complement, kmers, 32, out)
    pairs = [f"{int(word):064b}" for word in out]
    found = ["".join("ACGT"[int(p[k : k + 2], 2)] for k in range(0, 64, 2)) for p in pairs]
    assert found == [t.translate(str.maketrans("ACGT", "TGCA"))[::-1] for t in texts]
