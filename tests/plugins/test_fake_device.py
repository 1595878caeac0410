"""Asynchronous devices with memory of their own, tried out on the pretend one of fake_device.py.

What is checked here is core's side of the contract, which every device space relies on: nothing is
reached that cannot be reached, nothing moves unasked, nothing is freed while a launch uses it.
"""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import execspace as es

SOURCE = (Path(__file__).parents[1] / "support" / "fake_device.py").read_text(encoding="utf-8")


@es.kernel
def add(i, y, x):
    y[i] += x[i]


@es.kernel
def scale(i, x, factor):
    x[i] *= factor


@es.kernel
def number(i, j, A):
    A[i, j] = 10 * i + j


@es.kernel
def refuse(i, x):
    assert x[i] < 0, "x must be negative"


@es.kernel
def element(i, x):
    return x[i]


@pytest.fixture
def fake(fake_plugin):
    fake_plugin("fake", SOURCE)
    space = es.space("fake")
    yield space
    space.close()


@pytest.fixture
def events():
    """Every profiling event, in order, as (name, arguments)."""
    seen = []

    class Recorder(es.profiling.Tool):
        def on_any(self, event, arguments):
            seen.append((event, tuple(arguments.values())))

    tool = es.profiling.attach(Recorder())
    yield seen
    es.profiling.detach(tool)


@pytest.fixture
def copies(events):
    """(destination, source) memory spaces of the copies since the last call."""

    def since():
        pairs = [args[:2] for name, args in events if name == "on_copy_begin"]
        events.clear()
        return [tuple(place.rpartition("@")[2] for place in pair) for pair in pairs]

    return since


def on_host(view):
    return np.asarray(es.create_mirror_view_and_copy(es.HOST, view))


def range_on(space, n):
    return es.RangePolicy(n, space=space)


# -- where Views are ----------------------------------------------------------------------------


def test_memory_and_layout_are_those_that_the_space_prefers(fake):
    A = es.View((2, 3), space="fake", label="A")
    assert repr(A) == "<View 'A' float64 (2, 3) layout=left memory=fake>"
    assert (A.space, A.memory_space) == (fake, fake.memory_space)
    assert es.View((2, 3), space=fake, layout="right").layout == "right"
    with es.use_space("fake"):
        assert es.View((2, 3)).layout == "left"
    assert es.View((2, 3)).layout == "right"


@pytest.mark.parametrize(
    ("memory", "name"),
    [
        ("device", "fake"),
        ("shared", "fake_shared"),
        ("fake_shared", "fake_shared"),
        ("host", "host"),
    ],
)
def test_memory_of_every_kind(fake, memory, name):
    assert es.View(2, space="fake", memory=memory).memory_space.name == name


def test_a_kind_of_memory_that_the_device_lacks(fake):
    with pytest.raises(
        es.SpaceError, match=r"Space 'fake' has no memory 'pinned'; expected .*shar"
    ):
        es.View(2, space="fake", memory="pinned")


# -- access that cannot work --------------------------------------------------------------------


def test_device_views_are_refused_by_host_spaces_before_the_launch(fake):
    x, y = es.View(3, label="x", space="fake"), np.zeros(3)
    with pytest.raises(es.SpaceAccessError) as error:
        es.parallel_for(range_on("serial", 3), add, y, x)
    assert str(error.value) == (
        "Kernel 'add': argument 1, View 'x', is in memory space 'fake', which space 'serial' "
        "cannot reach. Copy it first: x.to('serial')."
    )
    assert (y == 0).all()


