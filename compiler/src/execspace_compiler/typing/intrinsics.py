"""Typing of execspace's own words in kernels: es.local, es.printf, es.subview, tuples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import execspace

from .. import ir
from ..ir.diagnostics import Loc, type_fault
from .atomics import ATOMIC_WORDS, AtomicRules
from .module import local_array
from .printf import conversions
from .rules.operators import binary, constant, either, truth
from .values import Obj, TupleValue, Value, describe, is_view, scalar


class WordRules(AtomicRules):
    """Calls of functions that execspace defines itself, and of Python's on tuples."""

    def _enumerate(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        pairs = enumerate(tuples[0])
        return TupleValue(tuple(TupleValue((constant(n, loc), v)) for n, v in pairs))

    def _zip(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        return TupleValue(tuple(TupleValue(row) for row in zip(*tuples, strict=False)))

    def _reversed(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        return TupleValue(tuples[0][::-1])

    def _tuple(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        return TupleValue(tuples[0])

    def _sum(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        total: Value = constant(0, loc)
        for n, item in enumerate(tuples[0]):
            number = scalar(self.settled(total, n), loc)
            total = binary(self, "add", number, scalar(item, loc), loc)
        return total

    def _any(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        return self._all_or_any(tuples[0], "or", loc)

    def _all(self, tuples: list[tuple[Value, ...]], loc: Loc) -> Value:
        return self._all_or_any(tuples[0], "and", loc)

    def _all_or_any(self, items: tuple[Value, ...], op: str, loc: Loc) -> Value:
        result: Value = constant(op == "and", loc)
        for n, item in enumerate(items):
            result = self.settled(result, n)
            result = either(result, truth(self, scalar(item, loc), loc), op, loc)
        return result

    # -- words of execspace -------------------------------------------------------------------

    def special_call(self, target: Any, args: Sequence[Value], loc: Loc) -> Value | None:
        """es.local, es.printf, es.subview and atomic functions; None for anything else."""
        if target is execspace.local:
            type = self.local_type(args, loc)
            name = local_array(loc)
            self.types[name] = type
            array = ir.Var(name, type, loc)
            self.out.append(ir.Clear(array, loc))
            return array
        if target is execspace.printf:
            text = args[0].value if args and isinstance(args[0], Obj) else None
            if not isinstance(text, str):
                raise type_fault(
                    loc,
                    "es.printf takes a constant format string first",
                    'write es.printf("%g\\n", x)',
                )
            numbers = [scalar(a, loc) for a in args[1:]]
            found = conversions(text, [n.type for n in numbers], loc)
            rest = iter(numbers)
            pieces: list[str | tuple[str, ir.Expr]] = []
            for piece, type_ in found:
                if type_ is None:
                    pieces.append(piece)
                else:
                    pieces.append((piece, self.coerce(next(rest), type_)))
            self.out.append(ir.Print(tuple(pieces), loc))
            self.module.prints = True
            return Obj(None, "None")
        if isinstance(target, Hashable) and target in ATOMIC_WORDS:
            return self.atomic_call(target, args, loc)
        tuples = _TUPLE_CALLS.get(target) if isinstance(target, Hashable) else None
        if tuples is not None:
            other = [a for a in args if not isinstance(a, TupleValue)]
            if other or not args or (len(args) > 1 and target is not zip):
                got = " and ".join(map(describe, args)) or "no arguments"
                many = "tuples" if target is zip else "one tuple"
                hint = "loop over range(A.extent(0)) and index A in the loop"
                if any(map(is_view, args)) and target in (sum, any, all):
                    hint = "go through the elements in a loop over range, or launch parallel_reduce"
                elif any(map(is_view, args)) and target is tuple:
                    hint = "name its elements: (A[0], A[1]), or use a part of it: A[0:2]"
                elif not any(map(is_view, args)):
                    hint = f"write {target.__name__}({'a, b' if target is zip else '(a, b, c)'})"
                raise type_fault(
                    loc, f"{target.__name__} takes {many} in a kernel, got {got}", hint
                )
            return tuples(self, [a.items for a in args if isinstance(a, TupleValue)], loc)
        if target is execspace.subview:
            if not args or not is_view(args[0]):
                got = describe(args[0]) if args else "no arguments"
                raise type_fault(
                    loc,
                    f"es.subview takes a View first, got {got}",
                    "write es.subview(A, i, es.ALL), or A[i, :]",
                )
            locs = [loc] * (len(args) - 1)
            return self.read(self.part_of(args[0], list(args[1:]), locs, loc), loc)
        return None


_TUPLE_CALLS: dict[Any, Callable[[WordRules, list[tuple[Value, ...]], Loc], Value]] = {
    enumerate: WordRules._enumerate, zip: WordRules._zip, reversed: WordRules._reversed,
    tuple: WordRules._tuple, sum: WordRules._sum, any: WordRules._any, all: WordRules._all,
}  # fmt: skip
