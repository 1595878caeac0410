"""Loads and stores of an element for each lane, in C: neighbours, in steps, anywhere.

Lanes that are off read and write nothing. Where all are on, which is what mostly happens, there is
no test for each.
"""

from __future__ import annotations

from execspace.base.dataclass import dataclass

from ... import ir
from ...ir.types import BOOL, Scalar, Vector, ViewTy
from .prelude import code_of
from .spelling import part_of_view
from .vectors import Vectors, part_type


@dataclass
class _Place:
    """Where the elements of lanes are, as text: of the first lane, from lane to lane, and further
    ones of each lane, a vector; empty for zero. In elements, then in bytes."""

    base: str = ""
    step: str = ""
    each: str = ""

    def times(self, n: int) -> _Place:
        """The same with all distances multiplied."""
        if n == 1:
            return self
        return _Place(*(f"({text}) * {n}L" if text else "" for text in self._parts))

    def plus(self, base: str = "", step: str = "", each: str = "") -> _Place:
        """The same with distances added."""
        pairs = zip(self._parts, (base, step, each), strict=True)
        return _Place(*(" + ".join(filter(None, pair)) for pair in pairs))

    @property
    def _parts(self) -> tuple[str, str, str]:
        return self.base, self.step, self.each


class VectorMemory:
    """Accesses of vectors in the source of a printer."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors, self.printer, self.prelude = vectors, vectors.printer, vectors.prelude

    def load(self, e: ir.Load) -> str:
        """The elements of lanes."""
        assert isinstance(e.type, Vector)
        name, args = self._access(e, e.type)
        return f"{self._load(name, e.type)}({', '.join([*args, self._mask(e, e.type)])})"

    def store(self, s: ir.Store) -> str:
        """Statement that sets the elements of lanes."""
        t = s.value.type
        assert isinstance(t, Vector)
        value = self.printer.expr(s.value)
        name, args = self._access(s, t)
        return f"{self._store(name, t)}({', '.join([*args, self._mask(s, t), value])});"

    def _mask(self, s: ir.Load | ir.Store, t: Vector) -> str:
        on = ir.Const(True, Vector("bool", lanes=t.lanes))
        return self.printer.expr(on if s.mask is None else s.mask)

    # -- places ---------------------------------------------------------------------------------

    def _access(self, s: ir.Load | ir.Store, t: Vector) -> tuple[str, list[str]]:
        """The kind of an access, and its arguments: where it is."""
        view = s.view.type
        assert isinstance(view, ViewTy)
        width = part_type(t).itemsize
        plain = isinstance(view.element, Scalar) and t.kind != "c" and s.byte is None
        place = self._place(s.view, s.indices)
        neighbours = plain and place.step == "1L" and not place.each
        place = place.times(view.element.itemsize)
        if s.byte is not None:
            byte = self.printer.expr(s.byte)
            if isinstance(s.byte.type, Vector):
                place = place.plus(each=byte)
            else:
                place = place.plus(base=byte)
        own, part = False, width
        if view.lanes > 1:  # an array of each lane: the numbers of lanes are next to each other
            own = not place.step and not place.each
            place = place.times(view.lanes).plus(step=f"{width}L")
            part *= view.lanes
        pointer = f"(char *){self.printer.identifier(s.view.name)}"
        pointer += f" + ({place.base})" if place.base else ""
        parts = [f"{part}L"] if t.kind == "c" else []
        if own:
            return "own", [pointer, *parts]
        if neighbours:
            return "row", [pointer]
        if not place.each:
            return "step", [pointer, *parts, place.step or "0L"]
        each = place.each
        if place.step:
            long = Vector("int64", lanes=t.lanes)
            ramp = self.vectors.call("ramp", [long.lane, long.lane], long, ["0", "1"])
            each = f"{each} + {ramp} * ({place.step})"
        return "each", [pointer, *parts, each]

    def _place(self, v: ir.Var, indices: tuple[ir.Expr, ...]) -> _Place:
        """In elements."""
        t = v.type
        assert isinstance(t, ViewTy)
        name, found = self.printer.identifier(v.name), _Place()
        for d, index in enumerate(indices):
            known = 1 if t.mapped or len(indices) < t.rank else t.stride(d)
            by = part_of_view(name, f"s{d}") if known is None else f"{known}L"
            factor = "" if known == 1 else f" * {by}"
            if isinstance(index, ir.Op) and index.op == "ramp":
                first, step = index.args
                assert isinstance(step, ir.Const)
                along = by if step.value == 1 else f"{int(step.value)}L * {by}"
                found = found.plus(f"{self.printer.expr(first)}{factor}", along)
            elif isinstance(index.type, Vector):
                found = found.plus(each=f"{self.printer.expr(index)}{factor}")
            else:
                found = found.plus(f"{self.printer.expr(index)}{factor}")
        return found

    # -- functions ------------------------------------------------------------------------------

    def _number(self, what: str, t: Vector) -> str:
        """Name of the function that reads or writes a number at any address."""
        own = self.printer.stored(t.lane)
        name = f"_{what}_{code_of(t.lane)}_at"
        if what == "read":
            return self.vectors.function(
                name, own, "const char *p",
                lambda: f"{own} x; __builtin_memcpy(&x, p, sizeof x); return x;",
            )  # fmt: skip
        return self.vectors.function(
            name, "void", f"char *p, {own} x", lambda: "__builtin_memcpy(p, &x, sizeof x);"
        )

    def _parameters(self, how: str, t: Vector) -> tuple[str, str]:
        """Parameters for a place, and the names of those behind the pointer and the part."""
        long = self.printer.dialect.types["int64"]
        distances = self.vectors.type(Vector("int64", lanes=t.lanes))
        more = {"step": f", {long} step", "each": f", {distances} each"}.get(how, "")
        part = f", {long} part" if t.kind == "c" else ""
        mask = self.vectors.type(Vector("bool", lanes=t.lanes))
        return f"{part}{more}, {mask} m", f", {how}" if more else ""

    @staticmethod
    def _at(how: str, t: Vector, k: int) -> str:
        """Address of a number."""
        far = {"step": f"{k} * step", "each": f"each[{k}]"}.get(how, f"{k * t.itemsize}")
        return f"p + {far}"

    def _everyone(self, t: Vector) -> str:
        mask = Vector("bool", lanes=t.lanes)
        return self.vectors.call("all", [mask], BOOL, ["m"])

    def _load(self, how: str, t: Vector) -> str:
        """Name of the function that loads."""
        parameters, more = self._parameters(how, t)
        own = self.vectors.type(t)

        def body() -> str:
            if t.kind == "c":
                part = self._load(how, part_type(t))
                return f"return ({own}){{{part}(p{more}, m), {part}(p + part{more}, m)}};"
            read, word = self._number("read", t), ""
            if t.name == "bool":
                word = f"-({self.printer.dialect.types[f'int{self.vectors.mask_bits}']})"
            numbers = [f"{read}({self._at(how, t, k)})" for k in range(t.lanes)]
            if word:
                numbers = [f"{word}({n} != 0)" for n in numbers]
            whole = f"return ({own}){{{', '.join(numbers)}}};"
            if how in ("row", "own") and not word:
                whole = f"{own} r; __builtin_memcpy(&r, p, sizeof r); return r;"
            if how == "own":
                return whole
            some = ", ".join(f"m[{k}] ? {n} : 0" for k, n in enumerate(numbers))
            return f"if ({self._everyone(t)}) {{ {whole} }} return ({own}){{{some}}};"

        given = f"const char *p{parameters}"
        return self.vectors.function(f"_load_{how}_{code_of(t)}", own, given, body)

    def _store(self, how: str, t: Vector) -> str:
        """Name of the function that stores."""
        parameters, more = self._parameters(how, t)
        own = self.vectors.type(t)

        def body() -> str:
            if t.kind == "c":
                part = self._store(how, part_type(t))
                return f"{part}(p{more}, m, v.re); {part}(p + part{more}, m, v.im);"
            write = self._number("write", t)
            values = [f"v[{k}]" for k in range(t.lanes)]
            if t.name == "bool":
                values = [f"{v} != 0" for v in values]
            lanes = [f"{write}({self._at(how, t, k)}, {v});" for k, v in enumerate(values)]
            if how == "own":  # memory of the call, also in lanes that are off
                old = self._load(how, t)
                mask = Vector("bool", lanes=t.lanes)
                new = self.vectors.call("blend", [mask, t, t], t, ["m", "v", "old"])
                put = "__builtin_memcpy(p, &v, sizeof v);"
                put = " ".join(lanes) if t.name == "bool" else put
                return f"const {own} old = {old}(p, m); v = {new}; {put}"
            plain = how == "row" and t.name != "bool"
            whole = "__builtin_memcpy(p, &v, sizeof v);" if plain else " ".join(lanes)
            some = " ".join(f"if (m[{k}]) {line}" for k, line in enumerate(lanes))
            return f"if ({self._everyone(t)}) {{ {whole} }} else {{ {some} }}"

        given = f"char *p{parameters}, {own} v"
        return self.vectors.function(f"_store_{how}_{code_of(t)}", "void", given, body)
