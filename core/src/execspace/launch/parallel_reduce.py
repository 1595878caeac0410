"""parallel_reduce and parallel_scan: joining what a kernel returns for every index of a policy."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..base.errors import LaunchError
from ..base.flags import flag
from ..events import dispatch
from ..kernels.kernel import Kernel, kernel_with
from ..kernels.recent import MISSED
from ..policies.range import Policy
from ..policies.team import TeamPolicy
from ..reducers.base import Reducer
from ..reducers.builtin import Sum
from .arguments import explain_overflow
from .future import launch_for_later
from .looked_up import launch_by_key
from .nested_policy import Nested

__all__ = [
    "parallel_reduce",
    "parallel_scan",
]


def parallel_reduce(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    reducer: Reducer | type[Reducer] | str | tuple[Any, ...] = Sum,
    out: Any = None,
    label: str | None = None,
    blocking: bool = True,
) -> Any:
    """Join the contributions that a kernel returns for every index of a policy.

    Parameters
    ----------
    policy, kernel, *args, label
        As for `parallel_for`; the kernel returns its contribution: a number or whatever the
        reducer joins. Of a kernel for teams it counts once for each team. For an array reduction
        (``es.Sum(shape=4)``) it gets an array after its indices and joins into that instead;
        teams cannot do that.
    reducer : Reducer, class, name, or tuple of them, default Sum
        How contributions are joined. `Sum` and `Prod` join integers in 64 bits and floats
        in float64 unless told otherwise (``es.Sum(dtype=es.float32)``). With a tuple of
        reducers the kernel returns a tuple, with one contribution for each.
    out : View, array, or tuple of them, optional
        Receives the result in its own dtype; then nothing is returned and an asynchronous
        space does not block. A View of rank 0 takes a number, one of a structured dtype as
        many as it has fields, and a larger View an array; a tuple of Views takes a result of
        several numbers in their order. Where the space cannot reach the memory, as that of a
        NumPy array from a device, the result is copied there and the launch blocks.
    blocking : bool, default True
        False: return a `Future` of what would be returned otherwise, without waiting for it.

    Returns
    -------
    int, float, bool, complex, tuple or numpy.ndarray
        What the reducer gives; its identity for an empty range. Of several reducers a tuple.
        Blocks. None with `out`. With ``blocking=False`` a `Future` of that.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        If the kernel, or the join of a reducer, cannot be compiled, or if what it returns does
        not fit the reducer; at the first launch with these types.
    LaunchError, SpaceAccessError, PolicyError

    Notes
    -----
    Deterministic from run to run, bit by bit, for a space, its number of threads, a shape and
    a policy. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/parallel-dispatch/parallel_reduce.html

    Examples
    --------
    >>> import execspace as es
    >>> es.parallel_reduce(5, lambda i: (i * i, 1), reducer=(es.Max, es.Sum))
    (16, 5)
    """
    try:
        if blocking and not dispatch.TOOLS:
            result = _repeated("reduce", policy, kernel, args, reducer, out, label)
            if result is not MISSED:
                return result
    except ValueError:  # maybe of an array, which is neither true nor false
        _waits(blocking, "reduce")
        raise
    if not _waits(blocking, "reduce"):
        return launch_for_later("reduce", policy, kernel, args, label, reducer, out)
    return launch_by_key("reduce", policy, kernel, args, label, reducer, out)


def parallel_scan(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    reducer: Reducer | type[Reducer] | str | tuple[Any, ...] = Sum,
    out: Any = None,
    label: str | None = None,
    blocking: bool = True,
) -> Any:
    """Give a kernel, at every index, what all indices before it contributed.

    Parameters
    ----------
    policy : int, RangePolicy, MDRangePolicy or TeamPolicy
        Indices of an MDRangePolicy come in rank order: the last one fastest, unless
        ``iterate="left"``. It cannot be tiled. Teams come in the order of their league ranks.
        Within a kernel for teams it may be a nested range of one dimension.
    kernel : Kernel or function
        Called as ``kernel(i, ..., prefix, final, *args)``. It returns its contribution.
        `prefix` is what all indices before this one contributed, joined; but only where
        `final` is true: write results only there. It is called once with `final` true for
        each index and any number of times with `final` false.
    *args, label
        As for `parallel_for`.
    reducer : Reducer, class, name, or tuple of them, default Sum
        How contributions are joined; see `parallel_reduce`. Any associative join will do.
    out : View, array, or tuple of them, optional
        Receives the total; see `parallel_reduce`.
    blocking : bool, default True
        False: return a `Future` of the total, without waiting for it.

    Returns
    -------
    int, float, bool, complex or tuple
        The total of all contributions; the identity for an empty range. Blocks. None with
        `out`. With ``blocking=False`` a `Future` of that.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        If the kernel cannot be compiled; at the first launch with these types.
    LaunchError, SpaceAccessError, PolicyError

    Notes
    -----
    ``dst[i] = prefix`` makes an exclusive scan, ``dst[i] = prefix + src[i]`` an inclusive one.
    Deterministic from run to run, as `parallel_reduce` is. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/parallel-dispatch/parallel_scan.html
    """
    try:
        if blocking and not dispatch.TOOLS:
            result = _repeated("scan", policy, kernel, args, reducer, out, label)
            if result is not MISSED:
                return result
    except ValueError:  # maybe of an array, which is neither true nor false
        _waits(blocking, "scan")
        raise
    if not _waits(blocking, "scan"):
        return launch_for_later("scan", policy, kernel, args, label, reducer, out)
    return launch_by_key("scan", policy, kernel, args, label, reducer, out)


def _waits(blocking: Any, pattern: str) -> bool:
    """The option `blocking`; LaunchError if it is no bool."""
    return blocking is True or flag(blocking, "blocking", f"parallel_{pattern}", LaunchError)


def _repeated(
    pattern: str,
    policy: Any,
    kernel: Any,
    args: tuple[Any, ...],
    reducer: Any,
    out: Any,
    label: str | None,
) -> Any:
    """The result of a launch that is known again, as in `parallel_for`, or MISSED."""
    fn: Any = kernel
    if type(kernel) is Kernel:
        fn, known = kernel.fn, kernel
    elif type(kernel) is FunctionType:
        found = kernel_with((id(kernel.__code__), id(kernel.__globals__)))
        if found is None:
            return MISSED
        known = found
    else:
        return MISSED
    try:
        if label is None:
            return known.recent.joined(fn, policy, args, pattern, reducer, out)
        return known.recent.joined_labelled(fn, policy, args, pattern, reducer, out, label)
    except OverflowError as error:
        explain_overflow(known, args, error)
