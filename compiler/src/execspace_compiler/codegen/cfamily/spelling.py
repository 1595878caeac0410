"""Spelling of names and strings in C source, which variables a function needs at all, and which
loops are sums.

Free of any dialect: these rules are C's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ... import ir
from ...ir.types import INT64, Scalar


def ascii_name(name: str) -> str:
    """A name in ASCII; names that differ stay different."""
    if name.isascii():
        return name
    return "".join(c if c.isascii() and c != "_" else f"_{ord(c):x}_" for c in name)


def c_string(text: str) -> str:
    """A string literal."""
    out = ""
    for byte in text.encode():
        c = chr(byte)
        out += c if 32 <= byte < 127 and c not in '"\\?' else f"\\{byte:03o}"
    return f'"{out}"'


def used_variables(f: ir.Function) -> set[str]:
    """Variables that a function's body reads or sets."""
    names: set[str] = set()
    for s in ir.walk_statements(f.body):
        names |= set(ir.names_set(s))
        if isinstance(s, ir.Clear):
            names.add(s.array.name)
        if isinstance(s, ir.Store | ir.Atomic):
            names.add(s.view.name)
    for e in ir.walk_expressions(f.body):
        if isinstance(e, ir.Var):
            names.add(e.name)
        elif isinstance(e, ir.Load):
            names.add(e.view.name)
    return names


_SIGNS = {"reduce_sum": "+", "reduce_prod": "*"}


def joined_variable(s: ir.For, functions: Iterable[ir.Function]) -> tuple[str, str] | None:
    """Sign and variable of a loop that does nothing but join float sums or products into it.

    Such a join may be made in any order, so compilers may hold several values of it. None where
    `functions`, those of the module, have variables that are not plain numbers: iterations that
    run at once would need arrays of them.
    """
    match s.body:
        case (ir.Assign(name, ir.Op(op, (_, value), Scalar() as type) as join),) if op in _SIGNS:
            if _reads(value, name):  # the kernel of a scan sees what was joined before
                return None
            plain = type.name in ("float32", "float64") and all(map(_has_plain_numbers, functions))
            if plain and isinstance(join.args[0], ir.Var) and join.args[0].name == name:
                return _SIGNS[op], name
    return None


def _has_plain_numbers(f: ir.Function) -> bool:
    types = [*f.locals.values(), f.result or INT64]
    return all(isinstance(t, Scalar) and t.kind != "c" for t in types)


def _reads(e: ir.Expr, name: str) -> bool:
    if isinstance(e, ir.Var):
        return e.name == name
    return any(_reads(a, name) for a in ir.operands(e))
