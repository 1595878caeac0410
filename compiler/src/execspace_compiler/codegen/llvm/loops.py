"""Loops in LLVM IR: Python's `range`, and loops over calls whose iterations run in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import ir
from .emitter import Emitter
from .expressions import Expressions

FAR = 1 << 30  # iterations of `first_failure` must be below

Body = Callable[[str, list[str]], list[str]]
"""Writes an iteration: takes the index and the loop-carried numbers, returns the next ones."""

# Interleaving several vectors pays off only for long rows, and is costly for short ones: without
# it, rows of 12 to 50 elements are up to twice as fast.
_ONE_VECTOR = {"interleave.count": "i32 1"}

# As LLVM decides itself for a loop that does little, but not with a test of an assertion beside it.
_FOUR_VECTORS = {"interleave.count": "i32 4"}

# If masks are cheap, short rows use tail folding (a masked last vector). It costs too much in long
# ones, since indices are compared in 64 bits.
_MASKED = {**_ONE_VECTOR, "vectorize.predicate.enable": "i1 true"}
_SHORT = 64
# Of a loop that hardly ever does anything, its counter and its branch are most of the work; and of
# a prefix sum they take half of the instructions that a processor looks ahead for memory.
_UNROLLED = {"unroll.count": "i32 4"}


def hinted(e: Emitter, hints: dict[str, str]) -> str:
    """The metadata of a loop."""
    nodes = [e.module.node(f'!"llvm.loop.{name}"', value) for name, value in hints.items()]
    return f", !llvm.loop {e.module.distinct(*nodes)}"


def in_order(e: Emitter) -> None:
    """Prevent LLVM from vectorising the loop (analysis/invariants.py)."""
    e.do('call void asm sideeffect "", ""()')


def loop(
    e: Emitter,
    begin: str,
    end: str,
    carried: Sequence[tuple[str, str]],
    iteration: Body,
    hints: dict[str, str],
) -> list[str]:
    """A loop over begin <= i < end; returns what it carries after the last iteration.

    `carried` holds type and first value of what one iteration passes to the next.
    """
    before, label, after = e.block, e.label("loop"), e.label("after")
    index, following = e.name("i"), e.name("next")
    names = [(e.name("c"), kind, first) for kind, first in carried]
    test = e.op(f"icmp slt i64 {begin}, {end}")
    e.branch(test, label, after)
    e.start(label)
    at = len(e.body)
    changed = iteration(index, [name for name, _, _ in names])
    e.body.append(f"  {following} = add nsw i64 {index}, 1")
    last = e.block
    heads = [f"  {index} = phi i64 [ {begin}, %{before} ], [ {following}, %{last} ]"]
    for (name, kind, first), value in zip(names, changed, strict=True):
        heads.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {value}, %{last} ]")
    e.body[at:at] = heads
    test = e.op(f"icmp slt i64 {following}, {end}")
    e.branch(test, label, after, hinted(e, hints) if hints else "")
    e.start(after)
    return [
        e.phi(kind, (first, before), (value, last))
        for (_, kind, first), value in zip(names, changed, strict=True)
    ]


def _loops(
    e: Emitter, end: str, carried: Sequence[tuple[str, str]], body: Body, rows: bool, masks: bool
) -> list[str]:
    """`loop` from 0, for many short rows or for a long one."""
    if not rows or not masks:
        return loop(e, "0", end, carried, body, _ONE_VECTOR if rows else {})
    short, long, after = (e.label(w) for w in ("short", "long", "walked"))
    e.branch(e.op(f"icmp slt i64 {end}, {_SHORT}"), short, long)
    found = []
    for label, hints in ((short, _MASKED), (long, _ONE_VECTOR)):
        e.start(label)
        results = loop(e, "0", end, carried, body, hints)
        found.append((e.block, results))
        e.jump(after)
    e.start(after)
    return [
        e.phi(kind, *((results[n], block) for block, results in found))
        for n, (kind, _) in enumerate(carried)
    ]


def independent_loop(f: Expressions, s: ir.For) -> None:
    """A loop over calls of a body, which are independent."""
    (statement,) = s.body
    assert isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Call)
    call = _called(f, statement.value, s.name)
    first, last = f.number(s.start), f.number(s.stop)

    def iteration(index: str, _: list[str]) -> list[str]:
        call(index)
        return []

    loop(f, first, last, [], iteration, _ONE_VECTOR)


def _called(f: Expressions, x: ir.Call, name: str) -> Callable[[str], str]:
    """Evaluates the arguments of a call but the index; returns what writes the call for one."""
    known: dict[int, ir.Expr] = {}
    for n, a in enumerate(x.args):
        if not isinstance(a, ir.Var | ir.Const):
            held = f"_held{len(f.values)}"
            f.values[held] = f.expr(a)
            known[n] = ir.Var(held, a.type)
    call = ir.Call(x.function, tuple(known.get(n, a) for n, a in enumerate(x.args)), x.type)

    def write(index: str) -> str:
        slots, value = f.slots.pop(name, None), f.values.get(name)
        f.values[name] = index
        result = f.call(call)
        if value is not None:
            f.values[name] = value
        if slots is not None:
            f.slots[name] = slots
        return result

    return write


# -- failures ---------------------------------------------------------------------------------


def failures(f: Expressions, s: ir.Failures, deep: bool) -> list[str]:
    """A loop that finds out what failed in it; returns the variables that it sets."""
    call = _called(f, s.call, s.name)
    begin, end = f.number(s.start), f.number(s.stop)
    rounds = f.op(f"sub i64 {end}, {begin}")

    def checked(n: str) -> str:
        if deep:
            in_order(f)
        return call(f.op(f"add nsw i64 {begin}, {n}"))

    if len(s.names) == 1:
        return [_any_failure(f, s, rounds, checked)]
    return _first_failure(f, s, (begin, end, rounds), checked)


def _any_failure(f: Expressions, s: ir.Failures, rounds: str, call: Callable[[str], str]) -> str:
    """Whether a body is true for any index.

    The number that counts failures has the width of the compared numbers, or comparisons would be
    packed; it is a bool if they give masks.
    """
    kind = f"i{s.bits}"

    # AVX-512 ands a comparison with an earlier mask in one instruction, so keep what holds.
    def iteration(n: str, carried: list[str]) -> list[str]:
        failed = call(n)
        if s.bits == 1:
            held = f.op(f"xor i1 {failed}, true")
            return [f.op(f"and i1 {carried[0]}, {held}")]
        return [f.op(f"add {kind} {carried[0]}, {f.op(f'zext i1 {failed} to {kind}')}")]

    start = "true" if s.bits == 1 else "0"
    (found,) = _loops(f, rounds, [(kind, start)], iteration, s.rows, s.bits == 1)
    return f.op(f"icmp ne {kind} {found}, {start}")


def _first_failure(
    f: Expressions, s: ir.Failures, bounds: tuple[str, str, str], call: Callable[[str], str]
) -> list[str]:
    """The index of the first failure, the end if there is none, and the assertion's number."""
    begin, end, rounds = bounds
    numbers = range(1, 1 + max(1, s.count))

    def least(a: str, b: str) -> str:
        return f.op(f"select i1 {f.op(f'icmp slt i32 {a}, {b}')}, i32 {a}, i32 {b}")

    # Loop-carried numbers have 32 bits, or vectors of float32 would need more registers.
    def iteration(n: str, carried: list[str]) -> list[str]:
        code = call(n)
        at = f.op(f"trunc i64 {n} to i32")
        found = []
        for number, v in zip(numbers, carried, strict=True):
            test = f"eq i64 {code}, {number}" if s.count else f"ne i64 {code}, 0"
            failed = f.op(f"icmp {test}")
            found.append(least(v, f.op(f"select i1 {failed}, i32 {at}, i32 {FAR}")))
        return found

    start = [("i32", str(FAR)) for _ in numbers]
    where, *others = _loops(f, rounds, start, iteration, s.rows, True)
    code = "1"
    for number, v in zip(numbers[1:], others, strict=True):
        less = f.op(f"icmp slt i32 {v}, {where}")
        code = f.op(f"select i1 {less}, i64 {number}, i64 {code}")
        where = least(v, where)
    held = f.op(f"icmp eq i32 {where}, {FAR}")
    wide = f.op(f"sext i32 {where} to i64")
    index = f.op(f"select i1 {held}, i64 {end}, i64 {f.op(f'add i64 {begin}, {wide}')}")
    return [index, code]


