"""What explain says of a kernel in lanes, or of why it is not."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ir
from ..ir.marks import OWN, WEB
from ..ir.types import Scalar, Vector, ViewTy
from .choice import Choice
from .form import LaneForm


def describe_lanes(choice: Choice, fastest: int, what: str = "calls") -> tuple[str, ...]:
    """Lines on how a kernel runs, or the iterations of a nested range; of what does not run in
    lanes why not."""
    if choice.form is None:
        return (f"not in lanes: {choice.why}",) if choice.why else ()
    form, found, body = choice.form, choice.form.findings, choice.form.kernel
    index = body.parameters[fastest].name
    of = "" if index.startswith("_") else f", of neighbouring {index},"
    lines = [f"{form.lanes} {what} at a time{of} in lanes: {choice.why}"]
    named = [n for n in body.locals if not n.startswith("_")]
    used = {e.name for e in ir.walk_expressions(body.body) if isinstance(e, ir.Var)}
    variables = [n for n in named if isinstance(body.locals[n], Scalar) and n in used]
    same = {_in_source(n) for n in variables if found.steps.get(n) is not None}
    same -= {_in_source(n) for n in variables if found.steps.get(n) is None}
    if same:
        lines.append(f"the same in all lanes, or a step apart: {', '.join(sorted(same))}")
    contiguous, strided, scattered = _accesses(form.functions)
    for what, views in (
        ("neighbours in memory", contiguous),
        ("in steps", strided),
        ("gathered or scattered", scattered),
    ):
        if views:
            lines.append(f"elements of lanes, {what}: {', '.join(views)}")
    parted = _parted(body, found.diverging)
    if parted:
        lines.append(f"lanes part ways at {', '.join(parted)}")
    turns = _turns(form)
    if turns:
        lines.append(f"one lane after another: {turns}")
    return tuple(lines)


def _in_source(name: str) -> str:
    """The name of a variable before each use got one of its own."""
    return name.partition(WEB)[0].partition(OWN)[0]


def _accesses(functions: Sequence[ir.Function]) -> tuple[list[str], list[str], list[str]]:
    """Views whose elements lanes access: next to each other, in steps, anywhere."""
    found: tuple[dict[str, None], ...] = ({}, {}, {})
    for f in functions:
        places: list[ir.Load | ir.Store] = [
            x for x in ir.walk_expressions(f.body) if isinstance(x, ir.Load)
        ]
        places += [s for s in ir.walk_statements(f.body) if isinstance(s, ir.Store)]
        for place in places:
            view = place.view.type
            assert isinstance(view, ViewTy)
            if view.shape is None:
                kind = _kind(place, view)
                if kind is not None:
                    found[kind][place.view.name] = None
    a, b, c = (sorted(names) for names in found)
    return a, b, c


def _kind(place: ir.Load | ir.Store, view: ViewTy) -> int | None:
    """0 for neighbours, 1 for equal distances, 2 for anything, None if all lanes have the same."""
    vectors = [(d, i) for d, i in enumerate(place.indices) if isinstance(i.type, Vector)]
    byte = place.byte is not None and isinstance(place.byte.type, Vector)
    if not vectors and not byte:
        return None
    ramps = [i for _, i in vectors if isinstance(i, ir.Op) and i.op == "ramp"]
    if byte or len(ramps) < len(vectors):
        return 2
    (d, first) = vectors[0]
    assert isinstance(first, ir.Op) and isinstance(first.args[1], ir.Const)
    unit = view.mapped or view.stride(d) == 1
    plain = isinstance(view.element, Scalar) and view.element.kind != "c"
    return 0 if len(vectors) == 1 and unit and plain and first.args[1].value == 1 else 1


def _parted(body: ir.Function, diverging: frozenset[int]) -> list[str]:
    """Lines of the branches and loops at which lanes part ways."""
    words = {ir.If: "if", ir.For: "for", ir.While: "while"}
    found: dict[str, None] = {}
    for s in ir.walk_statements(body.body):
        if id(s) in diverging:
            found[f"{words[type(s)]} in line {s.loc.line}"] = None
    return list(found)


def _turns(form: LaneForm) -> str:
    """What one lane does after another."""
    found: dict[str, None] = {}
    for f in form.functions:
        for s in ir.walk_statements(f.body):
            if isinstance(s, ir.While) and isinstance(s.test, ir.Op) and s.test.op == "any":
                for t in s.body:
                    if isinstance(t, ir.Atomic):
                        found["atomic operations"] = None
                    elif isinstance(t, ir.Print):
                        found["printf"] = None
                    elif isinstance(t, ir.Evaluate | ir.Assign) and isinstance(t.value, ir.Call):
                        found[t.value.function] = None
    return ", ".join(found)
