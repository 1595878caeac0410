"""parallel_for.

A launch like the last one of its kernel is known again by a test, which launches it: see
kernels/recent.py. Each other is looked up by its key. The first lines of parallel_reduce.py repeat
those of parallel_for on purpose: a function that both called would cost a tenth of a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..events import dispatch
from ..kernels.kernel import Kernel, kernel_with
from ..kernels.recent import MISSED
from ..policies.range import Policy
from ..policies.team import TeamPolicy
from .arguments import explain_overflow
from .looked_up import launch_by_key
from .nested_policy import Nested

__all__ = [
    "parallel_for",
]


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
    if not dispatch.TOOLS:
        fn: Any = kernel
        known: Kernel | None = None
        if type(kernel) is Kernel:
            fn, known = kernel.fn, kernel
        elif type(kernel) is FunctionType:
            known = kernel_with((id(kernel.__code__), id(kernel.__globals__)))
        if known is not None:
            try:
                if label is None:
                    known_launch = known.recent.plain
                    if known_launch(fn, policy, args) is not MISSED:
                        return
                elif known.recent.plain_labelled(fn, policy, args, label) is not MISSED:
                    return
            except OverflowError as error:
                explain_overflow(known, args, error)
    launch_by_key("for", policy, kernel, args, label)
