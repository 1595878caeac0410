"""DualView: one array in two memories, copied exactly when the side that is read is the older one.

On the host both sides are one View and nothing is ever copied. The other half of the tests uses
memory that the host cannot reach, and counts the copies.
"""

import numpy as np
import pytest

import execspace as es


@pytest.fixture
def copies(events):
    """Labels of the copies since the last call, as (destination, source) memory spaces."""

    def since():
        seen = [a[:2] for name, a in events if name == "on_copy_begin"]
        events.clear()
        return [tuple(place.rpartition("@")[2] for place in pair) for pair in seen]

    return since


def on_device(view):
    """What is in memory that the host cannot reach."""
    return np.asarray(es.create_mirror_view_and_copy(es.HOST, view))


# -- what it is ---------------------------------------------------------------------------------


def test_on_the_host_both_sides_are_one_view(events):
    D = es.DualView((2, 3), es.int32, label="D")
    assert D.h_view is D.d_view is D.view("host") is D.view("device")
    assert D.shares_memory
    assert (D.label, D.shape, D.extent(1), D.extent(5)) == ("D", (2, 3), 3, 1)
    assert [name for name, _ in events] == ["on_allocate"]


def test_elsewhere_there_is_a_mirror_on_the_host(device):
    D = es.DualView((2, 3), es.int32, label="D", space=device)
    assert not D.shares_memory
    assert D.d_view.memory_space is device.memory_space
    assert D.h_view.memory_space is es.HOST
    assert (D.h_view.shape, D.h_view.dtype) == ((2, 3), D.d_view.dtype)
    assert D.view("device") is D.d_view
    assert D.view("host") is D.h_view


def test_the_sides_have_one_layout(device):
    device.default_layout = "left"
    D = es.DualView((2, 3), space=device)
    assert D.d_view.layout == D.h_view.layout == "left"


def test_a_view_may_be_the_device_side(copies, device):
    A = es.View(3, es.int32, label="A", space=device)
    es.deep_copy(A, 4)
    copies()
    D = es.DualView(view=A)
    assert D.d_view is A
    assert copies() == []  # who has data on the device says so
    D.modify("device")
    D.sync("host")
    assert list(D.h_view) == [4, 4, 4]


def test_repr_says_which_side_is_newer(device):
    D = es.DualView(3, label="D", space=device)
    assert repr(D) == "<DualView 'D' float64 (3,)>"
    D.modify("host")
    assert repr(D) == "<DualView 'D' float64 (3,), modified on host>"


# -- modify and sync ----------------------------------------------------------------------------


def test_sync_copies_only_to_the_older_side(copies, device):
    D = es.DualView(3, es.int64, label="D", space=device)
    assert not D.need_sync("host")
    assert not D.need_sync("device")
    D.sync("host")
    D.sync("device")
    assert copies() == []

    D.h_view[0] = 5
    D.modify("host")
    assert D.need_sync("device")
    assert not D.need_sync("host")
    D.sync("host")  # it is the newer one
    assert copies() == []
    assert D.need_sync("device")
    D.sync("device")
    assert copies() == [("device", "host")]
    assert on_device(D.d_view).tolist() == [5, 0, 0]
    copies()

    D.sync("device")  # done already
    assert copies() == []

    es.deep_copy(D.d_view, 7)
    copies()
    D.modify("device")
    D.modify("device")  # twice is no other thing than once
    assert D.need_sync("host")
    D.sync("host")
    assert copies() == [("host", "device")]
    assert list(D.h_view) == [7, 7, 7]
    assert not D.need_sync("host")
    assert not D.need_sync("device")


def test_what_is_not_modified_is_not_copied(copies, device):
    """sync goes by modify alone; forgetting it leaves the other side as it was, as in Kokkos."""
    D = es.DualView(2, es.int64, space=device)
    D.h_view[0] = 5
    D.sync("device")
    assert copies() == []
    assert on_device(D.d_view).tolist() == [0, 0]


