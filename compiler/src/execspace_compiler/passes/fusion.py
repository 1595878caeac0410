"""Fusion: the bodies of several kernels one after another, as the body of one.

Each part is typed by itself, as for a launch of its own. It must also be compiled as if it were
alone: else compilers contract a product of one part with a sum of the next, or contract differently
because a value is used once more, or once less. Hosts run the parts in loops of their own, over
strips of the range. Where one call runs all of them, as on GPUs, what a part reads goes through the
operation "stored", behind which compilers do not look; what a later part stores again is "kept".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from execspace import Kernel, LaunchSpec

from .. import ir
from ..ir import Assign, Expr, Load, Op, Stmt, Store, Var, op
from ..ir.rewriting import renamed, rewritten
from ..ir.types import BOOL, INDEX, INT64, Scalar, Type, ViewTy
from ..teams.inlining import single_exit
from ..typing.lowered import STRIP, Lowered
from .failure_predicates import effectful_helpers
from .fused_loads import LoadsOnce

_MOST_BUFFERS = 3  # which are on the stack
_AGAIN = 100  # numbers of barriers for Views that a part takes once more
_FIRST = Var("_first_of_strip", INDEX)  # the sum of the indices of its first call


def fused(
    kernel: Kernel, spec: LaunchSpec, types: list[Type], lower: Callable[..., Lowered]
) -> Lowered:
    """A fused kernel in typed IR; `types` are those of its arguments, `lower` lowers a part."""
    lowered = [lower(part.kernel, part.spec) for part in kernel.parts]
    last = lowered[-1]
    leading = last.body.parameters[: last.leading]
    names = _argument_names(kernel, lowered, len(types))
    arguments = tuple(Var(n, t) for n, t in zip(names, types, strict=True))
    parts = [
        _Part(n, part, one.positions, leading, arguments)
        for n, (part, one) in enumerate(zip(lowered, kernel.parts, strict=True))
    ]
    made = _merged(kernel, parts, last, (*leading, *arguments))
    temporary = [v for n in kernel.temporary if (v := _element(made, arguments[n])) is not None]
    for view in temporary:
        made = _without_stores(made, view)
    joins = spec.pattern == "reduce"
    strips = temporary[:_MOST_BUFFERS] if spec.policy.rank == 1 else []
    if joins:  # whose own strips are longer
        used = {v for v in temporary if any(True for _ in _accesses(parts[-1].body, v.name))}
        strips = [v for v in strips if v not in used]
    buffers = tuple(
        Var(f"_{v.name}_strip", ViewTy(v.type.element, 1, "right", 0, False, (STRIP,)))
        for v in strips
        if isinstance(v.type, ViewTy)
    )
    kept = {v.name: b for v, b in zip(strips, buffers, strict=True)}
    added = () if last.reduction is None else last.reduction.functions
    helpers = tuple(f for p in parts for f in p.helpers)
    limits = tuple(
        (p.positions[at], name, low, high)
        for p in parts
        for at, name, low, high in p.lowered.limits
    )
    typed = tuple(
        replace(f, name=f"{f.name}_p{p.number}") for p in parts for f in p.lowered.typed[:-1]
    )
    return Lowered(
        kernel, spec, (*helpers, *added, made), last.leading, last.reduction, (), False, limits,
        (*typed, made), last.functions if spec.pattern == "reduce" else None,
        tuple(
            p.function(leading, arguments, kept, () if p is parts[-1] and joins else buffers)
            for p in parts
        ), buffers, tuple(tuple(p.again.values()) for p in parts),
    )  # fmt: skip


def _argument_names(kernel: Kernel, parts: list[Lowered], count: int) -> list[str]:
    """Names of the arguments: those of the parts, where no two are the same."""
    found: dict[int, str] = {}
    taken = {p.name for p in parts[-1].body.parameters[: parts[-1].leading]}
    for part, lowered in zip(kernel.parts, parts, strict=True):
        for p, at in zip(lowered.body.parameters[lowered.leading :], part.positions, strict=True):
            if at in found:
                continue
            name = p.name
            while name in taken:
                name += "_"
            taken.add(name)
            found[at] = name
    return [found[n] for n in range(count)]


class _Part:
    """A kernel, with the names that things have in the fused one."""

    def __init__(
        self,
        number: int,
        lowered: Lowered,
        positions: tuple[int, ...],
        leading: tuple[Var, ...],
        arguments: tuple[Var, ...],
    ) -> None:
        self.number, self.lowered, self.positions = number, lowered, positions
        added = () if lowered.reduction is None else lowered.reduction.functions
        helpers = lowered.functions[: len(lowered.functions) - 1 - len(added)]
        calls = {f.name: f"{f.name}_p{number}" for f in helpers}
        if lowered.reduction is not None:  # what a reducer calls must keep its name
            calls = {}
        self.helpers = [
            _calling(replace(f, name=calls.get(f.name, f.name)), calls) for f in helpers
        ]
        own = lowered.body
        new = dict(zip((p.name for p in own.parameters[: lowered.leading]), leading, strict=True))
        given = own.parameters[lowered.leading :]
        self.again: dict[str, Var] = {}  # Views that the kernel takes once more, by other names
        for n, (p, at) in enumerate(zip(given, positions, strict=True)):
            own_view = arguments[at]
            if at in positions[:n] and isinstance(p.type, ViewTy):
                self.again[f"{own_view.name}_again{n}"] = own_view
                own_view = replace(own_view, name=f"{own_view.name}_again{n}")
            new[p.name] = own_view
        self.locals: dict[str, Scalar | ViewTy] = {}
        for name, type in own.locals.items():
            new[name] = Var(f"_p{number}_{name}", type)
            self.locals[f"_p{number}_{name}"] = type
        self.body = renamed(_calling(own, calls).body, new)

    def function(
        self,
        leading: tuple[Var, ...],
        arguments: tuple[Var, ...],
        kept: dict[str, Var],
        buffers: tuple[Var, ...],
    ) -> ir.Function:
        """The part by itself, with the parameters of all; what is not stored is in buffers."""
        indices = leading[: self.lowered.spec.policy.rank]
        sum: Expr = indices[0]
        for i in indices[1:]:
            sum = op("add", sum, i)
        place = op("sub", sum, _FIRST)
        body = tuple(_buffered(s, kept, place) for s in self.body) if kept else self.body
        more = (*buffers, _FIRST) if buffers else ()
        again = tuple(replace(v, name=name) for name, v in self.again.items())
        own = self.lowered.body
        return replace(
            own, name=f"{own.name}_part{self.number}",
            parameters=(*leading, *more, *arguments, *again),
            locals=self.locals, body=body,
        )  # fmt: skip


def _calling(f: ir.Function, names: dict[str, str]) -> ir.Function:
    """A function that calls others by other names."""

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        if isinstance(e, ir.Call) and e.function in names:
            return replace(e, function=names[e.function])
        return e

    return replace(f, body=tuple(rewritten(s, change) for s in f.body))


# -- all parts in one body ------------------------------------------------------------------------


def _merged(
    kernel: Kernel, parts: list[_Part], last: Lowered, parameters: tuple[Var, ...]
) -> ir.Function:
    """One body, in which each part is compiled as if it were alone."""
    exact = kernel.fma and not kernel.fastmath
    numbers = [p for p in parameters[last.leading :] if isinstance(p.type, Scalar)]
    locals_: dict[str, Scalar | ViewTy] = {}
    body: list[Stmt] = []
    for part in parts:
        locals_ |= part.locals
        code = part.body
        if not exact:
            code = renamed(code, part.again)
        else:
            code = _apart(part, parts[part.number + 1 :], numbers, locals_)
        if part is not parts[-1]:
            flag = f"_p{part.number}_done"
            code, used = single_exit(code, (), flag)
            if used:
                locals_[flag] = BOOL
        body += code
    own = last.body
    return ir.Function(
        own.name, parameters, own.result, locals_, tuple(body), loc=own.loc, declared=own.declared
    )


def _apart(
    part: _Part, later: list[_Part], numbers: list[Var], locals_: dict[str, Scalar | ViewTy]
) -> tuple[Stmt, ...]:
    """The statements of a part of whose floats compilers know nothing from other parts."""
    again = {v for other in later for v in _stored(other.body)}
    prologue: list[Stmt] = []
    new: dict[str, Var] = {}
    if part.number:
        used = {e.name for e in ir.walk_expressions(part.body) if isinstance(e, Var)}
        for p in numbers:
            if p.name in used and isinstance(p.type, Scalar) and _barred(p, 0) is not p:
                own = Var(f"_p{part.number}_own_{p.name}", p.type)
                locals_[own.name] = p.type.strong
                prologue.append(Assign(own.name, _barred(p, part.number)))
                new[p.name] = own

    def load(e: Load) -> Expr:
        if e.view.name in part.again:
            own = part.again[e.view.name]
            number = _AGAIN + part.number * _AGAIN + list(part.again).index(e.view.name)
            return _barred(replace(e, view=own), number)
        if part.number and e.view.name not in part.locals:
            return _barred(e, part.number)
        return e

    def extent(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(extent, ir.operands(e))))
        if isinstance(e, ir.Extent) and e.view.name in part.again:
            return replace(e, view=part.again[e.view.name])
        return e

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.view.name in again:
            return replace(s, value=_barred(s.value, None))
        return s

    body = renamed(part.body, new) if new else part.body
    effectful = frozenset(effectful_helpers(part.helpers))
    body = LoadsOnce(load, f"_p{part.number}_load", locals_, effectful).body(body)
    return (*prologue, *(rewritten(s, extent, statement) for s in body))


def _stored(body: tuple[Stmt, ...]) -> set[str]:
    return {s.view.name for s in ir.walk_statements(body) if isinstance(s, Store)}


def _barred(e: Expr, part: int | None) -> Expr:
    """A float of which compilers know nothing in a part; for None, one that they must compute."""
    type = e.type
    assert isinstance(type, Scalar)
    if type.kind == "c":
        real = Scalar("float32" if type.name == "complex64" else "float64")
        parts = tuple(_barred(Op(p, (e,), real), part) for p in ("real", "imag"))
        return Op("complex", parts, type)
    if type.name not in ("float32", "float64"):
        return e
    if part is None:
        return Op("kept", (e,), type)
    return Op("stored", (e, ir.Const(part, INT64)), type)


# -- temporaries ----------------------------------------------------------------------------------


def _element(f: ir.Function, view: Var) -> Var | None:
    """The View, if a variable can stand for the element that a call works on: every access has the
    same subscripts, and the first is a store that always happens."""
    accesses = list(_accesses(f.body, view.name))
    fixed = {p.name for p in f.parameters}
    if any(a is None or not all(_is_fixed(e, fixed) for e in a) for a in accesses):
        return None
    first = next((s for s in f.body if any(True for _ in _accesses((s,), view.name))), None)
    if not isinstance(first, Store) or any(_loads(e, view.name) for e in ir.expressions(first)):
        return None
    if any(a != first.indices for a in accesses):
        return None
    assert isinstance(view.type, ViewTy)
    return view if isinstance(view.type.element, Scalar) else None


def _is_fixed(e: Expr, parameters: set[str]) -> bool:
    """Whether an expression is the same throughout a call: made of parameters and constants."""
    if isinstance(e, Var):
        return e.name in parameters
    return isinstance(e, ir.Const | Op | ir.Extent) and all(
        _is_fixed(a, parameters) for a in ir.operands(e)
    )


def _without_stores(f: ir.Function, view: Var) -> ir.Function:
    """A function that keeps the element of a View in a variable, and stores none."""
    assert isinstance(view.type, ViewTy)
    element, name = view.type.element, f"_{view.name}_element"
    assert isinstance(element, Scalar)

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return Var(name, element) if isinstance(e, Load) and e.view.name == view.name else e

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.view.name == view.name:
            return Assign(name, s.value, s.loc)
        return s

    body = tuple(rewritten(s, change, statement) for s in f.body)
    return replace(f, body=body, locals={**f.locals, name: element.strong})


def _buffered(s: Stmt, kept: dict[str, Var], place: Expr) -> Stmt:
    """A statement that has elements of some Views in buffers of a strip, at a place."""

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        if isinstance(e, Load) and e.view.name in kept:
            return replace(e, view=kept[e.view.name], indices=(place,))
        return e

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.view.name in kept:
            return replace(s, view=kept[s.view.name], indices=(place,))
        return s

    return rewritten(s, change, statement)


def _accesses(body: tuple[Stmt, ...], view: str) -> Iterator[tuple[Expr, ...] | None]:
    """Subscripts of each access to a View; None for one that no variable can stand for."""
    for s in ir.walk_statements(body):
        if isinstance(s, Store) and s.view.name == view:
            yield s.indices if s.byte is None else None
        elif isinstance(s, ir.Atomic) and s.view.name == view:
            yield None
    for e in ir.walk_expressions(body):
        if isinstance(e, Load) and e.view.name == view:
            yield e.indices if e.byte is None else None
        elif isinstance(e, Var) and e.name == view:  # an argument of a helper
            yield None


def _loads(e: Expr, view: str) -> bool:
    if isinstance(e, Load) and e.view.name == view:
        return True
    return any(_loads(a, view) for a in ir.operands(e))
