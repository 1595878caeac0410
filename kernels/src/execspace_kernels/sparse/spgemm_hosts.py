"""Products of sparse matrices on spaces that run few work items at once.

Each of a few workers takes rows with an equal share of the products. Where the entries of a row are
is found in a bitmap of all columns, of which a second one tells the words that are not 0, so that
columns ascend without being sorted; rows of B come as words of 64 columns, the compression of
Wolf, Deveci, Berry, Hammond and Rajamanickam, "Fast linear algebra-based triangle counting with
KokkosKernels", HPEC 2017. Where rows of A and B are those before, one column further, as in
stencils, so are rows of C, which are copied. Elements are summed in an array of all columns,
Gustavson, "Two fast algorithms for sparse matrices", ACM TOMS 4, 1978.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .crs import StaticCrsGraph
from .elements import value_of

_BITS = 64
_REPEATED = 8  # of so many rows one may be new where rows of B are not compressed
_MOST = 1 << 26  # elements of the arrays of all workers, where there are many


def workers_of(prefix: es.View, num_cols: int, space: es.ExecutionSpace) -> es.View:
    """The row that each worker begins with, and the number of rows; of all products up to each."""
    rows = prefix.shape[0] - 1
    workers = max(1, min(space.concurrency, rows, _MOST // max(1, num_cols)))
    bounds = es.View(workers + 1, np.int64, label="bounds", space=space, initialize=False)
    each = es.RangePolicy(workers + 1, space=space)
    es.parallel_for(each, _bounds, prefix, bounds, label="spgemm workers")
    return bounds


def each_worker(bounds: es.View, space: es.ExecutionSpace) -> es.RangePolicy:
    """One work item for each worker, each on a thread of its own."""
    return es.RangePolicy(bounds.shape[0] - 1, schedule="dynamic", chunk_size=1, space=space)


class Structure:
    """Counts and fills the rows of a product, once each."""

    def __init__(
        self, a: StaticCrsGraph, b: StaticCrsGraph, bounds: es.View, space: es.ExecutionSpace
    ) -> None:
        self.a, self.bounds, self.space = a, bounds, space
        fresh = self._look_for_repeats(b)
        self.form = "words" if fresh * _REPEATED > a.num_rows else "columns"
        if self.form == "words":
            self._compress(b)
        else:
            self.word_map, self.words = b.row_map, b.entries
            self.masks = es.View(0, np.uint64, label="masks", space=space)
        workers = bounds.shape[0] - 1
        count = -(-b.num_cols // _BITS)
        self.bits = es.View((workers, count), np.uint64, label="bits", space=space)
        self.used = es.View((workers, -(-count // _BITS)), np.uint64, label="used", space=space)

    def _look_for_repeats(self, b: StaticCrsGraph) -> int:
        """Find rows of the product that are the one before, a column further; the number of others.
        Blocks."""
        alike, self.repeats = (
            es.View(n, np.int8, label="repeats", space=self.space, initialize=False)
            for n in (b.num_rows, self.a.num_rows)
        )
        es.parallel_for(
            es.RangePolicy(b.num_rows, space=self.space), _is_row_before, b.row_map, b.entries,
            alike, label="spgemm repeated rows",
        )  # fmt: skip
        return int(
            es.parallel_reduce(
                es.RangePolicy(self.a.num_rows, space=self.space), _repeats, self.a.row_map,
                self.a.entries, alike, self.repeats, label="spgemm repeated products",
            )
        )  # fmt: skip

    def _compress(self, b: StaticCrsGraph) -> None:
        """Words of 64 columns of the rows of B."""
        space = self.space
        rows = es.RangePolicy(b.num_rows, space=space)
        self.word_map = es.View(b.num_rows + 1, np.int64, label="word_map", space=space)
        n = 0
        if b.num_rows:
            n = int(es.parallel_scan(rows, _words, b.row_map, b.entries, self.word_map))
        self.words = es.View(n, b.entries.dtype, label="words", space=space, initialize=False)
        self.masks = es.View(n, np.uint64, label="masks", space=space, initialize=False)
        es.parallel_for(
            rows, _packed, b.row_map, b.entries, self.word_map, self.words, self.masks,
            label="spgemm compress",
        )  # fmt: skip

    def count(self, counts: es.View) -> None:
        """The entries of each row."""
        self._run("count", counts, counts)

    def fill(self, row_map: es.View, entries: es.View) -> None:
        """The columns of each row, which ascend."""
        self._run("fill", row_map, entries)

    def _run(self, what: str, first: es.View, second: es.View) -> None:
        es.parallel_for(
            each_worker(self.bounds, self.space), _bitmaps, self.bounds, self.a.row_map,
            self.a.entries, self.word_map, self.words, self.masks, self.bits, self.used,
            self.repeats, first, second, what, self.form, label=f"spgemm bitmaps, {what}",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@es.function
def ones_of(x: Any) -> Any:
    """The number of bits that are set in a uint64."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@es.function
def lowest_of(x: Any) -> Any:
    """The place of the lowest bit that is set in a uint64."""
    return ones_of((x & (~x + np.uint64(1))) - np.uint64(1))


def _bounds(w: int, prefix: Any, bounds: Any) -> None:
    rows = prefix.extent(0) - 1
    workers = bounds.extent(0) - 1
    if w == workers:
        bounds[w] = rows
    else:
        # Products, and rows, which cost something without products as well.
        total = prefix[rows] + rows
        target = total // workers * w
        low = 0
        high = rows
        while low < high:
            middle = (low + high) // 2
            if prefix[middle] + middle < target:
                low = middle + 1
            else:
                high = middle
        bounds[w] = low


