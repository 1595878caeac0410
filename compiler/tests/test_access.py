"""Which kernels a GPU goes through in blocks: those that read neighbours in a slower dimension."""

from __future__ import annotations

import pytest
from cfamily_cases import text

from execspace_compiler.access import block_of


def five_points(i, j, A, B):
    A[i, j] = B[i + 1, j] + B[i - 1, j] + B[i, j + 1] + B[i, j - 1] + B[i, j]


def along_a_row(i, j, A, B):
    A[i, j] = B[i, j + 1] - B[i, j - 1]


def across_rows(i, j, A, B):
    A[i, j] = B[1 + i, j] - B[i, j]


def elementwise(i, j, A, B):
    A[i, j] += 2 * B[i, j]


def transposed(i, j, A, B):
    A[i, j] = B[j, i]


def through_a_variable(i, j, A, B):
    i = i + 1
    A[i, j] = B[i, j] + B[i - 1, j]


def gathered(i, j, A, B):
    A[i, j] = B[2 * i, j] + B[3 * i, j]


def seven_points(i, j, k, A, B):
    A[i, j, k] = B[i + 1, j, k] + B[i, j + 1, k] + B[i, j, k + 1] + B[i, j, k]


def found(kernel, rank=2, layout="right", **options):
    view = f"float64[{rank},{layout}]" if layout != "right" else f"float64[{rank}]"
    made = text(kernel, view, view, rank=rank, **options)
    return block_of(made.lowered, made.order)


def test_a_stencil_gets_a_block_with_the_fastest_dimension_longest():
    assert found(five_points) == (4, 64)
    assert found(five_points, layout="left") == (64, 4)
    assert found(across_rows) == (4, 64)
    assert found(seven_points, rank=3) == (1, 2, 64)


@pytest.mark.parametrize("kernel", [along_a_row, elementwise, transposed, gathered])
def test_others_are_walked_flat(kernel):
    assert found(kernel) is None


def test_an_index_that_is_changed_says_nothing():
    assert found(through_a_variable) is None


def test_a_tile_of_the_users_is_honoured():
    assert found(five_points, tiled=True) is None
