"""What random expressions are made of: one function per construct, in the table at the end.

A function takes the context, the kind (b, i, f or c) and the depth that is left, and returns an
expression with the type that the compiler's rules give it.
"""

from __future__ import annotations

from execspace_compiler.ir.types import (
    BOOL,
    INDEX,
    INDEX_WEAK,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    Scalar,
    arithmetic,
    as_float,
    promote,
    real_part,
    true_division,
)

from .expressions import Construct, Expressions, Typed, join


def sum_or_product(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth)
    return Typed(f"({a.text} {x.pick('+-*')} {b.text})", arithmetic(a.type, b.type))


def division(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair("f", depth)
    return Typed(f"({a.text} / {b.text})", true_division(a.type, b.type))


def integer_division(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair("i", depth, literals=False)
    return Typed(f"({a.text} / {b.text})", true_division(a.type, b.type))


def floor_division(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth, literals=False)
    if x.chance(30):
        a = a if a.kind == kind else b  # the other one may be an integer
        b = x.literal(a.type, nonzero=True)
    forms = ("({} // {})", "({} // {})", "({} % {})", "({} % {})", "np.remainder({}, {})",
             "np.floor_divide({}, {})", "divmod({}, {})[0]", "divmod({}, {})[1]")  # fmt: skip
    return Typed(x.pick(forms).format(a.text, b.text), arithmetic(a.type, b.type))


def power(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.number(x.of("i", depth))
    if x.chance(40):
        return Typed(f"({a.text} ** {x.pick('01234')})", arithmetic(a.type, PY_INT))
    b = x.number(x.of("i", depth))
    a, b = x.compatible(a, b)
    if x.plain or x.chance(60):
        b = Typed(f"({b.text} & 7)", b.type)
    return Typed(f"({a.text} ** {b.text})", arithmetic(a.type, b.type))


def small_power(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.of(kind, depth)
    exponents = ("1", "2", "3", "4", "0.5") if kind == "f" else ("1", "2", "3", "4")
    return Typed(f"({a.text} ** {x.pick(exponents)})", a.type)


def bitwise(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth)
    return Typed(f"({a.text} {x.pick('&|^')} {b.text})", promote(a.type, b.type))


def shift(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.number(x.of("i", depth))
    b = x.number(x.of("i", depth)) if x.chance(60) else Typed(
        x.pick(("0", "1", "5", "8", "31", "32", "63", "64", "70")), PY_INT, const=True
    )  # fmt: skip
    a, b = x.compatible(a, b)
    return Typed(f"({a.text} {x.pick(('<<', '>>'))} {b.text})", arithmetic(a.type, b.type))


def sign(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.number(x.of(kind, depth))
    return Typed(f"({x.pick('-+' if kind in 'fc' else '-~')}{a.text})", a.type)


def absolute(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.number(x.of(kind, depth))
    name = x.pick(("abs", "np.abs", "np.fabs") if kind == "f" else ("abs", "np.absolute"))
    return Typed(f"{name}({a.text})", a.type)


def square(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.number(x.of(kind, depth))
    return Typed(f"np.square({a.text})", arithmetic(a.type, a.type))


def python_extreme(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth)
    type, texts = promote(a.type, b.type), [a.text, b.text]
    if x.chance(30):
        c = x.of(kind, depth)
        types = (a.type, b.type, c.type)
        # Python compares by twos, and NumPy rounds a weak number to the type that it meets.
        by_twos = any(t.weak for t in types) and len({t.name for t in types if not t.weak}) > 1
        if join(type, c.type) is not None and not by_twos:
            type = promote(type, c.type)
            texts.append(c.text)
    inner = ", ".join(texts)
    inner = f"({inner})" if x.chance(15) else inner
    return x.pinned(Typed(f"{x.pick(('min', 'max'))}({inner})", type))


def numpy_extreme(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth)
    name, type = x.pick(("minimum", "maximum", "fmin", "fmax")), promote(a.type, b.type)
    # NumPy does not say which of two zeros it takes; adding a zero makes both positive.
    zero = " + 0.0" if x.plain and type.is_float else ""
    return x.pinned(Typed(f"(np.{name}({a.text}, {b.text}){zero})", type))


def choice(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth)
    test = x.of(x.pick("bbbif"), depth)
    type = promote(a.type, b.type)
    if x.chance(30):
        return x.pinned(Typed(f"np.where({test.text}, {a.text}, {b.text})", type))
    return x.pinned(Typed(f"({a.text} if {test.text} else {b.text})", type))


def deciding(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(kind, depth, literals=False)
    return x.pinned(Typed(f"({a.text} {x.pick(('and', 'or'))} {b.text})", promote(a.type, b.type)))


def cast(x: Expressions, kind: str, depth: int) -> Typed:
    source = x.of(x.pick("bif" if kind != "c" else "fcc"), depth)
    options = {"b": ("bool",), "i": [e for e in x.elements if e[0] in "iu"],
               "f": ("float32", "float64"), "c": ("complex64", "complex128")}[kind]  # fmt: skip
    return x.convert(source, Scalar(x.pick(options)))


def rounded(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.within(x.of("f", depth), Scalar(x.pick(("int64", "int32", "int8"))))
    # NumPy's float32 has no __trunc__.
    name = x.pick(("int", "round", "math.floor", "math.ceil", "math.trunc")[: 4 if x.plain else 5])
    return Typed(f"{name}({a.text})", INDEX)


def python_int(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.of(x.pick("iib"), depth)
    if a.type.name == "uint64":
        return x.pinned(Typed(f"int({a.text})", a.type))
    weak_int64 = a.type.weak and a.type.name == "int64"
    return Typed(f"int({a.text})", a.type if weak_int64 else INDEX)


def python_float(x: Expressions, kind: str, depth: int) -> Typed:
    return Typed(f"float({x.of(x.pick('iff'), depth).text})", PY_FLOAT)


def counted(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.of("b", depth), x.of("b", depth)
    return Typed(f"({a.text} {x.pick(('+', '-', '*', '<<'))} {b.text})", PY_INT)


def float1(x: Expressions, kind: str, depth: int) -> Typed:
    a = x.of("f", depth)
    names = ("np.sqrt", "np.floor", "np.ceil", "np.trunc", "np.rint", "np.fabs")
    return Typed(f"{x.pick(names)}({a.text})", a.type)


def float2(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair("f", depth)
    type = as_float(promote(a.type, b.type))
    if x.pick((True, False)):
        return Typed(f"np.fmod({a.text}, {b.text})", type)
    # The sign of a NaN is nowhere promised: one as the second operand becomes a number.
    b = x.pinned(b) if b.type.weak else b  # NumPy's functions of Python's numbers give NumPy's
    return Typed(
        f"np.copysign({a.text}, np.fmax({b.text}, -1e30))", as_float(promote(a.type, b.type))
    )


def integer_float2(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair("i", depth)
    type = as_float(promote(a.type, b.type))
    if x.pick((True, False)):
        return Typed(f"math.fmod({a.text}, {b.text})", type)
    return Typed(f"math.copysign({a.text}, np.fmax({b.text}, -1e30))", type)


def part(x: Expressions, kind: str, depth: int) -> Typed:
    z = x.of("c" if "complex" in str(x.elements) else "f", depth)
    # The imaginary part of a real number is a constant: no operand for everything.
    forms = ("({}).real", "np.real({})", "({}).imag", "np.imag({})")
    form = x.pick(forms if z.kind == "c" else forms[:2])
    return x.pinned(Typed(form.format(z.text), real_part(z.type)))


def conjugate(x: Expressions, kind: str, depth: int) -> Typed:
    z = x.of("c", depth)
    return Typed(x.pick(("({}).conjugate()", "np.conj({})")).format(z.text), z.type)


def from_parts(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair("f", depth)
    inner = as_float(promote(a.type, b.type))
    if inner.weak:
        type = PY_COMPLEX
    else:
        type = Scalar("complex64" if inner.bits <= 32 else "complex128")
    return x.pinned(Typed(f"complex({a.text}, {b.text})", type))


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def comparison(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.ordered(depth)
    return Typed(f"({a.text} {x.pick(_COMPARISONS)} {b.text})", BOOL)


def distant_comparison(x: Expressions, kind: str, depth: int) -> Typed:
    """With a literal that need not fit the other's type."""
    a = x.of("i", depth)
    number = x.pick(("300", "-1", "-200", "70000", "2**33", "2**63", "-2**40"))
    if a.type.weak or number == "2**63":
        number = "-1"
    return Typed(f"({a.text} {x.pick(_COMPARISONS)} {number})", BOOL)


def chained(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.ordered(depth)
    signs = [x.pick(_COMPARISONS) for _ in range(2)]
    # Two constants side by side may decide the whole, and a constant 0 divides nothing.
    folded = b.const or b.text in x.constants
    if x.chance(60) and not folded:
        c = x.literal(b.type)
        if c.type.strong == c.type and join(b.type, c.type) is None:
            c = a
    else:
        c = a
    return Typed(f"({a.text} {signs[0]} {b.text} {signs[1]} {c.text})", BOOL)


def equality(x: Expressions, kind: str, depth: int) -> Typed:
    a, b = x.pair(x.pick(x.kinds()), depth)
    if "uint64" in (a.type.name, b.type.name) and INDEX_WEAK in (a.type.weak, b.type.weak):
        b = a
    return Typed(f"({a.text} {x.pick(('==', '!='))} {b.text})", BOOL)


def logic(x: Expressions, kind: str, depth: int) -> Typed:
    a, b, word = x.of("b", depth), x.of("b", depth), x.pick(("and", "or"))
    return Typed(f"({a.text} {word} {b.text})", BOOL)


def negation(x: Expressions, kind: str, depth: int) -> Typed:
    return Typed(f"(not {x.of(x.pick('bbif'), depth).text})", BOOL)


def predicate(x: Expressions, kind: str, depth: int) -> Typed:
    name = x.pick(("isnan", "isinf", "isfinite"))
    return Typed(f"np.{name}({x.of(x.pick(x.kinds()[1:]), depth).text})", BOOL)


Expressions.constructs += [
    Construct(sum_or_product, "ifc", 5),
    Construct(division, "f", 2),
    Construct(integer_division, "f"),
    Construct(floor_division, "if", 3),
    Construct(power, "i"),
    Construct(small_power, "fc", plain=False),
    Construct(bitwise, "i", 2),
    Construct(bitwise, "b"),
    Construct(shift, "i", 2),
    Construct(sign, "ifc"),
    Construct(absolute, "if"),
    Construct(square, "if"),
    Construct(python_extreme, "if", 2),
    Construct(numpy_extreme, "if", 2),
    Construct(python_extreme, "b"),
    Construct(numpy_extreme, "b"),
    Construct(choice, "bifc", 2),
    Construct(deciding, "ifc"),
    Construct(cast, "bifc", 2),
    Construct(rounded, "i"),
    Construct(python_int, "i"),
    Construct(python_float, "f"),
    Construct(counted, "i", plain=False),
    Construct(float1, "f", 3),
    Construct(float2, "f", 2),
    Construct(integer_float2, "f", plain=False),
    Construct(part, "f"),
    Construct(conjugate, "c", 2),
    Construct(from_parts, "c", 2),
    Construct(comparison, "b", 4),
    Construct(distant_comparison, "b"),
    Construct(chained, "b", 2),
    Construct(equality, "b"),
    Construct(logic, "b", 2),
    Construct(negation, "b"),
    Construct(predicate, "b"),
]
