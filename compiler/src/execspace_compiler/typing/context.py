"""What typing rules share: the state of the function that is being typed, and the tables of rules.

A rule is a function of a Context and of the node or call that it types. Tables map classes of HIR
nodes and callees to rules. Rules type the children of their node through the Context, which looks
the rule up; so rules need not import each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from execspace.base.dataclass import dataclass

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc, Reporter, syntax_fault, type_fault
from ..ir.types import BOOL, INDEX, PY_INT, PromotionError, Scalar, Type
from .constants import converted
from .module import ModuleTyper
from .value_queries import indexable
from .value_types import describe
from .values import Chosen, Fixed, Method, Obj, Span, TeamValue, TupleValue, Value, ViewRef

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")
_Rule = TypeVar("_Rule", bound=Callable[..., Any])

_NESTED = 32


class Pending(Exception):
    """A variable is read before its type is known; a later walk will know it."""


# -- rules --------------------------------------------------------------------------------------


class Rules(dict[_Key, Callable[..., _Result]]):
    """A table of rules that have been looked up; `what` describes its keys, for messages.

    Attributes
    ----------
    homes : dict
        Key -> the module below `rules` that registers its rule, which is imported when that is
        first looked up.
    registered : dict
        All rules of modules that have been imported, or are being imported by another thread: they
        come into the table when their module is complete.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.homes: Mapping[_Key, str] = {}
        self.registered: dict[_Key, Callable[..., _Result]] = {}

    def of(self, *keys: _Key) -> Callable[[_Rule], _Rule]:
        """Register a function as the rule of each key."""

        def register(rule: _Rule) -> _Rule:
            for key in keys:
                known = self.registered.get(key)
                # An import that was interrupted begins again.
                if known is not None and _place(known) != _place(rule):
                    told = f"{self.what} {_name(key)} has a rule already: {known.__name__}"
                    raise ValueError(told)
                self.registered[key] = rule
            return rule

        return register

    def find(self, key: _Key) -> Callable[..., _Result] | None:
        """The rule of a key, if it has one."""
        if key not in self:
            if key in self.homes:
                load_rules(self.homes[key])
            if key not in self.registered:
                return None
            self[key] = self.registered[key]
        return self[key]

    def __missing__(self, key: _Key) -> Callable[..., _Result]:
        found = self.find(key)
        if found is None:
            raise LookupError(f"no typing rule for {self.what} {_name(key)}")
        return found


def _place(rule: Callable[..., Any]) -> tuple[str, str]:
    return rule.__module__, rule.__qualname__


def load_rules(module: str) -> None:
    """Import a module of rules, unless that has been done."""
    import_module(f"{__package__}.rules.{module}")


def _name(key: object) -> str:
    return str(getattr(key, "__name__", key))


@dataclass(frozen=True, slots=True)
class Call:
    """A call in a kernel, with the values of its arguments."""

    function: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    loc: Loc

    @property
    def name(self) -> str:
        """The callee, as the source names it."""
        if isinstance(self.function, Obj):
            return self.function.path
        assert isinstance(self.function, Method)
        return self.function.name

    @property
    def target(self) -> Any:
        """The function or class that is called."""
        assert isinstance(self.function, Obj)
        return self.function.value

    @property
    def owner(self) -> Value:
        """The object whose method is called."""
        assert isinstance(self.function, Method)
        return self.function.owner

    def positional(self) -> tuple[Value, ...]:
        """The arguments of a callee that takes no keywords; a fault if there are any."""
        if self.keywords:
            given = next(iter(self.keywords))
            message = f"'{self.name}' takes no keyword argument '{given}' in a kernel"
            raise syntax_fault(self.loc, message, "give the arguments by position")
        return self.args


# (Context, node) -> Value
EXPRESSIONS: Rules[type[hir.Node], Value] = Rules("expression")
# (Context, node) -> None
STATEMENTS: Rules[type[hir.Node], None] = Rules("statement")
# (Context, Call) -> Value, by the class of the value that is called
CALLED: Rules[type, Value] = Rules("call of")
# (Context, Call) -> Value, by the callee itself
CALLS: Rules[Any, Value] = Rules("call of")
# (Context, Call) -> Value, by the name of the method
METHODS: Rules[str, Value] = Rules("method")


# -- state --------------------------------------------------------------------------------------


