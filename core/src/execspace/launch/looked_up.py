"""A launch whose plan is looked up by its key; all three patterns.

The key says on what a plan depends: policy and space, types of arguments, captured values. All
checking is done when the plan is made, see prepare.py; the key makes sure that it stays valid.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..base.forks import forks_wait
from ..contract.argtypes import SCALAR_TYPES, ArgType
from ..contract.space import Plan
from ..kernels.captures import Scope
from ..kernels.kernel import Kernel, KernelNames, kernel_of
from ..kernels.recent import Recent
from ..reducers.base import as_reducer
from ..views.view import View
from .arguments import views_of_out
from .nested_policy import Nested, run_nested
from .policy_argument import policy_of
from .prepare import Call, key_of, launch, prepare, run, sorted_out
from .repeats import for_test, join_test

_SCALAR_TAGS: dict[Any, ArgType] = dict(SCALAR_TYPES)
_Rest = tuple[str | None, str, Any, Any]
_Launched = tuple[Scope, KernelNames, list[Any], Any, tuple[Any, ...], Plan]


def launch_by_key(
    pattern: str,
    policy: Any,
    kernel: Any,
    args: tuple[Any, ...],
    label: str | None,
    reducer: Any = None,
    out: Any = None,
) -> Any:
    """Launch with the plan that is kept for such a launch, or a new one.

    Raises what `parallel_for`, `parallel_reduce` and `parallel_scan` raise.
    """
    if isinstance(policy, Nested):  # in a kernel that plain Python runs
        return run_nested(pattern, policy, kernel, args, reducer, out)
    target, scope = kernel_of(kernel)
    policy_key, bounds = policy_of(policy, pattern)
    if reducer is None and pattern != "for":  # which means Sum to `sorted_out`, for explain
        as_reducer(reducer)
    types: list[Any] = []
    for a in args:
        t = a.type if type(a) is View else _SCALAR_TAGS.get(type(a))
        if t is None:
            break
        types.append(t)
    if target.statics or len(types) < len(args):
        call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
        known = call.key in call.names.plans
        if not known and call.kernel is not target and not call.moved:
            call.names.plans[call.key] = prepare(call)
            known = True
        if known:
            with forks_wait():
                _remember_call(call, kernel, target, policy, args, (label, pattern, reducer, out))
        return launch(call, policy, label)
    views = () if out is None else views_of_out(out)
    names = target.names_now(scope)
    tags: list[Any] = []
    hidden: tuple[View, ...] = ()
    if names.paths:
        names, tags, hidden = target.environment(scope, names)
    key = (*key_of(pattern, policy_key, reducer, views), *types, *tags)
    try:
        plan = names.plans.get(key)
    except TypeError:  # only the reducer is not known to be hashable
        as_reducer(reducer)
        raise
    if plan is None:
        call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
        if call.moved or call.names is not names or call.key != key:
            return launch(call, policy, label)
        plan = names.plans[key] = prepare(call)
    if _wants_test(kernel, target):
        launched = (scope, names, tags, policy, args, plan)
        _remember(kernel, target, target, key, launched, (label, pattern, reducer, out))
    if hidden or views:
        args = (*args, *hidden, *views)
    return run(pattern, target, plan, policy, bounds, args, label)


def _remember_call(
    call: Call, kernel: Any, target: Kernel, policy: Any, args: tuple[Any, ...], rest: _Rest
) -> None:
    """Know launches on arrays of such types, or with such constants, again, of which there is a
    plan already."""
    if call.moved or not _wants_test(kernel, target):
        return
    tags: list[Any] = []
    names = call.names
    if names.paths:
        names, tags, _ = call.kernel.environment(call.scope, names)
    plan = names.plans.get(call.key)
    if plan is None:
        return
    launched = (call.scope, names, tags, policy, args, plan)
    if call.kernel is not target:  # a variant, whose names and plans are its own
        call.kernel.recent.tell(_recent(kernel, target))
    _remember(kernel, target, call.kernel, call.key, launched, rest)


def _recent(kernel: Any, target: Kernel) -> Recent:
    """The tests of a kernel as it was given; `target` keeps its plans."""
    recent: Recent = kernel.recent if type(kernel) is Kernel else target.recent
    return recent


def _wants_test(kernel: Any, target: Kernel) -> bool:
    plain = type(kernel) is Kernel or type(kernel) is FunctionType
    return plain and _recent(kernel, target).wants()


def _remember(
    kernel: Any, target: Kernel, owner: Kernel, key: Any, launched: _Launched, rest: _Rest
) -> None:
    """Write a test for a launch: scope, names, tags, policy, arguments and plan; and for label,
    pattern, reducer and ``out=``. `owner` has the names."""
    recent = _recent(kernel, target)
    _, names, _, _, _, plan = launched
    label, *joined = rest
    labelled = label is not None
    kind = f"{'plain' if joined[0] == 'for' else 'joined'}{'_labelled' if labelled else ''}"
    if joined[0] == "for":
        recent.remember(kind, lambda known: for_test(*launched, known, labelled))
    else:
        recent.remember(kind, lambda known: join_test(*launched, known, labelled, *joined))
    if owner.names is not names or names.plans.get(key) is not plan:
        recent.forget()  # another thread has forgotten the plan meanwhile
