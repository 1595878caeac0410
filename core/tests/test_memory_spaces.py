"""Memory: what is asked for by name, what is refused, who holds it, and when it is given back."""

import gc
from typing import ClassVar

import numpy as np
import pytest

import execspace as es
from execspace.base.blocks import Blocks
from execspace.contract import memory
from execspace.contract.memory import Allocation


class Kind(es.MemorySpace):
    """Host memory under another name and of given kinds."""

    host_accessible = True

    def __init__(self, name, *kinds):
        self.name, self.kinds = name, frozenset(kinds)

    def allocate(self, nbytes, label, initialize):
        block = es.HOST.allocate(nbytes, label, initialize)
        return Allocation(block.pointer, nbytes, label, self, block.owner)

    def copy(self, dst, src, instance):
        es.HOST.copy(dst, src, instance)

    def fill(self, dst, value, instance):
        es.HOST.fill(dst, value, instance)

    def host_array(self, view):
        return es.HOST.host_array(view)


@pytest.fixture
def rich(plain):
    """A space with memory of three kinds, the first of which is the default."""
    spaces = Kind("gpu", "device"), Kind("managed", "shared"), Kind("locked", "pinned")
    type(plain).memory_spaces = property(lambda self: spaces)
    plain.memory = spaces[0]
    yield plain
    del type(plain).memory_spaces


# -- which memory -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "name"),
    [(None, "gpu"), ("device", "gpu"), ("gpu", "gpu"), ("shared", "managed"),
     ("managed", "managed"), ("pinned", "locked"), ("locked", "locked"), ("host", "host")],
)  # fmt: skip
def test_memory_is_chosen_by_name_or_by_kind(rich, memory, name):
    A = es.View((2, 3), space=rich, memory=memory)
    assert A.memory_space.name == name
    assert f"memory={name}" in repr(A)
    assert A.type.memory == name
    with es.use_space(rich):
        assert es.View(2, memory=memory).memory_space.name == name


def test_memory_of_a_space_remembers_the_space(rich):
    assert es.View(2, space=rich, memory="shared").space is rich
    assert es.View(2, space=rich, memory="host").space is None  # nobody's in particular


def test_a_memory_space_is_taken_as_it_is(rich):
    other = Kind("other", "device")
    A = es.View(2, memory=other)
    assert (A.memory_space, A.space) == (other, None)
    assert es.View(2, space=rich, memory=es.HOST).memory_space is es.HOST


def test_the_host_has_one_memory_of_every_kind(plain):
    """So a program that asks for pinned or shared memory runs without a device as well."""
    for kind in ("host", "device", "shared", "pinned"):
        assert es.View(2, memory=kind).memory_space is es.HOST
        assert es.View(2, space=plain, memory=kind).memory_space is es.HOST


def test_a_kind_that_a_space_lacks_names_what_it_has(rich):
    with pytest.raises(es.SpaceError) as error:
        es.View(2, space=rich, memory="texture")
    assert str(error.value) == (
        "Space 'plain' has no memory 'texture'; expected a name or kind of 'gpu' (device), "
        "'managed' (shared), 'locked' (pinned)."
    )


def test_without_a_space_an_unknown_kind_is_refused_too():
    with pytest.raises(es.SpaceError):
        es.View(2, memory="texture")


@pytest.mark.parametrize("memory", [3, ["shared"], np.zeros(2)])
def test_what_is_no_memory(plain, memory):
    for options in ({}, {"space": plain}):
        with pytest.raises(es.SpaceError, match="is not a memory space; expected a name"):
            es.View(2, memory=memory, **options)


def test_subviews_and_copies_of_properties_stay_in_their_memory(rich):
    A = es.View((2, 3), space=rich, memory="shared")
    for B in (A[0, :], A.readonly(), A.with_traits("restrict")):
        assert B.memory_space is A.memory_space
        assert B.space is rich


