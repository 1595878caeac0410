"""What typing rules share: the state of the function that is being typed, and the tables of rules.

A rule is a function of a Context and of what it types. It stands in a table under the class of the
HIR node, or under what is called. Rules type the parts of their node through the Context, which
looks the rule up; so no rule imports those of the nodes within its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc, Reporter, syntax_fault, type_fault
from ..ir.types import PY_INT, PromotionError, Scalar, Type
from .module import ModuleTyper
from .values import Method, Obj, TeamValue, TupleValue, Value, describe, indexable

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")
_Rule = TypeVar("_Rule", bound=Callable[..., Any])

_NESTED = 32


class Pending(Exception):
    """A variable is read whose type is not known yet; a later walk will know it."""


# -- rules --------------------------------------------------------------------------------------


class Rules(dict[_Key, Callable[..., _Result]]):
    """Rules by what they type; `what` is the kind of it, for messages."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def of(self, *keys: _Key) -> Callable[[_Rule], _Rule]:
        """Register a function as the rule of each key."""

        def register(rule: _Rule) -> _Rule:
            for key in keys:
                if key in self:
                    known = self[key].__name__
                    raise ValueError(f"{self.what} {_name(key)} has a rule already: {known}")
                self[key] = rule
            return rule

        return register

    def __missing__(self, key: _Key) -> Callable[..., _Result]:
        raise LookupError(f"no typing rule for {self.what} {_name(key)}")


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
        """What is called, as the source names it."""
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
        """Whose method is called."""
        assert isinstance(self.function, Method)
        return self.function.owner

    def positional(self) -> tuple[Value, ...]:
        """The arguments of what takes none by keyword; a fault if there are such."""
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
# (Context, Call) -> Value, by the very object
CALLS: Rules[Any, Value] = Rules("call of")
# (Context, Call) -> Value, by the name of the method
METHODS: Rules[str, Value] = Rules("method")


# -- state --------------------------------------------------------------------------------------


