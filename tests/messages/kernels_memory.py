"""Views with a layout of one's own, used in wrong ways."""

from __future__ import annotations

from dataclasses import dataclass

import execspace as es

from .cases import Made, case

# -- layouts of one's own -----------------------------------------------------------------------


@dataclass(frozen=True)
class Blocks(es.Layout):
    def span(self, n, m):
        return n * m

    def offset(self, i, j, n, m):
        return i * m + j


@dataclass(frozen=True)
class Halves(es.Layout):
    def span(self, n):
        return n

    def offset(self, i, n):
        return i / 2


@dataclass(frozen=True)
class Listed(es.Layout):
    def span(self, n):
        return n

    def offset(self, i, n):
        return [i, n][0]


@dataclass(frozen=True)
class Short(es.Layout):
    def span(self, n, m):
        return n * m

    def offset(self, i, j):
        return i + j


def mapped(shape, layout):
    """A View with such a layout."""
    return Made(lambda: es.View(shape, layout=layout, label="A"))


@case(mapped((4, 4), Blocks()))
def too_few_indices_of_a_layout_of_ones_own(i, A):
    A[i] = 1.0


@case(mapped((4, 4), Blocks()))
def out_of_bounds_of_a_layout_of_ones_own(i, A):
    A[i, i + 1] = 1.0


@case(mapped(4, Halves()))
def layout_with_a_float_offset(i, A):
    A[i] = 1.0


@case(mapped(4, Listed()))
def layout_with_a_fault(i, A):
    A[i] = 1.0


@case(mapped((4, 4), Short()))
def layout_with_too_few_parameters(i, A):
    A[i, 0] = 1.0
