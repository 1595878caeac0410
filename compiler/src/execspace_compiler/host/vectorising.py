"""LLVM's vectorisation of the loops of a launch, from its optimised IR, for `explain`.

llvmlite's passes give no remarks, so reasons are derived from loops that stayed scalar.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from execspace.base.dataclass import dataclass

from .objects import NAME

_NAMES = {"double": "float64", "float": "float32", "half": "float16", "ptr": "pointers"}
_LABEL = re.compile(r'^("[^"]+"|[-\w.$]+):')
_TARGET = re.compile(r'label %("[^"]+"|[-\w.$]+)')
_VECTOR = re.compile(r"<(vscale x )?(\d+) x (double|float|half|ptr|i\d+)>")
_METADATA = re.compile(r"^(!\d+) = (?:distinct )?!\{(.*)\}")
_ARITHMETIC = re.compile(
    r"= (?:f(?:add|sub|mul|div|rem|neg)\b"
    r"|(?:tail )?call\b.*@llvm\.(?:fma|fmuladd|sqrt|fabs|minimum|maximum|minnum|maxnum)\b)"
)
_MEMORY = re.compile(
    r"(?:= load|^\s*store|= atomicrmw|= cmpxchg|@llvm\.masked\.(?:load|store|gather|scatter))\b"
)
_CALL = re.compile(r'\bcall\b[^@]*@"?([-\w.$]+)')
_ATOMIC = re.compile(r"\b(?:atomicrmw|cmpxchg)\b|\b(?:load|store) atomic\b")
_PHI = re.compile(r"^\s*(%\S+) = phi (?:[a-z]+ )*?(i64|i32|double|float) (.*)")
_STEP = re.compile(r"^\s*(%\S+) = add (?:nuw |nsw )*i(?:64|32) (%\S+), (\d+)")
_IN_ORDER = re.compile(r"^\s*(%\S+) = (?:f(?:add|sub|mul)|call)\b(.*)")
# Functions that run a part of a range, or call those that do; the entry of a launch runs none.
_PARTS = re.compile(r"@(?:part\d|f\._chunk|f\._totals)\b")
_ENTRY = f"@{NAME}("
_MARK = '"llvm.loop.isvectorized"'


@dataclass(frozen=True)
class _Loop:
    """An innermost loop: the lines of its blocks, its header first."""

    blocks: tuple[tuple[str, ...], ...]
    marked: bool
    """It comes from LLVM's loop vectoriser: a vector loop, or its scalar remainder."""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for block in self.blocks for line in block)

    @cached_property
    def widths(self) -> Counter[tuple[str, int, str]]:
        """How often each vector type is used in arithmetic, or else in loads and stores, or else
        at all. Strided loads have unused lanes, so their widths are no powers of two."""
        for what in (_ARITHMETIC, _MEMORY, _VECTOR):
            found = (_VECTOR.search(s) for s in self.lines if what.search(s))
            widths = Counter(
                (v[1] or "", int(v[2]), _NAMES.get(v[3], f"int{v[3][1:]}"))
                for v in found
                if v and int(v[2]).bit_count() == 1
            )
            if widths:
                return widths
        return Counter()

    def count(self, what: re.Pattern[str], packed: bool) -> int:
        """Lines of a kind, on vectors or on scalars."""
        return sum(bool(_VECTOR.search(s)) == packed for s in self.lines if what.search(s))

    def summary(self) -> str:
        """Description of the loop; empty for a scalar remainder, and for a loop over parts."""
        if self.widths:
            (scalable, width, kind), _ = self.widths.most_common(1)[0]
            how = f"vectors of {'at least ' if scalable else ''}{width} x {kind}"
            rounds = self._step() // width if not scalable else 0
            if rounds > 1:
                how += f", {rounds} interleaved"
            if not self.marked:
                how = f"no vector loop, but its statements were packed into {how}"
            return f"{how} ({self._operations()})"
        if self.marked or any(map(_PARTS.search, self.lines)):
            return ""
        why = self._hindrances()
        return f"not vectorised{': ' if why else ''}{', '.join(why)} ({self._operations()})"

    def _operations(self) -> str:
        parts = []
        for packed, kind in ((True, "packed"), (False, "scalar")):
            parts += [
                f"{n} {kind} {noun}{'s' * (n != 1)}"
                for what, noun in ((_ARITHMETIC, "floating operation"), (_MEMORY, "memory access"))
                if (n := self.count(what, packed))
            ]
        counts = ", ".join(parts).replace("accesss", "accesses")
        return counts or "no floating operation, no memory access"

    def _step(self) -> int:
        """Step of the loop's counter; 0 if it is unknown."""
        counters = {p[1] for s in self.blocks[0] if (p := _PHI.match(s))}
        steps = [int(a[3]) for s in self.lines if (a := _STEP.match(s)) and a[2] in counters]
        return max(steps, default=0)

    def _hindrances(self) -> list[str]:
        """Reasons that prevent LLVM from vectorising a scalar loop."""
        found = []
        calls = {c[1] for s in self.lines if (c := _CALL.search(s))}
        calls = {c for c in calls if not c.startswith("llvm.")}
        if calls:
            found.append(f"it calls {', '.join(sorted(_short(c) for c in calls))}")
        if any(_ATOMIC.search(s) for s in self.lines):
            found.append("it has atomic operations")
        if self._joins_in_order():
            found.append("each round adds to the floating number of the one before, in order")
        if len(self.blocks) > 1:
            found.append("its rounds branch")
        return found

    def _joins_in_order(self) -> bool:
        """Whether the loop has a floating-point recurrence that must not be reassociated."""
        carried = {
            place: phi[1]
            for s in self.blocks[0]
            if (phi := _PHI.match(s)) and phi[2] in ("double", "float")
            for place in re.findall(r"\[ (%\S+?),", phi[3])
        }
        made = {m[1]: m[2] for s in self.lines if (m := _IN_ORDER.match(s))}
        return any(
            "reassoc" not in made[n] and " fast " not in made[n] for n in carried if n in made
        )


