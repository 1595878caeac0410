"""EXECSPACE_CHECK=portable: spaces of the host are to a program what a device is.

What programs notice of it is in tests/portable. Here is what the check consists of: memory that is
apart, instances, and marks of work that nobody has waited for.
"""

from __future__ import annotations

import gc
import pickle
import threading

import numpy as np
import pytest

import execspace as es
from execspace.base import config, pending
from execspace.events.launches import MADE
from execspace.launch.watched import WatchedPlan


class Python(es.Plan):
    """Calls the kernel's function with arrays, wherever the Views are."""

    effects = None  # which a test may set for all plans

    def __init__(self, space, fn, spec):
        self.space, self.fn, self.spec = space, fn, spec

    def launch(self, bounds, args):
        arrays = [a.memory_space.host_array(a) for a in args]
        out = arrays[len(self.spec.arguments) :]
        inputs = arrays[: self.fn.__code__.co_argcount - 1]  # captured Views come behind them
        found = [self.fn(i, *inputs) for i in range(*bounds)]
        if self.spec.pattern == "for":
            return None
        if not out:
            return sum(found)
        out[0][...] = sum(found)
        return None


class Hosted(es.HostExecutionSpace):
    """The least that a third party's space on the host must have."""

    name = "hosted"

    def compile(self, kernel, spec):
        return Python(self, kernel.fn, spec)


@pytest.fixture
def check(monkeypatch):
    monkeypatch.setenv("EXECSPACE_CHECK", "portable")
    yield
    pending.fenced_all()


@pytest.fixture
def hosted(check, monkeypatch):
    made = Hosted()
    monkeypatch.setitem(MADE, "hosted", made)  # as if `es.space` had made it
    return made


def double(i, x):
    x[i] *= 2


def add(i, x, y):
    x[i] += y[i]


def element(i, x):
    return x[i]


def on(space, n=4):
    return es.RangePolicy(n, space=space)


# -- the setting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["portabel", "portable,races", "portable:", ":openmp", "1"])
def test_a_check_that_does_not_exist_is_refused(monkeypatch, value):
    monkeypatch.setenv("EXECSPACE_CHECK", value)
    with pytest.raises(es.ConfigError, match=r"EXECSPACE_CHECK=.*there is no check .*portable"):
        config.checks()
    with pytest.raises(es.ConfigError, match="there is no check"):
        es.View(3, memory=es.HOST)[0]


@pytest.mark.parametrize("value", ["", " ", ","])
def test_nothing_is_checked_unasked(monkeypatch, value):
    monkeypatch.setenv("EXECSPACE_CHECK", value)
    assert not config.is_portable()
    monkeypatch.delenv("EXECSPACE_CHECK")
    assert not config.is_portable()


def test_one_space_may_be_named(monkeypatch):
    """The others keep memory of the host, as beside a GPU."""
    monkeypatch.setenv("EXECSPACE_CHECK", "portable:hosted")
    assert config.is_portable()
    assert config.is_portable("hosted")
    assert not config.is_portable("other")

    class Other(Hosted):
        name = "other"

    other, x = Other(), np.ones(4)
    assert (other.memory_space, other.memory_spaces) == (es.HOST, (es.HOST,))
    assert other.instance() is other
    es.parallel_for(on(other), double, x)
    h = es.view_of(x)
    es.deep_copy(h, h[:], instance=other)
    assert h[0] == 2  # done when the launch returned
    with pytest.raises(es.SpaceAccessError, match="space 'hosted' cannot reach"):
        es.parallel_for(on(Hosted()), double, x)


def test_without_the_check_nothing_is_different():
    hosted = Hosted()
    x = es.View(4, label="x", space=hosted)
    assert (x.memory_space, x.layout, hosted.default_layout) == (es.HOST, "right", "right")
    assert hosted.memory_spaces == (es.HOST,)
    assert hosted.instance() is hosted
    kernel = es.kernel(double)
    es.parallel_for(on(hosted), kernel, x)
    assert [type(p) for p in kernel.plans.values() if p.space is hosted] == [Python]
    assert x[1] == 0
    assert x._host is not None  # kept for the next access
    assert not pending._marks


# -- memory that is apart -------------------------------------------------------------------------


