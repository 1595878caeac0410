"""The cold path of a launch: from what the user wrote to a compiled plan.

`parallel_for` and its siblings come here where they have no plan, or where an argument is neither a
View nor a number; `explain` and `tune` always do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from ..base import config, pending, ports
from ..base.brief import brief
from ..base.errors import (
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    PluginError,
    PolicyError,
    SpaceAccessError,
    SpaceError,
)
from ..base.forks import forks_wait
from ..contract.argtypes import SCALAR_TYPES
from ..contract.launch_spec import LaunchSpec, leading_parameters, with_options
from ..contract.space import ExecutionSpace, Plan
from ..events import dispatch
from ..events.recording import current
from ..kernels.captures import Scope, without_views
from ..kernels.kernel import Kernel, KernelNames, kernel_of
from ..plugins import selection, started
from ..plugins.placement import implied_space
from ..plugins.selection import target_space
from ..policies.hints import heeded
from ..policies.team import check_teams
from ..reducers.base import Reducer, as_reducer, reducer_captures, reducer_key
from ..reducers.builtin import Sum
from ..views.interop import subview
from ..views.view import View
from ..views.view_keys import example_name
from .arguments import (
    Structs,
    as_arguments,
    check_shapes,
    explain_overflow,
    refuse_arrays,
    views_of_out,
)
from .locked import compiled_by
from .policy_argument import policy_of
from .profiled import run_kernel
from .structs import argument_names
from .transfers import Moved, around, begin, in_reach
from .watched import WatchedPlan

PATTERNS = ("for", "reduce", "scan")
_SUM, _SUM_KEY = as_reducer(Sum), reducer_key(Sum)
KERNEL_FAULTS = (KernelSyntaxError, KernelTypeError)


class Call(NamedTuple):
    """A launch with its arguments sorted out, and nothing compiled.

    Attributes
    ----------
    pattern : {"for", "reduce", "scan"}
    policy : (PolicySpec, ExecutionSpace or None)
    bounds : tuple of int
    kernel : Kernel
        That of the program, which keeps the plans.
    scope : Scope
        Where its captures are read.
    names : KernelNames
    key : tuple
        Of its plan, in `KernelNames.plans`.
    arguments : tuple of View or number
        All of them: explicit, captured Views, Views of ``out=``.
    captured : int
        How many of them are captured.
    reducer : Reducer, tuple of Reducer, or None
    out : tuple of View
    moved : tuple of Moved
        What is copied before the launch and after it.
    structs : tuple of StructType or None
        As of `LaunchSpec.structs`.
    """

    pattern: str
    policy: tuple[Any, ExecutionSpace | None]
    bounds: tuple[int, ...]
    kernel: Kernel
    scope: Scope
    names: KernelNames
    key: tuple[Any, ...]
    arguments: tuple[Any, ...]
    captured: int
    reducer: Reducer | tuple[Reducer, ...] | None = None
    out: tuple[View, ...] = ()
    moved: tuple[Moved, ...] = ()
    structs: Structs = ()


def sorted_out(
    pattern: str,
    policy_key: tuple[Any, ExecutionSpace | None],
    bounds: tuple[int, ...],
    kernel: Kernel,
    scope: Scope,
    args: tuple[Any, ...],
    reducer: Any = None,
    out: Any = None,
) -> Call:
    """Sort out the arguments of a launch. No reducer means `Sum`.

    Views that stand for arrays out of reach are allocated, and nothing is copied.
    """
    views = () if out is None else views_of_out(out)
    join: Any = None
    shape = None
    if pattern != "for":
        reducer = Sum if reducer is None else reducer
        join = _SUM if reducer is Sum else as_reducer(reducer)
        if pattern == "scan":
            refuse_arrays(kernel.name, reducer, join)
        shape = None if isinstance(join, tuple) else join.array_shape
    leading = leading_parameters(pattern, policy_key[0], shape)
    bound, plain, structs, moves = as_arguments(kernel, scope, leading, args)
    if bound.bound:
        kernel, scope = kernel_of(bound)
    names = kernel.names_now(scope)
    hidden: tuple[View, ...] = ()
    tags: list[Any] = []
    if names.paths:
        names, tags, hidden = kernel.environment(scope, names)
    moved: tuple[Moved, ...] = ()
    if views or moves:
        space, plain, views, moved = in_reach(kernel.name, policy_key[1], plain, hidden, views)
        if moved:
            policy_key = (policy_key[0], space)
    types = [a.type if type(a) is View else SCALAR_TYPES[type(a)] for a in plain]
    grouped = (structs,) if structs else ()
    key = (*key_of(pattern, policy_key, reducer, views), *grouped, *types, *tags)
    arguments = (*plain, *hidden, *views)
    return Call(
        pattern, policy_key, bounds, kernel, scope, names, key, arguments, len(hidden), join,
        views, moved, structs,
    )  # fmt: skip


def key_of(pattern: str, policy_key: Any, reducer: Any, out: tuple[View, ...]) -> tuple[Any, ...]:
    """The first part of the key of a plan; types of arguments and tags of captures follow."""
    # Of a policy with a space of its own, that is where it runs, whichever is in use.
    place = (policy_key, selection.CURRENT.get() if policy_key[1] is None else None)
    if pattern == "for":
        return place
    join = _SUM_KEY if reducer is Sum else reducer_key(reducer)
    return (pattern, *place, join, *[v.type for v in out], len(out))


def launch(call: Call, policy: Any, label: str | None) -> Any:
    """Launch a call, with the plan that is kept for it or a new one; `policy` is the user's."""
    plan = call.names.plans.get(call.key)
    if plan is None:
        plan = call.names.plans[call.key] = prepare(call)
    if call.moved and (recorder := current()) is not None:
        raise recorder.refuse(
            f"kernel '{call.kernel.name}' has es.In, es.Out, es.InOut or out= of an array out of "
            f"reach, which are copied at each launch",
            "make Views of the arrays before, and copy with es.deep_copy",
        )
    ready = partial(
        run, call.pattern, call.kernel, plan, policy, call.bounds, call.arguments, label
    )
    return around(call.moved, plan.space, ready) if call.moved else ready()


