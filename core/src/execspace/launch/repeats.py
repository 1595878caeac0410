"""Tests that know a launch again: Python code, written for one launch, that launches the next.

The key of a plan says on what it depends: policy, space, types, captured values, and what global
names mean. A test compares all of that with constants in one function, which runs in the module of
the kernel, so that the interpreter remembers where global names are. It knows fewer launches than
the key does, never more. Captured values that it cannot compare in a few steps get no test.
"""

from __future__ import annotations

import builtins
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np

from ..contract.argtypes import SCALAR_TYPES
from ..contract.space import Plan
from ..kernels.captures import (
    HelperNames,
    Scope,
    constant_tag,
    defaults,
    function_of,
    is_array,
    lookup,
    names_of,
    parameters,
)
from ..kernels.kernel import Kernel, KernelNames
from ..kernels.marks import FMA, is_strict
from ..kernels.simd import SimdType
from ..plugins import selection
from ..policies.checks import MOST
from ..policies.range import MDRangePolicy, RangePolicy
from ..policies.team import TeamPolicy
from ..reducers.base import Reducer, is_built_in
from ..views.view import View
from .structs import is_struct, struct_fields

_UNKNOWN = object()
_TAKEN = frozenset((View, *SCALAR_TYPES))  # classes of arguments that any plan takes
_POLICIES = (RangePolicy, MDRangePolicy, TeamPolicy)
# Not a tuple: `in` would ask a metaclass of the user's whether its class is equal to one of these.
_NEVER_CHANGE = frozenset((
    int, bool, str, complex, type(None), BuiltinFunctionType, np.ufunc, SimdType,
    *(t for t in SCALAR_TYPES if issubclass(t, np.generic)),
))  # fmt: skip
_PREFIX = "_execspace_"


def for_test(
    scope: Scope,
    names: KernelNames,
    tags: list[Any],
    policy: Any,
    args: tuple[Any, ...],
    plan: Plan,
    other: Any,
    labelled: bool = False,
) -> Any:
    """A test for launches of `parallel_for` like this one; None if that is not simple.

    Parameters
    ----------
    scope : Scope
        Of a function to which nothing is bound but arguments that are constants.
    names, tags
        The names of the kernel, and the tags of captured values in the key of the plan.
    policy, args
        As the user gave them.
    plan : Plan
    other : callable
        The test for launches that are not like this one.
    labelled : bool
        Of launches with a label, which the test takes as its last argument.
    """
    test = _Test(scope, plan, other, labelled)
    if test.policy(policy) and test.arguments(args) and test.names(scope, names, tags):
        return test.function("fn", "policy", "args")
    return None


def join_test(
    scope: Scope,
    names: KernelNames,
    tags: list[Any],
    policy: Any,
    args: tuple[Any, ...],
    plan: Plan,
    other: Any,
    labelled: bool,
    pattern: str,
    reducer: Any,
    out: Any,
) -> Any:
    """As `for_test`, of reductions and scans."""
    test = _Test(scope, plan, other, labelled)
    test.compare("pattern", "is", pattern)
    if not (test.policy(policy) and test.reducer(reducer) and test.arguments(args)):
        return None
    if not (test.names(scope, names, tags) and test.out(out)):
        return None
    return test.function("fn", "policy", "args", "pattern", "reducer", "out")


def _own(name: str) -> str:
    """A name in a test; kernels that read a global name like it get none."""
    return f"{_PREFIX}{name}"


