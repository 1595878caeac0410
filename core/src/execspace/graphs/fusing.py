"""Which launches may be one, and what stands in the way of others.

Neighbours over one range are fused if no call of one kernel touches what another call of the other
stores: where they have a View in common, both address it by the indices of the range, alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from ..base import config
from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..contract.argtypes import ViewType
from ..contract.space import Plan
from ..kernels.captures import parameters
from ..kernels.fused import FusedKernel
from ..kernels.kernel import KernelPart
from ..launch.prepare import checked
from ..launch.transfers import overlaps_itself
from ..views.deep_copy import may_overlap
from ..views.view import View
from .enqueued import EnqueuedWork

_MOST_PARTS = 16
_MOST_ARGUMENTS = 48


@dataclass(frozen=True)
class Single:
    """A launch that may be fused; `owner` is what it is the launch of."""

    name: str
    plan: Plan
    bounds: tuple[int, ...]
    args: tuple[Any, ...]
    owner: object = None

    @cached_property
    def subscripts(self) -> Mapping[int, tuple[int | None, ...]] | None:
        """As those of the plan, which may look through the whole kernel for them."""
        return self.plan.subscripts

    @cached_property
    def accesses(self) -> list[_Access]:
        """What it does with Views."""
        return _accesses(self)


@dataclass
class Group:
    """Launches that are one."""

    members: list[Single] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the members among all launches


class Fusion:
    """Fuses launches, and remembers the kernels that it has made.

    Attributes
    ----------
    lines : list of str
        What was fused by the last call, and what stood in the way.
    users : sequence of (object, sequence), or None
        All that may use a temporary View: owners, and what they use. None: not known.
    """

    def __init__(self, temporary: Sequence[View] = ()) -> None:
        self.temporary = tuple(temporary)
        self.lines: list[str] = []
        self.users: Sequence[tuple[object, Sequence[Any]]] | None = ()
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def groups(self, launches: Sequence[Single]) -> list[Group]:
        """Neighbours that are one launch, in order."""
        found: list[Group] = []
        if config.is_portable():
            self.lines.append("nothing is fused under EXECSPACE_CHECK=portable")
        for number, one in enumerate(launches):
            why = "" if found else "it is the first"
            if found:
                why = obstacle(found[-1].members, one)
            if found and not why and not config.is_portable():
                found[-1].members.append(one)
                found[-1].numbers.append(number)
                continue
            if found:
                self.lines.append(f"'{one.name}' not with '{found[-1].members[-1].name}': {why}")
            found.append(Group([one], [number]))
        return found

    def launches(self, group: Group) -> list[Single]:
        """The launch of a group; two, if its reduction would be joined in another order."""
        if len(group.members) == 1:
            return [group.members[0]]
        whole, last = self._launch(group.members), group.members[-1]
        if last.plan.spec.pattern == "for" or _joined_alike(whole.plan, last.plan):
            self.lines.append(f"fused: {_name(group.members)}")
            return [whole]
        rest = group.members[:-1]
        self.lines.append(
            f"'{last.name}' not with '{rest[-1].name}': it would be joined in another order"
        )
        if len(rest) == 1:
            return [rest[0], last]
        self.lines.append(f"fused: {_name(rest)}")
        return [self._launch(rest), last]

    def _launch(self, members: Sequence[Single]) -> Single:
        """The launch of several."""
        arguments = _Arguments()
        parts = []
        for m in members:
            spec = m.plan.spec
            positions = arguments.positions(m.args[: len(spec.arguments)], spec.arguments)
            parts.append(KernelPart(_kernel(m.plan), spec, positions))
        last = members[-1]
        out = last.args[len(last.plan.spec.arguments) :]
        temporary = tuple(
            n
            for n, a in enumerate(arguments.values)
            if isinstance(a, View) and any(_same(a, t) for t in self.temporary)
            if self._is_used_only_by({id(m.owner) for m in members}, a)
            if sum(isinstance(b, View) and _may_meet(a, b) for b in arguments.values) == 1
        )
        key = (
            *((id(m.plan), p.positions) for m, p in zip(members, parts, strict=True)),
            tuple(arguments.types), temporary,
        )  # fmt: skip
        plan = self._plans.get(key)
        if plan is None:
            kernel = FusedKernel(tuple(parts), temporary)
            spec = replace(last.plan.spec, arguments=tuple(arguments.types), captures=(), bound=())
            space = last.plan.space
            plan = self._plans[key] = checked(space.compile(kernel, spec), space, kernel)
        return Single(_name(members), plan, last.bounds, (*arguments.values, *out))

    def _is_used_only_by(self, owners: set[int], view: View) -> bool:
        return self.users is not None and not any(
            isinstance(a, View) and _may_meet(view, a)
            for owner, used in self.users
            if id(owner) not in owners
            for a in used
        )

    def forget(self) -> None:
        """Forget what stood in the way."""
        self.lines = []


def check_temporary(what: str, temporary: Any) -> None:
    """Raise LaunchError for what is no sequence of Views."""
    if isinstance(temporary, View) or not isinstance(temporary, Sequence):
        raise LaunchError(
            f"{what}: temporary={brief(temporary)}; expected a sequence of Views, temporary=[view]."
        )
    for n, view in enumerate(temporary):
        if not isinstance(view, View):
            raise LaunchError(f"{what}: temporary[{n}] is {brief(view)}; expected a View.")


class _Arguments:
    """The arguments of a fused launch: each View once, whatever number of kernels take it.

    Where a kernel takes one twice, the compiler sees to it that it computes as if it were two.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.types: list[Any] = []

    def positions(self, values: Sequence[Any], types: Sequence[Any]) -> tuple[int, ...]:
        """Where the arguments of a kernel are."""
        found: list[int] = []
        for value, type in zip(values, types, strict=True):
            found.append(self._position(value, type))
        return tuple(found)

    def _position(self, value: Any, type: Any) -> int:
        if isinstance(value, View):
            for n, known in enumerate(self.values):
                if not isinstance(known, View):
                    continue
                if _same(known, value) and _alike(self.types[n], type):
                    if self.types[n].readonly and not type.readonly:
                        self.values[n], self.types[n] = value, type
                    return n
        self.values.append(value)
        self.types.append(type)
        return len(self.values) - 1