def run(
    pattern: str,
    kernel: Kernel,
    plan: Plan,
    policy: Any,
    bounds: tuple[int, ...],
    args: tuple[Any, ...],
    label: str | None,
) -> Any:
    """Launch a plan, and tell tools of it."""
    if label is not None:
        check_label(kernel, label)
    try:
        if dispatch.TOOLS:
            recorder = current()
            if recorder is not None:
                return recorder.launch(pattern, kernel, plan, policy, bounds, args, label)
            event = f"parallel_{pattern}"
            return run_kernel(event, kernel.name, label, policy, plan, bounds, args)
        if label is None:
            return plan.launch(bounds, args)
        return plan.launch_as(label, bounds, args)
    except OverflowError as error:
        explain_overflow(kernel, args, error)


def check_label(kernel: Kernel, label: object) -> None:
    """Raise LaunchError for a label that is no text."""
    if not isinstance(label, str):
        raise LaunchError(
            f"Kernel '{kernel.name}': label={brief(label)}; expected a text, which profiling tools "
            f"show."
        )


class Instead(Protocol):
    """What makes the plans of launches in the place of `prepare`; see precompiling.py.

    Attributes
    ----------
    skips : bool
        Launches compute nothing, so what Views hold means nothing.
    """

    skips: bool

    def __call__(self, call: Call) -> Plan: ...


# Set while a program is precompiled. Only read where a launch has no plan yet.
INSTEAD: Instead | None = None


def prepare(call: Call) -> Plan:
    """The plan of a launch: that of `compiled`, with what is tuned for it, and maybe watched."""
    if INSTEAD is not None:
        return INSTEAD(call)
    try:
        with forks_wait():
            return launching(*compiled(call))
    except KERNEL_FAULTS as error:
        raise without_frames(error) from error.__cause__


def launching(plan: Plan, kernel: Kernel, spec: LaunchSpec) -> Plan:
    """A compiled plan with what is tuned for it, and maybe watched."""
    plan = tuned(plan, kernel, spec)
    return WatchedPlan(plan, kernel.name) if pending.watches(plan.space) else plan


def tuned(plan: Plan, kernel: Kernel, spec: LaunchSpec, report: bool = False) -> Plan:
    """A plan with what is tuned for it, or the plan itself.

    `report`: also where the default was found to be the best, for `explain` to say so.
    """
    if not config.is_tuned():
        return plan
    found: Plan = ports.with_tuned(plan, kernel, spec, report)
    return found


