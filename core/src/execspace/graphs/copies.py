"""Copies in graphs: launches, where the space of the graph reaches both sides.

A launch can be replayed with others, and fused with them; what the host or another device takes
part in is copied between launches by `deep_copy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError, ViewError
from ..contract.space import ExecutionSpace
from ..events import recording
from ..kernels.kernel import Kernel, kernel_from
from ..launch.bound import Bound, bind
from ..policies.range import MDRangePolicy, RangePolicy
from ..views.deep_copy import NUMBERS, check_casting, check_copy, converted, same_block
from ..views.interop import view_of
from ..views.view import View
from .steps import Part, Step, name_of, within

_MOST_RANKS = 4
_SMALL = 1 << 20  # bytes; larger ones whose order changes are better left to the memory space


def _name_of_source(src: Any) -> str:
    return "value" if type(src) is not View and isinstance(src, NUMBERS) else "src"


class Copy(Part):
    """A `deep_copy`."""

    casting = "same_kind"

    def _with(self, arguments: dict[str, Any]) -> Self:
        (src,) = (a for name, a in arguments.items() if name != "dst")
        if _name_of_source(src) not in arguments:
            expected = "a number" if "value" in arguments else "a View or an array"
            raise LaunchError(f"{self.who}: a copy of {brief(src)}; expected {expected}.")
        return type(self)(self.who, self.space, arguments)

    def _fresh(self) -> Sequence[Step]:
        dst, source = self.arguments.values()
        target = view_of(dst, label="destination of deep_copy")
        if target.is_readonly:
            raise ViewError(f"deep_copy: destination View '{target.label}' is read-only.")
        if "src" in self.arguments:
            source = view_of(source, label="source of deep_copy")
            if target == source:
                return ()
        elif self.casting != Copy.casting:
            source = converted(target, source)
        check_copy(target, source, self.space, self.casting)
        if not isinstance(source, View) and target.dtype.fields is None:
            _number(target, source)  # of an empty View, too, which may grow
        with recording.at_once():
            bound = bound_copy(self.space, target, source)
        if bound is not None:
            return [Step("launch", bound.kernel.name, None, bound)]
        return [Step("copy", "deep_copy", None, (target, source))]


class _ConvertingCopy(Copy):
    """One between any real types."""

    casting = "unsafe"


def copy_step(
    who: object,
    space: ExecutionSpace,
    dst: Any,
    src: Any,
    label: str | None,
    after: tuple[Step, ...] | None,
    casting: str = Copy.casting,
) -> Step:
    """The step of a copy, which has been checked; `src` is a View, an array or a number."""
    name = name_of(who, label, "deep_copy")
    check_casting(casting)
    kind = Copy if casting == Copy.casting else _ConvertingCopy
    part = kind(within(who, name), space, {"dst": dst, _name_of_source(src): src})
    part.steps()
    return Step("copy", name, after, part)


def bound_copy(space: ExecutionSpace, target: View, source: Any) -> Bound | None:
    """The launch of a copy, or of filling with a number; None if it should be no launch."""
    if target.mapping is not None or target.dtype.fields is not None:
        return None
    if not target.memory_space.reachable_from(space) or not target.size:
        return None
    if isinstance(source, View):
        if source.mapping is not None or source.dtype != target.dtype or source == target:
            return None
        if not source.memory_space.reachable_from(space):
            return None
        if target.nbytes > _SMALL and not same_block(target, source):
            return None
        source = source.readonly()
    else:
        if target.dtype.kind not in "biufc":
            return None
        source = _number(target, source)
        if type(source) is not target.dtype.type:
            return None
    if target.rank == 0:
        target = target[None]
        source = source[None] if isinstance(source, View) else source
    if target.rank > _MOST_RANKS:
        return None
    kernels = _COPIES if isinstance(source, View) else _FILLS
    policy: Any = RangePolicy(target.shape[0], space=space)
    if target.rank > 1:
        policy = MDRangePolicy((0,) * target.rank, target.shape, space=space)
    return bind(policy, kernels[target.rank - 1], target, source)


def _number(target: View, value: Any) -> Any:
    """A number of the dtype of a View; ViewError if it does not fit."""
    if target.dtype.kind in "iu":
        limits, number = np.iinfo(target.dtype), int(value)
        if not limits.min <= number <= limits.max:
            raise ViewError(
                f"deep_copy: {brief(value)} does not fit into View '{target.label}' of dtype "
                f"{target.dtype.name}."
            )
        return target.dtype.type(number)
    try:
        return np.asarray(value).astype(target.dtype)[()]
    except OverflowError as error:
        raise ViewError(
            f"deep_copy: {brief(value)} does not fit into View '{target.label}' of dtype "
            f"{target.dtype.name}."
        ) from error


def _copy1(i: int, dst: Any, src: Any) -> None:
    dst[i] = src[i]


def _copy2(i: int, j: int, dst: Any, src: Any) -> None:
    dst[i, j] = src[i, j]


def _copy3(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    dst[i, j, k] = src[i, j, k]


def _copy4(i: int, j: int, k: int, p: int, dst: Any, src: Any) -> None:
    dst[i, j, k, p] = src[i, j, k, p]


def _fill1(i: int, dst: Any, value: Any) -> None:
    dst[i] = value


def _fill2(i: int, j: int, dst: Any, value: Any) -> None:
    dst[i, j] = value


def _fill3(i: int, j: int, k: int, dst: Any, value: Any) -> None:
    dst[i, j, k] = value


def _fill4(i: int, j: int, k: int, p: int, dst: Any, value: Any) -> None:
    dst[i, j, k, p] = value


def _named(*functions: Any) -> tuple[Kernel, ...]:
    return tuple(kernel_from(f, name="deep_copy") for f in functions)


_COPIES = _named(_copy1, _copy2, _copy3, _copy4)
_FILLS = _named(_fill1, _fill2, _fill3, _fill4)
