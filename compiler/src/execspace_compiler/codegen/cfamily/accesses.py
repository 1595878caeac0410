"""Functions of a source that read and write numbers by other accesses than the language's own.

Numbers at addresses that are not aligned go byte by byte. Complex numbers in memory of a device go
by one access: to a compiler their struct has the alignment of its parts, so it would make two.
What is read once may have a load that tells caches so.
"""

from __future__ import annotations

from ... import ir
from ...ir.types import BOOL, Scalar, ViewTy
from .prelude import SHORT, Prelude


def bytewise(prelude: Prelude, what: str, t: Scalar, space: str) -> str:
    """Name of the function that does "load" or "store" byte by byte."""
    memory = prelude.dialect.memory
    where = "p" if not space else "o" if space == memory.device else "g"
    name = f"_{what}_bytes_{SHORT[t.name]}_{where}"
    if name not in prelude.functions:
        byte, kind = prelude.dialect.types["uint8"], prelude.type("uint8" if t == BOOL else t.name)
        copy = f"for (int n = 0; n < {t.itemsize}; ++n)"
        if what == "store" and t.name == "float16":
            bits = prelude.dialect.bits["from float16"].format("v")
            word = prelude.dialect.types["int32"]
            if prelude.dialect.workarounds.hidden:  # ptxas stores a wrong lower byte
                bits = prelude.hidden(f"({word}){bits}", "int32")
            body = (
                f"void {name}({space}{kind} *p, {kind} v) {{ {word} b = {bits}; "
                f"(({space}{byte} *)p)[0] = ({byte})(b & 255); "
                f"(({space}{byte} *)p)[1] = ({byte})(b >> 8 & 255); }}"
            )
        elif what == "load":
            body = (
                f"{kind} {name}({space}const {kind} *p) {{ {kind} v; "
                f"{copy} (({byte} *)&v)[n] = (({space}const {byte} *)p)[n]; return v; }}"
            )
        else:
            body = (
                f"void {name}({space}{kind} *p, {kind} v) {{ "
                f"{copy} (({space}{byte} *)p)[n] = (({byte} *)&v)[n]; }}"
            )
        prelude.functions[name] = f"{prelude.dialect.syntax.function} {body}"
    return name


def whole_complex(prelude: Prelude, what: str, t: Scalar) -> str:
    """Name of the function that does "load", "load_once" or "store" of a complex number in device
    memory."""
    name = f"_{what}_{SHORT[t.name]}"
    if name not in prelude.functions:
        part = Scalar("float32" if t.name == "complex64" else "float64")
        pack = prelude.pack(part, prelude.type(part.name), 2)
        kind, memory = prelude.type(t.name), prelude.dialect.memory
        make, device = prelude.use("make", t), memory.device
        if what != "store":
            found = f"*({device}const {pack} *)p"
            if what == "load_once":
                form = memory.nontemporal_load or memory.nontemporal_number
                whole = prelude.vector(part, 2)
                found = form.format(type=pack, whole=whole, bytes=t.itemsize, p="p")
            body = (
                f"{kind} {name}({device}const {kind} *p) {{ "
                f"const {pack} v = {found}; return {make}(v.v[0], v.v[1]); }}"
            )
        else:
            body = (
                f"void {name}({device}{kind} *p, {kind} z) {{ {pack} v; v.v[0] = z.re; "
                f"v.v[1] = z.im; *({device}{pack} *)p = v; }}"
            )
        prelude.functions[name] = f"{prelude.dialect.syntax.function} {body}"
    return name


def is_nontemporal(view: ir.Var) -> bool:
    """Whether its elements are read once."""
    return isinstance(view.type, ViewTy) and "nontemporal" in view.type.traits
