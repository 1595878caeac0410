"""Scratch memory of teams: the offset of each View, and the bytes that a launch needs.

Sizes are expressions of values known before the launch: arguments, extents of Views, league and
team size. So the host can refuse launches that need too much, and users need not compute sizes.
"""

from __future__ import annotations

from collections.abc import Mapping

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Const, Expr, Var, integer, op
from ..ir.diagnostics import Fault, Loc, type_fault
from ..ir.types import Scalar, ViewTy
from ..typing.values import TEAM_PARTS
from .scratch_sizes import Sizes

ALIGNMENT = 16  # bytes: the widest number


@dataclass(frozen=True)
class Allocation:
    """A View in scratch memory.

    Attributes
    ----------
    statement : ir.Scratch
    shape : tuple of Expr
        All extents, in terms of the kernel's parameters.
    offset : Expr
        Bytes from the start of the team's memory of this level.
    stride : Expr
        Bytes from one thread's View to the next one's; zero for a View of the team.
    """

    statement: ir.Scratch
    shape: tuple[Expr, ...]
    offset: Expr
    stride: Expr


@dataclass(frozen=True)
class Layout:
    """All scratch memory of a kernel.

    Attributes
    ----------
    allocations : dict
        Name of the View -> Allocation.
    nbytes : tuple of Expr
        Bytes of a team at level 0 and level 1.
    kept : int
        Bytes after those for variables of members of a host team; limits do not include them.
    """

    allocations: dict[str, Allocation]
    nbytes: tuple[Expr, Expr]
    kept: int = 0

    def __bool__(self) -> bool:
        return bool(self.allocations) or self.kept > 0

    def offset(self, name: str) -> Expr:
        """Offset of a View if both levels are contiguous, level 0 first."""
        place = self.allocations[name]
        return _plus(self.nbytes[0], place.offset) if place.statement.level else place.offset


def scratch_layout(body: ir.Function, arguments: tuple[Var, ...], size: Expr) -> Layout:
    """The layout of a team kernel's scratch memory.

    Parameters
    ----------
    body : ir.Function
    arguments : tuple of Var
        Parameters whose values are known before the launch.
    size : Expr
        Threads of a team.

    Raises
    ------
    Fault
        If an extent is not known before the launch.
    """
    known = Known(body, arguments)
    totals: list[Expr] = [integer(0), integer(0)]
    allocations: dict[str, Allocation] = {}
    for s in ir.walk_statements(body.body):
        if not isinstance(s, ir.Scratch) or s.view.name in allocations:
            continue
        assert isinstance(s.view.type, ViewTy)
        rest = iter(s.shape)
        static = s.view.type.static or (None,) * s.view.type.rank
        shape = tuple(
            known.expression(next(rest), s.loc) if n is None else integer(n) for n in static
        )
        known.shapes[s.view.name] = shape
        nbytes: Expr = integer(s.view.type.element.itemsize)
        for extent in shape:
            nbytes = _times(nbytes, extent)
        nbytes = _rounded(nbytes)
        offset = totals[s.level]
        stride = nbytes if s.owner == "thread" else integer(0)
        whole = _times(nbytes, size) if s.owner == "thread" else nbytes
        totals[s.level] = _plus(offset, whole)
        allocations[s.view.name] = Allocation(s, shape, offset, stride)
    return Layout(allocations, (totals[0], totals[1]))


