"""Further statements of generated kernels: private arrays, subviews, records, atomic operations,
tuples, functions within functions, and what is known when a kernel is compiled.

All of them mean in CPython, with NumPy arrays, what they mean in a kernel. Beyond variables a
program may then use *places*: texts such as ``L3[1]`` or ``q.a``, which stand among its variables.
"""

from __future__ import annotations

from execspace_compiler.ir.types import BOOL, Scalar, arithmetic

from .expressions import Construct, Expressions, Typed, cast_name
from .generate import Builder, Statement, define
from .values import COUNT

INT64 = Scalar("int64")
RECORD = '[("a", "i4"), ("b", "f8"), ("v", "i2", (3,)), ("c", [("d", "u1"), ("e", "f4")])]'
_FIELDS = {"a": "int32", "b": "float64", "v[0]": "int16", "v[2]": "int16", "c.d": "uint8",
           "c.e": "float32"}  # fmt: skip
ATOMIC = 8  # elements of a row that atomic operations change
_STEPS = {"add": "iuf", "sub": "iuf", "max": "iu", "min": "iu", "or": "iu", "and": "iu",
          "xor": "iu"}  # fmt: skip

MODULE = """
class Pair(NamedTuple):
    a: object
    b: object


def swapped(p):
    return Pair(p.b, p.a)


def element(A, k):
    return A[k % len(A)]


def apply(f, x):
    return f(x)


def scaled(x, by):
    return x * by


doubled = partial(scaled, by=2)
"""


def _element(b: Expressions) -> Scalar:
    return Scalar(b.pick([e for e in b.elements if e != "bool"]))


def _kind(type: Scalar) -> str:
    return "i" if type.kind == "u" else type.kind


def value(b: Expressions, type: Scalar, depth: int = 1) -> Typed:
    """An expression of exactly this type."""
    return b.convert(b.of(_kind(type), depth), type)


def whole(b: Expressions, type: Scalar) -> str:
    """A small whole number of a type, so that sums are exact in any order."""
    if type.kind == "f":
        low, high = ("-100.0", "100.0") if type.bits > 16 else ("-8.0", "8.0")
        e = b.convert(b.of("f", 1), type)
        return f"np.rint(np.fmin(np.fmax({e.text}, {low}), {high}))"
    if type.kind == "c":
        part = Scalar("float32" if type.name == "complex64" else "float64")
        return f"es.{type.name}(complex({whole(b, part)}, {whole(b, part)}))"
    return value(b, type).text


def place(b: Builder, text: str, type: Scalar, *, fixed: bool = True) -> None:
    """Let the program use a text as it uses a variable; a fixed one is never assigned to."""
    b.variables[text] = type
    if fixed:
        b.fixed.add(text)


# -- arrays ---------------------------------------------------------------------------------------


def local_array(b: Builder) -> None:
    type, n, name, k = _element(b), 2 + b.rng.randrange(3), b.fresh("L"), b.fresh("k")
    if b.chance(30):
        b.emit(f"{name} = es.local((2, {n}), es.{type.name})")
        b.emit(f"{name}[1, {n - 1}] = {value(b, type).text}")
        places = [f"{name}[0, 0]", f"{name}[1, {n - 1}]", f"{name}[i % 2, {n - 2}]"]
    else:
        b.emit(f"{name} = es.local({n}, es.{type.name})")
        b.emit(f"for {k} in range({n}):")
        before = dict(b.variables)
        b.loops += 1
        place(b, f"es.int64({k})", INT64)
        b.emit(f"    {name}[{k}] = {value(b, type, 2).text}")
        b.loops -= 1
        b.variables = before
        places = [f"{name}[0]", f"{name}[{n - 1}]", f"{name}[i % {n}]", f"{name}[-1]"]
    for text in places:
        place(b, text, type, fixed=b.chance(30))


def subview(b: Builder) -> None:
    type, name = _element(b), b.fresh("p")
    view = f"{b.pick('xy')}_{type.name}"
    b.inputs.add(view)
    start, length = b.rng.randrange(60), 4 + b.rng.randrange(30)
    forms = {
        f"{view}[{start}:{start + length}]": length,
        f"{view}[{start}:{start + 2 * length}:2]": length,
        f"{view}[::-1]": COUNT,
        f"{view}[i // 2:]": COUNT // 2,
        f"{view}[-{length}:]": length,
        f"{view}[{COUNT - 1}:{start}:-3]": 2,
        f"es.subview({view}, ({start}, {start + length}))": length,
    }
    text = b.pick(list(forms))
    least = forms[text]
    b.emit(f"{name} = {text}")
    if b.chance(30) and least > 3:
        inner = b.fresh("p")
        b.emit(f"{inner} = {name}[1:3]")
        name, least = inner, 2
    for index in ("0", "1", f"i % {least}", "-1"):
        place(b, f"{name}[{index}]", type)
    place(b, f"es.int64(len({name}))", INT64)
    index = b.of("i", 1)
    if index.type.name == "uint64" or index.type.bits < 64:
        index = Typed(f"es.int64({index.text})", INT64)
    place(b, f"element({name}, {index.text})", type)