def test_changes_on_both_sides_are_a_mistake(device):
    D = es.DualView(2, label="D", space=device)
    for first, second in (("host", "device"), ("device", "host")):
        D.modify(first)
        with pytest.raises(es.ViewError) as error:
            D.modify(second)
        assert str(error.value) == (
            f"DualView 'D': modified on the {second} after the {first} without a sync between; one "
            f"of the changes would be lost. Call sync('{second}') before changing it, or "
            f"clear_sync_state() to drop the other's changes."
        )
        assert D.need_sync(second)  # the error changed nothing
        D.sync(second)
        D.modify(second)
        D.clear_sync_state()


def test_clear_sync_state_forgets_without_a_copy(copies, device):
    D = es.DualView(2, es.int64, space=device)
    D.h_view[0] = 5
    D.modify("host")
    D.clear_sync_state()
    assert not D.need_sync("device")
    D.modify("device")  # no mistake now
    D.sync("host")
    assert copies() == [("host", "device")]
    assert list(D.h_view) == [0, 0]  # the host's change is lost, as was asked for


@pytest.mark.parametrize("call", ["modify", "sync", "need_sync", "view"])
def test_there_are_two_sides(call):
    D = es.DualView(2, label="D")
    for side in ("gpu", "Host", None):
        with pytest.raises(es.ViewError, match=rf"DualView 'D': side {side!r} does not exist; exp"):
            getattr(D, call)(side)


def test_on_the_host_nothing_can_go_wrong_and_nothing_is_copied(copies):
    D = es.DualView(3, es.int64, label="D")
    D.h_view[0] = 5
    D.modify("host")
    assert not D.need_sync("device")
    D.sync("device")
    assert D.d_view[0] == 5
    D.modify("device")
    D.modify("host")  # one memory: no change is lost
    D.sync("device")
    assert copies() == []


def test_sync_in_order_on_an_instance(copies, device):
    D = es.DualView(2, space=device)
    D.modify("host")
    D.sync("device", instance=device)
    assert copies() == [("device", "host")]
    assert not D.need_sync("device")


def test_a_sync_that_fails_leaves_the_state(device, other_device):
    D = es.DualView(2, label="D", space=device)
    D.modify("host")
    with pytest.raises(es.SpaceAccessError, match="instance of space 'other' reaches neither"):
        D.sync("device", instance=other_device)
    assert D.need_sync("device")


# -- changes of extents -------------------------------------------------------------------------


def test_resize_keeps_the_elements_of_both_sides(copies, device):
    D = es.DualView(2, es.int64, label="D", space=device)
    d, h = D.d_view, D.h_view
    D.h_view[:] = [1, 2]
    D.modify("host")
    D.resize(3)
    # Each side copies within its own memory: what crosses over is for sync to move.
    assert copies() == [("device", "device"), ("host", "host")]
    assert D.need_sync("device")
    assert (D.d_view is d, D.h_view is h, D.shape) == (True, True, (3,))
    D.sync("device")
    assert on_device(D.d_view).tolist() == [1, 2, 0]
    assert list(D.h_view) == [1, 2, 0]


def test_resize_where_the_device_is_newer(device):
    D = es.DualView((2, 2), es.int64, space=device)
    es.deep_copy(D.d_view, 3)
    D.modify("device")
    D.resize((1, 3))
    assert D.need_sync("host")
    D.sync("host")
    assert np.asarray(D.h_view).tolist() == [[3, 3, 0]]


def test_realloc_zeroes_both_sides_and_moves_nothing(copies, device):
    D = es.DualView(2, es.int64, space=device)
    es.deep_copy(D.d_view, 3)
    D.h_view[:] = [1, 2]
    D.modify("host")
    copies()
    D.realloc(4)
    assert copies() == []
    assert on_device(D.d_view).tolist() == list(D.h_view) == [0] * 4
    assert not D.need_sync("device")
    assert not D.need_sync("host")


@pytest.mark.parametrize("change", ["resize", "realloc"])
def test_on_the_host_there_is_one_view_before_and_after(change, copies):
    D = es.DualView(2, es.int64, label="D")
    D.h_view[:] = [1, 2]
    D.modify("host")
    copies()
    getattr(D, change)(3)
    assert len(copies()) == (change == "resize")
    assert D.shares_memory
    assert list(D.d_view) == ([1, 2, 0] if change == "resize" else [0, 0, 0])


