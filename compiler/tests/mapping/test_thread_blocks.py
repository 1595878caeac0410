"""Blocks of threads: each call of a range is made once, whatever extents, tiles and limits are.

The walk is run here as it would be on a device, by an interpreter of its IR for one thread.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from math import prod

import pytest
from cfamily_cases import text
from hypothesis import given, settings
from hypothesis import strategies as st

from execspace.contract.tiles import TileTable, fitted
from execspace_compiler import ir
from execspace_compiler.mapping.block_geometry import ALIGNED, Geometry, Limits, tile_chooser
from execspace_compiler.mapping.thread_blocks import block_function, blocks_of, coordinate_names

ANY = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535))
FEW = Limits(1024, (1024, 1024, 64), (2, 2, 3))  # so that threads must go on with a stride
SMALL = Limits(7, (4, 3, 2), (2**31 - 1, 65535, 65535))  # most tiles are done in parts
TABLE = TileTable("none", {})


def one(i, A):
    A[i] = 1


def two(i, j, A):
    A[i, j] = 1


def three(i, j, k, A):
    A[i, j, k] = 1


def four(i, j, k, p, A):
    A[i, j, k, p] = 1


def five(i, j, k, p, q, A):
    A[i, j, k, p, q] = 1


def six(i, j, k, p, q, r, A):
    A[i, j, k, p, q, r] = 1


KERNELS = {1: one, 2: two, 3: three, 4: four, 5: five, 6: six}


class Thread:
    """Runs the statements of a walk with Python's integers, masked where they are of 32 bits."""

    def __init__(self, values, rank):
        self.values, self.rank, self.calls = values, rank, []

    def run(self, statements):
        for s in statements:
            if isinstance(s, ir.Assign):
                self.values[s.name] = self.value(s.value)
            elif isinstance(s, ir.If):
                self.run(s.body if self.value(s.test) else s.orelse)
            elif isinstance(s, ir.For):
                first, stop, step = map(self.value, (s.start, s.stop, s.step))
                for n in range(first, stop, step):
                    self.values[s.name] = n
                    self.run(s.body)
            else:
                assert isinstance(s, ir.Evaluate)
                args = s.value.args[: self.rank]
                self.calls.append(tuple(self.value(a) for a in args))

    def value(self, e):
        if isinstance(e, ir.Var):
            return self.values[e.name]
        if isinstance(e, ir.Const):
            return e.value
        args = [self.value(a) for a in e.args]
        found = {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
            "truncdiv": lambda a, b: a // b, "truncmod": lambda a, b: a % b,
            "lt": lambda a, b: a < b, "and": lambda a, b: a and b, "cast": lambda a: a,
            "scaled": lambda a, factor, shift: ((2 * a * factor) >> 32) >> shift,
        }[e.op](*args)  # fmt: skip
        if e.type.name == "uint32":
            return found & 0xFFFFFFFF
        if e.type.name == "int32":
            return (found + 2**31) % 2**32 - 2**31
        return found


@functools.cache
def mapped(rank, tiled, items_per_thread, order, outer=""):
    """A lowered kernel and its blocks."""
    made = text(
        KERNELS[rank], f"float64[{rank}]", rank=rank, tiled=tiled,
        items_per_thread=items_per_thread, iterate=order, mdrange=True, outer=outer,
    )  # fmt: skip
    return made.lowered, blocks_of(made.lowered, TABLE)


def calls_of(
    rank,
    lower,
    extents,
    *,
    tile=None,
    items_per_thread=(),
    limits=ANY,
    small=False,
    order="",
    outer="",
    first=4,
):
    """All calls of a launch, in whatever order its threads come."""
    lowered, blocks = mapped(rank, tile is not None, items_per_thread, order or "auto", outer)
    general = (first, 2, 2, 1, 1, 1)[:rank]
    choose = lambda found: fitted(general, found)  # noqa: E731
    shapes = Geometry(blocks, choose, limits, 256)
    upper = tuple(a + n for a, n in zip(lower, extents, strict=True))
    form, gx, gy, gz, bx, by, bz, *numbers = shapes[
        (*extents, *(tile or (lower[blocks.dims[0]] & (ALIGNED - 1),)))
    ]
    walk = block_function(lowered, "_work", blocks, wide=bool(form & 1), small=small)
    known = {f"_lo{d}": n for d, n in enumerate(lower)} | {
        f"_hi{d}": n for d, n in enumerate(upper)
    }
    known |= {n.name: v for n, v in zip(blocks.parameters, numbers, strict=True)}
    assert {p.name for p in walk.parameters} <= {*known, *coordinate_names(bool(form & 1)), "A"}
    found = []
    for group in itertools.product(range(gx), range(gy), range(gz)):
        for thread in itertools.product(range(bx), range(by), range(bz)):
            places = (*group, *thread, bx, by, bz, gx, gy, gz)
            names = coordinate_names(True)
            runner = Thread({**known, **dict(zip(names, places, strict=True))}, rank)
            runner.run(walk.body)
            found += runner.calls
    return found


