"""float16 in LLVM IR: the conversions that are functions in IR, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from llvm_runs import function, machine, optimised

from execspace_compiler.codegen.llvm.library import LIBRARY
from execspace_compiler.codegen.llvm.spelling import FLOATS, float_constant

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)

LOOP = """
define void @run(ptr noalias %to, ptr noalias %x, i64 %n) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %p = getelementptr {0}, ptr %x, i64 %i
  %v = load {0}, ptr %p
  %r = call {1} @{2}({0} %v)
  %q = getelementptr {1}, ptr %to, i64 %i
  store {1} %r, ptr %q
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %next, label %end
end:
  ret void
}}"""


def loop(name, source, to):
    text = LIBRARY[name][0] + LOOP.format(FLOATS[source], FLOATS[to], name)
    return optimised(text, machine(())), to


def converted(name, source, to, x):
    """What a function gives for each number, on a processor without conversions."""
    module, _ = loop(name, source, to)
    found = np.empty(len(x), to)
    function(module, machine(()), "run", ("ptr", "ptr", "i64"))(found, x, len(x))
    return found


def same(found, expected):
    """Equal to the bit, but for which NaN a NaN is."""
    bits = f"u{found.itemsize}"
    both = np.isnan(found) & np.isnan(expected)
    return bool((both | (found.view(bits) == expected.view(bits))).all())


def test_every_float16_is_widened():
    found = converted("half.widened", "float16", "float32", EVERY)
    assert same(found, EVERY.astype(np.float32))


def float32_numbers():
    """Half-way between any two neighbours in float16, what is next to that, and any others."""
    finite = np.append(EVERY[:0x7C00].astype(np.float32), np.float32(65536))
    middle = (finite[1:] + finite[:-1]) / 2
    infinity = np.float32(np.inf)
    near = [middle, np.nextafter(middle, -infinity), np.nextafter(middle, infinity)]
    steps = np.arange(0, 2**32, 4099, dtype=np.uint32).view(np.float32)
    known = np.array([0, 1e-45, 2.0**-25, 2.0**-14, 65520, 3e38, np.inf, np.nan], np.float32)
    positive = np.concatenate([finite, *near, steps, known])
    return np.concatenate([positive, -positive])


def test_float32_is_rounded():
    x = float32_numbers()
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    assert same(converted("half.rounded", "float32", "float16", x), expected)


def test_float64_by_way_of_float32_is_rounded_once():
    known = np.array([5e-324, 1e-300, 1e300, 2.0**-149, -(2.0**-127)])
    with np.errstate(all="ignore"):
        x = float32_numbers().astype(np.float64)
        near = [np.nextafter(x, 0), np.nextafter(x, np.inf), x * (1 + 2.0**-26), x * (1 - 2.0**-30)]
        x = np.concatenate([x, *near, known])
        odd = converted("half.odd", "float64", "float32", x)
        once, twice = x.astype(np.float16), x.astype(np.float32).astype(np.float16)
        assert same(odd.astype(np.float16), once)
    assert not same(twice, once)


@pytest.mark.parametrize(
    ("name", "source", "to"),
    [
        ("half.widened", "float16", "float32"), ("half.rounded", "float32", "float16"),
        ("half.odd", "float64", "float32"),
    ],
)  # fmt: skip
def test_they_are_vectorised_and_call_nothing(name, source, to):
    module, _ = loop(name, source, to)
    assert "store <" in str(module)
    assert "call" not in machine(()).emit_assembly(module)


def test_constants_beyond_float16_are_infinite():
    assert float_constant(1e5, "float16") == "0xH7C00"
    assert float_constant(-65520.0, "float16") == "0xHFC00"
    assert float_constant(65519.999, "float16") == "0xH7BFF"
    assert float_constant(float("nan"), "float16") == "0xH7E00"
