"""es.Graph by nodes, with `then` and `when_all`, as in Kokkos."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


def count(i, x, n):
    es.atomic_add(x, 0, n)


def is_set(i, x, bugs, expected):
    if x[0] != expected:
        es.atomic_add(bugs, 0, 1)


def value(i, x):
    return x[0]


def store(i, x, y):
    y[0] = x[()]


def counters(space):
    return es.View(1, es.int32, space=space), es.View(1, es.int32, space=space)


def test_one_node(space):
    x, _ = counters(space)
    graph = es.Graph(space)
    graph.then(1, count, x, 1)
    graph.submit()
    graph.submit()
    assert x.to_numpy()[0] == 2


def test_a_diamond(space):
    """Two nodes see what a third has done, and a fourth what both have."""
    x, bugs = counters(space)
    y = es.View(1, es.int32, space=space)
    graph = es.Graph(space)
    first = graph.then(1, count, x, 1)
    left = first.then(1, is_set, x, bugs, 1)
    right = first.then(1, count, y, 5)
    both = es.when_all(left, right)
    both.then(1, is_set, y, bugs, 5).then(1, is_set, x, bugs, 1)
    graph.submit()
    assert (x.to_numpy()[0], y.to_numpy()[0], bugs.to_numpy()[0]) == (1, 5, 0)


def test_when_all_of_when_all(space):
    x, bugs = counters(space)
    graph = es.Graph(space)
    nodes = [graph.then(10, count, x, 1) for _ in range(4)]
    all_ = es.when_all(es.when_all(*nodes[:2]), es.when_all(*nodes[2:]), nodes[0])
    all_.then(1, is_set, x, bugs, 40)
    graph.submit()
    assert x.to_numpy()[0] == 40
    assert bugs.to_numpy()[0] == 0


def test_repeated_submission(space):
    x, bugs = counters(space)
    graph = es.Graph(space)
    graph.then(1, is_set, x, bugs, 0).then(1, count, x, 1).then(1, is_set, x, bugs, 1)
    ready = graph.instantiate()
    for _ in range(10):
        ready.submit()
        es.deep_copy(x, 0)
    assert bugs.to_numpy()[0] == 0


def test_reductions_copies_and_fills(space):
    x, y = counters(space)
    result = es.View((), es.int32, space=space)
    graph = es.Graph(space)
    end = (
        graph.then_copy(x, 7)
        .then_reduce(10, value, x, out=result)
        .then(1, store, result, y)
        .then_copy(x, y)
    )
    end.then_reduce(3, value, x, out=result, reducer=es.Max)
    graph.submit()
    assert (x.to_numpy()[0], result.to_numpy()) == (70, 70)
    graph.submit()
    assert (x.to_numpy()[0], result.to_numpy()) == (70, 70)


def test_zero_work(space):
    x, bugs = counters(space)
    result = es.View((), es.int32, space=space)
    graph = es.Graph(space)
    graph.then(0, count, x, 1).then_reduce(0, value, x, out=result).then(0, is_set, x, bugs, 1)
    graph.submit()
    assert (x.to_numpy()[0], result.to_numpy(), bugs.to_numpy()[0]) == (0, 0, 0)


def test_scans_need_a_view(space):
    def prefix(i, before, final, y):
        if final:
            y[i] = before
        return 1

    y, total = es.View(5, es.int64, space=space), es.View((), es.int64, space=space)
    graph = es.Graph(space)
    with pytest.raises(es.LaunchError, match="returns a number"):
        graph.then_scan(5, prefix, y)
    graph.then_scan(5, prefix, y, out=total)
    graph.submit()
    assert y.to_numpy().tolist() == [0, 1, 2, 3, 4]
    assert total.to_numpy() == 5


def test_host_functions_run_between(space):
    x, _ = counters(space)
    seen = []
    graph = es.Graph(space)
    first = graph.then(1, count, x, 1)
    graph_host = first.then_host(lambda a: seen.append(int(a.to_numpy()[0])), x, label="look")
    graph_host.then(1, count, x, 10).then_host(lambda: seen.append(int(x.to_numpy()[0])))
    graph.submit()
    assert seen == [1, 11]
    graph.submit()
    assert seen == [1, 11, 12, 22]
    assert graph["look"].kind == "host"


def test_what_a_host_function_raises_comes_out(space):
    x, _ = counters(space)
    graph = es.Graph(space)

    def fail():
        raise KeyError("no")

    graph.then(1, count, x, 1).then_host(fail).then(1, count, x, 1)
    with pytest.raises(KeyError):
        graph.submit()
    assert x.to_numpy()[0] == 1


def test_nodes_and_recording_mixed(space):
    x, bugs = counters(space)
    graph = es.Graph(space)
    node = graph.then(1, count, x, 1)
    with graph:
        es.parallel_for(1, count, x, 1)
        es.parallel_for(1, is_set, x, bugs, 2)
    node.then(1, count, bugs, 0)
    graph.submit()
    assert (x.to_numpy()[0], bugs.to_numpy()[0]) == (2, 0)


def test_prints_and_assertions_in_a_graph(space):
    def checked(i, x):
        assert x[0] < 2, "too many"

    x, _ = counters(space)
    graph = es.Graph(space)
    graph.then(1, count, x, 1).then(1, checked, x).then(1, count, x, 0)
    graph.submit()
    with pytest.raises(es.KernelAssertionError, match="too many"):
        graph.submit()
    assert x.to_numpy()[0] == 2


def test_misuse(space):
    x, _ = counters(space)
    graph, other = es.Graph(space), es.Graph(space)
    node, stranger = graph.then(1, count, x, 1), other.then(1, count, x, 1)
    refused = [
        (lambda: es.when_all(), "expected one node or more"),
        (lambda: es.when_all(node, 3), "argument 1 is 3; expected a node"),
        (lambda: es.when_all(node, stranger), "nodes of different graphs"),
        (lambda: graph.then_host(3), "then_host of 3; expected a function"),
        (lambda: graph.then_reduce(3, value, x, out=None), "returns a number"),
        (lambda: es.Graph(space, label=3), "label=3; expected a text"),
        (lambda: graph.then_copy(x, 1).exchange(q=1), "no argument 'q'"),
        (lambda: graph.then_host(dict).exchange(q=1), "is no launch, so there is nothing to"),
    ]
    for call, message in refused:
        with pytest.raises(es.LaunchError, match=message.replace("(", r"\(")):
            call()
    with pytest.raises(es.DTypeError, match="cannot be stored"):
        graph.then_copy(x, 1.5)
    graph.submit()
    with pytest.raises(es.LaunchError, match="takes no further nodes"):
        node.then(1, count, x, 1)
    with pytest.raises(TypeError, match="cannot be pickled"):
        __import__("pickle").dumps(graph)


def test_tools_are_told_of_graphs(space):
    class Tool:
        def __init__(self):
            self.events = []

        def on_graph_begin(self, label, space, queue, kernels, id):
            self.events.append((label, space, kernels))

        def on_graph_end(self, id):
            self.events.append("end")

    x, _ = counters(space)
    graph = es.Graph(space, label="step")
    graph.then(1, count, x, 1).then(1, count, x, 1)
    ready = graph.instantiate()
    tool = Tool()
    with es.profile(tool):
        ready.submit()
    assert tool.events == [("step", es.space(space.name).name, 2), "end"]
    assert np.array_equal(x.to_numpy(), [2])
