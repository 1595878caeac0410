"""parallel_for and fence: from the arguments of a call to a compiled plan.

The second launch of a kernel with the same types of arguments is: a tuple of type tags, one
dictionary look-up, the plan. All checking is done when the plan is made; the tags make sure
that it stays valid. parallel_reduce.py repeats the first lines of parallel_for on purpose: a
function that both called would cost a fifth of a launch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from types import BuiltinFunctionType
from typing import Any, NoReturn

import numpy as np

from . import config, profiling, selection
from .argtypes import SCALAR_TYPES, ArgType, plain_number
from .arrays import advice, has_protocol
from .captures import Scope, defaults, is_array, parameters, scope_of, without_views
from .errors import (
    DTypeError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    PluginError,
    PolicyError,
    SpaceAccessError,
    shown,
)
from .interop import view_of
from .kernel import Kernel, kernel_of
from .policy import MOST, MDRangePolicy, Policy, RangePolicy
from .profiling.launches import run_kernel
from .reducer import Reducer, reducer_captures
from .space import ExecutionSpace, LaunchSpec, Plan, policy_spec
from .subclasses import own_operator
from .teams import Nested, TeamPolicy, check_teams, run_nested
from .view import View

INT_KEY = (policy_spec("range", 1), None)
_current = selection.CURRENT.get
KERNEL_FAULTS = (KernelSyntaxError, KernelTypeError)
SCALAR_TAGS: dict[Any, ArgType] = dict(SCALAR_TYPES)


def parallel_for(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Scope | Callable[..., Any],
    /,
    *args: Any,
    label: str | None = None,
) -> None:
    """Run a kernel for every index of a policy, in any order.

    Parameters
    ----------
    policy : int, RangePolicy, MDRangePolicy or TeamPolicy
        An integer `n` means `RangePolicy(0, n)`. Without a space of its own it runs on the
        default space. Within a kernel for teams it may be a nested range such as
        `TeamThreadRange`, whose label nobody sees.
    kernel : Kernel or function
        Called as ``kernel(i, ..., *args)`` with one index for each rank of the policy; with a
        TeamPolicy as ``kernel(team, *args)``, by each thread of each team, see `TeamMember`.
    *args : View, array or number
        Arrays of other libraries are used in place, without a copy: see `view_of`.
    label : str, optional
        Name in profiles and in errors of asynchronous launches; the kernel's own name if not
        given.

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
        target, scope = kernel.shared, kernel.scope
    else:
        target, scope = kernel_of(kernel)
    if type(policy) is int:
        if not 0 <= policy <= MOST:
            raise wrong_count("parallel_for", policy)
        policy_key: Any = INT_KEY
        bounds: tuple[int, ...] = (0, policy)
    elif type(policy) is RangePolicy or type(policy) is MDRangePolicy or type(policy) is TeamPolicy:
        policy_key, bounds = policy.key, policy.bounds
    elif isinstance(policy, Nested):  # in a kernel that plain Python runs
        run_nested("for", policy, kernel, args)
        return None
    else:
        policy_key, bounds = policy_of(policy)
    if target.statics:
        given, plain = as_arguments(target, scope, policy_key[0].rank, args)
        return parallel_for(policy, given, *plain, label=label)
    types: list[Any] = [policy_key, _current()]
    for a in args:
        if type(a) is View:
            types.append(a.type)
        else:
            t = SCALAR_TAGS.get(type(a))
            if t is None:
                given, plain = as_arguments(target, scope, policy_key[0].rank, args)
                return parallel_for(policy, given, *plain, label=label)
            types.append(t)
    names = target.names
    if names is None or (names.unchanged is not None and not names.unchanged()):
        names = target.scan(scope)
    if names.paths:
        names, tags, hidden = target.environment(scope, names)
        types += tags
        args += hidden
    key = tuple(types)
    plan = names.plans.get(key)
    if plan is None:
        plan = prepare("for", policy_key, target, scope, args)
        names.plans[key] = plan
    try:
        if profiling.TOOLS:
            run_kernel("parallel_for", target.name, label, policy, plan, bounds, args)
        elif label is None:
            plan.launch(bounds, args)
        else:
            plan.launch_as(label, bounds, args)
    except OverflowError as error:
        explain_overflow(target, args, error)


def shown_policy(policy: Any, bounds: tuple[int, ...]) -> Any:
    """The policy of a launch as tools see it: that of the user, who may have given a number."""
    if isinstance(policy, RangePolicy | MDRangePolicy | TeamPolicy):
        return policy
    return RangePolicy(bounds[0], bounds[1])