class Context:
    """A function that is being typed, as rules see it.

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
        Those parameters that are indices of the policy.
    team : TeamValue or None
        The team of the kernel or helper: others wait for a member, so it cannot just leave.
    returns : bool or None
        True: every path must return a value. False: none may. None: either way.
    array : bool
        The kernel of an array reduction, which returns nothing.
    out : list of ir.Stmt
        Where statements go while expressions are typed.
    final : bool
        Types have settled, and this walk reports faults.
    changed : bool
        This walk has changed a type, so there must be another one.
    ruled_out : bool
        What is typed now has been ruled out by a constant.
    decided, tested : dict of int to bool, set of int
        Outcome of constant tests by `id` of the node, and what has a test that is not the same
        constant each time.
    unknown, torn : dict of str
        Variables that are read and never get a type, and those that are two things at once.
    own_names : set of str
        Names of the source, which temporaries must not have.
    own, several : dict of str to str
        Variables that each round of a loop over a tuple has of its own; and such variables with
        why they cannot be read elsewhere.
    unrolled : list of (str or None)
        For each loop around a statement the flag that a break sets, if the loop is unrolled.
    rounds : list of str
        Rounds of the loops over tuples that are being unrolled.
    nested_ranges : dict of int to str
        Loops over nested ranges, by `id`, and their words.
    temporaries, reductions : int
        How many of them, and of nested reductions, there are so far in this walk.
    result : Type or None
        What the function returns so far.
    returns_nothing, fails : bool
        It returns without a value; an assertion may fail in it.
    limits : dict of str to (int, int)
        Range that a Python integer among the parameters must lie in.
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
        self.torn: dict[str, Fault] = {}
        self.own: dict[str, str] = {}
        self.several: dict[str, str] = {}
        self.unrolled: list[str | None] = []
        self.rounds: list[str] = []
        self.nested_ranges: dict[int, str] = {}
        self.temporaries = self.reductions = 0
        self.result: Type | None = None
        self.returns_nothing = self.fails = False
        self.limits: dict[str, tuple[int, int]] = {}
        self.own_names = own_names

    @property
    def notes(self) -> bool:
        """Whether failed assertions are noted here, and not told to a caller."""
        return bool(self.indices) or self.team is not None

    # -- parts of a node ----------------------------------------------------------------------

    def value(self, e: hir.Expr) -> Value:
        """Value of any expression."""
        return EXPRESSIONS[type(e)](self, e)

    def apart(self, e: hir.Expr) -> tuple[list[ir.Stmt], Value]:
        """A value, and the statements that compute it, which are not emitted."""
        saved, self.out = self.out, []  # as `collecting` does, which takes longer
        try:
            value = EXPRESSIONS[type(e)](self, e)
        finally:
            emitted, self.out = self.out, saved
        return emitted, value

    def operands(self, exprs: Sequence[hir.Expr]) -> list[Value]:
        """Values of several expressions, in Python's order of evaluation."""
        done: list[Value] = []
        for e in exprs:
            emitted, value = self.apart(e)
            if emitted:
                done = [self.keep(v) for v in done]
                self.out += emitted
            done.append(value)
        return done

    def without_trace(self, e: hir.Expr) -> Value | None:
        """The value of an expression of which no code is made; None if it has a fault.

        Nothing is left of it but helpers that it calls, which `Lowered` leaves out.
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
        """A call of anything that kernels can call."""
        rule = CALLED.get(type(function))
        if rule is None:
            hint = "index it with square brackets" if indexable(function) else ""
            raise type_fault(
                loc, f"{describe(function)} cannot be called", hint or "write * for a product"
            )
        return rule(self, Call(function, tuple(args), keywords, loc))

    def block(self, statements: Sequence[hir.Stmt]) -> list[ir.Stmt]:
        """Statements of a body; one with a fault is reported and left out."""
        saved, self.out = self.out, []
        for s in statements:
            mark = len(self.out)
            try:
                STATEMENTS[type(s)](self, s)
                continue
            except Pending:  # of a variable that has a fault: the rest may have its own
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
        """Outcome of a test that is a constant, else None; rounds of a loop may differ."""
        outcome = bool(test.value) if isinstance(test, ir.Const) else None
        if outcome is None or self.decided.setdefault(id(node), outcome) != outcome:
            self.tested.add(id(node))
        if id(node) in self.tested:
            self.decided.pop(id(node), None)
        return outcome

    # -- statements ---------------------------------------------------------------------------

    @contextmanager
    def collecting(self, emitted: list[ir.Stmt] | None = None) -> Iterator[list[ir.Stmt]]:
        """What is emitted within goes into a list of its own: a new one, or the one given."""
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
        """Put a value into temporaries that later statements do not touch."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.keep(item) for item in value.items), value.names)
        if isinstance(value, ir.Const) or not isinstance(value, ir.Expr):
            return value
        if not isinstance(value.type, Scalar):
            return value
        name = self.temporary(value.type)
        self.out.append(ir.Assign(name, value, value.loc))
        return ir.Var(name, value.type, value.loc)

    def stable(self, e: ir.Expr) -> ir.Expr:
        """The same number in a form that later statements cannot change."""
        if isinstance(e, ir.Const | ir.Extent):
            return e
        return self.keep(e)  # type: ignore[no-any-return]

    def settled(self, value: Any, n: int) -> Any:
        """The n-th step of what is computed step by step, in a temporary now and then.

        Compilers, ours too, take expressions of some hundred operations within each other only.
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
            return ir.Const(_converted(e, type), type, e.loc)
        if isinstance(e, ir.Var) and e.type == PY_INT and type.is_integer:
            self._narrowed(e.name, type)
        return ir.Op("cast", (e,), type.strong, e.loc)

    def _narrowed(self, name: str, type: Scalar) -> None:
        """Remember what range an argument must lie in: NumPy, too, refuses what does not fit."""
        if self.final and self.indices and any(p.name == name for p in self.parameters):
            limits = np.iinfo(type.name)
            low, high = self.limits.get(name, (-(2**63), 2**63 - 1))
            self.limits[name] = (max(low, int(limits.min)), min(high, int(limits.max)))


# What typing an expression changes in a Context.
_STATE = (
    "out", "types", "decided", "tested", "unknown", "torn", "several", "fails", "temporaries",
    "reductions", "nested_ranges", "changed", "limits", "ruled_out",
)  # fmt: skip


def _converted(e: ir.Const, type: Scalar) -> Any:
    dtype = np.dtype(type.name)
    if e.type.weak and isinstance(e.value, int) and type.is_integer:
        limits = np.iinfo(dtype)
        if not limits.min <= e.value <= limits.max:
            wide = "uint64" if e.value > 2**63 - 1 else "int64"
            hint = (
                f"use a wider type: cast the other operand with es.{wide}(...), or store into "
                f"a View of {wide}"
            )
            raise type_fault(
                e.loc,
                f"the constant {e.value} does not fit {type.strong}, which holds "
                f"{limits.min} to {limits.max}",
                hint,
            )
    with np.errstate(all="ignore"):
        return np.asarray(e.value).astype(dtype).item()
