"""Rows of Views: how they are made, laid out, cut, copied and shared (audit of Kokkos::View).

`is_assignable` has no row: which View a name refers to is no question of types in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es
from parity.table import output, raises, row

VIEW = "1.1 View"


@row(VIEW, "View, rank 0 to 8", "a = es.View(shape, label='a', space=space)".replace("'", '"'))
def ranks_0_to_8(space: es.ExecutionSpace) -> None:
    """TestViewAPI: each rank has its extents, and kernels reach all elements."""

    def one(i, a, b, c):
        a[()] = 1.0
        b[i] = 2.0
        c[i, 0, 1, 0, 1, 0, 1, 0] = 3.0

    made = []
    for rank in range(9):
        shape = (2,) * rank
        a = es.View(shape, label="a", space=space)
        assert (a.rank, a.shape, a.size) == (rank, shape, 2**rank)
        made.append(a)
    es.parallel_for(2, one, made[0], made[1], made[8])
    assert made[0].item() == 1 and made[1].to_numpy().tolist() == [2, 2]
    found = made[8].to_numpy()
    assert found[:, 0, 1, 0, 1, 0, 1, 0].tolist() == [3, 3] and found.sum() == 6
    with raises(es.ViewError, "8"):
        es.View((1,) * 9, space=space)


@row(VIEW, "Static extents", "a = es.View((n, es.static(3)))")
def static_extents(space: es.ExecutionSpace) -> None:
    def sums(i, a, out):
        own = es.local(a.extent(1))  # a constant
        for k in range(a.extent(1)):
            own[k] = a[i, k]
        out[i] = own[0] + own[1] + own[2]

    n = 5
    a = es.View((n, es.static(3)))
    assert a.static_extent(1) == 3 and a.static_extent(0) == 0 and a.type.static == (None, 3)
    es.deep_copy(a, np.arange(15.0).reshape(5, 3))
    out = es.View(n)
    es.parallel_for(n, sums, a, out)
    assert out.to_numpy().tolist() == [3, 12, 21, 30, 39]
    es.resize(a, (7, 3))
    assert a.shape == (7, 3) and a.type.static == (None, 3)
    with raises(es.ViewError, "static|part of its type"):
        es.resize(a, (7, 4))


@row(VIEW, "Constructor with label and extents, zeroed", 'a = es.View((3, 4), label="a")')
def zeroed(space: es.ExecutionSpace) -> None:
    for _ in range(3):  # also memory that was used before
        a = es.View((3, 4), label="a")
        assert a.label == "a" and a.dtype == np.float64 and not a.to_numpy().any()
        a.fill(7)


@row(VIEW, "Constructor with a layout", 'a = es.View((3, 5), layout="left")')
def with_layout(space: es.ExecutionSpace) -> None:
    a = es.View((3, 5), layout="left")
    assert a.layout == "left" and a.strides == (1, 3)
    es.parallel_for(es.MDRangePolicy((3, 5)), lambda i, j, a: store(a, i, j), a)
    assert (a.to_numpy() == 10 * np.arange(3)[:, None] + np.arange(5)).all()


def store(a, i, j):
    a[i, j] = 10 * i + j


@row(
    VIEW,
    "view_alloc: WithoutInitializing, AllowPadding, memory, instance",
    'a = es.View((4, 9), space=instance, memory="device", initialize=False, padding=True)',
)
def view_alloc(space: es.ExecutionSpace) -> None:
    """TestWithoutInitializing, and what view_alloc takes besides."""
    instance = space.instance()
    a = es.View((4, 9), space=instance, memory="device", initialize=False, padding=True)
    assert a.memory_space is space.memory_space or "device" in a.memory_space.kinds
    assert max(a.strides) % 8 == 0 and a.span > a.size
    es.deep_copy(a, 1.5, instance=instance)
    instance.fence()
    assert (a.to_numpy() == 1.5).all()


@row(VIEW, "Default-constructed View, is_allocated", "es.realloc(a, 5)")
def without_memory(space: es.ExecutionSpace) -> None:
    """TestViewEmptyRuntimeUnmanaged: a name without elements, which is given some later."""
    a = es.View(0, label="later")
    assert a.size == 0 and a.nbytes == 0
    es.parallel_for(a.size, lambda i, a: fill_one(a, i), a)
    es.realloc(a, 5)
    assert a.size == 5 and a.nbytes == 40
    es.parallel_for(a.size, lambda i, a: fill_one(a, i), a)
    assert a.to_numpy().tolist() == [1, 1, 1, 1, 1]


def fill_one(a, i):
    a[i] = 1.0


class Pointer:
    """Memory that is known by its address."""

    def __init__(self, of: Any) -> None:
        self.of = of  # which must live
        self.__array_interface__ = {
            "data": (of.ctypes.data, False),
            "shape": (3, 4),
            "strides": (64, 8),
            "typestr": "<f8",
            "version": 3,
        }


@row(VIEW, "Unmanaged View of a pointer, with strides", 'a = es.view_of(pointer, label="a")')
def unmanaged(space: es.ExecutionSpace) -> None:
    block = np.arange(24.0).reshape(3, 8)
    pointer = Pointer(block)
    a = es.view_of(pointer, label="a")
    assert not a.is_managed and a.strides == (8, 1) and a.data_ptr == block.ctypes.data
    there = es.create_mirror_view_and_copy(space, a)
    es.parallel_for(3, lambda i, a: fill_first(a, i), there)
    es.deep_copy(a, there)
    assert block[:, 0].tolist() == [-1, -1, -1] and block[:, 4].tolist() == [4, 12, 20]


def fill_first(a, i):
    a[i, 0] = -1.0


@row(VIEW, "View of scratch memory, shmem_size", "s = team.scratch((2, 3), es.float32)")
def scratch(space: es.ExecutionSpace) -> None:
    def kernel(team, out):
        s = team.scratch((2, 3), es.float32)
        es.parallel_for(es.TeamThreadRange(team, 6), lambda k: put(s, k, team.league_rank))
        team.barrier()
        total = es.parallel_reduce(es.TeamThreadRange(team, 6), lambda k: s[k // 3, k % 3])
        if es.single(es.PerTeam(team)):
            out[team.league_rank] = total

    out = es.View(4)
    es.parallel_for(es.TeamPolicy(4, "auto"), kernel, out)
    assert out.to_numpy().tolist() == [15, 21, 27, 33]


def put(s, k, more):
    s[k // 3, k % 3] = k + more


@row(VIEW, "subview, ALL, pairs", "b = es.subview(a, 1, es.ALL, (2, 5))")
def subviews(space: es.ExecutionSpace) -> None:
    """TestSubView: on the host, in kernels, of each other."""

    def inside(i, a, out):
        plane = a[i, :, 1:5]
        line = plane[2, ::2]
        out[i] = line[0] + 100 * line[1] + es.subview(plane, es.ALL, (1, 3))[0, 1]

    numbers = np.arange(4 * 5 * 6.0).reshape(4, 5, 6)
    a = es.array(numbers)
    b = es.subview(a, 1, es.ALL, (2, 5))
    assert b.shape == (5, 3) and (b.to_numpy() == numbers[1, :, 2:5]).all()
    assert (a[::2, 1:, 3].to_numpy() == numbers[::2, 1:, 3]).all()
    es.deep_copy(a[3, 2, :], -1)
    numbers[3, 2] = -1
    out = es.View(4)
    es.parallel_for(4, inside, a, out)
    expected = numbers[:, 2, 1] + 100 * numbers[:, 2, 3] + numbers[:, 0, 3]
    assert (out.to_numpy() == expected).all()
    with raises(es.ViewIndexError):
        es.subview(a, 0, (3, 7), es.ALL)


@row(VIEW, "Shallow copy and assignment", "b = a")
def shallow(space: es.ExecutionSpace) -> None:
    """The tutorial's program that prints 3."""
    a = es.View(3)
    b = a
    c = b[:]
    es.deep_copy(a, 1)
    es.deep_copy(b, 3)
    assert c.to_numpy().tolist() == a.to_numpy().tolist() == [3, 3, 3]
    assert a.use_count == 2  # two Views: the names a and b are one


