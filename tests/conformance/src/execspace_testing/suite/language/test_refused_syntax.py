"""Python that kernels do not have is refused in every pattern, wherever it stands.

What a front end cannot translate it must not leave out: a reduction without one of its statements
gives a number, and a wrong one. So each row of the table of refused syntax is put into a statement,
a store, a branch, a helper and what is returned, under each pattern, and into joins and final
steps of reducers. Nothing is compiled and no View is changed.
"""

from __future__ import annotations

import importlib.util
import textwrap
from types import ModuleType

import numpy as np
import pytest

import execspace as es
from execspace_compiler.frontend.advice import ADVICE
from execspace_testing import staged
from execspace_testing.sizes import needs_teams

# One or more pieces of Python for each row. Names: i (an integer), s (a number), x (a View).
EXPRESSIONS = {
    "ListComp": ["[v for v in (1.0, 2.0)][0]", "sum([x[k] for k in range(2)])"],
    "SetComp": ["len({k for k in range(3)})"],
    "DictComp": ["len({k: 1 for k in range(3)})"],
    "GeneratorExp": ["sum(x[k] for k in range(2))", "max(v for v in (1.0, 2.0))"],
    "List": ["[1.0, 2.0][0]", "len([i])"],
    "Dict": ["{0: 1.0}[0]"],
    "Set": ["len({1.0, 2.0})"],
    "JoinedStr": ["len(f'{i}')"],
    "Starred": ["max(*(s, 1.0))", "(*(s, 1.0), 2.0)[0]"],
    "MatMult": ["s @ s"],
    "Yield": ["(yield s)"],
    "YieldFrom": ["(yield from (s, s))"],
}
STATEMENTS = {
    "List": ["for v in [1.0, 2.0]:\n    s += v", "[a, b] = s, s\ns = a + b"],
    "ListComp": ["for v in [k * 1.0 for k in range(3)]:\n    s += v"],
    "Set": ["if i in {0, 1}:\n    s += 1.0"],
    "Dict": ["table = {0: 1.0}\ns += table[0]"],
    "Try": [
        "try:\n    s += 1.0\nexcept ZeroDivisionError:\n    s = 0.0",
        "try:\n    s += 1.0\nfinally:\n    s += 1.0",
    ],
    "TryStar": ["try:\n    s += 1.0\nexcept* ZeroDivisionError:\n    s = 0.0"],
    "Raise": ["if i > 1:\n    raise ValueError('much')"],
    "With": ["with x:\n    s += 1.0"],
    "Import": ["import math\ns += math.pi"],
    "ImportFrom": ["from math import pi\ns += pi"],
    "ClassDef": ["class Point:\n    pass"],
    "AsyncFunctionDef": ["async def later():\n    return 1.0\ns += 1.0"],
    "Await": ["async def later():\n    await x\ns += 1.0"],
    "AsyncFor": ["async def later():\n    async for v in x:\n        pass"],
    "AsyncWith": ["async def later():\n    async with x:\n        pass"],
    "Global": ["global total\ntotal = 1.0\ns += total"],
    "Nonlocal": ["def add(v):\n    nonlocal s\n    s += v\nadd(1.0)"],
    "Delete": ["t = 1.0\ns += t\ndel t"],
    "Starred": ["a, *b = s, 1.0, 2.0\ns = a"],
    "Match": ["match i:\n    case 0:\n        s += 1.0\n    case _:\n        s += 2.0"],
    "MatMult": ["s @= s"],
    "JoinedStr": ["s += len(f'{i}')"],
    "Yield": ["yield s"],
    "YieldFrom": ["yield from x"],
}  # fmt: skip

PLACES = {
    "assigned": "s = {}",
    "updated": "s += {}",
    "stored": "x[i] = {}",
    "in a branch": "if i > 1:\n    s = {}",
    "in a loop": "for k in range(2):\n    s += {}",
    "a condition": "if {} > 0:\n    s += 1.0",
    "in a nested function": "def inner(s):\n    return {}\ns += inner(s)",
    "in a lambda": "s += (lambda s: {})(s)",
}

