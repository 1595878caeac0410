"""Bitonic sort of keys with values.

A sorting network: which places are compared, and in which order, does not depend on what they hold.
Runs of 2, 4, 8 and more elements are sorted, every other one downwards, by merges of pairs that are
half a run apart, a quarter, and so on to neighbours (Batcher, "Sorting networks and their
applications", AFIPS Spring Joint Computer Conference, 1968). Pairs of a step have no element in
common, so a step is a launch.

    python examples/programs/bitonic_sort.py --log2 20
"""

import argparse

import numpy as np

import execspace as es

SMALL = {"log2": 6}


@es.kernel
def compare_and_exchange(pair, keys, values, length, apart):
    """Put two elements into the order that their run is sorted in."""
    low = 2 * pair - pair % apart  # pairs are counted in blocks of `apart`
    high = low + apart
    a, b = keys[low], keys[high]
    v, w = values[low], values[high]
    descends = a > b or (a == b and v > w)
    upwards = (low & length) == 0
    if descends == upwards:
        keys[low], keys[high] = b, a
        values[low], values[high] = w, v


def sort(keys: es.View, values: es.View) -> None:
    """Sort a power of two of keys, in place, with a value each; equal keys by their values."""
    n = len(keys)
    length = 2  # of the runs
    while length <= n:
        apart = length // 2
        while apart > 0:
            es.parallel_for(n // 2, compare_and_exchange, keys, values, length, apart)
            apart //= 2
        length *= 2


def run(log2: int = 18, seed: int = 1) -> dict[str, float]:
    """Sort 2 to the power of `log2` random integers, with their places as values."""
    n = 2**log2
    keys = es.empty(n, es.int32, label="keys")
    es.fill_random(keys, seed, 0, n)  # about a third of these numbers do not occur, others often
    places = es.arange(n, label="places")
    given = keys.to_numpy()

    sort(keys, places)

    # Equal keys have places in ascending order, which is to say that the sort is a stable one.
    assert np.array_equal(keys.to_numpy(), np.sort(given))
    assert np.array_equal(places.to_numpy(), np.argsort(given, kind="stable"))
    return {
        "numbers": float(n),
        "steps": log2 * (log2 + 1) / 2,
        "distinct keys": float(len(np.unique(given))),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2", type=int, default=18, help="logarithm of how many numbers")
    options = parser.parse_args()
    for name, value in run(options.log2).items():
        print(f"{name:<14} {value:.0f}")
