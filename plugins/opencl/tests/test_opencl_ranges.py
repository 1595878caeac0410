"""Ranges of several dimensions with the mapping of GPUs, on whatever device there is.

The conformance kit tests each space as it is; a processor's does contiguous parts. Here the same
tests run with work-groups and numbered calls.
"""

from __future__ import annotations

import pytest

import execspace as es
from execspace_testing.suite.mdrange import test_mappings as kit

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


def test_a_tile_beyond_what_a_group_can_be(flat_opencl):
    A, B = (es.View((100, 100), space=flat_opencl, layout="right") for _ in range(2))
    policy = es.MDRangePolicy((1, 1), (99, 99), tile=(512, 512), space=flat_opencl)
    with pytest.raises(es.PolicyError, match=r"tile \(512, 512\) has 262144 elements"):
        es.parallel_for(policy, kit.five_points, A, B)
