"""Atomic operations in C: the device's own if it has one, otherwise compare-and-swap loops.

Elements are compared as integers of their width, bit by bit, so NaNs are no obstacle.
"""

from __future__ import annotations

from ... import ir
from ...ir.types import BOOL, Scalar, ViewTy
from .dialect import Dialect
from .expressions import ExpressionPrinter
from .prelude import SHORT

_RELEASES = ("store", "exchange", "compare_exchange")
_ACQUIRES = ("load", "exchange", "compare_exchange")


def atomic_lines(printer: ExpressionPrinter, s: ir.Atomic) -> list[str]:
    """Statements of an atomic operation, with fences if it acquires or releases."""
    lines = _lines(printer, s)
    assert isinstance(s.view.type, ViewTy)
    if s.view.type.shape is not None:
        return lines
    before = [printer.dialect.sync.fence] if s.op in _RELEASES else []
    after = [printer.dialect.sync.fence] if s.op in _ACQUIRES else []
    return [*before, *lines, *after]


def _lines(printer: ExpressionPrinter, s: ir.Atomic) -> list[str]:
    assert isinstance(s.view.type, ViewTy)
    space = printer.space(s.view.type)
    if s.byte is not None:
        place = printer.field(s, s.type)
    else:
        place = f"{printer.identifier(s.view.name)} + {printer.offset(s.view, s.indices)}"
    values = [printer.expr(v) for v in s.values]
    name = None if s.name is None else printer.identifier(s.name)
    op = "exchange" if s.op == "store" else s.op
    direct = _instruction(printer, op, s)
    word = _word(s.type)
    lines: list[str] = []
    if s.view.type.shape is not None:  # a private array
        return _private(printer, s, place, values, name)
    if direct is not None and s.op != "compare_exchange" and (name is None or s.fetch == "old"):
        kind = printer.stored(s.type)
        call = direct.format(p=f"(volatile {space}{kind} *)({place})", v=(values or [""])[0])
        return [f"{call};" if name is None else f"{name} = {call};"]
    if word is None:
        return _parts(printer, s, place, values, name, space)
    function = _cas_function(printer, s, space, word)
    call = f"{function}({', '.join([place, *values])})"
    lines.append(f"{call};" if name is None else f"{name} = {call};")
    return lines


def _instruction(printer: ExpressionPrinter, op: str, s: ir.Atomic) -> str | None:
    """The form of an instruction of the device that does the operation on an element."""
    forms = printer.dialect.atomics
    kinds = [op]
    assert isinstance(s.view.type, ViewTy)
    if (f"sum {op}", s.type.name) in forms and _only_adds(printer.module, s.type):
        kinds.insert(0, f"sum {op}")
    if printer.module.fastmath:
        kinds.insert(0, f"fast {op}")
    if "group" in s.view.type.traits:
        kinds.insert(0, f"group {op}")
    return next((forms[k, s.type.name] for k in kinds if (k, s.type.name) in forms), None)


def _only_adds(module: ir.Module, type: Scalar) -> bool:
    """Whether nothing sees a sum of this type before all of it is there.

    Then an addition may take more than one step.
    """
    found = (s for f in module.functions for s in ir.walk_statements(f.body))
    operations = [s for s in found if isinstance(s, ir.Atomic) and s.type == type]
    return all(s.op in ("add", "sub") and s.name is None for s in operations)


def _space_suffix(dialect: Dialect, space: str) -> str:
    """Suffix of functions for an address space."""
    return "_g" if space and space != dialect.memory.device else ""


def _seen(dialect: Dialect, word: str) -> str:
    """Expression: the integer at `w`."""
    return dialect.atomics.get(("load", word), "*{p}").format(p="w")


def _word(t: Scalar) -> str | None:
    """The integer type of an element's width, if the device has compare-and-swap for it."""
    return {4: "uint32", 8: "uint64"}.get(t.itemsize)


