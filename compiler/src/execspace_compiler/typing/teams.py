"""Typing of what kernels of a TeamPolicy say: the team, nested ranges, scratch, collectives.

Nested reductions and scans are typed like those of a launch, with the function that they call in
the place of the kernel. What must not stand in what is checked by teams/checks.py, when helpers
have been put in place.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import execspace
from execspace import Reducer
from execspace.base.errors import ExecspaceError
from execspace.reducers.base import as_reducer, is_made_alone

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Loc, counted, syntax_fault, type_fault
from ..ir.rewriting import renamed
from ..ir.structures import strong
from ..ir.types import BOOL, INDEX, Scalar, TupleTy, Type, ViewTy
from ..reductions.reduction import Maker, Reduction
from .calls import no_keyword
from .intrinsics import WordRules
from .scan_prefix import with_settled_prefix
from .values import (
    TEAM_PARTS,
    FunctionValue,
    Method,
    NestedRange,
    Obj,
    Once,
    TeamValue,
    TupleValue,
    Value,
    describe,
    parts,
    scalar,
    type_of,
)

# Word of a range -> level, and whether it has several indices.
_RANGES: dict[Any, tuple[str, bool]] = {
    execspace.TeamThreadRange: ("thread", False),
    execspace.ThreadVectorRange: ("vector", False),
    execspace.TeamVectorRange: ("team", False),
    execspace.TeamThreadMDRange: ("thread", True),
    execspace.ThreadVectorMDRange: ("vector", True),
    execspace.TeamVectorMDRange: ("team", True),
}
_METHODS = ("barrier", "broadcast", "reduce", "scan", "scratch", "thread_scratch")
_PATTERNS = {
    execspace.parallel_for: "parallel_for",
    execspace.parallel_reduce: "parallel_reduce",
    execspace.parallel_scan: "parallel_scan",
}


def scratch_view(loc: Loc) -> str:
    """Variable of a View over scratch memory: one for each place in the source."""
    return f"_scratch_{loc.line}_{loc.column}"


class TeamRules(WordRules):
    """Teams; ExpressionRules adds names and operators."""

    reductions: int  # nested ones so far in this walk

    def team_attribute(self, team: TeamValue, name: str, loc: Loc) -> Value:
        """`team.league_rank` and its like."""
        if name in TEAM_PARTS:
            value: ir.Expr = getattr(team, name)
            return value
        if name in _METHODS:
            return Method(team, name)
        known = ", ".join((*TEAM_PARTS, *(f"{m}()" for m in _METHODS)))
        raise type_fault(loc, f"a team has no attribute '{name}'", f"it has {known}")

    def team_call(
        self, function: Value, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value | None:
        """A call of a word of teams, or of a method of one; None if it is none."""
        if isinstance(function, Method) and isinstance(function.owner, TeamValue):
            return self._team_method(function.owner, function.name, args, keywords, loc)
        if not isinstance(function, Obj) or not isinstance(function.value, Hashable):
            return None
        target = function.value
        if target in _RANGES:
            return self._range(target, args, keywords, loc)
        if target in (execspace.PerTeam, execspace.PerThread):
            word = target.__name__
            if len(args) != 1 or not isinstance(args[0], TeamValue) or keywords:
                got = ", ".join(map(describe, args)) or "nothing"
                raise type_fault(
                    loc, f"es.{word} takes a team, got {got}", f"write es.{word}(team)"
                )
            return Once(args[0], "team" if target is execspace.PerTeam else "thread")
        if target is execspace.single:
            if keywords:
                raise no_keyword(function.path, keywords, loc)
            return self._single(args, loc)
        if target in _PATTERNS and args and isinstance(args[0], NestedRange):
            return self._nested_launch(_PATTERNS[target], args[0], args[1:], keywords, loc)
        if isinstance(target, type) and issubclass(target, Reducer):
            return Obj(self._made_reducer(target, args, keywords, loc), function.path)
        return None

    # -- ranges -------------------------------------------------------------------------------

    def _range(
        self, word: Any, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> NestedRange:
        level, several = _RANGES[word]
        name = f"es.{word.__name__}"
        if not args or not isinstance(args[0], TeamValue) or keywords:
            got = "nothing" if not args else describe(args[0])
            hint = f"write {name}(team, n), where team is the first parameter of the kernel"
            raise type_fault(loc, f"{name} takes a team first, got {got}", hint)
        most, least = (6, 2) if several else (2, 1)
        if not least <= len(args) - 1 <= most:
            form = "team, n0, n1" if several else "team, n) or (team, begin, end"
            got = counted(len(args) - 1, "extent" if several else "bound")
            raise syntax_fault(loc, f"{name} got {got}", f"write {name}({form})")
        bounds: list[ir.Expr] = []
        for a in args[1:]:
            e = scalar(a, loc)
            if not e.type.is_integer:
                hint = "convert it with int(...)"
                raise type_fault(loc, f"{name} takes integers, got {e.type}", hint)
            bounds.append(self.stable(self.coerce(e, INDEX)))
        zero = ir.Const(0, INDEX, loc)
        if several or len(bounds) == 1:
            return NestedRange(level, (zero,) * len(bounds), tuple(bounds), name)
        return NestedRange(level, (bounds[0],), (bounds[1],), name)

    def split_loop(self, s: hir.ForEach, items: NestedRange) -> None:
        """A for loop over a nested range."""
        for inner in hir.walk(s.body):
            if isinstance(inner, hir.Return):
                hint = "leave the kernel before or after the loop"
                raise syntax_fault(inner.loc, f"return in a loop over {items.word}", hint)
        if hir.breaks(s.body):
            hint = "skip what must not be done with if, or write a loop over range"
            message = f"break in a loop over {items.word}, whose iterations run at once"
            raise syntax_fault(s.loc, message, hint)
        names = self._indices(items)
        saved, self.out = self.out, []
        values: list[Value] = [ir.Var(n, INDEX, s.target.loc) for n in names]
        item = values[0] if len(values) == 1 else TupleValue(tuple(values))
        try:
            self.assign(s.target, item, s.loc, s.items.loc)
            body = self.out + self.body_of_loop(s.body)
        finally:
            self.out = saved
        self.nested_ranges[id(s)] = items.word
        self.out.append(ir.Split(items.level, names, items.starts, items.stops, tuple(body), s.loc))

    def assign(self, target: hir.Expr, value: Value, loc: Loc, at: Loc) -> None:
        """Assign a value to a target."""
        raise NotImplementedError

    def body_of_loop(self, body: Sequence[hir.Stmt], flag: str | None = None) -> list[ir.Stmt]:
        """Statements of a loop's body."""
        raise NotImplementedError

    nested_ranges: dict[int, str]  # loops over nested ranges, by `id`, and their words

    def _indices(self, items: NestedRange) -> tuple[str, ...]:
        return tuple(self.temporary(INDEX) for _ in items.starts)

    # -- members ------------------------------------------------------------------------------

    def _single(self, args: Sequence[Value], loc: Loc) -> Value:
        if not 1 <= len(args) <= 2 or not isinstance(args[0], Once):
            got = ", ".join(map(describe, args)) or "nothing"
            hint = "write if es.single(es.PerTeam(team)):"
            raise type_fault(loc, f"es.single takes es.PerTeam or es.PerThread, got {got}", hint)
        once = args[0]
        test: ir.Expr = ir.Const(True, BOOL, loc)  # what is not in a range over lanes runs once
        if once.level == "team":
            test = ir.Op("eq", (once.team.team_rank, ir.Const(0, INDEX, loc)), BOOL, loc)
        if len(args) == 1:
            return test
        saved, self.out = self.out, []
        try:
            value = self.call(args[1], [], {}, loc)
            held = self._held(value, loc)
        finally:
            body, self.out = self.out, saved
        if once.level == "thread":
            self.out += body
            return held
        variables = self._variables(held)
        zeros = [ir.Assign(v.name, ir.Const(0, v.type.strong, loc), loc)  # type: ignore[union-attr]
                 for v in variables]  # fmt: skip
        self.out += [*zeros, ir.If(test, tuple(body), loc=loc)]
        self.out.append(ir.Broadcast(variables, ir.Const(0, INDEX, loc), loc))
        return held

    def _held(self, value: Value, loc: Loc) -> Value:
        """A number or tuple of them, in variables of strong types."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self._held(v, loc) for v in value.items), value.names)
        e = scalar(value, loc)
        name = self.temporary(e.type)
        self.out.append(ir.Assign(name, self.coerce(e, e.type.strong), loc))
        return ir.Var(name, e.type, loc)

    def _variables(self, held: Value) -> tuple[ir.Var, ...]:
        return tuple(e for _, e in parts(held, "") if isinstance(e, ir.Var))

    def _team_method(
        self,
        team: TeamValue,
        name: str,
        args: Sequence[Value],
        keywords: dict[str, Value],
        loc: Loc,
    ) -> Value:
        takes = {
            "barrier": (), "broadcast": ("value", "rank"), "reduce": ("value", "reducer"),
            "scan": ("value", "reducer"), "scratch": ("shape", "dtype", "level"),
            "thread_scratch": ("shape", "dtype", "level"),
        }[name]  # fmt: skip
        given = dict(zip(takes, args, strict=False)) | keywords
        needed = takes[:1] if name != "broadcast" else takes
        unknown = [k for k in keywords if k not in takes]
        if len(args) > len(takes) or unknown or any(n not in given for n in needed):
            form = ", ".join(takes)
            got = ", ".join([*map(describe, args), *(f"{k}=" for k in keywords)]) or "nothing"
            raise type_fault(loc, f"team.{name} got {got}", f"write team.{name}({form})")
        if name == "barrier":
            self.out.append(ir.Barrier(loc))
            return Obj(None, "None")
        if name == "broadcast":
            rank = scalar(given["rank"], loc)
            if not rank.type.is_integer:
                hint = "give the team_rank of the thread that has the value"
                raise type_fault(loc, f"the rank of a broadcast is {rank.type}", hint)
            rank = self.stable(self.coerce(rank, INDEX))
            rank = ir.Op("bounded", (rank, team.team_size), INDEX, loc)
            held = self._held(given["value"], loc)
            self.out.append(ir.Broadcast(self._variables(held), rank, loc))
            return held
        if name in ("reduce", "scan"):
            return self._over_members(name, given["value"], given.get("reducer"), loc)
        return self._scratch(name, given, loc)

    def _scratch(self, name: str, given: dict[str, Value], loc: Loc) -> Value:
        dtype = given.get("dtype")
        like: list[Value] = [TupleValue(())] if dtype is None else [TupleValue(()), dtype]
        element = self.local_type(like, loc).element
        level = given.get("level", ir.Const(0, INDEX, loc))
        if not isinstance(level, ir.Const) or level.value not in (0, 1):
            hint = "level 0 is small and fast, level 1 is large"
            raise syntax_fault(loc, "the level of scratch is 0 or 1, a constant", hint)
        wanted = given["shape"]
        items = wanted.items if isinstance(wanted, TupleValue) else (wanted,)
        if not 1 <= len(items) <= 6:
            raise syntax_fault(loc, f"scratch of rank {len(items)}", "give 1 to 6 extents")
        static: list[int | None] = []
        extents: list[ir.Expr] = []
        for item in items:
            e = scalar(item, loc)
            if not e.type.is_integer:
                hint = "convert it with int(...)"
                raise type_fault(loc, f"an extent of scratch is {e.type}, not an integer", hint)
            if isinstance(e, ir.Const):
                if e.value < 0:
                    raise syntax_fault(loc, f"scratch of extent {e.value}", "give 0 or more")
                static.append(int(e.value))
                continue
            static.append(None)
            extents.append(self.stable(self.coerce(e, INDEX)))
        rank = len(items)
        known = tuple(static) if any(n is not None for n in static) else ()
        traits = ("group",) if level.value == 0 else ()
        type = ViewTy(element, rank, "right", rank - 1, False, None, known, traits)
        view = ir.Var(scratch_view(loc), type, loc)
        self.types[view.name] = type
        owner = "thread" if name == "thread_scratch" else "team"
        self.out.append(ir.Scratch(view, tuple(extents), int(level.value), owner, loc))
        return view

    # -- reductions and scans -----------------------------------------------------------------

    def _made_reducer(
        self, kind: type[Reducer], args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Reducer:
        """`es.Sum(dtype=es.float32)` within a kernel."""
        if kind is not Reducer and kind.kind == "custom" and not is_made_alone(kind):
            # Launches look at what its join captures, and need an instance for that.
            name = kind.__name__
            message = f"a kernel cannot make {name}(...), a reducer of your own that has parameters"
            hint = f"write own = {name}(...) outside of the kernel, and reducer=own in it"
            raise type_fault(loc, message, hint)

        def constant(v: Value) -> Any:
            if isinstance(v, Obj):
                return v.value
            if isinstance(v, TupleValue):
                return tuple(map(constant, v.items))
            if isinstance(v, ir.Const):
                return v.value
            hint = "make it before the launch, and name it in the kernel"
            message = f"{kind.__name__} got {describe(v)}, which is not known when it is compiled"
            raise type_fault(loc, message, hint)

        given = {k: constant(v) for k, v in keywords.items()}
        values = tuple(map(constant, args))
        key = (kind, repr(values), repr(given))
        try:
            if key not in self.module.reducers:  # one object, however often it is looked at
                self.module.reducers[key] = kind(*values, **given)
            return self.module.reducers[key]
        except (TypeError, ExecspaceError) as error:
            raise type_fault(
                loc, f"{kind.__name__}: {error}".rstrip("."), "see its documentation"
            ) from None

    def _reducers(self, value: Value | None, loc: Loc) -> Reducer | tuple[Reducer, ...]:
        def named(v: Value) -> Any:
            if isinstance(v, TupleValue):
                return tuple(map(named, v.items))
            if isinstance(v, Obj):
                return v.value
            hint = "write reducer=es.Max, for example"
            raise type_fault(loc, f"reducer= is {describe(v)}, expected a reducer", hint)

        try:
            found = as_reducer(execspace.Sum if value is None else named(value))
        except (TypeError, ExecspaceError) as error:
            raise type_fault(
                loc, f"reducer=: {error}".rstrip("."), "write reducer=es.Max, say"
            ) from None
        for r in found if isinstance(found, tuple) else (found,):
            if r.array_shape is not None:
                hint = "return a tuple, and give a tuple of reducers"
                raise syntax_fault(loc, f"{r.name} joins arrays, which nested ranges cannot", hint)
        return found

    def _maker(self, reducers: Reducer | tuple[Reducer, ...], loc: Loc) -> Maker:
        self.reductions += 1
        captures = self.module.captures_of_nested(reducers)
        return Maker(self.module, captures, loc, f"_r{self.reductions}")

    def _reduction(self, maker: Maker, reducers: Any, value: Value, loc: Loc) -> Reduction:
        if not isinstance(value, ir.Expr | TupleValue):
            hint = "return the contribution of each index"
            raise type_fault(loc, f"what is joined is {describe(value)}", hint)
        try:
            reduction = maker.reduction(reducers, strong(type_of(value, loc)))
        except AssertionError:
            hint = "return numbers and tuples of numbers"
            raise type_fault(loc, f"cannot join {describe(value)}", hint) from None
        for name, type in reduction.locals().items():
            self.types[name] = type
        self.module.add(reduction.functions)
        return reduction

    def _contributed(self, reduction: Reduction, value: Value, loc: Loc) -> list[ir.Stmt]:
        """Statements that join a contribution into the state."""
        numbers = [e for _, e in parts(value, "")]
        pairs = zip(numbers, reduction.contributions, strict=True)
        numbers = [self.coerce(e, t) for e, t in pairs]
        if reduction.once:
            return reduction.join_number(numbers[0])
        own: list[ir.Stmt] = [
            ir.Assign(f"{reduction.names}_v{n}", e, loc) for n, e in enumerate(numbers)
        ]
        return [*own, *reduction.join_contributions()]

    def _merge(self, reduction: Reduction) -> str:
        """A function that joins two states."""
        return self.module.joining(self.function.name, reduction)

    function: hir.Function

    def _finished(self, reduction: Reduction) -> Value:
        statements, numbers = reduction.finish()
        self.out += statements
        found = tuple(j.result for j in reduction.joins)
        shape = TupleTy(found) if reduction.several else found[0]
        return _structured(shape, [self.keep(n) for n in numbers])

    def _nested_launch(
        self,
        pattern: str,
        items: NestedRange,
        args: Sequence[Value],
        keywords: dict[str, Value],
        loc: Loc,
    ) -> Value:
        """es.parallel_for, parallel_reduce or parallel_scan over a nested range."""
        keywords = {k: v for k, v in keywords.items() if k != "label"}
        unknown = [k for k in keywords if k != "reducer" or pattern == "parallel_for"]
        if unknown or not args:
            got = f"got {unknown[0]}=" if unknown else "got no function"
            hint = f"write es.{pattern}({items.word}(team, n), function)"
            raise syntax_fault(loc, f"es.{pattern} over a nested range {got}", hint)
        fn, rest = args[0], list(args[1:])
        if not isinstance(fn, FunctionValue | Obj):
            hint = "give a lambda or a function of the index"
            raise type_fault(loc, f"es.{pattern} takes a function, got {describe(fn)}", hint)
        if pattern == "parallel_scan":
            return self._scan(items, fn, rest, keywords, loc)
        names = self._indices(items)
        indices: list[Value] = [ir.Var(n, INDEX, loc) for n in names]
        saved, self.out = self.out, []
        try:
            value = self.call(fn, [*indices, *rest], {}, loc)
            if pattern == "parallel_for":
                return self._nested_for(items, names, value, saved, loc)
            value = self.keep(value) if isinstance(value, TupleValue) else value
            reducers = self._reducers(keywords.get("reducer"), loc)
            reduction = self._reduction(self._maker(reducers, loc), reducers, value, loc)
            body = (*self.out, *self._contributed(reduction, value, loc))
        finally:
            self.out = saved
        self.out += reduction.reset()
        self.out.append(ir.Split(items.level, names, items.starts, items.stops, body, loc))
        states = tuple(s.var for s in reduction.states)
        self.out.append(ir.Combine(items.level, states, self._merge(reduction), loc))
        return self._finished(reduction)

    def _nested_for(
        self,
        items: NestedRange,
        names: tuple[str, ...],
        value: Value,
        saved: list[ir.Stmt],
        loc: Loc,
    ) -> Value:
        body = tuple(self.out)
        saved.append(ir.Split(items.level, names, items.starts, items.stops, body, loc))
        return Obj(None, "None")

    def _scan(
        self,
        items: NestedRange,
        fn: Value,
        rest: list[Value],
        keywords: dict[str, Value],
        loc: Loc,
    ) -> Value:
        if len(items.starts) != 1:
            hint = "scan over one index: the others are a loop in the function"
            message = f"es.parallel_scan over {items.word}, which has several indices"
            raise syntax_fault(loc, message, hint)
        (name,) = self._indices(items)
        index = ir.Var(name, INDEX, loc)
        reducers = self._reducers(keywords.get("reducer"), loc)
        maker = self._maker(reducers, loc)

        def scanned(prefix: Type, in_spite: bool) -> tuple[tuple[ir.Stmt, ...], Reduction]:
            before, self.module.in_spite = self.module.in_spite, in_spite or self.module.in_spite
            try:
                return self._scan_body(maker, reducers, prefix, fn, index, rest, True, loc)
            finally:
                self.module.in_spite = before

        body, reduction = with_settled_prefix(
            maker.guess(reducers, 1), scanned, lambda found: found[1].value, loc
        )
        prefix = reduction.value
        probe, _ = self._scan_body(maker, reducers, prefix, fn, index, rest, False, loc)
        states = tuple(s.var for s in reduction.states)
        own = tuple(ir.Var(f"{v.name}_own", v.type) for v in states)
        for v in own:
            self.types[v.name] = v.type
        self.out += reduction.reset()
        self.out.append(
            ir.ScanRange(
                items.level, name, items.starts[0], items.stops[0], states, own,
                tuple(s.identity for s in reduction.states), self._merge(reduction), probe, body,
                loc,
            )
        )  # fmt: skip
        return self._finished(reduction)

    def _scan_body(
        self,
        maker: Maker,
        reducers: Any,
        prefix: Type,
        fn: Value,
        index: ir.Var,
        rest: list[Value],
        final: bool,
        loc: Loc,
    ) -> tuple[tuple[ir.Stmt, ...], Reduction]:
        """An iteration of a scan: it sets the state that it contributes."""
        saved, self.out = self.out, []
        try:
            held = [
                ir.Var(f"{maker.prefix}_prefix{n}", t) for n, t in enumerate(_scalars(prefix))
            ]  # fmt: skip
            for v in held:
                self.types[v.name] = v.type
            given = _structured(prefix, held)
            flag = ir.Const(final, BOOL, loc)
            value = self.call(fn, [index, given, flag, *rest], {}, loc)
            value = self.keep(value) if isinstance(value, TupleValue) else value
            reduction = self._reduction(maker, reducers, value, loc)
            called = self.out
            join = [*reduction.reset(), *self._contributed(reduction, value, loc)]
        finally:
            self.out = saved
        if len(held) == len(reduction.prefix()):
            pairs = zip(held, _scalars(prefix), reduction.prefix(), strict=True)
            before: list[ir.Stmt] = [ir.Assign(v.name, self.coerce(e, t), loc) for v, t, e in pairs]
        else:
            before = []
        own = {s.name: ir.Var(f"{s.name}_own", s.type) for s in reduction.states}
        return (*before, *called, *renamed(tuple(join), own)), reduction

    def _over_members(self, name: str, value: Value, reducer: Value | None, loc: Loc) -> Value:
        """team.reduce and team.scan: a value from each thread."""
        reducers = self._reducers(reducer, loc)
        value = self.keep(value)
        reduction = self._reduction(self._maker(reducers, loc), reducers, value, loc)
        self.out += [*reduction.reset(), *self._contributed(reduction, value, loc)]
        states = tuple(s.var for s in reduction.states)
        merge = self._merge(reduction)
        if name == "reduce":
            self.out.append(ir.Combine("thread", states, merge, loc))
            return self._finished(reduction)
        totals = tuple(ir.Var(f"{v.name}_total", v.type) for v in states)
        for v in totals:
            self.types[v.name] = v.type
        identity = tuple(s.identity for s in reduction.states)
        self.out.append(ir.Prefix("thread", states, totals, identity, merge, loc))
        return _structured(reduction.value, [self.keep(n) for n in reduction.prefix()])


def _structured(type: Type, numbers: Sequence[ir.Expr]) -> Value:
    """Numbers as the value of a type."""
    rest = iter(numbers)

    def value(t: Type) -> Value:
        if isinstance(t, TupleTy):
            return TupleValue(tuple(map(value, t.items)), t.names)
        return next(rest)

    return value(type)


def _scalars(t: Type) -> tuple[Scalar, ...]:
    if isinstance(t, TupleTy):
        return tuple(s for i in t.items for s in _scalars(i))
    assert isinstance(t, Scalar)
    return (t,)
