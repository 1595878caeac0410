"""Edges, neighbours and boundary of a mesh of triangles.

Two triangles that meet have an edge in common, so edges are keys of a map: a triangle inserts its
three, and whoever comes second finds them there. Edges of one triangle alone are the boundary; its
vertices are a set of bits. The neighbours of each vertex are the rows of a graph.

    python examples/containers/mesh_edges.py --side 300
"""

from __future__ import annotations

import argparse

import numpy as np

import execspace as es


@es.function
def edge(a, b):
    """One number for an edge, whichever its direction."""
    return es.int64(min(a, b)) << 32 | es.int64(max(a, b))


@es.kernel
def insert_edges(t, triangles, edges):
    """Count the triangles of each edge."""
    for k in range(3):
        a, b = triangles[t, k], triangles[t, (k + 1) % 3]
        edges.insert(edge(a, b), 1, "add")


@es.kernel
def mark_boundary(slot, edges, boundary):
    """Set the bits of vertices at edges that have one triangle."""
    if edges.valid_at(slot) and edges.value_at(slot) == 1:
        ends = edges.key_at(slot)
        boundary.set(ends >> 32)
        boundary.set(ends & 0xFFFFFFFF)


@es.kernel
def count_ends(k, ends, counts):
    """Count the edges of each vertex."""
    es.atomic_add(counts, ends[k] >> 32, 1)
    es.atomic_add(counts, ends[k] & 0xFFFFFFFF, 1)


@es.kernel
def fill_ends(k, ends, filled, graph):
    """Write each end of an edge into the row of the other one."""
    a, b = ends[k] >> 32, ends[k] & 0xFFFFFFFF
    graph.entries[graph.row_map[a] + es.atomic_fetch_add(filled, a, 1)] = b
    graph.entries[graph.row_map[b] + es.atomic_fetch_add(filled, b, 1)] = a


def neighbours(ends: es.View, vertices: int) -> es.StaticCrsGraph:
    """The graph of vertices that an edge joins."""
    counts, filled = es.zeros(vertices, es.int64), es.zeros(vertices, es.int64)
    es.parallel_for(ends.size, count_ends, ends, counts)
    entries = es.View(2 * ends.size, es.int64, label="neighbours")
    graph = es.StaticCrsGraph(es.get_crs_row_map_from_counts(counts), entries)
    es.parallel_for(ends.size, fill_ends, ends, filled, graph)
    return graph


def square(side: int) -> np.ndarray:
    """Triangles of a square of so many cells a side, two to a cell."""
    i, j = (x.ravel() for x in np.indices((side, side)))
    low = i * (side + 1) + j
    corners = low, low + 1, low + side + 1, low + side + 2
    first = np.stack([corners[0], corners[1], corners[2]], axis=1)
    second = np.stack([corners[1], corners[3], corners[2]], axis=1)
    return np.concatenate([first, second]).astype(np.int32)


def run(side: int = 40) -> dict[str, int]:
    """Find all of them for a square, of which they are known."""
    triangles = es.array(square(side), label="triangles")
    vertices = (side + 1) ** 2
    edges = es.UnorderedMap(3 * len(triangles), es.int64, es.int32)
    es.parallel_for(len(triangles), insert_edges, triangles, edges)
    assert not edges.failed_insert()
    assert edges.size() == side * (3 * side + 2)

    boundary = es.Bitset(vertices)
    es.parallel_for(edges.slots, mark_boundary, edges, boundary)
    assert boundary.count() == 4 * side

    graph = neighbours(edges.keys(), vertices)
    graph.validate(vertices)
    rows = graph.to_lists()
    assert sorted(rows[0]) == [1, side + 1]
    inner = side + 2  # the first vertex that is not on the boundary
    around = (-side - 1, -side, -1, 1, side, side + 1)
    assert side == 1 or sorted(rows[inner]) == [inner + step for step in around]
    return {"edges": edges.size(), "boundary": boundary.count(), "neighbours": graph.num_entries}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=40)
    for name, number in run(parser.parse_args().side).items():
        print(f"{name}: {number}")
