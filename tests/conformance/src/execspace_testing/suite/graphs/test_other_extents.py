"""Copies, and functions of the library, in graphs whose Views get other extents."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

MANY = 1 << 14


def count(i, x):
    x[i] += 1.0


def neighbours(space):
    """Views that are where memory was given back, maybe; nobody may store into them."""
    return [es.full(8, 50.0, space=space) for _ in range(20)]


def untouched(views):
    return all((view.to_numpy() == 50.0).all() for view in views)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("change", [es.resize, es.realloc])
@pytest.mark.parametrize("extent", [8, MANY + 100])
def test_what_is_filled_is_all_of_the_view(space, change, extent, fuse):
    x, y = es.zeros(MANY, space=space), es.zeros((2, MANY), space=space)
    with es.Graph(space) as graph:
        es.deep_copy(x, 3.0)
        y.fill(4.0)
    ready = graph.instantiate(fuse=fuse)
    ready.submit()
    es.fence()
    change(x, extent)
    change(y, (3, extent))
    others = neighbours(space)
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [3.0] * extent
    assert (y.to_numpy() == 4.0).all() and y.shape == (3, extent)
    assert untouched(others)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("extent", [8, MANY + 100])
def test_copies_are_of_what_views_hold_then(space, extent, fuse):
    x, y = es.ones(MANY, space=space), es.zeros(MANY, space=space)
    host = np.zeros(extent)
    with es.Graph(space) as graph:
        es.deep_copy(y, x)
        es.parallel_for(8, count, y)
    ready = graph.instantiate(fuse=fuse)
    ready.submit()
    es.fence()
    es.realloc(x, extent)
    others = neighbours(space)
    with pytest.raises(es.ViewError, match=rf"has shape \({MANY},\), source .* \({extent},\)"):
        ready.submit()
    es.realloc(y, extent)
    es.deep_copy(x, 5.0)
    ready.submit()
    es.fence()
    es.deep_copy(host, y)
    assert host.tolist() == [6.0] * 8 + [5.0] * (extent - 8)
    assert untouched(others)
    graph["deep_copy"].exchange(src=y, dst=x)  # of other shapes than at first
    ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [6.0] * 8 + [5.0] * (extent - 8)


def test_copies_between_host_and_space(space):
    x, host = es.zeros(4, space=space), es.View(4, memory=es.HOST, space="serial")
    back = es.View(4, memory=es.HOST, space="serial")
    with es.Graph(space) as graph:
        es.deep_copy(x, host)
        es.parallel_for(2, count, x)
        es.deep_copy(back, x)
    graph.submit()
    es.fence()
    assert back.to_numpy().tolist() == [1.0, 1.0, 0.0, 0.0]
    for view in (x, host, back):
        es.realloc(view, 6)
    es.deep_copy(host, 2.0)
    graph.submit()
    es.fence()
    assert back.to_numpy().tolist() == [3.0, 3.0, 2.0, 2.0, 2.0, 2.0]


def test_a_copy_of_a_view_to_itself_does_nothing(space):
    x, both = es.ones(4, space=space), es.DualView(4, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(x, x)
        es.deep_copy(both.d_view, both.h_view)
        es.parallel_for(4, count, x)
        es.deep_copy(both.h_view, both.d_view)
    graph.submit()
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [3.0] * 4


def test_a_copy_takes_views_that_are_writable_or_read_only(space):
    x, y = es.zeros(4, space=space), es.ones(4, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(x, y)
    graph["deep_copy"].exchange(src=es.full(4, 2.0, space=space))
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [2.0] * 4
    graph["deep_copy"].exchange(src=es.full(4, 3.0, space=space).readonly())
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [3.0] * 4
    with pytest.raises(es.ViewError, match="is read-only"):
        graph["deep_copy"].exchange(dst=y.readonly())
    graph.submit()
    es.fence()
    assert y.to_numpy().tolist() == [1.0] * 4


@pytest.mark.parametrize("extent", [8, 3000])
def test_random_numbers_and_sorting(space, extent):
    x, order = es.zeros(1000, space=space), es.View(1000, es.int64, space=space)
    with es.Graph(space) as graph:
        es.fill_random(x, 1)
        es.argsort(x, out=order)
        es.sort(x, begin=4)
    graph.submit()
    es.fence()
    es.realloc(x, extent)
    others = neighbours(space)
    with pytest.raises(es.ViewError, match="argsort: out is"):
        graph.submit()
    es.realloc(order, extent)
    graph.submit()
    es.fence()
    drawn = es.View(extent, space=space)
    es.fill_random(drawn, 1)
    es.fence()
    drawn = drawn.to_numpy()
    assert order.to_numpy().tolist() == np.argsort(drawn, kind="stable").tolist()
    assert x.to_numpy().tolist() == [*drawn[:4], *np.sort(drawn[4:])]
    assert untouched(others)
    graph["fill_random"].exchange(seed=2, high=0.5)
    graph.submit()
    es.fence()
    again = es.View(extent, space=space)
    es.fill_random(again, 2, 0.0, 0.5)
    es.fence()
    assert sorted(x.to_numpy()) == sorted(again.to_numpy())
    with pytest.raises(es.ViewError, match="seed -1"):
        graph["fill_random"].exchange(seed=-1)


def test_rows_that_are_sorted_by_a_key(space):
    keys, rows = es.array([2, 1], space=space), es.array([20, 10], space=space)
    with es.Graph(space) as graph:
        es.sort_by_key(keys, rows)
    graph.submit()
    es.fence()
    assert rows.to_numpy().tolist() == [10, 20]
    more = es.array([5, 3, 4], space=space)
    with pytest.raises(es.ViewError, match="has 2 rows; expected 3"):
        graph["sort_by_key"].exchange(keys=more)
    others = es.array([50, 30, 40], space=space)
    graph["sort_by_key"].exchange(keys=more, value_0=others)
    graph.submit()
    es.fence()
    assert others.to_numpy().tolist() == [30, 40, 50]


@pytest.mark.parametrize("extent", [3, 500])
def test_searching_and_counting(space, extent):
    edges = es.array([0.0, 1.0, 2.0], space=space)
    x, found = es.full(100, 0.5, space=space), es.View(100, es.int64, space=space)
    counts = es.View(2, es.int64, space=space)
    with es.Graph(space) as graph:
        es.searchsorted(edges, x, out=found)
        es.histogram(x, 2, (0.0, 2.0), out=counts)
    graph.submit()
    es.fence()
    assert counts.to_numpy().tolist() == [100, 0] and set(found.to_numpy()) == {1}
    es.realloc(x, extent)
    es.deep_copy(x, 1.5)
    with pytest.raises(es.ViewError, match="searchsorted: out is"):
        graph.submit()
    es.realloc(found, extent)
    graph.submit()
    es.fence()
    assert counts.to_numpy().tolist() == [0, extent] and set(found.to_numpy()) == {2}


def test_parts_of_a_view(space):
    x, y = es.zeros(6, space=space), es.ones(6, space=space)
    with es.Graph(space) as graph:
        x[1:3] = y[1:3]
        x[-1:] = 7.0
        x[::3] = [4.0]
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [4.0, 1.0, 1.0, 4.0, 0.0, 7.0]
    es.realloc(x, 5)
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [4.0, 1.0, 1.0, 4.0, 7.0]
    es.realloc(x, 2)
    with pytest.raises(es.ViewError, match=r"what is stored has shape|has shape"):
        graph.submit()


def test_contributions(space):
    x = es.zeros(6, space=space)
    scatter = es.ScatterView(x, space=space)
    with es.Graph(space) as graph:
        scatter.reset()
        es.parallel_for(6, count, scatter.access())
        scatter.contribute(x)
    graph.submit()
    es.realloc(x, 6)
    es.deep_copy(x, 10.0)
    graph.submit()
    es.fence()
    assert x.to_numpy().tolist() == [11.0] * 6
    es.realloc(x, 3)
    with pytest.raises(es.ViewError, match=r"has shape \(3,\); expected \(6,\)"):
        graph.submit()


def test_what_a_host_function_changes_is_so_for_what_comes_after(space):
    x, y, seen = es.zeros(8, space=space), es.zeros(8, space=space), []

    def grow():
        es.realloc(x, len(x) * 2)
        seen.append(len(x))

    graph = es.Graph(space)
    with graph:
        es.parallel_for(8, count, x)
        with graph.repeat(2):
            es.deep_copy(x, 5.0)
            graph.then_host(grow)
            es.deep_copy(x, 2.0)
            es.parallel_for(8, count, x)
        es.parallel_for(8, count, x)
    graph.then_host(lambda: graph["last"].exchange(x=y))
    with graph:
        es.parallel_for(8, count, x, label="last")
    for times in (1, 2):
        graph.submit()
        es.fence()
        assert len(x) == 8 * 4**times and seen[-2:] == [len(x) // 2, len(x)]
        assert x.to_numpy().tolist() == [4.0] * 8 + [2.0] * (len(x) - 8)
        assert y.to_numpy().tolist() == [times] * 8


def test_what_a_host_function_mends_was_never_wrong(space):
    """What comes later is looked at when it is its turn, and not at all if that never comes."""
    x, y = es.zeros(3, space=space), es.zeros(3, space=space)
    never, other = es.View((), es.int32, space=space), es.zeros(3, space=space)
    graph = es.Graph(space)
    with graph:
        graph.then_host(lambda: es.realloc(y, x.size))
        es.deep_copy(y, x)
        graph.then_host(lambda: es.realloc(x, x.size + 2))
        graph.then_host(lambda: es.realloc(y, x.size))
        es.deep_copy(x, 4.0)
        es.deep_copy(y, x)
        with graph.if_(never):
            es.deep_copy(other, x)
        with graph.repeat(0):
            es.deep_copy(y, other)
    for extent in (5, 7, 9):
        graph.submit()
        es.fence()
        assert y.to_numpy().tolist() == [4.0] * extent


def test_a_scatter_view_that_gets_other_buffers_is_recorded_anew(space):
    x = es.zeros(4, space=space)
    scatter = es.ScatterView(x, space=space)
    with es.Graph(space) as resets:
        scatter.reset()
    with es.Graph(space) as contributes:
        scatter.contribute(x)
    resets.submit()
    contributes.submit()
    scatter.realloc(4)
    for graph, what in ((resets, "reset"), (contributes, "contribute")):
        with pytest.raises(es.LaunchError, match=f"{what} was recorded before resize or realloc"):
            graph.submit()


def put(i, x, k):
    x[i] = k


def test_numbers_that_no_argument_holds_are_refused_when_they_are_given(space):
    x = es.zeros(2, es.int64, space=space)
    policy = es.RangePolicy(2, space=space)
    graph = es.Graph(space)
    node = graph.then(2, put, x, 1)
    bound = es.bind(policy, put, x, 1)
    fused = es.fuse(es.bind(policy, put, x, 1))
    for number in (2**63, 2**64, -(2**63) - 1, 10**30, np.uint64(2**63)):
        for one in (node, bound, fused):
            with pytest.raises(es.LaunchError, match="does not fit into a signed 64-bit integer"):
                one.exchange(k=number)
        if not isinstance(number, np.generic):
            with pytest.raises(es.LaunchError, match="does not fit into a signed 64-bit"):
                es.Graph(space).then(2, put, x, number)
            with es.Graph(space), pytest.raises(es.LaunchError, match="does not fit into a signed"):
                es.parallel_for(2, put, x, number)
    graph.submit()
    bound()
    es.fence()
    assert x.to_numpy().tolist() == [1, 1]


def test_messages_name_the_node(space):
    x = es.zeros(3, space=space)
    with es.Graph(space, label="mine") as graph:
        x.fill(1.0)
        es.sort(x)
    for name in ("deep_copy", "sort"):
        with pytest.raises(es.LaunchError, match=f"^'{name}' in graph 'mine': no argument 'foo'"):
            graph[name].exchange(foo=1)


def test_memory_out_of_reach_is_refused_by_exchange(space):
    x, order = es.zeros(3, space=space), es.View(3, es.int64, space=space)
    if es.HOST.reachable_from(space):
        pytest.skip("this space reaches memory of the host")
    with es.Graph(space) as graph:
        es.sort(x)
        es.argsort(x, out=order)
        es.sort_by_key(x, order)
    elsewhere = np.zeros(3)
    for name, given in (
        ("sort", {"view": elsewhere}),
        ("argsort", {"out": np.zeros(3, np.int64)}),
        ("sort_by_key", {"value_0": elsewhere}),
    ):
        with pytest.raises(es.SpaceAccessError):
            graph[name].exchange(**given)


def test_numbers_that_do_not_fit_into_an_empty_view(space):
    x = es.View(0, es.uint8, space=space)
    stores = (
        lambda: es.deep_copy(x, -1), lambda: x.fill(300), lambda: es.deep_copy(x, 2**70),
    )  # fmt: skip
    for store in stores:
        with pytest.raises(es.ViewError, match="does not fit into View"):
            store()
        with es.Graph(space), pytest.raises(es.ViewError, match="does not fit into View"):
            store()
