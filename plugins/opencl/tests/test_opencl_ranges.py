"""Ranges of several dimensions with the mapping of GPUs, on whatever device there is.

The conformance kit tests each space as it is; a processor's does contiguous parts. Here the same
tests run with work-groups and numbered calls.
"""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned
from execspace.tuning import Choice
from execspace_opencl.launch import OpenCLLaunch
from execspace_testing import staged
from execspace_testing.suite.atomics import test_small_sums as sums
from execspace_testing.suite.mdrange import test_large_tiles as large
from execspace_testing.suite.mdrange import test_mappings as kit
from execspace_testing.suite.mdrange import test_packed_stencils as packed

CASES = {
    "stencils, right": (kit.test_stencils_of_any_extents, "right"),
    "stencils, left": (kit.test_stencils_of_any_extents, "left"),
    "an empty range": (kit.test_a_stencil_over_no_points,),
    "calls of a thread": (kit.test_options_change_no_result, {"items_per_thread": (3, 2)}),
    "a tile and calls": (
        kit.test_options_change_no_result,
        {"tile": (8, 4), "items_per_thread": (1, 4)},
    ),
    "more tiles than a grid has": (kit.test_more_tiles_than_a_grid_has_blocks, "left"),
    "rank 1": (kit.test_calls_of_a_thread_in_one_dimension,),
    "transposes": (kit.test_transposes, ("left", "right")),
    "whole Views, right": (kit.test_whole_views_and_parts_of_them, "right"),
    "whole Views, left": (kit.test_whole_views_and_parts_of_them, "left"),
    "large tiles, rank 1": (large.test_each_index_is_visited_once_whatever_the_tile, 1),
    "large tiles, rank 3": (large.test_each_index_is_visited_once_whatever_the_tile, 3),
    "large tiles, rank 4": (large.test_also_with_several_calls_of_a_thread, 4),
    "sums over large tiles": (large.test_sums_over_large_tiles, large.total1, (500,), (10**12,)),
    "packs in rows of blocks": (packed.test_rows_of_several_blocks, "float32", 2100),
    "packs in other rows": (packed.test_rows_of_several_blocks, "int8", 2103),
    "packs in three dimensions": (packed.test_three_dimensions_of_either_layout, "float32", "F"),
    "packs of halves of a View": (packed.test_two_halves_of_a_view, "float32"),
    "packs below zero": (packed.test_ranges_that_begin_below_zero, "float32"),
    "packs and one View twice": (packed.test_one_view_as_two_arguments, "int16"),
    "packs and narrow subscripts": (packed.test_subscripts_of_a_narrow_type, "float32"),
    "sums in copies": (sums.test_sums_by_key, 20_000, "float32", 10),
    "sums in rows of a View": (sums.test_ranges_and_views_of_two_dimensions, "F"),
    "launch bounds": (kit.test_launch_bounds_of_a_range_and_of_a_reduction,),
}


@pytest.mark.parametrize("case", CASES)
def test_the_mapping_of_gpus(flat_opencl, case):
    test, *arguments = CASES[case]
    test(flat_opencl, *arguments)


def test_stencils_run_in_work_groups(flat_opencl):
    A, B = (es.View((100, 100), space=flat_opencl, layout="right") for _ in range(2))
    policy = es.MDRangePolicy((1, 1), (99, 99), space=flat_opencl)
    told = es.explain(policy, kit.five_points, A, B).mapping
    assert told[0].startswith("blocks of 128 x 2 x 1 threads (x: dimension 1, y: dimension 0)")
    assert "stencil: neighbours along dimension 0 of 'B' are read" in told[1]
    flat = es.explain(
        es.MDRangePolicy((5, 5, 5), space=flat_opencl),
        kit.added,
        1.0,
        *(es.View((5, 5, 5), space=flat_opencl) for _ in range(2)),
    ).mapping
    assert flat[0].startswith("flat: one call a thread")


def test_explain_tells_of_packs_and_of_copies(flat_opencl):
    A, B = (es.View((100, 100), es.float32, space=flat_opencl, layout="right") for _ in range(2))
    policy = es.MDRangePolicy((1, 1), (99, 99), space=flat_opencl)
    *_, told = es.explain(policy, kit.five_points, A, B).mapping
    assert told == (
        "packs: calls of a thread along x are neighbours, and one access of up to 16 bytes moves "
        "their elements of B and A, where all rows begin at multiples of it; else calls are a "
        "block apart"
    )
    keys, loads = (es.View(99, t, space=flat_opencl) for t in (es.int32, es.float64))
    bins = es.View(9, es.float64, space=flat_opencl)
    told = es.explain(es.RangePolicy(99, space=flat_opencl), sums.add, keys, loads, bins).mapping
    assert told[-1] == (
        "sums: calls only add to bins, so blocks add to copies, and at the end the copies to the "
        "View, if it has at most 4096 elements and the launch 16384 calls, 8 for each element"
    )


