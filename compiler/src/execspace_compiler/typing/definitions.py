"""Functions that kernels call: their HIR, and binding of arguments to parameters."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from execspace.kernels.captures import Scope, is_optional, keyword_only, parameters
from execspace.kernels.kernel import static_parameters

from ..frontend import hir
from ..frontend.lowering import lower
from ..frontend.names import Names, variable_name
from ..frontend.source import find_source
from ..ir.diagnostics import Fault, Loc, Reporter, counted, type_fault

V = TypeVar("V")  # a value during typing


class Definition(ABC):
    """A Python function, compared by identity: each is lowered once."""

    name: str

    @property
    @abstractmethod
    def identity(self) -> object:
        """Equal for two definitions if and only if one that calls the other is recursive."""

    @property
    @abstractmethod
    def positional(self) -> tuple[str, ...]:
        """Parameters that may be passed by position."""

    @property
    @abstractmethod
    def all_parameters(self) -> tuple[str, ...]:
        """All parameters, keyword-only ones included."""

    @property
    @abstractmethod
    def static(self) -> frozenset[str]:
        """Parameters that are constants."""

    @abstractmethod
    def lowered(self, missing: frozenset[str]) -> hir.Function:
        """HIR of the function if some parameters keep their default values."""

    def bind(self, args: Sequence[V], keywords: Mapping[str, V], loc: Loc) -> dict[str, V]:
        """Arguments by the name of their parameter."""
        names = self.positional
        if len(args) > len(names):
            raise type_fault(
                loc,
                f"'{self.name}' takes {counted(len(names), 'positional argument')}, "
                f"got {len(args)}",
                self._hint(),
            )
        bound = dict(zip(names, args, strict=False))
        for keyword, value in keywords.items():
            name = variable_name(keyword)
            if name not in self.all_parameters:
                raise type_fault(loc, f"'{self.name}' has no parameter '{keyword}'", self._hint())
            if name in bound:
                raise type_fault(
                    loc,
                    f"'{self.name}' gets two values for '{keyword}'",
                    f"give '{keyword}' by position or by name, not both",
                )
            bound[name] = value
        return bound

    def _hint(self) -> str:
        return f"its parameters are {', '.join(map(self.own_name, self.all_parameters)) or 'none'}"

    def own_name(self, variable: str) -> str:
        """Name of a parameter in the source."""
        return variable

    def missing(self, variable: str, loc: Loc) -> Fault:
        """The fault of a call that passes no value for a parameter."""
        name = self.own_name(variable)
        message = f"'{self.name}' gets no value for its parameter '{name}'"
        return type_fault(loc, message, self._hint())


class Captured(Definition):
    """A function from an enclosing scope of the kernel: a helper, a method, a partial object."""

    def __init__(self, scope: Scope, names: Names, prefix: str) -> None:
        self.scope = scope
        self.name = scope.fn.__name__
        self.outer = names
        self.prefix = prefix
        self._lowered: dict[frozenset[str], hir.Function] = {}

    @property
    def identity(self) -> object:
        return self.scope.fn.__code__

    @property
    def positional(self) -> tuple[str, ...]:
        bound = self.scope.bound
        return tuple(variable_name(n) for n in parameters(self.scope.fn) if n not in bound)

    @property
    def all_parameters(self) -> tuple[str, ...]:
        bound = self.scope.bound
        more = tuple(variable_name(n) for n in keyword_only(self.scope.fn) if n not in bound)
        return (*self.positional, *more)

    @cached_property
    def static(self) -> frozenset[str]:
        return frozenset(map(variable_name, static_parameters(self.scope.fn)))

    def check_parameters(self, loc: Loc) -> None:
        """A fault if it is variadic; checked first, since the call might seem wrong otherwise."""
        if self.scope.fn.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            try:
                self.lowered(frozenset())
            except Fault as fault:
                raise fault.called(loc) from None

    def lowered(self, missing: frozenset[str]) -> hir.Function:
        known = self._lowered.get(missing)
        if known is None:
            fn = self.scope.fn
            bound = frozenset(self.scope.bound) | frozenset(map(self.own_name, missing))
            outer = self.outer
            names = Names(fn, bound, outer.captures, outer.hidden, self.prefix)
            reporter = Reporter(self.name)
            source = find_source(fn)
            known = lower(source.node, source.file, names, reporter)
            if reporter.diagnostics:
                raise Fault(*reporter.diagnostics)
            self._lowered[missing] = known
        return known

    def own_name(self, variable: str) -> str:
        fn = self.scope.fn
        return next(n for n in (*parameters(fn), *keyword_only(fn)) if variable_name(n) == variable)

    def has_default(self, name: str) -> bool:
        """Whether a parameter has a default; the launch captured it if the function reads it."""
        own = self.own_name(name)
        full, captures = self.prefix + own, self.outer.captures
        known = full in captures or any(n.startswith(f"{full}.") for n in captures)
        return known or is_optional(self.scope.fn, own)


class Nested(Definition):
    """A function defined within the kernel or a helper."""

    def __init__(self, function: hir.Function) -> None:
        self.function = function
        self.name = "lambda" if function.is_lambda else function.name

    @property
    def identity(self) -> object:
        return id(self.function)

    @property
    def positional(self) -> tuple[str, ...]:
        return self.function.parameters

    @property
    def all_parameters(self) -> tuple[str, ...]:
        return self.function.parameters

    @property
    def static(self) -> frozenset[str]:
        return frozenset(self.function.static)

    def lowered(self, missing: frozenset[str]) -> hir.Function:
        return self.function
