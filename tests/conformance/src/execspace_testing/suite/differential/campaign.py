"""Many random programs on a space: drawn one after the other from seeds, counted by pattern.

A campaign can be repeated: the case of each number follows from the campaign's seed alone.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import execspace as es

from . import patterns, team_cases
from .cases import Case, Difference, check
from .reducing import reduced
from .refused import REFUSED

PATTERNS = (*patterns.PATTERNS, "team-for", "team-reduce")
REFUSED_SHARE = 0.15


@dataclass(frozen=True)
class Size:
    """How large the cases of a campaign are."""

    programs: int  # of one case, so of one compilation
    statements: int  # about so many of one program
    most: int  # indices of a launch


CHEAP = Size(8, 3, 10)
COMPILED = Size(8, 3, 96)


def drawn(seed: int, number: int, size: Size, space: es.ExecutionSpace) -> Case:
    """A case by its number."""
    rng = Random(f"{seed} {number}")
    teams = isinstance(space, es.SupportsTeams)
    table = PATTERNS if teams else patterns.PATTERNS
    pattern = table[number % len(table)]
    has = space.capabilities
    options = {"has_complex": has.complex, "has_float16": has.float16}
    if pattern.startswith("team-"):
        return team_cases.case(rng, pattern.removeprefix("team-"), size.programs, **options)
    refused = rng.choice(REFUSED) if rng.random() < REFUSED_SHARE else None
    programs = 1 if refused or rng.random() < 0.15 else size.programs
    return patterns.case(
        rng, pattern, programs, statements=size.statements, most=size.most, refused=refused,
        **options,
    )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A difference: the case, and what was said of it."""

    number: int
    case: Case
    message: str


@dataclass
class Tally:
    """What a campaign has done so far: programs by pattern, refused ones apart, and differences."""

    programs: Counter[str] = field(default_factory=Counter)
    differences: list[Found] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Programs run."""
        return sum(self.programs.values())


def run(
    space: es.ExecutionSpace, seed: int, numbers: Iterator[int], size: Size, tally: Tally,
    enough: Callable[[], bool],
) -> None:  # fmt: skip
    """Check cases until there is enough."""
    for number in numbers:
        if enough():
            return
        case = drawn(seed, number, size, space)
        pattern = f"team {case.pattern}" if case.team else case.pattern
        name = "refused" if case.refused else pattern
        try:
            check(case, space)
        except Difference as difference:
            tally.differences.append(Found(number, smaller(case, space), str(difference)))
        except Exception:  # the generator or the reference is at fault, which counts as well
            told = f"CPython itself fails:\n{traceback.format_exc()}"
            tally.differences.append(Found(number, case, told))
        tally.programs[name] += case.programs


def smaller(case: Case, space: es.ExecutionSpace) -> Case:
    """The case with fewer statements, while it still differs in the same way.

    Where the oracle agrees with CPython on the whole case, it must on the smaller ones: what is
    left may read memory that a statement that was left out has filled, of which only it tells.
    """

    def kind(case: Case, where: es.ExecutionSpace = space) -> str:
        try:
            check(case, where)
        except Difference as difference:
            told = str(difference).partition("\n")[0]
            return told.partition(":")[0] if "failed on" in told else told.partition(" is ")[0][:2]
        except Exception:
            return "no case"
        return ""

    oracle, wanted = es.space("oracle"), kind(case)
    attempts = 150 if space.name == "oracle" else 25
    any_case = space.name == "oracle" or bool(kind(case, oracle))

    def differs(other: Case) -> bool:
        return kind(other) == wanted and (any_case or not kind(other, oracle))

    return reduced(case, differs, attempts) if wanted else case


REPRODUCER = '''"""{title}

Run it with Python; the exit status is 1 as long as the difference is there.
"""

import execspace as es
from execspace_testing.suite.differential.cases import Case, Difference, check

case = Case(
{fields}
    source="""\\
{source}""",
)

try:
    check(case, es.space({space!r}))
except Difference as difference:
    raise SystemExit(str(difference))
print("agrees with CPython")
'''


def reproducer(case: Case, space: str, title: str) -> str:
    """A program that shows the difference by itself."""
    names = ("pattern", "bounds", "arguments", "types", "iterate", "tile", "team", "programs",
             "refused")  # fmt: skip
    fields = "\n".join(f"    {name}={getattr(case, name)!r}," for name in names)
    source = case.source.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return REPRODUCER.format(title=title, fields=fields, source=source, space=space)
