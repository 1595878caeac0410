"""Write the tables of the documentation that follow from the sources.

    python docs/generate.py          rewrite them in docs/*.md
    python docs/generate.py --check  change nothing; exit with 1 if a table is out of date

A table stands between `<!-- generated: name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
from execspace.base import config
from execspace.reducers import builtin as builtin_reducers
from execspace.reducers.base import flattened
from execspace_compiler.frontend import advice
from execspace_compiler.ir.ops import (
    CALLEES,
    COMPLEX_FUNCTIONS,
    FLOAT1,
    FLOAT2,
    OPERATIONS,
    OPERATOR_SIGNS,
    Callee,
)
from execspace_compiler.ir.types import (
    BOOL,
    INDEX,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    PromotionError,
    Scalar,
    promote,
)
from execspace_compiler.typing.rules.words import WORDS

DOCS = Path(__file__).parent
MARKED = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

STRONG = (
    BOOL,
    *map(Scalar, ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    *map(Scalar, ("float16", "float32", "float64", "complex64", "complex128")),
)
WEAK = {
    "index": INDEX,
    "Python int": PY_INT,
    "Python float": PY_FLOAT,
    "Python complex": PY_COMPLEX,
}

# What the result type of a function is, by the typing rule that ops.py names.
RULES = {
    "float1": "floating type of the argument; integers count as float64. Of complex numbers: "
    + ", ".join(sorted(COMPLEX_FUNCTIONS)),
    "cfloat1": "complex64 of a float32 or complex64, else complex128; a Python number stays weak",
    "whole": "type of the argument; bool counts as float64",
    "float2": "common floating type; integers count as float64",
    "same2": "common type",
    "predicate": "bool",
    "to_int": "int, as an index; integers stay as they are",
    "operator": "as the operator",
    "unary": "as the operator",
    "logical": "bool",
    "fma": "common floating type; integers count as float64; not of float16",
    "abs": "type of the argument; real for a complex one",
    "part": "real type of the argument",
    "conj": "type of the argument",
    "is_complex": "bool, a constant: whether the argument is of a complex type",
    "square": "type of the argument",
    "scale": "floating type of the argument; integers count as float64",
    "where": "common type of the second and third argument",
    "round": "int, as an index; ties go to the even neighbour; Python ints stay so; one argument",
    "clip": "common type of the three: `np.minimum(np.maximum(x, low), high)`",
    "fold": "common type; two or more numbers, or one tuple",
    "len": "index: extent 0 of a View; the length of a tuple is a Python int",
    "divmod": "a pair: `a // b, a % b`",
    "int": "int, as an index; truncates; uint64 stays uint64; of a constant a Python int",
    "float": "Python float: weak",
    "bool": "bool",
    "complex": "complex64 of float32 parts, else complex128",
}


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in cells] for cells in lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in escaped)


def short(type: Scalar) -> str:
    """A short name for wide tables: i32, u8, f64, c128."""
    return "bool" if type == BOOL else f"{type.kind}{type.bits}"


def common(a: Scalar, b: Scalar, name: Callable[[Scalar], str]) -> str:
    """Common type as text; a dash where there is none."""
    try:
        return name(promote(a, b))
    except PromotionError:
        return "-"


def word(type: Scalar) -> str:
    """A type as the text of the documentation calls it."""
    weak = {t: name for name, t in WEAK.items()}
    return weak.get(type, type.name)


def promotion_weak() -> str:
    """Any type with what is weak."""
    rows = [
        [f"**{word(a)}**", *(common(a, b, word) for b in WEAK.values())]
        for a in (*STRONG, *WEAK.values())
    ]
    return table(["", *WEAK], rows)


def promotion_strong() -> str:
    """Types of memory with each other."""
    rows = [[f"**{short(a)}**", *(common(a, b, short) for b in STRONG)] for a in STRONG]
    return table(["", *map(short, STRONG)], rows)


def spelling(function: Any) -> tuple[str, str]:
    """Module and name of a function as programs write them: math, sqrt."""
    if isinstance(function, np.ufunc):
        return "np", function.__name__
    module = function.__module__
    if module.startswith("execspace."):
        return "es", function.__name__
    named = {"builtins": "", "numpy": "np", "_operator": "operator"}
    return named.get(module, module), function.__name__


def operations() -> str:
    """Operators and other operations of typed IR."""
    groups: dict[str, list[str]] = {}
    for name, meaning in OPERATIONS.items():
        if name not in FLOAT1 + FLOAT2:
            groups.setdefault(meaning, []).append(name)
    rows = []
    for meaning, names in groups.items():
        signs = [f"`{OPERATOR_SIGNS[n]}`" for n in names if n in OPERATOR_SIGNS]
        signs += [f"`{n}`" for n in names if n in ("and", "or")]
        rows.append([", ".join(f"`{n}`" for n in names), " ".join(signs), meaning])
    return table(["Operation", "Operator", "Meaning"], rows)


def functions() -> str:
    """Callables that kernels know."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for function, callee in CALLEES.items():
        if callee.rule == "cfloat1" and callee.op not in COMPLEX_FUNCTIONS:
            continue  # cmath computes in complex numbers, for which these are refused
        module, name = spelling(function)
        groups.setdefault(_group(callee), {}).setdefault(module, []).append(name)
    rows = []
    for (rule, _), modules in groups.items():
        parts = []
        for module, names in modules.items():
            dotted = (f"{module}.{name}".lstrip(".") for name in names)
            parts.append(", ".join(f"`{name}`" for name in dotted))
        rows.append(["; ".join(parts), RULES[rule]])
    words: dict[str, list[str]] = {}
    for function, word in WORDS.items():
        words.setdefault(word.result, []).append(f"`{'.'.join(filter(None, spelling(function)))}`")
    rows += [[", ".join(names), result] for result, names in words.items()]
    return table(["Function", "Type of the result"], rows)