# How each is launched, and its text: the statements come where BODY is, the result where RESULT is.
PATTERNS = {
    "for": (
        "for",
        """
        def kernel(i, x):
            s = 1.0
            BODY
            x[i] = RESULT
        """,
    ),
    "for over two dimensions": (
        "for2",
        """
        def kernel(i, j, x):
            s = 1.0
            BODY
            x[i] = RESULT
        """,
    ),
    "reduce": (
        "reduce",
        """
        def kernel(i, x):
            s = 1.0
            BODY
            return RESULT
        """,
    ),
    "reduce over two dimensions": (
        "reduce2",
        """
        def kernel(i, j, x):
            s = 1.0
            BODY
            return RESULT
        """,
    ),
    "two reducers": (
        "pair",
        """
        def kernel(i, x):
            s = 1.0
            BODY
            return s, RESULT
        """,
    ),
    "reduce with a location": (
        "located",
        """
        def kernel(i, x):
            s = 1.0
            BODY
            return RESULT, i
        """,
    ),
    "reduce with a reducer of one's own": (
        "custom",
        """
        def kernel(i, x):
            s = 1.0
            BODY
            return RESULT
        """,
    ),
    "reduce of an array": (
        "array",
        """
        def kernel(i, row, x):
            s = 1.0
            BODY
            row[0] += RESULT
        """,
    ),
    "scan": (
        "scan",
        """
        def kernel(i, s, final, x):
            BODY
            if final:
                x[i] = s
            return RESULT
        """,
    ),
    "team": (
        "team",
        """
        def kernel(team, x):
            i = team.league_rank
            s = 1.0
            BODY
            x[i] = RESULT
        """,
    ),
    "reduce of teams": (
        "teams",
        """
        def kernel(team, x):
            i = team.league_rank
            s = 1.0
            BODY
            return RESULT
        """,
    ),
    "a range of a team": (
        "team",
        """
        def kernel(team, x):
            for i in es.TeamThreadRange(team, 4):
                s = 1.0
                BODY
                x[i] = RESULT
        """,
    ),
    "helper": (
        "reduce",
        """
        def helper(i, s, x):
            BODY
            return RESULT

        def kernel(i, x):
            return helper(i, 1.0, x)
        """,
    ),
    "helper of a helper": (
        "scan",
        """
        def inner(i, s, x):
            BODY
            return RESULT

        def helper(i, s, x):
            return inner(i, s, x)

        def kernel(i, prefix, final, x):
            return helper(i, 1.0, x)
        """,
    ),
    "join": (
        "reducer",
        """
        class Reducer(es.Reducer):
            identity = 0.0
            def join(s, i):
                x = s, i
                BODY
                return RESULT

        def kernel(i, x):
            return x[i]
        """,
    ),
    "join of a scan": (
        "scanned",
        """
        class Reducer(es.Reducer):
            identity = 0.0
            def join(s, i):
                x = s, i
                BODY
                return RESULT

        def kernel(i, prefix, final, x):
            return x[i]
        """,
    ),
    "join of arrays": (
        "arrays",
        """
        class Reducer(es.Reducer):
            shape, identity = 2, 0.0
            def join(s, i):
                x = s, i
                BODY
                return RESULT

        def kernel(i, row, x):
            row[0] = 1.0
        """,
    ),
    "final step": (
        "reducer",
        """
        class Reducer(es.Reducer):
            identity = 0.0
            def join(a, b):
                return a + b
            def final(s):
                i = 1
                x = s, s
                BODY
                return RESULT

        def kernel(i, x):
            return x[i]
        """,
    ),
}


def filled(pattern: str, statements: str, result: str) -> str:
    """The module of a pattern: BODY at its own indentation, RESULT replaced."""
    lines = []
    for line in textwrap.dedent(pattern).splitlines():
        if line.strip() == "BODY":
            lines.append(textwrap.indent(statements, line.partition("BODY")[0]))
        else:
            lines.append(line.replace("RESULT", result))
    return "import execspace as es\n\n\n" + "\n".join(lines) + "\n"