def _words(j: int, before: Any, final: Any, b_map: Any, b: Any, word_map: Any) -> Any:
    count = 0
    last = -1
    for p in range(b_map[j], b_map[j + 1]):
        word = b[p] // 64
        count += 1 if word != last else 0
        last = word
    if final:
        word_map[j + 1] = before + count
    return count


def _packed(j: int, b_map: Any, b: Any, word_map: Any, words: Any, masks: Any) -> None:
    at = word_map[j] - 1
    last = -1
    mask = np.uint64(0)
    for p in range(b_map[j], b_map[j + 1]):
        word = b[p] // 64
        if word != last:
            at += 1
            words[at] = word
            mask = np.uint64(0)
        last = word
        mask |= np.uint64(1) << np.uint64(b[p] % 64)
        masks[at] = mask


@es.function
def _is_further(row_map: Any, entries: Any, i: Any) -> Any:
    """Whether a row, not the first one, is the one before, one column further."""
    begin = row_map[i]
    n = row_map[i + 1] - begin
    back = begin - row_map[i - 1]
    same = n == back
    if same:
        for p in range(begin, begin + n):
            if entries[p] != entries[p - back] + 1:
                same = False
                break
    return same


def _is_row_before(j: int, b_map: Any, b: Any, alike: Any) -> None:
    alike[j] = 0
    if j > 0 and _is_further(b_map, b, j):
        alike[j] = 1


def _repeats(i: int, a_map: Any, a: Any, alike: Any, repeats: Any) -> Any:
    found = i > 0 and _is_further(a_map, a, i)
    if found:
        for k in range(a_map[i], a_map[i + 1]):
            if alike[a[k]] == 0:
                found = False
                break
    repeats[i] = found
    return 0 if found else 1


@es.function
def _mask_of(words: Any, masks: Any, p: Any, form: Any) -> Any:
    if form == "words":
        return masks[p]
    return np.uint64(1) << np.uint64(words[p] % 64)


def _bitmaps(
    w: int, bounds: Any, a_map: Any, a: Any, word_map: Any, words: Any, masks: Any, bits: Any,
    used: Any, repeats: Any, first: Any, entries: Any, what: Any, form: Any,
) -> None:  # fmt: skip
    count = 0
    for i in range(bounds[w], bounds[w + 1]):
        if repeats[i] != 0 and i > bounds[w]:
            if what == "fill":
                back = first[i] - first[i - 1]
                for q in range(first[i], first[i] + back):
                    entries[q] = entries[q - back] + 1
        else:
            low = used.extent(1)
            high = -1
            for k in range(a_map[i], a_map[i + 1]):
                j = a[k]
                for p in range(word_map[j], word_map[j + 1]):
                    word = words[p] + np.int64(0)
                    if form != "words":
                        word = word // 64
                    old = bits[w, word]
                    if old == np.uint64(0):
                        at = word // 64
                        used[w, at] |= np.uint64(1) << np.uint64(word % 64)
                        low = min(low, at)
                        high = max(high, at)
                    bits[w, word] = old | _mask_of(words, masks, p, form)
            count = 0
            begin = 0
            if what == "fill":
                begin += first[i]
            for at in range(low, high + 1):
                left = used[w, at]
                used[w, at] = np.uint64(0)
                while left != np.uint64(0):
                    word = at * 64 + lowest_of(left)
                    left &= left - np.uint64(1)
                    found = bits[w, word]
                    bits[w, word] = np.uint64(0)
                    if what == "count":
                        count += ones_of(found)
                    else:
                        while found != np.uint64(0):
                            entries[begin] = word * 64 + lowest_of(found)
                            begin += 1
                            found &= found - np.uint64(1)
        if what == "count":
            first[i] = count


def dense(
    w: int, bounds: Any, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any, b_values: Any,
    row_map: Any, entries: Any, values: Any, sums: Any, own: Any, omega: Any, how: Any,
) -> None:  # fmt: skip
    """The elements of C, summed in an array of all columns, which is 0 before and after."""
    for i in range(bounds[w], bounds[w + 1]):
        mine = own_of(i, own, how)
        step = omega / diagonal_of(a_values, mine, how)
        for k in range(a_map[i], a_map[i + 1]):
            j = a[k]
            scale = coefficient(a_values, k, mine, step, how)
            for p in range(b_map[j], b_map[j + 1]):
                sums[w, b[p]] += scale * b_values[p]
        for q in range(row_map[i], row_map[i + 1]):
            values[q] = sums[w, entries[q]]
            sums[w, entries[q]] = values.dtype.type(0)


@es.function
def own_of(i: Any, own: Any, how: Any) -> Any:
    """The entry of a row's diagonal; not used for a product."""
    if how == "product":
        return 0
    return own[i]


@es.function
def diagonal_of(a_values: Any, mine: Any, how: Any) -> Any:
    """The element of a row's diagonal; not used for a product."""
    if how == "product":
        return 1
    return a_values[mine]


@es.function
def coefficient(a_values: Any, k: Any, mine: Any, step: Any, how: Any) -> Any:
    """An element of A, or of I - omega D^-1 A."""
    if how == "product":
        return value_of(a_values[k])
    return (1 if k == mine else 0) - step * a_values[k]
