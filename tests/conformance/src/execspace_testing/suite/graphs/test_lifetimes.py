"""What a graph holds and for how long, and Views that change beneath it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import execspace as es


def add(i, x, y):
    x[i] += y[i]


def double(i, x):
    x[i] *= 2.0


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("change", [es.resize, es.realloc])
def test_a_view_that_gets_other_memory_is_used_as_it_is_then(space, fuse, change):
    x, y = es.ones(4, space=space), es.ones(4, space=space)
    with es.Graph(space) as graph:
        es.parallel_for(4, add, x, y)
        es.parallel_for(4, double, x)
    ready = graph.instantiate(fuse=fuse)
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [4.0] * 4
    change(x, 6)
    others = [es.full(4, 50.0, space=space) for _ in range(4)]  # maybe where x was
    es.deep_copy(x, 7.0)
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [16.0] * 4 + [7.0] * 2
    assert all((view.to_numpy() == 50.0).all() for view in others)


@pytest.mark.parametrize("fuse", [False, True])
def test_views_that_are_parted_are_no_longer_one(space, fuse):
    """As long as two Views are of one memory, what one call stores, the next loads."""
    x = es.ones(4, space=space)
    same = x.with_traits()
    y = es.full(4, 10.0, space=space)
    launches = es.bind(on := es.RangePolicy(4, space=space), add, x, y), es.bind(on, add, y, same)
    step = es.fuse(*launches)
    with es.Graph(space) as graph:
        es.parallel_for(4, add, x, y)
        es.parallel_for(4, add, y, same)
    ready = graph.instantiate(fuse=fuse)
    step()
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [32.0] * 4 and y.to_numpy().tolist() == [53.0] * 4
    es.realloc(x, 5)
    es.deep_copy(x, 0.0)  # `same` has the memory that both had: 32
    step()
    es.fence()
    assert x.to_numpy().tolist() == [53.0] * 4 + [0.0] and y.to_numpy().tolist() == [85.0] * 4
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [138.0] * 4 + [0.0]
    assert y.to_numpy().tolist() == [117.0] * 4 and same.to_numpy().tolist() == [32.0] * 4


def test_a_graph_goes_with_its_last_reference(space):
    x, y = es.ones(4, space=space), es.ones(4, space=space)
    with es.Graph(space) as graph:
        es.parallel_for(4, add, x, y)
        with graph.repeat(2):
            es.parallel_for(4, double, x)
            graph.then_host(int)
        es.deep_copy(y, x)
        es.fill_random(y, 1)
    ready = graph.instantiate()
    ready.submit()
    graph["add"].exchange(y=x)
    ready.submit()
    es.fence()
    gone = [weakref.ref(thing) for thing in (graph, ready, x, y)]
    gc.disable()  # nothing of it is in a cycle of references
    try:
        del graph, ready, x, y
        assert [ref() for ref in gone] == [None] * 4
    finally:
        gc.enable()


def test_what_is_ready_keeps_all_that_it_uses(space):
    x, y = es.ones(4, space=space), es.full(4, 2.0, space=space)
    graph = es.Graph(space)
    graph.then(4, add, x, y).then_copy(y, x)
    ready = graph.instantiate()
    del graph, y
    others = [es.full(4, 50.0, space=space) for _ in range(4)]
    for _ in range(3):
        ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [12.0] * 4
    assert all((view.to_numpy() == 50.0).all() for view in others)


def test_nodes_are_equal_if_they_are_the_same(space):
    x = es.ones(4, space=space)
    graph = es.Graph(space)
    first = graph.then(4, double, x, label="first")
    second = first.then(4, double, x)
    assert graph["first"] == first == graph.nodes[0] != second
    assert second.after == (first,) and len({first, graph["first"], second}) == 2
    assert second.graph is graph


def test_functions_that_would_run_nothing_and_labels_that_are_none_are_refused(space):
    graph, x = es.Graph(space), es.ones(4, space=space)

    async def later():
        raise AssertionError

    def each():
        yield

    class Called:
        async def __call__(self):
            raise AssertionError

    for function in (later, each, Called()):
        with pytest.raises(es.LaunchError, match="runs nothing; expected a function"):
            graph.then_host(function)
    seen = []
    graph.then_host(seen.append, 1, label="note")
    for label in (3, 0, False, b"", []):
        with pytest.raises(es.LaunchError, match=r"label=.+; expected a text"):
            graph.then_host(seen.append, 2, label=label)
        with pytest.raises(es.LaunchError, match="expected a text"):
            graph.then_copy(x, 1.0, label=label)
        with pytest.raises(es.LaunchError, match="expected a text"):
            graph.then(4, double, x, label=label)
        with graph, pytest.raises(es.LaunchError, match="expected a text"):
            es.parallel_for(4, double, x, label=label)
        with pytest.raises(es.LaunchError, match="expected a text"):
            es.parallel_for(es.RangePolicy(4, space=space), double, x, label=label)
    assert [node.label for node in graph.nodes] == ["note"]
    graph.submit()
    assert seen == [1] and np.asarray(x.to_numpy()).sum() == 4.0
