"""What reducers join, element by element of arrays, in the order of ranks.

MPI's own operations differ from one library to the next in order and in NaN, and know no float16.
Here contributions of ranks are joined by NumPy from the first rank to the last, so that the bits do
not depend on the library, on which message came first, or on where a rank runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

from .errors import CommError

__all__ = ["Join", "join_of"]

Array = npt.NDArray[Any]

_UFUNCS: dict[str, Any] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
    "land": np.logical_and, "lor": np.logical_or, "band": np.bitwise_and, "bor": np.bitwise_or,
}  # fmt: skip
_OF_BOOLS = ("min", "max", "land", "lor", "band", "bor")


class Join:
    """How two arrays become one, with the identity of an element."""

    def __init__(
        self, name: str, join: Callable[[Array, Array], Array], identity: Any, *,
        is_logical: bool = False, final: Callable[[Any], Any] | None = None, about: str = "",
    ) -> None:  # fmt: skip
        self.name, self.identity, self.final, self.about = name, identity, final, about or name
        self._join, self._is_logical = join, is_logical

    def __call__(self, a: Array, b: Array) -> Array:
        """Elements of both joined, `a` coming first."""
        with np.errstate(all="ignore"):  # kernels do not warn either
            found: Array = self._join(a, b).astype(a.dtype, copy=False)
            return found

    def first(self, part: Array) -> Array:
        """What one contribution comes to: itself, or of logical reducers whether it is true."""
        return (part != 0).astype(part.dtype) if self._is_logical else part.copy()

    def finished(self, total: Array) -> Array:
        """What the last step of a reducer makes of a total."""
        if self.final is None:
            return total
        found = np.empty_like(total)
        for at, value in enumerate(total):
            found[at] = self.final(value)
        return found

    def check_identity(self, dtype: np.dtype[Any], what: str) -> None:
        """CommError if no element is the identity."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.identity).astype(dtype)
            if not (found == self.identity or self.identity != self.identity):
                raise CommError(
                    f"{what}: the identity of reducer {self.name} is {self.identity!r}, which no "
                    f"element of {dtype} is; expected exclusive=False, or a View of another dtype."
                )

    def fold(self, parts: Array) -> Array:
        """Rows joined from the first to the last."""
        total: Array = self.first(parts[0])
        for part in parts[1:]:
            total = self(total, part)
        return total

    def prefixes(self, parts: Array) -> Array:
        """Rows joined with all before them."""
        found = parts.copy()
        found[0] = self.first(parts[0])
        for n in range(1, len(found)):
            found[n] = self(found[n - 1], found[n])
        return found


def join_of(reducer: Any, dtype: np.dtype[Any], what: str) -> Join:
    """The join of a reducer for Views of a dtype.

    Raises
    ------
    CommError
        If it does not join numbers one by one, or not numbers of such a dtype.
    """
    made = reducer() if isinstance(reducer, type) and issubclass(reducer, es.Reducer) else reducer
    if not isinstance(made, es.Reducer):
        raise CommError(
            f"{what}: reducer={reducer!r} is not a reducer; expected es.Sum, es.Prod, es.Min, "
            f"es.Max, es.LAnd, es.LOr, es.BAnd, es.BOr, or one of your own with identity and join."
        )
    if made.kind == "custom":
        return _own(made, dtype, what)
    join = _UFUNCS.get(made.kind)
    refused = (
        join is None
        or dtype.kind == "V"
        or (dtype.kind == "b" and made.kind not in _OF_BOOLS)
        or (dtype.kind == "c" and made.kind in ("min", "max"))
        or (made.kind in ("band", "bor") and dtype.kind not in "iub")
    )
    if refused or join is None:
        hint = (
            "a count of true elements needs a View of integers"
            if dtype.kind == "b"
            else "Comm.parallel_reduce takes every reducer of what kernels return"
        )
        raise CommError(f"{what}: {made.name} does not join elements of {dtype}; {hint}.")
    identity: Any = made.identity_for(dtype.name)
    return Join(made.name, join, identity, is_logical=made.kind in ("land", "lor"))


def _own(reducer: es.Reducer, dtype: np.dtype[Any], what: str) -> Join:
    identity = reducer.identity_for(dtype.name)
    if isinstance(identity, tuple | np.ndarray | np.void) or dtype.kind == "V":
        raise CommError(
            f"{what}: reducer {reducer.name} joins {type(identity).__name__}s and the View has "
            f"elements of {dtype}; expected one that joins numbers. Comm.parallel_reduce takes "
            f"every reducer of what kernels return."
        )
    scope = reducer.scope("join")
    bound = tuple(scope.bound.values())

    def join(a: Array, b: Array) -> Array:
        found = np.empty_like(a)
        for at in np.ndindex(a.shape):
            found[at] = scope.fn(*bound, a[at], b[at])
        return found

    final = None
    if reducer.has("final"):
        last = reducer.scope("final")
        before = tuple(last.bound.values())

        def final(value: Any) -> Any:
            return last.fn(*before, value)

    state = ", ".join(f"{k}={v!r}" for k, v in sorted(getattr(reducer, "__dict__", {}).items()))
    return Join(reducer.name, join, identity, final=final, about=f"{reducer.name}({state})"[:500])