def _group(callee: Callee) -> tuple[str, str]:
    alone = ("abs", "part", "where", "len")  # a row of its own for each operation
    return callee.rule, callee.op if callee.rule in alone else ""


def refused() -> str:
    """Syntax that kernels do not have, and what to write instead."""
    rows: dict[str, list[str]] = {}
    for what, instead in advice.ADVICE.values():
        names = rows.setdefault(instead, [])
        if what not in names:
            names.append(what)
    return table(["Refused", "Instead"], [[", ".join(n), i] for i, n in rows.items()])


def ulp() -> str:
    """Bounds of the errors of mathematical functions, as the differential tests check them."""
    from execspace_testing.suite.differential.ulp import COMPLEX, REAL

    rows = []
    for functions_, types in ((REAL, ""), (COMPLEX, "complex ")):
        for f in functions_.values():
            single, double = f.bounds
            rows.append([f"{types}`{f.text}`", f"{single:g}", f"{double:g}"])
    return table(["Expression", "float32, complex64", "float64, complex128"], rows)


def environment() -> str:
    """The environment variables, those of the plugins of this repository included."""
    es.spaces()  # loads the plugins
    rows = []
    for v in config.VARIABLES.values():
        default = f"`{v.default}`" if v.default else "unset" if v.default is None else "empty"
        rows.append([f"`EXECSPACE_{v.name}`", default, v.text])
    return table(["Variable", "Default", "Meaning"], rows)


def reducers() -> str:
    """The built-in reducers, with what each gives for an empty range."""
    rows = []
    for name, reducer in vars(builtin_reducers).items():  # in the order of the source
        public = name in es.__all__
        if public and isinstance(reducer, type) and issubclass(reducer, builtin_reducers.BuiltIn):
            meaning = re.split(r"; | \(|\.(?:\s|$)", inspect.getdoc(reducer) or "")[0]
            contribution, result, empty = _nothing(reducer)
            rows.append([f"`es.{name}`", meaning, contribution, result, empty])
    head = ["Reducer", "Gives", "The kernel returns", "Result", "Empty range"]
    return table(head, rows)


def _nothing(reducer: type[builtin_reducers.BuiltIn]) -> tuple[str, str, str]:
    """What a reducer takes, what it gives, and what it gives for an empty range."""
    conditions = issubclass(reducer, builtin_reducers.Locating) and reducer.conditions
    if conditions:
        takes, kernels = "`(condition, location)`", [lambda i: (i > 0, i)]
    elif issubclass(reducer, builtin_reducers.Locating):
        takes, kernels = "`(value, location)`", [lambda i: (i / 2, i)]
    elif reducer.kind in ("band", "bor"):
        takes, kernels = "an integer", [lambda i: i]
    else:
        takes, kernels = "a number", [lambda i: i / 2, lambda i: i]
    none = es.RangePolicy(0, space="oracle")
    found = [es.parallel_reduce(none, kernel, reducer=reducer) for kernel in kernels]
    result = found[0]
    fields = ", ".join(getattr(result, "_fields", ()))
    gives = f"`{type(result).__name__}({fields})`" if fields else "the value"
    if isinstance(result, bool):
        gives = "a bool"
    elif not fields and conditions:
        gives = "the location"
    texts = list(dict.fromkeys(", ".join(map(_limit, flattened(v))) for v in found))
    return takes, gives, "; of integers ".join(texts)


def _limit(value: Any) -> str:
    limits = np.iinfo(np.int64)
    if type(value) is int:
        return {limits.max: "greatest", limits.min: "least"}.get(value, str(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


TABLES = {
    "promotion-weak": promotion_weak,
    "promotion-strong": promotion_strong,
    "operations": operations,
    "functions": functions,
    "refused": refused,
    "ulp": ulp,
    "environment": environment,
    "reducers": reducers,
}


def updated(text: str) -> str:
    """The text of a page with all its tables made anew."""
    return MARKED.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[4]}", text)


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite or check all pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if out of date")
    check = parser.parse_args(argv).check
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = updated(text)
        if new != text:
            stale.append(page.name)
            if not check:
                page.write_text(new, encoding="utf-8")
    if check and stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run python docs/generate.py\n")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
