"""parallel_for and fence.

The second launch of a kernel with the same types of arguments is: a tuple of type tags, one
dictionary look-up, the plan. All checking is done when the plan is made; the tags make sure
that it stays valid; see prepare.py. parallel_reduce.py repeats the first lines of parallel_for on
purpose: a function that both called would cost a fifth of a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..contract.argtypes import SCALAR_TYPES, ArgType
from ..events import dispatch
from ..kernels.kernel import Kernel, kernel_of
from ..plugins import selection
from ..policies.checks import MOST
from ..policies.range import MDRangePolicy, Policy, RangePolicy
from ..policies.team import TeamPolicy
from ..views.view import View
from .arguments import explain_overflow
from .nested_policy import Nested, run_nested
from .policy_argument import INT_KEY, policy_of, wrong_count
from .prepare import Call, launch, prepare, sorted_out
from .profiled import run_kernel

__all__ = [
    "parallel_for",
]

_current = selection.CURRENT.get
SCALAR_TAGS: dict[Any, ArgType] = dict(SCALAR_TYPES)


def parallel_for(
    policy: int | Policy | TeamPolicy | Nested,
    kernel: Kernel | Callable[..., Any],
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
        return
    else:
        policy_key, bounds = policy_of(policy, "for")
    if target.statics:
        launch(sorted_out("for", policy_key, bounds, target, scope, args), policy, label)
        return
    types: list[Any] = [policy_key, _current()]
    for a in args:
        if type(a) is View:
            types.append(a.type)
        else:
            t = SCALAR_TAGS.get(type(a))
            if t is None:
                launch(sorted_out("for", policy_key, bounds, target, scope, args), policy, label)
                return
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
        captured = len(hidden) if names.paths else 0
        call = Call("for", policy_key, bounds, target, scope, names, key, args, captured)
        plan = names.plans[key] = prepare(call)
    try:
        if dispatch.TOOLS:
            run_kernel("parallel_for", target.name, label, policy, plan, bounds, args)
        elif label is None:
            run = plan.launch  # CPython remembers where an attribute is, not so for a method's call
            run(bounds, args)
        else:
            plan.launch_as(label, bounds, args)
    except OverflowError as error:
        explain_overflow(target, args, error)
