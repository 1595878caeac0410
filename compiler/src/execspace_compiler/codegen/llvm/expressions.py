"""Expressions of typed IR as instructions of a function: variables, loads, choices, calls."""

from __future__ import annotations

from collections.abc import Mapping

from ... import ir
from ...ir.types import Pointer, Scalar, TupleTy, Vector, ViewTy, flat_scalars
from .emitter import Emitter, ModuleText
from .masks import from_word, is_mask, reduced, to_word, word_type, written_word
from .memory import ViewParts, load, offset, part_type, parts_of, place
from .operations import operation
from .spelling import Value, constant, part_of, parts, result_type, symbol, type_of

# Operations that are cheap and cannot go wrong, so that both sides of a choice may be computed.
_CHEAP = frozenset((
    "add", "sub", "mul", "neg", "bitand", "bitor", "bitxor", "invert", "not", "and", "or", "lt",
    "le", "gt", "ge", "eq", "ne", "cast", "bit_cast", "min", "max", "minimum", "maximum", "abs",
    "bounded", "isnan", "real", "imag", "conj",
))  # fmt: skip
_FEW = 8


class Expressions(Emitter):
    """Writes expressions.

    Attributes
    ----------
    values : dict
        Variables that do not change -> their values.
    slots : dict
        Other variables -> their places on the stack, one for each part of a complex number.
    views : dict
        Views and local arrays.
    pointers : dict
        Rows of scalars.
    mask_bits : int
        Of a lane of masks in variables; 0 if these are masks of LLVM.
    """

    def __init__(
        self,
        module: ModuleText,
        functions: Mapping[str, ir.Function],
        extents: Mapping[str, frozenset[str]],
        flags: str = "",
        mask_bits: int = 0,
    ) -> None:
        super().__init__(module, flags)
        self.mask_bits = mask_bits
        self.functions = functions
        self.extents = extents
        self.values: dict[str, Value] = {}
        self.slots: dict[str, tuple[str, ...]] = {}
        self.views: dict[str, ViewParts] = {}
        self.pointers: dict[str, str] = {}

    def expr(self, x: ir.Expr) -> Value:
        """Write an expression; returns its value."""
        match x:
            case ir.Const():
                return self.const(x)
            case ir.Var():
                return self.variable(x)
            case ir.Op() if x.op in ("and", "or"):
                return self.logical(x)
            case ir.Op("pack"):
                from .vector_memory import pack  # loaded by kernels with vectors

                return pack(self, self.expr, self.views, x)
            case ir.Op("any" | "all", (ir.Var() as mask,)) if self.mask_bits:
                return reduced(self, x.op, self.held_mask(mask), mask, self.mask_bits)
            case ir.Op():
                return operation(self, x, [self.expr(a) for a in x.args])
            case ir.Select():
                return self.select(x)
            case ir.Load() if isinstance(x.type, Vector):
                from .lane_memory import load as load_lanes  # loaded by kernels in lanes

                return load_lanes(self, self.expr, self.views[x.view.name], x)
            case ir.Load():
                assert isinstance(x.view.type, ViewTy)
                view = self.views[x.view.name]
                address, align = place(self, self.expr, view, x)
                return load(self, address, x.type, align or view.scope)
            case ir.LoadAt():
                return load(self, self.entry_of(x.pointer, x.index), x.type)
            case ir.Extent():
                return self.extent(x)
            case ir.Beyond():
                return self.beyond(x)
            case ir.Call():
                found = self.call(x)
                kinds = self.result_kinds(x.function)
                if len(kinds) == 2:
                    re, im = self.fields(found, kinds)
                    return re, im
                return found

    def number(self, x: ir.Expr) -> str:
        """Write an expression that is a real number."""
        found = self.expr(x)
        assert isinstance(found, str)
        return found

    def const(self, x: ir.Const) -> Value:
        """A constant of its type."""
        if x.type.kind == "c":
            z, real = complex(x.value), part_of(x.type)
            return constant(z.real, real), constant(z.imag, real)
        return constant(x.value, x.type)

    def variable(self, x: ir.Var) -> Value:
        """A variable, as it is now."""
        slots = self.slots.get(x.name)
        if slots is None:
            return self.values[x.name]
        assert isinstance(x.type, Scalar)
        if self.mask_bits and isinstance(x.type, Vector) and is_mask(x.type):
            return from_word(self, self.held_mask(x), x.type, self.mask_bits)
        found = [
            self.op(f"load {type_of(t)}, ptr {slot}")
            for t, slot in zip(parts(x.type), slots, strict=True)
        ]
        return found[0] if len(found) == 1 else (found[0], found[1])

    def held_mask(self, x: ir.Expr) -> str:
        """A mask as variables hold it."""
        assert isinstance(x, ir.Var) and isinstance(x.type, Vector)
        if x.name not in self.slots:
            value = self.values[x.name]
            assert isinstance(value, str)
            return to_word(self, value, x.type, self.mask_bits)
        return self.op(f"load {word_type(x.type, self.mask_bits)}, ptr {self.slots[x.name][0]}")

    def assign_mask(self, name: str, value: ir.Expr) -> None:
        """Set a variable that is a mask."""
        assert isinstance(value.type, Vector)
        word = written_word(self, self.expr, self.held_mask, value, self.mask_bits)
        self._hold_mask(name, word, value.type)

    def _hold_mask(self, name: str, word: str, t: Vector) -> None:
        self.do(f"store {word_type(t, self.mask_bits)} {word}, ptr {self.slots[name][0]}")

    def assign(self, name: str, value: Value, t: Scalar) -> None:
        """Set a variable."""
        if self.mask_bits and isinstance(t, Vector) and is_mask(t):
            assert isinstance(value, str)
            self._hold_mask(name, to_word(self, value, t, self.mask_bits), t)
            return
        values = value if isinstance(value, tuple) else (value,)
        for part, v, slot in zip(parts(t), values, self.slots[name], strict=True):
            self.do(f"store {type_of(part)} {v}, ptr {slot}")

    def beyond(self, x: ir.Beyond) -> str:
        """By how many elements an address is beyond a multiple."""
        assert isinstance(x.view.type, ViewTy)
        view, size = self.views[x.view.name], x.view.type.element.itemsize
        at = offset(self, self.expr, view, x.view.type, x.indices)
        step = self.op(f"mul i64 {at}, {size}")
        address = self.op(f"ptrtoint ptr {view.part(self, 'p')} to i64")
        element = self.op(f"udiv i64 {self.op(f'add i64 {address}, {step}')}, {size}")
        return self.op(f"urem i64 {element}, {x.count}")

    def extent(self, x: ir.Extent) -> str:
        """An extent of a View."""
        assert isinstance(x.view.type, ViewTy)
        if x.view.type.shape is not None:
            return str(x.view.type.shape[x.dimension])
        return self.views[x.view.name].part(self, f"n{x.dimension}")

    def entry_of(self, pointer: ir.Var, index: ir.Expr) -> str:
        """Address of an entry of a row of scalars."""
        assert isinstance(pointer.type, Pointer)
        at = self.number(index)
        nbytes = pointer.type.element.itemsize
        at = self.op(f"mul nsw i64 {at}, {nbytes}") if nbytes > 1 else at
        return self.op(f"getelementptr inbounds i8, ptr {self.pointers[pointer.name]}, i64 {at}")

    # -- choices --------------------------------------------------------------------------------

    def logical(self, x: ir.Op) -> str:
        """`and` and `or`; the second operand is evaluated only if needed."""
        a = self.number(x.args[0])
        if _is_cheap(x.args[1]):
            b = self.number(x.args[1])
            pair = f"i1 {b}, i1 false" if x.op == "and" else f"i1 true, i1 {b}"
            return self.op(f"select i1 {a}, {pair}")
        more, after = self.label("more"), self.label("both")
        before = self.block
        self.branch(a, *((more, after) if x.op == "and" else (after, more)))
        self.start(more)
        b = self.number(x.args[1])
        end = self.block
        self.jump(after)
        self.start(after)
        return self.phi("i1", ("false" if x.op == "and" else "true", before), (b, end))

    def test(self, x: ir.Expr, then: str, orelse: str) -> None:
        """End the block with a choice; each operand of `and` and `or` with one of its own, which
        processors predict."""
        if isinstance(x, ir.Op) and x.op in ("and", "or"):
            more = self.label("more")
            self.test(x.args[0], *((more, orelse) if x.op == "and" else (then, more)))
            self.start(more)
            self.test(x.args[1], then, orelse)
        else:
            self.branch(self.number(x), then, orelse)

    def select(self, x: ir.Select) -> Value:
        """A choice; only the chosen side is evaluated."""
        test = self.number(x.test)
        kinds = [type_of(t) for t in parts(x.type)]
        if _is_cheap(x.then) and _is_cheap(x.orelse):
            a, b = _row(self.expr(x.then)), _row(self.expr(x.orelse))
            flags = self.flags if x.type.kind in "fc" and self.flags.startswith("fast") else ""
            found = [
                self.op(f"select {flags}i1 {test}, {k} {v}, {k} {w}")
                for k, v, w in zip(kinds, a, b, strict=True)
            ]
        else:
            then, orelse, after = (self.label(w) for w in ("then", "else", "chosen"))
            self.branch(test, then, orelse)
            self.start(then)
            a = _row(self.expr(x.then))
            end_a = self.block
            self.jump(after)
            self.start(orelse)
            b = _row(self.expr(x.orelse))
            end_b = self.block
            self.jump(after)
            self.start(after)
            found = [
                self.phi(k, (v, end_a), (w, end_b)) for k, v, w in zip(kinds, a, b, strict=True)
            ]
        return found[0] if len(found) == 1 else (found[0], found[1])

    # -- calls ----------------------------------------------------------------------------------

    def result_kinds(self, function: str) -> list[str]:
        """Types of the values that a function returns."""
        result = self.functions[function].result
        return [type_of(p) for s in flat_scalars(result) for p in parts(s)]

    def call(self, x: ir.Call) -> str:
        """Call a function of the module; its result as it returns it, or nothing."""
        f = self.functions[x.function]
        given = ", ".join(self.arguments(f, x.args))
        text = f"{result_type(f.result)} {symbol(f.name)}({given})"
        if f.result is None:
            self.do(f"call {text}")
            return ""
        flags = self.flags if _returns_float(f.result) and self.flags.startswith("fast") else ""
        return self.op(f"call {flags}{text}")

    def arguments(self, f: ir.Function, args: tuple[ir.Expr, ...]) -> list[str]:
        """Arguments of a call with their types; Views as their parts."""
        out: list[str] = []
        for p, a in zip(f.parameters, args, strict=True):
            if isinstance(p.type, ViewTy):
                assert isinstance(a, ir.Var)
                for part in parts_of(p.type, p.name in self.extents[f.name]):
                    out.append(f"{part_type(part)} {self.view_part(a, p.type, part)}")
            elif isinstance(p.type, Pointer):
                assert isinstance(a, ir.Var)
                out.append(f"ptr {self.pointers[a.name]}")
            else:
                assert isinstance(p.type, Scalar)
                values = _row(self.expr(a))
                out += [f"{type_of(t)} {v}" for t, v in zip(parts(p.type), values, strict=True)]
        return out

    def view_part(self, a: ir.Var, wanted: ViewTy, part: str) -> str:
        """A part of a View that is passed on; those of local arrays are constants."""
        view = self.views[a.name]
        assert isinstance(a.type, ViewTy)
        if part in view.values or part in view.slots:
            return view.part(self, part)
        d = int(part[1:])
        known = a.type.stride(d) if part[0] == "s" else (a.type.shape or ())[d]
        assert known is not None
        return str(known)


def _row(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _returns_float(result: Scalar | TupleTy) -> bool:
    return isinstance(result, Scalar) and result.is_float


def _is_cheap(x: ir.Expr) -> bool:
    """Whether it costs no more to compute an expression than to find out whether it is needed."""
    todo, count = [x], 0
    while todo:
        x = todo.pop()
        if isinstance(x, ir.Op):
            count += 1
            if x.op not in _CHEAP or count > _FEW:
                return False
        elif not isinstance(x, ir.Const | ir.Var | ir.Extent):
            return False
        todo += ir.operands(x)
    return True