def describe_vectors(text: str) -> tuple[str, ...]:
    """Descriptions of the loops in optimised LLVM IR; each line begins with their number.

    Those of functions that run parts of the range count, or of all if these have none, including
    loops that join partial results. Copies of a loop in several functions count once.
    """
    metadata = {m[1]: m[2] for line in text.splitlines() if (m := _METADATA.match(line))}
    parts: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for name, blocks in _functions(text):
        loops = _innermost(blocks, metadata)
        summaries = Counter(summary for loop in loops if (summary := loop.summary()))
        every |= summaries
        if _PARTS.search(name):
            parts |= summaries
    found = parts or every
    if not found:
        return ("no loops are left in the machine code",)
    order = sorted(found, key=lambda line: (not line.startswith("vectors"), line))
    return tuple(f"{found[s]} innermost loop{'s' * (found[s] > 1)}: {s}" for s in order)


def is_vectorised(text: str) -> bool:
    """Whether all loops over calls, in optimised LLVM IR, are loops over vectors."""
    metadata = {m[1]: m[2] for line in text.splitlines() if (m := _METADATA.match(line))}
    loops = [loop for _, blocks in _functions(text) for loop in _innermost(blocks, metadata)]
    return all(loop.marked for loop in loops) and any(loop.widths for loop in loops)


_Blocks = dict[str, tuple[str, ...]]


def _functions(text: str) -> Iterator[tuple[str, _Blocks]]:
    """First line and blocks by label of each function, except the one that Python calls."""
    head = ""
    blocks: dict[str, list[str]] | None = None
    label = ""
    for line in text.splitlines():
        if line.startswith("define "):
            head, label = line.replace('"', ""), ""
            blocks = None if _ENTRY in head else {}
        elif blocks is None:
            continue
        elif line.startswith("}"):
            yield head, {name: tuple(lines) for name, lines in blocks.items()}
            blocks = None
        elif found := _LABEL.match(line):
            label = found[1]
            blocks[label] = []
        elif line.strip():
            blocks.setdefault(label, []).append(line)


def _innermost(blocks: _Blocks, metadata: dict[str, str]) -> Iterator[_Loop]:
    """Loops that contain no other."""
    after = {
        name: [t for line in lines for t in _TARGET.findall(line) if t in blocks]
        for name, lines in blocks.items()
    }
    before: dict[str, list[str]] = {name: [] for name in blocks}
    for name, targets in after.items():
        for t in targets:
            before[t].append(name)
    bodies: dict[str, set[str]] = {}
    for latch, head in _back_edges(next(iter(blocks), ""), after):
        body = bodies.setdefault(head, {head})
        todo = [latch]
        while todo:
            name = todo.pop()
            if name not in body:
                body.add(name)
                todo += before[name]
    for head, body in bodies.items():
        if any(other in body for other in bodies if other != head):
            continue
        ends = [s for name in body for s in blocks[name] if "!llvm.loop" in s]
        names = {n for s in ends for n in re.findall(r"!llvm\.loop (!\d+)", s)}
        marked = any(_MARK in metadata.get(part, "") for n in names
                     for part in metadata.get(n, "").split(", "))  # fmt: skip
        rest = [name for name in blocks if name in body and name != head]
        yield _Loop(tuple(blocks[name] for name in (head, *rest)), marked)


def _back_edges(start: str, after: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Back edges: from the latch of a loop to its header."""
    path: dict[str, Iterator[str]] = {}
    seen: set[str] = set()
    todo = [start] if start in after else []
    while todo:
        name = todo[-1]
        if name not in path:
            seen.add(name)
            path[name] = iter(after[name])
        for target in path[name]:
            if target in path:
                yield name, target
            elif target not in seen:
                todo.append(target)
                break
        else:
            del path[name]
            todo.pop()


def _short(symbol: str) -> str:
    """A function's name in the user's source, or in the C library."""
    return symbol.removeprefix("f.")
