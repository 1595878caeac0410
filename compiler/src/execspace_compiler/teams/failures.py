"""Failed assertions in team kernels: no side effects may follow them.

A member cannot just leave, since others may wait for it. So it sets a flag, and skips the rest of
its own code. Before collectives, threads exchange their flags; if one has failed, all of them
leave. Iterations of nested ranges run in any order, so each has its own flag: a failure ends the
iteration, and then the member.
"""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from ..ir import Assign, Const, Expr, For, If, Stmt, Var
from ..ir.types import BOOL, Scalar, TupleTy, ViewTy
from ..typing.lowered import Lowered
from .inlining import regions

_EITHER = "_either_failed"
FAILS = "_bad"  # begins the name of what is set to whether an assertion fails
_ENDED, _REPORTED = "_ended", "_failed"
FLAGS = (_ENDED, _REPORTED)  # begin the names of what keeps that
_Scope = tuple[Var, ...]  # flags that a failure sets, that of the innermost iteration last


def without_failed_members(lowered: Lowered) -> Lowered:
    """The kernel of a team in which members whose assertions fail do nothing more."""
    if not _fails(lowered.body.body):
        return lowered
    made = _Failures(lowered.body)
    body = made.run()
    functions = (*lowered.functions[:-1], *([_either()] if made.joins else ()), body)
    return replace(lowered, functions=functions)


def _either() -> ir.Function:
    """Whether one of two members has failed."""
    a, b = Var("a", BOOL), Var("b", BOOL)
    value = ir.Return(ir.Op("bitor", (a, b), BOOL))
    return ir.Function(_EITHER, (a, b), BOOL, {}, (value,))


def _fails(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(s, ir.Fail) for s in ir.walk_statements(body))


def _is_assertion(s: Stmt) -> bool:
    if not isinstance(s, If):
        return False
    return not s.orelse and len(s.body) == 1 and isinstance(s.body[0], ir.Fail)


class _Failures:
    """Adds flags of failures to the statements of a body.

    Attributes
    ----------
    joins : bool
        Members join their flags.
    """

    def __init__(self, body: ir.Function) -> None:
        self.source = body
        self.locals: dict[str, Scalar | ViewTy] = dict(body.locals)
        self.joins = False
        self.count = 0

    def run(self) -> ir.Function:
        flag = self.variable(_ENDED)
        statements = [_set(flag, False), *self.together(self.source.body, (flag,), False)[0]]
        zeros = self.zeros()
        if zeros:
            statements.append(self.leave(zeros))
        return replace(self.source, body=tuple(statements), locals=self.locals)

    def variable(self, start: str) -> Var:
        made = Var(f"{start}{self.count}", BOOL)
        self.count += 1
        self.locals[made.name] = BOOL
        return made

    def zeros(self) -> tuple[Expr, ...]:
        """The contribution of a team in which a member has failed; it is not used."""
        result = self.source.result
        kinds = result.items if isinstance(result, TupleTy) else (result,) if result else ()
        return tuple(Const(0, k.strong) for k in kinds if isinstance(k, Scalar))

    def leave(self, zeros: tuple[Expr, ...]) -> Stmt:
        return ir.Return(zeros if len(zeros) > 1 else zeros[0] if zeros else None)

    # -- statements of all threads ------------------------------------------------------------

    def together(
        self, body: tuple[Stmt, ...], scope: _Scope, failed: bool
    ) -> tuple[list[Stmt], bool]:
        """Statements of the whole team, and whether a member may have failed at their end.

        `failed`: whether one may have at their start.
        """
        out: list[Stmt] = []
        for region in regions(body):
            if not isinstance(region, ir.Stmt):
                out += self.alone(tuple(region), scope, failed, False)
                failed |= _fails(tuple(region))
                continue
            if failed:
                out += self.agreed(scope[0], region)
                failed = False
            match region:
                case If():
                    then, first = self.together(region.body, scope, False)
                    orelse, second = self.together(region.orelse, scope, False)
                    out.append(replace(region, body=tuple(then), orelse=tuple(orelse)))
                    failed = first or second
                case For() | ir.While():
                    inner, left = self.together(region.body, scope, False)
                    if left:  # before the next iteration
                        inner += self.agreed(scope[0], region)
                    out.append(replace(region, body=tuple(inner)))
                case ir.ScanRange():
                    out += self.shared(region, scope)
                    failed = _fails((region,))
                case _:
                    out.append(region)
        return out, failed

    def agreed(self, flag: Var, s: Stmt) -> list[Stmt]:
        """All threads leave if one of them has failed."""
        self.joins = True
        joined = ir.Combine("thread", (flag,), _EITHER, s.loc)
        return [joined, If(flag, (self.leave(self.zeros()),), loc=s.loc)]

    # -- statements of a member ---------------------------------------------------------------

    def alone(self, body: tuple[Stmt, ...], scope: _Scope, failed: bool, loop: bool) -> list[Stmt]:
        """Statements up to a failing assertion. `loop`: a break leaves the loop around them."""
        out: list[Stmt] = []
        part: list[Stmt] = []

        def parted() -> None:
            nonlocal part
            out.extend([_unless(scope[-1], part)] if failed and part else part)
            part = []

        for s in body:
            if not _fails((s,)):
                part.append(s)
                continue
            part += self.failing(s, scope, loop)
            parted()
            if isinstance(s, ir.Fail):
                return out
            failed = not loop
        parted()
        return out

    def failing(self, s: Stmt, scope: _Scope, loop: bool) -> list[Stmt]:
        """A statement in which an assertion may fail."""
        leave: list[Stmt] = [If(scope[-1], (ir.Break(s.loc),), loc=s.loc)] if loop else []
        match s:
            case ir.Fail():
                return [s, *(_set(v, True) for v in scope), *([ir.Break(s.loc)] if loop else [])]
            case If() if _is_assertion(s):
                bad = self.variable(FAILS)
                report = replace(s, test=bad)
                flags = [Assign(v.name, _or(v, bad), s.loc) for v in scope]
                return [Assign(bad.name, s.test, s.loc), report, *flags, *leave]
            case If():
                bodies = (tuple(self.alone(b, scope, False, loop)) for b in ir.bodies(s))
                return [ir.with_bodies(s, tuple(bodies))]
            case For() | ir.While():
                inner = tuple(self.alone(s.body, scope, False, True))
                return [replace(s, body=inner), *leave]
            case ir.Split() | ir.ScanRange():
                return [*self.shared(s, scope), *leave]
        raise AssertionError(f"no assertion in {type(s).__name__}")

    def shared(self, s: ir.Split | ir.ScanRange, scope: _Scope) -> list[Stmt]:
        """A nested range or scan; lanes of a thread join their flags at its end."""
        if not _fails((s,)):
            return [s]
        found = []
        for body in ir.bodies(s):
            flag = self.variable(_ENDED)
            begin = [_set(flag, False)]
            if isinstance(s, ir.ScanRange):  # contribution of a failed iteration
                pairs = zip(s.own, s.identity, strict=True)
                begin += [Assign(v.name, e, s.loc) for v, e in pairs]
            found.append((*begin, *self.alone(body, (*scope, flag), False, False)))
        out: list[Stmt] = [ir.with_bodies(s, tuple(found))]
        if s.level != "thread":
            self.joins = True
            last = scope[-1]
            out.append(ir.Combine("vector", (last,), _EITHER, s.loc))
            out += [Assign(v.name, _or(v, last), s.loc) for v in scope[:-1]]
        return out