def fence(label: str = "") -> None:
    """Wait until all work on all started spaces is done. Blocks."""
    for space in selection.started():
        space.fence(label)


def wrong_count(what: str, count: int) -> PolicyError:
    """What is wrong with a number of indices."""
    if count < 0:
        return PolicyError(f"{what} over {shown(count)} indices; expected 0 or more.")
    return PolicyError(
        f"{what} over {shown(count)} indices, and kernels count in 64 bits, up to {MOST}; launch "
        f"it in parts."
    )


def explain_overflow(kernel: Kernel, args: tuple[Any, ...], error: OverflowError) -> NoReturn:
    """Say which number does not fit, if that is what the error is about."""
    for position, a in enumerate(args):
        if type(a) is int and not -(2**63) <= a < 2**63:
            raise LaunchError(
                f"Kernel '{kernel.name}': argument {position} is {shown(a)}, which does not fit "
                f"into a signed 64-bit integer; pass es.uint64(...) or a float."
            ) from None
    raise error


def policy_of(policy: Any) -> tuple[Any, tuple[int, ...]]:
    """Key and bounds of an integer that is no int, such as numpy.int64."""
    try:
        n = operator.index(policy)
    except TypeError:
        raise PolicyError(
            f"{_shortened(policy)} is no policy; expected an integer, es.RangePolicy, "
            f"es.MDRangePolicy or es.TeamPolicy.{_policy_hint(policy)}"
        ) from None
    p = RangePolicy(n)
    return p.key, p.bounds


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"an object of type {type(value).__name__!r}"


def _policy_hint(given: Any) -> str:
    """What somebody may have meant who gave this for a policy, as a sentence."""
    if isinstance(given, range):
        if given.step == 1:
            first, last = given.start, given.stop
            return f" Write {f'es.RangePolicy({first}, {last})' if first else last}."
        return (
            f" Policies have no step; write {len(given)}, and compute "
            f"{given.start} + {given.step} * i in the kernel."
        )
    if isinstance(given, tuple | list) and 1 <= len(given) <= 6:
        if all(isinstance(n, int | np.integer) for n in given):
            extents = ", ".join(map(str, given)) + ("," if len(given) == 1 else "")
            return f" Write es.MDRangePolicy(({extents}))."
    if isinstance(given, View) or is_array(given):
        return " Give the number of indices, such as A.shape[0], and the array as an argument."
    if scope_of(given) is not None:
        return " The policy comes first, then the kernel."
    return ""


def as_arguments(
    kernel: Kernel, scope: Scope, leading: int, args: tuple[Any, ...]
) -> tuple[Scope, list[Any]]:
    """Sort out what is neither a View nor a number.

    The kernel has `leading` parameters before those of the arguments. Arrays are wrapped as
    Views. Functions, strings, dtypes, None and whatever the kernel marks with es.static become
    parameters that are given beforehand.
    """
    names = [n for n in parameters(scope.fn) if n not in scope.given][leading:]
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
            if (own := own_operator(type(a))) is not None:
                raise LaunchError(
                    f"Kernel '{kernel.name}': argument {position} is of type "
                    f"{type(a).__name__!r}, which has its own '{own}'; kernels compute with plain "
                    f"numbers. Pass {type(plain_number(a)).__name__}(...) of it."
                )
            converted.append(plain_number(a))
        elif name is not None and _is_constant(a):
            given[name] = a
        else:
            try:
                converted.append(view_of(a, label=f"argument {position} of {kernel.name}"))
            except DTypeError as error:
                raise DTypeError(f"Kernel '{kernel.name}': argument {position}: {error}") from None
            except TypeError as error:
                if is_array(a) or has_protocol(a, "__array_interface__"):
                    text = str(error).replace(f" of {kernel.name}: ", ": ", 1)
                    raise LaunchError(f"Kernel '{kernel.name}': {text}") from error
                more = f" {text}" if (text := advice(a)) else ""
                if isinstance(a, tuple) and not any(type(v) is View or is_array(v) for v in a):
                    more = (
                        " Make it an array: np.asarray(...), or annotate its parameter with "
                        "es.static."
                    )
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


def prepare(
    pattern: str,
    policy_key: Any,
    kernel: Kernel,
    scope: Scope,
    args: tuple[Any, ...],
    reducer: Reducer | tuple[Reducer, ...] | None = None,
    out: tuple[View, ...] = (),
) -> Plan:
    """The plan of a launch: that of `compiled`, with what is tuned for it."""
    try:
        return tuned(*compiled(pattern, policy_key, kernel, scope, args, reducer, out))
    except KERNEL_FAULTS as error:
        raise shortened(error) from error.__cause__