def test_a_tile_beyond_what_a_group_can_be_is_done_in_parts(flat_opencl):
    """The device of this processor has groups of 4096, GPUs of 256 to 1024."""
    A, B = (es.View((600, 600), space=flat_opencl, layout="right") for _ in range(2))
    most = flat_opencl.device.traits.limits.threads
    policy = es.MDRangePolicy((1, 1), (599, 599), tile=(512, 512), space=flat_opencl)
    told = es.explain(policy, kit.five_points, A, B).mapping
    assert told[1].startswith(
        f"tile (512, 512) has 262144 elements, one for each thread of a block, and a block here "
        f"has at most {most} threads (limit of the device): it is done in {2**18 // most} parts, "
        f"by blocks of "
    )
    kit.stencil(flat_opencl, kit.five_points, (600, 600), "right", tile=(512, 512))


@es.kernel
def ones(i, j, A):
    A[i, j] = 1


@es.kernel
def cleared(i, j, A):
    A[i, j] = 0


@es.kernel
def numbered(i, j, A):
    A[i, j] = i + j


@es.kernel
def doubled(i, j, A):
    A[i, j] = 2 * A[i, j] + 1


def limited(monkeypatch, sizes):
    """Pretend that programs need so many registers that their groups can have few work-items: the
    first program that is loaded, the second, and so on."""
    load, left = OpenCLLaunch.load, list(sizes)

    def loaded(self, code):
        program = load(self, code)
        program.most_threads = left.pop(0) if len(left) > 1 else left[0]
        return program

    monkeypatch.setattr(OpenCLLaunch, "load", loaded)


def test_a_kernel_of_many_registers_does_a_tile_in_more_parts(flat_opencl, monkeypatch):
    limited(monkeypatch, [128])
    A = es.View((100, 100), space=flat_opencl, layout="right")
    policy = es.MDRangePolicy((100, 100), tile=(16, 32), space=flat_opencl)
    told = es.explain(policy, ones, A).mapping
    most = flat_opencl.device.traits.limits.threads
    assert told[1] == (
        f"tile (16, 32) has 512 elements, one for each thread of a block, and a block here has at "
        f"most 128 threads (this kernel needs many registers; the device has up to {most}): it is "
        f"done in 4 parts, by blocks of 32 x 4 x 1 threads"
    )
    es.parallel_for(policy, ones, A)
    assert (staged.fetch(A) == 1).all()


def test_tuning_tries_no_tile_that_would_be_done_in_parts(flat_opencl, monkeypatch):
    limited(monkeypatch, [128])
    A = es.View((1000, 1000), space=flat_opencl, layout="right")
    policy = es.MDRangePolicy((1000, 1000), space=flat_opencl)
    plan = planned(policy, cleared, (A,), "for", None).plan
    tiles, *_ = flat_opencl.tuning_candidates(plan, policy.bounds)
    sizes = {prod(choice.tile) for choice in tiles(Choice())}
    assert sizes == {64, 128}


def test_a_launch_whose_program_needs_more_registers_than_the_usual_one(flat_opencl, monkeypatch):
    """With more blocks than a grid has, places have 64 bits: another program."""
    limited(monkeypatch, [256, 64])
    A = es.View((70_001, 8), space=flat_opencl)
    policy = es.MDRangePolicy((70_001, 8), tile=(1, 128), iterate="right", space=flat_opencl)
    es.parallel_for(policy, doubled, A)
    es.parallel_for(policy, doubled, A)
    assert (staged.fetch(A) == 3).all()
    (plan,) = doubled.plans.values()
    assert list(plan.device_launch._within) == [64]


@pytest.mark.parametrize("blocking", [False, True])
def test_copies_are_used_whether_launches_block_or_not(flat_opencl, monkeypatch, blocking):
    used = []

    def counted(launch, units):
        used.append(units)
        return grid_of(launch, units)

    grid_of = OpenCLLaunch.private_grid
    monkeypatch.setattr(OpenCLLaunch, "private_grid", counted)
    calls = 40_000
    keys, loads = sums.keys_and_loads("int32", 10, calls)
    bins = np.zeros(10, np.int32)
    if blocking:  # arrays of the host are read without a fence
        views = keys, loads, bins
    else:
        views = tuple(es.array(a, space=flat_opencl) for a in (keys, loads, bins))
    for n in (calls, 100):
        es.parallel_for(es.RangePolicy(n, space=flat_opencl), sums.add, *views)
    assert used == [calls]  # a hundred additions are not worth the copies
    found = bins if blocking else views[2].to_numpy()
    expected = np.bincount(keys, loads, 10) + np.bincount(keys[:100], loads[:100], 10)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("units", [1, 2**30 - 1, 2**30 + 1, 2**31 - 1])
def test_a_watched_range_has_a_work_item_for_each_call(flat_opencl, units):
    """Where each runs one call, or one pack; there are as many as fit in 31 bits."""
    A = es.View((4, 4), space=flat_opencl)
    policy = es.MDRangePolicy((4, 4), space=flat_opencl)
    launch = planned(policy, numbered, (A,), "for", None).plan.device_launch
    groups, _, _, group, _, _ = launch.grid(units)
    assert groups * group >= units
