"""parallel_for, parallel_reduce, fence: from the arguments of a call to a compiled plan.

The second launch of a kernel with the same types of arguments is: a tuple of type tags, one
dictionary look-up, the plan. All checking is done when the plan is made; the tags make sure
that it stays valid. The two launch functions repeat each other's first lines on purpose: a
function that both called would cost a fifth of a launch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum
from types import BuiltinFunctionType
from typing import Any, NoReturn

import numpy as np

from . import profiling, selection
from .argtypes import SCALAR_TYPES, ArgType, ViewType, plain_number
from .captures import Scope, defaults, parameters, scope_of, without_views
from .errors import DTypeError, LaunchError, PolicyError, SpaceAccessError
from .interop import view_of
from .kernel import Kernel, kernel_of
from .policy import MDRangePolicy, Policy, RangePolicy
from .reducer import Reducer, Sum, as_reducer
from .space import ExecutionSpace, LaunchSpec, policy_spec
from .view import View

_INT_KEY = (policy_spec("range", 1), None)
_current = selection.CURRENT.get
_scalar_types: dict[Any, ArgType] = dict(SCALAR_TYPES)


def parallel_for(
    policy: int | Policy,
    kernel: Kernel | Scope | Callable[..., Any],
    /,
    *args: Any,
    label: str | None = None,
) -> None:
    """Run a kernel for every index of a policy, in any order.

    Parameters
    ----------
    policy : int, RangePolicy or MDRangePolicy
        An integer `n` means `RangePolicy(0, n)`. Without a space of its own it runs on the
        default space.
    kernel : Kernel or function
        Called as ``kernel(i, ..., *args)`` with one index for each rank of the policy.
    *args : View, array or number
        NumPy arrays (and CPU DLPack tensors) are used in place, without a copy.
    label : str, optional
        Name in profiles; the kernel's own name if not given.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        If the kernel cannot be compiled; at the first launch with these types.
    LaunchError, SpaceAccessError, PolicyError

    Notes
    -----
    Asynchronous where the space is; `fence` waits. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/parallel-dispatch/parallel_for.html
    """
    if type(kernel) is Kernel:
        target, scope = kernel, kernel.scope
    else:
        target, scope = kernel_of(kernel)
    if type(policy) is int:
        if policy < 0:
            raise PolicyError(f"parallel_for over {policy} indices; expected 0 or more.")
        policy_key: Any = _INT_KEY
        bounds: tuple[int, ...] = (0, policy)
    elif type(policy) is RangePolicy or type(policy) is MDRangePolicy:
        policy_key, bounds = policy.key, policy.bounds
    else:
        policy_key, bounds = _policy(policy)
    if target.statics:
        given, plain = _as_arguments(target, scope, policy_key, args)
        return parallel_for(policy, given, *plain, label=label)
    types: list[Any] = [policy_key, _current()]
    for a in args:
        if type(a) is View:
            types.append(a.type)
        else:
            t = _scalar_types.get(type(a))
            if t is None:
                given, plain = _as_arguments(target, scope, policy_key, args)
                return parallel_for(policy, given, *plain, label=label)
            types.append(t)
    paths = target.paths
    if paths is None:
        paths = target.scan(scope)
    if paths:
        tags, hidden = target.environment(scope)
        types += tags
        args += hidden
    key = tuple(types)
    plan = target.plans.get(key)
    if plan is None:
        plan = _prepare("for", policy_key, target, scope, args, None, None)
        target.plans[key] = plan
    if profiling.TOOLS:
        with profiling.kernel_events("parallel_for", label or target.name, plan.space.name):
            plan.launch(bounds, args)
        return None
    try:
        plan.launch(bounds, args)
    except OverflowError as error:
        _explain_overflow(target, args, error)


def parallel_reduce(
    policy: int | Policy,
    kernel: Kernel | Scope | Callable[..., Any],
    /,
    *args: Any,
    reducer: Reducer | type[Reducer] | str = Sum,
    out: View | None = None,
    label: str | None = None,
) -> Any:
    """Join the contributions that a kernel returns for every index of a policy.

    Parameters
    ----------
    policy, kernel, *args, label
        As for `parallel_for`; the kernel returns its contribution.
    reducer : Reducer, class or name, default Sum
        How contributions are joined. `Sum` and `Prod` join integers in 64 bits and floats
        in float64 unless told otherwise (`es.Sum(dtype=es.float32)`).
    out : View of rank 0, optional
        Receives the result in its own dtype; then nothing is returned and an asynchronous
        space does not block.

    Returns
    -------
    int, float, bool or complex
        A Python number; the reducer's identity for an empty range. Blocks. None with `out`.

    Notes
    -----
    Deterministic from run to run for a space, its number of threads, a shape and a policy.
    """
    if type(kernel) is Kernel:
        target, scope = kernel, kernel.scope
    else:
        target, scope = kernel_of(kernel)
    if type(policy) is int:
        if policy < 0:
            raise PolicyError(f"parallel_reduce over {policy} indices; expected 0 or more.")
        policy_key: Any = _INT_KEY
        bounds: tuple[int, ...] = (0, policy)
    elif type(policy) is RangePolicy or type(policy) is MDRangePolicy:
        policy_key, bounds = policy.key, policy.bounds
    else:
        policy_key, bounds = _policy(policy)
    if target.statics:
        given, plain = _as_arguments(target, scope, policy_key, args)
        return parallel_reduce(policy, given, *plain, reducer=reducer, out=out, label=label)
    types: list[Any] = [policy_key, _current(), reducer, None if out is None else _out_type(out)]
    for a in args:
        if type(a) is View:
            types.append(a.type)
        else:
            t = _scalar_types.get(type(a))
            if t is None:
                given, plain = _as_arguments(target, scope, policy_key, args)
                return parallel_reduce(policy, given, *plain, reducer=reducer, out=out, label=label)
            types.append(t)
    paths = target.paths
    if paths is None:
        paths = target.scan(scope)
    if paths:
        tags, hidden = target.environment(scope)
        types += tags
        args += hidden
    if out is not None:
        args = (*args, out)
    key = tuple(types)
    try:
        plan = target.plans.get(key)
    except TypeError:  # only the reducer is not known to be hashable
        as_reducer(reducer)
        raise
    if plan is None:
        plan = _prepare("reduce", policy_key, target, scope, args, as_reducer(reducer), out)
        target.plans[key] = plan
    if profiling.TOOLS:
        with profiling.kernel_events("parallel_reduce", label or target.name, plan.space.name):
            return plan.launch(bounds, args)
    try:
        return plan.launch(bounds, args)
    except OverflowError as error:
        _explain_overflow(target, args, error)


def fence(label: str = "") -> None:
    """Wait until all work on all started spaces is done. Blocks."""
    for space in selection.started():
        if profiling.TOOLS:
            profiling.emit("on_fence", space.name, label)
        space.fence(label)


def _explain_overflow(kernel: Kernel, args: tuple[Any, ...], error: OverflowError) -> NoReturn:
    for position, a in enumerate(args):
        if type(a) is int and not -(2**63) <= a < 2**63:
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is {a}, which does not fit into a "
                f"signed 64-bit integer; pass es.uint64(...) or a float."
            ) from None
    raise error


def _policy(policy: Any) -> tuple[Any, tuple[int, ...]]:
    try:
        n = operator.index(policy)
    except TypeError:
        raise PolicyError(
            f"{policy!r} is no policy; expected an integer, es.RangePolicy or es.MDRangePolicy."
        ) from None
    p = RangePolicy(n)
    return p.key, p.bounds


def _out_type(out: Any) -> ViewType:
    if not isinstance(out, View) or out.rank != 0 or out.is_readonly:
        raise LaunchError(f"out={out!r}; expected a writable View of rank 0: es.View((), dtype).")
    return out.type


def _as_arguments(
    kernel: Kernel, scope: Scope, policy_key: Any, args: tuple[Any, ...]
) -> tuple[Scope, list[Any]]:
    """Sort out what is neither a View nor a number.

    Arrays are wrapped as Views. Functions, strings, dtypes, None and whatever the kernel marks
    with es.static become parameters that are given beforehand.
    """
    rank = policy_key[0].rank
    names = [n for n in parameters(scope.fn) if n not in scope.given][rank:]
    given = dict(scope.given)
    converted = []
    for position, a in enumerate(args):
        name = names[position] if position < len(names) else None
        if name in kernel.statics:
            given[name] = _static_value(kernel, name, a)
        elif type(a) is View or type(a) in SCALAR_TYPES:
            converted.append(a)
        elif isinstance(a, View):
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is of {type(a).__name__!r}, a "
                f"subclass of View; pass a View."
            )
        elif isinstance(a, bool | int | float | complex) and not isinstance(a, np.generic):
            converted.append(plain_number(a))
        elif name is not None and _is_constant(a):
            given[name] = a
        else:
            try:
                converted.append(view_of(a, label=f"argument {position} of {kernel.name}"))
            except DTypeError as error:
                raise DTypeError(f"Kernel '{kernel.name}': argument {position}: {error}") from None
            except TypeError:
                more = " Make it an array: np.asarray(...)." if isinstance(a, list) else ""
                raise LaunchError(
                    f"Kernel '{kernel.name}': argument {position} is of type "
                    f"{type(a).__name__!r}; expected a View, an array, a number or a "
                    f"function.{more}"
                ) from None
    known = defaults(scope.fn)
    for name in kernel.statics:
        if name not in given:
            if name not in known:
                raise LaunchError(
                    f"Kernel '{kernel.name}': the static parameter '{name}' gets no value; pass "
                    f"one argument for each parameter after the indices."
                )
            given[name] = known[name]
    return Scope(scope.fn, given, scope.kernel), converted


def _is_constant(value: Any) -> bool:
    """Whether an argument can only be a compile-time constant."""
    plain = str | np.dtype | type | np.ufunc | BuiltinFunctionType | Enum
    if value is None or isinstance(value, plain):
        return True
    return scope_of(value) is not None


def _can_be_static(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_can_be_static, value))
    return isinstance(value, bool | int | float | complex | np.generic) or _is_constant(value)


def _static_value(kernel: Kernel, name: str, value: Any) -> Any:
    if _can_be_static(value):
        return value
    raise LaunchError(
        f"Kernel '{kernel.name}': the static parameter '{name}' is of type "
        f"{type(value).__name__!r}; expected a number, a string, a tuple of them, a dtype, a "
        f"function or None."
    )


def _prepare(
    pattern: str,
    policy_key: Any,
    kernel: Kernel,
    scope: Scope,
    args: tuple[Any, ...],
    reducer: Reducer | None,
    out: View | None,
) -> Any:
    """Choose the space, check that it reaches every View, and have it compile a plan."""
    spec_policy, named = policy_key
    views = [a for a in args if isinstance(a, View)]
    space = _choose(named, views, kernel)
    _check_reach(space, args, kernel)
    selection.note(space)
    inputs = args if out is None else args[:-1]
    hidden = len(kernel.environment(scope)[1])
    explicit = len(inputs) - hidden
    spec = LaunchSpec(
        pattern=pattern,
        policy=spec_policy,
        arguments=tuple(a.type if isinstance(a, View) else SCALAR_TYPES[type(a)] for a in inputs),
        captures=kernel.capture_list(scope, explicit),
        bound=kernel.bound(scope, spec_policy.rank + explicit),
        reducer=reducer,
        out=None if out is None else out.type,
    )
    source = Kernel(
        without_views(scope.fn), fma=kernel.fma, fastmath=kernel.fastmath, name=kernel.name,
        source=kernel.source,
    )  # fmt: skip
    return space.compile(source, spec)


def _choose(named: ExecutionSpace | None, views: list[View], kernel: Kernel) -> ExecutionSpace:
    if named is not None:
        return named
    default = selection.default_space()
    if selection.CURRENT.get() is not None or all(
        v.memory_space.reachable_from(default) for v in views
    ):
        return default
    able = {
        v.space.name: v.space
        for v in views
        if v.space is not None and all(w.memory_space.reachable_from(v.space) for w in views)
    }
    if len(able) == 1:
        return next(iter(able.values()))
    return default


def _check_reach(space: ExecutionSpace, args: tuple[Any, ...], kernel: Kernel) -> None:
    for position, a in enumerate(args):
        if isinstance(a, View) and not a.memory_space.reachable_from(space):
            raise SpaceAccessError(
                f"Kernel '{kernel.name}': argument {position}, View '{a.label}', is in memory "
                f"space '{a.memory_space.name}', which space '{space.name}' cannot reach. Copy "
                f"it first: es.create_mirror_view_and_copy('{space.name}', ...)."
            )