def test_a_space_of_a_third_party_has_memory_of_its_own(hosted):
    own, shared = hosted.memory_spaces
    assert hosted.memory_space is own is hosted.memory_space
    assert (own.name, own.kinds, own.host_accessible) == ("hosted", {"device"}, False)
    assert (shared.name, shared.host_accessible) == ("hosted shared", True)
    assert shared.kinds == {"shared", "pinned"}
    assert hosted.default_layout == "left"
    other = Hosted()
    for memory in (own, shared):
        assert memory.reachable_from(hosted)
        assert not memory.reachable_from(other)
        assert isinstance(memory, es.HostSpace)
    assert not es.HOST.reachable_from(hosted)
    for kind, memory in {
        "device": own,
        "shared": shared,
        "pinned": shared,
        "host": es.HOST,
    }.items():
        assert es.View(2, space=hosted, memory=kind).memory_space is memory


def test_what_it_allocates_is_told_by_its_name(hosted, events):
    x = es.View((2, 3), label="x", space=hosted)
    assert repr(x) == "<View 'x' float64 (2, 3) layout=left memory=hosted>"
    assert ("hosted", 48, "x") in es.live_allocations()
    assert ("on_allocate", ("hosted", "x", 48)) in events
    with pytest.raises(MemoryError, match="in memory space 'hosted', where 1 Views hold 48 bytes"):
        es.View(2**57, space=hosted)


def test_elements_move_by_deep_copy_alone(hosted):
    own, shared = hosted.memory_spaces
    values = np.arange(6.0).reshape(2, 3)
    for there in (own, shared, es.HOST):
        for here in (own, shared, es.HOST):
            a, b = (es.View((2, 3), space=hosted, memory=m) for m in (there, here))
            es.deep_copy(a, values)
            es.deep_copy(b, a, instance=None if there is here is es.HOST else hosted)
            found = np.zeros((2, 3))
            es.deep_copy(found, b)
            assert (found == values).all()
    with pytest.raises(es.SpaceAccessError, match="no copy from memory space 'hosted'"):
        es.deep_copy(es.View((2, 3), space=Hosted()), es.View((2, 3), space=hosted))


def test_no_library_gets_at_it(hosted):
    x = es.View(3, label="x", space=hosted)
    for reach in (np.asarray, list, lambda x: x[0], lambda x: x.__setitem__(0, 1), np.sum):
        with pytest.raises(es.SpaceAccessError, match="View 'x' is in memory space 'hosted'"):
            reach(x)
    with pytest.raises(BufferError, match="memory space 'hosted' does not export DLPack"):
        np.from_dlpack(x)
    assert not hasattr(x, "__cuda_array_interface__")
    shared = es.View(3, space=hosted, memory="shared")
    np.from_dlpack(shared)[1] = 5
    assert np.asarray(shared).tolist() == [0, 5, 0]


def test_memory_is_not_pickled(hosted):
    for memory in hosted.memory_spaces:
        with pytest.raises(TypeError, match=r"memory space 'hosted.*cannot be pickled"):
            pickle.dumps(memory)
    assert pickle.loads(pickle.dumps(es.HOST)) is es.HOST


def test_a_space_that_says_where_its_views_are_keeps_that(check):
    class Elsewhere(Hosted):
        memory_space = es.HOST

    elsewhere = Elsewhere()
    assert elsewhere.memory_spaces == (es.HOST,)
    assert elsewhere.default_layout == "right"
    assert elsewhere.instance() is elsewhere


def test_an_instance_is_another_queue_on_the_same_memory(hosted):
    hosted.threads = 4
    queue = hosted.instance()
    assert queue is not hosted
    assert type(queue) is Hosted
    assert (queue.memory_spaces, queue.threads) == (hosted.memory_spaces, 4)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(queue)


def test_sorting_needs_no_way_through_the_host(hosted):
    keys, order = es.View(3, space=hosted), es.View(3, es.int64, space=hosted)
    es.deep_copy(keys, np.array([2.0, 3.0, 1.0]))
    es.argsort(keys, out=order, space=hosted)
    es.sort_by_key(keys, order, descending=True, space=hosted)
    found = np.zeros(3, np.int64)
    es.deep_copy(found, order)
    assert found.tolist() == [0, 2, 1]


# -- work that nobody has waited for --------------------------------------------------------------


def in_shared(hosted):
    return es.View(4, label="x", space=hosted, memory="shared")


def refused(match, access):
    with pytest.raises(es.SpaceAccessError, match=match):
        access()
    return True


def is_pending(view):
    """Whether the host is refused."""
    try:
        np.asarray(view)
    except es.SpaceAccessError:
        return True
    return False