PROGRAM = """
import execspace as es

def shift(i, x, y):
    y[i] = x[i + 1]

x, y = es.View(8, label="x"), es.View(8, label="y")
es.parallel_for(7, shift, x, y)
try:
    es.parallel_for(8, shift, x, y)
    es.fence()
except es.ViewIndexError as error:
    print(error)
"""


@row(VIEW, "Access a(i, j), checks of bounds", 'output(PROGRAM, space, EXECSPACE_CHECK="bounds")')
def bounds(space: es.ExecutionSpace) -> None:
    """TestViewOutOfBounds, in a process of its own: what is checked is decided when it starts."""
    a = es.array(np.arange(6.0).reshape(2, 3))
    assert es.parallel_reduce(es.MDRangePolicy((2, 3)), lambda i, j, a: a[i, j], a) == 15
    printed = output(PROGRAM, space, EXECSPACE_CHECK="bounds")
    assert "'shift' at index 7" in printed and "'x'" in printed


@row(
    VIEW,
    "extent, rank, size, stride, span, label, data, use_count and others",
    "assert (a.rank, a.size, a.span, a.stride(0), a.extent(1)) == (2, 15, 21, 8, 5)",
)
def queries(space: es.ExecutionSpace) -> None:
    a = es.View((3, 5), es.float32, layout=(8, 1), label="a")
    assert (a.rank, a.size, a.span, a.stride(0), a.extent(1)) == (2, 15, 21, 8, 5)
    assert a.extent(7) == 1 and not a.span_is_contiguous and a.label == "a"
    assert a.nbytes == 60 and a.allocation.nbytes >= 84 and a.data_ptr and a.use_count == 1
    assert es.View((3, es.static(2))).type.static == (None, 2)  # rank_dynamic is 1


