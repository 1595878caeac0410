"""es.Graph by recording: what a program launches is written down, and runs when it is submitted."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import execspace as es

from ...staged import view_on


def scale(i, x, s):
    x[i] *= s


def add(i, x, y):
    x[i] += y[i]


def product(i, x, y):
    return x[i] * y[i]


def prefix(i, before, final, x, y):
    if final:
        y[i] = before
    return x[i]


def filled(space, values, dtype=es.float64):
    return view_on(space, values, dtype=dtype)


def test_what_is_recorded_runs_when_it_is_submitted(space):
    x, y = filled(space, [1, 2, 3]), filled(space, [1, 1, 1])
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, 2.0)
        es.parallel_for(3, add, x, y)
    assert x.to_numpy().tolist() == [1, 2, 3]
    ready = graph.instantiate()
    assert x.to_numpy().tolist() == [1, 2, 3]
    expected = np.array([1.0, 2, 3])
    for _ in range(5):
        ready.submit()
        expected = expected * 2 + 1
        assert x.to_numpy().tolist() == expected.tolist()
    assert [node.label for node in graph.nodes] == ["scale", "add"]


def test_submit_of_a_graph_instantiates_it(space):
    x = filled(space, [1, 2, 3])
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, -1.0)
    graph.submit()
    graph.submit()
    graph.submit()
    assert x.to_numpy().tolist() == [-1, -2, -3]


def test_an_empty_graph_does_nothing(space):
    with es.Graph(space) as graph:
        pass
    graph.submit()
    assert graph.nodes == ()


def test_launches_that_are_known_are_recorded_too(space):
    """The second launch of a kernel takes another way than the first."""
    x, y = filled(space, [1, 2, 3]), filled(space, [1, 1, 1])
    policy = es.RangePolicy(3, space=space)
    for _ in range(40):
        es.parallel_for(policy, add, x, y)
    assert x.to_numpy().tolist() == [41, 42, 43]
    with es.Graph(space) as graph:
        es.parallel_for(policy, add, x, y)
        es.bind(policy, add, x, y)()
    assert x.to_numpy().tolist() == [41, 42, 43]
    es.parallel_for(policy, add, x, y)
    graph.submit()
    assert x.to_numpy().tolist() == [44, 45, 46]


@pytest.mark.parametrize("dtype", [es.float64, es.float32, es.int32, es.int64])
def test_reductions_go_to_views(space, dtype):
    x = filled(space, np.arange(1000) % 7, dtype)
    total, most = es.View((), dtype, space=space), es.View((), dtype, space=space)
    with es.Graph(space) as graph:
        es.parallel_reduce(1000, product, x, x, out=total)
        es.parallel_reduce(1000, product, x, x, out=most, reducer=es.Max)
        es.parallel_for(1000, scale, x, 2)
    given = np.arange(1000) % 7
    for n in range(3):
        graph.submit()
        assert total.to_numpy() == np.sum((given * 2**n) ** 2)
        assert most.to_numpy() == np.max((given * 2**n) ** 2)


def test_scans_start_anew_each_time(space):
    n = 20_000
    x, y = filled(space, np.ones(n)), filled(space, np.zeros(n))
    total = es.View((), space=space)
    with es.Graph(space) as graph:
        es.parallel_scan(n, prefix, x, y, out=total)
        es.parallel_scan(n, prefix, y, x, out=total)
    a = np.ones(n)
    for _ in range(4):
        graph.submit()
        b = np.concatenate(([0.0], np.cumsum(a)[:-1]))
        a = np.concatenate(([0.0], np.cumsum(b)[:-1]))
        if a[-1] > 2**50:
            break
        assert np.array_equal(y.to_numpy(), b)
        assert np.array_equal(x.to_numpy(), a)
        assert total.to_numpy() == b.sum()


def test_the_same_scan_twice_in_a_graph(space):
    n = 30_000
    x, y, z = (filled(space, v) for v in (np.ones(n), np.zeros(n), np.zeros(n)))
    first, second = es.View((), space=space), es.View((), space=space)
    with es.Graph(space) as graph:
        es.parallel_scan(n, prefix, x, y, out=first)
        es.parallel_scan(n, prefix, x, z, out=second)
    for _ in range(3):
        graph.submit()
        assert np.array_equal(y.to_numpy(), np.arange(n))
        assert np.array_equal(z.to_numpy(), np.arange(n))
        assert first.to_numpy() == second.to_numpy() == n


def test_teams_are_recorded(space):
    def rows(team, a, out):
        i = team.league_rank

        def each(j):
            return a[i, j]

        total = es.parallel_reduce(es.TeamThreadRange(team, 50), each)
        if team.team_rank == 0:
            out[i] = total

    a = filled(space, np.arange(400.0).reshape(8, 50))
    out = es.View(8, space=space)
    with es.Graph(space) as graph:
        es.parallel_for(es.TeamPolicy(8, "auto"), rows, a, out)
        es.parallel_for(8, scale, out, 2.0)
    for _ in range(2):
        graph.submit()
        assert out.to_numpy().tolist() == (2 * np.arange(400.0).reshape(8, 50).sum(1)).tolist()


def test_ranges_of_several_dimensions(space):
    def step(i, j, a, b):
        b[i, j] = a[i, j] + a[j, i]

    a, b = filled(space, np.arange(16.0).reshape(4, 4)), es.View((4, 4), space=space)
    with es.Graph(space) as graph:
        es.parallel_for(es.MDRangePolicy((4, 4)), step, a, b)
        es.deep_copy(a, b)
    expected = np.arange(16.0).reshape(4, 4)
    for _ in range(3):
        graph.submit()
        expected = expected + expected.T
        assert np.array_equal(a.to_numpy(), expected)


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 4), (2, 2, 3, 2), (2, 1, 2, 1, 3)])
def test_copies_and_fills_are_recorded(space, shape):
    a = filled(space, np.arange(np.prod(shape, dtype=int)).reshape(shape))
    b, c = es.View(shape, space=space), es.View(shape, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(b, a)
        es.deep_copy(c, 2.5)
        es.deep_copy(a, -1.0)
    assert not b.to_numpy().any()
    graph.submit()
    assert np.array_equal(b.to_numpy(), np.arange(np.prod(shape, dtype=int)).reshape(shape))
    assert (c.to_numpy() == 2.5).all()
    graph.submit()
    assert (b.to_numpy() == -1.0).all()


def test_copies_between_memories_layouts_and_types(space):
    given, got = np.arange(12.0).reshape(3, 4), np.zeros((3, 4), np.float32)
    a = es.View((3, 4), space=space)
    b = es.View((3, 4), space=space, layout="left")
    c = es.View((3, 4), es.float32, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(a, given)
        es.deep_copy(b, a)
        es.deep_copy(c, b)
        es.deep_copy(got, c)
    for n in range(3):
        given += n
        graph.submit()
        es.fence()
        assert np.array_equal(got, given)


def test_arguments_are_exchanged_by_label(space):
    x, y, z = (filled(space, v) for v in ([1, 2, 3], [1, 1, 1], [5, 5, 5]))
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, 2.0, label="twice")
        es.parallel_for(3, add, x, y)
    ready = graph.instantiate()
    ready.submit()
    graph["twice"].exchange(s=10.0)
    graph["add"].exchange(y=z)
    ready.submit()
    assert x.to_numpy().tolist() == [35, 55, 75]
    graph["add"].exchange(x=z, y=x)
    ready.submit()
    assert x.to_numpy().tolist() == [350, 550, 750]
    assert z.to_numpy().tolist() == [355, 555, 755]
    with pytest.raises(es.LaunchError, match="no argument 'q' can be exchanged"):
        graph["add"].exchange(q=z)
    with pytest.raises(es.LaunchError, match="no node with the label 'thrice'"):
        graph["thrice"]


def test_parts_of_views_are_assigned_when_the_graph_runs(space):
    x, y = filled(space, np.arange(6.0)), filled(space, np.ones(6))
    with es.Graph(space) as graph:
        x[1:3] = 7.0
        y[:] = x
        x.fill(2.0)
    assert len(graph.nodes) == 3
    assert np.array_equal(x.to_numpy(), np.arange(6.0))
    graph.submit()
    assert y.to_numpy().tolist() == [0, 7, 7, 3, 4, 5]
    assert x.to_numpy().tolist() == [2] * 6


def test_numbers_are_converted_where_nothing_is_lost(space):
    x = filled(space, [1, 2, 3])
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, 2.0)
    for factor in (3, np.float64(2.0), np.float32(0.5), np.int8(2)):
        graph["scale"].exchange(s=factor)
        graph.submit()
    assert x.to_numpy().tolist() == [6, 12, 18]
    with pytest.raises(es.LaunchError, match="is of type complex128"):
        graph["scale"].exchange(s=np.complex128(1j))


def test_exchanged_views_that_overlap(space):
    """Where a kernel reads what it writes, under two names, its code must allow for that."""

    def shifted(i, a, b):
        a[i] = b[i] + 1

    n = 100
    x, y = filled(space, np.zeros(n)), filled(space, np.arange(n))
    with es.Graph(space) as graph:
        es.parallel_for(n, shifted, x, y)
    graph.submit()
    assert np.array_equal(x.to_numpy(), np.arange(n) + 1)
    graph["shifted"].exchange(b=x)
    graph.submit()
    assert np.array_equal(x.to_numpy(), np.arange(n) + 2)


def test_many_dependent_launches(space):
    x, y = filled(space, np.zeros(50)), filled(space, np.ones(50))
    with es.Graph(space) as graph:
        for _ in range(300):
            es.parallel_for(50, add, x, y)
    for n in (300, 600):
        graph.submit()
        assert (x.to_numpy() == n).all()


def test_branches_meet_again(space):
    """What is independent may run side by side; what reads it comes after."""
    n = 5000
    views = [filled(space, np.full(n, float(k))) for k in range(6)]
    total = filled(space, np.zeros(n))
    with es.Graph(space) as graph:
        for _ in range(3):
            for v in views:
                es.parallel_for(n, scale, v, 2.0)
        for v in views:
            es.parallel_for(n, add, total, v)
        es.deep_copy(views[0], total)
    for _ in range(10):
        graph.submit()
    values, sums = np.arange(6.0), 0.0
    for _ in range(10):
        values = values * 8
        sums += values.sum()
        values[0] = sums
    assert (total.to_numpy() == sums).all()
    assert (views[0].to_numpy() == sums).all()


def test_parts_of_views_depend_on_each_other_where_they_overlap(space):
    n = 400
    x = filled(space, np.arange(n))
    left, right, middle = (
        es.subview(x, s) for s in (slice(0, 200), slice(200, 400), slice(100, 300))
    )
    with es.Graph(space) as graph:
        es.parallel_for(200, scale, left, 2.0)
        es.parallel_for(200, scale, right, 3.0)
        es.parallel_for(200, scale, middle, 5.0)
        es.parallel_for(200, scale, left, 7.0)
    expected = np.arange(float(n))
    for _ in range(3):
        graph.submit()
        expected[:200] *= 2
        expected[200:] *= 3
        expected[100:300] *= 5
        expected[:200] *= 7
    assert np.array_equal(x.to_numpy(), expected)


def test_a_graph_keeps_what_it_uses_alive(space):
    n = 1000
    out = filled(space, np.zeros(n))
    with es.Graph(space) as graph:
        es.parallel_for(n, add, out, filled(space, np.ones(n)))
    gc.collect()
    others = [filled(space, np.full(n, 9.0)) for _ in range(10)]
    for _ in range(3):
        graph.submit()
    del graph, others
    gc.collect()
    assert (out.to_numpy() == 3).all()


def test_captured_values_are_what_they_were(space):
    factor, offsets = 3.0, filled(space, [1, 2, 3])

    def affine(i, x):
        x[i] = factor * x[i] + offsets[i]

    x = filled(space, [1, 1, 1])
    with es.Graph(space) as graph:
        es.parallel_for(3, affine, x)
    factor, offsets = 100.0, None
    graph.submit()
    assert x.to_numpy().tolist() == [4, 5, 6]


def test_a_graph_in_a_graph(space):
    x, y = filled(space, [1, 2, 3]), filled(space, [1, 1, 1])
    with es.Graph(space, label="inner") as inner:
        es.parallel_for(3, add, x, y)
    inner.submit()
    with es.Graph(space) as outer:
        es.parallel_for(3, scale, x, 2.0)
        inner.submit()
    assert x.to_numpy().tolist() == [2, 3, 4]
    outer.submit()
    assert x.to_numpy().tolist() == [5, 7, 9]


def test_sorting_in_a_graph(space):
    keys = filled(space, [3, 1, 2], es.int32)
    order = es.View(3, es.int64, space=space)
    with es.Graph(space) as graph:
        es.argsort(keys, out=order)
        es.sort(keys)
        es.parallel_for(3, scale, keys, -1)
    assert keys.to_numpy().tolist() == [3, 1, 2]
    graph.submit()
    assert order.to_numpy().tolist() == [1, 2, 0]
    assert keys.to_numpy().tolist() == [-1, -2, -3]
    graph.submit()
    assert keys.to_numpy().tolist() == [3, 2, 1]


def test_other_threads_launch_while_a_graph_is_recorded(space):
    x, y = filled(space, np.zeros(10)), filled(space, np.ones(10))
    policy = es.RangePolicy(10, space=space)

    def other():
        for _ in range(5):
            es.parallel_for(policy, add, x, y)
        es.fence()

    with es.Graph(space) as graph:
        es.parallel_for(10, scale, x, 10.0)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert (x.to_numpy() == 5).all()
    graph.submit()
    assert (x.to_numpy() == 50).all()


def test_a_failing_block_ends_the_recording(space):
    x = filled(space, [1, 2, 3])
    graph = es.Graph(space)

    def fail():
        with graph:
            es.parallel_for(3, scale, x, 2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    es.parallel_for(es.RangePolicy(3, space=space), scale, x, 5.0)
    assert x.to_numpy().tolist() == [5, 10, 15]
    with graph:
        es.parallel_for(3, scale, x, 2.0)
    assert len(graph.nodes) == 1  # what failed left nothing


def test_what_no_graph_can_have_is_refused(space):
    x = filled(space, [1, 2, 3])
    with es.Graph(space) as graph:
        with pytest.raises(es.LaunchError, match=r"returns a number, .* out="):
            es.parallel_reduce(3, product, x, x)
        with pytest.raises(es.LaunchError, match="which is being recorded: A fence"):
            es.fence()
        with pytest.raises(es.LaunchError, match="A fence has nothing to wait for"):
            es.space(space.name).fence()
        with pytest.raises(es.LaunchError, match=r"elements of View .* would be read now"):
            x.to_numpy()
        with pytest.raises(es.ViewError):
            es.deep_copy(x, np.ones(4))
        with pytest.raises(es.LaunchError, match="blocking=False has a result for later"):
            es.parallel_reduce(3, product, x, x, blocking=False)
        with pytest.raises(es.LaunchError, match="An event has nothing to wait for"):
            es.space(space.name).record()
        with pytest.raises(es.LaunchError, match="cannot be instantiated while it is recorded"):
            graph.instantiate()
        with pytest.raises(es.LaunchError, match="is being recorded already"), graph:
            pass
    assert graph.nodes == ()
    graph.instantiate()
    with pytest.raises(es.LaunchError, match="was instantiated, and takes no further nodes"), graph:
        pass


def test_numbers_that_do_not_fit_are_refused(space):
    x = es.View(3, es.int8, space=space)
    with es.Graph(space), pytest.raises(es.ViewError, match="300 does not fit into View"):
        es.deep_copy(x, 300)
    y, z = filled(space, [1, 2, 3]), filled(space, [4, 5, 6])
    with es.Graph(space) as graph:
        es.deep_copy(y, z)
    with pytest.raises(es.ViewError, match=r"has shape \(2,\), source View '' has \(3,\)"):
        graph["deep_copy"].exchange(dst=filled(space, [1, 2]))
    with pytest.raises(es.LaunchError, match="expected a View or an array"):
        graph["deep_copy"].exchange(src=2.0)
    with pytest.raises(es.LaunchError, match="no argument 'value' can be exchanged; those that"):
        graph["deep_copy"].exchange(value=2.0)
    with pytest.raises(es.LaunchError, match="is not being recorded"):
        graph.__exit__(None, None, None)


def test_tasks_that_outlive_a_recording(space):
    import asyncio

    x, y = filled(space, [1, 2, 3]), filled(space, [1, 1, 1])
    policy = es.RangePolicy(3, space=space)

    async def later():
        await asyncio.sleep(0)
        es.parallel_for(policy, add, x, y)

    async def main():
        with es.Graph(space) as graph:
            task = asyncio.create_task(later())
        other = es.Graph(space)
        with other:
            await task
        return graph, other

    graph, other = asyncio.run(main())
    assert (len(graph.nodes), len(other.nodes)) == (0, 0)
    assert x.to_numpy().tolist() == [2, 3, 4]


def test_what_would_mix_now_and_later_is_refused(space):
    x = filled(space, [1, 2, 3])
    with es.Graph(space):
        with pytest.raises(es.LaunchError, match=r"es.tune, .* has nothing to wait for"):
            es.tune(3, scale, x, 2.0)
        with pytest.raises(es.LaunchError, match="would be replaced now"):
            es.resize(x, 5)
        with pytest.raises(es.LaunchError, match="would be copied now"):
            es.create_mirror_view_and_copy(es.HOST, x)


def test_loops_and_conditions(space):
    def countdown(i, left, x):
        left[()] -= 1
        x[0] += 1

    left = es.View((), es.int32, space=space)
    x = filled(space, [0, 0, 0])
    with es.Graph(space) as graph:
        with graph.repeat(3):
            es.parallel_for(3, add, x, filled(space, [1, 1, 1]))
        with graph.while_(left):
            es.parallel_for(1, countdown, left, x)
        with graph.if_(left):
            es.parallel_for(3, scale, x, 100.0)
    ready = graph.instantiate()
    es.deep_copy(left, 4)
    ready.submit()
    assert x.to_numpy().tolist() == [7, 3, 3]
    ready.submit()
    assert x.to_numpy().tolist() == [10, 6, 6]
    with pytest.raises(es.LaunchError, match="within `with graph:`"), es.Graph(space).repeat(3):
        pass
    with pytest.raises(es.LaunchError, match="expected a View of one number"):
        graph.while_(x)
    with pytest.raises(es.LaunchError, match="expected a number of times"):
        graph.repeat(-1)


def test_a_loop_until_convergence(space):
    """Newton's iteration for square roots, with the test on the device."""

    def newton(i, a, x):
        x[i] = 0.5 * (x[i] + a[i] / x[i])

    def off(i, a, x):
        return abs(x[i] * x[i] - a[i]) > 1e-9 * a[i]

    def to_flag(i, wrong, flag):
        flag[()] = 1 if wrong[()] else 0

    a, x = filled(space, [2.0, 3.0, 10.0]), filled(space, [1.0, 1.0, 1.0])
    wrong, flag = es.View((), es.bool_, space=space), es.View((), es.int32, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(x, 1.0)
        es.deep_copy(flag, 1)
        with graph.while_(flag):
            es.parallel_for(3, newton, a, x)
            es.parallel_reduce(3, off, a, x, reducer=es.LOr, out=wrong)
            es.parallel_for(1, to_flag, wrong, flag)
    for _ in range(2):
        graph.submit()
        assert np.allclose(x.to_numpy(), np.sqrt([2.0, 3.0, 10.0]), rtol=1e-9)


def test_graphs_of_an_instance(space):
    instance = es.space(space.name).instance()
    x, y = filled(space, np.zeros(1000)), filled(space, np.ones(1000))
    with es.Graph(instance) as graph:
        for _ in range(4):
            es.parallel_for(1000, add, x, y)
    for _ in range(3):
        graph.submit()
    instance.fence()
    assert (x.to_numpy() == 12).all()
    if instance is not es.space(space.name):
        with es.Graph(instance), pytest.raises(es.SpaceError, match="A graph has one space"):
            es.parallel_for(es.RangePolicy(3, space=es.space(space.name)), scale, x, 2.0)


def test_threads_submit_graphs_of_their_own(space):
    views = [filled(space, np.zeros(100)) for _ in range(4)]
    one = filled(space, np.ones(100))
    graphs = []
    for v in views:
        with es.Graph(space) as graph:
            for _ in range(5):
                es.parallel_for(100, add, v, one)
        graphs.append(graph.instantiate())

    def run(graph):
        for _ in range(20):
            graph.submit()

    threads = [threading.Thread(target=run, args=(g,)) for g in graphs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    es.fence()
    for v in views:
        assert (v.to_numpy() == 100).all()
