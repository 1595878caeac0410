"""The printer that OpenCL, CUDA, HIP and C share: statements and functions of IR as C.

Lines carry the location in the user's source that they come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

from ... import ir
from ...analysis.unrolling import loops_of_registers
from ...ir import STATUS
from ...ir.types import INT64, Pointer, Record, Scalar, TupleTy, Vector, ViewTy
from ..lines import Line
from .accesses import bytewise, whole_complex
from .atomics import atomic_lines
from .spelling import c_string, joined_variable, used_variables
from .teams import scratch_declarations, team_lines
from .vector_expressions import VectorExpressionPrinter

_MOST = 2**63 - 1
_WORD = 4  # bytes of a register
_ONCE = 16  # bytes of a pack that is moved past caches


class CPrinter(VectorExpressionPrinter):
    """Prints the functions of a module in a dialect."""

    @cached_property
    def in_registers(self) -> frozenset[int]:
        """Loops to unroll, if the dialect has a line for it."""
        functions = self.module.functions if self.dialect.pragmas.unrolled else ()
        return loops_of_registers(functions)

    # -- statements -----------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        """Lines of a body."""
        pad = "    " * depth
        out: list[str] = []
        for s in body:
            lines: list[str]
            match s:
                case ir.If():
                    out.append(Line(f"{pad}if ({self.expr(s.test)}) {{", s.loc))
                    out += self.block(s.body, depth + 1)
                    if s.orelse:
                        out.append(f"{pad}}} else {{")
                        out += self.block(s.orelse, depth + 1)
                    out.append(f"{pad}}}")
                    continue
                case ir.For():
                    out += self.loop(s, depth)
                    continue
                case ir.While():
                    out += self.in_order(s, pad)
                    out += self.rolled(s.rolled)
                    out.append(Line(f"{pad}while ({self.expr(s.test)}) {{", s.loc))
                    out += [*self.block(s.body, depth + 1), f"{pad}}}"]
                    continue
                case ir.Atomic():
                    lines = atomic_lines(self, s)
                case _ if isinstance(s, ir.TeamStmt):
                    lines = team_lines(self, s)
                case _:
                    lines = self.simple(s)
            out += [Line(pad + line, s.loc) for line in lines]
        return out

    def simple(self, s: ir.Stmt) -> list[str]:
        """Lines of a statement without nested ones."""
        match s:
            case ir.Assign():
                return [f"{self.identifier(s.name)} = {self.expr(s.value)};"]
            case ir.Unpack():
                held = self.temporary("r")
                kind = self.result_type(self.functions[s.value.function].result)
                lines = [f"const {kind} {held} = {self.expr(s.value)};"]
                names = map(self.identifier, s.names)
                return lines + [f"{name} = {held}.f{n};" for n, name in enumerate(names)]
            case ir.Store():
                if isinstance(s.value.type, Vector):
                    return [self.vector_memory.store(s)]
                return [self.store(s)]
            case ir.StoreAt():
                pointer = self.identifier(s.pointer.name)
                return [f"{pointer}[{self.expr(s.index)}] = {self.expr(s.value)};"]
            case ir.Packed():
                return self.packed(s)
            case ir.Clear():
                assert isinstance(s.array.type, ViewTy)
                n, name = self.temporary("n"), self.identifier(s.array.name)
                size = array_length(s.array.type)
                zero = "0"
                if isinstance(s.array.type.element, Scalar):
                    zero = self.const(ir.Const(0, s.array.type.element))
                return [f"for (int {n} = 0; {n} < {size}; ++{n}) {name}[{n}] = {zero};"]
            case ir.Fail():
                return self.fail(s)
            case ir.Print():
                return [self.print(s)]
            case ir.Evaluate():
                return [f"{self.expr(s.value)};"]
            case ir.Break():
                return ["break;"]
            case ir.Continue():
                return ["continue;"]
            case ir.Return() if isinstance(s.value, tuple):
                types = tuple(v.type for v in s.value)
                held = self.temporary("r")
                lines = [f"{self.result_type(TupleTy(types))} {held};"]
                lines += [f"{held}.f{n} = {self.expr(v)};" for n, v in enumerate(s.value)]
                return [*lines, f"return {held};"]
            case ir.Return():
                if s.value is None:
                    return ["return;"]
                assert not isinstance(s.value, tuple)
                return [f"return {self.expr(s.value)};"]
        raise AssertionError(f"statement {type(s).__name__} has no C spelling")

    def store(self, s: ir.Store) -> str:
        """Assignment to an element of a View."""
        value = self.expr(s.value)
        t = s.value.type
        assert isinstance(t, Scalar)
        if s.byte is not None:
            pointer = self.field(s, t)
            if self.aligned(s):
                return f"*{pointer} = {value};"
            assert isinstance(s.view.type, ViewTy)
            space = self.space(s.view.type)
            return f"{bytewise(self.prelude, 'store', t, space)}({pointer}, {value});"
        place = f"{self.identifier(s.view.name)}[{self.offset(s.view, s.indices)}]"
        if self.is_whole(s.view):
            return f"{whole_complex(self.prelude, 'store', t)}(&{place}, {value});"
        return f"{place} = {value};"

    def packed(self, s: ir.Packed) -> list[str]:
        """One access to the elements of a pack: that of a struct with their alignment."""
        assert isinstance(s.view.type, ViewTy) and isinstance(s.array.type, ViewTy)
        element, count = s.view.type.element, array_length(s.array.type)
        assert isinstance(element, Scalar)
        array, held = self.identifier(s.array.name), self.temporary("pack")
        place = f"{self.identifier(s.view.name)} + ({self.offset(s.view, s.indices)})"
        space = self.space(s.view.type)
        kind = self.pack(element, count)
        if s.store:
            values = [f"{held}.v[{n}] = {array}[{n}];" for n in range(count)]
            put = self.store_pack(element, count, place, held, space, s.nontemporal)
            return [f"{kind} {held};", *values, put]
        once = s.nontemporal or self.is_once(s.view)
        found = self.load_pack(element, count, place, space, once)
        load = f"const {kind} {held} = {found};"
        return [load, *(f"{array}[{n}] = {held}.v[{n}];" for n in range(count))]

    def pack(self, element: Scalar, count: int) -> str:
        """The type of a pack."""
        return self.prelude.pack(element, self.stored(element), count)

    def load_pack(
        self, element: Scalar, count: int, place: str, space: str, nontemporal: bool = False
    ) -> str:
        """Expression: the pack at an address in an address space."""
        kind, form = self.pack(element, count), self.dialect.memory.load_pack
        whole, once = self.prelude.vector(element, count), self.dialect.memory.nontemporal_load
        if nontemporal and once and self._moved_once(element, count):
            return once.format(type=kind, whole=whole, bytes=_ONCE, p=place)
        if form and element.itemsize < _WORD:
            return form.format(type=kind, p=place)
        if whole:
            return f"({kind}){{*(const {space}{whole} *)({place})}}"
        return f"*(const {space}{kind} *)({place})"

    def store_pack(
        self,
        element: Scalar,
        count: int,
        place: str,
        pack: str,
        space: str,
        nontemporal: bool = False,
    ) -> str:
        """Statement that stores a pack."""
        kind, form = self.pack(element, count), self.dialect.memory.store_pack
        once = self.dialect.memory.nontemporal_store
        if nontemporal and once and self._moved_once(element, count):
            return once.format(p=place, v=pack)
        if form and element.itemsize < _WORD:
            return form.format(p=place, v=pack)
        whole = self.prelude.vector(element, count)
        if whole:
            return f"*({space}{whole} *)({place}) = {pack}.whole;"
        return f"*({space}{kind} *)({place}) = {pack};"

    def _moved_once(self, element: Scalar, count: int) -> bool:
        """Whether packs can be moved past caches."""
        least = self.dialect.memory.nontemporal_least
        return element.itemsize * count == _ONCE and element.itemsize >= least

    def fail(self, s: ir.Fail) -> list[str]:
        """Record the first failed assertion of a launch: its number, then the indices."""
        swap = self.dialect.atomics["compare_exchange", "int32"]
        first = swap.format(p=f"(volatile {self.dialect.memory.device}int *){STATUS}", e="0", v="1")
        lines = [f"if ({first} == 0) {{", f"    {STATUS}[1] = {self.expr(s.code)};"]
        lines += [f"    {STATUS}[{2 + n}] = {self.expr(i)};" for n, i in enumerate(s.indices)]
        return [*lines, "}"]

    def print(self, s: ir.Print) -> str:
        """Write text to standard output."""
        text, values = "", ""
        for part in s.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
            else:
                conversion, e = part
                wide = conversion[-1] not in "eEfFgGc"
                text += conversion[:-1] + (self.dialect.printf_long if wide else "")
                text += conversion[-1]
                value = self.expr(e)
                values += f", (int){value}" if conversion[-1] == "c" else f", {value}"
        return f"printf({c_string(text)}{values});"

    def loop(self, s: ir.For, depth: int) -> list[str]:
        """Python's range loop: bounds are evaluated once, and the body may assign the variable."""
        bounds = (s.start.type, s.stop.type, s.step.type)
        short = all(isinstance(t, Scalar) and t.name == "int32" for t in bounds)
        pad, long = "    " * depth, self.dialect.types["int32" if short else "int64"]
        stop, step, count = (self.temporary(w) for w in ("stop", "step", "k"))
        name = self.identifier(s.name)
        before = f"const {long} {stop} = {self.expr(s.stop)};"
        if isinstance(s.step, ir.Const):
            up, by = s.step.value > 0, self.expr(s.step)
            test = f"{count} {'<' if up else '>'} {stop}"
        else:
            before += f" const {long} {step} = {self.expr(s.step)};"
            test = f"{step} > 0 ? {count} < {stop} : {step} < 0 && {count} > {stop}"
            by = step
        start, advance = self.expr(s.start), f"{count} += {by}"
        joined = (
            joined_variable(s, self.module.functions) if self.dialect.pragmas.joining_loop else None
        )
        lead = []
        if joined is not None:
            sign, variable = joined
            lead = [
                self.dialect.pragmas.joining_loop.format(
                    sign=sign, name=self.identifier(variable), own=name
                )
            ]
        elif not short and _may_wrap(s) and (s.loc.line or self.dialect.vector_extensions):
            # Those over the range of a launch have no place in the source.
            advance = f"{count} = {self.next_count(s, count, stop, by)}"
        return [
            Line(f"{pad}{{ {before}", s.loc),
            *lead,
            *self.in_order(s, pad),
            *self.rolled(s.rare),
            *([self.dialect.pragmas.unrolled] if id(s) in self.in_registers else []),
            f"{pad}for ({long} {count} = {start}; {test}; {advance}) {{",
            f"{pad}    {name} = {count};",
            *self.block(s.body, depth + 1),
            f"{pad}}} }}",
        ]

    def next_count(self, s: ir.For, count: str, stop: str, by: str) -> str:
        """The number after one, or where the loop stops if that would be beyond all int64."""
        most, least = (self.const(ir.Const(v, INT64)) for v in (_MOST, -_MOST - 1))
        up = f"{count} > {most} - {by} ? {stop} : {count} + {by}"
        down = f"{count} < {least} - {by} ? {stop} : {count} + {by}"
        if isinstance(s.step, ir.Const):
            return up if s.step.value > 0 else down
        return f"{by} > 0 ? ({up}) : ({down})"

    def rolled(self, chosen: bool) -> list[str]:
        """The line before a loop that compilers need not unroll, if one was chosen."""
        line = self.dialect.pragmas.rolled
        return [line] if line and chosen else []

    def in_order(self, s: ir.For | ir.While, pad: str) -> list[str]:
        """The line before a loop whose iterations must not be reordered."""
        line = self.dialect.pragmas.loop_in_order
        return [pad + line] if line and id(s) in self.dependent else []

    # -- functions ------------------------------------------------------------------------------

    def parameters(self, f: ir.Function) -> list[str]:
        """Declarations of a function's parameters."""
        out: list[str] = []
        for p in f.parameters:
            if isinstance(p.type, ViewTy):
                out += [declaration for declaration, _ in self.components(f.name, p)]
            elif isinstance(p.type, Pointer):
                element = self.stored(p.type.element)
                d = self.dialect
                space = d.memory.group if p.type.group else d.memory.device
                out.append(f"{space}{element} *{self.identifier(p.name)}")
            else:
                assert isinstance(p.type, Scalar)
                out.append(f"{self.type(p.type)} {self.identifier(p.name)}")
        return out

    def function(self, f: ir.Function) -> list[str]:
        """Lines of a function."""
        self.prelude.strict = f.strict
        before, kind = self.dialect.syntax.function, self.result_type(f.result)
        head = f"{before} {kind} {self.function_name(f.name)}"
        lines: list[str] = [Line(f"{head}({', '.join(self.parameters(f))}) {{", f.loc)]
        if f.strict:
            lines.append(self.dialect.pragmas.no_contraction_here)
        used = used_variables(f)
        for name, t in f.locals.items():
            if name not in used:
                continue
            if isinstance(t, Scalar):
                zero = self.const(ir.Const(0, t))
                lines.append(f"    {self.type(t)} {self.identifier(name)} = {zero};")
            elif t.shape is not None:
                lines.append(f"    {self.array(name, t)};")
        lines += [f"    {line}" for line in scratch_declarations(self, f)]
        lines += [*self.block(f.body, 1), "}"]
        self.prelude.strict = False
        return lines

    def in_group(self, type: str, name: str, extents: str = "", aligned: bool = False) -> str:
        """Declaration of a variable that a work-group shares."""
        memory = self.dialect.memory
        more = " __attribute__((aligned(16)))" if aligned and not memory.aligned else ""
        return memory.group_variable.format(type=type, name=name, extents=extents + more)

    def array(self, name: str, t: ViewTy) -> str:
        """Declaration of a local array."""
        kind = self.dialect.types["uint8"]
        if isinstance(t.element, Scalar):
            kind = self.stored(t.element)
        place = f"{self.identifier(name)}[{max(array_length(t), 1)}]"
        if isinstance(t.element, Scalar):
            return f"{kind} {place}"
        return f"{kind} {place} __attribute__((aligned(16)))"  # it holds numbers of any type

    def source(self, entries: Callable[[CPrinter], list[str]]) -> list[str]:
        """Lines of a file: head and prelude, the functions, and the kernels from `entries`."""
        body: list[str] = []
        for f in self.module.functions:
            body += [*self.function(f), ""]
        body += entries(self)
        structs = [*self.prelude.structs.values(), *self.tuples.values()]
        before = [*structs, *self.prelude.functions.values(), ""]
        head = self.dialect.heads.of("\n".join([*before, *body]), self.prelude.float16)
        if not self.module.fma:
            head += self.dialect.pragmas.no_contraction
        return [*"\n".join([head, *before]).split("\n"), *body]


def _may_wrap(s: ir.For) -> bool:
    """Whether the number after the last one of a loop may be beyond all int64."""
    if not isinstance(s.step, ir.Const):
        return True
    ends = isinstance(s.stop, ir.Const) and abs(s.stop.value) + abs(s.step.value) <= _MOST
    return abs(s.step.value) > 1 and not ends


def array_length(t: ViewTy) -> int:
    """Entries of a local array: its elements, or the bytes of its records; for all lanes."""
    size = math.prod(t.shape or ()) * t.lanes
    return size * t.element.itemsize if isinstance(t.element, Record) else size