# -- extents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [-1, (2, -3), [0, -1], es.static(-2)])
def test_negative_extents(shape):
    with pytest.raises(es.ViewError, match=r"View 'A': shape \(.*\) has a negative extent\."):
        es.View(shape, label="A")


@pytest.mark.parametrize("shape", [2.0, "3", (2, None), (2, 3.0), None, {"n": 2}, (2, (3,)), 1j])
def test_extents_that_are_no_integers(shape):
    with pytest.raises(es.ViewError, match=r"View 'A': shape .* is not valid; expected an integer"):
        es.View(shape, label="A")


@pytest.mark.parametrize("shape", [2**62, (2**31, 2**31), (2**40,) * 8, 2**100, (0, 2**100)])
def test_extents_beyond_the_address_space(shape):
    with pytest.raises(es.ViewError, match=r"View 'A': shape .* exceeds the address space\."):
        es.View(shape, label="A")


def test_the_size_in_bytes_counts():
    """2**59 elements would be fine, 2**63 bytes are not."""
    with pytest.raises(es.ViewError, match="exceeds the address space"):
        es.View(2**59, es.complex128)


def test_nothing_is_allocated_for_what_is_refused():
    before = es.live_allocations()
    for bad in ({"shape": -1}, {"shape": 2.5}, {"shape": 2**62}, {"shape": 2, "layout": "up"},
                {"shape": 2, "memory": "texture"}, {"shape": (1,) * 9}):  # fmt: skip
        with pytest.raises(es.ExecspaceError):
            es.View(**bad)
    assert es.live_allocations() == before


# -- out of memory ------------------------------------------------------------------------------


def test_out_of_memory_says_what_was_asked_for_and_who_has_the_rest():
    views = [es.View(n, es.int8, label=f"v{n}") for n in (10, 2000, 300, 4, 50, 60)]
    with pytest.raises(MemoryError) as error:
        es.View((2**20, 2**30), label="huge")
    assert str(error.value) == (
        "View 'huge': cannot allocate 9,007,199,254,740,992 bytes in memory space 'host', where "
        "6 Views hold 2,424 bytes; the largest are 'v2000' 2,000, 'v300' 300, 'v60' 60, 'v50' 50, "
        "'v10' 10. Drop Views that are no longer needed, or make this one smaller."
    )
    assert len(views) == 6


def test_out_of_memory_where_nothing_is_allocated():
    with pytest.raises(MemoryError, match=r"where 0 Views hold 0 bytes\. Drop"):
        es.View(2**50)


def test_only_the_views_in_that_memory_are_named(device):
    D = es.View(3, space=device, label="elsewhere")
    with pytest.raises(MemoryError) as error:
        es.View(2**50)
    assert "elsewhere" not in str(error.value)
    assert D.size == 3


@pytest.mark.parametrize("initialize", [True, False])
def test_out_of_memory_leaves_nothing_behind(initialize):
    for _ in range(3):
        with pytest.raises(MemoryError):
            es.View(2**50, label="huge", initialize=initialize)
    assert es.live_allocations() == []
    assert es.View(10).size == 10


# -- the ledger ---------------------------------------------------------------------------------


def test_the_ledger_knows_every_allocation_and_only_those(device):
    A = es.View((2, 3), es.int16, label="A")
    D = es.View(5, label="D", space=device)
    parts = [A[0, :], A.readonly(), es.view_of(np.zeros(100))]
    assert sorted(es.live_allocations()) == [("device", 40, "D"), ("host", 12, "A")]
    assert len(parts) == 3
    del D
    assert es.live_allocations() == [("host", 12, "A")]
    del A
    assert es.live_allocations() == [("host", 12, "A")]  # a subview has it still
    del parts
    assert es.live_allocations() == []


def test_memory_is_given_back_at_once(events):
    A = es.View(3, es.int64, label="A")
    del A
    assert events == [("on_allocate", ("host", "A", 24)), ("on_free", ("host", "A", 24))]


