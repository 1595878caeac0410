"""Sorting, searching and histograms where they run: on a device, or by a library of the space.

The device is the pretend one of fake_device.py. Results are tested on every space by the
conformance kit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import execspace as es

SOURCE = (Path(__file__).parents[1] / "support" / "fake_device.py").read_text(encoding="utf-8")


@pytest.fixture
def fake(fake_plugin):
    """An asynchronous device whose memory the host cannot read."""
    fake_plugin("fake", SOURCE)
    space = es.space("fake")
    yield space
    space.close()


class Recorder(es.profiling.Tool):
    def __init__(self):
        self.kernels, self.copies = [], []

    def on_kernel_begin(self, pattern, label, space):
        self.kernels.append((pattern, label, space))

    def on_copy_begin(self, destination, source, nbytes):
        self.copies.append((destination, source))


@pytest.fixture
def recorder():
    tool = es.profiling.attach(Recorder())
    yield tool
    es.profiling.detach(tool)


def on_device(values, label):
    view = es.View(values.shape, values.dtype, label=label, space="fake")
    es.deep_copy(view, values)
    return view


def on_host(view):
    return np.asarray(es.create_mirror_view_and_copy(es.HOST, view)).tolist()


class KernelsOnly(es.ExecutionSpace):
    """A space as it is, less its library: what it does it does with kernels."""

    def __init__(self, inner):
        self.inner = inner
        self.name = inner.name
        self.memory_space = inner.memory_space

    memory_space = None

    def compile(self, kernel, spec):
        return self.inner.compile(kernel, spec)

    def synchronize(self, label=""):
        self.inner.synchronize(label)


def test_on_a_device_nothing_blocks_and_nothing_leaves_it(fake, recorder):
    keys, rows = np.array([2.0, 3, 1, np.nan, 0]), np.arange(10).reshape(5, 2)
    x, y, z = on_device(keys, "x"), on_device(keys, "y"), on_device(rows, "z")
    recorder.copies.clear()
    with fake.held():
        es.sort(x, descending=True)
        es.sort_by_key(y, z)
        order = es.argsort(x)
        assert order.memory_space.name == "fake"
        assert fake.waiting
    assert all(place.endswith("@fake") for pair in recorder.copies for place in pair)
    assert {space for _, _, space in recorder.kernels} == {"fake"}
    np.testing.assert_array_equal(on_host(x), [np.nan, 3, 2, 1, 0])
    np.testing.assert_array_equal(on_host(y), [0, 1, 2, 3, np.nan])
    assert on_host(z) == rows[[4, 2, 0, 1, 3]].tolist()
    assert on_host(order) == [4, 3, 2, 1, 0]


def test_a_space_with_a_library_is_asked(recorder):
    class Library(KernelsOnly):
        calls = ()

        def compile(self, kernel, spec):
            raise AssertionError("no kernel is needed")

        def sort(self, view, descending):
            self.calls += (("sort", view.label, descending),)

        def argsort(self, keys, descending, out):
            self.calls += (("argsort", keys.label, descending),)
            np.asarray(out)[:] = [1, 0]

        def permute(self, view, order):
            self.calls += (("permute", view.label, np.asarray(order).tolist()),)

    space = Library(es.space("serial"))
    a, b = (es.view_of(np.zeros(2), label=label) for label in "ab")
    es.sort(a, space=space)
    es.argsort(a, descending=True, space=space)
    es.sort_by_key(a, b, space=space)
    assert space.calls == (
        ("sort", "a", False), ("argsort", "a", True), ("argsort", "a", False),
        ("permute", "a", [1, 0]), ("permute", "b", [1, 0]),
    )  # fmt: skip
    names = ["sort", "argsort", "argsort", "permute", "permute"]
    assert recorder.kernels == [("library", name, "serial") for name in names]
    es.sort(a[:1], space=space)  # nothing to do
    es.sort(a[:0], space=space)
    assert len(space.calls) == 5


def test_a_space_that_cannot_reach_a_view_is_refused(fake):
    x = es.View(3, label="x", space="fake")
    with pytest.raises(es.SpaceAccessError, match=r"sort: View 'x' is in memory space 'fake', whi"):
        es.sort(x, space="serial")
    with es.use_space("serial"), pytest.raises(es.SpaceAccessError, match="'serial' cannot reach"):
        es.argsort(x)
    with pytest.raises(es.SpaceAccessError, match="View 'value 0 of sort_by_key' is in"):
        es.sort_by_key(x, np.zeros(3), space="fake")
    with pytest.raises(
        es.SpaceAccessError, match=r"fill_random: View 'x' .* es.array\(\.\.\., space="
    ):
        es.fill_random(x, 1, space="serial")


def test_arrays_around_launches_are_for_launches(fake):
    a = np.zeros(3)
    for call in (es.sort, es.argsort, es.histogram, lambda given: es.fill_random(given, 1)):
        with pytest.raises(es.ViewTypeError, match=r" is es.InOut\(.*\), which launches take"):
            call(es.InOut(a))


def test_on_a_device_it_does_not_block(fake, recorder):
    x = on_device(np.array([0.0, 1, 1, 2, np.nan, 9], np.float32), "x")
    recorder.copies.clear()
    with fake.held():
        counts, edges = es.histogram(x, 2, (0, 2))
        positions = es.searchsorted(edges, x)
        assert fake.waiting
    assert recorder.copies == [("histogram edges@fake", "source of deep_copy@host")]
    assert {v.memory_space.name for v in (counts, edges, positions)} == {"fake"}
    assert on_host(counts) == [1, 3]
    assert on_host(edges) == [0, 1, 2]
    assert on_host(positions) == [0, 1, 1, 2, 3, 3]


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_host_spaces_sort_with_numpy_and_others_with_kernels(name):
    assert isinstance(es.space(name), es.SupportsSort)
    assert not isinstance(KernelsOnly(es.space(name)), es.SupportsSort)
    assert not isinstance(es.space("oracle"), es.SupportsSort)