def _set(flag: Var, value: bool) -> Stmt:
    return Assign(flag.name, Const(value, BOOL))


def _or(a: Var, b: Var) -> Expr:
    return ir.Op("bitor", (a, b), BOOL)


def is_unless_ended(test: Expr) -> bool:
    """Whether it is a test of `_unless`."""
    if not isinstance(test, ir.Op) or test.op != "not":
        return False
    flag = test.args[0]
    return isinstance(flag, Var) and flag.name.startswith(_ENDED)


def _unless(flag: Var, body: list[Stmt]) -> Stmt:
    return If(ir.Op("not", (flag,), BOOL), tuple(body), loc=body[0].loc)


def reported_at_the_end(body: ir.Function) -> ir.Function:
    """A team kernel whose failures are recorded in flags, and reported when it ends.

    An assertion of a team does not leave at once, since others may wait for the member; the code
    after it is skipped, see failures.py. So it need not prevent vectorisation either, as the
    atomic operation that reports it would.
    """
    flags: list[tuple[Var, ir.Fail]] = []

    def deferred(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for s in statements:
            alone = isinstance(s, ir.If) and not s.orelse and len(s.body) == 1
            if isinstance(s, ir.If) and alone and isinstance(s.body[0], ir.Fail):
                fail = s.body[0]
                if isinstance(fail.code, ir.Const):
                    flag = Var(f"{_REPORTED}{len(flags)}", BOOL)
                    flags.append((flag, fail))
                    value = ir.Op("bitor", (flag, s.test), BOOL)
                    found.append(ir.Assign(flag.name, value, s.loc))
                    continue
            if isinstance(s, ir.Return):
                found += _reports(flags)
            found.append(ir.with_bodies(s, tuple(map(deferred, ir.bodies(s)))))
        return tuple(found)

    statements = deferred(body.body)
    if not flags:
        return body
    clear = [ir.Assign(flag.name, ir.Const(False, BOOL)) for flag, _ in flags]
    locals_ = {**body.locals, **{flag.name: BOOL for flag, _ in flags}}
    return replace(body, body=(*clear, *statements, *_reports(flags)), locals=locals_)


def _reports(flags: list[tuple[Var, ir.Fail]]) -> list[Stmt]:
    return [ir.If(flag, (fail,)) for flag, fail in flags]
