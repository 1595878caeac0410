"""Random launches of teams: nested ranges, scratch memory, barriers and collectives.

What a program's variables hold is the same for all members of a team; what differs between them, or
between iterations, goes to places of its own in the outputs at once. So no program has a race, and
all that members must meet for is reached by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

from execspace_compiler.ir.types import Scalar

from . import data_statements as data
from .cases import Case
from .contributions import Contribution, contribution
from .data_statements import INT64, place, value, whole
from .generate import Builder, Statement, early_return, output, output_update
from .patterns import PatternBuilder, begun, module

LEAGUE, SIZE, ITERATIONS = 5, 6, 32
_NOT_ALIKE = {output, output_update, early_return}
_LANES = "es.ThreadVectorRange"
_RANGES = ("es.TeamThreadRange", "es.TeamVectorRange")


class TeamBuilder(PatternBuilder):
    """Draws the statements of a program of teams."""

    table: ClassVar[list[Statement]] = [
        s for s in PatternBuilder.table
        if s.make not in _NOT_ALIKE and s.make not in {t.make for t in data.STORES}
    ]  # fmt: skip
    definitions: list[str]

    def at(self, type: Scalar, index: str) -> str:
        """An element of an output that the team alone stores, by what is different within it."""
        target = self.slot(type)
        return target.replace(", i]", f", team.league_rank{index}]")

    def range(self, words: tuple[str, ...] = (*_RANGES, _LANES)) -> str:
        """A nested range of up to 20 iterations."""
        end = 1 + self.rng.randrange(20)
        begin = f"{self.rng.randrange(end)}, " if self.chance(25) else ""
        return f"{self.pick(words)}(team, {begin}{end})"

    def joined(self) -> Contribution:
        """What nested reductions join: without a last step, which changes the type."""
        while True:
            found = contribution(self, "reduce")
            if "def final" not in found.definition:
                if found.definition:  # what a kernel makes itself are built-in ones only
                    name = self.fresh("made")
                    self.definitions.append(f"{found.definition}\n\n{name} = {found.reducer}\n")
                    found = replace(found, reducer=name)
                return found

    def knowing(self, places: dict[str, Scalar], make: Callable[[Builder], Any]) -> Any:
        """What is drawn where more is known: the index of an iteration, the rank of a thread."""
        before = dict(self.variables)
        for text, type in places.items():
            place(self, text, type)
        made = make(self)
        self.variables = before
        return made


def _contributed(found: Contribution) -> Callable[[Builder], str]:
    """A contribution as one expression."""
    if isinstance(found.types, str):
        return found.make
    return lambda b: text if (text := found.make(b))[0] == "V" else f"({text})"


def _results(b: TeamBuilder, name: str, found: Contribution) -> None:
    for text, type in found.prefix.items():
        place(b, name + text, Scalar(type))


def scratch(b: TeamBuilder) -> None:
    type, n, name, k = data._element(b), 2 + b.rng.randrange(8), b.fresh("s"), b.fresh("k")
    b.emit(f"{name} = team.scratch({n}, es.{type.name})")
    b.emit(f"for {k} in es.TeamThreadRange(team, {n}):")
    b.emit(f"    {name}[{k}] = " + b.knowing({f"es.int64({k})": INT64},
                                            lambda b: value(b, type, 2)).text)  # fmt: skip
    b.emit("team.barrier()")
    for index in ("0", f"i % {n}", "-1"):
        place(b, f"{name}[{index}]", type)


def nested_reduction(b: TeamBuilder) -> None:
    found, name, k = b.joined(), b.fresh("r"), b.fresh("k")
    each = b.knowing({f"es.int64({k})": INT64}, _contributed(found))
    if b.chance(70):
        function = f"lambda {k}: {each}"
    else:
        function = b.fresh("f")
        b.emit(f"def {function}({k}):")
        b.emit(f"    return {each}")
    b.emit(f"{name} = es.parallel_reduce({b.range()}, {function}, reducer={found.reducer})")
    _results(b, name, found)


def nested_scan(b: TeamBuilder) -> None:
    found, name, k, function = b.joined(), b.fresh("r"), b.fresh("k"), b.fresh("f")
    b.emit(f"def {function}({k}, prefix, final):")
    b.emit("    if final:")
    for text, type in found.prefix.items():
        b.emit(f"        {b.at(Scalar(type), f' * {ITERATIONS} + {k}')} = prefix{text}")
    each = b.knowing({f"es.int64({k})": INT64}, _contributed(found))
    b.emit(f"    return {each}")
    b.emit(f"{name} = es.parallel_scan({b.range(_RANGES)}, {function}, reducer={found.reducer})")
    _results(b, name, found)


def over_lanes(b: TeamBuilder) -> None:
    """A reduction of each thread within a loop over threads."""
    found, name, k, j = b.joined(), b.fresh("r"), b.fresh("k"), b.fresh("j")
    b.emit(f"for {j} in {b.range(_RANGES[:1])}:")
    places = {f"es.int64({j})": INT64, f"es.int64({k})": INT64}
    each = b.knowing(places, _contributed(found))
    b.emit(f"    {name} = es.parallel_reduce({b.range((_LANES,))}, lambda {k}: {each}, "
           f"reducer={found.reducer})")  # fmt: skip
    for text, type in found.prefix.items():
        b.emit(f"    {b.at(Scalar(type), f' * {ITERATIONS} + {j}')} = {name}{text}")


def shared_loop(b: TeamBuilder) -> None:
    type, j, k = data._element(b), b.fresh("j"), b.fresh("k")
    if b.chance(40):
        b.emit(f"for {j}, {k} in {b.pick(('es.TeamThreadMDRange', 'es.TeamVectorMDRange'))}"
               "(team, 3, 4):")  # fmt: skip
        places, index = {f"es.int64({j} - {k})": INT64}, f"{j} * 4 + {k}"
    else:
        b.emit(f"for {k} in {b.range(_RANGES)}:")
        places, index = {f"es.int64({k})": INT64}, k
    if b.chance(30):
        row = b.rows.get("atomic_int64", 0)
        b.rows["atomic_int64"] = row + 1
        e = b.knowing(places, lambda b: value(b, INT64)).text
        b.emit(f"    es.atomic_add(o_atomic_int64, ({row}, {e} % 8), es.int64({k}))")
        return
    e = b.knowing(places, lambda b: value(b, type, 2)).text
    b.emit(f"    {b.at(type, f' * {ITERATIONS} + {index}')} = {e}")


_RANK = {"es.int64(team.team_rank)": INT64, "es.int64(team.team_size)": INT64}


def collective(b: TeamBuilder) -> None:
    """What each thread has, joined, joined up to each thread, or told to all."""
    name = b.fresh("r")
    if b.chance(30):
        e = b.knowing(_RANK, lambda b: value(b, INT64)).text
        rank = b.pick(("0", "team.team_size - 1", "team.team_size - 1"))
        b.emit(f"{name} = team.broadcast({e} + es.int64(team.team_rank), {rank})")
        b.variables[name] = INT64
        return
    found = b.joined()
    e = b.knowing(_RANK, _contributed(found))
    if b.chance(50):
        b.emit(f"{name} = team.reduce({e}, {found.reducer})")
        _results(b, name, found)
        return
    b.emit(f"{name} = team.scan({e}, {found.reducer})")
    for text, type in found.prefix.items():
        b.emit(f"{b.at(Scalar(type), f' * {SIZE} + team.team_rank')} = {name}{text}")


def once(b: TeamBuilder) -> None:
    if b.chance(50):
        e = b.any(2)
        b.emit("if es.single(es.PerTeam(team)):")
        b.emit(f"    {b.at(e.type, '')} = {e.text}")
        return
    type, name = data._element(b), b.fresh("r")
    b.emit(f"{name} = es.single(es.PerTeam(team), lambda: {value(b, type, 2).text})")
    b.variables[name] = type


def of_thread(b: TeamBuilder) -> None:
    """What each thread computes by itself, perhaps in scratch memory of its own."""
    type = data._element(b)
    e = b.knowing(_RANK, lambda b: value(b, type, 2)).text
    if b.chance(40):
        name, k = b.fresh("s"), b.fresh("k")
        b.emit(f"{name} = team.thread_scratch(3, es.{type.name})")
        b.emit(f"for {k} in range(3):")
        b.emit(f"    {name}[{k}] = {whole(b, type)}")
        e = f"{name}[{b.pick('012')}]"
    b.emit(f"{b.at(type, f' * {SIZE} + team.team_rank')} = {e}")


STEPS = (scratch, nested_reduction, nested_reduction, nested_scan, over_lanes, shared_loop,
         collective, collective, once, of_thread, PatternBuilder.statement,
         PatternBuilder.statement)  # fmt: skip


def case(
    rng: Random, pattern: str, programs: int = 1, *, has_complex: bool = True,
    has_float16: bool = False,
) -> Case:  # fmt: skip
    """A random launch of teams; `pattern` is "for" or "reduce"."""
    b = begun(TeamBuilder, rng, has_complex, has_float16)
    b.definitions = []
    functions: list[str] = []
    contributions: list[Contribution] = []
    for n in range(programs):
        b.begin("for")
        b.emit(f"i = (team.league_rank * 17 + {rng.randrange(100)}) % 196")
        for _ in range(2 + rng.randrange(4)):
            STEPS[rng.randrange(len(STEPS))](b)
        if pattern == "reduce":
            found = contribution(b, "reduce")
            b.definitions += [found.definition] if found.definition else []
            contributions.append(found)
            if programs == 1 and b.chance(50):
                b.emit(f"return {found.make(b)}")
            else:  # alike by what it is, whatever the other programs store
                b.emit(f"shared = team.broadcast({_contributed(found)(b)}, 0)")
                b.emit("return shared")
        functions += [f"def program_{n}(team, {{parameters}}):", *b.lines, ""]
    inputs = sorted(b.inputs)
    outputs = [f"o_{name}:{rows}" for name, rows in b.rows.items()]
    given = ", ".join(("n", *inputs, *(text.partition(":")[0] for text in outputs), "mode"))
    text = [line.replace("{parameters}", given) for line in functions]
    text.append(f"def kernel(team, {given.replace('mode', 'mode: es.static')}):")
    calls = [f"program_{n}(team, {given})" for n in range(programs)]
    types: Any = None
    if pattern == "reduce":
        text.append(f"    return {', '.join(calls)}")
        types = tuple(c.types for c in contributions) if programs > 1 else contributions[0].types
        text.append(f"\nreducer = {', '.join(c.reducer for c in contributions)}")
    else:
        text += [f"    {call}" for call in calls]
    sizes = 1 + rng.randrange(SIZE), rng.choice((1, 1, 2, 4))
    return Case(
        pattern, module(b, b.definitions, text), ((0, 1 + rng.randrange(LEAGUE)),),
        ("n", *inputs, *outputs, b.pick("012")), types, team=sizes, programs=programs,
    )  # fmt: skip