def _name(members: Sequence[Single]) -> str:
    return " + ".join(m.name for m in members)


def _joined_alike(a: Plan, b: Plan) -> bool:
    known = a.joining
    return known is not None and known == b.joining


def _kernel(plan: Plan) -> Any:
    return plan.kernel  # type: ignore[attr-defined]  # which plans with subscripts have


def _alike(a: ViewType, b: ViewType) -> bool:
    """Whether types differ in nothing but that one is of read-only Views."""
    return all(getattr(a, name) == getattr(b, name) for name in _TYPE)


_TYPE = tuple(name for name in ViewType.__slots__ if name != "readonly")


def _same(a: View, b: View) -> bool:
    """Whether two Views are the same elements under the same indices."""
    if a.mapping is not None or b.mapping is not None:
        return False
    same = a.data_ptr == b.data_ptr and a.memory_space is b.memory_space and a.dtype == b.dtype
    return same and a.shape == b.shape and a.strides == b.strides


# -- what stands in the way -----------------------------------------------------------------------


def obstacle(group: Sequence[Single], one: Single) -> str:
    """Why a launch cannot be fused with those before it; empty if it can."""
    first, last = group[0], group[-1]
    for m in (last, one):
        why = _alone(m)
        if why:
            return why
    if last.plan.spec.pattern != "for":
        return f"'{last.name}' is a reduction, which ends what is fused"
    ranges = (first.plan.spec.policy is one.plan.spec.policy, first.bounds == one.bounds)
    if not all(ranges):
        return "the ranges differ" if ranges[0] else "the policies differ"
    a, b = _kernel(last.plan), _kernel(one.plan)
    if (a.fma, a.fastmath) != (b.fma, b.fastmath):
        return "one has other options fma= and fastmath= than the other"
    if len(group) == _MOST_PARTS or sum(len(m.args) for m in (*group, one)) > _MOST_ARGUMENTS:
        return f"at most {_MOST_PARTS} kernels with {_MOST_ARGUMENTS} arguments are fused"
    why = next((why for m in group if (why := _conflict(m, one))), "")
    if not why and _overlap_within((*group, one)):
        return f"'{one.name}' takes a View as of two types, which others store"
    return why