def test_a_gap_is_allocated_too():
    A = es.View((2, 3), es.float64, label="A", padding=True)
    assert A.nbytes == 48
    assert es.live_allocations() == [("host", (8 + 3) * 8, "A")]


def test_use_count_counts_views():
    A = es.View((4, 4))
    same, part = A, A[1:, :]
    assert A.use_count == part.use_count == 2
    assert same is A
    array = np.asarray(A)  # holds the View, not the memory
    C = A.readonly()
    assert A.use_count == 3
    es.resize(A, (5, 5))
    assert (A.use_count, part.use_count, C.use_count) == (1, 2, 2)
    assert array.shape == (4, 4)


def test_use_count_of_wrapped_arrays():
    values = np.zeros(3)
    A = es.view_of(values)
    assert A.use_count == 1
    assert A[1:].use_count == 2
    assert es.view_of(values).use_count == 1  # another wrapping of the same array


def test_what_is_alive_may_change_while_it_is_listed(monkeypatch):
    """The collector runs when it likes, and drops Views; so do other threads."""

    class Changing(dict):
        changed = False

        def values(self):
            if self.changed:
                return super().values()
            self.changed = True
            raise RuntimeError("dictionary changed size during iteration")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "_live", Changing({1: ("host", 24, "A", 0)}))
        assert es.live_allocations() == [("host", 24, "A")]


def test_small_blocks_of_the_host_are_used_again():
    es.HOST.trim()
    assert es.HOST.kept() == (0, 0)
    A = es.View(100, np.int8)
    address = A.data_ptr
    array = np.asarray(A)
    del A
    assert es.HOST.kept() == (0, 0)  # the array has the memory
    array[:] = 7
    del array
    assert es.HOST.kept() == (1, 128)
    again = es.View(128, np.int8)
    assert again.data_ptr == address and not np.asarray(again).any()
    assert es.View(100, np.int8).data_ptr != address
    del again
    assert es.HOST.trim() == 256 and es.HOST.kept() == (0, 0)


class Owner:
    """Memory as a driver's Python binding has it: freed when the object is finalized."""

    def __init__(self, address, freed):
        self.address, self.freed = address, freed

    def __del__(self):
        self.freed.append(self.address)


def test_a_block_that_goes_in_a_cycle_is_not_freed_and_kept():
    freed, addresses = [], iter((64, 128, 256))
    pool = Blocks(lambda nbytes: (Owner(address := next(addresses), freed), address))
    ring = [pool.take(8)[0]]
    ring.append(ring)
    del ring
    gc.collect()
    assert pool.kept() == (1, 64) and not freed
    (again, first), (other, second) = pool.take(64), pool.take(64)
    assert (first, second) == (64, 128)
    del again, other
    assert pool.trim() == 128 and sorted(freed) == [64, 128]


class Node:
    """In a cycle, with a View that outlives it."""

    kept: ClassVar = []

    def __init__(self):
        self.me, self.view = self, es.View(8)

    def __del__(self):
        self.kept.append(self.view)


def test_a_view_that_outlives_its_cycle_keeps_its_memory():
    Node()
    gc.collect()
    (view,) = Node.kept
    others = [es.full(8, 7.0) for _ in range(3)]
    assert not view.to_numpy().any() and all(view.data_ptr != v.data_ptr for v in others)
    Node.kept.clear()


def test_a_finalizer_sees_the_view_of_its_cycle():
    seen = []

    def reader(view):
        try:
            yield
        finally:
            later = es.ones(4, memory=es.HOST)
            seen.append((view.to_numpy().tolist(), later.data_ptr == view.data_ptr))

    view, holder = es.View(4, memory=es.HOST), [None]
    holder.append(holder)
    holder[0] = reader(view)
    next(holder[0])
    del holder, view
    gc.collect()
    assert seen == [([0.0] * 4, False)]


