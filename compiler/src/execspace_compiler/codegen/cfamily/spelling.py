"""Names and string literals in C source, used variables of functions, and loops that are sums.

Independent of dialects: these are rules of C.
"""

from __future__ import annotations

from collections.abc import Iterable

from ... import ir
from ...ir.marks import OWN, WEB
from ...ir.types import INT64, Scalar


def ascii_name(name: str) -> str:
    """A name in ASCII without marks; different names stay different."""
    if is_plain(name):
        return name
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def is_plain(name: str) -> bool:
    """Whether a name is ASCII without the marks that variables of kernels in lanes have."""
    return name.isascii() and WEB not in name and OWN not in name


def part_of_view(name: str, part: str) -> str:
    """Variable for a View's address, a stride or an extent."""
    return f"_{name}_{part}"


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
        if isinstance(s, ir.Packed):
            names |= {s.array.name, s.view.name}
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
    """Sign and variable of a loop that only joins float sums or products into it.

    Such joins may be reassociated, so compilers may use several accumulators. None if `functions`,
    those of the module, have variables that are not scalars: concurrent iterations would need
    arrays of them.
    """
    match s.body:
        case (ir.Assign(name, ir.Op(op, (_, value), Scalar() as type) as join),) if op in _SIGNS:
            if _reads(value, name):  # the kernel of a scan reads the prefix
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
