"""The variables of a kernel and of the helpers that it calls, with their types, for `explain`.

Typing records the user's own names in each function of the IR (`Declared`), without the compiler's
temporaries. Launches do not need this.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import execspace
from execspace import ViewType

from .. import ir
from ..ir.types import Scalar, TupleTy, Type, ViewTy
from ..typing.lowered import Lowered
from ..typing.value_types import AliasTy, TeamTy, shown

_OWN = str(Path(execspace.__file__).parent)


def variables_of(lowered: Lowered) -> dict[str, str]:
    """Name of each variable -> its type, for `Explanation.variables`.

    Those of the kernel have their own names, in the order: indices or the team, parameters,
    captures, locals. Those of a helper have its name as a prefix: "helper.x". If a helper is called
    with several types, all are listed: "float32 or float64".
    """
    spec = lowered.spec
    *helpers, body = lowered.typed
    known = _scratch(lowered)
    given = [(_source_name(n), t) for n, t in _declared(body)]
    explicit = len(spec.arguments) - sum(c.argument is not None for c in spec.captures)
    first = spec.leading + (len(spec.structs) or explicit)
    rest = iter(spec.arguments)
    found: dict[str, str] = {}
    for n, (name, type) in enumerate(given[:first]):
        struct = spec.structs[n - spec.leading] if spec.structs and n >= spec.leading else None
        if struct is not None:
            types = [str(a) for a in islice(rest, struct.size)]
            found |= {name + path: t for path, t in zip(struct.paths(), types, strict=True)}
            continue
        argument = next(rest) if n >= spec.leading else None
        of_view = isinstance(argument, ViewType)
        found[name] = str(argument) if of_view else type_text(type, known)
    for c in spec.captures:
        name = c.name.replace("/", ".")
        if c.argument is not None:
            found[name] = f"{spec.arguments[c.argument]}, captured"
        elif (text := _constant(c.name, c.value)) is not None:
            found[name] = text
    found |= {name: type_text(type, known) for name, type in given[first:]}
    for function in _called(helpers, body, lowered):
        declared = function.declared
        assert declared is not None
        owner = "lambda" if declared.function == "lambda_" else declared.function
        for variable, type in declared.types:
            name, text = f"{owner}.{_source_name(variable)}", type_text(type, known)
            texts = found[name].split(" or ") if name in found else []
            found[name] = " or ".join(dict.fromkeys((*texts, text)))
    return found


def type_text(type: Type, scratch: dict[str, str] | None = None) -> str:
    """Description of a type; `scratch` has those of Views of scratch memory, by variable."""
    match type:
        case Scalar():
            return str(type.strong)
        case TupleTy():
            items = [type_text(t, scratch) for t in type.items]
            if type.names:
                items = [f"{n}: {t}" for n, t in zip(type.names, items, strict=True)]
            return f"tuple ({', '.join(items)})"
        case TeamTy():
            return "team"
        case AliasTy():
            base = type.base
            assert isinstance(base.type, ViewTy)
            if scratch is not None and base.name in scratch:
                return scratch[base.name]
            own = "" if base.type.shape is not None else f", another name of {shown(base)}"
            return type_text(base.type) + own
        case ViewTy():
            if type.shape is not None:
                return f"{type.element}{list(type.shape)}, private array"
            const = "const " if type.readonly else ""
            return f"{const}{type.element}[{type.rank},{type.layout}]"
    return str(type)


def _source_name(variable: str) -> str:
    """The inverse of `names.variable_name`."""
    return variable.removeprefix("user")


def _declared(function: ir.Function) -> tuple[tuple[str, Type], ...]:
    return () if function.declared is None else function.declared.types


def _called(
    helpers: list[ir.Function], body: ir.Function, lowered: Lowered
) -> Iterator[ir.Function]:
    """The user's functions that the kernel, or the joins of its reducer, reach by calls.

    Typing may leave others, for types that a variable no longer has.
    """
    every = {f.name: f for f in helpers}
    reached: dict[str, None] = {}
    todo = [body]
    if (reduction := lowered.reduction) is not None:
        every |= {f.name: f for f in reduction.functions}
        todo += [reduction.merge_function("_merge"), reduction.result_function("_result")]
    while todo:
        for e in ir.walk_expressions(todo.pop().body):
            if isinstance(e, ir.Call) and e.function in every and e.function not in reached:
                reached[e.function] = None
                todo.append(every[e.function])
    for name in reached:
        function = every[name]
        if function.declared is not None and not function.loc.file.startswith(_OWN):
            yield function


def _scratch(lowered: Lowered) -> dict[str, str]:
    """Descriptions of Views of scratch memory, by variable."""
    found = {}
    for function in lowered.typed:
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Scratch):
                assert isinstance(s.view.type, ViewTy)
                kind = type_text(s.view.type)
                found[s.view.name] = f"{kind}, scratch of the {s.owner}, level {s.level}"
    return found


def _constant(name: str, value: Any) -> str | None:
    """Description of a captured constant; None for functions, modules and their contents."""
    if isinstance(value, bool | int | float | complex | np.generic | str | Enum | None):
        kind = np.asarray(value).dtype.name if isinstance(value, int | float | complex) else None
        kind = value.dtype.name if isinstance(value, np.generic) else kind
        text = repr(value.item() if isinstance(value, np.generic) else value)
        return f"{kind}, constant {text}" if kind else f"constant {text}"
    if isinstance(value, np.dtype) or (isinstance(value, tuple) and "." not in name):
        return f"constant {value}"
    if isinstance(value, type) and issubclass(value, np.generic) and "." not in name:
        return f"constant {value.__name__}"
    return None
