"""What a kernel does with its Views: the pattern decides between a flat walk and one in blocks."""

from __future__ import annotations

import pytest
from cfamily_cases import GPU, text

import execspace as es
from execspace_compiler.analysis.access import access_of
from execspace_compiler.mapping.thread_blocks import blocks_of


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


def multiples(i, j, A, B):
    A[i, j] = B[2 * i, j] + B[3 * i, j]


def outer_product(i, j, A, B):
    A[i, j] = B[i, 0] * B[0, j]


def gathered(i, j, A, B):
    A[i, j] = B[int(B[i, j]), j]


def through_a_loaded_index(i, j, A, B):
    place = int(B[i, j])
    A[place, j] = 1.0


def seven_points(i, j, k, A, B):
    A[i, j, k] = B[i + 1, j, k] + B[i, j + 1, k] + B[i, j, k + 1] + B[i, j, k]


def moved_axes(i, j, k, A, B):
    A[i, j, k] = B[k, j, i]


def large(i, j, A, B):
    total = 0.0
    for n in range(8):
        total += B[i + 1, j] * n - B[i, j]
    A[i, j] = total


def found(kernel, rank=2, layouts=("right", "right"), **options):
    views = [f"float64[{rank},{lay}]" if lay != "right" else f"float64[{rank}]" for lay in layouts]
    return text(kernel, *views, rank=rank, **options)


def pattern(*args, **options):
    made = found(*args, **options)
    return access_of(made.lowered.body, made.order).pattern


def blocks(*args, **options):
    return blocks_of(found(*args, **options).lowered, GPU)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (five_points, "stencil"),
        (across_rows, "stencil"),
        (along_a_row, "stream"),
        (elementwise, "stream"),
        (outer_product, "stream"),
        (multiples, "stream"),
        (through_a_variable, "stream"),
        (transposed, "transpose"),
        (gathered, "gather"),
        (through_a_loaded_index, "gather"),
    ],
)
def test_patterns(kernel, expected):
    assert pattern(kernel) == expected


def test_layouts_that_differ_make_a_transpose():
    assert pattern(elementwise, layouts=("right", "left")) == "transpose"
    assert pattern(elementwise, layouts=("left", "left")) == "stream"
    assert pattern(elementwise, layouts=("left", "left"), iterate="right") == "transpose"


def test_the_fastest_dimension_lies_along_x():
    assert blocks(five_points).dims == (1, 0)
    assert blocks(five_points, layouts=("left", "left")).dims == (0, 1)
    assert blocks(seven_points, rank=3).dims == (2, 1, 0)


def test_the_other_fast_dimension_of_a_transpose_lies_along_y():
    gpu = type(GPU)("wide", {"transpose": {3: (8, 32, 1)}})
    made = found(moved_axes, rank=3)
    assert blocks_of(made.lowered, gpu).dims == (2, 0, 1)
    made = found(
        moved_axes, rank=3, items_per_thread=(2,)
    )  # next to the fastest, whatever lies along y
    assert blocks_of(made.lowered, gpu).items_per_thread == (1, 2, 1)


def test_calls_of_a_thread_come_from_the_table_or_from_the_policy():
    assert blocks(five_points).items_per_thread == (2, 1)
    assert blocks(seven_points, rank=3).items_per_thread == (2, 1, 1)
    assert blocks(five_points, items_per_thread=(1, 4)).items_per_thread == (1, 4)
    assert blocks(five_points, items_per_thread=(3,)).items_per_thread == (3, 1)
    assert blocks(five_points, tiled=True).items_per_thread == (1, 1)
    assert blocks(five_points, tiled=True, items_per_thread=(4,)).items_per_thread == (4, 1)


def test_a_large_body_is_not_repeated_unasked():
    assert blocks(large).items_per_thread == (1, 1)
    assert blocks(large, items_per_thread=(2,)).items_per_thread == (2, 1)


def test_streams_are_flat_unless_asked_otherwise():
    assert blocks(elementwise) is None
    assert blocks(elementwise, tiled=True) is not None
    assert blocks(elementwise, items_per_thread=(2,)) is not None


def sum_of_neighbours(i, j, A):
    return A[i + 1, j] + A[i, j]


def test_a_reduction_is_flat():
    made = text(sum_of_neighbours, "float64[2]", rank=2, pattern="reduce", reducer=es.Sum)
    assert access_of(made.lowered.body, made.order).pattern == "stencil"
    assert blocks_of(made.lowered, GPU) is None
