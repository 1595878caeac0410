"""What compilers of OpenCL drivers get wrong if the text of a kernel lets them.

The conformance kit has all of these tests; here are those that some driver has failed.
"""

from __future__ import annotations

import pytest

from execspace_testing.suite.language import test_integer_limits as integers
from execspace_testing.suite.language import test_loop_order as loops
from execspace_testing.suite.language import test_zeros as zeros


@pytest.mark.parametrize(
    "kernel",
    [loops.bins_of_data, loops.in_a_branch, loops.while_loop, loops.loop_in_a_function],
    ids=lambda k: k.__name__,
)
def test_loops_that_come_back_to_an_element_are_not_vectorised(opencl, kernel):
    loops.test_rounds_see_what_earlier_ones_stored(opencl, kernel, "int32")


def test_counts_of_an_array_reduction_are_not_lost(opencl):
    loops.test_array_reductions_too(opencl, "float64", "range")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_take_the_right_zero_and_nan(opencl, dtype):
    zeros.test_numpys_extremes_are_the_same_on_each_space(opencl, dtype)
    zeros.test_a_choice_from_a_choice_is_both(opencl, dtype)


def test_the_least_of_three_knows_signs(opencl):
    integers.test_the_least_of_three_knows_signs(opencl, "int32")
