"""Colours of the rows of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


def is_valid(S, colours):
    coo = S.tocoo()
    apart = coo.row != coo.col
    return bool(np.all(colours[coo.row[apart]] != colours[coo.col[apart]]))


@pytest.mark.parametrize("algorithm", ["auto", "greedy", "jones-plassmann"])
def test_neighbours_differ(space, matrix, algorithm):
    n = min(matrix.shape)
    S = scipy_sparse.csr_array(matrix[:n, :n])
    A = sparse.as_crs(S, space=space)
    found = sparse.colour(A.graph, algorithm=algorithm, space=space)
    colours = found.colours.to_numpy()
    assert is_valid(S, colours) and algorithm in ("auto", found.algorithm)
    assert sorted(set(colours.tolist())) == list(range(found.number))
    again = sparse.colour(A.graph, algorithm=algorithm, space=space)
    assert np.array_equal(again.colours.to_numpy(), colours)
    rows = found.rows(np.int32, space)
    assert rows.order.to_numpy().tolist() == np.argsort(colours, kind="stable").tolist()


def test_a_complete_graph_has_a_colour_for_each_row(space):
    n = 70 if space.name == "oracle" else 150  # more than a word has bits
    A = sparse.as_crs(scipy_sparse.csr_array(np.ones((n, n))), space=space)
    for algorithm in ("greedy", "jones-plassmann"):
        assert sparse.colour(A.graph, algorithm=algorithm).number == n


entries = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


@given(entries, st.sampled_from(["greedy", "jones-plassmann"]))
@settings(max_examples=60)
def test_any_graph(places, algorithm):
    rows = sorted(places, key=lambda place: place[0])
    starts = np.searchsorted([i for i, _ in rows], np.arange(10))
    with es.use_space("serial"):
        graph = sparse.StaticCrsGraph(starts.astype(np.int64), [j for _, j in rows], 9)
        found = sparse.colour(graph, algorithm=algorithm)
        colours = found.colours.to_numpy()
        assert all(i == j or colours[i] != colours[j] for i, j in places)
        assert found.number <= 9


def test_what_is_refused(space):
    wide = sparse.CrsMatrix([0, 0], [], np.zeros(0), (1, 2), space=space)
    square = sparse.CrsMatrix([0, 0], [], np.zeros(0), (1, 1), space=space)
    with pytest.raises(MatrixError, match="the graph is 1 x 2; expected a square one"):
        sparse.colour(wide.graph)
    with pytest.raises(MatrixError, match=r"'CrsMatrix' is no graph; expected A\.graph"):
        sparse.colour(square)
    with pytest.raises(MatrixError, match="algorithm='best'; expected 'auto', 'greedy' or"):
        sparse.colour(square.graph, algorithm="best")
    told = execspace_kernels.explain(sparse.colour, square.graph, algorithm="greedy")
    assert str(told) == "colour: greedy, for it was asked for"
