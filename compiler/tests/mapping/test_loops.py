"""Divisions of the flat mapping by multiplication: what the host computes, and what kernels do."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from execspace_compiler.mapping.loops import scale

BELOW = (1 << 31) - 1


def divided(u, n):
    """As generated source does it, in numbers of 32 and 64 bits."""
    factor, shift = scale(n)
    assert 0 <= factor < 1 << 32
    assert 0 <= shift < 32
    return ((2 * u * factor) >> 32) >> shift


@settings(max_examples=2000)
@given(st.integers(0, BELOW), st.integers(1, BELOW))
@example(BELOW, 1)
@example(BELOW, 2)
@example(BELOW, 3)
@example(BELOW, BELOW)
@example(BELOW - 1, BELOW)
@example(0, 7)
def test_multiplication_divides(u, n):
    assert divided(u, n) == u // n


@settings(max_examples=500)
@given(st.integers(1, BELOW), st.integers(0, BELOW))
def test_around_multiples_of_the_divisor(n, k):
    multiple = k % (BELOW // n + 1) * n
    for u in (multiple - 1, multiple, multiple + 1):
        if 0 <= u <= BELOW:
            assert divided(u, n) == u // n


def test_all_small_divisors_at_the_end_of_the_range():
    assert all(divided(BELOW - k, n) == (BELOW - k) // n for n in range(1, 5000) for k in (0, 1, n))