@row(
    VIEW,
    "Type aliases: value_type, array_layout, memory_space, execution_space",
    "assert a.type.dtype == a.dtype.name and a.memory_space is space.memory_space",
)
def aliases(space: es.ExecutionSpace) -> None:
    a = es.View((2, 3), es.int32, layout="right")
    assert a.type.dtype == a.dtype.name and a.memory_space is space.memory_space
    assert a.space is space and (a.layout, a.type.rank) == ("right", 2)
    assert not a.type.readonly and a.readonly().type.readonly  # View<const int**>
    alike = es.empty_like(a)
    assert alike.type == a.type and alike != a


@row(VIEW, "operator == and !=", "assert a[0, :] == a[0, :]")
def equality(space: es.ExecutionSpace) -> None:
    a = es.View((2, 3))
    assert a[0, :] == a[0, :]
    assert a[0, :] != a[1, :] and a == a.readonly() and a != es.View((2, 3))


@row(
    VIEW,
    "LayoutRight, LayoutLeft, padding",
    "es.View((3, 5, 4), layout=layout, padding=padding)",
)
def layouts(space: es.ExecutionSpace) -> None:
    """TestViewLayoutStrideAssignment and others: strides, and what kernels find there."""
    expected = {
        ("right", False): (20, 4, 1),
        ("left", False): (1, 3, 15),
        ("right", True): (40, 8, 1),
        ("left", True): (1, 8, 40),
    }
    for (layout, padding), strides in expected.items():
        a = es.View((3, 5, 4), layout=layout, padding=padding)
        assert a.strides == strides and a.layout in (layout, "stride")
        policy = es.MDRangePolicy((3, 5, 4))
        es.parallel_for(policy, lambda i, j, k, a: number(a, i, j, k), a)
        assert (a.to_numpy().ravel() == np.arange(60)).all()


def number(a, i, j, k):
    a[i, j, k] = 20 * i + 4 * j + k


@row(VIEW, "LayoutStride", "a = es.View((3, 4), layout=(2, 10))")
def strided(space: es.ExecutionSpace) -> None:
    a = es.View((3, 4), layout=(2, 10))
    assert a.layout == "stride" and a.strides == (2, 10) and a.span == 35
    es.parallel_for(es.MDRangePolicy((3, 4)), lambda i, j, a: store(a, i, j), a)
    assert (a.to_numpy() == 10 * np.arange(3)[:, None] + np.arange(4)).all()
    backwards = es.view_of(np.arange(6.0)[::-1])  # strides of foreign arrays have any sign
    assert backwards.strides == (-1,)
    es.deep_copy(a[:, 0], backwards[3:])
    assert a[:, 0].to_numpy().tolist() == [2, 1, 0]


