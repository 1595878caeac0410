"""The kernel of a scan as two functions: its contribution, and what it does with the prefix.

A kernel may be called any number of times for its contribution, so both may be the whole kernel.
Where all that needs the prefix stands in one branch, that alone is the second one, and takes the
variables that it reads: nothing is computed twice.
"""

from __future__ import annotations

from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Const, Stmt, Var
from ..ir.rewriting import names_set_in, rewritten
from ..ir.types import Scalar, TupleTy, ViewTy, flat_scalars
from ..reductions.reduction import returned
from ..typing.lowered import Lowered
from .scan_packing import with_constant


@dataclass(frozen=True)
class ScanParts:
    """A scan's kernel in two.

    Attributes
    ----------
    contribution : ir.Function
        Takes the indices and the arguments; returns its contribution and `live`.
    live : tuple of Var
    rest : ir.Function
        Takes the indices, the arguments, `live` and the prefix.
    """

    contribution: ir.Function
    live: tuple[Var, ...]
    rest: ir.Function


def scan_parts(lowered: Lowered) -> ScanParts:
    """The parts of the kernel of a scan over a range."""
    return _cut(lowered) or ScanParts(contribution(lowered), (), _with_prefix(lowered))


def contribution(lowered: Lowered) -> ir.Function:
    """The kernel, called for its contribution alone."""
    body = lowered.body
    first = with_constant(body, body.parameters[lowered.leading - 1], False)
    prefix = {p.name: Const(0, _scalar(p.type)) for p in _prefix(lowered)}  # says nothing

    def change(e: ir.Expr) -> ir.Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return prefix.get(e.name, e) if isinstance(e, Var) else e

    statements = tuple(rewritten(s, change) for s in first.body)
    name = f"{body.name}_contribution"
    return replace(first, name=name, parameters=_parameters(lowered), body=statements)


def _with_prefix(lowered: Lowered) -> ir.Function:
    """The kernel, called with the prefix; it returns nothing."""
    body = lowered.body
    last = with_constant(body, body.parameters[lowered.leading - 1], True)

    def silent(s: Stmt) -> Stmt:
        return ir.Return(None, s.loc) if isinstance(s, ir.Return) else s

    statements = tuple(rewritten(s, lambda e: e, silent) for s in last.body)
    parameters = (*_parameters(lowered), *_prefix(lowered))
    name = f"{body.name}_rest"
    return replace(last, name=name, parameters=parameters, result=None, body=statements)


def _parameters(lowered: Lowered) -> tuple[Var, ...]:
    """Indices and arguments."""
    given, rank = lowered.body.parameters, lowered.spec.policy.rank
    return (*given[:rank], *given[lowered.leading :])


def _prefix(lowered: Lowered) -> tuple[Var, ...]:
    return lowered.body.parameters[lowered.spec.policy.rank : lowered.leading - 1]


def _cut(lowered: Lowered) -> ScanParts | None:
    """The parts of a kernel with one branch on `final`; None if it has not, or needs more of what
    stands before it than numbers."""
    body, reduction = lowered.body, lowered.reduction
    assert reduction is not None
    final = body.parameters[lowered.leading - 1].name
    branches = [s for s in body.body if _is_test_of(s, final)]
    last = body.body[-1] if body.body else None
    returns = [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Return)]
    if len(branches) != 1 or len(returns) != 1 or returns[0] is not last:
        return None
    (branch,) = branches
    assert isinstance(branch, ir.If) and isinstance(last, ir.Return)
    at = next(n for n, s in enumerate(body.body) if s is branch)
    before, after = body.body[:at], body.body[at + 1 : -1]
    others = (*before, *after, last)
    prefix = {final, *(p.name for p in _prefix(lowered))}
    if prefix & _read(others) or branch.orelse or final in _read(branch.body):
        return None
    inside = set(names_set_in(branch.body))
    if inside & (_read((*after, last)) | set(names_set_in(after))):
        return None
    read = _read(branch.body) & set(names_set_in(before))
    arrays = {n for n, t in body.locals.items() if isinstance(t, ViewTy)}
    if arrays & _used(branch.body) or read & set(names_set_in(after)):
        return None
    live = tuple(Var(n, _scalar(body.locals[n])) for n in sorted(read))
    values = (*ir.expressions(last), *live)
    kinds = (*flat_scalars(body.result), *(v.type for v in live))
    result = kinds[0] if len(kinds) == 1 else TupleTy(kinds)
    assert isinstance(result, Scalar | TupleTy)
    own = replace(
        body, name=f"{body.name}_contribution", parameters=_parameters(lowered), result=result,
        body=(*before, *after, returned(values)),
    )  # fmt: skip
    locals_ = {n: t for n, t in body.locals.items() if n not in read}
    rest = replace(
        body, name=f"{body.name}_rest", result=None, locals=locals_, body=branch.body,
        parameters=(*_parameters(lowered), *live, *_prefix(lowered)),
    )  # fmt: skip
    return ScanParts(own, live, rest)


def _is_test_of(s: Stmt, name: str) -> bool:
    return isinstance(s, ir.If) and isinstance(s.test, Var) and s.test.name == name


def _read(body: tuple[Stmt, ...]) -> set[str]:
    """Variables that statements read."""
    return {e.name for e in ir.walk_expressions(body) if isinstance(e, Var)}


def _used(body: tuple[Stmt, ...]) -> set[str]:
    """Views and arrays that statements use."""
    found = {e.view.name for e in ir.walk_expressions(body) if isinstance(e, ir.Load | ir.Extent)}
    found |= {s.view.name for s in ir.walk_statements(body) if isinstance(s, ir.Store | ir.Atomic)}
    found |= {s.array.name for s in ir.walk_statements(body) if isinstance(s, ir.Clear)}
    return found | _read(body)


def _scalar(type: object) -> Scalar:
    assert isinstance(type, Scalar)
    return type.strong