class _Test:
    """The parts of a test, and the constants that it compares with."""

    def __init__(self, scope: Scope, plan: Plan, other: Any, labelled: bool) -> None:
        self.fn = scope.fn
        self.scope = scope
        self.plan = plan
        self.labelled = labelled
        self.bound: set[str] = set()  # parameters to which constants among the arguments are bound
        self.functions: dict[str, str] = {}  # those to which functions are, and what names these
        self.arrays: tuple[type | None, ...] = ()  # classes of arguments that are arrays
        self.reads: list[str] = []  # statements
        self.tests: list[str] = []
        self.passed: list[str] = []  # what the launch got
        self.given: list[str] = []  # what the plan gets
        self.bounds = ""
        self.constants: dict[str, Any] = {
            _own("plan"): plan, _own("type"): type, _own("View"): View, _own("other"): other,
            _own("error"): Exception, _own("current"): selection.CURRENT.get,
            _own("not_launched"): NotImplemented,
        }  # fmt: skip

    def constant(self, value: Any) -> str:
        """Name of a constant."""
        name = _own(f"c{len(self.constants)}")
        self.constants[name] = value
        return name

    def compare(self, what: str, how: str, value: Any) -> None:
        """Compare something of the launch, or of the test itself."""
        self.tests.append(f"{_own(what)} {how} {self.constant(value)}")

    def has_type(self, what: str, kind: type) -> None:
        name = _own("View") if kind is View else self.constant(kind)
        self.tests.append(f"{_own('type')}({what}) is {name}")

    def policy(self, policy: Any) -> bool:
        """A number of indices, or a policy of the same kind, options and space."""
        name = _own("policy")
        if type(policy) is int:
            self.has_type(name, int)
            self.tests.append(f"0 <= {name} <= {self.constant(MOST)}")
            self.bounds = f"(0, {name})"
            self.compare("current()", "is", selection.CURRENT.get())
        elif type(policy) in _POLICIES:
            self.has_type(name, type(policy))
            self.tests.append(f"{name}.key == {self.constant(policy.key)}")
            self.bounds = f"{name}.bounds"
            if policy.space is None:
                self.compare("current()", "is", selection.CURRENT.get())
        else:
            return False
        return True

    def arguments(self, args: tuple[Any, ...]) -> bool:
        """Views and numbers of the same types."""
        self.passed = names = [_own(f"a{n}") for n in range(len(args))]
        self.reads.append(
            f"{', '.join(names)}, = {_own('args')}" if args else f"() = {_own('args')}"
        )
        own = parameters(self.fn)[self.plan.spec.leading :]
        plain: list[Any] = []
        for n, (name, a) in enumerate(zip(names, args, strict=True)):
            if n < len(own) and own[n] in self.scope.bound:
                if not self._constant_argument(name, own[n], a):
                    return False
                continue
            if is_struct(a) and not is_array(a):
                if not self._struct(name, a, plain):
                    return False
                continue
            plain.append(a)
            self.given.append(name)
            if type(a) is View:
                self.view(name, a)
            else:  # numbers, and arrays, if the plan takes such
                self.has_type(name, type(a))
        self.arrays = tuple(None if type(a) in _TAKEN else type(a) for a in plain)
        return self.bound == set(self.scope.bound)

    def _struct(self, name: str, value: Any, plain: list[Any]) -> bool:
        """Fields of a struct, as `taken_apart` finds them; False if one is not simple."""
        self.has_type(name, type(value))
        names, items, statics = struct_fields(value)
        if isinstance(value, tuple):
            get = self.constant(tuple.__getitem__)
            reads = [f"{get}({name}, {n})" for n in range(len(items))]
            self.tests.append(f"{self.constant(len)}({name}) == {len(items)}")
        else:
            reads = [f"{name}.{n}" for n in names]
        for field, item, read in zip(names or reads, items, reads, strict=True):
            own = _own(f"s{len(self.reads)}")
            self.reads.append(f"{own} = {read}")
            if type(item) in _TAKEN and field not in statics:
                plain.append(item)
                self.given.append(own)
                if type(item) is View:
                    self.view(own, item)
                else:
                    self.has_type(own, type(item))
            elif is_array(item):
                return False
            elif is_struct(item) and field not in statics:
                if not self._struct(own, item, plain):
                    return False
            elif not self._constant(own, item):
                return False
        return True

    def _constant_argument(self, name: str, parameter: str, value: Any) -> bool:
        """A constant among the arguments; False if it is not simple."""
        self.bound.add(parameter)
        if type(value) is FunctionType or type(value) is Kernel:
            self.functions[parameter] = name  # what they capture is compared, too
            return True
        return self._constant(name, value)

    def _constant(self, name: str, value: Any) -> bool:
        if type(value) in (str, float, int):
            self._number(name, value)
        elif _never_changes(value) or isinstance(value, np.dtype):
            self.tests.append(f"{name} is {self.constant(value)}")
        elif type(value) is tuple:
            self.has_type(name, tuple)
            self.tests.append(f"{self.constant(len)}({name}) == {len(value)}")
            for n, item in enumerate(value):
                own = _own(f"s{len(self.reads)}")
                self.reads.append(f"{own} = {name}[{n}]")
                if not self._constant(own, item):
                    return False
        else:
            return False
        return True

    def _number(self, name: str, value: Any) -> None:
        """A number or text, compared by its value."""
        self.has_type(name, type(value))
        # Not by == where that calls different numbers equal, or one number not equal to itself.
        how = "==" if value and value == value else "is"
        self.tests.append(f"{name} {how} {self.constant(value)}")

    @property
    def _has_arrays(self) -> bool:
        return any(kind is not None for kind in self.arrays)

    def _launch(self) -> str | None:
        """What launches; None if the plan takes Views only."""
        if self.labelled:
            return None if self._has_arrays else f"{_own('plan')}.launch_as"
        if not self._has_arrays:
            return f"{_own('plan')}.launch"
        others = len(self.given) - len(self.arrays)
        launch = self.plan.launch_of_arrays((*self.arrays, *(None,) * others))
        return None if launch is None else self.constant(launch)

    def view(self, name: str, view: View) -> None:
        self.has_type(name, View)
        self.tests.append(f"{name}.type is {self.constant(view.type)}")

    # -- what the function takes from outside -----------------------------------------------------

    def names(self, scope: Scope, names: KernelNames | HelperNames, tags: list[Any]) -> bool:
        """Names that mean the same, and captured Views, which the plan gets in their order.

        `tags` are those of the key: a name that means something else by now, or by another rule
        than the key's, is not known again.
        """
        found = self._names(scope, names, ())
        used = {path[0] for path in names.paths}
        return found is not None and found == tags and used.issuperset(self.functions)

    def _names(
        self, scope: Scope, names: KernelNames | HelperNames, seen: tuple[CodeType, ...]
    ) -> list[Any] | None:
        """Tags as of `environment_tags`, None if a name is not simple.

        `seen`: the functions through which the test has come to this one.
        """
        fn = scope.fn
        if not _reads_as_keys_do(fn.__globals__):
            return None
        if any(name.startswith(_PREFIX) for name in (*names.fixed, *(p[0] for p in names.paths))):
            return None
        seen = (*seen, fn.__code__)
        if fn is self.fn and names.paths:  # whose paths are those of its code
            self.tests.append(f"{_own('fn')}.__code__ is {self.constant(fn.__code__)}")
        for name, value in names.fixed.items():
            self.tests.append(f"{self._read(fn, name)} is {self.constant(value)}")
        tags = [self._captured(scope, path, seen) for path in names.paths]
        return None if any(t is _UNKNOWN for t in tags) else tags

    def _read(self, fn: FunctionType, name: str) -> str:
        """What reads a global name, maybe dotted, of a function."""
        module = fn.__globals__
        if module is self.fn.__globals__:
            return name
        root, *rest = name.split(".")
        if root in module:
            space = self.constant(module)
        else:
            space = self.constant(builtins.__dict__)
            self.tests.append(f"{root!r} not in {self.constant(module)}")
        return ".".join((f"{space}[{root!r}]", *rest))

    def _captured(self, scope: Scope, path: tuple[str, ...], seen: tuple[CodeType, ...]) -> object:
        """Tag of a captured name, _UNKNOWN if it is not simple."""
        fn, root = scope.fn, path[0]
        if fn is self.fn and root in self.functions:
            value = lookup(scope, path)
            return self._function(self.functions[root], value, seen) if len(path) == 1 else _UNKNOWN
        if fn is self.fn and root in self.bound:
            return constant_tag(lookup(scope, path))
        if root in scope.bound:
            return _UNKNOWN
        if root in defaults(fn):
            return _UNKNOWN if fn is self.fn else self._default(fn, path)
        if root in fn.__code__.co_freevars:
            cell = fn.__code__.co_freevars.index(root)
            own = _own("fn") if fn is self.fn else self.constant(fn)
            read = ".".join((f"{own}.__closure__[{cell}].cell_contents", *path[1:]))
        else:
            read = self._read(fn, ".".join(path))
        name = _own(f"h{len(self.reads)}")
        self.reads.append(f"{name} = {read}")
        value = lookup(scope, path)
        if type(value) is View:
            if root in fn.__code__.co_freevars and fn is not self.fn:
                return _UNKNOWN  # the test has the helper, and would keep the View alive with it
            self.view(name, value)
            self.given.append(name)
            return value.type
        if type(value) is float or type(value) is int:
            self._number(name, value)
            return constant_tag(value)
        if _never_changes(value):
            self.tests.append(f"{name} is {self.constant(value)}")
            return constant_tag(value)
        if isinstance(value, type):
            return self._class(name, value)
        return self._function(name, value, seen)

    def _default(self, fn: FunctionType, path: tuple[str, ...]) -> object:
        """Tag of the default of a parameter of a helper; `_function` tests that they are these."""
        value = defaults(fn)[path[0]]
        simple = _never_changes(value) or type(value) is float
        return constant_tag(value) if simple and len(path) == 1 else _UNKNOWN

    def _class(self, name: str, value: type) -> object:
        """Tag of a class; one of reducers is compared whole: its attributes may change."""
        tag = constant_tag(value)
        if issubclass(value, Reducer):
            self.tests.append(f"{self.constant(constant_tag)}({name}) == {self.constant(tag)}")
        elif tag is value:
            self.tests.append(f"{name} is {self.constant(value)}")
        else:
            return _UNKNOWN
        return tag

    def _function(self, name: str, value: Any, seen: tuple[CodeType, ...]) -> object:
        """Tag of a function without values of its own but those of names of its module."""
        scope = function_of(value)
        if scope is None or type(value) not in (FunctionType, Kernel) or scope.bound:
            return _UNKNOWN
        fn = scope.fn
        if fn.__kwdefaults__ or (fn.__defaults__ and self.fn is fn):
            return _UNKNOWN
        if fn.__closure__ and fn.__code__ in seen:  # maybe of another closure, with Views
            return _UNKNOWN
        self.tests.append(f"{name} is {self.constant(value)}")
        own = name if type(value) is FunctionType else self.constant(fn)
        self.tests.append(f"{own}.__code__ is {self.constant(fn.__code__)}")
        self.tests.append(f"{own}.__module__ is {self.constant(fn.__module__)}")
        self.tests.append(f"{own}.__defaults__ is {self.constant(fn.__defaults__)}")
        self.tests.append(f"not {own}.__kwdefaults__")
        mark = self.constant(fn.__dict__.get(FMA))
        self.tests.append(f"{own}.__dict__.get({FMA!r}) is {mark}")
        if fn.__code__ in seen:
            return fn.__code__
        names = names_of(scope)
        tags = self._names(scope, names, seen)
        return _UNKNOWN if tags is None else (names.number, is_strict(fn), *tags)

    # -- of reductions and scans ------------------------------------------------------------------

    def reducer(self, reducer: Any) -> bool:
        """The same object, which never changes: one that execspace has, or a class of its; or a
        tuple of such."""
        if type(reducer) is not tuple:
            self.compare("reducer", "is", reducer)
            return _is_fixed(reducer)
        self.has_type(_own("reducer"), tuple)
        names = [_own(f"r{n}") for n in range(len(reducer))]
        self.reads.append(f"({', '.join(names)}{',' if names else ''}) = {_own('reducer')}")
        self.tests += [f"{n} is {self.constant(r)}" for n, r in zip(names, reducer, strict=True)]
        return all(map(_is_fixed, reducer))

    def out(self, out: Any) -> bool:
        """No result to store, or a View of the same type to store it in."""
        name = _own("out")
        if out is None:
            self.tests.append(f"{name} is None")
        elif type(out) is View:
            self.view(name, out)
            self.given.append(name)
        else:
            return False
        return True

    # -- the function -----------------------------------------------------------------------------

    def function(self, *parameters: str) -> Any:
        """The test, a function of these parameters; None if the plan does not take the arrays."""
        run = self._launch()
        if run is None:
            return None
        given = f"({''.join(f'{n}, ' for n in self.given)})"
        given = _own("args") if self.given == self.passed else given
        if self.labelled:
            parameters = (*parameters, "label")
            self.tests.append(f"{_own('type')}({_own('label')}) is {self.constant(str)}")
        bounds = f"{_own('label')}, {self.bounds}" if self.labelled else self.bounds
        names = (*map(_own, parameters), *self.constants)
        launch = ", ".join(map(_own, parameters))
        code = _code(
            names, tuple(self.reads), tuple(self.tests), bounds, given, launch, run,
            self._has_arrays,
        )  # fmt: skip
        values = tuple(self.constants.values())
        return FunctionType(code, self.fn.__globals__, code.co_name, values)