def compiled(call: Call) -> tuple[Plan, Kernel, LaunchSpec]:
    """Have the space of a launch compile a plan; returns it, and what it was made of."""
    space, kernel, spec = asked(call)
    return checked(compiled_by(space, kernel, spec), space, kernel), kernel, spec


def asked(call: Call) -> tuple[ExecutionSpace, Kernel, LaunchSpec]:
    """Choose the space, check that it reaches every View, and say what it is to compile."""
    pattern, kernel, scope, out = call.pattern, call.kernel, call.scope, call.out
    if call.reducer is not None:
        check_shapes(kernel.name, call.reducer, out)
    policy, named = call.policy
    if pattern == "scan" and policy.tiled:
        raise PolicyError(
            f"Kernel '{kernel.name}': parallel_scan goes through the indices one after the other, "
            f"so its policy cannot have a tile; leave out tile=."
        )
    if pattern == "scan" and policy.outer:
        raise PolicyError(
            f"Kernel '{kernel.name}': parallel_scan goes through the indices one after the other, "
            f"without tiles, so its policy cannot have an order of tiles; give iterate= one order."
        )
    if pattern == "scan" and policy.dynamic and "irregular" not in policy.work_items:
        raise PolicyError(
            f"Kernel '{kernel.name}': parallel_scan goes through the indices one after the other, "
            f"each thread through one part of them, so its policy cannot have the dynamic "
            f"schedule; leave out schedule=."
        )
    if pattern != "for" and policy.items_per_thread:
        raise PolicyError(
            f"Kernel '{kernel.name}': items_per_thread is an option of parallel_for; in "
            f"parallel_{pattern} each thread has many calls anyhow. Leave it out."
        )
    space = named
    if space is None:
        space = implied_space([a for a in call.arguments if isinstance(a, View)])
    inputs = call.arguments[: len(call.arguments) - len(out)]
    _check_reach(space, inputs, out, call)
    started.note(space)
    if policy.dynamic or policy.occupancy or policy.work_items:
        policy = heeded(policy, pattern, space.capabilities)
    if kernel.lanes and not policy.lanes:
        policy = with_options(policy, lanes=kernel.lanes)
    explicit = len(inputs) - call.captured
    captures = kernel.capture_list(scope, explicit)
    reducer, results = call.reducer, tuple(v.type for v in out)
    team_array: tuple[int, ...] = ()
    if policy.kind == "team" and isinstance(reducer, Reducer) and reducer.array_shape is not None:
        from .team_arrays import of_elements  # loaded by kernels that have such

        team_array = reducer.array_shape
        reducer = of_elements(kernel.name, reducer, team_array)
        results = tuple(subview(v, *[0] * v.rank).type for v in out for _ in reducer)
    if reducer is not None:
        captures = (*captures, *reducer_captures(reducer))
    spec = LaunchSpec(
        pattern=pattern,
        policy=policy,
        arguments=tuple(a.type if isinstance(a, View) else SCALAR_TYPES[type(a)] for a in inputs),
        captures=captures,
        reducer=reducer,
        out=results,
        structs=call.structs,
        team_array=team_array,
    )
    if policy.kind == "team":
        check_teams(kernel.name, spec, space)
    taken = spec.leading + (len(call.structs) or explicit)
    spec = replace(spec, bound=kernel.bound_parameters(scope, taken))
    source = Kernel(
        without_views(scope.fn), fma=kernel.fma, fastmath=kernel.fastmath, lanes=kernel.lanes,
        name=kernel.name, source=kernel.source,
    )  # fmt: skip
    return space, source, spec