def test_host_views_are_refused_by_the_device_before_the_launch(fake):
    x, y = es.View(3, label="x", space="fake"), es.View(3, label="y")
    with pytest.raises(es.SpaceAccessError) as error:
        es.parallel_for(range_on("fake", 3), add, x, y)
    assert str(error.value) == (
        "Kernel 'add': argument 1, View 'y', is in memory space 'host', which space 'fake' "
        "cannot reach. Copy it first: y.to('fake')."
    )
    assert (fake.compiled, fake.launched) == (0, 0)
    es.parallel_for(range_on("fake", 3), add, x, es.create_mirror_view_and_copy("fake", y))
    # The same advice is given, and works, for arrays.
    with pytest.raises(es.SpaceAccessError, match=r"or make a View .*es\.array\(a, space='fake'\)"):
        es.parallel_for(range_on("fake", 3), add, x, np.ones(3))
    es.parallel_for(range_on("fake", 3), add, x, es.create_mirror_view_and_copy("fake", np.ones(3)))
    assert on_host(x).tolist() == [1, 1, 1]


def test_captured_views_and_results_are_checked_as_well(fake):
    y, out = es.View(3, label="y"), es.View((), label="out")
    with pytest.raises(es.SpaceAccessError, match="View 'y', is in memory space 'host'"):
        es.parallel_reduce(range_on("fake", 3), lambda i: y[i])
    assert fake.launched == 0
    es.parallel_reduce(range_on("fake", 3), lambda i: 1.0, out=out)  # the result is copied there
    assert out[()] == 3.0


def test_the_host_cannot_touch_device_memory(fake):
    x = es.View(3, label="x", space="fake")
    for touch in (lambda: x[0], lambda: x.__setitem__(0, 1.0), lambda: list(x),
                  lambda: np.asarray(x), lambda: np.add(x, 1)):  # fmt: skip
        with pytest.raises(es.SpaceAccessError) as error:
            touch()
        assert str(error.value) in (
            "View 'x' is in memory space 'fake', which the host cannot read; copy it first: "
            "x.to_numpy(), or x.to(es.HOST) for a View that is a copy only where it must be one.",
            "View 'x' is in memory space 'fake', which the host cannot write element by element; "
            "store into a part, x[i:i+1] = value, or make a View of an array that is ready: "
            "es.array(a).",
        )
    with pytest.raises(BufferError, match="memory space 'fake' does not export DLPack"):
        np.from_dlpack(x)
    assert x[1:].shape == (2,)  # subviews touch no element


def test_a_launch_without_a_space_goes_where_its_views_are(fake):
    x = es.View(3, space="fake")
    es.deep_copy(x, 2.0)
    es.parallel_for(3, scale, x, 3.0)
    assert fake.launched == 1
    assert on_host(x).tolist() == [6, 6, 6]
    with es.use_space("serial"), pytest.raises(es.SpaceAccessError):  # a choice is a choice
        es.parallel_for(3, scale, x, 3.0)


# -- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["left", "right"])
def test_mirrors_copy_there_and_back(fake, copies, layout):
    D = es.View((2, 3), es.int64, space="fake", layout=layout, label="D")
    H = es.create_mirror_view(D)
    assert (H.memory_space, H.layout) == (es.HOST, layout)
    H[:, :] = [[1, 2, 3], [4, 5, 6]]
    es.deep_copy(D, H)
    es.parallel_for(es.MDRangePolicy((2, 3), space="fake"), number, D)
    es.deep_copy(H, D)
    assert np.asarray(H).tolist() == [[0, 1, 2], [10, 11, 12]]
    assert copies() == [("fake", "host"), ("host", "fake")]


def test_a_staging_buffer_is_reported(fake, events):
    D, H = es.View((2, 3), space="fake", layout="left"), es.View((2, 3), layout="right")
    events.clear()
    es.deep_copy(D, H)  # elements change places on the way
    assert ("on_staging", ("fake", 48)) in events
    events.clear()
    es.deep_copy(D, es.create_mirror(D))  # a block of bytes
    es.deep_copy(D, 1.0)
    assert "on_staging" not in [name for name, _ in events]


def test_deep_copy_between_every_pair_of_memories(fake):
    values = np.arange(6.0).reshape(2, 3)
    places = [{"space": "fake"}, {"space": "fake", "memory": "shared"}, {"memory": "host"}]
    for source in places:
        for destination in places:
            A, B = es.View((2, 3), **source), es.View((2, 3), layout="right", **destination)
            es.deep_copy(A, values)
            es.deep_copy(B[:, ::2], A[:, 1:])
            assert on_host(B).tolist() == [[1, 0, 2], [4, 0, 5]]


