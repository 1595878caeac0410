"""Atomic operations in Python syntax, for Numba and for the oracle.

For Numba, they are calls of intrinsics if the machine has an instruction, otherwise
compare-and-swap loops around the expression of the operation. Variables are named by their type, so
that all atomic operations of a function share them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import ir
from ...ir.types import Scalar

if TYPE_CHECKING:
    from .base import PythonPrinter

_DIRECT = frozenset(("add", "sub", "bitand", "bitor", "bitxor"))


def _variables(type: Scalar) -> tuple[ir.Var, ir.Var, ir.Var]:
    """The element, the operand and the value to store."""
    old, value, new = (ir.Var(f"_{what}_{type.name}", type) for what in ("old", "value", "new"))
    return old, value, new


def numba_lines(
    printer: PythonPrinter, s: ir.Atomic, pointer: str, offset: str, name: str | None
) -> list[str]:
    """Statements for Numba of an atomic operation on the element at an offset from a pointer."""
    values = [printer.expr(v) for v in s.values]
    place = f"{pointer}, {offset}"
    result = "" if name is None else f"{name} = "
    if s.op == "load":
        return [f'{result}_r.atomic_load({place}, "acquire")']
    if s.op == "store":
        return [f"_r.atomic_store({place}, {values[0]})"]
    if s.op == "exchange":
        return [f'{result}_r.atomic_rmw("exchange", {place}, {values[0]})']
    if s.op == "compare_exchange":
        done = "" if name is None else f"_done, {name} = "
        return [f"{done}_r.compare_exchange({place}, {', '.join(values)})"]
    old, value, _ = _variables(s.type)
    if s.op in _DIRECT and s.type.kind in "biu":
        if name is None or s.fetch == "old":
            return [f'{result}_r.atomic_rmw("{s.op}", {place}, {values[0]})']
        return [
            f"{value} = {values[0]}",
            f'{old} = _r.atomic_rmw("{s.op}", {place}, {value})',
            f"{result}{printer.expr(ir.outcome(s.op, old, value, s.type))}",
        ]
    lines = [f"_at = {offset}", f"{value} = {values[0]}"]
    if s.indivisible:
        return lines + _loop(printer, s, pointer, "_at", name)
    part = Scalar("float64")  # the parts of a complex128 are updated separately
    for n, which in enumerate(("real", "imag")):
        lines += [
            f"_part = _r.number_at({pointer}, _at * 16 + {8 * n}, _r.float64)",
            f"{_variables(part)[1]} = {value}.{which}",
            *_loop(printer, ir.Atomic(None, s.op, s.view, (), part, ()), "_part", "0", None),
        ]
    return lines


def _loop(
    printer: PythonPrinter, s: ir.Atomic, pointer: str, offset: str, name: str | None
) -> list[str]:
    """A compare-and-swap loop."""
    old, value, new = _variables(s.type)
    lines = [
        f'{old} = _r.atomic_load({pointer}, {offset}, "monotonic")',
        "while True:",
        f"    {new} = {printer.expr(ir.outcome(s.op, old, value, s.type))}",
    ]
    if s.op in ("min", "max"):  # no write if the value does not change: the cache line stays shared
        lines += [f"    if {old} {'<' if s.op == 'min' else '>'} {value}:", "        break"]
    lines += [
        f"    _done, {old} = _r.try_exchange({pointer}, {offset}, {old}, {new})",
        "    if _done:",
        "        break",
    ]
    if name is not None:
        lines.append(f"{name} = {new if s.fetch == 'new' else old}")
    return lines


def oracle_lines(
    printer: PythonPrinter, s: ir.Atomic, view: str, key: str, kind: str, name: str | None
) -> list[str]:
    """Statements for CPython, which runs indices sequentially."""
    old, value, _ = _variables(s.type)
    values = [printer.expr(v) for v in s.values]
    lines, get, put = [f"_key = {key}"], f"{view}[_key]", f"{view}[_key] = {{}}"
    if s.byte is not None:
        lines.append(f"_byte = {printer.expr(s.byte)}")
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
        new = printer.expr(ir.outcome(s.op, old, value, s.type))
        lines += [f"{value} = {values[0]}", f"_new = {kind}({new})", put.format("_new")]
        result = "_new" if s.fetch == "new" else result
    return lines if name is None else [*lines, f"{name} = {result}"]