def checked(plan: Any, space: ExecutionSpace, kernel: Kernel) -> Plan:
    """A plan; PluginError for what is none, or lacks a must: launches look at nothing."""
    if not isinstance(plan, Plan):
        raise PluginError(
            f"Space '{space.name}' compiled kernel '{kernel.name}' to an object of type "
            f"{type(plan).__name__!r}; expected an es.Plan. This is a defect of its plugin."
        )
    kind = type(plan).__name__
    for must in ("space", "spec", "launch"):
        try:
            value = getattr(plan, must)
        except AttributeError as error:
            raise PluginError(
                f"Space '{space.name}' compiled kernel '{kernel.name}' to a plan of type {kind!r} "
                f"that has no '{must}' ({error}); each plan sets or defines space, spec and "
                f"launch. This is a defect of its plugin."
            ) from error
        if must == "launch" and not callable(value):
            raise PluginError(
                f"Space '{space.name}' compiled kernel '{kernel.name}' to a plan of type {kind!r} "
                f"whose launch is {value!r}; expected a function of bounds and arguments. This is "
                f"a defect of its plugin."
            )
    return plan


def without_frames(error: Exception) -> Exception:
    """An error in a kernel without how the compiler came to it.

    Its message shows the place in the kernel. The rest are forty frames, which notebooks show.
    """
    return error if config.get("TRACEBACK") == "full" else error.with_traceback(None)


def _check_reach(
    space: ExecutionSpace, inputs: tuple[Any, ...], out: tuple[View, ...], call: Call
) -> None:
    explicit = len(inputs) - call.captured
    names = [f"argument {n}" for n in range(len(call.structs) or explicit)]
    own = argument_names(names, call.structs)
    named = [
        (f"{own[n]}, View" if n < explicit else "the captured View", a)
        for n, a in enumerate(inputs) if isinstance(a, View)
    ]  # fmt: skip
    named += [("the result View of out=,", v) for v in out]
    for what, view in named:
        if not view.memory_space.reachable_from(space):
            name = example_name(view)
            there = "" if _is_default(space) else f", space='{space.name}'"
            if view.is_managed:
                advice = f"Copy it first: {name}.to('{space.name}')."
            elif what.startswith("argument"):
                advice = (
                    f"Pass es.In(a), es.Out(a) or es.InOut(a) of an array that the kernel reads, "
                    f"fills or changes, or make a View of its elements first: es.array(a{there})."
                )
            else:
                advice = (
                    f"Make a View of its elements outside of the kernel, {name} = "
                    f"es.array({name}{there}), and let the kernel capture that."
                )
            raise SpaceAccessError(
                f"Kernel '{call.kernel.name}': {what} '{view.label}', is in memory space "
                f"'{view.memory_space.name}', which space '{space.name}' cannot reach. {advice}"
            )


def _is_default(space: ExecutionSpace) -> bool:
    try:
        return space is selection.default_space()
    except SpaceError:  # there is none
        return False


class Planned(NamedTuple):
    """The plan that a launch would use, what it was made of, and what it would be given.

    `owner` is the kernel of the program, which keeps its plans.
    """

    owner: Kernel
    plan: Plan
    kernel: Kernel
    spec: LaunchSpec
    bounds: tuple[int, ...]
    arguments: tuple[Any, ...]


def planned(
    policy: Any,
    kernel: Any,
    args: tuple[Any, ...],
    pattern: str,
    reducer: Any,
    out: Any = None,
    target: str | None = None,
    with_tuned: bool = True,
    with_elements: bool = False,
) -> Planned:
    """Prepare the plan of a launch without launching it; parameters and errors of `explain`.

    `with_tuned`: with what is tuned for it. `with_elements`: Views that stand for arrays have
    their elements.
    """
    if not isinstance(pattern, str) or pattern not in PATTERNS:
        raise LaunchError(f"pattern={brief(pattern)}; expected 'for', 'reduce' or 'scan'.")
    if pattern == "for" and reducer is not None:
        pattern = "reduce"
    if out is not None and pattern == "for":
        raise LaunchError(
            f"out={brief(out)} is for reductions and scans; give a reducer or a pattern."
        )
    own, scope = kernel_of(kernel)
    policy_key, bounds = policy_of(policy, pattern)
    if target is not None:
        policy_key = (policy_key[0], target_space(target))
    call = sorted_out(pattern, policy_key, bounds, own, scope, args, reducer, out)
    try:
        plan, source, spec = compiled(call)
    except KERNEL_FAULTS as error:
        raise without_frames(error) from error.__cause__
    if with_elements:
        begin(call.moved, plan.space)
    if with_tuned and target is None:
        plan = tuned(plan, source, spec, report=True)
    return Planned(call.kernel, plan, source, spec, call.bounds, call.arguments)