def test_a_launch_is_pending_until_a_fence(hosted):
    shared = in_shared(hosted)
    shared[0] = 1
    es.parallel_for(on(hosted), double, shared, label="twice")
    says = "View 'x' is written by kernel 'twice' on space 'hosted', for which nothing has waited"
    for access in (
        lambda: shared[0],
        lambda: shared.__setitem__(0, 1),
        lambda: np.asarray(shared),
        lambda: list(shared),
        lambda: np.from_dlpack(shared),
        lambda: shared[1:][0],
        lambda: shared.readonly()[0],
    ):
        assert refused(says, access)
    assert repr(shared)
    hosted.fence()
    assert shared[0] == 2
    np.asarray(shared)


@pytest.mark.parametrize(
    "wait",
    [
        lambda hosted, x: es.fence(),
        lambda hosted, x: hosted.fence(),
        lambda hosted, x: es.deep_copy(es.View(1, space=hosted), 1.0),
        lambda hosted, x: es.parallel_reduce(on(hosted), element, x),
        lambda hosted, x: es.create_mirror_view_and_copy(es.HOST, x),
        lambda hosted, x: es.resize(es.View(1, space=hosted), 2),
    ],
)
def test_what_waits_for_it(hosted, wait):
    shared = in_shared(hosted)
    es.parallel_for(on(hosted), double, shared)
    assert is_pending(shared)
    wait(hosted, shared)
    assert not is_pending(shared)


def test_a_result_that_is_stored_waits_for_nothing(hosted):
    shared = in_shared(hosted)
    total = es.View((), label="total", space=hosted, memory="shared")
    es.parallel_reduce(on(hosted), element, shared, out=total)
    assert is_pending(shared)
    assert refused("View 'total' is written by kernel 'element'", lambda: total[()])


def test_a_launch_that_raises_is_not_pending(hosted):
    shared = in_shared(hosted)

    def fails(i, x):
        raise es.KernelAssertionError("no")

    with pytest.raises(es.KernelAssertionError):
        es.parallel_for(on(hosted), fails, shared)
    assert not is_pending(shared)


def test_only_what_it_touches_is_pending(hosted):
    A = es.View((4, 4), label="A", space=hosted, memory="shared")
    es.parallel_for(on(hosted), double, A[1, :])
    assert is_pending(A)
    assert is_pending(A[:, 1])
    assert not is_pending(A[2, :])
    es.parallel_for(on(hosted, 2), double, A[2, ::2])
    assert is_pending(A[2, ::2])
    assert not is_pending(A[2, 1::2])  # which lies in between


def test_copies_in_order_are_pending_on_both_sides(hosted):
    x, h = es.View(4, label="x", space=hosted), es.View(4, label="h", memory=es.HOST)
    es.deep_copy(x, h, instance=hosted)
    assert h[0] == 0  # what is read may be read
    assert np.asarray(h).tolist() == [0] * 4
    assert refused("View 'h' is read by deep_copy", lambda: h.__setitem__(0, 1))
    es.deep_copy(h, x, instance=hosted)
    assert refused("View 'h' is written by deep_copy on space 'hosted'", lambda: h[0])
    es.fence()
    h[0] = 1


def test_effects_say_what_is_read(hosted, monkeypatch):
    shared = in_shared(hosted)
    y = es.View(4, label="y", space=hosted, memory="shared")
    z = es.View(4, label="z", space=hosted, memory="shared")
    effects = es.Effects(written=frozenset((0,)), read=frozenset((1,)))
    monkeypatch.setattr(Python, "effects", effects)
    es.parallel_for(on(hosted), lambda i, x, y, z: None, shared, y, z)
    assert refused("'x' is written", lambda: shared[0])
    assert refused("'y' is read", lambda: y[0])  # shared memory: a device may not let us look
    assert z[0] == 0  # an argument that is not used
    queue = hosted.instance()
    es.parallel_for(on(queue), lambda i, a, y: None, z, y)  # both read y
    with pytest.raises(es.SpaceAccessError, match="argument 0, View 'y', is read by kernel"):
        es.parallel_for(on(queue), double, y)