def every(lower, extents):
    return sorted(
        itertools.product(*(range(a, a + n) for a, n in zip(lower, extents, strict=True)))
    )


@st.composite
def launches(draw):
    rank = draw(st.integers(1, 6))
    most = {1: 40, 2: 9, 3: 5, 4: 3, 5: 3, 6: 2}[rank]
    number = st.integers(0, most)
    extents = tuple(draw(number) for _ in range(rank))
    lower = tuple(draw(st.integers(-5, 5)) for _ in range(rank))
    length = st.one_of(st.integers(1, 3), st.just(10**9))
    tile = tuple(draw(length) for _ in range(rank)) if draw(st.booleans()) else None
    items_per_thread = draw(st.sampled_from([(2,), (1,) * rank, (2, 3, 1, 1, 2, 1)[:rank]]))
    outer = draw(st.sampled_from(["", "left", "right"])) if rank > 1 else ""
    order = draw(st.sampled_from(["left", "right"]))
    return rank, lower, extents, tile, items_per_thread, order, outer


@settings(deadline=None, max_examples=60)
@given(launches(), st.sampled_from([ANY, FEW, SMALL, replace(SMALL, grid=FEW.grid)]), st.booleans())
def test_each_call_is_made_once(launch, limits, small):
    rank, lower, extents, tile, items_per_thread, order, outer = launch
    found = calls_of(
        rank, lower, extents, tile=tile, items_per_thread=items_per_thread, limits=limits,
        small=small, order=order, outer=outer,
    )  # fmt: skip
    assert sorted(found) == every(lower, extents)


def test_blocks_are_numbered_in_the_order_of_tiles():
    """The grid is walked along x first; threads of a block are in the order within a tile."""
    _, blocks = mapped(3, True, (), "right", "left")
    assert (blocks.dims, blocks.grid) == ((2, 1, 0), (0, 1, 2))
    shapes = Geometry(blocks, lambda extents: extents, ANY, 256)
    assert shapes[8, 9, 20, 2, 3, 4][1:7] == (4, 3, 5, 4, 3, 2)
    _, same = mapped(3, True, (), "right", "right")
    assert same.dims == same.grid == (2, 1, 0)
    assert Geometry(same, lambda extents: extents, ANY, 256)[8, 9, 20, 2, 3, 4][1:4] == (5, 3, 4)
    assert mapped(3, True, (), "right", "right")[1].parameters == same.parameters


@pytest.mark.parametrize("lower", [0, 1, 31, -1, -33])
@pytest.mark.parametrize("items_per_thread", [(1, 1), (2, 1), (1, 2)])
def test_blocks_begin_where_lines_of_the_cache_do(lower, items_per_thread):
    found = calls_of(2, (0, lower), (3, 70), items_per_thread=items_per_thread, first=32)
    assert sorted(found) == every((0, lower), (3, 70))


def test_blocks_do_not_begin_earlier_where_that_takes_one_more():
    _, blocks = mapped(2, False, (1, 1), "auto")
    shapes = Geometry(blocks, lambda extents: (2, 96), ANY, 256)
    assert shapes[10, 94, 1][1:4] == (1, 5, 1)
    assert shapes[10, 94, 1][-1] == 1
    assert shapes[10, 96, 1][1:4] == (1, 5, 1)
    assert shapes[10, 96, 1][-1] == 0


def test_threads_side_by_side_do_neighbouring_calls_of_the_fastest_dimension():
    first = calls_of(2, (0, 0), (4, 16), tile=(2, 8), items_per_thread=(2, 2))
    # Of each thread its own calls come one after the other; along x they are a block apart.
    assert first[:4] == [(0, 0), (0, 8), (1, 0), (1, 8)]


# -- geometry -------------------------------------------------------------------------------------


def geometry(rank=2, limits=ANY, tile=True, items_per_thread=(), usual=256):
    made = text(
        KERNELS[rank], f"float64[{rank}]", rank=rank, tiled=tile, items_per_thread=items_per_thread,
        mdrange=True,
    )  # fmt: skip
    blocks = blocks_of(made.lowered, TABLE)
    return Geometry(blocks, lambda extents: (4, 64), limits, usual)


def test_a_grid_has_a_block_for_each_tile():
    form, *rest = geometry()[100, 1000, 4, 64]
    assert form == 0
    assert rest[:6] == [16, 25, 1, 64, 4, 1]
    assert rest[6:] == [25, 16, 0]


def test_calls_of_a_thread_make_the_grid_smaller():
    assert geometry(items_per_thread=(2, 4))[100, 1000, 4, 64][1:4] == (4, 13, 1)


def test_an_empty_range_has_no_grid():
    assert geometry()[0, 10, 4, 64][1:4] == (0, 0, 0)


def test_many_blocks_need_the_stride_of_the_grid():
    assert geometry()[2**20, 4, 1, 64][:4] == (1, 1, 65535, 1)
    assert geometry()[2**31, 4, 2**10, 1][0] & 1


def test_many_threads_need_a_text_with_higher_bounds():
    assert geometry()[64, 64, 16, 32][0] == 2