# -- range ------------------------------------------------------------------------------------


def range_loop(f: Expressions, s: ir.For, body: Callable[[str, str, str], None]) -> None:
    """Python's `for name in range(...)`: bounds are evaluated once.

    `body` writes an iteration: it takes the index, and the labels to leave the loop and to go on.
    """
    start, stop, step = (f.number(x) for x in (s.start, s.stop, s.step))
    head, inside, again, after = (f.label(w) for w in ("for", "body", "again", "done"))
    known = s.step.value if isinstance(s.step, ir.Const) else None
    counted = known not in (1, -1)
    if counted:  # since a step beyond the end may be beyond 64 bits, too
        begin, end, advance = "0", _trip_count(f, start, stop, step, known), "nuw i64 {}, 1"
        test = "ult"
    else:
        begin, end, advance = start, stop, f"nsw i64 {{}}, {known}"
        test = "slt" if known == 1 else "sgt"
    before = f.block
    f.jump(head)
    f.start(head)
    counter, following = f.name("k"), f.name("next")
    f.body.append(f"  {counter} = phi i64 [ {begin}, %{before} ], [ {following}, %{again} ]")
    f.branch(f.op(f"icmp {test} i64 {counter}, {end}"), inside, after)
    f.start(inside)
    index = counter
    if counted:
        index = f.op(f"add i64 {start}, {f.op(f'mul i64 {counter}, {step}')}")
    body(index, after, again)
    f.jump(again)
    f.start(again)
    f.body.append(f"  {following} = add {advance.format(counter)}")
    hints = _hints(f, s)
    f.jump(head, hinted(f, hints) if hints else "")
    f.start(after)


