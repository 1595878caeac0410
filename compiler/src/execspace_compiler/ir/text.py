"""The textual form of IR, for people and for comparing functions."""

from __future__ import annotations

from . import (
    Assign,
    Atomic,
    Barrier,
    Break,
    Broadcast,
    Carve,
    Clear,
    Combine,
    Continue,
    Evaluate,
    Fail,
    Failures,
    For,
    FromFirstLane,
    Function,
    If,
    LaneSync,
    Packed,
    Pool,
    Prefix,
    Print,
    Return,
    ScanRange,
    Scratch,
    Split,
    Stmt,
    Store,
    StoreAt,
    TeamStmt,
    Unpack,
    While,
)
from .types import Pointer, Scalar, Type, ViewTy


def function_text(f: Function) -> str:
    """Textual form of a function."""
    kind = "strict function" if f.strict else "function"
    head = ", ".join(f"{p.name}: {_type_text(p.type)}" for p in f.parameters)
    declared = [f"  local {n}: {_type_text(t)}" for n, t in sorted(f.locals.items())]
    lines = [f"{kind} {f.name}({head}) -> {f.result}", *declared]
    return "\n".join([*lines, *_lines(f.body, 1)])


def _place_text(e: Store | Atomic) -> str:
    at = f"{e.view}[{', '.join(map(str, e.indices))}]"
    return at if e.byte is None else f"{at}.({e.byte})"


def _type_text(type: Type) -> str:
    if isinstance(type, Scalar):
        return str(type.strong)
    if isinstance(type, ViewTy):
        if type.shape is not None:
            return f"local {type.element}{list(type.shape)}"
        const = "const " if type.readonly else ""
        more = f",{list(type.static)}" if type.static else ""
        more += "".join(f",{t}" for t in type.traits)
        return f"{const}{type.element}[{type.rank},{type.layout},{type.unit}{more}]"
    return f"{type.element}*" if isinstance(type, Pointer) else str(type)


def _lines(body: tuple[Stmt, ...], depth: int) -> list[str]:
    pad = "  " * depth
    out: list[str] = []
    for s in body:
        match s:
            case Assign():
                out.append(f"{pad}{s.name} = {s.value}")
            case Unpack():
                out.append(f"{pad}{', '.join(s.names)} = {s.value}")
            case Store():
                out.append(f"{pad}{_place_text(s)} = {s.value}")
            case Atomic():
                name = "" if s.name is None else f"{s.name} = {s.fetch} of "
                texts = (f"{s.op} {_place_text(s)}:{s.type.strong}", *map(str, s.values))
                out.append(f"{pad}{name}atomic {', '.join(texts)}")
            case Clear():
                out.append(f"{pad}clear {s.array}")
            case Fail():
                out.append(f"{pad}fail {s.code} at {', '.join(map(str, s.indices))}")
            case Print():
                parts = (repr(p) if isinstance(p, str) else f"{p[0]} {p[1]}" for p in s.parts)
                out.append(f"{pad}print {' '.join(parts)}")
            case StoreAt():
                out.append(f"{pad}*({s.pointer} + {s.index}) = {s.value}")
            case Packed():
                kind = "nontemporal pack" if s.nontemporal else "pack"
                pair = (f"{kind} {s.view}[{', '.join(map(str, s.indices))}]", str(s.array))
                target, source = pair if s.store else pair[::-1]
                out.append(f"{pad}{target} = {source}")
            case If():
                out += [f"{pad}if {s.test}", *_lines(s.body, depth + 1)]
                if s.orelse:
                    out += [f"{pad}else", *_lines(s.orelse, depth + 1)]
            case For():
                kind = "independent for" if s.independent else "for"
                out.append(f"{pad}{kind} {s.name} in range({s.start}, {s.stop}, {s.step})")
                out += _lines(s.body, depth + 1)
            case Failures():
                bounds = f"{s.name} in range({s.start}, {s.stop})"
                out.append(f"{pad}{', '.join(s.names)} = failures of {s.call} for {bounds}")
            case While():
                out += [f"{pad}while {s.test}", *_lines(s.body, depth + 1)]
            case Break():
                out.append(f"{pad}break")
            case Continue():
                out.append(f"{pad}continue")
            case Return():
                values = s.value if isinstance(s.value, tuple) else (s.value,)
                out.append(f"{pad}return {', '.join(map(str, values))}")
            case Evaluate():
                out.append(f"{pad}do {s.value}")
            case _:
                out += _team_lines(s, depth)
    return out


def _team_lines(s: TeamStmt, depth: int) -> list[str]:
    pad = "  " * depth
    match s:
        case Barrier():
            return [f"{pad}barrier"]
        case Split():
            bounds = zip(s.names, s.starts, s.stops, strict=True)
            ranges = ", ".join(f"{n} in range({a}, {b})" for n, a, b in bounds)
            return [f"{pad}split {s.level} {ranges}", *_lines(s.body, depth + 1)]
        case Combine():
            return [f"{pad}combine {s.level} {', '.join(map(str, s.states))} by {s.merge}"]
        case Prefix():
            names = ", ".join(map(str, (*s.states, *s.totals)))
            return [f"{pad}prefix {s.level} {names} by {s.merge}"]
        case ScanRange():
            names = ", ".join(map(str, (*s.states, *s.own)))
            head = f"scan {s.level} {s.name} in range({s.start}, {s.stop}) of {names} by {s.merge}"
            probe, body = _lines(s.probe, depth + 1), _lines(s.body, depth + 1)
            return [f"{pad}{head}", f"{pad}probe", *probe, f"{pad}final", *body]
        case Broadcast():
            return [f"{pad}broadcast {', '.join(map(str, s.values))} of {s.rank}"]
        case Scratch():
            shape = ", ".join(map(str, s.shape))
            kind = _type_text(s.view.type)
            return [f"{pad}{s.owner} scratch {s.level} {s.view}: {kind} of ({shape})"]
        case LaneSync():
            return [f"{pad}sync lanes"]
        case FromFirstLane():
            return [f"{pad}from first lane {', '.join(map(str, s.values))}"]
        case Carve():
            shape = ", ".join(map(str, s.shape))
            return [f"{pad}{s.view} = {s.pool} + {s.offset} of ({shape})"]
        case Pool():
            return [f"{pad}with {s.pointer} of {s.nbytes} bytes", *_lines(s.body, depth + 1)]
