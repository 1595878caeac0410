"""States of reductions and scans in the C family: their variables, rows in memory, and joins."""

from __future__ import annotations

import math

from ... import ir
from ...ir.types import Record, ViewTy, flat_scalars, numbers_of
from ...mapping.variant import Variant
from ...reductions.reduction import Reduction
from ...reductions.results import result_shape
from .device_kernel import DeviceKernel
from .printer import CPrinter

SLOT = 16  # bytes of a number of a state or result in memory
ROWS = 64  # bytes before the partial results: the count of groups that have finished


class States:
    """The states of one launch; see `Entries` for the parameters."""

    def __init__(
        self,
        printer: CPrinter,
        kernel: DeviceKernel,
        variant: Variant,
        outs: tuple[ir.Var, ...],
        given: bool,
    ) -> None:
        self.given = given
        self.team = kernel.team
        self.printer = printer
        self.dialect = printer.dialect
        self.lowered = kernel.lowered
        self.flat = kernel.flat
        self.group = variant.group
        self.outs = outs
        self.results = 0
        self.long = self.dialect.types["int64"]

    @property
    def rolled(self) -> list[str]:
        """The line before a loop that compilers need not unroll; none if there is no such line."""
        line = self.dialect.pragmas.rolled
        return [line] if line else []

    @property
    def overlapped(self) -> list[str]:
        """The line before a loop of which several iterations should be under way at once."""
        line = self.dialect.pragmas.overlapped
        return [line] if line else self.rolled

    def shuffled(self, value: str, source: str, lanes: int) -> str:
        """Expression: a value of another one of the first lanes of a warp, which all execute it."""
        mask = f"0x{(1 << lanes) - 1:x}{self.dialect.suffixes['uint64']}"
        return self.dialect.lanes.shuffle.format(mask=mask, value=value, source=source)

    @property
    def reduction(self) -> Reduction:
        """The reduction of the launch."""
        assert self.lowered.reduction is not None
        return self.lowered.reduction

    def walk(
        self,
        function: str,
        states: list[str],
        passed: list[str],
        units: tuple[str, str] | None = None,
    ) -> str:
        """A call of a work function; `units` are first and last of consecutive ones."""
        first, last = units or ("_f0", "_f1")
        step = [("1" if units else "_step")] if self.flat else []
        args = ", ".join([first, last, *step, *states, *passed])
        return f"{self.printer.function_name(function)}({args})"

    def type(self) -> str:
        """Type of a state."""
        return self.printer.result_type(self.printer.functions["_merge"].result)

    def parts(self, state: str) -> list[str]:
        """Numbers of a state in a variable."""
        if len(self.reduction.states) == 1:
            return [state]
        return [f"{state}.f{n}" for n in range(len(self.reduction.states))]

    def identity(self, name: str) -> list[str]:
        """Statements that declare a state and set it to the identity."""
        values = [self.printer.const(s.identity) for s in self.reduction.states]
        pairs = zip(self.parts(name), values, strict=True)
        return [f"{self.type()} {name};", *(f"{p} = {v};" for p, v in pairs)]

    def merged(self, a: str, b: str) -> str:
        """Expression of two states joined."""
        args = ", ".join([*self.parts(a), *self.parts(b)])
        return f"{self.printer.function_name('_merge')}({args})"

    def _row(self, group: str) -> str:
        """Address of a group's partial result in memory."""
        return f"_scratch + {ROWS} + ({group}) * {len(self.reduction.states) * SLOT}"

    def _number(self, n: int, row: str) -> str:
        """Number n of a state in memory."""
        kind = self.printer.stored(self.reduction.states[n].type)
        # Other groups write it, so it must not be cached in registers.
        return f"(*(volatile {self.dialect.memory.device}{kind} *)({row} + {n * SLOT}))"

    def store_at(self, state: str, row: str) -> list[str]:
        """Statements that store a state at an address that other groups read."""
        lines: list[str] = []
        for n, (s, part) in enumerate(zip(self.reduction.states, self.parts(state), strict=True)):
            place = self._number(n, row)
            if s.type.kind == "c":
                lines += [f"{place}.{p} = {part}.{p};" for p in ("re", "im")]
            else:
                lines.append(f"{place} = {part};")
        return lines

    def load_from(self, state: str, row: str) -> list[str]:
        """Statements that load a state from an address that other groups write."""
        lines: list[str] = []
        for n, (s, part) in enumerate(zip(self.reduction.states, self.parts(state), strict=True)):
            place = self._number(n, row)
            if s.type.kind == "c":
                lines += [f"{part}.{p} = {place}.{p};" for p in ("re", "im")]
            else:
                lines.append(f"{part} = {place}{' != 0' if s.type.kind == 'b' else ''};")
        return lines

    def counted(self) -> str:
        """Expression: the number of groups that were counted before this one."""
        d = self.dialect
        place = f"(volatile {d.memory.device}{d.types['int32']} *)_scratch"
        return (d.sync.fetch_add or d.atomics["add", "int32"]).format(p=place, v="1")

    def reset_count(self) -> str:
        """Statement that resets the count of groups."""
        kind = self.dialect.types["int32"]
        return f"*(volatile {self.dialect.memory.device}{kind} *)_scratch = 0;"

    def store_result(self, state: str) -> list[str]:
        """Statements that store the result of a state for the host, or in `out`."""
        function = self.printer.functions["_result"]
        kind = self.printer.result_type(function.result)
        args = ", ".join(self.parts(state))
        call = f"{self.printer.function_name('_result')}({args})"
        types = flat_scalars(function.result)
        parts = ["_r"] if len(types) == 1 else [f"_r.f{n}" for n in range(len(types))]
        lines = [f"const {kind} _r = {call};"]
        if not self.outs:
            self.results = len(types)
            for n, (t, part) in enumerate(zip(types, parts, strict=True)):
                own = self.printer.stored(t)
                lines.append(
                    f"*({self.dialect.memory.device}{own} *)(_result + {n * SLOT}) = {part};"
                )
            return lines
        rest = iter(zip(types, parts, strict=True))
        for view in self.outs:
            lines += self._store_out(view, rest)
        return lines

    def _store_out(self, view: ir.Var, rest) -> list[str]:  # type: ignore[no-untyped-def]
        assert isinstance(view.type, ViewTy)
        t, name = view.type, view.name
        if isinstance(t.element, Record):
            lines = []
            for byte, kind in numbers_of(t.element):
                source, part = next(rest)
                place = (
                    f"({self.dialect.memory.device}{self.printer.stored(kind)} *)({name} + {byte})"
                )
                lines.append(f"*{place} = {self.printer.cast(part, source, kind)};")
            return lines
        if not t.rank:
            source, part = next(rest)
            return [f"{name}[0] = {self.printer.cast(part, source, t.element)};"]
        lines = []
        shape = result_shape(self.lowered.spec) or ()
        for n, (source, part) in enumerate(list(rest)):  # the elements of an array, in order
            steps = (math.prod(shape[d + 1 :]) for d in range(len(shape)))
            indices = tuple(
                ir.integer(n // step % extent) for step, extent in zip(steps, shape, strict=True)
            )
            index = self.printer.offset(view, indices)
            lines.append(f"{name}[{index}] = {self.printer.cast(part, source, t.element)};")
        return lines
