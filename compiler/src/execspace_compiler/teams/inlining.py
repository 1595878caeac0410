"""Inlining of helpers that contain team operations.

A barrier in a helper affects the kernel around it, so mappings of teams need one body. Early
returns become flags that skip the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..ir import Assign, Const, Expr, For, If, Stmt, Var
from ..ir.diagnostics import type_fault
from ..ir.rewriting import renamed
from ..ir.types import BOOL, Scalar, ViewTy


def is_of_team(body: tuple[Stmt, ...]) -> bool:
    """Whether a body has team statements, or asserts, which affect the kernel around it."""
    return any(isinstance(s, ir.TeamStmt | ir.Fail) for s in ir.walk_statements(body))


def without_team_helpers(
    functions: Sequence[ir.Function], body: ir.Function
) -> tuple[tuple[ir.Function, ...], ir.Function]:
    """The remaining functions, and a body into which the others are inlined.

    Raises
    ------
    Fault
        For a helper marked as strict, which would be contracted in another function.
    """
    made = _Inliner()
    left = []
    for f in functions:  # callees first
        f = made.function(f)
        if is_of_team(f.body):
            if f.strict:
                hint = "leave out fma=False, or move its arithmetic into a helper of its own"
                message = f"'{f.name}' has fma=False and works with a team"
                raise type_fault(f.loc, message, hint)
            made.known[f.name] = f
        else:
            left.append(f)
    return tuple(left), made.function(body)


class _Inliner:
    def __init__(self) -> None:
        self.known: dict[str, ir.Function] = {}
        self.count = 0
        self.locals: dict[str, Scalar | ViewTy] = {}

    def function(self, f: ir.Function) -> ir.Function:
        self.locals = dict(f.locals)
        body = self.block(f.body)
        return replace(f, body=body, locals=self.locals)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            s = ir.with_bodies(s, tuple(map(self.block, ir.bodies(s))))
            if isinstance(s, Assign | ir.Unpack | ir.Evaluate) and isinstance(s.value, ir.Call):
                callee = self.known.get(s.value.function)
                if callee is not None:
                    names = s.names if isinstance(s, ir.Unpack) else ()
                    names = (s.name,) if isinstance(s, Assign) else names
                    out += self.inlined(callee, s.value.args, names)
                    continue
            out.append(s)
        return tuple(out)

    def inlined(
        self, f: ir.Function, args: tuple[Expr, ...], results: tuple[str, ...]
    ) -> list[Stmt]:
        """The statements of an inlined call."""
        self.count += 1
        start = f"_c{self.count}_"
        new: dict[str, Var] = {}
        out: list[Stmt] = []
        for p, a in zip(f.parameters, args, strict=True):
            if isinstance(a, Var) and (isinstance(p.type, ViewTy) or a.name[0] == "_"):
                new[p.name] = a  # parameters are never set, nor are the caller's temporaries here
                continue
            assert isinstance(p.type, Scalar)
            new[p.name] = Var(f"{start}{p.name}", p.type)
            self.locals[new[p.name].name] = p.type.strong
            out.append(Assign(new[p.name].name, a, f.loc))
        for name, type in f.locals.items():
            new[name] = Var(f"{start}{name}", type)
            self.locals[f"{start}{name}"] = type
        flag = f"{start}done"
        body, flagged = single_exit(renamed(f.body, new), results, flag)
        if flagged:
            self.locals[flag] = BOOL
        return [*out, *body]


def single_exit(
    body: tuple[Stmt, ...], results: tuple[str, ...], flag: str
) -> tuple[tuple[Stmt, ...], bool]:
    """A body without returns: control reaches its end instead, with results in variables.

    Also whether it uses the variable `flag`, which is true after it has returned.
    """
    made = _SingleExit(results, flag)
    out = made.block(body, last=True)
    if made.used:
        out = (Assign(flag, Const(False, BOOL)), *out)
    return out, made.used


class _SingleExit:
    def __init__(self, results: tuple[str, ...], flag: str) -> None:
        self.results, self.flag = results, flag
        self.used = False

    def block(self, body: tuple[Stmt, ...], last: bool, loop: bool = False) -> tuple[Stmt, ...]:
        """`last`: it ends the function. `loop`: a break leaves the loop around it."""
        out: list[Stmt] = []
        for n, s in enumerate(body):
            rest = body[n + 1 :]
            if isinstance(s, ir.Return):
                values = s.value if isinstance(s.value, tuple) else (s.value,)
                out += [
                    Assign(name, v, s.loc)
                    for name, v in zip(self.results, values, strict=False)
                    if v is not None
                ]
                if not last:
                    out.append(self.set_flag(s))
                    out += [ir.Break(s.loc)] if loop else []
                return tuple(out)
            if not returns(s):
                out.append(s)
                continue
            final = last and not rest
            if isinstance(s, If):
                bodies = tuple(self.block(b, final, loop) for b in (s.body, s.orelse))
                out.append(replace(s, body=bodies[0], orelse=bodies[1]))
            else:
                inner = ir.bodies(s)
                out.append(ir.with_bodies(s, tuple(self.block(b, False, True) for b in inner)))
                if loop:
                    out.append(If(self.gone(), (ir.Break(s.loc),), loc=s.loc))
                    continue
            if rest and self.used and not loop:
                going = ir.Op("not", (self.gone(),), BOOL)
                out.append(If(going, self.block(rest, last, loop), loc=s.loc))
                return tuple(out)
        return tuple(out)

    def set_flag(self, s: Stmt) -> Stmt:
        self.used = True
        return Assign(self.flag, Const(True, BOOL), s.loc)

    def gone(self) -> Expr:
        return Var(self.flag, BOOL)


def returns(s: Stmt) -> bool:
    """Whether a statement contains a return."""
    return any(isinstance(t, ir.Return) for b in ir.bodies(s) for t in ir.walk_statements(b))


def is_collective(s: Stmt) -> bool:
    """Whether it is a collective of all threads."""
    if isinstance(s, ir.Combine | ir.ScanRange) and s.level == "vector":
        return False
    return isinstance(s, ir.COLLECTIVES)


def is_together(s: Stmt) -> bool:
    """Whether it is or contains a collective, or leaves a loop that contains one."""
    if is_collective(s) or isinstance(s, ir.Break | ir.Continue):
        return True
    if isinstance(s, If):
        return any(map(is_together, (*s.body, *s.orelse)))
    if isinstance(s, For | ir.While):
        return any(map(is_collective, ir.walk_statements(s.body)))
    return False


def regions(body: tuple[Stmt, ...]) -> list[Stmt | list[Stmt]]:
    """A body split at collectives."""
    out: list[Stmt | list[Stmt]] = []
    for s in body:
        if is_together(s):
            out.append(s)
        elif out and isinstance(out[-1], list):
            out[-1].append(s)
        else:
            out.append([s])
    return out