# Policies refuse a tile beyond their own launch_bounds: core/tests/test_policy.py.
@pytest.mark.parametrize(
    ("extents", "tile", "calls", "block", "parts"),
    [
        ((100, 1000), (16, 64), (), (16, 64), 1),  # 1024 threads
        ((100, 1000), (64, 64), (), (16, 64), 4),  # the fastest dimension stays what it is
        ((100, 1000), (65, 64), (), (9, 64), 8),
        ((100, 2000), (4, 1100), (), (1, 576), 8),  # until nothing else is left; whole lines
        ((100, 1000), (64, 64), (4, 1), (13, 64), 2),  # only 25 threads have calls
        ((10, 20), (1000, 1000), (), (10, 20), 1),
        ((10, 20), (1000, 1000), (2, 3), (5, 7), 1),
        ((0, 20), (1000, 1000), (), (1, 20), 1),
        ((10**6, 10**6), (10**9, 10**9), (), (1, 992), 1009 * 10**6),
        ((200, 10, 10), (128, 2, 2), (), (64, 2, 2), 2),  # 64 along z
        ((200, 200, 200), (32, 32, 32), (), (4, 8, 32), 32),
        ((99, 99, 99, 99), (8, 8, 8, 8), (), (4, 4, 8, 8), 4),  # two dimensions along z: 64
        ((99, 99, 99, 99), (3, 40, 3, 2), (), (3, 20, 3, 2), 2),
        ((5000,), (3000,), (), (768,), 4),
        ((5000,), (3000,), (4,), (640,), 2),
    ],
)
def test_what_no_block_can_hold_of_a_tile_others_do(extents, tile, calls, block, parts):
    shapes = geometry(len(tile), items_per_thread=calls)
    key = (*extents, *tile)
    assert (shapes.tile(key), shapes.block(key), shapes.parts(key)) == (tile, block, parts)
    form, *rest = shapes[key]
    dims = shapes.blocks.dims
    assert rest[3:6] == [prod(block[d] for d in part) for part in (dims[:1], dims[1:2], dims[2:])]
    assert bool(form & 2) == (prod(block) > 256)


def test_what_a_tile_exceeds_is_told():
    shapes = geometry(3)
    assert shapes.exceeded((64, 4, 4)) == {}
    assert shapes.exceeded((65, 4, 4)) == {"all": 1024, "z": 64}
    assert shapes.exceeded((128, 1, 1)) == {"z": 64}
    assert shapes.exceeded((1, 1, 1025)) == {"all": 1024, "x": 1024}


@given(st.data())
def test_a_block_never_exceeds_what_a_device_has(data):
    rank = data.draw(st.integers(1, 6))
    number = st.one_of(st.integers(1, 70), st.integers(1, 10**6))
    threads, x, y, z = (data.draw(st.integers(1, 1024)) for _ in range(4))
    limits = replace(ANY, threads=threads, block=(x, y, z))
    calls = data.draw(st.sampled_from([(), (1, 2, 1, 3, 1, 2)[:rank]]))
    shapes = geometry(rank, limits, items_per_thread=calls)
    key = tuple(data.draw(number) for _ in range(2 * rank))
    block = shapes.block(key)
    assert shapes.exceeded(block) == {}
    assert all(1 <= n <= t for n, t in zip(block, key[rank:], strict=True))
    if not shapes.exceeded(key[rank:]):
        assert block == key[rank:]


# -- tiles that a device takes --------------------------------------------------------------------


@given(
    st.sampled_from([(64, 4), (64, 4, 1), (8, 32), (8, 32, 1, 1), (32, 4, 2, 1, 1, 1), (128,)]),
    st.data(),
)
def test_fitted_tiles_never_have_more_threads(tile, data):
    extents = tuple(data.draw(st.integers(0, 10**6)) for _ in tile)
    found = fitted(tile, extents)
    assert prod(found) <= prod(tile)
    assert all(t >= 1 for t in found)
    wasted = [-(-n // t) * t / n for t, n in zip(found, extents, strict=True) if n]
    assert max(wasted, default=1) <= 2


def test_a_short_row_is_taken_as_a_whole():
    assert fitted((64, 4, 1, 1), (94, 94, 94, 94)) == (96, 2, 1, 1)
    assert fitted((64, 4), (8, 10**6)) == (8, 32)
    assert fitted((64, 4), (8190, 8190)) == (64, 4)
    assert fitted((64, 4), (130, 1000)) == (32, 8)


def test_launch_bounds_shorten_the_slower_dimensions_of_a_tile_first():
    class Space:
        name = "gpu"

        def default_tile(self, rank, iterate, extents, access):
            return (64, 4, 2)

    blocks = mapped(3, False, (1, 1, 1), "right")[1]
    for most, expected in (
        (512, (2, 4, 64)),
        (256, (2, 2, 64)),
        (64, (1, 1, 64)),
        (20, (1, 1, 16)),
    ):
        choose = tile_chooser(blocks, Space(), replace(ANY, threads=most))
        assert choose((100, 100, 100)) == expected
