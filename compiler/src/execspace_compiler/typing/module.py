"""The functions of one launch: typed once for each combination of argument types."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from types import FunctionType
from typing import Any

from execspace import Capture, Layout, Reducer
from execspace.kernels.captures import Scope, captured_paths, captures_of, scope_of
from execspace.kernels.host_functions import HostFunction
from execspace.reducers.base import reducer_captures

from .. import ir
from ..frontend import hir
from ..frontend.names import Names
from ..ir import Assertion
from ..ir.diagnostics import Fault, Loc, Reporter, syntax_fault
from ..ir.text import function_text
from ..ir.types import Scalar, Signature, Type
from ..reductions.reduction import Reduction
from .definitions import Captured, Definition, Nested


def local_array(loc: Loc) -> str:
    """Variable of a local array: one for each location in the source."""
    return f"_local_{loc.line}_{loc.column}"


_DEEPEST = 24  # nested calls; each takes a dozen frames of the Python stack


Typer = Callable[
    [hir.Function, tuple[tuple[str, Type], ...], Reporter], tuple[ir.Function, Signature]
]

Resolver = Callable[[HostFunction, tuple[str, ...]], tuple[tuple[str, ...], str | None]]
"""From a host function and the dtypes of arguments to those of its parameters and its result.

TypeError if it cannot be called so, with the reason."""

_LAUNCHERS = ("_chunk", "_units", "_items", "_finish", "_totals", "_work", "_merge", "_result")


class ModuleTyper:
    """Collects the functions of one launch; helpers are added as calls reach them.

    `resolver`: finds out how the space calls host functions; None if it cannot. `vector_bytes`: of
    vectors whose width is the space's. `checks_bounds`: indices of Views are tested.
    """

    def __init__(
        self,
        type_function: Typer,
        resolver: Resolver | None = None,
        vector_bytes: int = 8,
        checks_bounds: bool = False,
    ) -> None:
        self.type_function = type_function
        self.resolver = resolver
        self.vector_bytes = vector_bytes
        self.vectors = False  # there are some
        self.checks_bounds = checks_bounds
        self.hidden: Mapping[str, str] = {}  # of `Names`, for functions that types bring
        self.functions: list[ir.Function] = []
        self.perhaps_unused: set[str] = set()  # called from code that a constant rules out
        self.assertions: list[Assertion] = []
        self.prints = False
        self._signatures: dict[tuple[Any, ...], Signature] = {}
        self._captured: dict[tuple[int, str], Captured] = {}
        self._of_nested: dict[tuple[int, ...], tuple[Any, dict[str, Capture]]] = {}
        self._layouts: dict[str, Captured] = {}
        self._methods: dict[FunctionType, Captured] = {}
        self._nested: dict[int, Nested] = {}
        self._faults: dict[object, Fault] = {}
        self._active: list[object] = []
        self._names: set[str] = set(_LAUNCHERS)
        self._joining: dict[tuple[Any, ...], str] = {}
        self._conversions: dict[str, str] = {}
        self.reducers: dict[object, Reducer] = {}  # created in kernels
        self.despite_faults = False  # helpers with faults are typed, too; see with_settled_prefix

    def name(self, wanted: str) -> str:
        """A function name that is not in use."""
        name, n = wanted, 1
        while name in self._names:
            n += 1
            name = f"{wanted}_{n}"
        self._names.add(name)
        return name

    def conversion(self, wanted: str, make: Callable[[str], ir.Function]) -> str:
        """Name of a function of the compiler's own, which is made when it is first needed."""
        name = self._conversions.get(wanted)
        if name is None:
            name = self._conversions[wanted] = self.name(wanted)
            self.functions.append(make(name))
        return name

    def external(self, target: HostFunction, name: str, types: tuple[str, ...]) -> ir.Function:
        """The function that stands for a host function; TypeError if there is none."""
        assert self.resolver is not None
        parameters, result = self.resolver(target, types)
        found = ir.External(target, parameters, result)
        for f in self.functions:
            if f.external == found:
                return f
        taken = tuple(ir.Var(f"x{n}", Scalar(t)) for n, t in enumerate(parameters))
        kind = None if result is None else Scalar(result)
        made = ir.Function(self.name(name), taken, kind, {}, (), external=found)
        self.functions.append(made)
        return made

    def assertion(self, loc: Loc, message: str, bounds: bool = False) -> int:
        """Number of an assertion, counted from 1."""
        found = Assertion(loc, message, bounds)
        if found not in self.assertions:
            self.assertions.append(found)
        return self.assertions.index(found) + 1

    def captured(self, scope: Scope, names: Names, prefix: str) -> Captured:
        """Definition of a function from an enclosing scope, by its full name.

        The join of a nested reduction has the same name as that of another one, but not the same
        captures.
        """
        key = (id(names.captures), prefix)  # definitions keep their captures alive
        known = self._captured.get(key)
        if known is None:
            known = self._captured[key] = Captured(scope, names, prefix)
        return known

    def captures_of_nested(self, reducers: Reducer | tuple[Reducer, ...]) -> Mapping[str, Capture]:
        """Captures of the reducers of a nested reduction: the same mapping for each walk."""
        key = tuple(map(id, reducers if isinstance(reducers, tuple) else (reducers,)))
        if key not in self._of_nested:
            captures = {c.name: c for c in reducer_captures(reducers)}
            self._of_nested[key] = reducers, captures
        return self._of_nested[key][1]

    def layout(self, key: str, layout: Layout) -> Captured:
        """Definition of the function of a layout."""
        known = self._layouts.get(key)
        if known is None:
            scope = scope_of(layout.offset)
            assert scope is not None
            known = self._layouts[key] = _read_once(scope, {})
        return known

    def method(self, function: FunctionType) -> Captured:
        """Definition of a method of a class of records."""
        known = self._methods.get(function)
        if known is None:
            known = self._methods[function] = _read_once(Scope(function, {}), self.hidden)
        return known

    def nested(self, function: hir.Function) -> Nested:
        """Definition of a nested function."""
        known = self._nested.get(id(function))
        if known is None:
            known = self._nested[id(function)] = Nested(function)
        return known

    def enter(self, definition: Definition, what: object, loc: Loc) -> None:
        """Begin to type a function; a fault if it is being typed already.

        The same function with other types is not recursion yet: `integrate` may be passed a
        function that calls `integrate`. But the depth is limited.
        """
        key = (definition.identity, what)
        if key in self._active or len(self._active) >= _DEEPEST:
            raise syntax_fault(
                loc, f"'{definition.name}' calls itself", "kernels cannot recurse; write a loop"
            )
        self._active.append(key)

    def leave(self) -> None:
        """Undo the last `enter`."""
        self._active.pop()

    def add(self, functions: Iterable[ir.Function]) -> None:
        """Add functions that are not in the module yet."""
        known = {f.name for f in self.functions}
        self.functions += [f for f in functions if f.name not in known]

    def used(self, body: ir.Function) -> tuple[ir.Function, ...]:
        """The functions, without those that are called only where constants rule it out."""
        every = {f.name: f for f in self.functions}
        todo = [body, *(f for f in self.functions if f.name not in self.perhaps_unused)]
        found = {f.name for f in todo}
        while todo:
            for e in ir.walk_expressions(todo.pop().body):
                if isinstance(e, ir.Call) and e.function in every and e.function not in found:
                    found.add(e.function)
                    todo.append(every[e.function])
        return tuple(f for f in self.functions if f.name in found)

    def joining(self, user: str, reduction: Reduction) -> str:
        """Name of the function that joins two states of a nested reduction in `user`."""
        key = (user, reduction.names, reduction.states, function_text(reduction.merge_function("")))
        name = self._joining.get(key)
        if name is None:
            name = self._joining[key] = self.name(f"_join_{user}")
            self.functions.append(reduction.merge_function(name))
        return name

    def helper(
        self,
        definition: Definition,
        function: hir.Function,
        types: tuple[tuple[str, Type], ...],
        loc: Loc,
    ) -> Signature:
        """Type a function for a call."""
        key = (definition, id(function), types)  # definitions keep their functions alive
        done = self._signatures.get(key)
        if done is not None:
            return done
        known = self._faults.get(key)
        if known is not None:
            raise known.called(loc)
        reporter = Reporter(definition.name)
        self.enter(definition, types, loc)
        try:
            built, signature = self.type_function(function, types, reporter)
        finally:
            self.leave()
        if reporter.diagnostics and self.despite_faults and signature.result is not None:
            return signature
        if reporter.diagnostics:
            fault = self._faults[key] = Fault(*reporter.diagnostics)
            raise fault.called(loc)
        self.functions.append(built)
        self._signatures[key] = signature
        return signature

    def of_reducer(
        self,
        scope: Scope,
        captures: Mapping[str, Capture],
        full: str,
        types: tuple[Type, ...],
        loc: Loc,
    ) -> tuple[Signature, Loc]:
        """Type a method of a user's own reducer; returns its signature and location."""
        names = Names(scope.fn, frozenset(scope.bound), captures, {}, f"{full}/")
        definition = self.captured(scope, names, f"{full}/")
        try:
            function = definition.lowered(frozenset())
            pairs = tuple(zip(function.parameters, types, strict=True))
            return self.helper(definition, function, pairs, loc), function.loc
        except Fault as fault:
            raise fault.called(loc) from None


