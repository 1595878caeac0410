"""Atomic operations for the oracle, which runs indices one after the other.

Variables are named by their type, so that all atomic operations of a function share them.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import ir
from ...ir.types import Scalar


def _variables(type: Scalar) -> tuple[ir.Var, ir.Var, ir.Var]:
    """The element, the operand and the value to store."""
    old, value, new = (ir.Var(f"_{what}_{type.name}", type) for what in ("old", "value", "new"))
    return old, value, new


def atomic_lines(
    expr: Callable[[ir.Expr], str], s: ir.Atomic, view: str, key: str, kind: str, name: str | None
) -> list[str]:
    """Statements for CPython, which runs indices sequentially; `expr` prints an expression."""
    old, value, _ = _variables(s.type)
    values = [expr(v) for v in s.values]
    lines, get, put = [f"_key = {key}"], f"{view}[_key]", f"{view}[_key] = {{}}"
    if s.byte is not None:
        lines.append(f"_byte = {expr(s.byte)}")
        get, put = f"{view}.field(_key, _byte, {kind})", f"{view}.set_field(_key, _byte, {{}})"
    lines.append(f"{old} = {get}")
    result: str = old.name
    if s.op == "compare_exchange":
        expected, desired = values
        lines += [
            f"{value} = {desired}",
            f"if {old}.tobytes() == {kind}({expected}).tobytes():",
            "    " + put.format(value),
        ]
    elif s.op != "load":
        new = expr(ir.outcome(s.op, old, value, s.type))
        lines += [f"{value} = {values[0]}", f"_new = {kind}({new})", put.format("_new")]
        result = "_new" if s.fetch == "new" else result
    return lines if name is None else [*lines, f"{name} = {result}"]