def test_two_queues_need_a_fence_between_them(hosted):
    x, y, queue = es.View(4, label="x", space=hosted), es.View(4, space=hosted), hosted.instance()
    es.parallel_for(on(hosted), double, x)
    says = "Kernel 'add': argument 1, View 'x', is written by kernel 'double' on space 'hosted'"
    with pytest.raises(es.SpaceAccessError, match=f"{says}.*give both to one space or instance"):
        es.parallel_for(on(queue), add, y, x)
    hosted.fence()
    es.parallel_for(on(queue), add, y, x)
    with pytest.raises(es.SpaceAccessError, match=r"by kernel 'add' on instance \d+ of space"):
        es.parallel_for(on(hosted), double, x)
    with pytest.raises(es.SpaceAccessError, match="deep_copy: destination View 'x' is written by"):
        es.deep_copy(x, 1.0, instance=hosted)
    queue.fence()
    es.deep_copy(x, 1.0, instance=hosted)
    with pytest.raises(es.SpaceAccessError, match="Kernel 'sort': View 'x', is written"):
        es.sort(x, space=queue)
    with pytest.raises(es.SpaceAccessError, match="the result View of out=, 'x'"):
        es.parallel_reduce(on(queue), element, y, out=x, reducer=es.Sum(shape=4))


def test_captured_views_count(hosted):
    shared = in_shared(hosted)
    es.parallel_for(on(hosted), lambda i: None if i < 9 else shared[i])
    assert is_pending(shared)


def test_parts_that_are_apart_may_be_worked_on_at_once(hosted):
    x, queue = es.View(4, label="x", space=hosted), hosted.instance()
    es.parallel_for(on(hosted, 2), double, x[:2])
    es.parallel_for(on(queue, 2), double, x[2:])
    with pytest.raises(es.SpaceAccessError):
        es.parallel_for(on(queue, 2), double, x[1:3])


def test_atomic_views_may_be_shared_by_queues(hosted):
    x, queue = es.View(4, label="x", space=hosted).with_traits("atomic"), hosted.instance()
    es.parallel_for(on(hosted), double, x)
    es.parallel_for(on(queue), double, x)
    with pytest.raises(es.SpaceAccessError):
        es.parallel_for(on(queue), double, es.View._over(
            x.allocation, x.data_ptr, x.dtype, x.shape, x.strides, x.layout, False, x.space,
        ))  # fmt: skip


def test_a_fence_of_an_instance_waits_for_that_alone(hosted):
    x, y, queue = (
        *(es.View(4, space=hosted, memory="shared") for _ in "xy"),
        hosted.instance(),
    )
    es.parallel_for(on(hosted), double, x)
    es.parallel_for(on(queue), double, y)
    queue.fence()
    assert is_pending(x)
    assert not is_pending(y)
    es.parallel_for(on(queue), double, y)
    assert es.parallel_reduce(on(hosted), element, x) == 0  # waits for its own queue
    assert not is_pending(x)
    assert is_pending(y)
    hosted.fence()  # and that of the space for all of them
    assert not is_pending(y)


def test_the_work_of_an_instance_outlives_it(hosted):
    shared = in_shared(hosted)
    es.parallel_for(on(hosted.instance()), double, shared)
    gc.collect()
    assert is_pending(shared)
    hosted.fence()
    assert not is_pending(shared)


def test_nothing_is_kept_alive(hosted):
    for _ in range(3):
        x = es.View(4, label="short-lived", space=hosted)
        es.parallel_for(on(hosted), double, x)
        es.deep_copy(es.View(4, memory=es.HOST), x, instance=hosted)
    assert any(a.label == "short-lived" for a in pending._marks)
    del x
    gc.collect()
    assert not pending._marks
    assert "short-lived" not in [label for _, _, label in es.live_allocations()]


def test_marks_of_a_view_do_not_grow_for_ever(hosted, monkeypatch):
    """The oldest are forgotten."""
    monkeypatch.setattr(pending, "_MOST", 8)
    x = es.View(20, label="x", space=hosted, memory="shared")
    for k in range(20):
        for _ in range(2):
            es.parallel_for(on(hosted, 1), double, x[k : k + 1])
    assert [len(marks) for marks in pending._marks.values()] == [8]
    assert not is_pending(x[:12])
    assert is_pending(x[12:13])


def test_threads_share_what_is_pending(hosted):
    shared = in_shared(hosted)
    failures = []

    def work(k):
        try:
            for _ in range(50):
                es.parallel_for(on(hosted, 1), double, shared[k : k + 1])
                es.deep_copy(es.View(1, memory=es.HOST), shared[k : k + 1], instance=hosted)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert is_pending(shared)


