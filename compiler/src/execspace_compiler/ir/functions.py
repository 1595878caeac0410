"""Functions and modules of typed IR: what the printers print."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from execspace.base.dataclass import dataclass

from .diagnostics import NOWHERE, Loc
from .expressions import Var
from .statements import Stmt
from .types import INT64, Pointer, Scalar, TupleTy, Type, ViewTy

if TYPE_CHECKING:
    from execspace.kernels.host_functions import HostFunction

STATUS = "_status"  # parameter of a kernel with asserts: where a failure is recorded
STATUS_PARAMETER = Var(STATUS, Pointer(INT64))


@dataclass(frozen=True, slots=True)
class Assertion:
    """An `assert` of a kernel: its location and its message; `bounds`: a check of an index."""

    loc: Loc
    message: str
    bounds: bool = False


# Functions that the compiler adds to those of users.


@dataclass(frozen=True, slots=True)
class Declared:
    """Names that a function declares in the source, with the types that were inferred.

    Attributes
    ----------
    function : str
        Its name in the source; "lambda_" for a lambda.
    types : tuple of (str, Type)
        Parameters first, then variables; captured Views are not included.
    """

    function: str
    types: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class External:
    """Code of the host that a function stands for.

    Attributes
    ----------
    code : HostFunction
    parameters : tuple of str
        Dtypes of its parameters, as a caller of C sees them.
    result : str or None
    """

    code: HostFunction
    parameters: tuple[str, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of typed IR.

    Attributes
    ----------
    name : str
    parameters : tuple of Var
    result : Scalar, TupleTy of scalars, or None
    locals : dict
        Type of each local variable, without parameters: scalars and local arrays.
    body : tuple of Stmt
    entry : bool
        Called from a launcher: Views arrive as addresses of their descriptors.
    strict : bool
        Its arithmetic is neither contracted nor reassociated, whatever the module allows.
    external : External or None
        Code outside the module that it stands for, in place of a body.
    declared : Declared or None
        Names in the source and their types, for `explain`; None for generated functions.
    """

    name: str
    parameters: tuple[Var, ...]
    result: Scalar | TupleTy | None
    locals: dict[str, Scalar | ViewTy]
    body: tuple[Stmt, ...]
    entry: bool = False
    loc: Loc = field(default=NOWHERE, compare=False)
    strict: bool = False
    external: External | None = None
    declared: Declared | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Module:
    """The functions of one launch, callees first; the last ones are entries.

    `disjoint`: no two Views of the launch overlap in memory. `parts`: names of the functions that
    are bodies of kernels, if there are several.
    """

    functions: tuple[Function, ...]
    fma: bool = True
    fastmath: bool = False
    disjoint: bool = False
    parts: frozenset[str] = frozenset()

    def function(self, name: str) -> Function:
        """Look up a function by name."""
        return next(f for f in self.functions if f.name == name)