def _private(
    printer: ExpressionPrinter, s: ir.Atomic, place: str, values: list[str], name: str | None
) -> list[str]:
    p, old = printer.temporary("p"), printer.temporary("old")
    kind = printer.stored(s.type)
    lines = [f"{kind} *{p} = {place};", f"const {printer.type(s.type)} {old} = *{p};"]
    new = old
    if s.op == "compare_exchange":
        same = _same_bits(printer, s.type, old, values[0])
        lines.append(f"if ({same}) *{p} = {values[1]};")
    elif s.op != "load":
        value = printer.temporary("v")
        new = printer.temporary("new")
        lines.append(f"const {printer.type(s.type)} {value} = {values[0]};")
        outcome = ir.outcome(s.op, ir.Var(old, s.type), ir.Var(value, s.type), s.type)
        lines.append(f"const {printer.type(s.type)} {new} = {printer.expr(outcome)};")
        lines.append(f"*{p} = {new};")
    if name is not None:
        lines.append(f"{name} = {new if s.fetch == 'new' else old};")
    return ["{ " + " ".join(lines) + " }"]


def _same_bits(printer: ExpressionPrinter, t: Scalar, a: str, b: str) -> str:
    """Expression: whether two variables or constants are bitwise equal."""
    if t.kind == "c":
        part = Scalar("float32" if t.name == "complex64" else "float64")
        pairs = [_same_bits(printer, part, f"{a}.{p}", f"{b}.{p}") for p in ("re", "im")]
        return f"({' && '.join(pairs)})"
    if t.is_float:
        form = printer.dialect.bits[f"from {t.name}"]
        return f"({form.format(a)} == {form.format(b)})"
    return f"({a} == {b})"


def _cas_function(printer: ExpressionPrinter, s: ir.Atomic, space: str, word: str) -> str:
    """A compare-and-swap loop for an operation without an instruction on the device."""
    dialect, t = printer.dialect, s.type
    name = f"_atomic_{s.op}_{SHORT[t.name]}_{s.fetch}{_space_suffix(dialect, space)}"
    if name in printer.prelude.functions:
        return name
    kind, bits = printer.type(t), dialect.types[word]
    swap = dialect.atomics["compare_exchange", word].format(p="w", e="seen", v="wanted")
    old, value = ir.Var("old", t), ir.Var("value", t)
    values = [] if s.op == "load" else [f"{kind} value"]
    if s.op == "compare_exchange":
        values = [f"{kind} expected", f"{kind} value"]
    head = f"{kind} {name}({', '.join([f'{space}{printer.stored(t)} *p', *values])}) {{"
    body = [f"volatile {space}{bits} *w = (volatile {space}{bits} *)p;"]
    to, from_ = _bits(printer, t, word)
    if s.op == "load":
        body += [f"const {bits} seen = {_seen(dialect, word)};", f"return {from_('seen')};"]
    elif s.op == "compare_exchange":
        body += [
            f"const {bits} seen = {to('expected')}, wanted = {to('value')};",
            f"return {from_(swap)};" if t.kind != "c" else f"const {bits} found = {swap};",
        ]
        if t.kind == "c":
            body.append(f"return {from_('found')};")
    else:
        outcome = printer.expr(ir.outcome(s.op, old, value, t))
        stop = ""
        if s.op in ("min", "max"):  # no write if the value does not change
            stop = "if (next == seen) break; "
        result = "new_" if s.fetch == "new" else "old"
        body += [
            f"{bits} seen = {_seen(dialect, word)}, found, wanted; {kind} old, new_;",
            "while (true) {",
            f"    old = {from_('seen')}; new_ = {outcome}; wanted = {to('new_')};",
            f"    {stop.replace('next', 'wanted')}found = {swap};",
            "    if (found == seen) break;",
            "    seen = found;",
            "}",
            f"return {result};",
        ]
    text = "\n    ".join([head, *body])
    printer.prelude.functions[name] = f"{dialect.syntax.function} {text}\n}}"
    return name


