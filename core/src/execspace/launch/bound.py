"""Launches that are repeated: everything is looked up once, and a call does nothing but launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError
from ..base.locks import new_lock
from ..base.subclasses import own_operator
from ..contract.argtypes import SCALAR_TYPES, ArgType, plain_number
from ..contract.space import ExecutionSpace, Plan
from ..events import dispatch
from ..kernels.captures import parameters
from ..kernels.kernel import Kernel, kernel_of
from ..policies.range import Policy
from ..policies.team import TeamPolicy
from ..views.interop import view_of
from ..views.view import View
from .arguments import check_size, explain_large, explain_overflow
from .policy_argument import policy_of
from .prepare import PATTERNS, check_label, prepare, run, sorted_out
from .structs import argument_names
from .transfers import Transfer

__all__ = [
    "Bound",
    "bind",
]


_exchanging = new_lock()


class Bound:
    """A launch with its arguments; calling it launches. Made by `bind`."""

    __slots__ = ("_args", "_bounds", "_kernel", "_label", "_names", "_plan", "_policy")

    def __init__(
        self,
        kernel: Kernel,
        plan: Plan,
        policy: Any,
        bounds: tuple[int, ...],
        args: tuple[Any, ...],
        label: str | None,
    ) -> None:
        self._kernel, self._plan, self._policy, self._label = kernel, plan, policy, label
        self._bounds, self._args = bounds, args
        spec = plan.spec
        named = [n for n in parameters(kernel.fn) if n not in spec.bound][spec.leading :]
        captured = sum(c.argument is not None for c in spec.captures)
        explicit = len(spec.arguments) - captured
        names = argument_names(named, spec.structs)[:explicit]
        self._names = {name: n for n, name in enumerate(names)}

    def __call__(self) -> Any:
        """Launch, and return what the launch returns.

        Asynchronous where the space is, as the launch would be. Errors that have to do with the
        kernel and with types were raised by `bind`.
        """
        if self._label is None and not dispatch.TOOLS:
            try:
                return self._plan.launch(self._bounds, self._args)
            except OverflowError as error:
                explain_overflow(self._kernel, self._args, error)
        return run(
            self._plan.spec.pattern, self._kernel, self._plan, self._policy, self._bounds,
            self._args, self._label,
        )  # fmt: skip

    def exchange(self, /, **arguments: Any) -> None:
        """Have later calls use other Views, arrays or numbers, by the names of the parameters.

        What another thread is launching meanwhile has all of the old ones or all of the new ones.

        Raises
        ------
        LaunchError
            If there is no such parameter, or the argument is not of the type that the launch was
            compiled for. Nothing is exchanged then.
        """
        with _exchanging:
            args = list(self._args)
            for name, given in arguments.items():
                position = self._names.get(name)
                if position is None:
                    known = ", ".join(f"'{n}'" for n in self._names) or "none"
                    raise LaunchError(
                        f"{self}: no argument '{name}' can be exchanged; those that can are: "
                        f"{known}."
                    )
                args[position] = self._fitting(name, args[position], given)
            self._args = tuple(args)

    def _fitting(self, name: str, old: Any, given: Any) -> Any:
        """What takes the place of an argument."""
        expected: ArgType
        got: ArgType | None
        if isinstance(given, Transfer):
            raise _copying(self._kernel)
        if isinstance(old, View):
            if isinstance(given, View) and type(given) is not View:
                raise LaunchError(
                    f"{self}: argument '{name}' is of {type(given).__name__!r}, a subclass of "
                    f"View; give a View."
                )
            value = given if type(given) is View else view_of(given, label=f"argument '{name}'")
            expected, got = old.type, value.type
        else:
            value, expected = given, SCALAR_TYPES[type(old)]
            kind = type(given)
            if kind not in SCALAR_TYPES and isinstance(given, bool | int | float | complex):
                if not isinstance(given, np.generic) and own_operator(kind) is None:
                    value = plain_number(given)
            value = _as_python(value, type(old))
            check_size(self._kernel, f"argument '{name}'", value)
            got = SCALAR_TYPES.get(type(value))
            if got is None:
                raise LaunchError(
                    f"{self}: argument '{name}' is {brief(given)}; expected a number of type "
                    f"{expected}."
                )
        if expected is not got:
            raise LaunchError(
                f"{self}: argument '{name}' is of type {got}, and the launch was compiled for "
                f"{expected}; convert it, or make another launch for it."
            )
        return value

    def copy(self) -> Bound:
        """Another one, whose arguments are exchanged by themselves."""
        return Bound(self._kernel, self._plan, self._policy, self._bounds, self._args, self._label)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments that can be exchanged."""
        return tuple(self._names)

    @property
    def kernel(self) -> Kernel:
        """What it launches."""
        return self._kernel

    @property
    def plan(self) -> Plan:
        """The compiled launch."""
        return self._plan

    @property
    def bounds(self) -> tuple[int, ...]:
        """As `Plan.launch` takes them."""
        return self._bounds

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As `Plan.launch` takes them: those of the user, captured Views, and Views of ``out=``."""
        return self._args

    @property
    def space(self) -> ExecutionSpace:
        """Where it runs."""
        return self._plan.space

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self} cannot be pickled: it holds memory and code of this process. Pickle its "
            f"kernel, and call es.bind where that arrives."
        )

    def __repr__(self) -> str:
        return f"<bound launch of kernel '{self._kernel.name}' on '{self.space.name}'>"


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_PYTHON = {bool: 0, int: 1, float: 2, complex: 3}


def _as_python(given: Any, kind: type) -> Any:
    """A number as a Python number of a kind that holds it; else as it is."""
    most = _PYTHON.get(kind)
    if most is None or type(given) not in SCALAR_TYPES:
        return given
    return kind(given) if _RANKS.get(np.asarray(given).dtype.kind, 4) <= most else given


def _copying(kernel: Kernel) -> LaunchError:
    return LaunchError(
        f"Kernel '{kernel.name}': es.bind takes no es.In, es.Out or es.InOut, which copy at each "
        f"launch; make Views of the arrays with es.array, and copy with es.deep_copy."
    )


def bind(
    policy: int | Policy | TeamPolicy,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    pattern: str = "for",
    reducer: Any = None,
    out: Any = None,
    label: str | None = None,
) -> Bound:
    """A launch to be repeated: a callable that launches again with the same arguments.

    Parameters
    ----------
    policy, kernel, *args, label
        As for `parallel_for`. Without a space of its own it runs where it would run now, whichever
        space is in use when it is called.
    pattern : {"for", "reduce", "scan"}, default "for"
    reducer, out
        As for `parallel_reduce` and `parallel_scan`. Given one of them, the pattern "for" means
        "reduce".

    Returns
    -------
    Bound
        It keeps the Views alive. `Bound.exchange` replaces some.

    Raises
    ------
    LaunchError
        Also for `es.In` and its siblings, which copy at each launch.
    KernelSyntaxError, KernelTypeError, SpaceAccessError, PolicyError, ReducerError

    Notes
    -----
    Compiles the kernel and launches nothing. Numbers and functions that the kernel takes from
    around it are what they are now, as in a graph.

    Examples
    --------
    >>> import execspace as es
    >>> def add(i, x, s):
    ...     x[i] += s
    >>> x = es.zeros(3, memory=es.HOST, space="serial")
    >>> step = es.bind(es.RangePolicy(3, space="serial"), add, x, 2.0)
    >>> for _ in range(5):
    ...     step()
    >>> x.to_numpy()
    array([10., 10., 10.])
    >>> step.exchange(s=-1.0)
    >>> step()
    >>> x[0]
    np.float64(9.0)
    """
    if not isinstance(pattern, str) or pattern not in PATTERNS:
        raise LaunchError(f"pattern={brief(pattern)}; expected 'for', 'reduce' or 'scan'.")
    if pattern == "for" and not (reducer is None and out is None):
        pattern = "reduce"
    policy_key, bounds = policy_of(policy, pattern)
    target, scope = kernel_of(kernel)
    if label is not None:
        check_label(target, label)
    call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
    if call.moved or any(isinstance(a, Transfer) for a in args):
        raise _copying(target)
    plan = call.names.plans.get(call.key)
    if plan is None:
        plan = call.names.plans[call.key] = prepare(call)
    explain_large(call.kernel, call.arguments)
    return Bound(call.kernel, plan, policy, bounds, call.arguments, label)
