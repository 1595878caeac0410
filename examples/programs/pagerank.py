"""PageRank: which pages of a web a surfer is found on, who follows links at random.

With probability 0.85 the surfer follows one of the links of a page, and otherwise, or where there
is none, goes to any page (Brin and Page, "The anatomy of a large-scale hypertextual web search
engine", Computer Networks 30, 1998). The stationary distribution is found by the power method
(Langville and Meyer, Google's PageRank and Beyond, 2006). Links are in compressed row storage, a
row for each page that they lead to, so that pages pull the ranks of those which link to them.

    python examples/programs/pagerank.py --pages 100000 --links 1000000
"""

import argparse

import numpy as np

import execspace as es

SMALL = {"pages": 20, "links": 60}
DAMPING = 0.85


@es.kernel
def link(k, sources, targets, pages, seed):
    """From any of the first nine tenths of the pages, to one with a low number more often."""
    sources[k] = es.random_integer(seed, k, 0, pages * 9 // 10)
    targets[k] = int(pages * es.random_uniform(seed, k) ** 3)


@es.kernel
def count(k, out_degree, sources):
    """How many links leave a page."""
    out_degree[sources[k]] += 1


@es.kernel
def dead_ends(page, rank, out_degree):
    """The ranks of pages without links."""
    return rank[page] if out_degree[page] == 0 else 0.0


@es.kernel
def pull(page, begin, sources, out_degree, rank, stuck, new):
    """The next rank of a page, from those that link to it; returns the change."""
    total = 0.0
    for k in range(begin[page], begin[page + 1]):
        source = sources[k]
        total += rank[source] / out_degree[source]
    n = len(rank)
    new[page] = (1 - DAMPING) / n + DAMPING * (total + stuck[()] / n)
    return abs(new[page] - rank[page])


def run(
    pages: int = 10_000, links: int = 200_000, tolerance: float = 1e-10, seed: int = 1
) -> dict[str, float]:
    """Rank the pages of a random web, until an iteration changes ranks by less than `tolerance`."""
    sources = es.empty(links, es.int64, label="sources")
    targets = es.empty(links, es.int64, label="targets")
    es.parallel_for(links, link, sources, targets, pages, seed)
    link_from, link_to = sources.to_numpy(), targets.to_numpy()

    es.sort_by_key(targets, sources)
    begin = es.searchsorted(targets, es.arange(pages + 1))  # links to p: begin[p] to begin[p + 1]
    out_degree = es.zeros(pages, es.int64, label="out degree")
    degrees = es.ScatterView(out_degree)
    es.parallel_for(links, count, degrees.access(), sources)
    degrees.contribute(out_degree)

    rank = es.full(pages, 1 / pages, label="rank")
    new = es.empty_like(rank)
    stuck = es.zeros((), label="stuck")  # a number that is used where it is computed
    change, iterations = 1.0, 0
    while change > tolerance:
        es.parallel_reduce(pages, dead_ends, rank, out_degree, out=stuck)
        change = es.parallel_reduce(pages, pull, begin, sources, out_degree, rank, stuck, new)
        rank, new = new, rank
        iterations += 1

    found = rank.to_numpy()
    # An iteration shrinks changes and errors, in the 1-norm, to 0.85 of what they were, and adds
    # rounding errors of its sums, whose terms are fewer than the pages and the links to one page.
    rounding = (pages + np.bincount(link_to).max()) * 2.0**-52 / (1 - DAMPING)
    assert abs(found.sum() - 1) < rounding
    expected = one_iteration_of_numpy(found, link_from, link_to)
    assert abs(found - expected).sum() < DAMPING * tolerance + rounding
    best = np.argsort(-found)
    return {
        "iterations": float(iterations),
        "error below": tolerance * DAMPING / (1 - DAMPING),
        "rank of dead ends": stuck.item(),
        "most important page": float(best[0]),
        "its rank": float(found[best[0]]),
    }


def one_iteration_of_numpy(
    rank: np.ndarray, sources: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Ranks after a further step of the surfer, from the list of links."""
    n = len(rank)
    degree = np.bincount(sources, minlength=n)
    brought = np.bincount(targets, rank[sources] / degree[sources], minlength=n)
    return (1 - DAMPING) / n + DAMPING * (brought + rank[degree == 0].sum() / n)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--links", type=int, default=200_000)
    options = parser.parse_args()
    for name, value in run(options.pages, options.links).items():
        print(f"{name:<20} {value:.6g}")
