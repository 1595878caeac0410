"""The printer of LLVM IR: statements and functions of a module, for hosts.

Variables that change are places on the stack, which LLVM turns into registers first of all.
"""

from __future__ import annotations

from ... import ir
from ...analysis.extents import extents_used
from ...analysis.invariants import deep_loops
from ...ir import STATUS
from ...ir.types import FLOAT64, Pointer, Scalar, Vector, ViewTy, flat_scalars
from ..lane_bits import lane_bits
from . import memory
from .emitter import ModuleText
from .expressions import Expressions
from .loops import failures, in_order, independent_loop, range_loop
from .masks import is_mask, word_type
from .operations import cast
from .spelling import (
    Value,
    constant,
    local,
    parts,
    result_type,
    stored,
    symbol,
    type_of,
)
from .vector_math import NO_VECTORS, VectorMath


class LlvmPrinter:
    """Prints the functions of a module; `text` has what they need besides.

    Functions in `outlined` are called from several places, and compiled once.
    """

    def __init__(
        self,
        module: ir.Module,
        outlined: frozenset[str] = frozenset(),
        target: VectorMath = NO_VECTORS,
    ) -> None:
        self.module = module
        self.outlined = outlined
        self.text = ModuleText(target)
        self.extents = extents_used(module.functions)
        self.functions = {f.name: f for f in module.functions}
        last = [f for f in module.functions if not f.entry][-1]
        self.bodies = [f for f in module.functions if f.name in module.parts] or [last]
        own = "avx512vl" in target.features  # masks have registers of their own
        self.mask_bits = 0 if own else lane_bits(module.functions)
        self.deep: set[int] = set()
        for body in self.bodies:
            marked = frozenset(self.scoped_views(body)) if module.disjoint else frozenset()
            self.deep |= deep_loops(module.functions, body, marked)

    def source(self) -> list[str]:
        """Lines of all functions, without what they need besides."""
        lines: list[str] = []
        for f in self.module.functions:
            lines += [*FunctionPrinter(self, f).lines(), ""]
        return lines

    def flags(self, strict: bool = False) -> str:
        """Fast-math flags of a function's arithmetic."""
        if strict:
            return ""
        return "fast " if self.module.fastmath else "contract " if self.module.fma else ""

    def scoped_views(self, f: ir.Function) -> list[str]:
        """Views of the kernel with an alias scope; helpers have none, since Views may be passed
        twice."""
        if f.entry or f not in self.bodies or not self.module.disjoint:
            return []
        return [
            p.name
            for p in f.parameters
            if isinstance(p.type, ViewTy) and isinstance(p.type.element, Scalar)
        ]


