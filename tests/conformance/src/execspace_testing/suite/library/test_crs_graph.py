"""StaticCrsGraph and what makes such graphs, against lists of lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

some = drawn(15)
ROWS = [[1, 2], [], [0], [3, 3, 1, 0], []]


def lists(graph):
    begins, entries = staged.fetch(graph.row_map).tolist(), staged.fetch(graph.entries).tolist()
    assert graph.num_rows == len(begins) - 1
    assert graph.num_entries == len(entries)
    return [entries[a:b] for a, b in pairwise(begins)]


def walk(i, graph, out):
    begin, end = graph.row(i)
    row = graph.entries[begin:end]
    out[i, 0] = graph.row_length(i)
    for k in range(len(row)):
        out[i, 1] += es.int64(row[k])
    out[i, 2] = graph.num_rows
    out[i, 3] = graph.num_entries


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64, np.uint64])
def test_rows_in_kernels(space, dtype):
    graph = es.create_staticcrsgraph(ROWS, dtype=dtype, space=space)
    assert graph.entries.dtype == dtype
    assert lists(graph) == graph.to_lists() == ROWS
    graph.validate(4)
    out = es.View((5, 4), es.int64, space=space)
    es.parallel_for(es.RangePolicy(5, space=space), walk, graph, out)
    assert staged.fetch(out).tolist() == [[len(r), sum(r), 5, 7] for r in ROWS]


def test_no_rows_and_no_entries(space):
    for rows in ([], [[]], [[], []]):
        graph = es.create_staticcrsgraph(rows, space=space)
        assert lists(graph) == rows
        graph.validate(0)
        assert lists(es.transpose_crs(graph)) == rows
        assert lists(es.transpose_crs(graph, 3)) == [[], [], []]
        bounds = staged.fetch(graph.create_block_partitioning(2)).tolist()
        assert (bounds[0], bounds[-1], sorted(bounds)) == (0, len(rows), bounds)


def transposed(rows, columns):
    found = [[] for _ in range(columns)]
    for i, row in enumerate(rows):
        for j in row:
            found[j].append(i)
    return found


def test_a_large_transpose(space):
    """One row of it is as long as half of all, so that its entries come at the same time."""
    n = fitting(space, 4000, 60)
    rng = np.random.default_rng(1)
    rows = [[0] * (i % 3) + rng.integers(0, n, i % 5).tolist() for i in range(n)]
    graph = es.create_staticcrsgraph(rows, dtype=np.int32, space=space)
    expected = transposed(rows, n)
    counts = es.get_crs_transpose_counts(graph)
    assert staged.fetch(counts).tolist() == [len(r) for r in expected]
    made = es.transpose_crs(graph)
    assert made.entries.dtype == np.int32
    assert lists(made) == expected
    unsorted = lists(es.transpose_crs(graph, n + 1, sort=False))
    assert [sorted(r) for r in unsorted] == [*expected, []]
    made.validate(n)


@some
@given(rows=st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8))
def test_transposes_against_lists(space, rows):
    graph = es.create_staticcrsgraph(rows, space=space)
    assert lists(es.transpose_crs(graph, 6)) == transposed(rows, 6)
    row_map = es.get_crs_row_map_from_counts(
        staged.view_on(space, [len(r) for r in rows], dtype="i4")
    )
    np.testing.assert_array_equal(staged.fetch(row_map), staged.fetch(graph.row_map))


def divisors(i, entries):
    n = 0
    for d in range(1, i + 1):
        if i % d == 0:
            if entries is not None:
                entries[n] = d
            n += 1
    return n


def test_rows_that_a_function_counts_and_fills(space):
    n = fitting(space, 500, 40)
    graph = es.count_and_fill_crs(n, divisors, dtype=np.int32, space=space)
    assert lists(graph) == [[d for d in range(1, i + 1) if i % d == 0] for i in range(n)]
    assert lists(es.count_and_fill_crs(0, divisors, space=space)) == []


def test_blocks_of_equal_work(space):
    rng = np.random.default_rng(2)
    rows = [[0] * int(k) for k in rng.integers(0, 30, fitting(space, 1000, 100))]
    rows[7] = [0] * 900
    graph = es.create_staticcrsgraph(rows, space=space)
    for blocks, cost in ((1, 4), (3, 4), (16, 0), (16, 10), (2 * len(rows), 1)):
        bounds = staged.fetch(graph.create_block_partitioning(blocks, cost)).tolist()
        assert (len(bounds), bounds[0], bounds[-1]) == (blocks + 1, 0, len(rows))
        assert sorted(bounds) == bounds
        work = [cost + len(r) for r in rows]
        fair = sum(work) / blocks
        for a, b in pairwise(bounds):
            assert sum(work[a:b]) <= fair + max(work) + 1


def test_views_that_are_no_graph(space):
    def made(row_map, entries):
        return es.StaticCrsGraph(
            staged.view_on(space, np.array(row_map)), staged.view_on(space, np.array(entries))
        )

    made([0, 1, 2], [5, 0]).validate()
    for row_map in ([0, 1, 3], [1, 1, 2], [0, 2, 1, 2], [0, -1, 2]):
        with pytest.raises(es.ViewError, match="row_map has 1 elements that do not fit"):
            made(row_map, [0, 0]).validate()
    for entries in ([0, 2], [-1, 0]):
        graph = made([0, 1, 2], entries)
        for check in (
            lambda graph=graph: graph.validate(2),
            lambda graph=graph: es.transpose_crs(graph),
            lambda graph=graph: es.get_crs_transpose_counts(graph, 2),
        ):
            with pytest.raises(es.ViewError, match="1 entries are no columns; expected 0 to 1"):
                check()
    with pytest.raises(es.ViewError, match="row_map has no element"):
        made(np.empty(0, int), [0])
    unsigned = staged.view_on(space, np.array([0, 2], np.uint64))
    graph = es.StaticCrsGraph(unsigned, staged.view_on(space, np.array([0, 0], np.uint16)))
    graph.validate(1)
    assert lists(es.transpose_crs(graph)) == [[0, 0]]
    with pytest.raises(es.DTypeError, match="is of float64; expected integers"):
        made([0, 1], [0.5])
    with pytest.raises(es.ViewError, match="has rank 2; expected rank 1"):
        made([[0, 1]], [0])
    with pytest.raises(es.ReadOnlyError, match="attribute 'entries' is read-only"):
        graph.entries = None


def test_what_is_refused(space):
    with pytest.raises(es.DTypeError, match=r"row 1 is \[0.5\]; expected a list of integers"):
        es.create_staticcrsgraph([[1], [0.5]], space=space)
    with pytest.raises(es.DTypeError, match=r"row 1 is 2; .* write \[2\] for a row with one entry"):
        es.create_staticcrsgraph([[1], 2], space=space)
    for row in ("ab", None, [True], [[1], [2]], [1, [2]]):
        with pytest.raises(es.DTypeError, match=r"row 0 is .*; expected a list of integers"):
            es.create_staticcrsgraph([row], space=space)
    for rows in (3, "ab", {1: [2]}):
        with pytest.raises(
            es.DTypeError, match=r"rows is .*; expected a list of lists of integers"
        ):
            es.create_staticcrsgraph(rows, space=space)
    with pytest.raises(es.DTypeError, match="row 0 has entries from 1 to 300, which do not fit"):
        es.create_staticcrsgraph([[1, 300]], dtype=np.uint8, space=space)
    with pytest.raises(es.DTypeError, match=r"dtype is .*float32.*; expected an integer type"):
        es.create_staticcrsgraph([[1]], dtype=np.float32, space=space)
    with pytest.raises(es.ViewError, match="num_rows is -1; expected an integer from 0"):
        es.count_and_fill_crs(-1, divisors, space=space)
    with pytest.raises(es.DTypeError, match="counts, View '', is of float64"):
        es.get_crs_row_map_from_counts(staged.view_on(space, np.zeros(3)))
    graph = es.create_staticcrsgraph(ROWS, space=space)
    with pytest.raises(es.ViewError, match="blocks is 0; expected an integer from 1"):
        graph.create_block_partitioning(0)
    with pytest.raises(es.ViewError, match="cost_per_row is -1"):
        graph.create_block_partitioning(2, -1)


def test_counts_that_are_negative_or_no_integers(space):
    counts = staged.view_on(space, np.array([2, -1, 3, -7]), "counts")
    with pytest.raises(es.ViewError, match="2 of 4 counts are negative; expected numbers of"):
        es.get_crs_row_map_from_counts(counts)
    with pytest.raises(es.ViewError, match="count_and_fill_crs: 2 of 5 counts are negative"):
        es.count_and_fill_crs(5, lambda i, entries: 1 - i if i > 2 else 0, space=space)
    with pytest.raises(
        es.KernelTypeError, match=r"count_and_fill_crs returns .*float; expected an"
    ):
        es.count_and_fill_crs(5, lambda i, entries: 1.5, space=space)
    with pytest.raises(es.KernelTypeError, match="count_and_fill_crs returns None; expected an"):
        es.count_and_fill_crs(5, lambda i, entries: None, space=space)
    with pytest.raises(es.LaunchError, match="function is 3; expected a function"):
        es.count_and_fill_crs(5, 3, space=space)


def test_a_transpose_whose_entries_have_no_room_for_rows(space):
    rows = [[1]] * 128
    graph = es.create_staticcrsgraph(rows, dtype=np.int8, space=space)
    assert lists(es.transpose_crs(graph)) == [[], list(range(128)), *[[]] * 126]
    graph = es.create_staticcrsgraph([*rows, []], dtype=np.int8, space=space)
    with pytest.raises(es.DTypeError, match=r"has 129 rows, .* entries of int8 hold 127 at most"):
        es.transpose_crs(graph)
    with pytest.raises(es.ViewTypeError, match="crs is of type 'list'; expected a StaticCrsGraph"):
        es.transpose_crs([[1]])


def test_what_kernels_cannot_do(space):
    graph, policy = (
        es.create_staticcrsgraph([[1], [0]], space=space),
        es.RangePolicy(2, space=space),
    )
    for kernel, said in (
        (lambda i, g: g.row(1.5)[0], "'i' is Python float; expected an integer"),
        (lambda i, g: g.validate(), "'validate' of .*StaticCrsGraph is for the host"),
        (lambda i, g: g.rows, "has no attribute 'rows' in a kernel\n(.*\n)*.*kernels use row, "),
    ):
        with pytest.raises(es.KernelTypeError, match=said):
            es.parallel_reduce(policy, kernel, graph)