def _plus(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return integer(a.value + b.value)
    if isinstance(a, Const) and a.value == 0:
        return b
    return op("add", a, b)


def _times(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return integer(a.value * b.value)
    return op("mul", a, b)


def _rounded(nbytes: Expr) -> Expr:
    """Bytes rounded up to a multiple of the alignment."""
    if isinstance(nbytes, Const):
        return integer(-(-int(nbytes.value) // ALIGNMENT) * ALIGNMENT)
    units = op("truncdiv", op("add", nbytes, integer(ALIGNMENT - 1)), integer(ALIGNMENT))
    return op("mul", units, integer(ALIGNMENT))


class Known:
    """Expressions of a body in terms of values known before the launch."""

    def __init__(self, body: ir.Function, arguments: tuple[Var, ...]) -> None:
        self.arguments = {v.name for v in arguments}
        self.values: dict[str, Expr] = {}
        self.shapes: dict[str, tuple[Expr, ...]] = {}
        several: set[str] = set()
        for s in ir.walk_statements(body.body):
            for name in ir.names_set(s):
                if name in self.values or not isinstance(s, ir.Assign):
                    several.add(name)
                elif isinstance(s, ir.Assign):
                    self.values[name] = s.value
        for name in several:
            self.values.pop(name, None)
        self.active: set[str] = set()

    def expression(self, e: Expr, loc: Loc) -> Expr:
        """An expression in these terms; a Fault if it has others."""
        match e:
            case Const():
                return e
            case Var() if e.name in self.arguments:
                return e
            case Var() if e.name in self.values and e.name not in self.active:
                self.active.add(e.name)
                try:
                    return self.expression(self.values[e.name], loc)
                finally:
                    self.active.discard(e.name)
            case ir.Extent() if e.view.name in self.arguments:
                return e
            case ir.Extent() if e.view.name in self.shapes:
                return self.shapes[e.view.name][e.dimension]
            case ir.Op() if e.op in _PYTHON:
                parts = tuple(self.expression(a, loc) for a in e.args)
                return ir.with_operands(e, parts)
        raise self._unknown(e, loc)

    def _unknown(self, e: Expr, loc: Loc) -> Fault:
        what = "it is computed in the kernel"
        if isinstance(e, Var):
            own = e.loc.name("")
            part = next((w for w in TEAM_PARTS if e.name.endswith(f"_{w}_")), "")
            if own and part:
                what = f"'{own}.{part}' differs from team to team"
            elif own:
                what = f"'{own}' is computed in the kernel, or set more than once"
        elif isinstance(e, ir.Load):
            what = f"an element of View '{e.view.name}' is read in the kernel"
        elif isinstance(e, ir.Op):
            what = f"'{e.op}' is none of +, -, *, //, %, min and max"
        return type_fault(
            loc,
            f"the size of scratch is not known before the launch: {what}",
            "sizes are made of arguments, extents, team.team_size and team.league_size; give the "
            "largest that any team needs",
        )


_PYTHON = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "neg": "(-{})", "abs": "abs({})",
    "floordiv": "quotient({}, {})", "truncdiv": "quotient({}, {})",  # sizes are not negative
    "mod": "remainder({}, {})", "min": "min({}, {})", "max": "max({}, {})",
    "minimum": "min({}, {})", "maximum": "max({}, {})", "cast": "{}",
    "bitand": "({} & {})", "lshift": "({} << {})", "rshift": "({} >> {})",
}  # fmt: skip


def python_text(e: Expr, names: Mapping[str, str]) -> str:
    """A size as a Python expression; `names` maps parameters to names in Python."""
    match e:
        case Const():
            return repr(float(e.value) if e.type.is_float else int(e.value))
        case Var():
            return names[e.name]
        case ir.Extent():
            return f"{names[e.view.name]}.shape[{e.dimension}]"
        case ir.Op():
            text = _PYTHON[e.op].format(*(python_text(a, names) for a in e.args))
            return f"int({text})" if e.op == "cast" and e.type.is_integer else text
    raise AssertionError(f"no size: {e}")


def names_of_values(parameters: tuple[Var, ...], league: str) -> dict[str, str]:
    """Names in Python of the arguments of a launch, in their order, and of the league size."""
    names = {}
    for n, p in enumerate(parameters):
        names[p.name] = f"args[{n}]"
        if isinstance(p.type, Scalar):  # NumPy scalars would wrap around
            names[p.name] = f"{'float' if p.type.is_float else 'int'}(args[{n}])"
    names[league] = "league"
    return names


def scratch_sizes(
    kernel: str,
    layout: Layout,
    parameters: tuple[Var, ...],
    league: str,
    limits: tuple[int, int],
    space: str,
) -> Sizes:
    """The check of a launch's scratch memory.

    Parameters
    ----------
    kernel : str
    layout : Layout
    parameters : tuple of Var
        Parameters for the arguments, in their order.
    league : str
        Variable of the league size.
    limits : tuple of int
        Most bytes of a team at each level.
    space : str
        Name of the space, for messages.
    """
    names = names_of_values(parameters, league)
    lines = ["def found(league, args):"]
    for place in layout.allocations.values():
        if not all(isinstance(e, Const) and e.value >= 0 for e in place.shape):
            shape = "".join(f"int({python_text(e, names)}), " for e in place.shape)
            lines += [
                f"    shape = ({shape})",
                f"    if min(shape) < 0: refuse({place.statement.loc.line}, shape)",
            ]
    first, second = (f"int({python_text(e, names)})" for e in layout.nbytes)
    lines.append(f"    return {first}, {second}")
    return Sizes(kernel, "\n".join(lines), layout.kept, limits, space)