def test_deep_copy_waits_for_launches(fake):
    """Without an instance it fences: the copy sees what was launched before it."""
    x, H = es.View(3, space="fake"), np.zeros(3)
    es.deep_copy(x, 1.0)
    copied = threading.Thread(target=es.deep_copy, args=(H, x))
    with fake.held():
        es.parallel_for(range_on("fake", 3), scale, x, 5.0)
        copied.start()
        copied.join(0.1)
        assert copied.is_alive()
        assert H.tolist() == [0, 0, 0]
    copied.join()
    assert H.tolist() == [5, 5, 5]


def test_deep_copy_in_order_on_an_instance_does_not_wait(fake):
    x, y, H = es.View(3, space="fake"), es.View(3, space="fake"), np.zeros(3)
    es.deep_copy(x, 1.0)
    with fake.held():
        es.parallel_for(range_on("fake", 3), scale, x, 5.0)
        es.deep_copy(y, x, instance=fake)
        es.deep_copy(x, 9.0, instance=fake)  # a number is in order, too
        es.parallel_for(range_on("fake", 3), scale, y, 2.0)
        es.deep_copy(H, y, instance=fake)
        assert fake.waiting == 5
        assert H.tolist() == [0, 0, 0]
    fake.fence()
    assert H.tolist() == [10, 10, 10]
    assert on_host(x).tolist() == [9, 9, 9]


def test_instances_are_queues_of_their_own(fake):
    """Held work on one of them does not hold up the other; es.fence waits for both."""
    other = fake.instance()
    x, y = es.View(3, space="fake"), es.View(3, space="fake")
    es.deep_copy(x, 1.0)
    es.deep_copy(y, 1.0)
    with fake.held():
        es.parallel_for(range_on(fake, 3), scale, x, 5.0)
        es.parallel_for(range_on(other, 3), scale, y, 2.0)
        es.deep_copy(y, 7.0, instance=other)
        other.fence()
        assert (fake.waiting, other.waiting) == (1, 0)
    es.fence()
    assert fake.waiting == 0
    assert (on_host(x).tolist(), on_host(y).tolist()) == ([5] * 3, [7] * 3)


def test_a_space_that_nobody_named_is_waited_for(fake):
    """A program may make the object itself; fences and copies know it from its first work on."""
    own = type(fake)("own")
    x = es.View(3, space=own)
    for work in (
        lambda: es.parallel_for(range_on(own, 3), scale, x, 5.0),
        lambda: es.deep_copy(x, 5.0, instance=own),
    ):
        es.deep_copy(x, 1.0)
        with own.held() as gate:
            work()
            threading.Timer(0.1, gate.set).start()
            assert on_host(x).tolist() == [5, 5, 5]
    own.close()


def test_a_source_that_is_dropped_is_copied_all_the_same(fake):
    x = es.View(1000, space="fake")
    with fake.held():
        es.deep_copy(x, np.arange(1000.0), instance=fake)
        np.zeros(1000)  # would take the memory of the array, had it been freed
        gc.collect()
    fake.fence()
    assert on_host(x).sum() == 499500


def test_an_instance_that_reaches_neither_side(fake):
    with pytest.raises(es.SpaceAccessError, match="instance of space 'fake' reaches neither mem"):
        es.deep_copy(np.zeros(2), np.ones(2), instance=fake)


# -- lifetimes ----------------------------------------------------------------------------------


def test_a_view_that_is_dropped_lives_until_its_launch_is_done(fake):
    x, y = es.View(1000, label="x", space="fake"), es.View(1000, label="y", space="fake")
    es.deep_copy(x, 3.0)
    alive = weakref.ref(x.allocation)
    with fake.held():
        es.parallel_for(range_on("fake", 1000), add, y, x)
        del x
        gc.collect()
        assert alive() is not None
        assert ("fake", 8000, "x") in es.live_allocations()
        other = es.View(1000, label="other", space="fake")  # cannot get the same memory
        assert other.data_ptr != alive().pointer
    fake.fence()
    gc.collect()
    assert alive() is None
    assert ("fake", 8000, "x") not in es.live_allocations()
    assert on_host(y).tolist() == [3.0] * 1000


