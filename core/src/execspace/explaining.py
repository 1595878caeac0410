"""explain: what a launch would run, without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from .base.dataclass import dataclass
from .contract.space import Plan
from .kernels.captures import scope_of
from .kernels.kernel import Kernel
from .launch.prepare import planned
from .policies.hints import told
from .policies.range import Policy
from .policies.team import TeamPolicy
from .views.view import View

__all__ = [
    "Explanation",
    "explain",
]


@dataclass(frozen=True)
class Explanation:
    """What a launch is compiled to; `print` shows it.

    Attributes
    ----------
    kernel, space : str
        Names.
    pattern : {"for", "reduce", "scan"}
    arguments : tuple of str
        Types of the arguments, those of captured Views last.
    mapping : tuple of str
        How the space goes through the range and why, in lines. Empty if it does not say.
    source : str
        The generated source. Empty if the space generates none.
    resource_usage : mapping
        Name of each compiled function -> what the space knows of it: of a GPU's "registers" of a
        thread, bytes of "local" memory of a thread (spilled registers and private arrays), bytes
        of "shared" and "constant" memory, most "threads" of a block, and "occupancy": threads
        that are at once on a unit, in percent of what it has room for, in blocks as launched; for
        a target also what limits how many of them run at once. Empty where nothing is known.
    variables : mapping
        Name of each variable, as the source has it -> its type: indices or the team, parameters,
        what is captured, locals; of helpers "helper.x". Empty if the space does not say.
    vectorisation : tuple of str
        What a host's compiler made of the loops: which run on vectors, and of how many elements.
        Empty where nothing is known.
    cache_key : str
        Name of the entry in the cache of compiled kernels. Empty if there is none.
    cache : str
        Whether the entry was found, and why the last time it was not. Empty if there is none.
    """

    kernel: str
    space: str
    pattern: str
    arguments: tuple[str, ...]
    mapping: tuple[str, ...]
    source: str
    resource_usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    vectorisation: tuple[str, ...] = ()
    cache_key: str = ""
    cache: str = ""
    _plan: Plan | None = field(default=None, repr=False, compare=False, kw_only=True)

    @cached_property
    def optimised(self) -> str:
        """The source as its compiler has optimised it, on hosts LLVM IR; made when it is asked
        for, and not printed. Empty where it is not known."""
        return "" if self._plan is None else self._plan.optimised

    @cached_property
    def assembly(self) -> str:
        """The machine code as text; made when it is asked for, and not printed. Empty where it is
        not known."""
        return "" if self._plan is None else self._plan.assembly

    def __str__(self) -> str:
        usage = [
            f"{name}: {', '.join(f'{what} {n}' for what, n in numbers.items())}"
            for name, numbers in self.resource_usage.items()
        ]
        found = {
            "arguments": [f"{n}: {t}" for n, t in enumerate(self.arguments)],
            "variables": [f"{name}: {t}" for name, t in self.variables.items()],
            "mapping": self.mapping,
            "resource usage": usage,
            "vectorisation": self.vectorisation,
            "cache": [line for line in (self.cache_key, self.cache) if line],
        }
        lines = [f"kernel '{self.kernel}', parallel_{self.pattern} on space '{self.space}'"]
        for title, block in found.items():
            if block:
                lines += [f"{title}:", *(f"  {line}" for line in block)]
        if self.source:
            lines += ["source:", "", self.source.rstrip()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .base import html

        def lines(title: str, found: Iterable[str]) -> str:
            return html.table((), [[line] for line in found], title=title, wrap=(0,))

        head = f"Kernel '{self.kernel}', parallel_{self.pattern} on space '{self.space}'"
        parts = [html.paragraph(head, "head")]
        if self.arguments:
            types = [[str(n), t] for n, t in enumerate(self.arguments)]
            parts.append(html.table(("", "type"), types, title="Arguments", row_names=True))
        if self.variables:
            types = [list(pair) for pair in self.variables.items()]
            parts.append(html.table(("", "type"), types, title="Variables", row_names=True))
        if self.mapping:
            parts.append(lines("Mapping", self.mapping))
        if self.resource_usage:
            whats = list(dict.fromkeys(w for used in self.resource_usage.values() for w in used))
            rows = [
                [name, *(str(used.get(what, "")) for what in whats)]
                for name, used in self.resource_usage.items()
            ]
            parts.append(
                html.table(
                    ("", *whats), rows, title="Resource usage",
                    right=range(1, len(whats) + 1), row_names=True,
                )
            )  # fmt: skip
        if self.vectorisation:
            parts.append(lines("Vectorisation", self.vectorisation))
        if self.cache_key or self.cache:
            parts.append(lines("Cache", [line for line in (self.cache_key, self.cache) if line]))
        if self.source:
            parts.append(html.folded("Source", self.source.rstrip()))
        return html.page(*parts)


def explain(
    policy: int | Policy | TeamPolicy,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    pattern: str | None = None,
    reducer: Any = None,
    out: View | tuple[View, ...] | None = None,
    target: str | None = None,
) -> Explanation:
    """What a launch with these arguments would run; compiles it, and launches nothing.

    Parameters
    ----------
    policy, kernel, *args
        As for `parallel_for`.
    pattern : {"for", "reduce", "scan"}, optional
        Default "reduce" if there is a reducer, or the kernel returns a value; else "for". So it is
        for a lambda that calls a function, which may do so for its effect.
    reducer, out
        As for `parallel_reduce`; default `Sum`. Given a reducer, the pattern "for" means "reduce".
    target : str, optional
        A kind of device that a plugin compiles for, such as "gfx942" of `execspace-hip`, in place
        of the space of the policy. No such device is needed; arguments are arrays or Views of the
        host.

    Returns
    -------
    Explanation

    Raises
    ------
    KernelSyntaxError, KernelTypeError, LaunchError, SpaceAccessError, PolicyError
        As the launch would.
    UnknownSpaceError, SpaceUnavailableError
        If no plugin knows the target, or has no compiler for it.

    Examples
    --------
    >>> import execspace as es
    >>> A = es.View(8, label="A", space="serial")
    >>> found = es.explain(8, lambda i: A[i] * 2, reducer=es.Max)
    >>> found.pattern, found.arguments
    ('reduce', ('float64[1,right]@host',))
    """
    if pattern is None:
        pattern = "reduce" if reducer is not None or _returns_a_value(kernel) else "for"
    found = planned(policy, kernel, args, pattern, reducer, out, target)
    plan, bounds, tuned_to = found.plan.chosen(found.bounds, found.arguments)
    mapping = (*plan.mapping(bounds), *([tuned_to] if tuned_to else []))
    if isinstance(policy, Policy | TeamPolicy):
        got = found.spec.policy
        mapping = (*mapping, *told(policy, got, found.spec.pattern, plan.space))
    key, cache = plan.cache
    return Explanation(
        found.kernel.name, plan.space.name, found.spec.pattern,
        tuple(map(str, plan.spec.arguments)), mapping, plan.source,
        plan.resource_usage, plan.variables, tuple(plan.vectorisation), key, cache,
        _plan=plan,
    )  # fmt: skip


def _returns_a_value(kernel: Any) -> bool:
    """Whether a kernel can only be that of a reduction: it returns what parallel_for would lose."""
    scope = scope_of(kernel)
    if scope is None:
        return False
    import dis

    code = scope.fn.__code__
    last = None
    for op in dis.get_instructions(code):
        if op.opname in ("CACHE", "PRECALL", "NOP", "RESUME"):
            continue
        constant = op.opname == "RETURN_CONST" and op.argval is not None
        if constant or (op.opname == "RETURN_VALUE" and last is not None):
            before = op if last is None or constant else last
            nothing = before.opname == "LOAD_CONST" and before.argval is None
            called = code.co_name == "<lambda>" and before.opname.startswith("CALL")
            if not nothing and not called:
                return True
        last = op
    return False
