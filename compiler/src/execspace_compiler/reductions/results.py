"""From the numbers of a compiled reduction to the user's result, or to Views of `out=`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from execspace import LaunchError, LaunchSpec, MemorySpace, Reducer, ReductionResult, View, ViewType
from execspace.base.storage_types import FORMATS
from execspace.contract.dtypes import dtype_of, record_class
from execspace.launch.arguments import check_shape
from execspace.reducers.base import flattened


def result_maker(spec: LaunchSpec, names: Any) -> Callable[[Any], Any] | None:
    """A function that converts the number or row of numbers of a result to the user's result.

    `names` are those of the dtypes, nested as the result is. None if numbers are passed on
    unchanged.
    """
    reducer = spec.reducer
    assert reducer is not None
    if isinstance(reducer, tuple):
        reducers = reducer

        def several(numbers: Any) -> Any:
            parts = _nested(names, iter(_row(numbers)))
            return tuple(r.as_result(v) for r, v in zip(reducers, parts, strict=True))

        return several
    if isinstance(names, str) and isinstance(reducer.identity, Callable | float | int | None):  # type: ignore[arg-type]
        return None
    single: Reducer = reducer
    return lambda numbers: single.as_result(_nested(names, iter(_row(numbers))))


def described(spec: LaunchSpec, names: Any, memory: MemorySpace) -> ReductionResult:
    """What a launch without `out` returns, for who lets it store its numbers in memory."""
    dtypes = tuple(np.dtype(n) for n in flattened(names))
    make = None if spec.array_shape is not None else result_maker(spec, names)

    def value(numbers: tuple[Any, ...]) -> Any:
        number = numbers[0] if len(numbers) == 1 else numbers
        return number if make is None else make(number)

    return ReductionResult(memory, dtypes, spec.array_shape, value)


def _row(numbers: Any) -> Sequence[Any]:
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _nested(names: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(names, tuple):
        return tuple(_nested(n, numbers) for n in names)
    return next(numbers)


# -- Views of out= ----------------------------------------------------------------------------


def check_out(kernel: str, spec: LaunchSpec, names: Any) -> None:
    """Raise LaunchError where the Views of `out=` cannot take a result of these dtypes."""
    if not spec.out:
        return
    wanted = _names(names)
    if spec.array_shape is not None:
        wanted = [*wanted] * int(np.prod(spec.array_shape))
    given: list[str] = []
    for t in spec.out:
        slots = _slots(t)
        given += [t.dtype] * len(wanted) if slots is None else slots
    if len(given) != len(wanted):
        raise _refused(kernel, given, wanted)
    _check_classes(kernel, spec)
    for a, b in zip(wanted, given, strict=True):
        if b in FORMATS or not np.can_cast(a, b, "same_kind"):
            raise _refused(kernel, given, wanted)


def _check_classes(kernel: str, spec: LaunchSpec) -> None:
    """A View of a class of `es.Record` takes results of that class only, and they no other View."""
    if isinstance(spec.reducer, tuple) or spec.reducer is None or len(spec.out) != 1:
        return
    like = spec.reducer.identity
    own = record_class(like.dtype) if isinstance(like, np.void | np.ndarray) else None
    taken = record_class(dtype_of(spec.out[0].dtype))
    if own is not taken:
        kinds = ("numbers" if c is None else f"records {c.__name__}" for c in (taken, own))
        raise LaunchError(
            "Kernel '{}': out= takes {}, but the result is of {}; expected a View of the "
            "same.".format(kernel, *kinds)
        )


def _refused(kernel: str, given: list[str], wanted: list[str]) -> LaunchError:
    form = f"es.View((), es.{wanted[0].rstrip('_')})" if len(wanted) == 1 else (
        "a tuple of Views of rank 0, a View of rank 0 and a structured dtype, or for an array "
        "reduction a View of its shape"
    )  # fmt: skip
    return LaunchError(
        f"Kernel '{kernel}': out= takes {_listed(given)}, but the result is {_listed(wanted)}; "
        f"expected {form}."
    )


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{len(names)} numbers"
    return ", ".join(names) or "nothing"


def _names(names: Any) -> list[str]:
    return [str(n) for n in flattened(names)]


def _slots(t: ViewType) -> list[str] | None:
    """Dtypes of the numbers that a View takes; None if it takes one for each element."""
    dtype = dtype_of(t.dtype)
    if t.rank:
        return None
    if dtype.fields is None:
        return [dtype.name]
    return list(_fields(dtype))


def _fields(dtype: np.dtype[Any]) -> Iterator[str]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for _ in range(int(np.prod(shape))):
            yield from _fields(base)
    elif dtype.fields is not None:
        for name in dtype.names or ():
            yield from _fields(dtype.fields[name][0])
    else:
        yield dtype.name


def result_shape(spec: LaunchSpec) -> tuple[int, ...] | None:
    """Shape of a result that is an array; None for other results."""
    return spec.reducer.result_shape if isinstance(spec.reducer, Reducer) else None


def store_result(
    kernel: str, out: tuple[View, ...], numbers: Any, shape: tuple[int, ...] | None
) -> None:
    """Store a result in Views that the host can access; for array reductions, the array.

    Numbers are converted as by stores in kernels: narrow integers wrap.
    """
    view = out[0]
    if shape is not None and view.rank:
        check_shape(kernel, view, shape)
        if not isinstance(numbers, np.ndarray):
            items = [_as(view.dtype, v) for v in _row(numbers)]
            numbers = np.array(items, view.dtype).reshape(shape)
        with np.errstate(all="ignore"):
            view.memory_space.host_array(view)[...] = numbers
        return
    rest = iter(np.ravel(numbers).tolist() if isinstance(numbers, np.ndarray) else _row(numbers))
    for view in out:
        if view.dtype.fields is None:
            view.memory_space.fill(view, _as(view.dtype, next(rest)), None)
        else:
            array = view.memory_space.host_array(view)
            array[()] = _record(view.dtype, rest)


def _as(dtype: np.dtype[Any], number: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(number).astype(dtype)[()]


def _record(dtype: np.dtype[Any], numbers: Iterator[Any]) -> Any:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        items = [_record(base, numbers) for _ in range(int(np.prod(shape)))]
        return np.array(items, base).reshape(shape)
    if dtype.fields is None:
        return _as(dtype, next(numbers))
    return tuple(_record(dtype.fields[n][0], numbers) for n in dtype.names or ())
