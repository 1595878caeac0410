"""Team sizes of policies that say "auto", on devices whose teams are groups of work-items.

Before a launch is known there are defaults. At a launch sizes fit the lengths of its nested ranges,
which the host evaluates as it does sizes of scratch memory: threads without an iteration only wait,
and each barrier takes longer the more warps wait for each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assign, Expr, Stmt, Var, integer, op
from ..ir.diagnostics import Fault
from ..ir.types import ViewTy
from ..typing.lowered import Lowered
from ..typing.values import TEAM_PARTS
from .device import is_shared
from .scratch import Known, names_of_values, python_text
from .scratch_sizes import FUNCTIONS

DEFAULT_ITEMS = 256  # work-items of a team
_MOST_ITEMS = 512  # where there are too few teams
_FULL = 1024  # work-items that keep a multiprocessor busy

# Iterations of a work-item, as measured on an H200 with sorts, relaxation, products of matrices,
# and copies and sums of rows of 4 to 8192 numbers: of a team within a warp, and of larger ones, for
# which barriers count.
_BETWEEN_BARRIERS = (1, 8)
_LONG = (1, 2)  # with loops of their own
_JOINED = (8, 16)  # of a sum over the team
_OTHERS = (4, 8)
_OF_LANE = 8
_MANY = 1 << 40  # iterations; more make no difference


def default_sizes(lowered: Lowered, width: int, most: int) -> tuple[int, int]:
    """Threads of a team and lanes of a thread, if the policy does not set them.

    Parameters
    ----------
    width : int
        Width of a subgroup (warp); 1 if there are no shuffles, and a thread runs all its lanes.
    most : int
        Most work-items of a team.
    """
    policy = lowered.spec.policy
    lanes = policy.vector_length
    if not lanes:
        lanes = _lanes(most, policy.team_size, width) if _lanes_coalesce(lowered) else 1
    default = max(1, min(DEFAULT_ITEMS, most) // (lanes if width > 1 else 1))
    if policy.launch_bounds:
        default = max(1, min(default, policy.launch_bounds // lanes))
    return policy.team_size or (1 if _is_alone(lowered) else default), lanes


def _lanes(most: int, threads: int, width: int) -> int:
    """The most lanes, up to a warp, that so many threads can have; 0: there may be one."""
    room = max(1, most // max(1, threads))
    return int(min(width, 1 << (room.bit_length() - 1)))


def _is_alone(lowered: Lowered) -> bool:
    """Whether threads cannot be distinguished: they would all do the same."""
    body = lowered.body
    rank = body.parameters[TEAM_PARTS.index("team_rank")].name
    levels = {
        s.level
        for s in ir.walk_statements(body.body)
        if isinstance(s, ir.Split | ir.ScanRange | ir.Combine | ir.Prefix)
    }
    names = {e.name for e in ir.walk_expressions(body.body) if isinstance(e, Var)}
    return rank not in names and not levels & {"thread", "team"}


@dataclass(frozen=True)
class RangeLengths:
    """The nested ranges of a kernel, and sizes that fit a launch.

    Attributes
    ----------
    text : str
        A function `found` of the league size and the arguments of a launch: iterations that the
        threads of a team share, and the lanes of a thread; zero for what is not known.
    threads : int
        What the policy sets; 0: it does not.
    coalesced, alone, nested, long, joined, between_barriers : bool
        Lanes access neighbouring elements; threads cannot be distinguished; they have ranges over
        lanes; their iterations have loops; they join values; these are ranges in a loop that has
        barriers.
    """

    text: str
    threads: int
    coalesced: bool
    alone: bool
    nested: bool
    long: bool
    joined: bool
    between_barriers: bool

    @cached_property
    def found(self) -> Callable[[int, tuple[Any, ...]], tuple[int, int]]:
        """A function from league size and arguments of a launch to both lengths."""
        scope: dict[str, Any] = {**FUNCTIONS, "wrong": (ArithmeticError, ValueError)}
        exec(self.text, scope)
        found: Callable[[int, tuple[Any, ...]], tuple[int, int]] = scope["found"]
        return found

    def sizes(
        self, lengths: tuple[int, int], usual: tuple[int, int], resident: int, width: int, most: int
    ) -> tuple[int, int]:
        """Threads of a team and lanes of a thread for these lengths.

        Parameters
        ----------
        lengths : tuple of int
            The result of `found`.
        usual : tuple of int
            The sizes where lengths are not known.
        resident : int
            Teams of the launch that a multiprocessor can have at once.
        width, most : int
            As in `default_sizes`.
        """
        threads, lanes = usual
        shared, of_lanes = (min(n, _MANY) for n in lengths)
        if self.coalesced and of_lanes and width > 1:
            lanes = min(_power_of_two(of_lanes / _OF_LANE), _lanes(most, self.threads, width))
        if self.threads or self.alone:
            return self.threads or 1, lanes
        if not shared:
            return max(1, min(threads * usual[1], most) // lanes), lanes
        most = min(most, _MOST_ITEMS)
        if self.nested:  # each thread has iterations, which its lanes share
            return max(1, min(shared, min(DEFAULT_ITEMS, most) // lanes)), lanes
        few, many = self._iterations
        warp = min(_power_of_two(shared / few), max(width, 32))
        items = max(warp, min(_power_of_two(shared / many), DEFAULT_ITEMS))
        filled = 1 << (-(-_FULL // max(1, resident)) - 1).bit_length()
        items = max(items, min(filled, _power_of_two(shared / (1 if self.long else 2))))
        if width == 1:  # teams have a group each
            items = max(items, 32)
        return max(1, min(items, most) // lanes), lanes

    @property
    def _iterations(self) -> tuple[int, int]:
        if self.between_barriers:
            return _LONG if self.long else _BETWEEN_BARRIERS
        return _LONG if self.long else _JOINED if self.joined else _OTHERS


def _power_of_two(n: float) -> int:
    """The nearest power of two, at least 1."""
    return 1 << max(0, round(math.log2(n))) if n > 0 else 1


def range_lengths(lowered: Lowered) -> RangeLengths | None:
    """What sizes of a launch depend on; None if the policy sets them, or nothing is known."""
    policy, body = lowered.spec.policy, lowered.body
    coalesced = _lanes_coalesce(lowered) and not policy.vector_length
    alone = _is_alone(lowered)
    if (policy.team_size or alone) and not coalesced:
        return None
    league = body.parameters[TEAM_PARTS.index("league_size")]
    arguments = body.parameters[lowered.leading :]
    known = Known(body, (league, *arguments))
    names = names_of_values(arguments, league.name)
    ranges = list(_ranges(body.body, False))
    inside = [r for r in ranges if r.between_barriers]
    of_threads = [r for r in inside or ranges if r.level != "vector"]
    lengths = ["0", "0"]
    for n, wanted in enumerate((of_threads, [r for r in ranges if r.level == "vector"])):
        texts = [t for r in wanted if (t := _length(r, known, names)) is not None]
        if texts:
            lengths[n] = f"max(0, {', '.join(texts)})"
    if lengths == ["0", "0"]:
        return None
    functions = {f.name: f for f in lowered.functions}
    combined = (ir.Combine, ir.Prefix, ir.ScanRange)
    return RangeLengths(
        "def found(league, args):\n"
        f"    try: return {', '.join(lengths)}\n"
        "    except wrong: return 0, 0",  # a range that a test in the kernel guards
        policy.team_size,
        coalesced,
        alone,
        any(r.level == "vector" for r in ranges),
        any(_has_loop(r.body, functions) for r in of_threads),
        any(isinstance(s, combined) and s.level != "vector" for s in ir.walk_statements(body.body)),
        bool(inside),
    )


@dataclass(frozen=True)
class _Range:
    level: str
    starts: tuple[Expr, ...]
    stops: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    between_barriers: bool  # of a loop


def _ranges(body: tuple[Stmt, ...], between: bool) -> Iterator[_Range]:
    for s in body:
        if isinstance(s, ir.Split):
            yield _Range(s.level, s.starts, s.stops, s.body, between)
        elif isinstance(s, ir.ScanRange):
            yield _Range(s.level, (s.start,), (s.stop,), s.body, between)
        repeated = isinstance(s, ir.For | ir.While) and any(
            isinstance(inner, ir.Barrier) for inner in ir.walk_statements((s,))
        )
        for inner_body in ir.bodies(s):
            yield from _ranges(inner_body, between or repeated)


def _length(r: _Range, known: Known, names: dict[str, str]) -> str | None:
    """Iterations of a range, in Python; None if they are not known before the launch."""
    product: Expr | None = None
    try:
        for start, stop in zip(r.starts, r.stops, strict=True):
            length = known.expression(op("sub", stop, start), stop.loc)
            if _shifts(length):  # by numbers without bounds, where a test guards the range
                return None
            product = length if product is None else op("mul", product, length)
    except Fault:
        return None
    return f"int({python_text(product or integer(1), names)})"


def _shifts(e: Expr) -> bool:
    if isinstance(e, ir.Op) and e.op == "lshift":
        return True
    return any(map(_shifts, ir.operands(e)))


def _has_loop(body: tuple[Stmt, ...], functions: dict[str, ir.Function]) -> bool:
    """Whether there is a loop in statements, or in what they call."""
    kinds = ir.For | ir.While | ir.Split | ir.ScanRange
    if any(isinstance(s, kinds) for s in ir.walk_statements(body)):
        return True
    calls = [e.function for e in ir.walk_expressions(body) if isinstance(e, ir.Call)]
    return any(_has_loop(functions[name].body, functions) for name in dict.fromkeys(calls))


def _lanes_coalesce(lowered: Lowered) -> bool:
    """Whether neighbouring lanes of a thread access neighbouring elements of a View (coalesced),
    while neighbouring threads would not."""
    functions = {f.name: f for f in lowered.functions}

    def touches(body: tuple[Stmt, ...], indices: set[str]) -> bool:
        names = set(indices)
        for s in ir.walk_statements(body):
            if isinstance(s, Assign) and any(v in names for v in _names(s.value)):
                names.add(s.name)
        places = [s for s in ir.walk_statements(body) if isinstance(s, ir.Store | ir.Atomic)]
        loads = [e for e in ir.walk_expressions(body) if isinstance(e, ir.Load)]
        for at in (*places, *loads):
            t = at.view.type
            if isinstance(t, ViewTy) and is_shared(at.view) and "group" not in t.traits:
                unit = t.unit if t.unit is not None else t.rank - 1
                if 0 <= unit < len(at.indices) and names & set(_names(at.indices[unit])):
                    return True
        for e in ir.walk_expressions(body):
            if isinstance(e, ir.Call):
                f = functions[e.function]
                pairs = zip(f.parameters, e.args, strict=True)
                given = {p.name for p, a in pairs if names & set(_names(a))}
                if given and touches(f.body, given):
                    return True
        return False

    for s in ir.walk_statements(lowered.body.body):
        if isinstance(s, ir.Split) and s.level == "vector" and touches(s.body, {s.names[-1]}):
            return True
        if isinstance(s, ir.ScanRange) and s.level == "vector" and touches(s.body, {s.name}):
            return True
    return False


def _names(e: Expr) -> list[str]:
    found = [e.name] if isinstance(e, Var) else []
    for a in ir.operands(e):
        found += _names(a)
    return found