def _reads_as_keys_do(module: dict[str, Any]) -> bool:
    """Whether functions of a module find global names where `lookup` does."""
    found = module.get("__builtins__", builtins)
    return type(module) is dict and (found is builtins or found is builtins.__dict__)


def _is_fixed(reducer: Any) -> bool:
    """Whether a reducer is execspace's own."""
    kind = reducer if isinstance(reducer, type) else type(reducer)
    return issubclass(kind, Reducer) and is_built_in(kind)


def _never_changes(value: Any) -> bool:
    """Whether a kernel means the same by the same object as long as it lives."""
    if type(value) in _NEVER_CHANGE:
        return True
    if not isinstance(value, type) or value.__module__ not in ("builtins", "numpy"):
        return False
    return constant_tag(value) is value  # a class that is executed by itself has such a module, too


@lru_cache(maxsize=1024)
def _code(
    parameters: tuple[str, ...],
    reads: tuple[str, ...],
    tests: tuple[str, ...],
    bounds: str,
    given: str,
    launch: str,
    run: str,
    may_leave: bool,
) -> CodeType:
    same, call, result = _own("same"), _own("run"), _own("result")
    lines = "\n        ".join(reads)
    text = f"""
def known_launch({", ".join(parameters)}):
    try:
        {lines}
        {same} = {" and ".join(tests)}
    except {_own("error")}:
        {same} = False
    if not {same}:
        return {_own("other")}({launch})
    {call} = {run}
"""
    if may_leave:
        text += f"""
    {result} = {call}({bounds}, {given})
    if {result} is {_own("not_launched")}:
        return {_own("other")}({launch})
    return {result}
"""
    else:
        text += f"    return {call}({bounds}, {given})\n"
    module = compile(text, "<execspace launch>", "exec", dont_inherit=True)
    return next(c for c in module.co_consts if isinstance(c, CodeType))