def _overlap_within(members: Sequence[Single]) -> bool:
    """Whether arguments of the fused launch overlap of which one is stored: code for Views that do
    not is other code."""
    arguments = _Arguments()
    stored: set[int] = set()
    for m in members:
        spec, effects = m.plan.spec, m.plan.effects
        places = arguments.positions(m.args[: len(spec.arguments)], spec.arguments)
        assert effects is not None
        if any(places.count(places[n]) > 1 for n in effects.written if n < len(places)):
            return True  # a kernel that stores into a View under one name and has it under another
        stored |= {places[n] for n in effects.written if n < len(places)}
    views = arguments.values
    return any(
        isinstance(views[n], View) and isinstance(other, View) and _may_meet(views[n], other)
        for n in stored
        for k, other in enumerate(views)
        if k != n
    )


def _alone(one: Single) -> str:
    """Why a launch cannot be fused with any other; empty if it might."""
    if isinstance(one.plan, EnqueuedWork):
        return f"'{one.name}' is work of a library"
    spec = one.plan.spec
    if spec.pattern == "scan":
        return f"'{one.name}' is a scan"
    if spec.policy.kind == "team":
        return f"'{one.name}' has teams"
    if one.subscripts is None or one.plan.effects is None:
        if type(one.plan).subscripts is Plan.subscripts:
            return f"plans of space '{one.plan.space.name}' do not tell how kernels address Views"
        if one.plan.effects is not None and one.plan.effects.prints:
            return f"'{one.name}' prints"
        return (
            f"'{one.name}' asserts, joins an array, calls functions of the host or such of which "
            f"hosts have a version for vectors, or, for a GPU, adds a product to another"
        )
    if _overlap_within((one,)):
        return f"'{one.name}' stores into a View that overlaps another of its arguments"
    return ""


def _conflict(before: Single, after: Single) -> str:
    """What two launches have in common that they must not; empty if nothing."""
    for a in before.accesses:
        for b in after.accesses:
            if not (a.writes or b.writes) or not _may_meet(a.view, b.view):
                continue
            name = a.view.label or b.view.label or b.name
            if not _same(a.view, b.view):
                return f"Views overlap without being the same ('{name}')"
            if not _alike(a.view.type, b.view.type):
                return f"'{name}' has other traits in one than in the other"
            if a.out or b.out:
                return f"the result of a reduction goes to '{name}', which the other one uses"
            rank = before.plan.spec.policy.rank
            if a.at != b.at or not set(range(rank)) <= set(a.at):
                who = before.name if not set(range(rank)) <= set(a.at) else after.name
                return f"'{who}' uses '{name}' at other places than that of its index"
            if overlaps_itself(a.view):
                return f"elements of '{name}' share memory"
    return ""


@dataclass(frozen=True, slots=True)
class _Access:
    """What a launch does with a View; `at` as in `Plan.subscripts`, empty if not known."""

    name: str
    view: View
    at: tuple[int | None, ...]
    writes: bool
    out: bool


def _accesses(one: Single) -> list[_Access]:
    effects, known = one.plan.effects, one.subscripts
    assert effects is not None and known is not None
    spec = one.plan.spec
    inputs = len(spec.arguments)
    names = [n for n in parameters(_kernel(one.plan).fn) if n not in spec.bound][spec.leading :]
    names += ["a captured View"] * (inputs - len(names))
    found = []
    for n, a in enumerate(one.args):
        out = n >= inputs
        if isinstance(a, View) and (out or n in effects.read or n in effects.written):
            at = _at(known, n)
            name = names[n] if n < len(names) else "out"
            found.append(_Access(name, a, at, out or n in effects.written, out))
    return found


def _at(known: Mapping[int, tuple[int | None, ...]], n: int) -> tuple[int | None, ...]:
    return known.get(n, ())


def _may_meet(a: View, b: View) -> bool:
    return (a.memory_space is b.memory_space and may_overlap(a, b)) or (
        a.memory_space is not b.memory_space and _host_overlap(a, b)
    )


def _host_overlap(a: View, b: View) -> bool:
    """Whether Views of two memory spaces may be the same memory, as arrays of others may be."""
    return not (a.allocation.managed and b.allocation.managed) and may_overlap(a, b)