def test_pools_keep_what_they_may(monkeypatch):
    may, freed = [True], []
    pool = Blocks(lambda nbytes: (Owner(nbytes, freed), nbytes), lambda: may[0], least=512)
    block, address = pool.take(1)
    assert address == 512
    may[0] = False  # something on another queue may yet be at work on it
    del block
    assert pool.kept() == (0, 0) and freed == [512]
    monkeypatch.setenv("EXECSPACE_POOLS", "0")
    may[0] = True
    block, address = pool.take(100)
    assert address == 100  # of its own size
    del block
    assert pool.kept() == (0, 0) and freed == [512, 100]


@pytest.mark.parametrize("nbytes", [0, 1, 64, 65, 1 << 16, (1 << 16) + 1])
def test_blocks_of_the_host_are_aligned_and_zeroed(nbytes):
    for _ in range(3):
        A = es.View(nbytes, np.uint8)
        assert A.data_ptr % 64 == 0
        array = np.asarray(A)
        assert not array.any()
        array[:] = 255


def test_a_tool_that_makes_views_may_watch_memory(events):
    """Events are emitted outside of the ledger's lock."""

    class Counting(es.profiling.Tool):
        live = ()

        def on_free(self, space, label, nbytes):
            self.live = es.live_allocations()

    tool = es.profiling.attach(Counting())
    try:
        A = es.View(3, label="A")
        es.View(2, label="B")
        assert tool.live == [("host", 24, "A")]
        del A
        assert tool.live == []
    finally:
        es.profiling.detach(tool)


# -- the contract of a memory space -------------------------------------------------------------


def test_a_copy_by_the_host_waits_for_its_turn(plain):
    """Host memory is copied by the calling thread; in order means after what was launched."""
    A, B = es.View(3), es.View(3)
    es.deep_copy(A, B, instance=plain)
    es.deep_copy(A, 1.0, instance=plain)
    assert len(plain.fences) == 2


def test_what_a_memory_space_need_not_have():
    class Least(es.MemorySpace):
        name = "least"

        def allocate(self, nbytes, label, initialize):
            return Allocation(64, nbytes, label, self, None)

        def copy(self, dst, src, instance): ...

        def fill(self, dst, value, instance): ...

    least = Least()
    A = es.View(3, memory=least, label="A")
    assert repr(least) == "<memory space 'least'>"
    assert (least.kinds, least.host_accessible) == ({"device"}, False)
    assert least.reaches(es.HOST)
    assert not es.HOST.reaches(least)
    for export in (A.__dlpack__, A.__dlpack_device__):
        with pytest.raises(BufferError, match="memory space 'least' does not export DLPack"):
            export()
    assert not hasattr(A, "__cuda_array_interface__")
    with pytest.raises(es.SpaceAccessError, match="View 'A' is in memory space 'least', which the"):
        A[0]


def test_a_memory_space_must_allocate_copy_and_fill():
    class Less(es.MemorySpace):
        name = "less"

    with pytest.raises(TypeError, match="abstract"):
        Less()


def test_all_pools_are_told_of_and_emptied():
    es.trim_pools()
    assert es.pools()["host"] == (0, 0)
    A = es.View(100)
    del A
    assert es.pools()["host"] == es.HOST.kept() == (1, 1024)
    assert es.trim_pools() >= 1024 and es.HOST.kept() == (0, 0)


def test_a_setting_that_is_no_bool_is_named(monkeypatch, plain):
    es.trim_pools()
    monkeypatch.setenv("EXECSPACE_POOLS", "x")
    with pytest.raises(es.ConfigError, match="EXECSPACE_POOLS='x'"):
        es.View(1000, space=plain, memory=es.HOST)


def test_a_short_way_that_is_no_function_is_named(rich):
    class Short(Kind):
        def copier(self, dst, src):
            return 3

    x = es.View(2, np.float64, space=rich, memory=Short("short", "device"))
    with pytest.raises(es.PluginError, match=r"memory space 'short': copier\(...\) returned 3;"):
        es.deep_copy(x, 1.0)
