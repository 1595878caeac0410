"""Packs of neighbouring elements: which accesses have them, and what is left to single ones."""

from __future__ import annotations

import math

import pytest
from cfamily_cases import text

import execspace as es
from execspace_compiler import ir
from execspace_compiler.mapping.loops import index_order
from execspace_compiler.passes.contiguous import contiguous_body
from execspace_compiler.passes.packing import packings_of


def scaled(i, a, x, y):
    y[i] += a * x[i]


def stored_sometimes(i, a, x, y):
    if x[i] > a:
        y[i] = x[i]


def read_sometimes(i, a, x, y):
    y[i] = x[i] if i > 7 else y[i]


def stored_after_leaving(i, a, x, y):
    if x[i] > a:
        return
    y[i] = x[i]


def neighbours(i, a, x, y):
    y[i] = x[i - 1] + x[i] + x[i + 1]


def read_elsewhere_too(i, a, x, y):
    y[i] = x[i] + y[i + 1]


def scattered(i, a, x, y):
    y[i] = x[i]
    x[i + 1] = 0


def with_a_loop(i, a, x, y):
    for k in range(3):
        y[i] = x[i] + k


def moved(i, a, x, y):
    i = i + 1
    y[i] = x[i]


def large(i, a, x, y):
    y[i] = (
        math.sqrt(x[i]) + 1 - 2 + 3 - 4 + 5 - 6 + 7 - 8 + 9 - 10 + 11 - 12 + 13 - 14 + 15 - 16 + 17
        - 18 + 19 - 20 + 21 - 22 + 23 - 24 + 25 - 26 + 27 - 28 + 29 - 30 + 31 - 32 + 33 - 34 + 35
        - 36 + 37 - 38 + 39 - 40 + 41 - 42 + 43 - 44 + 45 - 46 + 47 - 48 + 49 - 50 + 51 - 52 + 53
    )  # fmt: skip


def packings(kernel, *types, rank=1, **options):
    lowered = text(kernel, *types, rank=rank, **options).lowered
    order = index_order(lowered.body, lowered.spec)
    return packings_of(lowered, order[-1], contiguous_body(lowered))


def packs(kernel, x="float32[1]", y="float32[1]"):
    """Name of each View that has packs -> whether they are loaded, and stored."""
    found = packings(kernel, float, x, y)
    return {} if found is None else {p.view.name: (p.loaded, p.stored) for p in found.rows.packs}


BOTH, LOADED, STORED = (True, True), (True, False), (False, True)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (scaled, {"x": LOADED, "y": BOTH}),
        (stored_sometimes, {"x": LOADED}),
        (read_sometimes, {"y": BOTH}),
        (stored_after_leaving, {"x": LOADED}),
        (neighbours, {"x": LOADED, "y": STORED}),
        (read_elsewhere_too, {"x": LOADED}),
        (scattered, {"y": STORED}),
        (with_a_loop, {}),
        (moved, {}),
        (large, {}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_each_call_accesses_has_packs(kernel, expected):
    """Elements that only some calls read may not exist, and others belong to somebody else."""
    assert packs(kernel) == expected


@pytest.mark.parametrize(
    ("x", "y", "count"),
    [
        ("int8[1]", "int8[1]", 16), ("int16[1]", "float16[1]", 8), ("int8[1]", "float32[1]", 4),
        ("bfloat16[1]", "bfloat16[1]", 8), ("float8_e5m2[1]", "float8_e4m3fn[1]", 16),
        ("float64[1]", "int8[1]", None), ("complex64[1]", "complex64[1]", None),
        ("float32[1,stride]", "float32[1,stride]", None),
    ],
)  # fmt: skip
def test_the_widest_elements_are_moved_16_bytes_at_a_time(x, y, count):
    found = packings(stored_sometimes if "complex" not in x else copied, float, x, y)
    assert (found and found.rows.count) == count


def tripled_sometimes(i, a, x, y):
    if x[i] > a:
        x[i] = x[i] * 3


@pytest.mark.parametrize("dtype", ["int16", "float32", "bfloat16"])
def test_what_is_stored_twice_is_computed_once(dtype):
    """In a pack and in the View, where the value is computed from the pack."""
    found = packings(tripled_sometimes, float, f"{dtype}[1]", f"{dtype}[1]").rows
    stores = [s for s in ir.walk_statements(found.body.body) if isinstance(s, ir.Store)]
    assert len(stores) == 2
    assert stores[0].value == stores[1].value
    assert isinstance(stores[0].value, ir.Var)
    assert stores[0].value.name in found.body.locals


def copied(i, a, x, y):
    y[i] = x[i]


def rows(i, j, x, y):
    y[i, j] = x[i + 1, j] + x[i, j] + x[j, i]


def test_rows_of_a_view_have_packs_of_their_own():
    views = ("float32[2]",) * 2
    found = packings(rows, *views, rank=2)
    assert [", ".join(map(str, p.indices)) for p in found.rows.packs] == [
        "add:int64(i, 1:int64), j", "i, j", "i, j",
    ]  # fmt: skip
    assert [p.view.name for p in found.rows.packs] == ["x", "x", "y"]
    assert packings(rows, "float32[2,left]", "float32[2,left]", rank=2).rows.index == "i"


def total(i, x):
    return x[i]


def prefix(i, before, final, x):
    return x[i]


def test_a_reduction_reads_16_bytes_at_a_time():
    assert packings(total, "float64[1]", pattern="reduce", reducer=es.Sum).rows.count == 2
    assert packings(total, "int8[1]", pattern="reduce", reducer=es.Max).rows.count == 16
    assert packings(prefix, "int8[1]", pattern="scan", reducer=es.Sum) is None


def test_options_of_the_policy_leave_no_packs():
    views = ("int8[2]",) * 2
    assert packings(rows, *views, rank=2, items_per_thread=(1, 2)) is None
    assert packings(rows, *views, rank=2, tiled=True) is None


def test_elements_beside_that_of_a_call_come_from_its_pack():
    """Where they are in it: the place is a constant in the text of each call."""
    body = packings(neighbours, float, "float32[1]", "float32[1]").rows.body
    choices = [e for e in ir.walk_expressions(body.body) if isinstance(e, ir.Select)]
    assert sorted(str(e.then) for e in choices) == [
        "_pack0_x[add:int64(_place, -1:int64)]", "_pack0_x[add:int64(_place, 1:int64)]",
    ]  # fmt: skip
    assert sorted(str(e.orelse.view) for e in choices) == ["x", "x"]
