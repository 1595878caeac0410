"""In which order a host of one thread goes through tiles, and through the indices of one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import execspace as es

UPPER, TILE = (4, 6, 5), (2, 3, 2)


@es.kernel
def number(i, j, k, counter, at):
    at[i, j, k] = es.atomic_fetch_add(counter, 0, 1)


def went(**options):
    """Index tuples in the order of their calls."""
    counter, at = np.zeros(1, np.int64), np.full(UPPER, -1)
    es.parallel_for(es.MDRangePolicy(UPPER, space="serial", **options), number, counter, at)
    places = np.argsort(at, axis=None)
    assert (at.ravel()[places] == np.arange(at.size)).all()
    return [tuple(map(int, np.unravel_index(p, UPPER))) for p in places]


def ordered(order, ranges):
    """Tuples of ranges, the last one or the first one fastest."""
    if order == "right":
        return list(itertools.product(*ranges))
    return [t[::-1] for t in itertools.product(*ranges[::-1])]


def expected(outer, inner):
    starts = [range(0, n, t) for n, t in zip(UPPER, TILE, strict=True)]
    found = []
    for start in ordered(outer, starts):
        inside = [
            range(a, min(a + t, n)) for a, t, n in zip(start, TILE, UPPER, strict=True)
        ]  # fmt: skip
        found += ordered(inner, inside)
    return found


@pytest.mark.parametrize("inner", ["left", "right"])
@pytest.mark.parametrize("outer", ["left", "right"])
def test_tiles_and_indices_have_orders_of_their_own(outer, inner):
    assert went(tile=TILE, iterate=(outer, inner)) == expected(outer, inner)


@pytest.mark.parametrize("order", ["left", "right"])
def test_one_word_is_for_both(order):
    assert went(tile=TILE, iterate=order) == expected(order, order)
    assert went(tile=TILE, iterate=("auto", order)) == expected(order, order)


@pytest.mark.parametrize("order", ["left", "right"])
def test_without_tiles_the_order_within_one_counts(order):
    other = "left" if order == "right" else "right"
    whole = ordered(order, [range(n) for n in UPPER])
    assert went(iterate=(other, order)) == went(iterate=order) == whole


def test_the_text_of_one_word_is_that_of_a_pair_of_it():
    counter, at = np.zeros(1, np.int64), np.full(UPPER, -1)

    def text(iterate):
        policy = es.MDRangePolicy(UPPER, tile=TILE, iterate=iterate, space="serial")
        return es.explain(policy, number, counter, at).source

    assert text("left") == text(("left", "left")) != text(("right", "left"))


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_explain_tells_both_orders(host):
    counter, at = np.zeros(1, np.int64), np.full(UPPER, -1)

    def told(**options):
        policy = es.MDRangePolicy(UPPER, iterate=("left", "right"), space=host, **options)
        return es.explain(policy, number, counter, at).mapping

    line = "from tile to tile: dimension 0 is the fastest, iterate=('left', 'right') of the policy"
    assert line in told(tile=TILE)
    assert "iterate=('left', 'right'): nothing is tiled, so only 'right' has an effect" in told()