def tuned(plan: Plan, kernel: Kernel, spec: LaunchSpec, tell: bool = False) -> Plan:
    """A plan with what is tuned for it, or the plan itself.

    `tell`: also where the default was found to be the best, for `explain` to say so.
    """
    if not config.is_tuned():
        return plan
    from .tuning.tuned import wrapped  # which launches, and so imports this module

    return wrapped(plan, kernel, spec, tell)


def compiled(
    pattern: str,
    policy_key: Any,
    kernel: Kernel,
    scope: Scope,
    args: tuple[Any, ...],
    reducer: Reducer | tuple[Reducer, ...] | None = None,
    out: tuple[View, ...] = (),
) -> tuple[Plan, Kernel, LaunchSpec]:
    """Choose the space, check that it reaches every View, and have it compile a plan.

    The Views of `out` are the last of `args`. Returns the plan, and what it was made of.
    """
    spec_policy, named = policy_key
    if pattern == "scan" and spec_policy.tiled:
        raise PolicyError(
            f"Kernel '{kernel.name}': parallel_scan goes through the indices one after the other, "
            f"so its policy cannot have a tile; leave out tile=."
        )
    if pattern != "for" and spec_policy.per_thread:
        raise PolicyError(
            f"Kernel '{kernel.name}': per_thread is an option of parallel_for; in "
            f"parallel_{pattern} each thread has many calls anyhow. Leave it out."
        )
    views = [a for a in args if isinstance(a, View)]
    space = implied_space(views) if named is None else named
    inputs = args[: len(args) - len(out)]
    _check_reach(space, inputs, out, kernel)
    selection.note(space)
    hidden = len(kernel.environment(scope, kernel.names_now(scope))[2])
    explicit = len(inputs) - hidden
    captures = kernel.capture_list(scope, explicit)
    spec = LaunchSpec(
        pattern=pattern,
        policy=spec_policy,
        arguments=tuple(a.type if isinstance(a, View) else SCALAR_TYPES[type(a)] for a in inputs),
        captures=captures if reducer is None else (*captures, *reducer_captures(reducer)),
        bound=(),
        reducer=reducer,
        out=tuple(v.type for v in out),
    )
    if spec_policy.kind == "team":
        check_teams(kernel.name, spec, space)
    spec = replace(spec, bound=kernel.bound(scope, spec.leading + explicit))
    source = Kernel(
        without_views(scope.fn), fma=kernel.fma, fastmath=kernel.fastmath, name=kernel.name,
        source=kernel.source,
    )  # fmt: skip
    plan = space.compile(source, spec)
    if not isinstance(plan, Plan):
        raise PluginError(
            f"Space '{space.name}' compiled kernel '{kernel.name}' to an object of type "
            f"{type(plan).__name__!r}; expected an es.Plan. This is a defect of its plugin."
        )
    return plan, source, spec


def shortened(error: Exception) -> Exception:
    """An error in a kernel without how the compiler came to it.

    Its message shows the place in the kernel. The rest are forty frames, which notebooks show.
    """
    return error if config.get("TRACEBACK") == "full" else error.with_traceback(None)


def implied_space(views: Sequence[View]) -> ExecutionSpace:
    """Where work on Views runs that names no space: the default space if it reaches them all,
    else the one space of theirs that does."""
    default = selection.default_space()
    if selection.CURRENT.get() is not None or _reaches_all(default, views):
        return default
    able = {v.space.name: v.space for v in views if v.space and _reaches_all(v.space, views)}
    return next(iter(able.values())) if len(able) == 1 else default


def _reaches_all(space: ExecutionSpace, views: Sequence[View]) -> bool:
    return all(v.memory_space.reachable_from(space) for v in views)


def _check_reach(
    space: ExecutionSpace, inputs: tuple[Any, ...], out: tuple[View, ...], kernel: Kernel
) -> None:
    named = [(f"argument {n}, View", a) for n, a in enumerate(inputs) if isinstance(a, View)]
    named += [("the result View of out=,", v) for v in out]
    for what, view in named:
        if not view.memory_space.reachable_from(space):
            raise SpaceAccessError(
                f"Kernel '{kernel.name}': {what} '{view.label}', is in memory space "
                f"'{view.memory_space.name}', which space '{space.name}' cannot reach. Copy it "
                f"first: es.create_mirror_view_and_copy('{space.name}', ...)."
            )