def subview_output(b: Builder) -> None:
    e = b.any(b.size())
    target, name = b.slot(e.type), b.fresh("r")
    view, _, row = target.partition("[")
    row = row.partition(",")[0]
    form = b.pick((f"{view}[{row}, :]", f"es.subview({view}, {row}, es.ALL)", f"{view}[{row}:, :]"))
    b.emit(f"{name} = {form}")
    b.emit(f"{name}[{'0, ' if form.count(':') == 2 else ''}i] = {e.text}")


# -- records --------------------------------------------------------------------------------------


def record_fields(b: Builder) -> None:
    b.inputs.add("rec")
    name = b.fresh("q")
    b.emit(f"{name} = rec[{b.pick(('i', '-1', f'{COUNT - 1} - i', f'(i * 5 + 3) % {COUNT}'))}]")
    for field, type in _FIELDS.items():
        place(b, f"{name}.{field}", Scalar(type))
    place(b, 'rec[i]["a"]', Scalar("int32"))


def record_output(b: Builder) -> None:
    row = b.rows.get("rec", 0)
    b.rows["rec"] = row + 1
    b.inputs.add("rec")
    b.emit(f"o_rec[{row}, i] = rec[(i * 5 + 3) % {COUNT}]")
    for field, type in _FIELDS.items():
        if b.chance(50):
            b.emit(f"o_rec[{row}, i].{field} = {value(b, Scalar(type)).text}")
    if b.chance(30):
        b.emit(f"o_rec[{row}, i].c.d += {value(b, Scalar('uint8')).text}")


def atomic_step(b: Builder) -> None:
    names = [n for n in (*b.elements,) if n in ("int32", "int64", "uint32", "uint64", "float32",
                                                "float64")]  # fmt: skip
    type = Scalar(b.pick(names or ("int64",)))
    step = b.pick([s for s, kinds in _STEPS.items() if type.kind in kinds])
    row = b.rows.get(f"atomic_{type.name}", 0)
    b.rows[f"atomic_{type.name}"] = row + 1
    e = whole(b, type)
    b.emit(f"es.atomic_{step}(o_atomic_{type.name}, ({row}, {value(b, INT64).text} % 8), {e})")


# -- tuples ---------------------------------------------------------------------------------------


def named_tuple(b: Builder) -> None:
    first, second, name = b.any(2), b.any(2), b.fresh("t")
    form = b.pick(("Pair({}, {})", "Pair({}, b={})", "Pair(a={}, b={})", "swapped(Pair({}, {}))"))
    b.emit(f"{name} = {form.format(first.text, second.text)}")
    if form.startswith("swapped"):
        first, second = second, first
    for text, e in ((".a", first), (".b", second), ("[1]", second)):
        place(b, name + text, e.type)


def tuple_loop(b: Builder) -> None:
    type, total, name = _element(b), b.fresh(), b.fresh("u")
    items = ", ".join(value(b, type).text for _ in range(2 + b.rng.randrange(2)))
    b.emit(f"{total} = {value(b, type).text}")
    b.variables[total] = type
    b.fixed.add(total)
    before = dict(b.variables)
    loops = (
        f"for {name} in ({items}):",
        f"for {name} in reversed(({items})):",
        f"for {b.fresh('k')}, {name} in enumerate(({items})):",
        f"for {name}, {b.fresh('u')} in zip(({items}), (1, 2, 3, 4)):",
    )
    b.emit(b.pick(loops))
    b.loops += 1
    place(b, name, type)
    sign = b.pick("+-*")
    jump = b.of("b", 1).text if b.chance(40) else ""
    if jump:
        b.emit(f"    if {jump}:")
        b.emit(f"        {b.pick(('break', 'continue'))}")
    b.emit(f"    {total} = es.{type.name}({total} {sign} {value(b, type).text})")
    b.loops -= 1
    b.variables = before
    if b.chance(30):
        b.emit("else:")
        b.emit(f"    {total} = {value(b, type).text}")


# -- functions ------------------------------------------------------------------------------------


