"""Local alignment of two DNA sequences by the algorithm of Smith and Waterman.

H[i, j] is the best score of an alignment that ends with letters i and j: 3 for each pair of equal
letters, -3 for a pair of others, -2 for a letter that is left out, and never below 0 (T. F. Smith
and M. S. Waterman, Identification of common molecular subsequences, J. Mol. Biol. 147, 1981). It
follows from H[i - 1, j - 1], H[i - 1, j] and H[i, j - 1], so all elements of an anti-diagonal, with
one i + j, are computed at once. A reduction finds the greatest, from where the alignment is traced
back. All scores are compared with those of two plain loops.

    python examples/programs/smith_waterman.py --size 2000
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import execspace as es

SMALL = {"size": 30}

LETTERS = "ACGT"
EQUAL, DIFFERENT, GAP = 3, -3, -2


@es.kernel
def mutate(j, a, b, seed):
    """A copy of `a` that begins later, has lost 5 letters in the middle, and a tenth are random."""
    source = j + len(a) - len(b)
    if 2 * j < len(b):
        source -= 5
    b[j] = a[source]
    u = es.random_uniform(seed, j)
    if u < 0.1:
        b[j] = int(40 * u)  # 0, 1, 2 or 3


@es.kernel
def fill(i, diagonal, a, b, H):
    """One element of an anti-diagonal; row and column 0 of H are zero."""
    j = diagonal - i
    pair = EQUAL if a[i - 1] == b[j - 1] else DIFFERENT
    H[i, j] = max(0, H[i - 1, j - 1] + pair, H[i - 1, j] + GAP, H[i, j - 1] + GAP)


@es.kernel
def score(i, j, H):
    """A score and its place."""
    return H[i, j], (i, j)


def align(a: es.View[np.int8], b: es.View[np.int8]) -> tuple[npt.NDArray[np.int32], int, str, str]:
    """All scores, the greatest one, and its alignment: two rows in which "-" stands for a gap."""
    n, m = len(a), len(b)
    H = es.zeros((n + 1, m + 1), es.int32, label="H")
    for diagonal in range(2, n + m + 1):
        rows = es.RangePolicy(max(1, diagonal - m), min(n, diagonal - 1) + 1)
        es.parallel_for(rows, fill, diagonal, a, b, H)
    best = es.parallel_reduce(es.MDRangePolicy(H.shape), score, H, reducer=es.MaxLoc)
    scores = H.to_numpy()
    return scores, best.val, *trace(scores, letters(a), letters(b), *best.loc)


def trace(H: npt.NDArray[np.int32], a: str, b: str, i: int, j: int) -> tuple[str, str]:
    """The alignment that ends with letters i and j, from its end to where the score is 0."""
    upper, lower = "", ""
    while H[i, j] > 0:
        pair = EQUAL if a[i - 1] == b[j - 1] else DIFFERENT
        if H[i, j] == H[i - 1, j - 1] + pair:
            upper, lower, i, j = a[i - 1] + upper, b[j - 1] + lower, i - 1, j - 1
        elif H[i, j] == H[i - 1, j] + GAP:
            upper, lower, i = a[i - 1] + upper, "-" + lower, i - 1
        else:
            upper, lower, j = "-" + upper, b[j - 1] + lower, j - 1
    return upper, lower


def letters(sequence: es.View[np.int8]) -> str:
    """The text of a sequence, whose letters are numbers."""
    return "".join(LETTERS[k] for k in sequence.to_numpy())


def sequence(text: str) -> es.View[np.int8]:
    """The numbers of a text."""
    return es.array([LETTERS.index(letter) for letter in text], es.int8)


def by_rows(a: str, b: str) -> list[list[int]]:
    """All scores by two loops."""
    H = [[0] * (len(b) + 1)]
    for x in a:
        above, row = H[-1], [0]
        for j, y in enumerate(b):
            pair = above[j] + (EQUAL if x == y else DIFFERENT)
            row.append(max(0, pair, above[j + 1] + GAP, row[j] + GAP))
        H.append(row)
    return H


def run(size: int = 400, seed: int = 1) -> dict[str, float]:
    """Align `size` random letters, at least 20, with a mutated part of them."""
    # An example with a known result: https://en.wikipedia.org/wiki/Smith-Waterman_algorithm
    _, greatest, upper, lower = align(sequence("TGTTACGG"), sequence("GGTTGACTA"))
    assert (greatest, upper, lower) == (13, "GTT-AC", "GTTGAC")

    a, b = es.empty(size, es.int8, label="a"), es.empty(3 * size // 4, es.int8, label="b")
    es.fill_random(a, seed, 0, 4)
    es.parallel_for(len(b), mutate, a, b, seed)
    scores, greatest, upper, lower = align(a, b)

    assert (scores == by_rows(letters(a), letters(b))).all()
    pairs = list(zip(upper, lower, strict=True))
    equal, gaps = sum(x == y for x, y in pairs), sum("-" in pair for pair in pairs)
    assert greatest == EQUAL * equal + GAP * gaps + DIFFERENT * (len(pairs) - equal - gaps)
    assert upper.replace("-", "") in letters(a) and lower.replace("-", "") in letters(b)
    return {"score": greatest, "length": len(pairs), "equal": equal, "gaps": gaps}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Local alignment of two DNA sequences.")
    parser.add_argument("--size", type=int, default=400, help="letters, at least 20")
    parser.add_argument("--seed", type=int, default=1, help="of the random letters")
    found = run(**vars(parser.parse_args()))
    print(f"score {found['score']} of an alignment of length {found['length']}")
    print(f"with {found['equal']} equal letters and {found['gaps']} gaps")
