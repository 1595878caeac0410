"""Array reductions of teams: each element is a reduction of its own.

Each thread of a team joins into a private array; the compiler joins those of a team, and returns
the elements as one contribution of the team.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ..base.errors import LaunchError
from ..contract.launch_spec import LaunchSpec
from ..contract.space import Plan
from ..reducers.base import Reducer
from ..reducers.builtin import BuiltIn
from ..views.interop import subview
from .plan_around import PlanWithArguments

_MOST = 64  # elements, each of which is a result of the kernel


def of_elements(kernel: str, reducer: Reducer, shape: tuple[int, ...]) -> tuple[Reducer, ...]:
    """The reducers of an array's elements.

    Raises
    ------
    LaunchError
        The array is too large, or the reducer has a function `final`.
    """
    if math.prod(shape) > _MOST:
        raise LaunchError(
            f"Kernel '{kernel}': an array reduction of teams has {math.prod(shape)} elements; "
            f"expected at most {_MOST}. Add larger ones up by es.atomic_add or es.ScatterView."
        )
    if reducer.has("final"):
        raise LaunchError(
            f"Kernel '{kernel}': reducer {reducer.name} of an array has a function final, which "
            f"array reductions of teams cannot have; apply it to the result."
        )
    one: Reducer
    if isinstance(reducer, BuiltIn):
        kind = {"land": "bool", "lor": "bool", "band": "int64", "bor": "int64"}.get(reducer.kind)
        one = replace(reducer, shape=None, dtype=reducer.dtype or kind or "float64")  # type: ignore
    else:
        one = copy.copy(reducer)
        one.shape = None
    return (one,) * math.prod(shape)


def element_dtype(reducer: Reducer) -> np.dtype[Any]:
    """The dtype of an element, from the reducer that `of_elements` gives it."""
    return np.dtype(reducer.dtype or np.asarray(reducer.identity_for("float64")).dtype)


class TeamArrayPlan(PlanWithArguments):
    """Launches as the plan that it is around; the result, or the View of `out=`, is an array."""

    def __init__(self, inner: Plan, spec: LaunchSpec) -> None:
        super().__init__(inner)
        self._shape, self._count = spec.team_array, len(spec.arguments)
        self._places = list(product(*map(range, spec.team_array)))
        assert isinstance(spec.reducer, tuple)
        self._dtype = element_dtype(spec.reducer[0])

    def given(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """With the elements of the View of ``out=`` in its place."""
        if not self.spec.out:
            return args
        array = args[self._count]
        return (*args[: self._count], *(subview(array, *place) for place in self._places))

    def number(self, inner: int) -> int:
        """That of the View of ``out=`` for all of its elements."""
        return min(inner, self._count)

    def _array(self, found: Any) -> Any:
        return None if self.spec.out else np.array(found, self._dtype).reshape(self._shape)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch`."""
        return self._array(self.inner.launch(bounds, self.given(args)))

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch_as`."""
        return self._array(self.inner.launch_as(label, bounds, self.given(args)))