def nested_function(b: Builder) -> None:
    given, result, name = _element(b), _element(b), b.fresh("f")
    argument = b.fresh("a")
    before = dict(b.variables)
    if b.chance(50):
        place(b, argument, given)
        b.emit(f"{name} = lambda {argument}: {value(b, result, 2).text}")
    else:
        b.emit(f"def {name}({argument}, more={b.pick('123')}):")
        place(b, argument, given)
        b.depth += 1
        inner = b.fresh()
        b.emit(f"{inner} = {value(b, given).text}")
        b.variables[inner] = given
        if b.chance(60):
            b.emit(f"if {b.of('b', 1).text}:")
            b.emit(f"    return {value(b, result).text}")
        b.emit(f"return {b.convert(Typed(f'{inner} * more', given), result).text}")
        b.depth -= 1
    b.variables = before
    call = f"apply({name}, {{}})" if b.chance(30) else f"{name}({{}})"
    first, second = b.fresh(), b.fresh()
    b.emit(f"{first} = {call.format(value(b, given).text)}")
    b.variables[first] = result
    mine = [n for n, t in b.scalars() if isinstance(t, Scalar) and t != BOOL and n.isidentifier()]
    if mine and b.chance(50):  # what it captured changes before the next call
        changed = b.pick(mine)
        type = b.variables[changed]
        assert isinstance(type, Scalar)
        b.emit(f"{changed} = {b.fitted(b.of(_kind(type), 1), type).text}")
    b.emit(f"{second} = {call.format(value(b, given).text)}")
    b.variables[second] = result


def assigned_within(b: Builder) -> None:
    e, name, other = b.any(2), b.fresh(), b.fresh()
    if e.kind == "b":
        b.emit(f"{other} = ({name} := {e.text}) or {b.of('b', 1).text}")
        b.variables[other] = BOOL
    else:
        b.emit(f"{other} = ({name} := {e.text}) * {name}")
        b.variables[other] = arithmetic(e.type, e.type)
    b.variables[name] = e.type


# -- what is known at compile time ----------------------------------------------------------------


def static_branch(b: Builder) -> None:
    b.emit(f"if mode {b.pick(('==', '>', '!='))} {b.pick('012')}:")
    b.block(1 + b.rng.randrange(2))
    if b.chance(60):
        b.emit("else:")
        b.block(1)


def assertion(b: Builder) -> None:
    b.emit(b.pick((f'assert i < {COUNT}, "an index"', "assert i >= 0")))


def helper_with_function(b: Builder) -> None:
    e = value(b, _element(b))
    if e.type == BOOL or b.chance(20):
        return define(b)
    name = b.fresh()
    call = b.pick(("doubled({})", "apply(doubled, {})", "scaled(by=3, x={})"))
    b.emit(f"{name} = es.{cast_name(e.type)}({call.format(e.text)})")
    b.variables[name] = e.type
    return None


# -- expressions ----------------------------------------------------------------------------------


def membership(x: Expressions, kind: str, depth: int) -> Typed:
    type = _element(x)
    items = ", ".join(value(x, type, depth).text for _ in range(2))
    word = x.pick(("in", "not in"))
    return Typed(f"({value(x, type, depth).text} {word} ({items}))", BOOL)


def boundary(x: Expressions, kind: str, depth: int) -> Typed:
    """Of special values, which are equal at some indices."""
    name = x.pick([e for e in x.elements if e != "bool" and not e.startswith("complex")])
    x.inputs.update((f"x_{name}", f"y_{name}"))
    return Typed(f"(x_{name}[i] {x.pick(('<', '<=', '>', '>=', '==', '!='))} y_{name}[i])", BOOL)


def any_or_all(x: Expressions, kind: str, depth: int) -> Typed:
    items = ", ".join(x.of("b", depth).text for _ in range(2 + x.rng.randrange(2)))
    return x.pinned(Typed(f"{x.pick(('any', 'all'))}(({items}))", BOOL))


def tuple_equality(x: Expressions, kind: str, depth: int) -> Typed:
    type = _element(x)
    a, b, c, d = (value(x, type, depth).text for _ in range(4))
    return x.pinned(Typed(f"(({a}, {b}) {x.pick(('==', '!='))} ({c}, {d}))", BOOL))


def tuple_sum(x: Expressions, kind: str, depth: int) -> Typed:
    types = [Scalar(e) for e in x.elements if ("i" if e[0] in "iu" else e[0]) == kind]
    if not types:
        return x.leaf(kind)
    type = types[x.rng.randrange(len(types))]
    items = ", ".join(value(x, type, depth).text for _ in range(2 + x.rng.randrange(2)))
    return x.pinned(Typed(f"sum(({items}))", type))


STORES = [
    Statement(subview_output, 2),
    Statement(record_output),
    Statement(atomic_step, 2),
]
COMPUTING = [
    Statement(local_array, 2),
    Statement(subview, 2),
    Statement(record_fields, 2),
    Statement(named_tuple, 2),
    Statement(tuple_loop, 2),
    Statement(nested_function, 2),
    Statement(assigned_within, 2),
    Statement(static_branch, 2, nests=True),
    Statement(assertion),
    Statement(helper_with_function),
]
CONSTRUCTS = [
    Construct(boundary, "b", 3),
    Construct(membership, "b"),
    Construct(any_or_all, "b"),
    Construct(tuple_equality, "b"),
    Construct(tuple_sum, "ifc"),
]

__all__ = ["COMPUTING", "CONSTRUCTS", "MODULE", "RECORD", "STORES", "value", "whole"]