@dataclass(frozen=True)
class Tiled(es.Layout):
    """Kokkos' LayoutTiled of rank 2: tiles lie one behind the other, and so do their rows."""

    tile: int

    def span(self, n: int, m: int) -> int:
        return -(-n // self.tile) * -(-m // self.tile) * self.tile * self.tile

    def offset(self, i: Any, j: Any, n: Any, m: Any) -> Any:
        t = self.tile
        return ((i // t) * ((m + t - 1) // t) + j // t) * t * t + i % t * t + j % t


@row(VIEW, "LayoutTiled", "a = es.View((5, 6), layout=Tiled(4))")
def tiled(space: es.ExecutionSpace) -> None:
    a = es.View((5, 6), layout=Tiled(4))
    assert a.layout == "tiled" and a.span == 64
    es.parallel_for(es.MDRangePolicy((5, 6)), lambda i, j, a: store(a, i, j), a)
    plain = es.View((5, 6))
    es.deep_copy(plain, a)
    assert (plain.to_numpy() == 10 * np.arange(5)[:, None] + np.arange(6)).all()


@dataclass(frozen=True)
class Triangle(es.Layout):
    """The lower triangle of a matrix, packed by rows, and then the upper one by columns."""

    def span(self, n: int, m: int) -> int:
        return n * m

    def offset(self, i: Any, j: Any, n: Any, m: Any) -> Any:
        if i >= j:
            return i * (i + 1) // 2 + j
        return n * (n + 1) // 2 + j * (j - 1) // 2 + i


@row(VIEW, "Layouts of one's own", "a = es.View((4, 4), layout=Triangle())")
def own_layout(space: es.ExecutionSpace) -> None:
    """TestIrregularLayout."""
    a = es.View((4, 4), layout=Triangle())
    es.parallel_for(es.MDRangePolicy((4, 4)), lambda i, j, a: store(a, i, j), a)
    out = es.View(4)
    es.parallel_for(4, lambda i, a, out: second(a, i, out), a, out)
    assert out.to_numpy().tolist() == [1, 11, 21, 31]
    es.resize(a, (5, 5))
    plain = es.View((5, 5))
    es.deep_copy(plain, a)
    expected = np.zeros((5, 5))
    expected[:4, :4] = 10 * np.arange(4)[:, None] + np.arange(4)
    assert (plain.to_numpy() == expected).all()


def second(a, i, out):
    line = a[i, :]
    out[i] = line[1]


@row(
    VIEW,
    "MemoryTraits: RandomAccess, Restrict, Aligned, Unmanaged",
    'constant = a.with_traits("random_access", "restrict")',
)
def memory_traits(space: es.ExecutionSpace) -> None:
    def copy(i, a, b):
        b[i] = a[3 - i]

    a, b = es.array(np.arange(4.0)), es.View(4)
    constant = a.with_traits("random_access", "restrict")
    es.parallel_for(4, copy, constant, b.with_traits("restrict"))
    assert b.to_numpy().tolist() == [3, 2, 1, 0]
    assert set(constant.traits) == {"random_access", "restrict"}
    assert a.data_ptr % 64 == 0 and a.is_managed and not es.view_of(np.zeros(2)).is_managed


@row(VIEW, "Atomic View", 'es.parallel_for(1000, add, counts.with_traits("atomic"))')
def atomic_view(space: es.ExecutionSpace) -> None:
    """TestAtomicViews: operators of assignment are atomic."""

    def add(i, c):
        c[0] += i
        c[1] -= 1
        c[2] |= 1 << (i % 32)
        c[3] ^= i
        c[4] &= ~(1 << (i % 16))

    counts = es.array(np.array([0, 0, 0, 0, -1]))
    es.parallel_for(1000, add, counts.with_traits("atomic"))
    expected = [499500, -1000, 2**32 - 1, int(np.bitwise_xor.reduce(np.arange(1000))), ~0xFFFF]
    assert counts.to_numpy().tolist() == expected