def test_arrays_are_taken_when_nothing_is_pending(hosted):
    """What NumPy has by then, it keeps: nothing can watch it."""
    shared = in_shared(hosted)
    array = np.asarray(shared)
    es.parallel_for(on(hosted), double, shared)
    assert array.tolist() == [0] * 4
    assert is_pending(shared)


def test_a_watched_plan_is_what_it_is_around_in_all_but_launches(hosted):
    kernel = es.kernel(double)
    es.parallel_for(on(hosted), kernel, es.View(4, space=hosted))
    (plan,) = (p for p in kernel.plans.values() if p.space is hosted)
    inner = plan.inner
    assert (type(plan), type(inner)) == (WatchedPlan, Python)
    assert (plan.space, plan.spec, plan.effects) == (hosted, inner.spec, None)
    assert plan.chosen((0, 4), ()) == (inner, (0, 4), "")
    assert (plan.order, plan.source, plan.mapping((0, 4)), plan.variables) == ((), "", (), {})
    assert (plan.resource_usage, plan.vectorisation, plan.cache) == ({}, (), ("", ""))
    assert plan.work((0, 4), ()) is None
    plan.ready((0, 4), ())
    for ask in (plan.team_sizes, lambda: plan.team_size_max((0, 4), ())):
        with pytest.raises(es.PluginError, match="no team_sizes"):
            ask()


def test_tools_see_launches_as_ever(hosted, events):
    x = es.View(4, label="x", space=hosted)
    es.parallel_for(on(hosted), double, x, label="twice")
    es.sort(x, space=hosted)
    begun = [told[:3] for event, told in events if event == "on_kernel_begin"]
    assert begun == [("parallel_for", "double", "twice"), ("library", "sort", "sort")]
    assert "on_fence_begin" not in [event for event, _ in events]  # a device does not wait


# -- events and waits -----------------------------------------------------------------------------


def test_an_event_covers_what_was_launched_before_it(hosted):
    x, y = in_shared(hosted), in_shared(hosted)
    es.parallel_for(on(hosted), double, x)
    event = hosted.record()
    es.parallel_for(on(hosted), double, y)
    assert is_pending(x) and is_pending(y)
    event.wait()
    assert not is_pending(x) and is_pending(y)
    later = hosted.record()
    assert later.done  # who has asked knows, as if he had waited
    assert not is_pending(y)


def test_a_queue_that_waits_for_another_may_use_what_that_one_wrote(hosted):
    first, second, third = (hosted.instance() for _ in range(3))
    x = in_shared(hosted)
    es.parallel_for(on(first), double, x)
    assert refused("is written by kernel 'double'", lambda: es.parallel_for(on(second), double, x))
    second.wait_for(first)
    es.parallel_for(on(second), double, x)
    assert is_pending(x)  # the host has not waited
    assert refused("instance", lambda: es.parallel_for(on(first), double, x))
    assert refused("instance", lambda: es.parallel_for(on(third), double, x))
    third.wait_for(second.record())  # and so for what that one has waited for
    es.parallel_for(on(third), double, x)
    first.wait_for(third)
    es.parallel_for(on(first), double, x)
    first.fence()  # all of this has come before
    assert not is_pending(x)


def test_waiting_for_an_event_orders_nothing_later(hosted):
    first, second = hosted.instance(), hosted.instance()
    x = in_shared(hosted)
    es.parallel_for(on(first), double, x)
    second.wait_for(first)
    es.parallel_for(on(first), double, x)
    assert refused("is written by kernel 'double'", lambda: es.parallel_for(on(second), double, x))
    second.wait_for(first)
    es.parallel_for(on(second), double, x)


def test_order_before_is_the_same_from_the_other_side(hosted):
    first, second = hosted.instance(), hosted.instance()
    x = in_shared(hosted)
    es.parallel_for(on(first), double, x)
    first.order_before(second)
    es.parallel_reduce(on(second), element, x)  # waits, and so for what came before it
    assert not is_pending(x)


def test_a_result_for_later_is_under_way_until_somebody_asks(check, monkeypatch):
    class Telling(Hosted):
        name = "telling"

        def result_of(self, kernel, spec):
            shared = self.memory_spaces[1]
            return es.ReductionResult(shared, (np.dtype(np.float64),), None, lambda n: n[0])

    telling = Telling()
    monkeypatch.setitem(MADE, "telling", telling)
    x = in_shared(telling)
    later = es.parallel_reduce(on(telling), element, x, blocking=False)
    assert is_pending(x)
    assert later.result() == 0
    assert not is_pending(x)
