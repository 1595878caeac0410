"""All texts of a launch take the same record of arguments: the host packs it once, for any text."""

from __future__ import annotations

import itertools
import re
import struct

import pytest
from cfamily_cases import F3, L3, moved, scaled5, stencil, text

from execspace_compiler.codegen.cfamily.cuda import CUDA


def strided(i, j, a, x, y, n):
    x[i, j] = a * y[j, i] + n


LAUNCHES = {
    "right": (stencil, F3, {"rank": 3}),
    "left": (stencil, L3, {"rank": 3}),
    "blocks": (stencil, F3, {"rank": 3, "blocks": True}),
    "many blocks": (
        scaled5, ("float64[5]",), {"rank": 5, "items_per_thread": (2,), "blocks": True}
    ),
    "records": (moved, ("PARTICLE[1,stride]",), {}),
    "strides": (
        strided, (float, "float32[2,stride]", "float64[2]", bool), {"rank": 2},
    ),
}  # fmt: skip
VARIANTS = list(itertools.product([True, False], repeat=3))


def variant(case, narrow, disjoint, small, contiguous=False):
    kernel, arguments, options = LAUNCHES[case]
    return text(
        kernel, *arguments, **options, narrow=narrow, disjoint=disjoint, small=small, scaled=True,
        contiguous=contiguous, dialect=CUDA,
    )  # fmt: skip


@pytest.mark.parametrize("case", LAUNCHES)
def test_variants_have_the_same_fields(case):
    entries = [variant(case, *flags).entry for flags in VARIANTS]
    if "blocks" not in case:
        entries.append(variant(case, True, True, True, contiguous=True).entry)
    assert all(e.fields == entries[0].fields for e in entries)
    assert all(e.format == entries[0].format for e in entries)
    scaled = case in ("right", "left", "strides")
    assert any(f.what == "scale" for f in entries[0].fields) == scaled


@pytest.mark.parametrize("case", LAUNCHES)
@pytest.mark.parametrize("flags", VARIANTS)
def test_fields_lie_where_the_host_packs_them(case, flags, build_cuda):
    """As the compiler of the device lays out the struct."""
    found = variant(case, *flags)
    place = 0
    checks = []
    codes = re.findall(r"[a-zA-Z]", found.entry.format.rstrip("x").lstrip("="))
    for field, code in zip(found.entry.fields, codes, strict=False):
        checks.append(f"static_assert(__builtin_offsetof(_args, {field.name}) == {place});")
        place += struct.calcsize(f"={code}")
    size = struct.calcsize(found.entry.format)
    checks.append(f"static_assert(sizeof(_args) <= {size} && sizeof(_args) > {size - 8});")
    build_cuda(found.source + "\n".join(checks))
