"""Parts of a launch in LLVM IR: functions that run them, and how they come to threads.

All parts of a launch read one record: numbers, rows of partial results, the arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from execspace.base.dataclass import dataclass

from ..codegen.llvm.emitter import Emitter, ModuleText
from ..codegen.llvm.spelling import symbol
from .launcher import Launcher
from .pool import ENTRY

# A total takes a fraction of the time of the scan of as many elements: the first part, which
# is scanned while the others find their totals, gets this fraction of another part's share.
_SHARE = 4

CHUNKS = 32
"""Chunks for each thread of a dynamic range whose policy leaves their size to the space."""

# What a record begins with, all int64.
_HEADS = {
    "static": 3,  # number of parts; units of each; how many parts have one unit more
    "dynamic": 4,  # number of chunks; units; units of a chunk; the chunk that is next
    "scan": 2,  # number of parts; units
}


@dataclass(frozen=True)
class Parts:
    """Functions that run the parts of a launch.

    Attributes
    ----------
    text : ModuleText
    launcher : Launcher
    kind : str
        "static", "dynamic" or "scan".
    rows : int
        Rows of partial results.
    fields : tuple of str
        Types of the arguments of the chunk function, after its rows.
    """

    text: ModuleText
    launcher: Launcher
    kind: str
    rows: int
    fields: tuple[str, ...]

    @property
    def types(self) -> list[str]:
        """Types of what is in a record."""
        return ["i64"] * _HEADS[self.kind] + ["ptr"] * self.rows + [*self.fields]

    @property
    def record(self) -> str:
        """Type of a record."""
        return f"{{ {', '.join(self.types)} }}"

    def at(self, e: Emitter, record: str, n: int) -> str:
        """Address of what is in a record."""
        return e.op(f"getelementptr inbounds {self.record}, ptr {record}, i32 0, i32 {n}")

    def fill(self, e: Emitter, record: str, values: list[str]) -> None:
        """Write a record."""
        for n, (kind, v) in enumerate(zip(self.types, values, strict=True)):
            e.do(f"store {kind} {v}, ptr {self.at(e, record, n)}")

    def lines(self) -> list[str]:
        """Lines of all functions."""
        numbers = (1, 2) if self.kind == "scan" else (1,)
        out: list[str] = []
        for number in numbers:
            out += self._runner(number)
            if self.launcher.name == "libgomp":
                out += self._team_member(number)
        return out

    def _runner(self, number: int) -> list[str]:
        """The function that runs a part; of a scan in its first or second pass."""
        e = Emitter(self.text)
        held = [
            e.op(f"load {kind}, ptr {self.at(e, '%record', n)}")
            for n, kind in enumerate(self.types)
        ]
        head = _HEADS[self.kind]
        given = [f"{k} {v}" for k, v in zip(self.types[head:], held[head:], strict=True)]

        def call(chunk: str, first: str, last: str, part: str = "%part") -> None:
            row = [f"i64 {part}"] if self.rows else []
            args = ", ".join([f"i64 {first}", f"i64 {last}", *row, *given])
            e.do(f"call void {symbol(chunk)}({args})")

        if self.kind == "static":
            _share(e, held[1], held[2], call)
        elif self.kind == "dynamic":
            _chunks(e, held[:3], self.at(e, "%record", 3), call)
        else:
            _pass(e, number, held[0], held[1], call)
        e.ret("void")
        line = f"define internal void @part{number}(ptr %record, i64 %part) nounwind noinline {{"
        return [line, "entry:", *e.entry, *e.body, "}", ""]

    def _team_member(self, number: int) -> list[str]:
        """What a thread of libgomp runs: every so-manieth part."""
        e = Emitter(self.text)
        own = self.text.declare("omp_get_thread_num", "i32", "")
        size = self.text.declare("omp_get_num_threads", "i32", "")
        member = e.op(f"sext i32 {e.op(f'call i32 {own}()')} to i64")
        # The runtime may start fewer threads than requested; all parts are run anyway.
        members = e.op(f"sext i32 {e.op(f'call i32 {size}()')} to i64")
        count = str(self.launcher.parts)
        if self.kind != "dynamic":
            count = e.op("load i64, ptr %record")
        _each_part(e, number, "%record", member, count, members)
        e.ret("void")
        line = f"define internal void @team{number}(ptr %record) nounwind {{"
        return [line, "entry:", *e.body, "}", ""]

    def spread(self, e: Emitter, number: int, record: str, count: str, threads: str) -> None:
        """Run a function for every part of a launch."""
        if self.launcher.name == "serial":
            _each_part(e, number, record, "0", count, "1")
            return
        alone, team, after = (e.label(w) for w in ("alone", "team", "joined"))
        single = e.op(f"icmp eq i64 {count}, 1")
        # A negative number of threads means that this process must not use any.
        forbidden = e.op(f"icmp slt i64 {threads}, 0")
        e.branch(e.op(f"or i1 {single}, {forbidden}"), alone, team)
        e.start(alone)
        _each_part(e, number, record, "0", count, "1")
        e.jump(after)
        e.start(team)
        if self.launcher.name == "pool":
            run = self.text.declare(ENTRY, "void", "ptr, ptr, i64")
            e.do(f"call void {run}(ptr @part{number}, ptr {record}, i64 {count})")
        elif self.launcher.name == "libgomp":
            run = self.text.declare("GOMP_parallel", "void", "ptr, ptr, i32, i32")
            some = e.op(f"trunc i64 {threads} to i32")
            e.do(f"call void {run}(ptr @team{number}, ptr {record}, i32 {some}, i32 0)")
        else:  # the C function in the table of a `fork.Fork`
            pending = e.op("getelementptr i64, ptr %table, i64 1")
            failed = e.op(f"load i64, ptr {pending}")
            e.do(f"store i64 {e.op(f'add i64 {failed}, 1')}, ptr {pending}")
            run = e.op("load ptr, ptr %table")
            e.do(f"call void {run}(ptr @part{number}, ptr {record}, i64 {count}, ptr %table)")
        e.jump(after)
        e.start(after)


def _share(e: Emitter, share: str, larger: str, call: Callable[..., None]) -> None:
    """Run the share of a part."""
    more = e.op(f"icmp slt i64 %part, {larger}")
    before = e.op(f"select i1 {more}, i64 %part, i64 {larger}")
    first = e.op(f"add i64 {e.op(f'mul i64 %part, {share}')}, {before}")
    one = e.op(f"zext i1 {more} to i64")
    call("_chunk", first, e.op(f"add i64 {e.op(f'add i64 {first}, {share}')}, {one}"))


def _chunks(e: Emitter, head: list[str], place: str, call: Callable[..., None]) -> None:
    """Take chunks, one after another, until none is left."""
    count, total, size = head
    take, run, after = (e.label(w) for w in ("take", "chunk", "none"))
    e.jump(take)
    e.start(take)
    chunk = e.op(f"atomicrmw add ptr {place}, i64 1 monotonic")
    e.branch(e.op(f"icmp slt i64 {chunk}, {count}"), run, after)
    e.start(run)
    first = e.op(f"mul i64 {chunk}, {size}")
    left = e.op(f"sub i64 {total}, {first}")
    whole = e.op(f"icmp slt i64 {size}, {left}")
    some = e.op(f"select i1 {whole}, i64 {size}, i64 {left}")
    call("_chunk", first, e.op(f"add i64 {first}, {some}"), chunk)
    e.jump(take)
    e.start(after)


def _pass(e: Emitter, number: int, count: str, total: str, call: Callable[..., None]) -> None:
    """A pass of a scan, which is split into one more part than there are threads.

    The first part is scanned in the first pass already, while the others compute their totals; the
    last one needs no total. So threads do not wait for each other, and walk less than twice.
    """
    end = e.op(f"sub i64 {count}, 1")
    shares = e.op(f"add i64 {e.op(f'mul i64 {end}, {_SHARE}')}, 1")

    def border(part: str) -> str:
        share = e.op(f"add i64 {e.op(f'mul i64 {part}, {_SHARE}')}, 1")
        return e.op(f"sdiv i64 {e.op(f'mul i64 {share}, {total}')}, {shares}")

    last = border("%part")
    before = border(e.op("sub i64 %part, 1"))
    is_first = e.op("icmp eq i64 %part, 0")
    begin = e.op(f"select i1 {is_first}, i64 0, i64 {before}")
    first, other, after = (e.label(w) for w in ("first", "other", "end"))
    e.branch(is_first, first, other)
    e.start(first)
    if number == 1:
        call("_chunk", begin, last)
    e.jump(after)
    e.start(other)
    if number == 1:
        totals = e.label("totals")
        e.branch(e.op(f"icmp slt i64 %part, {end}"), totals, after)
        e.start(totals)
        call("_totals", begin, last)
    else:
        call("_chunk", begin, last)
    e.jump(after)
    e.start(after)


def _each_part(e: Emitter, number: int, record: str, first: str, count: str, step: str) -> None:
    """A loop over parts on this thread."""
    head, inside, after = (e.label(w) for w in ("parts", "run", "ran"))
    n, following, before = e.name("n"), e.name("next"), e.block
    e.jump(head)
    e.start(head)
    e.body.append(f"  {n} = phi i64 [ {first}, %{before} ], [ {following}, %{inside} ]")
    e.branch(e.op(f"icmp slt i64 {n}, {count}"), inside, after)
    e.start(inside)
    e.do(f"call void @part{number}(ptr {record}, i64 {n})")
    e.body.append(f"  {following} = add i64 {n}, {step}")
    e.jump(head)
    e.start(after)