@pytest.mark.parametrize("change", ["resize", "realloc"])
def test_a_change_that_fails_leaves_both_sides(change, device):
    D = es.DualView(2, es.int64, label="D", space=device)
    D.h_view[:] = [1, 2]
    D.modify("host")
    with pytest.raises(es.ViewError, match="View 'D' has rank 1; expected 1 extents, got 2"):
        getattr(D, change)((2, 2))
    assert D.shape == D.h_view.shape == (2,)
    assert list(D.h_view) == [1, 2]
    assert D.need_sync("device")


# -- the tutorial's sequence --------------------------------------------------------------------


def test_pressure_energy_and_enthalpy(copies, device, plain):
    """h = e + p, with a table of pressures made on the host and energies made on the device."""

    def double(i, x):
        x[i] *= 2

    n = 3
    p, e, h = (es.DualView(n, label=label, space=device) for label in "peh")
    es.deep_copy(p.h_view, 150.0)
    p.modify("host")
    es.deep_copy(e.d_view, 300.0)
    e.modify("device")
    copies()
    es.parallel_for(es.RangePolicy(n, space=plain), double, p.h_view)
    p.sync("device")
    e.sync("host")
    assert copies() == [("device", "host"), ("host", "device")]
    es.deep_copy(h.d_view, p.d_view)
    h.modify("device")
    h.sync("host")
    es.parallel_for(
        es.RangePolicy(n, space=plain), lambda i, h, e: h.__setitem__(i, h[i] + e[i]),
        h.h_view, e.h_view,
    )  # fmt: skip
    h.modify("host")
    h.sync("device")
    assert copies() == [("device", "device"), ("host", "device"), ("device", "host")]
    for side, value in ((p, 300), (e, 300), (h, 600)):
        assert list(side.h_view) == on_device(side.d_view).tolist() == [value] * n


def test_both_sides_keep_their_static_extents(device):
    p = es.DualView((4, es.static(3)), label="p", space=device)
    p.resize((6, 3))
    assert p.d_view.type.static == p.h_view.type.static == (None, 3)
    for change in (p.resize, p.realloc):
        with pytest.raises(es.ViewError, match="static extent 1"):
            change((6, 5))
    assert p.d_view.shape == p.h_view.shape == (6, 3)


def test_a_dualview_of_a_view_takes_nothing_beside_it():
    A = es.View(3, es.float32, label="A")
    assert es.DualView(view=A).d_view is A
    a = np.zeros(3)
    assert np.shares_memory(np.asarray(es.DualView(view=a).h_view), a)
    for more in ({"shape": 4}, {"dtype": es.float32}, {"label": "x"}, {"space": "serial"}):
        with pytest.raises(es.ViewError, match=r"view= has a shape, .* leave out the other"):
            es.DualView(view=A, **more)


# -- what tools hear ------------------------------------------------------------------------------


def of_dual_views(events):
    found = [(name, told) for name, told in events if name.startswith("on_dual_view")]
    events.clear()
    return found


def test_tools_hear_of_changes_and_of_syncs_that_copy(device, events):
    D = es.DualView((2, 3), es.int32, label="D", space=device)
    events.clear()
    D.modify("host")
    assert events == [("on_dual_view_modify", ("D", "host"))]
    events.clear()
    D.sync("host")  # it is the newer one
    assert events == []
    D.sync("device")
    names = [name for name, _ in events]
    assert names.index("on_dual_view_sync") < names.index("on_copy_begin")
    assert of_dual_views(events) == [("on_dual_view_sync", ("D", "device", 24))]
    D.sync("device")
    assert events == []


def test_a_sync_of_one_memory_copies_nothing(events):
    D = es.DualView(4, label="D")
    D.modify("device")
    D.sync("host")
    D.sync("host")
    assert of_dual_views(events) == [
        ("on_dual_view_modify", ("D", "device")), ("on_dual_view_sync", ("D", "host", 0)),
    ]  # fmt: skip


def test_a_change_that_is_refused_is_not_told(device, events):
    D = es.DualView(4, label="D", space=device)
    D.modify("device")
    events.clear()
    with pytest.raises(es.ViewError, match="would be lost"):
        D.modify("host")
    assert of_dual_views(events) == []
