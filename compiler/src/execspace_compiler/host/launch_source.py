"""Source of the module that Numba compiles for a launch: the kernel, its loops, and a launcher.

The launcher splits the units of a range into parts and runs the chunk function for each, on the
calling thread or on a pool of threads. A pure function of IR, so goldens need no Numba.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace

from execspace.base import config

from .. import ir
from ..analysis.cost import cost
from ..analysis.overlap import pairs_to_check
from ..codegen.python.base import function_name, identifier, part_of_view
from ..codegen.python.numba import NumbaPrinter
from ..ir.types import Pointer, Scalar, ViewTy
from ..mapping.loops import Calls, chunk_function, items_count, units_count
from ..passes.inner_loops import with_tested_loops
from ..passes.masking import masked_of
from ..passes.prechecks import prechecks_of
from ..passes.thresholds import with_thresholds
from ..reductions.partials import (
    PART_STRIDE,
    entries,
    finish_function,
    last_function,
    prefix_function,
    seed_function,
)
from ..reductions.reduction import Reduction
from ..typing.lowered import Lowered
from .fork import Fork
from .wide import aligned_views

# Below this much work, in additions, a range runs on the calling thread: waking threads costs about
# a microsecond if they are spinning, and far more if they sleep.
SERIAL_WORK = 16_000

LAUNCHERS = ("serial", "pool", "libgomp", "prange", "fork")

_STACK = 1 << 18  # bytes of partial results on the stack; larger ones are on the heap


@dataclass(frozen=True, slots=True)
class Launcher:
    """The distribution of a range's parts over threads.

    Attributes
    ----------
    name : str
        "serial", "pool" (the threads of `host.pool`), "libgomp" (a direct call of GOMP_parallel),
        "prange" (Numba's own layer) or "fork" (the space's own threads). Before it first compiles,
        a space calls `host.pool.start` for "pool", and for "libgomp"
        ``llvmlite.binding.load_library_permanently("libgomp.so.1")``.
    parts : int
        Parts of a large range, 1 to 1024; reductions join in the order of parts, and their partial
        results are on the stack.
    fork : Fork or None
        For "fork", and no other: it runs the parts.
    serial_work : int
        Ranges of less work, in additions, run on the calling thread.
    """

    name: str
    parts: int = 1
    fork: Fork | None = field(default=None, repr=False)  # not in the source, so in no cache key
    serial_work: int = SERIAL_WORK

    def __post_init__(self) -> None:
        if self.name not in LAUNCHERS:
            raise ValueError(
                f"Launcher({self.name!r}): expected one of {', '.join(map(repr, LAUNCHERS))}."
            )
        object.__setattr__(self, "parts", self._checked_parts())
        if self.fork is not None and not isinstance(self.fork, Fork):
            raise TypeError(
                f"Launcher({self.name!r}, fork={self.fork!r}): expected a Fork; wrap a function "
                f"run(part, parts) as Fork(run)."
            )
        if self.name == "fork" and self.fork is None:
            raise ValueError(
                "Launcher('fork'): expected the Fork that runs its parts; give "
                "Launcher('fork', parts, Fork(run))."
            )
        if self.name != "fork" and self.fork is not None:
            raise ValueError(
                f"Launcher({self.name!r}, fork={self.fork!r}): only 'fork' takes a Fork; leave it "
                f"out, or give Launcher('fork', parts, Fork(run))."
            )

    def _checked_parts(self) -> int:
        # Not bools: they are ints, but True is no number of parts.
        try:
            parts = None if isinstance(self.parts, bool) else operator.index(self.parts)
        except TypeError:
            parts = None
        expected = f"expected a whole number from 1 to {config.MOST_THREADS}"
        advice = "give about as many as there are threads to run them"
        if parts is None:
            raise TypeError(f"Launcher: parts={self.parts!r}; {expected}; {advice}.")
        if not 1 <= parts <= config.MOST_THREADS:
            raise ValueError(f"Launcher: parts={parts}; {expected}; {advice}.")
        return parts


def _overlap_check(pairs: list[tuple[ir.Var, ir.Var]], written: frozenset[str]) -> list[str]:
    """Lines that return False if a View that is written overlaps another one."""
    either = dict.fromkeys(v for pair in pairs for v in pair)
    views = sorted(either, key=lambda view: view.name not in written)
    out = []
    for p in views:
        assert isinstance(p.type, ViewTy)
        name, size = identifier(p.name), p.type.element.itemsize
        low, high, address = (part_of_view(name, w) for w in ("lo", "hi", "d"))
        out.append(f"    {low}, {high} = _r.footprint({address}, {p.type.rank}, {size})")
    if views:
        ends = [part_of_view(identifier(p.name), w) for p in views for w in ("lo", "hi")]
        stored = sum(p.name in written for p in views)
        out += [f"    if _r.overlap(({', '.join(ends)}), {stored}):", "        return False"]
    return out


def launch_module(
    lowered: Lowered,
    order: tuple[int, ...],
    launcher: Launcher,
    disjoint: bool = False,
    pool: tuple[ir.Var, ir.Expr] | None = None,
    masks: bool = False,
) -> str:
    """Source of the module for a launch; a pure function, so goldens need no Numba.

    `pool` is the scratch memory of a team, see `chunk_function`. `masks`: masked stores are
    as cheap as others.
    """
    policy, reduction = lowered.spec.policy, lowered.reduction
    scan = lowered.spec.pattern == "scan"
    walked = with_tested_loops(lowered, disjoint, masks)
    calls = Calls(walked.body, lowered.leading, policy, order, reduction)
    masked = masked_of(walked, disjoint, order[-1]) if masks else None
    prechecks = None if masked else prechecks_of(walked, disjoint, order[-1], masks)
    functions = [] if prechecks is None else [*prechecks.functions]
    functions += [] if masked is None else [*masked.tests, masked.body]
    last = replace(calls, final=True if scan else None)
    functions.append(chunk_function(last, "_chunk", pool, prechecks, masked))
    if reduction is not None and scan:
        functions.append(chunk_function(replace(calls, final=False), "_totals", pool))
        functions.append(seed_function(reduction, "_seed"))
        functions.append(prefix_function(reduction, "_prefixes"))
        functions.append(last_function(reduction, "_finish"))
    elif reduction is not None:
        functions.append(finish_function(reduction, "_finish"))
    module = walked.module(*functions, disjoint=disjoint)
    printer = NumbaPrinter(with_thresholds(module))
    head = [
        f'"""Generated by execspace from kernel {lowered.kernel.name!r}."""',
        "",
        "import math",
        "",
        "import numba",
        "import numpy as np",
        "",
        "from execspace_compiler.host import runtime as _r",
    ]
    body = _launch_lines(printer, module, lowered, order, launcher)
    body += ["", "", f"PRINTS = {lowered.prints}", f"ASSERTIONS = {_assertion_table(lowered)}"]
    body.append(f"LIMITS = {lowered.limits}")
    body.append(f"ALIGNED = {aligned_views(lowered)}")
    if reduction is not None:
        body.append(f"RESULT = {reduction.result!r}")
    return "\n".join(head) + "\n" + printer.source() + "\n\n" + "\n".join(body) + "\n"


def _assertion_table(lowered: Lowered) -> str:
    """The asserts of a kernel as a literal: a later process reports them without lowering."""
    rows = [
        (a.loc.file, a.loc.line, a.loc.column, a.loc.end_line, a.loc.end_column, a.message)
        for a in lowered.assertions
    ]
    return repr(rows)


def _launch_lines(
    printer: NumbaPrinter,
    module: ir.Module,
    lowered: Lowered,
    order: tuple[int, ...],
    launcher: Launcher,
) -> list[str]:
    chunk, policy = module.function("_chunk"), lowered.spec.policy
    reduction, scan = lowered.reduction, lowered.spec.pattern == "scan"
    pointers = [] if reduction is None else [f"_p{n}" for n in range(len(reduction.states))]
    rest = chunk.parameters[3 + len(pointers) :] if pointers else chunk.parameters[2:]
    inputs = [_parameter(p) for p in rest]
    taken, kinds = list(inputs), [_numba_type(p) for p in rest]
    if reduction is not None and reduction.array is not None:
        taken.append("_out")
        kinds.append("numba.int64")
    if launcher.name == "fork":
        taken.insert(0, "_fork")
        kinds.insert(0, "numba.int64")
    signature = ", ".join(["numba.int64", *kinds])
    work = cost(lowered.body, lowered.functions)
    parallel = ", parallel=True" if launcher.name == "prange" else ""
    written = ir.written_views(lowered.body)
    out = [
        *(_passes(printer, pointers, inputs) if scan else []),
        f"@_r.stored([({signature},)], {printer.options()}{parallel})",
        f"def launch(_parts, {', '.join(taken)}):",
        *(_overlap_check(pairs_to_check(lowered), written) if module.disjoint else []),
        f"    _total = {printer.expr(units_count(policy, order))}",
        "    _threads = _parts",
        "    _parts = abs(_parts)",
    ]
    if launcher.name != "serial" and work is not None:
        few = launcher.serial_work // max(work, 1)
        out += [
            f"    if {printer.expr(items_count(policy))} < {few}:",
            "        _parts = 1",
        ]
    if reduction is None:
        out += _spread(launcher, "_chunk", inputs)
        return [*out, "    return True"] if module.disjoint else out
    number = "(_parts + 1)" if scan else "_parts"
    size = _row_bytes(reduction)
    large = reduction.array is not None and launcher.parts * size > _STACK
    room = "allocate" if large else "workspace"
    out += [f"    _space = _r.{room}({number} * {size * len(pointers)})"]
    out += [f"    {p} = _space + {number} * {size * n}" for n, p in enumerate(pointers)]
    finish = function_name("_finish")
    if scan:
        return [*out, *_scan(launcher, pointers, inputs)]
    out += _spread(launcher, "_chunk", [*pointers, *inputs], reduces=True)
    if reduction.array is not None:
        out += [f"    {finish}(_parts, {pointers[0]}, _out)"]
        return [*out, "    _r.release(_space)"] if large else out
    return [*out, f"    return {finish}(_parts, {', '.join(pointers)})"]


def _row_bytes(reduction: Reduction) -> int:
    """Bytes of one part's entry in a row of partial results."""
    if reduction.array is None:
        return PART_STRIDE * 16
    return -(-entries(reduction) * reduction.states[0].type.itemsize // 64) * 64


# A total takes a fraction of the time of the scan of as many elements: the first part, which
# is scanned while the others find their totals, gets this fraction of another part's share.
_SHARE = 4


def _passes(printer: NumbaPrinter, pointers: list[str], inputs: list[str]) -> list[str]:
    """The two passes of a scan that is split into one more part than there are threads.

    The first part is scanned in the first pass already, while the others compute their totals; the
    last one needs no total. So threads do not wait for each other, and walk less than twice.
    """
    args = ", ".join(["_first", "_last", "_part", *pointers, *inputs])
    head = f"@_r.linked({printer.options()})"
    rest = ", ".join([*pointers, *inputs])
    borders = [
        f"    _shares = _end * {_SHARE} + 1",
        f"    _last = _r.truncdiv((_part * {_SHARE} + 1) * _size, _shares)",
        "    _first = 0",
        "    if _part > 0:",
        f"        _first = _r.truncdiv(((_part - 1) * {_SHARE} + 1) * _size, _shares)",
    ]
    return [
        head,
        f"def {function_name('_first_pass')}(_from, _to, _part, _end, _size, {rest}):",
        *borders,
        "    if _part == 0:",
        f"        {function_name('_chunk')}({args})",
        "    elif _part < _end:",
        f"        {function_name('_totals')}({args})",
        "",
        "",
        head,
        f"def {function_name('_second_pass')}(_from, _to, _part, _end, _size, {rest}):",
        *borders,
        "    if _part > 0:",
        f"        {function_name('_chunk')}({args})",
        "",
        "",
    ]


def _scan(launcher: Launcher, pointers: list[str], inputs: list[str]) -> list[str]:
    """Lines that scan: in one pass on one thread, in two passes on several."""
    rows_ = ", ".join(pointers)
    finish = function_name("_finish")
    args = ", ".join([*pointers, *inputs])
    out = [
        f"    {function_name('_seed')}(0, {rows_})",
        "    if _parts == 1:",
        f"        {function_name('_chunk')}(0, _total, 0, {args})",
        f"        return {finish}(0, {rows_})",
    ]
    if launcher.name == "serial":
        return out
    passed = ["_end", "_size", *pointers, *inputs]
    return [
        *out,
        "    _size = _total",
        "    _end = _parts",
        "    _parts = _end + 1",
        *_spread(launcher, "_first_pass", passed, reduces=True),
        f"    {function_name('_prefixes')}(_end, {rows_})",
        *_spread(launcher, "_second_pass", passed, reduces=True),
        f"    return {finish}(_end, {rows_})",
    ]


def _spread(launcher: Launcher, chunk: str, args: list[str], reduces: bool = False) -> list[str]:
    """Lines that run a chunk function for every part."""
    part = "_part, " if reduces else ""
    name = function_name(chunk)
    call = f"{name}(_first, _last, {part}{', '.join(args)})"

    def each_part(loop: str) -> list[str]:
        return [
            f"for _part in {loop}(_parts):",
            "    _first = _r.truncdiv(_part * _total, _parts)",
            "    _last = _r.truncdiv((_part + 1) * _total, _parts)",
            f"    {call}",
        ]

    if launcher.name == "serial":
        return ["    " + line for line in each_part("range")]
    if launcher.name == "prange":
        team = each_part("numba.prange")
    elif launcher.name == "fork":
        call_ = "call_reduce" if reduces else "call_for"
        team = [f"_r.{call_}({name}, _fork, _parts, _total, ({', '.join(args)},))"]
    else:
        way = "pool" if launcher.name == "pool" else "fork"
        fork = f"{way}_reduce" if reduces else f"{way}_for"
        team = [f"_r.{fork}({name}, _threads, _parts, _total, ({', '.join(args)},))"]
    return [
        # A negative number of parts means that this process must not use threads.
        "    if _parts == 1 or _threads < 0:",
        *("        " + line for line in each_part("range")),
        "    else:",
        *("        " + line for line in team),
    ]


def _parameter(p: ir.Var) -> str:
    name = identifier(p.name)
    return part_of_view(name, "d") if isinstance(p.type, ViewTy | Pointer) else name


def _numba_type(p: ir.Var) -> str:
    if isinstance(p.type, Scalar):
        return "numba.boolean" if p.type.name == "bool" else f"numba.{p.type.name}"
    return "numba.int64"
