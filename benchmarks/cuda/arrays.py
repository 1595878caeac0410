"""The arrays that all contestants of the CUDA benchmark share, and whether results are right.

Elements are multiples of 1/64 below 16, but for one least (-1) and one greatest (100), so that sums
and products are exact in whatever order and results are compared without a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda.peers import Peers
from benchmarks.cuda.timing import Call, Contestant

A = 3.0  # of the triad
LEAST, GREATEST = -1.0, 100.0


class Arrays:
    """x, y and z as CuPy arrays and as Views, and what z should be."""

    def __init__(self, n: int, space: str) -> None:
        self.peers = Peers()
        self.cupy: Any = self.peers.cupy
        self.n, self.name = n, space
        self.edge = int(n ** (1 / 6))
        self.edge += (self.edge + 1) ** 6 <= n  # the root may have been rounded down
        random = np.random.default_rng(1)
        self.host_x, self.host_y = (
            random.integers(0, 1024, n, dtype=np.int16) / 64.0 for _ in range(2)
        )
        self.least_at = n // 3
        self.host_x[self.least_at], self.host_x[2 * n // 3] = LEAST, GREATEST
        self.x, self.y = self.cupy.asarray(self.host_x), self.cupy.asarray(self.host_y)
        self.z = self.cupy.zeros(n)

    @property
    def space(self) -> Any:
        """The execution space; raises what es.space does."""
        return es.space(self.name)

    def view(self, array: Any) -> es.View:
        """A View of a CuPy array, which must not be a copy."""
        view = es.view_of(array)
        assert view.data_ptr == array.data.ptr, "es.view_of has made a copy of the CuPy array"
        return view

    @cached_property
    def views(self) -> tuple[es.View, es.View, es.View]:
        """Views of x, y and z."""
        return self.view(self.x), self.view(self.y), self.view(self.z)

    @cached_property
    def out(self) -> es.View:
        """A number on the device."""
        return es.View((), es.float64, space=self.space, label="out")

    @cached_property
    def place(self) -> es.View:
        """A location on the device."""
        return es.View((), es.int64, space=self.space, label="place")

    def policy(self) -> es.RangePolicy:
        """A range over all elements."""
        return es.RangePolicy(0, self.n, space=self.space)

    def shaped(self, shape: tuple[int, ...], layout: str) -> list[es.View]:
        """Views of the first elements of x, y and z in another shape."""
        order = {"left": "F", "right": "C"}[layout]
        make = partial(self.cupy.ndarray, shape, np.float64, order=order)
        views = [self.view(make(memptr=array.data)) for array in (self.x, self.y, self.z)]
        for view in views:
            assert view.layout == layout, f"expected layout {layout!r}, got {view!r}"
        return views

    # -- checks --------------------------------------------------------------------------------

    def poison(self) -> None:
        """Leave no right element in z."""
        self.z.fill(np.nan)

    def poison_out(self) -> None:
        """Leave no right number in `out` and `place`."""
        es.deep_copy(self.out, np.nan)
        es.deep_copy(self.place, -1)

    def read_out(self, _: Any = None) -> float:
        """The number in `out`."""
        return float(read(self.out))

    def check_z(self, expected: Any) -> Callable[[Any], None]:
        """Whether the first elements of z are those of a CuPy array."""

        def check(_: Any) -> None:
            all_equal(self.z[: expected.size], expected)

        return check


def all_equal(found: Any, expected: Any) -> None:
    """Whether all elements of two arrays are equal."""
    wrong = int((found != expected).sum())
    assert wrong == 0, f"{wrong} of {expected.size} elements are wrong"


def read(view: es.View) -> Any:
    """The number in a View of rank 0, wherever it is."""
    host = np.zeros((), view.dtype)
    es.deep_copy(host, view)
    return host[()]


def number_check(expected: float, found: Callable[[Any], Any] = float) -> Callable[[Any], None]:
    """Whether the result, or what `found` makes of it, is exactly the expected number."""

    def check(result: Any) -> None:
        got = float(found(result))
        assert got == expected, f"expected {expected!r}, got {got!r}"

    return check


def array_check(expected: np.ndarray, found: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Whether what `found` makes of the result equals an array, element by element."""

    def check(result: Any) -> None:
        all_equal(found(result), expected)

    return check


def peer(name: str, make: Callable[[], Any], expected: float) -> Contestant:
    """A contestant whose call returns a number."""
    return Contestant(name, make, number_check(expected))


def item_of(call: Call) -> Call:
    """The call, and its result as a Python number."""
    return lambda: call().item()