def _read_once(scope: Scope, hidden: Mapping[str, str]) -> Captured:
    """Definition of a function that a type brings: what it reads from outside is read now."""
    captures = {c.name: c for c in captures_of(scope, tuple(captured_paths(scope)), 0)}
    return Captured(scope, Names(scope.fn, frozenset(scope.bound), captures, hidden), "")


def has_effects(function: ir.Function, effectful: frozenset[str]) -> bool:
    """Whether calls of a function have side effects."""
    if function.external is not None:
        return True
    parameters = {p.name for p in function.parameters}
    for s in ir.walk_statements(function.body):
        if isinstance(s, ir.Print | ir.Fail | ir.TeamStmt):
            return True
        if isinstance(s, ir.Store | ir.Atomic) and s.view.name in parameters:
            return True
    calls = (e for e in ir.walk_expressions(function.body) if isinstance(e, ir.Call))
    return any(c.function in effectful for c in calls)


def reports(function: ir.Function, reporting: Container[str]) -> bool:
    """Whether a call may print or fail, itself or in one of the functions `reporting`."""
    if any(isinstance(s, ir.Print | ir.Fail) for s in ir.walk_statements(function.body)):
        return True
    calls = (e for e in ir.walk_expressions(function.body) if isinstance(e, ir.Call))
    return any(c.function in reporting for c in calls)


def changed_arguments(function: ir.Function, known: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """Positions of the parameters that a call stores to; `known` has those of its callees.

    Atomic loads count: two of them may return different values.
    """
    names = {
        s.view.name
        for s in ir.walk_statements(function.body)
        if isinstance(s, ir.Store | ir.Atomic)
    }
    for e in ir.walk_expressions(function.body):
        if isinstance(e, ir.Call):
            names |= {a.name for n in known[e.function] if isinstance(a := e.args[n], ir.Var)}
    return frozenset(n for n, p in enumerate(function.parameters) if p.name in names)
