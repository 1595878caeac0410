"""The work of a launch: operations and bytes, counted from the IR of its kernel.

A statement is counted once for each point of its iteration domain (index_sets.py), which follows
from bounds, from numbers and extents of this launch, and from conditions on indices. Code that
depends on data is counted by a rule that a note names. The work is that of the kernel as written:
one pass of a scan, and no partial results of threads.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

from execspace import View, Work
from execspace.base.locks import new_lock

from .. import ir
from ..ir.diagnostics import Loc
from ..ir.types import Scalar, ViewTy
from ..typing.lowered import Lowered
from .index_sets import Box, Region, where
from .index_values import Affine, Loaded, Value, compared, index, integer
from .index_values import Both as BothOf
from .work_expressions import HALF, Expressions, Frame, Result, number, one_of, test_of, value_of
from .work_tally import Argument


def work_of(
    lowered: Lowered, bounds: tuple[int, ...], args: tuple[Any, ...], team_size: int = 0
) -> Work:
    """Count the work of a launch; nothing is run.

    Parameters
    ----------
    lowered : Lowered
    bounds, args : tuple
        As a plan's `launch` gets them.
    team_size : int, optional
        Threads of a team, if the policy does not set it.
    """
    key = id(lowered), bounds, team_size, tuple(_place(n, args) for n in range(len(args)))
    with _lock:
        found = _counted.get(key)
    if found is None:
        # Keep the kernel alive, so that its id is not reused.
        found = lowered, _Launch(lowered, args).work(bounds, team_size)
        with _lock:
            _counted[key] = found
            while len(_counted) > _MOST_COUNTED:
                del _counted[next(iter(_counted))]
    return found[1]


_MOST_COUNTED = 1024  # launches in the cache, since tools ask at each launch
_counted: dict[Any, tuple[Lowered, Work]] = {}
_lock = new_lock()


def _place(n: int, args: tuple[Any, ...]) -> Any:
    """The properties of an argument on which the counts depend."""
    value = args[n]
    if not isinstance(value, View):
        return type(value), value
    return value.shape, next(k for k, a in enumerate(args) if a is value)


class _Launch(Expressions):
    """The counts of a launch."""

    def __init__(self, lowered: Lowered, args: tuple[Any, ...]) -> None:
        super().__init__(lowered.functions)
        self.lowered, self.args = lowered, args
        self.loops = 0  # seen so far
        self.team_size = 1

    def work(self, bounds: tuple[int, ...], team_size: int) -> Work:
        """Count the whole launch."""
        lowered, body = self.lowered, self.lowered.body
        policy, reduction = lowered.spec.policy, lowered.reduction
        frame = Frame({}, {})
        names = [p.name for p in body.parameters]
        box = Box(())
        teams = policy.kind == "team"
        if teams:
            self.team_size = policy.team_size or team_size or 1
            league, league_size, rank, size = names[:4]
            box = box.along(league, 0, bounds[1])
            frame.variables |= {
                league: index(league), league_size: integer(bounds[1]), rank: index(rank),
                size: integer(self.team_size),
            }  # fmt: skip
            per_team = box
            box = box.along(rank, 0, self.team_size)
        else:
            for d, name in enumerate(names[: policy.rank]):
                box = box.along(name, bounds[d], bounds[policy.rank + d])
                frame.variables[name] = index(name)
            per_team = box
        if lowered.spec.pattern == "scan":
            frame.variables[names[lowered.leading - 1]] = True  # the final pass
        self._bind(frame, lowered.leading)
        if all(end > first for _, first, end in box.ranges):
            self.block(body.body, (box,), frame)
            if reduction is not None and reduction.array is None:
                join = reduction.accumulate_function("_step")
                self.function(join, (), (per_team,))
                if lowered.spec.pattern == "scan":
                    self.function(reduction.prefix_function("_prefix"), (), (per_team,))
        if reduction is not None:
            results = Box((("result", 0, prod(lowered.spec.array_shape or ())),))
            self.function(reduction.result_function("_result"), (), (results,))
        return self.totals(int(self.points((box,))))

    def _bind(self, frame: Frame, leading: int) -> None:
        """Bind the launch's arguments to the body's parameters."""
        for p, value in zip(self.lowered.body.parameters[leading:], self.args, strict=False):
            if isinstance(value, View):
                position = next(n for n, a in enumerate(self.args) if a is value)
                assert isinstance(p.type, ViewTy)
                extents = (value.size,) if p.type.mapped else value.shape
                itemsize = p.type.element.itemsize
                frame.views[p.name] = Argument(position, value.shape, extents, itemsize, value.size)
            else:
                frame.variables[p.name] = number(value, p.type)

    # -- statements -------------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...], region: Region, frame: Frame) -> Region:
        """Count statements; returns the region in which control reaches their end."""
        for s in body:
            if not region:
                break
            region = self._statement(s, region, frame)
        return region

    def _statement(self, s: ir.Stmt, region: Region, frame: Frame) -> Region:
        match s:
            case ir.Assign():
                value = self.expression(s.value, region, frame)
                frame.variables[s.name] = None if isinstance(value, tuple) else value
            case ir.Unpack():
                found = self.expression(s.value, region, frame)
                values = found if isinstance(found, tuple) else (None,) * len(s.names)
                frame.variables |= zip(s.names, values, strict=True)
            case ir.Store():
                subscripts = self.subscripts(s.indices, s.byte, region, frame)
                self.expression(s.value, region, frame)
                view = frame.views.get(s.view.name)
                if isinstance(view, Argument):
                    assert isinstance(s.value.type, Scalar)
                    self.access(view, subscripts, s.value.type, region, stores=True)
            case ir.Atomic():
                self._atomic(s, region, frame)
            case ir.If():
                return self._if(s, region, frame)
            case ir.For():
                loop = ((s.name, s.start, s.stop),)
                step = self.expression(s.step, region, frame)
                self._loop(loop, step, s.body, region, frame, s.loc)
            case ir.While():
                self._while(s, region, frame)
            case ir.Break() | ir.Continue():
                if isinstance(s, ir.Break):
                    self._left_early(s.loc)
                return ()
            case ir.Return():
                parts: tuple[ir.Expr | None, ...]
                parts = s.value if isinstance(s.value, tuple) else (s.value,)
                known = [None if v is None else self.expression(v, region, frame) for v in parts]
                several = tuple(None if isinstance(v, tuple) else v for v in known)
                frame.result = several if len(known) > 1 else known[0]
                if frame.loops:
                    self._left_early(s.loc)
                return ()
            case ir.Pool():
                return self.block(s.body, region, frame)
            case ir.Scratch():
                self._scratch(s, region, frame)
            case ir.Split() | ir.Combine() | ir.Prefix() | ir.ScanRange():
                self._of_team(s, region, frame)
            case _:
                for e in ir.expressions(s):
                    self.expression(e, region, frame)
                self._forget(ir.names_set(s), frame)
        return region

    def _left_early(self, loc: Loc) -> None:
        self.note("a loop that may be left early is counted to its end", loc)

    def _forget(self, names: tuple[str, ...] | set[str], frame: Frame) -> None:
        frame.variables |= dict.fromkeys(names)

    def _if(self, s: ir.If, region: Region, frame: Frame) -> Region:
        test = test_of(self.expression(s.test, region, frame))
        if any(isinstance(t, ir.Fail) for t in s.body):  # an assertion, assumed to hold
            return region
        before = self.events
        then, orelse, halved = self.parted(region, test)
        other = replace(frame, variables=dict(frame.variables))
        after = self.block(s.body, then, frame), self.block(s.orelse, orelse, other)
        frame.result = frame.result if frame.result is not None else other.result
        if all(after):
            for name, value in other.variables.items():
                frame.variables[name] = one_of(test, frame.variables.get(name), value)
        elif after[1]:
            frame.variables = other.variables
        whole = after == (then, orelse)
        if halved and (self.events > before or not whole):
            self.note(HALF, s.loc)
        return region if whole else (*after[0], *after[1])

    def _while(self, s: ir.While, region: Region, frame: Frame) -> None:
        self.note("a while loop is counted once", s.loc)
        names = {n for t in ir.walk_statements(s.body) for n in ir.names_set(t)}
        self._forget(names, frame)
        self.expression(s.test, region, frame)
        self._inside(s.body, region, frame)
        self._forget(names, frame)

    def _inside(self, body: tuple[ir.Stmt, ...], region: Region, frame: Frame) -> None:
        frame.loops += 1
        self.block(body, region, frame)
        frame.loops -= 1

    def _loop(
        self,
        loop: tuple[tuple[str, ir.Expr, ir.Expr], ...],
        step: Result,
        body: tuple[ir.Stmt, ...],
        region: Region,
        frame: Frame,
        loc: Loc,
        more: ir.Call | None = None,
    ) -> None:
        """Count the body, and a call of `more`, for each index of nested loops."""
        bounds = [
            tuple(value_of(self.expression(e, region, frame)) for e in (start, stop))
            for _, start, stop in loop
        ]
        names = {n for t in ir.walk_statements(body) for n in ir.names_set(t)}
        self._forget(names, frame)
        by = step.constant if isinstance(step, Affine) and not step.terms else 0
        for (name, _, _), (start, stop) in zip(loop, bounds, strict=True):
            self.loops += 1
            fresh = f"{name}#{self.loops}"
            found = None
            if by:
                value: Value = index(fresh)
                if abs(by) > 1 and isinstance(start, Affine):
                    value = start.plus(index(fresh), by)
                if isinstance(start, Loaded):
                    found = self._rows(name, fresh, start, stop, by, body, region, frame, loc)
                else:
                    found = _looped(region, fresh, start, stop, by)
            if found is None:
                value = None
                self.note(
                    f"how often the loop over '{name}' runs depends on data: counted once", loc
                )
            else:
                region = found
            frame.variables[name] = value
        if region:
            self._inside(body, region, frame)
            if more is not None:
                self.expression(more, region, frame)
        self._forget(names | {n for n, _, _ in loop}, frame)

    def _rows(
        self,
        name: str,
        fresh: str,
        start: Loaded,
        stop: Value,
        by: int,
        body: tuple[ir.Stmt, ...],
        region: Region,
        frame: Frame,
        loc: Loc,
    ) -> Region | None:
        """Count a loop from one element of a View to the next, as over a row of a sparse matrix.

        All rows together are assumed to cover the Views that are subscripted by its index.
        """
        if not isinstance(stop, Loaded) or by != 1:
            return None
        if start.view != stop.view or len(start.subscripts) != 1:
            return None
        first, last = start.subscripts[0], stop.subscripts[0]
        if not isinstance(first, Affine) or last != first.plus(integer(1)):
            return None
        extents = []
        inner: list[Any] = [e for e in ir.walk_expressions(body) if isinstance(e, ir.Load)]
        inner += [s for s in ir.walk_statements(body) if isinstance(s, ir.Store | ir.Atomic)]
        for e in inner:
            view = frame.views.get(e.view.name)
            if isinstance(view, Argument):
                at = zip(e.indices, view.extents, strict=True)
                extents += [n for i, n in at if isinstance(i, ir.Var) and i.name == name]
        if not extents:
            return None
        total, rows = min(extents), self.args[start.view].shape[0] - 1
        self.note(
            f"the loop over '{name}' depends on data: that all {rows} rows together have {total}",
            loc,
        )
        weight = Fraction(1, max(rows, 1))
        return tuple(box.along(fresh, 0, total).scaled(weight) for box in region if total)

    # -- teams ------------------------------------------------------------------------------------

    def _scratch(self, s: ir.Scratch, region: Region, frame: Frame) -> None:
        given = iter([value_of(self.expression(e, region, frame)) for e in s.shape])
        assert isinstance(s.view.type, ViewTy)
        static = s.view.type.static or (None,) * s.view.type.rank
        frame.views[s.view.name] = tuple(
            next(given) if n is None else integer(n) for n in static
        )  # fmt: skip

    def _of_team(
        self, s: ir.Split | ir.Combine | ir.Prefix | ir.ScanRange, region: Region, frame: Frame
    ) -> None:
        """Count collectives and nested ranges: work that the threads share counts once per team."""
        shared = s.level != "vector"
        once = tuple(box.scaled(Fraction(1, self.team_size)) for box in region)
        match s:
            case ir.Split():
                loop = tuple(zip(s.names, s.starts, s.stops, strict=True))
                self._loop(loop, integer(1), s.body, once if shared else region, frame, s.loc)
            case ir.ScanRange():
                self._forget({v.name for v in (*s.states, *s.own)}, frame)
                merge = _merging(s, (*s.states, *s.own))
                bounds = ((s.name, s.start, s.stop),)
                part = once if shared else region
                self._loop(bounds, integer(1), s.body, part, frame, s.loc, merge)
            case ir.Combine() | ir.Prefix():
                if shared:  # by all threads but the first, whose state the others join
                    others = Fraction(self.team_size - isinstance(s, ir.Combine), self.team_size)
                    part = tuple(box.scaled(others) for box in region if others)
                    self.expression(_merging(s, (*s.states, *s.states)), part, frame)
                self._forget(ir.names_set(s), frame)

    def _atomic(self, s: ir.Atomic, region: Region, frame: Frame) -> None:
        subscripts = self.subscripts(s.indices, s.byte, region, frame)
        for e in s.values:
            self.expression(e, region, frame)
        view = frame.views.get(s.view.name)
        if isinstance(view, Argument):
            if s.op != "store":
                self.access(view, subscripts, s.type, region)
            if s.op != "load":
                self.access(view, subscripts, s.type, region, stores=True)
        self.operation(s.op, s.type, s.type, region)
        if s.name is not None:
            frame.variables[s.name] = None


def _merging(s: ir.Combine | ir.Prefix | ir.ScanRange, args: tuple[ir.Var, ...]) -> ir.Call:
    kind = s.states[0].type
    assert isinstance(kind, Scalar)
    return ir.Call(s.merge, args, kind)


def _looped(region: Region, name: str, start: Value, stop: Value, by: int) -> Region | None:
    """A region with the index of a loop, or with the iteration number if the step is not 1.

    None if the trip count is unknown.
    """
    found: list[Box] = []
    for box in region:
        first, last = box.limits(start), box.limits(stop)
        if first is None or last is None:
            return None
        if by in (1, -1):
            at: Value = index(name)
            low, high = (first[0], last[1]) if by > 0 else (last[0] + 1, first[1] + 1)
        elif isinstance(start, Affine):
            most = (last[1] - first[0] if by > 0 else first[1] - last[0]) + abs(by) - 1
            low, high, at = 0, most // abs(by), start.plus(index(name), by)
        else:
            return None
        inside = BothOf(
            compared("ge" if by > 0 else "le", at, start),
            compared("lt" if by > 0 else "gt", at, stop),
        )
        if high > low:
            found += where(box.along(name, low, high), inside)
    return tuple(found)
