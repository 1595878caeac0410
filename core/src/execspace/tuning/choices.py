"""What can be chosen for a launch: options of its policy that the user left open.

A `Choice` holds values for some of them. Spaces suggest choices by generators of candidates, each
of which refines the best of the one before; `block_candidates` is for devices whose threads form
blocks, `row_candidates` for hosts whose threads do parts of a range, `team_candidates` for teams.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from ..base.errors import PolicyError
from ..contract.argtypes import ViewType
from ..contract.launch_spec import PolicySpec, with_options
from ..contract.records import Choice, Effects, TeamLimits
from ..contract.space import CandidateGenerator, ExecutionSpace, Plan, SupportsTeams, SupportsTuning
from ..contract.tiles import MOST_PER_THREAD, by_dimension
from ..launch.plan_around import PlanAround
from ..policies.range import MDRangePolicy, RangePolicy
from ..policies.team import TeamPolicy

DEFAULT = Choice()
_LARGEST = 1 << 40  # of a number in a choice; sums and products with it fit 64 bits


def choice_of(record: dict[str, Any]) -> Choice:
    """A choice from its options as JSON has them; ValueError for what is none."""
    if not isinstance(record, dict):
        raise ValueError(f"{record!r} is not a choice")
    given: Any = {n: tuple(v) if isinstance(v, list) else v for n, v in record.items()}
    found = Choice(**given)
    sizes = (*found.tile, *found.items_per_thread, found.launch_bounds, found.team_size,
             found.vector_length, found.chunk_size)  # fmt: skip
    possible = all(type(n) is int and 0 <= n <= _LARGEST for n in sizes)
    tiles = (*found.tile, *found.items_per_thread)
    if not possible or 0 in tiles or prod(found.items_per_thread) > MOST_PER_THREAD:
        raise ValueError(f"{record!r} is not a choice")
    return found


def is_open(spec: PolicySpec) -> bool:
    """Whether the user has left something to choose."""
    if spec.kind == "team":
        return not (spec.team_size and spec.vector_length and spec.chunk_size)
    return not (spec.tiled or spec.items_per_thread or spec.launch_bounds)


def applied(
    spec: PolicySpec, bounds: tuple[int, ...], choice: Choice
) -> tuple[PolicySpec, tuple[int, ...]]:
    """The policy and the bounds of a launch with a choice; what the user has given stays."""
    if {len(choice.tile), len(choice.items_per_thread)} - {0, spec.rank}:
        raise PolicyError(f"The choice {choice} is not for a range of rank {spec.rank}.")
    if spec.kind == "team":
        chosen = with_options(
            spec,
            team_size=spec.team_size or choice.team_size,
            vector_length=spec.vector_length or choice.vector_length,
            chunk_size=spec.chunk_size or choice.chunk_size,
        )
    else:
        kind = "mdrange" if choice.tile or choice.items_per_thread else spec.kind
        chosen = with_options(
            spec, kind=kind, tiled=bool(choice.tile), items_per_thread=choice.items_per_thread,
            launch_bounds=choice.launch_bounds,
            chunk_size=spec.chunk_size if kind == spec.kind else 0,
        )  # fmt: skip
        bounds = (*bounds, *choice.tile)
    return chosen, bounds


def policy_with(policy: Any, choice: Choice) -> Any:
    """The user's policy with a choice, as a policy that a launch takes."""
    if not isinstance(policy, RangePolicy | MDRangePolicy | TeamPolicy):
        policy = RangePolicy(policy)
    options = choice.options()
    if isinstance(policy, TeamPolicy):
        spec = policy.key[0]
        given = {name: getattr(spec, name) for name in _TEAM if getattr(spec, name)}
        return policy.with_options(**{**options, **given})
    if not options:
        return policy
    if isinstance(policy, RangePolicy) and not (choice.tile or choice.items_per_thread):
        return policy.with_options(**options)
    if isinstance(policy, RangePolicy):  # a tile takes the place of its chunks
        kept = policy._arguments()[1]
        del kept["chunk_size"]
        return MDRangePolicy((policy.begin,), (policy.end,), **{**kept, **_LEFT_OPEN, **options})
    return policy.with_options(**{"tile": None, "items_per_thread": None, **_LEFT_OPEN, **options})


_LEFT_OPEN = {"launch_bounds": None}
_TEAM = ("team_size", "vector_length", "chunk_size")


def extents_of(spec: PolicySpec, bounds: tuple[int, ...]) -> tuple[int, ...]:
    """Extents of a range by dimension; of teams the league size alone."""
    rank = 1 if spec.kind == "team" else spec.rank
    lower, upper = bounds[:rank], bounds[rank : 2 * rank]
    return tuple(b - a for a, b in zip(lower, upper, strict=True))


# -- what spaces suggest --------------------------------------------------------------------------


def candidate_generators(
    space: ExecutionSpace, plan: Plan, bounds: tuple[int, ...]
) -> Sequence[CandidateGenerator]:
    """What a space suggests for a launch."""
    while isinstance(plan, PlanAround):
        plan = plan.inner
    if isinstance(space, SupportsTuning):
        return space.tuning_candidates(plan, bounds)
    return host_candidates(space, plan, bounds)


