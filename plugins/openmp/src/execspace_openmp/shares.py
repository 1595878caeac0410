"""How threads are shared out by weights: whole ones, by the largest remainder, each part some."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def shares_of(weights: Sequence[float], threads: int) -> list[int]:
    """Whole numbers of at least one, in the proportions of weights, whose sum is `threads`.

    Parameters
    ----------
    weights : sequence of float
        Positive and finite, at most `threads` of them.
    threads : int

    Notes
    -----
    https://en.wikipedia.org/wiki/Largest_remainder_method (Hare's quota). A part that would get
    nothing takes a thread from the one that is furthest above its share; of equals the first.
    """
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    ideal = [w * threads / total for w in exact]
    shares = [int(share) for share in ideal]
    parts = range(len(shares))
    by_remainder = sorted(parts, key=lambda n: shares[n] - ideal[n])
    for n in by_remainder[: threads - sum(shares)]:
        shares[n] += 1
    for n in parts:
        if not shares[n]:
            richest = max((m for m in parts if shares[m] > 1), key=lambda m: shares[m] - ideal[m])
            shares[richest] -= 1
            shares[n] = 1
    return shares
