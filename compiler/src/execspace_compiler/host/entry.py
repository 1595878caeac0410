"""The entry of a launch in LLVM IR: from Python's arguments to the parts of a range, and back.

It is a C function that Python calls as a built-in one, with the bounds and the arguments of a
plan's `launch`. It reads them through CPython's API, releases the GIL, spreads the parts of the
range over threads and makes Python's objects of the result. A small launch keeps the GIL, to save
time and not for safety: without one, small launches run at the same time as others do.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import ir
from ..analysis.cost import cost
from ..analysis.overlap import pairs_to_check
from ..codegen.llvm.emitter import Emitter
from ..codegen.llvm.expressions import Expressions
from ..codegen.llvm.printer import LlvmPrinter
from ..codegen.llvm.spelling import parts, symbol, type_of
from ..ir.types import Pointer, Scalar, ViewTy
from ..mapping.loops import items_count, units_count
from ..reductions.partials import PART_STRIDE, entries
from ..reductions.reduction import Reduction
from ..typing.lowered import Lowered
from .launcher import Launcher
from .objects import NAME
from .parts import CHUNKS, Parts
from .python_api import Argument, PythonApi, is_boxed

_MOMENT = 1 << 11  # operations, as `cost` counts them: one or two microseconds
_STACK = 1 << 18  # bytes of partial results on the stack; larger ones are on the heap


def disjoint_patterns(lowered: Lowered) -> tuple[str, ...]:
    """The patterns that are compiled for Views that do not overlap.

    Not a reduction to an array, whose memory the caller of an entry has made for this plan.
    """
    return ("for",) if lowered.spec.array_shape is not None else ("for", "reduce")


class Entry:
    """Writes the entry and the functions that run parts."""

    def __init__(
        self, printer: LlvmPrinter, lowered: Lowered, order: tuple[int, ...], launcher: Launcher
    ) -> None:
        self.printer = printer
        self.text = printer.text
        self.lowered = lowered
        self.order = order
        self.launcher = launcher
        self.reduction = lowered.reduction
        self.scan = lowered.spec.pattern == "scan"
        states = () if self.reduction is None else self.reduction.states
        chunk = printer.functions["_chunk"]
        self.rest = chunk.parameters[3 + len(states) if states else 2 :]
        self.rows = len(states)
        self.dynamic = lowered.spec.policy.dynamic and launcher.name != "serial"
        kind = "scan" if self.scan else "dynamic" if self.dynamic else "static"
        fields = tuple(k for p in self.rest for k in _kinds(p))
        self.parts = Parts(self.text, launcher, kind, self.rows, fields)

    def lines(self) -> list[str]:
        """Lines of all functions."""
        return [*self.parts.lines(), *self._entry()]

    # -- the entry ------------------------------------------------------------------------------

    def _entry(self) -> list[str]:
        e = Expressions(self.text, self.printer.functions, self.printer.extents)
        python = PythonApi(e)
        spec = self.lowered.spec
        taken = len(spec.arguments) + len(spec.out)
        extra = [p for p in self.rest if isinstance(p.type, Pointer)]  # the status of assertions
        expected = taken + len(extra)
        expected += self.launcher.name in ("fork", "prange")
        array = self.reduction is not None and self.reduction.array is not None
        expected += array
        bounds, args = python.arguments("%given", "%count", expected)
        n_bounds = spec.policy.rank * (3 if spec.policy.tiled else 2)
        arguments = []
        for n, p in enumerate(self.rest[:n_bounds]):
            value = python.integer(python.item(bounds, n))
            e.values[p.name] = value
            arguments.append(Argument(("i64",), (value,)))
        limits = {n: (low, high) for n, _, low, high in self.lowered.limits}
        given = self.rest[n_bounds : len(self.rest) - len(extra)]
        # All are there before one is converted, which may fail: while an error is set, CPython may
        # not find an attribute. Those that are new come last, for `_limited` may return.
        types = spec.arguments[: len(given)]
        order = sorted(range(len(given)), key=lambda n: is_boxed(types[n]))
        held = {n: python.held(args, n, types[n], limits.get(n)) for n in order}
        for n, p in enumerate(given):
            arguments.append(python.argument(held[n], p, types[n], limits.get(n)))
        for n, _ in enumerate(extra):
            arguments.append(Argument(("ptr",), (python.address(args, taken + n),)))
        if self.launcher.name in ("fork", "prange"):
            table = python.address(args, taken + len(extra))
            e.body.append(f"  %table = getelementptr i8, ptr {table}, i64 0")
        out = python.address(args, expected - 1) if array else ""
        python.raise_if_failed()
        if self.printer.module.disjoint:
            self._leave_overlapping(e, python, arguments, bounds, args)
        let_go = self._releases(e)
        state = python.release(let_go)
        found = self._launch(e, python, arguments, out)
        python.acquire(state, let_go)
        self._return(e, python, bounds, args, found)
        head = f"define ptr @{NAME}(ptr %self, ptr %given, i64 %count) nounwind noinline optnone {{"
        return [head, "entry:", *e.entry, *e.body, "}", ""]

    def _releases(self, e: Expressions) -> str:
        """Whether other threads of Python may run meanwhile: not for a moment's work, of which
        releasing the GIL would be a tenth."""
        work = None if self.lowered.prints else cost(self.lowered)
        if work is None:
            return "true"
        most = _MOMENT
        if self.launcher.name != "serial":  # other threads may need it to begin
            most = min(most, self.launcher.serial_work)
        items = e.number(items_count(self.lowered.spec.policy))
        return e.op(f"icmp sge i64 {items}, {most // max(work, 1)}")

    def _launch(
        self, e: Expressions, python: PythonApi, arguments: list[Argument], out: str
    ) -> list[str]:
        """Run the launch without the GIL; the numbers of its result."""
        spec, reduction = self.lowered.spec, self.reduction
        total = e.number(units_count(spec.policy, self.order))
        parts_, threads, small = self._parts(e, python)
        values = [v for a in arguments for v in a.values]
        head = [total]
        count = e.op(f"add i64 {parts_}, 1") if self.scan else parts_
        if self.dynamic:
            count, size = self._chunks(e, total, small)
            head = [total, size, "0"]
        elif not self.scan:
            head = self._shares(e, total, small)
        rows, held = self._rows(e, count)
        record = e.slot(self.parts.record, align=64)

        def keep(number: str) -> None:
            self.parts.fill(e, record, [number, *head, *rows, *values])

        found: list[str] = []
        if self.scan:
            found = self._scan(e, keep, record, parts_, threads, rows, total, values)
        else:
            keep(count)
            self.parts.spread(e, 1, record, parts_, threads)
            if reduction is not None:
                found = self._finish(e, count, rows, out)
        if held:
            e.do(f"call void {self.text.library('release')}(ptr {held})")
        return found

    def _parts(self, e: Expressions, python: PythonApi) -> tuple[str, str, str]:
        """Number of parts; that of threads, which is negative where there must be none; and whether
        the range is so small that it is one part."""
        if self.launcher.name == "serial":
            return "1", "1", "true"
        sign = e.op(f"load i64, ptr {python.object('process')}")
        threads = e.op(f"mul i64 {sign}, {self.launcher.parts}")
        work = cost(self.lowered)
        if work is None:
            return str(self.launcher.parts), threads, "false"
        few = self.launcher.serial_work // max(work, 1)
        items = e.number(items_count(self.lowered.spec.policy))
        small = e.op(f"icmp slt i64 {items}, {few}")
        parts_ = e.op(f"select i1 {small}, i64 1, i64 {self.launcher.parts}")
        return parts_, threads, small

    def _shares(self, e: Expressions, total: str, small: str) -> list[str]:
        """Units of each part, and how many parts have one more."""
        if small == "true":
            return [total, "0"]
        share = e.op(f"sdiv i64 {total}, {self.launcher.parts}")
        larger = e.op(f"srem i64 {total}, {self.launcher.parts}")
        return [
            e.op(f"select i1 {small}, i64 {total}, i64 {share}"),
            e.op(f"select i1 {small}, i64 0, i64 {larger}"),
        ]

    def _chunks(self, e: Expressions, total: str, small: str) -> tuple[str, str]:
        """Number of chunks, and the units of each; a small range is one.

        Of a reduction there are not many, since each has a partial result.
        """
        policy, most = self.lowered.spec.policy, self._most_chunks
        size = 0 if policy.kind == "team" else policy.chunk_size  # a unit is a chunk of teams
        least = e.op(f"sdiv i64 {e.op(f'add i64 {total}, {most - 1}')}, {most}")
        if size and not self.rows:
            least = str(size)
        elif size:
            more = e.op(f"icmp sgt i64 {least}, {size}")
            least = e.op(f"select i1 {more}, i64 {least}, i64 {size}")
        some = e.op(f"icmp sgt i64 {total}, 1")
        whole = e.op(f"select i1 {some}, i64 {total}, i64 1")
        positive = e.op(f"icmp sgt i64 {least}, 1")
        least = e.op(f"select i1 {positive}, i64 {least}, i64 1")
        chunk = e.op(f"select i1 {small}, i64 {whole}, i64 {least}")
        up = e.op(f"add i64 {total}, {e.op(f'sub i64 {chunk}, 1')}")
        return e.op(f"sdiv i64 {up}, {chunk}"), chunk

    @property
    def _most_chunks(self) -> int:
        return self.launcher.parts * CHUNKS

    def _rows(self, e: Expressions, count: str) -> tuple[list[str], str]:
        """Rows of partial results; and what must be released, if they are on the heap."""
        reduction = self.reduction
        if reduction is None:
            return [], ""
        size = _row_bytes(reduction)
        nbytes = e.op(f"mul i64 {count}, {size * self.rows}")
        most = self._most_chunks if self.dynamic else self.launcher.parts
        large = (reduction.array is not None or self.dynamic) and most * size > _STACK
        if large:
            space = e.op(f"call ptr {self.text.library('allocate')}(i64 {nbytes})")
        else:
            space = e.op(f"alloca i8, i64 {nbytes}, align 64")
        rows = [space]
        for n in range(1, self.rows):
            at = e.op(f"mul i64 {count}, {size * n}")
            rows.append(e.op(f"getelementptr i8, ptr {space}, i64 {at}"))
        return rows, space if large else ""

    def _finish(self, e: Expressions, number: str, rows: list[str], out: str) -> list[str]:
        """Join the partial results; returns the numbers of the result."""
        f = self.printer.functions["_finish"]
        given = ", ".join(
            [f"i64 {number}", *(f"ptr {r}" for r in rows), *([f"ptr {out}"] * bool(out))]
        )
        if f.result is None:
            e.do(f"call void {symbol(f.name)}({given})")
            return []
        kinds = e.result_kinds(f.name)
        kind = kinds[0] if len(kinds) == 1 else f"{{ {', '.join(kinds)} }}"
        found = e.op(f"call {kind} {symbol(f.name)}({given})")
        return [found] if len(kinds) == 1 else e.fields(found, kinds)

    def _scan(
        self, e: Expressions, keep: Callable[[str], None], record: str, parts_: str, threads: str,
        rows: list[str], total: str, values: list[str],
    ) -> list[str]:  # fmt: skip
        """Scan in one pass on one thread, in two passes on several."""
        pointers = ", ".join(f"ptr {r}" for r in rows)
        e.do(f"call void {symbol('_seed')}(i64 0, {pointers})")
        fields = zip(self.parts.fields, values, strict=True)
        given = [*(f"ptr {r}" for r in rows), *(f"{k} {v}" for k, v in fields)]
        chunk = f"call void {symbol('_chunk')}(i64 0, i64 {total}, i64 0, {', '.join(given)})"
        if self.launcher.name == "serial":
            e.do(chunk)
            return self._finish(e, "0", rows, "")
        one, several, after = (e.label(w) for w in ("one", "several", "scanned"))
        e.branch(e.op(f"icmp eq i64 {parts_}, 1"), one, several)
        e.start(one)
        e.do(chunk)
        end_one = e.block
        e.jump(after)
        e.start(several)
        count = e.op(f"add i64 {parts_}, 1")
        keep(count)
        self.parts.spread(e, 1, record, count, threads)
        e.do(f"call void {symbol('_prefixes')}(i64 {parts_}, {pointers})")
        self.parts.spread(e, 2, record, count, threads)
        end_several = e.block
        e.jump(after)
        e.start(after)
        last = e.phi("i64", ("0", end_one), (parts_, end_several))
        return self._finish(e, last, rows, "")

    def _leave_overlapping(
        self, e: Expressions, python: PythonApi, arguments: list[Argument], bounds: str, args: str
    ) -> None:
        """Launch the other plan, and return what it returns, if Views overlap."""
        over, apart = e.label("over"), e.label("apart")
        e.branch(self._overlap(e, arguments), over, apart)
        e.start(over)
        e.ret(f"ptr {python.call('overlapping', bounds, args)}")
        e.start(apart)

    def _overlap(self, e: Expressions, arguments: list[Argument]) -> str:
        """Whether a View that is written overlaps another one; without branches."""
        written = self.lowered.written
        pairs = pairs_to_check(self.lowered, disjoint_patterns(self.lowered))
        either = dict.fromkeys(v for pair in pairs for v in pair)
        views = sorted(either, key=lambda view: view.name not in written)
        place = {p.name: a.values[0] for p, a in zip(self.rest, arguments, strict=True)}
        spans = []
        for p in views:
            assert isinstance(p.type, ViewTy)
            spans.append(_footprint(e, place[p.name], p.type.rank, p.type.element.itemsize))
        found = "false"
        for n, (low, high) in enumerate(spans[: sum(p.name in written for p in views)]):
            for other_low, other_high in spans[n + 1 :]:
                begins = e.op(f"icmp slt i64 {low}, {other_high}")
                ends = e.op(f"icmp slt i64 {other_low}, {high}")
                found = e.op(f"or i1 {found}, {e.op(f'and i1 {begins}, {ends}')}")
        return found

    # -- results --------------------------------------------------------------------------------

    def _return(
        self, e: Expressions, python: PythonApi, bounds: str, args: str, found: list[str]
    ) -> None:
        """Return what Python gets."""
        spec = self.lowered.spec
        if not found:
            e.ret(f"ptr {python.none()}")
            return
        value = python.made(self.printer.functions["_finish"].result, found)
        if spec.reducer is None and not spec.out:
            e.ret(f"ptr {value}")
            return
        finish = python.object("finish")
        asis, make = e.label("asis"), e.label("make")
        e.branch(e.op(f"icmp eq ptr {finish}, null"), asis, make)
        e.start(asis)
        e.ret(f"ptr {value}")
        e.start(make)
        result = python.call("finish", value, args)
        python.drop(value)
        e.ret(f"ptr {result}")


def _row_bytes(reduction: Reduction) -> int:
    """Bytes of one part's entry in a row of partial results."""
    if reduction.array is None:
        return PART_STRIDE * 16
    return -(-entries(reduction) * reduction.states[0].type.itemsize // 64) * 64


def _kinds(p: ir.Var) -> list[str]:
    """Types of a parameter of a chunk function."""
    return [type_of(t) for t in parts(p.type)] if isinstance(p.type, Scalar) else ["ptr"]


def _footprint(e: Emitter, descriptor: str, rank: int, size: int) -> tuple[str, str]:
    """First byte of a View and the one past its last."""

    def word(slot: int) -> str:
        at = e.op(f"getelementptr inbounds i64, ptr {descriptor}, i64 {slot}")
        return e.op(f"load i64, ptr {at}")

    low = high = word(0)
    for d in range(rank):
        last = e.op(f"add i64 {word(1 + d)}, -1")
        bytes_ = e.op(f"mul i64 {word(1 + rank + d)}, {size}")
        reach = e.op(f"mul i64 {last}, {bytes_}")
        negative = e.op(f"icmp slt i64 {reach}, 0")
        down = e.op(f"select i1 {negative}, i64 {reach}, i64 0")
        up = e.op(f"select i1 {negative}, i64 0, i64 {reach}")
        low, high = e.op(f"add i64 {low}, {down}"), e.op(f"add i64 {high}, {up}")
    return low, e.op(f"add i64 {high}, {size}")
