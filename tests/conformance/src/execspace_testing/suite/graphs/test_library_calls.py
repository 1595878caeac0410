"""es.library_call and es.stream_call: what libraries do beside launches, in graphs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import execspace as es

from ...staged import view_on


def scale(i, x, s):
    x[i] *= s


def add(i, x, y):
    x[i] += y[i]


def test_a_call_is_made_at_once_and_by_each_submission_of_a_graph(space):
    x, y = view_on(space, [1.0, 2, 3]), view_on(space, [0.0, 0, 0])
    calls = []

    def library():
        calls.append(es.is_recorded())
        es.deep_copy(y, x, instance=space)

    es.library_call("copy", library, space=space)
    assert calls == [False] and y.to_numpy().tolist() == [1, 2, 3]
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, 2.0)
        es.library_call("copy", library, space=space)
        es.parallel_for(3, add, x, y)
    assert calls == [False] and graph["copy"].kind == "call"
    expected = np.array([1.0, 2, 3])
    for n in range(3):
        graph.submit()
        expected *= 4
        assert x.to_numpy().tolist() == expected.tolist() and len(calls) == 2 + n
    assert not any(calls)


def test_fusion_leaves_calls_where_they_are(space):
    x, y = view_on(space, [1.0, 2, 3]), view_on(space, [0.0, 0, 0])
    with es.Graph(space) as graph:
        es.parallel_for(3, scale, x, 2.0)
        es.library_call("copy", partial(es.deep_copy, y, x, instance=space), space=space)
        es.parallel_for(3, scale, x, 2.0)
    graph.instantiate(fuse=True).submit()
    assert x.to_numpy().tolist() == [4, 8, 12] and y.to_numpy().tolist() == [2, 4, 6]


def test_what_a_call_raises_ends_the_submission(space):
    x = view_on(space, [1.0])
    working = []

    def library():
        if not working:
            raise ValueError("no connection")

    with es.Graph(space) as graph:
        es.parallel_for(1, scale, x, 2.0)
        es.library_call("library", library)
        es.parallel_for(1, scale, x, 3.0)
    with pytest.raises(ValueError, match="no connection"):
        graph.submit()
    assert x.to_numpy().tolist() == [2]
    working.append(True)
    graph.submit()
    assert x.to_numpy().tolist() == [12]


def test_an_iterator_that_ends_is_no_end_of_the_graph(space):
    x = view_on(space, [1.0])
    things = iter([1])
    with es.Graph(space) as graph:
        es.library_call("library", lambda: next(things))
        es.parallel_for(1, scale, x, 2.0)
    graph.submit()
    assert x.to_numpy().tolist() == [2]
    with pytest.raises(StopIteration):
        graph.submit()
    assert x.to_numpy().tolist() == [2]


async def later():
    """A call of it runs nothing."""


def test_what_is_no_function_is_refused_when_it_is_given(space):
    with es.Graph(space):
        for wrong in (None, 3, later):
            with pytest.raises(es.LaunchError, match=r"library_call 'library': .* expected a func"):
                es.library_call("library", wrong)
        with pytest.raises(es.LaunchError, match=r"label=3; expected a text"):
            es.library_call(3, list)
        with pytest.raises(es.SpaceError):
            es.library_call("library", list, space="nowhere")
    with pytest.raises(es.SpaceError):
        es.library_call("library", list, space="nowhere")
    es.library_call("library", list, space=space.name)


def test_a_call_of_another_instance_is_refused(space):
    other = space.instance()
    if other is space:
        pytest.skip("the space has one instance")
    refused = pytest.raises(es.SpaceError, match=r"library runs on .* another instance")
    with refused, es.Graph(space):
        es.library_call("library", list, space=other)


# -- streams -----------------------------------------------------------------------------------


def has_streams(space):
    return isinstance(getattr(space, "stream", None), int)


def test_a_space_without_streams_says_so(space):
    if has_streams(space):
        pytest.skip("the space has streams")
    with pytest.raises(es.SpaceError, match=r"stream_call 'fill': space '.*' has no streams"):
        es.stream_call("fill", print, space=space)


def test_what_is_enqueued_is_a_node(space):
    """The driver fills bytes between launches: of one View, beside what another one is used for."""
    if not has_streams(space):
        pytest.skip("the space has no streams")
    runtime = pytest.importorskip("cupy_backends.cuda.api.runtime")
    x, y, z = (view_on(space, [1.0, 2, 3]) for _ in range(3))
    streams = []

    def fill(stream):
        streams.append(stream)
        runtime.memsetAsync(x.data_ptr, 0, x.nbytes, stream)

    es.stream_call("fill", fill, space=space, writes=[x])
    assert streams == [space.stream] and x.to_numpy().tolist() == [0, 0, 0]
    with es.Graph(space) as graph:
        es.parallel_for(3, add, y, x)  # before it is filled
        es.stream_call("fill", fill, space=space, writes=[x])
        es.parallel_for(3, scale, z, 2.0)  # maybe at the same time
        es.parallel_for(3, add, x, y)  # after it
    assert graph["fill"].kind == "call"
    ready = graph.instantiate()
    assert len(streams) <= 2 and x.to_numpy().tolist() == [0, 0, 0]
    for n in range(3):
        es.deep_copy(x, 1.0, instance=space)
        ready.submit()
        expected = np.array([1.0, 2, 3]) + n + 1
        assert y.to_numpy().tolist() == x.to_numpy().tolist() == expected.tolist()
    assert z.to_numpy().tolist() == [8, 16, 24]


def test_what_is_enqueued_follows_views_that_get_other_memory(space):
    if not has_streams(space):
        pytest.skip("the space has no streams")
    runtime = pytest.importorskip("cupy_backends.cuda.api.runtime")
    x = view_on(space, [1.0, 2, 3])
    with es.Graph(space) as graph:
        es.stream_call(
            "fill", lambda stream: runtime.memsetAsync(x.data_ptr, 0, x.nbytes, stream),
            space=space, writes=[x],
        )  # fmt: skip
    graph.submit()
    assert x.to_numpy().tolist() == [0, 0, 0]
    es.realloc(x, 5)
    es.deep_copy(x, 7.0)
    graph.submit()
    assert x.to_numpy().tolist() == [0] * 5