def pieces(everywhere: bool):
    """Each refused piece of Python: its row, statements, and what is returned after them."""
    for row, texts in EXPRESSIONS.items():
        for text in texts:
            yield row, "pass", text
            for place in PLACES.values() if everywhere else ():
                if not (row.startswith("Yield") and "{}" in place and "lambda" not in place):
                    yield row, place.format(text), "s"
    for row, texts in STATEMENTS.items():
        for text in texts:
            yield row, text, "s"
            if everywhere:
                yield row, "if i > 1:\n" + textwrap.indent(text, "    "), "s"


def module_of(text: str, path) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch(how: str, module: ModuleType, x) -> None:
    """The launch of a pattern."""
    reducer = getattr(module, "Reducer", None)
    kernel = module.kernel
    match how:
        case "for":
            es.parallel_for(4, kernel, x)
        case "for2":
            es.parallel_for(es.MDRangePolicy((0, 0), (4, 2)), kernel, x)
        case "reduce":
            es.parallel_reduce(4, kernel, x)
        case "reduce2":
            es.parallel_reduce(es.MDRangePolicy((0, 0), (4, 2)), kernel, x, reducer=es.Max)
        case "pair":
            es.parallel_reduce(4, kernel, x, reducer=(es.Sum, es.Min))
        case "located":
            es.parallel_reduce(4, kernel, x, reducer=es.MinLoc)
        case "custom":
            es.parallel_reduce(4, kernel, x, reducer=Greatest)
        case "array":
            es.parallel_reduce(4, kernel, x, reducer=es.Sum(shape=2))
        case "scan":
            es.parallel_scan(4, kernel, x)
        case "team":
            es.parallel_for(es.TeamPolicy(4, 1), kernel, x)
        case "teams":
            es.parallel_reduce(es.TeamPolicy(4, 1), kernel, x)
        case "reducer" | "arrays":
            es.parallel_reduce(4, kernel, x, reducer=reducer)
        case "scanned":
            es.parallel_scan(4, kernel, x, reducer=reducer)


class Greatest(es.Reducer):
    identity = 0.0

    def join(a, b):
        return max(a, b)


def test_every_row_has_pieces():
    """The table of the documentation is made of the same rows."""
    rows = {kind.__name__ for kind in ADVICE}
    assert rows == {*EXPRESSIONS, *STATEMENTS}


@pytest.mark.parametrize("name", PATTERNS)
def test_refused_syntax_is_refused_wherever_it_stands(space, name, tmp_path):
    how, pattern = PATTERNS[name]
    if "team" in how:
        needs_teams(space)
    x = staged.view_on(space, np.full(4, 2.0))
    faults = []
    # The front end is shared: one space tries every place, the others each row.
    for n, (row, statements, result) in enumerate(pieces(space.name == "oracle")):
        text = filled(pattern, statements, result)
        try:
            module = module_of(text, tmp_path / f"refused_{n}.py")
        except SyntaxError:  # Python itself refuses it
            assert row in ("TryStar", "Starred") or row.startswith("Async"), text
            continue
        # What stands in a function that is refused as a whole is not looked at.
        seen = "AsyncFunctionDef" if row in ("Await", "AsyncFor", "AsyncWith") else row
        what = next(what for kind, (what, _) in ADVICE.items() if kind.__name__ == seen)
        try:
            with es.use_space(space):
                launch(how, module, x)
            faults.append(f"accepted:\n{text}")
        except es.KernelSyntaxError as error:
            if what not in str(error):
                faults.append(f"{what} is not named in:\n{error}\n{text}")
        except es.ExecspaceError as error:
            faults.append(f"{type(error).__name__} in place of KernelSyntaxError: {error}\n{text}")
    assert not faults, f"{len(faults)} of them:\n" + "\n\n".join(faults[:3])
    np.testing.assert_array_equal(staged.fetch(x), 2.0)