def _hints(f: Expressions, s: ir.For) -> dict[str, str]:
    """Hints for a loop of the kernel, or for one around it."""
    inside = ir.walk_statements(s.body)
    innermost = not any(isinstance(t, ir.For | ir.While) for t in inside)
    if innermost and (s.sequential or any(isinstance(t, ir.If) and t.rare for t in inside)):
        return _UNROLLED
    if s.interleaved:
        return _FOUR_VECTORS
    return _ONE_VECTOR if s.nested and _stores(f, s.body) else {}


def _stores(f: Expressions, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether statements store elements, themselves or in functions that they call."""
    if any(isinstance(t, ir.Store | ir.StoreAt) for t in ir.walk_statements(body)):
        return True
    called = {e.function for e in ir.walk_expressions(body) if isinstance(e, ir.Call)}
    return any(_stores(f, f.functions[name].body) for name in called)


def _trip_count(f: Expressions, start: str, stop: str, step: str, known: int | None) -> str:
    """Number of iterations, unsigned."""

    def upwards() -> str:
        return _rounds(f, start, stop, step)

    def downwards() -> str:
        return _rounds(f, stop, start, f.op(f"sub i64 0, {step}"))

    if known is not None:
        return upwards() if known > 0 else downwards()
    up = f.op(f"icmp sgt i64 {step}, 0")
    down = f.op(f"icmp slt i64 {step}, 0")
    size = f.op(f"select i1 {up}, i64 {step}, i64 {f.op(f'sub i64 0, {step}')}")
    some = f.op(f"or i1 {up}, {down}")
    size = f.op(f"select i1 {some}, i64 {size}, i64 1")
    low = f.op(f"select i1 {up}, i64 {start}, i64 {stop}")
    high = f.op(f"select i1 {up}, i64 {stop}, i64 {start}")
    count = _rounds(f, low, high, size)
    return f.op(f"select i1 {some}, i64 {count}, i64 0")


def _rounds(f: Expressions, low: str, high: str, step: str) -> str:
    """Steps from one number to a higher one; 0 if it is not higher."""
    some = f.op(f"icmp slt i64 {low}, {high}")
    last = f.op(f"sub i64 {f.op(f'sub i64 {high}, {low}')}, 1")
    count = f.op(f"add i64 {f.op(f'udiv i64 {last}, {step}')}, 1")
    return f.op(f"select i1 {some}, i64 {count}, i64 0")