def host_candidates(
    space: ExecutionSpace, plan: Plan, bounds: tuple[int, ...]
) -> list[CandidateGenerator]:
    """What a space suggests that says nothing itself: stages of a host."""
    spec = plan.spec.policy
    if spec.kind == "team":
        if not isinstance(space, SupportsTeams):
            return []
        keep = team_size_to_keep(plan, plan.effects)
        return team_candidates(space.team_limits(), spec, most_chunks=64, most=32, keep=keep)
    return row_candidates(plan.spec.pattern, spec, extents_of(spec, bounds), order_of(plan))


def order_of(plan: Plan) -> str:
    """Which index of a plan's range is to run fastest: "left" or "right".

    As its policy says, else as the Views that it gets are laid out.
    """
    order = plan.order
    if order:
        return "right" if order[-1] == len(order) - 1 else "left"
    iterate = plan.spec.policy.iterate
    if iterate != "auto":
        return iterate
    layouts = [t.layout for t in plan.spec.arguments if isinstance(t, ViewType) and t.rank > 1]
    return "left" if layouts.count("left") > len(layouts) // 2 else "right"


def row_candidates(
    pattern: str, spec: PolicySpec, extents: tuple[int, ...], order: str
) -> list[CandidateGenerator]:
    """Of a host: tiles that keep what rows share in its caches; none for one dimension."""
    if spec.rank == 1 or pattern == "scan":
        return []
    fast = tuple(reversed(extents)) if order == "right" else extents
    lengths = [[n for n in (64, 256) if n < fast[0]] + [fast[0]]]
    lengths += [[n for n in (4, 16, 64) if n < e] or [e] for e in fast[1:2]]
    lengths += [[n for n in (1, 4, 16) if n < e] or [e] for e in fast[2:3]]
    lengths += [[n for n in (1, 4) if n < e] or [e] for e in fast[3:]]
    tiles = [t for t in product(*lengths) if prod(t) >= 64 or prod(t) == prod(fast)]
    return [_each([Choice(tile=by_dimension(t, order)) for t in tiles])]


def block_candidates(
    pattern: str, spec: PolicySpec, extents: tuple[int, ...], order: str, most: int
) -> list[CandidateGenerator]:
    """Of a device: shapes of blocks of at most `most` threads, calls of a thread, registers."""
    if pattern != "for":
        return [_each([Choice(launch_bounds=n) for n in (64, 128, 256) if n <= most])]
    fast = tuple(reversed(extents)) if order == "right" else extents
    rank = len(fast)
    firsts = [16, 32, 64, 128, 256, *([512, 1024] if rank == 1 else [])]
    others = [[1, 2, 4, 8, 16], [1, 2, 4, 8], [1, 2, 4], [1], [1]]
    tiles = [
        t
        for t in product(firsts, *others[: rank - 1])
        if 64 <= prod(t) <= min(most, 512 if rank > 1 else 1024)
        and all(n < 2 * max(1, e) for n, e in zip(t, fast, strict=True))
    ]

    def items_per_thread(choice: Choice) -> Iterator[Choice]:
        at = 0 if rank == 1 else 1
        for calls in (2, 4, 8):
            if calls <= MOST_PER_THREAD:
                shape = tuple(calls if d == at else 1 for d in range(rank))
                yield replace(choice, items_per_thread=by_dimension(shape, order))

    def registers(choice: Choice) -> Iterator[Choice]:
        if choice.tile:
            yield replace(choice, launch_bounds=prod(choice.tile))

    return [
        _each([Choice(tile=by_dimension(t, order)) for t in tiles]),
        items_per_thread,
        registers,
    ]


def team_size_to_keep(plan: Plan, effects: Effects | None) -> int:
    """The size of teams that a plan has chosen, if its kernel may depend on it; else 0."""
    if effects is not None and not effects.team_sized:
        return 0
    return plan.team_sizes().team_size


def team_candidates(
    limits: TeamLimits, spec: PolicySpec, most_chunks: int, most: int = 1024, keep: int = 0
) -> list[CandidateGenerator]:
    """Sizes of teams and lanes together, then how many teams a unit gets at a time.

    `most`: threads of a team and lanes of a thread that are tried. `keep`: the only size of teams.
    """
    most_lanes = min(limits.vector_length_max, most)
    sizes = [spec.team_size or keep] if spec.team_size or keep else _powers(
        min(limits.team_size_max, most)
    )  # fmt: skip
    lanes = [spec.vector_length] if spec.vector_length else _powers(most_lanes)[::2]
    pairs = [
        Choice(team_size=0 if spec.team_size else t, vector_length=0 if spec.vector_length else v)
        for t, v in product(sizes, lanes)
        if t * v <= limits.threads_max
    ]

    def chunks(choice: Choice) -> Iterator[Choice]:
        if not spec.chunk_size:
            for n in _powers(most_chunks)[1:]:
                yield replace(choice, chunk_size=n)

    return [_each(pairs), chunks]


def _powers(most: int) -> list[int]:
    return [1 << n for n in range(max(1, most).bit_length())]


def _each(choices: Sequence[Choice]) -> CandidateGenerator:
    return lambda _: choices
