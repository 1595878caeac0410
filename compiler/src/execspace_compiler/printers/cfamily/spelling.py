"""Spelling of names and strings in C text, and which variables a function needs at all.

Free of any dialect: these rules are C's own.
"""

from __future__ import annotations

from ... import ir


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
        match s:
            case ir.Assign() | ir.For() | ir.Atomic() if s.name is not None:
                names.add(s.name)
            case ir.Unpack():
                names |= set(s.names)
            case ir.Clear():
                names.add(s.array.name)
        if isinstance(s, ir.Store | ir.Atomic):
            names.add(s.view.name)
    for e in ir.walk_expressions(f.body):
        if isinstance(e, ir.Var):
            names.add(e.name)
        elif isinstance(e, ir.Load):
            names.add(e.view.name)
    return names
