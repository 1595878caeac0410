"""The algorithms of C++'s library for kernels: all threads of a team do one together.

Each takes the kernel's `TeamMember` first, and Views of rank 1, subviews, scratch memory or local
arrays. All threads of the team call it, with the same arguments, and get the same result. What
they stored before is seen after a barrier; functions that write end with one, and those that only
read wait for each other as reductions do.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from .compaction import (
    copy_if,
    partition_copy,
    remove,
    remove_copy,
    remove_copy_if,
    remove_if,
    unique,
    unique_copy,
)
from .comparisons import equal, lexicographical_compare, mismatch
from .conditions import all_of, any_of, count, count_if, none_of
from .copying import (
    copy,
    copy_backward,
    copy_n,
    move,
    move_backward,
    reverse_copy,
    rotate_copy,
)
from .elementwise import (
    fill,
    fill_n,
    for_each,
    for_each_n,
    generate,
    generate_n,
    replace,
    replace_copy,
    replace_copy_if,
    replace_if,
    transform,
)
from .finding import (
    adjacent_find,
    find,
    find_end,
    find_first_of,
    find_if,
    find_if_not,
    partition_point,
    search,
    search_n,
)
from .order import (
    is_partitioned,
    is_sorted,
    is_sorted_until,
    max_element,
    min_element,
    minmax_element,
)
from .prefixes import (
    adjacent_difference,
    exclusive_scan,
    inclusive_scan,
    transform_exclusive_scan,
    transform_inclusive_scan,
)
from .reordering import iter_swap, reverse, rotate, shift_left, shift_right, swap_ranges
from .sorting import sort, sort_by_key
from .totals import reduce, transform_reduce

__all__ = [
    "adjacent_difference",
    "adjacent_find",
    "all_of",
    "any_of",
    "copy",
    "copy_backward",
    "copy_if",
    "copy_n",
    "count",
    "count_if",
    "equal",
    "exclusive_scan",
    "fill",
    "fill_n",
    "find",
    "find_end",
    "find_first_of",
    "find_if",
    "find_if_not",
    "for_each",
    "for_each_n",
    "generate",
    "generate_n",
    "inclusive_scan",
    "is_partitioned",
    "is_sorted",
    "is_sorted_until",
    "iter_swap",
    "lexicographical_compare",
    "max_element",
    "min_element",
    "minmax_element",
    "mismatch",
    "move",
    "move_backward",
    "none_of",
    "partition_copy",
    "partition_point",
    "reduce",
    "remove",
    "remove_copy",
    "remove_copy_if",
    "remove_if",
    "replace",
    "replace_copy",
    "replace_copy_if",
    "replace_if",
    "reverse",
    "reverse_copy",
    "rotate",
    "rotate_copy",
    "search",
    "search_n",
    "shift_left",
    "shift_right",
    "sort",
    "sort_by_key",
    "swap_ranges",
    "transform",
    "transform_exclusive_scan",
    "transform_inclusive_scan",
    "transform_reduce",
    "unique",
    "unique_copy",
]