class Context:
    """The state of a function that is being typed.

    Attributes
    ----------
    module : ModuleTyper
        The functions of the launch.
    function : hir.Function
    reporter : Reporter
    types : dict of str to Type
        Parameters, variables and temporaries; grows from walk to walk.
    parameters : sequence of ir.Var
        Numbers and Views that the function takes.
    indices : tuple of ir.Var
        The parameters that are indices of the policy.
    team : TeamValue or None
        The team of the kernel or helper: a member cannot leave early, since others wait for it.
    returns : bool or None
        True: every path must return a value. False: no path may. None: either way.
    array : bool
        The kernel of an array reduction, which returns nothing.
    out : list of ir.Stmt
        Receives statements while expressions are typed.
    final : bool
        Types have settled, and this walk reports faults.
    changed : bool
        This walk has changed a type, so another one is needed.
    ruled_out : bool
        The code being typed has been ruled out by a constant.
    decided, tested : dict of int to bool, set of int
        Outcome of constant tests by `id` of the node, and nodes whose test is not the same
        constant each time.
    unknown, conflicts : dict of str
        Variables that are read and never get a type, and those whose type differs between paths.
    own_names : set of str
        Names in the source, which temporaries must not have.
    own, unreadable : dict of str to str
        Variables of which each iteration of an unrolled loop has its own, and why such variables
        cannot be read outside the loop.
    unrolled : list of (str or None)
        For each loop around a statement the flag that a break sets, if the loop is unrolled.
    iterations : list of str
        Current iterations of the loops over tuples that are being unrolled.
    nested_ranges : dict of int to str
        Loops over nested ranges, by `id`, with the name of the range in the source.
    temporaries, reductions : int
        Number of temporaries, and of nested reductions, so far in this walk.
    result : Type or None
        Type of the function's result so far.
    returns_nothing, fails : bool
        It returns without a value; an assertion may fail in it.
    limits : dict of str to (int, int)
        Range in which a Python integer among the parameters must be.
    """

    def __init__(
        self,
        module: ModuleTyper,
        function: hir.Function,
        reporter: Reporter,
        types: Mapping[str, Type] | None = None,
        parameters: Sequence[ir.Var] = (),
        *,
        rank: int = 0,
        team: TeamValue | None = None,
        returns: bool | None = None,
        array: bool = False,
        own_names: Set[str] = frozenset(),
    ) -> None:
        self.module = module
        self.function = function
        self.reporter = reporter
        self.types: dict[str, Type] = dict(types or {})
        self.parameters = tuple(parameters)
        self.indices = tuple(ir.Var(p.name, p.type) for p in parameters[:rank])
        self.team = team
        self.returns = returns
        self.array = array
        self.out: list[ir.Stmt] = []
        self.final = self.changed = self.ruled_out = False
        self.decided: dict[int, bool] = {}
        self.tested: set[int] = set()
        self.unknown: dict[str, Loc] = {}
        self.conflicts: dict[str, Fault] = {}
        self.own: dict[str, str] = {}
        self.unreadable: dict[str, str] = {}
        self.unrolled: list[str | None] = []
        self.iterations: list[str] = []
        self.nested_ranges: dict[int, str] = {}
        self.temporaries = self.reductions = 0
        self.result: Type | None = None
        self.returns_nothing = self.fails = False
        self.limits: dict[str, tuple[int, int]] = {}
        self.own_names = own_names

    @property
    def records_failures(self) -> bool:
        """Whether failed assertions are recorded here instead of returned to the caller."""
        return bool(self.indices) or self.team is not None

    # -- parts of a node ----------------------------------------------------------------------

    def value(self, e: hir.Expr) -> Value:
        """Value of any expression."""
        return EXPRESSIONS[type(e)](self, e)

    def detached(self, e: hir.Expr) -> tuple[list[ir.Stmt], Value]:
        """A value, and the statements that compute it, which are not emitted."""
        saved, self.out = self.out, []  # as in `collecting`, which is slower
        try:
            value = EXPRESSIONS[type(e)](self, e)
        finally:
            emitted, self.out = self.out, saved
        return emitted, value

    def operands(self, exprs: Sequence[hir.Expr]) -> list[Value]:
        """Values of several expressions, in Python's order of evaluation."""
        done: list[Value] = []
        for e in exprs:
            emitted, value = self.detached(e)
            if emitted:
                done = [self.keep(v) for v in done]
                self.out += emitted
            done.append(value)
        return done

    def dry_run(self, e: hir.Expr) -> Value | None:
        """The value of an expression without emitting code; None if it has a fault.

        The Context is restored. Helpers that it calls stay in the module; `Lowered` drops them.
        """
        kept = {n: getattr(self, n) for n in _STATE}
        for name, value in kept.items():
            if isinstance(value, dict | set | list):
                setattr(self, name, value.copy())
        known = len(self.module.functions)
        self.ruled_out = True
        try:
            return self.value(e)
        except (Fault, PromotionError, Pending):
            return None
        finally:
            self.module.perhaps_unused.update(f.name for f in self.module.functions[known:])
            for name, value in kept.items():
                setattr(self, name, value)

    def call(
        self, function: Value, args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
    ) -> Value:
        """A call of any value that kernels can call."""
        rule = CALLED.find(type(function))
        if rule is None:
            hint = "index it with square brackets" if indexable(function) else ""
            raise type_fault(
                loc, f"{describe(function)} cannot be called", hint or "write * for a product"
            )
        return rule(self, Call(function, tuple(args), keywords, loc))

    def block(self, statements: Sequence[hir.Stmt]) -> list[ir.Stmt]:
        """Statements of a body; those with a fault are reported and left out."""
        saved, self.out = self.out, []
        for s in statements:
            mark = len(self.out)
            try:
                STATEMENTS[type(s)](self, s)
                if isinstance(s, hir.If | hir.Cases) and hir.always_returns((s,), self.decided):
                    break  # constant tests rule out the rest
                continue
            except Pending:  # the variable has a fault; the rest of the statement may, too
                for e in hir.direct(s) if self.final else ():
                    self._undefined(e)
            except PromotionError as error:
                if self.final:
                    self.reporter.add(type_fault(s.loc, str(error), error.hint))
            except Fault as fault:
                if self.final:
                    self.reporter.add(fault)
            del self.out[mark:]
        found, self.out = self.out, saved
        return found

    def body_of_loop(self, body: Sequence[hir.Stmt], flag: str | None = None) -> list[ir.Stmt]:
        """Statements of a loop's body; `flag` is what a break sets in an unrolled loop."""
        self.unrolled.append(flag)
        try:
            return self.block(body)
        finally:
            self.unrolled.pop()

    def _undefined(self, e: hir.Expr) -> None:
        """Report names in an expression that are not defined."""
        todo = [e]
        while todo:
            e = todo.pop()
            if isinstance(e, hir.Undefined):
                self.reporter.add(syntax_fault(e.loc, e.message, e.hint))
            parts = (e.test,) if isinstance(e, hir.Conditional) else hir.children(e)
            todo += reversed(parts)

    def decide(
        self, node: hir.If | hir.Arm | hir.While | hir.Conditional, test: ir.Expr
    ) -> bool | None:
        """Outcome of a constant test, else None; iterations of an unrolled loop may differ."""
        outcome = bool(test.value) if isinstance(test, ir.Const) else None
        if outcome is None or self.decided.setdefault(id(node), outcome) != outcome:
            self.tested.add(id(node))
        if id(node) in self.tested:
            self.decided.pop(id(node), None)
        return outcome

    # -- statements ---------------------------------------------------------------------------

    @contextmanager
    def collecting(self, emitted: list[ir.Stmt] | None = None) -> Iterator[list[ir.Stmt]]:
        """Collect the statements emitted in this context in `emitted`, or in a new list."""
        saved, self.out = self.out, [] if emitted is None else emitted
        try:
            yield self.out
        finally:
            self.out = saved

    # -- temporaries ----------------------------------------------------------------------------

    def temporary(self, type: Type) -> str:
        """A new variable."""
        self.temporaries += 1
        while f"_t{self.temporaries}" in self.own_names:
            self.temporaries += 1
        name = f"_t{self.temporaries}"
        self.types[name] = type
        return name

    def keep(self, value: Any) -> Any:
        """Copy a value to temporaries that later statements do not change."""
        if isinstance(value, TupleValue):
            return value.of(tuple(self.keep(item) for item in value.items))
        if isinstance(value, Chosen):
            return self._kept_choice(value)
        if isinstance(value, ViewRef):
            dims = tuple(map(self._kept_dimension, value.dims))
            return replace(value, dims=dims, byte=self.keep(value.byte))
        if isinstance(value, ir.Const) or not isinstance(value, ir.Expr):
            return value
        if not isinstance(value.type, Scalar):
            return value
        name = self.temporary(value.type)
        self.out.append(ir.Assign(name, value, value.loc))
        return ir.Var(name, value.type, value.loc)

    def _kept_choice(self, value: Chosen) -> Chosen:
        """A choice whose numbers are copied where they are chosen: others may have no value."""
        which = self.keep(value.which)
        bodies, options = self.of_each(value.options, self.keep)
        self.set_to_zero(bodies, value.which.loc)
        self.branches(which, bodies, value.which.loc)
        return Chosen(which, tuple(options))

    def of_each(
        self, options: Sequence[Any], action: Callable[[Any], Any]
    ) -> tuple[list[list[ir.Stmt]], list[Any]]:
        """What an action gives of each option, behind the statements that it emits for it."""
        bodies, found = [], []
        for option in options:
            with self.collecting() as emitted:
                found.append(action(option))
            bodies.append(emitted)
        return bodies, found

    def set_to_zero(self, bodies: Sequence[Sequence[ir.Stmt]], loc: Loc) -> None:
        """Give all that branches set a value, for it may be copied where they have not run."""
        for s in ir.walk_statements(tuple(s for body in bodies for s in body)):
            if isinstance(s, ir.Assign):
                type = self.types[s.name]
                assert isinstance(type, Scalar)
                zero = self.coerce(ir.Const(0, PY_INT, loc), type)
                self.out.append(ir.Assign(s.name, zero, loc))

    def branches(self, which: ir.Expr, bodies: Sequence[list[ir.Stmt]], loc: Loc) -> None:
        """Emit a branch for each number that `which` may be."""
        if not any(bodies):
            return
        rest = bodies[-1]
        for n in reversed(range(len(bodies) - 1)):
            test = ir.Op("eq", (which, ir.Const(n, INDEX, loc)), BOOL, loc)
            rest = [ir.If(test, tuple(bodies[n]), tuple(rest), loc)]
        self.out += rest

    def _kept_dimension(self, d: Fixed | Span) -> Fixed | Span:
        if isinstance(d, Fixed):
            return Fixed(self.keep(d.index))
        return Span(self.keep(d.start), d.step, self.keep(d.extent))

    def stable(self, e: ir.Expr) -> ir.Expr:
        """The same number in a form that later statements cannot change."""
        if isinstance(e, ir.Const | ir.Extent):
            return e
        return self.keep(e)  # type: ignore[no-any-return]

    def limit_depth(self, value: Any, n: int) -> Any:
        """The n-th intermediate value of a long chain of operations, sometimes in a temporary.

        Compilers, including this one, limit the depth of nested expressions.
        """
        return self.keep(value) if n % _NESTED == _NESTED - 1 else value

    # -- conversions --------------------------------------------------------------------------

    def coerce(self, e: Any, type: Scalar) -> Any:
        """Convert to a type, folding constants."""
        if e.type.strong == type.strong:
            if isinstance(e, ir.Const) and e.type == PY_INT and e.value >= 2**63:
                raise type_fault(
                    e.loc,
                    f"the constant {e.value} does not fit int64",
                    "write es.uint64(...) around it, or write it as a float",
                )
            if isinstance(e, ir.Const) and e.type != type:
                return ir.Const(e.value, type, e.loc)
            return e
        if isinstance(e, ir.Const):
            return ir.Const(converted(e, type), type, e.loc)
        if isinstance(e, ir.Var) and e.type == PY_INT and type.is_integer:
            self._narrowed(e.name, type)
        return ir.Op("cast", (e,), type.strong, e.loc)

    def _narrowed(self, name: str, type: Scalar) -> None:
        """Record the range of an argument: as in NumPy, values that do not fit are refused."""
        if self.final and self.indices and any(p.name == name for p in self.parameters):
            limits = np.iinfo(type.name)
            low, high = self.limits.get(name, (-(2**63), 2**63 - 1))
            self.limits[name] = (max(low, int(limits.min)), min(high, int(limits.max)))


# Attributes of a Context that typing an expression changes.
_STATE = (
    "out", "types", "decided", "tested", "unknown", "conflicts", "unreadable", "fails",
    "temporaries", "reductions", "nested_ranges", "changed", "limits", "ruled_out",
)  # fmt: skip