class FunctionPrinter(Expressions):
    """Writes a function."""

    def __init__(self, printer: LlvmPrinter, f: ir.Function) -> None:
        super().__init__(
            printer.text, printer.functions, printer.extents, printer.flags(f.strict),
            printer.mask_bits,
        )  # fmt: skip
        self.printer = printer
        self.f = f
        self.exits: list[tuple[str, str]] = []  # of enclosing loops: where to leave, to go on
        self.has_vectors = any(isinstance(t, Vector) for t in f.locals.values())

    def lines(self) -> list[str]:
        """Lines of the function."""
        f = self.f
        parameters = self.parameters()
        self.variables()
        if f.external is not None:
            self.outside(f.external)
        self.block_of(f.body)
        if self.block:
            if f.result is None:
                self.ret("void")
            else:
                self.do("unreachable")
        # The body and its helpers must be inlined into the loops, or these are not vectorised.
        inline = "" if f.entry else " alwaysinline"
        if f.name in self.printer.outlined:
            inline = " noinline"
        head = f"define internal {result_type(f.result)} {symbol(f.name)}({', '.join(parameters)})"
        return [f"{head} nounwind{inline} {{", "entry:", *self.entry, *self.body, "}"]

    def parameters(self) -> list[str]:
        """Declarations of the parameters; what stands for them in the function is set up."""
        f = self.f
        changed = {n for s in ir.walk_statements(f.body) for n in ir.names_set(s)}
        scopes = memory.view_scopes(self, self.printer.scoped_views(f))
        out: list[str] = []
        for p in f.parameters:
            name = local(p.name)
            if isinstance(p.type, ViewTy):
                extents = p.name in self.extents[f.name]
                if f.entry:
                    out.append(f"ptr {name}")
                    self.views[p.name] = memory.unpacked(self, name, p.type, extents)
                else:
                    view = memory.ViewParts(scope=scopes.get(p.name, ""))
                    for part in memory.parts_of(p.type, extents):
                        view.values[part] = local(f"{p.name}.{part}")
                        out.append(f"{memory.part_type(part)} {view.values[part]}")
                    self.views[p.name] = view
            elif isinstance(p.type, Pointer):
                out.append(f"ptr {name}")
                self.pointers[p.name] = name
            else:
                assert isinstance(p.type, Scalar)
                kinds = parts(p.type)
                names = (
                    [name] if len(kinds) == 1 else [local(f"{p.name}.{w}") for w in ("re", "im")]
                )
                out += [f"{type_of(t)} {n}" for t, n in zip(kinds, names, strict=True)]
                value: Value = names[0] if len(names) == 1 else (names[0], names[1])
                if p.name in changed:
                    self.declare_variable(p.name, p.type)
                    self.assign(p.name, value, p.type)
                else:
                    self.values[p.name] = value
        return out

    def declare_variable(self, name: str, t: Scalar) -> None:
        """Places on the stack for a variable."""
        self.slots[name] = tuple(self.slot(self.slot_type(p)) for p in parts(t))

    def slot_type(self, t: Scalar) -> str:
        """Type of a place on the stack."""
        if self.mask_bits and isinstance(t, Vector) and is_mask(t):
            return word_type(t, self.mask_bits)
        return type_of(t)

    def variables(self) -> None:
        """Set up local variables; numbers are zero at first."""
        for name, t in self.f.locals.items():
            if isinstance(t, Scalar):
                if name in self.slots:
                    continue
                self.values.pop(name, None)
                self.declare_variable(name, t)
                for p, slot in zip(parts(t), self.slots[name], strict=True):
                    zero = "zeroinitializer" if isinstance(p, Vector) else constant(0, p)
                    self.do(f"store {self.slot_type(p)} {zero}, ptr {slot}")
            elif t.shape is not None:
                self.views[name] = memory.local_array(self, t)
            else:
                view = memory.ViewParts()
                extents = [f"n{d}" for d in range(t.rank)]
                for part in dict.fromkeys([*memory.parts_of(t, True), *extents]):
                    view.slots[part] = self.slot(memory.part_type(part))
                self.views[name] = view

    def outside(self, external: ir.External) -> None:
        """Call the code that the function stands for, which is linked by the function's name."""
        kinds, given = [], []
        for p, t in zip(self.f.parameters, map(Scalar, external.parameters), strict=True):
            value = self.number(p)
            if t.name == "bool":
                value = self.op(f"zext i1 {value} to i8")
            kinds.append(f"{stored(t)}{_extended(t)}")
            given.append(f"{kinds[-1]} {value}")
        result = None if external.result is None else Scalar(external.result)
        kind = "void" if result is None else f"{_extended(result)} {stored(result)}".strip()
        symbol = self.module.declare(outside_symbol(self.f), kind, ", ".join(kinds))
        if result is None:
            self.do(f"call void {symbol}({', '.join(given)})")
            return
        found = self.op(f"call {kind} {symbol}({', '.join(given)})")
        if result.name == "bool":
            found = self.op(f"icmp ne i8 {found}, 0")
        self.ret(f"{type_of(result)} {found}")

    # -- statements -----------------------------------------------------------------------------

    def block_of(self, body: tuple[ir.Stmt, ...]) -> None:
        """Write statements, up to the first after which nothing else runs."""
        done = 0
        for n, s in enumerate(body):
            if not self.block:
                return
            if n >= done and self.has_vectors and isinstance(s, ir.Store | ir.If):
                from .vector_memory import store  # loaded by kernels with vectors

                done = n + store(self, self.expr, self.views, body, n)
            if n >= done:
                self.statement(s)

    def statement(self, s: ir.Stmt) -> None:
        """Write a statement."""
        match s:
            case ir.Assign():
                t = s.value.type
                assert isinstance(t, Scalar)
                if self.mask_bits and is_mask(t):
                    self.assign_mask(s.name, s.value)
                else:
                    self.assign(s.name, self.expr(s.value), t)
            case ir.Unpack():
                self.unpack(s)
            case ir.Store():
                self.store(s)
            case ir.StoreAt():
                assert isinstance(s.pointer.type, Pointer)
                value = self.expr(s.value)
                at = self.entry_of(s.pointer, s.index)
                memory.store(self, at, s.pointer.type.element, value)
            case ir.Atomic():
                address, _ = memory.place(self, self.expr, self.views[s.view.name], s)
                from .atomics import atomic  # loaded by kernels that have any

                found = atomic(self, self.expr, s, address)
                if s.name is not None:
                    assert found is not None
                    self.assign(s.name, found, s.type)
            case ir.Clear():
                assert isinstance(s.array.type, ViewTy)
                pointer = self.views[s.array.name].part(self, "p")
                memory.clear(self, pointer, memory.array_bytes(s.array.type))
            case ir.Fail():
                self.fail(s)
            case ir.Print():
                self.print(s)
            case ir.Evaluate():
                if isinstance(s.value, ir.Call):
                    self.call(s.value)
            case ir.If():
                self.choice(s)
            case ir.Failures():
                for name, found in zip(s.names, failures(self, s, self.is_deep(s)), strict=True):
                    kind = "i1" if len(s.names) == 1 else "i64"
                    self.do(f"store {kind} {found}, ptr {self.slots[name][0]}")
            case ir.For() if s.independent and not self.is_deep(s):
                independent_loop(self, s)
            case ir.For():
                self.for_loop(s)
            case ir.While():
                self.while_loop(s)
            case ir.Carve():
                base = self.pointers[s.pool.name]
                memory.carve(self, self.expr, self.views[s.view.name], base, s)
            case ir.Pool():
                size = self.number(s.nbytes)
                allocate, release = map(self.module.library, ("allocate", "release"))
                self.pointers[s.pointer.name] = self.op(f"call ptr {allocate}(i64 {size})")
                self.block_of(s.body)
                self.do(f"call void {release}(ptr {self.pointers[s.pointer.name]})")
            case ir.Break():
                self.jump(self.exits[-1][0])
            case ir.Continue():
                self.jump(self.exits[-1][1])
            case ir.Return():
                self.result(s)
            case _:
                raise AssertionError(f"statement {type(s).__name__} has no spelling in LLVM IR")

    def is_deep(self, s: ir.Stmt) -> bool:
        """Whether LLVM must not vectorise a loop (analysis/invariants.py)."""
        return id(s) in self.printer.deep

    def unpack(self, s: ir.Unpack) -> None:
        """Set several variables to the results of a call."""
        f = self.functions[s.value.function]
        found = self.fields(self.call(s.value), self.result_kinds(f.name))
        rest = iter(found)
        for name, t in zip(s.names, flat_scalars(f.result), strict=True):
            values = [next(rest) for _ in parts(t)]
            self.assign(name, values[0] if len(values) == 1 else (values[0], values[1]), t)

    def store(self, s: ir.Store) -> None:
        """Assignment to an element of a View; as in Python, the value is computed first."""
        t = s.value.type
        assert isinstance(t, Scalar)
        view = self.views[s.view.name]
        if isinstance(t, Vector):
            from .lane_memory import store as store_lanes  # loaded by kernels in lanes

            store_lanes(self, self.expr, view, s)
            return
        value = self.expr(s.value)
        address, align = memory.place(self, self.expr, view, s)
        memory.store(self, address, t, value, align or view.scope)

    def choice(self, s: ir.If) -> None:
        """A conditional statement."""
        test = self.number(s.test)
        then, after = self.label("if"), self.label("endif")
        orelse = self.label("else") if s.orelse else after
        weights = self.module.node('!"branch_weights"', "i32 1", "i32 1000") if s.rare else ""
        self.branch(test, then, orelse, f", !prof {weights}" if weights else "")
        self.start(then)
        self.block_of(s.body)
        goes_on = bool(self.block) or not s.orelse
        self.jump(after)
        if s.orelse:
            self.start(orelse)
            self.block_of(s.orelse)
            goes_on |= bool(self.block)
            self.jump(after)
        if goes_on:
            self.start(after)

    def for_loop(self, s: ir.For) -> None:
        """A loop over a range; the body may assign the variable."""

        def body(index: str, leave: str, again: str) -> None:
            if self.is_deep(s):
                in_order(self)
            self.do(f"store i64 {index}, ptr {self.slots[s.name][0]}")
            self.exits.append((leave, again))
            self.block_of(s.body)
            self.exits.pop()

        range_loop(self, s, body)

    def while_loop(self, s: ir.While) -> None:
        """A loop while a test holds."""
        head, inside, after = (self.label(w) for w in ("while", "body", "done"))
        self.jump(head)
        self.start(head)
        self.test(s.test, inside, after)
        self.start(inside)
        if self.is_deep(s):
            in_order(self)
        self.exits.append((after, head))
        self.block_of(s.body)
        self.exits.pop()
        self.jump(head)
        self.start(after)

    def result(self, s: ir.Return) -> None:
        """Return from the function."""
        if s.value is None:
            self.ret("void")
            return
        given = s.value if isinstance(s.value, tuple) else (s.value,)
        values: list[str] = []
        for v in given:
            found = self.expr(v)
            values += found if isinstance(found, tuple) else (found,)
        kinds = self.result_kinds(self.f.name)
        if not kinds:
            self.ret("void")
        elif len(kinds) == 1:
            self.ret(f"{kinds[0]} {values[0]}")
        else:
            self.ret(f"{result_type(self.f.result)} {self.struct(values, kinds)}")

    # -- messages to the host -------------------------------------------------------------------

    def fail(self, s: ir.Fail) -> None:
        """Record the first failure of a launch: its number, then the indices."""
        status = self.pointers[STATUS]
        code = self.number(s.code)
        pair = self.op(f"cmpxchg ptr {status}, i64 0, i64 {code} acq_rel monotonic")
        first, after = self.label("first"), self.label("failed")
        self.branch(self.op(f"extractvalue {{ i64, i1 }} {pair}, 1"), first, after)
        self.start(first)
        for n, i in enumerate(s.indices):
            at = self.op(f"getelementptr i64, ptr {status}, i64 {1 + n}")
            self.do(f"store i64 {self.number(i)}, ptr {at}")
        self.jump(after)
        self.start(after)

    def print(self, s: ir.Print) -> None:
        """C's printf; integers have 64 bits, except that %c takes an int."""
        text, given = "", ""
        for part in s.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
                continue
            conversion, x = part
            length = "" if conversion[-1] in "eEfFgGc" else "ll"
            text += conversion[:-1] + length + conversion[-1]
            given += f", {self.printed(x, conversion[-1])}"
        printf = self.module.declare("printf", "i32", "ptr, ...")
        self.op(f"call i32 (ptr, ...) {printf}(ptr {self.module.string(text)}{given})")

    def printed(self, x: ir.Expr, conversion: str) -> str:
        """An argument of printf, with its type."""
        v, t = self.number(x), x.type
        assert isinstance(t, Scalar)
        if t.is_float:
            return f"double {cast(self, v, t, FLOAT64)}"
        bits = 32 if conversion == "c" else 64
        if t.name != "bool" and t.bits >= bits:
            return (
                f"i{bits} {v if t.bits == bits else self.op(f'trunc {type_of(t)} {v} to i{bits}')}"
            )
        extend = "sext" if t.kind == "i" else "zext"
        return f"i{bits} {self.op(f'{extend} {type_of(t)} {v} to i{bits}')}"


def outside_symbol(f: ir.Function) -> str:
    """Name by which the code is linked that a function stands for."""
    return f"outside.{f.name}"


def _extended(t: Scalar) -> str:
    """How C's calling convention extends a parameter or a result that is narrow."""
    if t.is_float or t.bits >= 32:
        return ""
    return " signext" if t.kind == "i" else " zeroext"