def test_captured_and_cut_views_live_as_well(fake):
    x, y, z = (es.View((4, 3), label=label, space="fake") for label in "xyz")
    es.deep_copy(x, 2.0)
    es.deep_copy(z, 1.0)

    def launch(z):
        es.parallel_for(range_on("fake", 4), lambda i, y: add(i, y, z), y[:, 0])

    with fake.held():
        es.parallel_for(range_on("fake", 4), add, y[:, 0], x[:, 1])
        launch(z[:, 2])
        del x, z
        gc.collect()
        assert sorted(label for _, _, label in es.live_allocations()) == ["x", "y", "z"]
    es.fence()
    gc.collect()
    assert [label for _, _, label in es.live_allocations()] == ["y"]
    assert on_host(y)[:, 0].tolist() == [3] * 4


def test_many_dropped_views_leave_nothing(fake):
    total = es.View(10, label="total", space="fake")
    for n in range(50):
        x = es.View(10, label=f"x{n}", space="fake")
        es.deep_copy(x, float(n), instance=fake)
        es.parallel_for(range_on("fake", 10), add, total, x)
    del x
    es.fence()
    gc.collect()
    assert es.live_allocations() == [("fake", 80, "total")]
    assert on_host(total).tolist() == [50 * 49 / 2] * 10


@pytest.mark.parametrize("change", [es.resize, es.realloc])
def test_a_view_gets_new_memory_only_after_its_launches(fake, change):
    """Else a launch under way would write to memory that is gone, or beyond the new extents."""
    x = es.View(1000, label="x", space="fake")
    es.deep_copy(x, 1.0)
    old = x[:]
    changing = threading.Thread(target=change, args=(x, 10))
    with fake.held():
        es.parallel_for(range_on("fake", 1000), scale, x, 4.0)
        changing.start()
        changing.join(0.1)
        assert changing.is_alive()
        assert x.shape == (1000,)
    changing.join()
    assert x.shape == (10,)
    assert on_host(x).tolist() == [4.0 if change is es.resize else 0.0] * 10
    assert (on_host(old) == 4).all()


# -- waiting and errors -------------------------------------------------------------------------


def test_parallel_for_does_not_wait_and_fence_does(fake):
    x = es.View(3, space="fake")
    with fake.held():
        es.parallel_for(range_on("fake", 3), scale, x, 2.0)
        assert fake.waiting == 1
    es.fence()
    assert fake.waiting == 0


def test_a_reduction_that_returns_a_value_waits(fake):
    x = es.View(3, space="fake")
    es.deep_copy(x, 2.0)
    es.parallel_for(range_on("fake", 3), scale, x, 5.0)
    assert es.parallel_reduce(range_on("fake", 3), element, x) == 30
    assert type(es.parallel_reduce(range_on("fake", 3), element, x)) is float


def test_a_reduction_into_a_view_does_not_wait(fake):
    x, out = es.View(3, space="fake"), es.View((), space="fake")
    es.deep_copy(x, 2.0)
    with fake.held():
        assert es.parallel_reduce(range_on("fake", 3), element, x, out=out) is None
        es.parallel_for(range_on("fake", 1), lambda i, s: scale_one(s), out)
        assert fake.waiting == 2
    assert on_host(out)[()] == 12


def scale_one(s):
    s[()] = s[()] * 2


def test_errors_of_launches_come_with_the_fence(fake):
    x, y = es.View(3, space="fake"), es.View(3, space="fake")
    es.deep_copy(y, 2.0)
    es.parallel_for(range_on("fake", 3), refuse, x)
    es.parallel_for(range_on("fake", 3), scale, y, 2.0)
    with pytest.raises(es.KernelAssertionError, match="x must be negative") as error:
        es.fence()
    assert "in kernel 'refuse'" in str(error.value)
    es.fence()  # reported once
    assert on_host(y).tolist() == [4, 4, 4]