def _bits(printer: ExpressionPrinter, t: Scalar, word: str):  # type: ignore[no-untyped-def]
    """Forms that convert an element to its bits, and back."""
    dialect = printer.dialect
    bits = dialect.types[word]
    if t.is_float:
        to, back = dialect.bits[f"from {t.name}"], dialect.bits[f"to {t.name}"]
        return to.format, back.format
    if t.kind == "c":
        make, as_bits = printer.prelude.use("make", t), dialect.bits["from float32"]
        back = dialect.bits["to float32"]

        def to_bits(z: str) -> str:
            low, high = as_bits.format(f"{z}.re"), as_bits.format(f"{z}.im")
            return f"(({bits}){low} | (({bits}){high} << 32))"

        def from_bits(w: str) -> str:
            parts = [back.format(f"({dialect.types['uint32']})({w}{s})") for s in ("", " >> 32")]
            return f"{make}({', '.join(parts)})"

        return to_bits, from_bits
    kind = printer.type(t)
    return (lambda v: f"(({bits}){v})"), (lambda w: f"(({kind}){w})")


def _parts(
    printer: ExpressionPrinter,
    s: ir.Atomic,
    place: str,
    values: list[str],
    name: str | None,
    space: str,
) -> list[str]:
    """Elements without compare-and-swap: bytes and shorts, and complex128."""
    t = s.type
    if t.name == "complex128" and not s.indivisible:
        part = Scalar("float64")
        own = ir.Atomic(None, s.op, s.view, (), part, ())
        function = _cas_function(printer, own, space, "uint64")
        value, p = printer.temporary("z"), printer.temporary("p")
        kind = printer.type(part)
        return [
            f"{{ const {printer.type(t)} {value} = {values[0]}; "
            f"{space}{kind} *{p} = ({space}{kind} *)({place}); "
            f"{function}({p}, {value}.re); {function}({p} + 1, {value}.im); }}"
        ]
    if t.itemsize < 4:
        function = _narrow_cas_function(printer, s, space)
        call = f"{function}({', '.join([place, *values])})"
        return [f"{call};" if name is None else f"{name} = {call};"]
    raise AssertionError(f"an atomic operation on {t} is refused before it is printed")


def _narrow_cas_function(printer: ExpressionPrinter, s: ir.Atomic, space: str) -> str:
    """An operation on a byte or short: by compare-and-swap of the four bytes around it."""
    dialect, t = printer.dialect, s.type
    name = f"_atomic_{s.op}_{SHORT[t.name]}_{s.fetch}{_space_suffix(dialect, space)}"
    if name in printer.prelude.functions:
        return name
    kind, stored = printer.type(t), printer.stored(t)
    word = dialect.types["uint32"]
    address = dialect.types["uint64"]
    mask = (1 << (8 * t.itemsize)) - 1
    unsigned = dialect.types[f"uint{8 * t.itemsize}"]
    swap = dialect.atomics["compare_exchange", "uint32"].format(p="w", e="seen", v="wanted")
    values = [] if s.op == "load" else [f"{kind} value"]
    if s.op == "compare_exchange":
        values = [f"{kind} expected", f"{kind} value"]
    back = f"({kind})(({unsigned})(seen >> shift))"
    to = f"({word})({unsigned})new_"
    if t == BOOL:
        back = f"(({unsigned})(seen >> shift) != 0)"
    elif t.is_float:
        back = dialect.bits[f"to {t.name}"].format(f"({unsigned})(seen >> shift)")
        to = f"({word}){dialect.bits[f'from {t.name}'].format('new_')}"
    if s.op == "load":
        outcome = "old"
    elif s.op == "compare_exchange":
        outcome = f"{_same_bits(printer, t, 'old', 'expected')} ? value : old"
    else:
        outcome = printer.expr(ir.outcome(s.op, ir.Var("old", t), ir.Var("value", t), t))
    result = "new_" if s.fetch == "new" else "old"
    text = f"""{kind} {name}({", ".join([f"{space}{stored} *p", *values])}) {{
    const {address} at = ({address})p;
    volatile {space}{word} *w = (volatile {space}{word} *)(at & ~({address})3);
    const int shift = 8 * (int)(at & 3);
    {word} seen = {_seen(dialect, "uint32")}, found, wanted; {kind} old, new_;
    while (true) {{
        old = {back}; new_ = {outcome};
        wanted = (seen & ~(({word}){mask}U << shift)) | (({to}) << shift);
        found = {swap};
        if (found == seen) break;
        seen = found;
    }}
    return {result};
}}"""
    printer.prelude.functions[name] = f"{dialect.syntax.function} {text}"
    return name
