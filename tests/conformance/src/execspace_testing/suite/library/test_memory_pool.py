"""MemoryPool: blocks that many work items allocate and give back at once never overlap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

some = drawn(15)


def allocate(i, pool, sizes, out):
    out[i] = pool.allocate(sizes[i], i)


def deallocate(i, pool, blocks, out):
    out[i] = pool.deallocate(blocks[i])


def block_of(size, least):
    return max(least, 1 << int(size - 1).bit_length())


def check_apart(blocks, sizes, pool):
    """Those that were found lie within the pool, at multiples of their size, and do not overlap."""
    taken = np.zeros(pool.data.size, int)
    for at, size in zip(blocks.tolist(), sizes.tolist(), strict=True):
        if at >= 0:
            assert at % pool.min_block == 0
            assert at + block_of(size, pool.min_block) <= pool.data.size
            taken[at : at + block_of(size, pool.min_block)] += 1
    assert taken.max() <= 1
    return taken


@pytest.mark.parametrize(
    "options", [{}, {"min_block": 1, "max_block": 16}, {"min_block": 8, "superblock": 64}]
)
def test_blocks_do_not_overlap(space, options):
    n = fitting(space, 3000, 200)
    pool = es.MemoryPool(20 * n, es.int32, space=space, **options)
    sizes = np.random.default_rng(1).integers(1, 17, n)
    policy, view, out = (
        es.RangePolicy(n, space=space),
        staged.view_on(space, sizes),
        es.View(n, es.int64, space=space),
    )
    for _ in range(3):
        es.parallel_for(policy, allocate, pool, view, out)
        blocks = staged.fetch(out)
        found = blocks >= 0
        assert found.mean() > 0.4
        taken = check_apart(blocks, sizes, pool)
        usage = pool.usage()
        assert (usage.blocks, usage.capacity) == (found.sum(), pool.data.size)
        assert usage.allocated >= taken.sum()  # a larger block may have taken the place of one
        told = es.View(n, es.bool_, space=space)
        es.parallel_for(policy, deallocate, pool, out, told)
        np.testing.assert_array_equal(staged.fetch(told), found)
        assert pool.usage() == (0, 0, pool.data.size, pool.data.size // pool.superblock)
        es.parallel_for(policy, deallocate, pool, out, told)
        assert not staged.fetch(told).any()  # they are no blocks any more


def use(i, pool, rounds, wrong):
    for r in range(rounds):
        size = 1 + (7 * i + r) % 20
        at = pool.allocate(size, i)
        if at >= 0:
            for k in range(size):
                pool.data[at + k] = 1000 * i + r
            for k in range(size):
                if pool.data[at + k] != 1000 * i + r:
                    wrong[i] += 1
            if not pool.deallocate(at):
                wrong[i] += 1
        else:
            wrong[i] += 100


def test_an_owner_has_its_block_for_itself(space):
    """Many work items come and go; there is room for all that run at once."""
    n = fitting(space, 4000, 100)
    pool = es.MemoryPool(64 * n, es.int64, min_block=4, max_block=32, space=space)
    wrong = es.View(n, es.int64, space=space)
    es.parallel_for(es.RangePolicy(n, space=space), use, pool, 20, wrong)
    assert not staged.fetch(wrong).any()
    assert pool.usage().blocks == 0


def test_it_is_full_and_free_again(space):
    pool = es.MemoryPool(1024, es.float32, min_block=8, max_block=64, superblock=256, space=space)
    assert repr(pool).startswith("<MemoryPool '' float32 of 1024 elements in blocks from 8 to 64")
    n = 200
    out, told = es.View(n, es.int64, space=space), es.View(n, es.bool_, space=space)
    policy = es.RangePolicy(n, space=space)
    for size, most in ((8, 128), (64, 16), (33, 16), (1, 128)):
        sizes = staged.view_on(space, np.full(n, size))
        es.parallel_for(policy, allocate, pool, sizes, out)
        blocks = staged.fetch(out)
        assert (blocks >= 0).sum() == most
        assert len(set(blocks[blocks >= 0].tolist())) == most
        assert pool.usage() == (most, 1024, 1024, 0)
        es.parallel_for(policy, deallocate, pool, out, told)
        assert staged.fetch(told).sum() == most
    es.parallel_for(policy, allocate, pool, sizes, out)
    pool.reset()
    assert pool.usage() == (0, 0, 1024, 4)
    for size in (0, -3, 65, 10**9):
        es.parallel_for(policy, allocate, pool, staged.view_on(space, np.full(n, size)), out)
        assert (staged.fetch(out) == -1).all()


def do(i, pool, what, sizes, out):
    """Step by step: allocate, or give back what the step of that number has allocated."""
    for k in range(len(what)):
        if what[k] < 0:
            out[k] = pool.allocate(sizes[k])
        elif out[what[k]] >= 0:
            pool.deallocate(out[what[k]])
            out[what[k]] = -2


@some
@given(data=st.data())
def test_any_sequence_of_steps(space, data):
    what, sizes, open_steps = [], [], []
    for k in range(data.draw(st.integers(1, 40))):
        if open_steps and data.draw(st.integers(0, 2)) == 0:
            what.append(open_steps.pop(data.draw(st.integers(0, len(open_steps) - 1))))
        else:
            what.append(-1)
            open_steps.append(k)
        sizes.append(data.draw(st.integers(1, 32)))
    pool = es.MemoryPool(256, es.int8, min_block=4, max_block=32, superblock=64, space=space)
    out = staged.view_on(space, np.full(len(what), -3))
    views = staged.view_on(space, np.array(what)), staged.view_on(space, np.array(sizes))
    es.parallel_for(es.RangePolicy(1, space=space), do, pool, *views, out)
    blocks = staged.fetch(out)
    check_apart(blocks, np.array(sizes), pool)
    assert pool.usage().blocks == (blocks >= 0).sum()
    if sum(block_of(s, 4) for s, w in zip(sizes, what, strict=True) if w < 0) <= 32:
        assert (blocks[np.array(what) < 0] != -1).all()  # there was room all the time


def test_what_is_refused(space):
    for options, message in (
        ({"min_block": 3}, "min_block is 3; expected a power of two, such as 4"),
        ({"max_block": 48}, "max_block is 48; expected a power of two"),
        ({"superblock": 100}, "superblock is 100; expected a power of two"),
        ({"min_block": 8, "max_block": 4}, "expected that none is less than the one before"),
        ({"max_block": 128, "superblock": 64}, "expected that none is less than the one before"),
        ({"min_block": 0}, "min_block is 0; expected an integer from 1"),
        ({"min_block": 1, "superblock": 2**30}, "which is more than 8388608 blocks"),
    ):
        with pytest.raises(es.ViewError, match=message):
            es.MemoryPool(1000, space=space, **options)
    with pytest.raises(es.ViewError, match="total is 0; expected an integer from 1"):
        es.MemoryPool(0, space=space)
    pool = es.MemoryPool(1000, space=space)
    with pytest.raises(es.ReadOnlyError, match="attribute 'data' is read-only"):
        pool.data = None