def test_errors_come_with_a_copy_that_fences(fake):
    x = es.View(3, space="fake")
    es.parallel_for(range_on("fake", 3), refuse, x)
    with pytest.raises(es.KernelAssertionError):
        es.deep_copy(np.zeros(3), x)
    assert on_host(x).tolist() == [0, 0, 0]


# -- shared memory ------------------------------------------------------------------------------


def test_shared_memory_is_used_from_both_sides(fake, copies):
    x = es.View(3, label="x", space="fake", memory="shared")
    x[:] = [1, 2, 3]
    es.parallel_for(range_on("fake", 3), scale, x, 2.0)
    es.fence()
    assert np.asarray(x).tolist() == [2, 4, 6]
    es.parallel_for(range_on("serial", 3), scale, x, 10.0)
    assert list(x) == [20, 40, 60]
    assert es.create_mirror_view(x) is x
    assert es.create_mirror_view(x, where="fake") is x
    assert es.create_mirror_view(x, where="serial") is x
    assert es.create_mirror_view_and_copy(es.HOST, x) is x
    assert copies() == []


def test_a_mirror_that_aliases_still_waits(fake):
    """create_mirror_view_and_copy gives data to read, also where nothing has to be copied."""
    x = es.View(3, space="fake", memory="shared")
    x[:] = 1
    seen = []
    reader = threading.Thread(
        target=lambda: seen.extend(es.create_mirror_view_and_copy(es.HOST, x))
    )
    with fake.held():
        es.parallel_for(range_on("fake", 3), scale, x, 5.0)
        reader.start()
        reader.join(0.1)
        assert seen == []
    reader.join()
    assert seen == [5, 5, 5]


def test_one_launch_may_mix_device_and_shared_memory(fake):
    x, y = es.View(3, space="fake"), es.View(3, space="fake", memory="shared")
    es.deep_copy(x, 2.0)
    es.parallel_for(range_on("fake", 3), add, y, x)
    es.fence()
    assert list(y) == [2, 2, 2]


# -- DualView -----------------------------------------------------------------------------------


def test_dual_view_copies_exactly_when_it_must(fake, copies):
    D = es.DualView(3, label="D", space="fake")
    D.h_view[:] = [1, 2, 3]
    D.modify("host")
    D.sync("device")
    D.sync("device")
    es.parallel_for(range_on("fake", 3), scale, D.d_view, 2.0)
    D.modify("device")
    es.parallel_for(range_on("fake", 3), scale, D.d_view, 5.0)
    D.modify("device")
    D.sync("host")
    D.sync("host")
    assert list(D.h_view) == [10, 20, 30]
    assert copies() == [("fake", "host"), ("host", "fake")]


def test_dual_view_in_shared_memory_waits_instead_of_copying(fake, copies):
    x = es.View(3, label="x", space="fake", memory="shared")
    x[:] = 1
    D = es.DualView(view=x)
    assert D.shares_memory
    seen = []

    def read():
        D.sync("host")
        seen.extend(D.h_view)

    reader = threading.Thread(target=read)
    with fake.held():
        es.parallel_for(range_on("fake", 3), scale, D.d_view, 5.0)
        D.modify("device")
        reader.start()
        reader.join(0.1)
        assert seen == []
    reader.join()
    assert seen == [5, 5, 5]
    assert copies() == []


def test_dual_view_syncs_in_order_on_an_instance(fake):
    D = es.DualView(3, label="D", space="fake")
    D.h_view[:] = 1
    D.modify("host")
    with fake.held():
        D.sync("device", instance=fake)
        es.parallel_for(range_on("fake", 3), scale, D.d_view, 5.0)
        D.modify("device")
        D.sync("host", instance=fake)
        assert list(D.h_view) == [1, 1, 1]
    fake.fence()
    assert list(D.h_view) == [5, 5, 5]
