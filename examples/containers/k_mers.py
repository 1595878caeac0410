"""How often each run of k letters occurs in a text of four letters, as in genomes.

A run is a number of two bits for each letter, and that number is a key. Every place of the text
adds 1 to the value of its key. Letters that are none of the four are reported.

    python examples/containers/k_mers.py --length 1000000 --k 12
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import execspace as es

LETTERS = "ACGT"


@es.kernel
def encode(i, text, codes, errors):
    """Two bits for each letter; another letter is a fault."""
    codes[i] = 0
    known = False
    for code, letter in enumerate((65, 67, 71, 84)):
        if text[i] == letter:
            codes[i] = code
            known = True
    if not known:
        errors.add_report(i, text[i])


@es.kernel
def count(i, codes, k, counts):
    """Add 1 to the run that begins here."""
    run = es.uint64(0)
    for j in range(k):
        run = (run << 2) | es.uint64(codes[i + j])
    counts.insert(run, 1, "add")


def letters(run: int, k: int) -> str:
    """The run that a number stands for."""
    return "".join(LETTERS[run >> 2 * (k - 1 - j) & 3] for j in range(k))


def k_mers(text: str, k: int) -> dict[str, int]:
    """Each run of `k` letters of a text, and how often it occurs."""
    n = len(text)
    letters_on_space = es.array(np.frombuffer(text.encode(), np.uint8), label="text")
    codes, errors = es.View(n, es.uint8, label="codes"), es.ErrorReporter(10, es.uint8)
    es.parallel_for(n, encode, letters_on_space, codes, errors)
    if errors.num_reports():
        places, found = errors.get_reports()
        shown = ", ".join(f"{chr(x)!r} at {p}" for p, x in sorted(zip(places, found, strict=True)))
        raise ValueError(f"{errors.num_report_attempts()} letters are none of {LETTERS}: {shown}")
    counts = es.UnorderedMap(min(n, 4**k), es.uint64, es.int32)
    es.parallel_for(n - k + 1, count, codes, k, counts)
    assert not counts.failed_insert()
    runs, numbers = counts.items()
    pairs = zip(runs.to_numpy().tolist(), numbers.to_numpy().tolist(), strict=True)
    return {letters(run, k): number for run, number in pairs}


def run(length: int = 5000, k: int = 6, seed: int = 1) -> dict[str, int]:
    """Count the runs of a random text, and compare with Python's own count."""
    text = "".join(np.random.default_rng(seed).choice(list(LETTERS), length))
    found = k_mers(text, k)
    assert found == Counter(text[i : i + k] for i in range(length - k + 1))
    assert found == k_mers(text.lower().upper(), k)  # another run of threads, the same counts
    return {"different runs": len(found), "most frequent": max(found.values())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=5000)
    parser.add_argument("--k", type=int, default=6)
    given = parser.parse_args()
    for name, number in run(given.length, given.k).items():
        print(f"{name}: {number}")
