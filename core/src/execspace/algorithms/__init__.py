"""Algorithms on Views: sorting, searching, histograms, random numbers, and those of C++'s library.

``execspace.algorithms`` has what Kokkos has of C++'s algorithms, called by the host on Views of
rank 1, and ``execspace.algorithms.team`` the same for kernels, where a team does them together.
Each module is loaded when a name of it is first used.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

# ruff: noqa: F403 (for types only: names come with their modules)
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..base.forks import forks_wait

if TYPE_CHECKING:
    from . import team as team
    from .compaction import *
    from .comparisons import *
    from .conditions import *
    from .copying import *
    from .elementwise import *
    from .filling import *
    from .finding import *
    from .histograms import *
    from .order import *
    from .prefixes import *
    from .reordering import *
    from .replacing import *
    from .searching import *
    from .sorting import *
    from .subsequences import *
    from .totals import *

# Module -> names that it gives to this package.
_NAMES = {
    "compaction": """
        copy_if partition_copy remove remove_copy remove_copy_if remove_if unique unique_copy
    """,
    "comparisons": "equal lexicographical_compare mismatch",
    "conditions": "all_of any_of count count_if none_of",
    "copying": """
        copy copy_backward copy_n move move_backward reverse_copy rotate_copy
    """,
    "elementwise": "fill fill_n for_each for_each_n generate generate_n transform",
    "filling": "fill_random",
    "finding": "adjacent_find find find_if find_if_not partition_point",
    "histograms": "histogram",
    "order": """
        is_partitioned is_sorted is_sorted_until max_element min_element minmax_element
    """,
    "prefixes": """
        adjacent_difference exclusive_scan inclusive_scan transform_exclusive_scan
        transform_inclusive_scan
    """,
    "reordering": "iter_swap reverse rotate shift_left shift_right swap_ranges",
    "replacing": "replace replace_copy replace_copy_if replace_if",
    "searching": "lower_bound searchsorted upper_bound",
    "sorting": "argsort sort sort_by_key",
    "subsequences": "find_end find_first_of search search_n",
    "totals": "reduce transform_reduce",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted([*_MODULE_OF, "team"])


def __getattr__(name: str) -> Any:
    """Load the module of a name when it is first asked for."""
    if name == "team":
        with forks_wait():
            return import_module(".team", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with forks_wait():
        found = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Public names, and none of the modules that they come from."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
