"""parallel_reduce and parallel_scan: joining what a kernel returns for every index of a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..events import dispatch
from ..kernels.kernel import Kernel, kernel_of
from ..plugins import selection
from ..policies.checks import MOST
from ..policies.range import MDRangePolicy, Policy, RangePolicy
from ..policies.team import TeamPolicy
from ..reducers.base import Reducer, as_reducer, reducer_key
from ..reducers.builtin import Sum
from ..views.view import View
from .arguments import explain_overflow, refuse_arrays, views_of_out
from .nested_policy import Nested, run_nested
from .parallel import SCALAR_TAGS
from .policy_argument import INT_KEY, policy_of, wrong_count
from .prepare import Call, launch, prepare, sorted_out
from .profiled import run_kernel

__all__ = [
    "parallel_reduce",
    "parallel_scan",
]

_current = selection.CURRENT.get


def parallel_reduce(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    reducer: Reducer | type[Reducer] | str | tuple[Any, ...] = Sum,
    out: Any = None,
    label: str | None = None,
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

    Returns
    -------
    int, float, bool, complex, tuple or numpy.ndarray
        What the reducer gives; its identity for an empty range. Of several reducers a tuple.
        Blocks. None with `out`.

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
    return _launch("reduce", policy, kernel, args, reducer, out, label)


def parallel_scan(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    reducer: Reducer | type[Reducer] | str | tuple[Any, ...] = Sum,
    out: Any = None,
    label: str | None = None,
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

    Returns
    -------
    int, float, bool, complex or tuple
        The total of all contributions; the identity for an empty range. Blocks. None with
        `out`.

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
    return _launch("scan", policy, kernel, args, reducer, out, label)


_EVENTS = {"reduce": "parallel_reduce", "scan": "parallel_scan"}
_SUM_KEY = reducer_key(Sum)


def _launch(
    pattern: str,
    policy: Any,
    kernel: Any,
    args: tuple[Any, ...],
    reducer: Any,
    out: Any,
    label: str | None,
) -> Any:
    """Both launches; all but the rare cases is as in `parallel_for`."""
    if type(kernel) is Kernel:
        target, scope = kernel.shared, kernel.scope
    else:
        target, scope = kernel_of(kernel)
    if type(policy) is int:
        if not 0 <= policy <= MOST:
            raise wrong_count(_EVENTS[pattern], policy)
        policy_key: Any = INT_KEY
        bounds: tuple[int, ...] = (0, policy)
    elif type(policy) is RangePolicy or type(policy) is MDRangePolicy or type(policy) is TeamPolicy:
        policy_key, bounds = policy.key, policy.bounds
    elif isinstance(policy, Nested):  # in a kernel that plain Python runs
        return run_nested(pattern, policy, kernel, args, reducer, out)
    else:
        policy_key, bounds = policy_of(policy, pattern)
    if target.statics:
        call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
        return launch(call, policy, label)
    join_key = _SUM_KEY if reducer is Sum else reducer_key(reducer)
    views = () if out is None else views_of_out(out)
    given = args
    types: list[Any] = [
        pattern, policy_key, _current(), join_key, *[v.type for v in views], len(views)
    ]  # fmt: skip
    for a in args:
        if type(a) is View:
            types.append(a.type)
        else:
            t = SCALAR_TAGS.get(type(a))
            if t is None:
                call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
                return launch(call, policy, label)
            types.append(t)
    names = target.names
    if names is None or (names.unchanged is not None and not names.unchanged()):
        names = target.scan(scope)
    if names.paths:
        names, tags, hidden = target.environment(scope, names)
        types += tags
        args += hidden
    args += views
    key = tuple(types)
    try:
        plan = names.plans.get(key)
    except TypeError:  # only the reducer is not known to be hashable
        as_reducer(reducer)
        raise
    if plan is None and views:  # which may be out of the space's reach
        call = sorted_out(pattern, policy_key, bounds, target, scope, given, reducer, views)
        return launch(call, policy, label)
    if plan is None:
        join = as_reducer(reducer)
        if pattern == "scan":
            refuse_arrays(target.name, reducer, join)
        captured = len(hidden) if names.paths else 0
        call = Call(pattern, policy_key, bounds, target, scope, names, key, args, captured, join)
        plan = names.plans[key] = prepare(call)
    try:
        if dispatch.TOOLS:
            return run_kernel(_EVENTS[pattern], target.name, label, policy, plan, bounds, args)
        if label is not None:
            return plan.launch_as(label, bounds, args)
        run = plan.launch  # CPython remembers where an attribute is, not so for a method's call
        return run(bounds, args)
    except OverflowError as error:
        explain_overflow(target, args, error)
